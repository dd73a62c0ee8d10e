"""Plans of archives: small, read without all headers, and valid only for the archive that was planned. Archives in object storage."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.micro_batches import Query
from support.object_store import Bucket, bucket_of
from support.stores import ZERO, files_of, log_of, on_disk, packed
from support.tars import gnu_tar
from support.tune import Tune

import native_reader as nr
from native_reader.storage import TarStorage, storage_of
from native_reader.storage.tar_headers import Headers
from native_reader.storage.window import Window


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The archives of which all headers were read."""
    listed = list[str]()
    original = Headers.members

    def members(self: Headers) -> Iterator[object]:
        listed.append(self.uri)
        return original(self)

    monkeypatch.setattr(Headers, "members", members)
    return listed


def forgotten(uri: str) -> None:
    """As in a process that did not read the headers."""
    storage = storage_of(uri)
    assert isinstance(storage, TarStorage)
    storage._known.clear()


def test_headers_are_read_once(tmp_path: Path, lists: list[str]) -> None:
    archive = gnu_tar(tmp_path / "x.tar", on_disk(tmp_path, files_of()))
    store = nr.open(archive)
    assert store.messages().count_rows() == store.refresh().messages(topic="T0").count_rows() * 3 == 30
    assert store.table("segments").to_table().num_rows == 3
    assert lists == [archive.as_uri()]


def test_a_task_finds_its_file_without_all_headers(tmp_path: Path, lists: list[str]) -> None:
    files = files_of() | {f"store/consumequeue/T/{number}/{ZERO}": b"x" * 20 for number in range(500)}
    (tmp_path / "x.tar").write_bytes(packed(files))
    scan = nr.open(tmp_path / "x.tar").messages(max_partition_bytes=700, access="scan")
    splits = scan.plan().splits
    assert len(pickle.dumps(splits)) < 300 * len(splits)
    forgotten(splits[0].segment.uri)
    lists.clear()
    for split in pickle.loads(pickle.dumps(splits)):
        with Window(split.segment, 100) as window:
            assert window.load(0, 100) == 100
    assert lists == []
    assert scan.count_rows() == 30
    assert lists == []


def test_a_file_behind_links_is_found_by_its_name(tmp_path: Path, lists: list[str]) -> None:
    on_disk(tmp_path / "data", files_of(under="disk2/log") | {"store/config/": b""})
    (tmp_path / "data" / "store" / "commitlog").symlink_to("../disk2/log")
    archive = gnu_tar(tmp_path / "x.tar", tmp_path / "data", ["store", "disk2"])
    scan = nr.open(archive / "store").messages()
    scan.plan()
    forgotten(f"tar+{archive.as_uri()}")
    lists.clear()
    assert scan.count_rows() == 30
    assert len(lists) == 1


@pytest.mark.parametrize("how", ["replaced", "written over", "appended to", "cut", "deleted"])
@pytest.mark.parametrize("is_known", [True, False])
def test_an_archive_that_changed_after_planning_is_a_data_loss(tmp_path: Path, how: str, is_known: bool) -> None:
    archive = gnu_tar(tmp_path / "x.tar", on_disk(tmp_path, files_of()))
    store = nr.open(archive)
    scan = store.messages()
    scan.plan()
    if not is_known:
        forgotten(store.stores[0].uri)
    content, written = archive.read_bytes(), archive.stat().st_mtime_ns
    if how == "replaced":
        (tmp_path / "y.tar").write_bytes(content)
        (tmp_path / "y.tar").replace(archive)
    elif how == "written over":
        archive.write_bytes(content)
        os.utime(archive, ns=(written + 10**9, written + 10**9))
    elif how == "appended to":
        gnu_tar(archive, tmp_path, ["store"], how="-r")
    elif how == "cut":
        archive.write_bytes(content[:2000])
    else:
        archive.unlink()
    error = nr.StoreDamaged if how == "cut" else nr.DataLoss
    with pytest.raises(error, match=r"x\.tar") as raised:
        scan.to_table()
    expected = {"cut": "was truncated", "deleted": "no longer exists"}.get(how, "was replaced by another file after the read was planned")
    assert expected in str(raised.value)
    if how not in ("cut", "deleted"):
        assert nr.open(archive).messages().count_rows() == 30


def test_an_archive_that_is_cut_while_it_is_read_is_a_data_loss(tmp_path: Path) -> None:
    archive = gnu_tar(tmp_path / "x.tar", on_disk(tmp_path, {"d/a": b"x" * 9000}), ["d"])
    uri = f"tar+{archive.as_uri()}/d/a"
    with storage_of(uri).open(uri) as file:
        os.truncate(archive, 5000)
        for read in (lambda: file.read_ranges([(0, 9000)]), lambda: file.read_into(0, bytearray(9000))):
            with pytest.raises(nr.DataLoss, match=r"x\.tar was truncated while tar\+.*/d/a was read. Load the store again"):
                read()
        with pytest.raises(nr.DataLoss, match="was truncated"):
            file.read_many([0, 8000], [10, 10], memoryview(bytearray(20)))


def test_a_stream_reads_an_archive_and_the_newer_one_that_replaces_it(tmp_path: Path, tune: Tune) -> None:
    """An archive does not grow; a newer one of the same name continues."""
    tune(list_every=0, look_every=0)

    def pack(messages: int) -> None:
        on_disk(tmp_path, files_of(log_of(messages)))
        gnu_tar(tmp_path / "new", tmp_path).replace(tmp_path / "x.tar")

    pack(10)
    query = Query(f"{tmp_path}/x.tar", {"startingOffsets": "earliest"})
    query.start()
    assert query.trigger()
    assert not query.trigger()
    pack(25)
    while query.trigger():
        pass
    rows = [offset for table in query.sink.values() for offset in table["physical_offset"].to_pylist()]
    expected = nr.open(tmp_path / "x.tar").messages().to_table()["physical_offset"].to_pylist()
    assert sorted(rows) == expected
    assert len(rows) == 25


def test_every_command_reads_an_archive(tmp_path: Path) -> None:
    archive = gnu_tar(tmp_path / "x.tar", on_disk(tmp_path, files_of() | {"store/config/topics.json": b'{"topicConfigTable":{}}'}))
    assert len(run("cat", archive, "--json").rows) == 30
    assert [row["msg_id"] for row in run("find", archive, "--key", "k7", "--json").rows] == ["U0007"]
    for command in (["ls", archive], ["stat", archive], ["verify", archive], ["doctor", archive], ["explain", archive], ["tail", archive]):
        ended = run(*command)
        assert ended.code == (1 if command[0] == "verify" else 0), (command, ended.err, ended.out)  # it has no checkpoint
    assert run("export", archive, "--output", tmp_path / "export").code == 0
    assert "saved 30 messages" in run("rescue", archive, tmp_path / "rescue").err


# In object storage


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """A bucket with an archive of a store with 30 records and 200 queues."""
    files = files_of() | {f"store/consumequeue/T/{number}/{ZERO}": bytes(60_000) for number in range(200)}
    with bucket_of({}) as made:
        made.put_kept({"copies/backup.tar": packed(files)})
        yield made


@pytest.mark.long
def test_an_archive_in_object_storage(bucket: Bucket) -> None:
    for path in ("copies/backup.tar", "copies/backup.tar/store/commitlog", "copies/*.tar"):
        store = nr.open(f"{bucket.url}/{path}", fs=bucket.link.fs)
        assert store.stores[0].uri == f"tar+{bucket.url}/copies/backup.tar/store"
        assert store.messages().count_rows() == 30
        assert nr.open(store.stores[0].uri, fs=bucket.link.fs).messages().to_table(jobs=2).num_rows == 30


def test_headers_in_object_storage_are_fetched_together(bucket: Bucket) -> None:
    """Files of the same size follow each other: their headers are fetched in parallel, and once."""
    bucket.link.reset()
    nr.open(f"{bucket.url}/copies/backup.tar", fs=bucket.link.fs)
    calls = bucket.link.kinds
    assert 0 < sum(calls.values()) < 30, calls


def test_an_archive_in_object_storage_that_was_replaced(bucket: Bucket) -> None:
    scan = nr.open(f"{bucket.url}/copies/backup.tar", fs=bucket.link.fs).messages()
    scan.plan()
    bucket.link._kept.clear()
    bucket.replace("copies/backup.tar", packed(files_of(log_of(5))))
    with pytest.raises(nr.DataLoss, match="was replaced by another file"):
        scan.to_table()
