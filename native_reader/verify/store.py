"""What concerns a store as a whole: missing files, the end of the log, checkpoint and configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from native_reader.account.runs import Runs
from native_reader.account.states import Mark
from native_reader.broker.config_files import damaged_files, is_unread, without
from native_reader.broker.consumer_offsets import GroupOffset, offsets_in
from native_reader.broker.databases import faulty_databases
from native_reader.broker.missing_settings import missing_settings
from native_reader.broker.unread import COMPACTED, PACKED, TIERED, Unread
from native_reader.errors import StoreDamaged, UnreadableError
from native_reader.layout.progress import TIMES_SIZE, checkpoint_in
from native_reader.log.dledger import index_of, recovery_of
from native_reader.plan.beside import Sides
from native_reader.plan.lost import Missing
from native_reader.sentences import Said, say, verbatim
from native_reader.sides.index import index_files
from native_reader.sides.index_database import has_rows, index_database
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment
from native_reader.verify.codes import TRUNCATED
from native_reader.verify.findings import Findings
from native_reader.verify.sides import QueueNumbering, last_entry

_NOT_SAID = (TIERED, COMPACTED)
"""Parts that no other finding is about."""


class StorePart(NamedTuple):
    """A store. `lost`: code and offset of what is missing, and what it is, at the end of its log; `gaps`: ranges without a file.

    `queues_unread`: why queues are not checked.
    """

    sides: Sides
    lost: tuple[str, int, Said] | None
    gaps: tuple[Missing, ...]
    stale: int
    queues_unread: Said | None
    has_queues: bool = False
    """Whether the store has queues, read or not."""
    blanks: Mapping[int, int] = {}
    """How many bytes of the missing files were blank, at most, by the start of each gap."""
    unread: tuple[Unread, ...] = ()
    removed: int = 0
    """How many bytes before the log were removed: they cannot have expired."""
    dledger: tuple[Segment, ...] = ()
    """The files of a DLedger log."""


def check_store(part: StorePart, findings: Findings, runs: Runs) -> None:
    """Add what concerns the whole store. `runs`: gets what was not read, and what lies beyond the ends."""
    sides, add = part.sides, findings.add
    _unread(part, runs)
    for gap in part.gaps:
        found = say("no file has", start=gap.start, stop=gap.stop)
        found = found if gap.back is None else say("sentences", first=found, second=gap.back)
        add("log-missing", sides.uri, found, gap.start, last=gap.stop)
    if part.lost is not None:
        code, offset, what = part.lost
        add(code, sides.uri, what, offset)
    if part.removed:
        add("log-removed", sides.uri, say("removed", begin=part.removed), 0, last=part.removed)
    if part.stale:
        add("log-old-records", sides.uri, say("old records", bytes=part.stale), sides.end)
    if part.queues_unread is not None:
        add("queue-not-checked", sides.uri, part.queues_unread)
    database = index_database(sides.uri)
    if database is not None and has_rows(database):
        add("index-not-checked", database, Said("no index in database"))
    elif not index_files(sides.index):
        add("index-not-checked", sides.uri, Said("no index files"))
    if not sides.is_live and storage_of(sides.uri).entry(f"{sides.uri}/abort") is not None:
        add("broker-crashed", f"{sides.uri}/abort", Said("abort exists"))
    _databases(sides, findings)
    if part.dledger and not sides.is_live:
        _dledger(part, findings)
    for each in part.unread:
        if each.what in _NOT_SAID:
            add("part-not-read" if each.is_loss else "copy-not-read", each.where, each.why, count=each.messages or 1)
    _checkpoint(sides, findings)
    _config(sides, findings, runs, {each.where for each in part.unread})


def _unread(part: StorePart, runs: Runs) -> None:
    """What the account knows nothing of: missing files, and parts that are not read."""
    uri = part.sides.uri
    for gap in part.gaps:
        mark = Mark.GAP_BYTES if gap.back is None else Mark.UNREAD
        size = gap.stop - gap.start - part.blanks.get(gap.start, 0)
        runs.one(mark, size=size, offsets=(gap.start, gap.stop - 1), file=uri)
    if part.removed:
        runs.one(Mark.REMOVED_FILE, size=part.removed, offsets=(0, part.removed - 1), file=uri)
    if part.queues_unread is not None and part.has_queues:
        runs.one(Mark.UNREAD, file=uri)
    for each in part.unread:
        if each.is_loss and each.what != PACKED:  # a gap of the log
            runs.one(Mark.UNREAD, messages=each.messages or 0, size=each.bytes or 0, file=each.where)


def _dledger(part: StorePart, findings: Findings) -> None:
    """Where a DLedger broker would cut its log, and what its index has otherwise. The heads of all entries are read for that."""
    found, kept = recovery_of(part.dledger, whole=True), recovery_of(part.dledger)
    if found.reindexed is not None:
        findings.add("dledger-index", index_of(part.dledger), say("dledger index differs", number=found.reindexed))
    if kept.end < part.sides.end and (lost := part.sides.end - kept.end):
        kind = "dledger start exits" if kept.exits else "dledger start cuts"
        segment = next((each for each in part.dledger if kept.end <= each.end), part.dledger[-1])
        findings.add(TRUNCATED, segment.uri, say(kind, offset=kept.end, bytes=lost), kept.end)


def _databases(sides: Sides, findings: Findings) -> None:
    for database in faulty_databases(sides.uri, sides.config):
        if database.early is not None:
            findings.add("database-ends-early", database.uri, database.early)
        if database.found is not None and not database.is_extra_missing:
            findings.add("database-unreadable", database.uri, verbatim(database.found))
        elif database.found is not None and sides.config is not None and database.uri.startswith(sides.config):
            findings.add("config-not-checked", database.uri, verbatim(database.found))


def _checkpoint(sides: Sides, findings: Findings) -> None:
    uri = f"{sides.uri}/checkpoint"
    try:
        with storage_of(uri).open(uri) as file:
            (content,) = file.read_ranges([(0, TIMES_SIZE)])
    except OSError:
        content = b""
    times = checkpoint_in(content).times
    if len(content) < TIMES_SIZE:
        findings.add("checkpoint-missing", uri, say("short checkpoint", size=len(content), expected=TIMES_SIZE))
    elif min(times) < 0:
        findings.add("checkpoint-missing", uri, Said("negative time"))
    elif not any(times) and sides.end > sides.begin:
        findings.add("checkpoint-missing", uri, Said("no times"))


def _config(sides: Sides, findings: Findings, runs: Runs, unread: Collection[str]) -> None:
    """`unread`: what the account has already."""
    if sides.config is None:
        return
    for uri, problem in damaged_files(sides.config):
        findings.add("part-not-read" if is_unread(problem) else "config-damaged", uri, problem)
        if is_unread(problem) and uri not in unread:
            runs.one(Mark.UNREAD, file=uri)
    queues = QueueNumbering(sides)
    for name in missing_settings(sides.config, lambda: {each.topic for each in queues.all if last_entry(each, sides.end) is not None}):
        findings.add("config-missing", f"{sides.config}/{name}", without(name, say("file gone", name=name)))
    try:
        offsets = offsets_in(sides.config)
    except (StoreDamaged, UnreadableError):  # the file or database has a finding of its own
        return
    _consumer_offsets(offsets, queues, sides, findings, runs)


def _consumer_offsets(offsets: Iterable[GroupOffset], queues: QueueNumbering, sides: Sides, findings: Findings, runs: Runs) -> None:
    """Consumers must not be ahead of their queues: they would miss messages until the queue is there."""
    ends = dict[int, int | None]()
    for offset in offsets:
        number = None if offset.queue_id is None else queues.numbers.get((offset.topic, offset.queue_id))
        if number is None or offset.committed is None:
            continue
        if number not in ends:
            last = last_entry(queues.all[number], sides.end)
            ends[number] = None if last is None else last[1]
        end = ends[number]
        if end is not None and offset.committed > end:
            queue = queues.all[number]
            names = {"group": str(offset.group), "topic": queue.topic}
            ahead = say("group ahead", **names, committed=offset.committed, queue=queue.queue_id, end=end)
            findings.add("offset-after-queue", offset.file, ahead, topic=queue.topic, queue_id=queue.queue_id)
            place, beyond = (queue.topic, queue.queue_id), (end, offset.committed)
            runs.one(Mark.GROUP_OFFSET, place, numbers=beyond, messages=offset.committed - end, file=offset.file)
