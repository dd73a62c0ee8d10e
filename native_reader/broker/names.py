"""The names of several stores' brokers: those that are given, else as each is configured, else its directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from native_reader.broker.identity import UNKNOWN, Identity, identity_of
from native_reader.errors import OptionError, option_name, shown
from native_reader.storage.paths import uri_of
from native_reader.storage.store import StoreFiles
from native_reader.text import names_of

_MOST_NAMES = 5


def broker_names(stores: Sequence[StoreFiles], given: Mapping[str, str], configured: Identity = UNKNOWN) -> dict[str, str]:
    """The name of each store's broker, by the URI of the store. No two stores have the same one.

    `given`: names by path. `configured`: what a configuration file says, which is about one broker and so about a single store.
    """
    uris = [store.uri for store in stores]
    said = {_meant(path, uris): _checked(name) for path, name in given.items()}
    of_file = configured if len(stores) == 1 else UNKNOWN
    known = {store.uri: said.get(store.uri) or identity_of(store, of_file).broker for store in stores}
    names = {uri: known[uri] or directory for uri, directory in _directories(uris).items()}
    owners: dict[str, str] = {}
    for uri in uris:
        if (other := owners.setdefault(names[uri], uri)) != uri:
            raise OptionError(
                f"{other} and {uri} are both of broker {shown(names[uri])}. "
                f"Give at least one of them another name with {option_name('names')}: {uri}=NAME"
            )
    return {uri: names[uri] for uri in uris}


def _meant(path: str, uris: Sequence[str]) -> str:
    """The store at this path, above it or below it."""
    place = uri_of(path).rstrip("/")
    found = [uri for uri in uris if place == uri or place.startswith(f"{uri}/")] or [uri for uri in uris if uri.startswith(f"{place}/")]
    if len(found) != 1:
        what = f"{len(found)} stores" if found else "none of the stores"
        raise OptionError(f"{option_name('names')}: {shown(path)} is {what}. The stores: {names_of(uris, _MOST_NAMES)}")
    return found[0]


def _checked(name: str) -> str:
    if not name.strip():
        raise OptionError(f"{option_name('names')}: a name is empty")
    return name


def _directories(uris: Sequence[str]) -> dict[str, str]:
    """The last parts of each path that no other has, without the parts at the end that all have: most stores are in a directory `store`."""
    paths = [tuple(uri.rstrip("/").split("/")) for uri in uris]
    while len(paths) > 1 and len({path[-1] for path in paths}) == 1:
        paths = [path[:-1] for path in paths]
    seen = Counter(path[-count:] for path in paths for count in range(1, len(path) + 1))
    ends = [next(count for count in range(1, len(path) + 1) if seen[path[-count:]] == 1 or count == len(path)) for path in paths]
    return {uri: "/".join(path[-count:]) for uri, path, count in zip(uris, paths, ends, strict=True)}
