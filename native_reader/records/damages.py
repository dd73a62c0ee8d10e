"""Damage: ranges of a segment with invalid bytes, stored as arrays and turned into objects on access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

CHECKSUM = "checksum"
REASONS = {
    "zeros": "zeros at the start of the range: pages that were never written, or were lost",
    "magic": "no record magic where a record must start",
    "size": "an impossible record size",
    "cut off": "a record that extends past the end of the file, or a file that ends inside a record",
    "offset": "a record with another offset: old bytes of a reused file, or bytes inserted or removed before it",
    "lengths": "a record whose lengths do not add up to its size",
    "blank": "a blank that does not end at the end of its file",
    "entry": "a DLedger entry header that is missing or does not match its record",
    "too large": "a record larger than max_record_bytes",
    CHECKSUM: "a complete record whose checksum is wrong; checked only with verify_crc",
    "unreadable": "bytes that could not be read from the disk or file system",
}
"""Every reason for damage, with its meaning."""

RANGE = np.dtype(
    [
        *((name, np.int32) for name in ("segment", "reason", "description")),
        *((name, np.int64) for name in ("start", "end", "before", "after", "number")),
    ]
)
"""The first three are indexes into a list of texts. `number` fills the `{:,}` in the description. -1 is None."""
_WORDS = ("segment", "reason", "description")
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Damage:
    """Invalid bytes: offsets `[start, end)` of a segment.

    `reason` is one of REASONS. `before` is the offset of the record that ends at `start`, `after` of the one that begins at
    `end`; None if there is none.
    """

    segment: str
    start: int
    end: int
    reason: str
    description: str = ""
    before: int | None = None
    after: int | None = None


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
                *(words.setdefault(word, len(words)) for word in (each.segment, each.reason, _escaped(each.description))),
                *(each.start, each.end, _number(each.before), _number(each.after), 0),
            )
            for each in damage
        ]
        return Damages(np.array(rows, RANGE), tuple(words))

    @staticmethod
    def joined(pieces: Iterable[Damages]) -> Damages:
        """Concatenate the ranges of all pieces."""
        pieces = [piece for piece in pieces if len(piece)]
        if not pieces:
            return NO_DAMAGE
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
        ranges = self.ranges
        ranges = ranges[np.lexsort((ranges["end"], ranges["start"], ranks[ranges["segment"]]))] if len(ranges) > 1 else ranges
        by_checksum = Damages(ranges, self._words).are(CHECKSUM)
        touches = (ranges["segment"][1:] == ranges["segment"][:-1]) & (ranges["start"][1:] == ranges["end"][:-1])
        touches &= (ranges["before"][1:] < 0) & ~by_checksum[1:] & ~by_checksum[:-1]
        if not touches.any():
            return Damages(ranges, self._words)
        firsts = np.flatnonzero(np.concatenate(([True], ~touches)))
        lasts = np.concatenate((firsts[1:], [len(ranges)])) - 1
        joined = ranges[firsts]
        for name in ("end", "after"):
            joined[name] = ranges[name][lasts]
        return Damages(joined, self._words)

    def are(self, reason: str) -> NDArray[np.bool_]:
        """Which ranges have that reason."""
        are: NDArray[np.bool_] = self.ranges["reason"] == (self._words.index(reason) if reason in self._words else -1)
        return are

    def where(self, which: NDArray[Any]) -> Damages:
        """A selection of the ranges."""
        return Damages(self.ranges[which], self._words)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The start of each range."""
        return self.ranges["start"]

    @property
    def ends(self) -> NDArray[np.int64]:
        """The first offset after each range."""
        return self.ranges["end"]

    def __len__(self) -> int:
        return len(self.ranges)

    @overload
    def __getitem__(self, which: int) -> Damage: ...

    @overload
    def __getitem__(self, which: slice) -> Damages: ...

    def __getitem__(self, which: int | slice) -> Damage | Damages:
        if isinstance(which, slice):
            return Damages(self.ranges[which], self._words)
        return self._damage(self.ranges[which].item())

    def __iter__(self) -> Iterator[Damage]:
        for begin in range(0, len(self), _ROWS_AT_ONCE):
            yield from map(self._damage, self.ranges[begin : begin + _ROWS_AT_ONCE].tolist())

    def _damage(self, row: tuple[int, ...]) -> Damage:
        segment, reason, description, start, end, before, after, number = row
        words = self._words
        return Damage(words[segment], start, end, words[reason], words[description].format(number), _offset(before), _offset(after))

    def __eq__(self, other: object) -> bool:
        return len(self) == len(other) and all(map(Damage.__eq__, self, other)) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


NO_DAMAGE = Damages(np.empty(0, RANGE), ())


def _escaped(text: str) -> str:
    """Escape a text that takes no number."""
    return text.replace("{", "{{").replace("}", "}}")


def _number(offset: int | None) -> int:
    return -1 if offset is None else offset


def _offset(number: int) -> int | None:
    return None if number < 0 else number
