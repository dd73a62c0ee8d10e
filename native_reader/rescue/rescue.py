"""Rescues a store: exports what can be read, checks the rest, and writes the page about both."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from native_reader.account.account import Account
from native_reader.broker.tier_files import queues_of_tier
from native_reader.columns.schema import COLUMNS as MESSAGE_COLUMNS
from native_reader.doctor import LOG, diagnose
from native_reader.errors import ExportError, OptionError, StoreError, UnreadableError, Warned, warn
from native_reader.export.account import Exported
from native_reader.export.target import Target
from native_reader.lazy import Scan, TableScan
from native_reader.log.misnamed import under_right_names
from native_reader.lost.lost import write_rescued
from native_reader.markdown import Document, lines_of
from native_reader.options import LENIENT, MessageOptions
from native_reader.plan.keys import at_offsets
from native_reader.records.damages import CHECKSUM, Damages
from native_reader.rescue.kept import FOLDER, KeptParts
from native_reader.rescue.page import MOST, RescueFacts, page_of, shown_losses
from native_reader.rescue.saved import COLUMNS, Around, SavedQueue, SavedQueues
from native_reader.scan.progress import Watch
from native_reader.sentences import ENGLISH, Said, say, told, verbatim
from native_reader.start import Start, answer_for
from native_reader.storage.local import LocalPath
from native_reader.storage.store import StoreFiles, past_failures
from native_reader.tables import TABLES
from native_reader.tables.account import with_account
from native_reader.verify.findings import FirstFindings

MESSAGES, PAGE, QUEUES, FINDINGS, ACCOUNT = "messages", "rescue.md", "queues.jsonl", "findings.jsonl", "account.jsonl"
TIERED = "tiered"
"""What only the tier has, as another export."""
DOUBTFUL = "doubtful"
"""Whole records with wrong checksums, as another export."""
LOST = "lost"
"""The folder for the owners of topics, if messages are lost."""
HTML_PAGE = "rescue.html"
"""Only the command writes it; a rescue without it removes the one that is there, because it would describe an earlier run."""
_MADE = {MESSAGES, TIERED, DOUBTFUL, PAGE, HTML_PAGE, QUEUES, FINDINGS, ACCOUNT, LOST, FOLDER}
Write = Callable[[Document], Iterable[str]]
"""Writes the lines of a page."""
_LEFT_OUT = ("stored_body", "body_text", "corrupt_record", "corrupt_reason")
SAVED_COLUMNS = tuple(name for name in MESSAGE_COLUMNS if name not in _LEFT_OUT)
"""All columns, without those that repeat bodies or describe damage."""
_MOST_WARNINGS = 100
_ROWS = 8192
_log = logging.getLogger("native_reader")


@dataclass(frozen=True, slots=True)
class Rescued:
    """What a rescue saved, and how much is missing or wrong.

    Attributes:
        path: The folder.
        page: The path of the page about what was saved and lost.
        exported: The export of the messages.
        doubtful: The export of those whose checksum is wrong; None if there are none.
        account: In which state each message is; None if the check did not reach its end.
        problems: How many errors and warnings the check found.
        start: Whether a broker may be started.
        tiered: The export of what only tiered storage has; None if there is none on a disk.

    Examples:
        >>> rmqstore.open("store").rescue("whole").is_whole
        True
    """

    path: str
    page: str
    exported: Exported
    account: Account | None
    problems: int
    start: Start | None = None
    doubtful: Exported | None = None
    tiered: Exported | None = None

    @property
    def missing(self) -> int:
        """How many messages are known to be lost."""
        return 0 if self.account is None else self.account.lost

    @property
    def is_whole(self) -> bool:
        """Whether everything was looked at, and nothing is lost or wrong."""
        is_complete = self.account is not None and self.account.is_whole
        return is_complete and not (self.exported.is_damaged or self.problems or (self.start is not None and self.start.is_against))


def rescue(
    files: StoreFiles, path: LocalPath, *, jobs: int = 1, progress: Watch = False, max_read_rate: int | str | None = None,
    reserved_hours: int, language: str = ENGLISH, html: Write | None = None,
) -> Rescued:  # fmt: skip
    """Write all readable messages, and a page about what was saved and lost, to the folder `path`. `Store.rescue` says more.

    `reserved_hours`: after them, a broker deletes a segment.
    """
    files = past_failures(files)
    warned, folder = Warned(_MOST_WARNINGS), Target(path, (files,))
    try:
        with warned, folder:
            if others := set(folder.other_names()) - _MADE:
                raise OptionError(say("folder not empty", path=folder.path, name=min(others)))
            reading: dict[str, Any] = {} if max_read_rate is None else {"max_read_rate": max_read_rate}
            kept, running = KeptParts(folder, files), {"jobs": jobs, "progress": progress}
            found = _rescue(files, folder, reading, running, warned, kept=kept, reserved_hours=reserved_hours, language=language)
            _write_pages(folder, page_of(found), language, html)
            kept.remove()
            folder.remove_temporary_folder()
            return _result(folder, found)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise ExportError(say("rescue not written", path=folder.path, why=told(error))) from error


def _rescue(
    files: StoreFiles,
    folder: Target,
    reading: dict[str, Any],
    running: dict[str, Any],
    warned: Warned,
    *,
    kept: KeptParts,
    reserved_hours: int,
    language: str,
) -> RescueFacts:
    diagnosis = diagnose(files, {"ignore_missing_files": True, **reading}, None)  # asked at the end, when all damage is known
    lenient = {**LENIENT, "ignore_missing_files": True, "verify_crc": True}
    named = under_right_names(files)
    messages = Scan((named.files,), MessageOptions(columns=SAVED_COLUMNS, **lenient, **reading))
    exported = messages.export(f"{folder.path}/{MESSAGES}", **running)
    doubtful = _export_doubtful(folder, named.files, exported, {**lenient, **reading, "verify_crc": False}, running)
    tiered = _export_tiered(folder, named.files, {**lenient, **reading}, running)
    checked, accounts = FirstFindings(MOST), list[Account]()
    of_check = reading
    if tiered is not None:
        of_check = {**reading, "tiered": True}
        diagnosis.tier_is_read()
    check = _table(files, "findings", of_check).of_table(kept.of(with_account(accounts.append)))
    folder.write_text(FINDINGS, _finding_lines(check.to_batches(**running), checked))
    account = accounts[0] if accounts else None
    folder.write_text(ACCOUNT, _json_lines([] if account is None else account.table.to_batches(_ROWS)))
    _write_lost(folder, files, account, exported, reading, language=language)
    saved, losses = SavedQueues(), shown_losses(exported)
    surroundings = Around(losses)
    for batch in exported.batches((*COLUMNS, "physical_offset")):  # read back, so the page describes the files
        saved.add(batch)
        surroundings.add(batch)
    queues = list(saved.queues())
    folder.write_text(QUEUES, _queue_lines(queues))
    warnings = [each if isinstance(each, Said) else verbatim(text) for text, each in zip(warned.texts, warned.said, strict=True)]
    start = None
    if LOG in diagnosis.facts:
        # A broker goes by the names of files.
        end, damage = dict(exported.ends)[files.uri], None if named.misnamed else Damages.of(exported.report.damage)
        counts = damage is not None and account is not None and not account.is_whole
        start = answer_for(files, end, reserved_hours, reading.get("max_read_rate"), damage, checksums=damage is not None, counts=counts)
    return RescueFacts(
        *(files, folder.path, diagnosis, exported, doubtful, tiered, queues, account, checked, losses, surroundings, warnings, start),
        datetime.now(UTC),
    )


def _export_doubtful(
    folder: Target, files: StoreFiles, exported: Exported, options: dict[str, Any], running: dict[str, Any]
) -> Exported | None:
    """Write apart what is whole but for a wrong checksum: what is in its body may not be what was sent."""
    folder.remove_folder(DOUBTFUL)  # of an earlier run
    damage = Damages.of(exported.report.damage)
    frames = {segment.uri: segment.frame for segment in files.segments}
    offsets = [each.start + frames[each.segment] for each in damage.where(damage.are(CHECKSUM))]
    if not offsets:
        return None
    messages = Scan((files,), MessageOptions(columns=SAVED_COLUMNS, **options), at_offsets(offsets))
    return messages.export(f"{folder.path}/{DOUBTFUL}", jobs=running["jobs"])


def _export_tiered(folder: Target, files: StoreFiles, options: dict[str, Any], running: dict[str, Any]) -> Exported | None:
    """Write apart what only the tier of the store has, if its files are on a disk."""
    try:
        queues_of_tier(files, None)
    except OptionError:
        folder.remove_folder(TIERED)  # of an earlier run
        return None
    messages = Scan((files,), MessageOptions(columns=SAVED_COLUMNS, tiered=True, where="tiered = TRUE", **options))
    return messages.export(f"{folder.path}/{TIERED}", **running)


def _write_lost(
    folder: Target, files: StoreFiles, account: Account | None, exported: Exported, reading: dict[str, Any], *, language: str
) -> None:
    """What each team lost. If something cannot be read for it, the rescue goes on."""
    folder.remove_folder(LOST)  # of an earlier run
    if account is None or account.is_whole:
        return
    try:
        write_rescued(folder, LOST, files, account=account, exported=exported, reading=reading, language=language)
    except UnreadableError as error:
        folder.remove_folder(LOST)
        warn(_log, say("owners not written", path=folder.path, why=told(error)))


def _write_pages(folder: Target, page: Document, language: str, html: Write | None) -> None:
    """PAGE is the last: where it is, the rescue is complete."""
    if html is None:
        folder.remove(HTML_PAGE)
    else:
        folder.write_text(HTML_PAGE, html(page))
    folder.write_text(PAGE, lines_of(page, language))


def _result(folder: Target, found: RescueFacts) -> Rescued:
    return Rescued(
        folder.path, f"{folder.path}/{PAGE}", found.exported, found.account, found.checked.faults, found.start, found.doubtful, found.tiered
    )


def _table(files: StoreFiles, name: str, options: dict[str, Any]) -> TableScan:
    return TableScan(TABLES[name], (files,), MessageOptions(**options))


def _finding_lines(batches: Iterable[pa.RecordBatch], checked: FirstFindings) -> Iterator[str]:
    """The findings as they come; `checked` counts them. A check that fails must not cost the page about what was saved."""
    try:
        for batch in batches:
            checked.add(batch)
            yield from _json_lines([batch])
    except (StoreError, OSError) as error:
        checked.error = str(error)


def _json_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        yield from (json.dumps(row, ensure_ascii=False, default=datetime.isoformat) for row in batch.to_pylist())


def _queue_lines(queues: list[SavedQueue]) -> Iterator[str]:
    for queue in queues:
        times = {"first_stored": queue.first_time, "last_stored": queue.last_time}
        row = {
            "topic": queue.topic,
            "queue_id": queue.queue_id,
            "messages": queue.messages,
            **{name: None if time is None else time.isoformat() for name, time in times.items()},
        }
        yield json.dumps(row, ensure_ascii=False)
