"""The page: well-formed, without other pages' scripts and links, small, deterministic, readable; names from the store stay text."""

from __future__ import annotations

import os
import re
import stat
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC
from html.parser import HTMLParser
from itertools import pairwise, product
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.stores import Files, files_of, in_memory, log_of, message
from support.verified import TOPICS, healthy

import native_reader as nr
from native_reader.facts import DeletedInLog, Facts, expiry_of
from native_reader.facts.gather import ReportSettings, gather
from native_reader.facts.log_facts import DAY, HOUR
from native_reader.facts.seen import MOST_PLACES
from native_reader.plan.lost import Missing
from native_reader.start import question
from native_reader.storage.protocol import Disk
from native_reader.sums import MOST_GROUPS
from native_reader.testing.records import Message, pack_properties
from native_reader.text import share_of, size_of
from native_reader.verify.findings import FirstFindings
from rmqstore.report.blocks import TOP
from rmqstore.report.damage_section import findings_sentence
from rmqstore.report.file import write_report
from rmqstore.report.frame import DARK, GRAPHIC_COLORS, LIGHT, TEXT_COLORS, style_sheet
from rmqstore.report.markup import escaped, shortened
from rmqstore.report.page import page_of, page_of_brokers
from rmqstore.report.texts import TEXTS
from rmqstore.report.words import Words
from rmqstore.text import LANGUAGES

NOW = 1_800_000_000_000_000
MOST = 3_000_000
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "rmqstore" / "report"
HOSTILE = (
    *("<script>alert(1)</script>", "</svg>", "</style>", "&", "&lt;", "]]>", '" onload="alert(1)', "%RETRY%a{count}", "a\x01\x1b[2Jb"),
    *("\u202etxt.exe", "\u2066a", "订单", "x" * 127, "\x7f", "http://example.org", "javascript:alert(1)"),
)


def named(number: int, name: str) -> Message:
    """A message with a name wherever a store has one."""
    properties = pack_properties({"TAGS": name.replace("\x01", ""), "PGROUP": "p"})
    return message(number, topic=name, properties=properties, queue_id=number % 3, version=2)


def facts_of(files: Files, **settings: object) -> Facts:
    memory = in_memory(files)
    (files,) = nr.open(f"{memory.url}/store").stores
    return gather(files, ReportSettings(NOW, **settings))  # type: ignore[arg-type]


def damaged() -> Files:
    """A store with damage, a missing segment, and 20 messages a day for 30 days."""
    messages = [message(each, store_timestamp=NOW // 1000 - 4_320_000 * each, body=b"x" * 200) for each in range(600, 0, -1)]
    files = files_of(log_of(messages, segment_size=16_384))
    second, third, *_ = sorted(files)[1:]
    files[second] = files[second][:5000] + bytes(500) + files[second][5500:]
    del files[third]
    return files


class Page(HTMLParser):
    """What a browser sees: tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


TAGS = """
    html head meta title style body header nav main section h1 h2 h3 h4 p ul li a div figure figcaption span
    svg rect path line table thead tbody tr th td dl dt dd details summary bdi
"""
ATTRIBUTES = """
    lang charset name http-equiv content href class id role aria-label aria-hidden scope
    viewbox preserveaspectratio x y width height x1 x2 y1 y2 d
"""


LISTING = "script label input button", "type value hidden autocomplete spellcheck"
"""What only a page with a table of all topics has."""


def checked(page: str) -> Page:
    """Assert all that must hold for every page."""
    ET.fromstring(page)
    parsed = Page(page)
    tags, attributes = LISTING if 'class="listing"' in page else ("", "")
    assert set(parsed.tags) <= {*TAGS.split(), *tags.split()}
    assert parsed.tags.count("script") == (2 if tags else 0)
    assert {name for name, _ in parsed.attributes} <= {*ATTRIBUTES.split(), *attributes.split()}
    ids = {value for name, value in parsed.attributes if name == "id"}
    assert {value for name, value in parsed.attributes if name == "href"} == {f"#{each}" for each in ids}
    style = page[page.index("<style>") : page.index("</style>")]
    assert not re.search(r"url\(|@import|@font-face|expression|http", style)
    assert all(character.isprintable() or character == "\n" for character in page)
    assert len(page.encode()) <= MOST
    return parsed


def test_the_page_holds_the_numbers() -> None:
    facts = facts_of(damaged(), free=1 << 20, verify=True)
    page = page_of(facts, "en")
    text = checked(page).text
    assert not re.search(r"https?:", page)
    assert "Content-Security-Policy" in page
    assert f"{facts.log.messages:,} messages of 3 topics" in text
    assert f"{size_of(facts.damaged_bytes)} are damaged or missing, in {facts.damaged_places} places." in text
    assert "grows by" in text
    assert "are full after" in text
    for row in facts.log.places.by("topic").top(10).rows:
        assert f"{row['topic']}{row['messages']:,}{size_of(int(str(row['bytes'])))}" in text
    for each in facts.log.damage:
        assert f"{each.start:,}" in text
    for missing in facts.missing:
        assert f"{missing.start:,}" in text
    assert isinstance(facts.findings, FirstFindings)
    assert findings_sentence(facts.findings, Words("en", UTC)) in text
    assert not facts.is_clean
    assert 'class="broken"' in page
    assert 'class="gone"' in page


def without_queues_of(topic: str) -> Files:
    """A healthy store whose topic was deleted."""
    files = {path: content for path, content in healthy()[1].items() if f"/consumequeue/{topic}/" not in path}
    return files | {TOPICS: files[TOPICS].replace(f'"{topic}"'.encode(), b'"T9"')}


def test_deleted_topics_are_marked_and_named_in_a_sentence() -> None:
    facts = facts_of(without_queues_of("T1"))
    (row,) = [each for each in facts.log.places.by("topic").top(10).rows if each["topic"] == "T1"]
    assert facts.deleted == DeletedInLog(("T1",), 20, int(str(row["bytes"])))
    assert facts.counts()["deleted_topics"] == 1
    english, chinese = checked(page_of(facts, "en")), checked(page_of(facts, "zh"))
    taken = size_of(facts.deleted.bytes)
    assert f"1 deleted topic still has records: T1, 20 messages, {taken}, until its segments expire." in english.text
    assert f"1 个已删除的 topic 仍有记录：T1，20 条消息，{taken}，其空间要等所在 commitlog 文件过期删除后才会释放。" in chinese.text
    assert "T1 deleted20" in english.text
    assert "T1 已删除20" in chinese.text
    assert english.text.count("T0 deleted") == 0
    several = replace(facts, deleted=DeletedInLog(("a", "b", "<c>", "d", "e", "f"), 7, 1024))
    assert (
        "6 deleted topics still have records: a, b, <c>, d, e …, 7 messages, 1.0 KiB, until their" in checked(page_of(several, "en")).text
    )
    assert "：a、b、<c>、d、e …，7 条消息" in checked(page_of(several, "zh")).text


def test_nothing_is_called_deleted_without_queues() -> None:
    facts = facts_of({path: content for path, content in without_queues_of("T1").items() if "/consumequeue/" not in path})
    assert facts.deleted.names == ()
    assert "deleted topic" not in checked(page_of(facts, "en")).text


def test_the_top_says_how_large_the_store_is_on_its_disk() -> None:
    facts = facts_of(healthy()[1], disk=Disk(1, 100 << 30, 60 << 30, 40 << 30))
    usage = facts.usage
    assert usage.known == {name: getattr(usage, name) for name in ("log", "queues", "index", "other")}
    total, log, queues, index, other = (size_of(each) for each in (usage.total, *usage.known.values()))
    text = checked(page_of(facts, "en")).text
    assert (
        f"takes {total} on disk: log {log}, consume queues {queues}, index {index}, other files {other}. Its disk has 100.0 GiB: " in text
    )
    assert "60.0 GiB are used, 40.0 GiB are free. It is 60 % full, as df counts it" in text
    reserving = replace(facts, settings=replace(facts.settings, disk=Disk(1, 252 << 30, 40 << 30, 51 << 30)))
    english, chinese = (checked(page_of(reserving, language)).text for language in LANGUAGES)
    assert "51.0 GiB are free, the rest is reserved by the file system or for other users. It is 44 % full" in english
    assert "剩余 51.0 GiB，其余由文件系统保留，或留给其他用户。使用率 44%" in chinese
    assert f"Consume queues{queues}{share_of(usage.queues or 0, usage.total)}" in text
    assert f"占用磁盘 {total}：commitlog {log}，consumequeue {queues}" in checked(page_of(facts, "zh")).text
    assert facts.counts()["disk_bytes"] == usage.total
    unknown = replace(facts, usage=replace(usage, queues=None), settings=replace(facts.settings, disk=None, free=1 << 30))
    text = checked(page_of(unknown, "en")).text
    assert f"takes at least {size_of(unknown.usage.total)} on disk: log {log}, consume queues not counted, " in text
    assert "1.0 GiB are free on its disk." in text


def test_the_page_begins_with_whether_a_broker_may_be_started() -> None:
    damage, clean = facts_of(damaged()), facts_of(healthy()[1])
    begins = {
        "en": "Is it safe to start a broker on this store? better not: it does not finish its start",
        "zh": "可以用这个 store 启动 broker 吗？最好不要：",
    }
    for language in LANGUAGES:
        page = page_of(damage, language)
        warning, frees = page.index('<div class="warning">'), page.index(TEXTS["what_frees"][LANGUAGES.index(language)])
        assert warning < page.index('class="lead"') < frees
        assert begins[language] in checked(page).text
        assert language != "en" or "it would truncate the log at offset 21,364" in checked(page).text
        assert "rmqstore rescue STORE FOLDER" in page
        whole = page_of(clean, language)
        assert '<div class="warning">' not in whole
        assert question().text(language) + {"en": " yes", "zh": "可以"}[language] in checked(whole).text


def test_the_page_says_what_frees_space() -> None:
    for language in LANGUAGES:
        text = checked(page_of(facts_of(files_of()), language)).text
        assert all(each in text for each in ("fileReservedTime", "deleteWhen", "updateBrokerConfig"))
        limits = {"75": "diskMaxUsedSpaceRatio", "85": "diskSpaceCleanForciblyRatio", "90": "diskSpaceWarningLevelRatio"}
        assert all(re.search(rf"{percent} ?% ?[(（]{name}[)）]", text) for percent, name in limits.items())


def test_the_page_says_which_segments_expired_and_when_the_next_one_does() -> None:
    hours = [(each, NOW // 1000 - (120 - each) * 3_600_000) for each in range(1, 120)]
    files = files_of(log_of([message(each, store_timestamp=time, body=b"x" * 200) for each, time in hours], segment_size=4096))
    facts = facts_of(files)
    rows = facts.log.segments.table()
    assert rows is not None
    lasts = {row["segment"]: row["last"] for row in rows.to_pylist()}
    ends = [lasts[segment.name] + 72 * HOUR for segment in facts.segments]
    gone, whole = sum(end <= NOW for end in ends), len(ends)
    assert 1 < gone < whole - 1
    text = checked(page_of(facts, "en")).text
    now = Words("en", UTC).time(NOW)
    assert (
        f"more than 72 hours before this report ({now} UTC), the newest one aside: {gone} of {whole} segments, "
        f"{size_of(gone * 4096)}. A running broker" in text
    )
    assert f"The oldest of the others expires at {Words('en', UTC).time(ends[gone])} UTC." in text
    assert f"{whole} 个 commitlog 文件中有 {gone} 个" in checked(page_of(facts, "zh")).text

    unreadable = {path: bytes(4096) if path.endswith(facts.segments[gone - 1].name) else content for path, content in files.items()}
    assert expiry_of(facts_of(unreadable)) == (gone - 1, (gone - 1) * 4096, ends[gone])
    assert expiry_of(facts_of(files, reserved=1000)) == (0, 0, ends[0] + 928 * HOUR)
    allocated = files | {f"store/commitlog/{facts.segments[-1].end:020}": bytes(4096)}
    assert expiry_of(facts_of(allocated, reserved=0)) == (whole - 1, (whole - 1) * 4096, None)
    old = facts_of(files, reserved=0)
    assert expiry_of(old) == (whole - 1, (whole - 1) * 4096, None)
    assert "A broker never deletes the newest segment." in checked(page_of(old, "en")).text
    assert expiry_of(facts_of({"store/commitlog/00000000000000000000": bytes(4096)})) is None


def test_a_time_of_the_summary_stays_on_one_line() -> None:
    facts = facts_of(damaged())
    for language in LANGUAGES:
        words = Words(language, UTC)
        lead = page_of(facts, language).partition('class="lead">')[2].partition("</p>")[0]
        times = [words.time(facts.log.first), words.time(facts.log.last)]
        assert re.findall('<span class="time">(.*?)</span>', lead) == times
    assert ".time { white-space: nowrap; }" in style_sheet()


def test_the_order_of_the_sections() -> None:
    page = page_of(facts_of(damaged()), "en")
    assert re.findall('<section id="([a-z]+)">', page) == ["disk", "time", "sizes", "skew", "lag", "dead", "pending", "damage", "made"]
    headings = [int(tag[1]) for tag in Page(page).tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_store_and_time_give_the_same_page(language: str) -> None:
    files = damaged()
    memory = in_memory(files)
    store = nr.open(f"{memory.url}/store")
    pages = {page_of(each.report(now=NOW // 1000, jobs=jobs), language) for each, jobs in product((store, store.refresh()), (1, 2))}
    assert len(pages) == 1


def test_hostile_names_stay_text() -> None:
    files = files_of(log_of([named(number, name) for number, name in enumerate(HOSTILE * 4)], segment_size=8192))
    groups = ",".join(f'"{name}@<b>{number}</b>":{{0:1}}' for number, name in enumerate(HOSTILE) if '"' not in name and name.isprintable())
    files["store/config/consumerOffset.json"] = f'{{"offsetTable":{{{groups}}}}}'.encode()
    facts = facts_of(files)
    for language in LANGUAGES:
        parsed = checked(page_of(facts, language))
        for name in HOSTILE:
            shown = name if name.isprintable() else escaped(name)
            assert shown in parsed.text


def test_a_long_topic_is_shown_whole() -> None:
    name = "长" * 85  # 255 bytes
    assert name in checked(page_of(facts_of(files_of(log_of([named(1, name)], segment_size=4096))), "zh")).text


@pytest.mark.long
def test_the_page_of_thousands_of_topics_is_small() -> None:
    messages = []
    for number in range(5000):
        name = f"{number:05}" + '"' * 250
        born_host = (b"\xfe\x80" + bytes(10) + number.to_bytes(4, "big"), number)
        properties = pack_properties({"TAGS": name})
        messages += [message(number, topic=name, properties=properties, version=2, born_host=born_host, queue_id=each) for each in (0, 1)]
    files = files_of(log_of(messages, segment_size=4096))
    for number, path in enumerate(sorted(files)):
        if number % 3 == 1:
            files[path] = files[path][:100] + bytes(50) + files[path][150:]
    facts = facts_of(files)
    assert len(facts.segments) > 1000
    page = page_of(facts, "en")
    checked(page)
    assert re.search("4,[0-9]{3} others", page)


def test_an_empty_store() -> None:
    files = {"store/commitlog/00000000000000000000": bytes(4096)}
    parsed = checked(page_of(facts_of(files), "en"))
    assert "without any message" in parsed.text
    assert "No damage was found." in parsed.text


def test_the_time_zone() -> None:
    facts = facts_of(files_of(log_of([message(1, store_timestamp=1_700_000_000_000)])))
    assert "2023-11-14 22:13 UTC" in checked(page_of(facts, "en")).text
    there = replace(facts, settings=replace(facts.settings, zone=ZoneInfo("Asia/Shanghai"), zone_name="Asia/Shanghai"))
    assert "2023-11-15 06:13 Asia/Shanghai" in checked(page_of(there, "en")).text


def test_the_forecast_follows_from_its_numbers() -> None:
    start = 1_700_000_000_000
    messages = [message(each, body=b"x" * 100, store_timestamp=start + each * 3_600_000) for each in range(72)]
    files = files_of(log_of(messages, segment_size=8192))
    facts = facts_of(files)
    a_day = float(facts.log.times.since((start + 47 * 3_600_000) * 1000))
    text = checked(page_of(replace(facts, settings=replace(facts.settings, free=int(a_day * 3))), "en")).text
    assert "are full after 3 days, about 2023-11-20 21:13." in text
    assert "last for more than ten years" in page_of(replace(facts, settings=replace(facts.settings, free=1 << 50)), "en")
    assert "Pass --disk-free" in page_of(facts, "en")


def test_the_largest_missing_range_is_shown_however_many_there_are() -> None:
    facts = facts_of(damaged())
    small = [Missing(facts.uri, start, start + 10) for start in range(10**9, 10**9 + 100 * 50, 100)]
    large = Missing(facts.uri, 2 * 10**9, 2 * 10**9 + 10**6)
    page = page_of(replace(facts, missing=(*small, large)), "en")
    assert "2,000,000,000" in checked(page).text.partition("The largest ranges")[2]


def test_every_section_with_times_names_their_zone() -> None:
    page = page_of(facts_of(damaged(), zone=ZoneInfo("Asia/Shanghai"), zone_name="Asia/Shanghai", options={"max_record_bytes": "1m"}), "en")
    sections = {part.partition('"')[0]: part for part in page.split('<section id="')[1:]}
    assert {key for key, part in sections.items() if "Times are in Asia/Shanghai." in part} == {"time", "pending", "damage"}
    assert {key for key, part in sections.items() if re.search(r">20\d\d-\d\d-\d\d \d\d:", part)} <= {"time", "pending", "damage", "made"}
    assert "--option max_record_bytes=1m" in sections["made"]


def test_only_options_that_were_given_are_listed() -> None:
    def listed(**settings: object) -> str:
        return checked(page_of(facts_of(files_of(), **settings), "en")).text.partition("Options")[2].partition("Bytes of the log")[0]

    assert listed(free=1000, disk=Disk(1, 3000, 2000, 1000)) == "None."
    assert listed(free=1000, verify=True, zone_name="+08:00") == "--time-zone +08:00 --disk-free 1000 --verify"


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    memory = in_memory(damaged())
    store, output = nr.open(f"{memory.url}/store"), tmp_path / "report.html"
    (facts,) = write_report(store, output, now=NOW // 1000).values()
    assert output.read_text(encoding="utf-8") == page_of(facts, "en")
    with pytest.raises(nr.OptionError, match="cannot write there: it is a folder"):
        write_report(store, tmp_path, now=NOW // 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_page_of_several_brokers_has_all_of_each_and_their_sums() -> None:
    one, other = facts_of(damaged(), verify=True), facts_of(healthy()[1], verify=True)
    name = "<b>\u202e&"
    page = page_of_brokers({"east": one, name: other}, "en")
    text = checked(page).text
    for facts in (one, other):
        assert f"{facts.log.messages:,} messages of " in text
    assert "<h2>&lt;b&gt;\\u202e&amp;</h2>" in page
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert {"brokers", "b1", "b2", "b1-disk", "b2-damage", "made"} <= set(ids)
    rows = [each.log.places.by("topic").top(100).rows for each in (one, other)]
    messages = sum(int(str(row["messages"])) for of_one in rows for row in of_one if row["topic"] == "T1")
    assert f'>T1</bdi></th><td class="number">{messages}</td>' in page[: page.index('id="b1"')]
    assert all(
        key in checked(page_of_brokers({"east": one, name: other}, "zh", "标题")).text
        for key in ("所有 broker", "标题", "可以启动 broker 吗")
    )


def test_a_page_replaced_a_pipe_and_the_link_that_led_to_a_file(tmp_path: Path) -> None:
    """As root, `report -o /dev/stdout` or a device was gone after it, and the pipe got nothing."""
    memory = in_memory(damaged())
    store = nr.open(f"{memory.url}/store")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(nr.OptionError, match="pipe: cannot write there: it is not a regular file"):
        write_report(store, tmp_path / "pipe", now=NOW // 1000)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    (tmp_path / "away").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "away" / "page.html")
    for _ in range(2):  # the file is new, and then it is replaced
        (facts,) = write_report(store, tmp_path / "link", now=NOW // 1000).values()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "away" / "page.html").read_text(encoding="utf-8") == page_of(facts, "en")


# Texts, numbers, colours


SAME_IN_BOTH = "broker", "topic", "tag", "store", "comma", "semicolon", "two_sentences"


def test_every_text_exists_in_both_languages_with_the_same_values() -> None:
    for key, texts in TEXTS.items():
        values = [set(re.findall(r"{(\w+)}", text)) - {"s"} for text in texts]
        assert values[0] == values[1], key
        assert texts[1], key
        assert re.search("[\u4e00-\u9fff]", texts[1]) or key in (
            "broker",
            "topic",
            "tag",
            "store",
            "comma",
            "semicolon",
            "two_sentences",
        ), key


def test_every_text_is_used() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py") if path.name != "texts.py")
    made = ("part_", "state_", "fate_", "place_", "n_")
    assert [key for key in TEXTS if f'"{key}"' not in code and not key.startswith(made)] == []


def test_the_limits_are_documented() -> None:
    text = " ".join((ROOT / "docs" / "report.md").read_text(encoding="utf-8").split())
    assert f"the largest {TOP} rows" in text
    assert f"more than {MOST_GROUPS:,} groups" in text
    assert f"more than {MOST_PLACES:,} such messages" in text
    assert f"cut after {len(shortened('x' * 10_000))} characters" in text


def test_only_three_modules_make_markup() -> None:
    making = {path.name for path in FOLDER.glob("*.py") if re.search(r"\bMarkup\((?!str)", path.read_text(encoding="utf-8"))}
    assert making == {"markup.py", "frame.py", "listing.py"}


def test_times_and_durations() -> None:
    words = Words("en", ZoneInfo("Asia/Shanghai"))
    assert words.time(None) == "–"
    assert words.time(0) == "1970-01-01 08:00"
    assert words.time(253_402_300_799_999_000) == "9999-12-31 23:59"
    assert [words.duration(each) for each in (60_000_000, 3 * HOUR, 2 * DAY)] == ["1 minute", "3 hours", "2 days"]
    assert [words.width(each) for each in (300_000_000, HOUR, 6 * HOUR, 7 * DAY)] == ["5 minutes", "1 hour", "6 hours", "7 days"]


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_as_wcag_asks(colors: dict[str, str]) -> None:
    assert {name: contrast(colors[name], colors["paper"]) for name in TEXT_COLORS if contrast(colors[name], colors["paper"]) < 4.5} == {}
    assert {name for name in GRAPHIC_COLORS if contrast(colors[name], colors["empty"]) < 3} == set()
    assert LIGHT.keys() == DARK.keys()
