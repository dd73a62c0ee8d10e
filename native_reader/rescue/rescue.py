"""Rescues a store: exports what can be read, checks the rest, and writes the page about both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from native_reader.api import Store
from native_reader.columns.schema import COLUMNS as MESSAGE_COLUMNS
from native_reader.doctor import diagnose
from native_reader.errors import ExportError, OptionError, StoreError, Warned
from native_reader.export.account import Exported
from native_reader.export.target import Target
from native_reader.rescue.around import Around
from native_reader.rescue.page import Checked, Findings, lines_of, shown_losses
from native_reader.rescue.saved import COLUMNS, SavedQueue, SavedQueues
from native_reader.scan.progress import Watch
from native_reader.storage.local import LocalPath

MESSAGES, PAGE, QUEUES, FINDINGS = "messages", "rescue.md", "queues.jsonl", "findings.jsonl"
_LEFT_OUT = ("stored_body", "body_text", "corrupt_record", "corrupt_reason")
SAVED_COLUMNS = tuple(name for name in MESSAGE_COLUMNS if name not in _LEFT_OUT)
"""All columns, without those that repeat bodies or describe damage."""
_LENIENT: dict[str, Any] = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "ignore_missing_files": True, "verify_crc": True}
_MOST_WARNINGS = 100


@dataclass(frozen=True, slots=True)
class Rescued:
    """What a rescue saved, and how much is missing or wrong.

    Attributes:
        path: The folder.
        page: The path of the page about what was saved and lost.
        exported: The export of the messages.
        missing: How many queue offsets are missing.
        problems: How many errors and warnings the check found.
        start: What a starting broker would do to the log.

    Examples:
        >>> from native_reader.rescue import rescue
        >>> rescue(nr.open("store"), "whole").is_whole
        True
    """

    path: str
    page: str
    exported: Exported
    missing: int
    problems: int
    start: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing was found to be lost or wrong."""
        return not (self.exported.is_damaged or self.missing or self.problems)


def rescue(store: Store, path: LocalPath, *, jobs: int = 1, progress: Watch = False, max_read_rate: int | str | None = None) -> Rescued:
    """Write all readable messages of a store, and a page about what was saved and lost, to a folder.

    If it is stopped, start it again: it continues.

    Args:
        store: One store, from `native_reader.open`.
        path: The folder: new, empty, or that of the rescue to continue.
        jobs: How many tasks run in parallel.
        progress: As for `Scan.to_batches`. It covers the export, then the check.
        max_read_rate: The maximum number of bytes per second, such as "50m", so that a failing disk or a busy broker is spared.

    Raises:
        OptionError: An argument is invalid, there are several stores, or the folder holds something else.
        ExportError: A file cannot be written.

    Examples:
        >>> from native_reader.rescue import rescue
        >>> rescued = rescue(nr.open("damaged"), "rescued")
        >>> rescued.is_whole, rescued.exported.rows
        (False, 246)
    """
    if len(store.stores) > 1:
        raise OptionError(f"a rescue is of one store, not of {len(store.stores)}: {store.stores[0].uri} and others. Name one of them")
    warned, folder = Warned(_MOST_WARNINGS), Target(path, store.stores)
    try:
        with warned, folder:
            if others := set(folder.other_names()) - {MESSAGES, PAGE, QUEUES, FINDINGS}:
                raise OptionError(f"{folder.path} is not empty: it contains {min(others)}. Choose a new or empty folder")
            reading: dict[str, Any] = {} if max_read_rate is None else {"max_read_rate": max_read_rate}
            return _rescue(store, folder, reading, {"jobs": jobs, "progress": progress}, warned)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise ExportError(f"{folder.path}: could not write: {error}. Start the same rescue again to continue it") from error


def _rescue(store: Store, folder: Target, reading: dict[str, Any], running: dict[str, Any], warned: Warned) -> Rescued:
    diagnosis = diagnose(store.stores[0], {"ignore_missing_files": True, **reading})
    messages = store.messages(columns=SAVED_COLUMNS, **_LENIENT, **reading)
    exported = messages.export(f"{folder.path}/{MESSAGES}", **running)
    checked = Checked()
    folder.write_text(FINDINGS, _finding_lines(store.table("findings", **reading).to_batches(**running), checked))
    saved, losses = SavedQueues(), shown_losses(exported)
    surroundings = Around(losses, checked.truncated_at)
    for batch in exported.batches((*COLUMNS, "physical_offset")):  # read back, so the page describes the files
        saved.add(batch)
        surroundings.add(batch)
    named = ("topic", "queue_id", "type", "min_offset", "max_offset")
    for batch in store.table("queues", columns=named).to_batches(running["jobs"]):
        saved.add_named(batch.to_pylist())
    queues = list(saved.queues())
    folder.write_text(QUEUES, _queue_lines(queues))
    found = Findings(diagnosis, exported, queues, saved.knows_gaps, checked, losses, surroundings, warned.texts, datetime.now(UTC))
    folder.write_text(PAGE, lines_of(found))
    folder.remove_temporary_folder()
    return Rescued(folder.path, f"{folder.path}/{PAGE}", exported, found.missing, checked.problems, found.start)


def _finding_lines(batches: Iterable[pa.RecordBatch], checked: Checked) -> Iterator[str]:
    """The findings as they come; `checked` counts them. A check that fails must not cost the page about what was saved."""
    try:
        for batch in batches:
            for row in batch.to_pylist():
                checked.add(row)
                yield json.dumps(row, ensure_ascii=False)
    except (StoreError, OSError) as error:
        checked.stop(str(error))


def _queue_lines(queues: list[SavedQueue]) -> Iterator[str]:
    for queue in queues:
        times = {"first_stored": queue.first_time, "last_stored": queue.last_time}
        row = {
            "topic": queue.topic,
            "queue_id": queue.queue_id,
            "messages": queue.messages,
            **{name: None if time is None else time.isoformat() for name, time in times.items()},
            "consume_queue": queue.named,
            "saved": queue.runs,
            "missing": queue.gaps,
        }
        yield json.dumps(row, ensure_ascii=False)
