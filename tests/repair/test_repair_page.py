"""The page of a repair: in Chinese it says what it says in English."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import wrong_magic

from native_reader.markdown import Document, Lines, lines_of
from native_reader.sentences import say


@pytest.mark.parametrize(("command", "page"), [(("repair",), "repair.md"), (("extract", "--topic", "Plain"), "extract.md")])
def test_the_page_is_in_the_language_of_the_command(tmp_path: Path, command: tuple[str, ...], page: str) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(store, Random(1))
    name, *options = command
    pages = {}
    for language in ("en", "zh"):
        ended = run(name, store, tmp_path / language, *options, "--lang", language)
        assert ended.code == 1, ended.err
        pages[language] = (tmp_path / language / page).read_text(encoding="utf-8")
        planned = run(name, store, tmp_path / "plan", *options, "--lang", language, "--dry-run").out
        needs = 6 if page == "repair.md" else 3  # and after them, the results, the same as of the plan
        assert planned.splitlines()[6 + needs : 9 + needs] == pages[language].splitlines()[6:9]
    assert {language: pages[language].splitlines()[0] for language in pages} == (
        {"en": "# Repair", "zh": "# 修复报告"} if page == "repair.md" else {"en": "# Extract", "zh": "# 提取报告"}
    )
    english, chinese = (re.findall(r"\d[\d,.]*\d|\d", pages[language].replace(str(tmp_path), "")) for language in ("en", "zh"))
    assert sorted(english) == sorted(chinese)
    marks = ([re.match(r"[#|-]|\d\.|", line)[0] for line in pages[language].splitlines()] for language in pages)  # type: ignore[index]
    assert next(marks) == next(marks)


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/a_b*c", "`/a_b*c`"), ("/www.x", "`/www.x`"), ("/<b>&amp;", "`/<b>&amp;`"), ("/`", "`/'`"), ("\\`b", "`\\'b`")],
)
def test_a_path_is_shown_as_it_is_and_ends_no_code(path: str, shown: str) -> None:
    page = Document(say("repair"), [Lines([say("store", uri=path)])], [])
    assert list(lines_of(page, "en"))[2] == f"The store, which was only read: {shown}."


@pytest.mark.parametrize("content", [None, b"", b"{]", b"[]", b"{}"])
def test_a_settings_file_without_use_has_a_line(tmp_path: Path, content: bytes | None) -> None:
    """A broker that is killed while it writes one leaves only its backup, which the new store then has in its place."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(store, Random(1))
    settings = store / "config" / "consumerFilter.json"
    backup = b'{"filterDataByTopic":{}}'
    settings.with_name("consumerFilter.json.bak").write_bytes(backup)
    settings.unlink(missing_ok=True)
    if content is not None:
        settings.write_bytes(content)
    for language, expected in (("en", "Its backup, which is older, takes its place."), ("zh", "由较旧的备份代替。")):
        ended = run("repair", store, tmp_path / language, "--lang", language)
        assert ended.code == 1, ended.err
        (line,) = (each for each in (tmp_path / language / "repair.md").read_text(encoding="utf-8").splitlines() if expected in each)
        assert "`consumerFilter.json`" in line
        assert (tmp_path / language / "config" / "consumerFilter.json").read_bytes() == backup
