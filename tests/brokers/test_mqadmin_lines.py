"""The lines of `mqadmin` at the end of a repair's page, run as they are pasted, show what a broker has of the new store."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from rocketmq import Java, running
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import opened
from support.store_damages import wrong_magic

import native_reader as nr

pytestmark = pytest.mark.long
_BROKER = "broker-of-the-page"


def _said(java: Java, home: Path, page: str, name_server: str) -> dict[str, str]:
    """What each line printed, by its words after `mqadmin`. It must end with 0."""
    (lines,) = re.findall(r"```bash\n(NAMESRV=.*?)```", page, re.DOTALL)
    assert lines.startswith("NAMESRV=127.0.0.1:9876\nBROKER=broker-a\n")
    admin = shlex.join(java.command("org.apache.rocketmq.tools.command.MQAdminStartup", home=home))
    found = {}
    for line in lines.splitlines()[2:]:
        script = f'sh() {{ shift; {admin} "$@"; }}; NAMESRV={name_server}; BROKER={_BROKER}; {line}'
        ended = subprocess.run(["bash", "-eu", "-c", script], cwd=home, capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == 0, (line, ended.stdout, ended.stderr)
        found[line.removeprefix("sh bin/mqadmin ")] = ended.stdout
    return found


@pytest.mark.parametrize(("name", "version"), [("4.9.7-killed-pooled", "4.9.7"), ("5.5.0-killed", "5.5.0")])
def test_each_line_shows_the_new_store(rocketmq: Callable[[str], Java], tmp_path: Path, name: str, version: str) -> None:
    own = unpack(name, tmp_path, STORES)
    wrong_magic(own.root, Random(1))
    new = tmp_path / "new"
    opened(own.root).repair(new)
    page = (new / "repair.md").read_text()
    queues = {(row["topic"], row["queue_id"]): row for row in nr.open(new).table("queues").to_table().to_pylist()}
    settings = json.loads((own.folder / "settings.json").read_text()) | {"brokerName": _BROKER, "storePathRootDir": new}
    with running(rocketmq(version), tmp_path / "home", **settings) as broker:
        said = _said(broker.java, broker.home, page, broker.name_server)
    assert broker.address in said['clusterList -n "$NAMESRV"']
    topics = {line.partition(" -t ")[2]: text for line, text in said.items() if line.startswith("topicStatus")}
    assert topics
    for topic, text in topics.items():
        shown = {
            int(queue): (int(low), int(high)) for queue, low, high in re.findall(rf"^{_BROKER}\s+(\d+)\s+(\d+)\s+(\d+)", text, re.MULTILINE)
        }
        ours = {queue: (row["min_offset"], row["max_offset"]) for (of, queue), row in queues.items() if of == topic}
        assert ours
        assert ours.items() <= shown.items()
    (message,) = (text for line, text in said.items() if line.startswith("queryMsgByOffset"))
    assert re.search(r"^OffsetID:\s+[0-9A-F]{32}$", message, re.MULTILINE), message
