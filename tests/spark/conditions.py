"""Random SQL conditions, over messages with texts and numbers that are hard for conditions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from native_reader.layout.kinds import KINDS
from native_reader.testing.records import COMMIT, PREPARED, Message, pack_properties

ODD = (
    *("", "a", "ab", "A", "100%", "a_b", "a\\b", "\\", "it's", '"', "line\nend", "end\n", "end\r\n", "x\r", "\u2028"),
    *("é", "🚀", "主题", "a.c", "[x]", "Ab1", " 1 ", "k", "K", "\u212a", "ſ", "x\x0by", "a\u0085", "end\n\r", "\x1c", "٣", "\u00a0"),
)
OF_PROPERTIES = ("properties['x']", "properties['no']", "properties['TAGS']")
TEXTS = ("topic", "tags", "kind", "msg_id", "born_host", "segment", "uniq_key", "origin_topic", "body_text", *OF_PROPERTIES)
VALUES = {"kind": KINDS}
"""Columns of which no other values can be asked for."""
NUMBERS = (
    "queue_id",
    "queue_offset",
    "physical_offset",
    "flag",
    "sys_flag",
    "record_size",
    "delay_level",
    "inner_index",
    "reconsume_times",
)
COMPARISONS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
MOMENTS = ("store_timestamp", "born_timestamp")
PATTERNS = (
    *("a", "^a", "b$", "^$", "a|b", "(ab)+", "[a-c]+", "[^a]", "\\d", "\\D+", "\\w$", "\\s", "a?b*", "a{1,2}", "^.$", "^..$", "."),
    *("(?i)AB", "(?:a)b", "a\\.c", "\\[x\\]", "n.e", "\\n", "end$", "d$", "\\r$", "\\n$", "[.]", "[\\\\]", "\\\\"),
    *("é", "[é-🚀]", "\\-", "a+?", "_", "%", "", "(?i)k", "(?i)S", "(?i)[^k]", "(?i)[j-l]", "(?i)[K-a]", "(?s)^.+$", "(?is)E.*D", "\\S"),
    *("x\\sy", "[^\\s]", "[\\S]$", "[\\D]", "^\\W$", "^$|b", "(a|d$)", "(end|x)$", "[a-]", "[-b]", "[K-k]", "(|b)c?", "\\f", "[\\n\\r]$"),
)
BACK = ("%RETRY%group+ab", "%RETRY%group+é", "%DLQ%group")
"""Topics of messages that were sent back; the first two name the origin."""
ROWS = 90


def odd_messages() -> list[Message]:
    random = Random(5)
    messages = []
    for number in range(ROWS):
        pairs = [("TAGS", random.choice(ODD)), ("x", random.choice(ODD)), ("KEYS", f"k{number % 7} {random.choice(ODD)}")]
        pairs = [pair for pair in pairs if pair[1] and random.random() < 0.8]
        message = Message(
            topic=random.choice([text for text in (*ODD, *BACK, *BACK) if text]), queue_id=random.choice([0, 1, -1, 2**31 - 1]),
            queue_offset=number // 3,
            body=random.choice(ODD).encode(), properties=pack_properties(pairs), flag=random.choice([0, 5, -(2**31)]),
            store_timestamp=1_700_000_000_000 + number * 977, sys_flag=random.choice([0, 0, COMMIT, PREPARED]),
            born_timestamp=random.choice([0, -(2**40), 2**62, 1_600_000_000_123 + number]),
        )  # fmt: skip
        messages.append(message)
    return messages


def quoted(random: Random, text: str) -> str:
    """A literal of Spark's SQL."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n" if random.random() < 0.5 else "\n").replace("\r", "\\r")
    if random.random() < 0.2 and '"' not in text:
        return f'"{escaped}"'
    escaped = escaped.replace("'", "\\'")
    return f"r'{text}'" if random.random() < 0.2 and not set(text) & set("'\n\r") else f"'{escaped}'"


def like_pattern(random: Random) -> str:
    pieces = [random.choice(["%", "_", "\\%", "\\_", "\\\\", *ODD[1:5]]) for _ in range(random.randint(0, 4))]
    return "".join(piece if piece.startswith("\\") else piece.replace("\\", "\\\\") for piece in pieces)


def leaf(random: Random) -> str:
    negated = random.choice(["", "", "NOT "])
    match random.randrange(15):
        case 0 | 1:
            column = random.choice(TEXTS)
            return f"{column} {random.choice(COMPARISONS)} {quoted(random, random.choice(VALUES.get(column, ODD)))}"
        case 2 | 3:
            number = random.choice([0, 1, -1, 5, 30, 300, 2**31, -(2**31), 2**62])
            return f"{random.choice(NUMBERS)} {random.choice(['=', '!=', '<', '<=', '>', '>='])} {number}{random.choice(['', '', 'L'])}"
        case 4:
            column = random.choice(TEXTS)
            values = ", ".join(quoted(random, random.choice(VALUES.get(column, ODD))) for _ in range(random.randint(1, 4)))
            return f"{column} {negated}IN ({values})"
        case 5:
            return f"{random.choice(NUMBERS)} {negated}IN ({', '.join(str(random.randint(-1, 40)) for _ in range(random.randint(1, 30)))})"
        case 6:
            low, high = random.randint(-5, 30), random.randint(0, 400)
            return f"{random.choice(NUMBERS)} {negated}BETWEEN {low} AND {high}"
        case 7:
            return f"{random.choice(TEXTS)} {negated}LIKE {quoted(random, like_pattern(random))}"
        case 8:
            return f"{random.choice(TEXTS)} {negated}RLIKE {quoted(random, random.choice(PATTERNS))}"
        case 9:
            return f"{random.choice((*TEXTS, *NUMBERS, *MOMENTS, 'keys', 'body', 'properties'))} IS {negated}NULL"
        case 10:
            return f"{negated}array_contains(keys, {quoted(random, random.choice(['k1', 'k2', 'a', '🚀', 'none']))})"
        case 11:
            moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC) + timedelta(milliseconds=random.randint(0, ROWS * 977))
            written = random.choice([f"{moment:%Y-%m-%d %H:%M:%S}", f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z", f"{moment:%Y-%m-%d %H:%M:%S}+05:30"])
            return f"{random.choice(MOMENTS)} {random.choice(['<', '>=', '=', '!='])} TIMESTAMP '{written}'"
        case 12:
            keys = ", ".join(quoted(random, random.choice(["k1", "k2", "k3", "a", "🚀", "none"])) for _ in range(random.randint(1, 4)))
            return f"{negated}arrays_overlap(keys, array({keys}))"
        case 13:
            return f"{negated}contains({random.choice(('topic', 'tags', 'body_text'))}, {quoted(random, random.choice(ODD))})"
        case _:
            return f"body {random.choice(['=', '!=', '<', '>'])} X'{random.choice(ODD).encode().hex()}'"


def condition(random: Random, depth: int = 2) -> str:
    if depth == 0 or random.random() < 0.3:
        return leaf(random)
    match random.randrange(4):
        case 0:
            return f"NOT ({condition(random, depth - 1)})"
        case 1:
            return f"({condition(random, depth - 1)} OR {condition(random, depth - 1)})"
        case 2:
            return f"({condition(random, depth - 1)}) AND ({leaf(random)} OR {random.choice(['TRUE', 'FALSE'])})"
        case _:
            return f"{leaf(random)} AND NOT {leaf(random)} OR {leaf(random)}"
