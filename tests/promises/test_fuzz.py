"""A short run of tests/fuzz.py with fixed inputs. `make sweep` runs longer, with new inputs."""

from __future__ import annotations

import random
from collections.abc import Callable

import fuzz
import pytest
from support.effort import WHOLE, at_effort


def run(check: Callable[[int], fuzz.Checked], option: str, shard: int, logs: int) -> None:
    first = random.randrange(1 << 40) if WHOLE else shard * logs
    inputs = alive = 0
    for seed in range(first, first + logs):
        try:
            checked = check(seed)
        except BaseException as error:  # a panic of the kernel is not an Exception
            error.add_note(f"shown again by: python tests/fuzz.py{option} --inputs 1 --seed {seed}")
            raise
        inputs += checked.inputs
        alive += checked.alive
    assert alive > inputs / 2


@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(4))
def test_stores_changed_at_random(shard: int) -> None:
    run(fuzz.check, "", shard, at_effort(50, 2_500))


@pytest.mark.kernel
@pytest.mark.sweep
def test_both_kernels_cut_properties_changed_at_random() -> None:
    """49,152 inputs in each log."""
    run(fuzz.check_fields, " --fields", 0, at_effort(1, 40))


@pytest.mark.kernel
@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(4))
def test_both_kernels_read_records_changed_at_random(shard: int) -> None:
    """About 55 inputs in each log: 1,000 in each shard, and 550,000 in a sweep."""
    run(fuzz.check_kernels, " --kernels", shard, at_effort(20, 2_500))
