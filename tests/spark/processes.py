"""A job's processes: its Python, its JVM, and the Pythons that the JVM starts. PySpark's daemons create their own process groups."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import NamedTuple

_TASKS, _READER = "pyspark.daemon pyspark.worker", "python_streaming_source_runner"


class Process(NamedTuple):
    """One line of `ps`."""

    pid: int
    parent: int
    group: int
    command: str


def alive() -> dict[int, Process]:
    """All processes of this machine that have not ended, by pid."""
    asked = ["ps", "-A", "-ww", "-o", "pid=,ppid=,pgid=,stat=,args="]  # without -ww a command may be cut after 80 characters
    listed = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30)
    found = (line.split(maxsplit=4) for line in listed.stdout.splitlines())
    running = (each for each in found if len(each) == 5 and not each[3].startswith("Z"))
    return {int(pid): Process(int(pid), int(parent), int(group), command) for pid, parent, group, _, command in running}


def below(pid: int) -> list[Process]:
    """All descendants of this process."""
    known, found = alive(), list[Process]()
    above = {pid}
    while above:
        found += (generation := [each for each in known.values() if each.parent in above])
        above = {each.pid for each in generation}
    return found


def workers_of(job: int) -> list[int]:
    """The processes that run tasks, which the daemon forked."""
    found = [each for each in below(job) if _TASKS in each.command]
    daemons = {each.pid for each in found}
    return [each.pid for each in found if each.parent in daemons]


def reader_of(job: int) -> list[int]:
    """The process of the driver's stream reader."""
    return [each.pid for each in below(job) if _READER in each.command]


def kill(pids: list[int]) -> None:
    """Kill it at once, with SIGKILL."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_whole(job: subprocess.Popen[bytes]) -> None:
    """Kill the whole job at once, the driver first. Return when no process is left."""
    groups = [job.pid, *{each.group for each in below(job.pid)} - {job.pid}]
    assert os.getpgrp() not in groups
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    job.wait(30)
    await_end(groups)


def await_end(groups: list[int], seconds: float = 60) -> None:
    """Wait until no process is left in those groups."""
    until = time.monotonic() + seconds
    while left := [each for each in alive().values() if each.group in groups]:
        assert time.monotonic() < until, left
        time.sleep(0.02)
