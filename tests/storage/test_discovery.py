"""From a path to stores: every way to name a store, and the error if there is none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.stores import ZERO, count_rows, dledger, files_of, in_memory, log_of, message, on_disk, path_error, scattered_store

import native_reader as nr
from native_reader.testing.logs import CommitLog

SECOND = f"{2048:020}"


# Ways to name a store


def ways(root: Path) -> Iterable[object]:
    uri = root.as_uri()
    yield from (root, str(root), f"{root}/", f"{root}//", os.fsencode(root), [root], (str(root),), [root, str(root)])
    yield from (uri, uri + "/", uri.replace("file:///", "file:/"), uri.replace("file:///", "file://"), uri.replace("file:///", "file:////"))
    yield from (root / "commitlog", f"{root}/commitlog/", uri + "/commitlog", [root, root / "commitlog"])
    yield from (root.parent, f"{root.parent}/*", f"{root.parent}/s?ore", f"{root.parent}/[rs]tore/commit*", f"{root}/../*/")
    yield f"{root}/commitlog/*"
    yield from ([root / "commitlog" / name for name in sorted(os.listdir(root / "commitlog"))], iter([root]))
    yield f"/{root}"


def test_every_way_to_name_a_store_finds_the_same_store(store):
    for path in ways(store):
        opened = nr.open(path)
        (files,) = opened.stores
        assert files.uri == store.as_uri(), path
        assert (len(files.segments), count_rows(opened)) == (3, 30), path
        assert files.consume_queue == f"{store.as_uri()}/consumequeue"
        assert files.index == f"{store.as_uri()}/index"
        assert files.config == f"{store.as_uri()}/config"


def test_relative_paths_and_the_home_directory(store, monkeypatch):
    monkeypatch.chdir(store.parent)
    monkeypatch.setenv("HOME", str(store.parent))
    for path in ("store", "./store", ".", "*", "../" + store.parent.name, "~/store", "~", "store/commitlog"):
        assert [files.uri for files in nr.open(path).stores] == [store.as_uri()], path


def test_a_path_to_one_segment_gives_its_rows(store):
    log = log_of()
    for name in (ZERO, SECOND):
        opened = nr.open(store / "commitlog" / name)
        assert count_rows(opened) == sum(placed.segment == int(name) for placed in log.placed)
        assert [files.uri for files in opened.stores] == [store.as_uri()]


def test_a_segment_or_a_log_without_its_store(tmp_path):
    on_disk(tmp_path, files_of(under="copied"))
    for path in (tmp_path / "copied", tmp_path / "copied" / "*"):
        opened = nr.open(path)
        assert [files.uri for files in opened.stores] == [f"{tmp_path.as_uri()}/copied"]
        assert count_rows(opened) == 30
    (files,) = nr.open(tmp_path / "copied" / ZERO).stores
    assert (files.uri, files.consume_queue, files.index, files.config) == (f"{tmp_path.as_uri()}/copied", None, None, None)


def test_several_stores_keep_their_names(tmp_path):
    on_disk(tmp_path, files_of(log_of(5), "a/commitlog") | files_of(log_of(7), "b c/commitlog"))
    on_disk(tmp_path, {"lost+found/": b"", "notes": b"x", "d/e": b""})
    uri, one, other = tmp_path.as_uri(), tmp_path / "a", tmp_path / "b c"
    for path in (tmp_path, [one, other], f"{tmp_path}/*", f"{tmp_path}/*/commitlog", [one, f"{tmp_path}/b*"]):
        opened = nr.open(path)
        assert [files.uri for files in opened.stores] == [f"{uri}/a", f"{uri}/b%20c"]
        found = opened.messages().to_table()["store"].to_pylist()
        assert found == [f"{uri}/a"] * 5 + [f"{uri}/b%20c"] * 7


def test_a_name_may_contain_glob_characters(tmp_path):
    for name, count in (("a[1]", 5), ("a1", 7), (".hidden", 2)):
        on_disk(tmp_path, files_of(log_of(count), f"{name}/commitlog"))
    assert count_rows(nr.open(tmp_path / "a[1]")) == 5
    assert count_rows(nr.open(f"{tmp_path}/a[1]/*")) == 12
    assert count_rows(nr.open(f"{tmp_path}/*")) == 12
    assert count_rows(nr.open(f"{tmp_path}/.h*")) == 2


def test_stores_in_memory_are_found_the_same_way():
    memory = in_memory(files_of() | {"other/commitlog/": b""})
    found = {files.uri: len(files.segments) for files in nr.open(memory.url).stores}
    assert found == {f"{memory.url}/other": 0, f"{memory.url}/store": 3}
    assert count_rows(nr.open(f"{memory.url}/st*/commitlog/*")) == 30


# Separate directories


def test_the_log_in_separate_directories(tmp_path):
    scattered_store(tmp_path)
    logs = f"{tmp_path}/one/store/commitlog , {tmp_path}/two/store/commitlog/,"
    opened = nr.open(tmp_path / "root", store_path_commit_log=logs)
    (files,) = opened.stores
    assert (files.uri, len(files.segments), count_rows(opened)) == (f"{tmp_path.as_uri()}/root", 3, 30)
    assert (files.consume_queue, files.index) == (f"{tmp_path.as_uri()}/root/consumequeue", None)
    (files,) = nr.open(store_path_commit_log=logs).stores
    assert files.uri == f"{tmp_path.as_uri()}/one/store"
    (files,) = nr.open(store_path_commit_log=logs + "/not/used/yet").stores
    assert len(files.segments) == 3
    opened = nr.open(
        tmp_path / "root",
        store_path_commit_log=logs,
        store_path_consume_queue=f"{tmp_path}/elsewhere/cq/",
        store_path_index=f"{tmp_path}/elsewhere/index",
    )
    (files,) = opened.stores
    assert (files.consume_queue, files.index) == (f"{tmp_path.as_uri()}/elsewhere/cq", f"{tmp_path.as_uri()}/elsewhere/index")


def test_queues_elsewhere_and_any_way_to_name_the_rest(store):
    for path in ways(store):
        (files,) = nr.open(path, store_path_consume_queue="/queues").stores
        assert (files.uri, len(files.segments)) == (store.as_uri(), 3), path
        assert (files.consume_queue, files.index) == ("file:///queues", f"{store.as_uri()}/index")


def test_options_for_parts_need_exactly_one_store(tmp_path):
    on_disk(tmp_path, files_of(under="a/commitlog") | files_of(under="b/commitlog"))
    for named in ({"store_path_index": "/x"}, {"store_path_commit_log": "/x"}):
        with pytest.raises(nr.OptionError) as raised:
            nr.open(f"{tmp_path}/*", **named)
        assert str(raised.value) == "store_path_commit_log, store_path_consume_queue and store_path_index are for one store, not for 2"


# DLedger


def test_a_dledger_log(tmp_path):
    root = on_disk(tmp_path, dledger() | {"store/consumequeue/": b""}) / "store"
    for path in (root, root.parent, root / "dledger-n0" / "data", f"{root}/dledger-n0/data/*", f"{root}/dledger-*/data"):
        opened = nr.open(path)
        (files,) = opened.stores
        assert (files.uri, count_rows(opened), {segment.framing for segment in files.segments}) == (root.as_uri(), 30, {"dledger"})
    on_disk(tmp_path, {name.replace("dledger-n0/data", "commitlog"): content for name, content in dledger(under="renamed").items()})
    assert count_rows(nr.open(tmp_path / "renamed" / "commitlog")) == 30
    assert count_rows(nr.open(tmp_path / "renamed")) == 30


def test_an_old_log_and_a_dledger_log_are_one(tmp_path):
    old = CommitLog(4096)
    for number in range(20):
        old.append(message(number))
    old.seal()
    unused = {f"store/commitlog/{base:020}": bytes(4096) for base in (4096, 8192)}  # preallocated before the change to DLedger
    root = on_disk(tmp_path, unused | files_of(old) | dledger(4096)) / "store"
    opened = nr.open(root)
    assert count_rows(opened) == 50
    assert [(segment.base, segment.framing) for segment in opened.stores[0].segments][:2] == [(0, "plain"), (4096, "dledger")]
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={root}\nstorePathCommitLog={root}/commitlog\nenableDLegerCommitLog=true\n")
    assert count_rows(nr.open(broker_conf=conf)) == 50
    assert count_rows(nr.open([root / "commitlog", root / "dledger-n0" / "data"])) == 50


STRAYS = {"an empty directory": None, "an empty file": b"", "zeros": bytes(4096), "zeros in many blocks": bytes(3 << 20)}


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("base", [0, 2048, 1 << 20])
def test_a_stray_dledger_directory_does_not_hide_a_plain_log(tmp_path, stray, base):
    """500 rows became 0, because the files of the plain log counted as stale ones after a DLedger log."""
    content = STRAYS[stray]
    file = "store/dledger-n0/data/" + ("" if content is None else f"{base:020}")
    root = on_disk(tmp_path, files_of() | {file: content or b""}) / "store"
    for path in (root, tmp_path, [root / "commitlog", root]):
        opened = nr.open(path)
        assert count_rows(opened) == 30
        assert opened.stores[0].uri == root.as_uri()


def test_a_stray_dledger_file_does_not_hide_the_end_of_a_mixed_log(tmp_path):
    old = log_of(20, 4096)
    old.seal()
    root = on_disk(tmp_path, files_of(old) | dledger(4096) | {f"store/dledger-n0/data/{ZERO}": bytes(4096)}) / "store"
    assert count_rows(nr.open(root)) == 50


def test_an_empty_directory_of_another_dledger_node_is_ignored(tmp_path):
    root = on_disk(tmp_path, dledger() | {"store/dledger-n1/data/": b"", f"store/dledger-n2/data/{ZERO}": b""}) / "store"
    assert count_rows(nr.open(root)) == 30


def both_hold(files: dict[str, bytes], tmp_path: Path, plain: str, other: str) -> None:
    root = on_disk(tmp_path, files) / "store"
    uri = root.as_uri()
    for path in (root, tmp_path, [root / "commitlog", root / "dledger-n0" / "data"]):
        with pytest.raises(nr.StoreDamaged) as raised:
            nr.open(path)
        assert str(raised.value) == (
            f"a plain log and a DLedger log both contain data at or after offset {int(other):,}: {uri}/commitlog/{plain} and "
            f"{uri}/dledger-n0/data/{other}. Expected the plain log to end there. "
            f"Load only the directory of the right log: {uri}/commitlog or {uri}/dledger-n0/data"
        )


def test_records_of_a_plain_log_after_a_dledger_log_are_not_dropped_silently(tmp_path):
    old = log_of(20, 4096)
    old.seal()
    stale = files_of(log_of(3, 4096, 4096))
    both_hold(files_of(old) | stale | dledger(4096), tmp_path, f"{4096:020}", f"{4096:020}")
    root = tmp_path / "store"
    assert count_rows(nr.open(root / "commitlog")) == 23
    assert count_rows(nr.open(root / "dledger-n0" / "data")) == 30


def test_a_dledger_log_whose_first_entry_is_damaged_is_not_dropped_silently(tmp_path):
    files = dledger()
    name = f"store/dledger-n0/data/{ZERO}"
    both_hold(files_of() | files | {name: bytes(100) + files[name][100:]}, tmp_path, ZERO, ZERO)


def test_a_plain_segment_that_reaches_into_a_dledger_log_is_named(tmp_path):
    both_hold(files_of() | dledger(1024), tmp_path, ZERO, f"{1024:020}")


def test_a_dledger_log_elsewhere(tmp_path):
    old = log_of(20, 4096)
    old.seal()
    root = on_disk(tmp_path, files_of(old) | {"bare/config/": b""}) / "store"
    on_disk(tmp_path, files_of(log_of(30, 4096, 4096, "dledger"), "disk/dl"))
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={root}\nenableDLegerCommitLog=true\nstorePathDLedgerCommitLog={tmp_path}/disk/dl\n")
    assert count_rows(nr.open(broker_conf=conf)) == 50
    assert count_rows(nr.open(tmp_path / "bare", broker_conf=conf)) == 30
    conf.write_text(conf.read_text().replace("=true", "=false"))
    assert count_rows(nr.open(broker_conf=conf)) == 20


def test_several_dledger_nodes_are_an_error(tmp_path):
    root = on_disk(tmp_path, dledger() | dledger(node="n1")) / "store"
    uri = root.as_uri()
    assert (
        path_error(root) == f"{uri} has the logs of several DLedger nodes: dledger-n0, dledger-n1. Load one of them: {uri}/dledger-n0/data"
    )
    assert count_rows(nr.open(root / "dledger-n1" / "data")) == 30


# Ignored and rejected files


def test_strays_are_ignored(store):
    log = store / "commitlog"
    (log / "notes.txt").write_text("hello")
    (log / f"{ZERO}.tmp").write_bytes(b"x")
    (log / f".{ZERO}").write_bytes(b"x")
    (log / f"{2048 * 3:020}").write_bytes(b"")  # a broker deletes an empty last file
    (log / ("9" * 20)).write_bytes(b"no offset is that large")
    (log / "٠١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦٧٨٩").write_bytes(b"digits, but not ours")
    (log / "lost+found").mkdir()
    assert count_rows(nr.open(store)) == 30
    assert count_rows(nr.open(f"{log}/*")) == 30
    assert len(nr.open(store).stores[0].segments) == 3
    assert (log / f"{2048 * 3:020}").exists()


def test_an_empty_log_is_an_empty_table(tmp_path):
    on_disk(tmp_path, {"a/commitlog/": b"", f"b/commitlog/{ZERO}": b"", "c/commitlog/readme": b""})
    memory = in_memory()
    expected = nr.open(memory.url).messages().schema
    for name in "abc":
        for path in (tmp_path / name, tmp_path / name / "commitlog"):
            scan = nr.open(path).messages()
            assert scan.to_table().equals(expected.empty_table())
            assert scan.count_rows() == 0
            assert nr.open(path).stores[0].uri == f"{tmp_path.as_uri()}/{name}"
    assert count_rows(nr.open(tmp_path / "b" / "commitlog" / ZERO)) == 0


def test_identical_copies_count_once(tmp_path):
    files = files_of()
    on_disk(tmp_path / "one", files)
    on_disk(tmp_path / "two", dict(list(files.items())[1:]))
    (tmp_path / "three").symlink_to(tmp_path / "one")
    logs = ",".join(f"{tmp_path}/{name}/store/commitlog" for name in ("one", "two", "three", "one"))
    opened = nr.open(store_path_commit_log=logs)
    assert (len(opened.stores[0].segments), count_rows(opened)) == (3, 30)


def test_different_copies_are_rejected(tmp_path):
    files = files_of()
    for name, changed in (("last", lambda old: old[:-1] + b"x"), ("first", lambda old: b"x" + old[1:]), ("short", lambda old: old[:2000])):
        on_disk(tmp_path / "one", files)
        on_disk(tmp_path / name, {f"store/commitlog/{ZERO}": changed(files[f"store/commitlog/{ZERO}"])})
        with pytest.raises(nr.StoreDamaged) as raised:
            nr.open(store_path_commit_log=f"{tmp_path}/one/store/commitlog,{tmp_path}/{name}/store/commitlog")
        sizes = {"one": 2048, name: 2000 if name == "short" else 2048}
        assert set(str(raised.value).split(" both have")[0].split(" and ")) == {
            f"{tmp_path.as_uri()}/{each}/store/commitlog/{ZERO} ({size:,} bytes)" for each, size in sizes.items()
        }
        assert str(raised.value).endswith(
            " both have offset 0 but differ. One of them belongs to another store: set store_path_commit_log to the right directories."
        )


def test_overlaps_are_rejected(tmp_path):
    on_disk(tmp_path, {f"store/commitlog/{ZERO}": bytes(2048), f"store/commitlog/{1000:020}": bytes(2048)})
    with pytest.raises(nr.StoreDamaged, match=r"/0+ \(2,048 bytes\) and .*/0+1000 \(2,048 bytes\) both have offset 1,000 but differ"):
        nr.open(tmp_path / "store")


def test_a_store_that_was_copied_in_part(tmp_path):
    on_disk(tmp_path, files_of() | {"store/consumequeue/commitlog/0/" + ZERO: b"a topic may have that name"})
    assert count_rows(nr.open(tmp_path / "store")) == 30
    assert "is not a store" not in str(nr.open(tmp_path))
    for place in ("consumequeue", "consumequeue/commitlog", "consumequeue/commitlog/0"):
        assert path_error(tmp_path / "store" / place).startswith(f"{tmp_path.as_uri()}/store/{place} is not a commitlog")


def test_a_store_may_be_in_a_directory_of_any_name(tmp_path):
    on_disk(tmp_path, files_of(under="index/compaction/store/commitlog"))
    assert count_rows(nr.open(tmp_path / "index" / "compaction" / "store")) == 30
    assert count_rows(nr.open(tmp_path / "index" / "compaction")) == 30
