"""`rmqstore verify` on a terminal: what is wrong comes first, and a block for each code, however many findings there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run
from support.stores import message, on_disk
from support.verified import beside, healthy

import native_reader as nr


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A store of six topics that are not configured, without a checkpoint and two index files, with zeros in its log."""
    log, files = healthy(message(number, topic=f"T{number % 6}") for number in range(60))
    store = on_disk(tmp_path, files | beside(log, ("other",))) / "store"
    first, *_, last = sorted((store / "index").iterdir())
    for path in (store / "checkpoint", first, last):
        path.unlink()
    second = sorted((store / "commitlog").iterdir())[1]
    second.write_bytes(second.read_bytes()[:200] + bytes(40) + second.read_bytes()[240:])
    return store


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output for people, without colors."""
    monkeypatch.setattr("rmqstore.cli.rows.is_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")


def test_notes_came_before_errors_and_one_block_each(odd: Path) -> None:
    ended = run("verify", odd)
    assert ended.code == 1
    lines = ended.out.splitlines()
    headings = [line.split() for line in lines if not line.startswith(" ")]
    assert [severity for severity, *_ in headings] == sorted(
        (severity for severity, *_ in headings), key=["error", "warning", "note"].index
    )
    assert len({code for _, code, *_ in headings}) == len(headings)
    begin = next(number for number, line in enumerate(lines) if "queue-of-unknown-topic" in line)
    heading, *places, left, advice = lines[begin : begin + 6]
    assert heading == "note     queue-of-unknown-topic  6 findings"
    assert [line.split()[0] for line in places] == ["T0", "T1", "T2"]
    assert places[0].startswith(f"         T0  {odd}/")
    assert (left, advice) == ("         3 more; --all prints each", "         → no action needed")
    assert ", 6 notes in 5 segments, " in ended.err


def test_all_prints_each_finding(odd: Path) -> None:
    rows = nr.open(odd).verify().to_table().to_pylist()
    lines = run("verify", odd, "--all").out.splitlines()
    assert [line.split()[:2] for line in lines if not line.startswith(" ")] == [[row["severity"], row["code"]] for row in rows]
    assert len(lines) == 3 * len(rows)


def test_the_places_of_one_finding_are_counted(odd: Path) -> None:
    rows = [row for row in nr.open(odd).verify().to_table().to_pylist() if row["code"] == "key-not-covered"]
    assert sum(row["count"] for row in rows) > len(rows) > 1
    expected = f"warning  key-not-covered  {len(rows)} findings in {sum(row['count'] for row in rows)} places"
    assert expected in run("verify", odd).out.splitlines()


def test_what_was_found_before_an_interrupt_is_printed(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nr.Verification.to_batches

    def interrupted(*arguments: object, **more: object) -> object:
        yield next(whole(*arguments, **more))  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr("native_reader.Verification.to_batches", interrupted)
    ended = run("verify", odd)
    assert ended.code == 130
    assert ended.out
    assert ended.err.splitlines()[-1] == "interrupted"
