"""What a repair found, made and could not bring back: as Markdown for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from native_reader.layout.kinds import OP_TOPIC
from native_reader.markdown import LONGEST_SENTENCE, table, text
from native_reader.repair.plan import RepairPlan
from native_reader.start import lines_of as lines_of_start
from native_reader.text import counted, size_of

_MOST = 200
"""Rows of one table of the page; the JSON has all."""
_MOST_RANGES = 5


def facts_of(plan: RepairPlan, warnings: Sequence[str]) -> dict[str, Any]:
    """The content of `repair.json`."""
    return {
        "store": plan.files.uri,
        "messages": plan.messages,
        "start": plan.start.to_dict(),
        "lost_messages": plan.lost_messages,
        "filled_bytes": plan.filled_bytes,
        "segments": len(plan.shape.bases),
        "segment_bytes": plan.shape.size,
        "segments_made": plan.shape.made,
        "end": plan.end,
        "ranges": [{"start": start, "stop": stop} for start, stop in _ranges(plan)],
        "queues": list(_lost_queues(plan)),
        "choices": {name: value for name, value in plan.choices._asdict().items() if name != "topics"},
        "topics": list(plan.choices.topics) or None,
        "records_with_another_checksum": sorted(plan.corrected),
        "records_without_properties": list(plan.doubtful),
        "left_out": dict(plan.dropped),
        "groups": list(_groups(plan)),
        "warnings": list(warnings),
    }


def _ranges(plan: RepairPlan) -> Iterator[tuple[int, int]]:
    """The bytes of the log that are made."""
    for hole in plan.shape.holes:
        stop = max(hole.start, min(hole.stop, plan.end)) if hole.is_tail else hole.stop
        if stop > hole.start:
            yield hole.start, stop


def _lost_queues(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The lost queue offsets of each queue that has some."""
    for number, (topic, queue_id) in enumerate(plan.lost.queues):
        slots = np.sort(plan.filling.placed["slot"][plan.filling.placed["queue"] == number])
        if len(slots):
            parts = np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1)
            runs = [(int(part[0]), int(part[-1]) + 1) for part in parts]
            yield {"topic": topic, "queue_id": queue_id, "lost": len(slots), "offsets": runs}


def _groups(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The groups that had not read all lost messages yet, and how many they never get."""
    lost = {(each["topic"], each["queue_id"]): each["offsets"] for each in _lost_queues(plan)}
    for group in plan.groups:
        runs = lost.get((group.topic, group.queue_id if group.queue_id is not None else -1), ())
        missed = sum(max(0, stop - max(start, group.committed or 0)) for start, stop in runs)
        if missed:
            yield {"group": group.group, "topic": group.topic, "queue_id": group.queue_id, "committed": group.committed, "missed": missed}


def lines_of(plan: RepairPlan, path: str | None, warnings: Sequence[str]) -> Iterator[str]:
    """The lines of the page. Without `path`, only the plan was made."""
    yield "# Repair" if plan.moved is None else "# Extract"
    yield ""
    yield f"The {'damaged ' if plan.moved is None else ''}store, which was only read: `{plan.files.uri}`."
    yield "This is the plan. Nothing was written." if path is None else "The new store is in the folder of this page."
    yield ""
    yield from _survived(plan) if plan.moved is None else _copied(plan)
    yield from _result(plan)
    facts = facts_of(plan, warnings)
    for title, lines in (
        ("Lost messages, by queue", _lost(facts)),
        *((("Made parts of the log", _made(facts)),) if plan.moved is None else ()),
        ("What consumer groups miss", _missed(facts)),
        ("Copied as they were", [f"- {text(each, LONGEST_SENTENCE)}" for each in warnings] or ["No file with a warning."]),
        *(() if path is None else ((_IN_PLACE, _SEEN[plan.choices.holes]), (_BEFORE, _NEXT[plan.moved is not None]))),
    ):
        yield from ("", f"## {title}", "", *lines)


def _survived(plan: RepairPlan) -> Iterator[str]:
    yield f"- **Survived:** {counted(plan.messages, 'message')}, each with its place, its queue offset and its ids."
    yield f"- **May a broker be started on the damaged store?** {'; '.join(lines_of_start(plan.start))}."


def _copied(plan: RepairPlan) -> Iterator[str]:
    yield f"- **Topics:** {', '.join(text(topic) for topic in plan.choices.topics)}."
    yield f"- **Copied:** {counted(plan.messages, 'message')}, each with its queue offset, tags, keys and unique id."
    yield (
        "- **Different:** the place of each in the log, and so the ids that brokers make of it (offsetMsgId): an old one finds nothing, "
        "or another message. In committed transactions, the place of the half message is the old one; no consumer uses it."
    )


def _result(plan: RepairPlan) -> Iterator[str]:
    if plan.lost_messages:
        lost = counted(plan.lost_messages, "message")
        yield f"- **Lost:** {lost}. In the place of each is a placeholder, so that all others keep their offsets."
    if plan.doubtful:
        kept = "kept" if plan.choices.keep_doubtful else "counted as lost"
        yield f"- **Without properties:** {counted(len(plan.doubtful), 'message')}, {kept}: tags and keys are gone."
    if plan.corrected:
        offsets = ", ".join(f"{offset:,}" for offset in sorted(plan.corrected)[:_MOST_RANGES])
        more = f" and {len(plan.corrected) - _MOST_RANGES:,} more" if len(plan.corrected) > _MOST_RANGES else ""
        count = counted(len(plan.corrected), "message")
        yield f"- **With another checksum:** {count}, kept. Consumers get a body that is not what was sent. At offset {offsets}{more}."
    if plan.filled_bytes:
        made = f", {counted(len(plan.shape.made), 'segment')} made or completed" if plan.shape.made else ""
        yield f"- **Filled:** {size_of(plan.filled_bytes)} of the log{made}."
    if plan.dropped:
        names = ", ".join(f"{text(topic)} {count:,}" for topic, count in sorted(plan.dropped.items()))
        yield f"- **Left out:** messages whose topic or queue was deleted. They are in the log, and in no queue: {names}."
    if plan.index is None:
        yield f"- **Keys:** {_NO_INDEX}"
    if plan.is_whole:
        yield "- **Lost:** nothing was found to be lost."
    yield f"- **Size:** {size_of(plan.bytes_to_write)}."


def _lost(facts: Mapping[str, Any]) -> list[str]:
    rows = [(each["topic"], each["queue_id"], each["lost"], _ranges_text(each["offsets"])) for each in facts["queues"]]
    if not rows:
        return ["None."]
    lines = table(("topic", "queue", "lost", "queue offsets"), rows[:_MOST])
    if any(each["topic"] == OP_TOPIC for each in facts["queues"]):
        lines += ["", f"Lost in {OP_TOPIC}: the broker may ask a producer again about a finished transaction, and deliver it twice."]
    return lines


def _ranges_text(ranges: Sequence[tuple[int, int]]) -> str:
    """Ranges of queue offsets: 7, 10 to 12."""
    shown = ", ".join(f"{start:,}" if stop == start + 1 else f"{start:,} to {stop - 1:,}" for start, stop in ranges[:_MOST_RANGES])
    return f"{shown} and {len(ranges) - _MOST_RANGES:,} more ranges" if len(ranges) > _MOST_RANGES else shown


def _made(facts: Mapping[str, Any]) -> list[str]:
    rows = [(each["start"], each["stop"], each["stop"] - each["start"]) for each in facts["ranges"]]
    return table(("from offset", "to offset", "bytes"), rows[:_MOST]) if rows else ["None."]


def _missed(facts: Mapping[str, Any]) -> list[str]:
    rows = [(each["group"], each["topic"], each["queue_id"], each["committed"], each["missed"]) for each in facts["groups"]]
    heads = ("group", "topic", "queue", "goes on at", "lost messages after it")
    return table(heads, rows[:_MOST]) if rows else ["None: each group goes on at its offset, and no lost message is after it."]


_NO_INDEX = (
    "no index is made, because no file tells its size. Old messages are then not found by key. To get one, name the broker's "
    "configuration file when you repair."
)
_BEFORE = "Before clients are let in"
_IN_PLACE = "What consumers see in the place of a lost message"
_SEEN = {
    "placeholders": [
        "- Clients of 5.x that push or pull: nothing. So do clients of any version that subscribe to tags.",
        "- Clients of 4.x with `*`, and pop consumers: one empty message with the tag `RMQSTORE_LOST`. Let them skip that tag.",
    ],
    "repeat": [
        "- All clients: the next message of the queue, once more for each lost one.",
        "- After the last message of a queue: clients of 4.x with `*`, and pop consumers get one empty message with the tag "
        "`RMQSTORE_LOST`, other clients nothing.",
        "- `rmqstore verify` finds these entries (`entry-number`, `entry-twice`). To have placeholders again, repair this store once more.",
    ],
}
_LOOK = "2. Look for errors in its `store.log`, and compare `mqadmin topicStatus -t TOPIC` with the queues above."
_REPAIRED = [
    "1. Start a broker on a **copy** of this store, with the configuration of the old one, alone: no slave, no clients.",
    _LOOK,
    "3. Start it on this store, then let consumers in, then producers.",
    "4. Keep the damaged store until then. Slaves copy the new store from the start: empty their directories.",
]
_EXTRACTED = [
    "1. Start a broker on a **copy** of this store, alone, with the old one's sizes of files: `mappedFileSizeCommitLog`, "
    "`mappedFileSizeConsumeQueue`, `maxHashSlotNum`, `maxIndexNum`.",
    _LOOK,
    "3. Start it on this store, then let consumers in, then producers.",
]
_NEXT = {False: _REPAIRED, True: _EXTRACTED}
"""By whether it is an extract."""
