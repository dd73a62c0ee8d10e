"""What a search for stores asks of the storage: each directory is listed once, and each name looked up once."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest
from support.stores import ZERO, dledger, files_of, on_disk

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage

STORE = files_of() | {f"store/consumequeue/T0/0/{ZERO}": b"x", "store/config/topics.json": b"{}"}
TWO = STORE | {name.replace("store", "other", 1): content for name, content in STORE.items()}
CONTROLLED = dledger() | {"store/config/topics.json": b"{}"}
QUEUE = f"store/consumequeue/T0/0/{ZERO}"


class Asked:
    """A storage in a folder, and what was asked of it: the calls by name and URI."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.storage = FaultyStorage(on_disk(folder, files).as_uri(), fault=lambda call, uri, _: self.calls.update([(call, uri)]))

    def uri(self, path: str) -> str:
        return f"{self.storage.url}/{path}"

    def times(self, call: str) -> list[int]:
        return [count for (name, _), count in self.calls.items() if name == call]


@pytest.mark.parametrize(
    ("files", "paths", "listed"),
    [
        (STORE, ["store"], 2),
        (STORE, ["store/commitlog"], 2),
        (STORE, [f"store/commitlog/{ZERO}"], 1),
        (STORE, ["store/commitlog/*"], 2),
        (STORE, ["st*"], 3),
        (STORE, ["*/commitlog"], 3),
        (STORE, [""], 3),
        (TWO, [""], 5),
        (TWO, ["*"], 5),
        (TWO, ["store", "other", "store/commitlog"], 4),
        (TWO, ["", "store", "other/commitlog"], 5),
        (STORE, [f"store/commitlog/{ZERO}", "store/commitlog", "store"], 2),
        (CONTROLLED, ["store"], 2),
        (CONTROLLED, [""], 3),
        (CONTROLLED, ["store/dledger-n0/data"], 2),
        (CONTROLLED, ["store", "store/dledger-n0/data"], 2),
    ],
)
def test_a_directory_is_listed_once(tmp_path, files, paths, listed):
    asked = Asked(tmp_path, files)
    store = nr.open([asked.uri(path) for path in paths])
    assert asked.times("list") == [1] * listed
    assert set(asked.times("entry")) == {1}
    assert len(store.stores) == (2 if files is TWO else 1)


@pytest.mark.parametrize("path", ["store/config", "store/consumequeue/T0/0", QUEUE, "store/stor", "store/none/none", "store/con*"])
def test_a_search_in_vain_lists_no_directory_twice(tmp_path, path):
    asked = Asked(tmp_path, STORE)
    with pytest.raises(nr.PathError):
        nr.open(asked.uri(path))
    assert set(asked.times("list")) == {1}
    assert set(asked.times("entry")) == {1}


@pytest.mark.parametrize("paths", [(), ("store",)])
def test_named_directories_are_listed_once(tmp_path, paths):
    asked = Asked(tmp_path, STORE)
    store = nr.open([asked.uri(path) for path in paths], store_path_commit_log=asked.uri("store/commitlog"))
    assert asked.times("list") == [1, 1]
    assert store.stores[0].config == asked.uri("store/config")


def test_the_other_names_of_a_store_are_not_listed_again(tmp_path):
    """Its logs are joined without another look at its root."""
    asked = Asked(tmp_path, STORE | {"moved/x": b""})
    (tmp_path / "latest").symlink_to(tmp_path / "store")
    (tmp_path / "moved" / "commitlog").symlink_to(tmp_path / "store" / "commitlog")
    store = nr.open(asked.uri("*"))
    assert set(asked.times("list")) == {1}
    assert [each.uri for each in store.stores] == [asked.uri("store")]
    assert store.stores[0] == nr.open(asked.uri("store")).stores[0]


def test_a_store_keeps_nothing_of_the_search(tmp_path):
    """A plan is sent to other machines with it."""
    stores = nr.open(Asked(tmp_path, TWO).uri("")).stores
    assert pickle.loads(pickle.dumps(stores)) == stores
