"""The decisions of a stream, without Spark: where batches end, what counts as lost, what is announced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.growing import Disk, GrowingStore
from support.tune import Tune

import native_reader as nr
from native_reader.conditions import predicate_of
from native_reader.errors import DataLoss, spelled
from native_reader.options import MessageOptions
from native_reader.scan.run import Run
from native_reader.stream.begin import EARLIEST, LATEST, Start
from native_reader.stream.offset import Batch, Offset
from native_reader.stream.portion import BatchLimit
from native_reader.stream.stream import Stream

NO_LIMIT = BatchLimit()


@pytest.fixture(autouse=True)
def every_look_is_new(tune: Tune) -> None:
    tune(look_every=0.0, list_every=0.0, rest=0)


def stream_of(url: str, announce: Callable[[str], None] = lambda line: None, start: str | None = EARLIEST, **options: Any) -> Stream:
    asked = MessageOptions(columns="physical_offset", **options)
    return Stream(lambda: nr.open(url).stores, predicate_of(asked), asked.planning(), Start(start), announce)


def rows_of(stream: Stream, offset: Offset) -> list[int]:
    run = Run(stream.plan(offset), MessageOptions(columns="physical_offset").projection(), 1, lambda rows: None)
    return [row for batch in run for row in batch.column(0).to_pylist()]


def read_all(stream: Stream, offset: Offset, limit: BatchLimit) -> tuple[list[list[int]], Offset]:
    """The rows of each batch until there are no new ones, and the last offset."""
    batches = []
    while (following := stream.next_offset(offset, limit)) is not offset:
        batches.append(rows_of(stream, following))
        offset = following
    return batches, offset


@pytest.mark.parametrize(
    "limit",
    [
        NO_LIMIT,
        BatchLimit(most_bytes=500),
        BatchLimit(most_records=3),
        BatchLimit(most_bytes=900, most_records=4),
        BatchLimit(most_files=1),
        BatchLimit(most_records=7, most_files=2),
    ],
)
def test_batches_within_each_limit_read_each_record_once(disk: Disk, grown: GrowingStore, limit: BatchLimit) -> None:
    stream = stream_of(f"{disk.url}/store")
    batches, offset = read_all(stream, stream.first_offset(), limit)
    assert [row for batch in batches for row in batch] == [each.offset for each in grown.placed]
    assert (len(batches) == 1) == (limit == NO_LIMIT)
    if limit.most_records is not None:
        assert max(map(len, batches)) <= limit.most_records
    grown.append(2)
    batches, _ = read_all(stream_of(f"{disk.url}/store"), offset, limit)
    assert [row for batch in batches for row in batch] == [each.offset for each in grown.placed[-2:]]


def test_a_batch_waits_for_the_least_records_but_not_at_a_fixed_end(disk: Disk, grown: GrowingStore) -> None:
    stream = stream_of(f"{disk.url}/store")
    start = stream.first_offset()
    assert stream.next_offset(start, BatchLimit(least_records=41)) is start
    assert len(rows_of(stream, stream.next_offset(start, BatchLimit(least_records=40)))) == 40
    grown.append(1)
    stream.stop_at_current_ends()
    grown.append(1)
    assert len(rows_of(stream, stream.next_offset(start, BatchLimit(least_records=99)))) == 41


def test_a_new_stream_begins_at_the_end_by_default(disk: Disk, grown: GrowingStore) -> None:
    for position in (None, LATEST):
        ((_, batch),) = stream_of(f"{disk.url}/store", start=position).first_offset().items()
        assert batch.start == batch.end.offset == grown.end
    ((_, batch),) = stream_of(f"{disk.url}/store").first_offset().items()
    assert batch.start == batch.end.offset == 0


def test_a_loss_is_an_error_or_is_announced_once(disk: Disk, grown: GrowingStore) -> None:
    url, lines = f"{disk.url}/store", list[str]()
    stream = stream_of(url)
    offset = stream.next_offset(stream.first_offset(), BatchLimit(most_records=2))
    end = grown.placed[2].offset
    grown.expire(2)
    with pytest.raises(DataLoss) as raised:
        stream.next_offset(offset, NO_LIMIT)
    loss = (
        f"{url}: offsets {end:,} to 8,192 ({8192 - end:,} bytes) were deleted before they were read: the log now begins at 8,192. "
        "A broker deletes its oldest segments"
    )
    assert str(raised.value) == (
        f"{loss}. To continue with the remaining data, set fail_on_data_loss=False; to start over, use a new checkpointLocation"
    )
    stream = stream_of(url, lines.append, start=None, fail_on_data_loss=False)
    batches, _ = read_all(stream, offset, NO_LIMIT)
    assert [row for batch in batches for row in batch] == [each.offset for each in grown.placed if each.offset >= 8192]
    assert lines == [f"data loss: {loss}. Reading continues with the remaining data"]


def test_a_stored_batch_is_read_from_a_store_that_was_moved(disk: Disk, grown: GrowingStore) -> None:
    stream = stream_of(f"{disk.url}/store")
    offset = stream.next_offset(stream.first_offset(), NO_LIMIT)
    grown.move("elsewhere")
    lines: list[str] = []
    moved = stream_of(f"{disk.url}/elsewhere", lines.append, start=None)
    assert rows_of(moved, offset) == [each.offset for each in grown.placed]
    grown.append(1)
    following = moved.next_offset(offset, NO_LIMIT)
    assert following == {f"{disk.url}/elsewhere": Batch(offset[f"{disk.url}/store"].end.offset, following[f"{disk.url}/elsewhere"].end)}
    assert rows_of(moved, following) == [grown.placed[-1].offset]
    assert lines == [
        f"{disk.url}/store: the store was moved to {disk.url}/elsewhere, which has the last record read. Reading continues there"
    ]


def test_a_resumed_stream_announces_warnings_once(disk: Disk, grown: GrowingStore) -> None:
    grown.dispatch()
    stream = stream_of(f"{disk.url}/store")
    offset = stream.next_offset(stream.first_offset(), NO_LIMIT)
    lines: list[str] = []
    resumed = stream_of(f"{disk.url}/store", lines.append, topic="T00")
    assert resumed.next_offset(offset, NO_LIMIT) is offset
    assert resumed.next_offset(offset, NO_LIMIT) is offset
    assert len(lines) == 2
    assert lines[0].startswith("topic 'T00' is not in the consume queues or the configuration")
    assert spelled(lines[1], str) == "this query continues from its checkpoint; starting_offsets=earliest is for new queries"
