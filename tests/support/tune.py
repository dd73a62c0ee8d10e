"""The type of the fixture `tune`, which changes `native_reader.tuning.TUNING` for one test."""

from __future__ import annotations

from typing import Protocol


class Tune(Protocol):
    def __call__(self, **values: float) -> None: ...
