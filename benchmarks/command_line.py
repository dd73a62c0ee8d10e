"""Measures the command line: how fast it starts, `ls` of 1,000 segments, and the report against a scan of heads.

The report is made of a store with consume queues and of one without; the file is written, too. `--bytes 64MiB` for a quick check.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from measure import MIB, by_kernel, duration, parser_of, print_head, print_ratio, print_row, store_at, use_cores

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from rmqstore.report.file import write_report

SEGMENTS, SEGMENT = 1000, MIB // 4
_NOW = 1_800_000_000_000_000


def command(*arguments: str) -> Callable[[], object]:
    """A command in a process of its own."""
    return lambda: subprocess.run([sys.executable, "-m", "rmqstore", *arguments], check=True, capture_output=True)


def heads(path: str) -> int:
    return sum(map(len, nr.open(path).messages(columns="heads").to_batches()))


def main() -> None:
    arguments = parser_of(__doc__, 1 << 30, 3).parse_args()
    use_cores(1)
    folder, size = arguments.folder, arguments.bytes
    many = store_at(folder / "listed", StoreSpec(bytes=SEGMENTS * SEGMENT, mapped_file_size_commit_log=SEGMENT))
    print_head()
    commands = {
        "rmqstore --help": ("≤ 0.3 s", command("--help")),
        f"rmqstore ls --stores, {SEGMENTS:,} segments": ("≤ 1 s", command("ls", many, "--stores")),
        f"rmqstore ls, {SEGMENTS:,} segments": ("≤ 1 s", command("ls", many)),
        f"rmqstore doctor, {SEGMENTS:,} segments": ("", command("doctor", many)),
    }
    times = by_kernel(arguments.rounds, {name: work for name, (_, work) in commands.items()})
    for name, (wanted, _) in commands.items():
        print_row(name, [duration(min(of[name])) for of in times.values()], wanted)
    for has_queues in (True, False):
        what = f"{'with' if has_queues else 'without'} consume queues"
        path = store_at(folder / f"report-{'queues' if has_queues else 'log'}-{size // MIB}MiB", StoreSpec(bytes=size, queues=has_queues))
        works = {"heads": lambda path=path: heads(path), "report": lambda path=path: reported(path, folder)}
        print_ratio(f'report ÷ columns="heads", {what}', by_kernel(arguments.rounds, works), "report", "heads", "≤ 2")
    (folder / "report.html").unlink(missing_ok=True)


def reported(path: str, folder: Path) -> object:
    return write_report(nr.open(path), folder / "report.html", now=_NOW // 1000)


if __name__ == "__main__":
    main()
