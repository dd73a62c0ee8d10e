"""What a broker serves of a repaired store, compared with the messages that survived."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import native_reader as nr

Row = dict[str, Any]
_SAME = ("topic", "queue_id", "queue_offset", "msg_id", "offset_msg_id", "tags")


@dataclass
class Survivors:
    """The whole messages of a damaged store, by physical offset."""

    rows: dict[int, Row]

    @staticmethod
    def of(store: Path, *, verify_crc: bool = True) -> Survivors:
        columns = [*_SAME, "keys", "physical_offset", "body", "kind"]
        lenient = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "verify_crc": verify_crc}
        scan = nr.open(store).messages(columns=columns, system_topics=False, **lenient)
        return Survivors({row["physical_offset"]: row for row in scan.to_table().to_pylist()})

    @property
    def all(self) -> list[Row]:
        return list(self.rows.values())

    def without(self, offsets: Iterable[int]) -> Survivors:
        left_out = set(offsets)
        return Survivors({offset: row for offset, row in self.rows.items() if offset not in left_out})

    def of_topic(self, topic: str, tag: str | None = None) -> list[Row]:
        return [row for row in self.rows.values() if row["topic"] == topic and tag in (None, row["tags"])]


def judged(lines: Iterable[Row], how: str, expected: Iterable[Row]) -> Counter[str]:
    """How many messages a broker served, and how many times it did otherwise than it should."""
    wanted = {row["physical_offset"]: row for row in expected}
    got = [line for line in lines if line.get("how") == how]
    real = [line for line in got if not line["lost"]]
    times = Counter(line["physical_offset"] for line in real)
    order: dict[tuple[str, int], list[int]] = defaultdict(list)
    for line in real:
        order[line["topic"], line["queue_id"]].append(line["queue_offset"])
    return Counter(
        served=sum(offset in times for offset in wanted),
        missing=sum(offset not in times for offset in wanted),
        twice=sum(count > 1 for count in times.values()),
        foreign=sum(offset not in wanted for offset in times),
        changed=sum(not _is_same(line, wanted[line["physical_offset"]]) for line in real if line["physical_offset"] in wanted),
        unordered=sum(numbers != sorted(numbers) for numbers in order.values()),
        marked=len(got) - len(real),
    )


def _is_same(line: Row, row: Row) -> bool:
    keys = " ".join(row["keys"]) if row["keys"] else None
    return all(line[name] == row[name] for name in _SAME) and line["crc"] == zlib.crc32(row["body"]) and (line["keys"] or None) == keys
