"""The account of an export: what each task wrote, and what was read, damaged and missing in all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from native_reader.errors import ExportError
from native_reader.export.manifest import ExportRequest
from native_reader.export.target import Target, open_exported
from native_reader.export.writers import ExportedFile
from native_reader.plan.lost import Missing
from native_reader.records.damages import CHECKSUM, Damage, Damages, Report, SegmentReport
from native_reader.sentences import say

SUMMARY, DAMAGE, TASKS = "_summary.json", "_damage.jsonl", "_parts"
CLASSES = ("record_bytes", "blank_bytes", "damage_bytes", "unwritten_bytes", "stale_bytes", "unread_bytes")
"""Together they are the size of the log."""


class TaskRecord(NamedTuple):
    """What one task wrote and read. `cut`: the values of folders whose names are cut."""

    files: Sequence[ExportedFile]
    report: Report
    cut: Mapping[str, str]


def record_name(task: int) -> str:
    """The file for the record of a task. When it exists, the task is complete, except for the final names of its files."""
    return f"{TASKS}/{task_name(task)}.jsonl"


def task_name(task: int) -> str:
    """The name of a task and the start of the names of its files."""
    return f"part-{task:05}"


def save_record(target: Target, task: int, record: TaskRecord) -> None:
    """Write the record of a task: first its counts, then a line for each damaged range."""
    target.write_text(record_name(task), _lines(record))


def _lines(record: TaskRecord) -> Iterator[str]:
    report = record.report
    counts = {
        "files": [asdict(file) for file in record.files],
        "cut": dict(record.cut),
        "rows": report.rows,
        "bytes_read": report.bytes_read,
        "segments": [asdict(segment) for segment in report.segments],
        "scanned": report.scanned,
    }
    yield json.dumps(counts, ensure_ascii=False)
    for each in report.damage:
        yield json.dumps(asdict(each), ensure_ascii=False)


def saved_record(target: Target, task: int) -> TaskRecord | None:
    """The record of a task; None if the task is not complete."""
    name = record_name(task)
    if target.size(name) is None:
        return None
    lines = target.lines(name)
    try:
        counts = json.loads(next(lines))
        report = Report(
            tuple(SegmentReport(**segment) for segment in counts["segments"]),
            Damages.of(Damage(**json.loads(line)) for line in lines),
            counts["rows"],
            counts["bytes_read"],
            tuple(counts["scanned"]),
        )
        return TaskRecord([ExportedFile(**file) for file in counts["files"]], report, counts["cut"])
    except (ValueError, TypeError, LookupError, StopIteration) as error:
        raise ExportError(say("account damaged", path=target.path, name=name)) from error


@dataclass(frozen=True, slots=True, repr=False)
class Exported:
    """A complete export: its files, the account of every byte of the log, and what no file of the log holds.

    Attributes:
        path: The folder.
        request: What was exported: the options as they were checked.
        ends: The end of the log of each store, by URI.
        files: The files, each with its name, its rows and its bytes.
        report: The account of every byte of the log, and the damage.
        missing: The ranges of the log that no file holds.
        cut: The values of folders whose names had to be cut, by name.
        stores: The store of each segment that was read, by their URIs.

    Examples:
        >>> exported = store.messages(topic="orders").export("out")
        >>> exported.rows, exported.is_damaged
        (122, False)
        >>> exported.to_dict()["damaged_ranges"]
        0
    """

    path: str
    request: ExportRequest
    ends: Sequence[tuple[str, int]]
    files: Sequence[ExportedFile]
    report: Report
    missing: Sequence[Missing]
    cut: Mapping[str, str]
    stores: Mapping[str, str]

    def __repr__(self) -> str:
        damage = f", damaged or missing ranges: {len(self.report.damage) + len(self.missing):,}" if self.is_damaged else ""
        return f"<Exported {self.path}: rows: {self.rows:,}, files: {len(self.files):,}, bytes: {self.bytes:,}{damage}>"

    @property
    def rows(self) -> int:
        """The number of rows in the files."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(file.bytes for file in self.files)

    @property
    def is_damaged(self) -> bool:
        """Whether a part of the log is damaged or missing."""
        return bool(len(self.report.damage) or self.missing)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read columns of all rows back from the files of a Parquet export.

        Args:
            columns: The names of the columns.

        Raises:
            OSError: A file is missing, or is not a Parquet file.
        """
        from pyarrow import parquet

        for file in self.files:
            with open_exported(self.path, file.name) as source, parquet.ParquetFile(source) as reader:
                yield from reader.iter_batches(columns=list(columns))

    def to_dict(self) -> dict[str, Any]:
        """Build the content of `_summary.json`."""
        segments, damage = self.report.segments, self.report.damage
        failed = sum(each.reason == CHECKSUM for each in damage)
        sizes = {name: sum(getattr(segment, name) for segment in segments) for name in CLASSES}
        return {
            "rows": self.rows,
            "files": len(self.files),
            "bytes": self.bytes,
            "bytes_read": self.report.bytes_read,
            "log": {"size": sum(segment.size for segment in segments), "records": sum(segment.records for segment in segments), **sizes},
            "damaged_ranges": len(damage) - failed,
            "wrong_checksums": failed,
            "missing_ranges": len(self.missing),
            "ends": dict(self.ends),
            "cut_names": dict(self.cut),
            "request": dict(self.request),
            "segments": [asdict(segment) | {"unread_bytes": segment.unread_bytes} for segment in segments],
        }

    def damage_rows(self) -> Iterator[dict[str, Any]]:
        """Build the lines of `_damage.jsonl`, with the columns of the table `damage`."""
        for each in self.report.damage:
            yield _row(self.stores.get(each.segment), each.start, each.end, each.reason, each.description) | {
                "segment": each.segment,
                "record_before": each.before,
                "record_after": each.after,
            }
        for missing in self.missing:
            yield _row(missing.store, missing.start, missing.stop, missing.reason, missing.description)


def _row(store: str | None, start: int, stop: int, reason: str, found: str) -> dict[str, Any]:
    row = {"store": store, "segment": None, "start_offset": start, "end_offset": stop, "bytes": stop - start, "reason": reason}
    return row | {"found": found, "record_before": None, "record_after": None}


def save_account(target: Target, exported: Exported) -> None:
    """Write the damage, then the summary. When the summary exists, the export is complete."""
    target.write_text(DAMAGE, (json.dumps(row, ensure_ascii=False) for row in exported.damage_rows()))
    target.write_text(SUMMARY, [json.dumps(exported.to_dict(), ensure_ascii=False, indent=2)])


def all_reports(records: Iterable[TaskRecord], idle: Sequence[SegmentReport]) -> Report:
    """One account of all tasks, and of the segments that none of them read."""
    return Report.merged([Report(tuple(idle)), *(record.report for record in records)])
