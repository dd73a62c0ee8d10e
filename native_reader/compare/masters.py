"""Two replicas of a group with a controller: which master wrote which bytes, and whether that agrees with where their bytes part.

Both have the same log up to the end of the newest epoch that has the same number and the same begin in both. A slave cuts its log there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from native_reader.broker.epochs import Epoch, epochs_of
from native_reader.sentences import Said, joined, say, verbatim
from native_reader.storage.store import StoreFiles

_MOST = 5
"""The newest epochs of each store are named."""


class Side(NamedTuple):
    """One of the stores. `end`: of its log."""

    name: str
    files: StoreFiles
    end: int


def said_of_masters(sides: Sequence[Side], same_until: int | None) -> Iterator[Said]:
    """What the epochs of two stores say; nothing if neither has any. `same_until`: where their bytes part; None if that is not known."""
    found = [epochs_of(each.files.uri) for each in sides]
    if not any(found):
        return
    for side, own in zip(sides, found, strict=True):
        if own is None or own.epochs is None:
            yield say("no epochs" if own is None else "no epochs that count", name=side.name)
        else:
            each = [say("one epoch", number=epoch.number, begin=epoch.begin) for epoch in own.epochs[-_MOST:]]
            yield say("epochs of side", name=side.name, file=verbatim(own.uri.rpartition("/")[2]), epochs=joined("commas", each))
    one, other = ([] if own is None else list(own.epochs or ()) for own in found)
    if not one or not other:
        return
    newest = joint(one, other)
    if newest is None:
        yield say("epochs share none")
        return
    until = min(_end(epochs, newest, side.end) for epochs, side in zip((one, other), sides, strict=True))
    yield say("epochs share", number=newest.number, offset=until)
    if same_until is not None:
        kind = "as epochs" if same_until == until else "before epochs" if same_until < until else "after epochs"
        yield say(kind, offset=same_until)


def joint(one: Sequence[Epoch], other: Sequence[Epoch]) -> Epoch | None:
    """The newest epoch with the same number and the same begin in both."""
    return next((each for each in reversed(one) if each in other), None)


def _end(epochs: Sequence[Epoch], epoch: Epoch, end: int) -> int:
    """Where an epoch ends: the next one begins there. `end`: of the log."""
    after = epochs[epochs.index(epoch) + 1 :]
    return after[0].begin if after else end
