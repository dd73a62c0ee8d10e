"""The groups of a part, the records of one topic and queue each, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from native_reader.layout.record import Index, Numbers
from native_reader.summary.unfit import Unfit

GROUPS = pa.schema(
    [
        ("topic", pa.binary()),
        *((name, pa.int64()) for name in ("queue_id", "records", "bytes", "opaque", "keyless")),
        *((name, pa.int64()) for name in ("first_time", "last_time", "first_queue_offset", "last_queue_offset")),
    ]
)
"""`bytes`: without frames. `opaque`: how many records have messages inside, or odd properties. `keyless`: of how many the keys may be
missing. Times are in milliseconds."""


class Groups:
    """What the table of groups says. `names`: the topics, each once, and `topics`: their numbers. Raises Unfit if a value is missing."""

    def __init__(self, table: pa.Table) -> None:
        if any(column.null_count for column in table.columns):
            raise Unfit("contradiction")
        encoded = table["topic"].combine_chunks().dictionary_encode()
        self.names: list[bytes] = encoded.dictionary.to_pylist()
        self.topics: Index = encoded.indices.to_numpy()
        self._columns: dict[str, Numbers] = {name: table[name].to_numpy() for name in GROUPS.names[1:]}
        self.ends: Numbers = np.cumsum(self["records"])
        """After the last row of each."""

    def __len__(self) -> int:
        return len(self.topics)

    def __getitem__(self, name: str) -> Numbers:
        """A column of numbers."""
        return self._columns[name]

    def rows(self, which: Index, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The topic, the first row and these columns of some groups."""
        columns = (self.ends - self["records"], *(self[name] for name in names))
        topics = (self.names[topic] for topic in self.topics[which].tolist())
        return zip(topics, *(column[which].tolist() for column in columns), strict=True)
