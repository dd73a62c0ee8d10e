"""Writes what each team lost: for each topic its messages that consumers cannot get, as CSV and JSON lines, and a text to send."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from native_reader.account.account import Account
from native_reader.account.states import STATES
from native_reader.errors import ExportError, OptionError, StoreError
from native_reader.export.account import Exported
from native_reader.export.target import Target
from native_reader.export.writers import folder_name
from native_reader.lazy import Scan, TableScan
from native_reader.log.misnamed import under_right_names
from native_reader.lost.evidence import (
    Evidence,
    Indexed,
    Places,
    Tags,
    entries_of,
    indexed_at,
    lost_ranges,
    offsets_of_groups,
    tags_wanted,
    wanted_in,
)
from native_reader.lost.keys import KEY_COLUMNS, RECORD_COLUMNS, WHOLE, AskedKeys
from native_reader.lost.letter import Letter
from native_reader.lost.lists import KEYS_LIST, LOST_LIST, SUMMARY_COLUMNS, TOPICS_LIST, list_lines, name_of_list
from native_reader.lost.rows import COLUMNS, Row, TopicLoss, csv_lines, json_lines, topics_in
from native_reader.options import LENIENT, MessageOptions
from native_reader.scan.progress import Watch
from native_reader.scan.run import Run
from native_reader.sentences import ENGLISH, LANGUAGES, say, told
from native_reader.storage.local import LocalPath, local_path
from native_reader.storage.store import StoreFiles, past_failures
from native_reader.tables import TABLES

MESSAGES, TOPICS, KEYS, STORE = "lost", "topics", "keys", "store.jsonl"
NO_OWNER = "no-owner"
_LONGEST, _KEPT, _DIGITS = 100, 60, 16
_MOST_TOPICS = 5_000
"""Topics with a folder. A damaged log can name any number; the rows of others are in `store.jsonl`, without what else is known."""
_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted. `keys`: None without a question. `owners`: the team of each pattern of topics, the first that fits."""

    keys: Sequence[str] | None = None
    owners: Mapping[str, str] = field(default_factory=dict)

    def team_of(self, topic: str) -> str | None:
        """The team that owns a topic; None if nobody asked."""
        found = next((team for pattern, team in self.owners.items() if fnmatchcase(topic, pattern)), NO_OWNER)
        return found if self.owners else None


@dataclass(frozen=True, slots=True)
class Lost:
    """What was found and written.

    Attributes:
        path: The folder.
        account: In which state each message of the store is.
        topics: Each topic that consumers cannot get all of, the largest first.
        keys: How many of the keys have each answer; None if there was no question.

    Examples:
        >>> lost = rmqstore.open("damaged").lost("lost")
        >>> lost.is_whole, lost.topics[0].topic
        (False, 'orders')
    """

    path: str
    account: Account
    topics: Sequence[TopicLoss]
    keys: Mapping[str, int] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every message is where a broker left it, everything was read, and each key is in a whole message."""
        return self.account.is_whole and not set(self.keys or ()) - {WHOLE}


def write_lost(
    files: StoreFiles,
    path: LocalPath,
    asked: Asked,
    *,
    jobs: int = 1,
    progress: Watch = False,
    max_read_rate: int | str | None = None,
    tier: Mapping[str, Any] = MappingProxyType({}),
    language: str = ENGLISH,
) -> Lost:
    """Write what each topic lost to the folder `path`. `Store.lost` says more. `tier`: the options that read the tier, too."""
    files, folder = past_failures(files), Target(path, (files,))
    reading: dict[str, Any] = {} if max_read_rate is None else {"max_read_rate": max_read_rate}
    try:
        with folder:
            if others := folder.other_names():
                raise OptionError(say("folder not empty", path=folder.path, name=min(others)))
            look = _Look(files, reading, {"jobs": jobs, "progress": progress}, tier)
            account = look.account()
            keys = None if asked.keys is None else AskedKeys(asked.keys, account)
            evidence = look.evidence(account, keys, _ReadLog(look))
            topics = _topics(account, evidence, asked)
            _write(folder, "", files, account, topics, language=language)
            if keys is not None:
                folder.write_text(f"{KEYS}.csv", csv_lines(KEY_COLUMNS, keys.rows()))
                folder.write_text(f"{KEYS}.jsonl", json_lines(keys.rows()))
                _write_list(folder, KEYS, KEYS_LIST, keys.rows(), language)
            folder.remove_temporary_folder()
            return Lost(folder.path, account, topics, None if keys is None else keys.counts)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise ExportError(say("lost not written", path=folder.path, why=told(error))) from error


@dataclass(frozen=True, slots=True)
class _Look:
    """Reads of one store."""

    files: StoreFiles
    reading: Mapping[str, Any]
    running: Mapping[str, Any]
    tier: Mapping[str, Any] = field(default_factory=dict)

    def account(self) -> Account:
        """In which state each message is; with progress."""
        table = TableScan(TABLES["account"], (self.files,), MessageOptions(**self.reading, **self.tier))
        return Account.of(table.to_batches(**self.running))

    def columns(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of a small table."""
        return TableScan(TABLES[name], (self.files,), MessageOptions(columns=columns, **self.reading)).to_batches()

    def evidence(self, account: Account, keys: AskedKeys | None, log: Log) -> Evidence:
        """What is known of the messages that consumers cannot get. `log`: read for tags and keys of whole records."""
        if account.is_whole and keys is None:
            return Evidence({}, Indexed(*(np.empty(0, np.int64),) * 3), {}, {})
        entries = entries_of(wanted_in(account), self.columns)
        tags = Tags(tags_wanted(account, entries))
        for batch in log.records(("topic", "tags") if keys is None else tuple(dict.fromkeys(("tags", *RECORD_COLUMNS)))):
            tags.add(batch)
            if keys is not None:
                keys.add(batch)
        lost = [each.offsets for each in entries.values()]
        indexed = indexed_at(Places(log.lost(), np.concatenate(lost) if lost else np.empty(0, np.int64)), self.columns)
        if keys is not None:
            keys.add_lost(sorted(set(account.table["topic"].unique().to_pylist()) - {None}), entries, indexed)
        queues = account.faults.select(("topic", "queue_id")).group_by(["topic", "queue_id"], use_threads=False).aggregate([])
        of_groups = zip(queues["topic"].to_pylist(), queues["queue_id"].to_pylist(), strict=True)
        return Evidence(entries, indexed, tags.found, offsets_of_groups(of_groups, self.columns))


class Log(Protocol):
    """The whole records of a log, and what is not there."""

    def records(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all whole records."""

    def lost(self) -> list[tuple[int, int]]:
        """The bytes that are lost; asked when all records were read."""


class _ReadLog:
    """Reads the log."""

    def __init__(self, look: _Look) -> None:
        self._look = look
        self._run: Run | None = None

    def records(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        named, reading = under_right_names(self._look.files), self._look.reading
        options = MessageOptions(columns=columns, access="scan", ignore_missing_files=True, **LENIENT, **reading, **self._look.tier)
        self._run = Scan((named.files,), options).run(**self._look.running)
        return iter(self._run)

    def lost(self) -> list[tuple[int, int]]:
        assert self._run is not None
        segments = {segment.uri for segment in self._look.files.segments}  # not those of a tier
        damage = (each for each in self._run.report.damage if each.segment in segments)
        return lost_ranges(damage, (each for each in self._run.lost if each.store == self._look.files.uri))


class _RescuedLog:
    """Reads what a rescue saved."""

    def __init__(self, exported: Exported) -> None:
        self._exported = exported

    def records(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """As `Log`."""
        return self._exported.batches(columns)

    def lost(self) -> list[tuple[int, int]]:
        """As `Log`."""
        return lost_ranges(self._exported.report.damage, self._exported.missing)


def write_rescued(
    folder: Target,
    path: str,
    files: StoreFiles,
    *,
    account: Account,
    exported: Exported,
    reading: Mapping[str, Any],
    language: str,
) -> None:
    """Write the same to the folder `path` of a rescue. The log is not read again."""
    look, log = _Look(files, reading, {}), _RescuedLog(exported)
    _write(folder, f"{path}/", files, account, _topics(account, look.evidence(account, None, log), Asked()), language=language)


def write_repaired(
    folder: Target, path: str, files: StoreFiles, *, account: Account, jobs: int, max_read_rate: int | str | None, language: str
) -> None:
    """Write the same to the folder `path` of a repair. The log is read once more, for tags."""
    reading = {} if max_read_rate is None else {"max_read_rate": max_read_rate}
    look = _Look(files, reading, {"jobs": jobs})
    _write(folder, f"{path}/", files, account, _topics(account, look.evidence(account, None, _ReadLog(look)), Asked()), language=language)


def _topics(account: Account, evidence: Evidence, asked: Asked) -> list[TopicLoss]:
    """Each topic with its team and a folder of its own, those with most messages first."""
    rows = (row for batch in account.faults.to_batches(_ROWS) for row in batch.to_pylist())
    found = sorted(topics_in(rows), key=lambda each: -sum(row["messages"] for row in each[1]))
    teams = {topic: asked.team_of(topic) for topic, _ in found[:_MOST_TOPICS]}
    folders = _Folders()
    of_teams = {team: "" if team is None else folders.of("", team) + "/" for team in sorted({*teams.values()}, key=str)}
    return [
        TopicLoss(topic, own, evidence, teams[topic], of_teams[teams[topic]] + folders.of(of_teams[teams[topic]], topic))
        for topic, own in found[:_MOST_TOPICS]
    ]


class _Folders:
    """Names of folders. Two that differ in case only, or that are cut, get different ones."""

    def __init__(self) -> None:
        lists = (name_of_list(stem, language) or f"{stem}.csv" for stem in (TOPICS, KEYS) for language in LANGUAGES)
        self._taken = {("", name) for name in (*lists, STORE, f"{KEYS}.jsonl", "_writing")}

    def of(self, parent: str, text: str) -> str:
        """A name for this text: safe in any folder and shell."""
        name = folder_name("", text).removeprefix("=")
        if name[0] in ".-":
            name = f"%{ord(name[0]):02X}{name[1:]}"
        if len(name.encode()) > _LONGEST:
            digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
            name = f"{name.encode()[:_KEPT].decode('utf-8', 'ignore')}~{digits}"
        number, found = 1, name
        while (parent, unicodedata.normalize("NFC", found).casefold()) in self._taken:
            number += 1
            found = f"{name}~{number}"
        self._taken.add((parent, unicodedata.normalize("NFC", found).casefold()))
        return found


def _write(folder: Target, path: str, files: StoreFiles, account: Account, topics: Sequence[TopicLoss], *, language: str) -> None:
    """The files of each topic and team; what concerns no topic; and last the list of all."""
    store = local_path(files.uri) if files.uri.startswith("file://") else files.uri
    for topic in topics:
        place = f"{path}{topic.folder}/{MESSAGES}"
        folder.write_text(f"{place}.csv", csv_lines(COLUMNS, topic.tell()))
        folder.write_text(f"{place}.jsonl", json_lines(topic.tell()))
        _write_list(folder, place, LOST_LIST, topic.tell(), language)
        _write_letter(folder, path + topic.folder, Letter(store, (topic,), topic.team, name_of_list(MESSAGES, language)))
    for team in sorted({topic.team for topic in topics if topic.team is not None}):
        own = [topic for topic in topics if topic.team == team]
        _write_letter(folder, path + own[0].folder.partition("/")[0], Letter(store, own, team, name_of_list(MESSAGES, language)))
    told = {topic.topic for topic in topics}
    loose = (row for batch in account.faults.to_batches(_ROWS) for row in batch.to_pylist() if row["topic"] not in told)
    folder.write_text(path + STORE, json_lines(loose))
    folder.write_text(f"{path}{TOPICS}.csv", csv_lines(SUMMARY_COLUMNS, map(_summary, topics)))
    _write_list(folder, path + TOPICS, TOPICS_LIST, map(_summary, topics), language)


def _write_list(folder: Target, stem: str, columns: Sequence[str], rows: Iterable[Row], language: str) -> None:
    """What people read beside a file for programs, if it differs."""
    if (name := name_of_list(stem, language)) is not None:
        folder.write_text(name, list_lines(columns, rows, language))


def _write_letter(folder: Target, path: str, letter: Letter) -> None:
    for language in LANGUAGES:
        folder.write_text(f"{path}/message.{language}.txt", letter.lines(language))


def _summary(topic: TopicLoss) -> dict[str, Any]:
    first, last = topic.times
    names = {"topic": topic.topic, "team": topic.team, "folder": topic.folder}
    counts = {state: topic.counts.get(state) for state in STATES[3:]}
    return {**names, "first_store_timestamp": first, "last_store_timestamp": last, **counts}
