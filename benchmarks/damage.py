"""Measures the cost of damage and of checksums, against an undamaged log and against `zlib.crc32`. Part of `make bench`."""

from __future__ import annotations

import logging
import random
import subprocess
import zlib
from pathlib import Path

from measure import by_kernel, parser_of, print_head, print_ratio, use_cores
from run import made

import native_reader as nr

FLIPS = 1000
NAMES = ("1 KiB mixed", "100 B mixed")


def flipped(store: Path) -> Path:
    """A copy with one bit flipped in the size, magic or body size of FLIPS records, spread over the whole log."""
    target = store.with_name(f"{store.name}-flipped")
    if not target.exists():
        chance = random.Random(1)
        # With its queues, which say where the log ends; and with its holes, or a search for the end reads them as zeros.
        subprocess.run(["cp", "-r", "--sparse=always", store, target], check=True)
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
    arguments = parser_of(__doc__, 1 << 30, 5).parse_args()
    use_cores(1)
    logging.getLogger("native_reader").setLevel(logging.ERROR)
    print_head()
    for name in NAMES:
        whole = Path(made(arguments.folder, name, arguments.bytes))
        broken = flipped(whole)
        rows, left = read(whole), read(broken, mode="DROPMALFORMED")
        assert rows - 3 * FLIPS <= left < rows  # an inner batch has several rows
        bodies = nr.open(whole).messages(columns=["stored_body"]).to_table()["stored_body"].to_pylist()
        times = by_kernel(
            arguments.rounds,
            {
                "whole": lambda whole=whole: read(whole),
                "flipped": lambda broken=broken: read(broken, mode="DROPMALFORMED"),
                "verify_crc": lambda whole=whole: read(whole, verify_crc=True),
            },
            {"crc32": lambda bodies=bodies: [zlib.crc32(body) for body in bodies]},
        )
        print_ratio(f"{name}: whole ÷ {FLIPS:,} bits flipped", times, "whole", "flipped", "≥ 0.7")
        wanted = "≥ 1.6" if name == NAMES[0] else "≥ 1.5"
        print_ratio(f"{name}: (whole + `zlib.crc32` of its bodies) ÷ `verify_crc`", times, "whole + crc32", "verify_crc", wanted)


if __name__ == "__main__":
    main()
