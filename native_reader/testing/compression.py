"""Compression of bodies as in RocketMQ's producers."""

from __future__ import annotations

import gzip
import zlib
from typing import Final

import pyarrow as pa

COMPRESSED: Final = 0x1
TYPE_LZ4: Final = 1 << 8
TYPE_ZSTD: Final = 2 << 8
TYPE_ZLIB: Final = 3 << 8
LEVEL: Final = 5  # DefaultMQProducer's default; for zstd Arrow's default, because its streams accept no level

_LZ4_HEADER: Final = bytes.fromhex("04224D18607073")  # lz4-java: independent blocks of 4 MiB, no checksums, no content size
_LZ4_BLOCK: Final = 4 << 20


def zlib_body(body: bytes) -> bytes:
    """zlib as written by java.util.zip.Deflater(5); the only codec before 4.9.4."""
    return zlib.compress(body, LEVEL)


def gzip_body(body: bytes) -> bytes:
    """The gRPC proxy stores a client's GZIP bytes unchanged, under the zlib type."""
    return gzip.compress(body, LEVEL, mtime=0)


def lz4_body(body: bytes) -> bytes:
    """An LZ4 frame as written by lz4-java's LZ4FrameOutputStream."""
    codec = pa.Codec("lz4_raw")
    frame = bytearray(_LZ4_HEADER)
    for at in range(0, len(body), _LZ4_BLOCK):
        block = body[at : at + _LZ4_BLOCK]
        packed = codec.compress(block, asbytes=True)
        if len(packed) < len(block):
            frame += len(packed).to_bytes(4, "little") + packed
        else:  # an incompressible block is stored, marked by the top bit of its size
            frame += (len(block) | 1 << 31).to_bytes(4, "little") + block
    return bytes(frame + bytes(4))


def zstd_body(body: bytes) -> bytes:
    """A streamed zstd frame as written by zstd-jni, so without a content size."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(body)
    return bytes(sink.getvalue().to_pybytes())


CODECS: Final = (  # (name, sys_flag bits, function): every combination that a broker may store
    ("zlib", COMPRESSED, zlib_body),
    ("zlib", COMPRESSED | TYPE_ZLIB, zlib_body),
    ("gzip", COMPRESSED, gzip_body),
    ("lz4", COMPRESSED | TYPE_LZ4, lz4_body),
    ("zstd", COMPRESSED | TYPE_ZSTD, zstd_body),
)
