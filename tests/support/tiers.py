"""A tier as the posix provider of a broker 5.5.0 writes it, of the messages in the log of a store."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import native_reader as nr
from native_reader.layout.queue_entry import java_hash
from support.golden import FOLDER

TIERED_STORE = FOLDER.parent / "otherlogs" / "v5-tiered2.tar.xz"
KEY = ("topic", "queue_id", "queue_offset")
OF_TIER = "kind NOT IN ('prepared', 'rollback')"
COLUMNS = (*KEY, "physical_offset", "record_size", "segment", "tags", "inner_index")


def name_of(base: int) -> str:
    return f"{hashlib.md5(str(base).encode()).hexdigest()[:8]}{base:020}"


def add_tier(store: Path, folder: Path, most: int = 5_000) -> None:
    """Write all messages of ordinary topics to a tier: a batch once for each of its messages. `most`: the bytes of a file of records."""
    queues: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in nr.open(store).messages(columns=COLUMNS, system_topics=False, where=OF_TIER).to_table().to_pylist():
        queues.setdefault((row["topic"], row["queue_id"]), []).append(row)
    for (topic, queue_id), rows in queues.items():
        rows.sort(key=lambda row: row["queue_offset"])
        logs, place, entries = {0: bytearray()}, 0, bytearray()
        for row in rows:
            size = row["record_size"]
            with (store / "commitlog" / row["segment"]).open("rb") as segment:  # of 1 GiB, often
                segment.seek(row["physical_offset"] - int(row["segment"]))
                record = segment.read(size)
            base = max(logs)
            if len(logs[base]) + size > most and logs[base]:
                base = place
                logs[base] = bytearray()
            logs[base] += record[:28] + place.to_bytes(8) + record[36:]
            tag = 0 if row["inner_index"] is not None else java_hash(row["tags"] or "")
            entries += place.to_bytes(8) + size.to_bytes(4) + tag.to_bytes(8, signed=True)
            place += size
        below = folder / "212d6b50_DefaultCluster" / "broker-a" / topic / str(queue_id)
        (below / "COMMIT_LOG").mkdir(parents=True)
        (below / "CONSUME_QUEUE").mkdir()
        for base, content in logs.items():
            (below / "COMMIT_LOG" / name_of(base)).write_bytes(content)
        (below / "CONSUME_QUEUE" / name_of(rows[0]["queue_offset"] * 20)).write_bytes(entries)
