"""A store is read while RocketMQ writes it: nothing torn, nothing lost, and what one read saw the next one sees."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rocketmq import Java, ended

import native_reader as nr
from native_reader.storage import storage_of

SEGMENT = 16 << 20
RATE, LARGEST = 20_000, 8 << 10
SECONDS = 40 if os.environ.get("RMQSTORE_SWEEP") == "whole" else 5
COLUMNS = ["physical_offset", "topic", "body", "properties"]
TRANSIENT = {"transientStorePoolEnable": "true", "transientStorePoolSize": 4, "flushDiskType": "ASYNC_FLUSH"}


@contextmanager
def written(java: Java, home: Path, **settings: object) -> Iterator[Popen[bytes]]:
    home.mkdir()
    conf = {"mappedFileSizeCommitLog": SEGMENT, "mappedFileSizeConsumeQueue": 60_000, "maxMessageSize": 1 << 20} | settings
    (home / "conf").write_text("".join(f"{name}={value}\n" for name, value in conf.items()))
    writer = java.start(
        "Write5", home / "store", home / "conf", 3, RATE, RATE * SECONDS, 1, LARGEST, 1 << 30, home=home, log="writer.out", memory="1g"
    )
    try:
        yield writer
    finally:
        ended(writer)


def zeros(table: pa.Table) -> int:
    """How many zero bytes there are in what must not hold one."""
    pairs = table["properties"].combine_chunks()
    columns = [table["topic"].combine_chunks(), table["body"].combine_chunks(), pairs.keys, pairs.items]
    return sum(int((np.frombuffer(each.buffers()[2], np.uint8, _end(each)) == 0).sum()) for each in columns if len(each))


def _end(column: pa.Array) -> int:
    return int(np.frombuffer(column.buffers()[1], np.int32)[column.offset + len(column)])


@pytest.mark.sweep
@pytest.mark.parametrize("settings", [{}, TRANSIENT], ids=["mapped", "pooled"])
def test_a_store_that_is_being_written(rocketmq: Callable[[str], Java], tmp_path: Path, settings: dict[str, object]) -> None:
    home = tmp_path / "live"
    reads = rows = 0
    begin, seen = 0, pa.array([], pa.int64())
    with written(rocketmq("5.5.0"), home, **settings) as writer:
        while not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            if not (home / "store/commitlog").is_dir():
                time.sleep(0.01)
                continue
            table = nr.open(home / "store").messages(columns=COLUMNS, starting_physical_offset=begin).to_table()
            offsets = table["physical_offset"].combine_chunks()
            assert zeros(table) == 0
            assert offsets.slice(0, len(seen)).equals(seen), "what one read saw, the next did not"
            reads, rows = reads + 1, rows + len(offsets)
            if len(offsets) and offsets[-1].as_py() > begin + 2 * SEGMENT:
                begin = offsets[-1].as_py() // SEGMENT * SEGMENT
                offsets = offsets.filter(pc.greater_equal(offsets, begin))
            seen = offsets

        # The producer is quiet, the broker still runs: its queues say that the newest record is whole.
        lock = (home / "store/lock").as_uri()
        assert storage_of(lock).is_locked(lock)
        (told,) = [json.loads(line) for line in (home / "writer.out").read_text().splitlines() if line.startswith('{"written"')]
        assert told["written"] == RATE * SECONDS
        assert nr.open(home / "store").messages().count_rows() == told["written"]
        assert ended_by_its_input(writer) == 0
    assert not storage_of(lock).is_locked(lock)
    assert nr.open(home / "store").messages().count_rows() == told["written"]
    assert reads > 5 * SECONDS
    logging.getLogger(__name__).info("%s reads of %s rows while %s were written in %.1f s", reads, rows, told["written"], told["seconds"])


def test_copies_of_a_store_that_is_being_written(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    """`cp -r`, the log first, the log last: no copy shows a record that is not in the log, and none leaves one out."""
    home = tmp_path / "live"
    copies: list[Path] = []
    with written(rocketmq("5.5.0"), home) as writer:
        while not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            time.sleep(0.5)
            if not any((home / "store/consumequeue").glob("Live*/*/*")):
                continue
            copy = tmp_path / f"copy{len(copies)}"
            parts = sorted((home / "store").iterdir(), reverse=len(copies) % 2 == 0)  # commitlog comes before consumequeue
            copy.mkdir()
            for part in parts:
                (shutil.copytree if part.is_dir() else shutil.copy)(part, copy / part.name)
            copies.append(copy)
        assert ended_by_its_input(writer) == 0
    whole = nr.open(home / "store").messages(columns=COLUMNS).to_table()
    assert len(copies) >= 2
    sizes = []
    for copy in copies:
        run, batches = nr.open(copy).messages(columns=COLUMNS).run(), []
        with contextlib.suppress(nr.StoreDamaged):  # the writer overtook the copy inside a record: that is said, not hidden
            batches += run
        table = pa.Table.from_batches(batches, whole.schema)
        assert table.equals(whole.slice(0, len(table)))
        sizes.append(len(table))
    assert sizes == sorted(sizes)
    assert sizes[0] > 0


def ended_by_its_input(writer: Popen[bytes]) -> int:
    assert writer.stdin is not None
    writer.stdin.close()
    return writer.wait(60)
