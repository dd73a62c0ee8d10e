"""A plain store of several damaged DLedger peers has what any of them has, each message once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run
from support.golden import copy_with_holes, unpack
from support.own_stores import STORES
from support.peers import SIZE, entry, patched, peer, place_of

import native_reader as nr
from native_reader.layout.inner import PLACEHOLDER_TAG

NAME = "5.5.0-dledger"
COLUMNS = "topic,queue_id,queue_offset,body,tags"


def zeros(store: Path, at: int, size: int) -> None:
    """Damage the log of a store whose files are large."""
    path = max(each for each in (store / "dledger-n0" / "data").iterdir() if int(each.name) <= at)
    with path.open("r+b") as file:
        file.seek(at - int(path.name))
        file.write(bytes(size))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(NAME, tmp_path_factory.mktemp("whole"), STORES).root


@pytest.fixture(scope="module")
def plain(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What becomes of a whole peer."""
    new = tmp_path_factory.mktemp("plain") / "new"
    nr.open(whole).repair(new, plain=True)
    return new


def copies(whole: Path, tmp_path: Path, *damages: Callable[[Path], object]) -> list[Path]:
    stores = list[Path]()
    for name, damage in zip("abc", damages, strict=False):
        stores.append(shutil.copytree(whole, tmp_path / name, copy_function=copy_with_holes))
        damage(stores[-1])
    return stores


def files_of(store: Path, part: str) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted((store / part).rglob("*")) if path.is_file()}


def is_as(new: Path, plain: Path) -> bool:
    return all(files_of(new, part) == files_of(plain, part) for part in ("commitlog", "consumequeue"))


def end_of(store: Path) -> int:
    return max(nr.open(store).messages(columns="physical_offset").to_table()["physical_offset"].to_pylist())


def rows(store: Path) -> list[tuple[object, ...]]:
    """The messages, without placeholders."""
    found = nr.open(store).messages(columns=COLUMNS, mode="DROPMALFORMED", fail_on_data_loss=False).to_table().to_pylist()
    return sorted(tuple(row.values()) for row in found if PLACEHOLDER_TAG not in (row["topic"], row["tags"]))


def test_three_peers_that_are_damaged_elsewhere_give_all(whole: Path, plain: Path, tmp_path: Path) -> None:
    stores = copies(
        whole, tmp_path, lambda each: zeros(each, 20_000, 9000), lambda each: zeros(each, 25_000, 9000), lambda each: zeros(each, 600, 3000)
    )
    for number in range(3):
        new = tmp_path / f"new{number}"
        done = nr.open(stores[number]).repair(new, plain=True, others=stores[:number] + stores[number + 1 :])
        assert is_as(new, plain)
        assert done.is_whole
        facts = json.loads((new / "repair.json").read_text())
        assert facts["account_with_others"]["lost"] == facts["placeholders"] == 0 < facts["account"]["lost"]
        taken = sum(each["messages"] for each in facts["from"])
        assert taken == sum(queue["last"] - queue["first"] + 1 for each in facts["from"] for queue in each["queues"]) > 0


def test_the_end_of_the_log_comes_too(whole: Path, plain: Path, tmp_path: Path) -> None:
    end = end_of(whole)
    stores = copies(whole, tmp_path, lambda each: zeros(each, end - 9000, 20_000), lambda each: zeros(each, end - 5000, 900))
    done = nr.open(stores[0]).repair(tmp_path / "two", plain=True, others=[stores[1]])
    assert done.plan.placeholders > 0
    third = shutil.copytree(whole, tmp_path / "third", copy_function=copy_with_holes)
    zeros(third, 900, 9000)
    done = nr.open(stores[0]).repair(tmp_path / "new", plain=True, others=[stores[1], third])
    assert (is_as(tmp_path / "new", plain), done.plan.placeholders) == (True, 0)


def test_what_all_lack_is_a_gap(whole: Path, tmp_path: Path) -> None:
    stores = copies(whole, tmp_path, lambda each: zeros(each, 20_000, 9000), lambda each: zeros(each, 25_000, 9000))
    done = nr.open(stores[0]).repair(tmp_path / "new", plain=True, others=[stores[1]])
    assert not done.is_whole
    assert 0 < done.plan.placeholders < nr.open(stores[0]).repair(tmp_path / "alone", plain=True).plan.placeholders
    assert set(rows(tmp_path / "alone")) < set(rows(tmp_path / "new")) < set(rows(whole))


def test_a_file_that_is_missing_comes(tmp_path: Path) -> None:
    one, other = (peer(tmp_path / name, [1] * 40) for name in "ab")
    whole = rows(one)
    (one / "dledger-n0" / "data" / f"{SIZE:020}").unlink()
    patched(other, place_of(other, 3), bytes(60))
    nr.open(one).repair(tmp_path / "new", plain=True, others=[other])
    assert rows(tmp_path / "new") == whole


def test_a_peer_that_lags_gets_what_follows(tmp_path: Path) -> None:
    one, other = peer(tmp_path / "a", [1] * 15), peer(tmp_path / "b", [1] * 20 + [3] * 30)
    nr.open(one).repair(tmp_path / "new", plain=True, others=[other])
    assert rows(tmp_path / "new") == rows(other)


def test_a_log_that_parted_gives_what_precedes(tmp_path: Path) -> None:
    """`b` has entries of term 2 that the group never acknowledged."""
    one, other = peer(tmp_path / "a", [1] * 20 + [3] * 9), peer(tmp_path / "b", [1] * 20 + [2] * 20)
    whole = rows(one)
    for index in (7, 23):
        patched(one, place_of(one, index), bytes(120))
    done = nr.open(one).repair(tmp_path / "new", plain=True, others=[other])
    assert rows(tmp_path / "new") == [row for row in whole if row[2] not in (23,)]
    assert done.plan.filled is not None
    assert [(each.first, each.last) for each in done.plan.filled.taken] == [(7, 7)]


def test_of_a_log_that_parted_nothing_else_comes(tmp_path: Path) -> None:
    one, other = peer(tmp_path / "a", [1] * 20 + [3] * 9), peer(tmp_path / "b", [1] * 20 + [2] * 20)
    patched(one, place_of(one, 23), bytes(120))
    done = nr.open(one).repair(tmp_path / "new", plain=True, others=[other])
    assert done.plan.filled is not None
    assert (done.plan.filled.parted, done.plan.filled.taken) == ([other.resolve().as_uri()], [])
    assert "has another log there" in (tmp_path / "new" / "repair.md").read_text()


def test_the_peer_that_the_group_discards_is_refused(tmp_path: Path) -> None:
    one, other = peer(tmp_path / "a", [1] * 20 + [2] * 20), peer(tmp_path / "b", [1] * 20 + [3] * 9)
    patched(one, place_of(one, 7), bytes(120))
    with pytest.raises(nr.RepairError, match=r"not the same log after entry 19.*keeps that of .*/b.*--from .*/a"):
        nr.open(one).repair(tmp_path / "new", plain=True, others=[other])


def test_other_bytes_in_one_term_stay_and_are_said(tmp_path: Path) -> None:
    one, other = peer(tmp_path / "a", [1] * 20), peer(tmp_path / "b", [1] * 20)
    whole = rows(one)
    patched(one, place_of(one, 7), bytes(120))
    patched(other, place_of(other, 12), entry(12, 1, place_of(other, 12), b"pXid"))
    done = nr.open(one).repair(tmp_path / "new", plain=True, others=[other])
    assert rows(tmp_path / "new") == whole
    assert done.plan.filled is not None
    assert list(done.plan.filled.differing) == [(other.resolve().as_uri(), 1, 12)]
    assert "the first is entry 12" in (tmp_path / "new" / "repair.md").read_text()


def test_other_stores_give_nothing(tmp_path: Path, whole: Path) -> None:
    """An empty peer, one of another group, and a store that is none."""
    one, empty = peer(tmp_path / "a", [1] * 20), peer(tmp_path / "empty", [], committed=-1)
    group = peer(tmp_path / "group", [1] * 20, text=b"other")
    patched(one, place_of(one, 7), bytes(120))
    done = nr.open(one).repair(tmp_path / "new", plain=True, others=[empty, group])
    assert (done.plan.placeholders, len(rows(tmp_path / "new"))) == (1, 19)
    assert done.plan.filled is not None
    assert not done.plan.filled.taken
    nr.open(whole).repair(tmp_path / "plain", plain=True)
    with pytest.raises(nr.RepairError, match="is not the store of a DLedger peer"):
        nr.open(one).repair(tmp_path / "again", plain=True, others=[tmp_path / "plain"])
    with pytest.raises(nr.RepairError, match="is the store that is repaired"):
        nr.open(one).repair(tmp_path / "again", plain=True, others=[one])


def test_the_command_says_what_each_peer_gave(whole: Path, tmp_path: Path) -> None:
    stores = copies(whole, tmp_path, lambda each: zeros(each, 20_000, 9000), lambda each: zeros(each, 40_000, 5000))
    ended = run("repair", str(stores[0]), str(tmp_path / "new"), "--plain", "--from", str(stores[1]))
    assert ended.code == 0, ended.err
    assert f"messages from {stores[1]}, in their places" in ended.err
    page = (tmp_path / "new" / "repair.md").read_text()
    assert "has the same log there, by the terms of entries" in page
    assert "| same log" in page or "the same log" in page


def test_two_peers_that_agree_outvote_the_first(tmp_path: Path) -> None:
    """No checksum covers the time of birth."""
    one, other, third = (peer(tmp_path / name, [1] * 20) for name in "abc")
    before = nr.open(other).messages(columns="queue_offset,born_timestamp").to_table()
    patched(one, place_of(one, 7) + 48 + 43, b"\1")
    patched(other, place_of(other, 12) + 48 + 43, b"\1")
    nr.open(one).repair(tmp_path / "two", plain=True, others=[other])
    assert not nr.open(tmp_path / "two").messages(columns="queue_offset,born_timestamp").to_table().equals(before)
    done = nr.open(one).repair(tmp_path / "new", plain=True, others=[other, third])
    assert nr.open(tmp_path / "new").messages(columns="queue_offset,born_timestamp").to_table().equals(before)
    assert done.plan.filled is not None
    assert not done.plan.filled.differing


def test_a_tag_that_the_queue_contradicts_comes_from_the_other_peer(whole: Path, plain: Path, tmp_path: Path) -> None:
    def other_tag(store: Path) -> None:
        path = sorted((store / "dledger-n0" / "data").iterdir())[0]
        content = bytearray(path.read_bytes())
        content[content.index(b"TAGS\x01") + 5] ^= 1
        path.write_bytes(content)

    stores = copies(whole, tmp_path, other_tag)
    assert nr.open(stores[0]).repair(tmp_path / "alone", plain=True).plan.doubts
    done = nr.open(stores[0]).repair(tmp_path / "new", plain=True, others=[whole])
    assert (is_as(tmp_path / "new", plain), done.is_whole) == (True, True)
