"""Reads a split through consume queues: skips what other queues claim and walks everything else.

So the result does not depend on the wanted queues. Records of a deleted or new topic, or from a hole in its queues, are in
bytes that no other queue claims. Each walk must end exactly at the next claim. If it does not, or if a claim is false, the
whole split is scanned. `trust` uses the wanted queues instead, and reads only what they name.

Claims are checked before the bytes that they name are skipped. Checking every claim would be a scan. Instead, the first and the last
claim of each queue file in the range are checked: a file that was swapped, renamed or copied has no true claim. A single wrong claim
between them leaves its own record unclaimed. That record is then walked, and the contradiction is detected (`contradicted`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from native_reader.arrow import numpy_of
from native_reader.broker.settings import Topics
from native_reader.columns.chunk import Columns
from native_reader.columns.rows import Rows
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.arrays import is_among, place_among
from native_reader.layout.begin import topic_field
from native_reader.layout.properties import CRC_NAME, CRC_SIZE
from native_reader.layout.record import COMMITTED, INNER_BATCH, MAGIC_V1, MAGIC_V2, TRANSACTION, Numbers, Records, head_size
from native_reader.plan.claims import QueueClaims, claims_within, left_of, may_want, tiles_of
from native_reader.plan.estimate import costs_of, is_too_small
from native_reader.plan.ways import ByQueues
from native_reader.predicate.outcomes import Known, Within, exactly, mentions
from native_reader.records.damages import NO_DAMAGE, Account
from native_reader.records.extents import Extents, records_of
from native_reader.records.sync import head_at
from native_reader.records.trouble import too_large_error
from native_reader.records.walk import CHUNK, Piece
from native_reader.scan.narrowed import LEADS_ELSEWHERE, Contradiction, NarrowedRead, ScanInstead
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Directories, Topic
from native_reader.storage.protocol import storage_of
from native_reader.storage.window import Window
from native_reader.tuning import TUNING


class QueuesRead(NarrowedRead):
    """A read that needs the entries of queues."""

    def __init__(self, way: ByQueues, directories: Directories, *of_split: Any, **limits: Any) -> None:
        super().__init__(*of_split, **limits)
        self._way, self._directories = way, directories
        self._facts: dict[str, Known] = {
            "store": exactly(self._split.store),
            "segment": exactly(self._split.segment.name),
            "physical_offset": Within(self._split.segment.base, self._split.segment.end),
        }

    def _with_batches(self) -> frozenset[str]:
        """Topics whose tags codes mean nothing: topics with inner batches may have ordinary queues on slaves."""
        return Topics(f"{self._split.store}/config").of_batches() if mentions(self._predicate, "tags") else frozenset()


class UnclaimedRead(QueuesRead):
    """Everything that no other queue claims."""

    def __init__(self, *of_split: Any, **limits: Any) -> None:
        super().__init__(*of_split, **limits)
        self._named = np.empty(0, np.int64)
        """The physical offsets of records that wanted queues name."""

    def _narrowed(self) -> Iterator[Piece]:
        split = self._split
        begin, stop = self._begin, min(split.stop, split.end)
        topics = self._directories.topics(self._way.queues)
        written = max(0, self._window.written_end(stop) - begin)  # a hole costs nothing to read
        if is_too_small(split.segment.uri, written, len(topics)):
            raise ScanInstead(f"looking up {len(topics):,} topics costs more than reading {written:,} bytes")
        wanted, unwanted = self._true_claims(topics, begin, stop, written)
        extents, last = self._left(wanted, unwanted)
        self._check_costs(written, len(topics), sum(len(each.entries) for each in (*wanted, *unwanted)), extents, begin + written - last)
        for group in extents.groups(self._first, CHUNK, TUNING.large_extent):
            base = split.segment.base + self._frame
            if group.bytes > TUNING.large_extent and len(group) == 1 and not is_among(group.starts + base, self._named).any():
                yield from self._walked(int(group.starts[0]), int(group.ends[0]), [*wanted, *unwanted], unwanted, arrives=True)
            else:
                records = self._together(group)
                self._check(records, unwanted)
                yield Piece(records, NO_DAMAGE)
        yield from self._walked(last, split.stop, [*wanted, *unwanted], unwanted)

    def _left(self, wanted: list[QueueClaims], unwanted: list[QueueClaims]) -> tuple[Extents, int]:
        """What to read (records in wanted queues, and unclaimed bytes), and where the last claim ends."""
        left = left_of(wanted, unwanted, self._split.segment.base + self._frame, self._begin, self._frame)
        if left.largest > self._max_record_bytes:
            raise Contradiction("a record is larger than max_record_bytes")
        self._named = left.named
        return Extents(left.starts, left.ends), left.last

    def _check_costs(self, written: int, topics: int, records: int, extents: Extents, rest: int) -> None:
        """Raise if a scan of these bytes and records costs less than to fetch the extents, and `rest` bytes after them."""
        uri = self._split.segment.uri
        ranges, fetched = extents.fetched(storage_of(uri).range_costs)
        if costs_of(uri, written, records, topics, ranges=ranges, fetched=fetched + max(0, rest)).favor_scan:
            raise ScanInstead("most of it must be read")

    def _true_claims(self, topics: list[Topic], begin: int, stop: int, written: int) -> tuple[list[QueueClaims], list[QueueClaims]]:
        """The claims that the predicate may match, and those that it cannot, without queue files that failed the check."""
        base = self._split.segment.base
        span = base + self._frame + begin, base + self._frame + stop, base + self._split.end
        possible = [topic for topic in topics if may_want(self._predicate, topic, self._facts)]
        wanted, others = claims_within(self._directories, possible, self._predicate, self._facts, span, with_batches=self._with_batches())
        if wanted:  # before the entries of all other queues are read
            starts, sizes, _ = tiles_of(wanted, [], base)
            records = written * len(sizes) // max(1, int(sizes.sum()))
            self._check_costs(written, len(topics), records, Extents(starts, starts + sizes + self._frame), 0)
        excluded = [topic for topic in topics if topic not in possible]
        others += claims_within(self._directories, excluded, self._predicate, self._facts, span)[1]
        unwanted, has_checksums = true_claims(self._window, others)
        if has_checksums:
            wanted, others = claims_within(self._directories, topics, self._predicate, self._facts, span, trust_tags=False)
            unwanted, _ = true_claims(self._window, others)
        return wanted, unwanted

    def _walked(
        self, start: int, stop: int, claims: list[QueueClaims], unwanted: list[QueueClaims], *, arrives: bool = False
    ) -> Iterator[Piece]:
        """Walk a long extent, or the bytes after the last claim. The claim that ends at its start must be true."""
        offset = self._split.segment.base + start
        if start > self._begin and not has_true_one(self._window, claims, offset):
            raise Contradiction(f"no consume queue entry matches the record that ends at offset {offset:,}")
        walk = self._walk(start, stop, hands_over=not arrives and not self._split.alone)
        self._walks.append(walk)
        for piece in walk:
            self._check(piece.records, unwanted)
            self._damage.append(piece.damages)
            yield piece
        if arrives and walk.reached != stop:
            raise Contradiction(f"from offset {offset:,}, {LEADS_ELSEWHERE}")

    def _check(self, records: Records, unwanted: list[QueueClaims]) -> None:
        """Raise if an unwanted queue contradicts one of these records."""
        offsets = records.heads["physical_offset"].astype(np.int64)
        rows = Rows(PaddedBuffer(self._window.u8, self._window.arrow), records).where(~is_among(offsets, self._named))
        if contradicted(self._window, unwanted, rows, self._split.store):
            raise Contradiction("the consume queue entry of a record has another offset")
        self._returned.append(offsets)


class TrustedRead(QueuesRead):
    """Only what the wanted queues name."""

    def _claims(self) -> list[QueueClaims]:
        """The claims of the records to read."""
        split = self._split
        base = split.segment.base + self._frame
        topics = [topic for topic in self._directories.topics(self._way.queues) if may_want(self._predicate, topic, self._facts)]
        span = base + split.start, base + min(split.stop, split.end), split.segment.base + split.end
        return claims_within(self._directories, topics, self._predicate, self._facts, span, with_batches=self._with_batches())[0]

    def _narrowed(self) -> Iterator[Piece]:
        base = self._split.segment.base + self._frame
        offsets, sizes, _ = tiles_of(self._claims(), [], base)
        large = sizes > self._max_record_bytes
        if large.any() and not self._skip_damage:
            first = int(np.argmax(large))
            raise too_large_error(self._window, int(offsets[first]) - base, int(sizes[first]), self._max_record_bytes)
        starts = offsets[~large] - base
        for group in Extents(starts, starts + sizes[~large] + self._frame).groups(self._first, CHUNK, CHUNK):
            records, _ = records_of(self._window, group, single=True)
            self._extents += Account(len(records), int(records.sizes.sum()) + self._frame * len(records))
            if len(records):
                yield Piece(records, NO_DAMAGE)


def true_claims(window: Window, claims: Sequence[QueueClaims]) -> tuple[list[QueueClaims], bool]:
    """The claims of queue files whose first and last claim are true; and whether the properties end in checksums.

    Such a checksum can be attached to a tag (5.x with property checksums, batches from clients up to 4.9). The queue then has
    the hash of both.
    """
    kept: list[QueueClaims] = []
    has_checksums = False
    for each in (QueueClaims(queue, entries) for queue, all_entries in claims for entries in all_entries.by_file()):
        ends = {0, len(each.entries) - 1}
        if not all(is_true(window, each, which) for which in ends):
            continue
        kept.append(each)
        for which in ends:
            _, offset, size = each.entries.place(which)
            end = offset + size - window.segment.base
            has_checksums = has_checksums or window.peek(end - CRC_SIZE, len(CRC_NAME)) == CRC_NAME
    return kept, has_checksums


def is_true(window: Window, claims: QueueClaims, which: int) -> bool:
    """Whether this record of the queue is there, with this number and size. Reads its head and topic, not its body.

    False for an inner batch in an ordinary queue, as slaves have them: the entry does not describe the messages in it.
    """
    queue, entries = claims
    number, offset, size = entries.place(which)
    position = offset - window.segment.base
    head = head_at(window, position - window.segment.frame)
    stated = int(head["size"]), int(head["physical_offset"]), int(head["queue_id"]), int(head["queue_offset"])
    if int(head["magic"]) not in (MAGIC_V1, MAGIC_V2) or stated != (size, position + window.segment.base, queue.queue_id, number):
        return False
    if int(head["sys_flag"]) & INNER_BATCH and not queue.batch:
        return False
    body_size, topic = int(head["body_size"]), topic_field(queue.topic.encode(), int(head["magic"]))
    topic_at = position + head_size(int(head["sys_flag"])) + body_size
    return topic is not None and 0 <= body_size < size and window.peek(topic_at, len(topic)) == topic


def has_true_one(window: Window, claims: Sequence[QueueClaims], end: int) -> bool:
    """Whether any of the claims that end at that offset is true."""
    for claim in claims:
        before = claim.entries.last_below(end)
        if before >= 0 and sum(claim.entries.place(before)[1:]) == end and is_true(window, claim, before):
            return True
    return False


def contradicted(window: Window, claims: Sequence[QueueClaims], rows: Rows, store: str) -> bool:
    """Whether a queue falsely claims another place for one of these records, which no queue claimed.

    If that claim is true, the record is from an earlier topic of the same name, which was deleted and created again.
    """
    flags = rows.records.heads["sys_flag"] & TRANSACTION
    rows = rows.where((flags == 0) | (flags == COMMITTED))  # the others (prepared, rolled back) are never dispatched
    if not len(rows) or not claims:
        return False
    topics = Columns((), store, window.segment.name).chunk(rows).topic().dictionary_encode()
    names, codes = topics.dictionary.to_pylist(), numpy_of(topics.indices)
    queue_ids = rows.records.heads["queue_id"]
    for claim in claims:
        if claim.queue.topic in names:
            heads = rows.records.heads[(codes == names.index(claim.queue.topic)) & (queue_ids == claim.queue.queue_id)]
            misplaced = _misplaced(claim.entries, heads["queue_offset"].astype(np.int64), heads["physical_offset"].astype(np.int64))
            if any(not is_true(window, claim, which) for which in misplaced.tolist()):  # rarely any
                return True
    return False


def _misplaced(entries: Entries, numbers: Numbers, offsets: Numbers) -> Numbers:
    """Entries with the number of one of these records but another offset, although the record fits at that place in the queue."""
    place = place_among(numbers, entries.numbers)
    place, offsets = place[place >= 0], offsets[place >= 0]
    before = np.where(place > 0, entries.offsets[place - 1], -1)
    after = np.where(place + 1 < len(entries), entries.offsets[np.minimum(place + 1, len(entries) - 1)], 2**63 - 1)
    misplaced: Numbers = np.unique(place[(before < offsets) & (offsets < after)])
    return misplaced
