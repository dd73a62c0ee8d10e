"""What tiered storage (5.1+) holds of a store, by its metadata: no segment of the tier is read, so it can be on any storage.

    config/tieredStoreMetadata.json   {"consumeQueueFileSegmentTable":{"broker/topic/queue":{0:{"baseOffset":0,"size":40,…}}}, …}
    tiered_index_file/                in the store, since 5.2
    <8 hex>_<cluster>/                of the posix provider, in a folder of any name: <broker>/<topic>/<queue>/CONSUME_QUEUE/

An ordinary message is in the tier soon after the log has it. When it expires in the log, consumers get it from the tier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from native_reader.broker.config_files import versions
from native_reader.broker.tier_files import METADATA, directories_in, queues_below, settings_in, tier_folders, tier_path
from native_reader.storage.protocol import storage_of

_ENTRY = 20
_DELETED = 2
"""The status of a segment that the broker has deleted."""
_EMPTY = 2**62
"""Store times of an empty segment are above it."""


Sizes = dict[tuple[str, int], dict[int, int]]
"""By queue, where files begin, and their sizes."""


class TieredQueue(NamedTuple):
    """The queue offsets of one queue in the tier. A batch of several messages stands several times in it, at one offset."""

    first: int
    stop: int
    messages: int


class Tier(NamedTuple):
    """What is known of the tier of a store. `queues`, `size`, `first_time`, `last_time` (milliseconds): None if nothing says it.

    `sign`: what shows that there is one, a kind of sentence.
    """

    where: str
    sign: str
    queues: Mapping[tuple[str, int], TieredQueue] | None = None
    size: int | None = None
    first_time: int | None = None
    last_time: int | None = None

    @property
    def messages(self) -> int | None:
        """The number of its messages."""
        return None if self.queues is None else sum(queue.messages for queue in self.queues.values())

    @property
    def topics(self) -> list[str]:
        """Their topics."""
        return sorted({topic for (topic, _), queue in (self.queues or {}).items() if queue.messages})

    def holds(self, topic: str, queue_id: int, first: int, stop: int) -> int:
        """How many queue offsets in `[first, stop)` of that queue it has."""
        queue = None if self.queues is None else self.queues.get((topic, queue_id))
        return 0 if queue is None else max(0, min(stop, queue.stop) - max(first, queue.first))


def tier_of(store: str, config: str | None, conf: str | None = None) -> Tier | None:
    """The tier of the store at that URI; None if nothing shows one. `conf`: the URI of the broker's configuration file."""
    for uri, content in versions(config, METADATA):
        found = _of_metadata(uri, content)
        if found.messages != 0:
            return found
    return _of_files(store, tier_path(store, conf)) or _of_settings(store, conf)


def sizes_of(config: str | None) -> tuple[Sizes, Sizes]:
    """What the metadata counts: the files of the entries of each queue, and those of its records."""
    for _, content in versions(config, METADATA):
        if isinstance(content, dict):
            entries, records = (_segments(content.get(f"{kind}FileSegmentTable")) for kind in ("consumeQueue", "commitLog"))
            if entries and records is not None:
                return _sizes_in(entries), _sizes_in(records)
    return {}, {}


def _of_metadata(uri: str, content: Any) -> Tier:
    if not isinstance(content, dict):
        return Tier(uri, "tier by damaged metadata")
    entries = _segments(content.get("consumeQueueFileSegmentTable"))
    logs = _segments(content.get("commitLogFileSegmentTable"))
    if entries is None or logs is None:
        return Tier(uri, "tier by damaged metadata")
    queues: dict[tuple[str, int], TieredQueue] = {}
    for queue, base, size, _ in entries:
        queues[queue] = _joined(queues.get(queue), base, size)
    times = [time for *_, (first, last) in logs for time in (first, last) if 0 < time < _EMPTY]
    size = sum(size for _, _, size, _ in logs)
    return Tier(uri, "tier by metadata", queues, size, min(times, default=None), max(times, default=None))


_Segment = tuple[tuple[str, int], int, int, tuple[int, int]]
"""Topic and queue, where it begins, its size, its first and last store time."""


def _segments(table: Any) -> list[_Segment] | None:
    """The segments in a table; None if it is not one as 5.1.1 and later write it."""
    try:
        return [
            (_queue_in(name), int(each["baseOffset"]), int(each["size"]), (int(each["beginTimestamp"]), int(each["endTimestamp"])))
            for name, segments in table.items()
            for each in segments.values()
            if each["status"] != _DELETED
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _sizes_in(segments: list[_Segment]) -> Sizes:
    found: Sizes = {}
    for queue, base, size, _ in segments:
        if size:
            found.setdefault(queue, {})[base] = size
    return found


def _queue_in(name: str) -> tuple[str, int]:
    """Of `broker/topic/queue`: a topic has no slash."""
    _, topic, queue = name.rsplit("/", 2)
    return topic, int(queue)


def _joined(known: TieredQueue | None, base: int, size: int) -> TieredQueue:
    first, stop, messages = base // _ENTRY, (base + size) // _ENTRY, size // _ENTRY
    if known is None:
        return TieredQueue(first, stop, messages)
    return TieredQueue(min(known.first, first), max(known.stop, stop), known.messages + messages)


def _of_files(store: str, configured: str | None) -> Tier | None:
    """The tier of the posix provider, by its files."""
    if storage_of(store).is_slow:
        return None
    for folder in tier_folders(store, configured):
        queues, size = dict[tuple[str, int], TieredQueue](), 0
        for each in queues_below(folder):
            for file in each.entries:
                queues[each.name] = _joined(queues.get(each.name), file.base, file.size)
            size += sum(file.size for file in each.logs)
        if queues:
            return Tier(folder.rpartition("/")[0], "tier by files", queues, size)
    if "tiered_index_file" in directories_in(store):
        return Tier(f"{store}/tiered_index_file", "tier by index")
    return None


def _of_settings(store: str, conf: str | None) -> Tier | None:
    """The tier that a broker's configuration file names."""
    for uri in (conf, f"{store}/broker.conf"):
        if (settings := settings_in(uri)) is not None:
            return Tier(settings or str(uri), "tier by settings")
    return None
