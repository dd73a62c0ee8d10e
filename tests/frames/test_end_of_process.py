"""A program that takes a few rows and ends does end, with exit code 0. Only a process of its own shows that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

LIMITS = {
    "head of pyarrow": "print(len(messages.head(10)))",
    "a batch of pyarrow": "print(min(10, len(next(iter(messages.to_batches())))))",
    "a stream that is left": "reader = messages.scanner(columns=['topic']).to_reader(); print(min(10, len(reader.read_next_batch())))",
    "LIMIT of DuckDB": "import duckdb; print(len(duckdb.sql('select topic from messages limit 10').fetchall()))",
    "a result of DuckDB that is left": "import duckdb; r = duckdb.execute('select topic from messages'); print(len(r.fetchmany(10)))",
    "Polars": "print(store.messages().to_polars().head(10).collect().height)",
    "Polars over the dataset": "import polars; print(polars.scan_pyarrow_dataset(messages).head(10).collect().height)",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("end") / "store"
    write_store(root, StoreSpec(bytes=2 << 20, mapped_file_size_commit_log=1 << 18))
    return root


SLOW = """
import time
import native_reader as nr

to_batches = nr.Scan.to_batches

def slow_batches(scan, *jobs):
    for batch in to_batches(scan, *jobs):
        time.sleep(0.1)
        yield batch

nr.Scan.to_batches = slow_batches
"""
"""What reads ahead is then still at it when the program ends."""


@pytest.mark.parametrize("limit", LIMITS)
def test_a_program_that_takes_ten_rows_ends(root: Path, limit: str) -> None:
    program = f"{SLOW}store = nr.open({str(root)!r})\nmessages = store.messages().to_pyarrow_dataset()\n{LIMITS[limit]}"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "10\n", "")
