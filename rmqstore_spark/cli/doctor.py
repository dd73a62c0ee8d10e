"""`rmqstore doctor`: what a store is, whether it is in use, and what is odd about it."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from rmqstore_spark.cli.asked import AS_JSON, PATHS, PLACES, READING, Asked, takes
from rmqstore_spark.cli.program import CLEAN, FOUND
from rmqstore_spark.cli.rows import Output
from rmqstore_spark.cli.stderr import Warnings
from rmqstore_spark.cli.text import as_json, plain, safe, time_text

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from native_reader import Scan
    from native_reader.storage.store import StoreFiles

HELP = """Look at a store without reading its log: which parts it has and where, which brokers may have written it, whether one is using it,
and what is odd. `rmqstore verify` checks every record.
"""
EPILOG = """\b
Examples:
  rmqstore doctor /data/store
  rmqstore doctor '/backup/*' --json
"""

_SIGNS = (
    ("5.5.0", "checkpoint", "the checkpoint has a dispatched offset", "dispatched_offset"),
    ("5.1.1", "checkpoint", "the checkpoint has a confirmed offset", "confirmed_offset"),
    ("5.0.0", "checkpoint", "the checkpoint has a flushed offset", "master_flushed_offset"),
    ("5.3.2", "config", "the configuration is in RocksDB", "rdb"),
    ("5.1.4", "config", "the configuration is in RocksDB", "topics"),
    ("5.2.0", "config", "the file transactionMetrics exists", "transactionMetrics"),
    ("5.0.0", "config", "the file timercheck exists", "timercheck"),
    ("5.0.0", "config", "the file consumerOrderInfo.json exists", "consumerOrderInfo.json"),
    ("4.9.3", "config", "the file lmqConsumerOffset.json exists", "lmqConsumerOffset.json"),
    ("5.2.0", "consumequeue", "the consume queues are in RocksDB", "CURRENT"),
    ("5.0.0", "store", "there are batch queues", "batchconsumequeue"),
)
"""What shows that a broker is of that version or later: where, in words, and the column or file name."""

_COLUMNS = "topic", "type", "state", "found"
_STATES = (
    ("ahead", "name records after the end of the log, which were lost or discarded", True),
    ("behind", "do not name their newest records; a broker adds them when it starts", False),
    ("orphaned", "belong to deleted topics", False),
)
"""States of queues: in words, and whether it is a finding."""
_IN_USE = "a broker on this host has the store open. Reading is safe; --rate 100MB/s limits the load"
_AT_REST = "no broker on this host has it open"
_NEXT = ("stat {} --by topic", "find {} --key KEY", "verify {}")
_MOST = 5
"""Names and problems shown of each kind."""


@dataclass(slots=True)
class Diagnosis:
    """One store. `findings` may be losses; `notes` are harmless. `facts`: by the part of the store."""

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def warn(self, text: str, is_loss: bool) -> None:
        """Keep a warning of the engine."""
        (self.findings if is_loss else self.notes).append(text)


@click.command(help=HELP, epilog=EPILOG)
@takes(PATHS, AS_JSON, READING, PLACES)
def doctor(asked: Asked) -> int:
    store, output = asked.open(), Output(json=asked.as_json, zone=asked.zone)
    code = CLEAN
    for number, files in enumerate(store.stores):
        found = Diagnosis()
        with Warnings(found.warn):
            _examine(asked, files, found)
        if output.is_json:
            output.line(as_json({**_for_json(found.facts, asked), "findings": found.findings, "notes": found.notes}))
        else:
            if number:
                output.line("")
            for label, text in _lines(asked, files, found):
                output.line(f"{output.styled(f'{label:<10}', bold=True)} {safe(text)}")
        code = FOUND if found.findings else code
    return code


def _examine(asked: Asked, files: StoreFiles, found: Diagnosis) -> None:
    """Fill in what is known about one store."""
    from native_reader.log.witness import is_live
    from native_reader.storage.protocol import storage_of

    storage, uri = storage_of(files.uri), files.uri
    checkpoint = next(iter(_table(asked, files, "checkpoint")), {})
    facts = found.facts
    facts["store"] = {"uri": uri, **_version(files, checkpoint)}
    facts["commitlog"] = _log(asked, files, found)
    facts["consumequeue"] = _queues(asked, files, found)
    facts["index"] = _index(asked, files, found)
    facts["config"] = {"directory": files.config}
    crashed = storage.entry(f"{uri}/abort") is not None
    times = {name: plain(value, asked.zone) for name, value in checkpoint.items() if name != "store"}
    facts["state"] = {"in_use": is_live(uri), "abort": crashed, "checkpoint": times}
    if crashed and not facts["state"]["in_use"]:
        found.notes.append("the file abort exists: the broker crashed, or ran while the store was copied")
    if files.strays:
        found.findings.append(f"packed or renamed segments are not read: {', '.join(files.strays)}")


def _table(asked: Asked, files: StoreFiles, name: str, columns: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a table of one store."""
    from native_reader.api import TableScan
    from native_reader.options import MessageOptions
    from native_reader.tables import TABLES

    options = MessageOptions(**asked.values(columns=columns))
    for batch in TableScan(TABLES[name], (files,), options).to_batches():
        yield from batch.to_pylist()


def _version(files: StoreFiles, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """The oldest version that can have written the store, with the signs of it; null if nothing shows it."""
    from native_reader.storage.paths import list_if_possible

    places = {"store": files.uri, "config": files.config, "consumequeue": files.consume_queue}
    names = {place: {entry.name for entry in list_if_possible(uri)} for place, uri in places.items() if uri is not None}
    names["checkpoint"] = {name for name, value in checkpoint.items() if value is not None}
    seen = [(version, text) for version, place, text, name in _SIGNS if name in names.get(place, ())]
    newest = max((version for version, _ in seen), default=None)
    return {"version_at_least": newest, "because": [text for version, text in seen if version == newest]}


def _log(asked: Asked, files: StoreFiles, found: Diagnosis) -> dict[str, Any]:
    """The segments, the times of the first and the last record, and what is missing."""
    from native_reader.api import Scan
    from native_reader.options import MessageOptions
    from rmqstore_spark.cli.newest import newest

    options = asked.of_messages(columns="store_timestamp")
    scan = Scan((files,), MessageOptions(**options))
    plan = scan.plan()
    for _, start, stop in plan.gaps:
        found.findings.append(f"no file contains offsets {start:,} to {stop:,} ({stop - start:,} bytes)")
    if stale := dict(plan.stale).get(files.uri):
        found.notes.append(f"{stale:,} bytes of old records follow the end of the log: a broker discarded them")
    end = dict(plan.ends)[files.uri]
    first = scan.head(1)["store_timestamp"].to_pylist()
    last = [time for batch in newest(_read, files, options, 1, end) for time in batch.column(0).to_pylist()]
    return {
        "directories": sorted({segment.uri.rpartition("/")[0] for segment in files.segments}),
        "segments": len(files.segments),
        "bytes": sum(segment.size for segment in files.segments),
        "first_offset": files.min_offset,
        "end_offset": end,
        "first_store_timestamp": first[0] if first else None,
        "last_store_timestamp": last[0] if last else None,
    }


def _read(scan: Scan) -> Generator[pa.RecordBatch]:
    yield from scan.to_batches()


def _queues(asked: Asked, files: StoreFiles, found: Diagnosis) -> dict[str, Any]:
    """The numbers of queues and topics, and queues that do not fit the log."""
    from native_reader.plan.ends import counted

    topics, light, queues = set[str](), 0, 0
    states: dict[str, dict[str, int]] = {}
    unusable: list[str] = []
    for row in _table(asked, files, "queues", _COLUMNS):
        light, queues = light + (row["type"] == "LMQ"), queues + (row["type"] != "LMQ")
        if row["type"] != "LMQ":
            topics.add(row["topic"])
        if row["found"] is not None and len(unusable) < _MOST:
            unusable.append(f"{row['topic']}: {row['found']}")
        topics_of_state = states.setdefault(row["state"] or "unknown", {})
        topics_of_state[row["topic"]] = topics_of_state.get(row["topic"], 0) + 1
    found.findings += unusable
    for state, text, is_finding in _STATES:
        if of_state := states.get(state):
            count = sum(of_state.values())
            names = ", ".join(sorted(of_state)[:_MOST]) + (" …" if len(of_state) > _MOST else "")
            (found.findings if is_finding else found.notes).append(f"{counted(count, 'queue')} {text}: {names}")
    return {"directories": list(files.queues), "queues": queues, "topics": len(topics), "light_queues": light}


def _index(asked: Asked, files: StoreFiles, found: Diagnosis) -> dict[str, Any]:
    """The index files, and those that a search cannot use."""
    from native_reader.plan.ends import counted

    rows = list(_table(asked, files, "index_files")) if files.index is not None else []
    unusable = [row for row in rows if row["found"] is not None]
    found.findings += [f"{row['file']}: {row['found']}" for row in unusable if row["slots"] is not None][:_MOST]
    if unknown := sum(row["slots"] is None for row in unusable):
        found.notes.append(
            f"{counted(unknown, 'index file')} cannot be searched: set --option max_hash_slot_num as in the broker's configuration"
        )
    begins = [row["begin_timestamp"] for row in rows if row["begin_timestamp"] is not None]
    ends = [row["end_timestamp"] for row in rows if row["end_timestamp"] is not None]
    return {
        "directory": files.index,
        "files": len(rows),
        "entries": sum(row["entries"] or 0 for row in rows),
        "begin_timestamp": min(begins, default=None),
        "end_timestamp": max(ends, default=None),
    }


def _lines(asked: Asked, files: StoreFiles, found: Diagnosis) -> Iterator[tuple[str, str]]:
    """The diagnosis for people: a label and a text for each line."""
    from native_reader.plan.ends import counted
    from native_reader.plan.explain import size_of

    facts, store = found.facts, found.facts["store"]
    log, queues, index = facts["commitlog"], facts["consumequeue"], facts["index"]
    because = "; ".join(store["because"])
    version = f"{store['version_at_least']} or later: {because}" if because else "unknown: nothing shows a version after 4.9.2"
    yield "store", store["uri"]
    yield "version", f"RocketMQ {version}"
    places = ", ".join(log["directories"]) or "no segments"
    times = _period(log["first_store_timestamp"], log["last_store_timestamp"], asked)
    yield "commitlog", f"{places}: {counted(log['segments'], 'segment')}, {size_of(log['bytes'])}{times}"
    light = f", and {counted(queues['light_queues'], 'light queue')}" if queues["light_queues"] else ""
    of_topics = f"{counted(queues['queues'], 'queue')} of {counted(queues['topics'], 'topic')}{light}"
    yield "queues", f"{', '.join(queues['directories'])}: {of_topics}" if queues["directories"] else "none"
    covers = _period(index["begin_timestamp"], index["end_timestamp"], asked)
    files_of_index = f"{counted(index['files'], 'file')}, {counted(index['entries'], 'key')}{covers}"
    yield "index", f"{index['directory']}: {files_of_index}" if index["directory"] else "none"
    yield "config", facts["config"]["directory"] or "none"
    yield "state", _IN_USE if facts["state"]["in_use"] else _AT_REST
    yield from (("finding", text) for text in found.findings)
    yield from (("note", text) for text in found.notes)
    path = shlex.quote(asked.paths[0] if len(asked.paths) == 1 and asked.paths[0] else files.uri)
    for label, command in zip(("try", *[""] * len(_NEXT)), _NEXT, strict=False):
        yield label, f"rmqstore {command.format(path)}"


def _for_json(facts: dict[str, dict[str, Any]], asked: Asked) -> dict[str, dict[str, Any]]:
    return {part: {name: plain(value, asked.zone) for name, value in of_part.items()} for part, of_part in facts.items()}


def _period(first: datetime | None, last: datetime | None, asked: Asked) -> str:
    if first is None or last is None:
        return ""
    return f", {time_text(first, asked.zone)} to {time_text(last, asked.zone)}"
