"""What the compiled kernel frees it keeps for a while: fresh pages cost as much as the columns."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

MIB = 1 << 20


@pytest.mark.kernel
def test_pages_stay_between_chunks_that_come_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMQSTORE_KERNEL", "compiled")
    write_store(tmp_path / "store", StoreSpec(bytes=16 * MIB, body=1024, index=False))

    def fresh_pages() -> int:
        """How many a read takes that does something else after each batch."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in nr.open(tmp_path / "store").messages().to_batches():
            time.sleep(0.03)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    fresh_pages()
    assert min(fresh_pages() for _ in range(2)) * resource.getpagesize() < MIB
