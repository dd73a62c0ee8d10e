"""Decompression of stored bodies.

    sysFlag & 0x700     codec     container
    0x000, 0x300        zlib      zlib stream; the gRPC proxy of 5.x also stores gzip under type 0
    0x100               LZ4       LZ4 frame, not a raw block
    0x200               zstd      one frame, usually without a content size

The type bits are valid only if COMPRESSED is set: when a client of 4.9.4+ decompresses a body, the type bits remain.
"""

from __future__ import annotations

import zlib

import pyarrow as pa

_CODECS = {0: "zlib", 1: "lz4", 2: "zstd", 3: "zlib"}
_PIECE = 64 << 10


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
