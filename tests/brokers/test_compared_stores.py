"""The stores of a real master and its slave, compared after a failover, and after the old master has joined again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import clusters
import pytest
from make_stores import SMALL_LOG
from recipe import Recipe

import native_reader as nr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_logs_part_at_a_failover_and_are_the_same_when_the_old_master_has_copied_the_new_one(tmp_path: Path) -> None:
    found: list[nr.Diff] = []

    def compare(old: Path, new: Path) -> None:
        found.append(nr.diff(old, new, where="topic = 'Plain'"))
        rows = found[0].to_table()
        assert Counter(zip(rows["only_in"].to_pylist(), rows["difference"].to_pylist(), strict=True)) == found[0].counts
        assert found[0].counts == {("a", "parted"): 60, ("b", "parted"): 20}

    clusters.failover(Recipe("5.5.0", settings=SMALL_LOG), tmp_path, tmp_path / "kept", compare)
    (parted,) = found
    assert parted.parted_at is not None
    again = nr.diff(tmp_path / "old" / "store", tmp_path / "new" / "store")
    assert again.to_table().num_rows == 0
    assert again.is_same
