"""What stops a broker of each version, as real brokers were seen to do: the files that it opens, loads or parses before anything else."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.golden import Golden

import native_reader as nr
from native_reader.errors import OptionError
from native_reader.start import BETTER_NOT, NO, Start, may_start
from native_reader.start.lines import LINES, span_of


@pytest.fixture
def store(own_store: Callable[[str], Golden], tmp_path: Path) -> Path:
    return Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))


def asked(store: Path, version: str) -> Start:
    start = nr.open(store).diagnose(for_version=version, file_reserved_time=99_999).start
    assert start is not None
    return start


def folder(name: str) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        path = store / name
        if path.is_file():
            path.unlink()
        path.mkdir(parents=True)

    return damage


def file(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_bytes(content)

    return damage


def both_broken(name: str) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        for suffix in ("", ".bak"):
            (store / "config" / f"{name}{suffix}").write_bytes(b"{")

    return damage


QUEUE = "consumequeue/Plain/0"
REFUSED = [
    (folder("checkpoint"), "folder", ("4.4.0", "4.9.7", "5.5.0"), ()),
    (folder("index/20991231235959000"), "index folder", ("5.1.0", "5.5.0"), ("4.9.7", "5.0.0")),
    (folder("index/old"), "index folder", (), ("5.5.0",)),
    (folder("commitlog/old"), "foreign file", ("4.9.7", "5.0.0"), ("4.4.0", "5.1.0", "5.5.0")),
    (folder(f"{QUEUE}/old"), "foreign queue file", ("4.9.7", "5.0.0"), ("4.4.0", "5.1.0", "5.5.0")),
    (file("commitlog/99999999999999999999", bytes(65536)), "foreign file", ("4.4.0", "4.9.7", "5.5.0"), ()),
    (file("timerwheel", bytes(1000)), "timer wheel", ("5.0.0", "5.5.0"), ("4.9.7",)),
    (file("timerwheel", b""), "timer wheel", (), ("5.5.0",)),
    (file("timerlog/note.txt", b"x"), "foreign timer log", ("5.5.0",), ("4.9.7",)),
    (both_broken("timermetrics"), "settings", ("5.0.0", "5.5.0"), ("4.9.7",)),
    (both_broken("topicQueueMapping.json"), "settings", ("5.5.0",), ("4.9.7",)),
    (both_broken("consumerOrderInfo.json"), "settings", ("5.5.0",), ("4.9.7",)),
    (both_broken("delayOffset.json"), "settings", ("4.4.0", "4.9.7", "5.5.0"), ()),
    (both_broken("lmqConsumerOffset.json"), "settings", (), ("4.9.7", "5.5.0")),
]


@pytest.mark.parametrize(("damage", "kind", "refused", "started"), REFUSED)
def test_what_a_version_refuses(
    store: Path, damage: Callable[[Path], None], kind: str, refused: tuple[str, ...], started: tuple[str, ...]
) -> None:
    damage(store)
    for version in refused:
        start = asked(store, version)
        assert (start.outcome, start.reasons[0].cause.kind) == (NO, kind), version
    for version in started:
        start = asked(store, version)
        assert start.outcome != NO, version
        assert kind not in [each.cause.kind for each in start.reasons], version


def test_offsets_of_light_queues_stop_only_a_broker_that_has_these(store: Path) -> None:
    both_broken("lmqConsumerOffset.json")(store)
    assert [each.cause.kind for each in asked(store, "5.5.0").reasons] == ["light settings"]


SETTINGS: list[tuple[str, Callable[[Path], None], list[str], list[str]]] = [
    ("timerWheelEnable=false", file("timerwheel", bytes(1000)), ["timer wheel"], []),
    ("timerWheelEnable=false", both_broken("timermetrics"), ["settings"], []),
    ("enableLmq=true", both_broken("lmqConsumerOffset.json"), ["light settings"], ["settings"]),
    ("enableLmq=false", both_broken("lmqConsumerOffset.json"), ["light settings"], []),
    ("enableLmq=true", both_broken("consumerOffset.json"), ["settings"], []),
    ("mappedFileSizeTimerLog=5200", file(f"timerlog/{0:020}", bytes(5200)), [], []),
    ("mappedFileSizeTimerLog=5200", file(f"timerlog/{0:020}", bytes(77)), [], ["timer log size"]),
    ("mappedFileSizeTimerLog=5200", file(f"timerlog/{10400:020}", bytes(77)), ["timer log cut"], ["timer log size"]),
    ("timerWheelEnable=false", file(f"timerlog/{10400:020}", bytes(77)), ["timer log cut"], []),
]


def test_a_timer_log_of_one_file_that_was_cut(store: Path) -> None:
    """It was compared with its own size."""
    (store / "timerlog").mkdir(exist_ok=True)
    (store / "timerlog" / f"{0:020}").write_bytes(bytes(77))
    (store / "config" / "timercheck").write_bytes(struct.pack(">4q", 1, 104, 2, 0).ljust(4096, b"\0"))
    assert [each.cause.kind for each in asked(store, "5.0.0").reasons] == ["timer log cut"]
    assert [each.cause.kind for each in asked(store, "4.9.7").reasons] == []


@pytest.mark.parametrize(("setting", "damage", "without", "expected"), SETTINGS)
def test_it_goes_by_what_the_configuration_loads(
    store: Path, setting: str, damage: Callable[[Path], None], without: list[str], expected: list[str]
) -> None:
    damage(store)
    conf = store.parent / "broker.conf"
    conf.write_text(f"storePathRootDir={store}\nfileReservedTime=9000000\n{setting}\n")

    def found(**given: Any) -> list[str]:
        start = nr.open(store, **given).diagnose(file_reserved_time=9_000_000, for_version="5.5.0").start
        assert start is not None
        return [each.cause.kind for each in start.reasons]

    assert found() == without
    assert found(broker_conf=str(conf)) == expected


def test_a_store_on_which_only_some_versions_start(store: Path) -> None:
    folder("index/20991231235959000")(store)
    (files,) = nr.open(store).stores
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    start = may_start(files, LINES, end, now=0, reserved_hours=72)
    assert (start.outcome, [(each.cause.kind, span_of(each.lines)) for each in start.reasons]) == (BETTER_NOT, [("index folder", "5.1.0+")])
    assert not start.is_all_well


def test_a_queue_of_which_only_offsets_of_groups_are_left(store: Path) -> None:
    """No message of it is in the log to be counted. A start makes it again from 0, where no group looks any more."""
    topics = json.loads((store / "config" / "topics.json").read_text())
    topics["topicConfigTable"]["Gone"] = {"topicName": "Gone", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    (store / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": {"Gone@group": {"0": 700}}}))
    (store / "config" / "topics.json").write_text(json.dumps(topics))
    start = asked(store, "5.5.0")
    assert (start.outcome, [each.cause.kind for each in start.reasons]) == (BETTER_NOT, ["unlisted"])


@pytest.mark.parametrize("version", ["5.x", "5.3", "3.2.6", "newest", "5.3.2-SNAPSHOT", ""])
def test_a_version_that_is_none(store: Path, version: str) -> None:
    with pytest.raises(
        OptionError, match=r"^for_version has to be a version of RocketMQ from 4\.0\.0 on, with three numbers as in 5\.3\.2, not "
    ):
        nr.open(store).diagnose(for_version=version)


def test_a_record_larger_than_any_array(store: Path) -> None:
    """Up to 5.3.1, memory for it is reserved before it is looked at."""
    segment = sorted(path for path in (store / "commitlog").iterdir() if any(path.read_bytes()[:8]))[-1]
    content = bytearray(segment.read_bytes())
    size = int.from_bytes(content[:4], "big")
    content[size : size + 4] = (2**31 - 1).to_bytes(4, "big")
    segment.write_bytes(content)
    assert [each.cause.kind for each in asked(store, "5.3.1").reasons][:1] == ["no array"]
    assert asked(store, "5.3.2").outcome == BETTER_NOT
    content[size : size + 4] = (1 << 30).to_bytes(4, "big")
    segment.write_bytes(content)
    assert "large array" in [each.cause.kind for each in asked(store, "5.3.1").reasons]
