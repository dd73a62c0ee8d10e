"""What brokers of each version do when they start: a table, with the class and the line of the source that says so.

Classes: DefaultMessageStore (DMS), CommitLog (CL), MappedFileQueue (MFQ), ConsumeQueueStore (CQS). A line number is that of the last
version of its row; of the last row, that of 5.5.0. Sources before 5.4.0 are those of the tags, later ones those of Maven Central.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from native_reader.broker.versions import version_key
from native_reader.errors import OptionError, shown
from native_reader.log.recovery import (
    Begins,
    by_queues,
    by_times,
    has_abort,
    of_ten_by_checkpoint,
    of_ten_by_queues,
    of_ten_by_times,
    third_last,
)
from native_reader.sentences import say
from native_reader.storage.store import StoreFiles


class Requeues(Enum):
    """Which records a broker that was stopped cleanly puts into its queues when it starts."""

    NONE = "none"
    """Dispatching begins at the end of the log."""
    AFTER_ALL = "after all"
    """Those after the largest place that any queue has reached. After a place that it cannot read, it skips the rest of the segment."""
    CHECKED = "checked"
    """Of those that it checks, those that begin after the largest place that any queue has reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Versions of RocketMQ that start in the same way, and what they do."""

    first: str
    last: str | None
    """The last of them; None for the newest."""
    stopped: Begins
    """Where it begins to check the log if the broker before it stopped cleanly."""
    killed: Begins
    """Where it begins if not."""
    killed_in_rocksdb: Begins = by_queues
    """Where it begins then with all queues in a database (5.2.0+)."""
    requeues: Requeues
    """What it puts into queues after a clean stop. After a crash, each puts in all that it checks."""
    truncates_always: bool = False
    """Whether queues lose their entries after the end of the log in any case, and not only if one of them has reached it."""
    truncates_killed: bool = False
    """Whether they lose them in any case after a crash, and never after a clean stop."""
    refuses_sizes: bool = True
    """Whether a file of another size stops it. If not, it takes that file and those after it for not there."""
    refuses_folders: bool = False
    """Whether a folder among segments or queue files is treated as a file of another size."""
    refuses_empty: bool = False
    """Whether an empty last file does. If not, it is deleted."""
    reserves_first: bool = True
    """Whether it reserves memory of a record's size before it looks whether the record can be so large."""
    checks_queue_types: bool = True
    """Whether queues of another kind than that of their topic stop it."""
    needs_index: bool = True
    """Whether an index file that cannot be loaded stops it: a folder with a number as its name in `index`."""
    has_timers: bool = True
    """Whether it has a timer wheel, and loads the settings files of 5.0."""
    has_light_queues: bool = True
    """Whether it can have light queues."""

    @property
    def span(self) -> str:
        """The versions, as people write them."""
        return span_of([self])

    def truncates(self, *, killed: bool, reached: int, cut: int) -> bool:
        """Whether queues lose their entries after the end of the log. `reached`: by the queue that has come farthest."""
        return killed if self.truncates_killed else self.truncates_always or reached >= cut

    def begins(self, store: StoreFiles, reached: int = -1, *, in_rocksdb: bool = False) -> int:
        """The first offset that it checks when it starts on that store.

        `reached`: where the last record with a queue entry ends; -1 if no queue has entries. `in_rocksdb`: all queues are in a database.
        """
        if not store.segments:
            return 0
        begins = self.stopped if not has_abort(store) else self.killed_in_rocksdb if in_rocksdb else self.killed
        return begins(store, reached)


_of_4 = partial(
    Line, stopped=third_last, killed=by_times, refuses_folders=True, refuses_empty=True, checks_queue_types=False, needs_index=False,
    has_timers=False,
)  # fmt: skip
_until_light = partial(_of_4, has_light_queues=False)
_of_5 = partial(Line, stopped=third_last, killed=by_times, requeues=Requeues.NONE)
_of_ten = partial(
    Line, stopped=of_ten_by_queues, killed_in_rocksdb=of_ten_by_queues, requeues=Requeues.CHECKED, truncates_always=True,
    reserves_first=False,
)  # fmt: skip
LINES = (
    # MFQ:157 `length not matched message store config value, ignore it`. DMS:231 `setReputFromOffset(this.commitLog.getMaxOffset())`.
    _until_light(first="4.0.0", last="4.3.1", requeues=Requeues.NONE, refuses_sizes=False, truncates_killed=True),
    # CL:161 `recoverNormally(long maxPhyOffsetOfConsumeQueue)` truncates the queues.
    _until_light(first="4.3.2", last="4.4.x", requeues=Requeues.NONE, refuses_sizes=False),
    # MFQ:157 `please check it manually`, then `return false`. DMS:240 `maxPhysicalPosInLogicQueue`.
    _until_light(first="4.5.0", last="4.9.1", requeues=Requeues.AFTER_ALL),
    # MFQ:165 `ignore it`, in its new method `doLoad`.
    _until_light(first="4.9.2", last="4.9.2", requeues=Requeues.AFTER_ALL, refuses_sizes=False),
    # MFQ:165 `please check it manually`. DMS:252, DMS:2072 `result.getSize() - readSize`. BrokerController:187 `isEnableLmq`.
    # The last version is 4.9.8.
    _of_4(first="4.9.3", last="4.9.x", requeues=Requeues.AFTER_ALL),
    # CL:304 `boolean doDispatch = false`, DMS:338 `setReputFromOffset(this.commitLog.getMaxOffset())`. DMS:287 `indexService.load`: its
    # result is not used.
    _of_5(first="5.0.0", last="5.0.x", refuses_folders=True, refuses_empty=True, needs_index=False),
    # MFQ:251 `if (file.isDirectory())`, then `continue`. DMS: `result = this.indexService.load`.
    _of_5(first="5.1.0", last="5.1.2", refuses_empty=True),
    # MFQ:258 `size is 0, auto delete`. CL:338 `doDispatch = false`, CL:446 `new byte[totalSize]`.
    _of_5(first="5.1.3", last="5.3.1"),
    # CL:351 `doDispatch = dispatchRequest.getCommitLogOffset() > maxPhyOffsetOfConsumeQueue`, CL:443 `remaining() < totalSize - 4`.
    Line(first="5.3.2", last="5.3.x", stopped=by_queues, killed=by_times, requeues=Requeues.CHECKED, reserves_first=False),
    # CL:343 `commitLogRecoverMaxNum`, CL:895 `isMappedFileMatchedRecover`: the first record has to be whole.
    _of_ten(first="5.4.0", last="5.4.x", killed=of_ten_by_times),
    # CQS:625 `isMappedFileMatchedRecover`, CQS:118 `getLogicsPhysicalOffset` of the checkpoint.
    _of_ten(first="5.5.0", last=None, killed=of_ten_by_checkpoint),
)
"""From the oldest to the newest."""


def lines_since(version: str) -> tuple[Line, ...]:
    """The brokers of that version or later."""
    least = version_key(version)
    return tuple(line for line in LINES if line.last is None or _last(line.last) >= least)


def line_of(version: str) -> Line:
    """The brokers of that version."""
    return lines_since(version)[0]


def checked_version(text: str) -> str:
    """A version that was asked for. Raises OptionError if it is none."""
    if re.fullmatch(r"[45]\.[0-9]{1,3}\.[0-9]{1,3}", text) is None:
        raise OptionError(say("wrong version", text=shown(text)))
    return text


def _last(version: str) -> tuple[int, ...]:
    """A key not below that of each version of a series: 5.3.x is before 5.4.0, and not before 5.3.3."""
    return version_key(version.replace("x", "1000"))


def span_of(lines: Iterable[Line]) -> str:
    """The versions of some lines, as people write them: neighbours as one span."""
    spans: list[list[Line]] = []
    for line in sorted(lines, key=LINES.index):
        if spans and LINES.index(spans[-1][-1]) + 1 == LINES.index(line):
            spans[-1].append(line)
        else:
            spans.append([line])
    return ", ".join(_span(each[0].first, each[-1].last) for each in spans)


def _span(first: str, last: str | None) -> str:
    if last is None:
        return f"{first}+"
    is_series = first.endswith(".0") and last == f"{first[:-1]}x"
    return last if is_series or first == last else f"{first}–{last}"
