"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable

import golden
import pytest


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
