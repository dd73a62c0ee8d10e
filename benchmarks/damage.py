"""Measures the cost of damage and of checksums, against an undamaged log and against `zlib.crc32`. Part of `make bench`."""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import statistics
import zlib
from pathlib import Path

import pyarrow as pa
from run import interleaved, made, ratio, size_of

import native_reader as nr

FLIPS = 1000
NAMES = ("1 KiB mixed", "100 B mixed")


def flipped(store: Path) -> Path:
    """A copy with one bit flipped in the size, magic or body size of FLIPS records, spread over the whole log."""
    target = store.with_name(f"{store.name}-flipped")
    if not target.exists():
        chance = random.Random(1)
        shutil.copytree(store / "commitlog", target / "commitlog")
        scan = nr.open(target).messages(columns=["physical_offset"])
        offsets = scan.to_table()["physical_offset"].to_pylist()
        for offset in chance.sample(offsets[:-1], FLIPS):
            path = Path(segment_of(target, offset).removeprefix("file://"))
            with path.open("r+b") as file:
                file.seek(offset - int(path.name) + chance.choice([0, 4, 84]) + chance.randrange(4))
                (byte,) = file.read(1)
                file.seek(-1, 1)
                file.write(bytes([byte ^ 1 << chance.randrange(8)]))
    return target


def segment_of(store: Path, offset: int) -> str:
    return max(segment.uri for segment in nr.open(store).stores[0].segments if segment.base <= offset)


def read(path: Path, **options: object) -> int:
    return sum(batch.num_rows for batch in nr.open(path).messages(**options).to_batches())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--bytes", type=size_of, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    logging.getLogger("native_reader").setLevel(logging.ERROR)
    print(f"| store | whole | {FLIPS:,} bits flipped | whole ÷ flipped | verify_crc | zlib.crc32 alone | (whole + crc32) ÷ verify_crc |")
    print("|---|---|---|---|---|---|---|")
    for name in NAMES:
        whole = Path(made(arguments.folder, name, arguments.bytes))
        broken = flipped(whole)
        rows, left = read(whole), read(broken, mode="DROPMALFORMED")
        assert rows - 3 * FLIPS <= left < rows  # an inner batch has several rows
        bodies = nr.open(whole).messages(columns=["stored_body"]).to_table()["stored_body"].to_pylist()
        times = interleaved(
            arguments.rounds,
            lambda whole=whole: read(whole),
            lambda broken=broken: read(broken, mode="DROPMALFORMED"),
            lambda whole=whole: read(whole, verify_crc=True),
            lambda bodies=bodies: [zlib.crc32(body) for body in bodies],
        )
        best = [min(each) for each in zip(*times, strict=True)]
        both = statistics.median((each[0] + each[3]) / each[2] for each in times)
        shown = [f"{each:.2f} s" for each in best]
        checked = f"{(best[0] + best[3]) / best[2]:.2f} ({both:.2f}), wanted 1.0"
        print(f"| {name} | {shown[0]} | {shown[1]} | {ratio(times, 0, 1)}, wanted 0.5 | {shown[2]} | {shown[3]} | {checked} |")


if __name__ == "__main__":
    main()
