"""The interface of the compiled kernel, which takes over the stages that numpy is slowest at. Without it, all runs in numpy.

    stage       takes                                                       returns
    chain       u1 bytes of a window, their offset in the log               the valid records from the first byte on
    candidates  u1 bytes of a window, their offset in the log               where records may start
    resumed     u1 bytes of a window, a position after damage               the valid records after it, and the gaps between them
    unwrapped   u1 bytes, the records in them                               the messages in place of their batches
    messages    u1 bytes, the records in them, places in inner batches      the same, where a batch is compressed
    having      u1 bytes, the records in them, texts                        which records may have one of the texts
    columns     u1 bytes, the records in them, names of columns             Arrow arrays of these columns
    checksums   u1 bytes, the records in them                               which have a wrong checksum
    marker      u1 bytes, the records in them, chunk by chunk               numbers and hashes that a check compares
    claims      entries of consume queues, as in their files                the entries, merged claims, what they leave to read
    gather      an open file, ranges of it, memory                          how many of the ranges are in the memory
    chains      entries and slots of an index file, as in the file          which are in a wrong place of their chain
    indexed     entries of an index file, records and their keys            whether they are the same; which times differ

Heads are 88 bytes, big-endian as on disk (`layout.record.HEAD`); all other numbers that pass are int64 in native byte order, except
those of a marker that have 32 bits in the log.
Each function returns nothing where numpy is to do the stage: no kernel, or input that it leaves to the exact way.
`RMQSTORE_KERNEL=numpy|compiled` decides which runs; unset, the compiled one if it is installed.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from os import environ  # noqa: TID251  its variables, not its files
from typing import Any, NamedTuple, Protocol
from zipimport import zipimporter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import numpy_of
from native_reader.errors import OptionError, warn
from native_reader.layout.record import HEAD, Bytes, Index, Mask, Numbers, Records
from native_reader.sentences import Said, say

SEAM = 3
"""The version of this interface. A kernel of another version is not used."""
NUMPY, COMPILED = "numpy", "compiled"
_VARIABLE = "RMQSTORE_KERNEL"
_MODULE = "rmqstore_kernel"
_ABSENT = Said("kernel absent")
_PARTS = ("starts", "sizes", "body_at", "body_size", "topic_at", "topic_size", "properties_at", "properties_size")
COLUMNS = frozenset(
    (
        *("topic", "queue_id", "queue_offset", "tags", "keys", "msg_id", "body", "properties"),
        *("born_timestamp", "store_timestamp", "kind", "physical_offset", "sys_flag", "record_size", "body_size"),
        *("uniq_key", "offset_msg_id", "stored_body", "real_topic", "born_host", "store_host"),
        *("magic", "body_crc", "flag", "reconsume_times", "prepared_transaction_offset", "delay_level", "lite_topic"),
    )
)
"""The columns of `messages` that the kernel makes. It also makes each property as a column: `property_column`."""
VIEWS = {"body": "body_views", "stored_body": "stored_body_views"}
"""The names of two columns as views. Their first buffer is to be that of the records."""
_log = logging.getLogger("native_reader")

Needles = tuple[frozenset[bytes], frozenset[bytes], frozenset[int]]
"""Texts in properties, texts in bodies, and offsets in the log, as `predicate.needles` has them."""

Lists = Sequence[tuple[Numbers, Numbers] | Bytes]
"""The claims of each queue: offsets and sizes, or its entries as the file has them, all written."""


class KernelInfo(NamedTuple):
    """Which kernel runs, and why. docs/kernel.md says what it changes.

    Attributes:
        name: "compiled" or "numpy".
        version: The version of the compiled one.
        reason: Why this one runs.

    Examples:
        >>> name, version, reason = rmqstore.kernel_info()
        >>> (version is None) == (name == "numpy")
        True
    """

    name: str
    version: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.name}{'' if self.version is None else ' ' + self.version} ({self.reason})"


def kernel_info() -> KernelInfo:
    """Say which kernel runs in this process.

    Raises:
        OptionError: RMQSTORE_KERNEL has an unknown value, or demands a kernel that cannot be used.

    Examples:
        >>> rmqstore.kernel_info().name in ("compiled", "numpy")
        True
    """
    return chosen(environ.get(_VARIABLE, ""))[1]


@cache
def chosen(wanted: str) -> tuple[Any, KernelInfo]:
    """The compiled module, or None, for a value of the variable. Once per process, so its warning is logged once."""
    if wanted not in ("", NUMPY, COMPILED):
        raise OptionError(say("kernel unknown", variable=_VARIABLE, wanted=repr(wanted), numpy=NUMPY, compiled=COMPILED))
    if wanted == NUMPY:
        return None, KernelInfo(NUMPY, None, f"{_VARIABLE}={NUMPY}")
    try:
        module = importlib.import_module(_MODULE)  # noqa: TID251  a distribution of its own, which imports nothing
        seam, version = module.SEAM, module.__version__
    except Exception as error:  # whatever is in a folder of that name, reads go on
        if wanted == COMPILED:
            raise OptionError(say("kernel wanted", variable=_VARIABLE, compiled=COMPILED, module=_MODULE, error=str(error))) from None
        reason = _missing(error)
        if reason == _ABSENT:
            return None, KernelInfo(NUMPY, None, "rmqstore-kernel is not installed")
        warn(_log, say("numpy runs", reason=reason))
        return None, KernelInfo(NUMPY, None, reason.text())
    if seam != SEAM:
        versions = say("kernel version", version=str(version), found=str(seam), needed=str(SEAM))
        if wanted == COMPILED:
            raise OptionError(say("kernel of other version", variable=_VARIABLE, wanted=COMPILED, versions=versions))
        warn(_log, say("kernel not used", versions=versions))
        return None, KernelInfo(NUMPY, None, versions.text())
    return module, KernelInfo(COMPILED, version, "rmqstore-kernel is installed" if not wanted else f"{_VARIABLE}={COMPILED}")


def _missing(error: Exception) -> Said:
    """Why the compiled module cannot be imported."""
    if not isinstance(error, ImportError) or (error.name or "").partition(".")[0] != _MODULE:
        return say("kernel not imported", module=_MODULE, error=str(error))
    is_zipped = __spec__ is not None and isinstance(__spec__.loader, zipimporter)
    return Said("kernel zipped") if is_zipped else _ABSENT


def _compiled() -> Any:
    return chosen(environ.get(_VARIABLE, ""))[0]


def property_column(name: str) -> str:
    """What the kernel calls the column of one property."""
    return f"properties[{name}]"


def makes(column: str) -> bool:
    """Whether the kernel makes this column."""
    return column in COLUMNS or (column.endswith("]") and column.isascii())


class Loaded(Protocol):
    """A buffer that is loaded again and again; `loads` counts how often. `offset` is that of its first byte in the log."""

    u8: Bytes
    filled: int
    loads: int

    @property
    def offset(self) -> int: ...


def chain(window: Loaded, limit: int, frame: int) -> Records | None:
    """The valid records from the first byte on that start before `limit`, up to the first that is not valid. None: numpy does it."""
    compiled = _compiled()
    if compiled is None:
        return None
    return _Chain(compiled.chain(window.u8, window.filled, limit, window.offset, frame), window, window.loads, window.u8)


def chained(window: Loaded, records: Records) -> Records:
    """The same records in the kernel's own form, which each use of them would make again; as they are if it cannot have them."""
    compiled = _compiled()
    own = None if compiled is None else _chain_of(compiled, window.u8, records, None)
    if own is None:
        return records
    found = _Chain(own, window, window.loads, window.u8)
    for name in Records.__slots__:
        object.__setattr__(found, name, getattr(records, name))
    return found


def candidates(window: Loaded, frame: int) -> Index | None:
    """Positions of the window with a magic and the right physical offset, ascending, from `frame` on."""
    found = _called("candidates", window.u8, window.filled, frame, window.offset)
    return None if found is None else np.frombuffer(found, np.int64)


class Gaps(NamedTuple):
    """What is before and between some records of a window. Positions are those of the file."""

    rows: Numbers
    """How many of the records come before."""
    befores: Numbers
    """Where the last of these starts; -1 for none."""
    begins: Numbers
    ends: Numbers


def resumed(window: Loaded, base: int, position: int, until: int, frame: int) -> tuple[Records, Gaps, Numbers] | None:
    """The valid records in `[position, until)` of the file, each the first one after the record before it; and the gaps.

    `base` is where the window begins. The last numbers are places in it, after their frames, where records may start that end outside.
    None: numpy does it.
    """
    found = _called("resumed", window.u8, window.filled, (position - base, until - base), base, frame, window.offset)
    if found is None:
        return None
    chain, gaps, outside = found
    return _Chain(chain, window, window.loads, window.u8), Gaps(*_numbers(gaps).reshape(4, -1)), _numbers(outside)


class _Chain(Records):
    """Records whose places only the kernel knows. Their arrays are made when first used, while the window still has their bytes."""

    __slots__ = ("_chain", "_loads", "_u8", "_window")

    def __init__(self, chain: Any, window: Loaded, loads: int, u8: Bytes) -> None:
        for name, value in (("_chain", chain), ("_window", window), ("_loads", loads), ("_u8", u8)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in Records.__slots__:
            raise AttributeError(name)
        if name == "heads":
            assert self._loads == self._window.loads, "the window has other bytes by now"
            object.__setattr__(self, name, np.frombuffer(self._chain.heads(self._u8), HEAD))
        else:
            parts = np.frombuffer(self._chain.parts(), np.int64).reshape(len(_PARTS), -1)
            for part, values in zip(_PARTS, parts, strict=True):
                object.__setattr__(self, part, values)
        return object.__getattribute__(self, name)

    def __len__(self) -> int:
        return len(self._chain)

    def __getitem__(self, which: slice | Index | Mask) -> Records:
        return self._like(self._chain.take(_bytes_of(np.arange(len(self))[which])), self._u8)

    def _like(self, chain: Any, u8: Bytes) -> _Chain:
        return _Chain(chain, self._window, self._loads, u8)

    def unwrapped(self, u8: Bytes, most: int) -> tuple[Records, NDArray[np.int32]] | None:
        """The messages, and the number of each in its batch; see the function."""
        found = self._chain.unwrapped(u8, most)
        return None if found is None else (self._like(found[0], u8), _numbers(found[1]).astype(np.int32))

    def messages(self, u8: Bytes, which: Index, units: Index, inner: NDArray[np.int32]) -> Records:
        """These rows; where `units` is not negative, the message of an inner batch that begins there."""
        return self._like(self._chain.messages(u8, _bytes_of(which), _bytes_of(units), _bytes_of(inner)), u8)

    def with_flag(self, flag: int) -> Index:
        return np.frombuffer(self._chain.with_flag(flag), np.int64)

    def body(self, row: int) -> tuple[int, int, int]:
        start, size, flags = self._chain.body(row)
        return start, size, flags

    @property
    def largest(self) -> int:
        return int(self._chain.largest)

    @property
    def total(self) -> int:
        return int(self._chain.total)

    @property
    def bodies(self) -> int:
        return int(self._chain.bodies())

    @property
    def flags(self) -> int:
        return int(self._chain.flags)

    @property
    def longest_topic(self) -> int:
        return int(self._chain.longest_topic)

    @property
    def last(self) -> tuple[int, int]:
        start, size = self._chain.last()
        return start, size


class Made(NamedTuple):
    """Some of the rows, and those of their columns that are ready."""

    rows: slice
    arrays: dict[str, pa.Array]


def columns(u8: Bytes, records: Records, is_inner: Mask | None, schema: pa.Schema, *, at_most: int, at_once: int) -> Iterator[Made]:
    """The columns of these records. The pieces together are all rows; one that numpy is to make has no columns.

    `schema`: their names and types. `is_inner`: which rows are messages of inner batches: their bodies are decompressed.
    `at_most`: a body that would be larger is null. `at_once`: the bytes that the compressed bodies of a piece may become.
    """
    compiled = _compiled()
    names = tuple(schema.names)
    own = _chain_of(compiled, u8, records, is_inner) if compiled is not None and names else None
    begin = 0
    if own is not None:
        plan = _plan(names)
        while begin < len(records):
            capsule, count, is_odd = own.columns(plan, u8, begin, at_most, at_once)
            if is_odd:  # numpy makes the rows before it again, or a batch would end here
                break
            batch = pa.record_batch(_Capsule(schema, capsule))
            yield Made(slice(begin, begin + count), dict(zip(names, batch.columns, strict=True)))
            begin += count
    if begin < len(records):
        yield Made(slice(begin, len(records)), {})


def unwrapped(records: Records, u8: Bytes, most: int) -> tuple[Records, NDArray[np.int32]] | None:
    """The messages of these records, at most `most`, and the number of each in its inner batch, -1 for other rows.

    None, and numpy does it, also where no batch has messages, or one is compressed.
    """
    return records.unwrapped(u8, most) if isinstance(records, _Chain) and most > 0 else None


def messages(records: Records, u8: Bytes, which: Index, units: Index, inner: NDArray[np.int32]) -> Records | None:
    """The records `which`; where `units` is not negative, the message that begins there, number `inner` of its batch."""
    return records.messages(u8, which, units, inner) if isinstance(records, _Chain) else None


def having(u8: Bytes, records: Records, needles: Needles) -> Index | None:
    """Which of these records may have one of those texts."""
    compiled = _compiled()
    own = None if compiled is None else _chain_of(compiled, u8, records, None)
    return None if own is None else np.frombuffer(own.having(u8, _needles(needles)), np.int64)


@lru_cache(8)
def _needles(needles: Needles) -> Any:
    return _compiled().Needles(*map(list, needles))


def wrong_checksums(u8: Bytes, records: Records) -> Mask | None:
    """Which of these records have a wrong checksum."""
    compiled = _compiled()
    own = None if compiled is None else _chain_of(compiled, u8, records, None)
    return None if own is None else np.frombuffer(own.wrong_checksums(u8), np.bool_)


_LONG, _INT = pa.int64(), pa.int32()
_MARKS = [pa.schema([(str(place), kind) for place in range(width)]) for width, kind in ((3, _LONG), (8, _INT), (3, _LONG), (3, _LONG))]
"""The four groups of what a marker takes."""


class Marker:
    """Collects what a check compares of records, chunk by chunk."""

    def __init__(self, compiled: Any) -> None:
        self._compiled, self._own = compiled, compiled.Marker()

    def add(self, u8: Bytes, records: Records) -> int:
        """Add records. Returns how many are held, with their keys and light queues; names count by their size."""
        return int(self._own.add(_chain_of(self._compiled, u8, records, None), u8))

    def taken(self) -> tuple[Any, ...]:
        """What was added since the last call: the fields of `Marks`."""
        groups, places, light_queues = self._own.taken()
        batches = (pa.record_batch(_Capsule(schema, group)) for schema, group in zip(_MARKS, groups, strict=True))
        return *(numpy_of(column) for batch in batches for column in batch.columns), places, light_queues


def marker() -> Marker | None:
    """A marker without records."""
    compiled = _compiled()
    return None if compiled is None else Marker(compiled)


def _chain_of(compiled: Any, u8: Bytes, records: Records, is_inner: Mask | None) -> Any:
    """The kernel's own form of these records; None if it cannot have one."""
    if isinstance(records, _Chain):
        return records._chain
    parts = np.concatenate([getattr(records, name).astype(np.int64, copy=False) for name in _PARTS])
    inner = np.zeros(0, np.uint8) if is_inner is None else is_inner.view(np.uint8)
    try:
        return compiled.rows(u8, parts.view(np.uint8), np.ascontiguousarray(records.heads, HEAD).view(np.uint8), inner)
    except IndexError:  # a part outside the first 4 GiB of the buffer
        return None


@lru_cache(64)
def _plan(names: tuple[str, ...]) -> Any:
    return _compiled().Columns(list(names))


@dataclass(frozen=True, slots=True)
class _Capsule:
    """Wraps an array for Arrow's C data interface (PyCapsule)."""

    schema: pa.Schema
    capsule: Any

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return self.schema.__arrow_c_schema__(), self.capsule


def merged_claims(wanted: Lists, unwanted: Lists, low: int) -> tuple[Numbers, Numbers, NDArray[np.bool_]] | None:
    """The claimed bytes in order, all at or after `low`: offsets, sizes, and which are unwanted, as `tiles_of` has them."""
    found = _called("merged_claims", wanted, unwanted, low)
    return None if found is None else (_numbers(found[0]), _numbers(found[1]), np.frombuffer(found[2], np.bool_))


def unclaimed_extents(
    wanted: Lists, unwanted: Lists, low: int, begin: int, frame: int
) -> tuple[Numbers, Numbers, Numbers, int, int] | None:
    """What those claims leave to read from position `begin` on: the fields of `Left`. Positions are offsets minus `low`."""
    found = _called("unclaimed_extents", wanted, unwanted, low, begin, frame)
    if found is None:
        return None
    (starts, ends, named), last, largest = found
    return _numbers(starts), _numbers(ends), _numbers(named), last, largest


def queue_entries(units: NDArray[np.void], first: int) -> tuple[Numbers, Numbers, Numbers, Numbers] | None:
    """The written ones of these entries, as the file has them: numbers, offsets, sizes, tags codes. `first`: number of the first one."""
    found = _called("queue_entries", units.view(np.uint8), first)
    if found is None:
        return None
    numbers, offsets, sizes, codes = map(_numbers, found)
    return numbers, offsets, sizes, codes


def ordinary_run(units: NDArray[np.void], low: int, high: int, end: int) -> tuple[int, int, int | None] | None:
    """Where the entries of records in `[low, high)` begin and stop among these; and the offset of the last written one of all.

    None unless all offsets ascend, and those entries are written without a break and end at or before `end`.
    """
    found: tuple[int, int, int | None] | None = _called("ordinary_run", units.view(np.uint8), low, high, end)
    return found


def ascending_within(offsets: Numbers, low: int, high: int) -> NDArray[np.bool_] | None:
    """Which offsets are in `[low, high)`, above all previous and below all following ones."""
    found = _called("ascending_within", offsets, low, high)
    return None if found is None else np.frombuffer(found, np.bool_)


def gather(descriptor: int, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int | None:
    """Fill the view with ranges of an open file. Returns how many: it stops at the first that is cut short or cannot be read."""
    found: int | None = _called("gather", descriptor, offsets, lengths, view)
    return found


class Chains:
    """The newest entry of each slot of an index file, while its entries are passed one after the other."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def wrong(self, entries: NDArray[np.void], first: int) -> Mask:
        """Which of these entries do not lead to the newest one before them. `first`: the number of the first one."""
        return np.frombuffer(self._own.wrong(entries.view(np.uint8), first), np.bool_)

    def differing(self, slots: NDArray[np.int32], begin: int) -> Numbers:
        """Which of these slots, as the file has them from `begin` on, do not have their newest entry."""
        return _numbers(self._own.differing(slots.view(np.uint8), begin))

    def entries(self, hashes: Numbers, offsets: Numbers, times: Numbers, begin: int, first: int) -> tuple[Bytes, int]:
        """These keys as the file has them, each leading to the newest one before it; and how many are the first ones of their slots.

        `begin`: the time from which the file's times count. `first`: the number of the first entry.
        """
        found, begun = self._own.entries(*map(_bytes_of, (hashes, offsets, times)), begin, first)
        return np.frombuffer(found, np.uint8), begun

    def slots(self) -> Bytes:
        """All slots, as the file has them."""
        return np.frombuffer(self._own.slots(), np.uint8)

    def newest(self, slot: int) -> int:
        """The newest entry of a slot, 0 for none."""
        return int(self._own.newest(slot))


def chains(slots: int) -> Chains | None:
    """The chains of an index file, before its first entry."""
    compiled = _compiled()
    return None if compiled is None else Chains(compiled.Chains(slots))


def indexed(
    entries: NDArray[np.void], records: Sequence[Numbers], keys: Sequence[Numbers], begin_time: int
) -> tuple[int | None, Mask] | None:
    """How many keys these index entries have, if they are the next keys and nothing else but tags; and which have another time.

    `records`: offsets, times and `tag_keys` of the records. `keys`: their records and hashes.
    """
    columns = ([each.view(np.uint8) for each in group] for group in (records, keys))
    found = _called("indexed", entries.view(np.uint8), *columns, begin_time)
    return None if found is None else (found[0], np.frombuffer(found[1], np.bool_))


def _called(name: str, *arguments: object) -> Any:
    compiled = _compiled()
    try:
        return None if compiled is None else getattr(compiled, name)(*arguments)
    except OverflowError:  # a number that does not fit in 64 bits
        return None


def _bytes_of(numbers: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(numbers, np.int64).view(np.uint8)


def _numbers(content: bytearray) -> Numbers:
    return np.frombuffer(content, np.int64)
