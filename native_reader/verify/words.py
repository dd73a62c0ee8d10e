"""What a check found at the first place, by kind, in English. `rmqstore/chinese/found.py` has the same in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from native_reader.broker.config_files import PROBLEMS
from native_reader.plan.lost import BACK, MISSING, NOT_THERE, WHAT, WHY
from native_reader.records.damages import SENTENCES as DAMAGE

OWN: Mapping[str, str] = {
    "more places": "{found} ({count:,} more)",
    "more places until": "{found} ({count:,} more, up to offset {last:,})",
    # The log
    "without a record": "{bytes:,} {bytes:byte|bytes} without a record: {what}",
    "with reason": "{reason}: {what}",
    "properties end in zeros": "its properties end in zeros",
    "stored earlier": "stored {milliseconds:,} ms earlier than a record before it",
    "start truncates": (
        "a broker up to 5.3.1 that starts would truncate the log at offset {offset:,}, {bytes:,} bytes before its end "
        "(what later ones do: rmqstore doctor)"
    ),
    "no file has": "no file has offsets {start:,} to {stop:,}",
    "old records": "{bytes:,} bytes of old records follow the end of the log",
    # Entries of a queue, and their records
    "entry of queue": "entry {number:,} of queue {queue} of '{topic}': {why}",
    "no record there": "no record begins there",
    "record of other queue": "the record there belongs to queue {queue} of '{topic}'",
    "named twice": "another entry of the queue names the same record",
    "other size": "its size is {size:,}, the record's {record:,}",
    "other number": "the record there has queue offset {number:,}",
    "other count": "it has {messages:,} messages, its record {record:,}",
    "other tag": "its tags code is not the hash of the record's tag",
    "impossible delivery": "its delivery time is impossible",
    "not of light queue": "no record there belongs to this light queue",
    "other light number": "its record has another number for this light queue",
    "other light size": "its size is {size:,}, its record has another one",
    "batches in ordinary queue": "queue {queue} of '{topic}' is an ordinary queue, and has inner batches",
    "record of queue": "the record at offset {offset:,}, queue offset {number:,} of queue {queue} of '{topic}'",
    "deleted at": "{records:,} {records:record|records} of '{topic}' that were in {queues:,} {queues:queue|queues}, at offset {first:,}",
    "deleted from": (
        "{records:,} {records:record|records} of '{topic}' that were in {queues:,} {queues:queue|queues}, from offset {first:,} to {last:,}"
    ),
    # Queues by themselves
    "not in topics": "'{topic}' is not in topics.json",
    "lacks entries": "it lacks the last {entries:,} entries of its other copy, which the broker uses",
    "copies differ": "entry {number:,} is not the same in its other copy",
    "name is no position": "its name is not a position",
    "name is no multiple": "its name is not a multiple of {width}",
    "size is no multiple": "its size of {size:,} bytes is not a multiple of {width}",
    "files overlap": "the file before it has entries up to {until:,}, and it begins at {begin:,}",
    "cannot be read": "{file} cannot be read",
    "filler": "entry {number:,} is a filler",
    "not written": "entries {first:,} to {last:,} are not written, but later ones are",
    "not higher": "its offset is not higher than that of the entry before it",
    "expired": "its record expired",
    "log ends": "the log ends at offset {end:,}",
    "does not follow": "its first queue offset does not follow the entry before it",
    "is address": "its tags code is an address",
    "no queue checked": "no queue was checked",
    # The index
    "entry of index": "entry {number:,}: {why}",
    "no such key": "the record has no such key",
    "other time": "its time is not that of the record",
    "other header times": "its times are not those of its first and last record",
    "rolls back": "the record rolls a transaction back",
    "key without entry": "no entry for a key of the record",
    "after newest index": "the newest index file ends before the record",
    "not covered": "no index file covers the record",
    "index file cut": "it has {size:,} bytes; with its {slots:,} slots a broker makes {usual:,}",
    "less than a header": "it has {size:,} bytes, fewer than a header",
    "unusual size": "{size:,} bytes do not fit the usual numbers of slots and entries",
    "unreadable file": "the file cannot be read",
    "no entries": "its header has no entries",
    "impossible header": "offsets {begin:,} to {end:,}, next entry {next:,} of {room:,}",
    "lower offset": "its offset is lower than that of the entry before it",
    "wrong chain": "it leads to a wrong entry, so that the chain skips some",
    "other header offsets": "offsets {begin:,} to {end:,}, but its entries have {first:,} to {last:,}",
    "log begins": "the log begins at offset {begin:,}",
    "names after end": "an entry names offset {offset:,}: the log ends at offset {end:,}",
    "wrong slot": "slot {slot:,} has {entry:,}, expected {expected:,}",
    "not counted": "it has entries after the {entries:,} that its header counts",
    "other used slots": "{slots:,} slots in use, but {used:,} lead to an entry",
    "no index in database": "no index in this database is checked",
    "no index files": "the store has no index files",
    # The other files
    "abort exists": "the file `abort` exists",
    "short checkpoint": "it has {size} bytes, expected {expected} or more",
    "negative time": "it has a negative time",
    "no times": "it has no times",
    "checkpoint later": "it is {milliseconds:,} ms later than the last record",
    "group ahead": "group '{group}' is at {committed:,} of queue {queue} of '{topic}', which ends at {end:,}",
}
ENGLISH: Mapping[str, str] = {
    **PROBLEMS,
    **BACK,
    **WHAT,
    **WHY,
    **DAMAGE,
    **OWN,
    MISSING: NOT_THERE[MISSING],
    "text": "{text}",
    "sentences": "{first}. {second}",
}
"""These, and what other parts say of files, damage and losses."""
