"""One stored message, V1 or V2: its layout, the validation of many records at once, and its hosts and ids as in RocketMQ's Java client."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC_V1 = -626843481
MAGIC_V2 = -626843477
MAGIC_BLANK = -875286124
MAGIC_ENTRY = 1
MAGIC_ENTRY_BLANK = -1

COMPRESSED = 0x1
TRANSACTION = 0xC
PREPARED, COMMITTED, ROLLBACK = 0x4, 0x8, 0xC
BORN_IPV6 = 0x10
STORE_IPV6 = 0x20
INNER_BATCH = 0x80

HEAD_SIZE = 88
LONGEST_HEAD = 112
SMALLEST_RECORD = HEAD_SIZE + 1 + 1 + 2
BLANK_HEAD = 8
ENTRY_HEAD = 48
UP_TO_MAGIC, UP_TO_BODY_CRC = 8, 12
ENTRY_SIZE_AT, _OFFSET_AT = 4, 28
_QUEUE_ID_AT, _SLOT_AT = 12, 20
PADDING = 256
"""How many zero bytes must follow the data in a buffer passed to `measure`, so that no gather reads outside it."""

_V1_WORD, _V2_WORD = (int.from_bytes(magic.to_bytes(4, "big", signed=True), "little") for magic in (MAGIC_V1, MAGIC_V2))
_FIRST_PAIR, _MIDDLE_PAIR = _V1_WORD & 0xFFFF, _V1_WORD >> 8 & 0xFFFF
"""The first and the middle two bytes of a magic, the same in V1 and V2."""

Bytes = NDArray[np.uint8]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


def head_dtype(born: int = 8, store: int = 8) -> np.dtype[np.void]:
    """The fixed fields; each host takes 8 (IPv4) or 20 (IPv6) bytes."""
    return np.dtype(
        [
            ("size", ">i4"),
            ("magic", ">i4"),
            ("body_crc", ">i4"),
            ("queue_id", ">i4"),
            ("flag", ">i4"),
            ("queue_offset", ">i8"),
            ("physical_offset", ">i8"),
            ("sys_flag", ">i4"),
            ("born_timestamp", ">i8"),
            ("born_host", f"V{born}"),
            ("store_timestamp", ">i8"),
            ("store_host", f"V{store}"),
            ("reconsume_times", ">i4"),
            ("prepared_transaction_offset", ">i8"),
            ("body_size", ">i4"),
        ]
    )


HEAD = head_dtype()
ENTRY = np.dtype(
    [
        ("magic", ">i4"),
        ("size", ">i4"),
        ("index", ">i8"),
        ("term", ">i8"),
        ("position", ">i8"),
        ("channel", ">i4"),
        ("chain_crc", ">i4"),
        ("body_crc", ">i4"),
        ("body_size", ">i4"),
    ]
)
INDEX_ENTRY = np.dtype([("magic", ">i4"), ("position", ">i8"), ("size", ">i4"), ("index", ">i8"), ("term", ">i8")])
"""What the index of a DLedger log has of each entry, in the place of its number."""
UP_TO_OFFSET = np.dtype(
    {"names": ["size", "magic", "offset"], "formats": [">i4", ">i4", ">i8"], "offsets": [0, 4, _OFFSET_AT], "itemsize": 36}
)
"""The fields of a head that tell whether a record may be there."""
LENGTH = np.dtype(">i2")
"""The size of a V2 topic, or of properties."""
_IPV6_HEADS = ((BORN_IPV6, head_dtype(20, 8)), (STORE_IPV6, head_dtype(8, 20)), (BORN_IPV6 | STORE_IPV6, head_dtype(20, 20)))
_AFTER_BORN_HOST = ("store_timestamp", "reconsume_times", "prepared_transaction_offset", "body_size")


def at(u8: Bytes, dtype: str | np.dtype[Any]) -> NDArray[np.generic]:
    """View every position of the buffer as an unaligned element of that type: fancy-index the result to gather."""
    kind = np.dtype(dtype)
    if len(u8) < kind.itemsize:
        return np.empty(0, kind)
    return np.ndarray((len(u8) - kind.itemsize + 1,), dtype=kind, buffer=u8, strides=(1,))


def unsigned_at(u8: Bytes, width: int) -> NDArray[np.unsignedinteger]:
    """View every position as an unaligned little-endian unsigned integer: to compare bytes, not to read numbers."""
    return at(u8, f"<u{width}")  # type: ignore[return-value]


@dataclass(slots=True, frozen=True)
class Records:
    """The fixed fields of many records, and the positions of their variable parts in the buffer."""

    starts: Index
    heads: NDArray[np.void]
    sizes: Index
    body_at: Index
    body_size: Index
    topic_at: Index
    topic_size: Index
    properties_at: Index
    properties_size: Index

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def largest(self) -> int:
        """The largest size."""
        return int(self.sizes.max(initial=0))

    @property
    def total(self) -> int:
        """The sum of the sizes."""
        return int(self.sizes.sum())

    @property
    def bodies(self) -> int:
        """The sum of the sizes of the stored bodies."""
        return int(self.body_size.sum())

    @property
    def flags(self) -> int:
        """The flags that any record has."""
        return int(np.bitwise_or.reduce(self.heads["sys_flag"]))

    @property
    def longest_topic(self) -> int:
        """The largest size of a topic."""
        return int(self.topic_size.max(initial=0))

    def with_flag(self, flag: int) -> Index:
        """The rows whose records have that flag."""
        return np.flatnonzero(self.heads["sys_flag"] & flag)

    def body(self, row: int) -> tuple[int, int, int]:
        """Start and size of the body of one row, and the flags of its record."""
        return int(self.body_at[row]), int(self.body_size[row]), int(self.heads["sys_flag"][row])

    @property
    def last(self) -> tuple[int, int]:
        """Start and size of the last record."""
        return int(self.starts[-1]), int(self.sizes[-1])

    def __getitem__(self, which: slice | Index | Mask) -> Records:
        if isinstance(which, slice):
            return Records(*(getattr(self, name)[which] for name in Records.__slots__))
        rows: Any = np.flatnonzero(which) if which.dtype == np.bool_ else which  # convert a mask once for all arrays
        return self.copied(rows)

    def copied(self, which: Index) -> Records:
        """Only these, in arrays that nothing else uses."""
        # numpy 2.4 indexes an array of structs field by field; `take` copies each struct whole, thirty times faster.
        return Records(*(getattr(self, name).take(which) for name in Records.__slots__))


def sizes_at(u8: Bytes, starts: Index) -> Index:
    """The size of the record at each of those positions."""
    sizes: Index = at(u8, ">i4")[starts].astype(np.intp)
    return sizes


def offsets_at(u8: Bytes, starts: Index) -> NDArray[np.signedinteger]:
    """The physical offset of the record at each of those positions."""
    return at(u8, ">i8")[starts + _OFFSET_AT]  # type: ignore[return-value]


def put_physical_offsets(u8: Bytes, starts: Numbers, offsets: Numbers) -> None:
    """Write the physical offset of each record that starts there."""
    stored = offsets.astype(">i8").view(np.uint8).reshape(len(offsets), -1)
    u8[(starts + _OFFSET_AT)[:, None] + np.arange(stored.shape[1])] = stored


def put_queue_places(u8: Bytes, starts: Numbers, queue_ids: Numbers, slots: Numbers) -> None:
    """Write the queue and the queue offset of each record that starts there."""
    for at_, stored in ((_QUEUE_ID_AT, queue_ids.astype(">i4")), (_SLOT_AT, slots.astype(">i8"))):
        content = stored.view(np.uint8).reshape(len(stored), -1)
        u8[(starts + at_)[:, None] + np.arange(content.shape[1])] = content


def stored_crc(checksum: int) -> bytes:
    """The field `body_crc`, from UP_TO_MAGIC to UP_TO_BODY_CRC of a record."""
    return checksum.to_bytes(UP_TO_BODY_CRC - UP_TO_MAGIC)


def pairs_at(u8: Bytes, positions: Index) -> tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]:
    """The two numbers at each of those positions: size and magic of a record or blank, magic and size of a DLedger entry."""
    numbers: NDArray[Any] = at(u8, ">i4")
    return numbers[positions], numbers[positions + 4]


def heads_of(u8: Bytes, starts: Index) -> NDArray[np.void]:
    """The heads at those starts, in one gather. For IPv6 records, the shifted fields are corrected.

    An IPv6 host does not fit in HEAD: read it at `born_host_at` or `store_host_at`.
    """
    heads: NDArray[np.void] = at(u8, f"V{HEAD_SIZE}")[starts].view(HEAD)
    families = heads["sys_flag"] & (BORN_IPV6 | STORE_IPV6)
    if families.any():
        for family, dtype in _IPV6_HEADS:
            rows = np.flatnonzero(families == family)
            if len(rows):
                longer = at(u8, f"V{dtype.itemsize}")[starts[rows]].view(dtype)
                for name in _AFTER_BORN_HOST:
                    heads[name][rows] = longer[name]
                if not family & STORE_IPV6:
                    heads["store_host"][rows] = longer["store_host"]
    return heads


def head_size(sys_flag: int) -> int:
    """The size of a head whose hosts are of these families: the body follows it."""
    return HEAD_SIZE + 12 * (bool(sys_flag & BORN_IPV6) + bool(sys_flag & STORE_IPV6))


def born_host_at(starts: Index) -> Index:
    """The position of each record's born host."""
    return starts + 48


def store_host_at(starts: Index, heads: NDArray[np.void]) -> Index:
    """The position of each record's store host: it depends on the length of the born host."""
    places: Index = starts + 64 + 12 * (heads["sys_flag"] & BORN_IPV6 != 0)
    return places


def measure(u8: Bytes, filled: int, starts: Index, offset: int | Index) -> tuple[Records, Mask]:
    """The parts of the records at `starts`, and which records are structurally valid and completely in the buffer.

    `u8` holds `filled` bytes plus PADDING; every start is below `filled`. `offset` is the log offset of byte 0, or one
    value per record if the buffer holds bytes from several places.
    Valid: magic and bounds are right, the lengths add up to the size, and physical_offset is the record's real offset.
    Use valid records only.
    """
    heads = heads_of(u8, starts)
    sizes = heads["size"].astype(np.intp)
    body_size = heads["body_size"].astype(np.intp)
    magic = heads["magic"]
    wide = magic == MAGIC_V2
    valid = magic == MAGIC_V1
    some_wide = bool(wide.any())
    if some_wide:
        valid |= wide
    families = heads["sys_flag"] & (BORN_IPV6 | STORE_IPV6)
    body_at = starts + HEAD_SIZE
    if families.any():
        body_at += 12 * ((families & BORN_IPV6 != 0).astype(np.intp) + (families & STORE_IPV6 != 0))
    valid &= (body_size >= 0) & (starts + sizes <= filled) & (heads["physical_offset"] == starts + offset)
    topic_size_at = np.where(valid, np.minimum(body_at + body_size, filled), 0)
    topic_size = u8[topic_size_at].view(np.int8).astype(np.intp)
    topic_at = topic_size_at + 1
    if some_wide:
        two_bytes = at(u8, ">i2")[topic_size_at]
        topic_size = np.where(wide, two_bytes, topic_size).astype(np.intp)
        topic_at += wide
    valid &= topic_size > 0
    properties_size_at = np.where(valid, np.minimum(topic_at + topic_size, filled), 0)
    properties_size = at(u8, ">i2")[properties_size_at].astype(np.intp)
    properties_at = properties_size_at + 2
    valid &= (properties_size >= 0) & (properties_at + properties_size == starts + sizes)
    records = Records(starts, heads, sizes, body_at, body_size, topic_at, topic_size, properties_at, properties_size)
    return records, valid


def entries_valid(u8: Bytes, records: Records, offset: int | Index) -> Mask:
    """Which records follow a DLedger entry header that matches them; each start must be at least ENTRY_HEAD."""
    entries = at(u8, f"V{ENTRY.itemsize}")[records.starts - ENTRY_HEAD].view(ENTRY)
    valid: Mask = (entries["magic"] == MAGIC_ENTRY) & (entries["size"] == records.sizes + ENTRY_HEAD)
    valid &= (entries["body_size"] == records.sizes) & (entries["position"] == records.starts - ENTRY_HEAD + offset)
    return valid


def magics(u8: Bytes, filled: int, scratch: Mask | None = None) -> Index:
    """Every position that may start a record, ascending: 4 bytes before a V1 or V2 magic.

    Compares two bytes at a time and collects matches from eight pairs at a time. A magic at an even position matches with
    its first two bytes, at an odd position with its middle two. `scratch`: reusable memory, two rows of half a buffer;
    allocating it costs more than the search.
    """
    pairs = u8[: -(-filled // 16) * 16].view("<u2")
    if scratch is None:
        scratch = np.empty((2, len(pairs)), np.bool_)
    hits, middles = scratch[:, : len(pairs)]
    np.equal(pairs, _FIRST_PAIR, out=hits)
    np.equal(pairs, _MIDDLE_PAIR, out=middles)
    np.logical_or(hits, middles, out=hits)
    blocks = np.flatnonzero(hits.view(np.uint64) != 0)
    matches = np.flatnonzero(hits.reshape(-1, 8)[blocks])
    places = 2 * (8 * blocks[matches >> 3] + (matches & 7))
    places -= pairs[places >> 1] == _MIDDLE_PAIR
    places = places[(places >= 4) & (places <= filled - 4)]
    words = unsigned_at(u8, 4)[places]
    starts: Index = places[(words == _V1_WORD) | (words == _V2_WORD)] - 4
    return starts


_HEX = np.frombuffer("".join(f"{byte:02X}" for byte in range(256)).encode(), np.uint16)
_IPV4_MAPPED = bytes(10) + b"\xff\xff"
_MOST_KEPT = 4096
"""So many hosts keep their texts: most stores have fewer, and each chunk has the same ones again."""


@lru_cache(_MOST_KEPT)
def host_text(host: bytes) -> str:
    """`address:port` from 4 or 16 address bytes and a 4-byte port; IPv6 is printed without `::`, as in Java."""
    address, port = host[:-4], int.from_bytes(host[-4:], "big", signed=True)
    if len(address) == 16 and address.startswith(_IPV4_MAPPED):  # Java converts these to Inet4Address
        address = address[12:]
    if len(address) == 4:
        return f"{'.'.join(map(str, address))}:{port}"
    groups = (f"{int.from_bytes(address[i : i + 2], 'big'):x}" for i in range(0, 16, 2))
    return f"{':'.join(groups)}:{port}"


def offset_message_ids(hosts: NDArray[np.void], physical_offsets: NDArray[np.signedinteger]) -> Bytes:
    """Upper-case hex of store host and physical offset: one row of 32 (IPv4) or 56 (IPv6) bytes per record."""
    width = hosts.dtype.itemsize
    raw = np.empty((len(hosts), width + 8), np.uint8)
    raw[:, :width] = np.ascontiguousarray(hosts).view(np.uint8).reshape(len(hosts), width)
    raw[:, width:] = np.ascontiguousarray(physical_offsets, ">i8").view(np.uint8).reshape(len(hosts), 8)
    return _HEX[raw].view(np.uint8)
