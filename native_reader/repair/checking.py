"""The check of a store, as a repair uses it: before, of a store that would be copied, and after, of the new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from native_reader.lazy import TableScan
from native_reader.options import MessageOptions
from native_reader.repair.records import ReadSettings
from native_reader.storage.store import StoreFiles
from native_reader.tables import TABLES
from native_reader.verify.codes import NOTE

COPIED = (
    *("time-goes-back", "time-of-first", "queue-missing", "config-damaged", "offset-after-queue", "key-not-covered", "index-time"),
    *("queue-file", "log-removed", "entry-removed"),
)
"""Codes of what a repair copies as it is."""


def findings_in(files: StoreFiles, settings: ReadSettings) -> Iterator[Mapping[str, Any]]:
    """All findings but notes."""
    table = TableScan(TABLES["findings"], (files,), MessageOptions(max_read_rate=settings.max_read_rate))
    for batch in table.to_batches(settings.jobs, settings.progress):
        yield from (row for row in batch.to_pylist() if row["severity"] != NOTE)


def flaws_in(files: StoreFiles, settings: ReadSettings) -> tuple[str, ...]:
    """The codes of what must not be copied."""
    return tuple(sorted({row["code"] for row in findings_in(files, settings) if row["code"] not in COPIED}))
