"""Stores that real brokers wrote, and large ones as they would write them: damaged copies are started, and compared with our answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rocketmq import SMALL_FILES
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


def whole_offsets(store: Path) -> frozenset[int]:
    scan = nr.open(store).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns="physical_offset")
    return frozenset(scan.to_table()["physical_offset"].to_pylist())


def values_of(start: Start, line: Line, kind: str) -> Iterator[dict[str, int | str]]:
    yield from (dict(each.cause.values) for each in start.reasons if each.cause.kind == kind and (not each.lines or line in each.lines))


def refuses(start: Start, line: Line) -> bool:
    return any(each.harm == 0 for each in start.reasons if not each.lines or line in each.lines)
