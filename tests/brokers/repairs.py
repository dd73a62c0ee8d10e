"""A real broker on the store that a repair wrote: it serves every survivor, once, and goes on as if nothing was lost."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from rocketmq import QUICK, SMALL_FILES, Broker, Java, brokers, name_server
from served import Row, Survivors, judged
from support.store_damages import Damage

import native_reader as nr

SETTINGS: dict[str, Any] = {
    "mappedFileSizeCommitLog": 64 << 10, "maxMessageSize": 16 << 10, "mappedFileSizeConsumeQueue": 2000, "timerFlushIntervalMs": 10_000,
}  # fmt: skip
"""A timer wheel has 37 MB, and is written each second by default. No message here has a timer."""
_WRONG = ("missing", "twice", "foreign", "changed", "unordered")
_IS_WRONG = re.compile(r"\[BUG\]|\[NOTIFYME\]|queue order|ERROR.*(CommitLog|ConsumeQueue|MappedFile|IndexFile|recover)")
_IS_MEANT = re.compile(
    "the real topic of schedule msg is|has been checked too many times|PopReviveService_.*inner batch but cq type is not batch cq"
)
"""How a broker discards the placeholders of a delayed and of a half message, and does not send one to a pop consumer again."""
_MORE = 3


@contextmanager
def started(java: Java, home: Path, store: Path, port: int, **more: Any) -> Iterator[Broker]:
    with name_server(java, home) as address:
        broker = Broker(java, home, address, SETTINGS | more | {"storePathRootDir": store}, port=port)
        with brokers(broker):
            broker.start()
            yield broker


def configuration(folder: Path, store: Path) -> Path:
    """What the broker has in its own: without any queue, nothing else tells how large its files are."""
    path = folder / "broker.conf"
    settings = QUICK | SMALL_FILES | SETTINGS | {"storePathRootDir": store}
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


def assert_served(lines: Iterable[Row], how: str, expected: Iterable[Row], allowed: Collection[str] = ()) -> Counter[str]:
    found = judged(lines, how, expected)
    assert {name: found[name] for name in _WRONG if name not in allowed} == {name: 0 for name in _WRONG if name not in allowed}
    return found


def errors(home: Path) -> list[str]:
    """What the logs of a broker say is wrong with its store."""
    logs = [path for path in [home / "broker.log", *(home / "logs").rglob("*.log")] if path.exists()]
    lines = [line for path in logs for line in path.read_text(errors="replace").splitlines() if _IS_WRONG.search(line)]
    return [line for line in lines if not _IS_MEANT.search(line)]


def repaired(source: Path, folder: Path, damage: Damage, seed: int, **choices: Any) -> Survivors:
    """Damage a copy of a store, and repair it. Returns what must be served of the new one."""
    store = folder / "store"
    shutil.copytree(source, store)
    damage(store, Random(seed))
    survivors = Survivors.of(store, verify_crc="crc" not in choices)
    done = nr.open(store, broker_conf=str(configuration(folder, store))).repair(folder / "new", **choices)
    return survivors.without([offset for offset, doubt in done.plan.doubts.items() if not doubt.is_kept])


def assert_consumed(lines: list[Row], survivors: Survivors) -> None:
    """By a pull consumer and three that are pushed to, whose groups have nothing left; and samples are found by id, key and time."""
    found = assert_served(lines, "pull", survivors.all)
    assert found["served"] == len(survivors.all)
    assert [line for line in lines if "found" in line and not (line["by_id"] and line["by_key"])] == []
    assert {line["by_time"] for line in lines if "by_time" in line} == {True}
    # A group that asks for a tag may have the messages after its last one left; any group, the placeholders at the end of a queue.
    left = [line["left"] for line in lines if "left" in line and "_tag" not in line["group"]]
    assert len(left) == 2
    assert {*left} <= {0, placeholders_at_ends(lines, survivors)}
    plain, tagged = survivors.of_topic("Plain"), survivors.of_topic("Plain", "Tag1")
    assert_served(lines, "all", plain, ("unordered",))
    assert_served(lines, "ordered", plain)
    assert judged(lines, "tag", tagged)["marked"] == 0
    assert_served(lines, "tag", tagged, ("unordered",))


def placeholders_at_ends(lines: list[Row], survivors: Survivors) -> int:
    """How many placeholders follow the last survivors of the topic that groups read."""
    ends = {line["queue_id"]: line["end"] for line in lines if line.get("queue") == "Plain" and "end" in line}
    lasts = dict.fromkeys(ends, -1)
    for row in survivors.of_topic("Plain"):
        lasts[row["queue_id"]] = max(lasts[row["queue_id"]], row["queue_offset"])
    return sum(ends[queue] - 1 - last for queue, last in lasts.items())


def assert_goes_on(broker: Broker, survivors: Survivors, end: str, pulled: tuple[str, str] = ("pull", "pull")) -> None:
    """New messages get the next queue offsets. All are there after the broker was stopped or killed, and started again."""
    lines = broker.traffic("more", _MORE)
    ends = {line["queue_id"]: line["ends"] for line in lines if "ends" in line}
    new = [line for line in lines if line.get("kind") == "more"]
    assert sorted((line["queue_id"], line["queue_offset"] - ends[line["queue_id"]]) for line in new) == [
        (queue_id, number) for queue_id in range(4) for number in range(_MORE)
    ]
    _ = broker.stop() if end == "stopped" else broker.kill()
    broker.start()
    lines = broker.traffic(pulled[0])
    assert {line["offset_msg_id"] for line in new} <= {line.get("offset_msg_id") for line in lines}
    assert_served([line for line in lines if line.get("tags") != "More"], pulled[1], survivors.all)
