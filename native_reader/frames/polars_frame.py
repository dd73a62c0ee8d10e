"""A table that has not been read yet as a lazy frame of Polars, which passes the columns, the condition and the limit of a query on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from native_reader.errors import UseError
from native_reader.frames.implied import implied
from native_reader.frames.narrowed import ReadNarrowed
from native_reader.frames.polars_condition import tree_of
from native_reader.predicate.tree import EVERYTHING, Predicate

if TYPE_CHECKING:
    import polars

_INSTALL = "pip install 'polars>=1.34'"


def lazy_frame(schema: pa.Schema, kinds: Mapping[str, str], read: ReadNarrowed) -> polars.LazyFrame:
    """The frame. Polars reads it in its own threads, each time that a query needs it."""
    try:
        import polars
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise UseError(f"a lazy frame needs the package polars, 1.34 or newer: {_INSTALL} ({error})") from None

    def frame_of(batch: pa.RecordBatch) -> polars.DataFrame:
        frame = polars.from_arrow(batch)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def rows(
        columns: list[str] | None, condition: polars.Expr | None, limit: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        names = schema.names if columns is None else columns
        used = {*names, *(() if condition is None else condition.meta.root_names())}
        wanted = tuple(name for name in schema.names if name in used)
        # Polars takes the limit of the rows before it applies the condition, so that must not remove rows here.
        pushed = EVERYTHING if condition is None or limit is not None else _implied(condition, kinds)
        left = limit
        # Polars before 2 needs a frame, also if there are no rows.
        for batch in chain([pa.RecordBatch.from_pylist([], schema).select(wanted)], read(wanted, pushed, limit is not None)):
            frame = frame_of(batch)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield (frame if condition is None else frame.filter(condition)).select(names)
            if left == 0:
                return

    return register_io_source(rows, schema=frame_of(pa.RecordBatch.from_pylist([], schema)).schema)


def _implied(condition: polars.Expr, kinds: Mapping[str, str]) -> Predicate:
    tree = tree_of(condition)
    return EVERYTHING if tree is None else implied(tree, kinds)
