"""Where a message in a retry or DLQ topic comes from.

    topic                            its origin
    `%RETRY%group`, `%DLQ%group`     the property `RETRY_TOPIC`, else `DLQ_ORIGIN_TOPIC`
    `%RETRY%group_topic`             in the name. Pop consumers set no `RETRY_TOPIC`; 5.5.0 sets `ORIGIN_GROUP` to the group
    `%RETRY%group+topic`             in the name, which has one `+`: `enableRetryTopicV2`, 5.2.0 and later

A DLQ message that came from a pop consumer can have the pop retry topic as `RETRY_TOPIC`; its name has the origin then.
`REAL_TOPIC` is not the origin: it is the retry topic for which the message waited.
"""

from __future__ import annotations

from native_reader.layout.kinds import kind_of_topic

SENT_BACK = ("retry", "dlq")
"""The kinds of topics that hold messages which consumers sent back."""
_RETRY, DLQ_PREFIX = "%RETRY%", "%DLQ%"
POP_RETRY_SEPARATORS = _SEPARATOR, _SEPARATOR_2 = "_", "+"
"""KeyBuilder.POP_RETRY_SEPARATOR_V1 and _V2."""


def pop_retry_topic(topic: str, group: str, separator: str) -> str:
    """The retry topic of the pop consumers of a group, for the messages of a topic."""
    return f"{_RETRY}{group}{separator}{topic}"


def is_sent_back(topic: str) -> bool:
    """Whether a topic holds messages that consumers sent back."""
    return kind_of_topic(topic) in SENT_BACK


def origin_of(topic: str, retry_topic: str | None, dlq_origin: str | None, origin_group: str | None) -> str | None:
    """The topic to which a message was sent before a consumer sent it back; null if it cannot be known."""
    group = origin_group or (topic.removeprefix(DLQ_PREFIX) if topic.startswith(DLQ_PREFIX) else None)
    origin = _in_name(topic, origin_group) or retry_topic or dlq_origin
    if origin is not None and origin.startswith(_RETRY):
        return _in_name(origin, group)
    return origin


def _in_name(retry_topic: str, group: str | None) -> str | None:
    """The origin in the name of a pop consumer's retry topic. Names have `_` too, so it is found only if the group is known."""
    name = retry_topic.removeprefix(_RETRY)
    if name == retry_topic:
        return None
    of_group, separator, origin = name.partition(_SEPARATOR_2)
    if separator and of_group and _SEPARATOR_2 not in origin:
        return origin or None
    if group is None or not name.startswith(group + _SEPARATOR):
        return None
    return name.removeprefix(group + _SEPARATOR) or None
