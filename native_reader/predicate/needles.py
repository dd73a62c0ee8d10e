"""Bytes that a record must have if a condition is true for one of its messages. Records without them need not be decoded.

They only rule out records: every message that is left is still checked by the condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from native_reader.predicate.patterns import literals_of_like
from native_reader.predicate.tree import And, ArrayContains, ArraysOverlap, Compare, Contains, In, Leaf, Like, Or, Predicate

_FROM_PROPERTIES = ("keys", "tags", "uniq_key", "properties", "real_topic", "lite_topic")
_BODIES = ("body", "body_text", "stored_body")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_MANY, _LONG = 3, 4
_OFFSET_ID = re.compile("(?:[0-9A-F]{32}|[0-9A-F]{56})")


class Needles(NamedTuple):
    """A matching message has one of `properties` in its properties, or one of `bodies` in its body, or is at one of `offsets`."""

    properties: frozenset[bytes] = frozenset()
    bodies: frozenset[bytes] = frozenset()
    offsets: frozenset[int] = frozenset()

    @property
    def is_useful(self) -> bool:
        """Whether a search can rule out most records: any text is found fast, but many short ones are nearly everywhere."""
        return all(0 < len(texts) <= _MANY or min(map(len, texts)) >= _LONG for texts in self[:2] if texts)


@lru_cache(64)
def needles_of(predicate: Predicate) -> Needles | None:
    """What matching records must have; None if that is not known, or no search would rule out many. Each split asks it."""
    found = _needles(predicate)
    return found if found is not None and found.is_useful else None


def _needles(predicate: Predicate) -> Needles | None:
    match predicate:
        case And(parts):
            known = [needles for part in parts if (needles := needles_of(part)) is not None]
            return min(known, key=_work, default=None)
        case Or(parts):
            some = [_needles(part) for part in parts]
            known = [needles for needles in some if needles is not None]
            return Needles(*(frozenset().union(*each) for each in zip(*known, strict=True))) if known and len(known) == len(some) else None
        case Leaf():
            return _of_leaf(predicate)
    return None


def _work(needles: Needles) -> tuple[bool, int, int]:
    """Properties are shorter than bodies; fewer and longer texts are in fewer records."""
    texts = needles.properties | needles.bodies
    return bool(needles.bodies), len(texts), -min(map(len, texts), default=0)


def _of_leaf(leaf: Leaf) -> Needles | None:
    name = leaf.column.name
    match leaf:
        case ArrayContains(_, value) | Compare(_, "=", value) | Contains(_, value):
            values: tuple[object, ...] = (value,)
        case In(_, values) | ArraysOverlap(_, values):
            pass
        case Like(_, pattern):
            values = (max(literals_of_like(pattern), key=len, default=""),)
        case _:
            return None
    if name in ("msg_id", "offset_msg_id"):
        return None if isinstance(leaf, Like | Contains) else _of_ids(name, values)
    texts = _encoded(values)
    if texts is None:
        return None
    if name in _FROM_PROPERTIES:
        return Needles(properties=texts)
    return Needles(bodies=texts) if name in _BODIES else None


def _of_ids(name: str, values: tuple[object, ...]) -> Needles | None:
    """An id is a property of the message, or has its offset."""
    texts = _encoded(values)
    if texts is None:
        return None
    offsets = frozenset(int(text[-16:], 16) for text in values if isinstance(text, str) and _OFFSET_ID.fullmatch(text))
    return Needles(texts if name == "msg_id" else frozenset(), offsets=frozenset(each for each in offsets if each < 2**63))


def _encoded(values: Iterable[object]) -> frozenset[bytes] | None:
    """The bytes of these values; None if one may be written in several ways, or anywhere."""
    texts = {_bytes_of(value) for value in values}
    return None if b"" in texts else frozenset(texts)


def _bytes_of(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str) or _REPLACEMENT in value:  # which stands for any invalid bytes
        return b""
    try:
        return value.encode()
    except UnicodeEncodeError:  # half of a pair
        return b""
