"""A report and the commands that read everything say the same with a summary, read less, and write one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.command_line import Ran, run

import native_reader as nr
from native_reader.export.target import Target
from native_reader.summary.texts import TextCodes
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from rmqstore.report.page import page_of

SEGMENT = 256 << 10
NOW = "2026-03-01 00:00:00Z"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store of four segments with a deleted topic, and its summary. Tests must not change the store."""
    folder = tmp_path_factory.mktemp("reported")
    write_store(folder / "store", StoreSpec(bytes=4 * SEGMENT, mapped_file_size_commit_log=SEGMENT, deleted="invoices", index=False))
    nr.open(folder / "store").summarize(folder / "summary")
    return folder / "store", folder / "summary"


@pytest.fixture
def summary(written: tuple[Path, Path], tmp_path: Path) -> Path:
    """A summary that a test may change."""
    return shutil.copytree(written[1], tmp_path / "own")


def page(store: Path, **options: Any) -> str:
    """The page, without what it says of the summary."""
    text = page_of(nr.open(store).report(now=NOW, disk_free=1 << 40, **options), "en")
    text = re.sub(r"[0-9.]+ [KM]iB\. [0-9.]+ [KM]iB are known from the summary: [^<]*", "1.0 MiB", text)
    return re.sub(r" --summary [^<]*", "", text)


@pytest.fixture(scope="module")
def scanned_page(written: tuple[Path, Path]) -> str:
    return page(written[0])


def truncated(folder: Path) -> None:
    path = min(folder.glob("*.texts.parquet"))
    path.write_bytes(path.read_bytes()[:-20])


def flipped(folder: Path) -> None:
    path = min(folder.glob("*.records.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def of_another_segment(folder: Path) -> None:
    one, other, *_ = sorted(folder.glob("*.groups.parquet"))
    one.replace(other)


CHANGES: dict[str, Callable[[Path], object]] = {
    "whole": lambda folder: None,
    "partial": lambda folder: min(folder.glob("*.groups.parquet")).unlink(),
    "cut": truncated,
    "flipped": flipped,
    "of another segment": of_another_segment,
    "gone": shutil.rmtree,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_report_with_a_summary_is_the_same(written: tuple[Path, Path], scanned_page: str, summary: Path, change: str) -> None:
    CHANGES[change](summary)
    assert page(written[0], summary=summary) == scanned_page


def test_a_report_of_a_store_that_changed_since_shows_it(written: tuple[Path, Path], summary: Path, tmp_path: Path) -> None:
    store = shutil.copytree(written[0], tmp_path / "store", copy_function=os.link)
    path = min((store / "commitlog").iterdir())
    content = bytearray(path.read_bytes())
    content[:100] = bytes(100)
    path.unlink()
    path.write_bytes(content)
    facts = nr.open(store).report(now=NOW, summary=summary)
    assert facts.damaged_places == 1
    assert facts.log.bytes_known == 2 * SEGMENT


def test_a_report_reads_few_bytes_of_the_segments_that_are_covered(written: tuple[Path, Path]) -> None:
    storage = FaultyStorage(written[0].as_uri())
    facts = nr.open(storage.url).report(now=NOW, summary=written[1])
    read = [count for uri, count in sorted(storage.bytes_of.items()) if "/commitlog/" in uri]
    assert facts.log.bytes_known == 3 * SEGMENT
    # Witnesses are read at both ends of each segment, of any size.
    assert sum(read[:3]) < 0.4 * 3 * SEGMENT < 2 * read[3]


def test_the_page_says_what_it_did_not_read(written: tuple[Path, Path]) -> None:
    text = page_of(nr.open(written[0]).report(now=NOW, summary=written[1]), "en")
    assert "768.0 KiB are known from the summary: damage there since it was written is not on this page" in text
    assert f"--summary {written[1]}" in text
    assert "摘要" in page_of(nr.open(written[0]).report(now=NOW, summary=written[1]), "zh")


def test_stat_by_anything_is_the_same_and_needs_no_log(written: tuple[Path, Path]) -> None:
    store, folder = written
    by = [argument for each in ("topic", "tag", "hour", "producer", "kind", "queue", "lite", "size") for argument in ("--by", each)]
    assert run("stat", store, *by, "--summary", folder).out == run("stat", store, *by).out != ""
    explained = run("explain", store, "--columns", "topic,tags,born_host,store_timestamp,kind,lite_topic", "--summary", folder).out
    assert "768.0 KiB, without reading the log" in explained


def test_a_column_with_very_many_different_texts_is_left_out(
    written: tuple[Path, Path], scanned_page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("native_reader.summary.texts._MOST_VALUES", 3)
    store = nr.open(written[0])
    store.summarize(tmp_path / "lean")
    how = {
        way: {split.access for split in store.messages(columns=way, summary=tmp_path / "lean").plan().splits[:3]}
        for way in ("tags", "lite_topic")
    }
    assert how == {"tags": {"scan"}, "lite_topic": {"summary alone"}}
    assert page(written[0], summary=tmp_path / "lean") == scanned_page


def test_texts_that_grow_too_long_are_not_kept() -> None:
    codes = TextCodes()
    codes.add(pa.array(["a" * 40_000]).dictionary_encode())
    assert codes.is_small
    codes.add(pa.array([letter * 40_000 for letter in "bcdefgh"]).dictionary_encode())
    assert not codes.is_small


# What commands leave behind


def commands(store: Path, folder: Path, tmp_path: Path) -> dict[str, Callable[..., Ran]]:
    return {
        "stat": lambda *more: run("stat", store, "--summary", folder, *more),
        "report": lambda *more: run("report", store, "-o", tmp_path / "page.html", "--summary", folder, *more),
        "verify": lambda *more: run("verify", store, "--summary", folder, *more),
        "export": lambda *more: run("export", store, "-o", tmp_path / "exported", "--columns", "topic", "--summary", folder, *more),
    }


@pytest.mark.parametrize("name", ["stat", "report", "verify", "export"])
def test_a_command_that_reads_everything_leaves_a_summary_behind(written: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    folder = tmp_path / "left"
    command = commands(written[0], folder, tmp_path)[name]
    assert "summary written: 3 parts in files of " in command().err
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in written[1].iterdir())
    assert "summary written" not in command().err


def test_a_command_with_conditions_only_uses_a_summary(written: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "left"
    for name in ("stat", "export"):
        assert commands(written[0], folder, tmp_path)[name]("--topic", "orders").code == 0
    assert not folder.exists()


def test_a_summary_that_cannot_be_written_is_a_warning(written: tuple[Path, Path], summary: Path, tmp_path: Path) -> None:
    min(summary.glob("*.groups.parquet")).unlink()
    with Target(summary, ()):
        ran = run("stat", written[0], "--summary", summary)
    assert "warning: the summary was not completed: " in ran.err
    assert "another program is writing to this folder" in ran.err
    assert (ran.code, ran.out) == (0, run("stat", written[0]).out)


def test_a_summary_in_another_storage_is_only_used(written: tuple[Path, Path], summary: Path) -> None:
    min(summary.glob("*.groups.parquet")).unlink()
    before = sorted(summary.iterdir())
    ran = run("stat", written[0], "--summary", f"{FaultyStorage(summary.parent.as_uri()).url}/{summary.name}")
    assert (ran.code, ran.out) == (0, run("stat", written[0]).out)
    assert "summary" not in ran.err
    assert sorted(summary.iterdir()) == before


def test_a_summary_in_the_store_is_refused(written: tuple[Path, Path]) -> None:
    ran = run("stat", written[0], "--summary", written[0] / "summary")
    assert ran.code == 2
    assert "is inside the store" in ran.err
    assert not (written[0] / "summary").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("cat", "--topic", "orders", "--tag", "shipped"),
        ("find", "--topic", "orders", "--queue", "1"),
        ("tail", "--topic", "invoices", "-n", "2"),
        ("diff", "--topic", "orders", "--each"),
    ],
)
def test_other_commands_say_the_same_with_a_summary(written: tuple[Path, Path], tmp_path: Path, arguments: tuple[str, ...]) -> None:
    store, folder = written
    name, *more = arguments
    others = []
    if name == "diff":
        others = [shutil.copytree(store, tmp_path / "other")]
        min((others[0] / "commitlog").iterdir()).unlink()
    with_summary, without = run(name, store, *others, *more, "--summary", folder), run(name, store, *others, *more)
    assert (with_summary.code, with_summary.out) == (without.code, without.out)
    assert without.out != ""


def test_a_part_of_another_version_is_not_used_and_written_again(
    written: tuple[Path, Path], summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("native_reader.summary.part.VERSION", 99)
    monkeypatch.setattr("native_reader.summarizing.VERSION", 99)
    store = nr.open(written[0])
    assert "no summary 3 segments: another version of rmqstore wrote its part" in str(
        store.messages(topic="orders", summary=summary).explain()
    )
    assert len(store.summarize(summary).written) == 3
    assert "another version" not in str(store.messages(topic="orders", summary=summary).explain())
