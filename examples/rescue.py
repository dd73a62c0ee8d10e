"""Rescues a damaged store: shows what is readable, what is lost, and what a broker would keep.

Usage: python examples/rescue.py STORE [MESSAGES.parquet]
"""

from __future__ import annotations

import argparse
import logging

import pyarrow.compute as pc
import pyarrow.parquet as pq

import rmqstore


def ending(count: int) -> str:
    return "" if count == 1 else "s"


def rescue(path: str, target: str | None = None) -> None:
    logging.getLogger("native_reader").setLevel(logging.ERROR)  # skipped bytes are printed below
    store = rmqstore.open(path)
    segments = store.table("segments").to_table(jobs=4)
    summed = ("size", "records", "record_bytes", "damage_bytes", "unwritten_bytes", "stale_bytes")
    whole = {name: pc.sum(segments[name]).as_py() or 0 for name in summed}
    damages = pc.sum(segments["damages"]).as_py() or 0
    print(f"{path}: {len(segments)} segment{ending(len(segments))}, {whole['size']:,} bytes")
    print(f"  whole     {whole['records']:>12,} records, {whole['record_bytes']:,} bytes")
    print(f"  damaged   {damages:>12,} range{ending(damages)}, {whole['damage_bytes']:,} bytes")
    print(f"  unwritten {whole['unwritten_bytes']:>12,} bytes")
    if whole["stale_bytes"]:
        print(f"  discarded {whole['stale_bytes']:>12,} bytes of old records after the end of the log")
    print(f"  wrong checksums {pc.sum(segments['wrong_checksums']).as_py() or 0:>6,} records")

    for lost in store.table("damage", verify_crc=True).to_table(jobs=4).to_pylist():
        name = (lost["segment"] or "no file").rpartition("/")[2]
        why = lost["reason"] if lost["found"] == lost["reason"] else f"{lost['reason']} ({lost['found']})"
        print(f"  lost: {lost['bytes']:>9,} bytes at {lost['start_offset']:>12,} in {name}: {why}")

    left = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "verify_crc": True}
    end = pc.min(segments["broker_end"]).as_py()
    if end is not None:
        kept = store.messages(**left, ending_physical_offset=end).count_rows()
        print(f"a broker up to 5.3.1 started on it would truncate the log at {end:,} and keep {kept:,} messages")
    messages = store.messages(**left)
    if target is None:
        print(f"readable: {messages.count_rows():,} messages")
    else:
        with pq.ParquetWriter(target, messages.schema) as out:
            for batch in messages.to_batches(jobs=4):
                out.write_batch(batch)
        print(f"readable, and now in {target}: {pq.read_metadata(target).num_rows:,} messages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("messages", nargs="?", help="a Parquet file for all readable messages")
    arguments = parser.parse_args()
    try:
        rescue(arguments.store, arguments.messages)
    except rmqstore.StoreError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
