"""The parts of `make sweep`: each sampled test is in exactly one, and a part that passed is not run again."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.documented import ROOT

SWEEP = ROOT / ".ci/sweep.py"
OTHERS = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__))
_MARKED = re.compile(r"mark\.(sweep|long)\b|\b(mostly_long|thinned)\(")
FILES = [path.relative_to(ROOT) for path in OTHERS if _MARKED.search(path.read_text(encoding="utf-8"))]


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Its names. Its notes are in a temporary folder."""
    names = runpy.run_path(str(SWEEP))
    monkeypatch.setitem(names["outcome"].__globals__, "NOTES", tmp_path)
    return names


def test_each_sampled_test_is_in_exactly_one_part(sweep: dict[str, Any]) -> None:
    parts = {part: [Path(place) for place in places] for part, places in sweep["PARTS"].items()}
    found = {
        str(file): [part for part, places in parts.items() for place in places if place == file or place in file.parents] for file in FILES
    }
    assert {file: of for file, of in found.items() if len(of) != 1} == {}
    assert {part for of in found.values() for part in of} == parts.keys(), "a part without tests"
    assert all((ROOT / place).exists() for places in parts.values() for place in places)


def test_a_part_of_an_unknown_name_is_an_error_that_names_the_parts(sweep: dict[str, Any]) -> None:
    ended = subprocess.run([sys.executable, SWEEP, "streams", "stream"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"no part 'stream'; there are: {' '.join(sweep['PARTS'])}\n"


@pytest.mark.gate
def test_a_part_that_passed_is_not_run_again_for_the_same_files(sweep: dict[str, Any], tmp_path: Path) -> None:
    outcome, options = sweep["outcome"], ["--version"]
    assert re.fullmatch(r"passed in \d+ s, \d+ s of the processor", outcome("kills", "some files", options))
    assert outcome("kills", "some files", options) == "passed before, for the same files"
    assert re.fullmatch(r"passed in \d+ s, \d+ s of the processor", outcome("kills", "other files", options))
    assert re.fullmatch(r"FAILED in \d+ s, \d+ s of the processor", outcome("kills", "more files", ["--no-such-option"]))
    assert (tmp_path / "kills.passed").read_text() == "other files"


def test_parts_that_wait_run_beside_those_that_compute(
    sweep: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outcome(part: str, of: str, options: list[str], log: Path) -> str:
        log.write_text(f"what {part} said")
        return "FAILED in 1 s" if part == "kills" else "passed in 1 s"

    monkeypatch.setitem(sweep["main"].__globals__, "outcome", outcome)
    assert sweep["main"](["bits", "spark", "kills"]) == 1
    told = capsys.readouterr().out
    assert ("what kills said" in told, "what bits said" in told) == (True, False)
    assert re.search(r"==== the sweep: \d+ s\n  kills    FAILED in 1 s\n  spark    passed in 1 s\n  bits     passed in 1 s\n", told)


def test_the_digest_is_that_of_the_files(sweep: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fingerprint, own = sweep["fingerprint"], "tests/spark/test_stream_kills.py"
    monkeypatch.setitem(fingerprint.__globals__, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "tests/spark").mkdir(parents=True)
    known = [fingerprint("kills")]
    for name in (own, "tests/spark/lives.py", "setup.cfg"):
        (tmp_path / name).write_text("new\n")
        known.append(fingerprint("kills"))
    (tmp_path / own).write_text("changed\n")
    known.append(fingerprint("kills"))
    monkeypatch.setenv("KERNEL_PROFILE", "checked")
    known.append(fingerprint("kills"))
    assert len({*known}) == len(known)
    of_others = fingerprint("spark"), fingerprint("kernels")
    for name in ("tests/spark/test_spark_s3.py", "tests/log/test_tail.py", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("not for kills\n")
    assert fingerprint("kills") == known[-1]
    assert not {*of_others} & {fingerprint("spark"), fingerprint("kernels")}
