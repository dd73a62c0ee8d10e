"""The plan of a repair: what survives, what is lost, and all that the new store will hold. It is decided before anything is written."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.account.account import Account
from native_reader.account.states import AS_WANTED, UNREACHABLE, Mark, why
from native_reader.broker.config_files import without
from native_reader.broker.consumer_offsets import GroupOffset, offsets_in
from native_reader.broker.progress import checkpoint_of
from native_reader.broker.settings import Topics
from native_reader.errors import StoreDamaged, UnreadableError
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.properties import CRC_SIZE, crc_trailer
from native_reader.layout.queue_entry import QUEUE_ENTRY, is_light, is_written
from native_reader.layout.record import ENTRY_HEAD, UP_TO_MAGIC, Numbers, stored_crc
from native_reader.log.recovery import is_controlled
from native_reader.records.damages import Damages
from native_reader.repair import disk
from native_reader.repair.batch_queues import entries_at, in_order
from native_reader.repair.checking import Warned, checked
from native_reader.repair.doubts import ALWAYS_LOST, KEYS, PLACE, TAG, TAGGED, TRANSACTION, Doubt, contradicted_by_index, damaged_tags
from native_reader.repair.fields import FLAG, INDEXED, TOPIC, decisions_on
from native_reader.repair.filling import Filling, code_of, filled
from native_reader.repair.indexes import IndexShape, index_shape
from native_reader.repair.kept_keys import KeptKeys
from native_reader.repair.log_shape import Hole, LogShape, Moved, shape_of, was_blank
from native_reader.repair.lost import Lost, lost_in, named_end
from native_reader.repair.named import as_named, renamed_in
from native_reader.repair.new_database import LEFT_OUT, NewDatabase, new_database
from native_reader.repair.old_queues import OldQueue, OldQueues, is_folder_name
from native_reader.repair.others import MOST_OFFSET, Filled, filled_from, without_foreign
from native_reader.repair.plain import Plain, plain_of
from native_reader.repair.records import CRCS, KEEP_TIER, TIER_TO_LOG, Choices, ReadSettings, bytes_at, size_at
from native_reader.repair.refusals import refusal
from native_reader.repair.refused import appends_checksums, refuse_foreign, refuse_kinds, refuse_topics
from native_reader.repair.settings import EXTRACTED, NOT_MADE, OLDER, mended_settings
from native_reader.repair.survey import WANTED, Change, Decided, NewQueue, Run, Survey, Survivors
from native_reader.repair.tiers import OwnTier, before_log, own_tier, parted_queue, without_tier
from native_reader.repair.union import united
from native_reader.sentences import Said, say
from native_reader.sides.index import index_files
from native_reader.sides.queues import QueueFile
from native_reader.start import Start, answer_for
from native_reader.storage.filled import SCHEME as FILLED
from native_reader.storage.filled import own_uri, uri_like
from native_reader.storage.local import local_path
from native_reader.storage.protocol import storage_of
from native_reader.storage.rocksdb import size_of_database
from native_reader.storage.store import DLEDGER, StoreFiles
from native_reader.writing.records import checksum_of

_BEYOND = 2**63 - 1


@dataclass(frozen=True)
class RepairPlan:
    """What a repair will write, and what is lost.

    Attributes:
        files: The damaged store.
        messages: How many messages survive.
        doubts: The records that something else in the store contradicts, by offset. They are replaced, too, unless `choices` keep them.
        dropped: By topic: how many whole records no queue gets, because their topic or queue was deleted.
        remade: By topic: how many messages are in queues that had lost their files.
        mended: Files of settings that a broker does not load, and what takes the place of each.
        checkpoint_ahead: By how many milliseconds the checkpoint is later than the last whole record, at least 0.
        account: In which states the messages of the damaged store are; of an extract, those of its topics.
        copied: Warnings of the check of the damaged store that the new one has, too; those of an extract are not known.
        flaws: Codes of what a check finds in a store that would be copied otherwise: the index and the checkpoint are made again.
    """

    files: StoreFiles
    survey: Survey
    shape: LogShape
    lost: Lost
    filling: Filling
    units: int
    messages: int
    starting: Future[Start]
    """The answer of `start`, found in a thread: some segments are read for it, and nothing else of the plan needs it."""
    doubts: Mapping[int, Doubt]
    dropped: Counter[str]
    remade: Counter[str]
    groups: tuple[GroupOffset, ...]
    has_stale: bool
    """Whether old records follow the end of the log, and entries of them the ends of queues. They stay."""
    was_stopped: bool
    """Whether its broker stopped cleanly, and wrote a checkpoint."""
    index: IndexShape | None
    """How large index files are; None if nothing tells it."""
    choices: Choices
    mended: Mapping[str, str]
    checkpoint_ahead: int
    account: Account
    copied: Sequence[Warned]
    flaws: tuple[str, ...] = ()
    moved: Moved | None = None
    """Where the records of an extract are; None if all stay in their places."""
    alone: Account | None = None
    """If other stores help: in which states the messages are without them. `account` and `files` are of what all of them have."""
    filled: Filled | None = None
    """What comes from other stores."""
    tier: OwnTier | None = None
    """The tier of the store, and what becomes of it."""
    plain: Plain | None = None
    """If the store is of a DLedger peer: how it becomes a plain one. `files`, and all places, are of that."""
    assumes_queue_size: bool = False
    """Whether nothing tells how large queue files are: they get the size of a default broker."""
    database: NewDatabase | None = None
    """The database with queues, if the store has one."""
    batch_topics: Collection[str] = ()
    """The topics with batch queues, whose files have `batch_file_bytes`."""
    batch_file_bytes: int = 0

    @property
    def log_directories(self) -> set[str]:
        """Where the log is: a broker can have it on several disks (storePathCommitLog). The new store has it in one place."""
        return {each.directory for each in self.files.segments}

    @property
    def renamed(self) -> Mapping[str, str]:
        """The right name of each segment whose name is wrong."""
        return renamed_in(self.files)

    @property
    def start(self) -> Start:
        """Whether a broker may be started on the damaged store."""
        return self.starting.result()

    @property
    def said_of_settings(self) -> Iterator[Said]:
        """Which files of settings the new store does not have, or has from its queues."""
        for name, what in sorted(self.mended.items()):
            if what in NOT_MADE:
                yield without(name, say("new store without", file=name))
            elif what != OLDER:
                yield say("new topics", file=name)

    @property
    def queue_files(self) -> Mapping[str, int]:
        """The files of queues that lack entries for messages of the log, or have others instead: how many are made again of each."""
        queues = sorted(self.survey.queues.items())
        return {
            f"{topic}/{queue_id}/{number * self.units * QUEUE_ENTRY.itemsize:020}": count
            for (topic, queue_id), queue in queues
            for number, count in sorted(queue.replaced.items())
        }

    @property
    def is_whole(self) -> bool:
        """Whether no message of the damaged store is lost, doubtful or not read, and all settings are kept."""
        has_settings = set(self.mended.values()) <= {OLDER}
        # A queue that does not lead to its messages is made again.
        is_kept = not (self.placeholders or self.doubts or self.fields)
        return has_settings and is_kept and self.account.messages.keys() <= {*AS_WANTED, UNREACHABLE}

    @property
    def doubtful(self) -> tuple[int, ...]:
        """The offsets of the records that something else in the store contradicts."""
        return tuple(self.doubts)

    @cached_property
    def corrected(self) -> Mapping[int, int]:
        """The records that are kept with another checksum, by offset. A placeholder takes the place of those that are left out."""
        right, stops = self.survey.wrong.right, [hole.stop for hole in self.shape.holes]
        places = {offset: bisect_right(stops, offset) for offset in right}
        holes = [*self.shape.holes, Hole(_BEYOND, _BEYOND, 0)]
        return {offset: right[offset] for offset, at in places.items() if offset < holes[at].start}

    @property
    def fields(self) -> Mapping[int, Change]:
        """The records that are kept with another topic, queue id, queue offset or flag, by offset."""
        return self.survey.changes

    @cached_property
    def rewritten(self) -> Mapping[int, bytes]:
        """What differs in records that are kept, by its place in the log."""
        sums = {offset + UP_TO_MAGIC: stored_crc(right) for offset, right in self.corrected.items()}
        changed = sums | {offset + change.at: change.content for offset, change in self.fields.items()}
        if self.filling.crc:
            for offset in {*self.corrected, *self.fields}:
                changed |= self._checksum(offset, changed)
        return changed

    def _checksum(self, offset: int, changed: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The checksum of a whole record (enabledAppendPropCRC) with these changes, by its place; older records have none."""
        whole = bytes_at(self.files, offset, size_at(self.files, offset))
        if crc_trailer(whole) is None:
            return {}
        content = bytearray(whole[:-CRC_SIZE])
        for at, part in changed.items():
            if offset <= at < offset + len(content):
                content[at - offset : at - offset + len(part)] = part
        return {offset + len(content): checksum_of(bytes(content))}

    @property
    def changes(self) -> bool:
        """Whether anything of the new store differs from the old one. If not, it is a copy."""
        entries = any(queue.lacking for queue in self.survey.queues.values())
        is_complete = self.was_stopped and (self.index is None or bool(index_files(self.files.index)))
        return (
            not self.is_whole
            or entries
            or self.filled_bytes > 0
            or (self.filled is not None and bool(self.filled.taken))
            or not is_complete
            or bool(self.shape.made or self.shape.has_junk or self.flaws or self.plain)
            or not (self.database is None or self.database.is_right)
        )

    @property
    def lost_messages(self) -> int:
        """How many messages of the damaged store are known to be lost."""
        return self.account.lost

    @property
    def placeholders(self) -> int:
        """How many placeholders the new store has, each in the place of a message that it does not have."""
        return len(self.filling.placed)

    def before_log(self, mark: Mark) -> int:
        """How many messages queues name before the first segment: that were removed, or that expired."""
        return messages_of(self.account, mark)

    @cached_property
    def filled_bytes(self) -> int:
        """How many bytes of the log are made."""
        tail = sum(max(0, self.filling.end - hole.start) for hole in self.shape.holes if hole.is_tail)
        return tail + sum(hole.stop - hole.start for hole in self.shape.holes if not hole.is_tail)

    @cached_property
    def blank_bytes(self) -> int:
        """How many of them are the unused ends of segments whose mark is damaged: no message was there."""
        offsets, shape = self.filling.placed["offset"], self.shape
        ends = (hole for hole in shape.holes if hole.closes and not ((offsets >= hole.start) & (offsets < hole.stop)).any())
        return sum(hole.stop - hole.start for hole in ends if was_blank(shape, hole))

    @property
    def queue_file_bytes(self) -> int:
        """How large each file of a queue is."""
        return self.units * QUEUE_ENTRY.itemsize

    def is_as_before(self, base: int) -> bool:
        """Whether a segment of the new log is as the file of the old one."""
        source, stop = self.shape.sources.get(base), base + self.shape.size
        if self.moved is not None or source is None or source.size != self.shape.size or own_uri(source.uri) != source.uri:
            return False
        return not any(base <= each < stop for each in (*(hole.start for hole in self.shape.holes), *self.rewritten))

    def links(self, base: int) -> bool:
        """Whether a segment is a link: it is as before, and a broker, which goes on at the end of the log, does not write to it."""
        if not (self.choices.link and self.is_as_before(base) and base + self.shape.size <= self.end):
            return False
        others = () if self.filled is None else self.filled.stores
        return not any(self.shape.sources[base].uri.startswith(f"{store}/") for store in others)

    def links_file(self, queue: NewQueue, file: QueueFile) -> bool:
        """Whether a file of a queue is a link: nothing changes it, and a broker goes on in a later one.

        With old records after the log's end, it goes on before the last one.
        """
        if not self.choices.link or self.moved is not None or self.has_stale or own_uri(file.uri) != file.uri:
            return False
        end = file.base + file.units
        is_changed = (
            queue.survivors.replaced[file.base // self.units] or ((queue.lost["slot"] >= file.base) & (queue.lost["slot"] < end)).any()
        )
        return file.units == self.units and end < queue.stop and not is_changed

    @property
    def bytes_to_write(self) -> int:
        """How large the files of the new store are, at most."""
        queues = [() if queue.before is None else queue.before.files for queue in self.survey.queues.values()]
        of_queues = sum(self.queue_file_bytes * max(1, len(files)) for files in queues)
        of_index = sum(file.size for file in index_files(self.files.index))
        return self.shape.stop - self.shape.begin + of_queues + of_index

    @property
    def bytes_needed(self) -> int:
        """How much room they need on the disk."""
        return self.bytes_copied + self.bytes_made

    @property
    def bytes_copied(self) -> int:
        """How many bytes are copied as they are: holes of files stay holes, and links take no room."""
        queues = [
            file.uri
            for queue in self.queues()
            if queue.survivors.before is not None
            for file in queue.survivors.before.files
            if not self.links_file(queue, file)
        ]
        segments = [each.uri for base, each in self.shape.sources.items() if not self.links(base)]
        copied = _data_bytes((*segments, *queues))
        copied += self.tier.tier.size or 0 if self.tier is not None and self.tier.way == KEEP_TIER else 0
        copied += size_of_database(self.database.uri) if self.database is not None and self.database.way != LEFT_OUT else 0
        return copied + (0 if self.moved is None else int(self.moved.sizes.sum()))

    @property
    def bytes_made(self) -> int:
        """About how many others are written: a new index takes as much as the old one."""
        entries = self.messages + self.placeholders if self.changes else 0
        taken = () if self.filled is None else self.filled.ranges
        bases = {start // self.shape.size * self.shape.size for start, _, _ in taken}
        filled = {base for base in bases if base in self.shape.sources and self.shape.sources[base].uri.startswith(FILLED)}
        from_others = sum(stop - start for start, stop, _ in taken if start // self.shape.size * self.shape.size in filled)
        of_index = _data_bytes(file.uri for file in index_files(self.files.index))
        from_others += self.shape.size * (0 if self.filled is None else len(self.filled.tiered))
        return self.filled_bytes + from_others + entries * QUEUE_ENTRY.itemsize + of_index

    @property
    def end(self) -> int:
        """The end of the new log's last record."""
        return self.filling.end

    def batch_queues(self) -> Iterator[tuple[tuple[str, int], OldQueue | None, NDArray[np.void]]]:
        """The batch queues of the new store: topic and number, the old files, and all entries."""
        placed, sizes, times, *_ = self.filling
        for number, key in enumerate(self.lost.queues):
            if key[0] in self.batch_topics:
                rows = np.flatnonzero(placed["queue"] == number)
                slots = placed["slot"][rows]
                counts = np.array([self.lost.counts.get((number, slot), 1) for slot in slots.tolist()], np.int64)
                lost = entries_at(placed["offset"][rows], sizes[rows], code_of(key[0], 0), times[rows], slots, counts)
                queue = self.survey.queues[key]
                yield key, queue.before, in_order([*queue.batched, lost])

    def queues(self) -> Iterator[NewQueue]:
        """The other queues of the new store."""
        placed, sizes, times, *_ = self.filling
        order = np.argsort(placed["queue"], kind="stable")
        bounds = np.searchsorted(placed["queue"][order], np.arange(len(self.lost.queues) + 1))
        for number, key in enumerate(self.lost.queues):
            if key[0] in self.batch_topics:
                continue
            lights = self.filling.lights[self.filling.lights["queue"] == number]
            mine = np.concatenate([order[bounds[number] : bounds[number + 1]], lights["row"]])
            entries = np.empty(len(mine), WANTED)
            entries["slot"], entries["entry"]["offset"], entries["entry"]["size"] = (
                np.concatenate([placed["slot"][mine[: len(mine) - len(lights)]], lights["slot"]]),
                placed["offset"][mine],
                sizes[mine],
            )
            topics = [self.lost.queues[queue][0] for queue in placed["queue"][mine].tolist()]
            entries["entry"]["tags_code"] = [code_of(*each) for each in zip(topics, times[mine].tolist(), strict=True)]
            queue = self.survey.queues[key]
            yield NewQueue(*key, queue, np.concatenate([np.empty(0, WANTED), *queue.wanted]), entries, self.lost.ends[number])


def _data_bytes(uris: Iterable[str]) -> int:
    """How many bytes of files are not in holes; of a file that is not written yet, of the one that it is like."""
    return sum(disk.data_bytes(local_path(like)) for uri in uris if (like := uri_like(uri)) is not None)


def messages_of(account: Account, mark: Mark) -> int:
    """How many messages an account has with a mark."""
    table = account.table
    return pc.sum(table.filter(pc.equal(table["why"], why(mark)))["messages"]).as_py() or 0


def plan_repair(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None = None) -> RepairPlan:
    """Read the store, and decide everything. `kept`: gets the keys of its records."""
    refuse_kinds(files, settings.choices)
    tier = own_tier(files, settings.choices)
    if any(each.framing == DLEDGER for each in files.segments):
        return _with_tier(_plan_of_plain(files, settings, kept), tier)
    if settings.others or (tier is not None and tier.way == TIER_TO_LOG):
        return _with_tier(_plan_with_others(files, settings, kept, tier), tier)
    refuse_foreign(files, settings.reserved_hours)
    plan = _planned(files, settings, kept)
    if tier is not None and tier.queues and plan.placeholders:
        if kept is not None:
            kept.forget()
        plan = _plan_with_others(files, settings, None, tier)
    return _with_tier(plan, tier)


def _with_tier(plan: RepairPlan, tier: OwnTier | None) -> RepairPlan:
    """The plan with what becomes of the tier. Raises an error if a broker would delete messages of it that do not go into the log."""
    if tier is not None and tier.must_stay_whole and (found := parted_queue(tier, plan.survey.queues, plan.shape.begin)) is not None:
        topic, queue_id, end, begin = found
        raise refusal("tier parted", topic=topic, queue=queue_id, end=end, begin=begin)
    return replace(plan, tier=tier)


def _plan_of_plain(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None) -> RepairPlan:
    """The plan for a DLedger store as a plain one, with what other peers have."""
    own = plain_of(files, settings)
    alone = checked(own.files, settings).account if settings.others else None
    found = None
    if alone is not None:
        found = united(files, settings, partial(_contradicted, settings), earlier=messages_of(alone, Mark.REMOVED) > 0)
    plain = own if found is None else replace(plain_of(found.files, settings), old=files)
    plan = _planned(plain.files, settings, kept)
    return replace(plan, starting=_answering(files, own.end, settings, own.damage), plain=plain, alone=alone, filled=found)


def _contradicted(settings: ReadSettings, files: StoreFiles) -> Numbers:
    """The offsets of entries of a DLedger log that something else in its store contradicts."""
    plain, strict = plain_of(files, settings), settings._replace(progress=False, choices=settings.choices._replace(crc=CRCS[0]))
    return plain.places.old_of(np.array([*_looked(plain.files, strict, None).survey.doubts], np.int64)) - ENTRY_HEAD


def _plan_with_others(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None, tier: OwnTier | None) -> RepairPlan:
    """The plan for what this store, its tier and others have, after a look at what this one lacks."""
    own = without_foreign(files, settings.reserved_hours)
    strict = settings._replace(choices=settings.choices._replace(crc=CRCS[0], keep_doubtful=False))
    look, alone = _looked(own, strict, None), checked(as_named(files), settings).account
    lacking = [(hole.start, hole.stop) for hole in look.shape.holes if not hole.is_tail]
    if messages_of(alone, Mark.REMOVED):
        lacking.insert(0, (0, own.min_offset))
    if not look.is_stale:
        lacking.append((max(look.survey.end, lacking[-1][1] if lacking else 0), MOST_OFFSET))
    queues = {key: each for key, each in look.survey.queues.items() if key[0] not in look.old.batch_topics}
    size, is_moved = look.shape.size, tier is not None and tier.way == TIER_TO_LOG
    placed = before_log(tier, own, size, look.survey.queues, settings) if tier is not None and is_moved else None
    found = filled_from(own, size, lacking, queues, settings, tier=tier, placed=placed)
    plan = _planned(found.files, settings, kept, found.in_place)
    account = plan.account if tier is None or not is_moved else without_tier(plan.account, tier)
    starting = _starting(files, look.survey, look.log_end, settings)
    return replace(plan, starting=starting, alone=alone, account=account, filled=found)


class _Look(NamedTuple):
    """What one store has. `until`: where the last record begins that several queues name; `clears`: see `shape_of`."""

    old: OldQueues
    survey: Survey
    shape: LogShape
    log_end: int
    until: int
    dropped: Counter[str]
    remade: Counter[str]
    is_stale: bool
    clears: bool


def _looked(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None) -> _Look:
    old = OldQueues(files, settings.sizes)
    refuse_topics(files, settings.choices.topics, (topic for topic, _ in old.all))
    if settings.choices.topics and (light := next((topic for topic, _ in old.all if is_light(topic)), None)):
        raise refusal("light", name=f"'{light}'")
    if batched := sorted(old.batch_topics & {*settings.choices.topics}):
        raise refusal("batches of extract", topic=batched[0])
    survey = _surveyed(files, old, settings, kept)
    plan = survey.reader.scan.plan()
    log_end, until = dict(plan.ends)[files.uri], max((each.stop for each in plan.lost), default=0)
    for key, each in _chosen(old, settings).items():
        survey.queues.setdefault(key, Survivors(each))
    dropped, remade = _drop_deleted(files, survey, old, log_end)
    is_stale = bool(dict(plan.stale).get(files.uri))
    clears = is_stale and is_controlled(files)  # without a controller, a broker would take these records for its own
    shape = shape_of(files, survey, log_end, None if is_stale else named_end(survey, until), clears=clears)
    if settings.sizes is not None and shape.size != settings.sizes.segment:
        raise refusal("configured", name="mappedFileSizeCommitLog", size=settings.sizes.segment, found=shape.size)
    return _Look(old, survey, shape, log_end, until, dropped, remade, is_stale, clears)


def _planned(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None, counted: StoreFiles | None = None) -> RepairPlan:
    """The plan. `counted`: the store whose messages are counted, if it is not the same."""
    old, survey, shape, log_end, until, dropped, remade, is_stale, clears = _looked(files, settings, kept)
    groups = _groups(files)
    # Without such losses, a group after the end of its queue is one of a topic that was deleted and created again.
    ends_in_loss = until > 0 or shape.has_junk or shape.bases[-1] in shape.made
    lost = lost_in(survey, shape, () if is_stale else groups, old.batch_topics, ends_in_loss=ends_in_loss)
    as_large, crc = old.database is not None, appends_checksums(files)
    filling = filled(shape, lost, survey.end, survey.light_lists, as_large=as_large, crc=crc)
    for loose in filling.ignored:
        lost.ends[loose.queue] = loose.first
    if not old.batch_file_bytes and any(topic in old.batch_topics for topic, _ in lost.queues):
        raise refusal("batch size", store=files.uri)
    check = checked(as_named(counted or files), settings)
    ahead = max(0, max(checkpoint_of(files.uri).times) - survey.last_time)
    done = RepairPlan(
        files, survey, shape, lost, filling, old.units, survey.messages, _starting(files, survey, log_end, settings),
        dict(sorted(survey.doubts.items())), dropped, remade, tuple(groups), is_stale and not clears, _was_stopped(files),
        index_shape(files, settings.sizes), settings.choices, _mended(files, old, survey, settings.choices), ahead,
        check.account, () if settings.choices.topics else check.copied, assumes_queue_size=old.assumes_size,
        batch_topics=old.batch_topics, batch_file_bytes=old.batch_file_bytes,
    )  # fmt: skip
    if old.database is not None:
        done = replace(done, database=new_database(old.database, old.all, list(done.queues()), shape, has_stale=done.has_stale))
    return done if done.changes or settings.choices.topics else replace(done, flaws=check.flaws)


def _mended(files: StoreFiles, old: OldQueues, survey: Survey, choices: Choices) -> Mapping[str, str]:
    """See `mended_settings`. An extract has only the settings of its topics and of groups."""
    with_entries = {topic for (topic, _), queue in survey.queues.items() if queue.runs}
    if not choices.topics:
        return mended_settings(files.config, {topic for topic, _ in old.all}, with_entries)
    found = mended_settings(files.config, choices.topics, with_entries)
    return {name: what for name, what in found.items() if name in EXTRACTED}


def _chosen(old: OldQueues, settings: ReadSettings) -> Mapping[tuple[str, int], OldQueue]:
    """The queues with files; for an extract, those of its topics."""
    topics = settings.choices.topics
    return {key: each for key, each in old.all.items() if not topics or key[0] in topics}


def _surveyed(files: StoreFiles, old: OldQueues, settings: ReadSettings, kept: KeptKeys | None) -> Survey:
    """Read the log; once more if the topic, queue or queue offset of a record is wrong."""
    survey = Survey(files, old, settings.doing("reading"), kept=kept)
    survey.read()
    decided = _decided(files, survey, old, settings.choices)
    if kept is not None and any(change.field in INDEXED for change in decided.changes.values()):
        kept.forget()
        kept = None
    if decided.changes or len(decided.dropped) or len(decided.doubts) > len(survey.doubts):
        survey = Survey(files, old, settings, decided, kept=kept)
        survey.read()
    return survey


def _decided(files: StoreFiles, survey: Survey, old: OldQueues, choices: Choices) -> Decided:
    """Which records are left out, and which are contradicted, now that all of the log was read."""
    queues = survey.reader.queues
    tagged = np.concatenate([np.empty(0, TAGGED), *survey.tagged])
    tags = damaged_tags(tagged, {number: old.all[key] for number, key in enumerate(queues) if key in old.all}, [key[0] for key in queues])
    places = {offset: place for why in survey.placed.values() for offset, *place in why}
    places |= {offset: [queue, slot] for offset, queue, slot, *_ in tagged[np.isin(tagged["offset"], tags)].tolist()}
    keys = contradicted_by_index(files, [offset for offset, *_ in survey.placed[KEYS]])
    flagged = [offset for offset, number, slot in survey.placed[TRANSACTION] if _is_lacked(survey.queues.get(queues[number]), offset, slot)]
    doubts = dict(survey.doubts)
    for reason, offsets in ((TRANSACTION, flagged), (KEYS, keys.tolist()), (TAG, tags.tolist())):
        for offset in offsets:
            number, slot = places[offset]
            doubts[offset] = Doubt(reason, choices.keep_doubtful and reason not in ALWAYS_LOST, *queues[number], slot)
    wrong = mislabelled(survey.queues, old.all)
    changes, unclear = _decisions(files, survey, old, doubts, wrong)
    if choices.topics:  # an extract keeps records as they are
        wrong, changes = np.union1d(wrong, [offset for offset, each in changes.items() if each.field != FLAG]), {}
    doubts = {offset: doubt for offset, doubt in doubts.items() if offset not in changes} | unclear
    left_out = [offset for offset in doubts.keys() - survey.doubts.keys() if not doubts[offset].is_kept]
    return Decided(np.setdiff1d(np.union1d(wrong, np.array(left_out, np.int64)), [*changes]), doubts, changes)


def _decisions(
    files: StoreFiles, survey: Survey, old: OldQueues, doubts: Mapping[int, Doubt], wrong: Numbers
) -> tuple[Mapping[int, Change], dict[int, Doubt]]:
    """What was written otherwise in records that are out of place, or marked as open or rolled back, and that nothing else contradicts;
    and those that may be."""
    flagged = {offset for offset, doubt in doubts.items() if doubt.why == TRANSACTION}
    others = {offset: doubt.why for offset, doubt in doubts.items() if offset not in flagged}
    found = decisions_on(files, survey.queues, old.all, {*wrong.tolist(), *flagged} - survey.wrong.right.keys())
    # The index has the keys of a record with its topic.
    changes = {
        offset: each for offset, each in found.changes.items() if offset not in others or (others[offset] == KEYS and each.field == TOPIC)
    }
    return changes, {offset: Doubt(PLACE, False, *place) for offset, place in found.unclear.items()}


def _is_lacked(queue: Survivors | None, offset: int, slot: int) -> bool:
    """Whether a queue without files lacks just this message between two others."""
    pairs = () if queue is None else pairwise(queue.runs)
    return any(before.stop <= slot < after.first and before.last < offset < after.begin for before, after in pairs)


def _starting(files: StoreFiles, survey: Survey, end: int, settings: ReadSettings) -> Future[Start]:
    damage: Damages | None = Damages.of(survey.wrong.damage or survey.reader.run.report.damage)
    if renamed_in(files):  # a broker goes by the names
        files, damage = as_named(files), None
        end = dict(settings.scan(files, ("physical_offset",)).plan().ends)[files.uri]
    return _answering(files, end, settings, damage)


def _answering(files: StoreFiles, end: int, settings: ReadSettings, damage: Damages | None) -> Future[Start]:
    thread = ThreadPoolExecutor(1)
    try:
        return thread.submit(answer_for, files, end, settings.reserved_hours, settings.max_read_rate, damage, checksums=damage is not None)
    finally:
        thread.shutdown(wait=False)


def _was_stopped(files: StoreFiles) -> bool:
    storage = storage_of(files.uri)
    return storage.entry(f"{files.uri}/abort") is None and storage.entry(f"{files.uri}/checkpoint") is not None


def _groups(files: StoreFiles) -> list[GroupOffset]:
    try:
        return offsets_in(files.config)
    except (StoreDamaged, UnreadableError):  # the check of the new store has a finding about it
        return []


def _drop_deleted(files: StoreFiles, survey: Survey, old: OldQueues, end: int) -> tuple[Counter[str], Counter[str]]:
    """Forget queues that a broker deleted: their messages must not come back. Returns how many those are, by topic; and how many
    are in queues that lost their files, and are made again.

    If any queue has files, a queue without them was deleted, unless its broker had not dispatched its messages yet, or the settings
    have the queue. Brokers up to 4.9 delete queues of the half topic with any topic. If no queue has files, the settings decide.
    """
    dispatched, topics, read = old.dispatched(end), Topics(files.config), {(each.topic, each.queue_id) for each in _groups(files)}
    kinds = {is_light(topic) for topic, _ in old.all}
    configured, dropped, made = set(topics.names()), Counter[str](), Counter[str]()
    for key, queue in list(survey.queues.items()):
        if queue.before is not None or not queue.runs:
            continue
        is_known, is_system = key[0] in configured or not configured, kind_of_topic(key[0]) in SYSTEM_KINDS
        light = is_light(key[0])  # has no settings
        is_gone = light in kinds and queue.runs[-1].last <= dispatched
        is_live = (
            key in read if light else not is_system and key[1] < topics.queues_of(key[0]) and not _was_created_later(key[0], queue, old)
        )
        count = sum(run.stop - run.first for run in queue.runs)
        # The name comes from the log, and its folder must be one in that of the queues.
        if not (is_known or is_system or light) or not is_folder_name(key[0]) or (is_gone and not is_live):
            dropped[key[0]] += count
            del survey.queues[key]
        elif is_gone:
            made[key[0]] += count
    return dropped, made


def _was_created_later(topic: str, queue: Survivors, old: OldQueues) -> bool:
    """Whether the other queues of a topic begin after the last message of this one: the topic was deleted and created again."""
    firsts = [other.first[1] for (name, _), other in old.all.items() if name == topic and other.first is not None]
    return bool(firsts) and min(firsts) > queue.runs[-1].last


_AT_ONCE = 1 << 16


def mislabelled(queues: Mapping[tuple[str, int], Survivors], old: Mapping[tuple[str, int], OldQueue]) -> Numbers:
    """The log offsets of these records. Without them, the queue offsets of each queue rise."""
    out_of_place = {offset for queue in queues.values() for offset in _out_of_place(queue)}
    return np.array(sorted(out_of_place.union(_of_other_queues(queues, old))), np.int64)


def _out_of_place(queue: Survivors) -> Iterator[int]:
    """Single records that are out of place in their queue."""
    runs = (None, *queue.runs, None)
    for before, run, after in zip(runs, queue.runs, runs[2:], strict=False):
        if before is not None and before.stop == run.first + 1 and queue.before is not None:  # two records have the same slot
            named = int(queue.before.read(run.first, run.first + 1)["offset"][0])
            if named in (before.last, run.begin):
                yield run.begin if named == before.last else before.last
        elif run.stop - run.first == 1 and _contradicts(run, before, after, queue):
            yield run.begin


def _contradicts(run: Run, before: Run | None, after: Run | None, queue: Survivors) -> bool:
    """Whether a record has a queue offset that is not between its neighbours'. At the ends of a queue, only its entry tells."""
    if before is not None and after is not None:
        return before.stop <= after.first and not before.stop <= run.first < after.first
    own = before.stop if before is not None else after.first - 1 if after is not None else run.first
    if queue.before is None or own < 0 or own == run.first:
        return False
    return int(queue.before.read(own, own + 1)["offset"][0]) == run.begin


def _of_other_queues(queues: Mapping[tuple[str, int], Survivors], old: Mapping[tuple[str, int], OldQueue]) -> Iterator[int]:
    """Records of queues without files that another queue names, in their own slot: their topic or queue is not what was written."""
    runs = [run for key, queue in queues.items() if queue.before is None and not is_light(key[0]) for run in queue.runs]
    slots = {run.begin: run.first for run in runs} | {run.last: run.stop - 1 for run in runs}
    places = np.array([*slots], np.int64)
    for key, queue_files in ((key, each) for key, each in old.items() if slots and not is_light(key[0])):
        for first, offsets in _named_without_record(queue_files, queues[key].runs if key in queues else []):
            for which in np.flatnonzero(np.isin(offsets, places)).tolist():
                if slots[offset := int(offsets[which])] == first + which:
                    yield offset


def _named_without_record(queue: OldQueue, runs: list[Run]) -> Iterator[tuple[int, Numbers]]:
    """The log offsets that a queue has in the slots of no survivor, piece by piece, and the first slot of each."""
    for first, stop in zip([0, *(run.stop for run in runs)], [*(run.first for run in runs), queue.stop], strict=True):
        for begin in range(max(first, queue.begin), min(stop, queue.stop), _AT_ONCE):
            entries = queue.read(begin, min(begin + _AT_ONCE, stop, queue.stop))
            yield begin, np.where(is_written(entries), entries["offset"], -1).astype(np.int64)
