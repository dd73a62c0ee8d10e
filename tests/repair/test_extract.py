"""The messages of some topics in a new store: with their queue offsets and all that they contain, at other places."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents, entries
from support.store_damages import body_bit, no_queues, patch, random_bytes, tail

import native_reader as nr
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.queue_entry import FILLER_SIZE
from native_reader.repair import repair
from native_reader.repair.plan import RepairPlan
from native_reader.storage.store import StoreFiles
from native_reader.testing import CommitLog, Message
from native_reader.testing.config import offsets_json
from native_reader.verify.codes import NOTE

PLACES = ("physical_offset", "offset_msg_id", "store", "segment", "body_crc")


def rows(store: Path, *topics: str, **options: Any) -> list[dict[str, Any]]:
    """All columns of the messages, apart from those that follow from their places; without placeholders."""
    lenient = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "verify_crc": True}
    table = nr.open(store).messages(columns="*", topic=list(topics) or None, **(lenient | options)).to_table()
    kept = [row for row in table.to_pylist() if row["tags"] != PLACEHOLDER_TAG]
    return sorted(({k: v for k, v in row.items() if k not in PLACES} for row in kept), key=lambda row: (*_key(row),))


def _key(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["queue_id"], row["queue_offset"]


def findings(store: Path) -> list[dict[str, Any]]:
    return [row for row in nr.open(store).verify().to_table().to_pylist() if row["severity"] != NOTE]


@pytest.fixture
def kinds(tmp_path: Path) -> Path:
    return unpack("4.9.7-kinds", tmp_path, STORES).root


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return unpack("5.5.0-killed", tmp_path, STORES).root


def test_chosen_topics_and_nothing_else(kinds: Path, tmp_path: Path) -> None:
    before = contents(kinds)
    done = nr.open(kinds).extract(tmp_path / "new", ["Plain", "Odd"])
    assert contents(kinds) == before
    assert rows(tmp_path / "new") == rows(kinds, "Plain", "Odd")
    assert (done.plan.messages, done.is_whole) == (len(rows(kinds, "Plain", "Odd")), True)
    assert findings(tmp_path / "new") == []
    assert {path.name for path in (tmp_path / "new" / "consumequeue").iterdir()} == {"Plain", "Odd"}
    assert not (tmp_path / "new" / "abort").exists()


def test_keys_find_the_messages_at_their_new_places(kinds: Path, tmp_path: Path) -> None:
    nr.open(kinds).extract(tmp_path / "new", "Plain")
    for row in rows(kinds, "Plain")[::7]:
        found = nr.open(tmp_path / "new").messages(keys=row["keys"][0], access="trust", columns="queue_id,queue_offset")
        assert {"queue_id": row["queue_id"], "queue_offset": row["queue_offset"]} in found.to_table().to_pylist()


def test_settings_and_offsets_of_the_chosen_topics(kinds: Path, tmp_path: Path) -> None:
    (kinds / "config" / "consumerOffset.json").write_text(
        '{"dataVersion":{"counter":7},"offsetTable":{"Plain@CG_a":{0:5,1:6,9:1},"Odd@CG_a":{0:3}},"pullOffsetTable":{"Odd@CG_a":{0:3}}}'
    )
    for path in (kinds / "config").glob("lmqConsumerOffset.json*"):
        path.unlink()
    (kinds / "config" / "subscriptionGroup.json").write_text('{"subscriptionGroupTable":{"CG_a":{"groupName":"CG_a"}}}')
    nr.open(kinds).extract(tmp_path / "new", "Plain")
    config = {path.name: json.loads(path.read_text()) for path in (tmp_path / "new" / "config").iterdir()}
    assert config.keys() == {"topics.json", "subscriptionGroup.json", "consumerOffset.json"}
    assert config["subscriptionGroup.json"]["subscriptionGroupTable"].keys() == {"CG_a"}
    assert config["topics.json"]["topicConfigTable"].keys() == {"Plain"}
    assert config["consumerOffset.json"] == {
        "dataVersion": {"counter": 7},
        "offsetTable": {"Plain@CG_a": {"0": 5, "1": 6}},
        "pullOffsetTable": {},
    }


def test_no_group_of_other_topics_is_in_the_map_of_groups(kinds: Path, tmp_path: Path) -> None:
    """It was copied whole, with the groups and topics that the offsets do not have."""
    offsets = {"Plain@CG_a": {0: 5}, "Odd@CG_a": {0: 3}, "Odd@CG_b": {0: 3}}
    (kinds / "config" / "consumerOffset.json").write_text(json.dumps(offsets_json(offsets, 7)))
    nr.open(kinds).extract(tmp_path / "new", "Plain")
    found = json.loads((tmp_path / "new" / "config" / "consumerOffset.json").read_text())
    assert (found["groupTopicMap"], found["offsetTable"]) == ({"CG_a": ["Plain"]}, {"Plain@CG_a": {"0": 5}})


def test_a_queue_that_does_not_begin_at_0(tmp_path: Path) -> None:
    """Its first messages expired. The entries before the others stand for them, as a broker writes it."""
    log = CommitLog(2048, start=2048)
    for number in range(40):
        log.append(Message(topic=f"T{number % 2}", queue_offset=33 + number // 2, body=bytes(50)))
    store = tmp_path / "old" / "store"
    (store / "commitlog").mkdir(parents=True)
    for name, content in log.files().items():
        (store / "commitlog" / name).write_bytes(content)
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"storePathRootDir={store}\nmappedFileSizeCommitLog=2048\nmappedFileSizeConsumeQueue=600\nmaxIndexNum=99\nmaxHashSlotNum=9\n"
    )
    (store / "config").mkdir()
    (store / "config" / "topics.json").write_text('{"topicConfigTable":{"T0":{"topicName":"T0"},"T1":{"topicName":"T1"}}}')
    nr.open(store, broker_conf=str(conf)).extract(tmp_path / "new", "T1")
    slots = list(entries(tmp_path / "new", "T1", 0))
    assert [slot for slot, *_ in slots] == list(range(30, 53))
    assert [(offset, size) for _, offset, size, _ in slots[:3]] == [(0, FILLER_SIZE)] * 3
    assert slots[3][1] == 2048, "an offset of 0 would be that of a filler"
    assert len(list((tmp_path / "new" / "commitlog").iterdir())) == 2


@pytest.mark.parametrize("damage", [random_bytes, tail, body_bit, no_queues])
def test_an_extract_of_a_damaged_store(plain: Path, tmp_path: Path, damage: Any) -> None:
    """Lost messages have placeholders, as after a repair."""
    damage(plain, Random(1))
    settings = json.loads((plain.parent / "settings.json").read_text()) | {"storePathRootDir": plain}
    (tmp_path / "broker.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    store = nr.open(plain, broker_conf=str(tmp_path / "broker.conf"))
    done, repaired = store.extract(tmp_path / "new", "Plain"), store.repair(tmp_path / "repaired")
    doubtful = [(doubt.queue_id, doubt.queue_offset) for doubt in done.plan.doubts.values() if doubt.topic == "Plain"]
    whole = [row for row in rows(plain, "Plain", access="scan") if (row["queue_id"], row["queue_offset"]) not in doubtful]
    assert rows(tmp_path / "new", "Plain", access="scan") == whole
    assert done.plan.placeholders == repaired.plan.placeholders
    assert findings(tmp_path / "new") == []
    ends = [
        {(row["topic"], row["queue_id"]): row["max_offset"] for row in nr.open(tmp_path / name).queues().to_table().to_pylist()}
        for name in ("new", "repaired")
    ]
    assert ends[0].items() <= ends[1].items()


def test_only_the_newest_message_is_lost(plain: Path, tmp_path: Path) -> None:
    """Its placeholder, the first and the last one, has the time of the checkpoint: nothing of the damage is taken for a time."""
    newest = nr.open(plain).messages(topic="Plain", columns="physical_offset").to_table()["physical_offset"][-1].as_py()
    patch(plain / "commitlog" / f"{newest >> 16 << 16:020d}", newest % (1 << 16) + 4, b"\x55" * 60)
    before = nr.open(plain).messages(topic="Plain", fail_on_data_loss=False, mode="DROPMALFORMED").to_table()["store_timestamp"][-1]
    done = nr.open(plain).extract(tmp_path / "new", "Plain")
    log, queues, _ = struct.unpack_from(">qqq", (tmp_path / "new" / "checkpoint").read_bytes())
    assert (done.plan.placeholders, findings(tmp_path / "new")) == (1, [])
    assert log == queues == before.value // 1000


def test_an_extract_that_is_wrong_is_not_given_out(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of the user, which no checksum covers, is not what it was."""
    written = repair.write_store

    def badly_written(plan: RepairPlan, folder: str, *more: Any, **how: Any) -> StoreFiles:
        new = written(plan, folder, *more, **how)
        patch(Path(folder) / "commitlog" / f"{65536:020d}", 16, b"\x55")
        return new

    monkeypatch.setattr(repair, "write_store", badly_written)
    with pytest.raises(nr.RepairError, match="the new store is not what it should be: its messages differ after the first 0"):
        nr.open(plain).extract(tmp_path / "new", "Plain")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("SCHEDULE_TOPIC_XXXX", "'SCHEDULE_TOPIC_XXXX' belongs to the broker itself, which makes it again."),
        ("RMQ_SYS_TRANS_HALF_TOPIC", "'RMQ_SYS_TRANS_HALF_TOPIC' belongs to the broker itself, which makes it again."),
        ("Plane", "store: `rmqstore ls` lists all topics. Did you mean 'Plain'?"),
    ],
)
def test_topics_that_are_not_extracted(kinds: Path, tmp_path: Path, topic: str, message: str) -> None:
    with pytest.raises(nr.RepairError) as refused:
        nr.open(kinds).extract(tmp_path / "new", ["Plain", topic])
    assert message in str(refused.value)
    assert not (tmp_path / "new").exists()


def test_a_topic_without_messages(kinds: Path, tmp_path: Path) -> None:
    topics = json.loads((kinds / "config" / "topics.json").read_text())
    topics["topicConfigTable"]["Empty"] = {"topicName": "Empty"}
    (kinds / "config" / "topics.json").write_text(json.dumps(topics))
    with pytest.raises(nr.RepairError, match=r"has no whole message of Empty\. Choose other topics: `rmqstore ls` lists them"):
        nr.open(kinds).extract(tmp_path / "new", "Empty")


def test_the_command_and_its_page(kinds: Path, tmp_path: Path) -> None:
    ended = run("extract", kinds, tmp_path / "new", "--topic", "Plain", "-t", "Odd")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines()[-5:] == [
        "51 messages copied",
        "in the store, of these topics: 51 served",
        "in the new store: 51 served",
        "Is it safe to start a broker on the new store? yes",
        f"the new store was written and checked, and serves all messages of its topics; see {tmp_path / 'new' / 'extract.md'}",
    ]
    page = (tmp_path / "new" / "extract.md").read_text()
    assert page.startswith("# Extract\n\nThe store, which was only read: `/")
    assert "- **Topics:** Plain, Odd\n- **Copied:** 51 messages, each with its queue offset, tags, keys and unique id.\n" in page
    assert json.loads((tmp_path / "new" / "extract.json").read_text())["topics"] == ["Plain", "Odd"]
    assert run("verify", tmp_path / "new").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new",), "error: An extract needs a topic: --topic NAME."),
        (("new", "--topic", "Plain", "--option", "access=scan"), "error: This command takes no other options: --option access."),
    ],
)
def test_wrong_arguments(kinds: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = run("extract", kinds, tmp_path / arguments[0], *arguments[1:])
    assert (ended.code, ended.err.splitlines()[-1]) == (2, message)


@pytest.mark.parametrize("backup", [True, False])
@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json"])
def test_settings_that_cannot_be_read_stopped_the_extract_while_it_wrote(kinds: Path, tmp_path: Path, name: str, backup: bool) -> None:
    """The dry run said nothing of them."""
    (kinds / "config" / f"{name}.bak").unlink(missing_ok=True)
    for each in (name, f"{name}.bak") if backup else (name,):
        (kinds / "config" / each).write_text("<html>")
    planned, done = (nr.open(kinds).extract(tmp_path / "new", "Plain", dry_run=dry) for dry in (True, False))
    expected = "derived" if name == "topics.json" else "left out" if backup else "lost"
    assert dict(planned.plan.mended) == dict(done.plan.mended) == {name: expected}
    assert (planned.is_whole, done.is_whole) == (False, False)
    assert (tmp_path / "new" / "config" / name).exists() == (name == "topics.json")
    assert rows(tmp_path / "new") == rows(kinds, "Plain")
    assert any(f"`{name}`" in line for line in planned.lines())


def test_an_extract_goes_on_without_a_table_that_is_none(kinds: Path, tmp_path: Path) -> None:
    """It stopped while it wrote."""
    (kinds / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Plain@CG_a":{0:5}},"pullOffsetTable":7}')
    nr.open(kinds).extract(tmp_path / "new", "Plain")
    assert json.loads((tmp_path / "new" / "config" / "consumerOffset.json").read_text())["pullOffsetTable"] == {}
