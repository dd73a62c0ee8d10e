"""Damage beside the records: queues, the index, the checkpoint, settings, names of files and the first segment."""

from __future__ import annotations

import json
import re
import shutil
import struct
from pathlib import Path
from random import Random

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents, entries, records_of
from support.store_damages import patch, records, segments

import native_reader as nr
from native_reader.broker.progress import checkpoint_of
from native_reader.broker.versions import oldest_version

HTML = b"<html><body>502 Bad Gateway</body></html>"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack("5.5.0-killed", tmp_path, STORES).root


def log_and_queues(store: Path) -> dict[str, bytes]:
    return {path: content for path, content in contents(store).items() if path.startswith(("commitlog", "consumequeue"))}


def facts(store: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((store / "repair.json").read_text())
    return found


def test_a_live_queue_without_files_was_left_out_as_deleted(store: Path, tmp_path: Path) -> None:
    """The settings have the topic. New messages began at offset 0 there, while groups stood far after it."""
    before = [list(entries(store, "Plain", number)) for number in range(4)]
    shutil.rmtree(store / "consumequeue" / "Plain" / "0")
    ended = run("repair", store, tmp_path / "new")
    assert ended.code == 0, ended.err
    assert [list(entries(tmp_path / "new", "Plain", number)) for number in range(4)] == before
    assert facts(tmp_path / "new")["left_out"] == {}
    assert list(facts(tmp_path / "new")["queues_made_again"]) == ["Plain"]  # type: ignore[call-overload]


@pytest.mark.parametrize("source", [("Plain", "1"), ("Plain", "0")], ids=["of another queue", "of another part of the queue"])
def test_another_file_in_the_place_of_that_of_a_queue_was_refused(store: Path, tmp_path: Path, source: tuple[str, str]) -> None:
    before = list(entries(store, "Plain", 0))
    first, *later = sorted((store / "consumequeue" / "Plain" / "0").iterdir())
    other = min((store / "consumequeue").joinpath(*source).iterdir()) if source[1] != "0" else later[0]
    shutil.copy(other, first)
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.placeholders == 0
    assert list(entries(tmp_path / "new", "Plain", 0)) == before
    made = facts(tmp_path / "new")["queue_files_made_again"]
    assert made == done.plan.queue_files
    name = f"Plain/0/{first.name}"
    assert list(done.plan.queue_files) == [name]
    assert done.plan.queue_files[name] > 0
    (line,) = (line for line in done.lines() if "**Queue files:**" in line)
    assert line.endswith(f"Entries made again from the log: {name} {done.plan.queue_files[name]:,}.")


def test_files_of_queues_that_are_copied_are_not_said_to_be_made_again(store: Path, tmp_path: Path) -> None:
    """A broker itself adds the entries of the newest messages."""
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.queue_files == facts(tmp_path / "new")["queue_files_made_again"] == {}


def test_two_segments_with_each_others_names_lost_nothing(store: Path, tmp_path: Path) -> None:
    """Their messages were declared lost, and replaced."""
    before = log_and_queues(store)
    one, other, *_ = segments(store)
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    done = nr.open(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, dict(done.plan.renamed)) == (0, {one.name: other.name, other.name: one.name})
    assert log_and_queues(tmp_path / "new") == before
    assert done.plan.start.outcome != "yes"


def test_a_copy_of_a_segment_under_another_name_is_not_that_segment(store: Path, tmp_path: Path) -> None:
    one, other, *_ = segments(store)
    lost = len(records(other))
    shutil.copy(one, other)
    done = nr.open(store).repair(tmp_path / "new")
    assert not done.plan.renamed
    assert 0 < done.plan.placeholders <= lost


def test_a_group_after_the_end_of_its_queue_is_no_reason_to_refuse(store: Path, tmp_path: Path) -> None:
    """The reason was a wrong queue offset, or a number of damaged bytes that was the free end of the log."""
    last = segments(store)[-1]
    patch(last, records(last)[-12][0], Random(1).randbytes(6000))
    settings = store / "config" / "consumerOffset.json"
    offsets = {"Plain@late": {"0": 9000, "1": 2000}}
    settings.write_text(json.dumps({"offsetTable": offsets}))
    settings.with_name("consumerOffset.json.bak").unlink(missing_ok=True)
    done = nr.open(store).repair(tmp_path / "new")
    rows = nr.open(tmp_path / "new").queues().to_table().to_pylist()
    ended = {row["queue_id"]: row["max_offset"] for row in rows if row["topic"] == "Plain"}
    assert ended[0] < 1000
    assert done.plan.placeholders < 1000
    assert "a group has the offset 9,000 in queue 0 of Plain" in Path(done.page or "").read_text()


@pytest.mark.parametrize("names", [("topics.json", "topics.json.bak"), ("topics.json",)])
def test_settings_of_topics_that_no_broker_loads_are_made_from_the_queues(store: Path, tmp_path: Path, names: tuple[str, ...]) -> None:
    """The repair was called complete, and no broker started on its result."""
    for path in (store / "config").glob("topics.json*"):
        path.unlink()
    for name in names:
        (store / "config" / name).write_bytes(HTML)
    ended = run("repair", store, tmp_path / "new")
    assert ended.code == 1
    settings = json.loads((tmp_path / "new" / "config" / "topics.json").read_text())["topicConfigTable"]
    assert settings["Plain"]["writeQueueNums"] == len(list((store / "consumequeue" / "Plain").iterdir()))
    assert "SCHEDULE_TOPIC_XXXX" not in settings
    assert facts(tmp_path / "new")["start_of_new"]["answer"] != "no"  # type: ignore[index]


def test_a_checkpoint_of_tomorrow_is_found_before_anything_is_written(store: Path, tmp_path: Path) -> None:
    """All was written, and then refused."""
    done = nr.open(store).repair(tmp_path / "first")
    ahead = tmp_path / "first" / "checkpoint"
    times = struct.unpack_from(">3q", ahead.read_bytes())
    patch(ahead, 0, struct.pack(">3q", *(time + 86_400_000 for time in times)))
    planned = nr.open(tmp_path / "first").repair(tmp_path / "new", dry_run=True)
    assert planned.plan.checkpoint_ahead > 86_000_000
    assert not planned.is_whole
    done = nr.open(tmp_path / "first").repair(tmp_path / "new")
    assert done.plan.placeholders == 0
    assert (tmp_path / "new" / "checkpoint").read_bytes()[:24] != ahead.read_bytes()[:24]


def test_bytes_in_the_slots_of_an_index_are_found_before_anything_is_written(store: Path, tmp_path: Path) -> None:
    nr.open(store).repair(tmp_path / "first")
    index = min((tmp_path / "first" / "index").iterdir())
    patch(index, 80, Random(1).randbytes(300))
    assert "index-slot" in nr.open(tmp_path / "first").repair(tmp_path / "new", dry_run=True).plan.flaws
    done = nr.open(tmp_path / "first").repair(tmp_path / "new")
    assert done.is_whole
    assert nr.open(tmp_path / "new").repair(tmp_path / "other", dry_run=True).plan.flaws == ()


def test_a_first_segment_that_was_too_young_to_expire_is_lost(store: Path, tmp_path: Path) -> None:
    """Its messages were gone with exit code 0 and the words that nothing was lost."""
    first = segments(store)[0]
    whole = records_of(store)
    first.unlink()
    ended = run("repair", store, tmp_path / "new")
    assert ended.code == 1
    named = {
        (each["topic"], each["queue_id"], slot)
        for each in facts(tmp_path / "new")["queues"]  # type: ignore[attr-defined]
        for start, stop in each["offsets"]
        for slot in range(start, stop)
    }
    assert named == {row[1:4] for row in whole if row[0] < int(segments(store)[0].name)}
    assert re.search(rf"^warning: in the damaged store: .* {len(named)} lost$", ended.err, re.MULTILINE), ended.err
    assert f"- **Before the log:** {len(named)} messages that queues name" in (tmp_path / "new" / "repair.md").read_text()
    assert "no loss found" not in (tmp_path / "new" / "repair.md").read_text()


@pytest.mark.parametrize("content", [bytes(8), b"\0\0\0\1", b"\x7f"])
def test_a_damaged_mark_of_the_end_of_a_segment_is_no_loss(store: Path, tmp_path: Path, content: bytes) -> None:
    """The command ended with 1, and the page named nothing."""
    segment = segments(store)[0]
    whole = log_and_queues(store)
    patch(segment, sum(records(segment)[-1]), content)
    ended = run("repair", store, tmp_path / "new")
    assert ended.code == 0, ended.err
    assert log_and_queues(tmp_path / "new") == whole
    assert "- **Ends of segments:**" in (tmp_path / "new" / "repair.md").read_text()


def test_a_segment_with_a_suffix_has_its_name_in_the_new_store(store: Path, tmp_path: Path) -> None:
    whole, segment = records_of(store), segments(store)[1]
    segment.rename(segment.with_name(f"{segment.name}.bak"))
    done = nr.open(store).repair(tmp_path / "new")
    assert (records_of(tmp_path / "new"), done.plan.placeholders) == (whole, 0)
    assert dict(done.plan.renamed) == {f"{segment.name}.bak": segment.name}
    page = (tmp_path / "new" / "repair.md").read_text()
    assert f"segment `{segment.name}.bak` is `{segment.name}`: each of its records says so" in page


def test_a_packed_segment_is_refused_with_the_command_that_brings_it_back(store: Path, tmp_path: Path) -> None:
    segment = segments(store)[1]
    segment.rename(segment.with_name(f"{segment.name}.7z"))
    ended = run("repair", str(store), str(tmp_path / "new"))
    assert (ended.code, f"7z x {segment.name}.7z" in ended.err) == (3, True), ended.err


def test_a_log_on_two_disks_was_refused(tmp_path: Path) -> None:
    """A broker writes its segments to both in turn (storePathCommitLog). Then one segment is gone."""
    store = unpack("5.5.0-multipath", tmp_path, STORES).root
    logs = [store / "commitlog_a", Path(shutil.move(store / "commitlog_b", tmp_path / "disk_b"))]
    paths = ",".join(map(str, logs))
    before = contents(store)
    queues = {path: content for path, content in before.items() if path.startswith("consumequeue")}
    whole = sorted(path for each in logs for path in each.iterdir())
    done = nr.open(store, store_path_commit_log=paths).repair(tmp_path / "new")
    assert {path.name: path.read_bytes() for path in whole} == {
        path.name: path.read_bytes() for path in (tmp_path / "new/commitlog").iterdir()
    }
    assert {path: content for path, content in log_and_queues(tmp_path / "new").items() if path.startswith("consumequeue")} == queues
    assert not list((tmp_path / "new").glob("commitlog_*"))
    assert (contents(store), done.plan.is_whole) == (before, True)
    assert "Leave `storePathCommitLog` out of that configuration" in (tmp_path / "new" / "repair.md").read_text()
    whole[1].unlink()
    done = nr.open(store, store_path_commit_log=paths).repair(tmp_path / "second")
    assert done.plan.messages + done.plan.placeholders == 600
    assert len(segments(tmp_path / "second")) == 4
    assert done.start.outcome in ("yes", "yes, but")


@pytest.mark.parametrize(
    ("name", "confirmed", "dispatched"),
    [("4.9.7-kinds", False, False), ("5.5.0-grpc", False, False), ("5.5.0-lost-page", True, True), ("5.5.0-killed", True, True)],
)
def test_a_store_looked_like_one_of_a_later_version_after_its_repair(
    tmp_path: Path, name: str, *, confirmed: bool, dispatched: bool
) -> None:
    """Its checkpoint had offsets, which only later brokers write. That of the killed broker was never written."""
    old = unpack(name, tmp_path, STORES).root
    (segment, *_) = sorted((old / "commitlog").iterdir())
    offset = nr.open(old).messages(columns="physical_offset", where="kind = 'normal'").to_table()["physical_offset"].to_pylist()[3]
    patch(segment, offset, bytes(100))
    nr.open(old).repair(tmp_path / "new")
    found = checkpoint_of((tmp_path / "new").as_uri())
    assert (found.confirmed > 0, found.dispatched > 0, found.newest > 0) == (confirmed, dispatched, True)
    (before,), (after,) = nr.open(old).stores, nr.open(tmp_path / "new").stores
    assert name == "5.5.0-killed" or oldest_version(before) == oldest_version(after)


def test_filler_of_a_repaired_log_was_counted_as_served(store: Path, tmp_path: Path) -> None:
    """`verify` and `doctor --full` counted the records between placeholders, too: more than the page of the repair says."""
    segment = segments(store)[2]
    patch(segment, records(segment)[5][0] + 20, bytes(4000))
    done = nr.open(store).repair(tmp_path / "new")
    assert done.account is not None
    assert done.plan.placeholders > 0
    fillers = nr.open(tmp_path / "new").messages(topic="RMQSTORE_LOST").to_table()
    assert set(fillers["kind"].to_pylist()) == {"rollback"}
    check = nr.open(tmp_path / "new").verify()
    check.to_table()
    assert dict(check.account.messages) == dict(done.account.messages) == {"served": done.plan.messages + done.plan.placeholders}
