"""Shows the size of each topic, the largest first.

Usage: python examples/what_fills_the_disk.py STORE [ROWS]
"""

from __future__ import annotations

import argparse

import pyarrow as pa
import pyarrow.compute as pc

import rmqstore


def by_topic(path: str) -> pa.Table:
    """Messages, bytes in the log, and first and last store time, by topic and kind."""
    table = rmqstore.open(path).messages(columns="topic,kind,record_size,inner_index,store_timestamp").to_table(jobs=4)
    # Each message of an inner batch has the size of the whole record: count it only for the first message.
    first = pc.fill_null(pc.equal(table["inner_index"], 0), True)
    table = table.append_column("bytes", pc.if_else(first, table["record_size"], 0))
    wanted = [("topic", "count"), ("bytes", "sum"), ("store_timestamp", "min"), ("store_timestamp", "max")]
    return table.group_by(["topic", "kind"]).aggregate(wanted).sort_by([("bytes_sum", "descending"), ("topic", "ascending")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("rows", nargs="?", type=int, default=20)
    arguments = parser.parse_args()
    try:
        topics = by_topic(arguments.store)
    except rmqstore.StoreError as error:
        parser.exit(2, f"{error}\n")
    total = pc.sum(topics["bytes_sum"]).as_py() or 0
    print(f"{'bytes':>17} {'share':>6} {'messages':>12}  {'first':16} {'last':16} kind      topic")
    for row in topics.slice(0, arguments.rows).to_pylist():
        first, last = (f"{moment:%Y-%m-%d %H:%M}" if moment else "" for moment in (row["store_timestamp_min"], row["store_timestamp_max"]))
        share = row["bytes_sum"] / total
        print(f"{row['bytes_sum']:17,} {share:6.1%} {row['topic_count']:12,}  {first:16} {last:16} {row['kind']:9} {row['topic']}")
    print(f"{total:17,} bytes of records in {topics.num_rows} topics and kinds; times are UTC")


if __name__ == "__main__":
    main()
