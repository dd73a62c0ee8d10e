"""Small stores with consume queues, as a plain dispatcher makes them of a log: told from the format, not from the reader."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from hypothesis import strategies as st
from indexed_stores import TRANSACTION, indexed
from stores import Files

from native_reader.layout.properties import parse
from native_reader.testing.java import hash_code
from native_reader.testing.logs import CommitLog, Framing, Placed, name
from native_reader.testing.records import COMMIT, INNER_BATCH, PREPARED, ROLLBACK, InnerMessage, Message, pack_inner, pack_properties

DELAY_TOPIC = "SCHEDULE_TOPIC_XXXX"
TOPICS = ("orders", "orders-2", "%RETRY%g", "payments", "T")
TAGS = ("paid", "AaAa", "BBBB", "", "polygenelubricants")


def dispatched(
    placed: Iterable[Placed],
    *,
    deleted: Iterable[str] = (),
    remade_at: Mapping[str, int] | None = None,
    until: int = 2**63,
    file: int = 160,
) -> Files:
    """The queues of those records. `deleted` topics have none, those made again only what lies behind; `until`: how far it came."""
    queues: dict[tuple[str, str, int], dict[int, bytes]] = defaultdict(dict)
    for each in placed:
        message = each.message
        topic = message.topic if isinstance(message.topic, str) else message.topic.decode()
        alive = topic not in deleted and each.offset >= (remade_at or {}).get(topic, 0) and each.offset < until
        if not alive or message.sys_flag & TRANSACTION in (PREPARED, ROLLBACK):
            continue
        properties = parse(message.properties)
        tag = properties.get("TAGS")
        code = message.store_timestamp + 5000 if topic == DELAY_TOPIC and "DELAY" in properties else hash_code(tag) if tag else 0
        entry = struct.pack(">qiq", each.offset, each.size, code)
        if message.sys_flag & INNER_BATCH:
            entry += struct.pack(">qqhii", message.store_timestamp, message.queue_offset, _units(message), -1, 0)
            queues["batchconsumequeue", topic, message.queue_id][len(queues["batchconsumequeue", topic, message.queue_id])] = entry
        else:
            queues["consumequeue", topic, message.queue_id][message.queue_offset] = entry
        for light in filter(None, properties.get("INNER_MULTI_DISPATCH", "").split(",")):
            queues["consumequeue", light, 0][len(queues["consumequeue", light, 0])] = entry
    files: Files = {}
    for (kind, topic, queue), entries in queues.items():
        files |= _files(f"store/{kind}/{topic}/{queue}", entries, file if kind == "consumequeue" else 46 * 4)
    return files


def _files(directory: str, entries: dict[int, bytes], size: int) -> Files:
    """Files of that size, the last filled with zeros; before the first entry stand leading blanks, as a broker leaves them."""
    width = len(next(iter(entries.values())))
    each, files = size // width, {}
    for first in range(min(entries) // each * each, max(entries) + 1, each):
        units = [entries.get(number) for number in range(first, first + each)]
        begun = next((place for place, unit in enumerate(units) if unit is not None), len(units))
        blank = struct.pack(">qiq", 0, 2**31 - 1, 0) if width == 20 else bytes(width)
        content = b"".join(
            unit or (blank if place < begun and first == min(entries) // each * each else bytes(width)) for place, unit in enumerate(units)
        )
        files[f"{directory}/{name(first * width)}"] = content
    return files


def _units(message: Message) -> int:
    count, body = 0, message.body
    while body:
        count, body = count + 1, body[int.from_bytes(body[:4], "big") :]
    return count


def numbered(messages: Iterable[Message]) -> list[Message]:
    """The messages with the queue offsets that a broker would give them, in the order of their arrival."""
    following: dict[tuple[object, int], int] = defaultdict(int)
    found = []
    for message in messages:
        plain = message.sys_flag & TRANSACTION not in (PREPARED, ROLLBACK)
        queue = message.topic, message.queue_id
        found.append(replace(message, queue_offset=following[queue] if plain else 0))
        following[queue] += plain * (_units(message) if message.sys_flag & INNER_BATCH else 1)
    return found


@st.composite
def queued_messages(draw: st.DrawFn, number: int) -> Message:
    """One message: few topics, queues and tags, so that conditions select some."""
    kind = draw(st.sampled_from(["plain"] * 8 + ["prepared", "rollback", "committed", "light", "delay", "batch", "v2"]))
    tag, topic = draw(st.sampled_from(TAGS)), draw(st.sampled_from(TOPICS))
    pairs = [("TAGS", tag)] * bool(tag) + [("KEYS", f"k{number} all"), ("UNIQ_KEY", f"U{number:04}")]
    body = b"x" * draw(st.sampled_from([0, 1, 40, 40, 40, 200]))
    told = Message(
        topic=topic, queue_id=draw(st.integers(0, 2)), body=body, store_timestamp=1_700_000_000_000 + number * 1000,
        sys_flag={"prepared": PREPARED, "rollback": ROLLBACK, "committed": COMMIT}.get(kind, 0), version=2 if kind == "v2" else 1,
    )  # fmt: skip
    if kind == "light":
        pairs.append(("INNER_MULTI_DISPATCH", "%LMQ%a,%LMQ%b"))
    if kind == "delay":
        told, pairs = replace(told, topic=DELAY_TOPIC), [*pairs, ("DELAY", "3")]
    if kind == "batch":
        units = [
            InnerMessage(
                b"%d" % unit,
                pack_properties({"TAGS": draw(st.sampled_from(TAGS)) or "none", "KEYS": f"i{number}", "UNIQ_KEY": f"I{number}.{unit}"}),
            )
            for unit in range(draw(st.integers(1, 3)))
        ]
        told = replace(told, topic="batched", body=pack_inner(units), sys_flag=INNER_BATCH)
    return replace(told, properties=pack_properties(pairs))


@st.composite
def queued_stores(draw: st.DrawFn, *, index: bool = False) -> Files:
    """A store: rolled, perhaps expired in part, with topics deleted or made again and its newest records not dispatched.

    `index`: with index files too, which may begin late, or lag behind the queues; in half of the stores nothing is amiss.
    """
    messages = numbered(
        [draw(queued_messages(number)) for number in range(draw(st.one_of(st.integers(1, 10), st.integers(20, 40), st.integers(20, 40))))]
    )
    framing: Framing = draw(st.sampled_from(["plain", "plain", "dledger"]))
    size = draw(st.sampled_from([700, 1024, 2048, 8192]))
    log = CommitLog(size, draw(st.sampled_from([0, 0, size * 7])), framing)
    remade_at: dict[str, int] = {}
    tidy = index and draw(st.booleans())
    deleted = [] if tidy else draw(st.lists(st.sampled_from(TOPICS), max_size=2))
    remade = None if tidy else draw(st.sampled_from([*TOPICS, None, None, None]))
    cut = draw(st.integers(0, len(messages)))
    if remade is not None:  # its queue offsets begin again
        later = iter(numbered(message for message in messages[cut:] if message.topic == remade))
        messages = messages[:cut] + [next(later) if message.topic == remade else message for message in messages[cut:]]
    for number, message in enumerate(messages):
        if number == cut and remade is not None:
            remade_at[remade] = log.end
        log.append(message)
    until = 2**63 if tidy else draw(st.sampled_from([2**63, 2**63, *(placed.offset for placed in log.placed)]))
    home = "store/commitlog" if framing == "plain" else "store/dledger-n0/data"
    logs = {f"{home}/{base}": content for base, content in log.files(preallocated=draw(st.booleans())).items()}
    if len(logs) > 1 and draw(st.booleans()):
        del logs[min(logs)]
    side = dispatched(log.placed, deleted=deleted, remade_at=remade_at, until=until)
    if index:
        ends = [placed.offset for placed in log.placed if placed.offset <= until] or [0]
        begin, end = (draw(st.sampled_from(ends)) if not tidy and draw(st.booleans()) else usual for usual in (0, until))
        side |= indexed(log.placed, begin=begin, until=end, tags=draw(st.booleans()))
    return logs | (side or {"store/consumequeue/": b""})


Change = Callable[[Files], Files]


@st.composite
def changed_queues(draw: st.DrawFn, files: Files) -> Files:
    """What may have happened to the queue files: bits, cuts, zeros, files swapped or gone, entries doubled or moved."""
    changed = dict(files)
    names = sorted(name for name, content in files.items() if "consumequeue/" in name and content)
    for _ in range(draw(st.integers(1, 3)) if names else 0):
        where = draw(st.sampled_from(names))
        content = bytearray(changed.get(where, b""))
        kind = draw(st.sampled_from(["bit", "bit", "cut", "zero", "swap", "gone", "copy", "move", "older"]))
        if not content:
            continue
        if kind == "bit":
            place = draw(st.integers(0, len(content) - 1))
            # Not within a tags code: a hash that was changed in place is a lie that nothing short of reading the record can see.
            if place % 20 < 12 or "batch" in where:
                content[place] ^= 1 << draw(st.integers(0, 7))
            changed[where] = bytes(content)
        elif kind == "cut":
            changed[where] = bytes(content[: draw(st.integers(0, len(content)))])
        elif kind == "zero":
            place = draw(st.integers(0, len(content) - 1)) // 20 * 20
            changed[where] = bytes(content[:place]) + bytes(20) + bytes(content[place + 20 :])
        elif kind == "swap":
            other = draw(st.sampled_from(names))
            if other in changed:
                changed[where], changed[other] = changed[other], changed[where]
        elif kind == "gone":
            del changed[where]
        elif kind == "copy":
            place, target = (draw(st.integers(0, len(content) // 20 - 1)) * 20 for _ in range(2)) if len(content) >= 20 else (0, 0)
            content[target : target + 20] = content[place : place + 20]
            changed[where] = bytes(content)
        elif kind == "move" and len(content) >= 20:
            place = draw(st.integers(0, len(content) // 20 - 1)) * 20
            offset = int.from_bytes(content[place : place + 8], "big") + draw(st.integers(-600, 600))
            content[place : place + 8] = (offset % 2**63).to_bytes(8, "big")
            changed[where] = bytes(content)
        else:  # of an older moment, as in a copy of a store that was running
            changed[where] = bytes(content[: len(content) // 40 * 20]).ljust(len(content), b"\0")
    return changed
