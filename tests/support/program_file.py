"""Program files of .ci/program.py with a script as Python, the images that .ci/image.py makes of them, a clone for .ci/make_program."""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from support.documented import ROOT

MACHINE = os.uname().machine
# Instead of Python: it says how it was started. With -c it is the launcher's trial.
_PROGRAM = '#!/bin/sh\n[ "$2" = -c ] && exit {trial}\necho "$0: $*"\n'
# Instead of curl: it copies what is served, and notes what was asked.
_CURL = """\
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" != --output ] || to=$2; shift; done
echo "$1" >>'{asked}'
cp '{served}'/"$(basename "$1" | sed 's/%2B/+/g')" "$to"
"""


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


def started(program: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """How a program file ended. Only these variables are set."""
    where = {"PATH": "/usr/bin:/bin"} | environment
    return subprocess.run([program, *arguments], env=where, capture_output=True, text=True, check=False, timeout=300)


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


def clone_served(clone: Path, served: Path) -> dict[str, str]:
    """What of a clone .ci/make_program needs, with the archives in `served` as those of Python; returns an environment to run it in.

    `served` gets a file `asked` with the addresses.
    """
    (clone / ".ci").mkdir(parents=True)
    for path in (ROOT / ".ci").iterdir():
        if path.is_file():
            shutil.copy(path, clone / ".ci")
    shutil.copy(ROOT / "LICENSE", clone)
    archives = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(served.iterdir()))
    (clone / ".ci/program-python.txt").write_text(f"# From\n# https://example.org/of+python/\n{archives}", encoding="utf-8")
    (clone / "bin").mkdir()
    (clone / "bin/curl").write_text(_CURL.format(asked=served / "asked", served=served), encoding="utf-8")
    (clone / "bin/python3").write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n", encoding="utf-8")
    for path in (clone / "bin").iterdir():
        path.chmod(0o755)
    return dict(os.environ) | {"LC_ALL": "C", "PATH": f"{clone}/bin:{os.environ['PATH']}"}
