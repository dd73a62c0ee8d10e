"""Index files of small stores, written entry by entry as a broker does. They follow the format and do not use the reader."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from hypothesis import strategies as st

import native_reader as nr
from native_reader.layout.properties import parse
from native_reader.plan.plan import Plan
from native_reader.testing.java import hash_code
from native_reader.testing.logs import Placed
from native_reader.testing.records import ROLLBACK
from support.stores import Files, in_memory

TRANSACTION = 0xC
SLOTS, ENTRIES = 7, 28
"""Four entries per slot, as by default: the file's size gives both numbers. 7 is odd, so every flipped bit of a hash changes its slot."""


class _File:
    def __init__(self, before: tuple[int, int], entries: int) -> None:
        self.begin = self.end = before  # until its first entry, a new file's begin is the previous file's end
        self.used, self.count, self._room = 0, 1, entries
        self.slots = [0] * SLOTS
        self.entries = [bytes(20)]

    def put(self, hashed: int, offset: int, time: int) -> bool:
        if self.count >= self._room:
            return False
        slot = hashed % SLOTS
        seconds = min(max(0, (time - self.begin[0]) // 1000), 2**31 - 1) if self.begin[0] > 0 else 0
        self.entries.append(struct.pack(">iqii", hashed, offset, seconds, self.slots[slot]))
        self.used += self.slots[slot] == 0
        self.slots[slot] = self.count
        if self.count == 1:
            self.begin = time, offset
        self.count += 1
        self.end = time, offset
        return True

    def content(self) -> bytes:
        head = struct.pack(">qqqqii", self.begin[0], self.end[0], self.begin[1], self.end[1], self.used, self.count)
        return (head + struct.pack(f">{SLOTS}i", *self.slots) + b"".join(self.entries)).ljust(40 + 4 * SLOTS + 20 * self._room, b"\0")


def keys_of(placed: Placed, *, tags: bool = False) -> list[str]:
    """The `topic#key` texts that a broker indexes for a record; `tags`: also the tag, as 5.5.0 does."""
    if placed.message.sys_flag & TRANSACTION == ROLLBACK:
        return []
    properties = parse(placed.message.properties)
    keys = [properties.get("UNIQ_KEY", ""), *properties.get("KEYS", "").split(" "), *([f"T#{properties.get('TAGS', '')}"] if tags else [])]
    topic = placed.message.topic if isinstance(placed.message.topic, str) else placed.message.topic.decode()
    return [f"{topic}#{key}" for key in keys if key and key != "T#"]


def key_of_hash(topic: str, hashed: int) -> str:
    """A key of seven characters whose text `topic#key` has this hash in Java."""
    rest = (hashed - hash_code(f"{topic}#") * 31**7 - ord("@") * (31**7 - 1) // 30) % 2**32
    key = ""
    for _ in range(7):
        rest, digit = divmod(rest, 31)
        key = chr(ord("@") + digit) + key
    return key


def rolled_back_unnamed(files: Files, plan: Plan) -> set[int]:
    """The rolled back messages of 4.0 to 4.2 that no key finds: the index names no prepared message of their topic before them."""
    memory = in_memory(files)
    rows = nr.open(memory.url).messages(columns="physical_offset,kind,topic", access="scan").to_table().to_pylist()
    hits = {offset for _, lookup in plan.lookups for offset in lookup.hits}
    named = [(row["physical_offset"], row["topic"]) for row in rows if row["kind"] == "prepared" and row["physical_offset"] in hits]
    rolled_back = [(row["physical_offset"], row["topic"]) for row in rows if row["kind"] == "rollback"]
    return {place for place, topic in rolled_back if not any(begun < place and topic == other for begun, other in named)}


def positive(hashed: int) -> int:
    return 0 if hashed == -(2**31) else abs(hashed)


def indexed(placed: Iterable[Placed], *, begin: int = 0, until: int = 2**63, tags: bool = False, entries: int = ENTRIES) -> Files:
    """The index files of the records at offsets `[begin, until)`."""
    files: list[_File] = []
    for each in placed:
        if not begin <= each.offset < until or (files and each.offset < files[-1].end[1]):
            continue
        for key in keys_of(each, tags=tags):
            hashed = positive(hash_code(key))
            if not files or not files[-1].put(hashed, each.offset, each.message.store_timestamp):
                files.append(_File(files[-1].end if files else (0, 0), entries))
                files[-1].put(hashed, each.offset, each.message.store_timestamp)
    return {f"store/index/202611210000{number:02}000": file.content() for number, file in enumerate(files)}


@st.composite
def changed_indexes(draw: st.DrawFn, files: Files) -> Files:
    """Damaged index files. Entries that were never written are not among the damage, because their loss cannot be detected."""
    changed = dict(files)
    names = sorted(name for name in files if name.startswith("store/index/"))
    for _ in range(draw(st.integers(1, 2)) if names else 0):
        where = draw(st.sampled_from(names))
        content = bytearray(changed.get(where, b""))
        kind = draw(st.sampled_from(["bit", "bit", "bit", "cut", "zero", "delete", "swap", "just created", "longer"]))
        if kind == "delete" or not content:
            changed.pop(where, None)
        elif kind == "bit":
            place = draw(st.integers(0, len(content) - 1))
            if not pointer(place):
                content[place] ^= 1 << draw(st.integers(0, 7))
            changed[where] = bytes(content)
        elif kind == "cut":
            changed[where] = bytes(content[: draw(st.integers(0, len(content)))])
        elif kind == "zero":
            place = 40 + 4 * SLOTS + 20 * draw(st.integers(0, ENTRIES - 1))
            content[place : place + 20] = bytes(20)
            changed[where] = bytes(content)
        elif kind == "swap":
            other = draw(st.sampled_from(names))
            if other in changed and where in changed:
                changed[where], changed[other] = changed[other], changed[where]
        elif kind == "just created":
            changed[where] = bytes(len(content))
        else:
            changed[where] = bytes(content) + bytes(20)
    return changed


def pointer(place: int) -> bool:
    """Whether a byte belongs to a slot or an entry's pointer. A pointer that becomes 0 or skips entries hides them without a trace."""
    return 40 <= place < 40 + 4 * SLOTS or (place >= 40 + 4 * SLOTS and (place - 40 - 4 * SLOTS) % 20 >= 16)
