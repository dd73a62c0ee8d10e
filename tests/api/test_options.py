"""The options of `messages`: their effect on the rows, and the error for each wrong value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from support.stores import ZERO, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.conditions import predicate_of
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.options import MessageOptions, ReadOptions, options_of
from native_reader.testing.strategies import SYSTEM_TOPICS

START = 1_700_000_000_000  # what `message` counts its store timestamps from: 2023-11-14 22:13:20 UTC
TOPICS = ("orders", "orders-2", "Orders", "old\norders", *SYSTEM_TOPICS)


@pytest.fixture(scope="module")
def store() -> Iterator[nr.Store]:
    numbered = [message(number, queue_id=number % 4) for number in range(20)]
    memory = in_memory(files_of(log_of([*numbered, *(message(20 + i, topic=topic) for i, topic in enumerate(TOPICS))], 8192)))
    yield nr.open(memory.url)
    del memory


def numbers(store: nr.Store, **options: object) -> list[int]:
    return store.messages(columns="queue_offset", **options).to_table()["queue_offset"].to_pylist()


def topics(store: nr.Store, **options: object) -> set[str]:
    return set(store.messages(columns="topic", **options).to_table()["topic"].to_pylist())


def refused(store: nr.Store, kind: type[Exception] = nr.OptionError, **options: object) -> str:
    with pytest.raises(kind) as raised:
        store.messages(**options)
    assert isinstance(raised.value, nr.StoreError)
    return str(raised.value)


# Topics


def test_topics_by_name(store):
    assert topics(store, topic="orders") == {"orders"}
    assert topics(store, topic="order") == set()
    assert topics(store, topic="") == set()
    for several in (["orders", "T1"], ("T1", "orders"), {"T1", "orders"}, iter(["T1", "orders", "T1"])):
        assert topics(store, topic=several) == {"orders", "T1"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("orders", {"orders"}),
        ("orders.*", {"orders", "orders-2"}),
        ("(?i)orders", {"orders", "Orders"}),
        ("orders|T1", {"orders", "T1"}),
        ("ord|orders", {"orders"}),
        (".*orders", {"orders"} | {"%RETRY%group_orders", "%RETRY%group+orders"}),
        ("(?s).*\norders", {"old\norders"}),
        ("T[01]", {"T0", "T1"}),
        ("", set()),
    ],
)
def test_a_pattern_matches_the_whole_topic(store, pattern, expected):
    assert topics(store, topic_pattern=pattern) == expected


def test_a_topic_and_a_pattern_must_both_match(store):
    assert topics(store, topic=["T0", "T1", "orders"], topic_pattern="T.") == {"T0", "T1"}


def test_system_topics_can_be_excluded(store):
    kept = topics(store, system_topics=False)
    assert kept == {topic for topic in topics(store) if kind_of_topic(topic) not in SYSTEM_KINDS}
    assert {"orders", "T0", "%RETRY%group", "%DLQ%group"} <= kept
    assert not kept & {"TBW102", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"}
    assert topics(store, system_topics=False, topic=["TBW102", "T0"]) == {"T0"}


# Queues, times, offsets


def test_queues(store):
    assert numbers(store, queue_id=3) == [3, 7, 11, 15, 19]
    assert numbers(store, queue_id=[3, 2], topic="T0") == [3, 6, 15, 18]
    assert numbers(store, queue_id=np.int32(3), topic="T0") == [3, 15]
    assert numbers(store, queue_id=np.array([3]), topic="T0") == [3, 15]
    assert numbers(store, queue_id=-1) == numbers(store, queue_id=2**31 - 1) == []


def moments(milliseconds: int) -> Iterator[object]:
    """All ways to write a time."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    text = moment.replace(tzinfo=None).isoformat(" ", "milliseconds")
    elsewhere = moment.astimezone(timezone(timedelta(hours=8, minutes=30)))
    yield from (milliseconds, np.int64(milliseconds), moment, elsewhere, f" {text}Z ", f"{text}Z", f"{text} UTC", f"{text}+00:00")
    yield from (moment.isoformat(), elsewhere.isoformat(), elsewhere.isoformat(" "))


def moments_of_a_zone(milliseconds: int) -> Iterator[object]:
    """All ways to write a time without a zone, which is then `time_zone`."""
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)
    yield from (moment, moment.isoformat(), moment.isoformat(" ", "milliseconds"))


def test_times_are_exact_at_both_ends(store):
    """start <= t < end, to the millisecond."""
    for first, end in ((0, 5), (3, 4), (4, 4), (19, 10**6), (-(10**6), 2)):
        expected = [number for number in numbers(store) if first <= number < end]
        for starting, ending in zip(moments(START + first), moments(START + end), strict=True):
            assert numbers(store, starting_timestamp=starting, ending_timestamp=ending) == expected, (starting, ending)
        for zone, ahead in (("UTC", 0), ("Asia/Shanghai", 8), ("+05:30", 5.5), ("America/New_York", -5)):
            shift = int(ahead * 3_600_000)
            for starting, ending in zip(moments_of_a_zone(START + first + shift), moments_of_a_zone(START + end + shift), strict=True):
                assert numbers(store, starting_timestamp=starting, ending_timestamp=ending, time_zone=zone) == expected, (starting, zone)
    between = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=START + 3, microseconds=1)
    assert numbers(store, starting_timestamp=between)[0] == 4
    assert numbers(store, ending_timestamp=between)[-1] == 3


def test_a_day_begins_at_midnight_utc(store):
    assert numbers(store, starting_timestamp="2023-11-15", time_zone="UTC") == []
    assert len(numbers(store, starting_timestamp="2023-11-14", ending_timestamp="2023-11-15", time_zone="UTC")) == 20 + len(TOPICS)
    assert len(numbers(store, starting_timestamp="20231114T221320Z")) == 20 + len(TOPICS)


@pytest.mark.parametrize("first", [datetime.min, datetime.max])
def test_the_earliest_and_latest_times(store, first):
    for zone in (UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))):
        count = len(numbers(store, starting_timestamp=first.replace(tzinfo=zone)))
        assert count == (20 + len(TOPICS) if first is datetime.min else 0)
    assert len(numbers(store, starting_timestamp=0, ending_timestamp="9999-12-31 23:59:59Z")) == 20 + len(TOPICS)


def test_physical_offsets_are_exact_at_both_ends(store):
    found = store.messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()
    for first, end in ((found[3], found[7]), (found[3] + 1, found[7] + 1), (0, found[1]), (found[-1], 2**63 - 1), (5, 5)):
        expected = [offset for offset in found if first <= offset < end]
        scan = store.messages(columns="physical_offset", starting_physical_offset=first, ending_physical_offset=end)
        assert scan.to_table()["physical_offset"].to_pylist() == expected
    assert store.messages(starting_physical_offset=found[5]).count_rows() == len(found) - 5
    assert store.messages(ending_physical_offset=np.int64(found[5])).count_rows() == 5


def test_all_conditions_hold_at_once(store):
    assert numbers(store, topic="T0", queue_id=[0, 1], starting_timestamp=START + 1, ending_timestamp=START + 13) == [9, 12]
    assert numbers(store, topic="T0", queue_id=[0, 1], starting_timestamp=START + 1, ending_timestamp=START + 12) == [9]


# Sizes


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("1k", 1024), (" 2 M ", 2 << 20), ("3mb", 3 << 20), ("1g", 1 << 30), ("1T", 1 << 40)]
)
def test_sizes_can_be_text(text, size):
    options = MessageOptions(max_partition_bytes=text, max_record_bytes=text, max_decompressed_bytes=text)
    projection = options.projection()
    assert options.planning().max_partition_bytes == projection.max_record_bytes == projection.max_decompressed_bytes == size


def test_a_record_may_be_too_large():
    memory = in_memory(files_of(log_of([message(0), message(1, body=bytes(5 << 20)), message(2)], 6 << 20)))
    store = nr.open(memory.url)
    sizes = store.messages(columns="record_size,physical_offset", max_record_bytes="6m").to_table().to_pylist()
    offset, size = sizes[1]["physical_offset"], sizes[1]["record_size"]
    with pytest.raises(nr.StoreDamaged) as raised:
        store.messages(max_record_bytes=size - 1).to_table()
    assert str(raised.value) == (
        f"{memory.url}/store/commitlog/{ZERO} at offset {offset:,} (byte {offset:,} of the file): a record of {size:,} bytes is larger "
        f"than max_record_bytes={size - 1:,}. If this size is expected, set max_record_bytes={size}"
    )
    assert store.messages(max_record_bytes=size).count_rows() == 3


# Rejected values


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": []}, "topic must not be an empty list. Omit the option instead"),
        ({"queue_id": ()}, "queue_id must not be an empty list. Omit the option instead"),
        ({"columns": []}, "columns must not be an empty list. Omit the option instead"),
        ({"columns": 5}, "columns must be text, not 5"),
        ({"columns": ["topic", None]}, "columns must be text, not None"),
        ({"topic": 5}, "topic must be text, not 5"),
        ({"topic": b"orders"}, "topic must be text, not b'orders'"),
        ({"topic": ["orders", None]}, "topic must be text, not None"),
        ({"topic_pattern": 5}, "topic_pattern must be text, not 5"),
        ({"topic_pattern": "a("}, "topic_pattern='a(': invalid regular expression: missing )"),
        (
            {"topic_pattern": "a{9999}"},
            "topic_pattern='a{9999}': invalid regular expression: invalid repetition size: {9999}",
        ),
        ({"queue_id": "3"}, "queue_id must be an integer from -2147483648 to 2147483647, not '3'"),
        ({"queue_id": True}, "queue_id must be an integer from -2147483648 to 2147483647, not True"),
        ({"queue_id": [1, 2.0]}, "queue_id must be an integer from -2147483648 to 2147483647, not 2.0"),
        ({"queue_id": 2**63}, f"queue_id must be an integer from -2147483648 to 2147483647, not {2**63}"),
        ({"starting_physical_offset": -1}, "starting_physical_offset must be an integer from 0 to 9223372036854775807, not -1"),
        ({"ending_physical_offset": 2**63}, f"ending_physical_offset must be an integer from 0 to 9223372036854775807, not {2**63}"),
        (
            {"starting_physical_offset": 9, "ending_physical_offset": 8},
            "starting_physical_offset is after ending_physical_offset, so no row can match",
        ),
        (
            {"starting_timestamp": START + 1, "ending_timestamp": START},
            "starting_timestamp is after ending_timestamp, so no row can match",
        ),
        (
            {"starting_timestamp": "yesterday"},
            "starting_timestamp='yesterday' is not a time. Examples: '2026-01-31 12:00:00Z', '2026-01-31T12:00:00+08:00', 1769860800000",
        ),
        (
            {"ending_timestamp": 1.5},
            "ending_timestamp must be a datetime with a time zone, ISO 8601 text, or milliseconds since 1970, not 1.5",
        ),
        (
            {"ending_timestamp": True},
            "ending_timestamp must be a datetime with a time zone, ISO 8601 text, or milliseconds since 1970, not True",
        ),
        (
            {"ending_timestamp": datetime(2026, 1, 31)},
            "ending_timestamp='2026-01-31 00:00:00' has no time zone. Write datetime(..., tzinfo=UTC), "
            "or set time_zone=Asia/Shanghai (or another zone) as the default",
        ),
        (
            {"starting_timestamp": 2**62},
            f"starting_timestamp={2**62}: out of range; expected milliseconds since 1970 in the years 2010 to 2099. Omit it for no bound. "
            "Write other years as text: '1999-01-31 12:00:00Z'",
        ),
        ({"system_topics": "false"}, "system_topics must be True or False, not 'false'"),
        ({"verify_crc": 1}, "verify_crc must be True or False, not 1"),
        ({"fail_on_data_loss": "false"}, "fail_on_data_loss must be True or False, not 'false'"),
        ({"fail_on_data_loss": None}, "fail_on_data_loss must be True or False, not None"),
        ({"topic": "TBW102", "system_topics": False}, "system_topics=False hides topic='TBW102', so no row can match. Omit one of them"),
        ({"max_partition_bytes": "lots"}, "max_partition_bytes='lots' is not a size. Examples: 134217728, '128m', '1g'"),
        ({"max_partition_bytes": "-1"}, "max_partition_bytes='-1' is not a size. Examples: 134217728, '128m', '1g'"),
        ({"max_partition_bytes": 0}, "max_partition_bytes must be an integer from 1 to 9223372036854775807, not 0"),
        ({"max_record_bytes": 1.5}, "max_record_bytes must be an integer from 1 to 9223372036854775807, not 1.5"),
        ({"max_record_bytes": "9999999999t"}, "max_record_bytes='9999999999t' is larger than 9223372036854775807 bytes"),
        ({"max_decompressed_bytes": -1}, "max_decompressed_bytes must be an integer from 0 to 9223372036854775807, not -1"),
    ],
)
def test_an_invalid_value(store, options, text):
    assert refused(store, **options) == text


ALL = ", ".join(each.name for each in options_of(ReadOptions))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("startingTimestamp", "starting_timestamp"),
        ("topics", "topic"),
        ("TOPIC", "topic"),
        ("max_partion_bytes", "max_partition_bytes"),
        ("failOnDataLoss", "fail_on_data_loss"),
        ("column", "columns"),
    ],
)
def test_a_misspelt_option_is_not_ignored(store, name, meant):
    assert refused(store, **{name: 1}) == f"unknown option '{name}'. Did you mean '{meant}'? All options: {ALL}"


def test_an_option_name_that_resembles_none(store):
    assert refused(store, zzz=None) == f"unknown option 'zzz'. All options: {ALL}"


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("storeTimestamp", "column 'storeTimestamp' does not exist. Did you mean 'store_timestamp'? All columns: topic, queue_id, "),
        (["topic", "boddy"], "column 'boddy' does not exist. Did you mean 'body'? All columns: topic, queue_id, "),
        ("topic,,body", "column '' does not exist. All columns: topic, queue_id, "),
        ("zzzzzz", "column 'zzzzzz' does not exist. All columns: topic, queue_id, "),
        ("topic, body, topic", "column 'topic' is requested twice"),
    ],
)
def test_a_column_that_does_not_exist(store, columns, text):
    assert refused(store, nr.SchemaError, columns=columns).startswith(text)


def test_all_options_are_checked_before_any_read():
    memory = in_memory(files_of())
    store = nr.open(memory.url)
    memory.files = {}
    for options in ({"jobs": 1}, {"topic": []}, {"max_record_bytes": "x"}, {"fail_on_data_loss": 0}):
        with pytest.raises(nr.OptionError):
            store.messages(**options)


OTHERS: dict[str, object] = {
    "columns": "topic",
    "topic": "T0",
    "topic_pattern": "T.",
    "queue_id": 1,
    "starting_timestamp": START,
    "ending_timestamp": START,
    "starting_physical_offset": 1,
    "ending_physical_offset": 1,
    "where": "flag = 1",
    "tags": "paid",
    "keys": "k",
    "text": "word",
    "msg_id": "i",
    "summary": "folder",
    "starting_offsets": {"T0": {0: 1}},
    "ending_offsets": {"T0": {0: 1}},
    "time_zone": "UTC",
    "access": "scan",
    "tiered": True,
    "tiered_store_file_path": "folder",
    "max_hash_slot_num": 1,
    "time_skew_tolerance": "2m",
    "system_topics": False,
    "verify_crc": True,
    "mode": "PERMISSIVE",
    "column_name_of_corrupt_record": "_bad",
    "fail_on_data_loss": False,
    "ignore_missing_files": True,
    "tail": "all",
    "max_partition_bytes": "1m",
    "min_partitions": 2,
    "max_record_bytes": "1m",
    "max_decompressed_bytes": "1m",
    "max_read_rate": "1m",
}


@pytest.mark.parametrize("name", [each.name for each in options_of(MessageOptions)])
def test_each_option_has_an_effect(name):
    def effect(**given: object) -> tuple[object, ...]:
        options = MessageOptions(**given)
        return options.projection(), predicate_of(options), options.planning()

    where = "store_timestamp > TIMESTAMP '2023-11-14 22:13:20'"
    if name == "time_zone":  # without it, such a time is an error
        with pytest.raises(nr.PredicateError):
            effect(where=where)
        effect(where=where, time_zone=OTHERS[name])
    else:
        assert effect(**{name: OTHERS[name]}) != effect(), f"the option {name} is described, but not applied"
