"""The commands on stores that real brokers wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.command_line import run
from support.effort import thinned
from support.golden import Golden, opened
from support.own_stores import NAMES


def places_of(store: Golden) -> list[str]:
    """The path, and the directories of a log that is in several."""
    logs = ["--commitlog", ",".join(map(str, store.log_folders))] if len(store.log_folders) > 1 else []
    return [str(store.root), *logs]


@pytest.mark.parametrize("name", thinned(NAMES, 9))
def test_doctor_names_a_version_that_is_not_newer_than_the_broker(own_store: Callable[[str], Golden], name: str) -> None:
    ended = run("doctor", *places_of(own_store(name)), "--json")
    (facts,) = ended.rows
    assert ended.code == (1 if facts["findings"] or not facts["start"]["answer"].startswith("yes") else 0)
    version, found = name.partition("-")[0], facts["store"]["version_at_least"]
    assert found is None or found <= version
    if version >= "5":
        assert found >= "5"
    assert facts["commitlog"]["segments"] == len(own_store(name).segments)
    assert run("doctor", *places_of(own_store(name))).code == ended.code


@pytest.mark.parametrize("name", thinned(NAMES, 9))
def test_stat_and_tail_agree_with_the_engine(own_store: Callable[[str], Golden], name: str) -> None:
    store = own_store(name)
    expected = opened(store).messages(columns="physical_offset", mode="DROPMALFORMED", fail_on_data_loss=False).to_table()
    counted = run("stat", *places_of(store), "--by", "kind", "--json")
    assert counted.code in (0, 1)
    assert sum(row["messages"] for row in counted.rows) == len(expected)
    newest = run("tail", *places_of(store), "-n", "5", "-c", "physical_offset", "--json").rows
    assert [row["physical_offset"] for row in newest] == expected["physical_offset"].to_pylist()[-5:]
