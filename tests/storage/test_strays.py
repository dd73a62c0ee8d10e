"""Segments that were packed or renamed: a log of them must not look like an empty one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from support.command_line import run
from support.packed import READ, pack
from support.stores import ZERO, count_rows, dledger, files_of, in_memory, on_disk, path_error

import native_reader as nr
from native_reader.storage.strays import how_to_restore, unpack_command

SECOND = f"{2048:020}"
COMMANDS = {
    "gz": "gunzip", "GZ": "gunzip", "xz": "unxz", "bz2": "bunzip2", "zst": "zstd -d", "lz4": "lz4 -d", "zip": "unzip", "7z": "7z x",
    "tar": "tar -xf", "tgz": "tar -xzf", "tar.gz": "tar -xzf", "tar.zst": "tar -xf",
}  # fmt: skip


def packed(store: Path, *names: str, ending: str = "zip") -> None:
    for name in names:
        path = store / "commitlog" / name
        (path.parent / f"{name}.{ending}").write_bytes(pack(path.read_bytes(), ending))
        path.unlink()


@pytest.mark.parametrize("ending", [ending for ending in COMMANDS if ending not in READ])
def test_a_log_with_packed_segments_is_not_an_empty_one(store, ending):
    """The result was an empty table."""
    names = sorted(path.name for path in (store / "commitlog").iterdir())
    packed(store, *names, ending=ending)
    expected = (
        f"{store.as_uri()}/commitlog: no segments found, only {', '.join(f'{name}.{ending}' for name in names)}. "
        f"For each of these files: unpack it first: {COMMANDS[ending]} {ZERO}.{ending}"
    )
    for path in (store, store / "commitlog", store.parent, f"{store}/commitlog/*", f"{store.parent}/*"):
        assert path_error(path) == expected
    assert path_error(store_path_commit_log=f"{store}/commitlog") == expected
    if ending != "tar":  # which is read itself
        assert path_error(f"{store}/commitlog/*.{ending}") == expected
    command = COMMANDS[ending]
    assert f" packed{' with gzip' * (ending == 'tar')}, so unpack it first: {command} {store}/commitlog/{ZERO}.{ending}" in path_error(
        f"{store}/commitlog/{ZERO}.{ending}"
    )


def test_a_log_with_renamed_segments_is_not_an_empty_one(store):
    packed(store, *(path.name for path in (store / "commitlog").iterdir()), ending="bak")
    assert path_error(store).endswith(f"For each of these files: if it is a segment, rename it first: mv {ZERO}.bak {ZERO}")


def test_many_packed_segments_are_not_all_named(tmp_path):
    on_disk(tmp_path, {f"store/commitlog/{number:020}.gz": b"x" for number in range(12)})
    assert f"{7:020}.gz and 4 more. For each" in path_error(tmp_path / "store")


def test_packed_segments_in_a_directory_of_another_name(tmp_path):
    on_disk(tmp_path, {f"archive/{ZERO}.gz": b"x"})
    assert path_error(tmp_path / "archive") == (
        f"{tmp_path.as_uri()}/archive: no segments found, only {ZERO}.gz. For each of these files: unpack it first: gunzip {ZERO}.gz"
    )


def test_a_packed_dledger_log_is_not_an_empty_one(tmp_path):
    on_disk(tmp_path, {f"{name}.zip": content for name, content in dledger().items()} | {"store/commitlog/": b""})
    assert path_error(tmp_path / "store").startswith(f"{tmp_path.as_uri()}/store/dledger-n0/data: no segments found, only {ZERO}.zip, ")


def test_packed_segments_next_to_others_are_listed(store):
    packed(store, SECOND)
    packed(store, f"{4096:020}", ending="bak")
    for path in (store, store / "commitlog", f"{store}/commitlog/*", [store, store / "commitlog"]):
        (files,) = nr.open(path).stores
        assert files.strays == (f"{SECOND}.zip", f"{4096:020}.bak")
        assert len(files.segments) == 1
    assert nr.open(store / "commitlog" / ZERO).stores[0].strays == ()
    (files,) = nr.open(store_path_commit_log=f"{store}/commitlog").stores
    assert files.strays == (f"{SECOND}.zip", f"{4096:020}.bak")


def test_no_more_than_eight_are_listed(tmp_path):
    on_disk(tmp_path, files_of() | {f"store/commitlog/{number:020}.gz": b"x" for number in range(8192, 8212)})
    assert nr.open(tmp_path / "store").stores[0].strays == tuple(f"{number:020}.gz" for number in range(8192, 8200))


def test_files_that_are_not_strays(tmp_path):
    """A packed copy next to its segment, an empty file, a directory, other names."""
    others = {f"{ZERO}.gz": b"x", f"{8192:020}.bak": b"", f"{8192:020}.d/": b"", f"{8192:021}": b"x", f".{8192:020}.gz": b"x", "a.gz": b"x"}
    root = on_disk(tmp_path, files_of() | {f"store/commitlog/{name}": content for name, content in others.items()}) / "store"
    (files,) = nr.open(root).stores
    assert files.strays == ()
    assert count_rows(nr.open(root)) == 30


def test_an_empty_log_next_to_other_files_stays_empty():
    memory = in_memory({"store/commitlog/notes.gz": b"x", f"store/commitlog/{ZERO}.bak": b"", "store/commitlog/a.tar": b"x"})
    assert count_rows(nr.open(f"{memory.url}/store")) == 0


def test_a_command_is_safe_to_copy_and_a_name_to_print(tmp_path):
    on_disk(tmp_path, {f"store/commitlog/{ZERO}; echo .gz": b"x"})
    assert path_error(tmp_path / "store").endswith(f"gunzip '{ZERO}; echo .gz'")
    (tmp_path / "store" / "commitlog" / os.fsdecode(f"{ZERO}.\xe9".encode("latin-1"))).write_bytes(b"x")
    assert f"{ZERO}.\\udce9, {ZERO}; echo .gz." in path_error(tmp_path / "store")


def test_the_command_for_a_name():
    assert unpack_command(f"{ZERO}.bak") is None
    assert how_to_restore(f"{ZERO}.gz").text() == f"unpack it first: gunzip {ZERO}.gz"
    assert how_to_restore(f"{ZERO}.bak").text() == f"if it is a segment, rename it first: mv {ZERO}.bak {ZERO}"


def test_packed_segments_before_the_first_one_were_not_said(store: Path, tmp_path: Path) -> None:
    """Two of five were packed: `rescue` found nothing lost, `stat` and FAILFAST counted the rest, `verify` said they had expired."""
    packed(store, ZERO, SECOND)
    opened = nr.open(store)
    assert opened.stores[0].packed_from == 0
    with pytest.raises(nr.DataLoss) as raised:
        opened.messages().count_rows()
    back = f"{ZERO}.zip exists: unpack it first: unzip {ZERO}.zip"
    assert str(raised.value) == (
        f"{store.as_uri()}: offsets 0 to 4,096 (4,096 bytes) are in no file: {back}. Set fail_on_data_loss=False to read the rest"
    )
    assert opened.messages(fail_on_data_loss=False).count_rows() == 2
    (row,) = opened.table("damage").to_table().to_pylist()
    assert (row["start_offset"], row["end_offset"], row["reason"], row["segment"]) == (0, 4096, "missing", None)
    assert row["found"] == f"no file contains these offsets. {back}"
    (finding,) = [row for row in opened.verify().to_table().to_pylist() if row["code"].startswith("log-")]
    assert (finding["code"], finding["message"]) == ("log-missing", f"no file has offsets 0 to 4,096. {back}")
    assert f"no file contains offsets 0 to 4,096 (4,096 bytes). {back}" in opened.diagnose().findings
    assert f"(4,096 bytes) of {store.as_uri()}: no file contains them. {back}" in str(opened.messages(fail_on_data_loss=False).explain())
    assert run("export", store, "-o", tmp_path / "export").code == 1
    for command in (["stat", store], ["cat", store], ["find", store, "--key", "k29"]):
        ended = run(*command)
        assert ended.code == 1, command
        assert f"no file contains offsets 0 to 4,096 (4,096 bytes). {back}" in ended.err
    ended = run("rescue", store, tmp_path / "rescue")
    assert "4,096 bytes of the log are lost: 4,096 in 1 missing range" in ended.err
    assert opened.messages(where="physical_offset >= 4096").count_rows() == 2  # which asks for none of them


@pytest.mark.parametrize(("names", "begins"), [((SECOND,), 2048), ((ZERO,), None)])
def test_only_those_that_lead_up_to_the_first_segment_are_of_the_log(store: Path, names: tuple[str, ...], begins: int | None) -> None:
    """An old copy of a segment that expired long ago is not missed."""
    packed(store, *names)
    for name in {ZERO, SECOND} - set(names):
        (store / "commitlog" / name).unlink()
    (files,) = nr.open(store).stores
    assert files.packed_from == begins
    if begins is None:
        assert nr.open(store).messages().count_rows() == 2


@pytest.mark.parametrize("kind", ["link", "folder", "socket"])
@pytest.mark.parametrize("which", ["first", "last"])
def test_a_segment_that_is_no_file_was_taken_for_expired(tmp_path: Path, kind: str, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of()
    name = {"first": min, "last": max}[which](files)
    root = on_disk(tmp_path, files) / "store"
    (tmp_path / name).unlink()
    if kind == "link":
        (tmp_path / name).symlink_to("/nowhere/gone")
    elif kind == "folder":
        (tmp_path / name).mkdir()
    else:
        monkeypatch.chdir((tmp_path / name).parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name[-20:])
    store = nr.open(root)
    assert store.stores[0].strays == (name[-20:],)
    with pytest.raises(nr.DataLoss, match=r"is not a regular file, or is a link to nothing"):
        count_rows(store)
    assert "is not a regular file, or is a link to nothing" in str(store.table("damage").to_table().to_pylist())
