"""A short run of tests/fuzz.py with fixed inputs. `make sweep` runs longer, with new inputs."""

from __future__ import annotations

import random

import fuzz
import pytest
from support.effort import WHOLE, at_effort

INPUTS = at_effort(50, 250, 10_000)


@pytest.fixture(scope="module")
def known() -> list[fuzz.Store]:
    return fuzz.stores()


@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(4))
def test_stores_changed_at_random(known: list[fuzz.Store], shard: int) -> None:
    first = random.randrange(1 << 40) if WHOLE else shard * INPUTS
    alive = 0
    for seed in range(first, first + INPUTS):
        try:
            alive += fuzz.check(seed, known)
        except Exception as error:
            error.add_note(f"shown again by: python tests/fuzz.py --inputs 1 --seed {seed}")
            raise
    assert alive > INPUTS / 2
