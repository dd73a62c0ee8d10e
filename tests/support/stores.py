"""Small stores for tests, in memory or on disk."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import native_reader as nr
from native_reader.storage import Storage, storage_of
from native_reader.storage.remote import use
from native_reader.testing.logs import CommitLog, Framing
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import Message, pack_properties
from support.object_store import new_bucket

Files = dict[str, bytes]
ZERO = "00000000000000000000"


class Backend(NamedTuple):
    """A directory in some storage, with functions to replace and remove its files."""

    url: str
    storage: Storage
    put: Callable[[str, bytes], None]
    remove: Callable[[str], None]
    close: Callable[[], None] = lambda: None
    keeps_open_files: bool = True
    """Whether an open file can still be read after it was deleted or replaced. Otherwise that is a DataLoss."""


def message(number: int, **fields: object) -> Message:
    """A message with its number in every field that can hold it."""
    properties = pack_properties({"TAGS": f"tag{number % 3}", "KEYS": f"k{number} all", "UNIQ_KEY": f"U{number:04}"})
    defaults = {"topic": f"T{number % 3}", "body": b"body %d" % number, "properties": properties, "queue_offset": number}
    return Message(**(defaults | {"store_timestamp": 1_700_000_000_000 + number} | fields))  # type: ignore[arg-type]


def log_of(messages: int | Iterable[Message] = 30, segment_size: int = 2048, start: int = 0, framing: Framing = "plain") -> CommitLog:
    """A log of these messages, or of this many."""
    log = CommitLog(segment_size, start, framing)
    for each in map(message, range(messages)) if isinstance(messages, int) else messages:
        log.append(each)
    return log


def files_of(log: CommitLog | None = None, under: str = "store/commitlog") -> Files:
    """The log's files by path."""
    return {f"{under}/{name}": content for name, content in (log or log_of()).files().items()}


def on_disk(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files; a name that ends in `/` is an empty directory."""
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return root


def in_memory(files: Mapping[str, bytes | bytearray] | None = None) -> MemoryStorage:
    """A storage in memory; keep a reference, because its files exist only as long as the object."""
    return MemoryStorage(files if files is not None else files_of())


def path_error(*arguments: object, **named: object) -> str:
    """The error text of `open` if there is no store."""
    with pytest.raises(nr.PathError) as raised:
        nr.open(*arguments, **named)
    assert isinstance(raised.value, FileNotFoundError)
    return str(raised.value)


def count_rows(store: nr.Store) -> int:
    """The number of rows; asserts that each one names one of the stores."""
    table = store.messages().to_table()
    assert set(table["store"].to_pylist()) <= {each.uri for each in store.stores}
    return table.num_rows


def dledger(start: int = 0, node: str = "n0", under: str = "store") -> dict[str, bytes]:
    """A store with the log of one DLedger node."""
    home = f"{under}/dledger-{node}"
    return files_of(log_of(30, 4096, start, "dledger"), f"{home}/data") | {f"{home}/index/{ZERO}": b"x" * 32}


def _backend_in_memory(_: Path, files: Mapping[str, bytes]) -> Backend:
    own = dict(files)
    memory = in_memory(own)
    return Backend(memory.url, memory, own.__setitem__, own.__delitem__)


def _backend_on_disk(root: Path, files: Mapping[str, bytes]) -> Backend:
    on_disk(root, files)

    def put(name: str, content: bytes) -> None:
        (root / "new").write_bytes(content)
        (root / "new").replace(root / name)

    return Backend(root.as_uri(), storage_of(root.as_uri()), put, lambda name: (root / name).unlink())


def _backend_in_s3(_: Path, files: Mapping[str, bytes]) -> Backend:
    bucket = new_bucket(files)
    use([bucket.url], bucket.link.fs)
    return Backend(bucket.url, storage_of(bucket.url), bucket.replace, bucket.remove, bucket.link.close, keeps_open_files=False)


def _backend_in_tar(root: Path, files: Mapping[str, bytes]) -> Backend:
    own, archive = dict(files), root / "backup.tar"

    def put(name: str, content: bytes) -> None:
        own[name] = content
        pack()

    def remove(name: str) -> None:
        del own[name]
        pack()

    def pack() -> None:
        archive.with_name("new").write_bytes(packed(own))
        archive.with_name("new").replace(archive)

    pack()
    url = f"tar+{archive.as_uri()}"
    return Backend(url, storage_of(url), put, remove)


def packed(files: Mapping[str, bytes], kind: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar archive; a name that ends in `/` is an empty directory."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=kind) as archive:
        for name, each in files.items():
            member = tarfile.TarInfo(name.rstrip("/"))
            member.type, member.size = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE, len(each)
            archive.addfile(member, io.BytesIO(each))
    return content.getvalue()


BACKENDS: dict[str, Callable[[Path, Mapping[str, bytes]], Backend]] = {
    "memory": _backend_in_memory,
    "file": _backend_on_disk,
    "s3": _backend_in_s3,
    "tar": _backend_in_tar,
}
"""By scheme: a storage of that scheme with those files, which may be kept in that directory. The fixture `backend_of` runs on each."""


@contextmanager
def without_root() -> Iterator[None]:
    """Switch from root to the user `nobody`, because root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def scattered_store(tmp_path: Path) -> Path:
    """A store with its log in two directories and its other parts in others."""
    first, second = dict(list(files_of().items())[:2]), dict(list(files_of().items())[2:])
    on_disk(tmp_path / "one", first)
    on_disk(tmp_path / "two", second)
    return on_disk(tmp_path, {"root/consumequeue/": b"", "elsewhere/cq/": b"", "elsewhere/index/": b""})
