"""Which placeholders are in the lost slots of light queues.

A light queue lists records of other topics. Each of these records names the queue, and its queue offset in it. When a broker starts, a
queue ends at its first slot without an entry, so a lost slot needs an entry. It names the placeholder of the lost record. The placeholder
names the light queue as the record did, so a broker that makes the queues again gives it the same slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

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
    carriers, without = _Carriers(lost, placed, spare), list[Loose]()
    for offset, _, queue, slot in lost.lights.tolist():
        row = int(np.searchsorted(placed["offset"], offset, "right")) - 1
        if not carriers.has_room(row, queue, slot):
            raise refusal("no room", offset=offset, size=int(placed["size"][row]))
        carriers.put(row, queue, slot)
    rows = [row for row, queue in enumerate(placed["queue"].tolist()) if _may_carry(lost.queues[queue], light_lists)]
    for loose in sorted(lost.loose_lights, key=lambda each: (each.is_passed, each.low)):
        slots, chosen = range(loose.first, loose.stop), carriers.chosen(loose, rows)
        if len(chosen) == len(slots):
            for slot, row in zip(slots, chosen, strict=True):
                carriers.put(row, loose.queue, slot)
        elif loose.is_passed:
            without.append(loose)
        else:
            topic, _ = lost.queues[loose.queue]
            raise refusal("no light place", topic=f"'{topic}'", count=len(slots), first=loose.first, found=len(chosen))
    return carriers.entries(), {row: carriers.properties(mine) for row, mine in carriers.slots.items()}, without


def _may_carry(key: tuple[str, int], light_lists: Mapping[tuple[str, int], int]) -> bool:
    """Whether lost records of a queue may have named light queues: others of it do, or none of it survived."""
    return key in light_lists or (not light_lists and kind_of_topic(key[0]) not in SYSTEM_KINDS)


class _Carriers:
    """Placeholders that name light queues. `slots`: the queue offset of each in each of its light queues, by their numbers."""

    def __init__(self, lost: Lost, placed: NDArray[np.void], spare: Sequence[int]) -> None:
        self._queues, self._offsets, self._spare = lost.queues, placed["offset"].tolist(), spare
        self.slots = dict[int, dict[int, int]]()

    def put(self, row: int, queue: int, slot: int) -> None:
        """Give a placeholder a slot."""
        self.slots.setdefault(row, {})[queue] = slot

    def has_room(self, row: int, queue: int, slot: int) -> bool:
        """Whether a placeholder can name a light queue with all that it names already."""
        return len(self.properties({**self.slots.get(row, {}), queue: slot})) <= self._spare[row]

    def chosen(self, loose: Loose, rows: Sequence[int]) -> list[int]:
        """The first ones between the neighbours of lost slots that have room for one of them each; fewer, if there are no more."""
        between = (row for row in rows if loose.low < self._offsets[row] < loose.high and loose.queue not in self.slots.get(row, {}))
        return list(islice((row for row in between if self.has_room(row, loose.queue, loose.stop - 1)), loose.stop - loose.first))

    def properties(self, mine: Mapping[int, int]) -> bytes:
        """The light queues of a placeholder, and its queue offsets in them."""
        separator = LIGHT_SEPARATOR.decode()
        names, slots = separator.join(self._queues[queue][0] for queue in mine), separator.join(map(str, mine.values()))
        return pack_properties({LIGHT_QUEUES: names, LIGHT_OFFSETS: slots})

    def entries(self) -> NDArray[np.void]:
        """All slots, by placeholder."""
        return np.array([(queue, slot, row) for row, mine in sorted(self.slots.items()) for queue, slot in mine.items()], LIGHTS)
