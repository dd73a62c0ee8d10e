"""May a broker be started on this store? Our answer, and what RocketMQ's own store classes do with each damage."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from kept import LINES, NOTHING_EXPIRES, STORE_NAMES, Kept, KeptStores, refuses, values_of, whole_offsets
from rocketmq import Java
from support.golden import unpack
from support.own_stores import NAMES, STORES
from support.unstarted import DAMAGE

import native_reader as nr
from native_reader.start import NO, may_start
from native_reader.start.lines import LINES as ALL
from native_reader.start.lines import lines_since


@pytest.fixture(scope="module")
def undamaged(
    rocketmq: Callable[[str], Java], stores: KeptStores, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Loaded]:
    """What RocketMQ has of a store without damage, by the store's name and the version."""
    home = tmp_path_factory.mktemp("undamaged")
    return functools.cache(lambda name, version: load(rocketmq(version), stores(name), stores(name).store, home / f"{name} {version}"))


@dataclass(frozen=True)
class Loaded:
    """What RocketMQ has after the start: the end of its log, and the offsets of the messages that its queues lead to."""

    loaded: bool
    end: int
    offsets: frozenset[int]


def load(java: Java, kept: Kept, store: Path, home: Path, how: str = "start") -> Loaded:
    """Let RocketMQ's store class load a copy, and start: then it also delivers what is due."""
    shutil.copytree(store, home / "store")
    settings = kept.settings | NOTHING_EXPIRES
    (home / "conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    (home / "keys").write_text("")
    lines = java.run("Load", home / "store", home / "conf", home / "keys", *how.split(), home=home)
    (loaded,) = [line for line in lines if "loaded" in line]
    queues = [line for line in lines if "queue_id" in line and not line["topic"].startswith("%LMQ%")]
    return Loaded(loaded["loaded"], loaded["end"], frozenset(offset for line in queues for offset in line["offsets"]))


JUDGED = [name for name in NAMES if not re.search("rocksdb|dledger|multipath|5.4.0", name)]
"""The store class of the tests loads queues in files, below one directory."""
OF_GROUPS = {"5.5.0-failover": ["controller"]}
"""What is said besides: a slave compares epochs with its master, which no store class alone does."""


@pytest.mark.long
@pytest.mark.parametrize("name", JUDGED)
def test_each_store_as_its_broker_left_it(rocketmq: Callable[[str], Java], tmp_path: Path, name: str) -> None:
    own = unpack(name, tmp_path / "own", STORES)
    (files,) = nr.open(own.root).stores
    end = nr.open(own.root).diagnose().facts["commitlog"]["end_offset"]
    said = may_start(files, lines_since(name.partition("-")[0]), end, now=0, reserved_hours=72)
    # A setting that no file shows: with it, 5.5.0 cuts its own log at the first message that an older client sent in a batch.
    settings = json.loads((own.folder / "settings.json").read_text()) | {"forceVerifyPropCRC": "false"}
    kept = Kept(own.root, settings)
    loaded = load(rocketmq(name.partition("-")[0]), kept, own.root, tmp_path / "java", "")
    assert loaded.loaded is (said.outcome != NO) is (name != "5.5.0-slave")
    assert not loaded.loaded or (loaded.end, [each.cause.kind for each in said.reasons]) == (end, OF_GROUPS.get(name, []))


Case = tuple[str, Callable[[Path], None]]
CASES: list[Case] = [(name, damage) for name in STORE_NAMES for damage in DAMAGE]


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=[f"{name} {damage.__name__}" for name, damage in CASES])
def test_the_answer_and_what_a_broker_does(
    rocketmq: Callable[[str], Java], stores: KeptStores, undamaged: Callable[[str, str], Loaded], tmp_path: Path, case: Case
) -> None:
    name, damage = case
    kept = stores(name)
    store = tmp_path / "store"
    shutil.copytree(kept.store, store)
    damage(store)
    (files,) = nr.open(store).stores
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    said = may_start(files, ALL, end, now=0, reserved_hours=72)
    for version in ("4.9.7", "5.5.0") if name.startswith("4.9.7") else ("5.5.0",):
        line = LINES[version]
        assert line in said.lines
        after = load(rocketmq(version), kept, store, tmp_path / version)
        assert after.loaded is not refuses(said, line), (version, said)
        if not after.loaded:
            continue
        readable = whole_offsets(store)
        cuts = list(values_of(said, line, "cut"))
        assert after.end == (cuts[0]["offset"] if cuts else end), (version, said)
        assert sum(offset >= after.end for offset in readable) == (cuts[0]["messages"] if cuts else 0)
        lacking = [values["offset"] for values in values_of(said, line, "not queued")]
        first = lacking[0] if lacking else 0
        served = {offset for offset in undamaged(name, version).offsets if first <= offset < after.end} & readable
        assert after.offsets & readable == served, (version, said)
