"""What a store is, from little reading: its parts and where they are, who wrote it and when, whether it is in use, and what is odd."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import repeat
from typing import Any

import pyarrow as pa

from native_reader.arrivals import newest
from native_reader.broker.config_files import damaged_files, has_file, is_newest_read, is_unread
from native_reader.broker.consumer_offsets import has_offsets
from native_reader.broker.databases import FoundDatabase, databases_of, has_settings
from native_reader.broker.epochs import epochs_of
from native_reader.broker.missing_settings import OFFSETS, TOPICS, missing_settings
from native_reader.broker.tier import tier_of
from native_reader.broker.unread import DATABASE, FAILED, FORBIDDEN, PACKED, Unread, unread_parts
from native_reader.broker.unread import TIERED as UNREAD_TIER
from native_reader.broker.versions import oldest_version
from native_reader.errors import OptionError, SchemaError, StoreError
from native_reader.layout.index_entry import INDEX_HEAD
from native_reader.lazy import Scan, TableScan
from native_reader.options import LENIENT, MessageOptions
from native_reader.scan.progress import Watch
from native_reader.sentences import ENGLISH, Said, commas, joined, say, verbatim, words_of
from native_reader.sides.bounds import LIGHT
from native_reader.sides.index import index_files, slots_of_cut
from native_reader.sides.index_database import has_rows, index_database
from native_reader.start import Start, answer_for, checked_version
from native_reader.storage.paths import list_if_possible
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import PLAIN, UNFINISHED, StoreFiles, is_live, is_unknown, past_failures
from native_reader.tables import TABLES
from native_reader.tables.queues import FoundQueue, OlderRecords, found_queue, states_of, warn_of_rocksdb
from native_reader.text import names_of, size_of
from native_reader.verification import Verification
from native_reader.verify.removed import RESERVED
from native_reader.witness import look_at
from native_reader.witness.contradiction import MISNAMED, PAST_END
from native_reader.witness.ends import goes_on_unread
from native_reader.witness.entries import Sample
from native_reader.witness.look import look_at_queues

_STATES = {"ahead": True, "behind": False, "orphaned": False}
"""States of queues that are odd: whether each is a finding."""


_NEWEST = 4
"""The last record is in one of so many segments, unless these are empty."""


@dataclass(slots=True)
class Diagnosis:
    """One store. `findings` may be losses; `notes` are harmless. `facts`: by part of the store, without the parts that cannot be read.

    Names of options in the texts are marked: `errors.spelled`.

    Examples:
        >>> found = rmqstore.open("damaged").diagnose()
        >>> found.has_gaps, len(found.facts)
        (False, 6)
    """

    facts: dict[str, Facts] = field(default_factory=dict)
    losses: list[Said] = field(default_factory=list)
    """What `findings` says, for other languages."""
    harmless: list[Said] = field(default_factory=list)
    """What `notes` says, for other languages."""
    has_gaps: bool = False
    """Whether the log lacks bytes between its first and its last file."""
    start: Start | None = None
    """Whether a broker may be started; None if the log could not be examined."""
    words: dict[str, list[Said]] = field(default_factory=dict)
    """By part: what its facts say in English, for other languages."""
    samples: list[Sample] | None = field(default=None, repr=False)
    """What was read of each queue."""
    unread_tier: Said | None = field(default=None, repr=False)
    """What the store's tier holds, which this look does not read."""
    answer: Callable[..., Start] | None = field(default=None, repr=False)
    """Answers again whether a broker may be started, with more known of the log."""

    def add_check(self, check: Verification) -> None:
        """Answer again whether a broker may be started, with all damage that a check of the whole store found.

        Args:
            check: The check, after its use.
        """
        if check.reads_tier:
            self.tier_is_read()
        reasons = () if self.start is None else self.start.reasons
        if self.answer is not None and all(each.cause.kind != MISNAMED for each in reasons):  # a broker goes by the names of files
            self.start = self.answer(damage=check.damage, checksums=True, counts=not check.account.is_whole)

    def tier_is_read(self) -> None:
        """Leave out that the tier is not read: something else reads it."""
        self.losses = [said for said in self.losses if said != self.unread_tier]

    @property
    def findings(self) -> list[str]:
        """What may be a loss, in English."""
        return [each.text() for each in self.losses]

    @property
    def notes(self) -> list[str]:
        """What is odd, but harmless, in English."""
        return [each.text() for each in self.harmless]

    def lines(self, time: Time, language: str = ENGLISH) -> Iterator[tuple[str, str]]:
        """Write the diagnosis for people: a label and a text for each line. First which store it is, then what may be a loss.

        Args:
            time: How a time is written.
            language: `en` or `zh`.
        """
        return ((label.text(language), said.text(language)) for label, said in self.said(time))

    def said(self, time: Time) -> Iterator[tuple[Said, Said]]:
        """Give what `lines` writes: a label, and what is said there.

        Args:
            time: How a time is written.
        """
        facts = list(self._facts(time))
        named = int(STORE in self.facts)
        yield from facts[:named]
        yield from ((Said("label finding"), said) for said in self.losses)
        yield from facts[named:]
        yield from ((Said("label note"), said) for said in self.harmless)

    def _facts(self, time: Time) -> Iterator[tuple[Said, Said]]:
        for part, (label, write) in WRITERS.items():
            if part in self.facts:
                labels = Said(f"label {label}"), Said("label version")
                yield from zip(labels, write(self.facts[part], self.words.get(part, []), time), strict=False)


def diagnose(
    files: StoreFiles,
    options: Mapping[str, Any],
    reserved_hours: int | None = RESERVED,
    progress: Watch = False,
    for_version: str | None = None,
) -> Diagnosis:
    """Look at a store. A part that cannot be read is a finding, because a broken store is what this is for.

    `options`: of all reads; all tables must take them. `reserved_hours`: after them, a broker deletes a segment. None: whether a broker
    may be started is not asked. `for_version`: of that broker.
    """
    version = None if for_version is None else checked_version(for_version)
    files, found = past_failures(files), Diagnosis()
    look = _Examination(files, options, found, progress)
    for part, facts_of in {STORE: look.store, LOG: look.log, QUEUES: look.queues, INDEX: look.index}.items():
        try:
            found.facts[part] = facts_of()
        except (OptionError, SchemaError):
            raise
        except (StoreError, OSError) as error:
            found.losses.append(say("not examined", part=part, reason=str(error)))
    look.epochs()
    found.facts |= {CONFIG: look.config(), STATE: look.state()}
    if databases := look.databases():
        found.facts[DATABASES] = {"databases": databases}
    unread: Sequence[Unread] = ()
    if LOG in found.facts and reserved_hours is not None:
        unread = _add_answer(found, files, options, reserved_hours, progress=progress, version=version)
    _add_unread(found, files, unread)
    if files.uri.endswith(UNFINISHED):
        found.losses.append(say("unfinished"))
    if files.strays:
        found.losses.append(say("strays", names=commas(files.strays)))
    return found


def _add_unread(found: Diagnosis, files: StoreFiles, seen: Sequence[Unread]) -> None:
    """What is not read, first what may be a loss. Of files that cannot be opened or read, the first few. `seen`: by the look at each."""
    refused = None if found.samples is None else [uri for sample in found.samples for uri in sample.refused]
    every = {each.where: each for each in (*seen, *unread_parts(files, refused=refused))}.values()
    parts = [each for each in every if each.what not in (DATABASE, PACKED) and each.why not in found.losses]  # said above
    found.unread_tier = next((each.why for each in parts if each.what == UNREAD_TIER), None)
    for is_loss, said in ((True, found.losses), (False, found.harmless)):
        of_kind = [each for each in parts if each.is_loss is is_loss]
        said.extend(each.why for each in of_kind if each.what not in (FORBIDDEN, FAILED))
        said.extend(_first([each.why for each in of_kind if each.what in (FORBIDDEN, FAILED)]))


def _add_answer(
    found: Diagnosis, files: StoreFiles, options: Mapping[str, Any], reserved_hours: int, *, progress: Watch, version: str | None
) -> Sequence[Unread]:
    """What contradicts, the worst first and before all else, and whether a broker may be started. Returns what was not read."""
    end, rate = found.facts[LOG]["end_offset"], options.get("max_read_rate")
    projected = MessageOptions(max_read_rate=rate).projection().max_read_rate
    witnesses = look_at(files, end, reserved_hours, projected, found.samples, progress=progress)
    of_kinds: dict[str, list[Said]] = {}
    for each in witnesses.contradictions:
        of_kinds.setdefault(each.effect, []).append(each.said)
    if PAST_END in of_kinds or goes_on_unread(files, end):
        found.losses = [said for said in found.losses if said.kind != "ahead"]
    found.losses[:0] = [said for of_kind in of_kinds.values() for said in _first(of_kind)]
    found.answer = partial(answer_for, files, end, reserved_hours, rate, witnesses=witnesses, version=version)
    found.start = found.answer()
    return witnesses.unread


def _first(of_kind: Sequence[Said]) -> Iterator[Said]:
    """The first few of a kind, and how many more there are."""
    yield from of_kind[:MOST]
    if len(of_kind) > MOST:
        yield say("more contradictions", count=len(of_kind) - MOST)


_IMPOSSIBLE = {"after log": "epoch after log", "no record": "epoch without record", "back": "epoch back"}
"""States of epochs that no broker leaves, and what is said of them."""


class _Examination:
    """The facts of each part of a store."""

    def __init__(self, files: StoreFiles, options: Mapping[str, Any], found: Diagnosis, progress: Watch) -> None:
        self._files, self._options, self._found, self._progress = files, options, found, progress
        self._checkpoint: Facts = {}

    def store(self) -> Facts:
        """The oldest version that can have written the store, with the signs of it; null if nothing shows it."""
        try:
            self._checkpoint = next(self._table("checkpoint"), {})
        except OSError as error:  # of the storage
            self._found.losses.append(say("not examined", part="checkpoint", reason=str(error)))
        version, names = oldest_version(self._files)
        signs = self._found.words[STORE] = list(map(Said, names))
        return {"uri": self._files.uri, "version_at_least": version, "because": [sign.text() for sign in signs]}

    def log(self) -> Facts:
        """The segments, the times of the first and the last record, and what is missing."""
        files, found = self._files, self._found
        options = {**self._options, **LENIENT, "columns": "store_timestamp"}
        scan = Scan((files,), MessageOptions(**options))
        plan = scan.plan()
        found.has_gaps = bool(plan.gaps)
        for gap in plan.gaps:
            where = say("gap", start=gap.start, stop=gap.stop, bytes=gap.stop - gap.start)
            found.losses.append(where if gap.back is None else say("sentences", first=where, second=gap.back))
        if stale := dict(plan.stale).get(files.uri):
            found.harmless.append(say("stale", bytes=stale))
        found.losses += self._unopened()
        end = dict(plan.ends)[files.uri]
        first = scan.head(1)["store_timestamp"].to_pylist()
        newest_ones = replace(files, segments=files.segments[-_NEWEST:])  # a plan of all segments takes long
        last = _times(newest(newest_ones, MessageOptions(**options), 1, end)) or _times(newest(files, MessageOptions(**options), 1, end))
        return {
            "directories": sorted({segment.directory for segment in files.segments}),
            "segments": len(files.segments),
            "bytes": sum(segment.size for segment in files.segments),
            "first_offset": files.min_offset,
            "end_offset": end,
            "first_store_timestamp": first[0] if first else None,
            "last_store_timestamp": last[0] if last else None,
        }

    def epochs(self) -> None:
        """Whether the epochs of a group with a controller can be true."""
        if (epochs := epochs_of(self._files.uri)) is None:
            return
        if epochs.epochs is None:
            self._found.losses.append(say("epochs damaged", file=epochs.uri))
            return
        if epochs.uri.endswith(".bak"):
            self._found.harmless.append(say("epochs of backup", file=epochs.uri))
        wrong = [row for row in self._table("epochs") if row["state"] in _IMPOSSIBLE]
        says = [say(_IMPOSSIBLE[row["state"]], number=row["epoch"], begin=row["begin_offset"], file=row["file"]) for row in wrong]
        self._found.losses += _first(says)

    def queues(self) -> Facts:
        """The numbers of queues and topics, and queues that do not fit the log."""
        if not self._files.queue_directories:
            self._found.harmless.append(say("no queues"))
        topics, light, queues = set[str](), 0, 0
        states: dict[str, dict[str, int]] = {}
        wrong = list[Said]()
        older = OlderRecords()
        for queue, state in self._listed_queues():
            older.add(queue.topic, queue.type, queue.bounds)
            light, queues = light + (queue.type == LIGHT), queues + (queue.type != LIGHT)
            if queue.type != LIGHT:
                topics.add(queue.topic)
            if queue.found is not None and len(wrong) < MOST:
                wrong.append(say("at", place=queue.topic, what=queue.found))
            topics_of_state = states.setdefault(state or "unknown", {})
            topics_of_state[queue.topic] = topics_of_state.get(queue.topic, 0) + 1
        self._found.losses += wrong
        config = self._files.config
        if "orphaned" in states and not is_newest_read(config):
            states.pop("orphaned", None)  # by an older backup
        for state, is_finding in _STATES.items():
            if of_state := states.get(state):
                said = say(state, queues=sum(of_state.values()), names=names_of(sorted(of_state), MOST))
                (self._found.losses if is_finding else self._found.harmless).append(said)
        return {
            "directories": list(self._files.queue_directories),
            "queues": queues,
            "topics": len(topics),
            "light_queues": light,
            OLDER: older.by_topic(),
            TIERED: tier_of(self._files.uri, self._files.config) is not None,
        }

    def _listed_queues(self) -> Iterator[tuple[FoundQueue, str | None]]:
        """The queues and their states. What was read of them is kept for the answer."""
        warn_of_rocksdb([self._files])
        samples = self._found.samples = look_at_queues(self._files, self._progress)
        problems = (None if each.refused else each.problem for each in samples)
        queues = [
            found_queue(each.queue, each.bounds, problem or (each.bounds and each.bounds.found))
            for each, problem in zip(samples, problems, strict=True)
        ]
        if (log := self._found.facts.get(LOG)) is None:
            return zip(queues, repeat(None), strict=False)
        projection = MessageOptions(**{**self._options, "columns": None}).projection()
        return zip(queues, states_of(self._files, queues, log["end_offset"], projection), strict=True)

    def index(self) -> Facts:
        """The index files, and those that a search cannot use."""
        rows = list(self._table("index_files")) if self._files.index is not None else []
        unusable = [row for row in rows if row["found"] is not None]
        self._found.losses += [_at(row["file"], row) for row in unusable if row["slots"] is not None][:MOST]
        self._found.losses += self._cut_files()
        if unknown := sum(row["slots"] is None for row in unusable):
            self._found.harmless.append(say("index size unknown", files=unknown))
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

    def _unopened(self) -> Iterator[Said]:
        """Segments that cannot be opened. Not on a slow storage, where each try takes long."""
        for segment in self._files.segments:
            storage = storage_of(segment.uri)
            if storage.is_slow:
                return
            try:
                storage.open(segment.uri).close()
            except OSError as error:
                if not is_unknown(error):  # else said as not read
                    yield words_of(error)

    def _cut_files(self) -> Iterator[Said]:
        """Index files that are smaller than a broker makes them."""
        files = index_files(self._files.index, self._options.get("max_hash_slot_num"))
        for file in files:
            if file.size < INDEX_HEAD.size or (file.slots is None and slots_of_cut(file, files) is not None):
                yield say("index cut", file=file.uri, size=file.size)

    def config(self) -> Facts:
        """Where settings and consumer offsets are, and files that a broker could not read."""
        config = self._files.config
        damaged = list(damaged_files(config))
        self._found.losses += [problem if is_unread(problem) else say("at", place=uri, what=problem) for uri, problem in damaged]
        if config is None:
            self._found.harmless.append(say("no config"))
        elif not (has_file(config, "topics.json") or has_settings(config)):
            gone = missing_settings(config, lambda: {each.queue.topic for each in self._found.samples or () if each.end})
            (self._found.losses if TOPICS in gone else self._found.harmless).append(say("no topics", config=config))
        elif not has_offsets(config) and OFFSETS not in missing_settings(config, tuple):
            self._found.harmless.append(say("no consumer offsets", config=config))
        return {"directory": self._files.config}

    def databases(self) -> list[Facts]:
        """The databases of RocksDB, and what is in them."""
        databases = list(databases_of(self._files))
        self._found.losses += [verbatim(each.found) for each in databases if each.found is not None and not each.is_extra_missing]
        self._found.losses += [each.early for each in databases if each.early is not None]
        if any(each.is_extra_missing for each in databases):
            self._found.harmless.append(say("no extra"))
        if databases and is_live(self._files.uri):
            self._found.harmless.append(say("late databases"))
        contents = self._found.words[DATABASES] = [_holding(each) for each in databases]
        texts = [None if each.holds is None else words.text() for each, words in zip(databases, contents, strict=True)]
        return [{"directory": each.uri, "holds": text} for each, text in zip(databases, texts, strict=True)]

    def state(self) -> Facts:
        """Whether a broker uses the store, and how the last one ended."""
        uri = self._files.uri
        is_used, crashed = is_live(uri), any(entry.name == "abort" for entry in list_if_possible(uri))
        if crashed and not is_used:
            self._found.harmless.append(say("crashed"))
        times = {name: value for name, value in self._checkpoint.items() if name != "store"}
        self._compare(times.values())
        return {"in_use": is_used, "abort": crashed, "checkpoint": times}

    def _compare(self, times: Iterable[object]) -> None:
        """The checkpoint has no time after the last record, unless records are lost."""
        last = self._found.facts.get(LOG, {}).get("last_store_timestamp")
        later = max((time for time in times if isinstance(time, datetime)), default=None)
        is_plain = all(segment.framing == PLAIN for segment in self._files.segments)  # DLedger's times are of other moments
        if last is not None and later is not None and later > last and is_plain and not is_live(self._files.uri):
            self._found.losses.append(say("checkpoint ahead", by=str(later - last)))

    def _table(self, name: str, columns: Iterable[str] | None = None) -> Iterator[Facts]:
        """The rows of a table of this store."""
        options = MessageOptions(**{**self._options, "columns": columns})
        for batch in TableScan(TABLES[name], (self._files,), options).to_batches():
            yield from batch.to_pylist()


def _times(batches: Iterable[pa.RecordBatch]) -> list[datetime]:
    return [time for batch in batches for time in batch.column(0).to_pylist()]


def _at(place: str, row: Facts) -> Said:
    """What a table says is wrong there."""
    return say("at", place=place, what=Said.from_json(row["details"]))


def _holding(database: FoundDatabase) -> Said:
    """What is in a database."""
    return say("not read") if database.holds is None else joined("commas", [Said(each) for each in database.holds])


Facts = dict[str, Any]
Time = Callable[[datetime], str]
"""How a time is written."""

STORE, LOG, QUEUES, INDEX, CONFIG, STATE = "store", "commitlog", "consumequeue", "index", "config", "state"
DATABASES = "rocksdb"
OLDER, TIERED = "older_than_log", "has_tiered_storage"
MOST = 5
"""Names and problems shown of each kind."""


def _about_store(facts: Facts, signs: Sequence[Said], time: Time) -> Iterator[Said]:
    yield verbatim(facts["uri"])
    yield say("at least", version=facts["version_at_least"], because=joined("semicolons", signs)) if signs else say("no sign")


def _about_log(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    size = say("size of log", segments=facts["segments"], size=size_of(facts["bytes"]))
    place = _places(facts["directories"]) if facts["directories"] else say("no segments")
    yield say("at", place=place, what=_with_period(size, facts["first_store_timestamp"], facts["last_store_timestamp"], time))


def _about_queues(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    what = say("queues of topics", queues=facts["queues"], topics=facts["topics"])
    if facts["light_queues"]:
        what = say("and light", what=what, light=facts["light_queues"])
    if facts[OLDER]:
        what = say("and older", what=what, older=_older(facts[OLDER], is_tiered=facts[TIERED]))
    yield say("at", place=_places(facts["directories"]), what=what) if facts["directories"] else say("none")


def _older(by_topic: Mapping[str, int], is_tiered: bool) -> Said:
    """That queues name records from before the log. The files do not show who deleted those."""
    names = names_of([f"{topic} {count:,}" for topic, count in by_topic.items()], MOST)
    return say("older or tiered" if is_tiered else "older", records=sum(by_topic.values()), names=names)


def _about_index(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    size = say("size of index", files=facts["files"], keys=facts["entries"])
    files = _with_period(size, facts["begin_timestamp"], facts["end_timestamp"], time)
    places = [say("at", place=facts["directory"], what=files)] if facts["directory"] else []
    places += [say("in rocksdb", place=facts["database"])] if facts["database"] else []
    yield joined("semicolons", places) if places else say("none")


def _about_databases(facts: Facts, contents: Sequence[Said], time: Time) -> Iterator[Said]:
    found = zip(facts["databases"], contents, strict=True)
    yield joined("semicolons", [say("at", place=each["directory"], what=what) for each, what in found])


def _about_config(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    yield verbatim(facts["directory"]) if facts["directory"] else say("none")


def _about_state(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    yield say("in use" if facts["in_use"] else "at rest")


def _places(directories: Sequence[str]) -> Said:
    return joined("commas", list(map(verbatim, directories)))


def _with_period(what: Said, first: datetime | None, last: datetime | None, time: Time) -> Said:
    return what if first is None or last is None else say("period", what=what, first=time(first), last=time(last))


WRITERS: dict[str, tuple[str, Callable[[Facts, Sequence[Said], Time], Iterator[Said]]]] = {
    STORE: ("store", _about_store),
    LOG: ("commitlog", _about_log),
    QUEUES: ("queues", _about_queues),
    INDEX: ("index", _about_index),
    CONFIG: ("config", _about_config),
    DATABASES: ("rocksdb", _about_databases),
    STATE: ("state", _about_state),
}
"""By part, in the order of the lines: its label, and what it says; the store has a second line, the version."""
