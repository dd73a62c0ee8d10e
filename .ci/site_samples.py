"""The samples of the site: what `rmqstore report` and `rmqstore repair` make of a damaged store, in both languages.

The stores are those of the generator for tests. The samples are made with each site, so they are of its version.
"""

from __future__ import annotations

import re
import shutil
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
    "en": ("What the command prints", "The page in the new store: `repair.md`", "A text for the owner of a topic: `{name}`"),
    "zh": ("命令输出", "新 store 中的页面：`repair.md`", "发给 topic 负责人的文本：`{name}`"),
}


def samples() -> Iterator[tuple[str, str]]:
    """The name of each page, from the root of the site, and its content: HTML or Markdown."""
    with TemporaryDirectory() as folder:
        for name, spec in (("store", REPORTED), ("damaged", REPAIRED)):
            write_damaged(Path(folder, name), spec)
        for language in TITLES:
            command(folder, "report", "store", "-o", "page.html", "--lang", language, *OF_REPORT)
            found = [(name_of("report", language, "html"), Path(folder, "page.html").read_text(encoding="utf-8"))]
            for name, text in (*found, *repair(folder, language)):
                yield name, text.replace(folder, SHOWN)


def write_damaged(store: Path, spec: StoreSpec) -> None:
    """A store of which three pages are zeros, and one file of the log is gone."""
    write_store(store, spec)
    second, third, *_ = sorted((store / "commitlog").iterdir())[1:]
    with second.open("r+b") as file:
        file.seek(200_000)
        file.write(bytes(3 * 4096))
    third.unlink()


def repair(folder: str, language: str) -> Iterator[tuple[str, str]]:
    """What the command prints, the page that it leaves, and a text for the owner of a topic; what programs read, once."""
    new = Path(folder, "new")
    printed = command(folder, "repair", "damaged", "new", "--lang", language)
    lines = f"$ rmqstore repair {SHOWN}/damaged {SHOWN}/new\n{printed}"
    text = new / "lost" / "orders" / f"message.{language}.txt"
    parts = (f"````console\n{lines}````", HEADING.sub("###", (new / "repair.md").read_text(encoding="utf-8")), fenced(text))
    heads = (head.format(name=text.relative_to(new)) for head in HEADS[language])
    sections = (f"## {head}\n\n{part}" for head, part in zip(heads, parts, strict=True))
    yield name_of("repair", language, "md"), "\n\n".join((f"# {TITLES[language]}", *sections))
    if language == "en":
        yield f"{FOLDER}/repair.json", (new / "repair.json").read_text(encoding="utf-8")
    shutil.rmtree(new)


def fenced(text: Path) -> str:
    return f"````text\n{text.read_text(encoding='utf-8').strip()}\n````"


def name_of(sample: str, language: str, suffix: str) -> str:
    return f"{FOLDER}/{sample}{'' if language == 'en' else f'.{language}'}.{suffix}"


def command(folder: str, *arguments: str) -> str:
    """What it prints. The exit code is 1, because the store is damaged."""
    ended = subprocess.run([sys.executable, "-m", "rmqstore", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode != 1:
        raise RuntimeError(f"rmqstore {' '.join(arguments)}: exit code {ended.returncode}\n{ended.stderr}")
    return f"{ended.stdout}{ended.stderr}"
