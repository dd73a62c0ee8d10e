"""The door: opens stores. All that the program can do begins with a `Store`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from native_reader.checks import LARGEST, MOST_JOBS, Instant, whole
from native_reader.columns.schema import COLUMNS, DEFAULT_COLUMNS, MessageColumn
from native_reader.columns.spec import ColumnSpec
from native_reader.errors import OptionError, did_you_mean, shown
from native_reader.lazy import Lazy, Read, Scan, TableScan, read_batches, selection_of
from native_reader.options import TABLE_OPTIONS, MessageOptions, options_of
from native_reader.scan.progress import Watch
from native_reader.storage.broker_conf import StorePaths, parse_broker_conf, paths_of
from native_reader.storage.discovery import find_stores
from native_reader.storage.local import LocalPath, text_of, texts_of
from native_reader.storage.paths import uri_of
from native_reader.storage.s3 import Access, is_remote, use
from native_reader.storage.store import StoreFiles
from native_reader.storage.tar import TAR
from native_reader.tables import TABLE_NAMES, TABLES
from native_reader.text import names_of

# Not every program needs these, and they would make its start slower.
if TYPE_CHECKING:
    from native_reader.arrivals import Arrivals
    from native_reader.doctor import Diagnosis
    from native_reader.facts import Facts
    from native_reader.rescue import Rescued
    from native_reader.verification import Verification

__all__ = ["COLUMNS_OF", "DEFAULT_COLUMNS", "TABLE_NAMES", "Lazy", "Scan", "Store", "TableScan", "connect", "open", "selection_of"]

_MOST_NAMES = 5
COLUMNS_OF: Mapping[str, Mapping[str, ColumnSpec | MessageColumn]] = {
    "messages": COLUMNS,
    **{name: table.columns for name, table in TABLES.items()},
}
"""By name of a table: its columns."""


class Store:
    """One or more stores, with their files as of when they were opened."""

    def __init__(self, paths: Sequence[str], parts: StorePaths, broker_conf: str | None = None) -> None:
        self._paths, self._parts, self._broker_conf = tuple(paths), parts, broker_conf
        self._only: str | None = None
        self._stores = tuple(find_stores(self._paths, parts))

    @property
    def stores(self) -> tuple[StoreFiles, ...]:
        """The file locations of each store."""
        return self._stores

    def refresh(self) -> Store:
        """Open the same paths again."""
        found = Store(self._paths, self._parts, self._broker_conf)
        found._only = self._only
        found._stores = tuple(each for each in found._stores if self._only in (None, each.uri))
        return found

    def one_by_one(self) -> list[Store]:
        """Each store as one of its own: `diagnose`, `report` and `rescue` are about one store.

        >>> import native_reader as nr
        >>> [one.diagnose().findings for one in nr.open("store").one_by_one()]
        [[]]
        """
        found = []
        for files in self._stores:
            one = copy(self)
            one._only, one._stores = files.uri, (files,)
            found.append(one)
        return found

    def messages(self, /, **options: Any) -> Scan:
        """All messages of the log, one row each. The options are the fields of `MessageOptions`."""
        return Scan(self._stores, _message_options(options))

    def table(self, /, name: str, **options: Any) -> Lazy:
        """A table by name. Those other than `messages` take the options in `TABLE_OPTIONS`, and each its own."""
        if not isinstance(name, str) or name not in ("messages", *TABLES):
            near = did_you_mean(name, TABLE_NAMES) if isinstance(name, str) else ""
            raise OptionError(f"table={shown(name)} does not exist.{near} All tables: {', '.join(TABLE_NAMES)}")
        if name == "messages":
            return self.messages(**options)
        return self._table(f"table={name}", name, (*TABLE_OPTIONS, *TABLES[name].options), options)

    def topics(self, **options: Any) -> Lazy:
        """The table `topics`: what each topic holds, and how it is configured."""
        return self.table("topics", **options)

    def queues(self, **options: Any) -> Lazy:
        """The table `queues`: each consume queue, with its first and next offset."""
        return self.table("queues", **options)

    def groups(self, **options: Any) -> Lazy:
        """The table `consumer_offsets`: how far each consumer group has read each queue."""
        return self.table("consumer_offsets", **options)

    def newest(self, /, count: int, *, read: Read = read_batches, **options: Any) -> pa.Table:
        """The last `count` messages of each store that match, in log order. The log is read from its end backwards, no further than needed.

        `options`: those of `messages`. `read`: a generator function that reads a scan of a part of the log, for example in parallel.

        Raises `OptionError` for a wrong option, and the errors of a scan.

        >>> import native_reader as nr
        >>> nr.open("store").newest(3, columns="topic,queue_offset").num_rows
        3
        """
        from native_reader.newest import newest

        checked, most = _message_options(options), whole("count", count, 0, LARGEST)
        batches = [batch for store in self._stores for batch in newest(store, checked, most, read=read)]
        return pa.Table.from_batches(batches, checked.projection().schema)

    def follow(
        self,
        /,
        *,
        start: str | None = None,
        pause: float = 0.2,
        warn: Callable[[str], object] | None = None,
        **options: Any,
    ) -> Arrivals:
        """The messages that arrive from now on, as an endless iteration over batches. Each message comes once.

        Options that select a start are honoured: `starting_timestamp`, `starting_physical_offset`, `starting_offsets`. Without one, it
        starts at the end of the log, at this moment.

        `start`: `earliest` or `latest`, whatever these options say; they are then only conditions.
        `pause`: the seconds between two looks at a log without news.
        `warn`: gets each warning once, for example about lost data with `fail_on_data_loss=False`; by default they are logged.
        `options`: those of `messages`, without those that end a read.

        Raises `OptionError` for an option that a stream does not support; while it is read, `DataLoss` if messages that it should have
        read were deleted or rewritten, and the errors of a scan.

        >>> import native_reader as nr
        >>> with nr.open("store").follow(start="earliest", columns="topic") as arrivals:
        ...     for batch in arrivals:
        ...         print(batch.num_rows > 0)
        ...         arrivals.stop()
        True
        """
        from native_reader.arrivals import Arrivals

        return Arrivals(lambda: self.refresh().stores, _message_options(options), start, pause, warn)

    def verify(self, /, **options: Any) -> Verification:
        """Check that log, queues, index, checkpoint and configuration agree. The log is read once, when the result is used.

        `options`: those of the table `findings`, without `columns`.

        Raises `OptionError` for another option, and `StoreError` if the store cannot be read at all.

        >>> import native_reader as nr
        >>> check = nr.open("store").verify()
        >>> findings = check.to_table(jobs=2)
        >>> check.is_clean
        True
        """
        from native_reader.verification import Verification

        taken = (*TABLE_OPTIONS, *TABLES["findings"].options)
        return Verification(self._stores, self._table("verify", "findings", [name for name in taken if name != "columns"], options))

    def diagnose(self, /, **options: Any) -> Diagnosis:
        """What the store is, from little reading: its parts, who wrote it and when, whether it is in use, and what is odd about it.

        What cannot be read is a finding, not an error. `options`: those that all tables take, without `columns` and `where`.

        Raises `OptionError` for another option, or if there are several stores: use `one_by_one`.

        >>> import native_reader as nr
        >>> nr.open("store").diagnose().facts["commitlog"]["segments"] > 0
        True
        """
        from native_reader.doctor import diagnose

        return diagnose(self._one("a diagnosis"), _checked("diagnose", _OF_WHOLE_STORES, options))

    def report(
        self,
        /,
        *,
        now: Instant | None = None,
        time_zone: str = "UTC",
        disk_free: int | str | None = None,
        verify: bool = False,
        jobs: int = 1,
        progress: Watch = False,
        **options: Any,
    ) -> Facts:
        """The facts about the store: what fills it, its log over time, lag, pending messages, damage. `rmqstore report` draws them.

        `now`: the time of the report, by default the current time. `time_zone`: of days and hours.
        `disk_free`: free bytes of the broker's disk, if this store is a copy; by default those of the disk that the store is on.
        `verify`: check all files against each other, too, which reads the log a second time.
        `options`: those that all tables take, without `columns` and `where`.

        Raises `OptionError` for another option, or if there are several stores: use `one_by_one`. `StoreError` if the log cannot be read.

        >>> import native_reader as nr
        >>> facts = nr.open("store").report()
        >>> facts.is_clean, facts.log.messages > 0
        (True, True)
        """
        from native_reader.facts.gather import gather, settings_of

        files, reading = self._one("a report"), _checked("report", _OF_WHOLE_STORES, options)
        how = {"verify": verify, "jobs": whole("jobs", jobs, 1, MOST_JOBS), "progress": progress, "options": reading}
        return gather(files, settings_of(files, self._broker_conf, now, time_zone, disk_free, **how))

    def rescue(self, /, path: LocalPath, *, jobs: int = 1, progress: Watch = False, max_read_rate: int | str | None = None) -> Rescued:
        """Write all readable messages, and a page about what was saved and lost, to the folder `path`.

        If it is stopped, start it again: it continues. `progress`: as in `Scan.to_batches`, for the export, then for the check.

        Raises `OptionError` if the folder has other files, or if there are several stores: use `one_by_one`. `ExportError` if the folder
        cannot be written. Damage and losses are no errors: the result and the page count them.

        >>> import native_reader as nr
        >>> nr.open("store").rescue("rescued").is_whole
        True
        """
        from native_reader.rescue.rescue import rescue

        return rescue(self._one("a rescue"), path, jobs=jobs, progress=progress, max_read_rate=max_read_rate)

    def _one(self, what: str) -> StoreFiles:
        """The only store."""
        if len(self._stores) != 1:
            paths = names_of([each.uri for each in self._stores], _MOST_NAMES) or "none"
            raise OptionError(f"{what} is about one store, and this path has {len(self._stores)}: {paths}. Choose one")
        return self._stores[0]

    def _table(self, what: str, name: str, taken: Sequence[str], options: Mapping[str, Any]) -> TableScan:
        return TableScan(TABLES[name], self._stores, MessageOptions(**_checked(what, taken, options)))

    def __repr__(self) -> str:
        segments = [segment for store in self._stores for segment in store.segments]
        where = ", ".join(store.uri for store in self._stores) or "no store"
        size = sum(segment.size for segment in segments)
        count = f"{len(segments):,} segment{'s' * (len(segments) != 1)}"
        return f"<Store {where}: {count}, {size:,} bytes. Next: .messages(topic='...'), .table('segments')>"


_OF_WHOLE_STORES = tuple(name for name in TABLE_OPTIONS if name not in ("columns", "where", "time_zone"))
"""The options of what is about whole stores."""


def _message_options(options: Mapping[str, Any]) -> MessageOptions:
    known = [each.name for each in options_of(MessageOptions)]
    for name in options:
        if name not in known:
            raise OptionError(f"unknown option '{name}'.{did_you_mean(name, known)} All options: {', '.join(known)}")
    return MessageOptions(**options)


def _checked(what: str, taken: Sequence[str], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """These options, if they are among those that are taken."""
    for option in options:
        if option not in taken:
            near = did_you_mean(option, taken)
            raise OptionError(f"{what} does not support the option '{option}'.{near} Supported: {', '.join(taken)}")
    return options


def open(
    path: LocalPath | Iterable[LocalPath] | None = None,
    *,
    store_path_commit_log: str | None = None,
    store_path_consume_queue: str | None = None,
    store_path_index: str | None = None,
    broker_conf: str | None = None,
    fs: Mapping[str, object] | Any = None,
) -> Store:
    """Open a store: a directory, its commitlog, one segment, a parent of stores, a `.tar` of them, a glob, or a list of these.

    Use the other arguments for parts outside the path; `store_path_commit_log` can be a comma-separated list.
    `fs`: for `s3://bucket/store`, arguments of pyarrow's S3FileSystem by name; or a file system of pyarrow or fsspec, for any URI.
    """
    paths = [] if path is None else texts_of(path)
    config = _checked_path("broker_conf", broker_conf)
    if fs is not None:
        use(_all_paths(paths, (store_path_commit_log, store_path_consume_queue, store_path_index, config)), fs)
    configured = parse_broker_conf(uri_of(config)) if config else StorePaths()
    logs = paths_of(_checked_path("store_path_commit_log", store_path_commit_log) or "")
    queues = _checked_path("store_path_consume_queue", store_path_consume_queue) or configured.consume_queue
    index = _checked_path("store_path_index", store_path_index) or configured.index
    parts = StorePaths(configured.root, logs or configured.commit_log, configured.dledger, queues, index)
    if not paths and parts == StorePaths():
        raise OptionError("the path is missing. Pass a path, store_path_commit_log or broker_conf")
    return Store(paths, parts, config)


def connect(paths: Iterable[str], places: Mapping[str, Any]) -> None:
    """Reach object storage as these arguments of `open` say; without `fs`, with the credentials of the environment.

    For processes that read what another one has planned, and that may have read with other credentials before.
    """
    given = {name: value for name, value in places.items() if name != "fs"}
    remote = [path for path in _all_paths(paths, given.values()) if is_remote(path)]
    if remote:
        use(remote, places.get("fs") or Access())


def _all_paths(paths: Iterable[str], places: Iterable[Any]) -> list[str]:
    """All paths in arguments of `open`. Lists of them are separated by commas."""
    given = [*paths, *(path for place in places if isinstance(place, str) for path in paths_of(place))]
    return [path.removeprefix(TAR) for path in given]


def _checked_path(name: str, value: Any) -> str | None:
    return None if value is None else text_of(value, name)
