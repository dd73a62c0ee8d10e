"""The plain decoder against Java. Only after this test may it check the engine."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable
from struct import pack
from typing import Any

import pytest
from support.golden import EXPLAINED, KINDS, SAID_BY_JAVA, STORES, Golden, differences
from support.plain_decoder import Account, Log, decompressed, host, properties_of, units_of, walk

COLUMNS = (
    *SAID_BY_JAVA, "physical_offset", "record_size", "magic", "sys_flag", "body", "body_size", "stored_body", "uniq_key", "keys",
    "inner_index", "real_topic", "lite_topic", "delay_level", "origin_topic", "origin_msg_id", "body_text",
)  # fmt: skip

Get = Callable[[str], Golden]


@pytest.mark.parametrize("name", STORES)
def test_every_column_of_every_message_is_as_in_java(golden_store: Get, name: str) -> None:
    store = golden_store(name)
    log = walk(store.segments, store.framing)
    assert differences(store.expected_rows, log.rows, COLUMNS, EXPLAINED, Counter()) == []
    assert Counter(row["kind"] for row in log.rows) == KINDS[name]
    assert {len(row) for row in log.rows} == {len(COLUMNS) + 1}  # kind is the only column that Java does not have


def test_every_explanation_is_needed(golden_store: Get) -> None:
    used: Counter[str] = Counter()
    for name in STORES:
        store = golden_store(name)
        differences(store.expected_rows, walk(store.segments, store.framing).rows, COLUMNS, EXPLAINED, used)
    assert set(used) == {explanation.why for explanation in EXPLAINED}


@pytest.mark.parametrize("name", STORES)
def test_the_accounts_are_as_in_java(golden_store: Get, name: str) -> None:
    store = golden_store(name)
    log = walk(store.segments, store.framing)
    assert log.damage == []
    assert log.log_end == store.meta.get("recovered_max_phy_offset", store.meta["walk_end_offset"])  # no recovery ran on DLedger
    ends = {
        int(file["file"][-20:]): file["end"] for file in store.meta["files"] if not file["file"].startswith("compaction")
    }  # `blank size=80 at=65456 …`, `dledger-blank 701`, `stop at 59134 …`
    for (base, data), account in zip(store.segments, log.segments, strict=True):
        blank, stop = re.search(r"blank (?:size=)?(\d+)", ends[base]), re.search(r"stop at (\d+)", ends[base])
        filler = int(blank[1]) if blank else 0
        records = int(stop[1]) if stop else len(data) - filler
        assert account == Account(base, records, filler, 0, len(data) - records - filler)


# Hand-made bytes from here on


def record(
    at: int,
    body: bytes = b"body",
    *,
    topic: bytes = b"T",
    properties: bytes = b"",
    magic: int = 0xDAA320A7,
    sys_flag: int = 0,
    queue_offset: int = 7,
    crc: int | None = None,
    size: int = 0,
) -> bytes:
    """A record for offset `at`; `size` is added to its true size."""
    born = bytes(15) + b"\1" + pack(">i", 5) if sys_flag & 0x10 else b"\x0a\1\2\3" + pack(">i", 4)
    topic_size = pack(">B" if magic == 0xDAA320A7 else ">H", len(topic))
    rest = pack(">iiiqqiq", zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc, 2, 3, queue_offset, at, sys_flag, 1000) + born
    rest += pack(">q", 2000) + b"\x7f\0\0\1" + pack(">iiq", 10911, 0, 0) + pack(">i", len(body)) + body
    rest += topic_size + topic + pack(">H", len(properties) & 0xFFFF) + properties
    return pack(">iI", 8 + len(rest) + size, magic) + rest


def entry(at: int, **wrong: int) -> bytes:
    """A DLedger entry at offset `at`."""
    inner = record(at + 48)
    fields = {"magic": 1, "size": 48 + len(inner), "pos": at, "body_len": len(inner)} | wrong
    return pack(">iiqqqiiii", fields["magic"], fields["size"], 0, 0, fields["pos"], 0, 0, 0, fields["body_len"]) + inner


def blank(size: int) -> bytes:
    return pack(">iI", size, 0xCBD43194).ljust(size, b"\xee")


def offsets(log: Log) -> list[int]:
    return [row["physical_offset"] for row in log.rows]


def sums(log: Log) -> list[tuple[int, ...]]:
    return [tuple(account[1:]) for account in log.segments]


SIZE = len(record(0))


def test_two_records_a_blank_and_an_unwritten_end() -> None:
    full = record(100) + record(100 + SIZE) + blank(20)
    second = 100 + len(full)
    log = walk([(100, full), (second, record(second) + bytes(50)), (second + SIZE + 50, bytes(30))])
    assert offsets(log) == [100, 100 + SIZE, second]
    assert sums(log) == [(2 * SIZE, 20, 0, 0), (SIZE, 0, 0, 50), (0, 0, 0, 30)]
    assert (log.damage, log.log_end) == ([], second + SIZE)


def test_an_empty_log() -> None:
    assert walk([]) == Log([], [], 0, [])
    assert walk([(64, b"")]) == Log([], [], 64, [Account(64, 0, 0, 0, 0)])
    assert walk([(64, b"garbage of any sort" * 9), (235, bytes(9))]).log_end == 64  # without a valid record, everything is unwritten


def test_damage_runs_to_the_next_record_or_the_segments_end() -> None:
    log = walk([(0, b"x" * 11 + record(11) + b"y" * 9), (11 + SIZE + 9, record(20 + SIZE) + bytes(7))])
    assert log.damage == [(0, 0, 11), (0, 11 + SIZE, 20 + SIZE)]
    assert sums(log) == [(SIZE, 0, 20, 0), (SIZE, 0, 0, 7)]
    assert offsets(log) == [11, 20 + SIZE]


def test_zeros_below_the_logs_end_are_damage() -> None:
    log = walk([(0, bytes(50)), (50, record(50))])
    assert log.damage == [(0, 0, 50)]


def test_a_blank_counts_only_if_records_lead_to_it() -> None:
    after = blank(20)
    data = record(0) + b"z" + after  # the blank's size is right, but damage leads to it
    log = walk([(0, data), (len(data), record(len(data)))])
    assert log.damage == [(0, SIZE, len(data))]
    assert sums(walk([(0, blank(20)), (20, bytes(20))])) == [(0, 20, 0, 0), (0, 0, 0, 20)]  # a blank alone ends the log too
    wrong = record(0) + blank(20)[:-1]
    assert sums(walk([(0, wrong), (SIZE + 19, record(SIZE + 19))]))[0] == (SIZE, 0, 19, 0)


def test_records_after_a_blank_are_ignored() -> None:
    inside = SIZE + 8
    data = record(0) + pack(">iI", 8 + SIZE, 0xCBD43194) + record(inside)
    assert sums(walk([(0, data)])) == [(SIZE, 8 + SIZE, 0, 0)]


def test_a_remainder_too_short_for_a_blank() -> None:
    full = record(0) + bytes(7)
    assert sums(walk([(0, full), (SIZE + 7, record(SIZE + 7))])) == [(SIZE, 7, 0, 0), (SIZE, 0, 0, 0)]
    assert walk([(0, full)]).log_end == SIZE  # at the end of the log it is unwritten: there is no blank


@pytest.mark.parametrize(
    ("lie", "where"),
    [(b"\xda\xa3\x20\xa8", 4), (pack(">i", SIZE + 1), 0), (pack(">i", SIZE - 1), 0), (pack(">q", 1), 28), (pack(">i", -1), 84),
     (pack(">i", 2**31 - 1), 84), (pack(">i", 16), 36), (b"\0", 92), (b"\xff", 92), (b"\x7f", 92), (pack(">h", -1), 94)],
)  # fmt: skip
def test_bytes_with_one_wrong_field_are_not_a_record(lie: bytes, where: int) -> None:
    data = bytearray(record(0))
    data[where : where + len(lie)] = lie
    log = walk([(0, bytes(data)), (SIZE, record(SIZE))])
    assert log.damage == [(0, 0, SIZE)]


def test_properties_longer_than_a_short_have_a_negative_size_and_are_not_a_record() -> None:
    data = record(0, properties=bytes(0x8000))
    assert walk([(0, data), (len(data), record(len(data)))]).damage == [(0, 0, len(data))]


def test_v2_and_ipv6() -> None:
    (row,) = walk([(0, record(0, topic=b"t" * 300, magic=0xDAA320AB, sys_flag=0x10))]).rows
    assert row["topic"] == "t" * 300
    assert row["magic"] == -626843477
    assert (row["born_host"], row["store_host"]) == ("0:0:0:0:0:0:0:1:5", "127.0.0.1:10911")
    assert row["offset_msg_id"] == "7F00000100002A9F0000000000000000"
    assert walk([(0, record(0, topic=b"t" * 130))]).rows == []  # 130 as a signed byte is negative


def test_ipv4_mapped_addresses_are_ipv4_in_java() -> None:
    assert host(bytes(10) + b"\xff\xff\1\2\3\4" + pack(">i", -1)) == "1.2.3.4:-1"


@pytest.mark.parametrize(
    ("torn", "after", "counts"),
    [({}, b"", True), ({"crc": 1}, b"", False), ({"topic": b"T\0"}, b"", False), ({"properties": b"a\1b\0\2"}, b"", True),
     ({"properties": b"a\1b\0"}, b"", False),
     ({"crc": 1}, bytes(20), False), ({"crc": 1}, pack(">iI", 5, 0xDAA320A7), True), ({"crc": 1}, pack(">iI", 5, 0xDAA320AB), True),
     ({"crc": 1}, pack(">iI", 5, 0xCBD43194), True), ({"crc": 1}, pack(">iI", 0, 0xDAA320A7), False),
     ({"crc": 1}, pack(">iI", 5, 0xDAA320A7)[:7], False), ({"crc": 1}, blank(30), True)],
)  # fmt: skip
def test_the_last_record_needs_a_successor_or_a_right_crc(torn: dict[str, Any], after: bytes, counts: bool) -> None:
    data = record(0, crc=1) + record(SIZE, **torn)  # the first one's CRC is wrong too, but another record follows
    log = walk([(0, data + after)])
    assert offsets(log) == ([0, SIZE] if counts else [0])
    assert log.log_end == (SIZE + len(after) + len(data) - SIZE if after == blank(30) else len(data) if counts else SIZE)
    assert log.damage == []


def test_a_torn_record_with_more_log_after_it_is_a_record() -> None:
    assert offsets(walk([(0, record(0, crc=1)), (SIZE, blank(20))])) == [0]  # the blank shows that the log continued


def test_every_truncation_and_every_flipped_byte() -> None:
    data = record(0) + record(SIZE, properties=b"a\x01b\x02") + blank(12)
    whole = walk([(0, data)]).rows
    for size in range(len(data)):
        log = walk([(0, data[:size])])
        assert log.rows == whole[: len(log.rows)]
        assert log.log_end == sum(row["record_size"] for row in log.rows)
        assert (sum(sums(log)[0]), log.damage) == (size, [])
    for at in range(len(data)):
        log = walk([(0, data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])])
        assert sum(sums(log)[0]) == len(data)
        assert len(log.rows) <= 2


def test_dledger() -> None:
    width = 48 + SIZE
    full = entry(0) + entry(width) + pack(">ii", -1, 30) + bytes(22)
    log = walk([(0, full), (len(full), entry(len(full)) + bytes(40))], "dledger")
    assert offsets(log) == [48, width + 48, len(full) + 48]
    assert sums(log) == [(2 * width, 30, 0, 0), (width, 0, 0, 40)]
    assert (log.damage, log.log_end) == ([], len(full) + width)
    assert walk([(0, record(0))], "dledger").rows == []


@pytest.mark.parametrize(
    "wrong", [{"magic": 2}, {"size": SIZE}, {"pos": 1}, {"body_len": SIZE + 1}, {"size": 49 + SIZE, "body_len": SIZE + 1}]
)
def test_bytes_with_one_wrong_field_are_not_an_entry(wrong: dict[str, int]) -> None:
    width = 48 + SIZE
    log = walk([(0, entry(0, **wrong) + entry(width))], "dledger")
    assert (log.damage, offsets(log)) == ([(0, 0, width)], [width + 48])


def test_properties() -> None:
    assert properties_of(b"") == {}
    assert properties_of(b"a\x01b\x02c\x01d") == {"a": "b", "c": "d"}
    assert properties_of(b"a\x01b\x01c\x02\x01x\x02y\x01\x02z\x02\x02a\x01last\x02") == {"a": "last"}
    assert properties_of(b"\xff\x01\xc3\x02") == {"\ufffd": "\ufffd"}


def test_the_property_crc_is_cut_off_by_position() -> None:
    crc = b"__CRC32#\x010780607090\x02"
    assert properties_of(crc) == {}
    assert properties_of(b"a\x01b\x02" + crc) == {"a": "b"}
    assert properties_of(b"TAGS\x01TagA" + crc) == {"TAGS": "TagA"}  # glued, as 5.x brokers do to batches of 4.9 clients
    assert properties_of(crc + b"a\x01b\x02") == {"__CRC32#": "0780607090", "a": "b"}
    assert properties_of(b"__CRC32#\x01078060709x\x02") == {"__CRC32#": "078060709x"}


def unit(body: bytes, properties: bytes, flag: int = 0, total: int = 0) -> bytes:
    size = 22 + len(body) + len(properties) + total
    return pack(">iiiii", size, 0, 0, flag, len(body)) + body + pack(">h", len(properties)) + properties


def test_an_inner_batch_gives_one_row_per_message() -> None:
    packed = unit(b"one", b"KEYS\x01a  b\x02UNIQ_KEY\x01u\x02", 8) + unit(b"", b"TAGS\x01t\x02DELAY\x013")
    stored = zlib.compress(packed)
    first, second = walk([(0, record(0, stored, sys_flag=0xC1, queue_offset=2**63 - 1))]).rows
    assert (first["body"], first["stored_body"], first["body_size"], first["flag"]) == (b"one", b"one", 3, 8)
    assert (first["keys"], first["msg_id"], first["tags"], first["inner_index"]) == (["a", "b"], "u", None, 0)
    assert (second["body"], second["keys"], second["tags"], second["delay_level"], second["inner_index"]) == (b"", None, "t", 3, 1)
    assert second["msg_id"] == second["offset_msg_id"] == first["offset_msg_id"]
    assert (first["queue_offset"], second["queue_offset"]) == (2**63 - 1, -(2**63))
    assert {row["kind"] for row in (first, second)} == {"batch"}
    assert first["record_size"] == second["record_size"] == SIZE - 4 + len(stored)


@pytest.mark.parametrize(
    "packed", [b"", b"x" * 30, unit(b"one", b"") + b"x", unit(b"one", b"", total=1) + b"x", unit(b"one", b"")[:-1], unit(b"", b"")[:21]]
)
def test_units_that_do_not_add_up_stay_one_row(packed: bytes) -> None:
    assert not units_of(packed)
    (row,) = walk([(0, record(0, packed, sys_flag=0xC0))]).rows
    assert (row["body"], row["kind"], row["inner_index"], row["queue_offset"]) == (packed, "batch", None, 7)


def test_bodies() -> None:
    deflated = zlib.compress(b"text")
    gzipped = zlib.compressobj(wbits=31)
    assert [decompressed(deflated, flag) for flag in (0x001, 0x301, 0x000, 0x300, 0x401)] == [b"text", b"text", deflated, deflated, None]
    assert decompressed(gzipped.compress(b"text") + gzipped.flush(), 1) == b"text"
    assert decompressed(deflated[:-1], 1) is None
    assert [decompressed(b"no frame", flag) for flag in (0x001, 0x101, 0x201)] == [None] * 3
    assert [decompressed(b"", flag) for flag in (0x001, 0x101, 0x201, 0x701)] == [b""] * 4  # a rolled-back transaction of 4.2


def test_a_bomb_is_not_inflated() -> None:
    assert decompressed(zlib.compress(bytes((64 << 20) + 1)), 1) is None
    assert len(decompressed(zlib.compress(bytes(64 << 20)), 1) or b"") == 64 << 20


def test_columns_from_properties() -> None:
    text = b"KEYS\x01 \x02DELAY\x01%s\x02REAL_TOPIC\x01R\x02"
    levels = {b"3": 3, b"-2": -2, b"+3": None, b"x": None, b"2147483648": None, b"9" * 5000: None, b"\xd9\xa3": None}
    for delay, level in levels.items():
        (row,) = walk([(0, record(0, properties=text % delay))]).rows
        assert (row["keys"], row["delay_level"], row["real_topic"], row["uniq_key"]) == ([], level, "R", None)
