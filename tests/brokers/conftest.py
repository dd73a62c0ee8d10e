"""A real broker in a temporary home, which runs for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kept import Brokers, KeptStores
from rocketmq import VERSIONS, Broker, Java, running
from support.effort import WHOLE

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker compiles, starts and stops all brokers. In the sweep each does: brokers wait more than they compute."""
    for item in items:
        if HERE in item.path.parents and not WHOLE:
            item.add_marker(pytest.mark.xdist_group("broker"))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> KeptStores:
    """Stores to damage copies of. Tests must not change them."""
    return KeptStores(tmp_path_factory.mktemp("start"))


@pytest.fixture
def broker(rocketmq: Callable[[str], Java], tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Starts brokers, as in `broker("5.5.0", flushDiskType="SYNC_FLUSH")`. They all stop with the test."""
    with ExitStack() as stack:

        def start(version: str, **settings: object) -> Broker:
            assert version in VERSIONS
            return stack.enter_context(running(rocketmq(version), tmp_path / f"broker-{version}", **settings))

        yield start


@pytest.fixture(scope="module")
def started(rocketmq: Callable[[str], Java]) -> Iterator[Brokers]:
    """Those of this module. They end with it. `rocketmq` says what is missing on this machine."""
    brokers = Brokers()
    yield brokers
    brokers.end()
