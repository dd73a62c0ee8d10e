"""One segment that cannot be opened: the others are read, and it counts as damage."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path

import pytest
from support.queued_stores import dispatched, numbered
from support.stores import files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.storage.local import LocalFile
from native_reader.testing.faulty import FaultyStorage
from rmqstore.results import said_of_rescue

SIZE = 2048
LOG = log_of(numbered(map(message, range(40))), SIZE)
FILES = files_of(LOG) | dispatched(LOG.placed)
NAMES = sorted(files_of(LOG))
LENIENT = {"mode": "DROPMALFORMED", "fail_on_data_loss": False}


def refusing(name: str, number: int) -> FaultyStorage:
    """The store, in which that file cannot be opened."""
    memory = in_memory(FILES)

    def fault(call: str, uri: str, offset: int) -> None:
        if call == "open" and uri.endswith(name):
            raise OSError(number, os.strerror(number))

    storage = FaultyStorage(memory.url, fault=fault)
    storage.kept, storage.call_costs = memory, 1  # type: ignore[attr-defined]
    return storage


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EIO])
@pytest.mark.parametrize("name", NAMES)
def test_one_file_stopped_everything(name: str, number: int, tmp_path: Path) -> None:
    storage = refusing(name, number)
    store = nr.open(f"{storage.url}/store")
    problem = f"could not open {storage.url}/{name}: {os.strerror(number)}"
    with pytest.raises(nr.UnreadableError) as raised:
        store.messages().count_rows()
    assert problem in str(raised.value)
    base = int(name[-20:])
    others = [each.offset for each in LOG.placed if each.segment != base]
    for mode in ("DROPMALFORMED", "PERMISSIVE"):
        found = store.messages(mode=mode, fail_on_data_loss=False, columns="physical_offset").to_table(jobs=2)
        assert sorted(each for each in found["physical_offset"].to_pylist() if each is not None) == others
    lost = [(row["start_offset"], row["end_offset"], row["reason"]) for row in store.table("damage").to_table().to_pylist()]
    assert lost[0] == (base, base + SIZE, "unreadable")
    told = problem if number == errno.EIO else f"{storage.url}/{name} is not read: this user may not open it"
    assert told in store.diagnose().findings
    (finding,) = [row for row in store.verify().to_table().to_pylist() if row["code"] == "log-unreadable"]
    assert (finding["file"], finding["message"]) == (f"{storage.url}/{name}", problem)
    assert not any(row["code"] == "log-truncated-by-start" for row in store.verify().to_table().to_pylist())
    exported = store.messages(**LENIENT).export(tmp_path / "export")
    assert (exported.rows, exported.is_damaged) == (len(others), True)
    done = store.rescue(tmp_path / "rescue")
    assert done.account is not None
    assert (done.exported.rows, done.missing, done.is_whole) == (len(others), 0, False)
    assert done.account.messages["not read"] == len(LOG.placed) - len(others)
    assert store.report(verify=False).damaged_bytes >= SIZE


def test_a_file_of_another_user_says_as_whom_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = on_disk(tmp_path, FILES) / "store"
    segment = tmp_path / NAMES[1]
    other = next(each for each in pwd.getpwall() if each.pw_uid != os.geteuid())
    opened = LocalFile.__init__

    def refused(self: LocalFile, uri: str) -> None:
        if uri.endswith(segment.name):
            raise PermissionError(errno.EACCES, "Permission denied")
        opened(self, uri)

    monkeypatch.setattr(LocalFile, "__init__", refused)
    seen = os.stat(segment)
    owned = os.stat_result((*seen[:4], other.pw_uid, *seen[5:]))
    real = os.stat
    monkeypatch.setattr(
        "native_reader.storage.local.os.stat", lambda path, **more: owned if str(path) == str(segment) else real(path, **more)
    )
    with pytest.raises(nr.UnreadableError) as raised:
        nr.open(root).messages(access="scan").count_rows()
    assert str(raised.value).endswith(
        f"{segment.name}: Permission denied. It belongs to the user {other.pw_name}: run this as that user, "
        f"for example with sudo -u {other.pw_name}"
    )


def test_a_forbidden_segment_was_called_lost(tmp_path: Path) -> None:
    storage = refusing(NAMES[1], errno.EACCES)
    done = nr.open(f"{storage.url}/store").rescue(tmp_path / "rescue")
    said = "\n".join(each.text() for each in said_of_rescue(done))
    assert f"{SIZE:,} bytes of the log could not be read, in 1 range" in said
    assert "bytes of the log are lost" not in said
    page = Path(done.page).read_text()
    assert f"**Not read:** 1 range of the log with {SIZE:,} bytes" in page
    assert "**Damaged:**" not in page
