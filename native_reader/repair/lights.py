"""Which placeholders are in the lost slots of light queues.

A light queue lists records of other topics again, each of which names the queue and its queue offset there. A broker that starts takes
the first slot without an entry for the end of a queue, so a lost slot must have one. It is that of the placeholder which is in the
place of the lost record, and that names the light queue as the record did: a broker that makes the queues again puts it there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.properties import LIGHT_OFFSETS, LIGHT_QUEUES, LIGHT_SEPARATOR
from native_reader.repair.lost import Loose, Lost
from native_reader.repair.refusals import refusal
from native_reader.writing.records import pack_properties

LIGHTS = np.dtype([("queue", "i8"), ("slot", "i8"), ("row", "i8")])
"""A lost slot of a light queue, and the number of the placeholder that is there."""
NO_LIGHTS = np.empty(0, LIGHTS)
NAMES_SIZE = len(LIGHT_QUEUES) + len(LIGHT_OFFSETS) + 4
"""What the two properties take besides their lists."""


def lights_of(
    lost: Lost, placed: NDArray[np.void], spare: Sequence[int], light_lists: Mapping[tuple[str, int], int]
) -> tuple[NDArray[np.void], Mapping[int, bytes], list[Loose]]:
    """The placeholders of all lost slots, the properties of each, and what only groups tell of and has no placeholder.

    `spare`: how many bytes the properties of each can take.
    """
    carried, without = dict[int, dict[int, int]](), list[Loose]()
    for offset, _, queue, slot in lost.lights.tolist():
        row = int(np.searchsorted(placed["offset"], offset, "right")) - 1
        carried.setdefault(row, {})[queue] = slot
        if _size(lost, carried[row]) > spare[row]:
            raise refusal("no room", offset=offset, size=int(placed["size"][row]))
    rows = [row for row, queue in enumerate(placed["queue"].tolist()) if _may_carry(lost.queues[queue], light_lists)]
    for loose in sorted(lost.loose_lights, key=lambda each: (each.is_passed, each.low)):
        slots = range(loose.first, loose.stop)
        chosen = list(_chosen(lost, placed, spare, carried, loose, rows))
        if len(chosen) == len(slots):
            for slot, row in zip(slots, chosen, strict=True):
                carried.setdefault(row, {})[loose.queue] = slot
        elif loose.is_passed:
            without.append(loose)
        else:
            topic, _ = lost.queues[loose.queue]
            raise refusal("no light place", topic=f"'{topic}'", count=len(slots), first=loose.first, found=len(chosen))
    found = np.array([(queue, slot, row) for row, mine in sorted(carried.items()) for queue, slot in mine.items()], LIGHTS)
    return found, {row: _properties(lost, mine) for row, mine in carried.items()}, without


def _may_carry(key: tuple[str, int], light_lists: Mapping[tuple[str, int], int]) -> bool:
    """Whether lost records of a queue may have named light queues: others of it do, or none of it survived."""
    return key in light_lists or (not light_lists and kind_of_topic(key[0]) not in SYSTEM_KINDS)


def _chosen(
    lost: Lost, placed: NDArray[np.void], spare: Sequence[int], carried: Mapping[int, Mapping[int, int]], loose: Loose, rows: Sequence[int]
) -> Iterator[int]:
    """The first placeholders between the neighbours of lost slots that have room for one of them each."""
    left = loose.stop - loose.first
    for row in rows:
        mine = carried.get(row, {})
        if left and loose.low < int(placed["offset"][row]) < loose.high and loose.queue not in mine:
            if _size(lost, {**mine, loose.queue: loose.stop - 1}) <= spare[row]:
                left -= 1
                yield row


def _size(lost: Lost, mine: Mapping[int, int]) -> int:
    return len(_properties(lost, mine))


def _properties(lost: Lost, mine: Mapping[int, int]) -> bytes:
    """The light queues of a placeholder, and its queue offsets in them."""
    separator = LIGHT_SEPARATOR.decode()
    names, slots = separator.join(lost.queues[queue][0] for queue in mine), separator.join(map(str, mine.values()))
    return pack_properties({LIGHT_QUEUES: names, LIGHT_OFFSETS: slots})
