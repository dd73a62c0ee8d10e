"""What a broker with DLedger does to its log when it starts. Its peers send it again what it cuts off, as far as they have it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from native_reader.log.dledger import Recovery, dledger_segments, recovery_of
from native_reader.start.reasons import CUT, Cause, cause
from native_reader.start.recovered import RecoveredLog
from native_reader.text import size_of


def refused_by_dledger(log: RecoveredLog) -> Iterator[Cause]:
    """Files that its library does not load: of another size than the first, or with one missing before them (MmapFileList.checkSelf)."""
    segments = dledger_segments(log.files)
    for before, each in pairwise(segments):
        if each.size != segments[0].size or each.base != before.end:
            yield cause("dledger file", file=each.uri, size=segments[0].size)
            return


def dledger_reasons(log: RecoveredLog, recovery: Recovery) -> Iterator[Cause]:
    """What follows from where it cuts the log."""
    if recovery.exits:
        yield cause("dledger exits", offset=recovery.end)
        return
    if messages := log.messages(recovery.end, log.end):
        size = log.end - recovery.end
        yield cause(CUT, offset=recovery.end, messages=messages, bytes=size, size=size_of(size))
        yield cause("dledger peers")
    if recovery.reindexed is not None:
        yield cause("dledger index", number=recovery.reindexed)
    yield from log.kept(recovery.end)


def recovery_by_dledger(log: RecoveredLog) -> Recovery:
    """What it keeps. It looks at the heads of entries only: unless all records were read, nothing is known of them."""
    if not log.is_known:
        log.unread_before = log.end
    return recovery_of(dledger_segments(log.files))
