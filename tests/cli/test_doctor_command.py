"""`rmqstore doctor` describes a store, and tells what is a loss from what is harmless."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.command_line import run, unsafe
from support.golden import Golden, unpack
from support.own_stores import STORES
from support.store_damages import wrong_magic
from support.stores import on_disk
from support.verified import healthy

import native_reader as nr


def test_doctor_describes_a_store(store: Path) -> None:
    ended = run("doctor", store)
    lines = dict(line.split(maxsplit=1) for line in ended.out.splitlines() if not line.startswith(" "))
    assert ended.code == 0, ended.out
    assert {"store", "version", "commitlog", "queues", "index", "config", "state", "try"} <= lines.keys()
    assert lines["store"] == str(store)
    assert "3 queues of 3 topics" in lines["queues"]
    (facts,) = run("doctor", store, "--json").rows
    segments = nr.open(store).stores[0].segments
    assert facts["commitlog"]["segments"] == len(segments)
    assert facts["commitlog"]["end_offset"] == dict(nr.open(store).messages().plan().ends)[store.as_uri()]
    assert facts["commitlog"]["last_store_timestamp"] == "2023-11-14T22:13:20.059Z"
    assert facts["state"]["in_use"] is False
    assert facts["findings"] == []
    assert facts["state"]["checkpoint"]["flushed_timestamp"] == "2023-11-14T22:13:20.059Z"


def test_doctor_ends_with_1_if_a_start_would_lose_messages(tmp_path: Path) -> None:
    """A script that starts the broker after `doctor` would delete them."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    assert run("doctor", store).code == 0
    wrong_magic(store, Random(1))
    ended = run("doctor", store)
    assert ended.code == 1
    assert "it would truncate the log at offset " in ended.out
    assert "warning    copy or rescue this store before a broker starts on it" in ended.out


def test_doctor_names_both_places_of_an_index(own_store: Callable[[str], Golden]) -> None:
    """The index files end before the log does, because the broker was set to continue in RocksDB."""
    store = own_store("5.5.0-rocksdb-index").root
    index = next(line for line in run("doctor", store).out.splitlines() if line.startswith("index"))
    assert f"{store}/index: 1 file, " in index
    assert index.endswith(f"; {store}/rocksdbstore (RocksDB)")


def test_doctor_examines_the_other_parts_if_one_cannot_be_read(store: Path) -> None:
    (store / "checkpoint").unlink()
    (store / "checkpoint").mkdir()
    ended = run("doctor", store, "--json")
    (facts,) = ended.rows
    assert ended.code == 1
    assert any("checkpoint could not be examined: " in text and "is not a regular file" in text for text in facts["findings"])
    assert facts["consumequeue"]["topics"] == 3
    assert "finding    checkpoint could not be examined: " in run("doctor", store).out


def test_doctor_names_options_as_they_are_written_here(store: Path) -> None:
    index = next((store / "index").iterdir())
    index.write_bytes(index.read_bytes() + b"\0")  # so its size is that of no number of slots
    ended = run("doctor", store)
    assert "1 index file cannot be searched: set --option max_hash_slot_num" in ended.out
    assert not unsafe(ended.out)
    assert "\\x0e" not in ended.out + run("doctor", store, "--json").out


def test_damage_that_doctor_meets_is_a_finding(tmp_path: Path) -> None:
    """It reads the records that no queue names. A note would say that the damage is harmless."""
    log, files = healthy()
    queues = {name: content[:200] + bytes(len(content) - 200) for name, content in files.items() if "consumequeue" in name}
    lost = log.placed[50]
    segment = f"store/commitlog/{lost.segment:020}"
    content = bytearray(files[segment])
    content[lost.offset - lost.segment + 4] ^= 1
    root = on_disk(tmp_path, files | queues | {segment: bytes(content)}) / "store"
    told = run("doctor", root, "--json")
    assert told.code == 1
    (finding,) = told.rows[0]["findings"]
    assert (
        finding
        == f"{root.as_uri()}/commitlog/{lost.segment:020}: skipped {lost.size} damaged bytes at offset {lost.offset:,}: no record magic"
    )
    assert not [note for note in told.rows[0]["notes"] if "damaged" in note]


@pytest.mark.parametrize("is_missing", [False, True])
def test_doctor_of_a_damaged_log_suggests_a_rescue_first(damaged: Path, is_missing: bool) -> None:
    if is_missing:
        sorted((damaged / "commitlog").iterdir())[1].unlink()
    ended = run("doctor", damaged)
    warning, suggestion, *others = ended.out.splitlines()[-6:]
    assert ended.code == 1
    assert warning == ("warning    copy or rescue this store before a broker starts on it")
    assert suggestion == f"try        rmqstore rescue {damaged} FOLDER"
    assert [line.split()[1] for line in others] == ["repair", "verify", "stat", "find"]


def test_doctor_does_not_suggest_a_repair_that_would_be_refused(damaged: Path) -> None:
    (damaged / "epochFileCheckpoint").write_text("1\n0\n1-0\n")
    lines = run("doctor", damaged).out.splitlines()
    (refused,) = (line for line in lines if line.startswith("repair"))
    assert refused.endswith("--single, in Python single=True")
    assert not [line for line in lines if "rmqstore repair" in line]


def test_a_command_that_doctor_suggests_can_be_pasted(damaged: Path) -> None:
    """It had a URI, with %20, %25 and %E8."""
    odd = damaged.rename(damaged.parent / "a 100%25 存储\nx")
    (on_disk(damaged.parent / "more", healthy()[1]) / "store").rename(damaged.parent / "other")
    lines = [line for line in run("doctor", damaged.parent).out.splitlines() if "rmqstore rescue" in line]
    assert not [line for line in lines if "file:" in line]
    command = next(line for line in lines if "100%25" in line).removeprefix("try").strip()
    shell = subprocess.run(["bash", "-c", f"printf '%s|' {command}"], capture_output=True, text=True, check=True)
    assert shell.stdout.split("|") == ["rmqstore", "rescue", str(odd), "FOLDER", ""]


def test_doctor_of_several_stores_names_each_in_its_suggestions(damaged: Path) -> None:
    other = (on_disk(damaged.parent / "more", healthy()[1]) / "store").rename(damaged.parent / "other")
    lines = run("doctor", damaged.parent).out.splitlines()
    assert [line for line in lines if "rmqstore rescue" in line] == [f"try        rmqstore rescue {damaged} FOLDER"]
    assert f"try        rmqstore verify {other}" in lines


def test_a_finding_that_is_not_about_the_log_has_no_warning_about_brokers(store: Path) -> None:
    (store / "checkpoint").unlink()
    (store / "checkpoint").mkdir()
    lines = run("doctor", store).out.splitlines()
    assert f"try        rmqstore rescue {store} FOLDER" in lines
    assert not [line for line in lines if line.startswith("warning")]


def test_a_deleted_topic_is_named_once_with_the_number_of_its_queues(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))
    path = store / "config" / "topics.json"
    settings = json.loads(path.read_text())
    del settings["topicConfigTable"]["Plain"]
    path.write_text(json.dumps(settings))
    (said,) = (each for each in nr.open(store).diagnose().harmless if each.kind == "orphaned")
    queues = len(list((store / "consumequeue" / "Plain").iterdir()))
    assert queues > 1
    assert dict(said.values) == {"queues": queues, "names": "Plain"}


def test_the_diagnosis_names_the_offsets_of_a_missing_file(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))
    start, stop = (int(path.name) for path in sorted((store / "commitlog").iterdir())[1:3])
    (store / "commitlog" / f"{start:020}").unlink()
    (gap,) = (each for each in nr.open(store).diagnose().losses if each.kind == "gap")
    assert dict(gap.values) == {"start": start, "stop": stop, "bytes": stop - start}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_facts_came_before_what_is_wrong(damaged: Path, language: str) -> None:
    """At night, the answer about a start and the findings are looked for, the worst first."""
    labels = {"en": ("store", "start", "finding", "version"), "zh": ("store", "启动", "问题", "版本")}[language]
    lines = [line.split(maxsplit=1)[0] for line in run("doctor", damaged, "--lang", language).out.splitlines() if not line.startswith(" ")]
    assert tuple(dict.fromkeys(lines))[:4] == labels
