"""Small logs of records that are changed one by one, to compare two ways of reading: many inputs in one read."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from native_reader.testing.compression import CODECS
from native_reader.testing.logs import Framing
from native_reader.testing.records import (
    COMMIT,
    INNER_BATCH,
    PREPARED,
    ROLLBACK,
    InnerMessage,
    Message,
    blank,
    crc_of,
    encode,
    frame,
    pack_inner,
    pack_properties,
)
from native_reader.testing.strategies import ODD_PROPERTIES, PROPERTY_NAMES, PROPERTY_VALUES, SYSTEM_TOPICS, USER_TOPICS
from support.changes import OF_RECORDS
from support.compare import Segments
from support.golden import unpack
from support.own_stores import NAMES, STORES
from support.plain_decoder import walk

CHANGED = 0.7
"""The share of records that are changed; the others follow the changed ones, and must still be found."""
_READ_OF_STORE, _OF_STORE, _WRITTEN, _LARGEST = 64 << 10, 40, 400, 1500
_PLACE = 28
_BASES = (0, 1 << 30, 5 << 30, (1 << 40) + 4096, 2**62)
_WORDS = ("order", "paid", "Berlin", "12.50", "created", "München", "主题", "null")


class Log(NamedTuple):
    segments: Segments
    framing: Framing


def all_records() -> list[bytes]:
    """Records of real brokers, and written ones of kinds that are rare there. Each is at most 1.5 KB."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            store = unpack(name, Path(folder), STORES)
            base, content = store.segments[0]
            rows = walk([(base, content[:_READ_OF_STORE])], store.framing, lenient=True).rows
            places = sorted({(row["physical_offset"] - base, row["record_size"]) for row in rows if row["record_size"] <= _LARGEST})
            found += [content[start : start + size] for start, size in places[:: len(places) // _OF_STORE + 1]]
    chance = Random(1)
    return found + [encode(_message(chance)) for _ in range(_WRITTEN)]


def _message(chance: Random) -> Message:
    body, flags = _body(chance), chance.choice([0, 0, 0, PREPARED, COMMIT, ROLLBACK])
    if chance.random() < 0.2:
        units = [InnerMessage(_body(chance), _properties(chance), chance.randrange(3)) for _ in range(chance.randrange(1, 5))]
        body, flags = pack_inner(units), flags | INNER_BATCH
    if chance.random() < 0.4:
        _, bits, compress = chance.choice(CODECS)
        body, flags = compress(body), flags | bits
    message = Message(chance.choice(SYSTEM_TOPICS + USER_TOPICS), body, _properties(chance), sys_flag=flags)
    hosts = [(chance.randbytes(chance.choice([4, 4, 16])), chance.choice([10911, 65535, -1])) for _ in range(2)]
    return replace(
        message,
        queue_id=chance.randrange(-1, 9),
        queue_offset=chance.choice([0, 5, 2**63 - 1, -1]),
        born_host=hosts[0],
        store_host=hosts[1],
        born_timestamp=chance.choice([1_700_000_000_000, 0, -1, 2**62, 2**63 - 1]),
        version=chance.choice([1, 2]),
        property_crc=chance.choice(["", "", "proper", "glued"]),
    )


def _body(chance: Random) -> bytes:
    text = " ".join(chance.choices(_WORDS, k=chance.choice([0, 1, 5, 20, 60])))
    return text.encode() if chance.random() < 0.8 else chance.randbytes(chance.randrange(200))


def _properties(chance: Random) -> bytes:
    count = chance.choice([0, 1, 3, 3, 5, 8, 30])
    names = [chance.choice((*PROPERTY_NAMES, f"name{chance.randrange(99)}")) for _ in range(count)]
    packed = pack_properties([(name, chance.choice(PROPERTY_VALUES)) for name in names], trailing=chance.random() < 0.7)
    return packed if chance.random() < 0.9 else packed + chance.choice(ODD_PROPERTIES)


def changed_log(chance: Random, records: Sequence[bytes], count: int) -> Log:
    """A log of one segment with this many records, most of them changed after they got their place."""
    framing: Framing = chance.choice(["plain", "plain", "plain", "dledger"])
    base, log = chance.choice(_BASES), bytearray()
    for index in range(count):
        at = base + len(log)
        record = chance.choice(records)
        piece = bytearray(_placed(record, at) if framing == "plain" else frame(_placed(record, at + 48), at, index))
        if chance.random() < CHANGED:
            for _ in range(chance.choice([1, 1, 1, 2, 4])):
                if piece:
                    chance.choice(OF_RECORDS)(chance, piece, records)
        log += piece
    end = chance.choice([b"", bytes(8), bytes(300), blank(8), blank(100) + bytes(92), chance.randbytes(30)])
    return Log([(base, bytes(log + end))], framing)


def _placed(record: bytes, offset: int) -> bytes:
    """The record with this physical offset. The checksum that covers it, if there is one, is right again."""
    placed = record[:_PLACE] + struct.pack(">q", offset) + record[_PLACE + 8 :]
    if placed[-20:-11] != b"__CRC32#\x01":
        return placed
    digits = str(crc_of(placed[:-20]))[::-1].ljust(10, "0")
    return placed[:-11] + digits.encode() + b"\x02"
