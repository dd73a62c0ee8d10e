"""How many examples sampling tests run: few in `make test`, more in the gate (CI=true), all in `make sweep`."""

from __future__ import annotations

import os
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")
WHOLE = os.environ.get("RMQSTORE_SWEEP") == "whole"
QUICK = not WHOLE and os.environ.get("CI") != "true"
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def at_effort(quick: T, gate: T, whole: T) -> T:
    """The value for this run."""
    return whole if WHOLE else quick if QUICK else gate


def sampled(examples: int, gate: int | None = None) -> settings:
    """Settings for a fifth of this many examples in `make test`, a third or `gate` in the gate, four times as many in `make sweep`.

    Only `make sweep` draws new ones in each run. `gate` is for tests that also count what their examples reach.
    """
    count = at_effort(max(examples // 5, 10), gate or max(examples // 3, 10), 4 * examples)
    return settings(deadline=None, max_examples=count, derandomize=not WHOLE, suppress_health_check=SLOW)
