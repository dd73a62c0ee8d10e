"""What tests write besides ordinary records: inner batches, records in records, the entries of DLedger."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from native_reader.writing.records import (
    BORN_HOST_V6,
    COMMIT,
    CRC_TRAILER,
    INNER_BATCH,
    LOCALHOST,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    NEED_UNWRAP,
    PREPARED,
    ROLLBACK,
    STORE_HOST_V6,
    Host,
    Message,
    PropertyCrc,
    blank,
    crc_of,
    encode,
    pack_properties,
)

DLEDGER_HEADER: Final = 48

__all__ = [
    "BORN_HOST_V6", "COMMIT", "CRC_TRAILER", "DLEDGER_HEADER", "INNER_BATCH", "LOCALHOST", "MAGIC_BLANK", "MAGIC_V1", "MAGIC_V2",
    "NEED_UNWRAP", "PREPARED", "ROLLBACK", "STORE_HOST_V6", "Host", "InnerMessage", "Message", "PropertyCrc", "blank", "body_position",
    "crc_of", "dledger_blank", "encode", "forge", "frame", "pack_inner", "pack_properties",
]  # fmt: skip


@dataclass(frozen=True)
class InnerMessage:
    """One unit of an inner batch's body."""

    body: bytes = b""
    properties: bytes = b""
    flag: int = 0


def pack_inner(messages: Iterable[InnerMessage]) -> bytes:
    """The body of an inner batch: total, magic and CRC (both 0), flag, body, properties."""
    units = []
    for message in messages:
        total = 22 + len(message.body) + len(message.properties)
        head = struct.pack(">5i", total, 0, 0, message.flag, len(message.body))
        units.append(head + message.body + struct.pack(">h", len(message.properties)) + message.properties)
    return b"".join(units)


def body_position(message: Message) -> int:
    """The position of the body in the record."""
    return 72 + len(message.born_host[0]) + 4 + len(message.store_host[0]) + 4


def forge(carrier: Message, inner: Message, physical_offset: int) -> Message:
    """`carrier` with a complete record in its body that has the right physical offset: only a walk detects it."""
    at = physical_offset + body_position(carrier) + len(carrier.body)
    return replace(carrier, body=carrier.body + encode(inner, at))


def frame(record: bytes, position: int, index: int, term: int = 1) -> bytes:
    """A DLedger entry at `position`; its record must be encoded for `position + 48`."""
    size = DLEDGER_HEADER + len(record)
    return struct.pack(">iiqqqiiii", 1, size, index, term, position, 0, 0, 0, len(record)) + record


def dledger_blank(remaining: int) -> bytes:
    """The blank of a DLedger file: magic before size, followed by zeros."""
    return struct.pack(">ii", -1, remaining)
