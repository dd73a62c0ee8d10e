"""All options: how each text is parsed, what it means, and whether it is implemented. `python -m rmqstore_spark` prints the table.

An option is a field of `MessageOptions` or a parameter of `native_reader.open`, with the same name in snake case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from native_reader.errors import OptionError, nearest
from native_reader.log.tail import TAILS
from native_reader.plan.estimate import ACCESSES
from native_reader.scan.read import MODES

_ALL = "python -m rmqstore_spark lists all options"


class Kind(NamedTuple):
    """How the text of an option is parsed; `values`: the allowed values, for the docs."""

    values: str
    read: Callable[[str, str], object]


class Option(NamedTuple):
    """One option. `built`: True if implemented, False if not, or the implemented values."""

    name: str
    kind: Kind
    default: str
    what: str
    built: bool | tuple[str, ...] = True
    sparks: bool = False
    """Whether only Spark has this option."""


def python_name(name: str) -> str:
    """The name of the option in Python: maxPartitionBytes → max_partition_bytes."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def _text(name: str, text: str) -> str:
    if not text.strip():
        raise OptionError(f"{name} is empty. Leave it out to ask for nothing special")
    return text


def _texts(name: str, text: str) -> list[str]:
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise OptionError(f"{name}={text!r}: a name between commas is missing")
    return found


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", text):
        raise OptionError(f"{name}={text!r} is no whole number")
    return int(text)


def _numbers(name: str, text: str) -> list[int]:
    return [_number(name, each) for each in text.split(",")]


def _flag(name: str, text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise OptionError(f"{name}={text!r} is neither true nor false")
    return text.strip().lower() == "true"


def _moment(name: str, text: str) -> int | str:
    return int(text) if re.fullmatch(r"\s*-?[0-9]{1,19}\s*", text) else _text(name, text)


def one_of(*values: str) -> Kind:
    """One of `words`; case does not matter."""

    def read(name: str, text: str) -> str:
        by_folded = {value.lower(): value for value in values}
        found = by_folded.get(text.strip().lower())
        if found is None:
            raise OptionError(f"{name}={text!r} is none of {', '.join(values)}.{nearest(text, values)}")
        return found

    return Kind(", ".join(f"`{value}`" for value in values), read)


TEXT = Kind("text", _text)
PATH = Kind("a path", _text)
PATHS = Kind("paths, with commas between", _text)
TEXTS = Kind("names, with commas between", _texts)
PATTERN = Kind("a regular expression", _text)
NUMBER = Kind("a number", _number)
NUMBERS = Kind("numbers, with commas between", _numbers)
FLAG = Kind("`true`, `false`", _flag)
SIZE = Kind("a size", _text)
MOMENT = Kind("a moment", _moment)

OPTIONS = (
    Option("path", PATH, "", "a store (the broker's `storePathRootDir`), a commitlog directory, one segment, a parent of stores, a glob"),
    Option("storePathCommitLog", PATHS, "", "where the log lies, if not below `path`"),
    Option("storePathConsumeQueue", PATH, "", "where the consume queues lie, if not below `path`"),
    Option("storePathIndex", PATH, "", "where the index files lie, if not below `path`"),
    Option("brokerConf", PATH, "", "the broker's own configuration file, which says where the parts lie"),
    Option("columns", TEXT, "13 columns", "these columns, in this order; `heads`: all but bodies and properties; `*`: all"),
    Option("topic", TEXTS, "", "only these topics"),
    Option("topicPattern", PATTERN, "", "only topics that it fits as a whole"),
    Option("queueId", NUMBERS, "", "only these queues"),
    Option("startingTimestamp", MOMENT, "", "stored at this moment or later"),
    Option("endingTimestamp", MOMENT, "", "stored before this moment"),
    Option("startingPhysicalOffset", NUMBER, "", "at this place of the log or behind; segments that lie before it are not read"),
    Option("endingPhysicalOffset", NUMBER, "", "before this place of the log; segments that lie behind it are not read"),
    Option("where", TEXT, "", "a condition in SQL: `topic = 'orders' AND queue_id IN (0, 1)`; [filters.md](filters.md)"),
    Option("tags", TEXT, "", "only messages with one of these tags, as a consumer says it: `paid || refunded`"),
    Option("keys", TEXT, "", "only messages with this key"),
    Option("msgId", TEXT, "", "only the message with this id, as clients and consoles show it"),
    Option(
        "startingOffsets",
        TEXT,
        "",
        'queue offsets to begin at: `{"orders": {"0": 100}}`; a queue that is not named is read from its beginning. '
        "Of a stream also `earliest` or `latest`, which comes unasked: [streaming.md](streaming.md)",
    ),
    Option("endingOffsets", TEXT, "", "queue offsets to end before, in the same form"),
    Option(
        "timeZone", TEXT, "", "the zone of moments that name none: `Asia/Shanghai`, `UTC`, `+08:00`; without it such a moment is an error"
    ),
    Option("access", one_of(*ACCESSES), "auto", "how rows are found: [filters.md](filters.md)"),
    Option("maxHashSlotNum", NUMBER, "", "how many slots an index file has, where the broker's configuration sets it or `maxIndexNum`"),
    Option("timeSkewTolerance", TEXT, "1m", "how far the broker's clock may have stepped back: `90s`, `10m`"),
    Option("systemTopics", FLAG, "true", "`false` hides what a broker keeps for itself; retry and DLQ topics stay"),
    Option("verifyCrc", FLAG, "false", "check the body's checksum, and that of the record where it has one; a wrong one is an error"),
    Option("mode", one_of(*MODES), "FAILFAST", "where the log is damaged: fail, leave it out, or a row for each damaged range"),
    Option("columnNameOfCorruptRecord", TEXT, "", "one column more: `corrupt_record` under this name"),
    Option(
        "failOnDataLoss", FLAG, "true", "`false` reads on although a segment between others is missing, or is cut short while it is read"
    ),
    Option("ignoreMissingFiles", FLAG, "false", "read on although a segment is gone since planning"),
    Option("tail", one_of(*TAILS), "available", "up to where the log is read; `all`: with old records after its end"),
    Option("maxPartitionBytes", SIZE, "128m", "the largest range of the log in one task"),
    Option("minPartitions", NUMBER, "1", "at least so many tasks, where the log is large enough to be cut"),
    Option("maxRecordBytes", SIZE, "64m", "a larger record is an error"),
    Option("maxDecompressedBytes", SIZE, "64m", "a larger body becomes null"),
    Option("table", one_of("messages", "damage", "segments"), "messages", "what to read of the store; [recovery.md](recovery.md)"),
    Option(
        "filterPushdown",
        FLAG,
        "false",
        "let Spark hand its filters to the reader; then each query needs a `load()` of its own: [filters.md](filters.md)",
        sparks=True,
    ),
    Option("maxBytesPerTrigger", SIZE, "", "of a stream: about the most bytes of the log in a batch, and a record at least", sparks=True),
    Option("maxOffsetsPerTrigger", NUMBER, "", "of a stream: the most records in a batch; the heads of all are read for it", sparks=True),
    Option("maxReadRate", SIZE, "", "bytes a second that a task reads at most; 1m is the least"),
)
_BY_FOLDED = {option.name.lower(): option for option in OPTIONS}
_SPARKS_OWN = {"paths", "location", "provider", "owner", "external", "comment", "collation", "is_managed_location", "table_type"}
"""Options that Spark itself adds: `paths` for `load([...])`, the others for catalog tables."""


def checked(options: Mapping[str, str]) -> dict[str, object]:
    """The values of all given options by Python name, without `path` and `paths`."""
    values: dict[str, object] = {}
    for key, text in options.items():
        folded = key.lower()
        if folded in _SPARKS_OWN or folded.startswith("option.") or folded == "path":
            continue
        option = _BY_FOLDED.get(folded)
        if option is None:
            raise OptionError(_unknown(key))
        value = option.kind.read(option.name, text) if option.built else None
        if option.built is True:
            values[python_name(option.name)] = value
        elif not option.built:
            raise OptionError(f"the option {option.name} is not built yet. Leave it out; {_ALL}")
        elif str(value).lower() not in [built.lower() for built in option.built]:
            raise OptionError(f"{option.name}={text} is not built yet. Today there is {option.name}={' or '.join(option.built)}")
    return values


def _unknown(key: str) -> str:
    if key.startswith("fs."):
        return f"the option {key} is not built yet: stores are read from file systems of the machines that run Spark, nothing else"
    return f"unknown option '{key}'.{nearest(key, [option.name for option in OPTIONS])} {_ALL}"


def as_markdown() -> str:
    """The option table of the docs."""
    lines = ["| option | in Python | value | default | meaning |", "|---|---|---|---|---|"]
    for option in OPTIONS:
        default = f"`{option.default}`" if option.default and " " not in option.default else option.default
        built = (
            ""
            if option.built is True
            else " (not yet)"
            if not option.built
            else f" (today {' or '.join(f'`{each}`' for each in option.built)})"
        )
        python = f"`{python_name(option.name)}`" if option.built is True and not option.sparks else ""
        cells = (f"`{option.name}`", python, option.kind.values, default, option.what + built)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)
