"""What a user can choose: records that are kept though a part of them is damaged, and a single master."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from random import Random

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents, entries, records_of
from support.store_damages import PAGE, body_bit, patch, random_bytes, records, segments, torn_properties
from support.stores import on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.testing import Message
from native_reader.verify.codes import NOTE


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack("5.5.0-killed", tmp_path, STORES).root


def findings(store: Path) -> set[str]:
    return {row["code"] for row in nr.open(store).verify().to_table().to_pylist() if row["severity"] != NOTE}


def middle(store: Path) -> tuple[Path, int, int]:
    """A record: its segment, its position there, and its size."""
    segment = segments(store)[1]
    found = records(segment)
    return segment, *found[len(found) // 2]


def test_a_wrong_checksum_is_corrected_and_nothing_else(store: Path, tmp_path: Path) -> None:
    body_bit(store, Random(1))
    segment, at, _ = middle(store)
    done = nr.open(store).repair(tmp_path / "new", crc="fix")
    old, new = segment.read_bytes(), (tmp_path / "new" / "commitlog" / segment.name).read_bytes()
    assert (old[: at + 8], old[at + 12 :]) == (new[: at + 8], new[at + 12 :])
    (size,) = struct.unpack_from(">i", new, at + 84)
    assert new[at + 8 : at + 12] == (zlib.crc32(new[at + 88 : at + 88 + size]) & 0x7FFFFFFF).to_bytes(4)
    assert findings(tmp_path / "new") == set()
    assert (done.plan.messages, done.plan.placeholders, done.is_whole) == (800, 0, False)
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    assert facts["records_with_another_checksum"] == [int(segment.name) + at]
    assert facts["choices"] == {"crc": "fix", "keep_doubtful": False, "single": False, "link": False, "plain": False, "tier": ""}
    assert (
        "- **With another checksum:** 1 message, kept. Consumers get a body that is not what was sent." in Path(done.page or "").read_text()
    )


def test_a_body_that_does_not_decompress_is_dropped(tmp_path: Path) -> None:
    """A client stops at it, and loses the messages that follow in the same answer."""
    messages = [
        Message(topic="T0", body=zlib.compress(Random(number).randbytes(100)), sys_flag=1, properties=b"TAGS\x01A\x02")
        for number in range(9)
    ]
    log, files = healthy(messages)
    store = on_disk(tmp_path, files) / "store"
    (segment,) = (store / "commitlog").iterdir()
    for number in (3, 5):
        patch(segment, log.placed[number].offset + 88, b"\xff")
    patch(segment, log.placed[7].offset + 8, b"\x01\x02\x03\x04")
    done = nr.open(store).repair(tmp_path / "new", crc="fix")
    assert set(done.plan.corrected) == {log.placed[7].offset}
    assert done.plan.placeholders == 2
    assert nr.open(tmp_path / "new").messages(columns="body", where=f"physical_offset = {log.placed[7].offset}").to_table().to_pylist() == [
        {"body": Random(7).randbytes(100)}
    ]


def test_what_a_broker_would_do_is_said_of_the_wrong_checksum(store: Path, tmp_path: Path) -> None:
    """The plan reads the log without looking at checksums a second time."""
    body_bit(store, Random(1))
    dropped, fixed = (nr.open(store).repair(tmp_path / "new", dry_run=True, crc=crc).plan.start for crc in ("drop", "fix"))
    assert dropped == fixed


def test_a_record_without_tag_is_kept_on_request(store: Path, tmp_path: Path) -> None:
    torn_properties(store, Random(1))
    segment, at, _ = middle(store)
    offset, before = int(segment.name) + at, contents(store)
    done = nr.open(store).repair(tmp_path / "new", keep_doubtful=True)
    assert (done.plan.doubtful, done.plan.messages, done.plan.placeholders, done.is_whole) == ((offset,), 800, 0, False)
    assert records_of(tmp_path / "new") == records_of(store)
    assert contents(store) == before
    (row,) = nr.open(store).messages(columns="topic,queue_id,queue_offset,tags", where=f"physical_offset = {offset}").to_table().to_pylist()
    old, new = (list(entries(each, row["topic"], row["queue_id"])) for each in (store, tmp_path / "new"))
    assert (row["tags"], old) == (None, new), "the entry is the only evidence that the message has a tag"
    assert findings(tmp_path / "new") == {"entry-tag", "record-properties"}
    assert "- **Doubtful:** some messages are kept as on the disk, with their queue entries, although" in Path(done.page or "").read_text()


def test_a_record_before_a_page_of_zeros_is_kept_on_request(store: Path, tmp_path: Path) -> None:
    segment, at, size = middle(store)
    patch(segment, at + size - 8, bytes(PAGE))
    done = nr.open(store).repair(tmp_path / "new", keep_doubtful=True)
    assert done.plan.doubtful == (int(segment.name) + at,)
    assert int(segment.name) + at in {row[0] for row in records_of(tmp_path / "new")}


def test_a_wrong_choice_names_the_right_one(store: Path, tmp_path: Path) -> None:
    ended = run("repair", store, tmp_path / "new", "--crc", "fxi")
    assert (ended.code, ended.err.splitlines()[-1]) == (2, "error: --crc must be one of drop, fix, not 'fxi'. Did you mean 'fix'?")


def test_the_command_says_what_was_kept(store: Path, tmp_path: Path) -> None:
    body_bit(store, Random(1))
    torn_properties(store, Random(1))
    first = segments(store)[0]
    patch(first, records(first)[5][0] + 95, b"\xff")
    ended = run("repair", store, tmp_path / "new", "--crc", "fix", "--keep-doubtful", "--dry-run")
    assert ended.code == 1
    assert "warning: 2 messages kept with a changed body and another checksum" in ended.err
    assert "warning: doubtful messages are kept as on the disk, with their queue entries; the page names them" in ended.err


@pytest.fixture
def controlled(tmp_path: Path) -> Path:
    """A failover discarded its last 40 records. They are still in the log, after those of the new master."""
    return unpack("5.5.0-failover", tmp_path, STORES).root


def test_a_single_master_does_not_get_what_a_failover_discarded(controlled: Path, tmp_path: Path) -> None:
    """A broker without a controller would take old records after the end of the log for its own."""
    whole, (before,) = records_of(controlled), nr.open(controlled).messages().plan().ends
    assert nr.open(controlled).messages().plan().stale
    done = nr.open(controlled).repair(tmp_path / "new", single=True)
    assert (done.is_whole, done.plan.end) == (True, before[1])
    assert done.plan.account.is_whole, "an index entry of a discarded record made a later one doubtful"
    assert records_of(tmp_path / "new") == whole
    assert not (tmp_path / "new" / "epochFileCheckpoint").exists()
    (last,) = (path for path in (tmp_path / "new" / "commitlog").iterdir() if int(path.name) <= before[1] < int(path.name) + 65536)
    assert not any(last.read_bytes()[before[1] - int(last.name) :])
    assert not nr.open(tmp_path / "new").messages().plan().stale
    named = [offset for queue_id in range(4) for _, offset, _, _ in entries(tmp_path / "new", "Plain", queue_id)]
    assert sorted(named) == [row[0] for row in whole if row[1] == "Plain"]
    assert findings(tmp_path / "new") == set()
    assert "but `enableControllerMode=false`, alone: no controller, no slave, no clients" in Path(done.page or "").read_text()


def test_lost_messages_of_a_single_master_have_placeholders(controlled: Path, tmp_path: Path) -> None:
    random_bytes(controlled, Random(1))
    whole = records_of(controlled)
    done = nr.open(controlled).repair(tmp_path / "new", single=True)
    assert done.plan.placeholders > 0
    assert done.plan.doubtful, "the first one has random bytes in its properties"
    assert records_of(tmp_path / "new") == [row for row in whole if row[0] not in done.plan.doubtful]
    assert findings(tmp_path / "new") == set()


def test_an_extract_is_no_copy_of_a_log_with_slaves(controlled: Path, tmp_path: Path) -> None:
    """It is for a broker elsewhere, so it needs no choice."""
    nr.open(controlled).extract(tmp_path / "new", "Plain")
    assert len(records_of(tmp_path / "new")) == sum(row[1] == "Plain" for row in records_of(controlled))


def test_a_single_master_on_the_command_line(controlled: Path, tmp_path: Path) -> None:
    refused = run("repair", controlled, tmp_path / "new")
    assert "or make one of a single master, without a controller and slaves: --single" in refused.err
    assert run("repair", controlled, tmp_path / "new", "--single").code == 0
