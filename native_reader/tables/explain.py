"""What a read of a table other than `messages` will do, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from native_reader.storage.store import StoreFiles
from native_reader.tables.table import Selection, Table
from native_reader.text import counted, size_of


@dataclass(frozen=True, slots=True)
class TableExplanation:
    """The read as text (`str`) and as a dict (`to_dict`). `ends`: whether planning had to find the ends of the logs."""

    table: Table[Any]
    selection: Selection
    stores: tuple[StoreFiles, ...]
    parts: tuple[object, ...]
    ends: bool
    zone: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The read as a dict."""
        needed = self.selection.needed
        return {
            "table": self.table.name,
            "stores": [store.uri for store in self.stores],
            "predicate": str(self.selection.predicate),
            "time_zone": self.zone,
            "columns": list(self.selection.columns),
            "only_for_the_condition": [name for name in needed if name not in self.selection.columns],
            "not_computed": [name for name in self.table.columns if name not in needed],
            "segments": sum(len(store.segments) for store in self.stores),
            "parts": len(self.parts),
            "ends_of_logs": self.ends,
        }

    def lines(self) -> Iterator[str]:
        """The text, line by line."""
        facts = self.to_dict()
        yield f"{facts['table']} where {facts['predicate']}"
        if self.zone is not None:
            yield f" times without a time zone are in {self.zone}"
        yield f" columns       {', '.join(facts['columns'])}"
        for label, names in (("for where", facts["only_for_the_condition"]), ("not computed", facts["not_computed"])):
            if names:
                yield f" {label:<13} {', '.join(names)}"
        for store in self.stores:
            yield f" {store.uri}: {counted(len(store.segments), 'segment')}, {size_of(sum(segment.size for segment in store.segments))}"
        ends = "after a search for the ends of the logs" if self.ends else "without a search for the ends of the logs"
        yield f" reads         {counted(facts['parts'], 'part')}, {ends}"

    def __str__(self) -> str:
        return "\n".join(self.lines())
