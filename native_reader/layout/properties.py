"""Properties as text: `name \\x01 value \\x02` repeated, and how Java parses it.

    broker             last \\x02       broker             properties of a batch, appended to those of each message
    up to 4.9.0        present         4.8.0 to 4.9.2     without a separator
    4.9.1 to 5.1.4     missing         4.9.3 to 5.3.3     with a separator
    5.2.0 and later    present         others             not appended

There is no escaping. 5.2.0+ can append 20 bytes to the field, a checksum of the record:
`__CRC32#` `\\x01` ten decimal digits in reverse order `\\x02`. In a batch from an older client it may follow the last value
without a separator, so search for it by position, not by name.
"""

from __future__ import annotations

NAME_END, VALUE_END = 1, 2
CRC_NAME = b"__CRC32#"
CRC_SIZE = 20

TAGS, KEYS, UNIQ_KEY, REAL_TOPIC, DELAY = "TAGS", "KEYS", "UNIQ_KEY", "REAL_TOPIC", "DELAY"
LITE_TOPIC = "__LITE_TOPIC"
RETRY_TOPIC, ORIGIN_MESSAGE_ID, ORIGIN_GROUP = "RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "ORIGIN_GROUP"
DLQ_ORIGIN_TOPIC, DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID"
"""Of messages that a consumer sent back: MessageConst."""
KEYS_SEPARATOR = " "
LIGHT_QUEUES, LIGHT_OFFSETS, LIGHT_SEPARATOR = "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET", b","
"""The light queues that also list a record, and its number in each: MessageConst."""
INNER_NUM = "INNER_NUM"
INNER_BASE = "INNER_BASE"
"""How many messages an inner batch holds: MessageConst."""


def crc_trailer(field: bytes) -> int | None:
    """The checksum in the last 20 bytes of the field; None if there is none."""
    tail = field[-CRC_SIZE:]
    if len(tail) < CRC_SIZE or not tail.startswith(CRC_NAME) or tail[8] != NAME_END or tail[19] != VALUE_END:
        return None
    digits = tail[9:19]
    return int(digits[::-1]) if all(48 <= digit <= 57 for digit in digits) else None


def without_crc_trailer(field: bytes) -> bytes:
    """The field without the broker's checksum."""
    return field if crc_trailer(field) is None else field[:-CRC_SIZE]


def parse(field: bytes) -> dict[str, str]:
    """Name to value, as Java parses it since 4.9.1: pieces without a name or a value are dropped, the last duplicate wins.

    It counts at its own place, not at the first one's. Exact but slow: only for unusual rows.
    """
    properties: dict[str, str] = {}
    for piece in field.decode("utf-8", "replace").split("\x02"):
        name, separator, value = piece.partition("\x01")
        if name and separator and value:
            properties.pop(name, None)  # or it would keep the place of the first one
            properties[name] = value
    return properties


def delay_level(text: str | None) -> int | None:
    """The DELAY property as a number; None if it is not an integer that fits an i4."""
    if text is None or len(text) > 11 or not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        return None
    level = int(text)
    return level if -(2**31) <= level < 2**31 else None
