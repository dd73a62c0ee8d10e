"""Runs the commands of examples/README.md as they are written there."""

from __future__ import annotations

import io
import logging
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import native_reader as nr
from support.documented import ROOT

EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")
PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore")
_NAMES = {"orders": "Plain", "billing": "CG_lags", "2026-01-05T08:01:00Z": "2026-01-01T00:00:00Z"}
"""What the commands name, and what the store `5.5.0-kinds` has instead."""


def commands() -> dict[str, str]:
    """The command of each script."""
    rows = re.findall(r"^\| .* \| \[(.*?)\]\((.*?)\) \| `(.*)` \|$", README, re.MULTILINE)
    assert all(name == link for name, link, _ in rows)
    return {name: command for name, _, command in rows}


def of_store(command: str, store: Path) -> list[str]:
    """The command, with that store and its names."""
    known = {"/data/store": str(store), "path=/data/store": f"path={store}"} | _NAMES
    return [known.get(word, word) for word in shlex.split(command)]


def ended(command: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run it in a folder where `examples` is, with this Python and its Spark on the PATH."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(EXAMPLES)
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    where = os.environ | own | (variables or {})
    return subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False, timeout=300)


def called(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it in that folder, in this process: that saves the time of all imports. What it logs is not in its output here."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    log = logging.getLogger("native_reader")
    level = log.level
    with chdir(folder), patch.object(sys, "argv", [script, *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
        finally:  # rescue.py changes it, which would hide warnings from the tests that follow
            log.setLevel(level)
    return subprocess.CompletedProcess([script, *arguments], code, out.getvalue(), err.getvalue())


def cells(table: str) -> list[list[str]]:
    """The rows of a table that Spark printed, with its header."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]


def by_hour(store: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Messages and bytes by hour and topic, from the engine."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    columns = "topic,record_size,inner_index,store_timestamp"
    for row in nr.open(store).messages(columns=columns).to_table().to_pylist():
        key = f"{row['store_timestamp']:%Y-%m-%d %H:00:00}", row["topic"]
        messages, size = sums.get(key, (0, 0))
        sums[key] = messages + 1, size + (0 if row["inner_index"] else row["record_size"])
    return sums


def of_table(printed: str) -> dict[tuple[str, str], tuple[int, int]]:
    return {(hour, topic): (int(messages), int(size)) for hour, topic, messages, size in cells(printed)[1:]}
