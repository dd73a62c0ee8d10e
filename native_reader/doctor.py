"""What a store is, from little reading: its parts and where they are, who wrote it and when, whether it is in use, and what is odd."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, repeat
from time import time_ns
from typing import Any

from native_reader.broker.config_files import config_text, damaged_files
from native_reader.broker.databases import databases_of, has_settings
from native_reader.errors import OptionError, SchemaError, StoreError, option_name
from native_reader.layout.index_entry import INDEX_HEAD
from native_reader.lazy import Scan, TableScan
from native_reader.log.witness import is_live
from native_reader.newest import newest
from native_reader.options import MessageOptions
from native_reader.sides.index import index_files, slots_of_cut
from native_reader.sides.index_database import has_rows, index_database
from native_reader.start import Start, lines_of, may_start
from native_reader.start.age import RESERVED
from native_reader.storage.paths import list_if_possible
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import PLAIN, StoreFiles
from native_reader.tables import TABLES
from native_reader.text import counted, names_of, size_of

Facts = dict[str, Any]
_Time = Callable[[datetime], str]

LENIENT: Mapping[str, Any] = {"mode": "DROPMALFORMED", "fail_on_data_loss": False}
STORE, LOG, QUEUES, INDEX, CONFIG, STATE = "store", "commitlog", "consumequeue", "index", "config", "state"
DATABASES = "rocksdb"
OLDER = "older_than_log"
_SIGNS = (
    ("5.5.0", "checkpoint", "the checkpoint has a dispatched offset", "dispatched_offset"),
    ("5.5.0", "store", "consume queues are in consumequeue_rocksdb", "consumequeue_rocksdb"),
    ("5.4.0", "config", "the configuration is in one database, config/metadata", "metadata"),
    ("5.4.0", "store", "the directory rocksdbstore exists", "rocksdbstore"),
    ("5.3.2", "store", "the directory kvStore exists", "kvStore"),
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

_COLUMNS = "topic", "type", "state", "found", "expired"
_STATES = (
    ("ahead", "with entries for records after the end of the log, which were lost or discarded", True),
    ("behind", "without entries for their newest records; a broker adds them when it starts", False),
    ("orphaned", "of topics without settings: they were deleted, or this is a follower that never got the settings", False),
)
"""States of queues: in words, and whether it is a finding."""
_AT_REST = "no broker on this host has it open"
_MOST = 5
"""Names and problems shown of each kind."""


@dataclass(slots=True)
class Diagnosis:
    """One store. `findings` may be losses; `notes` are harmless. `facts`: by part of the store, without the parts that cannot be read.

    Names of options in the texts are marked: `errors.spelled`.

    Examples:
        >>> found = nr.open("damaged").diagnose()
        >>> found.has_gaps, len(found.facts)
        (False, 6)
    """

    facts: dict[str, Facts] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    has_gaps: bool = False
    """Whether the log lacks bytes between its first and its last file."""
    start: Start | None = None
    """Whether a broker may be started; None if the log could not be examined."""

    def lines(self, time: _Time) -> Iterator[tuple[str, str]]:
        """Write the diagnosis for people: a label and a text for each line.

        Args:
            time: How a time is written.
        """
        for part, (label, write) in _WRITERS.items():
            if part in self.facts:
                yield from zip((label, "version"), write(self.facts[part], time), strict=False)
        if self.start is not None:
            yield from zip(chain(("start",), repeat("")), lines_of(self.start, self.facts[LOG]["first_offset"]), strict=False)
        yield from (("finding", text) for text in self.findings)
        yield from (("note", text) for text in self.notes)


def diagnose(files: StoreFiles, options: Mapping[str, Any], reserved_hours: int = RESERVED) -> Diagnosis:
    """Look at a store. A part that cannot be read is a finding, because a broken store is what this is for.

    `options`: of all reads; all tables must take them. `reserved_hours`: after them, a broker deletes a segment.
    """
    found = Diagnosis()
    look = _Examination(files, options, found)
    for part, facts_of in {STORE: look.store, LOG: look.log, QUEUES: look.queues, INDEX: look.index}.items():
        try:
            found.facts[part] = facts_of()
        except (OptionError, SchemaError):
            raise
        except (StoreError, OSError) as error:
            found.findings.append(f"{part} could not be examined: {error}")
    found.facts |= {CONFIG: look.config(), STATE: look.state()}
    if databases := look.databases():
        found.facts[DATABASES] = {"databases": databases}
    if LOG in found.facts:
        found.start = may_start(
            files,
            found.facts.get(STORE, {}).get("version_at_least"),
            found.facts[LOG]["end_offset"],
            now=time_ns() // 1_000_000,
            reserved_hours=reserved_hours,
            max_read_rate=MessageOptions(**options).projection().max_read_rate,
        )
    if files.strays:
        found.findings.append(f"packed or renamed segments are not read: {', '.join(files.strays)}")
    return found


def oldest_version(files: StoreFiles) -> str | None:
    """The oldest version of RocketMQ that can have written the store; None if nothing shows one."""
    version: str | None = _Examination(files, {}, Diagnosis()).store()["version_at_least"]
    return version


class _Examination:
    """The facts of each part of a store."""

    def __init__(self, files: StoreFiles, options: Mapping[str, Any], found: Diagnosis) -> None:
        self._files, self._options, self._found = files, options, found
        self._checkpoint: Facts = {}

    def store(self) -> Facts:
        """The oldest version that can have written the store, with the signs of it; null if nothing shows it."""
        files = self._files
        places = {"store": files.uri, "config": files.config, "consumequeue": files.consume_queue}
        names = {place: {entry.name for entry in list_if_possible(uri)} for place, uri in places.items() if uri is not None}
        try:
            self._checkpoint = next(self._table("checkpoint"), {})
        except OSError as error:  # of the storage
            self._found.findings.append(f"checkpoint could not be examined: {error}")
        names["checkpoint"] = {name for name, value in self._checkpoint.items() if value is not None}
        seen = [(version, text) for version, place, text, name in _SIGNS if name in names.get(place, ())]
        latest = max((version for version, _ in seen), key=_numbers, default=None)
        return {"uri": files.uri, "version_at_least": latest, "because": [text for version, text in seen if version == latest]}

    def log(self) -> Facts:
        """The segments, the times of the first and the last record, and what is missing."""
        files, found = self._files, self._found
        options = {**self._options, **LENIENT, "columns": "store_timestamp"}
        scan = Scan((files,), MessageOptions(**options))
        plan = scan.plan()
        found.has_gaps = bool(plan.gaps)
        for gap in plan.gaps:
            where = f"no file contains offsets {gap.start:,} to {gap.stop:,} ({gap.stop - gap.start:,} bytes)"
            found.findings.append(f"{where}. {gap.how_to_get_back}" if gap.how_to_get_back else where)
        if stale := dict(plan.stale).get(files.uri):
            found.notes.append(f"{stale:,} bytes of old records follow the end of the log: a broker discarded them")
        found.findings += self._unopened()
        end = dict(plan.ends)[files.uri]
        first = scan.head(1)["store_timestamp"].to_pylist()
        last = [time for batch in newest(files, MessageOptions(**options), 1, end) for time in batch.column(0).to_pylist()]
        return {
            "directories": sorted({segment.directory for segment in files.segments}),
            "segments": len(files.segments),
            "bytes": sum(segment.size for segment in files.segments),
            "first_offset": files.min_offset,
            "end_offset": end,
            "first_store_timestamp": first[0] if first else None,
            "last_store_timestamp": last[0] if last else None,
        }

    def queues(self) -> Facts:
        """The numbers of queues and topics, and queues that do not fit the log."""
        if not self._files.queue_directories:
            self._found.notes.append("there are no consume queues: a broker makes them again from the log when it starts")
        topics, light, queues = set[str](), 0, 0
        states: dict[str, dict[str, int]] = {}
        unusable: list[str] = []
        older: dict[str, int] = {}
        for row in self._table("queues", _COLUMNS):
            light, queues = light + (row["type"] == "LMQ"), queues + (row["type"] != "LMQ")
            if row["type"] != "LMQ":
                topics.add(row["topic"])
                older[row["topic"]] = older.get(row["topic"], 0) + (row["expired"] or 0)
            if row["found"] is not None and len(unusable) < _MOST:
                unusable.append(f"{row['topic']}: {row['found']}")
            topics_of_state = states.setdefault(row["state"] or "unknown", {})
            topics_of_state[row["topic"]] = topics_of_state.get(row["topic"], 0) + 1
        self._found.findings += unusable
        for state, text, is_finding in _STATES:
            if of_state := states.get(state):
                count = sum(of_state.values())
                names = names_of(sorted(of_state), _MOST)
                (self._found.findings if is_finding else self._found.notes).append(f"{counted(count, 'queue')} {text}: {names}")
        return {
            "directories": list(self._files.queue_directories),
            "queues": queues,
            "topics": len(topics),
            "light_queues": light,
            OLDER: {topic: count for topic, count in sorted(older.items(), key=lambda each: (-each[1], each[0])) if count},
        }

    def index(self) -> Facts:
        """The index files, and those that a search cannot use."""
        rows = list(self._table("index_files")) if self._files.index is not None else []
        unusable = [row for row in rows if row["found"] is not None]
        self._found.findings += [f"{row['file']}: {row['found']}" for row in unusable if row["slots"] is not None][:_MOST]
        self._found.findings += self._cut_files()
        if unknown := sum(row["slots"] is None for row in unusable):
            setting = option_name("max_hash_slot_num")
            self._found.notes.append(f"{counted(unknown, 'index file')} cannot be searched: set {setting} as in the broker's configuration")
        begins = [row["begin_timestamp"] for row in rows if row["begin_timestamp"] is not None]
        ends = [row["end_timestamp"] for row in rows if row["end_timestamp"] is not None]
        return {
            "directory": self._files.index,
            "files": len(rows),
            "entries": sum(row["entries"] or 0 for row in rows),
            "begin_timestamp": min(begins, default=None),
            "end_timestamp": max(ends, default=None),
            "database": database if (database := index_database(self._files.uri)) is not None and has_rows(database) else None,
        }

    def _unopened(self) -> Iterator[str]:
        """Segments that cannot be opened. Not on a slow storage, where each try takes long."""
        for segment in self._files.segments:
            storage = storage_of(segment.uri)
            if storage.is_slow:
                return
            try:
                storage.open(segment.uri).close()
            except OSError as error:
                yield error.strerror or str(error)

    def _cut_files(self) -> Iterator[str]:
        """Index files that are smaller than a broker makes them."""
        files = index_files(self._files.index, self._options.get("max_hash_slot_num"))
        for file in files:
            if file.size < INDEX_HEAD.size or (file.slots is None and slots_of_cut(file, files) is not None):
                yield f"{file.uri} has {file.size:,} bytes: it was cut, or not copied whole"

    def config(self) -> Facts:
        """Where settings and consumer offsets are, and files that a broker could not read."""
        config = self._files.config
        self._found.findings += [f"{uri}: {problem}" for uri, problem in damaged_files(config)]
        if config is None:
            self._found.notes.append("there is no directory config: a broker that starts here has no topics, groups or consumer offsets")
        elif not (config_text(config, "topics.json") or config_text(config, "topics.json.bak") or has_settings(config)):
            self._found.notes.append(f"{config} has no topics.json: a broker that starts here has no topics")
        return {"directory": self._files.config}

    def databases(self) -> list[Facts]:
        """The databases of RocksDB, and what is in them."""
        databases = list(databases_of(self._files))
        self._found.findings += [each.found for each in databases if each.found is not None and not each.is_extra_missing]
        if any(each.is_extra_missing for each in databases):
            self._found.notes.append("what is in RocksDB is not read. To read it, install the extra: pip install 'rmqstore-spark[rocksdb]'")
        if databases and is_live(self._files.uri):
            self._found.notes.append(
                "a running broker writes queues and index to its databases late: their newest entries are not on the disk yet"
            )
        return [{"directory": each.uri, "holds": each.holds} for each in databases]

    def state(self) -> Facts:
        """Whether a broker uses the store, and how the last one ended."""
        uri = self._files.uri
        is_used, crashed = is_live(uri), any(entry.name == "abort" for entry in list_if_possible(uri))
        if crashed and not is_used:
            self._found.notes.append("the file abort exists: the broker crashed, or ran while the store was copied")
        times = {name: value for name, value in self._checkpoint.items() if name != "store"}
        self._compare(times.values())
        return {"in_use": is_used, "abort": crashed, "checkpoint": times}

    def _compare(self, times: Iterable[object]) -> None:
        """The checkpoint has no time after the last record, unless records are lost."""
        last = self._found.facts.get(LOG, {}).get("last_store_timestamp")
        later = max((time for time in times if isinstance(time, datetime)), default=None)
        is_plain = all(segment.framing == PLAIN for segment in self._files.segments)  # DLedger's times are of other moments
        if last is not None and later is not None and later > last and is_plain and not is_live(self._files.uri):
            self._found.findings.append(
                f"the checkpoint is {later - last} later than the last record: look for missing segments at the end"
            )

    def _table(self, name: str, columns: Iterable[str] | None = None) -> Iterator[Facts]:
        """The rows of a table of this store."""
        options = MessageOptions(**{**self._options, "columns": columns})
        for batch in TableScan(TABLES[name], (self._files,), options).to_batches():
            yield from batch.to_pylist()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


# In words


def _store_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    yield facts["uri"]
    because = "; ".join(facts["because"])
    at_least = f"RocketMQ {facts['version_at_least']} or later: {because}"
    yield at_least if because else "unknown: nothing shows a version of RocketMQ after 4.9.2"


def _log_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    places = ", ".join(facts["directories"]) or "no segments"
    times = _period(facts["first_store_timestamp"], facts["last_store_timestamp"], time)
    yield f"{places}: {counted(facts['segments'], 'segment')}, {size_of(facts['bytes'])}{times}"


def _queues_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    light = f", and {counted(facts['light_queues'], 'light queue')}" if facts["light_queues"] else ""
    of_topics = f"{counted(facts['queues'], 'queue')} of {counted(facts['topics'], 'topic')}{light}"
    older = f"; {older_text(facts[OLDER])}" if facts[OLDER] else ""
    yield f"{', '.join(facts['directories'])}: {of_topics}{older}" if facts["directories"] else "none"


def older_text(by_topic: Mapping[str, int]) -> str:
    """That queues name records from before the log. The files do not show who deleted those."""
    names = names_of([f"{topic} {count:,}" for topic, count in by_topic.items()], _MOST)
    return f"they name {counted(sum(by_topic.values()), 'record')} older than the log, which expired or were removed: {names}"


def _index_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    covers = _period(facts["begin_timestamp"], facts["end_timestamp"], time)
    files = f"{counted(facts['files'], 'file')}, {counted(facts['entries'], 'key')}{covers}"
    places = [f"{facts['directory']}: {files}"] if facts["directory"] else []
    places += [f"{facts['database']} (RocksDB)"] if facts["database"] else []
    yield "; ".join(places) or "none"


def _databases_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    yield "; ".join(f"{each['directory']}: {each['holds'] or 'not read'}" for each in facts["databases"])


def _config_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    yield facts["directory"] or "none"


def _state_in_words(facts: Facts, time: _Time) -> Iterator[str]:
    in_use = f"a broker on this host has the store open. Reading is safe; {option_name('max_read_rate')} limits the load"
    yield in_use if facts["in_use"] else _AT_REST


def _period(first: datetime | None, last: datetime | None, time: _Time) -> str:
    return "" if first is None or last is None else f", {time(first)} to {time(last)}"


_WRITERS: dict[str, tuple[str, Callable[[Facts, _Time], Iterator[str]]]] = {
    STORE: ("store", _store_in_words),
    LOG: ("commitlog", _log_in_words),
    QUEUES: ("queues", _queues_in_words),
    INDEX: ("index", _index_in_words),
    CONFIG: ("config", _config_in_words),
    DATABASES: ("rocksdb", _databases_in_words),
    STATE: ("state", _state_in_words),
}
"""By part, in the order of the lines: its label, and its text; that of the store has a second line, the version."""
