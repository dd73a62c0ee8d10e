"""How much the tests that sample look at: `make test` at a little, the gate (CI=true) at more, `make sweep` at everything."""

from __future__ import annotations

import os
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")
WHOLE = os.environ.get("RMQSTORE_SWEEP") == "whole"
QUICK = not WHOLE and os.environ.get("CI") != "true"
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def at_effort(quick: T, gate: T, whole: T) -> T:
    """The one of three for this run."""
    return whole if WHOLE else quick if QUICK else gate


def sampled(examples: int) -> settings:
    """So many examples in the gate, always the same; a fifth in `make test`; six times as many, drawn anew, in `make sweep`."""
    count = at_effort(max(examples // 5, 10), examples, 6 * examples)
    return settings(deadline=None, max_examples=count, derandomize=not WHOLE, suppress_health_check=SLOW)
