"""Program files of .ci/program.py with a script instead of Python, and the images that .ci/image.py makes of them."""

from __future__ import annotations

import json
import os
import runpy
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from support.documented import ROOT

MACHINE = os.uname().machine
# Instead of Python: it says how it was started. With -c it is the launcher's trial.
_PROGRAM = '#!/bin/sh\n[ "$2" = -c ] && exit {trial}\necho "$0: $*"\n'


@cache
def names_of(script: str) -> dict[str, Any]:
    """What a script of .ci defines. It imports its neighbours."""
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        return runpy.run_path(str(ROOT / ".ci" / script))
    finally:
        sys.path.remove(str(ROOT / ".ci"))


def file_with(folder: Path, trial: int = 0, machine: str = MACHINE, name: str = "rmqstore") -> Path:
    """A program file whose Python is a script of two lines."""
    program = names_of("program.py")
    tree = folder / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin/python3").write_text(_PROGRAM.format(trial=trial), encoding="utf-8")
    (tree / "bin/python3").chmod(0o755)
    made = folder / name
    made.write_bytes(program["with_launcher"](program["packed"](tree), "1.2.3", machine, 7))
    made.chmod(0o755)
    return made


def unpacked(image: Path, root: Path, which: int = 0) -> dict[str, Any]:
    """Unpack the layers of one of an image's machines; returns its configuration."""

    def blob(entry: dict[str, Any]) -> Path:
        return image / "blobs/sha256" / entry["digest"].removeprefix("sha256:")

    def read(entry: dict[str, Any]) -> dict[str, Any]:
        return json.loads(blob(entry).read_bytes())

    (named,) = json.loads((image / "index.json").read_bytes())["manifests"]
    manifest = read(read(named)["manifests"][which])
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer)) as packed:
            packed.extractall(root, filter="fully_trusted")  # others would change the mode of /tmp
    return read(manifest["config"])["config"]
