"""The page of a rescue: what was saved and what was lost, by topic and queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from typing import Any

from native_reader.account.account import Account, merged
from native_reader.account.states import AT_LEAST
from native_reader.account.states import LOST as LOST_STATE
from native_reader.doctor import STATE, Diagnosis
from native_reader.export.account import Exported
from native_reader.layout.kinds import kind_of_topic
from native_reader.markdown import Block, Code, Document, Items, Result, Results, Section, Table, columns, paragraph, result
from native_reader.plan.lost import LOST, MISSING, Missing
from native_reader.records.damages import CHECKSUM, UNREADABLE, Damage
from native_reader.rescue.confirm import Seen, of_rescue
from native_reader.rescue.saved import Around, SavedQueue
from native_reader.sentences import Said, joined, say, verbatim
from native_reader.start import NO, Start, question, said_of
from native_reader.storage.store import StoreFiles
from native_reader.text import size_of
from native_reader.verify.findings import FirstFindings

Run = tuple[int, int]
"""Offsets `[start, stop)` of one queue."""
MOST = 200
"""Rows of one table of the page; the files beside it have all."""
_MOST_GAPS = 5
_WHOLE_DAMAGE = (MISSING, LOST)


@dataclass(frozen=True, slots=True)
class RescueFacts:
    """All that the page shows."""

    files: StoreFiles
    folder: str
    diagnosis: Diagnosis
    exported: Exported
    doubtful: Exported | None
    """The messages with a wrong checksum, if there are any."""
    tiered: Exported | None
    """Those that only the tier has, if it is on a disk."""
    queues: Sequence[SavedQueue]
    account: Account | None
    """In which state the messages are; None if the check did not reach its end."""
    checked: FirstFindings
    losses: Sequence[Mapping[str, Any]]
    """The rows of the table `damage` that the page shows, each with what it says in `said`."""
    around: Around
    warnings: Sequence[Said]
    start: Start | None
    """Whether a broker may be started; None if the log could not be examined."""
    end: datetime

    @property
    def is_in_use(self) -> bool:
        """Whether a broker on this host has the store open."""
        return bool(self.diagnosis.facts[STATE]["in_use"])

    @property
    def missing(self) -> int:
        """How many messages are known to be lost."""
        return 0 if self.account is None else self.account.lost

    @property
    def should_not_start(self) -> bool:
        """Whether a broker refuses the store, or a start would lose messages that are not merely old."""
        return self.start is not None and (self.start.outcome == NO or self.start.loses)


def page_of(found: RescueFacts) -> Document:
    """What the page says."""
    stores = [verbatim(uri) for uri, _ in found.exported.ends]
    sections = {
        "store": _store(found.diagnosis),
        "topics": _topics(found),
        "queues": _queues(found),
        "damage": _damage(found),
        "bytes": _bytes(found.exported),
        "check": _checked(found.checked),
        "warnings": [Items(found.warnings)] if found.warnings else paragraph("nothing here"),
        "files": _files(found),
        "next": _next(found),
        "confirm": of_rescue(found.files, found.folder, _lost_one(found.account)),
    }
    return Document(
        say("rescue of", stores=joined("commas", stores) if stores else say("empty store")),
        [*paragraph("finished", time=f"{found.end.astimezone(UTC):%Y-%m-%d %H:%M:%S}"), Results(list(_results(found)))],
        [Section(Said(f"title {name}"), blocks) for name, blocks in sections.items()],
    )


def _results(found: RescueFacts) -> Iterator[Result]:
    exported = found.exported
    topics = len({queue.topic for queue in found.queues if queue.messages})
    yield result("saved", say("saved", messages=exported.rows, topics=topics, files=len(exported.files)))
    unread = [each for each in exported.report.damage if each.reason == UNREADABLE]
    damage = [each for each in exported.report.damage if each.reason != UNREADABLE]
    size, failed = sum(each.end - each.start for each in damage), sum(each.reason == CHECKSUM for each in damage)
    if failed:
        yield result("damaged", say("damaged checksums", ranges=len(damage), bytes=size, failed=failed))
    elif damage:
        yield result("damaged", say("damaged", ranges=len(damage), bytes=size))
    if found.doubtful is not None:
        yield result("doubtful", say("page doubtful", messages=found.doubtful.rows))
    if found.tiered is not None:
        yield result("tiered", say("page tiered", messages=found.tiered.rows))
        if found.tiered.is_damaged:
            yield result("damaged", say("tier damaged"))
    if unread:
        yield result("unread", say("unread ranges", ranges=len(unread), bytes=sum(each.end - each.start for each in unread)))
    for reason, kind in ((MISSING, "missing ranges"), (LOST, "lost ranges")):
        ranges = [gap for gap in exported.missing if gap.reason == reason]
        if ranges:
            yield result("missing", say(kind, ranges=len(ranges), bytes=sum(each.stop - each.start for each in ranges)))
    yield result("account", Said("not accounted") if found.account is None else say("end", what=found.account.said))
    if found.start is not None:
        answer = joined("start and", list(said_of(found.start)))
        yield Result(question(), answer, found.should_not_start)
    if found.account is not None and found.account.is_whole and not found.exported.is_damaged:
        yield result("lost", Said("nothing lost"))


def _store(diagnosis: Diagnosis) -> list[Block]:
    """What `rmqstore doctor` prints."""
    return [Items([say("labelled", label=label, what=what) for label, what in diagnosis.said(_time)])]


def _time(moment: datetime) -> str:
    return f"{moment.replace(tzinfo=None).isoformat(sep=' ', timespec='seconds')} UTC"


def _topics(found: RescueFacts) -> list[Block]:
    rows, lost = [], _by_topic(found.account)
    for topic, group in groupby(found.queues, key=lambda queue: queue.topic):
        own = list(group)
        times = [queue.first_time for queue in own if queue.first_time], [queue.last_time for queue in own if queue.last_time]
        span = [f"{min(times[0]):%Y-%m-%d %H:%M:%S}" if times[0] else None, f"{max(times[1]):%Y-%m-%d %H:%M:%S}" if times[1] else None]
        rows.append((topic, len(own), sum(queue.messages for queue in own), *span, lost.pop(topic, 0)))
    rows += [(topic, 0, 0, None, None, count) for topic, count in lost.items()]
    rows.sort(key=lambda row: -row[2])
    titles = columns("topic", "queues", "saved", "first", "last", "missing")
    return [Table(titles, rows[:MOST]), *_more(len(rows), "topics", "queues.jsonl")] if rows else paragraph("no message")


def _by_topic(account: Account | None) -> dict[str, int]:
    """How many messages of each topic are known to be lost."""
    lost: dict[str, int] = {}
    for row in [] if account is None else account.faults.to_pylist():
        if row["topic"] is not None and row["state"] in (LOST_STATE, AT_LEAST):
            lost[row["topic"]] = lost.get(row["topic"], 0) + row["messages"]
    return lost


def _queues(found: RescueFacts) -> list[Block]:
    if found.account is None:
        return paragraph("not accounted")
    first = paragraph("missing while in use") if found.is_in_use else ()
    return [*first, *faults_of(found.account, "account.jsonl")]


def faults_of(account: Account, name: str) -> list[Block]:
    """The messages that are not where a broker left them, by queue and state. `name`: of the file that has all."""
    groups: dict[tuple[str, int, str, str], list[Mapping[str, Any]]] = {}
    for row in account.faults.to_pylist():
        groups.setdefault((row["topic"] or "", -1 if row["queue_id"] is None else row["queue_id"], row["state"], row["why"]), []).append(
            row
        )
    if not groups:
        return paragraph("all served")
    rows = []
    for (topic, queue_id, state, reason), own in sorted(groups.items(), key=lambda item: (item[0][0] == "", item[0]))[:MOST]:
        runs = [(row["first_queue_offset"], row["last_queue_offset"] + 1) for row in own if row["first_queue_offset"] is not None]
        which = ranges_in(merged(runs)) if runs else None
        count = sum(row["messages"] for row in own) or None
        rows.append((topic or None, queue_id if topic else None, Said(f"state {state}"), count, which, Said(f"because {reason}")))
    return [
        *paragraph("missing means"),
        Table(columns("topic", "queue", "state", "lacking", "which", "why"), rows),
        *_more(len(groups), "queues", name),
    ]


def ranges_in(ranges: Sequence[Run]) -> Said:
    """Ranges of offsets: 7, 10 to 12."""
    shown = [
        say("one offset", first=start) if stop == start + 1 else say("offsets to", first=start, last=stop - 1)
        for start, stop in ranges[:_MOST_GAPS]
    ]
    first = joined("commas", shown)
    return say("more ranges", first=first, count=len(ranges) - _MOST_GAPS) if len(ranges) > _MOST_GAPS else first


def shown_losses(exported: Exported) -> list[dict[str, Any]]:
    """The rows of the table `damage` that the page shows, by offset; with what each says, for other languages."""
    # Missing ranges come last there, and are few: they must not be cut off.
    ranges = [row for row in _losses(exported) if row["reason"] in _WHOLE_DAMAGE]
    ranges += islice((row for row in _losses(exported) if row["reason"] not in _WHOLE_DAMAGE), max(0, MOST - len(ranges)))
    return sorted(ranges, key=lambda row: row["start_offset"])


def _losses(exported: Exported) -> Iterator[dict[str, Any]]:
    losses: Iterator[Damage | Missing] = chain(exported.report.damage, exported.missing)
    for row, loss in zip(exported.damage_rows(), losses, strict=True):
        yield row | {"said": loss.said}


def _damage(found: RescueFacts) -> list[Block]:
    if not found.losses:
        return paragraph("nothing here")
    rows = []
    for row, times in zip(found.losses, found.around.times, strict=True):
        file = Said("no file of log") if row["segment"] is None else row["segment"].rpartition("/")[2]
        what = None if row["found"] == row["reason"] else row["said"]
        moments = (None if time is None else f"{time:%Y-%m-%d %H:%M:%S.%f}"[:-3] for time in times)
        rows.append((file, *(row[name] for name in ("start_offset", "end_offset", "bytes", "reason")), *moments, what))
    count = len(found.exported.report.damage) + len(found.exported.missing)
    return [
        *paragraph("times mean"),
        Table(columns("file", "from", "to", "bytes", "reason", "before", "after", "found"), rows),
        *_more(count, "losses", "messages/_damage.jsonl"),
    ]


def _bytes(exported: Exported) -> list[Block]:
    sizes = exported.to_dict()["log"]
    names = {
        "records": "record_bytes",
        "blanks": "blank_bytes",
        "damage": "damage_bytes",
        "unwritten": "unwritten_bytes",
        "stale": "stale_bytes",
        "unread": "unread_bytes",
    }
    rows = [(Said(f"bytes of {part}"), sizes[name], size_of(sizes[name])) for part, name in names.items() if sizes[name]]
    rows.append((Said("bytes of together"), sizes["size"], size_of(sizes["size"])))
    return [Table(columns("part", "bytes", "size"), rows)]


def _checked(checked: FirstFindings) -> list[Block]:
    stopped = [] if checked.error is None else paragraph("check stopped", reason=checked.error)
    if not checked.counts:
        return stopped or paragraph("check clean")
    titles = columns("severity", "code", "count", "topic", "queue", "offset", "first found", "advice")
    rows = [
        (
            Said(f"severity {row['severity']}"),
            *(row[name] for name in ("code", "count", "topic", "queue_id", "offset")),
            say(f"found {row['code']}", message=Said.from_json(row["details"])),
            Said(f"advice {row['code']}"),
        )
        for row in checked.rows
    ]
    return [*stopped, Table(titles, rows), *_more(checked.counts.total(), "findings", "findings.jsonl")]


def _files(found: RescueFacts) -> list[Block]:
    exported, names = found.exported, ["damage", "summary", "parts", "queues", "account", "findings"]
    if found.doubtful is not None:
        names.insert(0, "doubtful")
    if found.tiered is not None:
        names.insert(0, "tiered")
    if found.account is not None and not found.account.is_whole:
        names.append("lost")
    messages = say("file messages", files=len(exported.files), size=size_of(exported.bytes))
    return [Items([messages, *(Said(f"file {name}") for name in names)])]


_READ = (
    'pyarrow.parquet.read_table("messages")  # import pyarrow.parquet',
    "duckdb.sql(\"FROM read_parquet('messages/*.parquet')\")  # pip install duckdb; import duckdb",
    'spark.read.parquet("messages")  # any Spark',
)
"""The folder is named as in the list of files, because it may be moved."""


def _next(found: RescueFacts) -> list[Block]:
    blocks = [*paragraph("how to read"), Code("python", _READ), *paragraph("how to send")]
    if not found.exported.files:
        blocks = paragraph("look elsewhere")
    elif found.exported.is_damaged or found.missing:
        blocks += paragraph("look for lost")
    return [*blocks, *_serving(found)] if found.should_not_start else blocks


def _serving(found: RescueFacts) -> list[Block]:
    """How to get a broker again that serves its topics."""
    steps = [Said("step rename"), Said("step start"), Said("step leave out")]
    if found.start is not None and found.start.deleted:
        steps.append(say("step copy", kept=found.exported.rows - found.start.deleted))
    return [*paragraph("how to serve"), Items(steps, is_numbered=True)]


def _lost_one(account: Account | None) -> Seen | None:
    """The place of a lost message."""
    rows = [] if account is None else account.faults.to_pylist()
    lost = (row for row in rows if row["state"] == LOST_STATE and row["first_queue_offset"] is not None)
    places = (Seen(row["topic"], row["queue_id"], row["first_queue_offset"]) for row in lost)
    return next((each for each in places if kind_of_topic(each.topic) is None), None)


def _more(count: int, what: str, name: str) -> list[Block]:
    return paragraph(f"more {what}", count=count - MOST, name=name) if count > MOST else []
