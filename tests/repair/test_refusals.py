"""What a repair refuses, and that it never leaves something that looks finished."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.golden import unpack
from support.locks import held
from support.own_stores import STORES
from support.store_damages import of_another_broker, patch, random_bytes, records, segments, tail, wrong_magic

import native_reader as nr
from native_reader.repair import disk, proof, repair
from native_reader.repair.kept_keys import KeptKeys
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import ReadSettings
from native_reader.sentences import Said
from native_reader.sentences.refusals import REFUSALS
from native_reader.storage.broker_conf import FileSizes, file_sizes
from native_reader.storage.store import UNFINISHED, StoreFiles
from native_reader.testing import CommitLog, Message, encode
from rmqstore.results import said_of_repair


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack("5.5.0-killed", tmp_path, STORES).root


def refused(store: Path, target: Path) -> str:
    with pytest.raises(nr.RepairError) as raised:
        nr.open(store).repair(target)
    return str(raised.value)


def test_a_store_that_a_broker_uses(store: Path, tmp_path: Path) -> None:
    (store / "lock").write_bytes(b"lock")
    with held(store / "lock"):
        assert "is in use by a broker. Stop the broker first" in refused(store, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_folder_with_something_in_it(store: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "notes.txt").write_text("mine")
    assert "is not empty: it contains notes.txt. Choose a new or empty folder" in refused(store, tmp_path / "new")


@pytest.mark.parametrize("inside", ["", "new", "commitlog/new"])
def test_a_folder_inside_the_store(store: Path, inside: str) -> None:
    with pytest.raises(nr.OptionError, match="is inside the store"):
        nr.open(store).repair(store / inside)


def test_a_disk_that_is_too_small(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda _: 1000)
    assert "has 1,000 bytes free, and the new store needs" in refused(store, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(nr.RepairError, match="has 1,000 bytes free"):
        nr.open(store).repair(tmp_path / "new", dry_run=True)


@pytest.mark.parametrize("stops", [nr.RepairError("refused"), KeyboardInterrupt()])
def test_nothing_is_left_where_the_plan_is_refused(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: BaseException
) -> None:
    """Segments are copied while it is made. After an interruption, the same repair uses them."""
    copied = []

    def planned(files: StoreFiles, how: object, kept: object) -> RepairPlan:
        copied.append(wait_for(tmp_path / "new.repairing" / "commitlog"))
        raise stops

    monkeypatch.setattr(repair, "_plan", planned)
    with pytest.raises(type(stops)):
        nr.open(store).repair(tmp_path / "new")
    assert copied[0]
    left = {"new.repairing"} if isinstance(stops, KeyboardInterrupt) else set()
    assert {path.name for path in tmp_path.iterdir()} == {store.parent.name} | left


def wait_for(folder: Path) -> list[str]:
    """The names in a folder, once there are some."""
    until = time.monotonic() + 30
    while not (folder.exists() and os.listdir(folder)) and time.monotonic() < until:
        time.sleep(0.01)
    return os.listdir(folder)


def test_nothing_is_written_before_the_plan_where_room_is_scarce(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, log = repair._plan, sum(path.stat().st_blocks * 512 for path in (store / "commitlog").iterdir())
    found = []

    def plan(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None = None) -> RepairPlan:
        done = planned(files, settings, kept)
        found.append(os.listdir(tmp_path / "new.repairing"))
        return done

    monkeypatch.setattr(repair, "_plan", plan)
    monkeypatch.setattr(disk, "free_bytes", lambda _: 2 * log - 1)
    nr.open(store).repair(tmp_path / "new")
    assert "commitlog" not in found[0]


def test_a_segment_that_the_new_log_lacks_is_not_left(store: Path, tmp_path: Path) -> None:
    """It is after the end of the log, holds junk, and was copied before that was known."""
    *names, spare = sorted(path.name for path in (store / "commitlog").iterdir())
    (store / "commitlog" / spare).write_bytes(Random(1).randbytes(65536))
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.shape.has_junk
    assert sorted(path.name for path in (tmp_path / "new" / "commitlog").iterdir()) == names


def test_a_store_in_an_archive(tmp_path: Path) -> None:
    with pytest.raises(nr.RepairError, match="is not a directory of this machine"):
        nr.open(f"tar+file://{_plain_tar(tmp_path)}/store").repair(tmp_path / "new")


def _plain_tar(tmp_path: Path) -> Path:
    import tarfile

    found = unpack("5.5.0-killed", tmp_path, STORES).root
    with tarfile.open(tmp_path / "store.tar", "w") as archive:
        archive.add(found, "store")
    return tmp_path / "store.tar"


def test_a_log_without_any_whole_record(store: Path, tmp_path: Path) -> None:
    for segment in (store / "commitlog").iterdir():
        patch(segment, 0, b"\xff" * segment.stat().st_size)
    with pytest.raises(nr.StoreError, match="has no whole record, so there is nothing to repair"):
        nr.open(store).repair(tmp_path / "new")


def test_a_segment_that_is_too_large(store: Path, tmp_path: Path) -> None:
    os.truncate(sorted((store / "commitlog").iterdir())[-1], 70_000)
    assert "has 70,000 bytes, and others begin 65,536 bytes apart" in refused(store, tmp_path / "new")


def test_wrong_queue_offsets_in_adjacent_records(store: Path, tmp_path: Path) -> None:
    """No checksum covers them. Millions of placeholders must not be made for them."""
    segment = segments(store)[1]
    for at, _ in records(segment)[40:48]:
        patch(segment, at + 20, (2**40).to_bytes(8, "big"))
    assert "the queue offsets of queue" in refused(store, tmp_path / "new")


def test_a_segment_of_another_broker_was_refused_for_queue_offsets(store: Path, tmp_path: Path) -> None:
    one, after = segments(store)[2:4]
    of_another_broker(one, after)
    said = refused(store, tmp_path / "new")
    assert f"{one.as_uri()} is of another broker" in said
    assert "Look for the right file. Without it, move this one away, and repair again" in said
    assert not (tmp_path / "new").exists()
    one.unlink()
    assert nr.open(store).repair(tmp_path / "new").path == str(tmp_path / "new")


def test_queues_that_are_gone_without_a_configuration(store: Path, tmp_path: Path) -> None:
    """A broker does not start on queue files of another size than its own, so the exit code is not 0."""
    shutil.rmtree(store / "consumequeue")
    done = nr.open(store).repair(tmp_path / "new")
    assert {path.stat().st_size for path in (tmp_path / "new" / "consumequeue").glob("*/*/*")} == {6_000_000}
    assert (done.is_whole, done.plan.is_whole, done.to_dict()["assumed_queue_file_bytes"]) == (False, True, 6_000_000)
    assert "repair again, and name its configuration" in (tmp_path / "new" / "repair.md").read_text()
    assert [said.kind for said in said_of_repair(done) if said.kind == "warning"]


@pytest.mark.parametrize(("name", "value"), [("mappedFileSizeCommitLog", 131072), ("mappedFileSizeConsumeQueue", 6_000_000)])
def test_a_configuration_of_other_sizes(store: Path, tmp_path: Path, name: str, value: int) -> None:
    settings = {"storePathRootDir": store, "mappedFileSizeCommitLog": 65536, "mappedFileSizeConsumeQueue": 600} | {name: value}
    (tmp_path / "broker.conf").write_text("".join(f"{each}={value}\n" for each, value in settings.items()))
    with pytest.raises(nr.RepairError, match=f"sets {name} to {value:,}, and the store has"):
        nr.open(store, broker_conf=str(tmp_path / "broker.conf")).repair(tmp_path / "new")


def test_a_packed_segment(store: Path, tmp_path: Path) -> None:
    import gzip

    first = sorted((store / "commitlog").iterdir())[0]
    (first.parent / f"{first.name}.gz").write_bytes(gzip.compress(first.read_bytes()))
    first.unlink()
    assert f"Restore it first, in its directory: gunzip {first.name}.gz" in refused(store, tmp_path / "new")


def test_an_interrupted_repair_never_looks_finished(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_magic(store, Random(1))
    with monkeypatch.context() as patched:
        patched.setattr(repair, "prove", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            nr.open(store).repair(tmp_path / "new")
    assert not (tmp_path / "new").exists(), "a broker would start on it"
    nr.open(store).repair(tmp_path / "new")
    assert not (tmp_path / "new.repairing").exists()


def test_a_write_that_fails_says_how_to_start_again(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "copy", full)
    with pytest.raises(
        nr.ExportError, match=r"new\.repairing: could not write: .*No space left.*Start the same repair again to continue it$"
    ):
        nr.open(store).repair(tmp_path / "new")


@pytest.mark.parametrize(
    "spoiled",
    [
        ("commitlog", 300, "index-other-key"),
        ("consumequeue", 40, "record-without-entry"),
    ],
)
def test_a_new_store_that_is_wrong_is_not_given_out(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiled: tuple[str, int, str]
) -> None:
    """A disk that does not keep what was written."""
    part, at, found = spoiled
    tail(store, Random(1))
    written = repair.write_store

    def badly_written(*arguments: object, **how: Any) -> object:
        new = written(*arguments, **how)  # type: ignore[arg-type]
        path = next(path for path in sorted((tmp_path / f"new{UNFINISHED}" / part).rglob("0*")) if path.is_file())
        patch(path, at, b"\x55" * (3 if at < 40 else 40))
        return new

    monkeypatch.setattr(repair, "write_store", badly_written)
    with pytest.raises(nr.RepairError, match=rf"the new store is not what it should be: .*({found})"):
        nr.open(store).repair(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_copy_that_differs_is_not_given_out(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a number of the user, which no checksum covers."""
    tail(store, Random(1))
    copy = disk.copy

    def badly_copied(source: str, target: str) -> None:
        copy(source, target)
        if "/commitlog/" in target and target.endswith("00065536"):
            patch(Path(target), 16, b"\x55" * 3)

    monkeypatch.setattr(disk, "copy", badly_copied)
    with pytest.raises(nr.RepairError, match=r"not what it should be: its bytes differ near offset 65,536\. It stays in") as raised:
        nr.open(store).repair(tmp_path / "new")
    assert isinstance(raised.value.said, Said)
    assert raised.value.said.text("zh").startswith("新 store 与预期不符：偏移量 65,536 附近的字节不一致。结果保留在 ")
    assert not (tmp_path / "new").exists()


def test_a_queue_that_is_wrong_is_not_given_out(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail(store, Random(1))
    written = repair.write_store

    def badly_written(plan: RepairPlan, folder: str, *more: Any, **how: Any) -> StoreFiles:
        new = written(plan, folder, *more, **how)
        patch(min(Path(folder).glob("consumequeue/*/*/0*")), 0, b"\x7f")
        return new

    monkeypatch.setattr(repair, "write_store", badly_written)
    with pytest.raises(nr.RepairError, match=r"not what it should be: record-without-entry: the record at \S.*\. It stays in ") as raised:
        nr.open(store).repair(tmp_path / "new")
    assert isinstance(raised.value.said, Said)
    assert re.match("新 store 与预期不符：record-without-entry：[^a-z]*（偏移量 0 处的记录.*。结果保留在 ", raised.value.said.text("zh"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("what", ["a hole", "the end"])
def test_the_proof_reads_what_no_whole_record_has(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Also without the check, which would find it first."""
    random_bytes(store, Random(1))
    tail(store, Random(1))
    written = repair.write_store

    def badly_written(plan: RepairPlan, *arguments: object, **how: Any) -> object:
        new = written(plan, *arguments, **how)  # type: ignore[arg-type]
        hole, end = plan.shape.holes[0], plan.end
        at = hole.start + 4 if what == "a hole" else end
        spoiled = b"\0" if what == "a hole" else encode(Message(body=b"more", store_timestamp=1_900_000_000_000), end)
        patch(tmp_path / f"new{UNFINISHED}" / "commitlog" / f"{at // 65536 * 65536:020d}", at % 65536, spoiled)
        return new

    monkeypatch.setattr(repair, "write_store", badly_written)
    monkeypatch.setattr(proof, "_check", lambda *_: [])
    found = {"a hole": r"its records differ after offset [\d,]+", "the end": r"its log ends at offset [\d,]+, expected [\d,]+"}[what]
    with pytest.raises(nr.RepairError, match=rf"not what it should be: {found}\. It stays in \S+/new\.repairing for a look"):
        nr.open(store).repair(tmp_path / "new")


def test_every_sentence_says_what_to_do() -> None:
    for kind, (sentence, _) in REFUSALS.items():
        assert "\n" not in sentence, kind
        assert sentence.replace("{near}", "").count(". ") >= 1 or ": " in sentence, kind


def test_the_page_and_its_numbers(store: Path, tmp_path: Path) -> None:
    tail(store, Random(1))
    done = nr.open(store).repair(tmp_path / "new")
    assert done.page == str(tmp_path / "new" / "repair.md")
    page, facts = Path(done.page).read_text(), json.loads((tmp_path / "new" / "repair.json").read_text())
    assert facts["messages"] == done.plan.messages == 796
    assert facts["lost_messages"] == facts["placeholders"] == sum(each["messages"] for each in facts["queues"]) == 4
    assert "**Survived:** 796 messages" in page
    assert "**Is it safe to start a broker on the damaged store?** better not: it would truncate the log at offset " in page
    assert facts["start"]["answer"] == "better not"
    assert facts["start_of_new"]["answer"] == "yes, but"
    planned = json.loads(json.dumps(nr.open(store).repair(tmp_path / "other", dry_run=True).to_dict()))
    assert planned == facts | {"start_of_new": None, "account_of_new": None, "needs": planned["needs"]}
    assert not (tmp_path / "other").exists()


def test_sizes_in_a_configuration(tmp_path: Path) -> None:
    """As its broker reads them; what is not set, or no number, has the broker's default."""
    (tmp_path / "broker.conf").write_text(
        "mappedFileSizeConsumeQueue=601\nmaxIndexNum = 12\nmaxHashSlotNum=many\nmessageDelayLevel=1s 2m 3h 1d\n"
    )
    found = file_sizes(f"file://{tmp_path}/broker.conf")
    assert found == FileSizes(queue=620, index_entries=12, delays=(1, 120, 10_800, 86_400))


@pytest.mark.parametrize("topic", ["rmq_sys_/../../../escaped", "..", "a/b", "long" * 30])
def test_a_topic_whose_name_leads_out_of_the_store(tmp_path: Path, topic: str) -> None:
    """Names come from the log, which anybody may have written."""
    log = CommitLog(1 << 16)
    for number in range(3):
        log.append(Message(topic=topic, body=b"body", queue_offset=number, store_timestamp=1_700_000_000_000 + number))
    (tmp_path / "in" / "store" / "commitlog").mkdir(parents=True)
    for name, content in log.files().items():
        (tmp_path / "in" / "store" / "commitlog" / name).write_bytes(content)
    (tmp_path / "broker.conf").write_text(f"storePathRootDir={tmp_path}\nmappedFileSizeCommitLog=65536\nmaxIndexNum=99\nmaxHashSlotNum=9\n")
    done = nr.open(tmp_path / "in" / "store", broker_conf=str(tmp_path / "broker.conf")).repair(tmp_path / "in" / "new")
    assert done.plan.messages == 3
    assert {path.name for path in tmp_path.iterdir()} == {"in", "broker.conf"}
    assert {path.name for path in (tmp_path / "in").iterdir()} == {"store", "new"}
    assert (topic in done.plan.dropped) == (len(topic) < 100)


def test_linked_files_are_copied(store: Path, tmp_path: Path) -> None:
    settings = store / "config" / "topics.json"
    content = settings.read_bytes()
    settings.rename(tmp_path / "elsewhere.json")
    settings.symlink_to(tmp_path / "elsewhere.json")
    nr.open(store).repair(tmp_path / "new")
    copied = tmp_path / "new" / "config" / "topics.json"
    assert (copied.read_bytes(), copied.is_symlink()) == (content, False)


def test_a_file_in_the_place_of_the_new_store(store: Path, tmp_path: Path) -> None:
    """The whole store was written before, and its folder could not take the place of the file."""
    for name in ("new", "other.repairing"):
        (tmp_path / name).write_text("a file")
        assert refused(store, tmp_path / name.partition(".")[0]) == f"{tmp_path / name} is a file. Choose a folder that is new or empty"


def test_a_configuration_without_paths_of_a_store_that_is_named(store: Path, tmp_path: Path) -> None:
    (tmp_path / "broker.conf").write_text("mappedFileSizeConsumeQueue=600\nmappedFileSizeCommitLog=65536\n")
    assert nr.open(store, broker_conf=str(tmp_path / "broker.conf")).repair(tmp_path / "new", dry_run=True).plan.is_whole


@pytest.mark.parametrize("damaged", [False, True])
def test_the_refusal_with_a_diagnosis_is_that_without_one(store: Path, tmp_path: Path, damaged: bool) -> None:
    for root in (store, unpack("5.5.0-failover", tmp_path, STORES).root):
        queue = next((root / "consumequeue").glob("*/0"))
        if damaged:
            (queue / f"{20:020d}").write_bytes(bytes(20))
        opened = nr.open(root)
        found = opened.diagnose()
        assert opened.repair_refusal(found=found) == opened.repair_refusal()
        assert (opened.repair_refusal(found=found) is not None) == (damaged or root != store)
