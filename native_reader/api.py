"""The API: `open`, and the methods of `Store`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from native_reader.checks import LARGEST, MOST_JOBS, Instant, flag, one_of_words, size, texts, whole
from native_reader.columns.schema import COLUMNS, DEFAULT_COLUMNS, MessageColumn
from native_reader.columns.spec import ColumnSpec
from native_reader.errors import OptionError, shown
from native_reader.frames.lazy import Lazy
from native_reader.lazy import Read, Scan, TableScan, read_batches, selection_of
from native_reader.options import TABLE_OPTIONS, MessageOptions, ReadOptions, options_of
from native_reader.scan.progress import Watch
from native_reader.sentences import ENGLISH, LANGUAGES, Said, commas, meant, say
from native_reader.storage.broker_conf import (
    USUAL_START,
    FileSizes,
    StorePaths,
    file_sizes,
    parse_broker_conf,
    paths_of,
    reserved_hours,
    start_settings,
    tiered_settings,
)
from native_reader.storage.configured import paths_that_count
from native_reader.storage.discovery import find_stores
from native_reader.storage.local import LocalPath, text_of, texts_of
from native_reader.storage.paths import uri_of
from native_reader.storage.remote import Access, is_remote, use
from native_reader.storage.store import StoreFiles
from native_reader.storage.tar import TAR
from native_reader.tables import TABLE_NAMES, TABLES
from native_reader.text import names_of

# Not every program needs these, and they would make its start slower.
if TYPE_CHECKING:
    from native_reader.arrivals import Arrivals
    from native_reader.compare import Diff, Peers
    from native_reader.doctor import Diagnosis
    from native_reader.facts import Facts
    from native_reader.increments import ExportedRun
    from native_reader.lost import Lost
    from native_reader.markdown import Document
    from native_reader.querying import Query
    from native_reader.repair import Repaired
    from native_reader.rescue import Rescued
    from native_reader.summarizing import Summarized
    from native_reader.verification import Verification

__all__ = ["DEFAULT_COLUMNS", "TABLE_NAMES", "Lazy", "Scan", "Store", "TableScan", "columns_of", "connect", "diff", "open", "selection_of"]

_MOST_NAMES = 5


def columns_of(table: str) -> Mapping[str, ColumnSpec | MessageColumn]:
    """The columns of a table, by name."""
    return COLUMNS if table == "messages" else TABLES[table].columns


class Store:
    """One or more stores: a snapshot of their files, taken by `open`.

    Examples:
        >>> store = rmqstore.open("store")
        >>> store.messages(topic="orders").count_rows()
        122
        >>> store.table("segments", columns="first_offset,size").head(2).to_pylist()
        [{'first_offset': 0, 'size': 32768}, {'first_offset': 32768, 'size': 32768}]
    """

    def __init__(self, paths: Sequence[str], parts: StorePaths, broker_conf: str | None = None) -> None:
        self._paths, self._parts, self._broker_conf = tuple(paths), parts, broker_conf
        self._only: str | None = None
        hours = None if broker_conf is None else reserved_hours(uri_of(broker_conf))
        on_start = USUAL_START if broker_conf is None else start_settings(uri_of(broker_conf))
        tier = None if broker_conf is None else tiered_settings(uri_of(broker_conf)) or None
        known: dict[str, Any] = {"reserved_hours": hours, "on_start": on_start, "tier": tier}
        self._stores = tuple(replace(store, **known) for store in find_stores(self._paths, parts))

    @property
    def stores(self) -> tuple[StoreFiles, ...]:
        """The stores that were found, each with the places of its files.

        Examples:
            >>> [len(found.segments) for found in store.stores]
            [4]
        """
        return self._stores

    def refresh(self) -> Store:
        """Open the same paths again, to see what was added or deleted since.

        Raises:
            PathError: There is no store any more.

        Examples:
            >>> store = store.refresh()
        """
        found = Store(self._paths, self._parts, self._broker_conf)
        found._only = self._only
        found._stores = tuple(store for store in found._stores if self._only in (None, store.uri))
        return found

    def one_by_one(self) -> list[Store]:
        """Return each store as one of its own: `diagnose`, `report`, `rescue`, `lost` and `repair` are about one store.

        Examples:
            >>> [one.diagnose().findings for one in rmqstore.open(["store"]).one_by_one()]
            [[]]
        """
        found = []
        for files in self._stores:
            one = copy(self)
            one._only, one._stores = files.uri, (files,)
            found.append(one)
        return found

    def brokers(self, names: Mapping[str, str] | None = None, /) -> dict[str, str]:
        """Return the name of each store's broker, by the URI of the store.

        Args:
            names: Names by path. The others are those in `broker_conf`, if there is one store; in a `broker.conf` in the store; in the
                topics that a broker makes for itself; else the name of the directory.

        Raises:
            OptionError: Two stores have the same name, or a path is not that of one store.

        Examples:
            >>> list(rmqstore.open("store").brokers({"store": "broker-a"}).values())
            ['broker-a']
        """
        from native_reader.broker.identity import broker_names, configured_identity

        return broker_names(self._stores, names or {}, configured_identity(self._broker_conf))

    def messages(self, /, **options: Any) -> Scan:
        """Select messages of the log, one row each. Nothing is read yet.

        Args:
            **options: The fields of `native_reader.options.ReadOptions`; docs/options.md describes all of them. The most used are:
                `columns` (names, in a list or separated by commas), `topic`, `queue_id`, `tags`, `keys`, `text`, `msg_id`,
                `starting_timestamp`, `ending_timestamp`, `where` (a condition in SQL) and `mode` ("DROPMALFORMED" skips damage).

        Returns:
            A scan, which reads when it is used.

        Raises:
            OptionError: An option does not exist, or its value is invalid.
            PredicateError: `where` is invalid.
            SchemaError: A column does not exist.

        Examples:
            >>> scan = store.messages(columns="queue_id,queue_offset", where="topic = 'orders' AND queue_id IN (0, 1)")
            >>> scan.head(2).to_pylist()
            [{'queue_id': 1, 'queue_offset': 0}, {'queue_id': 0, 'queue_offset': 0}]
        """
        return Scan(self._stores, _message_options(options))

    def table(self, /, name: str, **options: Any) -> Lazy:
        """Select rows of a table by its name. Nothing is read yet.

        Args:
            name: The name of the table: "messages", or one of those in docs/tables.md.
            **options: Those of `messages`. Other tables take some of them, such as `columns` and `where`, and each its own.

        Returns:
            A `Scan` for "messages", a `TableScan` for every other table.

        Raises:
            OptionError: There is no such table, or it does not support an option.
            PredicateError: `where` is invalid.
            SchemaError: A column does not exist.

        Examples:
            >>> store.table("queues", columns="topic,queue_id", where="topic = 'orders'").head(1).to_pylist()
            [{'topic': 'orders', 'queue_id': 0}]
        """
        if not isinstance(name, str) or name not in ("messages", *TABLES):
            near = meant(name, TABLE_NAMES) if isinstance(name, str) else Said("nothing")
            raise OptionError(say("no table", name=shown(name), near=near, tables=commas(TABLE_NAMES)))
        if name == "messages":
            return self.messages(**options)
        return self._table(f"table={name}", name, (*TABLE_OPTIONS, *TABLES[name].options), options)

    def topics(self, **options: Any) -> Lazy:
        """Select rows of the table `topics`: what each topic holds, and how it is configured.

        Args:
            **options: As for `table`.

        Examples:
            >>> store.topics(columns="messages", where="topic = 'orders'").to_table().to_pylist()
            [{'messages': 122}]
        """
        return self.table("topics", **options)

    def queues(self, **options: Any) -> Lazy:
        """Select rows of the table `queues`: each consume queue, with its first and next offset.

        Args:
            **options: As for `table`.

        Examples:
            >>> store.queues(columns="min_offset", where="topic = 'orders' AND queue_id = 0").to_table().to_pylist()
            [{'min_offset': 0}]
        """
        return self.table("queues", **options)

    def groups(self, **options: Any) -> Lazy:
        """Select rows of the table `consumer_offsets`: how far each consumer group has read each queue.

        Args:
            **options: As for `table`.

        Examples:
            >>> "lag" in store.groups().schema.names
            True
        """
        return self.table("consumer_offsets", **options)

    def newest(self, /, count: int, *, read: Read = read_batches, **options: Any) -> pa.Table:
        """Read the newest messages. The log is read from its end backwards, no further than needed.

        Args:
            count: How many messages of each store.
            read: A generator function that reads a scan of a part of the log, for example in parallel or with a progress bar.
            **options: As for `messages`.

        Returns:
            The last messages that match, store by store, in the order of the log.

        Raises:
            OptionError: An option does not exist, or its value is invalid.
            StoreDamaged: There are damaged bytes where it reads; `mode="DROPMALFORMED"` skips them.

        Examples:
            >>> store.newest(2, topic="orders", columns="topic").to_pylist()
            [{'topic': 'orders'}, {'topic': 'orders'}]
        """
        from native_reader.arrivals import newest

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
        """Read messages as they arrive, each once. The iteration waits for new ones and has no end.

        It begins where `starting_timestamp`, `starting_physical_offset` or `starting_offsets` say, and otherwise where the log ends at
        this moment.

        Args:
            start: "earliest" or "latest": where it begins. Options that select a start are then only conditions.
            pause: Seconds between two looks at a log without news.
            warn: Gets each warning once, for example about lost data with `fail_on_data_loss=False`. By default, warnings are logged.
            **options: As for `messages`, without those that end a read.

        Returns:
            An object to iterate for batches. Its `stop` ends the iteration; use it as a context, so that files are closed.

        Raises:
            OptionError: An option does not exist, its value is invalid, or it ends a read.
            DataLoss: During the iteration: messages expired or were rewritten before they were read.

        Examples:
            >>> with store.follow(start="earliest", topic="orders", columns="topic") as arrivals:
            ...     for batch in arrivals:
            ...         arrivals.stop()
            >>> batch.column("topic")[0].as_py()
            'orders'
        """
        from native_reader.arrivals import Arrivals

        return Arrivals(lambda: self.refresh().stores, _message_options(options), start, pause, warn)

    def sql(
        self, /, query: str, *, time_zone: str | None = None, plain: bool = False, jobs: int = 1, progress: Watch = False, **options: Any
    ) -> Query:
        """Prepare an SQL query of DuckDB over `messages` and the other tables. Nothing is read yet.

        Args:
            query: One statement: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW or SUMMARIZE.
            time_zone: The zone of times in the query, and of those in its result. Default: UTC.
            plain: Columns of types that JSON does not have, such as dates, are text.
            jobs: How many parts of a table are read in parallel.
            progress: As for `Scan.to_batches`, if the query names one table once.
            **options: As for `messages`, without `columns`. Other tables use those that they take.

        Returns:
            The query, with `to_table` and `batches`.

        Raises:
            OptionError: An argument is invalid. What is wrong in the query itself is found when it runs.

        Examples:
            >>> store.sql("SELECT topic FROM messages WHERE list_contains(keys, 'no such key')").to_table().num_rows
            0
        """
        from native_reader.querying import Query

        checked = _checked("sql", [each.name for each in options_of(MessageOptions) if each.name not in ("columns", "time_zone")], options)
        zone = MessageOptions(time_zone=time_zone).time_zone or "UTC"

        def opened(name: str, columns: tuple[str, ...]) -> Lazy:
            taken = checked if name == "messages" else {each: value for each, value in checked.items() if each in _OF_WHOLE_STORES}
            return self.table(name, columns=list(columns), **taken)

        tables = {name: tuple(columns_of(name)) for name in TABLE_NAMES}
        whole("jobs", jobs, 1, MOST_JOBS)
        return Query(query, tables, opened, zone=zone, is_plain=plain, jobs=jobs, progress=progress)

    def export_new(
        self,
        /,
        path: LocalPath,
        state: LocalPath,
        *,
        to: str = "parquet",
        partition_by: str | Sequence[str] = "day",
        compression: str | None = None,
        text_bodies: bool = False,
        jobs: int = 1,
        progress: Watch = False,
        **options: Any,
    ) -> ExportedRun | None:
        """Write the messages that came since the last run with this state. All runs together have each message once.

        If a run was stopped, also by kill -9, the next one does the same range of the log.

        Args:
            path: The folder: new or empty at the first run, then the same one.
            state: The file that says how far the runs have come. It is made if it does not exist.
            to: As for `Scan.export`.
            partition_by: As for `Scan.export`.
            compression: As for `Scan.export`.
            text_bodies: As for `Scan.export`.
            jobs: As for `Scan.export`.
            progress: As for `Scan.export`.
            **options: As for `messages`, without those that end a read. They must be the same at each run.

        Returns:
            What this run wrote; None if there is nothing new.

        Raises:
            DataLoss: Messages expired or were cut off since the last run, or another store is at the path; `fail_on_data_loss=False`
                continues with what there is.
            OptionError: An argument is invalid, or not that of the runs before; or the state was changed, or is of a store that is not
                among those of this run.
            ExportError: A file cannot be written.
            StoreError: As for `Scan.to_batches`.

        Examples:
            >>> store.export_new("each-day", "each-day.json").rows
            255
            >>> store.export_new("each-day", "each-day.json") is None
            True
        """
        from native_reader.increments import export_new

        files = {"to": to, "partition_by": partition_by, "compression": compression, "text_bodies": text_bodies}
        return export_new(lambda: self.refresh().stores, _message_options(options), path, state, files=files, jobs=jobs, progress=progress)

    def verify(self, /, *, file_reserved_time: int | None = None, **options: Any) -> Verification:
        """Check that log, queues, index, checkpoint and configuration agree. Reads the whole log, when the result is used.

        Args:
            file_reserved_time: As for `report`.
            **options: As for the table `findings`, without `columns`.

        Returns:
            A lazy table of findings, one row for each kind and place of an inconsistency; docs/verify.md has the codes. It counts them.

        Raises:
            OptionError: An option does not exist, or its value is invalid.

        Examples:
            >>> check = rmqstore.open("damaged").verify()
            >>> sorted({finding["code"] for finding in check.to_table(jobs=2).to_pylist()})
            ['log-damage', 'log-truncated-by-start']
            >>> check.is_clean
            False
        """

        from native_reader.verification import Verification

        taken = [name for name in (*TABLE_OPTIONS, *TABLES["findings"].options) if name != "columns"]
        hours = self._reserved_hours(file_reserved_time)
        stores = tuple(replace(store, reserved_hours=hours) for store in self._stores)
        return Verification(stores, TableScan(TABLES["findings"], stores, MessageOptions(**_checked("verify", taken, options))))

    def diagnose(
        self,
        /,
        *,
        file_reserved_time: int | None = None,
        for_version: str | None = None,
        progress: Watch = False,
        **options: Any,
    ) -> Diagnosis:
        """Look at a store with little reading: its parts, who wrote it and when, whether it may be started, and what is odd.

        Of the log, only that is read which a starting broker would check.

        Args:
            file_reserved_time: As for `report`.
            for_version: The version of the broker that is to be started, such as `5.3.2`. It can be later than the one that wrote the
                store, or earlier. By default, the answer is for each version that can have written it, and later ones.
            progress: As for `Scan.to_batches`. It covers the look at the queues, then that at the segments.
            **options: Those that all tables take, without `columns`, `where` and `time_zone`.

        Returns:
            Facts, findings and notes, and whether a broker may be started. What cannot be read is a finding, not an error.

        Raises:
            OptionError: An option does not exist, or there are several stores: use `one_by_one`.

        Examples:
            >>> diagnosis = store.diagnose()
            >>> diagnosis.facts["commitlog"]["segments"], diagnosis.findings
            (4, [])
            >>> rmqstore.open("incomplete").diagnose().start.outcome
            'better not'
            >>> store.diagnose(for_version="5.3.1").start.to_dict()["after"][0]["versions"]
            '5.1.3–5.3.1'
        """
        from native_reader.doctor import diagnose

        files, reading = self._one("a diagnosis"), _checked("diagnose", _OF_WHOLE_STORES, options)
        return diagnose(files, reading, self._reserved_hours(file_reserved_time), progress, for_version)

    def report(
        self,
        /,
        *,
        now: Instant | None = None,
        time_zone: str = "UTC",
        disk_free: int | str | None = None,
        file_reserved_time: int | None = None,
        verify: bool = False,
        summary: LocalPath | None = None,
        jobs: int = 1,
        progress: Watch = False,
        **options: Any,
    ) -> Facts:
        """Gather the facts about a store: what fills it, its log over time, lag, pending messages, damage. Reads the log once.

        Args:
            now: The time of the report; by default the current time.
            time_zone: The zone of days and hours.
            disk_free: The free space of the broker's disk, if this store is a copy; by default that of the disk with the store.
            file_reserved_time: The hours for which the broker keeps a segment; by default `fileReservedTime` of `broker_conf`, else 72.
            verify: Check all files against each other, too, which reads the log a second time.
            summary: The folder of a summary, which `index` wrote: the segments that it covers are not read, but for a few messages.
            jobs: How many parts are read in parallel.
            progress: As for `Scan.to_batches`.
            **options: Those that all tables take, without `columns`, `where` and `time_zone`.

        Returns:
            The facts that `rmqstore report` draws.

        Raises:
            OptionError: An option does not exist, its value is invalid, or there are several stores: use `one_by_one`.

        Examples:
            >>> facts = store.report()
            >>> facts.is_clean, facts.log.messages == store.messages().count_rows()
            (True, True)
        """
        from native_reader.broker.identity import configured_identity
        from native_reader.facts.gather import gather, settings_of

        files, reading = self._one("a report"), _checked("report", _OF_WHOLE_STORES, options)
        how = {"verify": verify, "jobs": whole("jobs", jobs, 1, MOST_JOBS), "progress": progress, "options": reading}
        how["summary"] = MessageOptions(summary=summary).values["summary"]
        of_broker = {"reserved": self._reserved_hours(file_reserved_time), "configured": configured_identity(self._broker_conf)}
        settings = settings_of(files, now, time_zone, disk_free, **of_broker, **how)
        return gather(files, settings)

    def rescue(
        self, /, path: LocalPath, *, jobs: int = 1, progress: Watch = False, max_read_rate: int | str | None = None,
        language: str = ENGLISH, html: Callable[[Document], Iterable[str]] | None = None,
    ) -> Rescued:  # fmt: skip
        """Write all readable messages of a store, and a page about what was saved and lost, to a folder.

        If it is stopped, start it again: it continues.

        Args:
            path: The folder: new, empty, or that of the rescue to continue.
            jobs: How many tasks run in parallel.
            progress: As for `Scan.to_batches`. It covers the export, then the check.
            max_read_rate: The maximum number of bytes per second, such as "50m", so that a failing disk or a busy broker is spared.
            language: Of the page: `en` or `zh`.
            html: Writes the lines of a second page, `rescue.html`. Without it, there is only `rescue.md`.

        Returns:
            What was saved and what was lost. Damage and losses are no errors.

        Raises:
            OptionError: An argument is invalid, there are several stores, or the folder holds something else.
            ExportError: A file cannot be written.

        Examples:
            >>> rescued = rmqstore.open("damaged").rescue("rescued")
            >>> rescued.is_whole, rescued.exported.rows
            (False, 246)
        """
        from native_reader.rescue.rescue import rescue

        return rescue(
            self._one("a rescue"),
            path,
            jobs=jobs,
            progress=progress,
            max_read_rate=max_read_rate,
            reserved_hours=self._reserved_hours(),
            language=one_of_words("language", language, LANGUAGES),
            html=html,
        )

    def lost(
        self,
        /,
        path: LocalPath,
        *,
        keys: Iterable[str] | None = None,
        owners: Mapping[str, str] | None = None,
        jobs: int = 1,
        progress: Watch = False,
        max_read_rate: int | str | None = None,
        tiered: bool = False,
        tiered_store_file_path: LocalPath | None = None,
        language: str = ENGLISH,
    ) -> Lost:
        """Write what the owners of topics must know of messages that consumers cannot get, to a folder.

        For each topic: its messages as CSV and JSON lines, and a text to send in two languages. docs/verify.md describes the files.
        The log is read once for the account, and once more for tags and keys.

        Args:
            path: The folder: new or empty.
            keys: Also answer which of these keys or unique ids are in whole, doubtful or lost messages.
            owners: The team of each pattern of topics, such as `{"orders*": "sales"}`; the first that fits. Each team has a folder.
            jobs: How many parts are read in parallel.
            progress: As for `Scan.to_batches`. It covers the account, then the search for tags and keys.
            max_read_rate: As for `rescue`.
            tiered: Also read tiered storage on a disk: what it has is not lost.
            tiered_store_file_path: Its folder, as for `messages`.
            language: `zh` also writes lists with Chinese heads, for people. Each text to send is there in both languages.

        Returns:
            What was found. Losses are no errors.

        Raises:
            OptionError: An argument is invalid, there are several stores, or the folder is not empty.
            ExportError: A file cannot be written.

        Examples:
            >>> lost = rmqstore.open("damaged").lost("lost_by_team", keys=["k1"], owners={"orders*": "sales"})
            >>> lost.topics[0].team, lost.topics[0].counts
            ('sales', {'lost': 4})
        """
        from native_reader.lost.lost import Asked, write_lost

        asked = Asked(None if keys is None else texts("keys", keys), _checked_owners(owners or {}))
        files, many = self._one("a list of losses"), whole("jobs", jobs, 1, MOST_JOBS)
        tier = {"tiered": True, "tiered_store_file_path": tiered_store_file_path} if tiered else {}
        asked_in = one_of_words("language", language, LANGUAGES)
        running: dict[str, Any] = {"jobs": many, "progress": progress, "max_read_rate": max_read_rate}
        return write_lost(files, path, asked, tier=tier, language=asked_in, **running)

    def repair(
        self,
        /,
        path: LocalPath,
        *,
        dry_run: bool = False,
        others: Iterable[Store | LocalPath] = (),
        crc: str = "drop",
        keep_doubtful: bool = False,
        single: bool = False,
        link: bool = False,
        plain: bool = False,
        tier: str | None = None,
        jobs: int = 1,
        progress: Watch = False,
        max_read_rate: int | str | None = None,
        when_planned: Callable[[Repaired], object] | None = None,
        language: str = ENGLISH,
    ) -> Repaired:
        """Write a new store on which a broker runs, with every message that survived. The damaged store is only read.

        Messages keep their places, queue offsets and ids. In the place of a lost one is a placeholder, which consumers do not see.
        Before it ends, the new store is checked, and its messages are compared with those of the damaged one. A repair that was
        interrupted is continued by the same call.

        Args:
            path: The new store: a folder that is new or empty.
            dry_run: Only read the store and make the plan.
            others: Stores that may have what this one lacks: a slave, a backup, an old master. Where their log is the same one, their
                bytes take the place of lost ones. With `plain`, other peers of the group.
            crc: What becomes of a message whose body has a wrong checksum: "drop", or "fix" to keep it with its changed body.
            keep_doubtful: Keep messages whose tags or keys are lost, or differ in their queue or the index.
            single: Also repair the store of a broker with a controller. The new one is for a master without a controller and slaves.
            link: Make hard links to segments and queue files that nothing changes, apart from the last ones, to which a broker writes.
                The new store shares them with the damaged one: what changes such a file of one store changes it in both.
            plain: Of the store of a DLedger peer, make a plain one. Messages keep their queue offsets, keys and unique ids, and groups
                their offsets. Their places in the log change, and so do the ids that brokers make of these (offsetMsgId).
            tier: What becomes of tiered storage: "keep" copies its files as they are; "log" puts its messages that the log lacks into the
                new log; "leave" leaves it where it is. By default, a tier inside the store is kept, and one elsewhere is left. In any case,
                lost messages that it has take their places in the log again.
            jobs: How many parts are read in parallel.
            progress: As for `Scan.to_batches`. It covers the plan, then the checks.
            max_read_rate: As for `rescue`, while messages are read. Whole segments are copied at full speed.
            when_planned: A function that is called before the new store is written, with what a dry run returns. An error of it ends the
                repair.
            language: Of the page: `en` or `zh`.

        Returns:
            What survived, what was lost and what was made. Lost messages are no errors.

        Raises:
            OptionError: An argument is invalid, or there are several stores.
            RepairError: The store is in use, of a kind that is not repaired, or the folder is not empty.
            ExportError: A file cannot be written.

        Examples:
            >>> plan = rmqstore.open("damaged").repair("new", dry_run=True).plan
            >>> plan.messages, plan.lost_messages
            (246, 9)
        """
        from native_reader.repair.records import CRCS, TIERS, Choices, ReadSettings
        from native_reader.repair.repair import repair

        choices = Choices(one_of_words("crc", crc, CRCS), flag("keep_doubtful", keep_doubtful), flag("single", single), flag("link", link))
        choices = choices._replace(plain=flag("plain", plain), tier="" if tier is None else one_of_words("tier", tier, TIERS))
        settings = ReadSettings(whole("jobs", jobs, 1, MOST_JOBS), progress, max_read_rate, self._sizes(), choices, self._reserved_hours())
        each = [other if isinstance(other, Store) else open(other) for other in others]
        settings = settings._replace(others=tuple(other._one("a source of what is lost") for other in each))
        asked = one_of_words("language", language, LANGUAGES)
        return repair(self._one("a repair"), path, settings, dry_run=dry_run, when_planned=when_planned, language=asked)

    def repair_refusal(self, language: str = ENGLISH, found: Diagnosis | None = None) -> str | None:
        """Say why `repair` would refuse this store, as far as it shows without its log; None if nothing does.

        Args:
            language: `en` or `zh`.
            found: What `diagnose` found in it. Its queues are not listed again.

        Examples:
            >>> rmqstore.open("damaged").repair_refusal() is None
            True
        """
        from native_reader.repair.refused import why_refused

        samples = None if found is None else found.samples
        queues = None if samples is None else [sample.queue for sample in samples]
        return why_refused(self._one("a repair"), self._sizes(), language, queues)

    def extract(
        self,
        /,
        path: LocalPath,
        topic: str | Sequence[str],
        *,
        tier: str | None = None,
        dry_run: bool = False,
        jobs: int = 1,
        progress: Watch = False,
        max_read_rate: int | str | None = None,
        when_planned: Callable[[Repaired], object] | None = None,
        language: str = ENGLISH,
    ) -> Repaired:
        """Write a new store with the messages of some topics, for a broker elsewhere. This one is only read.

        Messages keep their queue offsets, tags, keys and unique ids, and groups their offsets. Their places in the log change, and so
        do the ids that brokers make of these (offsetMsgId). Lost messages are treated as by `repair`.

        Args:
            path: The new store: a folder that is new or empty.
            topic: One or several topics of users; not those of the broker itself.
            tier: As for `repair`: "log" or "leave". By default, the messages of these topics in a tier on a disk go into the new log.
            dry_run: Only read the store and make the plan.
            jobs: How many parts are read in parallel.
            progress: As for `Scan.to_batches`. It covers the plan, then the checks.
            max_read_rate: As for `rescue`, while messages are read.
            when_planned: As for `repair`.
            language: As for `repair`.

        Returns:
            What was copied, and what was lost before.

        Raises:
            OptionError: An argument is invalid, or there are several stores.
            RepairError: As for `repair`; or the store lacks a topic.
            ExportError: A file cannot be written.

        Examples:
            >>> rmqstore.open("damaged").extract("only_orders", "orders", dry_run=True).plan.messages
            118
        """
        from native_reader.repair.records import TIERS, Choices, ReadSettings
        from native_reader.repair.repair import repair

        choices = Choices(
            topics=tuple(dict.fromkeys(texts("topic", topic))), tier="" if tier is None else one_of_words("tier", tier, TIERS)
        )
        settings = ReadSettings(whole("jobs", jobs, 1, MOST_JOBS), progress, max_read_rate, self._sizes(), choices, self._reserved_hours())
        asked = one_of_words("language", language, LANGUAGES)
        return repair(self._one("an extract"), path, settings, dry_run=dry_run, when_planned=when_planned, language=asked)

    def summarize(self, /, path: LocalPath, *, progress: Watch = False, max_read_rate: int | str | None = None) -> Summarized:
        """Write a summary of all full segments to a folder outside the store, for those who ask more than once: `messages(summary=path)`.

        Segments that have a part are not read again. docs/summary.md says what is in it.

        Args:
            path: The folder: new, empty, or that of an earlier summary.
            progress: As for `Scan.to_batches`.
            max_read_rate: As for `rescue`.

        Returns:
            Which segments were read, and which were not.

        Raises:
            OptionError: An argument is invalid, the folder is inside the store, or there are several stores.
            ExportError: A file cannot be written.

        Examples:
            >>> store.summarize("summary").written
            ['00000000000000000000', '00000000000000032768', '00000000000000065536']
            >>> store.messages(topic="orders", summary="summary").count_rows()
            122
        """
        from native_reader.summarizing import summarize

        rate = None if max_read_rate is None else size("max_read_rate", max_read_rate, 1 << 20)
        return summarize(self._one("a summary"), path, progress, rate)

    def _sizes(self) -> FileSizes | None:
        """What the broker's configuration says about the sizes of its files, if it is given."""
        return None if self._broker_conf is None else file_sizes(uri_of(self._broker_conf))

    def _reserved_hours(self, given: int | None = None) -> int:
        """For how many hours the broker keeps a segment: as given, as its configuration says, or its default."""
        from native_reader.start.answer import reserved_of

        return reserved_of(given, self._broker_conf)

    def _one(self, what: str) -> StoreFiles:
        """The only store."""
        if len(self._stores) != 1:
            paths = names_of([store.uri for store in self._stores], _MOST_NAMES) or "none"
            raise OptionError(say("one store only", what=what, stores=len(self._stores), paths=paths))
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


def _checked_owners(owners: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(owners, Mapping) or not all(isinstance(each, str) and each for pair in owners.items() for each in pair):
        raise OptionError(say("owners wrong", owners=shown(owners)))
    return dict(owners)


def _message_options(options: Mapping[str, Any]) -> ReadOptions:
    known = [each.name for each in options_of(ReadOptions)]
    for name in options:
        if name not in known:
            raise OptionError(say("unknown option", name=name, near=meant(name, known), known=commas(known)))
    return ReadOptions(**options)


def _checked(what: str, taken: Sequence[str], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """These options, if they are among those that are taken."""
    for option in options:
        if option not in taken:
            near = meant(option, taken)
            raise OptionError(say("option not taken", what=what, option=option, near=near, taken=commas(taken)))
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
    """Open a store, or several at once. Lists their files, and reads nothing of the log yet.

    Args:
        path: The directory of a store, its commitlog directory, one segment, a directory of stores, a `.tar` of them, a glob, a URI
            such as `s3://bucket/store`, or a list of these.
        store_path_commit_log: The directories of the log, if they are not below `path`; separated by commas.
        store_path_consume_queue: The directory of the consume queues, if it is not below `path`.
        store_path_index: The directory of the index files, if it is not below `path`.
        broker_conf: The broker's own configuration file, which contains these paths. If `path` is a copy, the parts below it count.
        fs: For `s3://bucket/store`, the arguments of pyarrow's S3FileSystem by name. Or a file system of pyarrow or fsspec, for any URI.

    Returns:
        The stores that were found, with their files as of now. A store is only read: nothing in it is created, changed or locked.

    Raises:
        PathError: There is no store at a path.
        OptionError: An argument is invalid, or no path is given.
        UnreadableError: A directory cannot be listed.

    Examples:
        >>> import rmqstore
        >>> store = rmqstore.open("store")
        >>> store.messages(topic="orders", columns="queue_id,queue_offset,tags").head(1).to_pylist()
        [{'queue_id': 2, 'queue_offset': 0, 'tags': 'shipped'}]
        >>> rmqstore.open("stor")
        Traceback (most recent call last):
        native_reader.errors.PathError: ...
    """
    paths = [] if path is None else texts_of(path)
    config = _checked_path("broker_conf", broker_conf)
    if fs is not None:
        use(_all_paths(paths, (store_path_commit_log, store_path_consume_queue, store_path_index, config)), fs)
    given = StorePaths(
        commit_log=paths_of(_checked_path("store_path_commit_log", store_path_commit_log) or ""),
        consume_queue=_checked_path("store_path_consume_queue", store_path_consume_queue),
        index=_checked_path("store_path_index", store_path_index),
    )
    parts = given
    if config:
        found = paths_that_count(config, paths, given, parse_broker_conf(uri_of(config), is_elsewhere=bool(paths)))
        queues, index = given.consume_queue or found.consume_queue, given.index or found.index
        parts = StorePaths(found.root, given.commit_log or found.commit_log, found.dledger, queues, index)
    if not paths and parts == StorePaths():
        raise OptionError(Said("no path"))
    return Store(paths, parts, config)


def diff(a: Store | LocalPath, b: Store | LocalPath, /, *, heads: bool = False, **options: Any) -> Diff:
    """Compare two stores: which messages has only one of them? Nothing is read yet.

    A master and its slave, or a store and its copy, have the same records at the same offsets, so these are compared: topic, queue,
    offsets, time, size, tags, unique key and the body, by its checksum. After the point where two logs part, as after a failover, and in
    logs that share no record, messages are compared by unique key. Damaged bytes are skipped, so what they held is missing.

    Args:
        a: A store, or what `open` takes.
        b: The other one.
        heads: Compare only the heads of records, with the checksums that they have: bodies are not read, which is faster.
        **options: Those of `messages` that select rows and say how they are read; without `columns` and `mode`.

    Returns:
        A lazy table with a row for each message that the other store lacks.

    Raises:
        OptionError: An option does not exist, its value is invalid, or there are several stores at a path.
        PathError: There is no store at a path.

    Examples:
        >>> found = rmqstore.diff("store", "damaged")
        >>> found.to_table().group_by("topic").aggregate([("topic", "count")]).sort_by("topic").to_pylist()[0]
        {'topic': 'orders', 'topic_count': 4}
        >>> rmqstore.diff("store", "store").to_table().num_rows
        0
    """
    from native_reader.compare import Diff

    taken = [each.name for each in options_of(MessageOptions) if each.name not in _OF_DIFF_ITSELF]
    checked = _checked("a comparison", taken, options)
    return Diff([(each if isinstance(each, Store) else open(each))._one("a comparison") for each in (a, b)], checked, heads)


def peers(*stores: Store | LocalPath, jobs: int = 1, progress: Watch = False) -> Peers:
    """Compare the stores of DLedger peers: what each has, where they part, and which to take. The logs are read at once.

    Args:
        stores: The store of each peer, or what `open` takes.
        jobs: How many parts of a log are read in parallel.
        progress: As for `Scan.to_batches`; it begins again with each log.

    Returns:
        What was found, with `rows`, `lines`, `chosen` and `is_clean`.

    Raises:
        OptionError: A store is not one of a DLedger peer, or there are fewer than two.
        PathError: There is no store at a path.

    Examples:
        >>> from pathlib import Path
        >>> from native_reader.testing import CommitLog, Message
        >>> for name, count in (("n0", 5), ("n1", 8)):
        ...     log, data = CommitLog(4096, framing="dledger"), Path(name, "dledger-n0", "data")
        ...     data.mkdir(parents=True)
        ...     placed = [log.append(Message(topic="orders", body=b"paid", queue_offset=number)) for number in range(count)]
        ...     written = [data.joinpath(file).write_bytes(content) for file, content in log.files().items()]
        >>> found = rmqstore.peers("n0", "n1")
        >>> found.chosen.name, found.is_clean
        ('b', False)
    """
    from native_reader.compare.peers import peers_of

    if len(stores) < _LEAST_PEERS:
        raise OptionError(Said("two peers"))
    each = [(store if isinstance(store, Store) else open(store))._one("a comparison") for store in stores]
    return peers_of(each, jobs=whole("jobs", jobs, 1, MOST_JOBS), progress=progress)


_LEAST_PEERS = 2
_OF_DIFF_ITSELF = ("columns", "mode", "column_name_of_corrupt_record", "fail_on_data_loss", "tail")


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
