"""Records whose property fields are changed in place, thousands at once, to compare how both kernels cut them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.columns.chunk import Chunk, Columns
from native_reader.columns.rows import Rows
from native_reader.columns.schema import COLUMNS
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.record import Bytes, Records, measure
from native_reader.testing.records import Message, encode
from native_reader.testing.strategies import ODD_PROPERTIES, PROPERTY_NAMES, PROPERTY_VALUES

_RECORDS, _PASSES, _SHAPES = 2048, 24, 300
_AT_END = 8
"""So many records are also read from a buffer that ends with them."""
_PLACE = 28
_COLUMNS = ("tags", "keys", "msg_id", "properties", "uniq_key", "real_topic", "lite_topic", "delay_level")
_SINGLES = ("TAGS", "a", "name", "ab1", "xxxxxxxxxxxxxxxxxxxx1")
# Few, because each keeps the shapes that it has seen.
_PLANS = (_COLUMNS, ("properties",), ("tags", "keys"), tuple(map(kernel.property_column, _SINGLES)))
_BYTES = np.frombuffer(b"\x01\x01\x01\x01\x02\x02\x02\x02\0 abTK1\x80\xc3\xa4\xff", np.uint8)
_LENGTHS = (0, 1, 2, 3, 5, 8, 9, 20, 63, 64, 65, 66, 100)
_CRC = b"__CRC32#\x011234567890\x02"


class Fields(NamedTuple):
    """Records one after the other, and where the properties of each begin and end."""

    content: Bytes
    records: Records

    def changed(self, drawn: np.random.Generator) -> Bytes:
        """The same with up to three other bytes in each field. No size changes, so all are still records."""
        content = self.content.copy()
        begins, sizes = self.records.properties_at, self.records.properties_size
        for _ in range(drawn.integers(0, 4)):
            which = np.flatnonzero((sizes > 0) & (drawn.random(len(sizes)) < 0.6))
            content[begins[which] + (drawn.random(len(which)) * sizes[which]).astype(np.intp)] = drawn.choice(_BYTES, len(which))
        return content


def _name(chance: Random) -> bytes:
    """Many share their size and first two bytes, by which shapes are found; sizes are around those that are compared at once."""
    stem = chance.choice((b"ab", b"n", b"", "属".encode(), b"x" * 13, b"x" * 14, b"x" * 15, b"x" * 20, b"x" * 31, b"x" * 40))
    return chance.choice((stem + b"%d" % chance.randrange(9), chance.choice(PROPERTY_NAMES).encode(), stem))


def _value(chance: Random) -> bytes:
    long = chance.choice((b"v", b"w ", "ü".encode(), b"z"))
    return chance.choice(
        (b"", chance.choice(PROPERTY_VALUES).encode(), chance.choice(PROPERTY_VALUES).encode(), long * chance.randrange(70))
    )


def _fields(chance: Random) -> Iterator[bytes]:
    shapes = [[_name(chance) for _ in range(chance.choice(_LENGTHS))] for _ in range(_SHAPES)]
    for _ in range(_RECORDS):
        pairs = [name + b"\x01" + _value(chance) for name in chance.choice(shapes)]
        field = b"\x02".join(pairs) + chance.choice((b"\x02", b"\x02", b"\x02" + _CRC, _CRC, b""))
        yield (field if chance.random() < 0.9 else field + chance.choice(ODD_PROPERTIES))[:32_000]


def fields(chance: Random) -> Fields:
    """Records of one topic with drawn properties."""
    empty = encode(Message(chance.choice(("orders", "主题")), b""))
    fixed, base = empty[:-2], 1 << 33
    drawn = list(_fields(chance))
    starts = [0, *accumulate(len(empty) + len(field) for field in drawn)]
    content = bytearray()
    for start, field in zip(starts, drawn, strict=False):
        size = struct.pack(">i", len(empty) + len(field))
        offset = struct.pack(">q", base + start)
        content += size + fixed[4:_PLACE] + offset + fixed[_PLACE + 8 :] + struct.pack(">h", len(field)) + field
    u8 = np.frombuffer(bytes(content) + bytes(64), np.uint8)
    records, valid = measure(u8, len(content), np.array(starts[:-1], np.intp), base)
    assert valid.all()
    return Fields(u8[: len(content)], records)


def compare_fields(seed: int) -> int:
    """Assert that both kernels make the same columns of each changed field; returns how many there were."""
    chance, drawn = Random(seed), np.random.default_rng(seed)
    same = fields(chance)
    for number in range(_PASSES):
        content = same.changed(drawn)
        names = _PLANS[number % len(_PLANS)]
        numpy = _by_numpy(content, same.records, names)
        _compare(content, same.records, _compiled(content, same.records, names), numpy)
        for row in drawn.integers(0, len(same.records), _AT_END).tolist():
            one, end = same.records[row : row + 1], int(same.records.starts[row] + same.records.sizes[row])
            _compare(content, one, _compiled(content[:end], one, names), {name: array.slice(row, 1) for name, array in numpy.items()})
    return _PASSES * len(same.records)


def _compare(content: Bytes, records: Records, compiled: dict[str, pa.Array], numpy: dict[str, pa.Array]) -> None:
    for name, array in compiled.items():
        array.validate(full=True)
        if not array.equals(numpy[name]):
            row = next(row for row in range(len(records)) if array[row] != numpy[name][row])
            begin, size = int(records.properties_at[row]), int(records.properties_size[row])
            field = content[begin : begin + size].tobytes()
            raise AssertionError(f"{name} of {field!r}: compiled {array[row]}, numpy {numpy[name][row]}")


def _compiled(content: Bytes, records: Records, names: tuple[str, ...]) -> dict[str, pa.Array]:
    schema = pa.schema([(name, COLUMNS[name].type if name in COLUMNS else pa.string()) for name in names])
    (made,) = kernel.columns(content, records, None, schema, at_most=0, at_once=0)
    assert made.rows == slice(0, len(records))
    return made.arrays


def _by_numpy(content: NDArray[np.uint8], records: Records, names: tuple[str, ...]) -> dict[str, pa.Array]:
    singles = {single for name in names if name in COLUMNS for single in COLUMNS[name].singles}
    columns = Columns(names, "", "", singles | set(_SINGLES))
    chunk: Chunk = columns.chunk(Rows(PaddedBuffer.of(content.tobytes()), records))
    of = dict(zip(map(kernel.property_column, _SINGLES), _SINGLES, strict=True))
    return {name: chunk.property(of[name]) if name in of else COLUMNS[name].make(chunk) for name in names}
