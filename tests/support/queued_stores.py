"""Small stores with consume queues, written by a simple dispatcher. It follows the format and does not use the reader."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from native_reader.layout.properties import parse
from native_reader.testing.java import hash_code
from native_reader.testing.logs import CommitLog, Framing, Placed, name
from native_reader.testing.records import COMMIT, INNER_BATCH, PREPARED, ROLLBACK, InnerMessage, Message, pack_inner, pack_properties
from support.indexed_stores import TRANSACTION, indexed
from support.stores import Files

DELAY_TOPIC = "SCHEDULE_TOPIC_XXXX"
TOPICS = ("orders", "orders-2", "%RETRY%g", "payments", "T")
TAGS = ("paid", "AaAa", "BBBB", "", "polygenelubricants")


def dispatched(
    placed: Iterable[Placed],
    *,
    deleted: Iterable[str] = (),
    recreated_at: Mapping[str, int] | None = None,
    until: int = 2**63,
    file: int = 160,
    slave: bool = False,
) -> Files:
    """The queue files for these records.

    `deleted`: topics without queues; `recreated_at`: the offset at which a topic's queues start; `until`: the end of dispatching.
    `slave`: inner batches have one entry for each record, in ordinary queues, because a slave does not know the topics' types.
    """
    queues: dict[tuple[str, str, int], dict[int, bytes]] = defaultdict(dict)
    for each in placed:
        message = each.message
        topic = message.topic if isinstance(message.topic, str) else message.topic.decode()
        alive = topic not in deleted and each.offset >= (recreated_at or {}).get(topic, 0) and each.offset < until
        if not alive or message.sys_flag & TRANSACTION in (PREPARED, ROLLBACK):
            continue
        properties = parse(message.properties)
        tag = properties.get("TAGS")
        code = message.store_timestamp + 5000 if topic == DELAY_TOPIC and "DELAY" in properties else hash_code(tag) if tag else 0
        entry = struct.pack(">qiq", each.offset, each.size, code)
        if message.sys_flag & INNER_BATCH and not slave:
            entry += struct.pack(">qqhii", message.store_timestamp, message.queue_offset, _units(message), -1, 0)
            queues["batchconsumequeue", topic, message.queue_id][len(queues["batchconsumequeue", topic, message.queue_id])] = entry
        else:
            queue = queues["consumequeue", topic, message.queue_id]
            queue[len(queue) if slave else message.queue_offset] = entry
        for light in filter(None, properties.get("INNER_MULTI_DISPATCH", "").split(",")):
            queues["consumequeue", light, 0][len(queues["consumequeue", light, 0])] = entry
    files: Files = {}
    for (kind, topic, queue), entries in queues.items():
        files |= _files(f"store/{kind}/{topic}/{queue}", entries, file if kind == "consumequeue" else 46 * (file // 40))
    return files


def _files(directory: str, entries: dict[int, bytes], size: int) -> Files:
    """Queue files of `size` bytes. Blank entries precede the first one, as a broker writes them; zeros follow the last one."""
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
    """The messages with the queue offsets that a broker would assign."""
    next_offset: dict[tuple[object, int], int] = defaultdict(int)
    result = []
    for message in messages:
        plain = message.sys_flag & TRANSACTION not in (PREPARED, ROLLBACK)
        queue = message.topic, message.queue_id
        result.append(replace(message, queue_offset=next_offset[queue] if plain else 0))
        next_offset[queue] += plain * (_units(message) if message.sys_flag & INNER_BATCH else 1)
    return result


def with_transactions(messages: list[Message], choose: Callable[[list[int]], int]) -> list[Message]:
    """Connect each commit and rollback with an open prepared message, as brokers 4.0 to 4.2 do.

    It gets that message's topic and properties. If none is open, it becomes an ordinary message. `choose` returns the index of one.
    """
    result: list[Message] = []
    prepared: list[int] = []
    for number, message in enumerate(messages):
        state = message.sys_flag & TRANSACTION
        if state == PREPARED:
            prepared.append(number)
        elif state and prepared:
            begun = result[prepared.pop(choose(prepared))]
            body = b"" if state == ROLLBACK else begun.body
            message = replace(message, topic=begun.topic, queue_id=begun.queue_id, properties=begun.properties, body=body)  # noqa: PLW2901
        elif state:
            message = replace(message, sys_flag=0)  # noqa: PLW2901
        result.append(message)
    return result


@st.composite
def queued_messages(draw: st.DrawFn, number: int) -> Message:
    """One message, with few different topics, queues and tags, so that predicates select some."""
    rare = ["prepared", "prepared", "rollback", "committed", "light", "delay", "batch", "batch", "v2"]
    kind = draw(st.sampled_from(["plain"] * 8 + rare))
    tag, topic = draw(st.sampled_from(TAGS)), draw(st.sampled_from(TOPICS))
    pairs = [("TAGS", tag)] * bool(tag) + [("KEYS", f"k{number} all"), ("UNIQ_KEY", f"U{number:04}")]
    body = b"x" * draw(st.sampled_from([0, 1, 40, 40, 40, 200]))
    message = Message(
        topic=topic, queue_id=draw(st.integers(0, 2)), body=body, store_timestamp=1_700_000_000_000 + number * 1000,
        sys_flag={"prepared": PREPARED, "rollback": ROLLBACK, "committed": COMMIT}.get(kind, 0), version=2 if kind == "v2" else 1,
    )  # fmt: skip
    if kind == "light":
        pairs.append(("INNER_MULTI_DISPATCH", "%LMQ%a,%LMQ%b"))
    if kind == "delay":
        message, pairs = replace(message, topic=DELAY_TOPIC), [*pairs, ("DELAY", "3")]
    if kind == "batch":
        message = replace(message, topic="batched", body=draw(batches(number, 3)), sys_flag=INNER_BATCH)
    return replace(message, properties=pack_properties(pairs))


@st.composite
def batches(draw: st.DrawFn, number: int, most: int) -> bytes:
    """The body of an inner batch."""
    units = [{"TAGS": draw(st.sampled_from(TAGS)) or "none", "KEYS": f"i{number}"} for _ in range(draw(st.integers(1, most)))]
    return pack_inner(
        InnerMessage(b"%d" % unit, pack_properties(each | {"UNIQ_KEY": f"I{number}.{unit}"})) for unit, each in enumerate(units)
    )


@st.composite
def queues_in_small_files(draw: st.DrawFn, topics: Sequence[str]) -> Files:
    """A store of one segment in which each topic has one queue of many files, so that checks of a queue's ends miss its middle."""
    messages = []
    for number in range(draw(st.integers(30, 40))):
        topic = topics[number % len(topics)] if draw(st.integers(0, 3)) else draw(st.sampled_from(topics))
        properties = pack_properties({"TAGS": draw(st.sampled_from(TAGS[:2]))})
        one = Message(topic=topic, queue_id=0, properties=properties, body=b"x" * 40, store_timestamp=1_700_000_000_000 + number * 1000)
        messages.append(replace(one, body=draw(batches(number, 5)), sys_flag=INNER_BATCH) if topic == "batched" else one)
    log = CommitLog(16384)
    for message in numbered(messages):
        log.append(message)
    return {f"store/commitlog/{base}": content for base, content in log.files().items()} | dispatched(log.placed, file=80)


@st.composite
def queued_stores(draw: st.DrawFn, *, index: bool = False) -> Files:
    """A store, possibly with expired segments, deleted or recreated topics, and its newest records not dispatched.

    `index`: add index files, which may start late or be incomplete. Then half of the stores have complete queues and index files.
    """
    count = draw(st.one_of(st.integers(1, 10), st.integers(20, 40), st.integers(20, 40)))
    drawn = [draw(queued_messages(number)) for number in range(count)]
    messages = numbered(with_transactions(drawn, lambda some: draw(st.integers(0, len(some) - 1))))
    framing: Framing = draw(st.sampled_from(["plain", "plain", "dledger"]))
    size = draw(st.sampled_from([700, 1024, 2048, 8192]))
    log = CommitLog(size, draw(st.sampled_from([0, 0, size * 7])), framing)
    recreated_at: dict[str, int] = {}
    tidy = index and draw(st.booleans())
    deleted = [] if tidy else draw(st.lists(st.sampled_from(TOPICS), max_size=2))
    recreated = None if tidy else draw(st.sampled_from([*TOPICS, None, None, None]))
    cut = draw(st.integers(0, len(messages)))
    if recreated is not None:  # its queue offsets start at 0 again
        later = iter(numbered(message for message in messages[cut:] if message.topic == recreated))
        messages = messages[:cut] + [next(later) if message.topic == recreated else message for message in messages[cut:]]
    for number, message in enumerate(messages):
        if number == cut and recreated is not None:
            recreated_at[recreated] = log.end
        log.append(message)
    until = 2**63 if tidy else draw(st.sampled_from([2**63, 2**63, *(placed.offset for placed in log.placed)]))
    home = "store/commitlog" if framing == "plain" else "store/dledger-n0/data"
    logs = {f"{home}/{base}": content for base, content in log.files(preallocated=draw(st.booleans())).items()}
    if len(logs) > 1 and draw(st.booleans()):
        del logs[min(logs)]
    side = dispatched(log.placed, deleted=deleted, recreated_at=recreated_at, until=until, file=draw(st.sampled_from([40, 80, 160])))
    if index:
        ends = [placed.offset for placed in log.placed if placed.offset <= until] or [0]
        begin, end = (draw(st.sampled_from(ends)) if not tidy and draw(st.booleans()) else usual for usual in (0, until))
        side |= indexed(log.placed, begin=begin, until=end, tags=draw(st.booleans()))
    return logs | (side or {"store/consumequeue/": b""})


Change = Callable[[Files], Files]
CHANGES = ("bit", "bit", "cut", "zero", "swap", "rename", "recount", "delete", "copy", "move", "older")
WHOLE_FILE_CHANGES = ("exchange", "exchange", "rename", "rename", "overwrite", "swap")


@st.composite
def changed_queues(draw: st.DrawFn, files: Files, kinds: Sequence[str] = CHANGES, most: int = 3) -> Files:
    """Damaged queue files: flipped bits, zeros, files truncated, swapped, renamed or missing, entries copied, moved or recounted."""
    changed = dict(files)
    names = sorted(name for name, content in files.items() if "consumequeue/" in name and content)
    for _ in range(draw(st.integers(1, most)) if names else 0):
        where = draw(st.sampled_from(names))
        content = bytearray(changed.get(where, b""))
        kind = draw(st.sampled_from(kinds))
        if not content:
            continue
        if kind == "bit":
            place = draw(st.integers(0, len(content) - 1))
            # Not in a tags code: a wrong hash is detected only by reading the record.
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
        elif kind == "exchange":  # swap files of the same name from two queues
            other = draw(st.sampled_from([name for name in names if name.endswith(where[-21:])]))
            if other in changed:
                changed[where], changed[other] = changed[other], changed[where]
        elif kind == "overwrite":
            changed[where] = changed.get(draw(st.sampled_from(names)), content)
        elif kind == "rename":  # by a few entries, so that each gets another queue offset
            directory, _, first = where.rpartition("/")
            width = 46 if "batch" in where else 20
            del changed[where]
            changed[f"{directory}/{max(0, int(first) + width * draw(st.sampled_from([-1, 1, -2, 4]))):020}"] = bytes(content)
        elif kind == "recount":
            of_batches = [name for name in names if "batch" in name and len(changed.get(name, b"")) >= 46]
            if of_batches:
                where = draw(st.sampled_from(of_batches))
                content = bytearray(changed[where])
                place = draw(st.integers(0, len(content) // 46 - 1)) * 46
                field, size = draw(st.sampled_from([(place + 28, 8), (place + 36, 2)]))  # its first offset, or its count
                value = int.from_bytes(content[field : field + size]) + draw(st.integers(-4, 4))
                content[field : field + size] = (value % (1 << 8 * size)).to_bytes(size)
                changed[where] = bytes(content)
        elif kind == "delete":
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
        else:  # an older state, as in a copy of a running store
            changed[where] = bytes(content[: len(content) // 40 * 20]).ljust(len(content), b"\0")
    return changed
