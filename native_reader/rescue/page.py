"""The page of a rescue: what was saved and what was lost, by topic and queue, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from native_reader.doctor import OLDER, STATE, Diagnosis
from native_reader.doctor import QUEUES as DOCTOR_QUEUES
from native_reader.errors import spelled
from native_reader.export.account import Exported
from native_reader.plan.lost import LOST, MISSING
from native_reader.records.damages import CHECKSUM
from native_reader.rescue.saved import Around, Run, SavedQueue
from native_reader.text import counted, size_of
from native_reader.verify.codes import NOTE, SEVERITIES, TRUNCATED

_MOST = 200
"""Rows of one table of the page; the files beside it have all."""
_MOST_GAPS = 5
_WHOLE_DAMAGE = (MISSING, LOST)
_LOST = "after the end of the log, to which consume queues or index files still point"


@dataclass(slots=True)
class Checked:
    """What the check of the store found: the number of findings, of those that are more than notes, and the first ones, worst first."""

    count: int = 0
    problems: int = 0
    error: str | None = None
    """Why the check did not reach its end."""
    truncated_at: int | None = None
    """Where a starting broker would truncate the log; None if it would not, or if that is unknown."""
    _first: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {severity: [] for severity in SEVERITIES})

    def add(self, row: dict[str, Any]) -> None:
        """Add a row of the table `findings`. A broken store can have a million, so only those that the page shows are kept."""
        self.count += 1
        self.problems += row["severity"] != NOTE
        if row["code"] == TRUNCATED and (self.truncated_at is None or row["offset"] < self.truncated_at):
            self.truncated_at = row["offset"]
        kept = self._first[row["severity"]]
        if len(kept) < _MOST:
            kept.append(row)

    def stop(self, error: str) -> None:
        """Note that the check could not go on."""
        self.error = error
        self.problems += 1

    def first(self) -> list[dict[str, Any]]:
        """Those that the page shows."""
        return [row for rows in self._first.values() for row in rows][:_MOST]


@dataclass(frozen=True, slots=True)
class RescueFacts:
    """All that the page shows."""

    diagnosis: Diagnosis
    exported: Exported
    queues: Sequence[SavedQueue]
    knows_gaps: bool
    checked: Checked
    losses: Sequence[Mapping[str, Any]]
    """The rows of the table `damage` that the page shows."""
    around: Around
    warnings: Sequence[str]
    end: datetime

    @property
    def is_in_use(self) -> bool:
        """Whether a broker on this host has the store open."""
        return bool(self.diagnosis.facts[STATE]["in_use"])

    @property
    def older(self) -> Mapping[str, int]:
        """By topic: how many records queues name from before the log."""
        older: Mapping[str, int] = self.diagnosis.facts.get(DOCTOR_QUEUES, {}).get(OLDER, {})
        return older

    @property
    def missing(self) -> int:
        """The number of missing messages that queue offsets show."""
        return sum(queue.missing for queue in self.queues) if self.knows_gaps else 0

    @property
    def start(self) -> str | None:
        """What a starting broker would do to the log; None if nothing, or if that is unknown."""
        if (offset := self.checked.truncated_at) is None:
            return None
        return f"it would truncate the log at {offset:,} and keep {counted(self.around.kept, 'message')}"


def lines_of(found: RescueFacts) -> Iterator[str]:
    """The lines of the page."""
    stores = ", ".join(text(uri) for uri, _ in found.exported.ends) or "an empty store"
    yield f"# Rescue of {stores}"
    yield ""
    yield f"Finished {found.end.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z. The store was only read, not changed."
    yield ""
    yield from _result(found)
    for title, lines in (
        ("The store", _store(found.diagnosis)),
        ("Saved, by topic", _topics(found.queues)),
        ("Missing, by queue", _queues(found)),
        ("Lost parts of the log", _damage(found)),
        ("The log, byte by byte", _bytes(found.exported)),
        ("What the check of the store found", _checked(found.checked)),
        ("Warnings", [f"- {text(warning, LONGEST_SENTENCE)}" for warning in found.warnings] or ["None."]),
        ("The files", _files(found.exported)),
        ("What to do next", _next(found)),
    ):
        yield from ("", f"## {title}", "", *lines)


def _result(found: RescueFacts) -> Iterator[str]:
    exported = found.exported
    topics = len({queue.topic for queue in found.queues if queue.messages})
    yield f"- **Saved:** {counted(exported.rows, 'message')} of {counted(topics, 'topic')}, in {counted(len(exported.files), 'file')}."
    damage, failed = exported.report.damage, sum(damage.reason == CHECKSUM for damage in exported.report.damage)
    size = sum(each.end - each.start for each in damage)
    if len(damage):
        wrong = f", of which {counted(failed, 'whole record')} with a wrong checksum" if failed else ""
        yield f"- **Damaged:** {counted(len(damage), 'range')} of the log with {size:,} bytes{wrong}."
    for reason, words in ((MISSING, "that no file contains"), (LOST, _LOST)):
        ranges = [gap for gap in exported.missing if gap.reason == reason]
        if ranges:
            yield f"- **Missing:** {counted(len(ranges), 'range')} {words}: {sum(each.stop - each.start for each in ranges):,} bytes."
    if found.missing:
        queues = sum(queue.missing > 0 for queue in found.queues)
        yield f"- **Missing messages:** {counted(found.missing, 'offset')} of {counted(queues, 'queue')} without a saved message."
    if found.start is not None:
        yield f"- **Start no broker on this store yet:** {found.start}."
    if found.older:
        older = f"{counted(sum(found.older.values()), 'record')} of {counted(len(found.older), 'topic')}"
        yield f"- **Older than the log:** {older} that queues still name. They expired or were removed; the files do not show which."
    if not (exported.is_damaged or found.missing):
        yield f"- **Lost:** nothing {'else ' if found.older else ''}was found to be lost."


def _store(diagnosis: Diagnosis) -> list[str]:
    """What `rmqstore doctor` prints."""
    return [f"- {label}: {text(spelled(words, str), LONGEST_SENTENCE)}" for label, words in diagnosis.lines(_time)]


def _time(moment: datetime) -> str:
    return f"{moment.replace(tzinfo=None).isoformat(sep=' ', timespec='seconds')}Z"


def _topics(queues: Sequence[SavedQueue]) -> list[str]:
    rows = []
    for topic, group in groupby(queues, key=lambda queue: queue.topic):
        own = list(group)
        times = [queue.first_time for queue in own if queue.first_time], [queue.last_time for queue in own if queue.last_time]
        span = [f"{min(times[0]):%Y-%m-%d %H:%M:%S}" if times[0] else None, f"{max(times[1]):%Y-%m-%d %H:%M:%S}" if times[1] else None]
        rows.append((topic, len(own), sum(queue.messages for queue in own), *span, sum(queue.missing for queue in own)))
    rows.sort(key=lambda row: -row[2])
    heads = ("topic", "queues", "messages saved", "first stored (UTC)", "last stored (UTC)", "missing offsets")
    return [*table(heads, rows[:_MOST]), *_more(len(rows), "topics", "queues.jsonl")] if rows else ["No message was saved."]


def _queues(found: RescueFacts) -> list[str]:
    if not found.knows_gaps:
        return ["The queue offsets of the messages are in no order, so missing ones are not listed."]
    lost = [queue for queue in found.queues if queue.missing]
    if not lost:
        return ["No queue offset is missing between the saved messages, or between the first and the last one that a consume queue names."]
    rows = [(queue.topic, queue.queue_id, queue.messages, queue.missing, ranges_text(queue.gaps)) for queue in lost]
    in_use = " A broker uses the store, so offsets after the last saved one can be new messages." if found.is_in_use else ""
    return [
        f"A missing offset is a message that was lost, unless its topic is compacted or its queue was reset.{in_use}",
        "",
        *table(("topic", "queue", "messages saved", "offsets missing", "which"), rows[:_MOST]),
        *_more(len(rows), "queues", "queues.jsonl"),
    ]


def ranges_text(ranges: Sequence[Run]) -> str:
    """Ranges of offsets as text: 7, 10 to 12."""
    shown = ", ".join(f"{start:,}" if stop == start + 1 else f"{start:,} to {stop - 1:,}" for start, stop in ranges[:_MOST_GAPS])
    return f"{shown} and {len(ranges) - _MOST_GAPS:,} more ranges" if len(ranges) > _MOST_GAPS else shown


def shown_losses(exported: Exported) -> list[dict[str, Any]]:
    """The rows of the table `damage` that the page shows, by offset."""
    # Missing ranges come last there, and are few: they must not be cut off.
    ranges = [row for row in exported.damage_rows() if row["reason"] in _WHOLE_DAMAGE]
    ranges += islice((row for row in exported.damage_rows() if row["reason"] not in _WHOLE_DAMAGE), max(0, _MOST - len(ranges)))
    return sorted(ranges, key=lambda row: row["start_offset"])


def _damage(found: RescueFacts) -> list[str]:
    if not found.losses:
        return ["None."]
    names, rows = ("start_offset", "end_offset", "bytes", "reason"), []
    for row, times in zip(found.losses, found.around.times, strict=True):
        what = None if row["found"] == row["reason"] else row["found"]
        moments = (None if time is None else f"{time:%Y-%m-%d %H:%M:%S.%f}"[:-3] for time in times)
        rows.append(((row["segment"] or "no file").rpartition("/")[2], *(row[name] for name in names), *moments, what))
    heads = ("file", "from offset", "to offset", "bytes", "reason", "record before (UTC)", "record after (UTC)", "found")
    count = len(found.exported.report.damage) + len(found.exported.missing)
    return [
        "The two times are the store times of the last saved message before the range and of the first one after it.",
        "",
        *table(heads, rows, LONGEST_SENTENCE),
        *_more(count, "ranges", "messages/_damage.jsonl"),
    ]


def _bytes(exported: Exported) -> list[str]:
    sizes = exported.to_dict()["log"]
    names = {
        "record_bytes": "records",
        "blank_bytes": "blanks at the end of segments",
        "damage_bytes": "damage",
        "unwritten_bytes": "after the end of the log",
        "stale_bytes": "old records after the end, which a broker discarded",
        "unread_bytes": "not read: files that disappeared or could not be opened",
    }
    rows = [(words, sizes[name], size_of(sizes[name])) for name, words in names.items() if sizes[name]]
    return table(("part of the segments", "bytes", ""), [*rows, ("together", sizes["size"], size_of(sizes["size"]))])


def _checked(checked: Checked) -> list[str]:
    stopped = [] if checked.error is None else [f"The check stopped before its end: {text(checked.error, LONGEST_SENTENCE)}", ""]
    if not checked.count:
        return stopped or ["Nothing: log, queues, index, checkpoint and configuration agree."]
    names = ("severity", "code", "count", "topic", "queue_id", "offset", "message", "advice")
    heads = ("severity", "code", "count", "topic", "queue", "log offset", "found first", "advice")
    shown = [tuple(row[name] for name in names) for row in checked.first()]
    return [*stopped, *table(heads, shown, LONGEST_SENTENCE), *_more(checked.count, "findings", "findings.jsonl")]


def _files(exported: Exported) -> list[str]:
    return [
        f"- `messages/`: {counted(len(exported.files), 'Parquet file')}, {size_of(exported.bytes)}. All readable messages.",
        "- `messages/_damage.jsonl`: each damaged or missing range of the log.",
        "- `messages/_summary.json`: the counts of this page, and those of each segment.",
        "- `messages/_export.json` and `messages/_parts/`: what a rescue that was stopped needs to continue.",
        "- `queues.jsonl`: each queue, with all its missing offsets.",
        "- `findings.jsonl`: all that the check of the store found.",
    ]


def _next(found: RescueFacts) -> list[str]:
    """The folder is named as in the table of files, because it may be moved."""
    lines = [
        "Read the messages, in the folder of this page, with one of these:",
        "",
        "```python",
        'pyarrow.parquet.read_table("messages")  # import pyarrow.parquet',
        "duckdb.sql(\"FROM read_parquet('messages/*.parquet')\")  # pip install duckdb; import duckdb",
        'spark.read.parquet("messages")  # any Spark',
        "```",
        "",
        "To send messages again, read them there and use a producer of RocketMQ. This project never writes to a broker.",
    ]
    if not found.exported.files:
        lines = ["No message was saved. Look on a slave or in a backup."]
    elif found.exported.is_damaged or found.missing:
        lines += ["", "To find lost messages, look on a slave, in a backup, or at the producers, for the times and queue offsets above."]
    return lines if found.start is None else [*lines, "", *_serving(counted(found.around.kept, "message"))]


def _serving(kept: str) -> list[str]:
    """How to get a broker again that serves its topics."""
    return [
        "To run a broker again (this project has not tested these steps):",
        "",
        "1. Rename the folder of the store, so that no broker starts on it. Keep it until nothing more is wanted from it.",
        "2. Start the broker with an empty `storePathRootDir`. Copy only `config/topics.json` and `config/subscriptionGroup.json` into it.",
        "3. Leave out `consumerOffset.json` and `delayOffset.json`: their offsets are of the old queues, and the new ones begin at 0.",
        f"4. Or start it on a copy of the whole store. It then keeps only {kept}, and deletes the others from the copy.",
    ]


def _more(count: int, what: str, name: str) -> list[str]:
    return ["", f"{count - _MOST:,} more {what} are in `{name}`."] if count > _MOST else []


# Markdown from untrusted names: no name can become markup, a link, or a new row.

LONGEST, LONGEST_SENTENCE = 200, 1000
"""Characters of a name, and of an error or warning, which may hold two paths."""
_MARKUP = re.compile(r"([\\`*_\[\]|~#@!$])")
_LINK = re.compile(r"(?i)(https?|ftp)(://)|(www)(\.)")
"""Text that becomes a link by itself."""
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def text(value: object, longest: int = LONGEST) -> str:
    """A value as plain text of one line; long ones are cut."""
    found = str(value)
    if len(found) > longest:
        found = f"{found[:longest]}…"
    visible = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in found)
    return _LINK.sub(r"\1\3\\\2\4", _MARKUP.sub(r"\\\1", visible)).translate(_HTML)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], longest: int = LONGEST) -> list[str]:
    """The lines of a table. Numbers are grouped by thousands and on the right; a column of numbers has only numbers and None."""
    filled = [list(row) for row in rows]
    is_number = [all(isinstance(row[place], int | None) for row in filled) for place in range(len(heads))]
    rule = "|".join("--:" if number else "---" for number in is_number)
    return [_line(heads), f"|{rule}|", *(_line(_cell(value, longest) for value in row) for row in filled)]


def _cell(value: object, longest: int) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else text(value, longest)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
