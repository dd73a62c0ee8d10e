"""A reader that ends early, an interruption, and a store that grows."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pyarrow import parquet
from support.command_line import COMMAND, ENVIRONMENT, run
from support.effort import thinned
from support.exported import data_files, expected_rows, exported_rows, summary
from support.stores import message

import native_reader as nr
from native_reader.testing.logs import CommitLog
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

# A shell starts what runs in the background so that it ignores Ctrl-C, and these tests may run there.
_TAKES_INTERRUPTIONS = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _TAKES_INTERRUPTIONS, *COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def test_a_reader_that_ends_early_ends_it_silently(tmp_path: Path) -> None:
    log = CommitLog(1 << 20)
    for number in range(3000):
        log.append(message(number, body=b"x" * 200))
    folder = tmp_path / "store" / "commitlog"
    folder.mkdir(parents=True)
    for name, content in log.files().items():
        (folder / name).write_bytes(content)
    with started("cat", tmp_path / "store", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["body"] == "x" * 200
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(300) == -signal.SIGPIPE


def test_tail_follows_a_growing_store_until_it_is_interrupted(tmp_path: Path) -> None:
    log, size = CommitLog(1 << 16), 1 << 16
    for number in range(12):
        log.append(message(number))
    folder = tmp_path / "store" / "commitlog"
    folder.mkdir(parents=True)

    def write() -> None:
        for name, content in log.files().items():
            with (folder / name).open("r+b" if (folder / name).exists() else "wb") as file:
                file.write(content.ljust(size, b"\0"))

    write()
    with started("tail", "-f", "-n", "5", tmp_path / "store", "--json") as process:
        timer = threading.Timer(300, process.kill)
        timer.start()
        assert process.stdout is not None
        assert process.stderr is not None
        assert [json.loads(process.stdout.readline())["body"] for _ in range(5)] == [f"body {number}" for number in range(7, 12)]
        for number in range(12, 15):
            log.append(message(number))
        write()
        assert [json.loads(process.stdout.readline())["body"] for _ in range(3)] == ["body 12", "body 13", "body 14"]
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=300)
        timer.cancel()
    assert (process.returncode, rest) == (130, "")
    assert said.splitlines() == ["no broker on this host has the store open; waiting for new messages all the same", "interrupted"]


@pytest.mark.parametrize("arguments", [["tail", "-f", "-n", "0"]])
def test_an_interruption_is_one_line(store: Path, arguments: list[str]) -> None:
    with started(*arguments, store) as process:
        assert process.stderr is not None
        assert "waiting for new messages" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert (process.returncode, said.strip()) == (130, "interrupted")


def slow_store(tmp_path: Path) -> Path:
    """A store that is read for some seconds at the lowest rate."""
    write_store(tmp_path / "store", StoreSpec(bytes=6 << 20, queues=False, index=False))
    return tmp_path / "store"


_DELETES = """
import os, signal, time
from rmqstore.cli import take_signals
take_signals()
class Deleted:
    def __del__(self):
        os.kill(os.getpid(), {number})
        for _ in range(1000):
            pass
try:
    Deleted()
    time.sleep(60)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, (0, "interrupted\n", "")), (signal.SIGTERM, (143, "", ""))])
def test_a_signal_while_an_object_is_deleted_is_not_lost(number: signal.Signals, expected: tuple[int, str, str]) -> None:
    """`tail -f` went on after Ctrl-C, if that came while a file was closed by the garbage collector."""
    code = _DELETES.format(number=int(number))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == expected


_INTERRUPTED_IN_EXEC = """
import sys, types
import click
from rmqstore.cli import main

@click.command()
def ls():
    exec("raise KeyboardInterrupt")

sys.modules["rmqstore.cli.ls"] = types.SimpleNamespace(ls=ls)
main()
"""


def test_an_interruption_while_a_dataclass_is_made_has_its_exit_code(tmp_path: Path) -> None:
    """Python makes dataclasses by exec, and remembered the interruption: a report ended by signal 2, not with code 130."""
    (tmp_path / "stopped.py").write_text(_INTERRUPTED_IN_EXEC)
    ended = subprocess.run(
        [sys.executable, "-m", "stopped", "ls"], capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path, env=ENVIRONMENT
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


_SIGNALLED_WHILE_DUCKDB_IS_IMPORTED = """
import os, sys
from rmqstore.cli import main
is_loading = False

def note(event, arguments):
    global is_loading
    is_loading |= event == "import" and "_duckdb" in arguments[0]

def send(frame, event, argument):
    if is_loading and frame.f_code.co_filename.endswith("enum.py"):
        sys.setprofile(None)
        os.kill(os.getpid(), {number})

sys.addaudithook(note)
sys.setprofile(send)
main()
"""


@pytest.mark.parametrize(("number", "ended"), [(signal.SIGTERM, (143, "", "")), (signal.SIGINT, (130, "", "interrupted\n"))])
def test_a_signal_while_duckdb_was_imported_aborted_the_process(store: Path, number: signal.Signals, ended: tuple[int, str, str]) -> None:
    """Or DuckDB was said not to be installed."""
    code = _SIGNALLED_WHILE_DUCKDB_IS_IMPORTED.format(number=int(number))
    command = [sys.executable, "-c", _TAKES_INTERRUPTIONS, sys.executable, "-c", code, "sql", str(store), "SELECT 1"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=ENVIRONMENT)
    assert (found.returncode, found.stdout, found.stderr) == ended


def interrupted(when: Path, *arguments: object, jobs: int = 1, number: int = signal.SIGINT) -> tuple[int, str]:
    """Interrupt a slow command as soon as that file exists; returns its exit code and standard error."""
    with started(*arguments, "--jobs", jobs, "--rate", f"{jobs}MB/s") as process:
        for _ in range(30_000):
            if any(when.parent.glob(when.name)) or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=300)
    return process.returncode, said.strip()


@pytest.mark.gate
@pytest.mark.parametrize("jobs", thinned([2, 1], 1))
def test_an_interrupted_export_leaves_whole_files_and_continues(tmp_path: Path, jobs: int) -> None:
    store, out = slow_store(tmp_path), tmp_path / "out"
    arguments = ("export", store, "-o", out, "--option", "max_partition_bytes=1m")
    assert interrupted(out / "_parts" / "part-*.jsonl", *arguments, jobs=jobs) == (130, "interrupted")
    assert not (out / "_summary.json").exists()
    scan = nr.open(store).messages(max_partition_bytes="1m")
    for file in data_files(out):
        assert parquet.ParquetFile(file).read().num_rows > 0
    ended = run(*arguments)
    assert (ended.code, ended.out) == (0, "")
    assert exported_rows(out, "parquet", scan.schema) == expected_rows(scan.to_table())


@pytest.mark.gate
def test_an_interrupted_rescue_continues(tmp_path: Path) -> None:
    store, out = slow_store(tmp_path), tmp_path / "out"
    assert interrupted(out / "messages" / "_export.json", "rescue", store, out) == (130, "interrupted")
    assert not (out / "rescue.md").exists()
    assert list((out / "messages").glob("*.parquet")) == []
    assert run("rescue", store, out).code in (0, 1)
    assert sorted(path.name for path in out.iterdir()) == [
        "account.jsonl",
        "findings.jsonl",
        "lost",
        "messages",
        "queues.jsonl",
        "rescue.html",
        "rescue.md",
    ]
    assert summary(out / "messages")["rows"] == nr.open(store).messages().count_rows()


@pytest.mark.gate
@pytest.mark.parametrize(("number", "ended"), thinned([(signal.SIGINT, (130, "interrupted")), (signal.SIGTERM, (143, ""))], 1))
def test_a_report_that_is_stopped_leaves_no_file(tmp_path: Path, number: int, ended: tuple[int, str]) -> None:
    store, page = slow_store(tmp_path), tmp_path / "page.html"
    assert interrupted(tmp_path / ".page.html.*.part", "report", store, "-o", page, number=number) == ended
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.gate
def test_a_full_disk_is_an_error_in_one_line(store: Path) -> None:
    with Path("/dev/full").open("w") as full:
        for arguments in (["cat", store], ["ls", store, "--json"], ["--help"]):
            ended = subprocess.run(
                [*COMMAND, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT
            )
            assert ended.returncode == 3
            assert ended.stderr.startswith("error: ")
            assert ended.stderr.endswith("No space left on device\n")
            assert "Errno" not in ended.stderr
            assert ended.stderr.count("\n") == 1


def test_closed_standard_output_is_not_a_fault(store: Path) -> None:
    command = [sys.executable, "-c", "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])", *COMMAND, "ls", str(store)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT)
    assert (ended.returncode, ended.stderr) == (0, "")
