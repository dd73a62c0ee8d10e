"""Checks the checksum of each stored body, and the record checksum that brokers since 5.2.0 append."""

from __future__ import annotations

import numpy as np

from native_reader import kernel
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.properties import CRC_NAME, CRC_SIZE, crc_trailer
from native_reader.layout.record import Index, Mask, Records, at

try:  # the extra `fast`: three to five times as fast as zlib
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

_POSITIVE = 0x7FFFFFFF
"""RocketMQ clears the highest bit of a CRC-32."""
_NAME = int.from_bytes(CRC_NAME, "little")


def wrong(source: PaddedBuffer, records: Records) -> Mask:
    """Which records have a wrong checksum."""
    compiled = kernel.wrong_checksums(source.u8, records)
    return _wrong(source, records) if compiled is None else compiled


def _wrong(source: PaddedBuffer, records: Records) -> Mask:
    """Calls `crc32` once per record: it has no batch form."""
    content = source.u8.data
    begins, stops = records.body_at.tolist(), (records.body_at + records.body_size).tolist()
    actual = np.array([crc32(content[begin:stop]) for begin, stop in zip(begins, stops, strict=True)], np.int64) & _POSITIVE
    failed: Mask = (actual != records.heads["body_crc"]) & (records.body_size > 0)
    ends = records.starts + records.sizes
    for row in _may_have_own(source, records, ends):
        start, end = int(records.starts[row]), int(ends[row])
        stated = crc_trailer(bytes(content[max(int(records.properties_at[row]), end - CRC_SIZE) : end]))
        failed[row] |= stated is not None and crc32(content[start : end - CRC_SIZE]) & _POSITIVE != stated
    return failed


def anomaly_of(source: PaddedBuffer, records: Records, row: int) -> str:
    """The anomaly of a record with a wrong checksum. It has no number: the checksum of a short body reveals the body."""
    content = source.u8.data
    body_at, body_size = int(records.body_at[row]), int(records.body_size[row])
    actual = crc32(content[body_at : body_at + body_size]) & _POSITIVE
    return "body checksum" if body_size and actual != records.heads["body_crc"][row] else "checksum"


def _may_have_own(source: PaddedBuffer, records: Records, ends: Index) -> list[int]:
    """Rows whose last 20 bytes start like a record checksum."""
    long_enough = records.properties_size >= CRC_SIZE
    names = at(source.u8, "<u8")[np.where(long_enough, ends - CRC_SIZE, 0)]
    return [int(row) for row in np.flatnonzero(long_enough & (names == np.uint64(_NAME)))]
