"""Writes the new store to a folder whose name shows that it is not finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.broker.epochs import EPOCHS
from native_reader.broker.progress import checkpoint_of
from native_reader.layout.queue_entry import BATCH_ENTRY, QUEUE_ENTRY
from native_reader.repair import disk
from native_reader.repair.comparing import Comparing
from native_reader.repair.copies import Copies
from native_reader.repair.filling import content_of
from native_reader.repair.indexes import write_index, write_index_of
from native_reader.repair.kept_keys import KeptKeys
from native_reader.repair.log_shape import Hole, Moved
from native_reader.repair.moved import content_of_segment, write_settings
from native_reader.repair.new_database import LEFT_OUT, NewDatabase
from native_reader.repair.old_queues import WIDTH, OldBatchQueue
from native_reader.repair.plain import NOT_COPIED, TIMERS, write_timers
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import KEEP_TIER, TIER_TO_LOG
from native_reader.repair.settings import copy_settings
from native_reader.repair.survey import NewQueue
from native_reader.repair.tiers import INDEX as TIER_INDEX
from native_reader.repair.tiers import copy_tier, leave_out
from native_reader.repair.unfinished import LOG, NOTE
from native_reader.scan.progress import Meter, PartMeter, Watch
from native_reader.sides.queues import BATCH_DIRECTORY, QueueFile
from native_reader.storage.broker_conf import StorePaths
from native_reader.storage.discovery import find_stores
from native_reader.storage.filled import MadeStorage, made_contents, own_uri, uri_like
from native_reader.storage.local import local_path
from native_reader.storage.paths import uri_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.writing.records import checkpoint

QUEUES, INDEX, CONFIG, CHECKPOINT = "consumequeue", "index", "config", "checkpoint"
PAGES = {False: ("repair.md", "repair.json"), True: ("extract.md", "extract.json")}
"""The page and the facts, by whether it is an extract."""
LOST = "lost"
"""The folder for the owners of topics, if messages are lost."""
ABORT = "abort"
_MADE = (LOST, LOG, QUEUES, BATCH_DIRECTORY, INDEX, CONFIG, CHECKPOINT, ABORT, "abort.bak", "lock", NOTE, *PAGES[False], *PAGES[True])
"""Entries of a store that are not copied as they are. Without `abort`, a broker takes its ordinary start."""
_AT_ONCE = 1 << 20
_LOOK = 0.2
"""Seconds between two reports."""


def write_store(plan: RepairPlan, folder: str, copies: Copies, kept: KeptKeys, comparing: Comparing, *, progress: Watch) -> StoreFiles:
    """Write everything to a folder, and return the store in it. It may still be on its way to the disk. `kept`: of the plan."""
    segments = list(_write_log(plan, copies, comparing))
    with Meter(progress, sum(segment.work for segment in segments)) as meter:
        parts = [meter.part(segment.work) for segment in segments]
        _write_all(plan, folder, copies, kept, lambda: _written(segments, parts, meter.look))
    copies.remove_others()
    (new,) = find_stores([folder], StorePaths())
    return replace(new, reserved_hours=plan.files.reserved_hours)


def _write_all(plan: RepairPlan, folder: str, copies: Copies, kept: KeptKeys, written: Callable[[], Iterator[Segment]]) -> None:
    background = copies.background
    queues = background.write(_write_queues, plan, disk.path_in(folder, QUEUES))
    _write_batch_queues(plan, disk.path_in(folder, BATCH_DIRECTORY))
    if plan.moved is None:
        _copy_rest(plan, folder)
    else:
        write_settings(plan, disk.path_in(folder, CONFIG))
    indexed = _write_index(plan, written(), disk.path_in(folder, INDEX), kept)
    for _ in written():
        pass
    queues.result()
    for each in (QUEUES, BATCH_DIRECTORY, INDEX):
        background.flush(disk.path_in(folder, each))
    _write_checkpoint(plan, folder, indexed)


class _Writing(NamedTuple):
    """A segment that is being written: its path, and what ends then. `work`: about how many bytes that are."""

    path: str
    future: Future[None]
    work: int


def _write_log(plan: RepairPlan, copies: Copies, comparing: Comparing) -> Iterator[_Writing]:
    """Begin to write each segment."""
    for base in plan.shape.bases:
        path = copies.path(base)
        if plan.moved is not None:
            yield _Writing(path, copies.background.write(_write_moved, plan, plan.moved, path, base), plan.shape.size)
            continue
        holes = [hole for hole in plan.shape.holes if base <= hole.start < base + plan.shape.size]
        if base in plan.shape.sources or holes:  # else a segment after the end, which only some stores have
            work = 0 if plan.links(base) else plan.shape.size
            yield _Writing(path, copies.background.write(_write_segment, plan, copies, base, holes, comparing), work)


def _write_segment(plan: RepairPlan, copies: Copies, base: int, holes: list[Hole], comparing: Comparing) -> str:
    """Copy a segment, fill its holes, and begin to compare it; or link it."""
    path, source = copies.path(base), plan.shape.sources.get(base)
    own = None if source is None else own_uri(source.uri)
    is_left = copies.take(base, () if own is None or source is None else (source.size, plan.shape.size))
    is_left = is_left and comparing.is_equal(plan, base, path)
    if own is not None and plan.links(base):
        disk.link(local_path(own), path)
        return path
    if own is not None and is_left:
        _empty_holes(plan, local_path(own), path, base, holes)
        if plan.is_as_before(base):
            return path
    elif own is not None:
        copies.copy(base, local_path(own))
    if source is not None:
        _take(source.uri, path, plan.shape.size)
    if holes or base in plan.shape.made:
        _fill(plan, path, base, holes)
    _correct(plan, path, base)
    if own is None and (like := None if source is None else uri_like(source.uri)) is not None:
        disk.copy_time(local_path(like), path)
    elif own is None and not (plan.filled and base in plan.filled.tiered):  # these are young: a broker deletes segments by their age
        disk.set_time(path, holes[0].time if holes else plan.survey.first_time)
    comparing.begin(plan, base, path)
    return path


def _empty_holes(plan: RepairPlan, old: str, path: str, base: int, holes: list[Hole]) -> None:
    """Give a segment that an interrupted repair left its old bytes in holes, which may be filled already, or in part."""
    for hole in holes:
        disk.copy_part(old, path, hole.start - base, plan.shape.size if hole.is_tail else hole.stop - base)
    disk.copy_time(old, path)


def _take(uri: str, path: str, size: int) -> None:
    """Write what comes from other stores, or from other places."""
    if isinstance(storage_of(uri), MadeStorage):
        with disk.changed(path, size) as file:
            for at, content in made_contents(uri, _AT_ONCE):
                disk.put(file, at, content)


def _written(segments: Iterable[_Writing], parts: Iterable[PartMeter], meanwhile: Callable[[], None]) -> Iterator[Segment]:
    """Each segment as soon as it can be read."""
    for segment, part in zip(segments, parts, strict=True):
        while not wait([segment.future], _LOOK).done:
            meanwhile()
        segment.future.result()
        part.end(0)
        uri = uri_of(segment.path)
        entry = storage_of(uri).entry(uri)
        if entry is not None:
            yield Segment(int(entry.name), entry.size, uri, entry.identity)


def _write_moved(plan: RepairPlan, moved: Moved, path: str, base: int) -> str:
    """Write a segment of an extract. It has the time of the old one from which its last record is."""
    with disk.changed(path, plan.shape.size) as file:
        for offset, content in content_of_segment(plan, moved, base):
            disk.put(file, offset - base, content)
    if (like := uri_like(moved.source_of(moved.in_segment(base)[1] - 1).uri)) is not None:
        disk.copy_time(local_path(like), path)
    return path


def _fill(plan: RepairPlan, path: str, base: int, holes: list[Hole]) -> None:
    with disk.changed(path, plan.shape.size) as file:
        for hole in holes:
            if hole.is_tail and plan.shape.has_junk:
                disk.put_zeros(file, hole.start - base, plan.shape.size)
            for offset, content in content_of(hole, plan.filling, plan.lost):
                disk.put(file, offset - base, content)


def _correct(plan: RepairPlan, path: str, base: int) -> None:
    """Write the right checksums and fields of records that are kept."""
    mine = {at: content for at, content in plan.rewritten.items() if base <= at < base + plan.shape.size}
    if mine:
        with disk.changed(path, plan.shape.size) as file:
            for at, content in mine.items():
                disk.put(file, at - base, content)


def _write_queues(plan: RepairPlan, folder: str) -> None:
    """Copy the files of each queue, and write the entries that they lack."""
    size = plan.units * WIDTH
    for queue in plan.queues():
        if plan.database is not None and plan.database.holds(queue.topic):
            continue
        place = disk.path_in(folder, queue.topic, str(queue.queue_id))
        for old in queue.survivors.before.files if queue.survivors.before is not None else ():
            if _is_left_out(plan, queue, old):
                continue
            path = disk.path_in(place, f"{old.base * WIDTH:020d}")
            if own_uri(old.uri) is None:
                disk.write_made(old.uri, path)
            else:
                (disk.link if plan.links_file(queue, old) else disk.copy)(local_path(old.uri), path)
            if old.units < plan.units:
                disk.resize(path, size)
        entries = np.concatenate([queue.wanted, queue.lost])
        _put_entries(place, entries[np.argsort(entries["slot"], kind="stable")], plan.units)
        _clear_after(plan, queue, place)
    if plan.survey.lacks_many and (plan.database is None or plan.database.is_second):
        plan.survey.read_again(lambda key, entries: _put_entries(disk.path_in(folder, key[0], str(key[1])), entries, plan.units))


def _write_batch_queues(plan: RepairPlan, folder: str) -> None:
    """Write the files of each batch queue as a whole, or copy them if nothing changes. They begin at the place of the old ones."""
    for (topic, queue_id), old, entries in plan.batch_queues():
        place, size = disk.path_in(folder, topic, str(queue_id)), plan.batch_file_bytes
        files = () if old is None else old.files
        if not len(entries) or (isinstance(old, OldBatchQueue) and old.has(entries, size)):
            for file in files:
                path = local_path(file.uri)
                disk.copy(path, disk.path_in(place, path.rpartition("/")[2]))
            continue
        content, begin = entries.tobytes(), files[0].base * BATCH_ENTRY.itemsize if files else 0
        for at in range(0, len(content), size):
            with disk.changed(disk.path_in(place, f"{begin + at:020d}"), size) as new:
                disk.put(new, 0, content[at : at + size])


def _put_entries(place: str, entries: NDArray[np.void], units: int) -> None:
    """Write entries, in the order of their slots, to the files of a queue, which have `units` entries each."""
    for number in np.unique(entries["slot"] // units).tolist():
        first = int(number) * units
        mine = entries[(entries["slot"] >= first) & (entries["slot"] < first + units)]
        with disk.changed(disk.path_in(place, f"{first * WIDTH:020d}"), units * WIDTH) as file:
            _put(file, mine, first)


def _put(file: int, entries: NDArray[np.void], first: int) -> None:
    """Write entries, the adjacent ones at once."""
    for part in np.split(entries, np.flatnonzero(np.diff(entries["slot"]) != 1) + 1):
        disk.put(file, (int(part["slot"][0]) - first) * WIDTH, np.ascontiguousarray(part["entry"]).astype(QUEUE_ENTRY).tobytes())


def _is_left_out(plan: RepairPlan, queue: NewQueue, file: QueueFile) -> bool:
    """Whether a file of a damaged store has no entries before the queue's end.

    4.9.7 serves the first entry of such a file as a message.
    If it is the only one, and not at 0, it stays: it alone says where the queue goes on.
    """
    is_needed = file.base > 0 and queue.survivors.before is not None and file == queue.survivors.before.files[0]
    return queue.stop <= file.base and plan.changes and not plan.has_stale and not is_needed


def _clear_after(plan: RepairPlan, queue: NewQueue, place: str) -> None:
    """Clear entries after the queue's end: they name nothing, and a broker would go on after them."""
    old = queue.survivors.before
    if old is None or old.stop <= queue.stop or plan.has_stale:
        return
    for file in old.files:
        begin, stop = max(queue.stop, file.base), min(old.stop, file.base + file.units)
        # A hole follows, which stays one: most of a queue's last file is not written yet.
        if begin < stop and not _is_left_out(plan, queue, file):
            with disk.changed(disk.path_in(place, f"{file.base * WIDTH:020d}"), plan.units * WIDTH) as new:
                disk.put_zeros(new, (begin - file.base) * WIDTH, (stop - file.base) * WIDTH)


def _copy_rest(plan: RepairPlan, folder: str) -> None:
    """Copy the configuration, and files that are not read here."""
    root, but, logs = local_path(plan.files.uri), [*_MADE, EPOCHS], plan.log_directories
    if plan.database is not None:
        _copy_database(plan.files, plan.database, folder)
        but.append(plan.database.name)
    if plan.plain is not None:
        but += [TIMERS, *(name for name in disk.names_in(root) if name.startswith(NOT_COPIED))]
        logs = plan.plain.directories
        write_timers(plan.plain, folder)
    if (tier := plan.tier) is not None:
        logs = {*logs, *((tier.root,) if tier.root is not None and tier.is_inside else ())}
        but += [TIER_INDEX] if tier.way == TIER_TO_LOG else ()
        if tier.way == KEEP_TIER:
            copy_tier(tier, plan.files, folder, links=plan.choices.link)
    places = tuple(f"{local_path(each).removeprefix(f'{root}/')}/" for each in logs)
    for name, _ in disk.files_below(root, but):
        if not name.startswith(places):
            disk.copy(disk.path_in(root, name), disk.path_in(folder, name))
    if plan.files.config is not None:
        copy_settings(plan.files.config, disk.path_in(folder, CONFIG), plan.mended, plan.lost.queues, plan.batch_topics)
        if tier is not None and tier.way == TIER_TO_LOG:
            leave_out(disk.path_in(folder, CONFIG))


def _copy_database(files: StoreFiles, database: NewDatabase, folder: str) -> None:
    """Copy the database with queues as it is, and the old queue files in its folder."""
    places = {} if database.way == LEFT_OUT else {database.uri: database.name}
    if places and not database.is_second and files.consume_queue is not None:
        places[files.consume_queue] = QUEUES
    for old, new in places.items():
        for name, _ in disk.files_below(local_path(old)):
            if "/" not in name or not database.is_second:
                disk.copy(disk.path_in(local_path(old), name), disk.path_in(folder, new, name))
    if database.needs_recovery:
        with disk.changed(disk.path_in(folder, ABORT), 0):
            pass


def indexes_tags(files: StoreFiles) -> bool:
    """Whether its broker indexes tags, as brokers since 5.5.0 do: they also write this to the checkpoint."""
    return checkpoint_of(files.uri).dispatched > 0


def _write_index(plan: RepairPlan, segments: Iterator[Segment], folder: str, kept: KeptKeys) -> int:
    """Copy the index, or make it again if anything of the store changes. Returns the time of the last full file; 0 if copied."""
    if plan.changes and plan.index is not None:
        if kept.are_whole and plan.moved is None:
            return write_index_of(kept, segments, plan.shape.holes, end=plan.end, folder=folder, shape=plan.index)
        return write_index(segments, plan.end, folder, plan.index, with_tags=kept.with_tags)
    if plan.files.index is not None and plan.plain is None:
        old = local_path(plan.files.index)
        for name, _ in disk.files_below(old):
            disk.copy(disk.path_in(old, name), disk.path_in(folder, name))
    return 0


def _write_checkpoint(plan: RepairPlan, folder: str, indexed: int) -> None:
    source, target = disk.path_in(local_path(plan.files.uri), CHECKPOINT), disk.path_in(folder, CHECKPOINT)
    if not plan.changes:
        disk.copy(source, target)
        return
    time, old = plan.survey.last_time, checkpoint_of(plan.files.uri)
    # A broker without these offsets in its checkpoint goes by the times. With them, the store would look like one of a later version.
    confirmed, dispatched = (plan.end if offset or not old.newest else 0 for offset in (old.confirmed, old.dispatched))
    if plan.database is not None and plan.database.needs_recovery:
        indexed = time  # a broker that starts as after a crash deletes index files that are newer
    content = checkpoint(time, time, indexed, confirmed=confirmed, dispatched=dispatched)
    with disk.changed(target, len(content)) as file:
        disk.put(file, 0, content)
