"""The language of a page: what people write for it, and the locale."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run


@pytest.mark.parametrize(
    ("given", "locale", "language"),
    [
        ("zh_CN", "", "zh"), ("zh", "", "zh"), ("zh-Hans-CN", "", "zh"), ("ZH_CN.UTF-8", "", "zh"), ("en_US", "zh_CN", "en"),
        ("", "zh_CN.UTF-8", "zh"), ("", "en_GB.UTF-8", "en"), ("", "C.UTF-8", "en"), ("", "de_DE", "en"), ("", "", "en"),
    ],
)  # fmt: skip
def test_the_language_of_a_page(store: Path, monkeypatch: pytest.MonkeyPatch, given: str, locale: str, language: str) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    page = store.parent / "page.html"
    assert run("report", store, "-o", page, *(["--lang", given] if given else [])).code in (0, 1)
    assert f'<html lang="{language}' in page.read_text(encoding="utf-8")


def test_a_language_that_is_not_there(store: Path) -> None:
    ended = run("report", store, "--lang", "fr")
    assert ended.code == 2
    assert "'fr' is not one of en, zh" in ended.err
