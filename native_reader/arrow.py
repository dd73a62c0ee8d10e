"""Arrow's arrays and scalars from numpy and Python values, and back, without pandas.

pyarrow's own `array`, `scalar`, `repeat` and `to_numpy` import pandas, if it is installed, to ask whether a value is of pandas (26):
a third of the time and 38 MB of what a first small read takes, in each process. The functions here have their meaning. Lists of maps,
times and the like go to pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_INFERRED = {str: pa.string(), bytes: pa.binary(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
_DTYPES = {(int, pa.int64()): np.int64, (int, pa.int32()): np.int32, (bool, pa.bool_()): np.bool_, (float, pa.float64()): np.float64}
_MOST_BYTES = (1 << 31) - 1
"""The offsets of Arrow's strings are signed numbers of 32 bits."""


def array(values: NDArray[Any] | Sequence[Any], type_: pa.DataType | None = None, mask: NDArray[np.bool_] | None = None) -> pa.Array:
    """The values as an array; where `mask` is true, null. Other types go to pyarrow's function, which may import pandas."""
    made = _numbers(values, mask) if isinstance(values, np.ndarray) else _of_list(values, type_) if mask is None else None
    if made is None:
        return pa.array(values, type_, mask=mask)
    return made if type_ is None or made.type == type_ else made.cast(type_)


def batch_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as a batch; what a row does not have is null."""
    columns = [array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def scalar(value: Any, type_: pa.DataType | None = None) -> pa.Scalar:
    """One value, or null."""
    return array([value], type_)[0]


def repeat(value: Any, count: int) -> pa.Array:
    """The value that often."""
    return pa.repeat(scalar(value), count)


def _numbers(values: NDArray[Any], mask: NDArray[np.bool_] | None) -> pa.Array | None:
    if values.ndim != 1 or values.dtype.kind not in "iufb" or not values.dtype.isnative or values.dtype == np.float16:
        return None
    valid = None if mask is None or not mask.any() else _bits(~mask)
    data = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _of_list(values: Sequence[Any], type_: pa.DataType | None) -> pa.Array | None:
    kinds = {type(value) for value in values}
    null = np.fromiter((value is None for value in values), np.bool_, len(values))
    kinds.discard(type(None))
    if not kinds:
        return pa.nulls(len(values), type_)
    kind = kinds.pop() if len(kinds) == 1 else object
    type_ = type_ or _INFERRED.get(kind)
    if kind is str and type_ == pa.string():
        return _packed([b"" if value is None else value.encode() for value in values], null, type_)
    if kind is bytes and type_ == pa.binary():
        return _packed([value or b"" for value in values], null, type_)
    dtype = _DTYPES.get((kind, type_))
    return None if dtype is None else _numbers(np.array([0 if value is None else value for value in values], dtype), null)


def _packed(values: list[bytes], null: NDArray[np.bool_], type_: pa.DataType) -> pa.Array | None:
    ends = np.cumsum([0, *map(len, values)])
    if ends[-1] > _MOST_BYTES:
        return None
    valid = _bits(~null) if null.any() else None
    return pa.Array.from_buffers(type_, len(values), [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(values))])


def numpy_of(values: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The values as `to_numpy` gives them, which imports pandas too. Numbers are not copied and cannot be written to."""
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    if values.null_count or not _is_plain(values.type):
        made: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return made
    first, stop = values.offset, values.offset + len(values)
    data = values.buffers()[1]
    if data is None:
        return np.empty(0, _dtype_of(values.type))
    if values.type == pa.bool_():
        low = first // 8
        packed = np.frombuffer(data, np.uint8, -(-stop // 8) - low, low)
        return np.unpackbits(packed, bitorder="little")[first - 8 * low : stop - 8 * low].view(np.bool_)
    dtype = _dtype_of(values.type)
    return np.frombuffer(data, dtype, len(values), first * dtype.itemsize)


def _is_plain(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or type_ == pa.bool_())


def _dtype_of(type_: pa.DataType) -> np.dtype[Any]:
    """Arrow's own `to_pandas_dtype` fails in 20.0 where there is no pandas."""
    if type_ == pa.bool_():
        return np.dtype(np.bool_)
    kind = "f" if pa.types.is_floating(type_) else "i" if pa.types.is_signed_integer(type_) else "u"
    return np.dtype(f"{kind}{type_.bit_width // 8}")


def leaves(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The types inside a nested type, or the type itself; also each map type."""
    if pa.types.is_map(kind):
        yield kind
        yield from leaves(kind.key_type)
        yield from leaves(kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from leaves(kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(field.type)
    else:
        yield kind


def listed(column: pa.Array) -> list[Any]:
    """The values as Python has them, with maps as dicts, also inner ones: `maps_as_pydicts` needs pyarrow 20."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type) and not _has_map(column.type.item_type):  # properties of messages, many in a read
        return [None if pairs is None else dict(pairs) for pairs in values]
    return [_with_dicts(value, column.type) for value in values] if _has_map(column.type) else values


def _has_map(kind: pa.DataType) -> bool:
    return any(map(pa.types.is_map, leaves(kind)))


def _with_dicts(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: _with_dicts(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: _with_dicts(value[field.name], field.type) for field in kind}
    return [_with_dicts(each, kind.value_type) for each in value] if isinstance(value, list) else value
