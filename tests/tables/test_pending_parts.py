"""The parts of the tables that are made from messages: they can be read in other processes, and damage does not stop them."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa
import pytest
from support.golden import Golden
from support.stores import in_memory

import native_reader as nr
from native_reader.options import MessageOptions
from native_reader.tables import TABLES

NAMES = ("delay", "timers", "traces", "transactions")


@pytest.mark.parametrize("name", NAMES)
def test_a_part_can_be_sent_to_another_process(golden_store: Callable[[str], Golden], name: str) -> None:
    scan = nr.open(golden_store("v5-kinds").root).table(name)
    parts = [pickle.loads(pickle.dumps(part)) for part in scan.parts()]
    read = [batch for part in parts for batch in TABLES[name].read(part, MessageOptions().projection())]
    assert pa.Table.from_batches(read, scan.schema).equals(scan.to_table())
    assert scan.to_table(jobs=3).num_rows == len(scan.to_table()) > 0


@pytest.mark.parametrize("name", NAMES)
def test_damage_hides_only_what_it_covers(golden_store: Callable[[str], Golden], name: str) -> None:
    """Zeros in the middle of a segment: no error, and the other rows are still there, in each table."""
    root = golden_store("v5-kinds").root
    files = {f"store/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*") if path.is_file()}
    log = sorted(each for each in files if each.startswith("store/commitlog/"))
    files[log[0]] = files[log[0]][:100_000] + bytes(4096) + files[log[0]][104_096:]
    memory = in_memory(files)
    rows = nr.open(f"{memory.url}/store").table(name).to_table()
    whole = nr.open(root).table(name).to_table()
    assert len(whole) - 3 <= len(rows) <= len(whole)
    if name == "transactions":
        assert "finished" in rows["fate"].to_pylist()
