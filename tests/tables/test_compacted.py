"""`compacted`: the messages that a broker keeps of a compacted topic, against those of its commitlog."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import Golden, opened
from support.plain_decoder import Row
from support.stores import files_of, in_memory, log_of, message, on_disk, path_error

import native_reader as nr
from native_reader.testing.logs import CommitLog

SAME = ("topic", "queue_id", "queue_offset", "tags", "keys", "msg_id", "body", "properties", "born_timestamp", "store_timestamp")
LOG = "store/compaction/compactionLog/orders/2"


def compacted(store: nr.Store, **options: object) -> list[Row]:
    return list(store.table("compacted", **options).to_table().to_pylist())


def by_place(rows: list[Row]) -> dict[tuple[object, ...], Row]:
    return {(row["topic"], row["queue_id"], row["queue_offset"]): {name: row[name] for name in SAME} for row in rows}


def two_files() -> CommitLog:
    return log_of(20, segment_size=4096)


@pytest.mark.parametrize(("name", "topic"), [("5.5.0-compaction", "Newest"), ("v5-compaction", None)])
def test_each_is_a_message_of_the_commitlog_and_the_newest_of_each_key_is_there(
    own_store: Callable[[str], Golden], golden_store: Callable[[str], Golden], name: str, topic: str | None
) -> None:
    store = opened((own_store if topic else golden_store)(name))
    kept = by_place(compacted(store))
    topics = {place[0] for place in kept}
    assert topics == {topic} if topic else topics
    log = by_place(store.messages(columns=SAME).to_table().to_pylist())
    assert kept.items() <= log.items()
    newest = {(place[0], place[1], row["keys"][0]): place for place, row in sorted(log.items()) if place[0] in topics}
    assert set(newest.values()) <= kept.keys()
    assert len(newest) <= len(kept) < sum(place[0] in topics for place in log)


def test_the_zeros_and_the_missing_file_of_a_log_that_was_written_anew_are_no_damage(
    own_store: Callable[[str], Golden], caplog: pytest.LogCaptureFixture
) -> None:
    store = own_store("5.5.0-compaction")
    files = sorted((store.root / "compaction/compactionLog/Newest/0").iterdir())
    assert [int(file.name) for file in files] == [0, 128800]
    assert not files[0].read_bytes()[-40_000:].strip(b"\0")
    rows = compacted(opened(store), columns="file,compacted_offset")
    assert {row["file"] for row in rows} >= {file.as_uri() for file in files}
    assert caplog.messages == []


def test_after_the_commitlog_is_gone_it_is_the_only_copy(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = own_store("5.5.0-compaction")
    shutil.copytree(store.root, tmp_path / "store")
    for segment in (tmp_path / "store/commitlog").iterdir():
        segment.unlink()
    left = nr.open(tmp_path / "store")
    assert left.messages(fail_on_data_loss=False).to_table().num_rows == 0
    assert by_place(compacted(left)) == by_place(compacted(opened(store)))


def test_damage_hides_only_what_it_covers() -> None:
    log = two_files()
    files = files_of(log, LOG) | files_of(log_of(1))
    first = sorted(files)[1]
    files[first] = files[first][:300] + b"\xff" * 100 + files[first][400:]
    memory = in_memory(files)
    rows = compacted(nr.open(f"{memory.url}/store"), columns="compacted_offset")
    offsets = [placed.offset for placed in log.placed]
    found = [row["compacted_offset"] for row in rows]
    assert set(found) < set(offsets)
    assert len(found) >= len(offsets) - 2


def test_other_names_are_no_files_of_a_log() -> None:
    log = two_files()
    one = f"{LOG}/{0:020}"
    others = {f"{LOG}/x": b"x", f"{LOG}/compacting/{0:020}": files_of(log, LOG)[one], "store/compaction/compactionLog/orders/a/x": b""}
    memory = in_memory(files_of(log, LOG) | files_of(log_of(1)) | others | {f"{LOG}/{1 << 40:020}": b""})
    assert len(compacted(nr.open(f"{memory.url}/store"))) == 20


def test_a_store_without_compacted_topics() -> None:
    memory = in_memory(files_of())
    assert compacted(nr.open(f"{memory.url}/store")) == []


def test_such_a_log_is_not_taken_for_a_commitlog(tmp_path: Path) -> None:
    """It was read, with wrong gaps, and all records of the queues as lost after its end."""
    root = on_disk(tmp_path, files_of(log_of([message(0)]), LOG) | files_of())
    text = path_error(root / "store", store_path_commit_log=str(root / LOG))
    assert text == (
        f"{(root / LOG).as_uri()} is the log of a compacted topic, with offsets of its own, not a commitlog. "
        "Its store has it as the table `compacted`"
    )
