"""Whether it is safe to start a broker on a store: the answer, with its reasons, from what a broker does when it starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import time_ns
from typing import Any

from native_reader.broker.config_files import has_file
from native_reader.broker.databases import has_settings
from native_reader.broker.versions import oldest_version
from native_reader.checks import Size, whole
from native_reader.log.dledger import dledger_segments
from native_reader.log.recovery import first_store_time, is_controlled
from native_reader.options import MessageOptions
from native_reader.records.damages import Damages
from native_reader.sentences import ENGLISH, Said, say
from native_reader.start.after import After, AfterStart, QueueFiles, waits_at, without_queues
from native_reader.start.dledger import dledger_reasons, recovery_by_dledger, refused_by_dledger
from native_reader.start.lines import Line, line_of, lines_since, span_of
from native_reader.start.loading import Refusals
from native_reader.start.reasons import CUT, EXPIRED, Cause, Harm, Reason, by_line, cause
from native_reader.start.recovered import RecoveredLog, queued_of
from native_reader.storage.broker_conf import LONGEST, reserved_hours
from native_reader.storage.paths import uri_of
from native_reader.storage.store import StoreFiles
from native_reader.text import size_of
from native_reader.verify.removed import RESERVED
from native_reader.witness import Witnesses, look_at
from native_reader.witness.contradiction import UNLISTED
from native_reader.witness.entries import Sample

NO, BETTER_NOT, BUT, SO_FAR, YES, UNKNOWN = "no", "better not", "yes, but", "nothing against it", "yes", "unknown"
OUTCOMES = NO, BETTER_NOT, BUT, SO_FAR, YES, UNKNOWN
"""BETTER_NOT: it would start, and lose messages, or only some versions would start. SO_FAR: nothing speaks against it in the part of the
log that was read."""


@dataclass(frozen=True, slots=True)
class Start:
    """The answer.

    Attributes:
        outcome: One of OUTCOMES.
        reasons: The worst first.
        lines: The brokers that it is for. What only a later one can have written is not for an earlier one.
        unread_before: The log before this offset was not looked at.
        is_partial: Whether there is a log before it.
        share: How much of the log was read, in percent, rounded down.
        after: What each line would have after the start, as far as that is known.
    """

    outcome: str
    reasons: tuple[Reason, ...]
    lines: tuple[Line, ...]
    unread_before: int = 0
    is_partial: bool = False
    share: int = 100
    after: tuple[tuple[Line, After], ...] = ()

    @property
    def is_all_well(self) -> bool:
        """Whether nothing speaks against a start, nor for a look at the rest of the log first."""
        return self.outcome in (YES, BUT) and not self.is_partial

    @property
    def loses(self) -> bool:
        """Whether a start would lose messages that are not merely old."""
        return _loses(self.reasons)

    @property
    def is_against(self) -> bool:
        """Whether it is better not to start a broker, or nothing is known about that."""
        return self.outcome in (NO, BETTER_NOT, UNKNOWN)

    @property
    def deleted(self) -> int:
        """How many messages it would delete by cutting the log, in the worst case."""
        cuts = (dict(each.cause.values)["messages"] for each in self.reasons if each.cause.kind == CUT)
        return max((count for count in cuts if isinstance(count, int)), default=0)

    def to_dict(self) -> dict[str, Any]:
        """The answer for programs."""
        reasons = [
            {"reason": each.cause.kind, **dict(each.cause.values), "versions": span_of(each.lines or self.lines)} for each in self.reasons
        ]
        asked = {"answer": self.outcome, "reasons": reasons, "unread_before": self.unread_before, "read_percent": self.share}
        return asked | {"after": list(_by_result(self.after))}


_COUNTS = "whole", "served", "moved", "unreachable", "deleted", "reused"
_MOST_QUEUES = 1000
"""So many queues are named that are not served whole."""
_MOST_COUNTED = 2000
"""Of a small log, what consumers get is counted if it has up to so many queues: else that takes longer than all other looks."""


def _by_result(after: Iterable[tuple[Line, After]]) -> Iterator[dict[str, Any]]:
    """The results for programs: versions with the same one together, and only queues that are not served whole."""
    lines: dict[After, list[Line]] = {}
    for line, each in after:
        lines.setdefault(each, []).append(line)
    for each, own in lines.items():
        yield {"versions": span_of(own), **_counts(each), "second": None if each.second is None else _counts(each.second)}


def _counts(after: After) -> dict[str, Any]:
    queues = [queue for queue in after.queues if queue.served < queue.whole or queue.reused][:_MOST_QUEUES]
    named = [{"topic": queue.topic, "queue": queue.queue_id} | {name: getattr(queue, name) for name in _IN_QUEUES} for queue in queues]
    return {"log_end": after.cut, **{name: after.total(name) for name in _COUNTS}, "queues": named}


_IN_QUEUES = "begin", "end", *_COUNTS


def answer_for(
    files: StoreFiles,
    end: int,
    reserved_hours: int,
    max_read_rate: Size | None,
    damage: Damages | None = None,
    *,
    checksums: bool = False,
    now: int | None = None,
    witnesses: Witnesses | None = None,
    samples: Sequence[Sample] | None = None,
    reads_log: bool = True,
    version: str | None = None,
    counts: bool = False,
) -> Start:
    """The answer as each command gives it: for all versions that the store can be of, or for the one that is asked for.

    `reserved_hours`: see `reserved_of`. `max_read_rate`: as the option. `now`: by default the current time. `witnesses`: of the store, if
    they are known. `samples`: of its queues, if they were looked at before. `reads_log`: whether a small log is read whole for them.
    `version`: of the broker. The others: see `may_start`.
    """
    lines = lines_since(oldest_version(files)[0] or "0") if version is None else (line_of(version),)
    rate = MessageOptions(max_read_rate=max_read_rate).projection().max_read_rate
    moment = time_ns() // 1_000_000 if now is None else now
    if witnesses is None:
        witnesses = look_at(files, end, reserved_hours, rate, samples, reads_log=reads_log)
    settings: dict[str, Any] = {"checksums": checksums, "now": moment, "reserved_hours": reserved_hours, "max_read_rate": rate}
    return may_start(files, lines, end, damage, witnesses=witnesses, counts=counts, **settings)


def may_start(
    files: StoreFiles,
    lines: Sequence[Line],
    end: int,
    damage: Damages | None = None,
    *,
    checksums: bool = False,
    now: int,
    reserved_hours: int,
    max_read_rate: int | None = None,
    witnesses: Witnesses | None = None,
    counts: bool = False,
) -> Start:
    """Whether a broker may be started on a store, and what it would do.

    Args:
        files: The store.
        lines: The versions that are asked for.
        end: Where its log ends.
        damage: All damage of the log, if it was read; else only what a broker would check is read.
        checksums: Whether `damage` has all bodies with a wrong checksum. Else those are looked for where a broker does.
        now: In milliseconds since 1970: segments expire by it.
        reserved_hours: `fileReservedTime` of the broker.
        max_read_rate: The maximum number of bytes per second.
        witnesses: What contradicts, from a look at each file.
        counts: Whether what consumers get is counted in a large log, too, whose damage is known: it is read once more for that.
    """
    lines = tuple(lines)
    witnesses = Witnesses() if witnesses is None else witnesses
    refusals = Refusals(files, witnesses.samples, witnesses.unread)
    log = RecoveredLog(files, end, damage, max_read_rate, checksums=checksums)
    reasons: dict[Line, list[Cause]] = {line: list(refusals.of(line)) for line in lines}
    of_dledger = list(_of_dledger(log)) if dledger_segments(files) else None
    for line in lines:
        reasons[line] += of_dledger or ()
    started = [line for line in lines if not _refuses(reasons[line])]
    modelled = [] if of_dledger is not None else [line for line in started if not _leaves_out(reasons[line])]
    after = _after(log, witnesses.samples, modelled, counts=counts) if modelled else None
    of_all = [*_contradictions(witnesses, is_counted=after is not None), *_unknown_topics(files), *_of_controller(files), *log.holes()]
    of_all += expired_segments(files, now, reserved_hours, witnesses.begun)
    for line in started:
        if line in modelled and not witnesses.unread:  # else it has another log, or all of its log is not known
            waits = waits_at(log, line)
            found = (*log.reasons(line), *_of_queues(log, after, line)) if waits is None else (cause("waits", offset=waits),)
            reasons[line] += found
        reasons[line] += of_all
    joined = by_line(reasons)
    outcome = _outcome(joined, refused=all(map(_refuses, reasons.values())))
    if outcome == UNKNOWN:  # why comes first
        joined.sort(key=lambda reason: reason.harm is not Harm.UNKNOWN)
    is_partial = log.unread_before > files.min_offset
    if outcome == YES and is_partial:
        outcome = SO_FAR
    read_from = end if outcome == NO and damage is None else log.unread_before  # nothing is read for a broker that refuses
    share = _share(files, end, read_from, witnesses.bytes_read)
    ended = [line for line in started if not _refuses(reasons[line])]
    known = () if after is None else tuple((line, after.of(line)) for line in ended if after.knows(line))
    return Start(outcome, tuple(joined), lines, log.unread_before, is_partial, share, known)


def _of_dledger(log: RecoveredLog) -> Iterator[Cause]:
    """What a broker with DLedger does to its log. It adds to its queues as others do: those are only looked at."""
    refused = list(refused_by_dledger(log))
    yield from refused or dledger_reasons(log, recovery_by_dledger(log))


def _after(log: RecoveredLog, samples: Sequence[Sample] | None, lines: Sequence[Line], *, counts: bool) -> AfterStart | None:
    """What consumers get, if the log is small, or that is asked for; and if all queues can be read."""
    files = log.files
    cannot = any(each.problem is not None or each.refused for each in samples or ())
    if cannot or not (counts or (log.is_small and len(samples or ()) <= _MOST_COUNTED)):
        newest = max((segment.base for segment in files.segments if segment.base < log.end), default=0)
        log.queued = queued_of(files, newest + 1, samples)
        return None
    queues = QueueFiles(files, samples)
    log.queued = queues.queued
    return None if any(map(log.is_too_much, lines)) else AfterStart(log, queues, lines)


def _of_queues(log: RecoveredLog, after: AfterStart | None, line: Line) -> Iterator[Cause]:
    if after is not None and after.knows(line):
        yield from after.reasons(line)
    elif log.files.segments and not log.queued.has_entries and not log.is_too_much(line):
        yield from without_queues(log, line)


def _leaves_out(reasons: Sequence[Cause]) -> bool:
    return any(each.kind.startswith("left out") for each in reasons)


def _share(files: StoreFiles, end: int, unread_before: int, looked_at: int) -> int:
    """How much of the log was read, in percent: from an offset on, and some bytes before it."""
    size, read = end - files.min_offset, end - max(unread_before, files.min_offset)
    return 100 if read >= size else min(99, 100 * (read + min(looked_at, size - read)) // size)


def _contradictions(witnesses: Witnesses, *, is_counted: bool) -> Iterator[Cause]:
    """One reason for each kind of contradiction.

    `is_counted`: messages in the log that no queue names are counted by version. A queue of which only offsets of groups are left is not.
    """
    counts = Counter[str]()
    for each in witnesses.contradictions:
        if not (is_counted and each.effect == UNLISTED and each.amount):
            counts[each.effect] += each.amount
    return (cause(effect, count=count) for effect, count in counts.items())


def _unknown_topics(files: StoreFiles) -> Iterator[Cause]:
    config = files.config
    if config is None or not (has_settings(config) or has_file(config, "topics.json")):
        yield cause("no topics")


def _of_controller(files: StoreFiles) -> Iterator[Cause]:
    """A slave compares epochs with its master, and cuts its log where they part (AutoSwitchHAClient, 5.0.0+)."""
    if is_controlled(files):
        yield cause("controller")


def _refuses(reasons: Sequence[Cause]) -> bool:
    return any(each.harm is Harm.REFUSES for each in reasons)


def _outcome(reasons: Sequence[Reason], *, refused: bool) -> str:
    if refused:
        return NO
    if any(reason.harm is Harm.UNKNOWN for reason in reasons):
        return UNKNOWN
    if _loses(reasons) or any(reason.harm is Harm.REFUSES for reason in reasons):  # some versions refuse
        return BETTER_NOT
    return BUT if reasons else YES


def _loses(reasons: Iterable[Reason]) -> bool:
    return any(reason.harm is Harm.LOSES and reason.cause.kind != EXPIRED for reason in reasons)


_HOUR_MS = 3_600_000


def expired_segments(files: StoreFiles, now: int, reserved_hours: int, begun: Mapping[int, int]) -> Iterator[Cause]:
    """How many there are, and their bytes. `begun`: when the first record of a segment was stored, where that is known.

    A segment is not written any more when the next one has a record. A broker goes by the modification times of the files,
    which can be later in a copy.
    """
    count = size = 0
    for segment, after in pairwise(files.segments):
        written = begun[after.base] if after.base in begun else first_store_time(after)
        if not 0 < written < now - reserved_hours * _HOUR_MS:
            break
        count, size = count + 1, size + segment.size
    if count:
        yield cause("expired", segments=count, bytes=size, size=size_of(size), hours=reserved_hours)


def reserved_of(hours: int | None, broker_conf: str | None) -> int:
    """The hours for which a broker keeps a segment: the given ones, or those of its configuration file, or its default."""
    if hours is not None:
        return whole("file_reserved_time", hours, 0, LONGEST)
    configured = None if broker_conf is None else reserved_hours(uri_of(broker_conf))
    return RESERVED if configured is None else configured


_WITH_REASON = {NO: "start no", BETTER_NOT: "start better not", BUT: "start but", UNKNOWN: "start unknown"}


def said_of(start: Start) -> Iterator[Said]:
    """The answer with its first reason, then each other one."""
    reasons = [_reason(each) for each in start.reasons]
    share = str(start.share) if start.share else "<1"
    if start.outcome == SO_FAR:
        yield say("start so far", share=share)
    else:
        yield say(_WITH_REASON[start.outcome], reason=reasons[0]) if reasons else say("start yes")
    yield from reasons[1:]
    if start.is_partial:
        yield say("start unread", offset=start.unread_before, share=share)


def question(store: str = "this store") -> Said:
    """What is answered. `store`: the kind of sentence that names it."""
    return say("start question", store=Said(store))


def lines_of(start: Start, language: str = ENGLISH) -> Iterator[str]:
    """The same as text."""
    return (said.text(language) for said in said_of(start))


def _reason(reason: Reason) -> Said:
    """A reason, with the versions for which it holds unless it holds for all."""
    said = reason.cause.said
    return say("start for", reason=said, lines=span_of(reason.lines)) if reason.lines else said
