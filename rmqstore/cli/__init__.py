"""How the command starts: without click it names what to install; signals end it as Ctrl-C does."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from _thread import start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager
from threading import main_thread
from typing import NoReturn

_MOMENT = 0.05
_FEW_COLLECTIONS = 100_000
"""New objects between two garbage collections. Those of Python's default, 700, take up to a tenth of the time of a small command."""
_MISSING = "rmqstore needs the packages click and rich: pip install 'rmqstore-spark[cli]'\n"


def _end(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


def take_signals() -> None:
    """Let signals end this process, whatever it does."""
    # A reader that ends early, as `head` does, ends this process too, without a message.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # `kill` and `docker stop` end it as Ctrl-C does, so that no temporary file is left.
    signal.signal(signal.SIGTERM, _end)
    sys.unraisablehook = _send_again


@contextmanager
def signals_held() -> Iterator[None]:
    """Inside, signals wait. An error in the start of a library in C++ can abort the process, or look as if it were not installed."""
    taken: list[int] = []
    before = {each: signal.signal(each, lambda number, _: taken.append(number)) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if taken:
            signal.raise_signal(taken[0])


@contextmanager
def deleting_first() -> Iterator[None]:
    """Inside, a reader of the output that ends early raises an error, so that temporary files are deleted. Then it ends this process."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.raise_signal(signal.SIGPIPE)
    finally:
        signal.signal(signal.SIGPIPE, before)


def _send_again(dropped: sys.UnraisableHookArgs) -> None:
    """Send a signal again, a moment later. Python drops what it raises while an object is deleted, so that Ctrl-C would do nothing."""
    number = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}.get(dropped.exc_type)
    if number is None:
        sys.__unraisablehook__(dropped)
        return
    # A Timer would wait here until its thread runs: on a busy machine until after it sent the signal, which would then be dropped, too.
    start_new_thread(_send_later, (number,))


def _send_later(number: int) -> None:
    time.sleep(_MOMENT)
    signal.pthread_kill(main_thread().ident or 0, number)


class _WithoutPandas:
    """pyarrow imports pandas, if there is one, to ask whether a value is of pandas: a third of a command's start."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("the command works without pandas", name=fullname)


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    gc.set_threshold(_FEW_COLLECTIONS)
    try:
        from rmqstore.cli.program import program
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.stderr.write(_MISSING)
        sys.exit(2)
    sys.meta_path.insert(0, _WithoutPandas())
    take_signals()
    if sys.stdout is None:  # started with standard output closed
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    try:
        program()
    finally:
        # When Python ends, it collects garbage several times, which was a third of a small command. The memory ends with the process.
        gc.freeze()
