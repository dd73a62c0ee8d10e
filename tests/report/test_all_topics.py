"""The table of all topics: there only if a plain one leaves some out, small, and safe whatever the topics are called."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from dataclasses import replace
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from support.many_topics import names_of, with_topics

from native_reader.facts import Facts, Tally
from rmqstore.report.blocks import TOP
from rmqstore.report.listing import allowed_script
from rmqstore.report.listing_script import SCRIPT
from rmqstore.report.page import page_of, page_of_brokers
from rmqstore.report.words import Words
from rmqstore.text import LANGUAGES

MB = 1_000_000
HOSTILE = ("</script><img src=x onerror=alert(1)>", "]]>", "<!--", "\u202etxt.exe", "a\nb", "订单", '"', "&lt;", "{count}", "x" * 300)


def packed(page: str) -> dict[str, Any]:
    (block,) = re.findall(r'<script type="text/plain">([A-Za-z0-9+/=]*)</script>', page)
    found = dict(json.loads(gzip.decompress(base64.b64decode(block))))
    held = found["columns"]
    return found | {"columns": [[kind, held[values][1] if isinstance(values, int) else values] for kind, values in held]}


def test_a_page_whose_plain_table_has_all_topics_has_no_script() -> None:
    page = page_of(with_topics(names_of(TOP)), "en")
    assert "script" not in page
    assert len(page) < 40_000
    assert "<script" in page_of(with_topics(names_of(TOP + 1)), "en")


def test_fifty_thousand_topics_are_less_than_two_megabytes() -> None:
    facts = with_topics(names_of(50_000))
    for page in (page_of(facts, "en"), page_of(facts, "zh"), page_of_brokers({"a": facts, "b": facts}, "en")):
        assert len(page.encode()) < 2 * MB
        assert len(packed(page)["columns"][0][1]) == 50_000


@pytest.mark.gate
def test_names_that_cannot_be_compressed_are_cut_at_the_smallest_topics_and_the_page_says_so() -> None:
    chance = Random(1)
    names = ["".join(map(chr, chance.choices(range(0x4E00, 0x9FFF), k=60))) for _ in range(30_000)]
    facts = with_topics(names)
    page = page_of(facts, "en")
    assert len(page.encode()) < 2 * MB
    found = packed(page)["columns"]
    listed = len(found[0][1])
    assert 5000 < listed < 30_000
    sizes = facts.log.topics.top(30_000).rows
    assert sorted(found[2][1], reverse=True) == [row["bytes"] for row in sizes[:listed]]
    assert f"{30_000 - listed:,} small ones more: not listed, but in the sums." in page


def test_topics_that_were_forgotten_are_counted() -> None:
    facts = with_topics(names_of(120), limit=100)
    assert facts.log.topics.forgotten_groups == 70
    assert "70 small ones more: not listed" in page_of(facts, "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_policy_allows_that_script_and_nothing_else(language: str) -> None:
    page = page_of(with_topics(names_of(20)), language)
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert scripts == [SCRIPT]
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert allowed_script() == f"'sha256-{digest}'"
    rules = ("default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'", f"script-src 'sha256-{digest}'")
    assert html.unescape(policy).split("; ") == [*rules]
    assert not re.search(r"\son\w+=", page)


def test_the_script_makes_no_markup_of_text() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function|setTimeout|fetch|XMLHttp|import|href|src", SCRIPT
    )
    assert not set("<&") & set(SCRIPT)
    assert "]]>" not in SCRIPT


def test_hostile_names_are_only_in_the_block_and_as_escaped_text() -> None:
    names = [*names_of(20), *HOSTILE]
    page = page_of(with_topics(names), "en")
    assert page.count("<script") == 2
    assert "<img" not in page
    shown = packed(page)["columns"][0][1]
    assert {"</script><img src=x onerror=alert(1)>", "]]>", "\\u202etxt.exe", "a\\nb", "订单", "x" * 254 + "…"} <= {*shown}
    assert all(each.isprintable() for each in shown)
    assert shown == sorted(shown)


def test_rows_belong_together() -> None:
    facts = with_topics(names_of(100), deleted=(names_of(100)[7],))
    found = packed(page_of(facts, "en"))
    kinds = [kind for kind, _ in found["columns"]]
    assert kinds == ["name", "count", "size", "share", "size", "time"]
    assert found["whole"] == facts.log.segments.totals()["bytes"]
    rows = {row["topic"]: row for row in facts.log.topics.top(100).rows}
    for place, (name, count, size, share, largest, minutes) in enumerate(zip(*(values for _, values in found["columns"]), strict=True)):
        row = rows[name]
        assert (count, size, share, largest) == (row["messages"], row["bytes"], row["bytes"], row["largest"])
        assert minutes == row["last"] // 60_000_000  # type: ignore[operator]
        assert found["marks"].get(str(place)) == ("deleted" if name == names_of(100)[7] else None)


def test_times_are_those_of_the_zone_also_in_summer() -> None:
    winter, summer = 1_768_000_000_000_000, 1_784_000_000_000_000
    words = Words("en", ZoneInfo("Europe/Berlin"))
    assert words.minutes_there(winter) == winter // 60_000_000 + 60
    assert words.minutes_there(summer) == summer // 60_000_000 + 120
    assert words.minutes_there(None) is None


def test_the_same_facts_give_the_same_page() -> None:
    assert len({page_of(with_topics(names_of(50)), "en") for _ in range(2)}) == 1


def test_a_topic_of_several_brokers_is_one_row() -> None:
    facts = with_topics(names_of(20))
    page = page_of_brokers({"a": facts, "b": facts}, "en")
    counts = dict(zip(*(values for _, values in packed(page)["columns"][:2]), strict=True))
    assert counts == {row["topic"]: 2 * int(str(row["messages"])) for row in facts.log.topics.top(20).rows}
    assert page.count('class="listing"') == 1


def test_a_topic_is_counted_though_the_queues_of_topics_are_too_many() -> None:
    """A tally by queue forgets the small ones, and a topic's sums were made of it."""
    facts: Facts = with_topics(names_of(3))
    assert isinstance(facts.log.topics, Tally)
    few = replace(facts.log, topics=Tally(("topic",), ("bytes", "messages", "records"), most=("largest", "last"), limit=4))
    few.places = Tally(("topic", "queue_id", "kind"), ("bytes", "messages", "records"), most=("largest",), limit=4)
    sizes = pa.array([100] * 30, pa.int64())
    columns = {"topic": ["a", "b", "c"] * 10, "queue_id": [each // 3 for each in range(30)], "kind": ["normal"] * 30}
    rows = pa.table(columns | dict.fromkeys(("bytes", "messages", "records", "largest", "last"), sizes))
    few.topics.add(rows)
    few.places.add(rows)
    assert few.topics.top(9).groups == few.topics.forgotten_groups == 0
    assert few.places.by("topic").table() is not None
    assert few.places.forgotten_groups
