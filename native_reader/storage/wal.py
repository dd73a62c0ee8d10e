"""The logs of a RocksDB database, its write-ahead logs and its manifest: where one is damaged.

A log has blocks of 32 KiB with records, none of which crosses a block. The head of a record: a masked crc32c of what follows the length,
the length of its content (u16), and its type (u8); little-endian. A log that RocksDB uses again also has its number in each head.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.storage.protocol import StoredFile, storage_of

_BLOCK = 32 << 10
_AT_ONCE = 64 * _BLOCK
_HEAD, _NUMBERED_HEAD = 7, 11
_PLAIN_TYPES, _NUMBERED_TYPES = frozenset((1, 2, 3, 4, 9, 10, 130)), frozenset((5, 6, 7, 8, 11, 131))
_TYPES = _PLAIN_TYPES | _NUMBERED_TYPES
_SECTOR = 512
"""A disk writes so much at once, or nothing of it."""

_MOST_KNOWN = 256
_KNOWN: dict[tuple[str, int, int, int], int | None] = {}
"""The first damage in each log that was looked at: a database is opened several times in a read."""

Numbers = NDArray[np.uint32]


class _Record(NamedTuple):
    """A record of a log. `start`: of what the checksum covers; `stop`: after the record; `number`: of the log, if it has it."""

    at: int
    start: int
    stop: int
    checksum: int
    number: bytes


def damage_in(uri: str) -> int | None:
    """The offset of the first damaged record in a log; None if it is whole, or ends where a broker was killed."""
    with storage_of(uri).open(uri) as file:
        key = uri, file.identity(), file.size(), file.written()
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = _first_damage(file)
        return _KNOWN[key]


def _first_damage(file: StoredFile) -> int | None:
    size, number = file.size(), b""
    for offset in range(0, size, _AT_ONCE):
        (window,) = file.read_ranges([(offset, min(_AT_ONCE, size - offset))])
        records, at = _records_in(window)
        number = records[0].number if records and not offset else number
        wrong = _first_wrong(window, records, number)
        if wrong is not None:
            if number and wrong.number != number and _is_whole(window, wrong.at, wrong.number):
                return None  # of the log that was in this file before
            at = wrong.at
        if at is not None:
            return offset + at if _is_damage(file, offset + at, number) else None
    return None


def _records_in(window: bytes) -> tuple[list[_Record], int | None]:
    """The records of some blocks, and where bytes are that are none; None if all are."""
    records: list[_Record] = []
    at = 0
    while at < len(window):
        if _BLOCK - at % _BLOCK < _HEAD:
            at += _BLOCK - at % _BLOCK
            continue
        record = _record_at(window, at)
        if record is None:
            return records, at
        records.append(record)
        at = record.stop
    return records, None


def _record_at(window: bytes, at: int) -> _Record | None:
    """The record there, if it fits into its block. Its checksum is not looked at."""
    kind = window[at + 6] if at + _HEAD <= len(window) else 0
    size = _NUMBERED_HEAD if kind in _NUMBERED_TYPES else _HEAD
    stop = at + size + int.from_bytes(window[at + 4 : at + 6], "little")
    if kind not in _TYPES or stop > min(len(window), at - at % _BLOCK + _BLOCK):
        return None
    return _Record(at, at + 6, stop, int.from_bytes(window[at : at + 4], "little"), window[at + _HEAD : at + size])


def _first_wrong(window: bytes, records: Sequence[_Record], number: bytes) -> _Record | None:
    """The first record with a wrong checksum or another number."""
    sums = _checksums(window, records)
    return next((each for each, sum_ in zip(records, sums, strict=True) if each.checksum != sum_ or each.number != number), None)


def _is_damage(file: StoredFile, offset: int, number: bytes) -> bool:
    """Whether what begins there is more than a torn end: a broker that was killed leaves half a record, or sectors of zeros."""
    size, written = file.size(), _written_end(file)
    begin = offset - offset % _BLOCK
    block, at = _block_at(file, begin), offset - begin
    if written <= offset:
        return False
    if any(_is_whole(block, each, number) for each in range(at + 1, len(block) - _HEAD)) or _goes_on(file, begin + _BLOCK, number):
        return True
    if -(-written // _SECTOR) * _SECTOR < size:
        return False
    if at + _HEAD > len(block):
        return False
    is_half = at + _HEAD + int.from_bytes(block[at + 4 : at + 6], "little") > len(block) and begin + len(block) == size
    return not is_half or _has_wrong_length(block, at)


def _block_at(file: StoredFile, begin: int) -> bytes:
    (block,) = file.read_ranges([(begin, min(_BLOCK, file.size() - begin))])
    return block


def _written_end(file: StoredFile) -> int:
    """The offset after the last byte that is not zero."""
    size = file.size()
    for begin in reversed(range(0, size, _AT_ONCE)):
        (window,) = file.read_ranges([(begin, min(_AT_ONCE, size - begin))])
        if kept := len(window.rstrip(b"\0")):
            return begin + kept
    return 0


def _goes_on(file: StoredFile, begin: int, number: bytes) -> bool:
    """Whether a block from there on begins with a whole record."""
    return any(_is_whole(_block_at(file, each), 0, number) for each in range(begin, file.size(), _BLOCK))


def _is_whole(block: bytes, at: int, number: bytes) -> bool:
    """Whether a record begins there and its checksum is right."""
    record = _record_at(block, at)
    return record is not None and record.number == number and _checksums(block, [record]) == [record.checksum]


def _has_wrong_length(block: bytes, at: int) -> bool:
    """Whether the record there is whole up to the end of the log, but for its length, which its checksum does not cover."""
    checksum = int.from_bytes(block[at : at + 4], "little")
    return _checksums(block, [_Record(at, at + 6, len(block), checksum, b"")]) == [checksum]


# The checksum: a masked crc32c

_POLYNOMIAL, _ONES, _MASK = 0x82F63B78, 0xFFFFFFFF, 0xA282EAD8
_PIECE = 64
"""Bytes of a record that are one lane: the checksums of all lanes are found at once, and then joined for each record."""


@cache
def _by_byte() -> Numbers:
    """What a byte adds to a checksum."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


@cache
def _after_piece() -> list[list[int]]:
    """What a checksum becomes after a piece of zeros, by each of its bytes."""
    table = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]
    for _ in range(_PIECE):
        table = _by_byte()[table & 0xFF] ^ (table >> 8)
    return list(table.tolist())


def _checksums(window: bytes, records: Sequence[_Record]) -> list[int]:
    """The checksum of each record, as a log has it."""
    counts = [-(-(each.stop - each.start) // _PIECE) for each in records]
    ends = np.cumsum(counts, dtype=np.int64).tolist()
    crcs = _of_pieces(window, records, ends)
    first, second, third, fourth = _after_piece()
    sums = []
    for each, end, count in zip(records, ends, counts, strict=True):
        crc = 0
        for piece in crcs[end - count : end]:
            crc = first[crc & 255] ^ second[crc >> 8 & 255] ^ third[crc >> 16 & 255] ^ fourth[crc >> 24] ^ piece
        crc ^= _ONES ^ _ONES >> 8 * min(4, each.stop - each.start)
        sums.append(((crc >> 15 | crc << 17) + _MASK) & _ONES)
    return sums


def _of_pieces(window: bytes, records: Sequence[_Record], ends: Sequence[int]) -> list[int]:
    """The checksums of the pieces of all records. Zeros before the first byte of a record change nothing, so they fill its first piece."""
    lanes = np.zeros((ends[-1] if ends else 0, _PIECE), np.uint8)
    flat, content = lanes.reshape(-1), np.frombuffer(window, np.uint8)
    for each, end in zip(records, ends, strict=True):
        begin = end * _PIECE - (each.stop - each.start)
        flat[begin : end * _PIECE] = content[each.start : each.stop]
        flat[begin : min(begin + 4, end * _PIECE)] ^= 0xFF  # the checksum begins with ones
    crcs, table = np.zeros(len(lanes), np.uint32), _by_byte()
    for column in range(_PIECE):
        crcs = table[(crcs ^ lanes[:, column]) & 0xFF] ^ (crcs >> 8)
    return list(crcs.tolist())
