"""Bodies: pseudo-JSON and noise, as ranges of a pool, so that a gigabyte costs no more than a copy."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from native_reader.testing import compression
from native_reader.testing.tokens import Pool

Sizes = Literal["lognormal", "fixed"]
_TEXT = 4 << 20
_NOISE = 1 << 20
_COMPRESSED = 1024  # the number of different compressed bodies; records share them
_WORDS = (
    "created", "paid", "shipped", "queued", "pending", "eu-west-1", "us-east-2", "cn-hangzhou", "warehouse", "customer", "standard",
    "express", "basket", "voucher", "subscription", "mobile", "desktop", "Zürich", "深圳", "São Paulo",
)  # fmt: skip


class Bodies:
    """Draws bodies as ranges of the pool."""

    def __init__(
        self, pool: Pool, rng: np.random.Generator, *, mean: int, sizes: Sizes, compressed: float, codecs: Sequence[str], largest: int
    ) -> None:
        self._mean, self._sizes, self._largest = mean, sizes, min(largest, max(64 * 1024, 16 * mean))
        if sizes == "fixed" and mean > self._largest:
            raise ValueError(f"bodies of {mean} bytes do not fit in a segment")
        names = dict.fromkeys(name for name, _, _ in compression.CODECS)
        if unknown := [codec for codec in codecs if codec not in names]:
            raise ValueError(f"unknown codec {unknown[0]!r}; the codecs are {', '.join(names)}")
        documents = [_document(rng) for _ in range(2000)]
        lengths = np.array([len(document) for document in documents])
        chosen = rng.integers(0, len(documents), _TEXT // int(lengths.mean()))
        text = b"".join([documents[i] for i in chosen])
        self._starts = np.cumsum(lengths[chosen]) - lengths[chosen]
        noise = rng.integers(0, 256, _NOISE, dtype=np.uint8).tobytes()
        # A body can start anywhere in the text or noise, so add as many bytes as the longest body needs.
        self._text = pool.add(text + text[: self._largest].ljust(self._largest, b" "))
        self._noise = pool.add(noise + (noise * (self._largest // _NOISE + 1))[: self._largest])
        self._share = compressed
        if compressed:
            known = [codec for codec in compression.CODECS if codec[0] in codecs]
            bodies, flags, twice = [], [], text + text
            for i, length in enumerate(self._lengths(_COMPRESSED, rng)):
                _, flag, compress = known[i % len(known)]
                start = int(rng.choice(self._starts))
                bodies.append(compress(twice[start : start + int(length)]))
                flags.append(flag)
            self._packed = pool.add_all(bodies)
            self._packed_flags = np.array(flags, dtype=np.int32)
            self._packed_crcs = np.array([zlib.crc32(body) & 0x7FFFFFFF for body in bodies], dtype=np.int32)

    def _lengths(self, count: int, rng: np.random.Generator) -> NDArray[np.int32]:
        if self._sizes == "fixed":
            return np.full(count, self._mean, dtype=np.int32)
        sigma = 0.8
        drawn = rng.lognormal(np.log(max(1, self._mean)) - sigma * sigma / 2, sigma, count)
        return np.clip(np.round(drawn), 1, self._largest).astype(np.int32)

    def draw(
        self, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Offsets in the pool, lengths, sys_flag bits, and the index + 1 of a known CRC (0: compute it)."""
        lengths = self._lengths(count, rng)
        offsets = self._text + self._starts[rng.integers(0, len(self._starts), count)]
        noisy = rng.random(count) < 0.1
        offsets[noisy] = self._noise + rng.integers(0, _NOISE, int(noisy.sum()))
        flags = np.zeros(count, dtype=np.int32)
        known = np.zeros(count, dtype=np.int32)
        if self._share:
            rows = np.flatnonzero(rng.random(count) < self._share)
            which = rng.integers(0, _COMPRESSED, len(rows))
            offsets[rows], lengths[rows] = self._packed[0][which], self._packed[1][which]
            flags[rows], known[rows] = self._packed_flags[which], which + 1
        return offsets.astype(np.int32), lengths, flags, known

    def crcs(
        self, static: NDArray[np.uint8], offsets: NDArray[np.int32], lengths: NDArray[np.int32], known: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The CRCs of the bodies. This is the writer's only loop over all records."""
        view, crc = memoryview(static.data), zlib.crc32
        rows = np.flatnonzero(known == 0)
        starts = offsets[rows]
        pairs = zip(starts.tolist(), (starts + lengths[rows]).tolist(), strict=True)
        crcs = np.empty(len(known), dtype=np.int32)
        crcs[rows] = np.array([crc(view[start:end]) for start, end in pairs], dtype=np.uint32) & 0x7FFFFFFF
        if self._share:
            packed = np.flatnonzero(known)
            crcs[packed] = self._packed_crcs[known[packed] - 1]
        return crcs


def _document(rng: np.random.Generator) -> bytes:
    fields = [f'"id":{int(rng.integers(1, 10**9))}']
    for _ in range(int(rng.integers(3, 8))):
        name, value = (str(_WORDS[i]) for i in rng.integers(0, len(_WORDS), 2))
        fields.append(f'"{name}":"{value}"' if rng.random() < 0.7 else f'"{name}":{int(rng.integers(0, 100000))}')
    return ("{" + ",".join(fields) + "}").encode()
