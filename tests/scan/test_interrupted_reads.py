"""A read that is interrupted anywhere ends: Ctrl-C, or the limit of a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.stores import files_of, log_of, on_disk

ROOT = Path(__file__).parents[2]
INTERRUPTED = """
import _thread, random, signal, time
import pyarrow as pa
from native_reader.scan.ahead import side_by_side

class Source:
    is_stopped = False
    def __iter__(self):
        for _ in range(200):
            if self.is_stopped:
                return
            yield pa.record_batch({"a": [1]})
    def stop(self):
        self.is_stopped = True

class Interrupted(BaseException):
    pass

def interrupt(*_):
    raise Interrupted

signal.signal(signal.SIGALRM, interrupt)
chance, count = random.Random(1), 0
for number in range(800):
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 4e-3))
        jobs = 20 if number % 4 == 3 else 2  # with 20, it often falls into their start
        for _ in side_by_side(iter([Source(), Source(), Source()]), jobs, most=10, meanwhile=(lambda: None) if number % 2 else None):
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted:
        count += 1
patience = time.monotonic() + 20
while _thread._count() and time.monotonic() < patience:
    time.sleep(0.01)
print(count, _thread._count())
"""

LEFT = """
import sys
import native_reader as nr
store, jobs = sys.argv[1:]
batches = nr.open(store).messages(max_partition_bytes=3000).to_batches(jobs=int(jobs))
next(batches)
"""


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_a_script_that_ended_within_a_read_waited_for_threads_that_python_had_stopped(tmp_path: Path, jobs: int) -> None:
    store = on_disk(tmp_path, files_of(log_of(200)))
    command = [sys.executable, "-c", LEFT, store / "store", str(jobs)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


FORKED = f"""{LEFT}
import os
child = os.fork()
if not child:
    batches.close()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert sum(map(len, batches)) > 0
"""


def test_a_forked_process_that_closed_a_read_waited_for_threads_that_it_does_not_have(tmp_path: Path) -> None:
    store = on_disk(tmp_path, files_of(log_of(200)))
    ended = subprocess.run(
        [sys.executable, "-c", FORKED, store / "store", "3"], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_interruption_left_a_lock_and_the_read_never_ended() -> None:
    """It came while the thread that takes batches was inside a condition of Python's `threading`, of its own or in `Thread.start`."""
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    count, threads = map(int, ended.stdout.split())
    assert count > 400
    assert not threads
