"""What a release says about its files: release_files.py FOLDER VERSION writes their sums in SHA256SUMS, and what is new in notes.md."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

NOT_SUMMED = ("SHA256SUMS", "notes.md")


def notes(changes: str, version: str) -> str:
    """The part of CHANGELOG.md about that version, with links that lead to its files."""
    found = re.search(rf"^## \[{re.escape(version)}\].*?\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if not found or not found[1].strip():
        sys.exit(f"CHANGELOG.md has nothing about version {version}: a heading `## [{version}]` was expected, with lines below it")
    files = f"https://github.com/rmqstore/rmqstore-spark/blob/v{version}/"
    return re.sub(r"\]\((?![a-z]+:)([^)\s]+)\)", rf"]({files}\1)", found[1].strip()) + "\n"


def sums(folder: Path) -> str:
    """As `sha256sum --check` reads them."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in NOT_SUMMED)
    if not paths:
        sys.exit(f"{folder}: no files to release")
    lines = []
    for path in paths:
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    return "".join(lines)


def main(folder: Path, version: str) -> None:
    (folder / "notes.md").write_text(notes(Path("CHANGELOG.md").read_text(encoding="utf-8"), version), encoding="utf-8")
    (folder / "SHA256SUMS").write_text(sums(folder), encoding="utf-8")
    print((folder / "SHA256SUMS").read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].removeprefix("v"))
