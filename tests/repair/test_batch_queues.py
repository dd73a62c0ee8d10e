"""Topics of queue type BatchCQ: a record with many messages takes as many queue offsets, and so does its placeholder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.golden import Golden, unpack
from support.own_stores import STORES
from support.store_damages import patch

import native_reader as nr
from native_reader.layout.queue_entry import BATCH_ENTRY
from native_reader.testing import CommitLog
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner

FOLDER = "batchconsumequeue"
ENTRIES = {(0, 0): 2, (1, 0): 3, (0, 2): 4, (1, 3): 5, (0, 6): 1}
"""How many messages begin at a queue and queue offset, in log order."""


@pytest.fixture
def own(tmp_path: Path) -> Golden:
    return unpack("5.5.0-features", tmp_path, STORES)


def files_of(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted((store / FOLDER).rglob("0*")) if path.is_file()}


def entries_of(store: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """Messages and log offset of each entry, by queue and queue offset."""
    found = {}
    for name, content in files_of(store).items():
        for entry in np.frombuffer(content, BATCH_ENTRY):
            if entry["size"]:
                found[int(name.split("/")[-2]), int(entry["base"])] = int(entry["count"]), int(entry["offset"])
    return found


def lose(store: Path, offset: int) -> None:
    size = next(
        int(entry["size"])
        for content in files_of(store).values()
        for entry in np.frombuffer(content, BATCH_ENTRY)
        if entry["offset"] == offset
    )
    patch(next((store / "commitlog").iterdir()), offset, bytes(size))


def test_a_store_with_batch_queues_was_refused(own: Golden, tmp_path: Path) -> None:
    done = nr.open(own.root).repair(tmp_path / "new")
    assert done.is_whole
    assert files_of(tmp_path / "new") == files_of(own.root)
    assert {place: count for place, (count, _) in entries_of(tmp_path / "new").items()} == ENTRIES


@pytest.mark.parametrize("number", range(len(ENTRIES)))
@pytest.mark.parametrize("has_files", [True, False])
def test_a_lost_batch_keeps_its_queue_offsets(own: Golden, tmp_path: Path, number: int, has_files: bool) -> None:
    before, (place, count) = entries_of(own.root), list(ENTRIES.items())[number]
    lose(own.root, before[place][1])
    if not has_files:
        shutil.rmtree(own.root / FOLDER / "Inner" / str(place[0]))
    done = nr.open(own.root).repair(tmp_path / "new")
    assert done.plan.messages == 97 - count, "a record with several messages counts as one"
    after = entries_of(tmp_path / "new")
    is_last = place in ((0, 6), (1, 3))
    if has_files or not is_last:
        assert after == before
        lost = [each for each in done.to_dict()["queues"] if each["topic"] == "Inner"]
        assert [(each["queue_id"], each["messages"], each["offsets"]) for each in lost] == [
            (place[0], count, [(place[1], place[1] + count)])
        ]
    else:  # nothing tells of it
        assert after == {each: entry for each, entry in before.items() if each != place}
    again = nr.open(tmp_path / "new").repair(tmp_path / "again")
    assert again.plan.placeholders == 0
    assert files_of(tmp_path / "again") == files_of(tmp_path / "new")


@pytest.mark.parametrize("at", [0, 46, 92])
def test_a_damaged_entry_is_written_again(own: Golden, tmp_path: Path, at: int) -> None:
    before = files_of(own.root)
    patch(own.root / FOLDER / "Inner" / "0" / f"{0:020d}", at, b"\x55" * 46)
    done = nr.open(own.root).repair(tmp_path / "new")
    assert done.plan.placeholders == 0
    assert files_of(tmp_path / "new") == before


def test_all_files_gone(own: Golden, tmp_path: Path) -> None:
    before = files_of(own.root)
    shutil.rmtree(own.root / FOLDER)
    with pytest.raises(nr.RepairError, match=r"all files of batch queues .* are gone, and nothing in .* tells how large they were"):
        nr.open(own.root).repair(tmp_path / "new")
    settings = json.loads((own.folder / "settings.json").read_text())
    (tmp_path / "broker.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    nr.open(own.root, broker_conf=str(tmp_path / "broker.conf")).repair(tmp_path / "new")
    assert files_of(tmp_path / "new") == before


def test_sizes_of_another_configuration(own: Golden, tmp_path: Path) -> None:
    settings = json.loads((own.folder / "settings.json").read_text()) | {"mapperFileSizeBatchConsumeQueue": 920}
    (tmp_path / "broker.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    with pytest.raises(nr.RepairError, match="sets mapperFileSizeBatchConsumeQueue to 920, and the store has 460"):
        nr.open(own.root, broker_conf=str(tmp_path / "broker.conf")).repair(tmp_path / "new")


def test_settings_that_are_made_say_the_type_of_queues(own: Golden, tmp_path: Path) -> None:
    """A broker does not start on batch queues of a topic without it."""
    for path in (own.root / "config").glob("topics.json*"):
        path.write_bytes(b"\0" * 100)
    nr.open(own.root).repair(tmp_path / "new")
    table = json.loads((tmp_path / "new" / "config" / "topics.json").read_text())["topicConfigTable"]
    assert table["Inner"]["attributes"] == {"queue.type": "BatchCQ"}
    assert "attributes" not in table["Parent"]


def test_an_extract_of_batch_queues(tmp_path: Path) -> None:
    store = unpack("5.5.0-rare", tmp_path, STORES).root
    with pytest.raises(nr.RepairError, match="'Batched' has batch queues"):
        nr.open(store).extract(tmp_path / "new", ["Batched"])
    assert nr.open(store).extract(tmp_path / "new", ["Zip"]).plan.messages > 0


def test_inner_batches_of_an_ordinary_topic(tmp_path: Path) -> None:
    log = CommitLog(1 << 16)
    body = pack_inner([InnerMessage(b"unit")] * 3)
    log.append(Message(topic="Odd", body=body, sys_flag=INNER_BATCH, store_timestamp=1_700_000_000_000))
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    for name, content in log.files().items():
        (tmp_path / "store" / "commitlog" / name).write_bytes(content)
    with pytest.raises(nr.RepairError, match="'Odd' has inner batches, and is not of queue type BatchCQ"):
        nr.open(tmp_path / "store").repair(tmp_path / "new")
