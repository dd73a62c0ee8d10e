"""The arguments that several commands share, and what a user asked for with them.

Each option is one of the engine, under a short name. The engine parses and checks its text, so the command and Python accept the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.spoken import in_words, language_option, listed

if TYPE_CHECKING:
    from datetime import tzinfo

    from native_reader import Store

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FLAGS = {
    "store_path_commit_log": "--commitlog",
    "store_path_consume_queue": "--consumequeue",
    "store_path_index": "--index",
    "broker_conf": "--broker-conf",
    "topic": "--topic",
    "topic_pattern": "--topic-pattern",
    "queue_id": "--queue",
    "tags": "--tag",
    "keys": "--key",
    "msg_id": "--msg-id",
    "text": "--text",
    "starting_timestamp": "--since",
    "ending_timestamp": "--until",
    "where": "--where",
    "time_zone": "--time-zone",
    "columns": "--columns",
    "max_read_rate": "--rate",
    "summary": "--summary",
}
"""The options of the engine that have a name of their own here; `--option name=value` sets any."""

BROKER = "broker"
"""The column with the name of a broker: the first one, of several stores."""
_LETTERS: dict[str, str] = {}
"""The letter of a flag that has one."""
_typed: set[str] = set()
"""Flags that the user gave by their letter. Errors then name the letter: click does not tell which of the two it was."""
_WITHOUT_AN_OPTION = {
    "to": "--to",
    "partition_by": "--partition-by",
    "compression": "--compression",
    "text_bodies": "--text",
    "crc": "--crc",
    "names": "--name",
    "for_version": "--for",
    "now": "--now",
    "disk_free": "--disk-free",
}
_PLACES = tuple(FLAGS)[:4]
_AGO = re.compile(r"\s*([0-9]{1,9})\s*([smhd])\s*")
_OF_MQADMIN = re.compile(r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2})#([0-9]{2}:[0-9]{2}:[0-9]{2}):([0-9]{3})\s*")
"""A time as mqadmin takes it."""
_ADDRESS = re.compile(r"[^\s:]+:[0-9]{1,5}")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BOOLEANS = {"True": "true", "False": "false"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for. `options`: by the engine's names, as text; of some options several texts."""

    paths: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    has_where: bool = False
    """Whether there is a condition beside the groups, which are in `where`, too."""
    options: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    strict: bool = False
    jobs: int = 1
    as_json: bool = False

    def check_paths(self) -> None:
        """An error without any path."""
        if not self.paths and not self.places:
            raise click.UsageError(in_words("no store named"), click.get_current_context())

    def open(self) -> Store:
        """The stores at the paths."""
        self.check_paths()
        import native_reader

        return native_reader.open(self.paths or None, **self.places)

    def brokers(self, store: Store) -> dict[str, str]:
        """The name of each store's broker, by the URI of the store."""
        stores = store.stores
        if len(stores) == len(self.names) == 1 and "=" not in self.names[0]:
            return store.brokers({stores[0].uri: self.names[0]})
        pairs = [each.rpartition("=") for each in self.names]
        if wrong := next((name for path, _, name in pairs if not path), None):
            uri = stores[0].uri
            raise click.UsageError(in_words("name without store", name=wrong, store=uri), click.get_current_context())
        return store.brokers({path: name for path, _, name in pairs})

    def brokers_shown(self, store: Store) -> dict[str, str]:
        """The same, where rows say it: of several stores, or if the user gave a name. Else empty."""
        return self.brokers(store) if self.names or len(store.stores) > 1 else {}

    def values(self, **defaults: object) -> dict[str, Any]:
        """The options as values for the engine. `defaults`: those of the command, where the user set nothing."""
        from native_reader.options import MessageOptions, options_of

        types = {option.name: option.type for option in options_of(MessageOptions)}
        found: dict[str, Any] = dict(defaults)
        for name, given in self.options.items():
            if name not in types:
                from native_reader.errors import OptionError
                from native_reader.sentences import meant, say

                raise OptionError(say("unknown option", name=name, near=meant(name, types), known=listed(types)))
            texts = (given,) if isinstance(given, str) else given
            parsed = [types[name].parse(name, text) for text in texts]
            found[name] = parsed[0] if len(parsed) == 1 else [each for value in parsed for each in _several(value)]
        return self._paced(found)

    def of_messages(self, **defaults: object) -> dict[str, Any]:
        """The options of a read of messages: without --strict, it continues after damage and losses."""
        from native_reader.options import LENIENT

        return self.values(**({} if self.strict else LENIENT), **defaults)

    def _paced(self, values: dict[str, Any]) -> dict[str, Any]:
        """The rate of one part: `--rate` is that of the whole command."""
        if self.jobs > 1 and values.get("max_read_rate") is not None:
            from native_reader.checks import size
            from native_reader.errors import OptionError
            from native_reader.sentences import say

            values["max_read_rate"] = size("max_read_rate", values["max_read_rate"], 1 << 20) // self.jobs
            if values["max_read_rate"] < 1 << 20:
                raise OptionError(say("rate too low", jobs=self.jobs))
        return values

    @property
    def zone(self) -> tzinfo | None:
        """The time zone in which times are shown; None is UTC."""
        name = self.options.get("time_zone")
        if not isinstance(name, str):
            return None
        from native_reader.options import MessageOptions

        return MessageOptions(time_zone=name).zone


def _several(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def spelled(name: str) -> str:
    """The name of an engine's option as it is written here; also of `name=value`."""
    name, equals, value = name.partition("=")
    if flag := (FLAGS | _WITHOUT_AN_OPTION).get(name):
        return _LETTERS[flag] if flag in _typed else flag
    return f"--option {name}{equals}{_BOOLEANS.get(value, value)}"


def note_letters(arguments: Sequence[str]) -> None:
    """Remember which options were given by their letters, before the arguments are parsed: `-b 2h` or `-b2h`."""
    short = {each[:2] for each in arguments if each[:1] == "-" != each[1:2]}
    names = {each.partition("=")[0] for each in arguments if each.startswith("--")}
    _typed.clear()
    _typed.update(flag for flag, letter in _LETTERS.items() if letter in short and flag not in names)


def _rate(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """`100MB/s` is 100MB for the engine."""
    return None if value is None else re.sub(r"/s\s*$", "", value, flags=re.IGNORECASE)


def _moment(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """`90m` is the time so long ago, as the engine reads times; so is `2026-01-31#12:00:00:000`, as mqadmin has them."""
    if value is not None and _ADDRESS.fullmatch(value):
        raise click.BadParameter(in_words("address no time", value=repr(value)), context, parameter)
    if of_mqadmin := _OF_MQADMIN.fullmatch(value or ""):
        return "{} {}.{}".format(*of_mqadmin.groups())
    ago = _AGO.fullmatch(value or "")
    if ago is None:
        return value
    try:
        return (datetime.now(UTC) - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])).isoformat()
    except OverflowError:
        raise click.BadParameter(in_words("before year 1", value=str(value)), context, parameter) from None


def _named(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The options of the form name=value."""
    pairs = [each.partition("=") for each in given]
    if wrong := next((each for each, (name, equals, _) in zip(given, pairs, strict=True) if not (name and equals)), None):
        raise click.BadParameter(in_words("no pair", value=repr(wrong)), context, parameter)
    return {name.strip(): value for name, _, value in pairs}


class Number(click.IntRange):
    """An integer. click itself calls `x` no "valid integer range"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            if param is not None and "-n" in param.opts and _ADDRESS.fullmatch(str(value)):
                self.fail(in_words("no server as number", value=repr(value)), param, ctx)
            least, most = {"value": repr(value), "least": str(self.min)}, str(self.max)
            self.fail(in_words("no number", **least) if self.max is None else in_words("no number to", **least, most=most), param, ctx)


def _option(name: str, *also: str, help: str, **more: Any) -> Decorator:
    """The flag of an engine's option."""
    _LETTERS.update((FLAGS[name], letter) for letter in also)
    return click.option(FLAGS[name], *also, name, help=help, **more)


PATHS: tuple[Decorator, ...] = (click.argument("paths", metavar="STORE...", nargs=-1, type=click.Path()),)
PLACES: tuple[Decorator, ...] = (
    _option("store_path_commit_log", metavar="DIRS", help="Directories of the log, if not below STORE."),
    _option("store_path_consume_queue", metavar="DIR", help="Directory of the consume queues, if not below STORE."),
    _option("store_path_index", metavar="DIR", help="Directory of the index files, if not below STORE."),
    _option("broker_conf", metavar="FILE", help="The broker's configuration file, which contains these paths."),
)
FILTERS: tuple[Decorator, ...] = (
    _option("topic", "-t", multiple=True, help="Only this topic. Several: repeat it, or use commas."),
    _option("topic_pattern", metavar="REGEX", help="Only topics whose whole name matches."),
    _option("queue_id", "-q", metavar="ID", multiple=True, help="Only this queue."),
    _option("tags", metavar="TAG", help="Only this tag. Several: 'paid || refunded'."),
    _option("keys", "-k", metavar="KEY", multiple=True, help="Only messages with this key; with one of them if repeated."),
    _option("msg_id", "-i", metavar="ID", help="Only the message with this id."),
    _option(
        "starting_timestamp",
        "-b",
        metavar="TIME",
        callback=_moment,
        help="Only messages stored at this time or later: '2026-01-31 12:00:00Z'; or so long ago: 90m, 2h, 7d.",
    ),
    _option("ending_timestamp", "-e", metavar="TIME", callback=_moment, help="Only messages stored before this time."),
)
TEXT: tuple[Decorator, ...] = (
    _option("text", metavar="TEXT", help="Only messages with this text in the body or in the value of a property."),
)
SUMMARY: tuple[Decorator, ...] = (
    _option("summary", metavar="DIR", help="Read only what this summary names, where it covers the log: rmqstore summarize."),
)
WRITTEN_SUMMARY: tuple[Decorator, ...] = (
    _option("summary", metavar="DIR", help="Use this summary. If all messages are read, first write the parts that it lacks."),
)
WHERE: tuple[Decorator, ...] = (
    _option("where", "-w", metavar="SQL", help="Only rows for which this condition is true: \"kind = 'dlq'\"."),
    _option("time_zone", metavar="ZONE", help="Zone of the times shown, UTC if not set, and of times written without one: Asia/Shanghai."),
)
GROUPS: tuple[Decorator, ...] = (
    click.option("--group", "-g", "groups", multiple=True, metavar="GROUP", help="Only this consumer group; several, if repeated."),
)
COLUMNS: tuple[Decorator, ...] = (
    _option("columns", "-c", metavar="NAMES", help="These columns, in this order, separated by commas; * is all."),
)
READING: tuple[Decorator, ...] = (
    _option("max_read_rate", metavar="RATE", callback=_rate, help="Read at most this much per second: 100MB/s. Next to a busy broker."),
    click.option("--jobs", "-j", type=Number(1, 1000), metavar="N", default=1, help="Read this many parts in parallel.  [default: 1]"),
    click.option("--option", "more", metavar="NAME=VALUE", multiple=True, callback=_named, help="Any other option: docs/options.md."),
)
NAMES: tuple[Decorator, ...] = (
    click.option(
        "--name",
        "names",
        multiple=True,
        metavar="[STORE=]NAME",
        help="What to call the broker; of several stores, --name STORE=NAME for each.  [default: as it is configured]",
    ),
)
RETENTION: tuple[Decorator, ...] = (
    click.option(
        "--file-reserved-time",
        type=Number(0, 9_999_999),
        metavar="HOURS",
        help="How long the broker keeps a segment.  [default: fileReservedTime of --broker-conf, else 72]",
    ),
)
STRICT: tuple[Decorator, ...] = (click.option("--strict", is_flag=True, help="Stop at the first damage instead of reading on after it."),)
LANGUAGE: tuple[Decorator, ...] = (language_option(),)
_SPOKEN = language_option(expose_value=False)
"""The same for a command that does not ask for it: what it says is in the language anyway."""
AS_JSON: tuple[Decorator, ...] = (click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line."),)


def takes(*groups: tuple[Decorator, ...]) -> Decorator:
    """Add these arguments to a command, which gets their values as one `Asked`, before its own arguments."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def called(**values: Any) -> Any:
            return command(_asked(values), **values)

        result: Callable[..., Any] = called
        arguments: list[Decorator] = [each for group in groups for each in group]
        arguments += () if LANGUAGE[0] in arguments else (_SPOKEN,)
        for each in reversed(arguments):
            result = each(result)
        return result

    return decorated


def _asked(values: dict[str, Any]) -> Asked:
    """Take the shared arguments out of `values`."""
    paths, more = values.pop("paths", ()), values.pop("more", {})
    places = {name: given for name in _PLACES if (given := values.pop(name, None)) is not None}
    given = {name: values.pop(name) for name in FLAGS if name in values}
    flags = {name: value for name, value in given.items() if value not in (None, ())}
    has_where = "where" in flags
    if groups := tuple(values.pop("groups", ())):
        names = ", ".join("'{}'".format(each.replace("\\", r"\\").replace("'", r"\'")) for each in groups)
        flags["where"] = f"group IN ({names})" + (f" AND ({flags['where']})" if has_where else "")
    if twice := next((name for name in more if name in flags), None):
        raise click.UsageError(in_words("same option", name=twice, flag=FLAGS[twice]), click.get_current_context())
    settings = {name: values.pop(name) for name in ("strict", "jobs", "as_json") if name in values}
    return Asked(tuple(paths), places, values.pop("names", ()), groups, has_where, {**flags, **more}, **settings)
