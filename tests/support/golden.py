"""The golden stores: written by real brokers, with Java's decoding of each record.

They are not part of this repository; the README.md in `FOLDER` describes them.
`expected_rows` converts Java's values to our columns. `EXPLAINED` lists the intended differences.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import native_reader as nr
from native_reader.storage.rocksdb import is_database, open_database
from support.plain_decoder import V1, Row

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "golden"
STORES = (
    "v4-kinds", "v4-lmq", "v4-killed-transient", "v5-kinds", "v5-propcrc", "v5-inproc",
    "v5-killed", "v5-dledger", "v5-multipath", "v5-compaction", "v5-expired", "v5-rocksdb-cq",
    "v55-all-rocks", "v55-double-rocks", "v55-lite-rocks", "v55-timer-rocks", "v55-trans-rocks",
)  # fmt: skip

_LARGE = 1 << 20

OF_EACH_KIND = ("4.9.7-kinds", "5.5.0-dledger", "5.5.0-multipath", "5.5.0-rare", "v5-rocksdb-cq", "v55-all-rocks")
"""Of these and of the stores in this repository, some that differ most: for tests that read all of them only in `make sweep`."""

KINDS = {  # rows of each kind, counted from the topics and flags in each store's meta.json
    "v4-kinds": {"normal": 534, "half": 39, "op": 8, "committed": 4, "delay": 19, "retry": 9, "dlq": 3, "system": 2, "trace": 1},
    "v4-lmq": {"normal": 40},
    "v4-killed-transient": {"normal": 1405, "half": 12, "delay": 4},
    "v5-kinds": {
        "normal": 548, "half": 61, "op": 3, "committed": 4, "delay": 19, "retry": 20, "dlq": 3, "system": 14, "trace": 1,
        "timer": 218, "pop": 56, "batch": 44,
    },
    "v5-propcrc": {
        "normal": 316, "half": 49, "op": 4, "committed": 4, "delay": 19, "retry": 9, "dlq": 3, "system": 10, "trace": 1, "batch": 50,
    },
    "v5-inproc": {"normal": 965, "prepared": 1, "committed": 1, "rollback": 1, "retry": 24, "batch": 28},
    "v5-killed": {"normal": 2037, "half": 18, "op": 1, "committed": 2, "delay": 4},
    "v5-dledger": {"normal": 342, "half": 55, "op": 4, "committed": 4, "delay": 19, "retry": 9, "dlq": 3, "system": 12, "trace": 1},
    "v5-multipath": {"normal": 867},
    "v5-compaction": {"normal": 1054},
    "v5-expired": {"normal": 165},
    "v5-rocksdb-cq": {"normal": 332, "half": 61, "op": 3, "committed": 4, "delay": 19, "retry": 9, "dlq": 3, "system": 14, "trace": 1},
    "v55-all-rocks": {"normal": 244, "half": 44, "op": 1, "committed": 4, "delay": 11, "retry": 4, "dlq": 2, "system": 9},
    "v55-double-rocks": {"normal": 194, "half": 52, "op": 4, "committed": 8, "delay": 11, "retry": 4, "dlq": 2, "system": 13},
    "v55-lite-rocks": {"normal": 264, "delay": 7, "system": 6},
    "v55-timer-rocks": {"normal": 120, "delay": 11, "retry": 4, "dlq": 2, "timer": 25},
    "v55-trans-rocks": {"normal": 194, "half": 45, "op": 29, "committed": 15, "delay": 11, "retry": 4, "dlq": 2},
}  # fmt: skip

SAID_BY_JAVA = (  # our columns that Java's decoder has by the same names
    "topic", "queue_id", "queue_offset", "tags", "msg_id", "properties", "born_timestamp", "store_timestamp", "born_host", "store_host",
    "reconsume_times", "flag", "prepared_transaction_offset", "body_crc", "offset_msg_id",
)  # fmt: skip


@dataclass(frozen=True)
class Golden:
    """One unpacked store."""

    name: str
    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "store"

    @property
    def framing(self) -> str:
        return "dledger" if self.name.endswith("-dledger") else "plain"

    @property
    def log_folders(self) -> list[Path]:
        return sorted([*self.root.glob("commitlog*"), *self.root.glob("dledger-*/data")])

    @cached_property
    def segments(self) -> list[tuple[int, bytes]]:
        """(base offset, bytes), merged from all folders by file name."""
        return sorted((int(path.name), path.read_bytes()) for folder in self.log_folders for path in folder.iterdir())

    @cached_property
    def meta(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "meta.json").read_text()))

    def lines(self, kind: str) -> list[Row]:
        with gzip.open(self.folder / f"{kind}.jsonl.gz") as file:
            return [json.loads(line) for line in file]

    def rows_in(self, database: str, family: str = "default") -> dict[bytes, bytes]:
        """The entries of a RocksDB database, as RocksDB's Java library read them, or in this repository's stores, its Python one."""
        if not (self.folder / "rocksdb_rows.jsonl.gz").exists():
            uri = f"{self.root.as_uri()}/{database}"
            if not is_database(uri):
                return {}
            with open_database(uri) as opened_database:
                return dict(opened_database.items(family=family))
        rows = (row for row in self.lines("rocksdb_rows") if (row["db"], row["cf"]) == (database, family))
        return {bytes.fromhex(row["key"]): bytes.fromhex(row["value"]) for row in rows}

    @cached_property
    def expected_rows(self) -> list[Row]:
        """A row for each message, in log order, without the columns that Java does not have."""
        inner: dict[int, list[Row]] = {}
        for message in self.lines("inner"):
            inner.setdefault(message["outer_physical_offset"], []).append(message)
        rows = []
        for dumped in self.lines("truth"):
            outer = self._record(dumped)
            rows += [outer | _unit(unit, i) for i, unit in enumerate(inner.get(dumped["physical_offset"], ()))] or [outer]
        return rows

    def _record(self, dumped: Row) -> Row:
        row = {name: dumped[name] for name in ("physical_offset", "record_size", "magic")}
        row |= {"sys_flag": dumped["sys_flag_on_disk"], "body_size": dumped["stored_body_size"], "stored_body": self._stored_body(dumped)}
        row |= {"uniq_key": dumped["check_uniq_key"], "inner_index": None}
        row |= {"keys": _keys(dumped["keys"] if dumped["decoded"] else dumped["check_keys"])}
        row |= {"segment": Path(dumped["file"]).name, "store": self.root.as_uri()}
        if dumped["decoded"]:
            row |= {name: dumped[name] for name in SAID_BY_JAVA}
            row |= {"body": _bytes(dumped["body"])} | _from_properties(dumped)
        return row

    def _stored_body(self, dumped: Row) -> bytes:
        """The body as stored. Its position is the record's end minus the sizes in the dump."""
        rest = dumped["stored_topic_size"] + (1 if dumped["magic"] == V1 else 2) + dumped["stored_properties_size"] + 2
        base = int(Path(dumped["file"]).name)
        end = dumped["physical_offset"] - base + dumped["record_size"] - rest
        return dict(self.segments)[base][end - dumped["stored_body_size"] : end]


def _unit(unit: Row, index: int) -> Row:
    """The columns in which a message of an inner batch differs from its record. Its body_crc is 0 in Java."""
    body = _bytes(unit["body"])
    row = {name: unit[name] for name in SAID_BY_JAVA if name in unit}
    row |= {"inner_index": index, "body": body, "stored_body": body, "body_size": len(body or b"")}
    properties = unit["properties"] or {}
    row |= {"tags": properties.get("TAGS"), "uniq_key": properties.get("UNIQ_KEY"), "keys": _keys(properties.get("KEYS"))}
    return row | _from_properties(unit)


def _from_properties(dumped: Row) -> Row:
    properties = dumped["properties"] or {}
    level = properties.get("DELAY")
    row = {
        "real_topic": properties.get("REAL_TOPIC"),
        "lite_topic": properties.get("__LITE_TOPIC"),
        "delay_level": None if level is None else int(level),
    }
    row |= {"origin_topic": None, "origin_msg_id": None, "body_text": _text(_bytes(dumped["body"]))}
    if dumped.get("topic", "").startswith(("%RETRY%", "%DLQ%")):  # messages of a batch have no topic
        of_pop = dumped["topic"].removeprefix(f"%RETRY%{properties.get('ORIGIN_GROUP')}_")
        origin = properties.get("RETRY_TOPIC") if of_pop == dumped["topic"] else of_pop
        row |= {"origin_topic": origin, "origin_msg_id": properties.get("ORIGIN_MESSAGE_ID")}
    return row


def _text(body: bytes | None) -> str | None:
    try:
        return (body or b"").decode()
    except UnicodeDecodeError:
        return None


def _keys(text: str | None) -> list[str] | None:
    return None if text is None else [key for key in text.split(" ") if key]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


@dataclass(frozen=True)
class Explanation:
    """An intended difference from Java: `fits(Java's value, ours)` in one of `columns`."""

    why: str
    columns: tuple[str, ...]
    fits: Callable[[Any, Any], bool]


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""Stands for Java's value where Java has none."""

EXPLAINED = (
    Explanation("an empty body is null in Java; ours is null only if it cannot be decoded", ("body", "stored_body"),
                lambda java, ours: java is None and ours == b""),
    Explanation("without properties, Java's map is null; ours is empty", ("properties",),
                lambda java, ours: java is None and ours == {}),
    Explanation("the property CRC is written by the broker, so it is hidden", ("properties",),
                lambda java, ours: isinstance(java, dict) and "__CRC32#" in java and ours == _without(java, "__CRC32#")),
    Explanation("in an inner batch, Java's CRC is 0; ours is the CRC of the whole record's body", ("body_crc",),
                lambda java, ours: java == 0 and ours > 0),
    Explanation("Java drops a record whose body cannot be decompressed; ours has a row with a null body", ("body", "body_text"),
                lambda java, ours: java is MISSING and ours is None),
    Explanation("Java has no values for a record that it drops",
                (*SAID_BY_JAVA, "real_topic", "lite_topic", "delay_level", "origin_topic", "origin_msg_id"),
                lambda java, ours: java is MISSING),
)  # fmt: skip


def _without(properties: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key != name}


def differences(
    expected: list[Row], rows: Iterable[Row], columns: Iterable[str], explained: Iterable[Explanation], used: Counter[str]
) -> list[str]:
    """Describes the differences without an explanation; `used` counts the explanations that applied."""
    described = []
    names = tuple(columns)
    for java, ours in zip(expected, rows, strict=True):
        for name in names:
            expected_value, value = java.get(name, MISSING), ours[name]
            if expected_value == value and type(expected_value) is type(value):
                continue
            why = next((each.why for each in explained if name in each.columns and each.fits(expected_value, value)), None)
            if why is None:
                described.append(f"{java['physical_offset']}/{java['inner_index']} {name}: Java has {expected_value!r}, we have {value!r}")
            else:
                used[why] += 1
    return described


def unpack(name: str, into: Path, folder: Path = FOLDER) -> Golden:
    """Unpack one store; sparse files stay sparse, and a DLedger store's index, 160 MiB of zeros in the archive, becomes so."""
    with tarfile.open(folder / f"{name}.tar.xz") as archive:
        members = archive.getmembers()
        large = [each for each in members if each.isreg() and not each.issparse() and each.size > _LARGE]
        archive.extractall(into, [each for each in members if each not in large], filter="data")
        for each in large:
            content = archive.extractfile(each)
            assert content is not None
            with_holes(content, into / each.name)
            os.utime(into / each.name, (each.mtime, each.mtime))
    return Golden(name, into / members[0].name.partition("/")[0])


def with_holes(content: IO[bytes], path: Path) -> None:
    """Write a file, but no zeros that fill a piece."""
    zeros = bytes(_LARGE)
    with path.open("wb") as file:
        while piece := content.read(_LARGE):
            if piece == zeros:
                file.seek(_LARGE, os.SEEK_CUR)
            else:
                file.write(piece)
        file.truncate()


def copy_with_holes(source: Path | str, target: Path | str) -> None:
    """For `shutil.copytree`."""
    with Path(source).open("rb") as content:
        with_holes(content, Path(target))


def opened(store: Golden) -> nr.Store:
    """Open the store. A log in several directories must be given, because only the broker's configuration names them."""
    logs = store.log_folders
    return nr.open(store.root, store_path_commit_log=",".join(map(str, logs)) if len(logs) > 1 else None)
