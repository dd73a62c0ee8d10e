"""Faults of a record, and their effect on it and its neighbours. The numbers are from a list of 78 faults."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from support.compare import same
from support.faults import SEGMENT, Case, ordinary, run

import native_reader as nr
from native_reader.layout.bodies import codec_of
from native_reader.layout.properties import parse
from native_reader.testing.compression import CODECS as CODECS_WRITTEN
from native_reader.testing.compression import COMPRESSED
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import INNER_BATCH, InnerMessage, encode, pack_inner, pack_properties

BODY_SIZE = 84
"""Where a record of IPv4 hosts has the size of its body."""


def int4(number: int) -> bytes:
    return struct.pack(">i", number)


@pytest.mark.gate
def test_1_a_size_with_a_flipped_bit_costs_one_record() -> None:
    for bit in range(32):
        case = Case.of()
        size = case.placed[4].size ^ 1 << bit
        case.put(4, 0, struct.pack(">I", size))
        left = SEGMENT - case.at(4)
        damage = case.assert_lost(4, reason="lengths" if 92 <= size <= left else "cut off" if left < size < 2**31 else "size")
        assert (damage.before, damage.after) == (case.at(3), case.at(5))


@pytest.mark.parametrize(("size", "reason"), [(0, "size"), (-5, "size"), (2**31 - 1, "cut off"), (SEGMENT, "cut off")])
def test_2_a_size_of_zero_or_the_largest_size(size: int, reason: str) -> None:
    case = Case.of().put(4, 0, int4(size))
    tracemalloc.start()
    case.assert_lost(4, reason=reason)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 8, 88, 91])
def test_3_a_size_below_the_smallest_record(size: int) -> None:
    Case.of().put(4, 0, int4(size)).assert_lost(4, reason="size")


@pytest.mark.parametrize("magic", [0, 1, -1, 0x0DA320A7, 0x7FFFFFFF])
def test_4_an_unknown_magic(magic: int) -> None:
    assert Case.of().put(4, 4, int4(magic)).assert_lost(4, reason="magic").description == "no record magic"


def test_5_a_v2_record_with_a_long_topic() -> None:
    table = Case.of(ordinary(0), ordinary(1, version=2, topic="t" * 300), ordinary(2)).assert_intact()
    assert [len(topic) for topic in table["topic"].to_pylist()] == [2, 300, 2]


def test_6_a_body_with_a_flipped_bit() -> None:
    case = Case.of()
    case.put(4, 90, b"X")
    offset = case.at(4)
    table, report = case.read("FAILFAST")
    assert (len(table), report.damage) == (10, ())
    with pytest.raises(nr.StoreDamaged, match=f"at offset {offset}: the checksum of the stored body is wrong"):
        case.read("FAILFAST", verify_crc=True)
    table, report = case.read("DROPMALFORMED", verify_crc=True)
    assert offset not in table["physical_offset"].to_pylist()
    assert [(each.start, each.end, each.reason) for each in report.damage] == [(offset, case.end(4), "checksum")]
    (account,) = report.segments
    assert (account.records, account.damage_bytes, account.unread_bytes) == (9, case.placed[4].size, 0)
    table, report = case.read("PERMISSIVE", verify_crc=True)
    assert table["corrupt_reason"].to_pylist() == [None] * 4 + ["checksum"] + [None] * 5
    assert table["body"][4].as_py() == b"boXy 4"
    assert len(report.damage) == 1


def test_7_the_highest_bit_of_a_checksum_is_not_stored() -> None:
    bodies = [b"%d" % number for number in range(40)]
    assert any(zlib.crc32(body) >> 31 for body in bodies)
    Case.of(*(ordinary(number, body=body) for number, body in enumerate(bodies)), size=1 << 15).assert_intact(verify_crc=True)


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, 5000])
def test_8_a_body_of_an_impossible_size(size: int) -> None:
    Case.of().put(4, BODY_SIZE, int4(size)).assert_lost(4, reason="lengths")


@pytest.mark.parametrize("size", [0, 127, 128, 255])
def test_9_a_topic_of_an_impossible_size(size: int) -> None:
    Case.of().put(4, 88 + len(b"body 4"), bytes([size])).assert_lost(4, reason="lengths")


def test_9_an_empty_topic_whose_lengths_add_up() -> None:
    Case.of(ordinary(0), ordinary(1, topic=b""), ordinary(2)).assert_lost(1, reason="lengths")


@pytest.mark.parametrize("size", [-1, -32768, 32767, 0])
def test_10_properties_of_an_impossible_size(size: int) -> None:
    Case.of().put(4, 88 + len(b"body 4") + 1 + 2, struct.pack(">h", size)).assert_lost(4, reason="lengths")


def test_11_text_that_is_not_utf_8_shows_replacement_characters_and_loses_no_row() -> None:
    odd = ordinary(1, topic=b"T\xff", properties=b"TAGS\x01\xc3\x02KEYS\x01\xff a\x02")
    table = Case.of(ordinary(0), odd, ordinary(2)).assert_intact()
    row = table.to_pylist()[1]
    assert (row["topic"], row["tags"], row["keys"]) == ("T\ufffd", "\ufffd", ["\ufffd", "a"])


def test_12_properties_that_are_not_pairs_are_read_as_in_java() -> None:
    texts = [b"a", b"\x01v\x02", b"a\x01\x02", b"a\x01b", b"a\x011\x02a\x012\x02", b"a\x01b\x01c\x02\x02\x02d\x01e"]
    table = Case.of(*(ordinary(number, properties=text) for number, text in enumerate(texts))).assert_intact()
    assert [dict(each) for each in table["properties"].to_pylist()] == [parse(text) for text in texts]
    assert [dict(each) for each in table["properties"].to_pylist()] == [{}, {}, {}, {"a": "b"}, {"a": "2"}, {"a": "b\x01c", "d": "e"}]


@pytest.mark.parametrize("why_exact", [b"", b"empty\x01\x02", b"\xff\x01v\x02"])
def test_12_the_last_of_equal_names_counts_at_its_own_place(why_exact: bytes) -> None:
    table = Case.of(ordinary(0, properties=why_exact + b"a\x011\x02b\x012\x02a\x013\x02")).assert_intact()
    assert table["properties"][0].as_py()[-2:] == [("b", "2"), ("a", "3")]


def test_13_a_record_with_another_physical_offset_is_stale() -> None:
    case = Case.of().put(4, 28, struct.pack(">q", 123_456))
    assert "a record with another offset" in case.assert_lost(4, reason="offset").description
    tail = Case.of()
    stale = encode(ordinary(99), 123_456)
    tail.content[tail.end(9) : tail.end(9) + len(stale)] = stale
    (account,) = tail.read()[1].segments
    assert (account.damage_bytes, account.unwritten_bytes) == (0, SEGMENT - tail.end(9))
    assert len(tail.assert_intact()) == 10


def test_14_queue_offsets_that_repeat_or_decrease_are_kept() -> None:
    table = Case.of(*(ordinary(n, topic="t", queue_offset=offset) for n, offset in enumerate([5, 5, 3, -1, 2**62]))).assert_intact()
    assert table["queue_offset"].to_pylist() == [5, 5, 3, -1, 2**62]


def test_15_times_out_of_range() -> None:
    moments = [0, -1, -(2**63), 2**63 - 1, 253_402_300_799_999, 253_402_300_800_000]
    table = Case.of(*(ordinary(n, born_timestamp=time, store_timestamp=time) for n, time in enumerate(moments))).assert_intact()
    assert [each is None for each in table["store_timestamp"].to_pylist()] == [False, False, True, True, False, True]


def test_16_hosts_of_both_families_and_a_wrong_flag() -> None:
    v6 = (bytes.fromhex("20010db8000000000000000000010002"), 10911)
    v4 = (bytes([10, 1, 2, 3]), 10911)
    pairs = [(v4, v4), (v6, v4), (v4, v6), (v6, v6)]
    messages = [ordinary(n, born_host=born, store_host=store) for n, (born, store) in enumerate(pairs)]
    table = Case.of(*messages).assert_intact()
    assert table["born_host"].to_pylist() == ["10.1.2.3:10911", "2001:db8:0:0:0:0:1:2:10911"] * 2
    for flag in (0x10, 0x20):
        Case.of(*messages).put(1, 36, int4(0x10 ^ flag)).assert_lost(1, reason="lengths")


UNKNOWN_CODEC = next(bits << 8 for bits in range(8) if codec_of(bits << 8) is None)
CODECS = pytest.mark.parametrize(("flags", "compress"), [pytest.param(*each[1:], id=f"{each[0]} {each[1]:#x}") for each in CODECS_WRITTEN])


@CODECS
def test_17_a_body_that_does_not_decompress_keeps_its_row(flags: int, compress: Callable[[bytes], bytes]) -> None:
    _keeps_its_row_without_body(b"not compressed at all", flags)
    _keeps_its_row_without_body(compress(b"x" * 100)[:8], flags)


def test_18_a_body_of_an_unknown_codec_keeps_its_row() -> None:
    _keeps_its_row_without_body(b"anything", COMPRESSED | UNKNOWN_CODEC)


def _keeps_its_row_without_body(stored: bytes, flags: int) -> None:
    case = Case.of(ordinary(0), ordinary(1, body=stored, sys_flag=flags), ordinary(2))
    row = case.assert_intact().to_pylist()[1]
    assert (row["body"], row["stored_body"], row["corrupt_reason"]) == (None, stored, "body")
    assert case.read("FAILFAST")[0]["corrupt_reason"].to_pylist() == [None] * 3


@CODECS
def test_19_a_bomb_is_kept_small(flags: int, compress: Callable[[bytes], bytes]) -> None:
    bomb = compress(bytes(64 << 20))
    case = Case.of(ordinary(0), ordinary(1, body=bomb, sys_flag=flags), size=1 << 20)
    tracemalloc.start()
    table, _ = case.read("PERMISSIVE", max_decompressed_bytes=1 << 20)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    assert table["corrupt_reason"].to_pylist() == [None, "body"]
    assert [body is None for body in table["body"].to_pylist()] == [False, True]
    assert len(table["stored_body"][1].as_py()) == len(bomb)


def test_20_a_torn_record_is_unwritten_at_the_end_and_a_wrong_checksum_elsewhere() -> None:
    case = Case.of(*map(ordinary, range(3)))
    case.content[case.at(2) + 90 :] = bytes(len(case.content) - case.at(2) - 90)
    table, report = case.read()
    assert len(table) == 2
    assert report.damage == ()
    assert report.segments[0].unwritten_bytes == SEGMENT - case.at(2)
    middle = Case.of().put(4, 88, bytes(6))
    assert [each.reason for each in middle.read(verify_crc=True)[1].damage] == ["checksum"]


def test_21_a_hole_of_zeros_inside_the_log() -> None:
    case = Case.of()
    begin, end = case.at(3) + 10, case.at(5) + 10
    case.content[begin:end] = bytes(end - begin)
    case.assert_lost(3, 4, 5, reason="offset")  # its remains have physical offset 0
    case = Case.of()
    case.content[case.at(3) : case.at(6)] = bytes(case.at(6) - case.at(3))
    case.assert_lost(3, 4, 5, reason="zeros")


def test_22_a_blank_in_the_middle_or_of_a_wrong_length() -> None:
    blank = struct.pack(">iI", 100, 0xCBD43194)
    Case.of().put(4, 0, blank).assert_lost(4, reason="blank")
    log = CommitLog(1024)
    for number in range(10):
        log.append(ordinary(number))
    (base, first), *rest = log.segments()
    end = max(placed.offset + placed.size for placed in log.placed if placed.segment == 0)
    short = bytearray(first)
    short[end : end + 4] = int4(1024 - end - 1)
    same([(base, bytes(short)), *rest], "plain", 200)
    (damage,) = run([(base, bytes(short)), *rest], "DROPMALFORMED")[1].damage
    assert (damage.start, damage.end, damage.reason, damage.after) == (end, 1024, "blank", None)


def test_23_too_few_bytes_for_a_blank_at_the_end_of_a_file() -> None:
    for left in range(8):
        size = CommitLog(SEGMENT)
        for number in range(3):
            size.append(ordinary(number))
        content = size.segments(preallocated=False)[0][1] + b"\x07" * left
        log = CommitLog(len(content), len(content))
        log.append(ordinary(0))
        table, report = run([(0, content), *log.segments()], "FAILFAST")
        assert len(table) == 4
        assert report.segments[0].blank_bytes == left


def test_24_the_rest_of_a_preallocated_file_is_unwritten() -> None:
    case = Case.of(size=1 << 20)
    table, report = case.read("FAILFAST")
    assert (len(table), report.segments[0].unwritten_bytes) == (10, (1 << 20) - case.end(9))


def test_25_an_inner_batch_gives_its_messages() -> None:
    body = pack_inner([InnerMessage(b"a", pack_properties({"TAGS": "x"}), 7), InnerMessage(b"b")])
    table = Case.of(ordinary(0), ordinary(1, body=body, sys_flag=INNER_BATCH | 0x40), ordinary(2)).assert_intact()
    assert table["inner_index"].to_pylist() == [None, 0, 1, None]
    assert table["body"].to_pylist()[1:3] == [b"a", b"b"]


def test_26_a_wrong_checksum_of_the_whole_record() -> None:
    messages = [ordinary(number, property_crc="proper") for number in range(5)]
    case = Case.of(*messages)
    case.put(2, 16, int4(77))
    assert len(case.assert_intact()) == 5
    table, report = case.read(verify_crc=True)
    assert (len(table), [each.reason for each in report.damage]) == (4, ["checksum"])
    assert report.damage[0].description == "the checksum of the record is wrong"


def test_27_a_record_inside_a_body_never_gives_a_row() -> None:
    forged = encode(ordinary(99, topic="forged"), 987_654)
    case = Case.of(ordinary(0), ordinary(1, body=forged * 3), ordinary(2))
    assert "forged" not in case.assert_intact()["topic"].to_pylist()
    case.put(1, 4, int4(0))
    case.assert_lost(1, reason="magic")
    assert "forged" not in case.read()[0]["topic"].to_pylist()


def test_28_a_record_over_the_limit_is_damage_and_the_next_one_is_read() -> None:
    log = CommitLog(16 << 20)
    for message in (ordinary(0), ordinary(1, body=b"x" * (6 << 20)), ordinary(2)):
        log.append(message)
    segments = log.segments()
    assert len(run(segments, "FAILFAST")[0]) == 3
    tracemalloc.start()
    for most in (1 << 27, 1 << 20, 5000):
        table, report = run(segments, "DROPMALFORMED", max_record_bytes=1 << 20, max_partition_bytes=most)
        assert table["body"].to_pylist() == [b"body 0", b"body 2"]
        assert [(each.reason, each.before, each.after) for each in report.damage] == [("too large", 0, log.placed[2].offset)]
    assert tracemalloc.get_traced_memory()[1] < 48 << 20
    tracemalloc.stop()
    with pytest.raises(nr.StoreDamaged, match="is larger than max_record_bytes=1,048,576"):
        run(segments, "FAILFAST", max_record_bytes=1 << 20)
