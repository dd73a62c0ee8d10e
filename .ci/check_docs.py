"""The Markdown files keep their word: links, anchors and make targets exist, Python blocks are Python, both READMEs show the same code."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from itertools import count
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?")
HEADING = re.compile(r"^#+ +(.*?)(?: +#+)? *$", re.MULTILINE)
TARGET = re.compile(r"\bmake ([a-z]+(?:-[a-z]+)*)\b")


@cache
def anchors(path: Path) -> set[str]:
    """What GitHub makes of the headings: the second "Errors" is `errors-1`."""
    made: set[str] = set()
    for heading in HEADING.findall(BLOCK.sub("", path.read_text(encoding="utf-8"))):
        shown = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading)
        slug = re.sub(r"[^\w -]", "", shown.lower()).replace(" ", "-")
        numbered = (f"{slug}-{number}" for number in count(1))
        made.add(slug if slug not in made else next(name for name in numbered if name not in made))
    return made


def wrong(path: Path, link: str, anchor: str) -> str | None:
    """What is wrong with a link of this file; None if nothing is."""
    target = path.parent / link if link else path
    if not target.exists():
        return f"{path}: no such file: {link}"
    if anchor and (target.suffix != ".md" or anchor not in anchors(target)):
        return f"{path}: no such heading: {link}#{anchor}"
    return None


def problems(path: Path, targets: set[str]) -> list[str]:
    text = path.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    prose = BLOCK.sub("", text)
    found = [problem for link, anchor in LINK.findall(prose) if (problem := wrong(path, link, anchor))]
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
    """The code of a README without comments and the outputs of commands, which are translated."""
    found = BLOCK.findall(Path(readme).read_text(encoding="utf-8"))
    return [
        re.sub(r"^(?!\$ ).*\n|( --lang zh)?( +#.*)?$" if language == "console" else r"\s+#.*", "", body, flags=re.M)
        for language, body in found
    ]


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
    files = sorted({Path(name) for name in listed.stdout.splitlines()})
    targets = set(re.findall(r"^([a-z-]+):", Path("Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    found = [problem for path in files for problem in problems(path, targets)]
    if code_blocks("README.md") != code_blocks("README.zh.md"):
        found.append("README.md and README.zh.md show different code")
    print("\n".join(found) or f"{len(files)} Markdown files: links, anchors, make targets and Python blocks are right")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
