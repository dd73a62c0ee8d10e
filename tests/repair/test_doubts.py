"""A whole record that something else in the store contradicts is named, and the evidence stays. It was kept without a word."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import entries, records_of
from support.store_damages import patch, records, segments
from support.stores import on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.testing import Message
from native_reader.verify.codes import NOTE

SYS_FLAG = 36


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack("5.5.0-killed", tmp_path, STORES).root


def record_with(store: Path, text: bytes) -> tuple[Path, int, int, int]:
    """A record with that text in its properties: its segment, position and size, and the position after the text."""
    segment = segments(store)[1]
    content = segment.read_bytes()
    wanted = (text, b"\x05Plain")
    at, size = next(each for each in records(segment)[20:] if all(part in content[each[0] : sum(each)] for part in wanted))
    return segment, at, size, content.rindex(text, at, at + size) + len(text)


def flip(path: Path, at: int, bit: int = 1) -> None:
    patch(path, at, bytes([path.read_bytes()[at] ^ bit]))


def flip_tag(store: Path) -> int:
    segment, at, _, value = record_with(store, b"TAGS\x01")
    flip(segment, value, 2)
    return int(segment.name) + at


def flip_key(store: Path) -> int:
    segment, at, _, value = record_with(store, b"UNIQ_KEY\x01")
    flip(segment, value, 2)
    return int(segment.name) + at


def garble_properties(store: Path) -> int:
    """After the tag and the keys: no entry tells of it."""
    segment, at, size, _ = record_with(store, b"UNIQ_KEY\x01")
    patch(segment, at + size - 6, b"\xff\x03\xfe\x80\x05\xc1")
    return int(segment.name) + at


def compressed(store: Path) -> int:
    segment, at, *_ = record_with(store, b"UNIQ_KEY\x01")
    flip(segment, at + SYS_FLAG + 3, 1)
    return int(segment.name) + at


def prepared(store: Path) -> int:
    segment, at, *_ = record_with(store, b"UNIQ_KEY\x01")
    flip(segment, at + SYS_FLAG + 3, 4)
    return int(segment.name) + at


def rolled_back(store: Path) -> int:
    segment, at, *_ = record_with(store, b"UNIQ_KEY\x01")
    flip(segment, at + SYS_FLAG + 3, 12)
    return int(segment.name) + at


DAMAGES: dict[Callable[[Path], int], str] = {
    flip_tag: "tag",
    flip_key: "keys",
    garble_properties: "text",
    compressed: "body",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_contradicted_record_was_kept_or_refused(store: Path, tmp_path: Path, damage: Callable[[Path], int]) -> None:
    whole = records_of(store)
    offset = damage(store)
    (_, topic, queue_id, slot, *_) = next(row for row in whole if row[0] == offset)
    before = list(entries(store, topic, queue_id))
    ended = run("repair", store, tmp_path / "new")
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    assert (ended.code, facts["placeholders"]) == (1, 1), ended.err
    assert facts["account"]["lost"] + facts["account"]["doubtful"] + facts["account"]["unreachable"] == 1
    why = DAMAGES[damage]
    expected = {"offset": offset, "why": why, "is_kept": False, "topic": topic, "queue_id": queue_id, "queue_offset": slot}
    assert facts["doubtful"] == [expected]
    assert facts["queues"] == [{"topic": topic, "queue_id": queue_id, "messages": 1, "offsets": [[slot, slot + 1]]}]
    assert records_of(tmp_path / "new") == [row for row in whole if row[0] != offset]
    new = list(entries(tmp_path / "new", topic, queue_id))
    assert [each[:2] for each in new] == [each[:2] for each in before]
    dry = nr.open(store).repair(tmp_path / "other", dry_run=True)
    assert [*dry.plan.doubts] == [offset]


def test_a_tag_in_doubt_that_is_kept_keeps_the_hash_in_its_entry(store: Path, tmp_path: Path) -> None:
    """The hash of the damaged tag took its place, and nothing showed any more what the tag was."""
    offset = flip_tag(store)
    done = nr.open(store).repair(tmp_path / "new", keep_doubtful=True)
    doubt = done.plan.doubts[offset]
    assert (doubt.why, doubt.is_kept, done.plan.placeholders, done.is_whole) == ("tag", True, 0, False)
    assert records_of(tmp_path / "new") == records_of(store)
    assert list(entries(tmp_path / "new", doubt.topic, doubt.queue_id)) == list(entries(store, doubt.topic, doubt.queue_id))
    assert {row["code"] for row in nr.open(tmp_path / "new").verify().to_table().to_pylist() if row["severity"] != NOTE} == {"entry-tag"}


@pytest.mark.parametrize("damage", [prepared, rolled_back])
def test_a_flag_of_a_transaction_is_cleared_where_an_ordinary_queue_names_the_message(
    store: Path, tmp_path: Path, damage: Callable[[Path], int]
) -> None:
    """The message was lost, though only its flag was wrong: no broker puts such a record into a queue."""
    whole = records_of(store)
    offset = damage(store)
    ended = run("repair", store, tmp_path / "new")
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    assert (ended.code, facts["placeholders"], facts["doubtful"], facts["account"]["doubtful"]) == (1, 0, [], 1), ended.err
    assert [(each["offset"], each["field"]) for each in facts["records_with_another_field"]] == [(offset, "transaction flag")]
    assert records_of(tmp_path / "new") == whole
    assert "1 message kept: a topic, queue id, queue offset or transaction flag is corrected as queues have it" in ended.err


def test_what_stops_a_client_is_lost_whatever_is_chosen(store: Path, tmp_path: Path) -> None:
    offset = compressed(store)
    done = nr.open(store).repair(tmp_path / "new", keep_doubtful=True)
    assert [(each, doubt.is_kept) for each, doubt in done.plan.doubts.items()] == [(offset, False)]


@pytest.mark.parametrize("byte", [12, 19], ids=["first half", "last byte"])
def test_a_damaged_hash_in_an_entry_is_written_again(store: Path, tmp_path: Path, byte: int) -> None:
    """Other messages of the topic have the tag of the record, and none has the hash of the entry."""
    path = min((store / "consumequeue" / "Plain" / "0").iterdir())
    before = path.read_bytes()
    flip(path, 20 * 5 + byte, 64)
    done = nr.open(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, done.plan.account.messages["doubtful"], dict(done.plan.doubts)) == (0, 1, {})
    assert (tmp_path / "new" / "consumequeue" / "Plain" / "0" / path.name).read_bytes() == before


def test_a_damaged_entry_of_the_index_contradicts_no_record(store: Path, tmp_path: Path) -> None:
    """It is not in the chain of its hash. The repair ended in its own check, after it had written everything."""
    (store / "abort").unlink(missing_ok=True)
    index = min((store / "index").iterdir())
    slots = json.loads((store.parent / "settings.json").read_text())["maxHashSlotNum"]
    count = struct.unpack_from(">i", index.read_bytes(), 36)[0]
    flip(index, 40 + 4 * slots + 20 * (count // 2) + 2, 1)
    done = nr.open(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, dict(done.plan.doubts)) == (0, {})


def test_a_packed_body_that_is_marked_as_plain_is_lost(tmp_path: Path) -> None:
    """A client hands out the packed bytes."""
    packed = zlib.compress(bytes(500))
    messages = [Message(topic="T0", body=packed, sys_flag=0x301, properties=b"TAGS\x01A\x02UNIQ_KEY\x01" + b"k" * 40) for _ in range(5)]
    log, files = healthy(messages)
    store = on_disk(tmp_path, files) / "store"
    (segment,) = (store / "commitlog").iterdir()
    patch(segment, log.placed[2].offset + SYS_FLAG + 3, b"\x00")
    done = nr.open(store).repair(tmp_path / "new")
    assert [(offset, doubt.why) for offset, doubt in done.plan.doubts.items()] == [(log.placed[2].offset, "packed")]


def test_a_wrong_store_time_of_a_delayed_message_ended_the_repair(tmp_path: Path) -> None:
    """Its entry has the time of its delivery, so a broker delivers it. The new store was called wrong, after it was written."""
    store = unpack("5.5.0-kinds", tmp_path, STORES).root
    delayed = nr.open(store).messages(topic="SCHEDULE_TOPIC_XXXX", system_topics=True, columns="physical_offset").to_table()
    offset = delayed["physical_offset"][0].as_py()
    segment = next(each for each in reversed(segments(store)) if int(each.name) <= offset)
    patch(segment, offset - int(segment.name) + 56, bytes.fromhex("1033333333333333"))
    done = nr.open(store).repair(tmp_path / "new")
    assert done.is_whole
    assert "`entry-tag`: entry 0 of queue" in (page := Path(done.page or "").read_text())
    assert "its delivery time is impossible" in page
    assert len(nr.open(tmp_path / "new").messages(topic="SCHEDULE_TOPIC_XXXX", system_topics=True, columns="topic").to_table()) == len(
        delayed
    )
