"""The table of all topics in a real browser: searched, sorted and turned with keys, printed, and safe whatever topics are called."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import PROGRAMS, Tab, program
from support.many_topics import names_of, with_topics

from native_reader.facts import Facts
from native_reader.text import share_of, size_of
from rmqstore.report.listing_script import SCRIPT
from rmqstore.report.page import page_of
from rmqstore.report.words import Words

pytestmark = [pytest.mark.gate, pytest.mark.xdist_group("screenshots")]

READY = "document.querySelector('.listing > p').hidden"
ROWS = "[...document.querySelectorAll('.listing [role=status] ~ .wide tbody tr')]"
HOSTILE = (
    "</script><img src=x onerror=document.title=1>",
    "<svg onload=document.title=2>",
    "'\"><b>",
    "</bdi></table>",
    "{first}",
    "__proto__",
)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if (found := program()) is None:
        pytest.skip(f"no headless browser: none of {', '.join(PROGRAMS)} is installed")
    tab = Tab(found, tmp_path_factory.mktemp("profile"))
    yield tab
    tab.close()


@pytest.fixture(autouse=True)
def quiet(tab: Tab) -> Iterator[None]:
    """Nothing on the console, and nothing loaded but the page."""
    tab.said.clear()
    tab.loaded.clear()
    yield
    assert tab.said == []
    assert all(each.endswith(".html") for each in tab.loaded)


def opened(tab: Tab, folder: Path, facts: Facts, language: str = "en") -> int:
    """Open the page of these facts; returns its size."""
    page = folder / "page.html"
    page.write_text(page_of(facts, language), encoding="utf-8")
    tab.open(page.as_uri())
    tab.until(READY)
    return page.stat().st_size


def status(tab: Tab) -> str:
    return str(tab.value("document.querySelector('[role=status]').textContent"))


def rows(tab: Tab) -> list[list[str]]:
    """The cells of the rows that are shown."""
    return list(tab.value(f"{ROWS}.map((row) => [...row.children].map((cell) => cell.textContent))"))


def focus(tab: Tab) -> str:
    return str(tab.value("document.activeElement.textContent || document.activeElement.type"))


def to_search(tab: Tab) -> None:
    """By keys alone: after the link to the last section, the field is next."""
    tab.value("[...document.querySelectorAll('nav a')].pop().focus()")
    tab.press("Tab")
    assert focus(tab) == "search"


def expected(facts: Facts, name: str) -> list[str]:
    """The row of a topic, as Python writes it."""
    (row,) = [each for each in facts.log.topics.top(10**6).rows if each["topic"] == name]
    count, size, largest, last = (int(str(row[key])) for key in ("messages", "bytes", "largest", "last"))
    share = share_of(size, facts.log.segments.totals()["bytes"])
    return [name, f"{count:,}", size_of(size), share, size_of(largest), Words("en", facts.settings.zone).time(last)]


def test_fifty_thousand_topics_are_searched_and_sorted(tab: Tab, tmp_path: Path) -> None:
    names = names_of(50_000)
    facts = with_topics(names)
    begin = time.monotonic()
    assert opened(tab, tmp_path, facts) < 2_000_000
    assert time.monotonic() - begin < 20  # of a loaded machine
    assert status(tab) == "1 to 25 of 50,000"
    largest = [str(row["topic"]) for row in facts.log.topics.top(25).rows]
    assert [row[0] for row in rows(tab)] == largest
    assert tab.value("document.querySelectorAll('*').length") < 2500

    to_search(tab)
    tab.press(names[31_234])
    assert rows(tab) == [expected(facts, names[31_234])]
    assert status(tab) == "1 to 1 of 1 found among 50,000"
    tab.value("document.activeElement.select()")
    tab.press("Tenant0123 ORDER")
    wanted = {name for name in names if "tenant0123" in name and "order" in name}
    assert 0 < len(wanted) <= 25
    assert {row[0] for row in rows(tab)} == wanted
    tab.value("document.activeElement.select()")
    tab.press("no topic has this")
    assert (rows(tab), status(tab)) == ([], "No name has this.")
    tab.value("document.activeElement.select()")
    tab.press("Backspace")
    assert status(tab) == "1 to 25 of 50,000"

    tab.press(*["Tab"] * 4)
    assert focus(tab) == "Last"
    tab.press("Enter")
    assert status(tab) == "49,976 to 50,000 of 50,000"
    tab.press(*["Tab"] * 3, "Enter")
    assert focus(tab) == "Size"
    assert status(tab) == "1 to 25 of 50,000"
    smallest = [str(row["topic"]) for row in facts.log.topics.top(50_000).rows[-25:]]
    assert {*smallest[1:]} <= {row[0] for row in rows(tab)} | {*smallest[:1]}
    assert tab.value("document.querySelector('[aria-sort=ascending]').textContent") == "Size"


def test_each_column_sorts_both_ways(tab: Tab, tmp_path: Path) -> None:
    facts = with_topics(names_of(25))
    opened(tab, tmp_path, facts)
    known = facts.log.topics.top(25).rows
    for number, key in enumerate(("topic", "messages", "bytes", "bytes", "largest", "last")):
        orders = []
        for _ in range(2):
            tab.value(f"document.querySelectorAll('.listing thead button')[{number}].click()")
            orders.append([row[0] for row in rows(tab)])
        values = [[next(row[key] for row in known if row["topic"] == name) for name in order] for order in orders]
        assert {tuple(sorted(each)) for each in values} == {tuple(sorted(values[0]))}  # type: ignore[type-var]
        rising, falling = values if values[0][0] < values[0][-1] else values[::-1]  # type: ignore[operator]
        assert (rising, falling) == (sorted(rising), sorted(falling, reverse=True))  # type: ignore[type-var]
        assert (values[0] == rising) == (number == 0), "names rise first, numbers fall"


def test_numbers_are_written_as_everywhere_else(tab: Tab, tmp_path: Path) -> None:
    facts = with_topics(names_of(200))
    opened(tab, tmp_path, facts)
    shown: list[list[str]] = []
    for _ in range(8):
        shown += rows(tab)
        tab.value("document.querySelector('button[value=next]').click()")
    assert len(shown) == 200
    assert shown == [expected(facts, row[0]) for row in shown]
    static = "[...document.querySelectorAll('.listing > div:first-child tbody tr:not(.others)')]"
    plain = tab.value(f"{static}.map((row) => [...row.children].map((cell) => cell.textContent))")
    assert plain == [row[:4] for row in shown[: len(plain)]]


def test_the_chinese_page_writes_them_in_chinese(tab: Tab, tmp_path: Path) -> None:
    facts = with_topics(names_of(30))
    opened(tab, tmp_path, facts, "zh")
    assert status(tab) == "第 1 至 25 个，共 30 个"
    words = Words("zh", facts.settings.zone)
    for row in rows(tab):
        english = expected(facts, row[0])
        assert row == [*english[:2], *(words.measure(each) for each in english[2:5]), english[5]]
    to_search(tab)
    tab.press("xyz")
    assert status(tab) == "没有名称包含搜索内容。"


def test_names_do_not_become_elements_or_scripts(tab: Tab, tmp_path: Path) -> None:
    names = [*names_of(20), *HOSTILE]
    facts = with_topics(names, deleted=(HOSTILE[0],))
    opened(tab, tmp_path, facts)
    title = tab.value("document.title")
    for name in HOSTILE:
        to_search(tab)
        tab.value("document.activeElement.select()")
        tab.press(name)
        wanted = [each for each in names if all(word in each.lower() for word in name.lower().split())]
        assert {row[0].removesuffix(" deleted") for row in rows(tab)} == {*wanted}
    assert tab.value("document.title") == title
    assert tab.value("document.querySelectorAll('img, .listing b, .listing svg[onload], iframe').length") == 0
    assert tab.value("document.querySelectorAll('script').length") == 2
    assert tab.value("[...document.querySelectorAll('script')].pop().textContent") == SCRIPT


def test_another_script_does_not_run(tab: Tab, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = page_of(with_topics(names_of(20)), "en")
    page.write_text(
        text.replace("<main>", "<main><script>document.title = 'ran'</script><img src='http://x.invalid/' onerror='1'/>"), encoding="utf-8"
    )
    tab.open(page.as_uri())
    tab.until(READY)
    assert tab.value("document.title") != "ran"
    assert any("Content Security Policy" in each for each in tab.said)
    tab.said.clear()
    tab.loaded.clear()


def test_without_scripts_the_largest_topics_stay(tab: Tab, tmp_path: Path) -> None:
    facts = with_topics(names_of(1000))
    tab.ask("Emulation.setScriptExecutionDisabled", value=True)
    page = tmp_path / "page.html"
    page.write_text(page_of(facts, "en"), encoding="utf-8")
    tab.ask("Page.navigate", url=page.as_uri())
    text = ""
    while "How this page was made" not in text:
        tree = tab.ask("Accessibility.getFullAXTree")["nodes"]
        text = "\n".join(str(node.get("name", {}).get("value", "")) for node in tree if not node["ignored"])
    tab.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert str(facts.log.topics.top(1).rows[0]["topic"]) in text
    assert "985 others" in text
    assert "all 1,000 can be searched and sorted here." in text
    assert "Previous" not in text


def test_what_is_shown_can_be_printed(tab: Tab, tmp_path: Path) -> None:
    opened(tab, tmp_path, with_topics(names_of(1000)))
    tab.ask("Emulation.setEmulatedMedia", media="print")
    try:
        assert tab.value("getComputedStyle(document.querySelector('.controls')).display") == "none"
        visible = f"{ROWS}.every((row) => row.getBoundingClientRect().height)"
        assert tab.value(visible)
        assert len(tab.ask("Page.printToPDF")["data"]) > 20_000
    finally:
        tab.ask("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_is_wider_than_the_screen(tab: Tab, tmp_path: Path, width: int) -> None:
    tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    opened(tab, tmp_path, with_topics([*names_of(30), "x" * 255]))
    assert tab.value("document.documentElement.scrollWidth") <= width
    to_search(tab)
    tab.press("xxx")
    assert len(rows(tab)) == 1
    assert tab.value("document.documentElement.scrollWidth") <= width
