"""The page of a rescue: in HTML and in Chinese it says what the Markdown says, and names from the store stay text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from support.command_line import HOSTILE, run
from support.exported import json_lines
from support.golden import Golden
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.markdown import Document, Items, Lines, Result, Results, Section, Table, lines_of
from native_reader.sentences import LANGUAGES, Said, say
from native_reader.start import question
from rmqstore.report.rescue_page import rescue_page

NAMES = (*HOSTILE, "<script>alert(1)</script>", "</style>", "&amp;", "`code`", '" onload="alert(1)', "a{count}", "订单", "http://evil")
TAGS = "html head meta title style body header h1 h2 p dl dt dd nav ul ol li a main section div table thead tbody tr th td bdi code pre"
ATTRIBUTES = "charset name content http-equiv lang class aria-label href id scope"
WARNINGS = {
    "en": ("Is it safe to start a broker on this store?", "better not: it would truncate the log at offset ", " "),
    "zh": ("可以用这个 store 启动 broker 吗？", "最好不要：启动时会在偏移量 ", ""),
}
"""Its label, its text, and what is between them."""


def hostile_store(folder: Path) -> Path:
    """A store with such names in topics, and a damaged record."""
    log = log_of([message(number, topic=name, queue_offset=0, version=2) for number, name in enumerate(NAMES)], segment_size=4096)
    files = files_of(log)
    path, record = sorted(files)[0], log.placed[1]
    start = record.offset - record.segment
    files[path] = files[path][:start] + bytes(record.size) + files[path][start + record.size :]
    return on_disk(folder, files) / "store"


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_names_stay_text_on_both_pages(tmp_path: Path, language: str) -> None:
    ended = run("rescue", hostile_store(tmp_path), tmp_path / "out", "--lang", language)
    assert ended.code == 1
    markdown, page = ((tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("rescue.md", "rescue.html"))
    elements = list(ET.fromstring(page).iter())
    assert {each.tag for each in elements} <= set(TAGS.split())
    attributes = [pair for each in elements for pair in each.attrib.items()]
    assert {name for name, _ in attributes} <= set(ATTRIBUTES.split())
    assert all(value.startswith("#title-") for name, value in attributes if name == "href")
    assert "Content-Security-Policy" in page
    assert all(character.isprintable() or character == "\n" for character in page + markdown)
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in page
    assert "<bdi>`code`</bdi>" in page
    assert "<bdi>a{count}</bdi>" in page
    assert "<script" not in markdown
    label, text, between = WARNINGS[language]
    assert f"- **{label}** {text}" in markdown
    assert f'<p class="warning">{label}{between}{text}' in page


def test_both_pages_have_the_same_numbers_in_both_languages(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    root = own_store("5.5.0-lost-page").root
    numbers = []
    for language in LANGUAGES:
        run("rescue", root, tmp_path / language, "--lang", language)
        for name in ("rescue.md", "rescue.html"):
            text = (tmp_path / language / name).read_text(encoding="utf-8").partition("</style>")
            plain = unescape(re.sub("<[^>]*>|\\d{4}-\\d\\d-\\d\\d[T ][\\d:.]+", " ", text[2] or text[0]))
            numbers.append(set(re.findall(r"\d[\d,]*\d", plain)))
    assert numbers[0] == numbers[1] == numbers[2] == numbers[3]
    assert len(numbers[0]) > 20


def test_a_rescue_in_chinese_is_in_chinese(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    root = own_store("5.5.0-lost-page").root
    run("rescue", root, tmp_path / "out", "--lang", "zh_CN")
    markdown, page = ((tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("rescue.md", "rescue.html"))
    assert '<html lang="zh-CN">' in page
    assert markdown.startswith(f"# {root} 的抢救报告\n".replace("_", r"\_"))
    for row in json_lines(tmp_path / "out" / "findings.jsonl"):
        assert Said(f"code {row['code']}").text("zh") in page
        assert f"| {row['code']} |" in markdown
    assert [each for each in re.findall("<code>(.*?)</code>", page) if "messages&quot;" in each or "parquet&#x27;" in each] == [
        "pyarrow.parquet.read_table(&quot;messages&quot;)  # import pyarrow.parquet",
        "duckdb.sql(&quot;FROM read_parquet(&#x27;messages/*.parquet&#x27;)&quot;)  # pip install duckdb; import duckdb",
        "spark.read.parquet(&quot;messages&quot;)  # any Spark",
    ]
    for heading in ("## 已保存的消息（按 topic）", "## commitlog 中丢失的部分", "## 检查结果", "## 后续步骤"):
        assert f"\n{heading}\n" in markdown


def test_the_same_document_gives_the_same_page() -> None:
    rows = [("a`b", 1234, None, say("text", text="x`y")), ("", 1, None, say("step start"))]
    page = Document(
        say("rescue of", stores=say("empty store")),
        [Results([Result(question(), say("start dledger peers"), is_warning=True), Result(say("result lost"), say("nothing lost"))])],
        [
            Section(say("title check"), [Table([say("column topic")] * 4, rows)]),
            Section(say("title next"), [Lines([say("how to serve")]), Items([say("step rename")], is_numbered=True)]),
        ],
    )
    html = rescue_page(page, "en")
    assert html == rescue_page(page, "en")
    assert f'<p class="warning">Is it safe to start a broker on this store? {Said("start dledger peers").text()}</p>' in html
    assert '<td class="number">1,234</td>' in html
    assert "<bdi>a`b</bdi>" in html
    assert ">x`y</td>" in html
    assert "an empty <code>storePathRootDir</code>. Copy" in html
    assert r"| a\`b | 1,234 |  | x\`y |" in list(lines_of(page, "en"))


def test_a_rescue_without_html_removes_that_of_an_earlier_run(tmp_path: Path) -> None:
    store = on_disk(tmp_path, files_of(log_of(3))) / "store"
    run("rescue", store, tmp_path / "out")
    assert (tmp_path / "out" / "rescue.html").exists()
    nr.open(store).rescue(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "account.jsonl",
        "findings.jsonl",
        "lost",
        "messages",
        "queues.jsonl",
        "rescue.md",
    ]


def test_an_unknown_language_names_the_others(tmp_path: Path) -> None:
    store = on_disk(tmp_path, files_of(log_of(3))) / "store"
    with pytest.raises(nr.OptionError, match="language must be one of en, zh, not 'cn'"):
        nr.open(store).rescue(tmp_path / "out", language="cn")
