"""The Markdown files keep their word: links and make targets exist, Python blocks are Python, both READMEs show the same code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
TARGET = re.compile(r"\bmake ([a-z]+(?:-[a-z]+)*)\b")


def problems(path: Path, targets: set[str]) -> list[str]:
    text = path.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    prose = BLOCK.sub("", text)
    found = [f"{path}: no such file: {link}" for link in LINK.findall(prose) if not (path.parent / link).exists()]
    code = "\n".join([*re.findall(r"`([^`\n]+)`", prose), *(body for _, body in blocks)])
    found += [f"{path}: no such target: make {name}" for name in TARGET.findall(code) if name not in targets]
    for language, body in blocks:
        if language == "python":
            try:
                compile(body, str(path), "exec")
            except SyntaxError as error:
                found.append(f"{path}: a Python block is not Python: {error}")
    return found


def code_blocks(readme: str) -> list[str]:
    """The code of a README without its comments, which are translated."""
    return [re.sub(r"\s+#.*", "", body) for _, body in BLOCK.findall(Path(readme).read_text(encoding="utf-8"))]


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
    files = sorted({Path(name) for name in listed.stdout.splitlines()})
    targets = set(re.findall(r"^([a-z-]+):", Path("Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    found = [problem for path in files for problem in problems(path, targets)]
    if code_blocks("README.md") != code_blocks("README.zh.md"):
        found.append("README.md and README.zh.md show different code")
    print("\n".join(found) or f"{len(files)} Markdown files: links, make targets and Python blocks are right")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
