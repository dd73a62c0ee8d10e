"""Packs segments as programs do."""

from __future__ import annotations

import lzma

import pyarrow as pa

READ = ("gz", "xz", "bz2", "zst", "lz4")
"""The endings of packed segments that are read as they are."""


def pack(content: bytes, ending: str) -> bytes:
    """The content as that program packs it; for other endings, which are not read, as gzip does."""
    if ending == "xz":
        return lzma.compress(content)
    codec = {"bz2": "bz2", "zst": "zstd", "lz4": "lz4"}.get(ending, "gzip")
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()
