"""A reader that ends early, an interruption, and a store that grows."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.command_line import COMMAND, ENVIRONMENT
from support.stores import message

from native_reader.testing.logs import CommitLog

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
