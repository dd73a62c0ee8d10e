"""Stores that real brokers wrote, and large ones as they would write them: damaged copies are started, and compared with our answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ports import free_port
from rocketmq import QUICK, SMALL_FILES, Clients, Java
from support.golden import unpack
from support.own_stores import STORES
from support.unstarted import SEGMENT

import native_reader as nr
from native_reader.start import Start
from native_reader.start.lines import Line, line_of
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

LINES = {version: line_of(version) for version in ("4.9.7", "5.5.0")}
STORE_NAMES = ("4.9.7 killed", "4.9.7 clean", "5.5.0 killed", "5.5.0 clean", "large killed", "large clean")
RESERVED_HOURS = 99_999
PATIENCE = 240.0
NOTHING_EXPIRES = {"deleteWhen": 99, "cleanFileForciblyEnable": "false", "diskMaxUsedSpaceRatio": 99}


class Kept(NamedTuple):
    """A store, and the settings of its broker."""

    store: Path
    settings: dict[str, object]


@dataclass
class KeptStores:
    """The stores of STORE_NAMES, each made when it is first asked for. A broker takes a store for clean if the file `abort` is missing."""

    folder: Path
    _known: dict[str, Kept] = field(default_factory=dict)

    def __call__(self, name: str) -> Kept:
        if name not in self._known:
            kind, how = name.split()
            self._known[name] = self._large(name, how) if kind == "large" else self._of_broker(kind, how)
        return self._known[name]

    def _large(self, name: str, how: str) -> Kept:
        spec = StoreSpec(
            bytes=14 * SEGMENT - 9000, body=500, rare=0, huge=False, killed=how == "killed", mapped_file_size_commit_log=SEGMENT,
            mapped_file_size_consume_queue=600, max_hash_slot_num=500, max_index_num=2000,
        )  # fmt: skip
        write_store(self.folder / name, spec)
        return Kept(self.folder / name, SMALL_FILES | {"mappedFileSizeCommitLog": SEGMENT, "maxHashSlotNum": 500, "maxIndexNum": 2000})

    def _of_broker(self, version: str, how: str) -> Kept:
        own = unpack({"4.9.7": "4.9.7-killed-pooled", "5.5.0": "5.5.0-killed"}[version], self.folder / how, STORES)
        if how == "clean":
            (own.root / "abort").unlink()
        return Kept(own.root, json.loads((own.folder / "settings.json").read_text()))


class Brokers:
    """Brokers of all versions, each version in a Java of its own, one broker after another."""

    def __init__(self) -> None:
        self._running: dict[str, Clients] = {}

    def start(self, version: str, kept: Kept, store: Path, patience: float = PATIENCE, *, light: bool = False) -> list[dict[str, Any]]:
        """What a broker says that starts on this store; then it is stopped, while the next one starts."""
        if version not in self._running:
            self._running[version] = Clients(Java(version, "starts"), "Starts")
        port = free_port()
        places = {"storePathRootDir": store, "storePathCommitLog": store / "commitlog", "listenPort": port, "haListenPort": free_port()}
        # With enableLmq, a broker reads lmqConsumerOffset.json and not consumerOffset.json.
        has_light = "true" if light else "false"
        usual = {"fileReservedTime": RESERVED_HOURS, "enableLmq": has_light, "enableMultiDispatch": has_light}
        settings = QUICK | kept.settings | NOTHING_EXPIRES | usual | places
        configuration = store.with_name("broker.conf")
        configuration.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        try:
            return self._running[version].act([configuration], time.monotonic() + patience)
        except BaseException:
            self._running.pop(version).end()
            raise

    def end(self) -> None:
        for each in self._running.values():
            each.end()


def whole_offsets(store: Path) -> frozenset[int]:
    scan = nr.open(store).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns="physical_offset")
    return frozenset(scan.to_table()["physical_offset"].to_pylist())


def values_of(start: Start, line: Line, kind: str) -> Iterator[dict[str, int | str]]:
    yield from (dict(each.cause.values) for each in start.reasons if each.cause.kind == kind and (not each.lines or line in each.lines))


def refuses(start: Start, line: Line) -> bool:
    return any(each.harm == 0 for each in start.reasons if not each.lines or line in each.lines)
