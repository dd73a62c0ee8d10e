"""Fixtures for several test files."""

from __future__ import annotations

import functools
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest
from hypothesis import settings
from rocketmq import Java, Unreachable, missing
from support import golden
from support.archived import java_options, make_archive
from support.effort import QUICK, WHOLE
from support.growing import Disk, GrowingStore
from support.own_stores import STORES
from support.stores import BACKENDS, ZERO, Backend, files_of, log_of, on_disk
from support.tune import Tune

import native_reader as nr
from native_reader import kernel
from native_reader.storage import Storage
from native_reader.testing.faulty import FaultyStorage
from native_reader.tuning import tuned

_GIVES_WAY = 5
os.environ.setdefault("JDK_JAVA_OPTIONS", java_options())
# What an example takes says more about the machine than about the code. Tests that hang are ended by pytest-timeout.
settings.register_profile("rmqstore", deadline=None)
settings.load_profile("rmqstore")
# A shell lets what it starts in the background ignore Ctrl-C, and each process that is started from there.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"kernel: {nr.kernel_info()}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` skips the slow tests, marked `gate`, with a message, and leaves out those that are only for `make sweep`.

    `make test-numpy` leaves out those marked `kernel`.
    """
    for item in items:
        if QUICK and item.get_closest_marker("gate"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with CI=true make test"))
    marks = [] if WHOLE else ["long"]
    marks += ["kernel"] if os.environ.get("RMQSTORE_KERNEL") == kernel.NUMPY else []
    left_out = {item for item in items if any(map(item.get_closest_marker, marks))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked `kernel` need the compiled kernel. If it is missing, they are skipped; with CI=true and cargo, they fail.

    Those that share one Spark run one after another, longer than all others, which therefore give way to them.
    """
    group = item.get_closest_marker("xdist_group")
    with suppress(PermissionError):  # only root can take it back
        os.setpriority(os.PRIO_PROCESS, 0, 0 if group is not None and group.args == ("spark",) else _GIVES_WAY)
    compiled, info = kernel.chosen("")
    if compiled is None and item.get_closest_marker("kernel"):
        own = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
        if shutil.which("cargo", path=f"{os.environ['PATH']}:{own}") is None:
            pytest.skip(f"{info.reason}, and there is no cargo to build it")
        lack(f"{info.reason}: make kernel")


def lack(what: str) -> NoReturn:
    """Skip the test, because the machine does not have what it needs; with CI=true, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


def _unpacking(folder: Path, into: Path) -> Callable[[str], golden.Golden]:
    return functools.cache(lambda name: golden.unpack(name, into, folder))


@pytest.fixture(scope="session")
def golden_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], golden.Golden]:
    """Golden stores by name, each unpacked once. Tests must not change them."""
    if not golden.FOLDER.is_dir():
        pytest.skip(f"no golden stores at {golden.FOLDER}")
    return _unpacking(golden.FOLDER, tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], golden.Golden]:
    """The stores in this repository by name, each unpacked once. Tests must not change them."""
    return _unpacking(STORES, tmp_path_factory.mktemp("own"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with three segments of about ten records each, and other files."""
    others = {
        "store/consumequeue/T0/0/" + ZERO: b"a 20-digit name, no segment",
        "store/index/20260101000000000": b"x",
        "store/config/topics.json": b"{}",
        "store/timerlog/" + ZERO: b"x",
        "store/checkpoint": b"",
        "store/lock": b"lock",
    }
    return on_disk(tmp_path, files_of() | others) / "store"


@pytest.fixture(params=[*BACKENDS, *(f"faulty {scheme}" for scheme in BACKENDS)])
def backend_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Mapping[str, bytes]], Backend]]:
    kept: list[Storage] = []
    made: list[Backend] = []
    *faulty, scheme = request.param.split()

    def backend(files: Mapping[str, bytes]) -> Backend:
        here = BACKENDS[scheme](tmp_path, files)
        kept.append(here.storage)
        made.append(here)
        if faulty:
            around = FaultyStorage(here.url)
            kept.append(around)
            here = here._replace(url=around.url, storage=around)
        return here

    yield backend
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def rocketmq() -> Callable[[str], Java]:
    """RocketMQ by version. If it is not available, tests are skipped; with CI=true, they fail."""
    lacking = missing()
    if lacking is not None:
        lack(lacking)
    known: dict[str, Java] = {}

    def get(version: str) -> Java:
        if version not in known:
            try:
                known[version] = Java(version)
            except Unreachable as error:
                pytest.skip(str(error))
        return known[version]

    return get


@pytest.fixture(scope="session")
def quick_sparks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Spark starts in half the time. For tests that start one; the archive costs as much as seven starts save."""
    if WHOLE:
        make_archive(on_disk(tmp_path_factory.mktemp("archived"), files_of(log_of(40))) / "store")


@pytest.fixture
def disk() -> Disk:
    """A disk in memory for stores that change."""
    return Disk()


@pytest.fixture
def grown(disk: Disk) -> GrowingStore:
    """A store on `disk` with forty records in several segments."""
    growing = GrowingStore(disk, "store", Random(1), segment_size=4096)
    growing.append(40)
    return growing


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test looks into what numpy does."""
    monkeypatch.setenv("RMQSTORE_KERNEL", kernel.NUMPY)


@pytest.fixture
def tune() -> Iterator[Tune]:
    """Changes `native_reader.tuning.TUNING` until the test ends."""
    with ExitStack() as stack:
        yield lambda **values: stack.enter_context(tuned(**values))


@pytest.fixture
def queues_always_used(tune: Tune) -> None:
    """Use queues in small stores too, where a scan would be cheaper."""
    tune(queue_costs=0, most_share=0.9, sampled_segment=0, time_samples=8)


@pytest.fixture
def small_parts_pruned(tune: Tune) -> None:
    """Prune small parts too: in small stores all parts are small."""
    tune(small_part=1, small_rest=1000, calls_per_lookup=0)
