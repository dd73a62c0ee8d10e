"""Damages in any combination: the repaired store is consistent, and has the messages that can be read of the damaged one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from support.effort import mostly_long
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import opened, records_of
from support.store_damages import several_at_random

import native_reader as nr
from native_reader.verify.codes import ERROR

IN_THE_GATE = (1, 17)


@pytest.mark.gate
@pytest.mark.parametrize("seed", mostly_long(range(110), *IN_THE_GATE))
def test_all_that_can_be_read_is_in_the_new_store(tmp_path: Path, seed: int) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    several_at_random(store, Random(seed))
    whole = records_of(store)
    done = opened(store).repair(tmp_path / "new")
    assert records_of(tmp_path / "new") == [row for row in whole if row[0] not in done.plan.doubtful]
    assert [row for row in nr.open(tmp_path / "new").verify().to_table().to_pylist() if row["severity"] == ERROR] == []
