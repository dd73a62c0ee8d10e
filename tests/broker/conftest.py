"""A real RocketMQ for tests: its own classes in a Java of their own, its own broker in a temporary home."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from rocketmq import VERSIONS, Broker, Java, Unreachable, missing, running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker compiles, starts and stops them all."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("broker"))


@pytest.fixture(scope="session")
def rocketmq() -> Callable[[str], Java]:
    """RocketMQ by version; skipped where this machine cannot have it, which CI does not allow."""
    lacking = missing()
    if lacking is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(lacking)
        pytest.skip(lacking)
    known: dict[str, Java] = {}

    def get(version: str) -> Java:
        if version not in known:
            try:
                known[version] = Java(version)
            except Unreachable as error:
                pytest.skip(str(error))
        return known[version]

    return get


@pytest.fixture
def broker(rocketmq: Callable[[str], Java], tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Starts brokers: `broker("5.5.0", flushDiskType="SYNC_FLUSH")`; none outlives the test."""
    with ExitStack() as stack:

        def start(version: str, **settings: object) -> Broker:
            assert version in VERSIONS
            return stack.enter_context(running(rocketmq(version), tmp_path / f"broker-{version}", **settings))

        yield start
