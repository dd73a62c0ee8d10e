"""The parts of Java that influence a store's bytes: String.hashCode and HashMap's order."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

_POWERS: Final = np.array([pow(31, 63 - i, 2**32) for i in range(64)], dtype=np.float64)


def hash_code(text: str) -> int:
    """String.hashCode: over UTF-16 code units, wrapped to a signed 32-bit integer."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def map_order(names: Iterable[str], capacity: int = 16) -> list[str]:
    """The order in which a HashMap with this initial capacity iterates over `names`, inserted in the given order.

    5.x brokers parse properties into `new HashMap<>(128)`; older brokers and all clients use the default of 16.
    """
    distinct = list(dict.fromkeys(names))
    while len(distinct) > capacity * 3 // 4:
        capacity *= 2

    return sorted(distinct, key=lambda name: _spread(name) & (capacity - 1))


@functools.lru_cache(maxsize=4096)
def _spread(name: str) -> int:
    code = hash_code(name) & 0xFFFFFFFF
    return code ^ code >> 16


def index_hash(topic: str, key: str) -> int:
    """IndexFile's hash of a key: never negative, 0 for Integer.MIN_VALUE."""
    code = abs(hash_code(f"{topic}#{key}"))
    return code if code < 2**31 else 0


def hash_texts(texts: NDArray[np.uint8], seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """hashCode of `prefix + text` for the ASCII rows of a matrix, given the prefixes' hash codes; below 2**32."""
    width = texts.shape[1]
    # All sums stay below 2**53, so the float dot product is exact. It is much faster than an integer one.
    own = (texts.astype(np.float64) @ _POWERS[64 - width :]).astype(np.int64)
    return (own + (seeds & 0xFFFFFFFF) * pow(31, width, 2**32) % 2**32) & 0xFFFFFFFF


def non_negative(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """IndexFile's Math.abs, for hash codes given as unsigned 32-bit values."""
    signed = np.where(codes >= 2**31, codes - 2**32, codes)
    return np.where(signed == -(2**31), 0, np.abs(signed))
