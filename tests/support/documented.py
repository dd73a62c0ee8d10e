"""Commands of `rmqstore` in the documents, and what they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from support.command_line import run, uncolored
from support.stores import ZERO

ROOT = Path(__file__).parents[2]
NOT_RUN = "(not run yet)"
"""Instead of an output that is still to be filled in. A test refuses it."""
_VARIES = (
    (re.compile(r"^ (kernel: |Rust 加速模块：).*\n", re.MULTILINE), ""),
    (re.compile(r"in \d+(\.\d)? s$", re.MULTILINE), "in … s"),
    (re.compile(r"(?<=用时 )\d+(\.\d)? 秒$", re.MULTILINE), "…"),
    (re.compile(r"^- \*\*(Time:|时间：)\*\* .*\n", re.MULTILINE), ""),
    (re.compile(r" +[\d.,]+ (days|天)$", re.MULTILINE), r" … \1"),
    (re.compile(r"files? of [\d.,]+ \w+ in "), "files of … in "),
    (re.compile(r"(?<= free), the rest is reserved by [^;\n]*"), ""),
    (re.compile(r"\(\d+ %\)(?= used,.*\bfree$)", re.MULTILINE), "(… %)"),
    (re.compile(r"(?<=所在磁盘共 ).*$", re.MULTILINE), "…"),
    (re.compile(r"(?<=剩余 )[\d.,]+ [KMGT]iB"), "…"),
    (re.compile(r"(?<=[\d ])[\d.,]+ (?:bytes|[KMGT]iB)(?=.*\bfree\.?$)", re.MULTILINE), "…"),
)
"""The kernel, which runs only where it was built, times, ages, the sizes of compressed files, and blocks of a file system. A repair says
how long a read takes only if it took more than a second."""


def english_of(page: str) -> str:
    """The English page of a Chinese one of `docs`. That of the README is a page of its own."""
    return re.sub(r"^(docs/.*)\.zh\.md$", r"\1.md", page)


def commands_in(text: str) -> Iterator[tuple[str, str]]:
    """Each command, with the output below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"^\$ rmqstore (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


_STORES = {
    "store": StoreSpec(bytes=16 << 20, mapped_file_size_commit_log=4 << 20, deleted="invoices"),
    "failing": StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 20, rare=0.2, rate=2),
    "damaged": StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 20),
    "crashed": StoreSpec(bytes=2 << 20, mapped_file_size_commit_log=2 << 20, shapes="equal"),
}


def write_stores(folder: Path, names: Iterable[str] = _STORES) -> None:
    """The stores of docs/cli.md, and `crashed`, which can be repaired."""
    for name in names:
        write_store(folder / name, _STORES[name])
        if name in ("damaged", "crashed"):
            with (folder / name / "commitlog" / ZERO).open("r+b") as file:
                file.seek(100_000)
                file.write(bytes(4096))


def printed(command: str, folder: Path) -> str:
    """What a command prints in that folder. What follows ` #` is for readers."""
    ended = run(*shlex.split(command, comments=True))
    text = uncolored(f"{ended.out}{ended.err}").replace(folder.as_uri(), "file:///…").replace(str(folder), "/…")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def is_shown(documented: str, output: str) -> bool:
    """Whether a command printed what a document shows. `…` alone in a line, or at the end of one, stands for lines that are left out."""
    parts = re.split(r"^…\n| …$", lasting(documented), flags=re.MULTILINE)
    return re.fullmatch(".*".join(map(re.escape, parts)), lasting(output), re.DOTALL) is not None


def lasting(output: str) -> str:
    """An output without the parts that differ between two runs."""
    for pattern, text in _VARIES:
        output = pattern.sub(text, output)
    return output
