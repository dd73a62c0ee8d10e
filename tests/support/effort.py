"""How many examples sampling tests run: few in `make test` and in the gate, all in `make sweep`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
WHOLE = os.environ.get("RMQSTORE_SWEEP") == "whole"
QUICK = not WHOLE and os.environ.get("CI") != "true"
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def at_effort(some: T, whole: T) -> T:
    """The value for this run."""
    return whole if WHOLE else some


def mostly_long(values: Iterable[Any], *here: Any) -> list[Any]:
    """Parameters of a test: `here` in every run, the other values only in `make sweep`."""
    values = list(values)
    assert {*here} <= {*values}, "a value that is not there"
    return [value if value in here else pytest.param(value, marks=pytest.mark.long) for value in values]


def sampled(examples: int) -> settings:
    """Settings for an eighth of this many examples, and four times as many in `make sweep`. Only that draws new ones in each run."""
    count = at_effort(max(examples // 8, 10), 4 * examples)
    return settings(deadline=None, max_examples=count, derandomize=not WHOLE, suppress_health_check=SLOW)
