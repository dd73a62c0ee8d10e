"""Java's hashes of many texts at once, as queue entries and the index have them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import Numbers

_FACTOR = 31
_AT_ONCE = 1 << 16
_LEAST = -(2**31)
_WORD = 0xFFFFFFFF


def java_hashes(texts: pa.StringArray) -> Numbers:
    """`String.hashCode()` of each text, with its sign. No text may be null."""
    if len(texts) > _AT_ONCE:
        return np.concatenate([java_hashes(texts.slice(begin, _AT_ONCE)) for begin in range(0, len(texts), _AT_ONCE)])
    contents = texts.cast(pa.binary())
    sizes = pc.binary_length(contents).to_numpy(zero_copy_only=False).astype(np.int64)
    content = np.frombuffer(b"".join(contents.to_pylist()), np.uint8)
    stops = np.cumsum(sizes)
    after = np.repeat(stops, sizes) - np.arange(1, len(content) + 1)  # bytes of its text that follow each byte
    terms = content * powers(int(sizes.max(initial=0)))[after]
    sums = np.concatenate([np.zeros(1, np.uint32), np.cumsum(terms, dtype=np.uint32)])
    found = _signed(sums[stops] - sums[stops - sizes])
    for row in np.flatnonzero(~pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)).tolist():
        found[row] = java_hash(texts[row].as_py())
    return found


def powers(most: int) -> NDArray[np.uint32]:
    """The powers of 31 up to that one, as Java counts."""
    factors = np.full(most + 1, _FACTOR, np.uint32)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint32)


def key_hashes(topic: str, hashes: Numbers, sizes: Numbers) -> Numbers:
    """What the index has for keys of a topic. `hashes`, `sizes`: of the keys alone, in UTF-16 code units."""
    begin = java_hash(f"{topic}#") & _WORD
    codes = _signed(np.uint32(begin) * powers(int(sizes.max(initial=0)))[sizes] + (hashes & _WORD).astype(np.uint32))
    return np.where(codes == _LEAST, 0, np.abs(codes))


def _signed(codes: NDArray[np.uint32]) -> Numbers:
    return codes.view(np.int32).astype(np.int64)
