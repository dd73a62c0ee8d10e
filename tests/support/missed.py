"""All cases that hide rows from `access=auto`, with one store each. docs/filters.md lists the same cases."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from native_reader.layout.index_entry import key_hash
from native_reader.layout.properties import CRC_SIZE
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, Predicate
from native_reader.testing.java import hash_code
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import PREPARED, ROLLBACK, pack_properties
from support.index_rows import indexed_in_database
from support.indexed_stores import ENTRIES, SLOTS, indexed
from support.queued_stores import dispatched, numbered, with_transactions
from support.slaves import batch, slave
from support.stores import Files, files_of, log_of, message

Case = tuple[Files, Predicate]
T1, KEY = Compare(Column("topic"), "=", "T1"), And((Compare(Column("topic"), "=", "T1"), ArrayContains(Column("keys"), "k31")))
QUEUE, _ENTRIES_AT = f"store/consumequeue/T1/0/{0:020}", 40 + 4 * SLOTS


def changed(files: Files, name: str, place: int, fields: str, *values: int) -> Files:
    """With other numbers at that place of a file."""
    content = bytearray(files[name])
    struct.pack_into(fields, content, place, *values)
    return files | {name: bytes(content)}


def store(**options: object) -> tuple[CommitLog, Files]:
    log = log_of(numbered(map(message, range(60))))
    return log, files_of(log) | dispatched(log.placed, file=4000, **options) | indexed(log.placed)  # type: ignore[arg-type]


def a_hash_in_a_queue() -> Case:
    _, files = store()
    return changed(files, QUEUE, 20 * 3 + 12, ">q", hash_code("another")), And((T1, Compare(Column("tags"), "=", "tag1")))


def a_size_in_a_queue() -> Case:
    log, files = store(deleted=["T2"])
    (size,) = struct.unpack_from(">i", files[QUEUE], 20 * 3 + 8)
    return changed(files, QUEUE, 20 * 3 + 8, ">i", size + log.placed[11].size), Compare(Column("topic"), "=", "T2")


def an_id_with_a_checksum() -> Case:
    """From a batch of an old client: the broker appended the checksum to the id without a separator, and indexed both as one key."""
    glued = pack_properties({"TAGS": "tag1", "KEYS": "k31 all", "UNIQ_KEY": "U0031"}, trailing=False)
    messages = [replace(message(number), property_crc="proper") for number in range(60)]
    messages[31] = replace(messages[31], properties=glued, property_crc="glued")
    log = log_of(numbered(messages))
    content, place = b"".join(log.files().values()), log.placed[31]
    checksum = content[place.offset + place.size - CRC_SIZE :][:CRC_SIZE]
    said = replace(place, message=replace(place.message, properties=glued + checksum))
    side = indexed([*log.placed[:31], said, *log.placed[32:]])
    return files_of(log) | dispatched(log.placed, file=4000) | side, And((T1, Compare(Column("uniq_key"), "=", "U0031")))


def two_entries_of_batches() -> Case:
    begun = [each for number in range(8) for each in (batch(number, 5), message(number))]
    log = log_of(numbered([*begun, *map(message, range(8, 40))]), segment_size=8192)
    files = files_of(log) | dispatched(log.placed, file=400)
    name = f"store/batchconsumequeue/batched/0/{0:020}"
    shrunk = changed(changed(files, name, 46 * 3 + 36, ">h", 3), name, 46 * 4 + 28, ">qh", 18, 7)
    return shrunk, And((Compare(Column("topic"), "=", "batched"), Compare(Column("queue_offset"), "=", 19)))


def a_pointer_of_an_index() -> Case:
    """The slot skips the newest entry of the chain: it leads to an older one or to none."""
    _, files = store()
    name, place = entry_of(files, "k31")
    (before,) = struct.unpack_from(">i", files[name], place + 16)
    number = (place - _ENTRIES_AT) // 20
    for slot in range(40, _ENTRIES_AT, 4):
        if struct.unpack_from(">i", files[name], slot)[0] == number:
            return changed(files, name, slot, ">i", before), KEY
    for other in range(_ENTRIES_AT, _ENTRIES_AT + 20 * ENTRIES, 20):
        if struct.unpack_from(">i", files[name], other + 16)[0] == number:
            return changed(files, name, other + 16, ">i", before), KEY
    raise AssertionError("no chain has the entry")


def a_hash_in_an_index() -> Case:
    _, files = store()
    name, place = entry_of(files, "k31")
    return changed(files, name, place, ">i", (key_hash("T1", "k31") + SLOTS) % 2**31 // SLOTS * SLOTS + key_hash("T1", "k31") % SLOTS), KEY


def entry_of(files: Files, key: str) -> tuple[str, int]:
    for name in sorted(name for name in files if name.startswith("store/index/")):
        for place in range(_ENTRIES_AT + 20, _ENTRIES_AT + 20 * ENTRIES, 20):
            if struct.unpack_from(">i", files[name], place)[0] == key_hash("T1", key):
                return name, place
    raise AssertionError(key)


def an_index_that_was_off() -> Case:
    log, files = store()
    kept = [placed for number, placed in enumerate(log.placed) if not 30 <= number < 33]
    return {name: content for name, content in files.items() if "/index/" not in name} | indexed(kept), KEY


def an_index_in_a_database_that_was_off() -> Case:
    """Its rows are those of a database that outlived the end of its log."""
    return an_index_in_a_database_that_outlived_the_log()


def an_index_in_a_database_that_outlived_the_log() -> Case:
    log, files = store()
    rows = indexed_in_database([placed for number, placed in enumerate(log.placed) if not 30 <= number < 33])
    uniq_key = Compare(Column("uniq_key"), "=", "U0031")
    return {name: content for name, content in files.items() if "/index/" not in name} | rows, And((T1, uniq_key))


def rolled_back(prepared: int) -> tuple[CommitLog, Files]:
    flags = {prepared: PREPARED, 31: ROLLBACK}
    messages = with_transactions([message(number, sys_flag=flags.get(number, 0)) for number in range(60)], lambda _: 0)
    log = log_of(numbered(messages))
    return log, files_of(log) | dispatched(log.placed, file=4000)


def a_prepared_message_that_expired() -> Case:
    log, files = rolled_back(4)
    side = indexed(log.placed)
    del files[f"store/commitlog/{0:020}"]
    return files | side, And((T1, ArrayContains(Column("keys"), "k4")))


def a_prepared_message_that_no_index_names() -> Case:
    log, files = rolled_back(4)
    return files | indexed(log.placed, begin=log.placed[9].offset), And((T1, ArrayContains(Column("keys"), "k4")))


def a_batch_of_one_on_a_slave() -> Case:
    return slave(0, 0, 1, 0, 0, 0, segment_size=2048), And(
        (Compare(Column("topic"), "=", "batched"), ArrayContains(Column("keys"), "i2-0"))
    )


def a_first_time() -> Case:
    """A segment seems to begin after some of its records."""
    first = next(number for number, placed in enumerate(log_of(60).placed) if placed.segment == 4096)
    return in_time({first: 8}, first + 1, first + 3)


def a_time_within_a_segment() -> Case:
    return in_time({25: 10**6}, 10**6, 10**7)


def a_jump_of_the_clock() -> Case:
    """Back by almost three hours, and forward again before the next segment begins."""
    return in_time(dict.fromkeys((24, 25), -(10**7)), 24 - 10**7, 26 - 10**7)


def in_time(later: dict[int, int], begin: int, end: int) -> Case:
    """Records a millisecond apart, except for some that are later. The read selects a range of times."""
    messages = [message(number) for number in range(60)]
    log = log_of(replace(each, store_timestamp=each.store_timestamp + later.get(number, 0)) for number, each in enumerate(messages))
    first, last = ((messages[0].store_timestamp + each) * 1000 for each in (begin, end))
    time = Column("store_timestamp")
    return files_of(log), And((Compare(time, ">=", first), Compare(time, "<", last)))


MISSED: dict[str, tuple[Callable[[], Case], ...]] = {
    "The hash of a tag in a queue was changed.": (a_hash_in_a_queue,),
    "The size in a queue entry was enlarged, up to the end of a record that no queue names.": (a_size_in_a_queue,),
    "Two neighbouring entries of a queue of batches were changed, and still fit each other.": (two_entries_of_batches,),
    "The configuration of a slave does not name a topic with batches.": (a_batch_of_one_on_a_slave,),
    "A pointer in an index was changed, and skips an entry.": (a_pointer_of_an_index,),
    "The hash in an index entry was changed by a multiple of the number of slots.": (a_hash_in_an_index,),
    "The index was off for a while.": (an_index_that_was_off, an_index_in_a_database_that_was_off),
    "A broker lost the end of its log and kept an index in RocksDB.": (an_index_in_a_database_that_outlived_the_log,),
    "A broker appended a checksum to an old client's id.": (an_id_with_a_checksum,),
    "A broker of 4.0 to 4.2 rolled a transaction back.": (a_prepared_message_that_expired, a_prepared_message_that_no_index_names),
    "A record has a wrong store time.": (a_first_time, a_time_within_a_segment),
    "The broker's clock jumped back further than `timeSkewTolerance`.": (a_jump_of_the_clock,),
}
