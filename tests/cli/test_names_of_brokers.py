"""Several stores: each row names its broker, and so does the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run, run_on_terminal, uncolored
from support.golden import Golden
from support.stores import files_of, log_of, on_disk


@pytest.fixture
def both(own_store: Callable[[str], Golden]) -> list[Path]:
    """The stores of two brokers, both named broker-a."""
    return [own_store(name).root for name in ("5.5.0-kinds", "4.9.7-kinds")]


def named(both: list[Path]) -> list[str]:
    return ["--name", f"{both[0]}=east", "--name", f"{both[1]}=west"]


@pytest.mark.parametrize("command", [("lag", "--all"), ("lag", "--all", "--by", "queue"), ("dlq",), ("stat",), ("ls",), ("ls", "--queues")])
def test_each_row_names_its_broker(both: list[Path], command: tuple[str, ...]) -> None:
    rows = run(*command, *both, *named(both), "--json").rows
    alone = [run(*command, store, "--json").rows for store in both]
    assert {next(iter(row)) for row in rows} == {"broker"}
    for broker, expected in zip(("east", "west"), alone, strict=True):
        found = [{key: value for key, value in row.items() if key not in ("broker", "share")} for row in rows if row["broker"] == broker]
        assert sorted(map(str, found)) == sorted(str({key: value for key, value in row.items() if key != "share"}) for row in expected)
    assert "are both of broker 'broker-a'. Give at least one of them another name with --name" in run(*command, *both).err
    assert {row["broker"] for row in run(*command, both[0], "--name", "solo", "--json").rows} == {"solo"}


def test_the_sums_over_all_brokers_need_no_names(both: list[Path]) -> None:
    rows = run("stat", *both, "--by", "topic", "--json").rows
    assert len({row["topic"] for row in rows}) == len(rows)
    assert {row["broker"] for row in run("stat", *both, *named(both), "--by", "broker", "--json").rows} == {"east", "west"}


def test_people_see_the_broker_instead_of_the_store(both: list[Path]) -> None:
    shown = uncolored(run_on_terminal("ls", *both, *named(both)).out).splitlines()
    assert shown[0].startswith(f"east: {both[0]}: ")
    assert shown[2].split()[:2] == ["broker", "topic"]


def test_a_page_of_several_stores(both: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = run("report", *both, *named(both), "-o", page, "--json", "--lang", "en")
    assert ended.code == 0
    assert [row["broker"] for row in ended.rows] == ["east", "west"]
    assert {line.split(":")[0] for line in ended.err.splitlines()[1:]} == {"east", "west"}
    assert "<h1>RocketMQ store report: 2 brokers</h1>" in page.read_text(encoding="utf-8")
    run("report", both[0], "--name", "north", "-o", page)
    assert "<h1>RocketMQ store report: north, " in page.read_text(encoding="utf-8")


def test_a_clash_is_found_before_anything_is_read(both: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_reader.facts.gather.gather", None)
    ended = run("report", *both, "-o", tmp_path / "page.html")
    assert ended.code == 2
    assert "are both of broker 'broker-a'" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_its_store_is_refused(both: list[Path], tmp_path: Path) -> None:
    ended = run("lag", *both, "--name", "east")
    assert ended.code == 2
    assert f"--name east does not name a store. Write --name {both[0]}=east" in ended.err
    store = on_disk(tmp_path, files_of(log_of(3))) / "store"
    assert "--name: '/x' is none of the stores" in run("lag", store, "--name", "/x=east").err
