"""An export in runs: each message once over all runs, wherever one of them was killed; and what is lost between two runs is an error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from support.command_line import COMMAND, ENVIRONMENT, run
from support.stores import message

import native_reader as nr
from native_reader.testing.logs import CommitLog

SEGMENT = 1 << 12


class Growing:
    """A store on disk whose log grows."""

    def __init__(self, folder: Path) -> None:
        self.path, self._log, self.count = folder, CommitLog(SEGMENT), 0
        (folder / "commitlog").mkdir(parents=True)

    def append(self, count: int) -> None:
        for number in range(self.count, self.count + count):
            self._log.append(message(number, body=b"x" * 40))
        self.count += count
        for name, content in self._log.files().items():
            (self.path / "commitlog" / name).write_bytes(content)

    @property
    def segments(self) -> list[Path]:
        return sorted((self.path / "commitlog").iterdir())


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    store = Growing(tmp_path / "store")
    store.append(50)
    return store


def export(store: Growing, **options: Any) -> Any:
    folder = store.path.parent
    return nr.open(store.path).export_new(folder / "out", folder / "state.json", **options)


def numbers(store: Growing) -> list[int]:
    """The messages in all files that a reader of the folder sees."""
    files = [path for path in (store.path.parent / "out").rglob("*.parquet") if not any(part.startswith("_") for part in path.parts)]
    return sorted(
        number for file in files for number in parquet.ParquetFile(file).read(columns=["queue_offset"])["queue_offset"].to_pylist()
    )


def test_each_run_writes_what_is_new(growing: Growing) -> None:
    assert export(growing).rows == 50
    assert export(growing) is None
    for more in (1, 30, 7):
        growing.append(more)
        assert export(growing).rows == more
        assert export(growing) is None
    assert numbers(growing) == list(range(88))
    out = growing.path.parent / "out"
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.parquet")) == [
        f"day=2023-11-14/run-{number:06}-part-00000.parquet" for number in (1, 2, 3, 4)
    ]
    assert sorted(path.name for path in out.iterdir()) == ["_runs", "day=2023-11-14"]
    assert len(list((out / "_runs").iterdir())) == 8


class _Killed(BaseException):
    """The process ends here."""


def killed_at(call: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """End the process at this call that changes the disk. Returns how many calls there were."""
    count = 0

    def counted(name: str) -> None:
        real = getattr(os, name)

        def changed(*arguments: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            if count == call:
                raise _Killed
            if call and count > call:  # a dead process does nothing more
                raise OSError(5, "dead")
            return real(*arguments, **more)

        monkeypatch.setattr(os, name, changed)

    for name in ("rename", "replace", "unlink", "rmdir", "makedirs", "fsync"):
        counted(name)
    return lambda: count


def test_a_run_that_is_killed_anywhere_is_done_again(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        plain = Growing(tmp_path / "0" / "store")
        plain.append(20)
        calls = killed_at(0, monkeypatch)
        export(plain)
        total = calls()
    assert total > 10
    for call in range(1, total + 1):
        store = Growing(tmp_path / str(call) / "store")
        store.append(20)
        with pytest.MonkeyPatch.context() as monkeypatch:
            killed_at(call, monkeypatch)
            with pytest.raises((_Killed, nr.ExportError, OSError)):
                export(store)
        store.append(5)
        export(store)
        export(store)
        assert numbers(store) == list(range(25)), call
        assert export(store) is None
        assert not list((store.path.parent / "out").glob("_run-*"))


def test_a_run_that_is_killed_by_the_system_is_done_again(growing: Growing) -> None:
    growing.append(3000)
    folder = growing.path.parent
    command = [*COMMAND, "export", str(growing.path), "-o", str(folder / "out"), "--state", str(folder / "state.json")]
    command += ["--option", "max_partition_bytes=4096"]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not list(folder.glob("out/_run-*/_parts/*")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    growing.append(10)
    for rows in (3050, 10):
        ended = run(*command[len(COMMAND) :], "--json")
        assert (ended.code, ended.rows[0]["rows"]) == (0, rows), ended.err
    assert numbers(growing) == list(range(3060))


def test_messages_that_expired_between_two_runs_are_an_error(growing: Growing) -> None:
    export(growing)
    growing.append(200)
    first, size = growing.segments[0], len(growing.segments)
    for segment in growing.segments[: size - 1]:
        segment.unlink()
    with pytest.raises(nr.DataLoss) as raised:
        export(growing)
    assert "were deleted before they were read: the log now begins at" in str(raised.value)
    assert " bytes)" in str(raised.value)
    assert "set fail_on_data_loss=False; to start over, use a new state and a new folder" in str(raised.value)
    before = (growing.path.parent / "state.json").read_bytes()
    assert json.loads(before)["begun"] is None
    run_ = export(growing, fail_on_data_loss=False)
    left = numbers(growing)
    assert run_.rows == len(left) - 50 > 0
    assert left == [*range(50), *range(250 - run_.rows, 250)]
    assert not first.exists()


def until_a_blank(store: Growing) -> int:
    """Grow until the last segment is closed, while the next one has no message yet. Returns where its blank begins."""
    while SEGMENT - store._log.end % SEGMENT > 400:
        store.append(1)
    begin = store._log.end
    store._log.seal()
    store.append(0)
    return begin


def grown_past_the_first(store: Growing) -> None:
    """The log goes on, and all segments before expire."""
    stop = store._log.end
    store.append(30)
    for segment in store.segments:
        if int(segment.name) < stop:
            segment.unlink()


def test_the_blank_at_the_end_of_a_segment_was_called_lost(growing: Growing, tmp_path: Path) -> None:
    begin = until_a_blank(growing)
    stop = growing._log.end
    arguments = ["export", growing.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json", "--json"]
    assert run(*arguments).rows[0]["rows"] == growing.count
    assert json.loads((tmp_path / "state.json").read_text())["blanks"] == {growing.path.as_uri(): stop}
    grown_past_the_first(growing)
    ended = run(*arguments)
    assert (ended.code, ended.rows[0]["rows"]) == (0, 30), ended.err
    assert f"offsets {begin:,} to {stop:,} were deleted. The run before saw only the blank there" in ended.err
    assert numbers(growing) == list(range(growing.count))


def test_a_blank_that_was_not_seen_may_have_been_messages(growing: Growing) -> None:
    while SEGMENT - growing._log.end % SEGMENT > 400:
        growing.append(1)
    export(growing)
    assert json.loads((growing.path.parent / "state.json").read_text())["blanks"] == {}
    growing._log.seal()
    grown_past_the_first(growing)
    with pytest.raises(nr.DataLoss, match="were deleted before they were read"):
        export(growing)


def until_60_bytes_are_left(store: Growing) -> None:
    """Fewer than the smallest record has, with the blank after it."""
    store.append(1)
    size = store._log.placed[-1].size
    while (left := SEGMENT - store._log.end % SEGMENT) > 2 * size + 60:
        store.append(1)
    store._log.append(message(store.count, body=b"x" * (40 + left - size - 60)))
    store.count += 1
    store.append(0)
    assert SEGMENT - store._log.end % SEGMENT == 60


def test_what_expired_was_too_short_for_a_message(growing: Growing) -> None:
    until_60_bytes_are_left(growing)
    export(growing)
    growing._log.seal()
    grown_past_the_first(growing)
    assert export(growing).rows == 30


def test_it_expired_while_a_run_was_stopped(growing: Growing) -> None:
    until_60_bytes_are_left(growing)
    export(growing)
    growing._log.seal()
    stop = growing._log.end
    growing.append(30)
    with pytest.MonkeyPatch.context() as stopped:
        killed_at(6, stopped)
        with pytest.raises(_Killed):
            export(growing)
    assert json.loads((growing.path.parent / "state.json").read_text())["begun"] is not None
    for segment in growing.segments:
        if int(segment.name) < stop:
            segment.unlink()
    assert export(growing).rows == 30
    assert numbers(growing) == list(range(growing.count))


def test_another_store_is_refused(growing: Growing, tmp_path: Path) -> None:
    export(growing)
    other = Growing(tmp_path / "other" / "store")
    other._log.append(message(7, body=b"of another store" * 9))
    other.append(60)
    for options in ({}, {"fail_on_data_loss": False}):
        with pytest.raises(nr.OptionError, match="None of these has the last record that was read from it, at offset"):
            nr.open(other.path).export_new(tmp_path / "out", tmp_path / "state.json", **options)
    for segment in growing.segments:
        segment.unlink()
    for segment in other.segments:
        (growing.path / "commitlog" / segment.name).write_bytes(segment.read_bytes())
    with pytest.raises(nr.DataLoss, match="or another store is now at this path"):
        export(growing)


def test_a_store_that_was_not_named_was_called_gone(growing: Growing, tmp_path: Path) -> None:
    """It was not looked at. The advice to allow losses would have put the messages of another store into the folder."""
    export(growing, verify_crc=True)
    other = Growing(tmp_path / "other" / "store")
    other._log.append(message(7, body=b"of another store" * 9))
    other.append(60)
    arguments = ["export", other.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json"]
    ended = run(*arguments)
    assert ended.code == 2
    assert f"is the state of an export of {growing.path}, which is not among the stores of this run: {other.path}. " in (ended.err)
    assert f"Name {growing.path}, or use a new state and a new folder\n" in ended.err
    assert "fail_on_data_loss" not in ended.err
    assert run(*arguments, "--option", "fail_on_data_loss=false").code == 2
    assert "这次的 store 中没有它" in run(*arguments, "--lang", "zh").err
    assert numbers(growing) == list(range(50))


def test_two_stores_and_then_one_of_them(growing: Growing, tmp_path: Path) -> None:
    other = Growing(tmp_path / "other" / "store")
    other.append(7)
    nr.open([growing.path, other.path]).export_new(tmp_path / "out", tmp_path / "state.json", verify_crc=True)
    other.append(1)
    arguments = ["export", other.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json"]
    ended = run(*arguments)
    assert ended.code == 2
    assert f"is the state of an export of {growing.path}, which is not among the stores of this run" in ended.err
    assert "If it does not exist any more, --option fail_on_data_loss=false continues with the other stores" in ended.err
    ended = run(*arguments, "--option", "fail_on_data_loss=false", "--json")
    assert ended.rows[0]["rows"] == 1
    assert "this store is not among those found, and none of them has the record at offset" in ended.err


def test_a_store_that_was_moved_goes_on(growing: Growing, tmp_path: Path) -> None:
    export(growing)
    growing.path.rename(tmp_path / "moved")
    assert nr.open(tmp_path / "moved").export_new(tmp_path / "out", tmp_path / "state.json") is None


def test_a_log_that_was_cut_is_an_error(growing: Growing) -> None:
    export(growing)
    last = growing.segments[-1]
    last.write_bytes(bytes(SEGMENT))
    with pytest.raises(nr.DataLoss, match="The log was truncated and rewritten"):
        export(growing)


def change(path: Path, **members: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def test_what_does_not_fit_the_state_is_refused(growing: Growing, tmp_path: Path) -> None:
    export(growing)
    state = tmp_path / "state.json"
    with pytest.raises(nr.OptionError, match=r"the runs before had to=parquet, and this one has csv\. Use the same options, or a new st"):
        export(growing, to="csv")
    with pytest.raises(nr.OptionError, match="the runs before had no topic, and this one has orders, bills\\. "):
        export(growing, topic=["orders", "bills"])
    with pytest.raises(nr.OptionError, match=rf"^{tmp_path}: cannot write there: it is a folder. Name a file$"):
        nr.open(growing.path).export_new(tmp_path / "out", tmp_path)
    with pytest.raises(nr.OptionError, match=r"is the state of the export to .*/out, not to .*/other"):
        nr.open(growing.path).export_new(tmp_path / "other", state)
    with pytest.raises(nr.OptionError, match=r"is not empty, and there is no state .*none\.json\. Messages could come twice"):
        nr.open(growing.path).export_new(tmp_path / "out", tmp_path / "none.json")
    with pytest.raises(nr.OptionError, match="is inside the store"):
        nr.open(growing.path).export_new(tmp_path / "new", growing.path / "state.json")
    with pytest.raises(nr.OptionError, match="is not supported in an export with a state, whose runs continue without end"):
        nr.open(growing.path).export_new(tmp_path / "new", tmp_path / "new.json", ending_physical_offset=5)
    good = state.read_text()
    for text in ("", "{}", "[1]", '{"version": 1}', "[" * 100_000, good.replace('"runs": 1', '"runs": -1')):
        state.write_text(text)
        with pytest.raises(nr.OptionError, match="is no state of an export, or was changed"):
            export(growing)
    state.write_text(good.replace('"from": 0', '"from": 1'))
    with pytest.raises(nr.OptionError, match="an offset in this state was changed after it was written"):
        export(growing)
    state.write_text(good.replace('"version": 1', '"version": 9'))
    with pytest.raises(nr.OptionError, match="a state of version 9; this package reads version 1"):
        export(growing)


def test_an_option_that_was_not_given_was_called_none(growing: Growing, tmp_path: Path) -> None:
    """The error had Python's forms: --topic=None, not ['orders']."""
    arguments = ["export", growing.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json", "--topic", "orders"]
    run(*arguments)
    assert "the runs before had --topic=orders, and this one has none. Use the same options" in run(*arguments[:-2]).err
    assert "the runs before had --topic=orders, and this one has orders, bills. " in run(*arguments, "--topic", "bills").err
    assert "the runs before had no --tag, and this one has paid" in run(*arguments, "--tag", "paid").err
    assert "之前的导出没有 --tag，这次是 paid" in run(*arguments, "--tag", "paid", "--lang", "zh").err


def test_the_command_says_what_it_did(growing: Growing, tmp_path: Path) -> None:
    arguments = ["export", growing.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json"]
    ended = run(*arguments)
    assert (ended.code, ended.out) == (0, "")
    assert "run 1: 50 messages in 1 file of " in ended.err
    assert (run(*arguments).code, run(*arguments).err) == (0, "no new messages\n")
    growing.append(200)
    for segment in growing.segments[:-1]:
        segment.unlink()
    ended = run(*arguments)
    assert ended.code == 1
    assert "set --option fail_on_data_loss=false; to start over, use a new state and a new folder" in ended.err
    ended = run(*arguments, "--option", "fail_on_data_loss=false")
    assert ended.code == 1
    assert "warning: data loss: " in ended.err
    assert "run 2: " in ended.err


def test_a_misspelt_topic_was_clean_in_each_run(growing: Growing, tmp_path: Path) -> None:
    """A cron job did not notice."""
    (growing.path / "consumequeue" / "orders" / "0").mkdir(parents=True)
    arguments = ["export", growing.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json", "--topic", "oders"]
    for _ in range(2):
        ended = run(*arguments)
        assert ended.code == 1
        assert "topic 'oders' is not in the consume queues or the configuration" in ended.err
    (growing.path / "consumequeue" / "oders" / "0").mkdir(parents=True)
    assert run(*arguments).code == 0


def test_damage_is_listed_for_its_run(growing: Growing, tmp_path: Path) -> None:
    content = bytearray(growing.segments[0].read_bytes())
    content[400:440] = bytes(40)
    growing.segments[0].write_bytes(content)
    ended = run("export", growing.path, "-o", tmp_path / "out", "--state", tmp_path / "state.json", "--json")
    assert ended.code == 1
    assert ended.rows[0]["damaged"] == 1
    assert "All: " in ended.err
    assert len((tmp_path / "out" / "_runs" / "run-000001_damage.jsonl").read_text().splitlines()) == 1


def test_an_older_copy_of_the_state_wrote_the_messages_after_it_again(growing: Growing, tmp_path: Path) -> None:
    export(growing)
    older = (tmp_path / "state.json").read_text()
    growing.append(10)
    export(growing)
    (tmp_path / "state.json").write_text(older)
    with pytest.raises(nr.OptionError, match="is an older copy of the state: it knows of 1 run, and the folder has run 2"):
        export(growing)
    assert numbers(growing) == list(range(60))


def test_a_log_that_was_empty_for_one_run_was_written_again(growing: Growing, tmp_path: Path) -> None:
    """As if its disk was not there for a moment."""
    export(growing)
    (tmp_path / "store" / "commitlog").rename(tmp_path / "away")
    (tmp_path / "store" / "commitlog").mkdir()
    (tmp_path / "store" / "commitlog" / f"{0:020d}").write_bytes(bytes(SEGMENT))
    with pytest.raises(nr.DataLoss):
        export(growing, fail_on_data_loss=False)
    shutil.rmtree(tmp_path / "store" / "commitlog")
    (tmp_path / "away").rename(tmp_path / "store" / "commitlog")
    assert export(growing, fail_on_data_loss=False) is None
    assert numbers(growing) == list(range(50))


def test_what_a_stopped_run_had_written_was_taken_for_the_log_as_it_is_now(growing: Growing) -> None:
    """Its files were replaced by equal copies, as by rsync: the messages of the other segments did not come."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        killed_at(25, monkeypatch)
        with pytest.raises((_Killed, OSError)):
            export(growing, fail_on_data_loss=False)
    for path in growing.segments:
        content = path.read_bytes()
        path.rename(path.with_name("old"))
        path.write_bytes(content)
        path.with_name("old").unlink()
    export(growing, fail_on_data_loss=False)
    assert numbers(growing) == list(range(50))


def test_the_first_state_in_the_folder_itself_can_be_stopped(growing: Growing, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".state.json.part").write_text("{")
    run = nr.open(growing.path).export_new(tmp_path / "out", tmp_path / "out" / "state.json")
    assert run is not None
    assert run.rows == 50
