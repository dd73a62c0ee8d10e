"""The runbook: one page in both languages, the same commands, and each of `rmqstore` runs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.command_line import run
from support.documented import ROOT

from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

PAGES = "docs/runbook.md", "docs/runbook.zh.md"


def sections(page: str) -> list[list[str]]:
    """The lines of each section."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [re.findall(r"^\d\. .*$", section, re.MULTILINE) for section in text.split("\n## ")[1:]]


def commands(lines: list[str]) -> list[str]:
    return [command.replace(" --lang zh", "") for line in lines for command in re.findall(r"`([^`]+)`", line)]


def test_both_pages_have_the_same_commands() -> None:
    english, chinese = (sections(page) for page in PAGES)
    assert [len(lines) for lines in english] == [8] * 5
    for ours, theirs in zip(english, chinese, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert sorted(commands([one])) == sorted(commands([other]))


@pytest.mark.parametrize("number", range(5))
def test_each_command_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an exit code that an operator would see: all is well, or something is lost."""
    monkeypatch.chdir(tmp_path)
    small = StoreSpec(bytes=2 << 20, mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=20_000, index=False)
    write_store(tmp_path / "data" / "store", small)
    for name in ("data/store.damaged", "backup/slave", "backup/old-master", "backup/store"):
        shutil.copytree("data/store", name)
    if number == 4:
        first, *others = sorted(Path("data/store/commitlog").iterdir())
        for disk, files in (("disk1", [first]), ("disk2", others)):
            Path(f"data/{disk}/commitlog").mkdir(parents=True)
            for each in files:
                each.rename(f"data/{disk}/commitlog/{each.name}")
    Path("keys.txt").write_text("ORDER-1\n", encoding="utf-8")
    for command in commands(sections(PAGES[0])[number]):
        words = [word for word in shlex.split(command.split(" > ")[0]) if word != "--dry-run"]
        if words[0] != "rmqstore" or len(words) == 2:
            continue
        if words[1] == "repair":
            shutil.rmtree("data/repaired", ignore_errors=True)
        ended = run(*(re.sub(r"/(data|backup)/", r"\1/", word).replace("=OFFSET", "=0") for word in words[1:]))
        assert ended.code in (0, 1), (command, ended.err)
