"""What a broker refuses to load: then it does not start at all, and changes nothing in the log.

It loads the files of `commitlog`, of each queue and of the timer log by name. A settings file is replaced by its `.bak`; if neither can
be parsed, the broker does not start. What differs between versions is in `lines.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from native_reader.broker.config_files import LIGHT_OFFSETS, OF_TIMERS, OFFSETS, SINCE_5, Settings, settings_files
from native_reader.broker.databases import faulty_databases, has_settings
from native_reader.broker.progress import timer_check_of
from native_reader.broker.settings import Topics
from native_reader.broker.unread import FAILED, FORBIDDEN, Unread, why_unknown
from native_reader.layout.store_database import STORE_DATABASE
from native_reader.sides.queues import numbers_of, topics_in
from native_reader.start.lines import Line
from native_reader.start.reasons import Cause, cause
from native_reader.storage.paths import list_if_possible
from native_reader.storage.protocol import DirEntry, storage_of
from native_reader.storage.store import StoreFiles, is_closed, is_live
from native_reader.witness.entries import Sample
from native_reader.witness.names import bases_of, restoring

_OF_SETTINGS = {
    Settings.OLD: "old settings",
    Settings.LOST: "lost settings",
    Settings.REFUSED: "settings",
    Settings.FORBIDDEN: "forbidden",
    Settings.FAILED: "not given",
}
_OF_UNREAD = {FORBIDDEN: "forbidden", FAILED: "not given"}
_TOPICS = "topics.json"
_WHEEL = "timerwheel"
_WHEEL_SIZE = 38_707_200
"""Two slots of 32 bytes for each second of seven days: no setting changes that."""
_LARGEST = 2**63 - 1


class Refusals:
    """What stops a broker of each line. The directories are listed once."""

    def __init__(self, files: StoreFiles, samples: Sequence[Sample] | None = None, unread: Sequence[Unread] = ()) -> None:
        self._files, self._samples, self._unread = files, samples, unread
        self._directories = [each for each in (files.consume_queue, files.batch_queue) if each is not None]
        self._topics = topics_in(self._directories, light=True)
        self._known = bases_of(files)
        self._of_all = [
            *(*self._running(), *self._unopened(), *self._forbidden(), *self._folders()),
            *self._databases(),
        ]
        self._of_settings, self._of_settings_5 = list(self._settings()), list(self._settings(SINCE_5))
        self._of_wheel = list(self._wheel())
        self._timer_log = list_if_possible(f"{files.uri}/timerlog")
        self._index_folders = [each.name for each in list_if_possible(f"{files.uri}/index") if each.is_directory and _fits(each.name)]
        self._of_segments = {uri: list_if_possible(uri) for uri in sorted({segment.directory for segment in files.segments})}
        self._odd_queues = [self._odd(batch=batch) for batch in (False, True)]  # each kind has files of another size

    def of(self, line: Line) -> Iterator[Cause]:
        """Why a broker of that line does not start, and which files it leaves out."""
        yield from self._of_all
        yield from self._used(self._of_settings, line)
        yield from self._segments(line)
        yield from self._queue_files(line)
        if line.checks_queue_types:
            yield from self._queue_types()
        if line.has_timers:
            yield from self._used(self._of_settings_5, line)
        if line.has_timers and self._files.on_start.has_timers:
            yield from self._of_wheel
            yield from self._of_timer_log(line)
        if line.needs_index:
            yield from (cause("index folder", file=name) for name in self._index_folders[:1])

    def _running(self) -> Iterator[Cause]:
        if is_live(self._files.uri):
            yield cause("runs")

    def _unopened(self) -> Iterator[Cause]:
        for each in self._unread[:1]:
            yield cause(_OF_UNREAD[each.what], file=each.where.removeprefix(f"{self._files.uri}/"))
        for segment in () if self._unread or storage_of(self._files.uri).is_slow else self._files.segments:  # each try takes long there
            try:
                if not segment.is_packed:
                    storage_of(segment.uri).open(segment.uri).close()
            except OSError as error:
                found = why_unknown(segment.uri, error)
                kind = "not opened" if found is None else found.kind
                yield cause(kind, file=segment.name, **({"found": error.strerror or str(error)} if found is None else {}))
                return

    def _forbidden(self) -> Iterator[Cause]:
        """A queue that this user may not open, or that was not read."""
        closed = filter(is_closed, self._directories)
        uri = next(iter([*closed, *(uri for sample in self._samples or () for uri in sample.refused)]), None)
        if uri is not None:
            yield cause("forbidden", file=uri.removeprefix(f"{self._files.uri}/"))
        failed = (sample.queue for sample in self._samples or () if sample.problem is not None and not sample.refused)
        if (queue := next(failed, None)) is not None:
            yield cause("not given", file=f"{queue.topic}/{queue.queue_id}")

    def _folders(self) -> Iterator[Cause]:
        """A folder in the place of a file that it opens."""
        for name in ("checkpoint", "lock"):
            entry = storage_of(self._files.uri).entry(f"{self._files.uri}/{name}")
            if entry is not None and entry.is_directory:
                yield cause("folder", file=name)

    def _wheel(self) -> Iterator[Cause]:
        entry = storage_of(self._files.uri).entry(f"{self._files.uri}/{_WHEEL}")
        if entry is not None and (entry.is_directory or entry.size not in (0, _WHEEL_SIZE)):
            yield cause("timer wheel", file=_WHEEL, size=entry.size, usual=_WHEEL_SIZE)

    def _of_timer_log(self, line: Line) -> Iterator[Cause]:
        """What TimerLog.load refuses. The size of one file is in the configuration; without it, the name and the timer's progress tell."""
        known = self._files.on_start.timer_log
        usual = known or _usual(entry.size for entry in self._timer_log if entry.is_file)
        found = list(_of_files(self._timer_log, usual, line, size="timer log size", name="foreign timer log"))
        last = max((each for each in self._timer_log if each.is_file and _fits(each.name)), key=lambda each: each.name, default=None)
        if not found and known is None and last is not None and last.size:
            check = timer_check_of(self._files.uri, self._files.config)
            written = 0 if check is None else check.flushed
            if int(last.name) % last.size or int(last.name) + last.size < written:
                found.append(cause("timer log cut", file=last.name, size=last.size, written=written))
        yield from found

    def _settings(self, names: Sequence[str] | None = None) -> Iterator[Cause]:
        if self._files.config is None or has_settings(self._files.config):
            return
        for name, state in settings_files(self._files.config) if names is None else settings_files(self._files.config, names):
            if name == _TOPICS and state is Settings.LOST:
                yield cause("lost topics", file=name)
            elif name == LIGHT_OFFSETS and state is Settings.REFUSED and self._files.on_start.has_light_queues is None:
                yield cause("light settings", file=name)
            elif (kind := _OF_SETTINGS.get(state)) is not None:
                yield cause(kind, file=name)

    def _used(self, found: Sequence[Cause], line: Line) -> Iterator[Cause]:
        """What concerns files that a broker of that line loads with these settings."""
        on_start = self._files.on_start
        is_light = on_start.has_light_queues if line.has_light_queues else False
        unused = {OFFSETS: is_light is True, LIGHT_OFFSETS: is_light is False, OF_TIMERS: not on_start.has_timers}
        return (each for each in found if not unused.get(str(dict(each.values)["file"]), False))

    def _databases(self) -> Iterator[Cause]:
        """Those that RocksDB does not open: a broker does not start then. Without the library, nothing is known."""
        for database in faulty_databases(self._files.uri, self._files.config):
            name = database.uri.removeprefix(f"{self._files.uri}/")
            if database.is_extra_missing:
                yield cause("database unknown", file=name)
            elif database.found is not None:
                yield cause("unused database" if name == STORE_DATABASE else "database", file=name)
            elif database.early is not None:
                yield cause("database ends", file=name)

    def _segments(self, line: Line) -> Iterator[Cause]:
        usual = _usual(segment.size for segment in self._files.segments if not segment.is_packed)
        for directory, entries in self._of_segments.items():
            for each in _of_files(entries, usual, line, size="segment size", name="foreign file"):
                yield self._restored(directory, entries, each) or each

    def _restored(self, directory: str, entries: Sequence[DirEntry], found: Cause) -> Cause | None:
        """The same of a file that is a segment under another name: it is needed."""
        file = dict(found.values)["file"]
        entry = next(entry for entry in entries if entry.name == file)
        if found.kind != "foreign file" or not entry.is_file:
            return None
        how = restoring(self._files, directory, entry, self._known)
        return None if how is None else cause(f"{how.kind} file", file=entry.name, command=how.command)

    def _queue_files(self, line: Line) -> Iterator[Cause]:
        for usual, odd in self._odd_queues:
            for (topic, number), entries in odd.items():
                for each in _of_files(entries, usual, line, size="queue size", name="foreign queue file"):
                    yield cause(each.kind, **dict(each.values), topic=topic, queue=number)
                    return

    def _odd(self, *, batch: bool) -> tuple[int | None, Mapping[tuple[str, int], Sequence[DirEntry]]]:
        """The usual size of a queue file of that kind, and the queues with anything else in their directories: of 50,000, a few."""
        listed = self._listed(batch=batch)
        usual = _usual(entry.size for entries in listed.values() for entry in entries if entry.is_file)
        odd = {
            queue: entries
            for queue, entries in listed.items()
            if not all(entry.is_file and entry.size == usual and _fits(entry.name) for entry in entries)
        }
        return usual, odd

    def _listed(self, *, batch: bool) -> Mapping[tuple[str, int], Sequence[DirEntry]]:
        """What is in the directory of each queue of that kind. In a database, there is none."""
        if self._samples is not None and len(self._files.queues) == len(self._directories):
            queues = [(each.queue, each.listed) for each in self._samples]
            return {(queue.topic, queue.queue_id): listed for queue, listed in queues if queue.batch is batch}
        return {
            (topic.name, number): list_if_possible(f"{topic.uri}/{number}")
            for topic in self._topics
            if topic.batch is batch
            for number in numbers_of(topic)
        }

    def _queue_types(self) -> Iterator[Cause]:
        """Since 5.0, queues of another kind than the topic's. A slave makes them before it has the topic's settings."""
        of_batches = Topics(self._files.config).of_batches()
        for topic in self._topics:
            if topic.batch is not (topic.name in of_batches):
                yield cause("queue type", topic=topic.name, type="batch" if topic.batch else "ordinary")
                return


def _usual(sizes: Iterable[int]) -> int | None:
    """The size of most files, the largest of them if several are as frequent; None without files."""
    counts = Counter(size for size in sizes if size)
    return max(counts, key=lambda size: (counts[size], size), default=None)


def _of_files(entries: Sequence[DirEntry], usual: int | None, line: Line, *, size: str, name: str) -> Iterator[Cause]:
    """The first file there that is not loaded. `size`, `name`: the kinds of reasons."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    for at, entry in enumerate(ordered):
        is_odd = line.refuses_folders if entry.is_directory else usual is not None and entry.size != usual
        if entry.is_directory and not is_odd:
            continue
        if not entry.is_directory and not entry.size and at == len(ordered) - 1 and not line.refuses_empty:
            continue  # it is deleted
        if is_odd and not line.refuses_sizes:
            left_out = [each for each in ordered[at:] if each.is_file and each.size and _fits(each.name)]
            if left_out:
                yield cause(f"left out {size}", file=left_out[0].name, files=len(left_out))
            return
        if entry.is_directory or not _fits(entry.name):
            yield cause(name, file=entry.name)
            return
        if is_odd:
            yield cause(size, file=entry.name, size=entry.size, usual=usual or 0)
            return


def _fits(name: str) -> bool:
    """Whether Java takes a name for a number of 64 bits."""
    return name.isdecimal() and int(name) <= _LARGEST
