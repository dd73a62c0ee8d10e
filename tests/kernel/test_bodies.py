"""Bodies decompressed by the kernel are those of native_reader.layout.bodies, byte by byte, whatever the bytes."""

from __future__ import annotations

import functools
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from random import Random

import pyarrow as pa
import pytest
from support.effort import at_effort

from native_reader.kernel import chosen
from native_reader.layout.bodies import decompress
from native_reader.testing.compression import CODECS, TYPE_LZ4, TYPE_ZSTD, gzip_body, lz4_body, zlib_body, zstd_body

pytestmark = pytest.mark.kernel

KERNEL, _ = chosen("")
AT_MOST = 64 << 20
LZ4, ZSTD = 1 | TYPE_LZ4, 1 | TYPE_ZSTD
_WORDS = b'{"order": ,"user":"paid","state":"created","items":[1,2,3],"amount":12.50,"city":"Berlin","note":null}'.split(b",")


def xxh32(data: bytes) -> int:
    """The checksum in LZ4 frames, with seed 0."""
    p1, p2, p3, p4, p5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1

    def turn(number: int, by: int) -> int:
        return (number << by | (number & 0xFFFFFFFF) >> (32 - by)) & 0xFFFFFFFF

    at, value = 0, p5
    if len(data) >= 16:
        lanes = [p1 + p2, p2, 0, -p1]
        while at + 16 <= len(data):
            words = struct.unpack_from("<4I", data, at)
            lanes = [turn((lane + word * p2) & 0xFFFFFFFF, 13) * p1 & 0xFFFFFFFF for lane, word in zip(lanes, words, strict=True)]
            at += 16
        value = sum(turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
    value += len(data)
    while at + 4 <= len(data):
        value = turn((value + struct.unpack_from("<I", data, at)[0] * p3) & 0xFFFFFFFF, 17) * p4
        at += 4
    for byte in data[at:]:
        value = turn((value + byte * p5) & 0xFFFFFFFF, 11) * p1
    value &= 0xFFFFFFFF
    value = (value ^ value >> 15) * p2 & 0xFFFFFFFF
    value = (value ^ value >> 13) * p3 & 0xFFFFFFFF
    return value ^ value >> 16


def lz4_frame(body: bytes, chance: Random) -> bytes:
    """A frame with any of the format's options, and blocks of any size; linked blocks that make no use of it."""
    code = chance.choice([4, 4, 5, 7])
    sums, sized, summed = (chance.random() < 0.5 for _ in range(3))
    flags = 0x40 | chance.choice([0, 0x20]) | sums << 4 | sized << 3 | summed << 2
    head = bytes([flags, code << 4]) + (struct.pack("<Q", len(body)) if sized else b"")
    frame = bytearray(b"\x04\x22\x4d\x18" + head + bytes([xxh32(head) >> 8 & 0xFF]))
    step = min(1 << 8 + 2 * code, chance.choice([7, 100, 1000, 1 << 22]))
    for at in range(0, len(body), step):
        block, mark = body[at : at + step], 1 << 31
        if chance.random() < 0.8:
            block, mark = pa.Codec("lz4_raw").compress(block, asbytes=True), 0
        frame += struct.pack("<I", len(block) | mark) + block + (struct.pack("<I", xxh32(block)) if sums else b"")
    return bytes(frame + bytes(4) + (struct.pack("<I", xxh32(body)) if summed else b""))


def streamed(body: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(body)
    return sink.getvalue().to_pybytes()


def at_once(body: bytes, codec: str) -> bytes:
    return pa.Codec(codec).compress(body, asbytes=True)


WRITERS: list[tuple[int, Callable[[bytes, Random], bytes]]] = [
    (1, lambda body, chance: zlib.compress(body, chance.randrange(10))),
    (0x301, lambda body, _: zlib_body(body)),
    (1, lambda body, _: gzip_body(body)),
    (LZ4, lambda body, _: lz4_body(body)),
    (LZ4, lambda body, _: streamed(body, "lz4")),
    (LZ4, lambda body, _: at_once(body, "lz4")),
    (LZ4, lz4_frame),
    (ZSTD, lambda body, _: zstd_body(body)),
    (ZSTD, lambda body, _: at_once(body, "zstd")),
]


def body_of(chance: Random) -> bytes:
    size = chance.choice([0, 1, 2, 5, 12, 13, 20, *[chance.randrange(700)] * 12, 5000, 20_000])
    if chance.random() < 0.01:
        size = chance.choice([65_535, 65_536, 65_537, 140_000, 300_000])
    kind = chance.randrange(4)
    if kind == 0:
        return chance.randbytes(size)
    if kind == 1:
        return (chance.randbytes(chance.randrange(1, 30)) * (size + 1))[:size]
    text = b",".join(chance.choice(_WORDS) + b"%d" % chance.randrange(1000) for _ in range(size // 12 + 1))
    return text[:size].ljust(size)


@functools.cache
def written(seed: int) -> tuple[int, bytes, bytes]:
    """A body: its flags, as it was, and as it is stored."""
    chance = Random(seed)
    flags, write = chance.choice(WRITERS)
    body = body_of(chance)
    return flags, body, write(body, chance)


def changed(stored: bytes, chance: Random, other: bytes) -> bytes:
    at = chance.randrange(len(stored) + 1)
    match chance.randrange(8):
        case 0:
            return stored[:at]
        case 1:
            return stored + chance.choice([b"x", bytes(8), chance.randbytes(20), stored, other])
        case 2:
            return stored[:at] + chance.randbytes(chance.randrange(1, 4)) + stored[at:]
        case 3:
            return stored[:at] + stored[at + chance.randrange(1, 4) :]
        case 4:
            return stored[:at] + other
        case 5:
            return chance.randbytes(chance.randrange(60))
        case _:
            flipped = bytearray(stored)
            near = chance.choice([len(stored), len(stored), 12])  # headers are short
            for _ in range(chance.choice([1, 1, 1, 2, 5]) if stored else 0):
                flipped[chance.randrange(min(near, len(stored)))] ^= 1 << chance.randrange(8)
            return bytes(flipped)


def differs(seed: int, outcomes: Counter[tuple[str, bool]]) -> str | None:
    chance = Random(seed)
    flags, body, stored = written(chance.randrange(3000))
    at_most = chance.choice([AT_MOST] * 5 + [max(0, len(body) + chance.randrange(-2, 3)), chance.randrange(1000)])
    intact = chance.random() < 0.1
    if not intact:
        stored = changed(stored, chance, written(chance.randrange(3000))[2])
        if chance.random() < 0.3:
            stored = changed(stored, chance, stored)
        if chance.random() < 0.05:
            flags = chance.randrange(8) << 8 | 1
    expected = decompress(stored, flags, at_most)
    outcome, found = KERNEL._decompress(stored, flags, at_most)
    outcomes[outcome, expected is None] += 1
    right = (outcome == "odd" and not (intact and expected)) or (outcome in ("done", "null") and found == expected)
    return None if right else f"seed {seed}: {outcome} with flags {flags:#x}, at most {at_most}, stored {stored.hex()}"


def test_damaged_bodies_are_decompressed_as_in_python() -> None:
    outcomes: Counter[tuple[str, bool]] = Counter()
    count = at_effort(4_000, 200_000)
    assert [text for seed in range(count) if (text := differs(seed, outcomes))] == []
    assert outcomes["done", False] > count / 10
    assert outcomes["null", True] > count / 10
    assert outcomes["odd", False] < count / 10, outcomes


def test_streams_of_any_bits_with_the_right_checksum() -> None:
    """A damaged stream of zlib can reach its end, and only a checksum shows the damage: here it fits."""
    reached, count = 0, at_effort(4_000, 200_000)
    for seed in range(count):
        chance = Random(seed)
        packer = zlib.compressobj(chance.randrange(10), zlib.DEFLATED, -15, 9, chance.choice([0, 0, 2, 3, 4]))
        raw = bytearray(packer.compress(body_of(chance)[:2000]) + packer.flush())
        for _ in range(chance.choice([0, 1, 1, 2])):
            raw[chance.randrange(min(len(raw), chance.choice([10, 100, 5000])))] ^= 1 << chance.randrange(8)
        inflater = zlib.decompressobj(-15)
        try:
            body = inflater.decompress(raw, 1 << 20)
        except zlib.error:
            body = b""
        header = chance.choice([b"\x78\x9c", b"\x78\x9c", b"\x08\x1d", b"\x78\xbb", b"\x88\x1c", chance.randbytes(2)])
        stored = header + bytes(raw[: len(raw) - len(inflater.unused_data)]) + struct.pack(">I", zlib.adler32(body))
        if chance.random() < 0.5:
            options = chance.choice([0, 0, 0x02, 0x04, 0x08, 0x10, 0x1F, chance.randrange(256)])
            header = bytes([0x1F, 0x8B, 8, options]) + chance.randbytes(6)
            header += (b"\x03\0abc" if options & 4 else b"") + (b"name\0" if options & 8 else b"") + (b"text\0" if options & 16 else b"")
            header += struct.pack("<H", zlib.crc32(header) & 0xFFFF) if options & 2 and chance.random() < 0.8 else b""
            end = struct.pack("<II", zlib.crc32(body), len(body) + chance.choice([0, 0, 0, 1]))
            stored = header + stored[2:-4] + end
        expected = decompress(stored, 1, 1 << 20)
        reached += expected is not None
        assert KERNEL._decompress(stored, 1, 1 << 20) == (("null", None) if expected is None else ("done", expected)), (seed, stored.hex())
    assert reached > count / 20


@pytest.mark.parametrize(("flags", "write"), WRITERS)
def test_a_body_that_is_whole_is_done_and_a_larger_one_null(flags: int, write: Callable[[bytes, Random], bytes]) -> None:
    for size in (*range(1, 80), 1000, 16 << 10, 70_000, 300_000):
        body = (b'{"order":12,"state":"paid"},' * (size // 20 + 1))[:size]
        stored = write(body, Random(size))
        for at_most in (size, size + 1, AT_MOST):
            assert KERNEL._decompress(stored, flags, at_most) == ("done", body)
        assert KERNEL._decompress(stored, flags, size - 1) == ("null", None)
        assert decompress(stored, flags, size - 1) is None


@pytest.mark.parametrize("write", [lambda body: streamed(body, "zstd"), lambda body: at_once(body, "zstd")])
def test_a_zstd_body_larger_than_its_window_is_left_to_python(write: Callable[[bytes], bytes]) -> None:
    stored = write(bytes(1 << 20))
    assert KERNEL._decompress(stored, ZSTD, AT_MOST) == ("odd", None)
    assert decompress(stored, ZSTD, AT_MOST) == bytes(1 << 20)


@pytest.mark.parametrize(("flags", "write"), [each[1:] for each in CODECS])
def test_a_bomb_is_null(flags: int, write: Callable[[bytes], bytes]) -> None:
    bomb = write(bytes(64 << 20))
    assert KERNEL._decompress(bomb, flags, 1 << 20) == ("null", None)


def test_an_empty_body_and_an_unknown_codec() -> None:
    for bits in range(8):
        assert KERNEL._decompress(b"", bits << 8 | 1, 0) == ("done", b"")
        if decompress(zlib_body(b"a"), bits << 8, 10) is None and bits not in (1, 2):
            assert KERNEL._decompress(b"anything", bits << 8 | 1, 10) == ("null", None)
