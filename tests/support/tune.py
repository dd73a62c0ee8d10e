"""What the fixture `tune` gives: other values of `native_reader.tuning.TUNING` until the test ends."""

from __future__ import annotations

from typing import Protocol


class Tune(Protocol):
    def __call__(self, **values: float) -> None: ...
