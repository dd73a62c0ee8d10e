"""What rescue, repair and extract say on the terminal: the same in Chinese, and the whole answer to whether a broker may be started."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support import unstarted as damages
from support.command_line import Ran, run
from support.golden import Golden, unpack
from support.own_stores import STORES
from support.store_damages import body_bit, page_of_zeros

from native_reader.repair import disk

COMMANDS = {
    "rescue": ("rescue",),
    "repair": ("repair",),
    "plan": ("repair", "--dry-run", "--json"),
    "extract": ("extract", "--topic", "Plain"),
}


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    page_of_zeros(store, Random(1))
    body_bit(store, Random(1))
    return store


def lines(ended: Ran) -> list[str]:
    return ended.err.splitlines()


def test_a_warning_of_a_thread_is_in_chinese(damaged: Path, tmp_path: Path) -> None:
    """A thread has no language of its own."""
    ended = run("repair", damaged, tmp_path / "new", "--dry-run", "--jobs", "2", "--lang", "zh")
    assert "警告：" in ended.err
    assert "warning:" not in ended.err


@pytest.mark.parametrize("command", COMMANDS)
def test_each_line_in_chinese_has_the_numbers_of_the_english_one(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda _: 1 << 30)
    name, *options = COMMANDS[command]
    english, chinese = (run(name, damaged, tmp_path / language, *options, "--lang", language) for language in ("en", "zh_CN"))
    assert english.code == chinese.code == 1
    assert english.out.replace("/en/", "/zh_CN/") == chinese.out
    pairs = list(zip(lines(english), lines(chinese), strict=True))
    assert len(pairs) > 2
    for one, other in pairs:
        assert re.search("[\u4e00-\u9fff]", other), other
        assert "warning" not in other, "a thread has not the language of the command"
        assert sorted(re.findall(r"\d[\d,]*", one.replace("/en", "/zh_CN"))) == sorted(re.findall(r"\d[\d,]*", other))
    lists = {language: [*(tmp_path / language).rglob("lost.zh.csv")] for language in ("en", "zh_CN")}
    assert (bool(lists["en"]), bool(lists["zh_CN"])) == (False, command in ("rescue", "repair"))


def test_rescue_repair_and_doctor_give_the_same_answer(damaged: Path, tmp_path: Path) -> None:
    """Only the worst reason was printed."""
    for name in ("rescue", "repair"):
        text = run(name, damaged, tmp_path / name).err
        answer = [line.strip() for line in text.partition("store? ")[2].splitlines()]
        reasons = answer[: 1 + sum(line.startswith("  ") for line in text.splitlines())]
        assert len(reasons) > 1
        page = (tmp_path / name / f"{name}.md").read_text(encoding="utf-8")
        assert all(reason in page for reason in reasons)


def test_a_whole_store_gets_a_yes(tmp_path: Path) -> None:
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    assert "Is it safe to start a broker on this store? yes" in run("rescue", store, tmp_path / "rescued").err
    assert "可以用这个 store 启动 broker 吗？可以" in run("rescue", store, tmp_path / "again", "--lang", "zh").err


def test_that_a_broker_refuses_a_store_is_a_warning(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))
    damages.a_note_beside_a_queue(store)
    ended = run("rescue", store, tmp_path / "rescued")
    assert "warning: Is it safe to start a broker on this store? no: readme.txt in queue 0 of " in ended.err
