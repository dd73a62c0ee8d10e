"""Each command gives the same answer to whether a broker may be started, and reads for it at the given rate."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.command_line import run
from support.golden import Golden, unpack
from support.own_stores import STORES
from support.store_damages import wrong_magic

import native_reader as nr
from native_reader.scan.read import Reading
from native_reader.start import BUT, YES, Start, question, recovered
from native_reader.start.recovered import RecoveredLog
from native_reader.storage.store import Segment
from native_reader.storage.window import ReadRate

RATE = 1 << 30


@pytest.fixture
def whole(tmp_path: Path) -> Golden:
    """A store without damage. Its messages are older than the default of `fileReservedTime`."""
    return unpack("4.9.7-killed-pooled", tmp_path, STORES)


@pytest.fixture
def conf(whole: Golden, tmp_path: Path) -> Path:
    """The configuration of a broker that keeps them."""
    settings = json.loads((whole.folder / "settings.json").read_text())
    settings |= {"storePathRootDir": whole.root, "fileReservedTime": 900_000}
    conf = tmp_path / "broker.conf"
    conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return conf


def answers_of(store: nr.Store, folder: Path) -> list[Any]:
    return [
        store.diagnose().start,
        store.report().start,
        store.rescue(folder / "rescued").start,
        store.repair(folder / "repaired", dry_run=True).plan.start,
        store.extract(folder / "extracted", "Plain", dry_run=True).plan.start,
    ]


def test_each_method_goes_by_the_retention_of_the_brokers_configuration(whole: Golden, conf: Path, tmp_path: Path) -> None:
    """Rescue and repair said that a broker deletes segments which its configuration keeps."""
    kept = nr.open(whole.root, broker_conf=str(conf))
    assert [(each.outcome, each.reasons) for each in answers_of(kept, tmp_path / "kept")] == [(YES, ())] * 5
    answers = answers_of(nr.open(whole.root), tmp_path / "default")
    assert [each.outcome for each in answers] == [BUT] * 5
    assert {each.reasons for each in answers} == {answers[0].reasons}
    assert dict(answers[0].reasons[0].cause.values)["hours"] == 72


def test_each_command_goes_by_the_retention_of_the_brokers_configuration(whole: Golden, conf: Path, tmp_path: Path) -> None:
    by_conf = ("--broker-conf", conf)
    (doctor,) = run("doctor", *by_conf, "--json").rows
    run("report", *by_conf, "-o", tmp_path / "report.html")
    run("rescue", *by_conf, "-o", tmp_path / "rescued")
    repair = run("repair", *by_conf, tmp_path / "repaired", "--dry-run", "--json")
    extract = run("extract", whole.root, "--topic", "Plain", tmp_path / "extracted", *by_conf, "--dry-run", "--json")
    for start in (doctor["start"], json.loads(repair.out)["start"], json.loads(extract.out)["start"]):
        assert (start["answer"], start["reasons"]) == (YES, [])
    assert f"{question().text()} yes<" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"- **{question().text()}** yes\n" in (tmp_path / "rescued" / "rescue.md").read_text(encoding="utf-8")


class Limits:
    """The rates of the reads for the answer, and the bytes that these rates saw."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rates = list[int]()
        self.bytes = self.reads = 0
        self._thread = threading.local()
        limits, read = self, RecoveredLog._reading

        class Limit(ReadRate):
            def __init__(self, rate: int) -> None:
                super().__init__(rate)
                self._is_for_answer = getattr(limits._thread, "is_for_answer", False)
                limits.rates += [rate] * self._is_for_answer

            def spend(self, count: int) -> None:
                super().spend(count)
                limits.bytes += count * self._is_for_answer

        def reading(log: RecoveredLog, segment: Segment, *, verify_crc: bool) -> Reading:
            limits.reads += 1
            limits._thread.is_for_answer = True
            try:
                return read(log, segment, verify_crc=verify_crc)
            finally:
                limits._thread.is_for_answer = False

        monkeypatch.setattr(recovered.RecoveredLog, "_reading", reading)
        monkeypatch.setattr("native_reader.scan.read.ReadRate", Limit)


def rescued(store: nr.Store, folder: Path) -> Start | None:
    return store.rescue(folder / "new", max_read_rate=RATE).start


def repaired(store: nr.Store, folder: Path) -> Start:
    return store.repair(folder / "new", dry_run=True, max_read_rate=RATE).plan.start


def extracted(store: nr.Store, folder: Path) -> Start:
    return store.extract(folder / "new", "Plain", dry_run=True, max_read_rate=RATE).plan.start


@pytest.mark.parametrize("face", [rescued, repaired, extracted], ids=lambda face: face.__name__)
def test_it_reads_for_the_answer_at_the_given_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, face: Callable[[nr.Store, Path], Start | None]
) -> None:
    """Repair and extract read for it at full speed."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(store, Random(1))
    limits = Limits(monkeypatch)
    assert face(nr.open(store), tmp_path) is not None
    assert limits.rates == [RATE] * limits.reads != []
    assert limits.bytes >= 65536
