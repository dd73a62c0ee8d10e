"""What a table or a sentence of the page says, in both languages."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
from support.stores import Files, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.facts import Facts
from native_reader.facts.table_facts import Pending
from rmqstore.report.page import page_of
from rmqstore.report.texts import TEXTS

NOW = 1_800_000_000_000_000


def text_of(files: Files, language: str) -> str:
    """The page without tags; each cell of a table ends with `|`."""
    memory = in_memory(files)
    return text_of_facts(nr.open(f"{memory.url}/store").report(now=NOW // 1000), language)


def text_of_facts(facts: Facts, language: str) -> str:
    """The same for facts."""
    page = page_of(facts, language)
    return re.sub("<[^>]*>", "", re.sub("</t[hd]>", "|", page.partition("</style>")[2]))


def test_the_order_of_the_queue_skew_can_be_seen() -> None:
    files = files_of(log_of([message(number, topic="skewed", queue_id=int(number % 10 == 0)) for number in range(100)]))
    english, chinese = (text_of(files, language) for language in ("en", "zh"))
    assert "Fullest queue (queueId)|Messages in it|Messages above the mean|Times the mean|skewed|2|0|90|40|1.80|" in english
    assert "消息最多的队列（queueId）|最多队列的消息数|超出的消息数|倍数|skewed|2|0|90|40|1.80|" in chinese


def test_overdue_is_a_dash_where_it_is_not_known() -> None:
    memory, pending = in_memory(files_of()), Pending()
    due, none = pa.array([NOW - 1, None, NOW - 1]), pa.nulls(3, pa.int64())
    columns = {"level": pa.array([3, 4, None], pa.int32()), "state": ["pending", "pending", "unknown"], "messages": pa.array([1, 1, 1])}
    pending.delayed.add(pa.table(columns | {"overdue": pa.array([1, 0, 0]), "due": due, "latest": due, "since": none}))
    facts = replace(nr.open(f"{memory.url}/store").report(now=NOW // 1000), pending=pending)
    rows = "3|pending|1|1|2027-01-15 07:59|2027-01-15 07:59|–|4|pending|1|–|–|–|–|"
    rows += "no level: timer message|not known: pending or delivered|1|–|2027"
    assert f"Overdue|Earliest due|Latest due|Oldest stored|{rows}" in text_of_facts(facts, "en")
    assert "无级别：定时消息|未知：待投递或已投递|1|–|2027" in text_of_facts(facts, "zh")


def test_chinese_has_its_own_punctuation_and_no_stray_spaces() -> None:
    files = files_of(log_of([message(number) for number in range(100)], segment_size=8192))
    path = sorted(files)[1]
    files[path] = files[path][:1000] + bytes(500) + files[path][1500:]
    chinese = text_of(files, "zh")
    assert "；损坏或缺失：1 处" in chinese
    assert "消息体的内容。校验和" in chinese
    assert "每 1 分钟写入的字节数" in chinese
    assert "normal（普通消息）|" in chinese
    assert re.findall("[\u4e00-\u9fff] ?[;,] ?|。 ", chinese) == []
    english = text_of(files, "en")
    assert "; damaged or missing ranges: 1" in english
    assert "The contents of bodies. Checksums" in english
    assert "normal|" in english


def test_texts_in_chinese_have_no_western_punctuation() -> None:
    chinese = {key: texts[1] for key, texts in TEXTS.items()}
    assert {key for key, text in chinese.items() if re.search("[\u4e00-\u9fff)}] ?[;,]|。 ", text)} - {"comma"} == set()
