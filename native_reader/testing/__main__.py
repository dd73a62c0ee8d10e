"""Write a synthetic store: python -m native_reader.testing DIR --bytes 1GiB."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from datetime import UTC, datetime

from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

_UNITS = {"": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text: str) -> int:
    """A number of bytes: 1000, 64KiB, 1GiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if not match or match[2].upper() not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 64KiB, 16MiB or 1GiB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def time_of(milliseconds: int) -> str:
    """A store time in UTC: 2026-01-05 08:00:00.001Z."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}Z"


def parser() -> argparse.ArgumentParser:
    """The command-line parser, with options for most fields of StoreSpec."""
    new = argparse.ArgumentParser(prog="python -m native_reader.testing", description="Write a store as a RocketMQ broker would leave it.")
    default = StoreSpec()
    new.add_argument("directory", help="a new or empty directory")
    new.add_argument("--bytes", type=size, default=default.bytes, help="size of the commitlog (default 64MiB)")
    new.add_argument("--body", type=size, default=default.body, help="mean size of a body (default 1KiB)")
    new.add_argument("--sizes", choices=("lognormal", "fixed"), default=default.sizes, help="distribution of the body sizes")
    new.add_argument(
        "--shapes", choices=("mixed", "equal"), default=default.shapes, help="many property shapes, or one and no rare records"
    )
    new.add_argument("--compressed", type=float, default=default.compressed, help="share of compressed bodies (default %(default)s)")
    new.add_argument("--codecs", type=lambda text: tuple(text.split(",")), default=default.codecs, help="default zlib,lz4,zstd; also gzip")
    new.add_argument("--rare", type=float, default=default.rare, help="share of rare records: transactions, retries ... (default 0.015)")
    new.add_argument("--huge", action="store_true", help="one producer sends huge messages")
    new.add_argument("--seed", type=int, default=default.seed)
    new.add_argument("--topics", type=int, default=default.topics)
    new.add_argument("--producers", type=int, default=default.producers)
    new.add_argument("--rate", type=float, default=default.rate, help="messages per second of store time (default %(default)s)")
    new.add_argument("--no-queues", dest="queues", action="store_false", help="write no consume queues")
    new.add_argument("--no-index", dest="index", action="store_false", help="write no index files")
    new.add_argument("--segment", dest="mapped_file_size_commit_log", type=size, default=default.mapped_file_size_commit_log)
    new.add_argument("--queue-file", dest="mapped_file_size_consume_queue", type=size, default=default.mapped_file_size_consume_queue)
    new.add_argument("--index-slots", dest="max_hash_slot_num", type=int, default=default.max_hash_slot_num)
    new.add_argument("--index-entries", dest="max_index_num", type=int, default=default.max_index_num)
    new.add_argument("--killed", action="store_true", help="as after kill -9: abort file, unused segment, newest records in no queue")
    new.add_argument("--expired", type=int, default=0, metavar="N", help="delete the first N segments")
    new.add_argument("--deleted", metavar="TOPIC", help="delete the queues and configuration of this topic")
    new.add_argument("--recreated", metavar="TOPIC", help="delete this topic half-way and create it again")
    return new


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    options = vars(parser().parse_args(arguments))
    directory = options.pop("directory")
    try:
        summary = write_store(directory, StoreSpec(**options))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    for name, value in dataclasses.asdict(summary).items():
        if name != "topics":
            shown = time_of(value) if name in ("first_stored", "last_stored") else f"{value:,}"
            sys.stdout.write(f"{name:>14} {shown:>24}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
