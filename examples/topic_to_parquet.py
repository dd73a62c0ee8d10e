"""Writes a topic to a Parquet file, batch by batch, in little memory.

Usage: python examples/topic_to_parquet.py STORE TOPIC FILE
"""

from __future__ import annotations

import argparse

import pyarrow.parquet as pq

import rmqstore


def to_parquet(path: str, topic: str, file: str) -> int:
    """Write the topic to a file and verify all checksums; returns the number of messages."""
    scan = rmqstore.open(path).messages(topic=topic, verify_crc=True)
    written = 0
    with pq.ParquetWriter(file, scan.schema, compression="zstd") as writer:
        for batch in scan.to_batches(jobs=4):
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    for name in ("store", "topic", "file"):
        parser.add_argument(name)
    arguments = parser.parse_args()
    try:
        print(f"{to_parquet(arguments.store, arguments.topic, arguments.file):,} messages of '{arguments.topic}' in {arguments.file}")
    except rmqstore.StoreError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
