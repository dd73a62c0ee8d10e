"""Reasons for damage and descriptions of it, in Chinese."""

from __future__ import annotations

import re
from pathlib import Path

from support.stores import in_memory
from support.verified import healthy

import native_reader as nr
from native_reader.layout import kinds
from native_reader.plan.lost import NOT_THERE
from native_reader.records.damages import REASONS
from native_reader.records.trouble import ANOMALIES
from rmqstore.report.page import page_of
from rmqstore.report.reasons import CHINESE, DESCRIPTIONS, KINDS, LOST, WHY, described, kind_in_words

ROOT = Path(__file__).parents[2]
NOW = 1_800_000_000_000_000
ZEROS = "Only zeros or half a record follow: the log was copied before its consume queues, or its newest pages were lost"


def test_every_reason_has_a_meaning_in_both_languages() -> None:
    assert CHINESE.keys() == (REASONS | NOT_THERE).keys()


def test_every_kind_has_a_meaning_in_chinese() -> None:
    assert KINDS.keys() == set(kinds.KINDS)
    assert [kind_in_words("half", language) for language in ("en", "zh")] == ["half", "half（半事务消息）"]


def test_every_description_of_damage_is_translated() -> None:
    for reason, template in ANOMALIES:
        text = template.format(12_345)
        chinese = described(text, reason, "zh")
        assert chinese in {each.format("12,345") for each in DESCRIPTIONS.values()}
        assert ("12,345" in text) == ("12,345" in chinese)
        assert described(text, reason, "en") == text


def test_other_descriptions_become_the_meaning_of_their_reason() -> None:
    assert described("stored checksum 1, computed 2", "checksum", "zh") == CHINESE["checksum"]
    assert described(NOT_THERE["missing"], "missing", "zh") == CHINESE["missing"]
    assert described("1 record in 1 queue is after the end of the log at offset 5, up to offset 9. ?", "lost", "zh") == CHINESE["lost"]


def test_what_is_lost_after_the_end_is_translated() -> None:
    # The engine joins these sentences from parts, so only some of them can be looked for in its code.
    code = (ROOT / "native_reader" / "plan" / "ends.py").read_text(encoding="utf-8")
    assert [each for each in WHY if not all(part in code for part in each.split("{}"))] == []
    for english in LOST:
        filled = re.sub(r"{(\w*)}", lambda found: {"": "1,234"}.get(found[1], found[1]), english)
        chinese = described(f"{filled}. {ZEROS}", "lost", "zh")
        assert chinese.endswith(f"。{WHY[ZEROS]}")
        assert "{" not in chinese


def test_a_page_in_chinese_says_what_is_lost_in_chinese() -> None:
    files = dict(healthy()[1])
    memory = in_memory(files)
    offsets = nr.open(f"{memory.url}/store").messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()
    end = offsets[-3]
    for path in [path for path in files if "/commitlog/" in path]:
        base, content = int(path.rpartition("/")[2]), files[path]
        kept = content[: max(0, end - base)]
        files[path] = kept + bytes(len(content) - len(kept))
    cut = in_memory(files)
    page = page_of(nr.open(f"{cut.url}/store").report(now=NOW // 1000), "zh")
    assert f"条记录位于日志末尾（偏移量 {end:,}）之后，直到偏移量 " in page
    assert WHY[ZEROS] in page
