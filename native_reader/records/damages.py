"""Damage: ranges of a segment with invalid bytes, stored as arrays and turned into objects on access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

CHECKSUM = "checksum"
REASONS = {
    "zeros": "nothing but zeros at first: pages that were never written, or lost",
    "magic": "no magic of a record where one must stand",
    "size": "a size that no record can have",
    "cut off": "a record that goes on behind the end of the file, or a file that ends inside of one",
    "offset": "a record that says it lies elsewhere: old bytes of a file used again, or bytes put in or left out before it",
    "lengths": "a record whose lengths do not add up to its size",
    "blank": "a blank that does not reach to the end of its file",
    "entry": "no DLedger entry, or one that does not fit its record",
    "too large": "a record over max_record_bytes",
    CHECKSUM: "a whole record whose checksum is wrong; looked for with verify_crc only",
    "unreadable": "bytes that the file system or the disk did not give",
}
"""Every reason for damage, with its meaning."""

RANGE = np.dtype(
    [
        *((name, np.int32) for name in ("segment", "reason", "found")),
        *((name, np.int64) for name in ("start", "end", "before", "behind", "number")),
    ]
)
"""The first three are indexes into a list of texts. `number` fills the `{:,}` in the text of `found`. -1 is None."""
_WORDS = ("segment", "reason", "found")
_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Damage:
    """Invalid bytes: offsets `[start, end)` of a segment.

    `reason` is one of REASONS; `found` describes the bytes. `before` is the offset of the record that ends at `start`,
    `behind` of the one that begins at `end`; None if there is none.
    """

    segment: str
    start: int
    end: int
    reason: str
    found: str = ""
    before: int | None = None
    behind: int | None = None


class Damages(Sequence[Damage]):
    """Many ranges, at 52 bytes each; equal to any sequence of the same ranges."""

    def __init__(self, ranges: NDArray[np.void], words: Sequence[str]) -> None:
        self.ranges, self._words = ranges, words

    @staticmethod
    def of(damage: Iterable[Damage]) -> Damages:
        """Convert ranges to arrays."""
        if isinstance(damage, Damages):
            return damage
        words: dict[str, int] = {}
        rows = [
            (
                *(words.setdefault(word, len(words)) for word in (each.segment, each.reason, _plain(each.found))),
                *(each.start, each.end, _number(each.before), _number(each.behind), 0),
            )
            for each in damage
        ]
        return Damages(np.array(rows, RANGE), tuple(words))

    @staticmethod
    def joined(pieces: Iterable[Damages]) -> Damages:
        """Concatenate the ranges of all pieces."""
        pieces = [piece for piece in pieces if len(piece)]
        if not pieces:
            return _NO_DAMAGE
        words: dict[str, int] = {}
        ranges = [np.empty(0, RANGE)]
        for piece in pieces:
            codes = np.array([words.setdefault(word, len(words)) for word in piece._words], np.int32)
            ranges.append(piece.ranges.copy())
            for name in _WORDS if len(codes) else ():
                ranges[-1][name] = codes[piece.ranges[name]]
        return Damages(np.concatenate(ranges), tuple(words))

    def merged(self) -> Damages:
        """Sort by segment and offset, and join ranges that touch at a cut. A record with a wrong checksum stays separate."""
        if not len(self):
            return self
        order = np.argsort(np.array(self._words, np.str_), kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        found = self.ranges
        found = found[np.lexsort((found["end"], found["start"], ranks[found["segment"]]))] if len(found) > 1 else found
        by_checksum = found["reason"] == (self._words.index(CHECKSUM) if CHECKSUM in self._words else -1)
        touches = (found["segment"][1:] == found["segment"][:-1]) & (found["start"][1:] == found["end"][:-1])
        touches &= (found["before"][1:] < 0) & ~by_checksum[1:] & ~by_checksum[:-1]
        if not touches.any():
            return Damages(found, self._words)
        firsts = np.flatnonzero(np.concatenate(([True], ~touches)))
        lasts = np.concatenate((firsts[1:], [len(found)])) - 1
        whole = found[firsts]
        for name in ("end", "behind"):
            whole[name] = found[name][lasts]
        return Damages(whole, self._words)

    def where(self, which: NDArray[Any]) -> Damages:
        """A selection of the ranges."""
        return Damages(self.ranges[which], self._words)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The start of each range."""
        found: NDArray[np.int64] = self.ranges["start"]
        return found

    @property
    def ends(self) -> NDArray[np.int64]:
        """The first offset after each range."""
        found: NDArray[np.int64] = self.ranges["end"]
        return found

    def __len__(self) -> int:
        return len(self.ranges)

    @overload
    def __getitem__(self, which: int) -> Damage: ...

    @overload
    def __getitem__(self, which: slice) -> Damages: ...

    def __getitem__(self, which: int | slice) -> Damage | Damages:
        if isinstance(which, slice):
            return Damages(self.ranges[which], self._words)
        return self._told(self.ranges[which].item())

    def __iter__(self) -> Iterator[Damage]:
        for begin in range(0, len(self), _AT_ONCE):
            yield from map(self._told, self.ranges[begin : begin + _AT_ONCE].tolist())

    def _told(self, row: tuple[int, ...]) -> Damage:
        segment, reason, found, start, end, before, behind, number = row
        words = self._words
        return Damage(words[segment], start, end, words[reason], words[found].format(number), _maybe(before), _maybe(behind))

    def __eq__(self, other: object) -> bool:
        return len(self) == len(other) and all(map(Damage.__eq__, self, other)) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


_NO_DAMAGE = Damages(np.empty(0, RANGE), ())


def _plain(text: str) -> str:
    """Escape a text that takes no number."""
    return text.replace("{", "{{").replace("}", "}}")


def _number(offset: int | None) -> int:
    return -1 if offset is None else offset


def _maybe(offset: int) -> int | None:
    return None if offset < 0 else offset
