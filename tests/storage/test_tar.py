"""Tar archives that are read in place: what they may hold, and that the rows are those of the folder."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest
from support.effort import at_effort, thinned
from support.golden import Golden
from support.stores import ZERO, count_rows, dledger, files_of, log_of, on_disk, packed, path_error
from support.tars import FORMATS, gnu_tar, without_uris

import native_reader as nr
from native_reader.storage import storage_of
from native_reader.tables import TABLES
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

SECOND = f"{2048:020}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that has queues, an index and a configuration."""
    root = tmp_path_factory.mktemp("written")
    sizes = {"mapped_file_size_commit_log": 1 << 19, "mapped_file_size_consume_queue": 60_000}
    write_store(root / "store", StoreSpec(bytes=2 << 20, max_hash_slot_num=500, max_index_num=2000, **sizes))
    return root


def uri_of(archive: Path, inside: str = "store") -> str:
    return f"tar+{archive.as_uri()}/{inside}".rstrip("/")


# The same as from a folder


@pytest.mark.gate
@pytest.mark.sweep
@pytest.mark.parametrize("kind", thinned(FORMATS, 5))
def test_every_format_of_gnu_tar(folder: Path, tmp_path: Path, kind: str) -> None:
    short = [f"store/{name}" for name in ("commitlog", "index", "config", "checkpoint", "abort") if (folder / "store" / name).exists()]
    has_long_names = kind not in ("ustar", "v7")  # these formats have none; tar says so
    archive = gnu_tar(tmp_path / "backup.tar", folder, ["store"] if has_long_names else short, FORMATS[kind])
    here, there = nr.open(folder / "store"), nr.open(archive)
    (files,) = there.stores
    assert files.uri == uri_of(archive)
    expected = here.messages(columns="*", access="scan").to_table()
    found = there.messages(columns="*", access="scan").to_table()
    assert without_uris(found, uri_of(archive)) == without_uris(expected, here.stores[0].uri)
    if has_long_names:
        for table in Random(kind).sample(sorted(TABLES), at_effort(4, len(TABLES))):
            assert without_uris(there.table(table).to_table(), uri_of(archive)) == without_uris(
                here.table(table).to_table(), here.stores[0].uri
            ), table


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_format_of_python(tmp_path: Path, kind: int) -> None:
    deep = "backup of the broker/" * (4 if kind == tarfile.USTAR_FORMAT else 20)
    for under in ("store/commitlog", f"{deep}store/commitlog"):
        (tmp_path / "x.tar").write_bytes(packed(files_of(under=under), kind))
        assert count_rows(nr.open(tmp_path / "x.tar")) == 30


# How archives and paths in them are named


def test_every_way_to_name_a_store_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk(tmp_path / "data", files_of() | {"store/config/topics.json": b"{}"})
    archive = gnu_tar(tmp_path / "b ü.TAR", tmp_path / "data")
    uri = uri_of(archive)
    monkeypatch.chdir(tmp_path)
    ways = (
        archive, str(archive), os.fsencode(archive), archive.as_uri(), f"{archive}/", f"{archive}/store", f"{archive}/store/commitlog/",
        f"{archive}/st*", f"{archive}/store/commitlog/*", f"{tmp_path}/*.TAR", f"{tmp_path}/b*.TAR/store", "b ü.TAR", [archive, uri], uri,
        f"{uri}/commitlog",
    )  # fmt: skip
    for path in ways:
        opened = nr.open(path)
        (files,) = opened.stores
        assert (files.uri, files.config, count_rows(opened)) == (uri, f"{uri}/config", 30), path
    assert 0 < count_rows(nr.open(archive / "store" / "commitlog" / SECOND)) < 30
    assert set(nr.open(archive).messages().to_table()["store"].to_pylist()) == {uri}


def test_a_star_does_not_read_an_archive_next_to_its_store(tmp_path: Path) -> None:
    on_disk(tmp_path, files_of())
    gnu_tar(tmp_path / "store.tar", tmp_path)
    for path in (tmp_path, f"{tmp_path}/*", f"{tmp_path}/st*"):
        assert count_rows(nr.open(path)) == 30
    assert count_rows(nr.open(f"{tmp_path}/*.tar")) == 30
    assert count_rows(nr.open([tmp_path / "store", tmp_path / "store.tar"])) == 60


def test_a_directory_with_the_suffix_of_an_archive_is_a_directory(tmp_path: Path) -> None:
    on_disk(tmp_path / "old.tar", files_of())
    gnu_tar(tmp_path / "old.tar" / "new.tar", tmp_path / "old.tar")
    assert nr.open(tmp_path / "old.tar").stores[0].uri == f"{tmp_path.as_uri()}/old.tar/store"
    opened = nr.open(tmp_path / "old.tar" / "new.tar" / "store")
    assert (opened.stores[0].uri, count_rows(opened)) == (uri_of(tmp_path / "old.tar" / "new.tar"), 30)


@pytest.mark.parametrize("names", [["."], ["./store"], ["store"], ["store/commitlog"], [f"store/commitlog/{at}" for at in (ZERO, SECOND)]])
def test_names_with_a_dot_and_parts_of_a_store(tmp_path: Path, names: list[str]) -> None:
    on_disk(tmp_path / "data", files_of())
    opened = nr.open(gnu_tar(tmp_path / "backup.tar", tmp_path / "data", names))
    assert opened.stores[0].uri == uri_of(tmp_path / "backup.tar")
    assert len(opened.stores[0].segments) == (2 if len(names) == 2 else 3)


def test_a_store_at_the_top_of_the_archive_or_only_its_log(tmp_path: Path) -> None:
    on_disk(tmp_path / "data", files_of())
    for at in ("data/store", "data/store/commitlog"):
        opened = nr.open(gnu_tar(tmp_path / "backup.tar", tmp_path / at, ["."]))
        assert (opened.stores[0].uri, count_rows(opened)) == (uri_of(tmp_path / "backup.tar", ""), 30)


def test_names_that_lead_out_are_below_the_top_as_tar_unpacks_them(tmp_path: Path) -> None:
    for prefix in ("/data/", "../../", "/../data/../", "//./"):
        (tmp_path / "x.tar").write_bytes(packed({f"{prefix}{name}": content for name, content in files_of().items()}))
        (files,) = nr.open(tmp_path / "x.tar").stores
        assert files.uri == uri_of(tmp_path / "x.tar", "data/store" if prefix == "/data/" else "store"), prefix


def test_stores_at_any_depth_are_found_and_the_rest_is_not_searched(tmp_path: Path) -> None:
    files = files_of(log_of(5), "rocketmq-data/a/store/commitlog") | files_of(log_of(7), "rocketmq-data/b/x/y/store/commitlog")
    files |= dledger(under="z/dl") | {f"rocketmq-data/a/store/consumequeue/commitlog/0/{ZERO}": b"x" * 20}
    (tmp_path / "x.tar").write_bytes(packed(files | {"etc/passwd": b""}))
    opened = nr.open(tmp_path / "x.tar")
    stores = ("rocketmq-data/a/store", "rocketmq-data/b/x/y/store", "z/dl")
    assert [each.uri for each in opened.stores] == [uri_of(tmp_path / "x.tar", name) for name in stores]
    assert count_rows(opened) == 42
    assert count_rows(nr.open(tmp_path / "x.tar" / "rocketmq-data")) == 12


def test_a_log_in_several_archives(tmp_path: Path) -> None:
    files = files_of()
    for name in files:
        (tmp_path / f"{name[-20:]}.tar").write_bytes(packed({name: files[name]}))
    (tmp_path / "broker.conf").write_text(f"storePathCommitLog={tmp_path}/{ZERO}.tar/store/commitlog\n")
    logs = ",".join(f"{tmp_path}/{name[-20:]}.tar/store/commitlog" for name in files)
    assert count_rows(nr.open(store_path_commit_log=logs)) == 30
    assert 0 < count_rows(nr.open(broker_conf=tmp_path / "broker.conf")) < 30


def test_an_archive_without_a_store(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(packed({"a/b": b"", "notes": b"x"}))
    uri = uri_of(tmp_path / "x.tar", "")
    unlike = "is not a store: no commitlog directory and no file named with 20 digits; it contains a/, notes."
    assert path_error(tmp_path / "x.tar") == f"{uri} {unlike} Name the directory that contains commitlog"
    assert path_error(tmp_path / "x.tar" / "note") == f"{uri}/note does not exist. Did you mean 'notes'?"
    assert path_error(tmp_path / "y.tar") == f"{tmp_path.as_uri()}/y.tar does not exist. Did you mean 'x.tar'?"


# Several members of one name, links, other kinds


def test_of_several_members_with_one_name_the_last_one_counts(tmp_path: Path) -> None:
    """`tar -r` and `tar -u` append newer files."""
    on_disk(tmp_path, files_of(log_of(10)))
    archive = gnu_tar(tmp_path / "backup.tar", tmp_path)
    assert count_rows(nr.open(archive)) == 10
    on_disk(tmp_path, files_of())
    gnu_tar(archive, tmp_path, [f"store/commitlog/{ZERO}", f"store/commitlog/{SECOND}"], how="-r")
    gnu_tar(archive, tmp_path, how="-u")
    assert count_rows(nr.open(archive)) == 30


def test_hard_links_are_their_file(tmp_path: Path) -> None:
    """A backup of hard links has its segments twice; tar keeps each once."""
    on_disk(tmp_path / "data", files_of())
    log, copy = tmp_path / "data" / "store" / "commitlog", tmp_path / "data" / "z" / "commitlog"
    copy.mkdir(parents=True)
    for path in log.iterdir():
        os.link(path, copy / path.name)
    archive = gnu_tar(tmp_path / "backup.tar", tmp_path / "data", ["store", "z"])
    with tarfile.open(archive) as packed_twice:
        assert sum(member.islnk() for member in packed_twice) == 3
    expected = nr.open(archive / "store").messages(columns="heads").to_table().drop_columns("store")
    assert expected.num_rows == 30
    assert nr.open(archive / "z").messages(columns="heads").to_table().drop_columns("store").equals(expected)


def with_links(*links: tuple[bytes, str, str], files: Mapping[str, bytes] = {}) -> bytes:
    """An archive of those files, and then of links `(kind, name, target)`."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, each in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(each)
            archive.addfile(member, io.BytesIO(each))
        for kind, name, target in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return content.getvalue()


SYMBOLIC = tarfile.SYMTYPE


@pytest.mark.parametrize("target", ["../disk2/log", "/disk2/log", "./../store/../disk2//log", "../one/log", "../deep/er/../log"])
def test_symbolic_links_are_followed_inside_the_archive(tmp_path: Path, target: str) -> None:
    links = [("store/commitlog", target), ("one", "two"), ("two", "/disk2"), ("deep/er", "../disk2/sub")]
    files = files_of(under="disk2/log") | {"disk2/sub/x": b""}
    (tmp_path / "x.tar").write_bytes(with_links(*((SYMBOLIC, *link) for link in links), files=files))
    assert count_rows(nr.open(tmp_path / "x.tar" / "store")) == 30
    both = nr.open([tmp_path / "x.tar" / "store" / "commitlog", tmp_path / "x.tar" / "disk2" / "log"])
    assert count_rows(both) == 30


def test_links_in_circles_end(tmp_path: Path) -> None:
    links = [
        (SYMBOLIC, "a", "b"),
        (SYMBOLIC, "b", "a"),
        (SYMBOLIC, "store/self", "."),
        (SYMBOLIC, "up", ".."),
        (SYMBOLIC, "store/x", "x/y"),
    ]
    (tmp_path / "x.tar").write_bytes(with_links(*links, files=files_of()))
    assert count_rows(nr.open(tmp_path / "x.tar")) == 30
    assert count_rows(nr.open(tmp_path / "x.tar" / "store" / "self" / "self")) == 30
    storage, uri = storage_of(uri_of(tmp_path / "x.tar")), uri_of(tmp_path / "x.tar", "")
    assert [each.name for each in storage.list(uri)] == ["store", "up"]
    assert storage.entry(f"{uri}/a") is None


@pytest.mark.parametrize("name", ["store/commitlog", f"store/commitlog/{2048 * 3:020}", "store/config"])
def test_a_part_of_a_store_that_is_a_link_out_of_the_archive_is_an_error(tmp_path: Path, name: str) -> None:
    """Otherwise it would be missing without notice."""
    files = {"store/checkpoint": b""} if name == "store/commitlog" else files_of()
    (tmp_path / "x.tar").write_bytes(with_links((SYMBOLIC, name, "/disk2/there"), (SYMBOLIC, "store/notes", "/none"), files=files))
    with pytest.raises(nr.StoreDamaged) as raised:
        nr.open(tmp_path / "x.tar")
    assert str(raised.value) == (
        f"{uri_of(tmp_path / 'x.tar', name)} is a link to '/disk2/there', which is not in the archive. Pack the store with tar -h, "
        "which follows links. Or set store_path_commit_log if only the log is elsewhere"
    )


def test_fifos_and_devices_are_not_segments(tmp_path: Path) -> None:
    other = [
        (kind, f"store/commitlog/{2048 * (7 + i):020}", "") for i, kind in enumerate((tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE))
    ]
    (tmp_path / "x.tar").write_bytes(with_links(*other, files=files_of()))
    assert nr.open(tmp_path / "x.tar").messages(fail_on_data_loss=False).count_rows() == 30
    uri = f"{uri_of(tmp_path / 'x.tar')}/commitlog/{2048 * 7:020}"
    with pytest.raises(nr.UnreadableError, match="is not a regular file"):
        storage_of(uri).open(uri)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    root = tmp_path / "data" / os.fsdecode(b"caf\xe9 %41 #?")
    on_disk(root, files_of())
    for options in FORMATS["gnu"], FORMATS["ustar"]:
        opened = nr.open(gnu_tar(tmp_path / "backup.tar", tmp_path / "data", ["."], options))
        (files,) = opened.stores
        assert (files.uri, count_rows(opened)) == (uri_of(tmp_path / "backup.tar", "caf%E9%20%2541%20%23%3F/store"), 30)
        assert count_rows(nr.open(files.uri)) == 30


# Stores of real brokers


@pytest.mark.parametrize("name", ["5.5.0-kinds", "5.5.0-expired", "5.5.0-dledger", "4.9.7-killed-pooled", "5.5.0-rocksdb-queues"])
def test_a_store_of_a_real_broker(own_store: Callable[[str], Golden], tmp_path: Path, name: str) -> None:
    root = own_store(name).root
    archive = gnu_tar(tmp_path / "backup.tar", root.parent, [root.name], ["-S"])
    here, there = nr.open(root), nr.open(archive)
    at = uri_of(archive, root.name)
    for table in ("messages", *TABLES):
        expected = without_uris(here.table(table).to_table(), root.as_uri())
        assert without_uris(there.table(table).to_table(), at) == expected, table
