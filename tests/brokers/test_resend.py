"""examples/resend sends an export to a real broker: each message once, also if it is killed in between."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from rocketmq import VERSIONS, Broker, Java
from support.command_line import run
from support.golden import Golden

import native_reader as nr

EXAMPLE = Path(__file__).parents[2] / "examples" / "resend" / "Resend.java"
CLIENT = "5.5.0"
SELECTED = "topic IN ('Plain', 'Batch', 'Paid') OR kind = 'dlq'"
_ADDED = "resent_from"
_PATIENCE = 150


class Resend:
    """The example, compiled, for one export."""

    def __init__(self, folder: Path, export: Path) -> None:
        self._jars, self._classes, self.export = Java(CLIENT).classpath, folder / "classes", export
        command = ["javac", "--release", "11", "-nowarn", "-proc:none", "-d", str(self._classes), "-cp", self._jars, str(EXAMPLE)]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert compiled.returncode == 0, compiled.stderr

    @property
    def noted(self) -> int:
        """How many messages were begun."""
        journal = self.export.with_name(f"{self.export.name}.sent")
        return journal.read_text().count("\n") if journal.exists() else 0

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        home = f"-Drocketmq.client.logRoot={self._classes}"
        command = ["java", "-XX:TieredStopAtLevel=1", home, "-cp", f"{self._classes}:{self._jars}", "Resend", str(self.export), *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_without_options())

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=_PATIENCE)
        return process.returncode, out.splitlines()[-1] if out else "", err  # before it, the logging of the broker's classes


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
@pytest.mark.parametrize("version", VERSIONS)
def test_each_message_is_sent_once_over_a_kill(
    version: str, broker: Callable[..., Broker], tmp_path: Path, export: Path, own_store: Callable[[str], Golden]
) -> None:
    expected = sent_of(nr.open(own_store("5.5.0-kinds").root), SELECTED)
    resend = Resend(tmp_path, export)
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


@pytest.mark.long
def test_what_cannot_be_sent_is_refused(tmp_path: Path, export: Path) -> None:
    resend = Resend(tmp_path, export)
    (file,) = export.glob("part-*.jsonl")
    assert resend.run("x")[0] == 1
    file.write_text(file.read_text().replace('"kind":"normal"', '"kind":"half"', 1))
    code, _, err = resend.run("x", "--dry-run")
    assert code == 2
    assert "a message of kind half without a topic of a producer. Exclude it from the export" in err
    (export / "_summary.json").unlink()
    assert "is not a complete export: _summary.json is missing" in resend.run("x", "--dry-run")[2]
    assert resend.run("x", "--rate", "0")[2].startswith("error: usage: Resend FOLDER NAMESERVER")
