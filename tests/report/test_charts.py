"""What a chart draws, in numbers."""

from __future__ import annotations

import pytest

from rmqstore.report.blocks import Range, strip


@pytest.mark.parametrize(("start", "stop", "drawn"), [(0.25, 0.5, 'x="250" y="0" width="250"'), (0.9999, 1.0, 'x="996" y="0" width="4"')])
def test_a_range_can_be_seen_also_at_the_end(start: float, stop: float, drawn: str) -> None:
    assert drawn in str(strip([Range(start, stop, "damage")], (), "log"))
