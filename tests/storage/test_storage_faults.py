"""Storages that fail, delay and count, and files that change between the plan and the read."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.stores import BACKENDS, ZERO, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.storage.s3 import SCHEMES
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.memory import MemoryFile, MemoryStorage

# Faults


def test_calls_and_bytes_are_counted_and_delayed(monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    memory = in_memory({"d/file": b"0123456789"})
    faulty = FaultyStorage(memory.url, delay=0.005)
    faulty.list(f"{faulty.url}/d")
    faulty.entry(f"{faulty.url}/d")
    with faulty.open(f"{faulty.url}/d/file") as file:
        file.read_ranges([(0, 4), (2, 2)])
    assert faulty.calls == {"list": 1, "entry": 1, "open": 1, "read": 2}
    assert faulty.bytes_read == 6
    assert waits == [0.005] * 5


@pytest.mark.parametrize("on_the_disk", [True, False])
def test_a_failing_read_names_the_file_and_the_byte(tmp_path, on_the_disk):
    log = log_of(200, segment_size=8192)
    memory = in_memory(files_of(log))
    root = on_disk(tmp_path, files_of(log)).as_uri() if on_the_disk else memory.url
    bad = f"/store/commitlog/{8192:020}"

    def fault(call: str, uri: str, offset: int) -> None:
        if call == "read" and uri.endswith(bad) and offset >= 4096:
            raise OSError(errno.EIO, "Input/output error")

    faulty = FaultyStorage(root)
    scan, seen = nr.open(f"{faulty.url}/store").messages(max_partition_bytes=4096), 0
    scan.plan()
    faulty.fault = fault
    batches = scan.to_batches()
    with pytest.raises(nr.UnreadableError) as raised:  # noqa: PT012
        while True:
            seen += next(batches).num_rows
    first = min(placed.offset for placed in log.placed if placed.offset >= 8192 + 4096) - 8192
    assert str(raised.value) == f"could not read {faulty.url}{bad} at byte {first:,}: Input/output error"
    assert raised.value.errno == errno.EIO
    assert raised.value.__cause__.args == (errno.EIO, "Input/output error")
    assert seen == sum(1 for placed in log.placed if placed.offset < 8192 + 4096)


@pytest.mark.parametrize("call", ["list", "entry", "open", "read"])
def test_whatever_fails_is_a_store_error_that_names_the_file(call):
    memory = in_memory()

    def fault(called: str, uri: str, offset: int) -> None:
        if called == call:
            raise TimeoutError("too slow")

    faulty = FaultyStorage(memory.url, fault=fault)
    with pytest.raises(nr.UnreadableError, match=f"^could not .* {faulty.url}/store.*: too slow$") as raised:
        nr.open(f"{faulty.url}/store").messages().to_table()
    assert raised.value.errno is None


class SmallReads(MemoryStorage):
    """Each read returns 37 bytes at most."""

    def _open(self, uri: str) -> MemoryFile:
        super()._open(uri).close()  # raises if there is no such file
        return SmallReadFile(uri, self.files[self._name(uri)])


class SmallReadFile(MemoryFile):
    def _read(self, offset: int, view: memoryview) -> int:
        return super()._read(offset, view[:37])


def test_short_reads_give_the_same_rows():
    memory = in_memory()
    expected = nr.open(memory.url).messages().to_table()
    small_reads = SmallReads(memory.files)
    found = nr.open(small_reads.url).messages().to_table()
    assert found.drop_columns("store").equals(expected.drop_columns("store"))


def test_a_storage_that_no_longer_exists():
    url = in_memory().url
    with pytest.raises(nr.PathError, match=f"^{url}: this test storage no longer exists, or belongs to another process$"):
        nr.open(url)
    memory = in_memory()
    url = FaultyStorage(memory.url).url
    with pytest.raises(nr.PathError, match=f"^{url}: this test storage no longer exists, or belongs to another process$"):
        nr.open(url)


def test_an_unknown_scheme():
    """In a fresh process: here, tests may have imported a storage that the reader itself does not import."""
    code = "import native_reader; native_reader.open('gopher://host/store')"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True)
    schemes = {*BACKENDS, *SCHEMES} - {"memory", "tar"}  # only for tests; by the name of the archive
    supported = ", ".join(f"{scheme}://" for scheme in sorted(schemes))
    other = "In Python, fs= also takes a file system of pyarrow or fsspec"
    error = f"gopher://host/store: gopher:// is not supported. Use a local path, or {supported}. {other}"
    assert ended.stderr.splitlines()[-1] == f"native_reader.errors.PathError: {error}"
    with pytest.raises(nr.PathError) as raised:
        nr.open("gopher://host/store")
    assert str(raised.value) == error


# Between the plan and the read


def test_a_replaced_file_is_an_error(backend_of):
    here = backend_of(files_of())
    scan = nr.open(f"{here.url}/store").messages()
    scan.plan()
    here.put(f"store/commitlog/{ZERO}", b"another file, as long as you like".ljust(2048))
    with pytest.raises(nr.DataLoss) as raised:
        scan.to_table()
    uri = f"{here.url}/store/commitlog/{ZERO}"
    assert str(raised.value) == f"{uri} was replaced by another file after the read was planned. Load the store again"


def test_a_deleted_file_is_an_error(backend_of):
    here = backend_of(files_of())
    scan = nr.open(f"{here.url}/store").messages()
    scan.plan()
    here.remove(f"store/commitlog/{ZERO}")
    with pytest.raises(nr.DataLoss) as raised:
        scan.to_table()
    assert str(raised.value) == (
        f"{here.url}/store/commitlog/{ZERO} no longer exists; it existed when the read was planned. "
        "A broker deletes its oldest segments: load the store again"
    )


def test_a_truncated_file_is_an_error(tmp_path):
    on_disk(tmp_path, files_of())
    scan = nr.open(tmp_path / "store").messages()
    scan.plan()
    path = tmp_path / "store" / "commitlog" / ZERO
    os.truncate(path, 1000)
    with pytest.raises(nr.DataLoss) as raised:
        scan.to_table()
    assert str(raised.value) == (
        f"{path.as_uri()} has 1,000 bytes, but had 2,048 when the read was planned. "
        "It was truncated since then. Load the store again to read the rest"
    )


def test_a_file_deleted_while_it_is_read_is_read_to_its_end_or_is_an_error(backend_of):
    here = backend_of(files_of(log_of(1500, segment_size=1 << 20)))
    batches = nr.open(f"{here.url}/store").messages().to_batches()
    rows = next(batches).num_rows
    assert rows < 1500
    here.remove(f"store/commitlog/{ZERO}")
    if here.keeps_open_files:
        assert rows + sum(batch.num_rows for batch in batches) == 1500
        return
    with pytest.raises(nr.DataLoss, match=f"/{ZERO} was deleted while it was read"):
        list(batches)


def test_a_file_that_grows_is_read_as_planned():
    files = files_of(log_of(10))
    memory = in_memory(files)
    scan = nr.open(memory.url).messages()
    expected = scan.to_table()
    log = log_of([message(number) for number in range(20)])
    files |= files_of(log)
    assert scan.to_table().equals(expected)
    assert nr.open(memory.url).messages().count_rows() == 20
