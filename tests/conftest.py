"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import golden
import pytest
from stores import ZERO, files_of, on_disk


@pytest.fixture(scope="session")
def golden_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], golden.Golden]:
    """Golden stores by name, each unpacked once a session."""
    if not golden.FOLDER.is_dir():
        pytest.skip(f"no golden stores at {golden.FOLDER}")
    unpacked: dict[str, golden.Golden] = {}
    into = tmp_path_factory.mktemp("golden")

    def get(name: str) -> golden.Golden:
        if name not in unpacked:
            unpacked[name] = golden.unpack(name, into)
        return unpacked[name]

    return get


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three segments of ten or so records each, and what usually lies beside them."""
    beside = {
        "store/consumequeue/T0/0/" + ZERO: b"20-digit files lie here too",
        "store/index/20260101000000000": b"x",
        "store/config/topics.json": b"{}",
        "store/timerlog/" + ZERO: b"x",
        "store/checkpoint": b"",
        "store/lock": b"lock",
    }
    return on_disk(tmp_path, files_of() | beside) / "store"
