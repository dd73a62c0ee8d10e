"""How far consumer groups have read: the offsets that a broker stores in its configuration directory.

    lmqConsumerOffset.json   brokers with enableLmq=true
    consumerOffset.json      other brokers
    consumerOffsets/         RocksDB (5.1.4+, storeType=defaultRocksDB): key topic@group, value {"offsetTable":{"0":5}}
    metadata/                RocksDB (5.4.0+, useSingleRocksDBForAllConfigs): the same, in the column family `consumerOffset`
    rdb/                     RocksDB (5.3.2+, configManagerVersion=v2): `layout.config_database`

    {"offsetTable":{"topic@group":{0:5}}, "lmqOffsetTable":{"topic@group":5}, "pullOffsetTable":{"topic@group":{0:7}}}

An offset is that of the next message to consume. `offsetTable` has broadcasting groups as `topic@group@broadcast` (5.0+).
Light queues (LMQ) have only queue 0. A pulled offset is that of the next message to deliver (5.0+).

A broker uses one of them. The others are older: from before a change of its settings, or exported. Offsets grow, so the source in
which more of them are higher is the one that it uses.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from native_reader.broker.config_files import BACKUP, ConfigFile, NotFastjson, parse, printable, read_config
from native_reader.errors import warn
from native_reader.layout.config_database import COMMITTED, PULLED, offset_in, queue_in
from native_reader.sentences import say
from native_reader.storage.paths import list_if_possible
from native_reader.storage.rocksdb import is_database, open_database

_log = logging.getLogger("native_reader")
_BROADCAST = "@broadcast"
_LARGEST_QUEUE, _LARGEST_OFFSET = 2**31 - 1, 2**63 - 1
_FAMILY = "consumerOffset"
_FILES = "lmqConsumerOffset.json", "consumerOffset.json"


class GroupOffset(NamedTuple):
    """What a broker stored for one group and queue. A value that is not such a number is None."""

    file: str
    topic: str
    group: str | None
    is_broadcast: bool
    queue_id: int | None
    committed: int | None
    pulled: int | None


_Key = tuple[str, str | None, bool, int | None]
_Found = dict[_Key, list[int | None]]
_Offsets = dict[_Key, GroupOffset]


def offsets_in(config: str | None) -> list[GroupOffset]:
    """The offsets in a configuration directory, from the source that the broker uses. Of two files, that written last counts first."""
    if config is None:
        return []
    databases = list(_in_databases(config))
    beside = next((_files_of(each) for each in databases if each), None)
    used, *others = [*databases, _in_files(config, beside)]
    for other in others:
        used, behind = (other, used) if _is_ahead(other, used) else (used, other)
        if behind and behind != used:
            _say_left_behind(_files_of(behind), _files_of(used))
    return list(used.values())


def has_offsets(config: str) -> bool:
    """Whether a configuration directory has a file or database of consumer offsets. A broker writes one also without groups."""
    names = {entry.name for entry in list_if_possible(config)}
    is_file = any(f"{name}{suffix}" in names for name in _FILES for suffix in ("", BACKUP))
    return is_file or any(is_database(f"{config}/{name}") for name in ("rdb", "metadata", "consumerOffsets"))


def _files_of(offsets: _Offsets) -> str:
    return ", ".join(sorted({each.file for each in offsets.values()}))


@lru_cache(maxsize=256)
def _say_left_behind(files: str, used: str) -> None:
    """Once in a process."""
    warn(_log, say("offsets elsewhere", files=files, used=used))


def _is_ahead(one: _Offsets, other: _Offsets) -> bool:
    """Whether more of the offsets that both have are higher in `one`; if the other is empty, whether this one is not."""
    pairs = [(one[key].committed, other[key].committed) for key in one.keys() & other.keys()]
    known = [(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
    higher, lower = sum(mine > theirs for mine, theirs in known), sum(mine < theirs for mine, theirs in known)
    return higher > lower or (bool(one) and not other)


def _in_databases(config: str) -> Iterator[_Offsets]:
    for name, read in (("rdb", _in_binary), ("metadata", partial(_in_json, _FAMILY)), ("consumerOffsets", partial(_in_json, "default"))):
        if is_database(uri := f"{config}/{name}"):
            yield {key: GroupOffset(uri, *key, *offsets) for key, offsets in read(uri).items()}


def _in_files(config: str, beside: str | None) -> _Offsets:
    files = [file for name in _FILES if (file := read_config(config, name, "offsetTable", beside=beside)) is not None]
    found: _Offsets = {}
    for file in sorted(files, key=_written, reverse=True):
        light = {key: {"0": offset} for key, offset in file.table("lmqOffsetTable").items()}
        of_file = _found({**file.table("offsetTable"), **light}, file.table("pullOffsetTable"))
        found = {key: GroupOffset(file.uri, *key, *offsets) for key, offsets in of_file.items()} | found
    return found


def _written(file: ConfigFile) -> int:
    """When a broker of 5.0 and later last changed the offsets; 0 if unknown."""
    version = file.content.get("dataVersion")
    time = version.get("timestamp") if isinstance(version, dict) else None
    return time if type(time) is int else 0


def _in_json(family: str, uri: str) -> _Found:
    tables: dict[str, Any] = {}
    with open_database(uri) as database:
        for key, value in database.few_items(family=family):
            try:
                entry = parse(value)
            except NotFastjson:
                entry = None
            tables[key.decode("utf-8", "replace")] = entry.get("offsetTable") if isinstance(entry, dict) else None
    return _found(tables, {})


def _in_binary(uri: str) -> _Found:
    found: _Found = {}
    with open_database(uri) as database:
        for column, prefix in enumerate((COMMITTED, PULLED)):
            for key, value in database.few_items(prefix):
                group, topic, queue = queue_in(key, prefix)
                where = topic, group.removesuffix(_BROADCAST), group.endswith(_BROADCAST), queue
                found.setdefault(where, [None, None])[column] = offset_in(value)
    return found


def _found(committed: Mapping[str, Any], pulled: Mapping[str, Any]) -> _Found:
    found: _Found = {key: [offset, None] for name, offsets in committed.items() for key, offset in _entries(name, offsets)}
    for name, offsets in pulled.items():
        # Only committed offsets have the suffix.
        suffix = _BROADCAST if name not in committed and name + _BROADCAST in committed else ""
        for key, offset in _entries(name + suffix, offsets):
            found.setdefault(key, [None, None])[1] = offset
    return found


def _entries(name: str, offsets: Any) -> Iterator[tuple[_Key, int | None]]:
    topic, separator, group = printable(name).partition("@")
    names = topic, group.removesuffix(_BROADCAST) if separator else None, group.endswith(_BROADCAST)
    for queue, offset in offsets.items() if isinstance(offsets, dict) else ((None, None),):
        yield (*names, _number(queue, _LARGEST_QUEUE)), _number(offset, _LARGEST_OFFSET)


def _number(value: Any, largest: int) -> int | None:
    """A number from 0 to `largest`, also as text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    return value if type(value) is int and 0 <= value <= largest else None
