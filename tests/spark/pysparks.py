"""Which PySpark runs the tests, and what the older ones do not have."""

from __future__ import annotations

import pyspark
import pytest

PYSPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
HAS_FILTERS = PLANS_ONCE = PYSPARK >= (4, 1)
"""4.0 plans a frame again in each action, so it sees a log that has grown."""
HAS_STREAMS = PYSPARK >= (4, 2)
streams = pytest.mark.pyspark(4, 2)
