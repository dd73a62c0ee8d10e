"""A condition of pyarrow, which is what DuckDB passes, taken apart.

pyarrow shows the parts of an expression nowhere but in its serialized form: an Arrow file whose metadata lists the calls in prefix
order, and whose columns are the literals. What is not known here becomes a call that nothing is read from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from native_reader.frames.implied import Call, Field, Literal, Node, joined

# `and` and `or` of pyarrow are others: they are null if any part is.
_NAMES = {
    "and_kleene": "and",
    "or_kleene": "or",
    "invert": "not",
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "is_valid": "is_valid",
}
_FALSE_FOR_NULL = (0, 1)
"""MATCH and SKIP of `null_matching_behavior`: without a null in the list, a null is not in it."""


def tree_of(expression: Any) -> Node | None:
    """The parts of the condition; None if pyarrow does not serialize it, or in another form than the known one."""
    try:
        file = pa.ipc.open_file(expression.__reduce__()[1][0])
        return _tree(list(_pairs(file.schema)), file.get_batch(0).columns if file.num_record_batches else [])
    except (pa.ArrowException, ValueError, LookupError, RecursionError):
        return None


def _tree(pairs: Sequence[tuple[str, str]], columns: Sequence[Any]) -> Node:
    """The condition that is listed in prefix order: a name of a kind with a value, for each part."""
    open_calls: list[tuple[str, list[Node], dict[str, Any]]] = [("", [], {})]
    for kind, value in pairs:
        match kind:
            case "call":
                open_calls.append((value, [], {}))
            case "end":
                name, parts, options = open_calls.pop()
                open_calls[-1][1].append(_call(name, parts, options))
            case "field_ref":
                open_calls[-1][1].append(Field(value))
            case "literal":
                open_calls[-1][1].append(Literal(columns[int(value)]))
            case "options":
                open_calls[-1][2].update(dict(columns[int(value)][0].items()))
            case _:
                raise ValueError(f"an expression of pyarrow has a part of the unknown kind {kind!r}")
    ((_, (tree,), _),) = open_calls
    return tree


def _call(name: str, parts: list[Node], options: dict[str, Any]) -> Node:
    match name, parts:
        case (("and_kleene" | "or_kleene"), _):
            return joined(_NAMES[name], parts)
        case "is_null", [_] if options and not options["nan_is_null"].as_py():
            return Call("is_null", tuple(parts))
        case "is_in", [tested] if options and options["null_matching_behavior"].as_py() in _FALSE_FOR_NULL:
            values = options["value_set"].values
            if values.null_count == 0:
                return Call("and", (Call("is_valid", (tested,)), Call("in", (tested, Literal(values)))))
        case "if_else", [Call("is_valid", tested), Call("and", (_, Call("in", (column, _)) as listed)), Literal(nothing)]:
            # How DuckDB 2 writes IN.
            if tested == (column,) and nothing.null_count == len(nothing):
                return listed
    return Call("unknown" if options else _NAMES.get(name, "unknown"), tuple(parts))


def _pairs(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """All metadata of a schema, in order. `schema.metadata` is a dict, and here the same key occurs many times.

    The Arrow C data interface describes the bytes: the number of pairs, then the length and the bytes of each key and value.
    """
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = schema.__arrow_c_schema__()
    at = ctypes.cast(pointer_of(capsule, b"arrow_schema"), ctypes.POINTER(ctypes.c_void_p))[2]
    if at is None:
        return
    count, at = ctypes.c_int32.from_address(at).value, at + 4
    texts = list[str]()
    for _ in range(2 * count):
        length = ctypes.c_int32.from_address(at).value
        texts.append(ctypes.string_at(at + 4, length).decode())
        at += 4 + length
    yield from zip(texts[::2], texts[1::2], strict=True)
