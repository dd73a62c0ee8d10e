"""The storages: one suite for all of them, then tests of local files."""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import pwd
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.stores import ZERO, files_of, in_memory, log_of, on_disk, without_root

import native_reader as nr
from native_reader.storage import protocol, storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window
from native_reader.testing.memory import MemoryStorage

ODD_NAMES = ("plain", "with space", "100%", "%41", "a+b", "a#b", "a?b", "a[1]", "ünï 主题", "q'uote", "new\nline", "a=b&c", "~user", "-x")


FILES = {"d/b": b"0123456789", "d/a": b"", "d/sub/c": b"c", "d/empty/": b"", "x": b"x" * 100}


# All storages


def test_a_listing_is_sorted_and_distinguishes_files_from_directories(backend_of):
    here = backend_of(FILES)
    found = [(each.name, each.size, each.is_file, each.is_directory) for each in here.storage.list(f"{here.url}/d") if each.is_file]
    assert found == [("a", 0, True, False), ("b", 10, True, False)]
    assert [(each.name, each.is_file, each.is_directory) for each in here.storage.list(f"{here.url}/d")][2:] == [
        ("empty", False, True),
        ("sub", False, True),
    ]
    assert here.storage.list(f"{here.url}/d/empty") == []
    assert here.storage.sizes(f"{here.url}/d") == [("a", 0), ("b", 10)]
    assert here.storage.sizes(f"{here.url}/d/empty") == []
    assert {"d", "x"} <= {each.name for each in here.storage.list(here.url)}


def test_a_listing_of_something_other_than_a_directory_is_an_error(backend_of):
    here = backend_of(FILES)
    with pytest.raises(FileNotFoundError):
        here.storage.list(f"{here.url}/nothing")
    with pytest.raises(NotADirectoryError):
        here.storage.list(f"{here.url}/x")
    with pytest.raises(FileNotFoundError):
        here.storage.sizes(f"{here.url}/nothing")
    with pytest.raises(NotADirectoryError):
        here.storage.sizes(f"{here.url}/x")


def test_sizes_are_those_of_a_listing(tmp_path):
    (tmp_path / "file").write_bytes(b"123")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "broken").symlink_to(tmp_path / "nothing")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    storage = storage_of(tmp_path.as_uri())
    listed = [(each.name, each.size) for each in storage.list(tmp_path.as_uri()) if each.is_file]
    assert storage.sizes(tmp_path.as_uri()) == listed == [("file", 3), ("link", 3)]


def test_an_entry_equals_the_one_in_its_directory(backend_of):
    here = backend_of(FILES)
    for each in here.storage.list(f"{here.url}/d"):
        found = here.storage.entry(f"{here.url}/d/{each.name}")
        assert found == each
    assert here.storage.entry(here.url).is_directory
    assert here.storage.entry(f"{here.url}/nothing") is None
    assert here.storage.entry(f"{here.url}/x/below a file") is None


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [(0, 10, b"0123456789"), (3, 4, b"3456"), (8, 5, b"89"), (10, 1, b""), (99, 3, b""), (4, 0, b"")],
)
def test_a_read_is_short_only_at_the_end(backend_of, offset, length, expected):
    here = backend_of(FILES)
    with here.storage.open(f"{here.url}/d/b") as file:
        buffer = bytearray(b"-" * length)
        assert file.read_into(offset, buffer) == len(expected)
        assert buffer == expected.ljust(length, b"-")
        assert file.read_into(offset, memoryview(buffer)) == len(expected)
        assert file.read_ranges([(offset, length), (0, 1)]) == [expected, b"0"]
        pairs = file.read_array(offset, ">u2", length // 2)
        assert pairs.tobytes() == expected[: 2 * (min(len(expected), length) // 2)]


def test_an_open_file_has_its_size_and_identity(backend_of):
    here = backend_of(FILES)
    with here.storage.open(f"{here.url}/d/b") as file:
        assert file.uri == f"{here.url}/d/b"
        assert file.size() == 10
        assert file.identity() == here.storage.entry(f"{here.url}/d/b").identity
        assert file.written_end() == 10


def test_a_file_that_is_not_there_cannot_be_opened(backend_of):
    here = backend_of(FILES)
    with pytest.raises(FileNotFoundError):
        here.storage.open(f"{here.url}/nothing")


def test_an_open_file_survives_the_deletion_of_its_name_or_says_so(backend_of):
    here = backend_of(FILES)
    with here.storage.open(f"{here.url}/d/b") as file:
        here.remove("d/b")
        assert here.storage.entry(f"{here.url}/d/b") is None
        if here.keeps_open_files:
            assert file.read_ranges([(0, 10)]) == [b"0123456789"]
            return
        for ranges in ([(0, 10)], [(0, 2), (4, 2)]):
            with pytest.raises(nr.DataLoss, match="/d/b was deleted while it was read") as raised:
                file.read_ranges(ranges)
            assert raised.value.is_file_gone


def test_another_file_of_the_same_name_has_another_identity(backend_of):
    here = backend_of(FILES)
    with here.storage.open(f"{here.url}/d/b") as file:
        here.put("d/b", b"abcdefghij")
        assert here.storage.entry(f"{here.url}/d/b").identity != file.identity()
        if here.keeps_open_files:
            assert file.read_ranges([(0, 3)]) == [b"012"]
            return
        with pytest.raises(nr.DataLoss, match="/d/b was replaced by another file while it was read"):
            file.read_ranges([(0, 3)])


def test_a_listed_name_of_any_kind_can_be_opened(backend_of, request):
    in_s3 = "s3" in request.node.callspec.params["backend_of"]
    names = [name for name in ODD_NAMES if not in_s3 or "\n" not in name]  # the server of the tests cannot keep it
    here = backend_of({f"d/{name}/{name}": name.encode() for name in names})
    found = {}
    for each in here.storage.list(f"{here.url}/d"):
        part = here.storage.quoted(each.name)
        assert here.storage.unquoted(part) == each.name
        with here.storage.open(f"{here.url}/d/{part}/{part}") as file:
            found[each.name] = file.read_ranges([(0, 99)])[0].decode()
    assert found == {name: name for name in names}


def test_a_store_reads_the_same_from_everywhere(backend_of):
    here, memory = backend_of(files_of()), in_memory()
    expected = nr.open(f"{memory.url}/store").messages().to_table().drop_columns("store")
    assert expected.num_rows == 30
    scan = nr.open(f"{here.url}/store").messages(max_partition_bytes=700)
    assert scan.to_table().drop_columns("store").equals(expected)
    assert scan.to_table(jobs=3).drop_columns("store").equals(expected)


# Local files


LOCAL = storage_of("file:///")


def test_a_fifo_never_blocks(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (entry,) = LOCAL.list(tmp_path.as_uri())
    assert (entry.is_file, entry.is_directory) == (False, False)
    with pytest.raises(nr.UnreadableError, match=r"/fifo is not a regular file$"):
        LOCAL.open(f"{tmp_path.as_uri()}/fifo")


def test_fifos_directories_and_loops_are_not_segments_and_are_said(tmp_path):
    on_disk(tmp_path, files_of(log_of(5)))
    log = tmp_path / "store" / "commitlog"
    os.mkfifo(log / f"{2048 * 7:020}")
    (log / f"{2048 * 8:020}").mkdir()
    (log / f"{2048 * 9:020}").symlink_to(log / f"{2048 * 9:020}")
    (log / f"{2048 * 10:020}").symlink_to(log / "nothing")
    store = nr.open(tmp_path / "store")
    assert store.messages(fail_on_data_loss=False).count_rows() == 5
    assert [int(name) // 2048 for name in store.stores[0].strays] == [7, 8, 9, 10]
    with pytest.raises(nr.DataLoss):
        store.messages().count_rows()


def test_links_are_followed_and_loops_are_not(tmp_path):
    on_disk(tmp_path, files_of(log_of(5), "elsewhere/log"))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "commitlog").symlink_to(tmp_path / "elsewhere" / "log")
    (tmp_path / "store" / "loop").symlink_to(tmp_path / "store")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert nr.open(tmp_path / "store").messages().count_rows() == 5
    assert nr.open(tmp_path / "store" / "loop" / "loop").messages().count_rows() == 5
    assert nr.open(tmp_path).messages().count_rows() == 5
    assert LOCAL.entry(f"{tmp_path.as_uri()}/self") is None
    listed = {each.name: each.is_directory for each in LOCAL.list(tmp_path.as_uri())}
    assert listed == {"elsewhere": True, "self": False, "store": True}


def test_a_name_that_is_not_utf_8(tmp_path):
    root = tmp_path / os.fsdecode(b"caf\xe9 %41")
    on_disk(root, files_of(log_of(5)))
    expected = f"{tmp_path.as_uri()}/caf%E9%20%2541/store"
    for path in (root / "store", root, os.fsencode(root), f"{tmp_path}/caf*/store", f"{tmp_path}/caf*/store/commitlog/*", expected):
        (store,) = nr.open(path).stores
        assert store.uri == expected
    assert set(nr.open(root).messages().to_table()["store"].to_pylist()) == {expected}


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user can read. Those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_an_unreadable_file_or_directory_is_named(shared):
    on_disk(shared, files_of(log_of(5)))
    segment, closed = shared / "store" / "commitlog" / ZERO, shared / "closed"
    on_disk(closed, files_of(log_of(5)))
    segment.chmod(0)
    closed.chmod(0)
    try:
        with without_root():
            with pytest.raises(nr.UnreadableError) as refused:
                nr.open(shared / "store").messages().to_table()
            with pytest.raises(nr.UnreadableError) as shut:
                nr.open(closed)
            with pytest.raises(nr.UnreadableError) as below:
                nr.open(closed / "store")
    finally:
        closed.chmod(0o755)
    assert refused.value.errno == shut.value.errno == errno.EACCES
    owner = pwd.getpwuid(segment.stat().st_uid).pw_name
    whose = f"It belongs to the user {owner}: run this as that user, for example with sudo -u {owner}"
    assert str(refused.value) == f"could not open {segment.as_uri()}: Permission denied. {whose}"
    assert str(shut.value) == f"could not list {closed.as_uri()}: Permission denied"
    assert str(below.value) == f"could not get the status of {closed.as_uri()}/store: Permission denied"


def test_an_unreadable_directory_next_to_stores_does_not_hide_them(shared):
    on_disk(shared, files_of(log_of(5)) | {"lost+found/": b""})
    (shared / "lost+found").chmod(0)
    with without_root():
        assert nr.open(shared).messages().count_rows() == 5


def test_the_written_end_is_before_trailing_holes(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        for place in [0, *range(10 << 20, 200 << 20, 1 << 20)]:
            file.seek(place)
            file.write(b"x")
        file.truncate(1 << 40)
    with LOCAL.open(path.as_uri()) as opened:
        assert opened.size() == 1 << 40
        assert (199 << 20) < opened.written_end() <= (200 << 20)
    path.write_bytes(b"")
    with LOCAL.open(path.as_uri()) as opened:
        assert opened.written_end() == 0


def test_a_file_system_without_holes_gives_no_hint(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x" + bytes(99))

    def refuse(*_: object) -> int:
        raise OSError(errno.EINVAL, "no holes here")

    monkeypatch.setattr(os, "lseek", refuse)
    with LOCAL.open(f"{tmp_path.as_uri()}/file") as file:
        assert file.written_end() == 100


def fingerprint(root: Path) -> dict[str, tuple[object, ...]]:
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, content)
    return found


def test_nothing_is_written_touched_or_locked(shared, monkeypatch):
    """Files are opened O_RDONLY, and a read-only store reads like any other."""
    on_disk(shared, files_of() | {"store/lock": b"lock", "store/abort": b"", "store/config/topics.json": b"{}"})
    for path in (shared, *shared.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before, flags, really = fingerprint(shared), set(), os.open

    def spy(path: str, mode: int, *more: object, **named: object) -> int:
        flags.add(mode)
        return really(path, mode, *more, **named)

    monkeypatch.setattr(os, "open", spy)
    with without_root():
        scan = nr.open(shared / "store").messages(max_partition_bytes=500)
        assert (scan.count_rows(), scan.head(3).num_rows, scan.to_table(jobs=2).num_rows) == (30, 3, 30)
    monkeypatch.undo()
    assert flags == {os.O_RDONLY | os.O_CLOEXEC | kind for kind in (os.O_NONBLOCK, os.O_DIRECTORY)}
    assert fingerprint(shared) == before
    shared.chmod(0o755)
    for path in shared.rglob("*"):
        path.chmod(0o755)


def test_no_file_is_left_open(tmp_path):
    on_disk(tmp_path, files_of())

    def still_open() -> list[str]:
        """Files of this store: those of tests before may be closed meanwhile."""
        found = []
        for number in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # the one of the listing
                found.append(os.readlink(f"/proc/self/fd/{number}"))
        return [path for path in found if path.startswith(str(tmp_path))]

    scan = nr.open(tmp_path / "store").messages(max_partition_bytes=300)
    with (tmp_path / "store/commitlog" / ZERO).open("rb"):
        assert len(still_open()) == 1
    scan.to_table(jobs=3)
    scan.head(1)
    next(scan.to_batches())
    assert still_open() == []


# Windows bound the memory, whatever size a file claims


def test_a_listed_size_reserves_no_memory(tmp_path):
    on_disk(tmp_path, files_of(log_of(5)))
    with (tmp_path / "store" / "commitlog" / ZERO).open("r+b") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    try:
        scan = nr.open(tmp_path / "store").messages()
        assert scan.to_table().num_rows == 5
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()


def test_a_window_holds_the_requested_bytes_and_zeros_after_them():
    storage = in_memory({"s/" + ZERO: bytes(range(1, 200))})
    entry = storage.entry(f"{storage.url}/s/{ZERO}")
    with Window(Segment(1000, entry.size, f"{storage.url}/s/{ZERO}", entry.identity), 50) as window:
        assert window.load(100, 20) == 20
        assert (window.offset, window.filled, bytes(window.u8[:20])) == (1100, 20, bytes(range(101, 121)))
        assert not window.u8[20:40].any()
        assert window.load(150, 500) == 49
        assert window.peek(0, 3) == b"\1\2\3"
        assert window.peek(197, 9) == b"\xc6\xc7"
        assert bytes(window.u8[:3]) == bytes([151, 152, 153])


def test_segments_survive_pickling():
    segment = Segment(0, 10, "file:///x/" + ZERO, 7)
    assert pickle.loads(pickle.dumps(segment)) == segment


@pytest.fixture
def bucket() -> Iterator[str]:
    """A scheme that only one test registers."""
    yield "bucket"
    protocol.register("bucket", None)


def test_a_factory_runs_once_for_each_origin(bucket: str) -> None:
    """A storage may hold connections, and each open file looks up its storage."""
    origins: list[str] = []

    def factory(origin: str) -> protocol.Storage:
        origins.append(origin)
        return MemoryStorage({})

    protocol.register(bucket, factory)
    one, other = protocol.storage_of("bucket://one/store/a"), protocol.storage_of("bucket://other/store")
    assert protocol.storage_of("bucket://one") is one is protocol.storage_of("bucket://one/store/b")
    assert one is not other
    assert origins == ["bucket://one", "bucket://other"]


def test_an_interrupt_in_close_does_not_close_the_descriptor_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The garbage collector closed the number again, which another thread's file could have by then."""
    (tmp_path / "file").write_bytes(b"x")
    file = storage_of(tmp_path.as_uri()).open((tmp_path / "file").as_uri())
    closed: list[int] = []

    def interrupted(descriptor: int) -> None:
        closed.append(descriptor)
        os.fdopen(descriptor, closefd=True).close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("native_reader.storage.local.os.close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.close()
        file.close()
        del file
    assert len(closed) == 1


def test_a_segment_is_found_by_an_offset() -> None:
    one, other = Segment(100, 50, "file:///s/commitlog/a", 1), Segment(200, 50, "file:///s/commitlog/b", 2)
    files = StoreFiles("file:///s", (one, other))
    assert [files.segment_at(offset) for offset in (0, 99, 100, 149, 150, 199, 200, 10**6)] == [None, None, *[one] * 4, other, other]
    assert StoreFiles("file:///s", ()).segment_at(0) is None
