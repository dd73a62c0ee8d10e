"""A store with several names is read once; a copy is another store."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.micro_batches import Query, at_once
from support.stores import ZERO, count_rows, dledger, files_of, in_memory, log_of, on_disk

import native_reader as nr
from native_reader.storage import storage_of
from native_reader.testing.faulty import FaultyStorage

SECOND = f"{2048:020}"


@pytest.fixture
def link(store: Path) -> Path:
    """Another name of the store, next to it."""
    found = store.parent / "link"
    found.symlink_to(store)
    return found


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "native_reader")
    return caplog


def uris(*paths: object) -> list[str]:
    """The stores at those paths. Checks that every row comes once."""
    opened = nr.open(list(paths))
    found = opened.messages(columns="store,body").to_table()
    assert len(set(found["body"].to_pylist())) == found.num_rows == 30
    return [files.uri for files in opened.stores]


def test_a_store_and_a_link_to_it_are_one_store(store, link, logged):
    """Once, all rows came twice."""
    assert uris(store, link) == [store.as_uri()]
    assert uris(link, store) == [link.as_uri()]
    assert uris(link) == [link.as_uri()]
    assert [(record.levelname, record.message) for record in logged.records] == [
        ("INFO", f"{link.as_uri()} is another name for {store.as_uri()}, or for a part of it. It is read once, as {store.as_uri()}"),
        ("INFO", f"{store.as_uri()} is another name for {link.as_uri()}, or for a part of it. It is read once, as {link.as_uri()}"),
    ]


def test_a_link_among_the_stores_of_a_directory_is_logged_once_and_not_as_a_warning(store, link, logged):
    for path in (store.parent, f"{store.parent}/*", f"{store.parent}/*/commitlog", f"{store.parent}/*/commitlog/*"):
        for _ in range(3):
            assert uris(path) == [store.as_uri()]
    assert len(logged.records) == 1


def test_the_real_name_counts_among_the_stores_of_a_directory(store):
    """`a` comes first, but may lead to another store later."""
    (store.parent / "a").symlink_to(store)
    (store.parent / "b").symlink_to(store.parent / "a")
    for path in (store.parent, f"{store.parent}/*", f"{store.parent}/*/commit*"):
        assert uris(path) == [store.as_uri()]
    (store.parent / "c").symlink_to(store.parent, target_is_directory=True)
    assert uris(f"{store.parent}/*/[as]*", store.parent) == [f"{store.parent.as_uri()}/c/store"]


def test_a_path_up_and_down_again_is_the_same_store(store, monkeypatch):
    monkeypatch.chdir(store)
    assert uris(store, f"{store}/commitlog/..", f"{store}/../store", "../store", ".") == [store.as_uri()]


def test_a_linked_commitlog_is_one_log(store, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/commitlog").symlink_to(store / "commitlog")
    (tmp_path / "copy.of.link").symlink_to(store / "commitlog")
    other = (tmp_path / "other").as_uri()
    assert uris(store, tmp_path / "other") == [store.as_uri()]
    assert uris(tmp_path / "other", store) == [store.as_uri()]  # which has queues
    assert uris(tmp_path) == [store.as_uri()]
    assert uris(tmp_path / "copy.of.link", tmp_path / "other") == [f"{tmp_path.as_uri()}/copy.of.link"]
    shutil.rmtree(store / "consumequeue")
    assert uris(tmp_path / "other", store) == [other]


def test_a_segment_of_a_store_is_part_of_it_under_any_name(store, link, tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / SECOND).symlink_to(store / "commitlog" / SECOND)
    for part in (link / "commitlog" / SECOND, tmp_path / "x" / SECOND, tmp_path / "x", store / "commitlog" / SECOND):
        assert uris(store, part) == [store.as_uri()]
        assert uris(part, store) in ([store.as_uri()], [link.as_uri()])
    parts = [link / "commitlog" / ZERO, store / "commitlog" / SECOND, f"{link}/commitlog/{4096:020}"]
    assert uris(*parts) == [link.as_uri()]


def test_logs_that_overlap_by_links_count_each_segment_once(store, tmp_path, logged):
    log = log_of(60)
    after = {f"view/{placed.segment:020}" for placed in log.placed if placed.segment > 4096}
    on_disk(tmp_path, {name: content for name, content in files_of(log, "view").items() if name in after})
    (tmp_path / "view" / SECOND).symlink_to(store / "commitlog" / SECOND)
    opened = nr.open([store, tmp_path / "view"])
    assert count_rows(opened) == 30 + sum(placed.segment > 4096 for placed in log.placed)
    assert [len(files.segments) for files in opened.stores] == [3, len(after)]
    assert logged.messages == [f"{tmp_path.as_uri()}/view: 1 of its segments also belong to other stores. They are read only there"]


def test_directories_of_one_log_may_be_linked(store, link):
    opened = nr.open(store_path_commit_log=f"{store}/commitlog,{link}/commitlog")
    assert count_rows(opened) == 30


def test_linked_segments_of_one_log_are_not_compared_byte_by_byte(store, link):
    faulty = FaultyStorage(store.parent.as_uri())
    nr.open(store_path_commit_log=f"{faulty.url}/store/commitlog,{faulty.url}/link/commitlog")
    assert faulty.bytes_read < 1000


def test_copies_are_separate_stores(store, tmp_path):
    """Also copies by hard links, as in backups: each of them is complete."""
    shutil.copytree(store, tmp_path / "copy")
    shutil.copytree(store, tmp_path / "backup", copy_function=os.link)
    opened = nr.open([store, tmp_path / "copy", tmp_path / "backup"])
    assert [len(files.segments) for files in opened.stores] == [3, 3, 3]
    assert count_rows(opened) == 90


def test_stores_of_one_name_in_two_places_are_two(tmp_path):
    on_disk(tmp_path, files_of(under="a/store/commitlog") | files_of(under="b/store/commitlog"))
    assert count_rows(nr.open([tmp_path / "a/store", tmp_path / "b/store"])) == 60
    memory, other = in_memory(), in_memory()
    assert count_rows(nr.open([memory.url, other.url])) == 60


def test_two_empty_stores_are_not_one(tmp_path):
    on_disk(tmp_path, {"a/commitlog/": b"", "b/commitlog/": b""})
    (tmp_path / "c").symlink_to(tmp_path / "a")
    assert [files.uri for files in nr.open(tmp_path).stores] == [f"{tmp_path.as_uri()}/{name}" for name in "ab"]


def test_a_dledger_log_and_a_link_to_it_are_one(tmp_path):
    root = on_disk(tmp_path, dledger()) / "store"
    (tmp_path / "link").symlink_to(root)
    assert uris(root, tmp_path / "link/dledger-n0/data") == [root.as_uri()]


def test_a_mounted_directory_is_the_same_store(store, tmp_path):
    """Mounts need privileges, so a storage that shows the same files at a second URL replaces one."""
    faulty = FaultyStorage(store.as_uri())
    assert storage_of(faulty.url).location(faulty.url) == storage_of(store.as_uri()).location(store.as_uri())
    assert uris(store, faulty.url) == [store.as_uri()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_bind_mount_is_the_same_store(store, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    if subprocess.run(["mount", "--bind", store, second], check=False, capture_output=True).returncode:
        pytest.skip("mounting failed")
    try:
        assert uris(store, second) == [store.as_uri()]
        assert uris(tmp_path) == [f"{tmp_path.as_uri()}/second"]
    finally:
        subprocess.run(["umount", second], check=True)


def test_options_for_parts_accept_a_store_and_its_link(store, link):
    (files,) = nr.open([store, link], store_path_index="/x").stores
    assert (files.uri, files.index) == (store.as_uri(), "file:///x")


def test_a_stream_reads_a_store_and_a_link_to_it_once(store, monkeypatch, tune):
    logged = at_once(monkeypatch, tune)
    query = Query(str(store.parent), {"startingOffsets": "earliest"})
    (store.parent / "z").symlink_to(store)
    query.start()
    query.trigger()
    assert [row["store"] for row in query.rows()] == [store.as_uri()] * 30
    (store.parent / "a").symlink_to(store)  # while it runs, and before the next run
    assert not query.trigger()
    query.start()
    assert not query.trigger()
    assert [line for line in logged if "starting_offsets" not in line] == []
