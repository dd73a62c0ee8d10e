"""examples/resend sends an export to a real broker: each message once, also if it is killed in between."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from rocketmq import VERSIONS, Broker, Java
from support.command_line import run
from support.effort import mostly_long
from support.golden import Golden
from support.stores import files_of, log_of, on_disk

import native_reader as nr
from native_reader.testing.records import Message, pack_properties

EXAMPLES = Path(__file__).parents[2] / "examples" / "resend"
CLIENT = "5.5.0"
LANGUAGES = ("java", "python")
SELECTED = "topic IN ('Plain', 'Batch', 'Paid') OR kind = 'dlq'"
_ADDED = "resent_from"
_PATIENCE = 150


class Resend:
    """An example, for one export."""

    def __init__(self, program: list[str], export: Path) -> None:
        self._program, self.export = program, export

    @property
    def noted(self) -> int:
        """How many messages were begun."""
        journal = self.export.with_name(f"{self.export.name}.sent")
        return journal.read_text().count("\n") if journal.exists() else 0

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [*self._program, str(self.export), *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_without_options())

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=_PATIENCE)
        return process.returncode, out.splitlines()[-1] if out else "", err  # before it, the logging of the broker's classes


def program_of(language: str, folder: Path) -> list[str]:
    """The command of the example in this language; in Java, it is compiled first."""
    if language == "python":
        return [sys.executable, str(EXAMPLES / "resend.py")]
    jars, classes = Java(CLIENT).classpath, folder / "classes"
    command = ["javac", "--release", "11", "-nowarn", "-proc:none", "-d", str(classes), "-cp", jars, str(EXAMPLES / "Resend.java")]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert compiled.returncode == 0, compiled.stderr
    return ["java", "-XX:TieredStopAtLevel=1", f"-Drocketmq.client.logRoot={classes}", "-cp", f"{classes}:{jars}", "Resend"]


def _without_options() -> dict[str, str]:
    """Java says on standard error that it takes these."""
    return {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}


@pytest.fixture
def export(tmp_path: Path, own_store: Callable[[str], Golden]) -> Path:
    """Of the store of a broker: two topics, and what a group gave up."""
    folder = tmp_path / "again"
    assert run("export", own_store("5.5.0-kinds").root, "-o", folder, "--for-resend", "--where", SELECTED).code == 0
    return folder


def sent_of(store: nr.Store, where: str) -> list[dict[str, Any]]:
    columns = "topic,origin_topic,msg_id,body,keys,tags,properties"
    return list(store.messages(where=where, columns=columns).to_table().to_pylist())


def essence(row: dict[str, Any]) -> tuple[object, ...]:
    """What consumers see of a message."""
    own = {name: value for name, value in row["properties"] if name.islower() and name != _ADDED}
    return row["origin_topic"] or row["topic"], row["body"], tuple(row["keys"] or ()), row["tags"], tuple(sorted(own.items()))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_message_is_sent_once_over_a_kill(
    version: str, language: str, broker: Callable[..., Broker], export: Path, own_store: Callable[[str], Golden]
) -> None:
    expected = sent_of(nr.open(own_store("5.5.0-kinds").root), SELECTED)
    resend = Resend(program_of(language, export.parent), export)
    running = broker(version)
    assert resend.run("nowhere:1", "--dry-run")[0] == 0
    assert resend.noted == 0
    begun = time.monotonic()
    process = resend.start(running.name_server, "--rate", "20")
    while resend.noted < len(expected) // 2:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < begun + _PATIENCE
        time.sleep(0.02)
    process.send_signal(SIGKILL)
    process.communicate()
    assert time.monotonic() - begun > (len(expected) // 2 - 2) / 20
    half = resend.noted
    code, out, err = resend.run(running.name_server)
    assert (code, err) == (0, "")
    assert out.endswith(" before")
    assert half < len(expected) == resend.noted
    assert resend.run(running.name_server)[1] == f"0 messages were sent, {len(expected)} before"
    running.stop()
    sent = sent_of(nr.open(running.store), "topic IN ('Plain', 'Batch', 'Paid', 'Fails')")
    assert Counter(map(essence, sent)) == Counter(map(essence, expected))
    assert Counter(dict(row["properties"])[_ADDED] for row in sent) == Counter(row["msg_id"] for row in expected)
    assert len({row["msg_id"] for row in sent}) == len(sent)


ORDERED, DELAYED, TIMED = "Ordered", "Later", "Timed"
HOUR_MS = 3_600_000
_OF_AN_HOUR = 8
"""The delay level of an hour, by `QUICK`."""


def waiting(now: int) -> list[Message]:
    """Messages with sharding keys, then some that wait: for a time that has passed, for one in an hour, for a delay level."""
    given: list[tuple[str, dict[str, str]]] = [(ORDERED, {"__SHARDINGKEY": f"键{each % 7}", "step": str(each)}) for each in range(60)]
    given += [("rmq_sys_wheel_timer", {"REAL_TOPIC": TIMED, "REAL_QID": "0", "TIMER_OUT_MS": str(now - HOUR_MS)})]
    given += [("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": DELAYED, "REAL_QID": "0", "DELAY": str(_OF_AN_HOUR)})] * 3
    given += [("rmq_sys_wheel_timer", {"REAL_TOPIC": TIMED, "REAL_QID": "0", "TIMER_OUT_MS": str(now + HOUR_MS)})] * 3
    return [
        Message(topic=topic, queue_id=_OF_AN_HOUR - 1 if "DELAY" in properties else 0, body=b"x", properties=pack_properties(properties))
        for topic, properties in given
    ]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_keys_keep_their_order_and_messages_wait_as_before(language: str, broker: Callable[..., Broker], tmp_path: Path) -> None:
    now = time.time_ns() // 1_000_000
    store = on_disk(tmp_path, files_of(log_of(waiting(now)))) / "store"
    resends = []
    for kind in ("delay", "timer"):  # each export ends with one that waits
        of_kind = f"kind = '{kind}'" if kind == "timer" else "kind IN ('normal', 'delay')"
        assert run("export", store, "-o", tmp_path / kind, "--for-resend", "--where", of_kind).code == 0
        resends.append(Resend(program_of(language, tmp_path), tmp_path / kind))
    running = broker(CLIENT)
    for resend, count in zip(resends, (63, 4), strict=True):
        assert resend.run(running.name_server) == (0, f"{count} messages were sent, 0 before", "")
        assert resend.run(running.name_server) == (0, f"0 messages were sent, {count} before", "")  # also one that still waits
    patience = time.monotonic() + _PATIENCE
    while not nr.open(running.store).messages(topic=TIMED).count_rows():
        assert time.monotonic() < patience, "the message whose time has passed was not delivered"
        time.sleep(0.5)
    running.stop()
    sent = nr.open(running.store)
    ordered = sent.messages(topic=ORDERED, columns="queue_id,queue_offset,properties").to_table().to_pylist()
    assert len(ordered) == 60
    by_key: dict[str, list[tuple[int, int, int]]] = {}
    for row in ordered:
        properties = dict(row["properties"])
        by_key.setdefault(properties["__SHARDINGKEY"], []).append((row["queue_id"], row["queue_offset"], int(properties["step"])))
    assert len({queue for rows in by_key.values() for queue, _, _ in rows}) > 1
    for rows in by_key.values():
        assert len({queue for queue, _, _ in rows}) == 1
        assert [step for _, _, step in sorted(rows)] == sorted(step for _, _, step in rows)
    delayed = sent.messages(where="kind = 'delay'", columns="real_topic,delay_level").to_table().to_pylist()
    assert delayed == [{"real_topic": DELAYED, "delay_level": _OF_AN_HOUR}] * 3
    timers = sent.messages(where=f"kind = 'timer' AND real_topic = '{TIMED}'", columns="properties").to_table().to_pylist()
    due = {int(dict(row["properties"])["TIMER_OUT_MS"]) // 1000 for row in timers}
    assert (now + HOUR_MS) // 1000 in {each - late for each in due for late in (0, 1)}
    assert len([row for row in timers if int(dict(row["properties"])["TIMER_OUT_MS"]) > now + HOUR_MS // 2]) == 3


@pytest.mark.parametrize("version", mostly_long(VERSIONS, CLIENT))
def test_a_broker_that_stopped_is_not_a_topic_to_be_created(version: str, broker: Callable[..., Broker], export: Path) -> None:
    """The name server forgets its topics, and it was said that the topic must be created."""
    resend = Resend(program_of("python", export.parent), export)
    running = broker(version, autoCreateTopicEnable="false")
    code, _, err = resend.run(running.name_server)
    assert (code, "create the topic" in err, "not reachable" in err) == (1, True, True), err
    assert re.search(r"topic \w+ does not exist on the running brokers \([\w.-]+\)", err)
    running.stop()
    code, _, err = resend.run(running.name_server)
    assert (code, err) == (
        1,
        f"error: broker not reachable: no broker has registered with {running.name_server}. "
        "Start it, wait 30 seconds, then start this again\n",
    )


@pytest.mark.parametrize("language", mostly_long(LANGUAGES, "python"))
def test_what_cannot_be_sent_is_refused(language: str, tmp_path: Path, export: Path) -> None:
    resend = Resend(program_of(language, tmp_path), export)
    (file,) = export.glob("part-*.jsonl")
    assert resend.run("127.0.0.1:1")[0] == 1
    file.write_text(file.read_text().replace('"kind":"normal"', '"kind":"half"', 1))
    code, _, err = resend.run("x", "--dry-run")
    assert code == 2
    assert "a message of kind half without a topic of a producer. Exclude it from the export" in err
    file.write_text("{}\n")
    assert resend.run("x", "--dry-run")[0] == 2
    (export / "_summary.json").unlink()
    journal = export.with_name(f"{export.name}.sent")
    journal.unlink()
    for how in ((), ("--dry-run",)):
        assert "is not a complete export: _summary.json is missing" in resend.run("x", *how)[2]
    assert not journal.exists()
    code, _, err = resend.run("x", "--rate", "0")
    assert code == 2
    assert "--rate" in err
