"""Decompression of stored bodies.

    sysFlag & 0x700     codec     container
    0x000, 0x300        zlib      zlib stream; the gRPC proxy of 5.x also stores gzip under type 0
    0x100               LZ4       LZ4 frame, not a raw block
    0x200               zstd      one frame, usually without a content size

The type bits are valid only if COMPRESSED is set: when a client of 4.9.4+ decompresses a body, the type bits remain.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa

from native_reader.layout.record import COMPRESSED, Bytes, Index, Mask, Records

_CODECS = {0: "zlib", 1: "lz4", 2: "zstd", 3: "zlib"}
_PIECE = 64 << 10
_TYPE_BITS, _MAGIC, _LZ4, _ZSTD = 0x700, 4, 0x184D2204, 0xFD2FB528


def codec_of(sys_flag: int) -> str | None:
    """The codec named by the type bits of a compressed record; None for an unknown type."""
    return _CODECS.get((sys_flag >> 8) & 7)


def decompress(stored: bytes | memoryview, sys_flag: int, at_most: int) -> bytes | None:
    """The body as the producer sent it; None if it cannot be decoded or is larger than `at_most`."""
    if not len(stored):  # Java does not decompress an empty body, whatever its flags
        return b""
    codec = codec_of(sys_flag)
    if codec == "zlib":
        return _inflate(stored, at_most)
    return None if codec is None else _stream(stored, codec, at_most)


def not_packed(u8: Bytes, records: Records) -> Index:
    """The records that say that their body is compressed, while it does not begin as a stream of their codec.

    A client cannot decompress such a body, and loses the messages after it in the same answer of a broker.
    """
    flags = records.heads["sys_flag"]
    rows = np.flatnonzero((flags & COMPRESSED != 0) & (records.body_size > 0)) if records.flags & COMPRESSED else np.empty(0, np.intp)
    return rows[~_begin_packed(u8, records, rows)]


def packed_as_plain(u8: Bytes, records: Records) -> Index:
    """The records that say that their body is plain, while it begins as a stream of the codec in their type bits."""
    if not records.flags & _TYPE_BITS:
        return np.empty(0, np.intp)
    flags = records.heads["sys_flag"]
    rows = np.flatnonzero((flags & COMPRESSED == 0) & (flags & _TYPE_BITS != 0) & (records.body_size > _MAGIC))
    return rows[_begin_packed(u8, records, rows)]


def _begin_packed(u8: Bytes, records: Records, rows: Index) -> Mask:
    """Whether each body begins as its codec does. Of zlib: no preset dictionary, which no client sets, and a valid first block."""
    at, kind = records.body_at[rows], records.heads["sys_flag"][rows] >> 8 & 7
    first, second, third, fourth = (u8[np.minimum(at + place, len(u8) - 1)].astype(np.int64) for place in range(_MAGIC))
    magic = first | second << 8 | third << 16 | fourth << 24
    zlib = (first & 0x8F == 8) & (second & 0x20 == 0) & ((first << 8 | second) % 31 == 0) & (third & 6 != 6)
    zlib |= (first == 0x1F) & (second == 0x8B) & (third == 8)
    begins = np.select([(kind == 0) | (kind == 3), kind == 1, kind == 2], [zlib, magic == _LZ4, magic == _ZSTD], False)
    packed: Mask = begins & (records.body_size[rows] > _MAGIC)
    return packed


def _inflate(stored: bytes | memoryview, at_most: int) -> bytes | None:
    decoder = zlib.decompressobj(wbits=47)
    try:
        body = decoder.decompress(stored, at_most + 1)
    except zlib.error:
        return None
    return body if decoder.eof and len(body) <= at_most else None


def _stream(stored: bytes | memoryview, codec: str, at_most: int) -> bytes | None:
    """Decompress piece by piece, because neither frame format has to state the decompressed size."""
    pieces, size = [], 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(stored)), codec) as stream:
            while piece := stream.read(min(_PIECE, at_most + 1 - size)):
                pieces.append(piece)
                size += len(piece)
                if size > at_most:
                    return None
    except (pa.ArrowInvalid, OSError):
        return None
    return b"".join(pieces)
