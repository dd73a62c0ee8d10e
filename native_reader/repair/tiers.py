"""What becomes of tiered storage: its files go along, its messages go into the new log, or it stays where it is.

A broker serves from the tier what its metadata in `config` names. Where a queue of the log begins after the end of its tier, a broker
5.5.0 deletes the files of that queue in the tier, and begins again. It serves a placeholder in the log before a message in the tier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.account.account import Account
from native_reader.account.states import NOT_READ
from native_reader.broker.settings import Topics
from native_reader.broker.tier import Tier, tier_of
from native_reader.broker.tier_files import METADATA, TierQueue, queues_below, queues_of_tier, tier_folders
from native_reader.errors import OptionError
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import QUEUE_ENTRY, is_written
from native_reader.layout.record import Numbers
from native_reader.repair import disk
from native_reader.repair.log_shape import appended
from native_reader.repair.lost import expired_end
from native_reader.repair.old_queues import OldQueue, is_filler
from native_reader.repair.plain import entries_of_index
from native_reader.repair.records import KEEP_TIER, LEAVE_TIER, TIER_TO_LOG, Choices, ReadSettings
from native_reader.repair.refusals import refusal
from native_reader.repair.survey import Survivors
from native_reader.sentences import commas
from native_reader.storage.local import local_path, refused_below
from native_reader.storage.moved import Entries, MovedStorage, Places
from native_reader.storage.store import DLEDGER, StoreFiles

FOLDER, INDEX = "tieredStore", "tiered_index_file"
"""FOLDER: of the new store, for a tier that was outside of the old one."""
_COLUMNS = ("physical_offset", "record_size", "queue_offset", "store_timestamp", "tags", "topic", "queue_id")
_AT_ONCE = 1 << 16
_GAP = 512
"""Room for a placeholder of a queue offset that neither the log nor the tier has."""
_MOST_MADE = 1000


class OwnTier(NamedTuple):
    """The tier of a store. `queues`: those on a disk. `root`: the folder with its broker's files; None if they are not on a disk."""

    way: str
    is_asked: bool
    """Whether the user chose that way."""
    tier: Tier
    queues: tuple[TierQueue, ...]
    root: str | None
    is_inside: bool
    """Whether it is in the folder of the store."""

    @property
    def store(self) -> str:
        """The folder that `tieredStoreFilePath` names."""
        return self.tier.where if self.root is None else self.root.rsplit("/", 2)[0]

    @property
    def must_stay_whole(self) -> bool:
        """Whether no message of it may get lost when a broker starts."""
        return self.way == KEEP_TIER or (self.way == LEAVE_TIER and not self.is_asked)

    def path_in(self, store: str, folder: str) -> str:
        """Where the files of its broker are in a new store."""
        assert self.root is not None
        path = local_path(self.root)
        names = path.removeprefix(f"{local_path(store)}/").split("/") if self.is_inside else [FOLDER, *path.split("/")[-2:]]
        return disk.path_in(folder, *names)


def own_tier(files: StoreFiles, choices: Choices) -> OwnTier | None:
    """The tier of a store, and what becomes of it; None if it has none, or an empty one. Raises an error if that cannot be done."""
    try:
        queues = tuple(queues_of_tier(files, None))
    except OptionError:  # it has none, or one with files of several brokers
        queues = ()
        shared = [each for each in tier_folders(files.uri, files.tier) if next(queues_below(each), None) is not None]
        is_copied = any(each.startswith(f"{files.uri}/") for each in shared)
        if shared and (choices.tier in (KEEP_TIER, TIER_TO_LOG) or (is_copied and not choices.tier)):
            raise refusal("several tiers", store=files.uri) from None
    found = tier_of(files.uri, files.config)
    if found is None and queues:
        found = Tier(queues[0].uri.rsplit("/", 4)[0], "tier by files")
    if found is None or (found.messages == 0 and not queues):
        if choices.tier in (KEEP_TIER, TIER_TO_LOG):
            raise refusal("no tier", store=files.uri)
        return None
    root = queues[0].uri.rsplit("/", 2)[0] if queues else None
    is_inside = root is not None and root.startswith(f"{files.uri}/")
    way = choices.tier or _usual(queues, choices, is_inside=is_inside)
    if root is None and way != LEAVE_TIER:
        raise refusal("tier elsewhere", where=found.where)
    if way == KEEP_TIER and choices.topics:
        raise refusal("tier of extract", topics=commas(choices.topics))
    if way == TIER_TO_LOG and (files.databases or any(each.framing == DLEDGER for each in files.segments)):
        raise refusal("tier to such a log", store=files.uri)
    if root is not None and (way != LEAVE_TIER or is_inside) and (forbidden := next(refused_below(root), None)) is not None:
        raise refusal("tier forbidden", where=forbidden)
    return OwnTier(way, bool(choices.tier), found, queues, root, is_inside)


def _usual(queues: tuple[TierQueue, ...], choices: Choices, *, is_inside: bool) -> str:
    """What loses nothing: a tier in the store goes along, one elsewhere stays. An extract has its topics whole."""
    if choices.topics:
        return TIER_TO_LOG if any(queue.topic in choices.topics for queue in queues) else LEAVE_TIER
    return KEEP_TIER if is_inside else LEAVE_TIER


class TierRecords(NamedTuple):
    """Records of one queue of a tier, each queue offset once: where they are there, and what a queue of the log would say of them.

    `messages`: how many queue offsets each takes.
    """

    queue: TierQueue
    offset: Numbers
    size: Numbers
    slot: Numbers
    time: Numbers
    messages: Numbers
    rows: pa.Table

    @property
    def slots(self) -> Numbers:
        """The queue offset of each message."""
        return np.concatenate(
            [self.slot[:0], *(np.arange(first, first + count) for first, count in zip(self.slot, self.messages, strict=True))]
        )

    def where(self, which: Numbers) -> TierRecords:
        """Only these."""
        offset, size, slot, time, messages = (each[which] for each in (self.offset, self.size, self.slot, self.time, self.messages))
        return TierRecords(self.queue, offset, size, slot, time, messages, self.rows.take(pa.array(which)))


def records_in(queue: TierQueue, settings: ReadSettings) -> TierRecords:
    """The whole records of a queue. An inner batch stands there several times, and each is read as several messages."""
    plain = settings._replace(progress=False, choices=Choices())
    batches = list(plain.scan(queue.as_store(), _COLUMNS).to_batches(settings.jobs))
    rows = pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in _COLUMNS})
    offset, size, slot = (rows[name].to_numpy().astype(np.int64) for name in ("physical_offset", "record_size", "queue_offset"))
    times = rows["store_timestamp"].cast(pa.int64()).to_numpy().astype(np.int64)
    first = np.sort(np.unique(slot, return_index=True)[1])
    _, begins, counts = np.unique(offset[first], return_index=True, return_counts=True)
    found = TierRecords(queue, offset, size, slot, times, np.ones(len(times), np.int64), rows).where(first[begins])
    return found._replace(messages=counts.astype(np.int64))


def first_slot(queue: Survivors, begin: int) -> int | None:
    """The first slot of a queue that the log serves, or has a placeholder for. `begin`: of the log. None if there is none."""
    old, stop = queue.before, queue.runs[0].first if queue.runs else None
    end = 0 if old is None else old.stop if stop is None else min(stop, old.stop)
    return next(_served_before(old, end, begin), stop)


def _served_before(old: OldQueue | None, stop: int, begin: int) -> Iterator[int]:
    for at in range(0 if old is None else old.begin, stop, _AT_ONCE):
        assert old is not None
        entries = old.read(at, min(at + _AT_ONCE, stop))
        if len(named := np.flatnonzero(is_written(entries) & ~is_filler(entries) & (entries["offset"] >= begin))):
            yield at + int(named[0])


class Placed(NamedTuple):
    """Records of a tier in segments before the first one of the log: of each queue, and their places."""

    records: list[TierRecords]
    places: list[Numbers]

    @property
    def all(self) -> Numbers:
        """The places of all."""
        return np.concatenate([np.empty(0, np.int64), *self.places])


def before_log(tier: OwnTier, files: StoreFiles, size: int, queues: Mapping[tuple[str, int], Survivors], settings: ReadSettings) -> Placed:
    """What the log lacks before the first message of each queue, in the order of the store times, and where it comes to be."""
    found, gap = list[TierRecords](), 0
    for records in (records_in(queue, settings) for queue in wanted_queues(tier, files, settings.choices)):
        old = queues.get(records.queue.name)
        first = None if old is None else first_slot(old, files.min_offset)
        mine = records if first is None else records.where(np.flatnonzero(records.slot < first))
        if len(mine.slot):
            found.append(mine)
            slots = mine.slots
            gap += (int(slots[-1]) + 1 if first is None else first) - int(slots[0]) - len(slots)
    if not found:
        return Placed([], [])
    times = np.concatenate([np.maximum.accumulate(each.time) for each in found])
    order, sizes = np.argsort(times, kind="stable"), np.concatenate([each.size for each in found])
    places = appended(sizes[order], size, 0)
    count = int(places[-1] + sizes[order][-1]) // size + 1 + -(-gap * _GAP // size)
    if count * size >= files.min_offset or count > _MOST_MADE:
        raise refusal("no place before log", store=files.uri, messages=len(sizes), segments=count, begin=files.min_offset)
    at = np.empty(len(order), np.int64)
    at[order] = places + files.min_offset - count * size
    return Placed(found, np.split(at, np.cumsum([len(each.size) for each in found])[:-1]))


def wanted_queues(tier: OwnTier, files: StoreFiles, choices: Choices) -> Iterator[TierQueue]:
    """The queues with messages of topics that there are, and that are wanted."""
    known = set(Topics(files.config).names())
    for queue in tier.queues:
        is_there = queue.topic in known or not known
        if is_there and kind_of_topic(queue.topic) not in SYSTEM_KINDS and (not choices.topics or queue.topic in choices.topics):
            yield queue


def parted_queue(tier: OwnTier, queues: Mapping[tuple[str, int], Survivors], begin: int) -> tuple[str, int, int, int] | None:
    """A queue of the new log that begins after the end of its tier: topic, number, that end and its beginning."""
    for key, held in (tier.tier.queues or {}).items():
        queue = queues.get(key)
        if queue is not None and held.messages:
            first = first_slot(queue, begin)
            first = expired_end(queue, begin) if first is None else first
            if first > held.stop:
                return *key, held.stop, first
    return None


class _Expired(Places):
    """Queue entries that name expired records would name those that take their places: they name places before all, in the same order.

    `begin`: where the log began; `old` has where it begins.
    """

    @property
    def first(self) -> int:
        return 1

    def new_of(self, old: Numbers) -> Numbers:
        begin = int(self.old[0])
        found: Numbers = np.where(old < self.begin, np.minimum((old * (begin / self.begin)).astype(np.int64), begin - 1), old)
        return found


def without_expired(files: StoreFiles, begin: int, settings: ReadSettings) -> tuple[StoreFiles, MovedStorage]:
    """A store whose log begins earlier, at `begin`, than its queues and its index know; and what must exist as long as it is read."""
    start = np.array([begin], np.int64)
    storage = MovedStorage(_Expired(start, start, start, np.zeros(1, np.bool_), files.min_offset), {})
    queues, index = files.consume_queue, files.index
    if queues is not None:
        queues = storage.add_folder(queues, lambda _: Entries(QUEUE_ENTRY.itemsize, 0))
    if index is not None:
        index = storage.add_folder(index, entries_of_index(files, settings))
    return replace(files, consume_queue=queues, index=index), storage


def copy_tier(tier: OwnTier, files: StoreFiles, folder: str, *, links: bool) -> None:
    """Copy the files of a tier to a new store; with `links`, its sealed files, to which no broker writes, are links."""
    assert tier.root is not None
    root, place = local_path(tier.root), tier.path_in(files.uri, folder)
    names = sorted(name for name, _ in disk.files_below(root))
    last = {name.rpartition("/")[0]: name for name in sorted(names, key=lambda name: name.rpartition("/")[2][8:])}
    for name in names:
        is_sealed = links and last[name.rpartition("/")[0]] != name and "/INDEX/" not in name
        (disk.link if is_sealed else disk.copy)(disk.path_in(root, name), disk.path_in(place, name))


def without_tier(account: Account, tier: OwnTier) -> Account:
    """The account of a store whose tier was read as a whole: nothing of it is not read."""
    table = account.table
    is_tier = pc.and_(pc.equal(table["state"], NOT_READ), pc.fill_null(pc.equal(table["file"], tier.tier.where), fill_value=False))
    return Account(table.filter(pc.invert(is_tier)))


def leave_out(config: str) -> None:
    """Without its metadata, a broker begins its tier again."""
    for name in (METADATA, f"{METADATA}.bak"):
        disk.unlink(disk.path_in(config, name))
