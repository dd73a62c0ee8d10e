"""Errors for paths without a store. The texts are exact, because an error text is all that the user sees."""

from __future__ import annotations

import os

import pytest
from support.stores import ZERO, count_rows, dledger, files_of, log_of, on_disk, path_error

import native_reader as nr


def test_a_path_that_does_not_exist(store):
    uri, parent = store.as_uri(), store.parent.as_uri()
    assert path_error(store / "comitlog") == f"{uri}/comitlog does not exist. Did you mean 'commitlog'?"
    assert path_error(store.parent / "stor") == f"{parent}/stor does not exist. Did you mean 'store'?"
    assert path_error(store.parent / "sotre" / "commitlog") == (
        f"{parent}/sotre/commitlog does not exist (nearest existing directory: {parent}). Did you mean 'store'?"
    )
    assert path_error("/nowhere/else") == "file:///nowhere/else does not exist."
    assert path_error(store / "zzz") == f"{uri}/zzz does not exist."
    assert path_error(store / "commitlog" / f"{1:020}").startswith(f"{uri}/commitlog/{1:020} does not exist. Did you mean '{ZERO[:10]}")
    assert path_error(store / "lock" / "x") == f"{uri}/lock/x does not exist."
    assert path_error(f"{store}/x*") == f"{uri}/x%2A: no file or directory matches"
    assert path_error(f"{store}/con*") == f"{store}/con*: 2 files and directories match, but none is a store or part of one"
    assert path_error("a\0b").endswith("a%00b does not exist.")


def test_no_path_at_all():
    for arguments in ((), (None,), ([],)):
        with pytest.raises(nr.OptionError) as raised:
            nr.open(*arguments)
        assert str(raised.value) == "the path is missing. Pass a path, store_path_commit_log or broker_conf"
    with pytest.raises(nr.OptionError, match=r"^the path is empty\. Use '\.' for the current directory$"):
        nr.open("")
    with pytest.raises(nr.OptionError, match=r"^5 is not a path: expected text or a pathlib\.Path, or a list of them$"):
        nr.open(5)
    with pytest.raises(nr.OptionError, match=r"^store_path_consume_queue and store_path_index need a path or store_path_commit_log$"):
        nr.open(store_path_index="/x")


def test_the_wrong_level(store):
    uri = store.as_uri()
    above = f" Did you mean the store {uri} (3 segments)?"
    unlike = "is not a store: no commitlog directory and no file named with 20 digits;"
    side = "is not a commitlog: it belongs to a queue, a compacted topic, the timer or the index of DLedger."
    assert path_error(store / "config") == f"{uri}/config {unlike} it contains topics.json.{above}"
    assert path_error(store / "index") == f"{uri}/index {unlike} it contains 20260101000000000.{above}"
    assert path_error(store / "lock") == f"{uri}/lock {unlike} it is a file, but not a segment.{above}"
    for place in ("consumequeue", "consumequeue/T0", "consumequeue/T0/0", f"consumequeue/T0/0/{ZERO}", "timerlog", f"timerlog/{ZERO}"):
        assert path_error(store / place) == f"{uri}/{place} {side}{above}"


def test_stores_two_levels_below_were_not_named(tmp_path):
    for host in ("a", "b"):
        on_disk(tmp_path / "backup" / host, files_of())
    uri = (tmp_path / "backup").as_uri()
    said = path_error(tmp_path / "backup")
    assert said == f"{uri} is not a store, but stores are further below: a/store, b/store. Name one of them, or all of them: '{uri}/*/*'"
    assert len(nr.open(f"{uri}/*/*").stores) == 2
    said = path_error(tmp_path)
    assert said.startswith(f"{tmp_path.as_uri()} is not a store, but stores are further below: backup/a/store, backup/b/store. ")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "backup" / "a").rename(tmp_path / ".hidden" / "a")
    (tmp_path / "loop").symlink_to(tmp_path)
    on_disk(tmp_path / "one more", files_of())
    uri = tmp_path.as_uri()
    assert path_error(tmp_path) == (f"{uri} is not a store, but stores are further below: one more/store, backup/b/store. Name one of them")


def test_the_search_for_stores_below_has_an_end(tmp_path, monkeypatch):
    for number in range(8):
        on_disk(tmp_path / f"{number}" / "deep" / "deeper", files_of())
    assert path_error(tmp_path).count("/store, ") == 5
    assert ", and more. Name one of them" in path_error(tmp_path)
    monkeypatch.setattr("native_reader.storage.discovery._LOOKED_AT", 20)
    assert path_error(tmp_path).endswith("it contains 0/, 1/, 2/, 3/, 4/, 5/, 6/, 7/. Name the directory that contains commitlog")
    on_disk(tmp_path / "a/b/c/d/e", files_of())
    assert "a/b/c/d/e" not in path_error(tmp_path / "a")


def test_compacted_topics_are_not_a_log(store):
    copies = f"compaction/compactionLog/T/0/{ZERO}"
    on_disk(store, {copies: b"copies of records", f"compaction/compactionCq/T/0/{ZERO}": b"x"})
    above = f" Did you mean the store {store.as_uri()} (3 segments)?"
    for place in (copies, "compaction/compactionLog/T/0", "compaction/compactionLog/T", "compaction/compactionLog", "compaction"):
        assert path_error(store / place).endswith(above)
    assert count_rows(nr.open(store)) == 30


def test_the_index_of_dledger_is_not_a_log(tmp_path):
    root = on_disk(tmp_path, dledger()) / "store"
    for place in ("dledger-n0/index", f"dledger-n0/index/{ZERO}"):
        assert path_error(root / place) == (
            f"{root.as_uri()}/{place} is not a commitlog: it belongs to a queue, a compacted topic, the timer or the index of DLedger. "
            f"Did you mean the store {root.as_uri()} (2 segments)?"
        )


def test_a_directory_that_does_not_resemble_a_store(tmp_path):
    unlike = "is not a store: no commitlog directory and no file named with 20 digits;"
    advice = "Name the directory that contains commitlog"
    uri = tmp_path.as_uri()
    assert path_error(tmp_path) == f"{uri} {unlike} it is empty. {advice}"
    on_disk(tmp_path, {f"file{number}": b"" for number in range(9)} | {"a/": b""})
    assert path_error(tmp_path) == f"{uri} {unlike} it contains a/, file0, file1, file2, file3, file4, file5, file6 and 2 more. {advice}"
    assert path_error(tmp_path / "file0") == f"{uri}/file0 {unlike} it is a file, but not a segment. {advice}"
    os.mkfifo(tmp_path / "fifo")
    assert path_error(tmp_path / "fifo") == f"{uri}/fifo {unlike} it is neither a file nor a directory. {advice}"
    for name, command in {"store.tar.gz": "tar -xzf", f"{ZERO}.zip": "unzip", "store.ZIP": "unzip"}.items():
        (tmp_path / name).write_bytes(b"x")
        assert path_error(tmp_path / name) == f"{uri}/{name} {unlike} it is packed, so unpack it first: {command} {tmp_path}/{name}."
    (tmp_path / "a" / os.fsdecode(b"caf\xe9")).write_bytes(b"")
    assert path_error(tmp_path / "a").encode().endswith(b"it contains caf\\udce9. Name the directory that contains commitlog")


def test_logs_with_other_names_are_suggested(tmp_path):
    on_disk(tmp_path, files_of(log_of(5), "commitlog_a") | {"commitlog_b/": b"", "commitlog.tar": b""})
    uri = tmp_path.as_uri()
    text = path_error(tmp_path)
    assert text == (
        f"{uri} is not a store: it has no commitlog directory, only commitlog_a, commitlog_b. "
        f"Set store_path_commit_log='{uri}/commitlog_a,{uri}/commitlog_b'"
    )
    assert count_rows(nr.open(tmp_path, store_path_commit_log=text.split("='")[1][:-1])) == 5
    assert count_rows(nr.open(tmp_path, store_path_commit_log=f"{tmp_path}/commitlog_*")) == 5


def test_wrong_directories_for_the_log(store):
    uri = store.as_uri()
    assert (
        path_error(store_path_commit_log=str(store))
        == f"{uri} has no segments, but contains a commitlog directory. Did you mean {uri}/commitlog?"
    )
    assert path_error(store_path_commit_log=f"{store}/lock") == f"{uri}/lock is not a commitlog directory; it is a file, but not a segment."
    assert path_error(store_path_commit_log=f"{store}/comitlog") == f"{uri}/comitlog does not exist. Did you mean 'commitlog'?"
    assert path_error(store_path_commit_log=f"{store}/x,{store}/y") == f"none of these log directories exists: {uri}/x, {uri}/y"
    assert path_error(f"{store}/z", store_path_commit_log=f"{store}/commitlog") == f"{uri}/z does not exist."


def test_the_repr_of_a_store(store):
    assert repr(nr.open(store)) == f"<Store {store.as_uri()}: 3 segments, 6,144 bytes. Next: .messages(topic='...'), .table('segments')>"


def test_stores_one_level_deeper_than_others_were_left_out_without_a_word(tmp_path, caplog):
    on_disk(tmp_path / "stores" / "b" / "x", files_of())
    (tmp_path / "stores" / "b" / "x" / "store").rename(tmp_path / "stores" / "c")
    on_disk(tmp_path / "stores" / "a", files_of())
    (tmp_path / "stores" / "notes").mkdir()
    uri = (tmp_path / "stores").as_uri()
    assert [store.uri for store in nr.open(tmp_path / "stores").stores] == [f"{uri}/c"]
    (said,) = [record.getMessage() for record in caplog.records]
    assert said == f"{uri}: stores deeper in it are not read: {uri}/a/store. Name each store that you want, or use a pattern"
    nr.open(tmp_path / "stores")
    nr.open(tmp_path / "stores" / "c")
    assert len(caplog.records) == 1
