"""`damage` and `segments` of a log with very many damaged ranges."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.stores import Files, files_of, in_memory, log_of

import native_reader as nr
from native_reader.testing.logs import Placed


def damaged() -> tuple[list[Placed], Files]:
    """A segment in which every fifth record has a wrong magic."""
    log = log_of(60, segment_size=16 << 10)
    ((name, content),) = files_of(log).items()
    changed, broken = bytearray(content), log.placed[2::5]
    for placed in broken:
        changed[placed.offset + 5] ^= 1
    return broken, {name: bytes(changed)}


def test_many_ranges_come_in_batches_of_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, files = damaged()
    memory = in_memory(files)
    table = nr.open(memory.url).table("damage")
    whole = table.to_table()
    assert whole["start_offset"].to_pylist() == [placed.offset for placed in broken]
    assert set(whole["reason"].to_pylist()) == {"magic"}
    monkeypatch.setattr("native_reader.tables.table._ROWS", 5)
    batches = list(table.to_batches())
    assert [len(batch) for batch in batches] == [5, 5, 2]
    assert pa.Table.from_batches(batches).equals(whole)


def test_the_record_before_damage_can_be_the_first_one() -> None:
    log = log_of(60, segment_size=16 << 10)
    ((name, content),) = files_of(log).items()
    first, broken, after = log.placed[:3]
    changed = bytearray(content)
    changed[broken.offset + 5] ^= 1
    memory = in_memory({name: bytes(changed)})
    (row,) = nr.open(memory.url).table("damage").to_table().to_pylist()
    assert (row["record_before"], row["record_after"]) == (first.offset, after.offset) == (0, after.offset)


def test_the_states_of_segments() -> None:
    files = files_of(log_of(30))
    files["store/commitlog/" + f"{2048 * len(files):020}"] = bytes(2048)
    memory = in_memory(files)
    rows = nr.open(memory.url).table("segments").to_table().to_pylist()
    assert [row["state"] for row in rows] == [*["full"] * (len(files) - 2), "last", "ahead"]


def test_the_counts_of_a_segment_add_up() -> None:
    broken, files = damaged()
    memory = in_memory(files)
    (row,) = nr.open(memory.url).table("segments").to_table().to_pylist()
    assert [row[name] for name in ("records", "damages", "wrong_checksums")] == [60 - len(broken), len(broken), 0]
    assert row["damage_bytes"] == sum(placed.size for placed in broken)
    assert row["broker_end"] == broken[0].offset
