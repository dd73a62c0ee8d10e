"""What is not repaired, each kind in one sentence that says what to do. A real broker has not shown yet that it would work."""

from __future__ import annotations

from native_reader.errors import RepairError, option_name
from native_reader.text import say

BATCHES = "batches"
SENTENCES = {
    "in use": "{store} is in use by a broker. Stop the broker first, or repair a copy of its files",
    "not local": "{store} is not a directory of this machine. Copy the store to a disk, and repair the copy",
    "no record": "{store} has no whole record, so there is nothing to repair. Restore it from a slave or a backup",
    "nothing to extract": "{store} has no whole message of {topics}. Choose other topics: `rmqstore ls` lists them",
    "topic of broker": "'{topic}' belongs to the broker itself, which makes it again. Choose topics of users: `rmqstore ls` lists them",
    "unknown topic": "topic '{topic}' is not in {store}: `rmqstore ls` lists all topics.{near}",
    "dledger": (
        "{store} has a DLedger log, whose entries are equal on all peers. Remove this peer's files; it then copies them from the others"
    ),
    "controller": (
        "{store} has {name}: its broker runs in controller mode, and a repaired log would differ from those of its slaves. "
        "Copy the store from the slave with the longest log; or make one of a single master, without a controller and slaves: "
        "--single, in Python single=True"
    ),
    "rocksdb": "{store} has {name}: queues, index or settings in RocksDB are not repaired. Save the messages with `rmqstore rescue`",
    BATCHES: "topics with inner batches (queue type BatchCQ) are not repaired. Save the messages with `rmqstore rescue`",
    "light": "light queues (LMQ) are not repaired, and {name} is one. Save the messages with `rmqstore rescue`",
    "part": "{name} is not repaired: no broker has shown yet that it would use the result. Save the messages with `rmqstore rescue`",
    "directories": (
        f"the log is in {{count}} directories. Move all its segments into one, and name it with {option_name('store_path_commit_log')}"
    ),
    "packed": "{name} is packed or renamed. Unpack it first: a broker reads plain segments only",
    "segment sizes": "segment {name} has {size:,} bytes, and others begin {expected:,} bytes apart. Move it away, or correct its name",
    "segment names": "segment {name} does not begin at a multiple of {expected:,} bytes, as others do. Move it away, or correct its name",
    "segments": "{count:,} segments would have to be made, more than {most:,}. Look for the missing files first",
    "queue sizes": "queue file {name} has {size:,} bytes, others {expected:,}. Move the files of another configuration away",
    "no queue size": (
        "{store} has no file of a consume queue, so it is not known how large a broker makes them. "
        f"Name the broker's configuration file with {option_name('broker_conf')}"
    ),
    "configured": (
        "the broker's configuration sets {name} to {size:,}, and the store has {found:,}: a broker does not start on files of another "
        "size. Name the configuration with which the store was written"
    ),
    "order": (
        "the queue offsets of queue {queue} of '{topic}' go back at offset {offset:,}, and no consume queue says which of the two records "
        "counts. Save the messages with `rmqstore rescue`"
    ),
    "many": (
        "queue {queue} of '{topic}' lacks {count:,} messages, more than the damaged bytes can have held. A record or an entry has a wrong "
        "queue offset: run `rmqstore verify`, and save the messages with `rmqstore rescue`"
    ),
    "no room": (
        "{size:,} damaged bytes at offset {offset:,} have no room for a record in the place of the one that was lost. "
        "Save the messages with `rmqstore rescue`"
    ),
    "lost kind": (
        "a lost message was in '{topic}', and no broker has shown yet that it runs on with a placeholder there. "
        "Save the messages with `rmqstore rescue`"
    ),
    "property crc": "the records have checksums of the broker (enabledAppendPropCRC). Save the messages with `rmqstore rescue`",
    "unfinished": "{path} holds a repair that was not finished. Delete it, and start again: rm -r {path}",
    "being written": "another repair is writing to {path}. Wait for its end, or choose another folder",
    "mount": "{path} is where a disk is mounted, and the new store appears there under a new name. Name a folder in it: {path}/store",
    "not empty": "{path} is not empty: it contains {name}. Choose a new or empty folder",
    "no space": "{path} has {free} free, and the new store needs {needed}. Choose a larger disk",
    "proof": "the new store is not what it should be: {found}. It stays in {path} for a look; the source was not changed",
}
"""By kind, in English."""


def refusal(kind: str, **values: int | str) -> RepairError:
    """The error of that kind."""
    return RepairError(say(kind, **values).text(SENTENCES))
