"""Every code that a finding can have: its severity, what it means, and what to do."""

from __future__ import annotations

from typing import NamedTuple

from native_reader.errors import option_name, spelled

ERROR, WARNING, NOTE = "error", "warning", "note"
TRUNCATED = "log-truncated-by-start"
SEVERITIES = {
    ERROR: "messages are damaged, lost or cannot be found",
    WARNING: "something is wrong or unusual, but the messages can still be read",
    NOTE: "normal for brokers, but it explains what is not in the store or could not be checked",
}
"""Every severity, with its meaning."""


class Code(NamedTuple):
    """One kind of finding."""

    severity: str
    meaning: str
    advice: str
    """Option names in it are marked: `spelled` writes them as each face does."""


_SCAN = f"read with {option_name('access=scan')}"
_REBUILD = "rebuild the queues, unless the log is damaged"
_REINDEX = f"read keys with {option_name('access=scan')}; or rebuild the index, unless the log is damaged"
_COPY = "restore the range from a slave or a backup"

CODES = {
    # The log
    "log-damage": Code(ERROR, "bytes of the log that are not records", f"{_COPY}; rmqstore reads the rest, and so does mode=DROPMALFORMED"),
    "log-checksum": Code(
        ERROR,
        "a whole record with a wrong checksum",
        f"{_COPY}; to skip it, set {option_name('verify_crc', True)} and, except in rmqstore, mode=DROPMALFORMED",
    ),
    "record-properties": Code(
        ERROR, "zeros after a record begin in its properties: its tags and keys may be lost, its body is whole", _COPY
    ),
    "log-missing": Code(ERROR, "no file contains these offsets", "look for moved or renamed segments"),
    "log-lost": Code(
        ERROR, "other files name records after the end of the log, and their bytes are missing", "look for a newer copy of the log"
    ),
    "log-short": Code(
        WARNING,
        "other files name records after the end of the log, where nothing is written",
        "if its broker runs, copy the store again, the queues first; otherwise look for the messages on a slave",
    ),
    "log-old-records": Code(
        NOTE, "old records follow the end of the log: a broker discarded them", f"set {option_name('tail=all')} to read them too"
    ),
    TRUNCATED: Code(
        ERROR,
        "a starting broker up to 5.3.1 would discard valid records from here on; what later ones do: `rmqstore doctor`",
        "copy or read the store before a broker starts on it",
    ),
    "time-goes-back": Code(
        WARNING,
        "a record was stored earlier than one before it, beyond the tolerance",
        f"set {option_name('time_skew_tolerance')} above the difference",
    ),
    "time-of-first": Code(
        WARNING, "the first record of a segment has a later store time than another of it", f"{_SCAN} for conditions on store_timestamp"
    ),
    # Records and their queues
    "record-without-entry": Code(ERROR, "a record that its queue does not name: consumers do not get it", f"{_SCAN}; or {_REBUILD}"),
    "record-of-deleted-topic": Code(NOTE, "records of a topic without queues and configuration: it was deleted", "no action needed"),
    "record-of-earlier-topic": Code(NOTE, "records from before their topic was deleted and created again", "no action needed"),
    "record-not-dispatched": Code(
        NOTE, "records that the broker had not put into queues or index when it stopped", "a broker does so when it starts"
    ),
    "queue-missing": Code(
        WARNING, "records of a configured topic, or of a system topic, whose queue has no files", f"{_SCAN}; or {_REBUILD}"
    ),
    "queue-of-batches": Code(
        WARNING,
        "inner batches in an ordinary queue, as on slaves: its numbers are not queue offsets",
        f"{_SCAN} for keys and tags in batches",
    ),
    # Entries and their records
    "entry-without-record": Code(ERROR, "an entry names an offset where no record begins", _REBUILD),
    "entry-of-other-queue": Code(ERROR, "an entry names a record of another queue", _REBUILD),
    "entry-number": Code(ERROR, "an entry's number is not the queue offset of its record", _REBUILD),
    "entry-size": Code(ERROR, "an entry has another size than its record", _REBUILD),
    "entry-tag": Code(ERROR, "an entry's tags code does not belong to its record: consumers with tags miss it", f"{_SCAN}; or {_REBUILD}"),
    "entry-count": Code(ERROR, "an entry of a batch has another number of messages than its record", _REBUILD),
    "entry-twice": Code(ERROR, "several entries of one queue name the same record", _REBUILD),
    "entry-expired": Code(NOTE, "entries of records that expired", "no action needed"),
    "entry-after-end": Code(WARNING, "entries name offsets after the end of the log", "look for missing or cut-off segments at the end"),
    "entry-discarded": Code(NOTE, "entries of records that a broker discarded", "no action needed"),
    "entry-address": Code(WARNING, "tags codes are addresses in consumequeue_ext, which is missing", "copy consumequeue_ext too"),
    # The files of queues
    "queue-order": Code(ERROR, "the offsets of a queue do not ascend", _REBUILD),
    "queue-hole": Code(ERROR, "unwritten or missing entries between written ones", _REBUILD),
    "queue-filler": Code(ERROR, "filler entries after the first entry of a record", _REBUILD),
    "queue-file": Code(WARNING, "a file of a queue has an impossible name or size", "restore the file; the rest of it is used"),
    "queue-unreadable": Code(ERROR, "a queue cannot be read", "check the disk and the permissions"),
    "queue-of-unknown-topic": Code(NOTE, "a topic has queues, but no configuration", "no action needed"),
    "queue-left-behind": Code(
        NOTE, "an old copy of a queue: the broker was changed to RocksDB, or back to files, and uses the other copy", "no action needed"
    ),
    "queue-copies-differ": Code(ERROR, "a queue in files and its copy in RocksDB have different entries", _REBUILD),
    "queue-not-checked": Code(NOTE, "the store has no queues, or their database cannot be opened", "no action needed"),
    # The index
    "index-unfinished": Code(
        NOTE,
        "the header of the newest index file counts too few entries: the broker was killed, or ran while the store was copied",
        "no action needed: reads search the log for keys that it does not count",
    ),
    "index-header": Code(ERROR, "the header of an index file contradicts its entries", _REINDEX),
    "index-cut": Code(WARNING, "an index file is smaller than brokers make them: it was cut, or not copied whole", _REINDEX),
    "index-slot": Code(ERROR, "a slot of an index file does not lead to the newest entry of its chain", _REINDEX),
    "index-chain": Code(ERROR, "an entry does not lead to the entry before it in its chain", _REINDEX),
    "index-order": Code(ERROR, "the offsets of an index file go back", _REINDEX),
    "index-time": Code(WARNING, "an entry has another time than its record: searches by time can miss it", _REINDEX),
    "index-without-record": Code(ERROR, "an index entry names an offset where no record begins", _REINDEX),
    "index-other-key": Code(ERROR, "an index entry names a record without such a key", _REINDEX),
    "index-expired": Code(NOTE, "index entries of records that expired", "no action needed"),
    "index-after-end": Code(
        WARNING, "index entries name offsets after the end of the log", "look for missing or cut-off segments at the end"
    ),
    "index-unreadable": Code(ERROR, "an index file cannot be read", "check the disk and the permissions"),
    "index-not-checked": Code(
        NOTE,
        "the store has no index files, their number of slots is unknown, or its index is in RocksDB",
        f"no action needed; for files of an unknown size, set {option_name('max_hash_slot_num')}",
    ),
    "key-without-entry": Code(ERROR, "a key of a record is missing in an index file that covers it", _REINDEX),
    "key-not-covered": Code(WARNING, "no index file covers records with keys", f"read keys with {option_name('access=scan')}"),
    "key-rolled-back": Code(NOTE, "keys of records that roll back a transaction: brokers do not index them", f"{_SCAN} to find them"),
    # Checkpoint and configuration
    "broker-crashed": Code(
        NOTE, "the file `abort` exists: the broker crashed, or ran while the store was copied", "no action needed if there are no errors"
    ),
    "checkpoint-missing": Code(
        WARNING, "the checkpoint is missing, too short or without times", "a start makes a new one, and checks the whole log"
    ),
    "checkpoint-ahead": Code(WARNING, "the checkpoint has a later time than the last record", "look for missing segments at the end"),
    "config-damaged": Code(
        WARNING, "a configuration file is empty, truncated, not JSON, or lacks its table", "a broker then uses its .bak, if that is whole"
    ),
    "config-not-checked": Code(NOTE, "the configuration is in RocksDB, which cannot be opened", "install the extra `rocksdb`"),
    "offset-after-queue": Code(WARNING, "a consumer offset is after the end of its queue", "reset it, or look for lost records"),
}
"""Every code, in the order of the documentation."""


def markdown() -> str:
    """The tables of docs/verify.md."""
    severities = [f"| `{name}` | {meaning} |" for name, meaning in SEVERITIES.items()]
    codes = [f"| `{name}` | {each.severity} | {each.meaning} | {spelled(each.advice, str)} |" for name, each in CODES.items()]
    heads = ["| severity | meaning |", "|---|---|"], ["", "| code | severity | meaning | what to do |", "|---|---|---|---|"]
    return "\n".join([*heads[0], *severities, *heads[1], *codes])
