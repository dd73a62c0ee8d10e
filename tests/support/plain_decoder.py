"""A second decoder of commitlogs: simple, slow, and easy to compare with the layouts in native_reader/layout.

It imports nothing from this project, defines its own constants, and never raises, whatever the bytes.
"""

from __future__ import annotations

import functools
import re
import zlib
from binascii import crc32
from struct import unpack_from
from typing import Any, NamedTuple

import pyarrow as pa  # only for its LZ4 and zstd streams

V1, V2, BLANK = -626843481, -626843477, -875286124  # DAA320A7, DAA320AB, CBD43194
MAGIC = re.compile(rb"\xda\xa3\x20[\xa7\xab]")
MAX_BODY = 64 << 20  # maxDecompressedBytes
SYSTEM_TOPICS = {"TBW102", "BenchmarkTest", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC"} | {
    "DefaultHeartBeatSyncerTopic"
}

Row = dict[str, Any]


class Record(NamedTuple):
    fixed: Row  # the columns stored unchanged in the record
    store_host: bytes
    body: bytes  # as stored
    topic: bytes
    properties: bytes


class Account(NamedTuple):
    """Bytes of one segment; they add up to its size."""

    base: int
    records: int
    blank: int
    damage: int
    unwritten: int


class Log(NamedTuple):
    rows: list[Row]
    damage: list[tuple[int, int, int]]  # segment's base; start and end, as offsets
    log_end: int
    segments: list[Account]


def walk(segments: list[tuple[int, bytes]], framing: str = "plain", lenient: bool = False) -> Log:
    """Read `segments`, pairs of (base offset, bytes) in ascending order; `lenient`: foreign bytes after the log belong to it."""
    return both_walks(segments, framing)[lenient]


def both_walks(segments: list[tuple[int, bytes]], framing: str) -> tuple[Log, Log]:
    """The log without foreign bytes after it, and with them."""
    runs = [(i, *run) for i, (base, data) in enumerate(segments) for run in runs_of(base, data, framing)]
    log_end = segments[0][0] if segments else 0
    for i, kind, start, end, record in reversed(runs):
        if kind in ("record", "blank"):  # the log ends after the last one
            base, data = segments[i]
            log_end = start if record and is_torn(record, data[end - base :], framing) else end
            break
    strict, lenient_end = log_until(log_end, segments, runs), foreign_end(segments, framing, log_end)
    return strict, strict if lenient_end == log_end else log_until(lenient_end, segments, runs)


def log_until(log_end: int, segments: list[tuple[int, bytes]], runs: list[tuple[int, str, int, int, Record | None]]) -> Log:
    """Rows, damage and sums; after `log_end` everything is unwritten."""
    rows, damage, sums = [], [], [dict.fromkeys(Account._fields[1:], 0) for _ in segments]
    for i, kind, start, end, record in runs:
        if start >= log_end:
            sums[i]["unwritten"] += end - start
        elif record:
            sums[i]["records"] += end - start
            rows += rows_of(record)
        elif kind == "damage":
            sums[i]["damage"] += min(end, log_end) - start
            sums[i]["unwritten"] += max(end, log_end) - log_end
            damage.append((segments[i][0], start, min(end, log_end)))
        else:
            sums[i]["blank"] += end - start
    return Log(rows, damage, log_end, [Account(base, **one) for (base, _), one in zip(segments, sums, strict=True)])


def foreign_end(segments: list[tuple[int, bytes]], framing: str, log_end: int) -> int:
    """The end of the last foreign bytes after the log, or `log_end` if only zeros, part of a record or very little follows."""
    begun, written, foreign = log_end, log_end, False
    for base, data in segments:
        start, reached = max(base, log_end), base + len(data.rstrip(b"\0"))
        if reached <= start:
            continue
        head = data[start - base + (48 if framing == "dledger" else 0) :][:36].ljust(36, b"\0")
        size, magic, offset = unpack_from(">ii20xq", head)
        frame = 48 if framing == "dledger" else 0
        torn = magic in (V1, V2) and offset == start + frame and size > 0
        begun, written = max(begun, start + frame + size if torn else 0), max(written, reached)
        foreign |= not torn and start == base and reached - base >= 92 and not any(record for *_, record in runs_of(base, data, framing))
    return written if foreign or written - max(log_end, begun) > 64 << 10 else log_end


@functools.lru_cache(maxsize=4)  # tests change one segment of several
def runs_of(base: int, data: bytes, framing: str) -> list[tuple[str, int, int, Record | None]]:
    """Divide a segment into (kind, start offset, end offset, record); kinds are record, blank, rest and damage."""
    runs: list[tuple[str, int, int, Record | None]] = []
    p, size = 0, len(data)
    while p < size:
        kind, end, record = "damage", size, record_at(data, base, p, framing)
        if record:
            kind, end = "record", p + record.fixed["record_size"] + (48 if framing == "dledger" else 0)
        elif is_blank(data, p, framing):
            kind = "blank"
        elif size - p < 8 and framing == "plain":
            kind = "rest"  # too short for a blank, so nothing was written there, and it does not show where the log ends
        else:  # a blank is valid only after a record or at the segment's start, so damage ends at a record or at the segment's end
            magic_at = 4 if framing == "plain" else 52
            places = (found.start() - magic_at for found in MAGIC.finditer(data, p + 1 + magic_at))
            end = next((q for q in places if record_at(data, base, q, framing)), size)
        runs.append((kind, base + p, base + end, record))
        p = end
    return runs


def is_blank(data: bytes, p: int, framing: str) -> bool:
    left = len(data) - p
    return left >= 8 and unpack_from(">ii", data, p) == ((left, BLANK) if framing == "plain" else (-1, left))


def is_torn(record: Record, following: bytes, framing: str) -> bool:
    """Whether the log's last record is incomplete: nothing valid follows it, and its CRC is wrong or its text ends in zeros."""
    if len(following) >= 8:
        first, second = unpack_from(">ii", following)
        if (second in (V1, V2, BLANK) and first > 0) if framing == "plain" else first == 1:
            return False
    return crc32(record.body) & 0x7FFFFFFF != record.fixed["body_crc"] or b"\0" in record.topic or record.properties[-1:] == b"\0"


def record_at(data: bytes, base: int, p: int, framing: str) -> Record | None:
    """The structurally valid record at position p, or None. In DLedger, p is the start of its entry."""
    if framing == "plain":
        return plain_record_at(data, base, p)
    if p + 48 > len(data):
        return None
    magic, size, _index, _term, pos, _channel, _chain_crc, _body_crc, body_len = unpack_from(">iiqqqiiii", data, p)
    if magic != 1 or size != 48 + body_len or pos != base + p:
        return None
    record = plain_record_at(data, base, p + 48)
    return record if record and record.fixed["record_size"] == body_len else None


def plain_record_at(data: bytes, base: int, p: int) -> Record | None:
    """A record, field by field."""
    if p + 75 + 8 + 8 > len(data):
        return None
    total, magic, body_crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born = unpack_from(">iiiiiqqiq", data, p)
    b, s = 20 if sys_flag & 0x10 else 8, 20 if sys_flag & 0x20 else 8  # IPv6 or IPv4 address, and port
    if magic not in (V1, V2) or total < 75 + b + s or p + total > len(data) or physical_offset != base + p:
        return None
    born_host, store_host = data[p + 48 : p + 48 + b], data[p + 56 + b : p + 56 + b + s]
    (store_time,) = unpack_from(">q", data, p + 48 + b)
    reconsume_times, prepared, body_len = unpack_from(">iqi", data, p + 56 + b + s)
    body_at = 72 + b + s  # from here on, positions are relative to the record
    if body_len < 0 or body_at + body_len + 3 > total:
        return None
    width, code = (1, ">b") if magic == V1 else (2, ">h")
    topic_at = body_at + body_len + width
    (topic_len,) = unpack_from(code, data, p + topic_at - width)
    props_at = topic_at + topic_len + 2
    if topic_len < 1 or props_at > total:
        return None
    (props_len,) = unpack_from(">h", data, p + props_at - 2)
    if props_len < 0 or props_at + props_len != total:
        return None
    fixed = {
        "queue_id": queue_id, "queue_offset": queue_offset, "born_timestamp": born, "store_timestamp": store_time,
        "physical_offset": physical_offset, "born_host": host(born_host), "store_host": host(store_host),
        "reconsume_times": reconsume_times, "flag": flag, "sys_flag": sys_flag, "prepared_transaction_offset": prepared,
        "body_crc": body_crc, "record_size": total, "magic": magic,
    }  # fmt: skip
    body, topic = data[p + body_at : p + body_at + body_len], data[p + topic_at : p + topic_at + topic_len]
    return Record(fixed, store_host, body, topic, data[p + props_at : p + total])


def rows_of(record: Record) -> list[Row]:
    """One row, or one for each message of an inner batch."""
    sys_flag, topic = record.fixed["sys_flag"], record.topic.decode(errors="replace")
    outer = record.fixed | {"topic": topic, "kind": kind_of(topic, sys_flag)}
    outer["offset_msg_id"] = (record.store_host + record.fixed["physical_offset"].to_bytes(8, signed=True)).hex().upper()
    body = decompressed(record.body, sys_flag)
    if sys_flag & 0x80 and body and (units := units_of(body)):
        return [
            outer | columns(unit_body, unit_body, properties, outer)
            | {"queue_offset": wrapped(outer["queue_offset"] + i), "flag": flag, "inner_index": i}
            for i, (flag, unit_body, properties) in enumerate(units)
        ]  # fmt: skip
    return [outer | columns(record.body, body, record.properties, outer) | {"inner_index": None}]


def columns(stored_body: bytes, body: bytes | None, raw: bytes, outer: Row) -> Row:
    """The columns from a message's own body and properties."""
    properties = properties_of(raw)
    uniq_key, keys, delay = properties.get("UNIQ_KEY"), properties.get("KEYS"), properties.get("DELAY", "")
    text = None if body is None else body.decode(errors="surrogateescape")
    level = int(delay) if re.fullmatch("-?[0-9]+", delay) and len(delay) <= 11 else None
    return {
        "stored_body": stored_body, "body_size": len(stored_body), "body": body, "properties": properties,
        "tags": properties.get("TAGS"), "keys": None if keys is None else [key for key in keys.split(" ") if key],
        "uniq_key": uniq_key, "msg_id": uniq_key or outer["offset_msg_id"], "real_topic": properties.get("REAL_TOPIC"),
        "lite_topic": properties.get("__LITE_TOPIC"),
        "delay_level": level if level is not None and -(2**31) <= level < 2**31 else None,
        "origin_topic": origin_topic(outer["topic"], properties), "origin_msg_id": origin_msg_id(outer["topic"], properties),
        "body_text": None if text is None or re.search("[\ud800-\udfff]", text) else text,
    }  # fmt: skip


def origin_topic(topic: str, properties: dict[str, str]) -> str | None:
    """The topic of a message before it was sent back. A pop consumer's retry topic is %RETRY%group_topic or %RETRY%group+topic."""
    group = properties.get("ORIGIN_GROUP")
    if topic.startswith("%RETRY%") and (origin := in_pop_topic(topic, group)):
        return origin
    if not topic.startswith(("%RETRY%", "%DLQ%")):
        return None
    origin = properties.get("RETRY_TOPIC") or properties.get("DLQ_ORIGIN_TOPIC")
    if origin and origin.startswith("%RETRY%"):
        return in_pop_topic(origin, group or (topic[5:] if topic.startswith("%DLQ%") else None))
    return origin


def in_pop_topic(topic: str, group: str | None) -> str | None:
    found = re.fullmatch(r"(?s)%RETRY%[^+]+\+([^+]*)", topic)
    if not found and group is not None:
        found = re.fullmatch(f"(?s)%RETRY%{re.escape(group)}_(.*)", topic)
    return found[1] or None if found else None


def origin_msg_id(topic: str, properties: dict[str, str]) -> str | None:
    if not topic.startswith(("%RETRY%", "%DLQ%")):
        return None
    return properties.get("ORIGIN_MESSAGE_ID") or properties.get("DLQ_ORIGIN_MESSAGE_ID")


def properties_of(raw: bytes) -> dict[str, str]:
    """The parser of 4.9.1 and later. A property CRC is removed first, by position, because a separator before it may be missing."""
    if re.fullmatch(rb"__CRC32#\x01[0-9]{10}\x02", raw[-20:]):
        raw = raw[:-20]
    pairs = (piece.partition("\x01") for piece in raw.decode(errors="replace").split("\x02"))
    return {name: value for name, _, value in pairs if name and value}


def units_of(body: bytes) -> list[tuple[int, bytes, bytes]] | None:
    """The (flag, body, properties) of an inner batch's messages; None unless they fill the body exactly."""
    units, p = [], 0
    while p < len(body):
        if p + 22 > len(body):
            return None
        total, _, _, flag, body_len = unpack_from(">iiiii", body, p)
        props_at = p + 22 + body_len
        if body_len < 0 or props_at > len(body):
            return None
        (props_len,) = unpack_from(">h", body, props_at - 2)
        if props_len < 0 or total != 22 + body_len + props_len or p + total > len(body):
            return None
        units.append((flag, body[p + 20 : p + 20 + body_len], body[props_at : p + total]))
        p += total
    return units


def decompressed(body: bytes, sys_flag: int) -> bytes | None:
    """The body as the producer sent it, or None if it cannot be decompressed. Java does not decompress empty bodies."""
    if not sys_flag & 1 or not body:
        return body
    codec = sys_flag >> 8 & 7
    try:
        if codec in (0, 3):
            inflater = zlib.decompressobj(wbits=47)  # zlib or gzip
            out = inflater.decompress(body, MAX_BODY + 1)
            return out if inflater.eof and len(out) <= MAX_BODY else None
        if codec in (1, 2):
            stream, out = pa.input_stream(pa.py_buffer(body), compression="lz4" if codec == 1 else "zstd"), b""
            while len(out) <= MAX_BODY and (piece := stream.read(1 << 20)):
                out += piece
            return out if len(out) <= MAX_BODY else None
    except (zlib.error, OSError, ValueError):
        pass
    return None


def kind_of(topic: str, sys_flag: int) -> str:
    """The kind of the first rule that applies."""
    transaction = sys_flag & 0xC
    rules = [
        ("prepared", transaction == 0x4),
        ("rollback", transaction == 0xC),
        ("half", topic in ("RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC")),
        ("op", topic in ("RMQ_SYS_TRANS_OP_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC")),
        ("delay", topic == "SCHEDULE_TOPIC_XXXX"),
        ("timer", topic == "rmq_sys_wheel_timer"),
        ("retry", topic.startswith("%RETRY%")),
        ("dlq", topic.startswith("%DLQ%")),
        ("trace", topic == "RMQ_SYS_TRACE_TOPIC" or topic.startswith("rmq_sys_TRACE_DATA_")),
        ("pop", topic.startswith("rmq_sys_REVIVE_LOG_")),
        ("system", topic.startswith("rmq_sys_") or topic in SYSTEM_TOPICS or topic.endswith("_REPLY_TOPIC")),
        ("committed", transaction == 0x8),
        ("batch", bool(sys_flag & 0x80)),
    ]
    return next((kind for kind, fits in rules if fits), "normal")


def host(raw: bytes) -> str:
    """Java's `address:port`: IPv6 without `::`, IPv4-mapped addresses as IPv4, like InetAddress.getByAddress."""
    *address, port = unpack_from(">4Bi" if len(raw) == 8 else ">8Hi", raw)
    if address[:6] == [0, 0, 0, 0, 0, 0xFFFF]:
        address = list(raw[12:16])
    return (".".join(map(str, address)) if len(address) == 4 else ":".join(f"{word:x}" for word in address)) + f":{port}"


def wrapped(number: int) -> int:
    """As a Java long, because forged offsets may overflow."""
    return (number + 2**63) % 2**64 - 2**63
