"""Measures `export` on one core against reading the same rows, and against writing the same bytes or, by pyarrow alone, the same table.

`rescue` is measured against an export of its columns.

Files are flushed to the disk, as in any export, so the disk can be what bounds a row; the second floor shows that.
`--bytes 64MiB` for a quick check.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from measure import MIB, by_kernel, parser_of, print_head, print_ratio, use_cores

import native_reader as nr
from native_reader.export.formats import FORMATS
from native_reader.rescue.rescue import SAVED_COLUMNS
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from native_reader.tuning import TUNING

WANTED = "≥ 0.8"


def made(folder: Path, body: int, size: int) -> Path:
    """The store, written if it does not exist."""
    path = folder / f"export-{body}-{size // MIB}MiB"
    if not (path / "checkpoint").exists():
        write_store(path, StoreSpec(bytes=size, body=body, queues=False, index=False))
    return path


def into(target: Path, path: Path, to: str, columns: Sequence[str] | None = None, **more: Any) -> Callable[[], object]:
    """An export into an empty folder. Deleting the one before is part of the time, and takes little of it."""

    def run() -> object:
        shutil.rmtree(target, ignore_errors=True)
        scan = nr.open(path).messages() if columns is None else nr.open(path).messages(columns=columns)
        return scan.export(target, to, **more).rows

    return run


def alone(target: Path, table: pa.Table, compression: str) -> Callable[[], None]:
    """What of an export is pyarrow's work: the table is in memory, and written with the same options and row groups, and flushed."""
    rows = max(1, len(table) * TUNING.export_buffer // table.nbytes)

    def run() -> None:
        with target.open("wb") as file:
            writer = FORMATS["parquet"].writer(file, table.schema, compression, False)
            for begin in range(0, len(table), rows):
                writer.write(table.slice(begin, rows).to_batches())
            writer.close()
            os.fsync(file.fileno())

    return run


def rescue(target: Path, path: Path) -> Callable[[], object]:
    """A rescue into an empty folder."""

    def run() -> object:
        shutil.rmtree(target, ignore_errors=True)
        return nr.open(path).rescue(target)

    return run


def raw(target: Path, size: int) -> None:
    """Write that many bytes and flush them."""
    piece = os.urandom(4 * MIB)
    with target.open("wb", buffering=0) as file:
        for _ in range(size // len(piece)):
            file.write(piece)
        os.fsync(file.fileno())


def main() -> None:
    arguments = parser_of(__doc__, 1 << 30, 3).parse_args()
    use_cores(1)
    folder, size = arguments.folder, arguments.bytes
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "exported"
    print_head()
    for body in (1024, 100):
        path = made(folder, body, size)
        works = {
            "read": lambda path=path: sum(map(len, nr.open(path).messages().to_batches())),
            "none": into(target, path, "parquet", compression="none"),
            "zstd": into(target, path, "parquet"),
            "topics": into(target, path, "parquet", compression="none", partition_by="topic"),
            "arrow": into(target, path, "arrow"),
            "jsonl": into(target, path, "jsonl"),
            "rescued": into(target, path, "parquet", columns=SAVED_COLUMNS),
            "rescue": rescue(target, path),
        }
        table = nr.open(path).messages().to_table()
        others = {"raw": lambda: raw(folder / "raw", size)}
        others |= {f"alone, {each}": alone(folder / "raw", table, each) for each in ("none", "zstd")}
        times = by_kernel(arguments.rounds, works, others)
        what = f"{body} B bodies: reading ÷ export"
        print_ratio(f"{what} to uncompressed Parquet", times, "read", "none", WANTED)
        print_ratio(f"{what}, if writing and flushing raw bytes took no time", times, "read + raw", "none", WANTED)
        print_ratio(f"{what} to Parquet with zstd", times, "read", "zstd")
        for each in ("none", "zstd"):
            print_ratio(
                f"{body} B bodies: the same table written by pyarrow alone ÷ export ({each})", times, f"alone, {each}", each, "≥ 0.9"
            )
        print_ratio(f"{body} B bodies: rescue ÷ export of its columns", times, "rescue", "rescued", "≤ 1.3")
        print_ratio(f"{what} to uncompressed Parquet by topic", times, "read", "topics")
        print_ratio(f"{what} to Arrow", times, "read", "arrow")
        print_ratio(f"{what} to JSON lines", times, "read", "jsonl")
    shutil.rmtree(target, ignore_errors=True)
    (folder / "raw").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
