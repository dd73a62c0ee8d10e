"""The broker's configuration files in JSON: `config/*.json` and a few without a suffix. Which version counts, and what is wrong.

A broker rewrites a file as a whole and keeps the previous version as `.bak`. A crash can leave the file missing, empty or
truncated. Then the broker reads `.bak`, and so does this module.

They are JSON in UTF-8 as fastjson writes it: integer keys may have no quotes, as in `{0:12, 1:7}`. White space differs between versions.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from native_reader.errors import StoreDamaged, shown, warn
from native_reader.sentences import Said, joined, say, words_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import REFUSED, is_unknown

_log = logging.getLogger("native_reader")
BACKUP = ".bak"
_UNKNOWN = FORBIDDEN, FAILED = "forbidden", "not given"
"""Nothing is known of such a file."""
_TABLES = {
    "topics.json": "topicConfigTable",
    "consumerOffset.json": "offsetTable",
    "lmqConsumerOffset.json": "offsetTable",
    "subscriptionGroup.json": "subscriptionGroupTable",
    "delayOffset.json": "offsetTable",
    "consumerFilter.json": "filterDataByTopic",
}
"""The object that each file has in any case."""
_LARGEST = 64 << 20
_EMPTY, _MISSING = say("file empty"), say("file missing")


class ConfigFile(NamedTuple):
    """A configuration file that was read. `uri` may be that of its backup."""

    uri: str
    content: Mapping[str, Any]

    def table(self, name: str) -> Mapping[str, Any]:
        """An object of the file by its key; empty if the key is missing."""
        table = self.content.get(name, {})
        if not isinstance(table, dict):
            raise StoreDamaged(say("not an object", uri=self.uri, name=name, found=_kind_of(table), advice=_ADVICE))
        return table


_ADVICE = Said("restore config")


def read_config(directory: str | None, name: str, table: str, *, beside: str | None = None) -> ConfigFile | None:
    """The file of that name, or its backup if the file is missing or damaged; None if there is neither.

    `table`: a key that the file must have, with an object. Raises StoreDamaged if what is there cannot be used.
    `beside`: where else the store has the same. The file may be an old one then, so its damage is only a warning.
    """
    problems: list[Said] = []
    for uri, content in versions(directory, name):
        problem = content if isinstance(content, Said) else _problem_in(content, table)
        if problem is None:
            assert isinstance(content, dict)
            return ConfigFile(uri, content)
        problems.append(problem if is_unread(problem) else say("at", place=uri, what=problem))
    if problems and beside is None:
        raise StoreDamaged(say("config unreadable", problems=joined("semicolons", problems), advice=_ADVICE))
    if problems:
        warn(_log, say("config read instead", problems=joined("semicolons", problems), instead=str(beside)))
    return None


class Settings(Enum):
    """What a broker that starts makes of a configuration file and its backup."""

    READ = "read"
    OLD = "old"
    """The file cannot be used, its backup can."""
    LOST = "lost"
    """The file cannot be used, and there is no backup: it starts without what was in it."""
    REFUSED = "refused"
    """Neither can be used: it does not start."""
    FORBIDDEN = "forbidden"
    """This user may not open one of them, so it is not known."""
    FAILED = "failed"
    """The storage does not give one of them."""


OF_TIMERS = "timermetrics"
SINCE_5 = ("topicQueueMapping.json", "consumerOrderInfo.json", OF_TIMERS)
"""Files that brokers have loaded since 5.0."""
OFFSETS, LIGHT_OFFSETS = "consumerOffset.json", "lmqConsumerOffset.json"
"""With enableLmq=true, the second is loaded, and not the first."""


def settings_files(directory: str, names: Iterable[str] = tuple(_TABLES)) -> Iterator[tuple[str, Settings]]:
    """The configuration files that are there, or whose backup is, by name. An empty file counts as missing, as for a broker."""
    for name in names:
        table = _TABLES.get(name)
        found = {uri: content if isinstance(content, Said) else _problem_in(content, table) for uri, content in versions(directory, name)}
        if not found:
            continue
        own, backup = (found.get(f"{directory}/{name}{suffix}", _MISSING) for suffix in ("", BACKUP))
        if own is None:
            yield name, Settings.READ
        elif unknown := {each.kind for each in (own, backup) if each is not None}.intersection(_UNKNOWN):
            yield name, Settings.FORBIDDEN if FORBIDDEN in unknown else Settings.FAILED
        elif backup is None:
            yield name, Settings.OLD
        elif backup not in (_MISSING, _EMPTY):
            yield name, Settings.REFUSED
        else:
            yield name, Settings.LOST


def damaged_files(directory: str | None) -> Iterator[tuple[str, Said]]:
    """The files that cannot be used: the URI, and what is wrong, with what is known of the backup. What is only not read: `is_unread`."""
    for name, table in _TABLES.items():
        found = {uri: content if isinstance(content, Said) else _problem_in(content, table) for uri, content in versions(directory, name)}
        uri = f"{directory}/{name}"
        if found and (problem := found.get(uri, _MISSING)) is not None:
            is_whole = found.get(f"{uri}{BACKUP}", _MISSING) is None
            if is_unread(problem) or is_whole:
                yield uri, problem if is_unread(problem) else say("with backup", name=name, problem=problem)
            else:
                yield uri, without(name, say("without backup", name=name, problem=problem))


def without(name: str, said: Said) -> Said:
    """A sentence about a file of the broker's settings that is lost, and what a broker without it does."""
    return say("sentences", first=said, second=Said(f"without {name}"))


def is_unread(problem: Said) -> bool:
    """Whether nothing is known of a file, not even that a broker cannot read it."""
    return problem.kind in _UNKNOWN


def is_newest_read(directory: str | None, name: str = "topics.json") -> bool:
    """Whether a configuration file was read, or is not there. Otherwise its backup tells only what was before."""
    newest = next(versions(directory, name), None)
    return newest is None or not (isinstance(newest[1], Said) and is_unread(newest[1]))


def config_text(directory: str | None, name: str) -> bytes:
    """The bytes of a configuration file; empty if it is missing, unreadable or too large."""
    if directory is None:
        return b""
    try:
        text = _read(f"{directory}/{name}")
    except OSError:
        return b""
    return b"" if isinstance(text, Said) else text


def has_file(directory: str, name: str) -> bool:
    """Whether a configuration file or its backup has content, or may have it: this user may not open all files."""
    for suffix in ("", BACKUP):
        uri = f"{directory}/{name}{suffix}"
        try:
            entry = storage_of(uri).entry(uri)
        except OSError:
            return True
        if entry is not None and entry.is_file and entry.size:
            return True
    return False


def versions(directory: str | None, name: str) -> Iterator[tuple[str, Any]]:
    """The file and its backup, if they exist: the URI, and the value in it or what is wrong."""
    for suffix in ("", BACKUP) if directory is not None else ():
        uri = f"{directory}/{name}{suffix}"
        try:
            text = _read(uri)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = words_of(error)
            if error.errno in REFUSED:
                yield uri, say(FORBIDDEN, where=uri)
            else:
                yield uri, say(FAILED, where=uri, reason=reason) if is_unknown(error) else say("file unreadable", reason=reason)
            continue
        yield uri, text if isinstance(text, Said) else _parsed(text)


def _read(uri: str) -> bytes | Said:
    with storage_of(uri).open(uri) as file:
        size = file.size()
        if size > _LARGEST:
            return say("file too large", size=size, limit=_LARGEST)
        (text,) = file.read_ranges([(0, size)])
    return bytes(text)


def _parsed(text: bytes) -> Any:
    if not text:
        return _EMPTY
    try:
        value = parse(text)
    except NotFastjson as error:
        return say("file not json", position=error.position, expected=error.expected)
    return value if isinstance(value, dict) else say("file not object", found=_kind_of(value))


def _problem_in(content: Any, table: str | None) -> Said | None:
    if table is None:
        return None
    if table not in content:
        return say("file without key", key=table)
    return None if isinstance(content[table], dict) else say("key not object", key=table, found=_kind_of(content[table]))


def _kind_of(value: Any) -> Said:
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return say(kinds[type(value)]) if type(value) in kinds else say("other value", value=shown(value))


def printable(name: str) -> str:
    """The text without lone surrogates, which Arrow cannot store."""
    return name if name.isascii() else name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


DEEPEST = 32
"""Brokers nest at most six levels."""

_TEXT_OR_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*+"?)|(?<![0-9])(-?[0-9]++)(?=\s*+:)', re.DOTALL)
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_LONG_NUMBER = re.compile("[0-9]{4301}")
"""More digits than Python converts."""


class NotFastjson(ValueError):
    """The bytes are not such JSON. `position`: the first byte that is wrong; `expected`: what was expected there."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(f"byte {position:,}: {expected}")
        self.position, self.expected = position, expected


def parse(content: bytes) -> Any:
    """The value in a file; raises NotFastjson. The last of several equal keys counts."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise NotFastjson(error.start, "expected UTF-8") from None
    try:
        value = _loaded(text)
        is_too_deep = _is_too_deep(value)
    except json.JSONDecodeError as error:
        raise NotFastjson(_byte_of(text, error.pos), error.msg.replace("Expecting", "expected")) from None
    except ValueError:
        number = _LONG_NUMBER.search(text)
        raise NotFastjson(_byte_of(text, number.start() if number else 0), "expected a number of fewer digits") from None
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise NotFastjson(_byte_of(text, _first_too_deep(text)), f"expected at most {DEEPEST} nested levels")
    return value


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        return json.loads(_TEXT_OR_BARE_KEY.sub(lambda match: match[1] or f'"{match[2]}"', text))
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, text, _before_quoting(text, error.pos)) from None


def _before_quoting(text: str, position: int) -> int:
    """The position in `text` of a position in the text with quoted keys: each key before it added two characters."""
    added = 0
    for match in _TEXT_OR_BARE_KEY.finditer(text):
        if match.start() + added >= position:
            break
        if match[2] is not None:
            if position < match.end() + added + 2:
                return match.start()
            added += 2
    return position - added


def _byte_of(text: str, position: int) -> int:
    return len(text[:position].encode())


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [each for one in level for each in _items(one) if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _first_too_deep(text: str) -> int:
    depth = 0
    for match in _TEXT_OR_BRACKET.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth > DEEPEST:
            return match.start()
    return 0
