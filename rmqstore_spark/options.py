"""The options of Spark: the engine's under their names in camel case, and a few more. `python -m rmqstore_spark --options` lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from socket import gethostname

from native_reader.api import TABLE_NAMES
from native_reader.checks import Size
from native_reader.errors import DataLoss, OptionError, PathError, StoreError, UnreadableError, did_you_mean
from native_reader.options import ACCESS, FLAG, PLACES, MessageOptions, Option, Options, number, one_of, option, options_of, size_from

MESSAGES = "messages"
_ALL = "python -m rmqstore_spark --options lists all options"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions(Options):
    """Options that only Spark has."""

    table: str = option(MESSAGES, one_of(*TABLE_NAMES), "which table of the store is read; [tables.md](tables.md)")
    filter_pushdown: bool = option(
        False, FLAG, "let Spark pass its filters to the reader; then each query needs its own `load()`: [filters.md](filters.md)"
    )
    limit_pushdown: bool = option(False, FLAG, "let Spark 5 pass the limit of a query to the reader: [spark.md](spark.md#asking-for-less)")
    fail_on_missing_topic: bool = option(
        True, FLAG, "a topic that the queues and the settings do not have is an error: [filters.md](filters.md#what-matches-nothing)"
    )
    max_bytes_per_trigger: Size | None = option(
        None, size_from(1), "in a stream: the maximum bytes of the log per batch, approximately; a batch has at least one record"
    )
    max_offsets_per_trigger: int | None = option(
        None, number(1), "in a stream: the maximum number of records per batch; the reader reads the head of each to count them"
    )


OPTIONS = (*PLACES, *options_of(MessageOptions), *options_of(SparkOptions))
_BY_FOLDED = {option.name.replace("_", ""): option for option in OPTIONS}
_NOT_IN_PYTHON = ("filter_pushdown", "limit_pushdown", "fail_on_missing_topic", "max_bytes_per_trigger", "max_offsets_per_trigger")
_FS = "fs."
_NO_BROKER = "This source reads the files of a broker, and asks none: name the directory of its store, as in load('/data/store')"
_NO_GROUP = "This source is not a consumer: it commits no offsets. A stream keeps its own; startingOffsets says where it begins"
_NO_WAIT = "A batch has what is there when it begins: let the trigger of the stream wait, as in trigger(processingTime='1 minute')"
_OF_OTHER_SOURCES = {
    "subscribe": "Here it is topic",
    "subscribepattern": "Here it is topicPattern",
    "assign": "Here it is topic, and queueId",
    **dict.fromkeys(("nameserver", "nameserveraddr", "namesrvaddr", "bootstrapservers", "brokeraddr", "endpoints"), _NO_BROKER),
    **dict.fromkeys(("consumergroup", "group", "groupid", "groupidprefix"), _NO_GROUP),
    "startingoffsetsbytimestamp": "Here it is startingTimestamp",
    "endingoffsets": "Here it is endingPhysicalOffset, or endingTimestamp",
    "pathglobfilter": "The path itself may have wildcards, as in load('/backup/*/store')",
    "recursivefilelookup": "The path may have wildcards, as in load('/backup/*/store'), or be a directory of stores",
    "modifiedafter": "Here startingTimestamp chooses messages by the time when they were stored",
    "modifiedbefore": "Here endingTimestamp chooses messages by the time when they were stored",
    "includeheaders": "What Kafka calls headers is the column properties: name it in columns, or use columns=*",
    "mergeschema": "All stores have the same columns",
    "minoffsetspertrigger": _NO_WAIT,
    "maxtriggerdelay": _NO_WAIT,
    "maxfilespertrigger": "Here it is maxBytesPerTrigger, or maxOffsetsPerTrigger",
    "latestfirst": "A stream reads a log from its start to its end; startingTimestamp says where it begins",
    "ignorecorruptfiles": "Here it is mode: FAILFAST, DROPMALFORMED or PERMISSIVE",
}
"""By name without case, points and dashes: what sources for Kafka and for RocketMQ's brokers call an option, and what helps here."""
_SPARKS_OWN = {"paths", "location", "provider", "owner", "external", "comment", "collation", "is_managed_location", "table_type"}
"""Options that Spark itself adds: `paths` for `load([...])`, the others for catalog tables."""


def spark_name(name: str) -> str:
    """The name of an option in Spark: max_partition_bytes → maxPartitionBytes; `=False` becomes `=false`."""
    name, equals, value = name.partition("=")
    return re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name) + equals + value.lower()


@contextmanager
def in_sparks_words(planned_on: str | None = None) -> Iterator[None]:
    """Raise the engine's errors with Spark's option names, and without a second traceback.

    `planned_on`: in a task, the host where the read was planned. If the task runs on another one, its errors name both.
    """
    try:
        yield
    except StoreError as error:
        here = gethostname()
        if planned_on not in (None, here):
            error = error.extended(f"This happened on host {here}; the read was planned on {planned_on}{_advice(error)}")
        raise error.spelled(spark_name) from None


def _advice(error: StoreError) -> str:
    if not isinstance(error, (DataLoss, PathError, UnreadableError)):
        return ""
    return ". Every host must see the same files at that path: mount the same storage on all of them, or read from object storage"


def parsed(options: Mapping[str, str]) -> dict[str, object]:
    """The values of all given options by Python name, without `path` and `paths`. They are not checked yet."""
    values: dict[str, object] = {}
    fs = {key.lower()[len(_FS) :]: text for key, text in options.items() if key.lower().startswith(_FS)}
    if fs:
        values["fs"] = ACCESS.check("fs", fs)
    for key, text in options.items():
        folded = key.lower()
        if folded in _SPARKS_OWN or folded.startswith(("option.", _FS)) or folded == "path":
            continue
        known = _BY_FOLDED.get(folded)
        if known is None:
            raise OptionError(_unknown(key))
        values[known.name] = known.type.parse(known.name, text)
    return values


def _unknown(key: str) -> str:
    folded = key.lower().removeprefix("kafka.").replace(".", "").replace("_", "").replace("-", "")
    if (here := _OF_OTHER_SOURCES.get(folded)) is not None:
        return f"unknown option '{key}'. {here}. {_ALL}"
    return f"unknown option '{key}'.{did_you_mean(key, [spark_name(option.name) for option in OPTIONS])} {_ALL}"


def as_markdown() -> str:
    """The option table of the docs."""
    lines = ["| option | in Python | value | default | meaning |", "|---|---|---|---|---|"]
    for each in OPTIONS:
        python = "" if each.name in _NOT_IN_PYTHON else f"`{each.name}`"
        spark = f"{_FS}…" if each.type is ACCESS else spark_name(each.name)
        cells = (f"`{spark}`", python, each.type.values, _default(each), each.meaning)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _default(option: Option) -> str:
    default = str(option.default).lower() if isinstance(option.default, bool) else option.default
    return "" if default is None else f"`{default}`"
