"""What the page of a rescue says, by kind, in English. `rmqstore/chinese/` has the same in Chinese. Code is between backticks."""

from __future__ import annotations

from native_reader.doctor_texts import ENGLISH as DOCTOR
from native_reader.errors import spelled
from native_reader.start import ENGLISH as START
from native_reader.verify.codes import CODES, SEVERITIES
from native_reader.verify.words import OWN as FOUND

RESULTS = {
    "rescue of": "Rescue of {stores}",
    "empty store": "an empty store",
    "finished": "Finished {time}Z. The store was only read, not changed.",
    "result saved": "Saved:",
    "saved": ("{messages:,} {messages:message|messages} of {topics:,} {topics:topic|topics}, in {files:,} {files:file|files}."),
    "result damaged": "Damaged:",
    "damaged": "{ranges:,} {ranges:range|ranges} of the log with {bytes:,} bytes.",
    "damaged checksums": (
        "{ranges:,} {ranges:range|ranges} of the log with {bytes:,} bytes, "
        "of which {failed:,} {failed:whole record|whole records} with a wrong checksum."
    ),
    "result missing": "Missing:",
    "missing ranges": "{ranges:,} {ranges:range|ranges} that no file contains: {bytes:,} bytes.",
    "lost ranges": (
        "{ranges:,} {ranges:range|ranges} after the end of the log, to which consume queues or index files still point: {bytes:,} bytes."
    ),
    "result offsets": "Missing messages:",
    "missing offsets": "{offsets:,} {offsets:offset|offsets} of {queues:,} {queues:queue|queues} without a saved message.",
    "result start": "May a broker be started on it?",
    "result older": "Older than the log:",
    "older records": (
        "{records:,} {records:record|records} of {topics:,} {topics:topic|topics} that queues still name. "
        "They expired or were removed; the files do not show which."
    ),
    "result lost": "Lost:",
    "nothing lost": "nothing was found to be lost.",
    "nothing else lost": "nothing else was found to be lost.",
}
TITLES = {
    "title store": "The store",
    "title topics": "Saved, by topic",
    "title queues": "Missing, by queue",
    "title damage": "Lost parts of the log",
    "title bytes": "The log, byte by byte",
    "title check": "What the check of the store found",
    "title warnings": "Warnings",
    "title files": "The files",
    "title next": "What to do next",
    "column topic": "topic",
    "column queue": "queue",
    "column queues": "queues",
    "column saved": "messages saved",
    "column first": "first stored (UTC)",
    "column last": "last stored (UTC)",
    "column missing": "missing offsets",
    "column lacking": "offsets missing",
    "column which": "which",
    "column file": "file",
    "column from": "from offset",
    "column to": "to offset",
    "column bytes": "bytes",
    "column reason": "reason",
    "column before": "record before (UTC)",
    "column after": "record after (UTC)",
    "column found": "found",
    "column part": "part of the segments",
    "column size": "size",
    "column severity": "severity",
    "column code": "code",
    "column count": "count",
    "column offset": "log offset",
    "column first found": "found first",
    "column advice": "advice",
}
TABLES = {
    "labelled": "{label}: {what}",
    "no message": "No message was saved.",
    "no order": "The queue offsets of the messages are in no order, so missing ones are not listed.",
    "no offset missing": (
        "No queue offset is missing between the saved messages, or between the first and the last one that a consume queue names."
    ),
    "missing means": "A missing offset is a message that was lost, unless its topic is compacted or its queue was reset.",
    "missing while in use": (
        "A missing offset is a message that was lost, unless its topic is compacted or its queue was reset. "
        "A broker uses the store, so offsets after the last saved one can be new messages."
    ),
    "one offset": "{first:,}",
    "offsets to": "{first:,} to {last:,}",
    "more ranges": "{first} and {count:,} more ranges",
    "nothing here": "None.",
    "times mean": "The two times are the store times of the last saved message before the range and of the first one after it.",
    "no file of log": "no file",
    "sentences": "{first}. {second}",
    "bytes of records": "records",
    "bytes of blanks": "blanks at the end of segments",
    "bytes of damage": "damage",
    "bytes of unwritten": "after the end of the log",
    "bytes of stale": "old records after the end, which a broker discarded",
    "bytes of unread": "not read: files that disappeared or could not be opened",
    "bytes of together": "together",
    "check stopped": "The check stopped before its end: {reason}",
    "check clean": "Nothing: log, queues, index, checkpoint and configuration agree.",
    **{f"severity {name}": name for name in SEVERITIES},
    **{f"found {code}": "{message}" for code in CODES},
    **{f"advice {code}": spelled(each.advice, str) for code, each in CODES.items()},
    "more topics": "{count:,} more topics are in `{name}`.",
    "more queues": "{count:,} more queues are in `{name}`.",
    "more losses": "{count:,} more ranges are in `{name}`.",
    "more findings": "{count:,} more findings are in `{name}`.",
}
FILES = {
    "file messages": "`messages/`: {files:,} {files:Parquet file|Parquet files}, {size}. All readable messages.",
    "file damage": "`messages/_damage.jsonl`: each damaged or missing range of the log.",
    "file summary": "`messages/_summary.json`: the counts of this page, and those of each segment.",
    "file parts": "`messages/_export.json` and `messages/_parts/`: what a rescue that was stopped needs to continue.",
    "file queues": "`queues.jsonl`: each queue, with all its missing offsets.",
    "file findings": "`findings.jsonl`: all that the check of the store found.",
}
NEXT = {
    "how to read": "Read the messages, in the folder of this page, with one of these:",
    "how to send": ("To send messages again, read them there and use a producer of RocketMQ. This project never writes to a broker."),
    "look elsewhere": "No message was saved. Look on a slave or in a backup.",
    "look for lost": ("To find lost messages, look on a slave, in a backup, or at the producers, for the times and queue offsets above."),
    "how to serve": (
        "To run a broker again, with all queue offsets and ids: `rmqstore repair`. If it refuses this store, begin with an empty one "
        "(this project has not tested these steps):"
    ),
    "step rename": "Rename the folder of the store, so that no broker starts on it. Keep it until nothing more is wanted from it.",
    "step start": (
        "Start the broker with an empty `storePathRootDir`. Copy only `config/topics.json` and `config/subscriptionGroup.json` into it."
    ),
    "step leave out": (
        "Leave out `consumerOffset.json` and `delayOffset.json`: their offsets are of the old queues, and the new ones begin at 0."
    ),
    "step copy": (
        "Or start it on a copy of the whole store. It then keeps only {kept:,} {kept:message|messages}, "
        "and deletes the others from the copy."
    ),
}
ENGLISH = {**DOCTOR, **START, **FOUND, **RESULTS, **TITLES, **TABLES, **FILES, **NEXT}
