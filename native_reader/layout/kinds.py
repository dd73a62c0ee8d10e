"""The kind of a record, from its topic and sysFlag. Properties do not count: a delivered copy keeps those of the original."""

from __future__ import annotations

from functools import lru_cache

from native_reader.layout.record import COMMITTED, INNER_BATCH, PREPARED, ROLLBACK, TRANSACTION, Bytes, Index, Mask, unsigned_at

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
ROCKSDB_HALF_TOPIC = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
"""Since 5.4.0, with `transRocksDBEnable` and without `transWriteOriginTransHalfEnable`; so is the next."""
ROCKSDB_OP_TOPIC = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"
DELAY_TOPIC = "SCHEDULE_TOPIC_XXXX"
TIMER_TOPIC = "rmq_sys_wheel_timer"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
TRACE_TOPIC_PREFIX = "rmq_sys_TRACE_DATA_"
"""Trace topics of clouds, one for each region. A client can also be given any other topic for its traces."""
MAX_TIME_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
"""Copies of half messages that were checked too often and given up."""

NORMAL = "normal"
KINDS = ("prepared", "rollback", "half", "op", "delay", "timer", "retry", "dlq", "trace", "pop", "system", "committed", "batch", NORMAL)
"""In order of precedence. The first two are transactions of 4.0 to 4.2, which are stored in the topic itself."""

SYSTEM_KINDS = ("half", "op", "delay", "timer", "trace", "pop", "system")
"""Internal to the broker. Retry and DLQ topics hold users' messages."""

# The last: written by proxies, 5.1 and later, to tell each other of their clients.
_SYSTEM_TOPICS = (
    *("TBW102", "BenchmarkTest", MAX_TIME_TOPIC, "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC"),
    "DefaultHeartBeatSyncerTopic",
)
_OF_TOPIC = {
    HALF_TOPIC: "half",
    ROCKSDB_HALF_TOPIC: "half",
    OP_TOPIC: "op",
    ROCKSDB_OP_TOPIC: "op",
    DELAY_TOPIC: "delay",
    TIMER_TOPIC: "timer",
    TRACE_TOPIC: "trace",
    **dict.fromkeys(_SYSTEM_TOPICS, "system"),
}
_OF_PREFIX = (
    *(("%RETRY%", "retry"), ("%DLQ%", "dlq")),
    *(("rmq_sys_REVIVE_LOG_", "pop"), (TRACE_TOPIC_PREFIX, "trace"), ("rmq_sys_", "system")),
)
_REPLY_SUFFIX = "_REPLY_TOPIC"

_PREFIXES = tuple(dict(_OF_PREFIX))

_WORD = 4
_FIRST_WORDS = {int.from_bytes(begin[:_WORD].encode(), "little") for begin in (*_OF_TOPIC, *dict(_OF_PREFIX))}
_LAST_WORD = int.from_bytes(_REPLY_SUFFIX[-_WORD:].encode(), "little")


def may_be_special(u8: Bytes, topics_at: Index, topic_sizes: Index) -> Mask:
    """Which topics may determine a kind, by their first and last four bytes; all others are user topics."""
    words = unsigned_at(u8, _WORD)
    first, last = words[topics_at], words[topics_at + topic_sizes - _WORD]
    special: Mask = last == _LAST_WORD
    for word in _FIRST_WORDS:
        special |= first == word
    return special


@lru_cache(4096)
def kind_of_topic(topic: str | None) -> str | None:
    """The kind, if the topic alone determines it; None for a user topic."""
    if topic is None:
        return None
    kind = _OF_TOPIC.get(topic)
    if kind is None and topic.startswith(_PREFIXES):
        kind = next((kind for prefix, kind in _OF_PREFIX if topic.startswith(prefix)), None)
    if kind is None and topic.endswith(_REPLY_SUFFIX):
        kind = "system"
    return kind


def kind_of(topic: str | None, sys_flag: int) -> str:
    """The kind of one record: the first match in the order of KINDS."""
    transaction = sys_flag & TRANSACTION
    if transaction == PREPARED:
        return "prepared"
    if transaction == ROLLBACK:
        return "rollback"
    kind = kind_of_topic(topic)
    if kind is not None:
        return kind
    if transaction == COMMITTED:
        return "committed"
    return "batch" if sys_flag & INNER_BATCH else NORMAL
