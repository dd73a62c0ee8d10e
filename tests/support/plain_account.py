"""A second account: record by record and entry by entry, of small stores with ordinary queues. It imports nothing from this project.

It leaves out the index, and what nothing names: bytes without records, and the offsets of groups.
"""

from __future__ import annotations

import json
import struct
from binascii import crc32
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from support.plain_decoder import Record, runs_of

Place = tuple[str, int]
WHOLE = ("served", "deleted", "unreachable", "doubtful")
UNITS = {"zlib": (0, 3), "lz4": (1,), "zstd": (2,)}


class Entry(NamedTuple):
    queue: Place
    number: int
    offset: int
    size: int
    code: int


def plain_account(files: Mapping[str, bytes]) -> Counter[tuple[str, int, str]]:
    """How many messages of each topic, queue and state there are."""
    records, entries, ends = records_in(files), entries_in(files), segments_in(files)
    configured, queues = set(json.loads(files["store/config/topics.json"])["topicConfigTable"]), {each.queue for each in entries}
    by_offset = {record.fixed["physical_offset"]: record for record in records}
    account: Counter[tuple[str, int, str]] = Counter()
    present, moved = set[tuple[Place, int]](), set[Entry]()
    dispatched = max((each.offset for each in entries if each.offset < max(ends)), default=-1)
    for offset, record in by_offset.items():
        own, naming = place_of(record), [each for each in entries if each.offset == offset]
        mine = [each for each in naming if each.queue == own]
        if not mine and naming:  # it counts where the entries are
            moved.update(naming)
            account.update((*each.queue, "doubtful") for each in naming)
            present.update((each.queue, each.number) for each in naming)
            continue
        numbers = {each.number for each in mine} or {record.fixed["queue_offset"]}
        state = state_of(record, mine, is_known=own[0] in configured or any(topic == own[0] for topic, _ in queues))
        if state == "unreachable" and "store/abort" in files and offset > dispatched:
            state = "served"
        account[(*own, state)] += 1
        if state != "deleted":
            present.update((own, number) for number in numbers)
    damage = damage_in(files)
    for each in entries:
        if any(base <= each.offset < end for base, end in ends_of(files)) and not any(begin <= each.offset < end for begin, end in damage):
            continue  # whole bytes are there, or blank ones
        is_gone = each.offset not in by_offset or (place_of(by_offset[each.offset]) != each.queue and each not in moved)
        if is_gone and (each.queue, each.number) not in present:
            account[(*each.queue, "lost" if each.offset >= min(ends) else "expired")] += 1
            present.add((each.queue, each.number))
    return account


def state_of(record: Record, mine: list[Entry], *, is_known: bool) -> str:
    """The state of a whole record. `mine`: the entries of its queue that name it."""
    properties = dict(part.split(b"\x01", 1) for part in record.properties.split(b"\x02") if b"\x01" in part)
    if crc32(record.body) & 0x7FFFFFFF != record.fixed["body_crc"]:
        return "lost"
    if record.fixed["sys_flag"] & 1 and record.body and not is_packed(record):
        return "lost"
    if record.properties.endswith(b"\0"):  # zeros begin in them and go on after the record
        return "doubtful"
    try:
        record.properties.decode()
    except UnicodeDecodeError:
        return "doubtful"
    if not record.fixed["sys_flag"] & 1 and record.fixed["sys_flag"] >> 8 & 7 and is_packed(record):
        return "doubtful"
    tag = java_hash(properties.get(b"TAGS", b"").decode())
    told = (record.fixed["queue_offset"], record.fixed["record_size"], tag)
    if any((each.number, each.size, each.code) != told for each in mine):
        return "doubtful"
    if mine:
        return "served"
    return "unreachable" if is_known else "deleted"


def is_packed(record: Record) -> bool:
    kind, body = record.fixed["sys_flag"] >> 8 & 7, record.body
    if len(body) <= 4:
        return False
    if kind in {0, 3}:
        return (body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0) or body[:2] == b"\x1f\x8b"
    return body[:4] == {1: b"\x04\x22\x4d\x18", 2: b"\x28\xb5\x2f\xfd"}.get(kind)


def java_hash(text: str) -> int:
    value = 0
    for unit in struct.unpack(f">{len(text.encode('utf-16-be')) // 2}H", text.encode("utf-16-be")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def place_of(record: Record) -> Place:
    return record.topic.decode(errors="replace"), record.fixed["queue_id"]


def segments_in(files: Mapping[str, bytes]) -> list[int]:
    """Where segments begin, and where the last one ends."""
    names = sorted(name for name in files if name.startswith("store/commitlog/"))
    bases = [int(name[-20:]) for name in names]
    return [*bases, bases[-1] + len(files[names[-1]])]


def ends_of(files: Mapping[str, bytes]) -> list[tuple[int, int]]:
    names = sorted(name for name in files if name.startswith("store/commitlog/"))
    return [(int(name[-20:]), int(name[-20:]) + len(files[name])) for name in names]


def damage_in(files: Mapping[str, bytes]) -> list[tuple[int, int]]:
    names = sorted(name for name in files if name.startswith("store/commitlog/"))
    runs = (run for name in names for run in runs_of(int(name[-20:]), files[name], "plain"))
    return [(begin, end) for kind, begin, end, _ in runs if kind == "damage"]


def records_in(files: Mapping[str, bytes]) -> list[Record]:
    names = sorted(name for name in files if name.startswith("store/commitlog/"))
    runs = (run for name in names for run in runs_of(int(name[-20:]), files[name], "plain"))
    return [record for *_, record in runs if record is not None]


def entries_in(files: Mapping[str, bytes]) -> list[Entry]:
    found = []
    for name, content in files.items():
        if name.startswith("store/consumequeue/"):
            *_, topic, queue, file = name.split("/")
            for at in range(0, len(content) // 20 * 20, 20):
                offset, size, code = struct.unpack_from(">qiq", content, at)
                if offset >= 0 and size > 0:
                    found.append(Entry((topic, int(queue)), (int(file) + at) // 20, offset, size, code))
    return found
