"""A read that is interrupted anywhere ends: Ctrl-C, or the limit of a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
INTERRUPTED = """
import random, signal
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
        for _ in side_by_side(iter([Source(), Source(), Source()]), 2, most=10, meanwhile=(lambda: None) if number % 2 else None):
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted:
        count += 1
print(count)
"""


def test_an_interruption_left_a_lock_and_the_read_never_ended() -> None:
    """It came while the thread that takes batches was inside a condition of Python's `threading`."""
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 400
