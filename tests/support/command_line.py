"""Runs the command line: in this process, in another one, or on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from rmqstore.cli.program import program

HOSTILE = (
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "left\u202etfel",
    "two\nlines\tand a tab",
    "zero\u200bwidth",
    "del\x7f\x9b31m",
    "[bold]markup",
)
"""Names that clear a screen, set a title or colors, turn text around, or add rows and columns."""

# Where people work in Chinese, commands would print Chinese.
os.environ |= {name: "C.UTF-8" for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name, "").startswith("zh")}
ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "rmqstore")
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}
_COLUMNS = 160
_DRAWN = re.compile(r"\x1b\[[0-9;]*[mK]")
"""Colors, and the end of a line cleared: what this program itself writes to a terminal."""


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects that it printed with --json."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    @property
    def cells(self) -> list[list[str]]:
        """The cells of what it printed into a pipe, with the names of the columns first."""
        return [line.split("\t") for line in self.out.split("\n") if line]


def run(*arguments: object) -> Ran:
    """Run it in this process, into a pipe."""
    result = CliRunner().invoke(program, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def run_apart(*arguments: object, **more: Any) -> Ran:
    """Run it in a process of its own."""
    command = [*COMMAND, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False, timeout=300, **more)
    return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def run_on_terminal(*arguments: object, width: int = _COLUMNS) -> Ran:
    """Run it on a terminal, which shows standard output and standard error alike."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    # pytest-xdist may set COLUMNS, which would count more than the width of the terminal.
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in ("COLUMNS", "LINES")} | {"TERM": "xterm-256color"}
    with subprocess.Popen([*COMMAND, *map(str, arguments)], stdin=its, stdout=its, stderr=its, env=environment) as process:
        os.close(its)
        content = b""
        while piece := _piece(ours):
            content += piece
    os.close(ours)
    return Ran(process.returncode, content.decode().replace("\r\n", "\n"), "")


def _piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux: the program ended
        return b""


def uncolored(text: str) -> str:
    """An output without what this program itself draws."""
    return _DRAWN.sub("", text).replace("\r", "")


def unsafe(text: str) -> set[str]:
    """The characters of an output that could change a terminal, or are invisible."""
    return {each for each in uncolored(text) if not each.isprintable() and each not in "\n\t" and unicodedata.category(each) != "Zs"}
