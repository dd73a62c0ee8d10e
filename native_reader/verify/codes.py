"""Every code that a finding can have, and its severity. What each means and what to do: `sentences/codes.py`."""

from __future__ import annotations

from native_reader.sentences import ENGLISH, Said

ERROR, WARNING, NOTE = "error", "warning", "note"
TRUNCATED = "log-truncated-by-start"
SEVERITIES = {
    ERROR: "messages are damaged, lost or cannot be found",
    WARNING: "something is wrong or unusual, but the messages can still be read",
    NOTE: "normal for brokers, but it explains what is not in the store or could not be checked",
}
"""Every severity, with its meaning."""
CODES = {
    # The log
    "log-damage": ERROR,
    "log-unreadable": ERROR,
    "log-encrypted": ERROR,
    "log-checksum": ERROR,
    "record-properties": ERROR,
    "record-compression": ERROR,
    "log-missing": ERROR,
    "log-lost": ERROR,
    "log-removed": ERROR,
    "log-file-name": ERROR,
    "log-foreign": ERROR,
    "log-short": WARNING,
    "part-not-read": WARNING,
    "copy-not-read": NOTE,
    "log-old-records": NOTE,
    TRUNCATED: ERROR,
    "dledger-index": WARNING,
    "time-goes-back": WARNING,
    "time-of-first": WARNING,
    # The tier
    "tier-damage": ERROR,
    "tier-entry": ERROR,
    "tier-missing": ERROR,
    # Records and their queues
    "record-without-entry": ERROR,
    "record-of-deleted-topic": NOTE,
    "record-of-earlier-topic": NOTE,
    "record-not-dispatched": NOTE,
    "queue-missing": WARNING,
    "queue-of-batches": WARNING,
    # Entries and their records
    "entry-without-record": ERROR,
    "entry-of-other-queue": ERROR,
    "entry-number": ERROR,
    "entry-size": ERROR,
    "entry-tag": ERROR,
    "entry-count": ERROR,
    "entry-twice": ERROR,
    "entry-expired": NOTE,
    "entry-removed": ERROR,
    "entry-after-end": WARNING,
    "entry-discarded": NOTE,
    "entry-address": WARNING,
    # The files of queues
    "queue-order": ERROR,
    "queue-hole": ERROR,
    "queue-filler": ERROR,
    "queue-file": WARNING,
    "queue-unreadable": ERROR,
    "queue-of-unknown-topic": NOTE,
    "queue-left-behind": NOTE,
    "queue-copies-differ": ERROR,
    "queue-not-checked": NOTE,
    # The index
    "index-unfinished": NOTE,
    "index-header": ERROR,
    "index-cut": WARNING,
    "index-slot": ERROR,
    "index-chain": ERROR,
    "index-order": ERROR,
    "index-time": WARNING,
    "index-without-record": ERROR,
    "index-other-key": ERROR,
    "index-expired": NOTE,
    "index-after-end": WARNING,
    "index-unreadable": ERROR,
    "index-not-checked": NOTE,
    "key-without-entry": ERROR,
    "key-not-covered": WARNING,
    "key-rolled-back": NOTE,
    # Checkpoint and configuration
    "broker-crashed": NOTE,
    "checkpoint-missing": WARNING,
    "checkpoint-ahead": WARNING,
    "database-unreadable": ERROR,
    "database-ends-early": ERROR,
    "config-damaged": WARNING,
    "config-missing": WARNING,
    "config-not-checked": NOTE,
    "offset-after-queue": WARNING,
}
"""By code, in the order of the documentation."""


def advice(code: str, language: str = ENGLISH) -> str:
    """What to do about findings of a code. Option names in it are marked: `errors.spelled` writes them as each user does."""
    return Said(f"advice {code}").text(language)
