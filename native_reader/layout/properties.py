"""Properties as text: `name \\x01 value \\x02` repeated, and how Java reads them.

    broker                    last \\x02       a batch's own properties behind each message's
    up to 4.9.0               present         4.8.0 ... glued without a separator
    4.9.1 to 5.1.4            missing         4.9.3 ... separated
    5.2.0 and later           present         none after 5.3.3

There is no escaping. 5.2.0+ can end the field in 20 bytes of its own, a checksum of the record:
`__CRC32#` `\\x01` ten decimal digits, last one first, `\\x02`. A batch of an older client can have it glued to its last
value, so it is found by its place, never by its name.
"""

from __future__ import annotations

NAME_END, VALUE_END = 1, 2
CRC_NAME = b"__CRC32#"
CRC_SIZE = 20

TAGS, KEYS, UNIQ_KEY, REAL_TOPIC, DELAY = "TAGS", "KEYS", "UNIQ_KEY", "REAL_TOPIC", "DELAY"
NAMED = (TAGS, KEYS, UNIQ_KEY, REAL_TOPIC, DELAY)
"""The properties that have a column of their own."""

KEYS_SEPARATOR = " "


def crc_trailer(field: bytes) -> int | None:
    """The checksum that the field's last 20 bytes carry, None where they carry none."""
    tail = field[-CRC_SIZE:]
    if len(tail) < CRC_SIZE or not tail.startswith(CRC_NAME) or tail[8] != NAME_END or tail[19] != VALUE_END:
        return None
    digits = tail[9:19]
    return int(digits[::-1]) if all(48 <= digit <= 57 for digit in digits) else None


def without_crc_trailer(field: bytes) -> bytes:
    """The field as a user should see it."""
    return field if crc_trailer(field) is None else field[:-CRC_SIZE]


def parse(field: bytes) -> dict[str, str]:
    """Name to value as Java reads it since 4.9.1: pieces without a name or a value are dropped, the last duplicate wins.

    Exact and slow: for the odd rows, one at a time.
    """
    found: dict[str, str] = {}
    for piece in field.decode("utf-8", "replace").split("\x02"):
        name, separator, value = piece.partition("\x01")
        if name and separator and value:
            found[name] = value
    return found


def delay_level(text: str | None) -> int | None:
    """The DELAY property as a number, None where it is none that fits an i4."""
    if text is None or len(text) > 11 or not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        return None
    level = int(text)
    return level if -(2**31) <= level < 2**31 else None
