"""How much each run does: little in `make test`, more with CI=true, everything in `make sweep`."""

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
    """The value for this run: one for `make sweep`, and one for the others."""
    return whole if WHOLE else some


def mostly_long(values: Iterable[Any], *here: Any) -> list[Any]:
    """Parameters of a test: `here` in every run, the other values only in `make sweep`."""
    return _marked(values, here, pytest.mark.long)


def thinned(values: Iterable[Any], keep: int) -> list[Any]:
    """Parameters of a test: so many of them in every run, evenly, the others only in `make sweep`. A tuple is several arguments."""
    values = list(values)
    kept = {number * (len(values) - 1) // max(keep - 1, 1) for number in range(keep)}
    marks: list[tuple[pytest.MarkDecorator, ...]] = [() if number in kept else (pytest.mark.long,) for number in range(len(values))]
    return [pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=mark) for value, mark in zip(values, marks, strict=True)]


def mostly_gate(values: Iterable[Any], *here: Any) -> list[Any]:
    """Parameters of a test: `here` in every run, the other values only with CI=true and in `make sweep`."""
    return _marked(values, here, pytest.mark.gate)


def _marked(values: Iterable[Any], here: tuple[Any, ...], mark: pytest.MarkDecorator) -> list[Any]:
    values = list(values)
    assert {*here} <= {*values}, "a value that is not there"
    return [value if value in here else pytest.param(value, marks=mark) for value in values]


def sampled(examples: int) -> settings:
    """Settings for a few of this many examples, and for all of them in `make sweep`. Only that draws new ones in each run."""
    count = examples if WHOLE else max(examples // (16 if QUICK else 12), 5 if QUICK else 8)
    return settings(max_examples=count, derandomize=not WHOLE, suppress_health_check=SLOW)
