"""One record as a broker writes it, and the blank at the end of a segment: slow and simple. All writers here use it.

This part does not import the reader: it defines its own constants, so that writer and reader check each other.

The checkpoint, which tells how far a broker is, is written here, too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

MAGIC_V1: Final = 0xDAA320A7
MAGIC_V2: Final = 0xDAA320AB
MAGIC_BLANK: Final = 0xCBD43194
BORN_HOST_V6: Final = 0x10
STORE_HOST_V6: Final = 0x20
NEED_UNWRAP: Final = 0x40
INNER_BATCH: Final = 0x80
PREPARED: Final = 0x4
COMMIT: Final = 0x8
ROLLBACK: Final = 0xC
CRC_TRAILER: Final = 20

Host = tuple[bytes, int]
PropertyCrc = Literal["", "proper", "glued"]
LOCALHOST: Final[Host] = (bytes([127, 0, 0, 1]), 10911)


@dataclass(frozen=True)
class Message:
    """All fields of a record, as the broker stores it.

    Attributes:
        topic: The topic.
        body: The stored body, already compressed or packed.
        properties: The properties as stored: `name 01 value 02`, repeated.
        queue_id: The queue.
        queue_offset: The offset in the queue.
        flag: The flag of the user.
        sys_flag: The flags of the system. `encode` sets the two bits for hosts from the lengths of these.
        born_timestamp: When the producer sent it, in milliseconds since 1970.
        born_host: The address and the port of the producer.
        store_timestamp: When the broker stored it, in milliseconds since 1970.
        store_host: The address and the port of the broker.
        reconsume_times: How often consumers sent it back.
        prepared_transaction_offset: Where the half message of a transaction is.
        version: The version of the record: 2 has two bytes for the length of the topic.
        property_crc: Whether a checksum of the record is appended: "proper", or "glued" as the batch path of 5.x does, without a
            separator before it.
        body_crc: The checksum of the body; None is the right one.
        total_size: If not None, a wrong size of the record.
        body_length: If not None, a wrong length of the body.
        properties_length: If not None, a wrong length of the properties.
        physical_offset: If not None, a wrong offset.

    Examples:
        >>> from native_reader.testing import Message
        >>> Message(topic="orders", body=b"paid", queue_id=3).topic_bytes
        b'orders'
    """

    topic: str | bytes = "T"
    body: bytes = b""
    properties: bytes = b""
    queue_id: int = 0
    queue_offset: int = 0
    flag: int = 0
    sys_flag: int = 0
    born_timestamp: int = 1_700_000_000_000
    born_host: Host = LOCALHOST
    store_timestamp: int = 1_700_000_000_005
    store_host: Host = LOCALHOST
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    version: Literal[1, 2] = 1
    property_crc: PropertyCrc = ""
    body_crc: int | None = None
    total_size: int | None = None
    body_length: int | None = None
    properties_length: int | None = None
    physical_offset: int | None = None

    @property
    def topic_bytes(self) -> bytes:
        """The topic as stored."""
        return self.topic if isinstance(self.topic, bytes) else self.topic.encode()


def crc_of(content: bytes) -> int:
    """CRC32 of these bytes, sign bit cleared."""
    return zlib.crc32(content) & 0x7FFFFFFF


def pack_properties(pairs: Mapping[str, str] | Iterable[tuple[str, str]], *, trailing: bool = True) -> bytes:
    """`name 01 value 02` in the given order; brokers and clients of 4.9.1 to 5.1.4 write no `trailing` separator."""
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    text = "\x02".join(f"{name}\x01{value}" for name, value in items)
    return (text + "\x02" if trailing and text else text).encode()


def encode(message: Message, physical_offset: int = 0) -> bytes:
    """Encode a record as a broker writes it.

    Args:
        message: The fields of the record.
        physical_offset: Where in the log the record will be: it contains its own offset.

    Raises:
        ValueError: The address of a host has neither 4 nor 16 bytes.

    Examples:
        >>> from native_reader.testing import Message, encode
        >>> len(encode(Message(topic="orders", body=b"paid")))
        101
    """
    topic, properties = message.topic_bytes, message.properties
    if message.property_crc:
        if message.property_crc == "proper" and properties and not properties.endswith(b"\x02"):
            properties += b"\x02"
        properties += bytes(CRC_TRAILER)
    sys_flag = message.sys_flag & ~(BORN_HOST_V6 | STORE_HOST_V6)
    sys_flag |= BORN_HOST_V6 * (len(message.born_host[0]) == 16) | STORE_HOST_V6 * (len(message.store_host[0]) == 16)
    crc = crc_of(message.body) if message.body_crc is None else message.body_crc
    offset = physical_offset if message.physical_offset is None else message.physical_offset
    parts = [
        struct.pack(">iii", crc, message.queue_id, message.flag),
        struct.pack(">qqi", message.queue_offset, offset, sys_flag),
        struct.pack(">q", message.born_timestamp) + _host(message.born_host),
        struct.pack(">q", message.store_timestamp) + _host(message.store_host),
        struct.pack(">iq", message.reconsume_times, message.prepared_transaction_offset),
        struct.pack(">i", len(message.body) if message.body_length is None else message.body_length) + message.body,
        struct.pack(">b" if message.version == 1 else ">h", len(topic)) + topic,
        struct.pack(">h", len(properties) if message.properties_length is None else message.properties_length) + properties,
    ]
    rest = b"".join(parts)
    total = 8 + len(rest) if message.total_size is None else message.total_size
    record = struct.pack(">iI", total, MAGIC_V1 if message.version == 1 else MAGIC_V2) + rest
    if message.property_crc:
        record = record[:-CRC_TRAILER] + checksum_of(record[:-CRC_TRAILER])
    return record


def checksum_of(covered: bytes) -> bytes:
    """The checksum that follows these bytes of a record."""
    return crc_field(crc_of(covered))


def crc_field(checksum: int) -> bytes:
    """This checksum of a record, as its last 20 bytes have it."""
    digits = str(checksum)[::-1].ljust(10, "0")  # in reverse order, padded with zeros at the end
    return f"__CRC32#\x01{digits}\x02".encode()


def blank(remaining: int) -> bytes:
    """The eight bytes that close a full segment; the bytes after them are arbitrary."""
    return struct.pack(">iI", remaining, MAGIC_BLANK)


def _host(host: Host) -> bytes:
    ip, port = host
    if len(ip) not in (4, 16):
        raise ValueError(f"an address has 4 or 16 bytes, not {len(ip)}")
    return ip + struct.pack(">i", port)


_SIZE: Final = 4096


def checkpoint(physic: int, logics: int, index: int, *, confirmed: int = 0, dispatched: int = 0) -> bytes:
    """Times of the newest record flushed, dispatched and in a full index file; and offsets, which older brokers ignore."""
    return struct.pack(">6q", physic, logics, index, 0, confirmed, dispatched).ljust(_SIZE, b"\0")
