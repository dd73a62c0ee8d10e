"""Any value of an option, a path or a condition gives a result, or one short, printable error of this package."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.stores import files_of, in_memory, log_of, on_disk

import native_reader as nr
from native_reader.columns.schema import COLUMNS
from native_reader.errors import StoreError, shown
from native_reader.options import MessageOptions, options_of
from rmqstore_spark.options import OPTIONS, parsed, spark_name
from rmqstore_spark.request import LoadRequest


class Unspeakable:
    """Each of its methods raises."""

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __iter__ = __fspath__ = __index__ = __len__ = __repr__  # type: ignore[assignment]


class Endless:
    def __iter__(self) -> Iterator[str]:
        return itertools.repeat("a")


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


TEXTS = (
    *("", " ", "a", "T0", "\0", "a\0b", "\n", "\r\n", "\x1b[31m", "\ud800", "a\udcff", "é", "🚀", "*", "%", "[", "(", "\\", "'"),
    *('"', "||", ",", "9" * 19, "9" * 5000, "9" * 19 + "t", "1k", "-1", "0x10", "1e5", "٣", "²", "true", "TRUE", "None", "null"),
    *("a" * 5000, "[" * 100_000, "2026-01-31 12:00:00", "2026-W01", "20260131", "0001-01-01T00:00:00+23:59", "UTC", "+19:00"),
    *("9999-12-31T23:59:59-23:59", "Mars/One", "../../etc/passwd", "Europe/Berlin\0", "earliest", "latest", "{", "{}", "[]"),
    *('{"a": 1}', '{"a": {"0": 1}}', '{"\\ud800": {"0": 1}}', '{"a": {"x": 1}}', "[" * 5000 + "]" * 5000, "heads", "topic,,body"),
    *("file:///%00", "file:///%zz", "s3:///x", "memory://x", "://", "~", "~nobody", "/dev/zero", "/proc/self/mem", "http://["),
    *("(a+)+", "(?=a)", "a{9999}", "\u2028", "topic,body"),
)
VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**5000, 1.5, float("nan"), float("inf"), 1j),
    *(b"", b"a", b"\xff\0", [], [None], [1], ["a"], ["\ud800"], [[]], nested(2000), {}, {"a": 1}, {"a": {"0": 1}}, {"a": {0: 2**70}}),
    *({"a": {2**40: 1}}, {1: {0: 1}}, {"\ud800": {"0": 1}}, {"a": {"0": None}}, (1, 2), {1, 2}, range(3), object(), Unspeakable()),
    *([Unspeakable()], Endless(), StoreError, len, np.int64(1), np.int64(-1), np.float64(1.0), np.bool_(True), np.str_("T0")),
    *(np.array(["T0", "T1"]), np.array(1), np.datetime64("2026-01-01"), pa.scalar("a"), pa.array(["a"]), Path("/x"), Path("\ud800")),
    *(datetime.min, datetime.max, datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))),
    *(timedelta.max, timedelta.min, date(2026, 1, 1), bytearray(b"a"), memoryview(b"a"), "a" * 1_000_000),
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
NAMES = tuple(each.name for each in options_of(MessageOptions))
PLACES = ("store_path_commit_log", "store_path_consume_queue", "store_path_index", "broker_conf")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return on_disk(tmp_path_factory.mktemp("typed"), files_of(log_of(12))) / "store"


@pytest.fixture(scope="module")
def store(root: Path) -> nr.Store:
    return nr.open(root)


def answered(ask: Callable[[], object], name: str = "") -> str:
    """The text of the error; empty if there is none."""
    try:
        ask()
    except nr.StoreError as error:
        text = str(error)
        text.encode()
        assert text.strip()
        assert len(text) <= 2100
        assert text.count("\n") <= 1
        assert all(unicodedata.category(each) not in ("Cc", "Cs") or each in "\n\t" for each in text), ascii(text)
        assert name in text
        return text
    return ""


def read(scan: nr.Scan) -> None:
    scan.head(2)
    str(scan.explain())
    repr(scan)
    scan.count_rows()


# Indices, because hypothesis prints values and some of them cannot be printed.
values = st.sampled_from(range(len(VALUES) + len(TEXTS))).map(lambda number: lambda: (*VALUES, *TEXTS)[number]) | st.text(max_size=6).map(
    lambda text: lambda: text
)


@pytest.mark.sweep
@sampled(250)
@given(st.dictionaries(st.sampled_from(NAMES), values, min_size=1, max_size=2))
def test_any_value_of_any_option(store: nr.Store, options: dict[str, Callable[[], object]]) -> None:
    given_now = {name: value() for name, value in options.items()}
    answered(lambda: read(store.messages(**given_now)))


@pytest.mark.parametrize("name", NAMES)
def test_each_option_names_itself(store: nr.Store, name: str) -> None:
    for value in (Unspeakable(), "\ud800", nested(5), 1j, ["\ud800"], 10**5000, Endless()):
        said = answered(lambda value=value: store.messages(**{name: value}).schema)
        assert said.startswith(name), (said, shown(value))


@pytest.mark.sweep
@sampled(40)
@given(st.text(max_size=8) | st.sampled_from(["topik", "Topic", "\ud800", "a" * 100_000, "self", "\x1b[0m", *NAMES]), values)
def test_any_name_of_an_option(store: nr.Store, name: str, value: Callable[[], object]) -> None:
    answered(lambda: store.messages(**{name: value()}).schema)
    answered(lambda: name == "name" or store.table("damage", **{name: value()}).schema)


@pytest.mark.sweep
@sampled(150)
@given(values, st.sampled_from(["open", "head", "jobs", "table", *PLACES]))
def test_any_value_of_any_argument(store: nr.Store, root: Path, value: Callable[[], object], where: str) -> None:
    given_now: Any = value()
    match where:
        case "open":
            answered(lambda: nr.open(given_now))
        case "head":
            answered(lambda: store.messages().head(given_now), "head must")
        case "jobs":
            answered(lambda: list(store.messages().run(jobs=given_now)), "jobs must")
            answered(lambda: store.messages().count_rows(given_now), "jobs must")
            answered(lambda: store.table("damage").to_table(given_now), "jobs must")
        case "table":
            answered(lambda: store.table(given_now).to_table(), "table=")
        case _:
            answered(lambda: nr.open(root, **{where: given_now}).messages(topic="T0").count_rows())


sparks = st.sampled_from(
    [*(spark_name(option.name) for option in OPTIONS), "topik", "TOPIC", "fs.s3a.key", "", "\ud800", "paths", "option.x"]
)


@pytest.mark.sweep
@sampled(250)
@given(st.dictionaries(sparks, st.sampled_from(TEXTS) | st.text(max_size=6), min_size=1, max_size=3))
def test_any_text_of_any_option_of_spark(options: dict[str, str]) -> None:
    answered(lambda: parsed(options))
    answered(lambda: LoadRequest.of(options))
    answered(lambda: LoadRequest.of(options | {"path": "/x"}).for_batch())
    answered(lambda: LoadRequest.of(options | {"path": "/x"}).for_stream())


# Conditions

COLUMN = st.sampled_from([*COLUMNS, "properties['x']", "properties['\\'']", "tipic", "`topic`", "properties", "keys", "T.topic"])
LITERAL = st.sampled_from(
    [
        *("'a'", '"a"', "r'\\d'", "1", "-1", "1L", "1.5", "1e3", "9" * 25, "NULL", "TRUE", "X'CAFE'", "X'C'", "''", "'%a%'", "'\ud800'"),
        *("TIMESTAMP '2026-01-31 12:00:00'", "TIMESTAMP '2026-01-31 12:00:00+19:00'", "DATE '2026-01-31'", "'(a+)+$'", "'(?=a)'"),
        *("'\\\\1'", "'\\\\'", "'\\ud800'", "'" + "(" * 300 + "'", "'" + "_" * 10_001 + "'", "INTERVAL 1 DAY", "(SELECT 1)", "'\0'"),
        *("CAST('1' AS INT)", ":a", "?", "${x}"),
    ]
)
OPERATOR = st.sampled_from(
    ["=", "==", "<>", "<", ">=", "<=>", "LIKE", "NOT LIKE", "RLIKE", "REGEXP", "ILIKE", "IS", "IN", "+", "||", "->", "::"]
)
LEAF = st.one_of(
    st.tuples(COLUMN, OPERATOR, LITERAL).map(" ".join),
    st.tuples(COLUMN, st.lists(LITERAL, max_size=4).map(", ".join)).map(lambda both: f"{both[0]} IN ({both[1]})"),
    st.tuples(COLUMN, LITERAL, LITERAL).map(lambda all_: f"{all_[0]} BETWEEN {all_[1]} AND {all_[2]}"),
    st.tuples(COLUMN, LITERAL).map(lambda both: f"array_contains({both[0]}, {both[1]})"),
    COLUMN.map(lambda name: f"{name} IS NOT NULL"),
    st.tuples(COLUMN, LITERAL).map(lambda both: f"{both[0]} LIKE {both[1]} ESCAPE '!'"),
)
CONDITION = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" AND ", " OR ", " and not ", " "]), inner).map("".join),
        inner.map(lambda text: f"NOT ({text})"),
    ),
    max_leaves=4,
)
PIECES = st.sampled_from(
    [*"();,'\"\\`-*/%_[]{}.=<>", "--", "/*", "*/", "\0", "\n", "\ud800", "NOT ", " AND", "NULL", "''", "é", "🚀", "SELECT", "(" * 300]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A condition, usually with a part removed, repeated or inserted."""
    text = draw(CONDITION)
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 8)))
        text = text[:begin] + draw(st.sampled_from(["", text[begin:end] * 2]) | PIECES) + text[end:]
    return text


@pytest.mark.sweep
@sampled(150)
@given(mutated())
def test_any_text_of_where(store: nr.Store, text: str) -> None:
    said = answered(lambda: store.messages(where=text, columns="topic").count_rows())
    assert not said or said.startswith("where")


# Single cases


def test_a_path_of_many_brackets_took_forever() -> None:
    with pytest.raises(nr.OptionError, match="is too long for a path: 100,000 bytes; the limit is 4,096"):
        nr.open("[" * 100_000)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["*a" * 2000 + "b", "*[a-z]" * 600 + "b", "*?" * 1000 + "b", "[" * 4096])
def test_a_glob_is_matched_in_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    (tmp_path / ("a" * 255)).mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nr.PathError):
        nr.open(pattern)


def test_the_text_of_an_error_is_short_and_printable() -> None:
    error = nr.OptionError("a\ud800\x1b[31m\0" + "x" * 10_000 + "and how to continue")
    assert str(error).startswith("a\\ud800\\x1b[31m\\x00xxx")
    assert str(error).endswith("xand how to continue")
    assert len(str(error)) < 2100
    assert str(nr.UnreadableError(5, "\ud800")) == "\\ud800"
    assert str(nr.PathError("s3://bucket/a\nb\t")) == "s3://bucket/a\\nb\\t"


def test_a_run_iterated_twice_counted_bytes_twice() -> None:
    memory = in_memory()
    run = nr.open(memory.url).messages().run()
    rows = sum(map(len, run))
    with pytest.raises(nr.OptionError, match=r"already iterated, and can be iterated only once\. Use scan\.run\(\)"):
        list(run)
    assert run.report.rows == rows == 30
    assert all(each.unread_bytes == 0 for each in run.report.segments)


@pytest.mark.parametrize("place", PLACES[1:3])
def test_a_path_with_a_nul_was_a_traceback(root: Path, place: str) -> None:
    nr.open(root, **{place: "\0"}).messages(topic="T0").count_rows()  # like any directory that does not exist


def test_a_table_named_by_an_array_is_a_store_error(tmp_path: Path) -> None:
    store = nr.open(on_disk(tmp_path, files_of()) / "store")
    with pytest.raises(nr.OptionError, match=r"^table=array\(\['messages', 'damage'\]"):
        store.table(np.array(["messages", "damage"]))  # type: ignore[arg-type]
