"""Runs an export: its tasks one by one or several in parallel, each complete or not at all.

The order on the disk makes it safe to stop at any moment. A task writes its files under temporary names. Then its record, which
lists them, appears under its final name: from there on the task counts. Then its files get their final names. An export that
continues first gives the files of all recorded tasks their names, and deletes other temporary files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace

import pyarrow as pa

from native_reader.columns.projection import Projection
from native_reader.errors import ExportError, OptionError, StoreError, shown
from native_reader.export.account import (
    SUMMARY,
    Exported,
    TaskRecord,
    all_reports,
    save_account,
    save_record,
    saved_record,
    task_name,
)
from native_reader.export.formats import FORMATS, TEXT_FORMATS
from native_reader.export.manifest import NAME, ExportRequest, Manifest, check_same, manifest_of, request_of, save, saved
from native_reader.export.partitions import partitioning_of
from native_reader.export.target import Content, Target
from native_reader.export.writers import FileShape, TaskFiles
from native_reader.plan.plan import Plan, Wanted
from native_reader.plan.planning import Planning
from native_reader.plan.split import Split
from native_reader.predicate.sql import moment_zone
from native_reader.predicate.tree import Predicate
from native_reader.records.damages import Report
from native_reader.scan.progress import Meter, PartMeter, Watch
from native_reader.scan.read import Reading, Shared, tell_again
from native_reader.sentences import Said, commas, meant, say, told
from native_reader.storage.local import LocalPath
from native_reader.storage.store import StoreFiles

_LOOK = 0.1
"""Seconds between two reports of a task that is not complete."""


@dataclass(frozen=True, slots=True)
class WantedExport:
    """The rows of an export: those of a scan. `plan` is called only if the export has not begun before."""

    stores: tuple[StoreFiles, ...]
    predicate: Predicate
    projection: Projection
    planning: Planning
    zone: str | None
    plan: Callable[[], Plan]


def export(
    wanted: WantedExport,
    path: LocalPath,
    *,
    to: str = "parquet",
    partition_by: str | Sequence[str] = (),
    compression: str | None = None,
    text_bodies: bool = False,
    jobs: int = 1,
    progress: Watch = False,
) -> Exported:
    """Begin an export, or continue it where it was stopped."""
    shape = _shape(wanted, to, partition_by, compression, text_bodies)
    files = {
        "to": shape.to,
        "partition_by": list(shape.partitioning.names),
        "compression": shape.compression,
        "text_bodies": shape.text_bodies,
        "time_zone": wanted.zone,
    }
    request = request_of(wanted.stores, wanted.predicate, wanted.projection, wanted.planning, files)
    target = Target(path, wanted.stores)
    try:
        with target:
            return _Export(wanted, shape, request, target).run(jobs, progress)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise ExportError(say("export not written", path=target.path, why=told(error))) from error


def _shape(wanted: WantedExport, to: str, partition_by: str | Sequence[str], compression: str | None, text_bodies: bool) -> FileShape:
    if not isinstance(to, str) or to not in FORMATS:
        near = meant(to, FORMATS) if isinstance(to, str) else Said("nothing")
        raise OptionError(say("no format", format=shown(to), near=near, formats=commas(FORMATS)))
    possible = FORMATS[to].compressions
    if compression is not None and compression not in possible:
        raise OptionError(say("no such compression", compression=shown(compression), format=to, possible=commas(possible)))
    if text_bodies and to not in TEXT_FORMATS:
        raise OptionError(Said("text bodies only"))
    partitioning = partitioning_of(partition_by, None if wanted.zone is None else moment_zone(wanted.zone))
    name = wanted.projection.column_name_of_corrupt_record
    if name in partitioning.names:
        raise OptionError(say("corrupt is partition", name=name))
    schema = pa.schema([field for field in wanted.projection.schema if field.name not in partitioning.names])
    if not len(schema):
        raise OptionError(Said("all columns partition"))
    return FileShape(to, possible[0] if compression is None else compression, bool(text_bodies), partitioning, schema)


class _Export:
    """One run of an export, from its beginning or from where an earlier one stopped."""

    def __init__(self, wanted: WantedExport, shape: FileShape, request: ExportRequest, target: Target) -> None:
        self._wanted, self._shape, self._request, self._target = wanted, shape, request, target
        columns = wanted.projection.columns
        more = [name for name in shape.partitioning.sources if name not in columns]
        self._projection = replace(wanted.projection, columns=(*columns, *dict.fromkeys(more)))
        self._of_plan = Wanted(wanted.predicate, wanted.predicate)
        self._shared = Shared()
        self._stopped = threading.Event()

    def run(self, jobs: int, progress: Watch) -> Exported:
        """Do the tasks that are left, then write the account."""
        manifest = self._manifest()
        records = self._settled(manifest)
        for each in () if self._projection.has_damage_rows else records.values():
            tell_again(each.report)
        left = {task: splits for task, splits in enumerate(manifest.tasks) if task not in records}
        work = {task: sum(split.work for split in splits) for task, splits in left.items()}
        with Meter(progress, sum(work.values())) as meter:
            parts = {task: meter.part(size) for task, size in work.items()}
            with closing(self._done(left, parts, jobs, meter.look)) as done:
                for task, record in done:
                    records[task] = record
                    parts[task].end(record.report.rows)
        return self._finished(manifest, [records[task] for task in sorted(records)])

    def _manifest(self) -> Manifest:
        begun = saved(self._target)
        if begun is not None:
            check_same(self._target, begun.request, self._request)
            return begun
        self._refuse_other_files()
        plan = self._wanted.plan()
        # A continued export reads without it: the splits are the same, so are the rows.
        self._of_plan = plan.wanted
        manifest = manifest_of(self._request, plan)
        save(manifest, self._target)
        return manifest

    def _refuse_other_files(self) -> None:
        """Only an empty folder, or one where an export was stopped before it began, may be filled."""
        if self._target.other_names() or set(self._target.temporaries()) - {NAME}:
            raise OptionError(say("folder with other files", path=self._target.path))

    def _settled(self, manifest: Manifest) -> dict[int, TaskRecord]:
        """The records of complete tasks. Gives their files their names, and deletes what other tasks left."""
        temporaries, records = set(self._target.temporaries()), dict[int, TaskRecord]()
        for task in range(len(manifest.tasks)):
            record = saved_record(self._target, task)
            if record is None:
                continue
            self._publish(record, temporaries)
            for file in record.files:
                if self._target.content(file.name) != Content(file.bytes, file.checksum):
                    place = f"{self._target.path}/{file.name}"
                    raise ExportError(say("export changed", place=place))
            temporaries -= {file.temporary for file in record.files}
            records[task] = record
        for temporary in temporaries:
            self._target.discard(temporary)
        return records

    def _publish(self, record: TaskRecord, temporaries: set[str]) -> None:
        self._target.publish((file.temporary, file.name) for file in record.files if file.temporary in temporaries)

    def _done(
        self, tasks: Mapping[int, Sequence[Split]], parts: Mapping[int, PartMeter], jobs: int, meanwhile: Callable[[], None]
    ) -> Generator[tuple[int, TaskRecord], None, None]:
        """Do these tasks. Yields each when it is complete. Calls `meanwhile` from time to time while it waits for others."""
        if jobs == 1 or len(tasks) < 2:
            for task, splits in tasks.items():
                yield task, self._do(task, splits, parts[task])
            return
        with ThreadPoolExecutor(jobs) as threads:
            running = {threads.submit(self._do, task, splits, parts[task]): task for task, splits in tasks.items()}
            try:
                left = set(running)
                while left:
                    complete, left = wait(left, _LOOK, FIRST_COMPLETED)
                    meanwhile()
                    for each in complete:
                        yield running[each], each.result()
            finally:  # after an error or Ctrl-C, the others stop after their current batch
                self._stopped.set()
                threads.shutdown(cancel_futures=True)

    def _do(self, task: int, splits: Sequence[Split], part: PartMeter) -> TaskRecord:
        """Read the splits of a task and write its files."""
        files, reports = TaskFiles(self._target, self._shape, task_name(task)), list[Report]()
        projection = replace(self._projection, advanced=part.advance)
        try:
            if task == 0 and not self._shape.partitioning.names:
                files.write(_no_rows(self._projection.schema))  # an export without rows still has a file with the columns
            for split in splits:
                reading = Reading(split, projection, self._of_plan, self._shared)
                for batch in reading:
                    if self._stopped.is_set():
                        raise _Stopped
                    files.write(batch)
                reports.append(reading.report)
            written = files.close()
        except BaseException:
            files.abandon()
            raise
        record = TaskRecord(written, Report.merged(reports), files.cut)
        save_record(self._target, task, record)
        self._publish(record, {file.temporary for file in written})
        return record

    def _finished(self, manifest: Manifest, records: Sequence[TaskRecord]) -> Exported:
        cut: Mapping[str, str] = {name: value for record in records for name, value in record.cut.items()}
        exported = Exported(
            self._target.path,
            manifest.request,
            manifest.ends,
            [file for record in records for file in record.files],
            all_reports(records, manifest.idle),
            manifest.missing,
            cut,
            manifest.stores,
        )
        if self._target.size(SUMMARY) is None:
            save_account(self._target, exported)
        self._target.remove_temporary_folder()
        return exported


class _Stopped(Exception):
    """Another task failed, or the user stopped the export."""


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)
