"""Predicates against a plain evaluator of SQL's three-valued logic, over rows of all kinds."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.effort import sampled, thinned
from support.evaluator import Row, like, read, trees, truth, value_of
from support.stores import files_of, in_memory, log_of, message

from native_reader.columns.schema import COLUMNS
from native_reader.predicate.patterns import match_like
from native_reader.predicate.tree import (
    EVERYTHING,
    And,
    ArrayContains,
    Column,
    Compare,
    In,
    IsNull,
    Leaf,
    Like,
    Not,
    Or,
    Predicate,
    RLike,
    all_of,
    leaves,
)
from native_reader.testing import compression
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties
from native_reader.testing.strategies import commitlogs


def identity(row: Row) -> tuple[str, int, int | None]:
    return row["store"], row["physical_offset"], row["inner_index"]


def check(storage: MemoryStorage, predicate: Predicate, rows: list[Row], most: int = 64 << 20) -> None:
    """The rows for which a predicate is true, for which its negation is, and therefore those for which neither is."""
    again: Predicate = pickle.loads(pickle.dumps(predicate))
    assert (again, str(again)) == (predicate, str(predicate))
    for each in (again, Not(again)):
        found = read(storage, each, "store,physical_offset,inner_index", most)
        assert [identity(row) for row in found] == [identity(row) for row in rows if truth(each, row)], str(each)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@sampled(60)
@given(st.data())
def test_any_predicate_over_any_rows(data):
    log = data.draw(commitlogs(max_messages=8))
    storage = in_memory({f"store/commitlog/{base:020}": content for base, content in log.segments} | {"store/commitlog/": b""})
    most = data.draw(st.sampled_from([64 << 20, 64 << 20, 40]))
    rows = read(storage, EVERYTHING, most=most)
    for _ in range(4):
        check(storage, data.draw(trees(rows)), rows, most=most)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_every_condition_is_drawn_and_selects_its_rows(mixed: MemoryStorage) -> None:
    rows = read(mixed, EVERYTHING)
    drawn: set[str] = set()

    @settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)
    @given(trees(rows))
    def draw(predicate: Predicate) -> None:
        for leaf in leaves(predicate):
            if type(leaf).__name__ not in drawn:
                drawn.add(type(leaf).__name__)
                check(mixed, leaf, rows)

    draw()
    assert drawn == {kind.__name__ for kind in Leaf.__subclasses__()}


# Hand-written cases


@pytest.fixture(scope="module")
def mixed() -> MemoryStorage:
    """Plain and compressed messages, inner batches, records without properties."""
    _, flag, compress = compression.CODECS[0]
    units = [InnerMessage(b"unit %d" % number, pack_properties({"TAGS": f"tag{number}", "x": "in\nner"}), number) for number in range(3)]
    records = [
        message(0, topic="orders"),
        message(1, topic="orders", body=compress(b"body of 1"), sys_flag=flag),
        Message(
            topic="batch", body=pack_inner(units), sys_flag=INNER_BATCH, properties=pack_properties({"TAGS": "outer"}), queue_offset=70
        ),
        Message(topic="bare"),
        Message(topic="batch", body=compress(pack_inner(units)), sys_flag=INNER_BATCH | flag, queue_offset=80),
        Message(topic="100%_\n", body=b"x", properties=pack_properties({"KEYS": "a  b", "TAGS": "%", "x": "\\", "TAGS ": "no"})),
        message(6, topic="broken", body=b"not compressed", sys_flag=flag),
    ]
    return in_memory(files_of(log_of(records, 8192)))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (EVERYTHING, [0, 1, 70, 71, 72, 0, 80, 81, 82, 0, 6]),
        (Or(()), []),
        (Not(Or(())), [0, 1, 70, 71, 72, 0, 80, 81, 82, 0, 6]),
        (Compare(Column("body"), "=", b"body of 1"), [1]),
        (In(Column("body"), (b"unit 1", b"body 0", b"")), [0, 71, 0, 81]),
        (IsNull(Column("body")), [6]),
        (Compare(Column("body"), ">", b"body z"), [70, 71, 72, 80, 81, 82, 0]),
        (Compare(Column("tags"), "=", "tag1"), [1, 71, 81]),
        (IsNull(Column("tags")), [0]),
        (Compare(Column("tags"), "!=", "outer"), [0, 1, 70, 71, 72, 80, 81, 82, 0, 6]),
        (Compare(Column("topic"), "=", "batch"), [70, 71, 72, 80, 81, 82]),
        (And((Compare(Column("topic"), "=", "batch"), Compare(Column("flag"), ">=", 2))), [72, 82]),
        (Compare(Column("inner_index"), "<", 1), [70, 80]),
        (Compare(Column("properties", "x"), "=", "in\nner"), [70, 71, 72, 80, 81, 82]),
        (Like(Column("properties", "x"), "in_n%"), [70, 71, 72, 80, 81, 82]),
        (Like(Column("properties", "x"), "\\\\"), [0]),
        (Like(Column("topic"), "100\\%\\__"), [0]),
        (Like(Column("topic"), "%\n"), [0]),
        (RLike(Column("topic"), "r"), [0, 1, 0, 6]),
        (RLike(Column("topic"), "orders|r"), [0, 1, 0, 6]),
        (RLike(Column("topic"), "orders|r", whole=True), [0, 1]),
        (ArrayContains(Column("keys"), "b"), [0]),
        (ArrayContains(Column("keys"), "all"), [0, 1, 6]),
        (Not(ArrayContains(Column("keys"), "a")), [0, 1, 6]),
        (IsNull(Column("properties")), []),
        (Compare(Column("kind"), "=", "batch"), [70, 71, 72, 80, 81, 82]),
    ],
)
def test_by_hand(mixed, predicate, expected):
    found = read(mixed, predicate, "queue_offset")
    assert [row["queue_offset"] for row in found] == expected
    check(mixed, predicate, read(mixed, EVERYTHING))


def test_a_body_too_large_to_decompress_is_null_for_a_predicate_too(mixed):
    predicate = Compare(Column("body"), "=", b"body of 1")
    assert read(mixed, predicate, "queue_offset", most=3) == []
    assert [row["queue_offset"] for row in read(mixed, IsNull(Column("body")), "queue_offset", most=3)] == [1, 80, 6]


@pytest.mark.parametrize("column", thinned([*map(Column, COLUMNS), Column("properties", "x")], 14), ids=str)
def test_the_order_of_stages_does_not_matter(mixed, column):
    """Conditions on records are decided before inner batches are unpacked. So each column must be in the right stage."""
    rows = read(mixed, EVERYTHING)
    cheap, dear = Compare(Column("topic"), "!=", "bare"), Not(IsNull(Column("properties", "TAGS")))
    checks: list[Predicate] = [IsNull(column)]
    values = sorted({value for row in rows if isinstance(value := value_of(row, column), int | str | bytes)})
    checks += [Compare(column, operator, value) for value in values[:: max(1, len(values) // 2)] for operator in ("=", "<")]
    for each in checks:
        for predicate in (each, all_of([each, cheap, dear]), all_of([dear, each]), Or((each, Not(cheap))), Not(And((dear, each)))):
            check(mixed, predicate, rows)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a%", ["a", "ab", "a\nb"], ["", "ba"]),
        ("_", ["x", "\n", "🚀"], ["", "xy"]),
        ("\\%\\_", ["%_"], ["xy", "\\%\\_"]),
        ("\\\\%", ["\\", "\\x"], ["%", "x"]),
        ("a\\", ["a\\"], ["a"]),
        ("a.c", ["a.c"], ["abc"]),
        ("%b%", ["b", "abc", "\nb"], ["ac"]),
        ("", [""], ["x", "\n"]),
        ("^a$", ["^a$"], ["a"]),
    ],
)
def test_like(pattern, yes, no):
    found = match_like(pa.array(yes + no), pattern).to_pylist()
    assert [text for text, fits in zip(yes + no, found, strict=True) if fits] == yes
    assert [text for text in yes + no if like(text, pattern)] == yes


def test_predicates_read_like_sql():
    a, b = Compare(Column("queue_id"), "=", 3), Like(Column("properties", "it's"), "x%")
    assert str(all_of([])) == "TRUE"
    assert all_of([a]) is a
    assert all_of([And((a, b)), b]) == And((a, b, b))
    assert str(all_of([a, Or((b, Not(a)))])) == """queue_id = 3 AND (properties["it's"] LIKE 'x%' OR NOT queue_id = 3)"""
    assert str(Not(And((a, b)))) == """NOT (queue_id = 3 AND properties["it's"] LIKE 'x%')"""
    assert str(Or(())) == "FALSE"
    assert str(In(Column("topic"), ("a", "b"))) == "topic IN ('a', 'b')"
    assert str(ArrayContains(Column("keys"), "k")) == "array_contains(keys, 'k')"
    assert str(IsNull(Column("tags"))) == "tags IS NULL"
    assert str(RLike(Column("topic"), "a|b")) == "topic RLIKE 'a|b'"
    assert str(RLike(Column("topic"), "a|b", whole=True)) == "topic matches 'a|b'"
    assert list(map(str, Or((a, Not(b), IsNull(Column("tags")))).columns())) == ["queue_id", """properties["it's"]""", "tags"]
