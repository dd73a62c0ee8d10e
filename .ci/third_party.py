"""Writes kernel/THIRD-PARTY.txt: the crates that are compiled into the kernel, and the licences they ask to pass on.

With --check, only compares. Needs cargo, which has the sources of all crates in Cargo.lock.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

KERNEL = Path("kernel")
NOTICES = KERNEL / "THIRD-PARTY.txt"
# Licences that ask for no more than their text. Another one is a decision, not a line here.
KNOWN = {"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD", "Unicode-3.0"}

HEAD = """\
rmqstore-kernel has compiled code of these projects in it:

{crates}
  Rust's standard library, MIT OR Apache-2.0, https://github.com/rust-lang/rust

Where a project offers the Apache License 2.0, it is used under that licence: see the file LICENSE.
The other licences follow. Written by .ci/third_party.py.
"""


def linked(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The packages whose code is in the extension on any platform: not what only helps to build it."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    reached, ahead = {root}, [root]
    while ahead:
        for dependency in nodes[ahead.pop()]["deps"]:
            name = dependency["pkg"]
            macro = any("proc-macro" in target["kind"] for target in packages[name]["targets"])
            if name not in reached and not macro and any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                reached.add(name)
                ahead.append(name)
    return sorted((packages[name] for name in reached - {root}), key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> list[Path]:
    """The files to pass on: of the crate itself unless Apache-2.0 is offered, and of what it brings in folders of its own."""
    folder = Path(package["manifest_path"]).parent
    offered = set(re.split(r"\s+OR\s+|/", package["license"] or ""))
    if not offered & KNOWN:
        sys.exit(f"{package['name']}: licence {package['license']}; is it one to ship with?")
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.match(r"(LICEN[CS]E|COPYING|NOTICE)", path.name, re.IGNORECASE):
            by_folder.setdefault(path.parent, []).append(path)
    own = by_folder.pop(folder, [])
    notices = [path for path in own if path.name.upper().startswith("NOTICE")]
    if "Apache-2.0" in offered:
        own = notices
    elif not own:
        sys.exit(f"{package['name']}: licence {package['license']}, but no file with its text")
    # A project with both is offered under both: zstd's COPYING is the GPL.
    brought = [[path for path in paths if path.name.upper().startswith("LICEN")] or paths for paths in by_folder.values()]
    return own + [path for paths in brought for path in paths]


def notices() -> str:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(KERNEL / "Cargo.toml")]
    packages = linked(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    crates = "\n".join(f"  {each['name']} {each['version']}, {each['license']}, {each['repository']}" for each in packages)
    same: dict[str, list[str]] = {}  # a text, and the files that have it
    for package in packages:
        folder = Path(package["manifest_path"]).parent
        for path in texts(package):
            text = "\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").strip().splitlines())
            same.setdefault(text, []).append(f"{package['name']}: {path.relative_to(folder).as_posix()}")
    line = "-" * 100
    return "\n".join([HEAD.format(crates=crates), *("\n".join([line, *files, "", text, ""]) for text, files in same.items())])


def main() -> None:
    wanted = notices()
    if sys.argv[1:] != ["--check"]:
        NOTICES.write_text(wanted, encoding="utf-8")
    elif not NOTICES.is_file() or NOTICES.read_text(encoding="utf-8") != wanted:
        sys.exit(f"{NOTICES} is not what Cargo.lock asks for: run python .ci/third_party.py")
    else:
        print(f"{NOTICES}: as Cargo.lock asks")


if __name__ == "__main__":
    main()
