"""Records whose body has a wrong checksum, for a repair that keeps them: where they are, and their right checksums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader.layout.bodies import decompress
from native_reader.layout.record import COMPRESSED, Numbers
from native_reader.records.damages import CHECKSUM, NO_DAMAGE, Damages
from native_reader.repair.records import Reading, record_at
from native_reader.storage.store import StoreFiles
from native_reader.writing.records import crc_of

_MOST_DECOMPRESSED = 64 << 20


class WrongChecksums(NamedTuple):
    """Records with wrong checksums.

    Attributes:
        right: The right checksum of each record that is kept, by its offset.
        dropped: The offsets of the others.
        damage: All damage of the log; these records are part of it.
    """

    right: dict[int, int]
    dropped: Numbers
    damage: Damages


NONE = WrongChecksums({}, np.empty(0, np.int64), NO_DAMAGE)


def wrong_checksums(files: StoreFiles, how: Reading) -> WrongChecksums:
    """Read the log with all checks, and look at each record whose body has a wrong checksum.

    A compressed body that cannot be decompressed is dropped: a client stops there, and loses the messages after it.
    """
    run = how._replace(progress=False, choices=how.choices._replace(crc="drop")).scan(files, ("physical_offset",)).run(how.jobs)
    for _ in run:
        pass
    damage = Damages.of(run.report.damage)
    right, dropped = dict[int, int](), list[int]()
    for each in damage.where(damage.are(CHECKSUM)):
        checksum = _checksum(files, each.start, each.end)
        if checksum is None:
            dropped.append(each.start)
        else:
            right[each.start] = checksum
    return WrongChecksums(right, np.array(dropped, np.int64), damage)


def _checksum(files: StoreFiles, start: int, end: int) -> int | None:
    """The checksum of the body of one record; None if clients cannot decompress it."""
    content, records = record_at(files.segments, start, end - start)
    at, size = int(records.body_at[0]), int(records.body_size[0])
    body, flags = content[at : at + size], int(records.heads["sys_flag"][0])
    is_broken = flags & COMPRESSED and decompress(body, flags, _MOST_DECOMPRESSED) is None
    return None if is_broken else crc_of(body)
