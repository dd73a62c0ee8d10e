"""May a broker be started on this store? Our answer, and what whole brokers do: whether they start, and each message that a client gets."""

from __future__ import annotations

import functools
import json
import shutil
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from kept import LINES, NOTHING_EXPIRES, Kept, KeptStores, refuses, values_of, whole_offsets
from rocketmq import Broker, Java, brokers, name_server
from served import Row
from support import unstarted
from support.golden import unpack
from support.own_stores import NAMES, STORES

import native_reader as nr
from native_reader.broker.settings import topic_configs
from native_reader.records.damages import Damages
from native_reader.start import NO, Start, may_start
from native_reader.start.lines import LINES as ALL
from native_reader.start.lines import lines_since

Messages = frozenset[tuple[int, int]]
"""Their physical offsets and checksums of their bodies: a broker that cut its log can write other messages at the same offsets."""


@dataclass(frozen=True)
class Served:
    """What a client gets of all topics of users: with one message in each answer, and with as many as a client asks for by default."""

    singly: Messages
    together: Messages


def serve(java: Java, kept: Kept, store: Path, home: Path) -> Served | None:
    """What a whole broker serves of a copy of the store; None if it ended instead of starting."""
    shutil.copytree(store, home / "store")
    with name_server(java, home) as address:
        broker = Broker(java, home, address, kept.settings | NOTHING_EXPIRES | {"storePathRootDir": home / "store"})
        with brokers(broker):
            try:
                broker.start()
            except AssertionError:
                assert broker.process is not None
                if broker.process.poll() is None:
                    raise
                return None
            lines = broker.traffic("answers")
            return Served(messages_in(lines, "singly"), messages_in(lines, "together"))


def messages_in(lines: list[Row], how: str) -> Messages:
    return frozenset((line["physical_offset"], line["crc"]) for line in lines if line.get("how") == how)


@pytest.fixture(scope="module")
def undamaged(
    rocketmq: Callable[[str], Java], stores: KeptStores, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Served | None]:
    """What a broker serves of a store without damage, by the store's name and the version."""
    home = tmp_path_factory.mktemp("undamaged")
    return functools.cache(lambda name, version: serve(rocketmq(version), stores(name), stores(name).store, home / f"{name} {version}"))


def answer_for(store: Path) -> Start:
    """As on the page of a rescue, which knows all damage."""
    (files,) = nr.open(store).stores
    run = nr.open(store).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns="topic").run()
    deque(run, maxlen=0)
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    return may_start(files, ALL, end, Damages.of(run.report.damage), now=0, reserved_hours=72)


def expected(said: Start, version: str, whole: Messages, readable: frozenset[int]) -> Messages:
    """Which messages that a broker serves of the whole store it serves of the damaged one, by what we said."""
    line = LINES[version]
    stops = [values["offset"] for values in values_of(said, line, "cut")]
    begins = [values["offset"] for values in values_of(said, line, "not queued")]
    return frozenset(
        message for message in whole if message[0] in readable and not any(message[0] >= stop for stop in stops)
        and not any(message[0] < begin for begin in begins)
    )  # fmt: skip


ON = (
    ("4.9.7", "4.9.7 killed"), ("5.5.0", "4.9.7 killed"), ("4.9.7", "4.9.7 clean"), ("5.5.0", "4.9.7 clean"),
    ("5.5.0", "5.5.0 killed"), ("5.5.0", "5.5.0 clean"), ("5.5.0", "large killed"), ("5.5.0", "large clean"),
)  # fmt: skip
SOME = (
    unstarted.a_page_of_zeros_in_the_first_segment, unstarted.a_flipped_bit_in_a_body, unstarted.a_cut_last_segment,
    unstarted.a_packed_segment, unstarted.no_queues_and_a_page_of_zeros,
)  # fmt: skip
CASES = [(version, name, damage) for damage in SOME for version, name in ON]
"""RocketMQ's store classes load all of `unstarted.DAMAGE`. Whole brokers say the same of them; here are those that clients notice."""


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=[f"{version} on {name} {damage.__name__}" for version, name, damage in CASES])
def test_the_answer_and_what_clients_get(
    rocketmq: Callable[[str], Java],
    stores: KeptStores,
    undamaged: Callable[[str, str], Served | None],
    tmp_path: Path,
    case: tuple[str, str, Callable[[Path], None]],
) -> None:
    version, name, damage = case
    kept, line, store = stores(name), LINES[version], tmp_path / "store"
    shutil.copytree(kept.store, store)
    damage(store)
    said = answer_for(store)
    whole, after = undamaged(name, version), serve(rocketmq(version), kept, store, tmp_path / "home")
    assert whole is not None
    assert (after is None) is refuses(said, line), (said, after)
    if after is None:
        return
    readable = whole_offsets(store)
    got = {message for message in after.singly & whole.singly if message[0] in readable}  # a wrong body is served, too
    assert got == expected(said, version, whole.singly, readable), said
    together = after.together & whole.singly  # a client can take bytes inside damage for a message
    # What a client loses beside damage, it loses without an error: we must have said so.
    keeps_damage = bool([*values_of(said, line, "kept damage")])
    assert after.together == after.singly or (keeps_damage and together <= after.singly), said


STARTED = [name for name in NAMES if name.partition("-")[0] in LINES and not name.endswith(("dledger", "multipath"))]
"""A group of DLedger needs more than one broker, and the other log is in several directories of its own machine."""


ODD = {"5.5.0-compaction": "Newest", "5.5.0-rocksdb-all": "Again", "5.5.0-rocksdb-moved": "Parent"}
"""A compacted topic is served from files of its own. 5.5.0 puts queues in RocksDB together again when it starts: of a topic that was
deleted and made again, it then serves the deleted messages in the place of as many later ones. And Parent was made while the settings
were in RocksDB: with the first settings of this store, a broker reads the older topics.json."""


def held(store: Path, but: str | None) -> frozenset[int]:
    """The messages that a client can ask for: queues name them, and their topic is configured.

    Without messages inside batches, which have no physical offset of their own, and without that topic.
    """
    opened = nr.open(store)
    (files,) = opened.stores
    topics = topic_configs(files.config).keys() & set(opened.table("queues").to_table()["topic"].to_pylist()) - {but}
    kinds = "kind IN ('normal', 'committed')"
    return frozenset[int]().union(
        *(offsets(opened.messages(topic=each, access="trust", columns="physical_offset", where=kinds)) for each in topics)
    )


def offsets(scan: nr.Scan) -> frozenset[int]:
    return frozenset(scan.to_table()["physical_offset"].to_pylist())


@pytest.mark.long
@pytest.mark.parametrize("name", STARTED)
def test_each_store_as_its_broker_left_it(rocketmq: Callable[[str], Java], tmp_path: Path, name: str) -> None:
    version = name.partition("-")[0]
    own = unpack(name, tmp_path / "own", STORES)
    (files,) = nr.open(own.root).stores
    said = may_start(files, lines_since(version), nr.open(own.root).diagnose().facts["commitlog"]["end_offset"], now=0, reserved_hours=72)
    settings = json.loads((own.folder / "settings.json").read_text()) | {"forceVerifyPropCRC": "false"}
    after = serve(rocketmq(version), Kept(own.root, settings), own.root, tmp_path / "home")
    assert (after is None) is (said.outcome == NO) is (name == "5.5.0-slave")
    if after is not None:
        # What a broker writes after its start (timers that are due, half messages that it asks about) is not in our copy.
        ours = offsets(nr.open(own.root).messages(columns="physical_offset", where=f"kind <> 'batch' AND topic <> '{ODD.get(name)}'"))
        assert {offset for offset, _ in after.singly} & ours == held(own.root, ODD.get(name)), said
