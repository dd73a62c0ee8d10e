"""The dry run, the run, its page and its JSON have the same numbers of messages: those of the account of each store."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.compute as pc
import pytest
from support.command_line import run
from support.effort import mostly_long
from support.golden import FOLDER, unpack
from support.own_stores import STORES
from support.repaired import opened
from support.store_damages import DAMAGES, Damage, first_page, page_of_zeros, segments, tail, torn_properties
from support.stores import message, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.account.account import Account
from native_reader.account.states import STATES
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.testing import Message

_KIT = FOLDER.parent / "damages"
_KINDS = (
    "tag",
    "keys",
    "sf-plain",
    "sf-prepared",
    "rnd4096",
    "swap",
    "firstmissing",
    "lastmissing",
    "cqorders",
    "beyond",
    "futurecheckpoint",
)


def first_missing(store: Path, chance: Random) -> None:
    segments(store)[0].unlink()


def queue_gone(store: Path, chance: Random) -> None:
    for path in (store / "consumequeue" / "Plain" / "1").iterdir():
        path.unlink()


OF_OURS: tuple[Damage, ...] = (*DAMAGES, torn_properties, first_missing, queue_gone)
IN_THE_GATE = (torn_properties, first_missing, tail, page_of_zeros, queue_gone)


def counts(account: Account) -> dict[str, int]:
    return {state: account.messages.get(state, 0) for state in STATES}


def account_of(store: nr.Store) -> Account:
    check = store.verify()
    check.to_table()
    return check.account


def without_fillers(account: Account) -> Account:
    """Without the records that fill the rest of a hole."""
    return Account(account.table.filter(pc.fill_null(pc.not_equal(account.table["topic"], PLACEHOLDER_TAG), True)))


def has_same_numbers(store: nr.Store, new: Path) -> dict[str, Any]:
    """Plan and repair a store. All that is said of the old one is in its account, and of the new one in that of the new one."""
    account = account_of(store)
    planned, done = store.repair(new, dry_run=True), store.repair(new)
    facts = json.loads((new / "repair.json").read_text())
    for each in (planned.to_dict(), done.to_dict(), facts):
        assert each["account"] == counts(account)
        assert (each["lost_messages"], each["messages"], each["placeholders"]) == (account.lost, facts["messages"], facts["placeholders"])
        assert each["before_log"] == facts["before_log"]
        faults = {state: count for state, count in each["account"].items() if state not in ("served", "deleted", "expired")}
        for state, count in faults.items():
            assert sum(row["messages"] for row in each["not_served"] if row["state"] == state) == count
    assert planned.plan.doubts == done.plan.doubts
    assert facts["account_of_new"] == counts(without_fillers(account_of(nr.open(new))))
    there = sum(facts["account_of_new"][state] for state in ("served", "deleted", "doubtful"))
    assert there == facts["messages"] + facts["placeholders"]
    for lines in (planned.lines(), done.lines()):
        assert f"- **In the damaged store:** {account.said.text()}." in list(lines)
    assert planned.plan.is_whole == done.plan.is_whole
    return facts


@pytest.mark.gate
@pytest.mark.parametrize("damage", mostly_long(OF_OURS, *IN_THE_GATE), ids=lambda each: each.__name__)
def test_the_dry_run_had_numbers_of_its_own(tmp_path: Path, damage: Callable[[Path, Random], None]) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    damage(store, Random(3))
    has_same_numbers(opened(store), tmp_path / "new")


@pytest.mark.long
@pytest.mark.skipif(not _KIT.is_dir(), reason="needs ../shared/damages")
@pytest.mark.parametrize("kind", _KINDS)
def test_damage_of_other_kinds_has_the_same_numbers_everywhere(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_KIT))
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    try:
        import_module("damages").damage(store, kind, 1)
    except (ValueError, IndexError, OSError) as error:
        pytest.skip(f"does not fit this store: {error}")
    finally:
        sys.modules.pop("damages", None)
    has_same_numbers(opened(store), tmp_path / "new")


def test_a_doubtful_message_was_counted_as_lost(tmp_path: Path) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    torn_properties(store, Random(3))
    facts = has_same_numbers(opened(store), tmp_path / "new")
    assert (facts["account"]["doubtful"], facts["account"]["lost"], facts["placeholders"]) == (1, 0, 1)
    ended = run("repair", store, tmp_path / "other", "--dry-run")
    assert ended.code == 1
    assert "warning: in the damaged store: " in ended.err
    assert "warning: 1 placeholder is in the place of messages that are not in the new store" in ended.err


def test_an_extract_has_the_numbers_of_its_topics(tmp_path: Path) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    first_page(store, Random(3))
    table = account_of(nr.open(store)).table.to_pylist()
    lost = sum(row["messages"] for row in table if row["topic"] in ("Plain", None) and row["state"] in ("lost", "at least"))
    planned, done = (nr.open(store).extract(tmp_path / "new", "Plain", dry_run=dry) for dry in (True, False))
    assert planned.to_dict()["account"] == done.to_dict()["account"]
    assert planned.plan.lost_messages == done.plan.lost_messages == lost > 0
    assert done.account is not None
    assert counts(done.account) == counts(without_fillers(account_of(nr.open(tmp_path / "new"))))


def test_bytes_that_are_not_utf_8_are_doubtful_and_kept(tmp_path: Path) -> None:
    """Text of another encoding was kept without a word, and the repair then refused its own store."""
    odd = Message(
        topic="T0", body=b"x", properties=b"TAGS\x01A\x02UNIQ_KEY\x01k\x02name\x01\xc4\xe3\xba\xc3\x02", store_timestamp=1_700_000_000_030
    )
    _, files = healthy([*map(message, range(30)), odd, *map(message, range(31, 60))])
    facts = has_same_numbers(nr.open(on_disk(tmp_path, files) / "store"), tmp_path / "new")
    assert (facts["account"]["doubtful"], facts["messages"], facts["placeholders"]) == (1, 60, 0)
    assert [(each["why"], each["is_kept"]) for each in facts["doubtful"]] == [("maybe text", True)]
