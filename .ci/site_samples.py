"""The samples of the site: what `rmqstore report` and `rmqstore repair` make of a damaged store, in both languages.

The stores are those of the generator for tests. The samples are made with each site, so they are of its version.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

FOLDER = "docs/samples"
SHOWN = "/data"
"""The folder that the samples name in place of a temporary one."""
_SMALL_INDEX = {"max_hash_slot_num": 5000, "max_index_num": 20_000}
REPORTED = StoreSpec(
    bytes=4 << 20, mapped_file_size_commit_log=512 << 10, topics=40, rate=0.02, huge=True, deleted="invoices", killed=True, **_SMALL_INDEX
)
REPAIRED = StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=256 << 10, topics=2, rare=0, rate=0.05, **_SMALL_INDEX)
NOW = "2026-01-07 12:00:00Z"
OF_REPORT = ("--now", NOW, "--disk-free", "200g", "--verify")
HEADING = re.compile(r"^#(?=#* )", re.MULTILINE)
TITLES = {"en": "A repair", "zh": "修复示例"}
HEADS = {
    "en": ("What the command prints", "The page in the new store: `repair.md`"),
    "zh": ("命令输出", "新 store 中的页面：`repair.md`"),
}


def samples() -> Iterator[tuple[str, str]]:
    """The name of each page, from the root of the site, and its content: HTML or Markdown."""
    with TemporaryDirectory() as folder:
        for name, spec in (("reported", REPORTED), ("damaged", REPAIRED)):
            write_damaged(Path(folder, name), spec)
        for language in TITLES:
            suffix = "" if language == "en" else f".{language}"
            command(folder, "report", "reported", "-o", "page.html", "--lang", language, *OF_REPORT)
            yield f"{FOLDER}/report{suffix}.html", shown(Path(folder, "page.html").read_text(encoding="utf-8"), folder)
            yield f"{FOLDER}/repair{suffix}.md", repair(folder, language)


def write_damaged(store: Path, spec: StoreSpec) -> None:
    """A store of which three pages are zeros, and one file of the log is gone."""
    write_store(store, spec)
    second, third, *_ = sorted((store / "commitlog").iterdir())[1:]
    with second.open("r+b") as file:
        file.seek(200_000)
        file.write(bytes(3 * 4096))
    third.unlink()


def repair(folder: str, language: str) -> str:
    """What the command prints, and the page that it leaves."""
    printed = command(folder, "repair", "damaged", f"new-{language}", "--lang", language)
    page = Path(folder, f"new-{language}", "repair.md").read_text(encoding="utf-8").replace(f"new-{language}", "new")
    lines = f"$ rmqstore repair {SHOWN}/damaged {SHOWN}/new\n{printed.replace(f'new-{language}', 'new')}"
    first, second = HEADS[language]
    return shown(f"# {TITLES[language]}\n\n## {first}\n\n````console\n{lines}````\n\n## {second}\n\n{HEADING.sub('###', page)}", folder)


def command(folder: str, *arguments: str) -> str:
    """What it prints. The exit code is 1, because the store is damaged."""
    ended = subprocess.run([sys.executable, "-m", "rmqstore", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode != 1:
        raise RuntimeError(f"rmqstore {' '.join(arguments)}: exit code {ended.returncode}\n{ended.stderr}")
    return f"{ended.stdout}{ended.stderr}"


def shown(text: str, folder: str) -> str:
    return text.replace(folder, SHOWN)
