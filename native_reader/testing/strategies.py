"""Hypothesis strategies: messages of every kind, commitlogs with them, and damaged commitlogs.

The drawn logs are small, but contain every variant that brokers have written since 4.0. `commitlogs()` draws only what a broker
can have written: every record is structurally valid. `damaged_logs()` also damages them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import strategies as st

from native_reader.testing import compression
from native_reader.testing.logs import CommitLog, Framing, Placed
from native_reader.testing.records import (
    COMMIT,
    DLEDGER_HEADER,
    INNER_BATCH,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    NEED_UNWRAP,
    PREPARED,
    ROLLBACK,
    Host,
    InnerMessage,
    Message,
    PropertyCrc,
    body_position,
    encode,
    pack_inner,
    pack_properties,
)

SYSTEM_TOPICS = (
    "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRACE_TOPIC", "rmq_sys_wheel_timer", "rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_SYNC_BROKER_MEMBER_a", "TBW102",
    "SELF_TEST_TOPIC", "BenchmarkTest", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC", "DefaultCluster_REPLY_TOPIC", "%RETRY%group",
    "%RETRY%group_orders", "%RETRY%group+orders", "%DLQ%group", "%LMQ%parent", "%LMQ%$parent$lite",
)  # fmt: skip
USER_TOPICS = ("orders", "T", "a|b_c-D%9", "x" * 127, "ünïcode", "主题🚀")
PROPERTY_NAMES = (
    "KEYS", "TAGS", "UNIQ_KEY", "WAIT", "DELAY", "REAL_TOPIC", "REAL_QID", "RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "TRAN_MSG", "PGROUP",
    "__transactionId__", "INNER_NUM", "INNER_BASE", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET", "TIMER_OUT_MS", "CLUSTER",
    "MSG_REGION", "TRACE_ON", "ORIGIN_GROUP", "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID", "__SHARDINGKEY", "a", "ab", "name", "属性",
)  # fmt: skip
PROPERTY_VALUES = (
    "", "true", "0", "a", "k1 k2", " k1  k2 ", "AaAa", "BBBB", "polygenelubricants", "orders", "3", "值🚀",
    "group", "%RETRY%group_orders", "%RETRY%group+orders", "C0A800010000073D16E9000000000001",
)  # fmt: skip
ODD_PROPERTIES = (
    b"", b"\x01", b"\x02", b"\x02\x02", b"a\x01", b"\x01v", b"no separator", b"a\x01b\x01c\x02", b"\0", b"\xff\xfe",
    b"TAGS\x01\xc3\x02", b"k\x01v", b"__CRC32#\x010000000000\x02",
)  # fmt: skip

_MAGICS = tuple(struct.pack(">I", magic) for magic in (MAGIC_V1, MAGIC_V2, MAGIC_BLANK))
_NUMBERS = st.one_of(st.integers(0, 9), st.sampled_from([-1, 2**31 - 1, -(2**31)]))
_LONGS = st.one_of(st.integers(0, 9), st.sampled_from([-1, 2**31, 2**62, 2**63 - 1, -(2**63)]))
_NAMES = st.one_of(st.sampled_from(PROPERTY_NAMES), st.sampled_from(PROPERTY_NAMES), st.text(max_size=4))
_VALUES = st.one_of(st.sampled_from(PROPERTY_VALUES), st.sampled_from(PROPERTY_VALUES), st.text(max_size=12))
_PAIRS: st.SearchStrategy[list[tuple[str, str]]] = st.one_of(st.just([]), st.lists(st.tuples(_NAMES, _VALUES), max_size=7))
_ODD = st.one_of(st.sampled_from(ODD_PROPERTIES), st.binary(max_size=20))
_TIMES = st.one_of(st.integers(1_700_000_000_000, 1_700_000_100_000), st.sampled_from([0, 1, -1, -(2**40), 2**62, 2**63 - 1]))

_TRANSACTIONS = st.sampled_from([0, 0, 0, 0, PREPARED, COMMIT, ROLLBACK, 2])
_FLAGS = st.one_of(_TRANSACTIONS, _TRANSACTIONS, st.sampled_from([1 << 11, 1 << 20, -(2**31)]))  # the bits of the last list have no meaning
_PROPERTY_CRC: st.SearchStrategy[PropertyCrc] = st.sampled_from(("", "", "", "proper", "glued"))


@dataclass(frozen=True)
class DrawnLog:
    """Segments as (first offset, bytes), their framing, and the place of each message."""

    segments: list[tuple[int, bytes]]
    framing: Framing
    segment_size: int
    placed: list[Placed]


def hosts() -> st.SearchStrategy[Host]:
    """IPv4 and IPv6 addresses; ports are arbitrary four-byte integers."""
    ips = st.one_of(st.just(bytes([127, 0, 0, 1])), st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16))
    return st.tuples(ips, st.one_of(st.integers(0, 65535), st.sampled_from([-1, 2**31 - 1])))


_HEADS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "queue_id": _NUMBERS,
        "queue_offset": _LONGS,
        "flag": _NUMBERS,
        "born_timestamp": _TIMES,
        "born_host": hosts(),
        "store_timestamp": _TIMES,
        "store_host": hosts(),
        "reconsume_times": _NUMBERS,
        "prepared_transaction_offset": _LONGS,
        "body_crc": st.sampled_from([None] * 9 + [0]),  # a wrong CRC does not make a record invalid
    }
)


def topics() -> st.SearchStrategy[str]:
    """User and system topics, some in Unicode, none longer than 127 bytes."""
    plain = st.text("abz09_-%|$+", min_size=1, max_size=12)
    return st.one_of(st.sampled_from(USER_TOPICS), st.sampled_from(SYSTEM_TOPICS), plain)


def long_topics() -> st.SearchStrategy[str]:
    """Topics that need a V2 record: pop retry topics of 128 to 255 characters, and lengths around the limits."""
    return st.sampled_from([128, 200, 255, 256, 400]).map(lambda n: "%RETRY%".ljust(n, "x"))


@st.composite
def properties(draw: st.DrawFn) -> bytes:
    """Property bytes in every variant, valid ones most often."""
    packed = pack_properties(draw(_PAIRS), trailing=draw(st.booleans()))
    if not draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(packed)))
        packed = packed[:at] + draw(_ODD) + packed[at:]
    return packed


def inner_messages() -> st.SearchStrategy[InnerMessage]:
    """Units of an inner batch."""
    return st.builds(InnerMessage, body=st.binary(max_size=20), properties=properties(), flag=_NUMBERS)


@st.composite
def inner_bodies(draw: st.DrawFn) -> bytes:
    """The body of an inner batch: valid, truncated, with a wrong length, or not a batch."""
    packed = pack_inner(draw(st.lists(inner_messages(), max_size=4)))
    breakage = draw(st.sampled_from(["", "", "", "cut", "wrong length", "noise"]))
    if breakage == "cut":
        return packed[: draw(st.integers(0, len(packed)))]
    if breakage == "wrong length" and packed:
        at = draw(st.sampled_from([0, 16]))
        return packed[:at] + struct.pack(">i", draw(_NUMBERS)) + packed[at + 4 :]
    return draw(st.binary(max_size=30)) if breakage == "noise" else packed


@st.composite
def _plain_bodies(draw: st.DrawFn) -> bytes:
    """Text, noise, magics and whole records: a body can contain anything."""
    kind = draw(st.sampled_from(["text", "binary", "empty", "magics", "record"]))
    if kind == "text":
        return draw(st.text(max_size=30)).encode()
    if kind == "magics":
        return b"".join(draw(st.lists(st.one_of(st.sampled_from(_MAGICS), st.binary(max_size=6)), min_size=1, max_size=5)))
    if kind == "record":
        forged = Message(topic=draw(topics()), body=draw(st.binary(max_size=8)), properties=draw(properties()))
        wrong = -1 - draw(st.integers(0, 999))  # a negative offset is never a record's own position
        return draw(st.binary(max_size=8)) + encode(forged, wrong) + draw(st.binary(max_size=8))
    return b"" if kind == "empty" else draw(st.binary(max_size=40))


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, int]:
    """(stored body, sys_flag bits): plain, compressed, with stray type bits, or not decodable."""
    kind = draw(st.sampled_from(["plain", "plain", "codec", "stray", "broken", "inner", "inner codec"]))
    if kind == "inner":
        return draw(inner_bodies()), INNER_BATCH | draw(st.sampled_from([NEED_UNWRAP, NEED_UNWRAP, 0]))
    if kind in ("codec", "inner codec"):
        _, flags, compress = draw(st.sampled_from(compression.CODECS))
        inner = kind == "inner codec"
        plain = draw(inner_bodies() if inner else _plain_bodies())
        repeat = 1 if inner else draw(st.sampled_from([1, 1, 50]))
        return compress(plain * repeat), flags | (INNER_BATCH | NEED_UNWRAP if inner else 0)
    if kind == "stray":  # the resume-half-message path leaves type bits, but bit 0 clear
        return draw(_plain_bodies()), draw(st.integers(1, 7)) << 8
    if kind == "broken":
        type_bits = draw(st.integers(0, 7)) << 8
        _, _, compress = draw(st.sampled_from(compression.CODECS))
        whole = compress(draw(_plain_bodies()))
        broken = draw(st.one_of(st.binary(max_size=20), st.just(whole[: len(whole) // 2]), st.just(whole + b"after")))
        return broken, type_bits | compression.COMPRESSED
    return draw(_plain_bodies()), 0


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """One structurally valid record of any kind."""
    body, flags = draw(bodies())
    version: Literal[1, 2] = 2 if not draw(st.integers(0, 3)) else 1
    message = Message(
        topic=draw(topics() if version == 1 else st.one_of(topics(), long_topics())),
        body=body,
        properties=draw(properties()),
        version=version,
        sys_flag=flags | draw(_FLAGS),
        property_crc=draw(_PROPERTY_CRC),
    )
    if draw(st.booleans()):  # half of the messages keep an ordinary head
        message = replace(message, **draw(_HEADS))
    return message


@st.composite
def garbage(draw: st.DrawFn, previous: Message | None = None) -> bytes:
    """Bytes after a blank or after the last record: zeros, noise, whole records from elsewhere."""
    kind = draw(st.sampled_from(["zeros", "zeros", "noise", "record", "previous"]))
    if kind == "noise":
        return draw(st.binary(min_size=1, max_size=40))
    if kind == "record":
        return encode(draw(messages()), -1 - draw(st.integers(0, 999)))
    if kind == "previous" and previous is not None:  # up to 4.9.0, old content of the encode buffer
        return encode(previous, -1)[8:]
    return b""


@st.composite
def commitlogs(draw: st.DrawFn, framing: Framing | None = None, max_messages: int = 12) -> DrawnLog:
    """A log as some broker may have left it: rolled, preallocated, expired, with garbage after its blanks and its end."""
    chosen: Framing = framing or draw(st.sampled_from(["plain", "plain", "plain", "dledger"]))  # type: ignore[assignment]
    drawn = draw(st.lists(messages(), max_size=max_messages))
    header = DLEDGER_HEADER if chosen == "dledger" else 0
    largest = max((len(encode(message)) for message in drawn), default=0) + header + 8
    segment_size = max(largest, draw(st.one_of(st.sampled_from([256, 1024, 4096]), st.integers(256, 2048))))
    start = segment_size * draw(st.one_of(st.just(0), st.integers(0, 9), st.just(2**40 // segment_size)))
    log = CommitLog(segment_size, start, chosen)
    for before, message in zip([None, *drawn], drawn, strict=False):
        if chosen == "plain" and log.placed and not draw(st.integers(0, 7)):
            log.seal(draw(garbage(before)))
        log.append(message, b"" if chosen == "dledger" else draw(garbage(before)))
    if log.placed and not draw(st.integers(0, 7)):
        log.seal()
    tail = draw(garbage(drawn[-1] if drawn else None)) if chosen == "plain" else b""
    segments = log.segments(preallocated=draw(st.booleans()), extra=draw(st.sampled_from([0, 0, 1, 2])), tail=tail)
    return DrawnLog(segments, chosen, segment_size, log.placed)


@st.composite
def damaged(draw: st.DrawFn, log: DrawnLog, max_faults: int = 3) -> DrawnLog:
    """`log` with some bytes flipped, zeroed, copied elsewhere or truncated, a wrong size, or a missing segment."""
    segments = [(base, bytearray(data)) for base, data in log.segments]
    for _ in range(draw(st.integers(1, max_faults)) if segments else 0):
        which = draw(st.integers(0, len(segments) - 1))
        fault = draw(st.sampled_from([*_FAULTS, None]))
        if fault is None:
            del segments[which]
            if not segments:
                break
        elif segments[which][1]:
            fault(draw, segments[which][1], [p for p in log.placed if p.segment == segments[which][0]])
    return replace(log, segments=[(base, bytes(data)) for base, data in segments])


def damaged_logs(framing: Framing | None = None) -> st.SearchStrategy[DrawnLog]:
    """Any log, with damage."""
    return commitlogs(framing).flatmap(damaged)


def _range(draw: st.DrawFn, data: bytearray) -> slice:
    start = draw(st.integers(0, len(data) - 1))
    return slice(start, min(len(data), start + draw(st.one_of(st.integers(1, 8), st.integers(1, 512)))))


def _truncate(draw: st.DrawFn, data: bytearray, _: list[Placed]) -> None:
    del data[draw(st.integers(0, len(data))) :]


def _flip(draw: st.DrawFn, data: bytearray, _: list[Placed]) -> None:
    data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))


def _zero(draw: st.DrawFn, data: bytearray, _: list[Placed]) -> None:
    where = _range(draw, data)
    data[where] = bytes(where.stop - where.start)


def _noise(draw: st.DrawFn, data: bytearray, _: list[Placed]) -> None:
    where = _range(draw, data)
    noise = draw(st.binary(min_size=1, max_size=16))
    data[where] = (noise * 512)[: where.stop - where.start]


def _copy(draw: st.DrawFn, data: bytearray, _: list[Placed]) -> None:
    where = _range(draw, data)
    target = draw(st.integers(0, len(data) - (where.stop - where.start)))
    data[target : target + where.stop - where.start] = data[where]


def _wrong_number(draw: st.DrawFn, data: bytearray, placed: list[Placed]) -> None:
    if placed:
        record = draw(st.sampled_from(placed))
        body_length_at = body_position(record.message) - 4  # damage there shifts everything after it
        at = record.offset - record.segment + draw(st.sampled_from([0, 4, 28, body_length_at]))
        if at + 4 <= len(data):
            data[at : at + 4] = struct.pack(">i", draw(st.one_of(_NUMBERS, st.integers(0, 2048))))


_FAULTS = (_truncate, _flip, _zero, _noise, _copy, _wrong_number)
