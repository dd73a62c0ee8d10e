"""Reasons for damage and descriptions of it, in Chinese."""

from __future__ import annotations

from support.sentences import names_by_kind
from support.stores import in_memory
from support.verified import healthy

import native_reader as nr
from native_reader.layout import kinds
from native_reader.plan.lost import BACK, LOST, MISSING, NOT_THERE, WHAT, WHY, Missing
from native_reader.records.damages import ANOMALIES, REASONS, Damage
from native_reader.text import say
from rmqstore.chinese.reasons import CHINESE, KINDS, SENTENCES, described, kind_in_words
from rmqstore.report.page import page_of

NOW = 1_800_000_000_000_000


def test_every_reason_has_a_meaning_in_both_languages() -> None:
    assert CHINESE.keys() == (REASONS | NOT_THERE).keys()


def test_every_kind_has_a_meaning_in_chinese() -> None:
    assert KINDS.keys() == set(kinds.KINDS)
    assert [kind_in_words("half", language) for language in ("en", "zh")] == ["half", "half（半事务消息）"]


def test_every_sentence_is_there_in_chinese_with_the_same_numbers() -> None:
    english = {anomaly: sentence for anomaly, (_, sentence) in ANOMALIES.items()} | {MISSING: NOT_THERE[MISSING]} | WHAT | WHY | BACK
    assert len(english) == len(ANOMALIES) + 1 + len(WHAT) + len(WHY) + len(BACK)  # no kind has two meanings
    assert names_by_kind(SENTENCES) == names_by_kind(english)


def test_damage_and_losses_are_described_in_both_languages() -> None:
    damage = [Damage("segment", 0, 1, anomaly, 12_345) for anomaly in ANOMALIES]
    for each, (reason, sentence) in zip(damage, ANOMALIES.values(), strict=True):
        english, chinese = (described(each, language) for language in ("en", "zh"))
        assert (each.reason, english) == (reason, sentence.format(number=12_345))
        assert ("12,345" in english) == ("12,345" in chinese)
    lost = Missing("store", 0, 1, LOST, (say("only segment"), say("packed file", name="0.gz", command="gunzip 0.gz")))
    assert described(lost, "zh") == f"唯一的 commitlog 文件中没有记录。{SENTENCES['no file']}。0.gz 存在，请先解压：gunzip 0.gz"
    assert described(Missing("store", 0, 1), "zh") == CHINESE[MISSING]


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
    assert SENTENCES["copied before"] in page
