"""The queue offsets that are lost: between survivors, and where queues, or groups, know of more; and what is known of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.broker.consumer_offsets import GroupOffset
from native_reader.layout.queue_entry import QUEUE_ENTRY, is_light, is_written
from native_reader.layout.record import SMALLEST_RECORD, Mask, Numbers
from native_reader.repair.batch_queues import lost_records
from native_reader.repair.log_shape import LogShape
from native_reader.repair.old_queues import is_filler
from native_reader.repair.refusals import refusal
from native_reader.repair.survey import Survey, Survivors

_MOST_AFTER = 10_000
"""How many offsets a group may be after the end of its queue."""
_BEYOND = 2**63 - 1
_AT_ONCE = 1 << 16
EXACT = np.dtype([("offset", "i8"), ("size", "i8"), ("queue", "i8"), ("slot", "i8")])
"""A lost record whose place is known: its queue entry names lost bytes."""


class Loose(NamedTuple):
    """Lost slots `[first, stop)` of a queue whose records were somewhere in log offsets `[low, high)`.

    `is_passed`: only that a group read them tells of them.
    """

    queue: int
    first: int
    stop: int
    low: int
    high: int
    is_passed: bool = False


class Lost(NamedTuple):
    """All that is lost. `queues`: topic and id by number."""

    queues: list[tuple[str, int]]
    exact: NDArray[np.void]
    loose: list[Loose]
    ends: list[int]
    """The next queue offset of each queue."""
    lights: NDArray[np.void]
    """The places in light queues of the records in `exact`, if entries there name them."""
    loose_lights: list[Loose]
    """The other lost slots of light queues."""
    counts: Mapping[tuple[int, int], int] = {}
    """By number of the queue and slot: how many messages a lost record held, if they were several."""


def named_end(survey: Survey, until: int) -> int:
    """The end of the last record after the log that its queue names. `until`: what several entries confirm."""
    end = survey.end
    for queue in survey.queues.values():
        if queue.before is not None and until > survey.end:
            entries = queue.before.read(max(queue.before.begin, queue.runs[-1].stop if queue.runs else 0), queue.before.stop)
            ends = entries["offset"].astype(np.int64) + entries["size"]
            known = is_written(entries) & (entries["offset"] >= survey.end) & (ends <= until)
            end = max(end, int(ends[known].max(initial=end)))
    return end


def lost_in(
    survey: Survey, shape: LogShape, groups: Iterable[GroupOffset], batch_topics: Collection[str] = (), *, ends_in_loss: bool
) -> Lost:
    """What is lost in each queue. `ends_in_loss`: bytes after the last whole record are lost."""
    lossy = [(hole.start, hole.stop) for hole in shape.holes if not (hole.is_tail and shape.clears)]
    committed, holes = _committed(groups), np.array(lossy, np.int64).reshape(-1, 2)
    counts = dict[tuple[int, int], int]()
    queues, ends, begins, pieces = list[tuple[str, int]](), list[int](), list[int](), [np.empty(0, EXACT)]
    """`begins`: from where on only groups know of messages of each queue."""
    for key, queue in sorted(survey.queues.items()):
        _check_order(key, queue)
        passed = committed.get(key, 0)
        known = passed if ends_in_loss or _may_have_ended_later(queue, holes, passed) else 0
        parts = list(_parts(key, queue, shape, holes, 1 if key[0] in batch_topics else SMALLEST_RECORD))
        slots = np.concatenate([slots for slots, _ in parts])
        stop = queue.runs[-1].stop if queue.runs else expired_end(queue, shape.begin)
        begin = max(stop, int(slots[-1]) + 1 if len(slots) else 0)
        has_place = queue.runs or queue.before is not None
        parts.append(_nothing_at(np.arange(begin, known if has_place and known - begin <= _MOST_AFTER else begin)))
        slots, entries = (np.concatenate(each) for each in zip(*parts, strict=True))
        begins.append(begin)
        queues.append(key)
        ends.append(max(stop, int(slots[-1]) + 1 if len(slots) else 0))
        if len(slots) and key[0] in batch_topics:
            slots, entries, held = lost_records(slots, entries, queue.before, np.array([run.first for run in queue.runs], np.int64))
            counts |= {(len(queues) - 1, slot): count for slot, count in zip(slots.tolist(), held.tolist(), strict=True) if count > 1}
        lost = np.empty(len(slots), EXACT)
        lost["offset"] = np.where(_is_in_hole(entries, holes), entries["offset"], -1)
        lost["size"], lost["queue"], lost["slot"] = entries["size"], len(queues) - 1, slots
        pieces.append(lost)
    everything = np.concatenate(pieces)
    of_light = np.array([is_light(topic) for topic, _ in queues], np.bool_)[everything["queue"]]
    own, light = everything[~of_light], everything[of_light]
    exact = _without_overlaps(own[own["offset"] >= 0])
    lights = light[np.isin(light["offset"], exact["offset"])]
    loose = (list(_loose(survey, queues, begins, each, known)) for each, known in ((own, exact), (light, lights)))
    return Lost(queues, exact, next(loose), ends, lights, next(loose), counts)


def _may_have_ended_later(queue: Survivors, holes: Numbers, stop: int) -> bool:
    """Whether lost bytes after the last survivor of a queue without files have room for all messages before `stop`."""
    if queue.before is not None or not queue.runs:
        return False
    after = holes[holes[:, 0] > queue.runs[-1].last]
    return stop - queue.runs[-1].stop <= int((after[:, 1] - after[:, 0]).sum()) // SMALLEST_RECORD


def _committed(groups: Iterable[GroupOffset]) -> Mapping[tuple[str, int], int]:
    """The highest offset that a group has in each queue."""
    highest: dict[tuple[str, int], int] = {}
    for each in groups:
        if each.queue_id is not None and each.committed is not None:
            key = each.topic, each.queue_id
            highest[key] = max(highest.get(key, 0), each.committed)
    return highest


def _check_order(key: tuple[str, int], queue: Survivors) -> None:
    """Refuse a queue in which two records have the same offset.

    Without files, and in light queues, only the later messages count if it was created again.
    """
    if queue.before is None or is_light(key[0]):
        begins = [number for number, run in enumerate(queue.runs) if run.first == 0]
        queue.keep_from(begins[-1] if begins else 0)
    for before, after in pairwise(queue.runs):
        if after.first < before.stop:
            raise refusal("order", topic=key[0], queue=key[1], offset=after.begin)


def _nothing_at(slots: Numbers) -> tuple[Numbers, NDArray[np.void]]:
    return slots, np.zeros(len(slots), QUEUE_ENTRY)


def _parts(
    key: tuple[str, int], queue: Survivors, shape: LogShape, holes: Numbers, smallest: int
) -> Iterator[tuple[Numbers, NDArray[np.void]]]:
    """The lost slots of a queue, and what its files have there: before, between and after the survivors.

    `smallest`: how many bytes a message takes at least.
    """
    runs, old, stop = queue.runs, queue.before, queue.runs[-1].stop if queue.runs else 0
    room = sum(hole.stop - hole.start for hole in shape.holes) // smallest

    def every(first: int, end: int) -> tuple[Numbers, NDArray[np.void]]:
        if end - first > room:
            raise refusal("many", topic=key[0], queue=key[1], count=end - first)
        return np.arange(first, end), np.zeros(end - first, QUEUE_ENTRY) if old is None else old.read(first, end)

    if runs and old is not None:
        entries = old.read(old.begin, max(old.begin, min(runs[0].first, old.stop)))
        kept = np.flatnonzero(_may_be_lost(entries, shape) & (is_written(entries) | (shape.begin == 0)))
        yield kept + old.begin, entries[kept]
        yield every(max(old.begin, min(runs[0].first, old.stop)), max(old.begin, runs[0].first))
    elif runs:
        yield every(0 if shape.begin == 0 else runs[0].first, runs[0].first)
    for before, after in pairwise(runs):
        yield every(before.stop, after.first)
    if old is not None and old.stop > stop:
        begin = max(stop, old.begin)
        entries = old.read(begin, old.stop)
        named = np.flatnonzero(_is_in_hole(entries, holes))
        entries = entries[: int(named[-1]) + 1 if len(named) else 0]
        kept = np.flatnonzero(_may_be_lost(entries, shape))
        yield kept + begin, entries[kept]
    yield _nothing_at(np.arange(0))


def expired_end(queue: Survivors, begin: int) -> int:
    """The end of a queue whose messages are all older than the log: a broker goes on after the last entry. `begin`: of the log."""
    old = queue.before
    if old is None:
        return 0
    for stop in range(old.stop, old.begin, -_AT_ONCE):
        first = max(old.begin, stop - _AT_ONCE)
        entries = old.read(first, stop)
        expired = np.flatnonzero(is_written(entries) & ~is_filler(entries) & (entries["offset"] < begin))
        if len(expired):
            return first + int(expired[-1]) + 1
    return 0


def _may_be_lost(entries: NDArray[np.void], shape: LogShape) -> Mask:
    """Neither fillers nor entries of records that expired."""
    expired = is_written(entries) & (entries["offset"] < shape.begin)
    kept: Mask = ~is_filler(entries) & ~expired
    return kept


def _is_in_hole(entries: NDArray[np.void], holes: Numbers) -> Mask:
    """Which entries name bytes of the log that are lost, and enough of them for a record."""
    inside = np.zeros(len(entries), np.bool_)
    if len(holes):
        at = np.maximum(np.searchsorted(holes[:, 0], entries["offset"].astype(np.int64), "right") - 1, 0)
        ends = entries["offset"].astype(np.int64) + entries["size"]
        inside = (entries["offset"] >= holes[at, 0]) & (ends <= holes[at, 1]) & (entries["size"] >= SMALLEST_RECORD)
    found: Mask = inside & is_written(entries)
    return found


def _without_overlaps(exact: NDArray[np.void]) -> NDArray[np.void]:
    """By offset, without those that begin inside the one before: one of the two entries is wrong."""
    exact = exact[np.argsort(exact["offset"], kind="stable")]
    reached = np.maximum.accumulate(np.concatenate([[0], (exact["offset"] + exact["size"])[:-1]])) if len(exact) else exact["offset"]
    return exact[exact["offset"] >= reached]


def _loose(
    survey: Survey, queues: list[tuple[str, int]], begins: list[int], everything: NDArray[np.void], exact: NDArray[np.void]
) -> Iterator[Loose]:
    """Runs of lost slots whose place is not known, with their neighbours' places."""
    for number, key in enumerate(queues):
        known = exact[exact["queue"] == number]
        slots = everything["slot"][everything["queue"] == number]
        slots = np.setdiff1d(slots, known["slot"])
        if not len(slots):
            continue
        runs = survey.queues[key].runs
        places = [(run.first, run.begin) for run in runs] + [(run.stop - 1, run.last) for run in runs]
        places += list(zip(known["slot"].tolist(), known["offset"].tolist(), strict=True))
        at, offsets = np.array(sorted(places), np.int64).reshape(-1, 2).T
        for part in np.split(slots, np.flatnonzero((np.diff(slots) != 1) | (slots[1:] == begins[number])) + 1):
            first, stop = int(part[0]), int(part[-1]) + 1
            before, after = int(np.searchsorted(at, first)) - 1, int(np.searchsorted(at, stop))
            low, high = int(offsets[before]) if before >= 0 else -1, int(offsets[after]) if after < len(at) else _BEYOND
            yield Loose(number, first, stop, low, high, first >= begins[number])
