"""Archives made by GNU tar."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

FORMATS = {
    "gnu": ("--format=gnu",),
    "oldgnu": ("--format=oldgnu",),
    "ustar": ("--format=ustar",),
    "v7": ("--format=v7",),
    "pax": ("--format=pax",),
    "gnu -S": ("--format=gnu", "-S"),
    "oldgnu -S": ("--format=oldgnu", "-S"),
    "pax -S 1.0": ("--format=pax", "-S"),
    "pax -S 0.1": ("--format=pax", "-S", "--sparse-version=0.1"),
    "pax -S 0.0": ("--format=pax", "-S", "--sparse-version=0.0"),
}
"""What GNU tar can write, and its options for that."""
SPARSE = tuple(each for each in FORMATS if "-S" in each)


def gnu_tar(archive: Path, folder: Path, names: Iterable[str] = ("store",), options: Iterable[str] = (), how: str = "-c") -> Path:
    """Pack those names of a folder."""
    command = ["tar", *options, how, "-f", str(archive), "-C", str(folder), *names]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return archive


def without_uris(table: pa.Table, at: str) -> list[dict[str, Any]]:
    """The rows as JSON has them, without the URI of their store."""
    return json.loads(json.dumps(table.to_pylist(), default=str).replace(at, ""))  # type: ignore[no-any-return]
