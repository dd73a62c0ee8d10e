"""An extract: the messages of some topics, one after another in a new log, with their old queue offsets and their settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader.broker.config_files import read_config
from native_reader.layout.queue_entry import FILLER_SIZE
from native_reader.layout.record import UP_TO_BODY_CRC, UP_TO_MAGIC, Numbers, put_physical_offsets, stored_crc
from native_reader.repair import disk
from native_reader.repair.filling import placeholder
from native_reader.repair.log_shape import LogShape, Moved, appended
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import record_at
from native_reader.repair.refusals import refusal
from native_reader.repair.settings import DERIVED, EXTRACTED, OLDER, OTHER, write_topics
from native_reader.repair.survey import WANTED, Survivors
from native_reader.sentences import commas
from native_reader.storage.protocol import storage_of
from native_reader.writing.records import blank

_SPAN = 4 << 20


def moved_plan(plan: RepairPlan) -> RepairPlan:
    """The plan of an extract, made of a plan of a repair that has only the chosen topics."""
    placed, sizes, times, *_ = plan.filling
    kept = np.concatenate([np.empty(0, WANTED), *(each for queue in plan.survey.queues.values() for each in queue.wanted)])["entry"]
    if not len(kept):
        raise refusal("nothing to extract", store=plan.files.uri, topics=commas(plan.choices.topics))
    old = np.concatenate([kept["offset"].astype(np.int64), placed["offset"]])
    order = np.argsort(old, kind="stable")
    all_sizes = np.concatenate([kept["size"].astype(np.int64), sizes])[order]
    number = np.concatenate([np.full(len(kept), -1), np.arange(len(placed))])[order]
    moved = Moved(old[order], all_sizes, appended(all_sizes, plan.shape.size, plan.shape.size), number, plan.shape.sources, plan.shape.size)
    _move(plan, moved)
    placed = placed.copy()
    placed["offset"] = moved.new_of(placed["offset"])
    end = int(moved.new[-1] + all_sizes[-1])
    stop = -(-end // moved.segment) * moved.segment
    return replace(
        plan, shape=LogShape(moved.segment, moved.segment, stop, {}, (), has_junk=False), moved=moved, messages=len(kept),
        filling=plan.filling._replace(placed=placed, sizes=sizes, times=times, end=end),
        groups=tuple(group for group in plan.groups if group.topic in plan.choices.topics),
    )  # fmt: skip


def _move(plan: RepairPlan, moved: Moved) -> None:
    """Give the entries of all queues their new offsets. The files of the old queues are not used any more."""
    for number, (key, queue) in enumerate(sorted(plan.survey.queues.items())):
        wanted = np.concatenate([np.empty(0, WANTED), *queue.wanted])
        wanted["entry"]["offset"] = moved.new_of(wanted["entry"]["offset"].astype(np.int64))
        slots = np.concatenate([wanted["slot"], plan.filling.placed["slot"][plan.filling.placed["queue"] == number]])
        fillers = _fillers(int(slots.min()), plan.units) if len(slots) else wanted[:0]
        plan.survey.queues[key] = Survivors(None, queue.runs, [fillers, wanted])
    plan.survey.last_time = _time_of_last(plan, moved)
    right, places = plan.corrected, np.array(sorted(plan.corrected), np.int64)
    kept = places[np.isin(places, moved.old)].tolist()
    plan.survey.wrong = plan.survey.wrong._replace(right={offset: right[offset] for offset in kept})


def _time_of_last(plan: RepairPlan, moved: Moved) -> int:
    """The store time of the last record: a checkpoint with a later one says that records are missing."""
    number = int(moved.number[-1])
    if number >= 0:
        return int(plan.filling.times[number])
    _, record = record_at(plan.files, int(moved.old[-1]), int(moved.sizes[-1]))
    return int(record.heads["store_timestamp"][0])


def _fillers(slot: int, units: int) -> NDArray[np.void]:
    """The entries of a queue's first file before its first message."""
    found = np.zeros(slot % units, WANTED)
    found["slot"] = np.arange(slot - slot % units, slot)
    found["entry"]["size"] = FILLER_SIZE
    return found


def content_of_segment(plan: RepairPlan, moved: Moved, base: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of a segment of the new log, piece by piece: offset and content."""
    first, stop = moved.in_segment(base)
    places = np.arange(first, stop)
    old, made = moved.old[first:stop], moved.number[first:stop] >= 0
    breaks = (np.diff(old // moved.segment) != 0) | (np.diff(old // _SPAN) != 0) | made[1:] | made[:-1]
    for part in np.split(places, np.flatnonzero(breaks) + 1):
        at, number = int(moved.new[part[0]]), int(moved.number[part[0]])
        yield at, _copied(plan, moved, part) if number < 0 else _made(plan, number)
    end = int(moved.new[stop - 1] + moved.sizes[stop - 1])
    if stop < len(moved.new):
        yield end, blank(base + moved.segment - end)


def _made(plan: RepairPlan, number: int) -> bytes:
    placed, sizes, times, *_ = plan.filling
    offset, _, queue, slot = placed[number].item()
    return placeholder(plan.lost.queues[queue], slot, offset, int(sizes[number]), int(times[number]))


def _copied(plan: RepairPlan, moved: Moved, part: Numbers) -> bytes:
    """Records of one segment of the old log, with their new offsets."""
    old, sizes, new = moved.old[part], moved.sizes[part], moved.new[part]
    start, stop = int(old[0]), int(old[-1] + sizes[-1])
    source = moved.source_of(int(part[0]))
    with storage_of(source.uri).open(source.uri) as file:
        (content,) = file.read_ranges([(start - source.base, stop - start)])
    edges = np.zeros(stop - start + 1, np.int8)
    edges[old - start] += 1
    edges[old + sizes - start] -= 1
    taken = np.frombuffer(content, np.uint8)[np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)]
    put_physical_offsets(taken, new - new[0], new)
    corrected = np.array(sorted(plan.corrected), np.int64)
    for offset in corrected[(corrected >= start) & (corrected < stop)].tolist():
        at = int(new[np.searchsorted(old, offset)] - new[0])
        taken[at + UP_TO_MAGIC : at + UP_TO_BODY_CRC] = np.frombuffer(stored_crc(plan.corrected[offset]), np.uint8)
    return taken.tobytes()


def write_settings(plan: RepairPlan, folder: str) -> None:
    """Write the files that a broker of files needs. Groups keep all their settings; a broker makes its own topics again."""
    topics, queues = set(plan.choices.topics), {key for key, queue in plan.survey.queues.items() if queue.runs}

    def offsets(table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those of queues with messages: the others begin at 0 again."""
        chosen = {name: each for name, each in table.items() if name.partition("@")[0] in topics and isinstance(each, dict)}
        return {name: {queue: each[queue] for queue in each if _key(name, queue) in queues} for name, each in chosen.items()}

    def groups(table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Brokers make it of the offsets: the topics of each group that has any."""
        chosen = {
            group: [each for each in plan.choices.topics if each in named] for group, named in table.items() if isinstance(named, list)
        }
        return {group: named for group, named in chosen.items() if named}

    filters: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
        "topicConfigTable": lambda table: {name: each for name, each in table.items() if name in topics},
        **dict.fromkeys(("offsetTable", "pullOffsetTable"), offsets),
        "groupTopicMap": groups,
        "lmqOffsetTable": lambda _: {},
    }
    for name in EXTRACTED:
        what = plan.mended.get(name)
        if what in (DERIVED, OTHER):
            write_topics(disk.path_in(folder, name), queues)
        elif what in (None, OLDER):
            _write(plan.files.config, folder, name, filters)


def _key(name: str, queue: str) -> tuple[str, int]:
    return name.partition("@")[0], int(queue) if queue.isascii() and queue.isdecimal() else -1


def _write(config: str | None, folder: str, name: str, filters: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]) -> None:
    """Write a file as it was, with some of its tables filtered."""
    found = read_config(config, name, EXTRACTED[name])
    if found is None:
        return
    tables = {key: each for key, each in found.content.items() if key in filters}
    content = dict(found.content) | {key: filters[key](each if isinstance(each, dict) else {}) for key, each in tables.items()}
    encoded = json.dumps(content, ensure_ascii=False, indent=1).encode()
    with disk.changed(disk.path_in(folder, name), len(encoded)) as file:
        disk.put(file, 0, encoded)
