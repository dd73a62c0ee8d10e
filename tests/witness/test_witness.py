"""Each witness of the quick look: it contradicts where a store is damaged, and is silent where the store is whole."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import NAMES, STORES
from support.store_damages import of_another_broker, segments
from support.stores import on_disk
from support.verified import healthy

import native_reader as nr
from native_reader import doctor
from native_reader.sides.queues import topics_in
from native_reader.start import BETTER_NOT, BUT, NO, SO_FAR, YES, recovered
from native_reader.witness import entries, logged
from native_reader.witness import segments as looks
from native_reader.witness.contradiction import UNLISTED
from native_reader.witness.look import look_at_queues
from native_reader.witness.settings import Settings

WHOLE_BUT_CUT = ("5.5.0-failover", "5.5.0-lost-page")
"""Brokers cut these logs, and queues still name what was after it."""
KEPT = 900_000
"""Hours that no message of the stores is older than."""


@pytest.fixture(params=["small", "large"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A killed store of 6 segments, which is read whole, or only as much of it as of a large one."""
    if request.param == "large":
        for module in (logged, recovered):
            monkeypatch.setattr(module, "READ_WHOLE", 0)
        monkeypatch.setattr(looks, "_FEW", 0)
        monkeypatch.setattr(entries, "_IN_MEMORY", 2)
    return unpack("5.5.0-killed", tmp_path, STORES).root


@pytest.fixture(params=["small", "large"])
def topics(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of three topics with a queue each: T0, T1 and T2."""
    if request.param == "large":
        for module in (logged, recovered):
            monkeypatch.setattr(module, "READ_WHOLE", 0)
    return on_disk(tmp_path, healthy(300)[1]) / "store"


def kinds(store: Path) -> list[str]:
    """What contradicts, as far as it is said."""
    found = nr.open(store).diagnose(file_reserved_time=KEPT)
    return [said.kind.removeprefix("witness ") for said in found.losses if said.kind.startswith("witness ")]


def answer(store: Path) -> str:
    start = nr.open(store).diagnose(file_reserved_time=KEPT).start
    assert start is not None
    return start.outcome


def queue_files(store: Path) -> list[Path]:
    return sorted(path for path in (store / "consumequeue").rglob("*") if path.is_file())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_contradicts_in_whole_stores(tmp_path: Path, name: str) -> None:
    root = unpack(name, tmp_path, STORES).root
    logs = sorted(root.glob("commitlog_*"))
    parts = {"store_path_commit_log": ",".join(map(str, logs))} if logs else {}
    found = nr.open(root, **parts).diagnose(file_reserved_time=KEPT)
    assert [said for said in found.losses if said.kind.startswith("witness ")] == []
    assert found.start is not None
    assert found.start.outcome != BETTER_NOT


def test_a_whole_store_is_a_plain_yes_only_if_all_of_it_was_read(store: Path) -> None:
    start = nr.open(store).diagnose(file_reserved_time=KEPT).start
    assert start is not None
    is_small = logged.READ_WHOLE > 0
    assert start.outcome == (YES if start.share == 100 else SO_FAR)
    assert (start.share == 100) or not is_small


def swap(one: Path, other: Path) -> None:
    kept = one.with_name("kept")
    one.rename(kept)
    other.rename(one)
    kept.rename(other)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 3), (4, 5)])
def test_two_segments_with_each_others_names(store: Path, first: int, second: int) -> None:
    one, other = (segments(store)[place] for place in (first, second))
    swap(one, other)
    found = [said for said in nr.open(store).diagnose(file_reserved_time=KEPT).losses if said.kind == "witness wrong name"]
    named = {dict(said.values)["file"]: dict(said.values)["name"] for said in found}
    assert named == {one.as_uri(): other.name, other.as_uri(): one.name}
    assert answer(store) == BETTER_NOT


def test_a_segment_under_the_name_of_one_that_is_missing(store: Path) -> None:
    third, fourth = segments(store)[2:4]
    third.rename(fourth)
    (said,) = (each for each in nr.open(store).diagnose().losses if each.kind == "witness wrong name")
    assert dict(said.values) == {"file": fourth.as_uri(), "name": third.name}


def test_a_copy_of_a_segment_under_another_name(store: Path) -> None:
    third, fourth = segments(store)[2:4]
    shutil.copy(third, fourth)
    assert "wrong name taken" in kinds(store)


@pytest.mark.parametrize("place", [1, 2])
def test_a_segment_of_another_broker(store: Path, place: int) -> None:
    one, after = segments(store)[place : place + 2]
    of_another_broker(one, after)
    (said,) = (each for each in nr.open(store).diagnose(file_reserved_time=KEPT).losses if "foreign" in each.kind)
    assert one.as_uri() in said.text()
    assert "is of another broker" in said.text()
    assert "stored by 10.20.30.40" in said.text()
    assert answer(store) == BETTER_NOT


@pytest.mark.parametrize("other", ["T1", "T2"])
def test_a_queue_file_of_another_queue(topics: Path, other: str) -> None:
    one, theirs = (next((topics / "consumequeue" / topic / "0").iterdir()) for topic in ("T0", other))
    shutil.copy(theirs, one)
    assert kinds(topics) == ["foreign queue file"]
    assert answer(topics) == BETTER_NOT


@pytest.mark.parametrize("field", [(0, "no record"), (8, "wrong entries"), (12, "other tag")])
def test_an_entry_that_contradicts_its_record(store: Path, field: tuple[int, str]) -> None:
    at, kind = field
    one = next(path for path in queue_files(store) if path.parent.parent.name == "Plain")
    content = bytearray(one.read_bytes())
    last = len(content.rstrip(b"\0")) // 20 * 20
    content[at + 7 if at == 0 else at + 3] ^= 1
    assert last > 20
    one.write_bytes(content)
    assert kinds(store) == [kind]
    assert answer(store) == BETTER_NOT


def test_the_folder_of_a_topic_is_gone(topics: Path) -> None:
    shutil.rmtree(topics / "consumequeue" / "T1")
    assert kinds(topics) == ["queues gone" if logged.READ_WHOLE else "queues gone seen"]
    assert answer(topics) == BETTER_NOT
    assert run("doctor", topics).code == 1


def test_the_folder_of_one_queue_is_gone(store: Path) -> None:
    shutil.rmtree(store / "consumequeue" / "Plain" / "0")
    assert kinds(store) == ["queues gone" if logged.READ_WHOLE else "queues gone seen"]


def test_a_deleted_topic_is_no_loss(topics: Path) -> None:
    shutil.rmtree(topics / "consumequeue" / "T2")
    change_settings(topics, lambda table: table.pop("T2"))
    assert kinds(topics) == []


def test_a_topic_that_was_made_again_with_fewer_queues_is_no_loss(store: Path) -> None:
    """Records of the deleted topic are in no queue, and before all that its queues name."""
    (files,) = nr.open(store).stores
    names = {(each, 7): [0] for each in ("Plain",)}
    samples = look_at_queues(files)
    samples = [sample._replace(entries=tuple(each for each in sample.entries if each.offset)) for sample in samples]
    assert not list(Settings(files, samples, logged.Logged(names)).contradictions())
    assert [each.effect for each in Settings(files, samples, logged.Logged({("Plain", 7): [1 << 20]})).contradictions()] == [UNLISTED]


def change_settings(store: Path, change: Callable[[dict[str, object]], object]) -> None:
    path = store / "config" / "topics.json"
    settings = json.loads(path.read_text())
    change(settings["topicConfigTable"])
    path.write_text(json.dumps(settings))


def as_of_another(table: dict[str, object]) -> None:
    for name in list(table):
        table[f"shop_{name}"] = table.pop(name)


@pytest.mark.parametrize(("change", "kind"), [(as_of_another, "foreign topics"), (dict.clear, "no settings of topics")])
def test_settings_with_none_of_the_topics(store: Path, change: Callable[[dict[str, object]], object], kind: str) -> None:
    change_settings(store, change)
    assert kinds(store) == [kind]
    assert answer(store) == BETTER_NOT


def change_offset(store: Path, offset: int) -> None:
    path = store / "config" / "consumerOffset.json"
    path.write_text(json.dumps({"offsetTable": {"Plain@group": {"0": offset}}}))


def test_a_consumer_offset_past_the_end_of_its_queue(store: Path) -> None:
    change_offset(store, 1)
    assert kinds(store) == []
    change_offset(store, 1_000_000)
    found = kinds(store)
    assert found == ["offsets past"]
    assert answer(store) == BUT


def test_consumer_offsets_are_gone(topics: Path) -> None:
    (topics / "config" / "consumerOffset.json").unlink()
    assert kinds(topics) == []
    (topics / "config" / "subscriptionGroup.json").write_text('{"subscriptionGroupTable":{}}')
    start = nr.open(topics).diagnose(file_reserved_time=KEPT).start
    assert start is not None
    assert [each.cause.kind for each in start.reasons if each.cause.kind.startswith("no ")] == ["no offsets"]
    assert run("doctor", topics).code == 1


def test_the_first_segment_is_gone_and_cannot_have_expired(store: Path) -> None:
    segments(store)[0].unlink()
    assert kinds(store) == ["first gone"]
    assert answer(store) == BUT


def test_a_first_segment_older_than_the_retention_has_expired(store: Path) -> None:
    segments(store)[0].unlink()
    found = nr.open(store).diagnose(file_reserved_time=0)
    assert not [said for said in found.losses if said.kind == "witness first gone"]


def test_the_end_of_the_log_is_gone(store: Path) -> None:
    for path in segments(store)[-2:]:
        path.write_bytes(bytes(path.stat().st_size))
    assert kinds(store) == ["entries past"]
    assert answer(store) == BETTER_NOT


def dangling(path: Path) -> None:
    path.symlink_to("/nowhere/gone")


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [dangling, Path.mkdir, a_socket, Path.touch], ids=["link", "folder", "socket", "empty"])
@pytest.mark.parametrize("place", [0, 2])
def test_what_is_under_the_name_of_a_segment_and_is_no_file(store: Path, make: Callable[[Path], object], place: int) -> None:
    segment = segments(store)[place]
    segment.unlink()
    make(segment)
    assert "not a file" in kinds(store)
    assert answer(store) in (NO, BETTER_NOT)
    assert run("doctor", store).code == 1


def packed(path: Path) -> None:
    Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def renamed(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}.bak"))


def called_otherwise(path: Path) -> None:
    path.rename(path.with_name("copy of a segment"))


@pytest.mark.parametrize("rename", [packed, renamed, called_otherwise])
@pytest.mark.parametrize("place", [0, 2])
def test_a_missing_segment_under_another_name_is_never_moved_away(store: Path, rename: Callable[[Path], None], place: int) -> None:
    segment = segments(store)[place]
    rename(segment)
    ended = run("doctor", store)
    assert ended.code == 1
    assert "renamed" in kinds(store)
    assert segment.name in ended.out
    assert "Move it away" not in ended.out
    assert "Keep it elsewhere" not in ended.out
    assert answer(store) == NO


def test_a_look_at_many_files_shows_its_progress(store: Path) -> None:
    """First of the topics, then of the segments, each to its end."""
    seen: list[nr.Progress] = []
    nr.open(store).diagnose(progress=seen.append)
    (files,) = nr.open(store).stores
    ends = [each for each in seen if each.done == each.total]
    assert [each.rows for each in ends] == [len(topics_in(files.queues, light=True)), len(files.segments)]


def cut(packed: bytes) -> bytes:
    return packed[: len(packed) // 2]


@pytest.mark.parametrize("damage", [cut, lambda packed: b"garbage " * 999, lambda packed: b""], ids=["cut", "garbage", "empty"])
@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_cut_packed_segment_was_told_to_be_unpacked(store: Path, damage: Callable[[bytes], bytes], place: int) -> None:
    """gunzip fails on it, and removes what it wrote. What is left is written by -c."""
    segment = segments(store)[place]
    segment.with_name(f"{segment.name}.gz").write_bytes(damage(gzip.compress(segment.read_bytes())))
    segment.unlink()
    told = "\n".join(nr.open(store).diagnose(file_reserved_time=KEPT).findings)
    assert "lost" not in told
    ended = run("doctor", store)
    assert ended.code == 1
    assert (
        f"Look for a whole copy of it. This writes what is left of it, if anything: gunzip -c {segment.name}.gz > {segment.name}"
        in ended.out
    )
    assert f"gunzip {segment.name}" not in told + ended.out
    assert answer(store) == NO
    assert f"{segment.name}.gz 存在，但无法解压" in run("doctor", store, "--lang", "zh").out


def test_the_last_record_is_found_before_empty_segments(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest segments are looked at first. A broker makes some ahead of use."""
    expected = nr.open(store).diagnose(file_reserved_time=KEPT).facts["commitlog"]["last_store_timestamp"]
    monkeypatch.setattr(doctor, "_NEWEST", 1)
    last = segments(store)[-1]
    size = last.stat().st_size
    ahead = last.with_name(f"{int(last.name) + size:020}")
    ahead.write_bytes(bytes(size))
    assert expected is not None
    assert nr.open(store).diagnose(file_reserved_time=KEPT).facts["commitlog"]["last_store_timestamp"] == expected
