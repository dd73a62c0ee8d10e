"""How far consumer groups have read: the offsets that a broker stores in its configuration directory.

    lmqConsumerOffset.json   brokers with enableLmq=true
    consumerOffset.json      other brokers
    consumerOffsets/         RocksDB (5.1.4+, storeType=defaultRocksDB): key topic@group, value {"offsetTable":{"0":5}}
    rdb/                     RocksDB (5.3.2+, configManagerVersion=v2): `layout.config_database`

    {"offsetTable":{"topic@group":{0:5}}, "lmqOffsetTable":{"topic@group":5}, "pullOffsetTable":{"topic@group":{0:7}}}

An offset is that of the next message to consume. `offsetTable` has broadcasting groups as `topic@group@broadcast` (5.0+).
Light queues (LMQ) have only queue 0. A pulled offset is that of the next message to deliver (5.0+).

A broker uses one of them. The others are older: from before a change of its settings, or exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from native_reader.broker.config_files import ConfigFile, printable, read_config
from native_reader.broker.fastjson import NotFastjson, parse
from native_reader.broker.rocksdb import is_database, open_database
from native_reader.layout.config_database import COMMITTED, PULLED, offset_in, queue_in

_BROADCAST = "@broadcast"
_LARGEST_QUEUE, _LARGEST_OFFSET = 2**31 - 1, 2**63 - 1
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


def offsets_in(config: str | None) -> list[GroupOffset]:
    """The offsets in a configuration directory. If several sources have one, a database counts first, then the file written last."""
    found: dict[_Key, GroupOffset] = {}
    for file, offsets in _sources(config):
        for key, (committed, pulled) in offsets.items():
            found.setdefault(key, GroupOffset(file, *key, committed, pulled))
    return list(found.values())


def _sources(config: str | None) -> Iterator[tuple[str, _Found]]:
    if config is None:
        return
    for name, read in (("rdb", _in_binary), ("consumerOffsets", _in_database)):
        if is_database(uri := f"{config}/{name}"):
            yield uri, read(uri)
    files = [file for name in _FILES if (file := read_config(config, name, "offsetTable")) is not None]
    for file in sorted(files, key=_written, reverse=True):
        light = {key: {"0": offset} for key, offset in file.table("lmqOffsetTable").items()}
        yield file.uri, _found({**file.table("offsetTable"), **light}, file.table("pullOffsetTable"))


def _written(file: ConfigFile) -> int:
    """When a broker of 5.0 and later last changed the offsets; 0 if unknown."""
    version = file.content.get("dataVersion")
    time = version.get("timestamp") if isinstance(version, dict) else None
    return time if type(time) is int else 0


def _in_database(uri: str) -> _Found:
    tables: dict[str, Any] = {}
    with open_database(uri) as database:
        for key, value in database.few_items():
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
