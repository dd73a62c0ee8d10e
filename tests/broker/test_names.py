"""The names of brokers: given, configured, known by the store, or those of directories; and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import Golden
from support.stores import files_of, in_memory, log_of, on_disk

import native_reader as nr


def unknown(*places: str) -> nr.Store:
    """Stores whose brokers are not known, at these places."""
    files = files_of(log_of(3))
    memory = in_memory({path.replace("store/", f"{place}/", 1): content for place in places for path, content in files.items()})
    return nr.open([f"{memory.url}/{place}" for place in places])


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (["store"], ["store"]),
        (["east/store", "west/store"], ["east", "west"]),
        (["x/a/data/store", "y/a/data/store"], ["x", "y"]),
        (["x/a", "y/a", "b"], ["x/a", "y/a", "b"]),
    ],
)
def test_an_unknown_broker_has_the_name_of_a_directory(places: list[str], names: list[str]) -> None:
    assert list(unknown(*places).brokers().values()) == names


def test_a_name_is_that_of_the_store_at_above_or_below_its_path() -> None:
    store = unknown("east/store", "west/store")
    east, west = (each.uri for each in store.stores)
    assert store.brokers({east: "a", f"{west}/commitlog": "b"}) == {east: "a", west: "b"}
    assert store.brokers({f"{west.rpartition('/')[0]}/": "b"}) == {east: "east", west: "b"}


def test_a_wrong_name_says_what_to_do() -> None:
    store = unknown("east/store", "west/store")
    east, west = (each.uri for each in store.stores)
    with pytest.raises(nr.OptionError, match=f"{east} and {west} are both of broker 'west'. Give at least one of them another name with "):
        store.brokers({east: "west"})
    with pytest.raises(nr.OptionError, match=f"'/nowhere' is none of the stores. The stores: {east}, {west}"):
        store.brokers({"/nowhere": "x"})
    with pytest.raises(nr.OptionError, match="is 2 stores"):
        store.brokers({east.removesuffix("/east/store"): "x"})
    with pytest.raises(nr.OptionError, match="a name is empty"):
        store.brokers({east: " "})


def test_the_configuration_comes_before_the_topics(tmp_path: Path, own_store: Callable[[str], Golden]) -> None:
    assert list(nr.open(own_store("5.5.0-kinds").root).brokers().values()) == ["broker-a"]
    store = on_disk(tmp_path, files_of(log_of(3))) / "store"
    (store / "broker.conf").write_text("brokerName = broker-b\n")
    assert list(nr.open(store).brokers().values()) == ["broker-b"]
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={store}\nbrokerName=broker-c\n")
    assert list(nr.open(store, broker_conf=str(conf)).brokers().values()) == ["broker-c"]
    (store / "broker.conf").write_bytes(b"x" * (1 << 21))  # too large to be one
    assert list(nr.open(store).brokers().values()) == ["store"]
