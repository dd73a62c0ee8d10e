"""Commands with which people confirm a result: ours and those of mqadmin, with the real paths and names, to be pasted into a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from native_reader.broker.consumer_offsets import GroupOffset
from native_reader.broker.identity import Identity, identity_of
from native_reader.broker.settings import Topics
from native_reader.layout.kinds import kind_of_topic
from native_reader.markdown import Block, Code, paragraph
from native_reader.storage.local import local_path, local_uri
from native_reader.storage.store import StoreFiles
from native_reader.text import quoted, with_paths

_MOST = 5
"""Topics and groups that are named."""
_IS_NAME = re.compile(r"[%|A-Za-z0-9_][%|A-Za-z0-9_-]*").fullmatch
"""What a broker accepts as the name of a topic or group, and mqadmin does not take for an option."""
_NAME_SERVER, _BROKER = "NAMESRV=127.0.0.1:9876", "broker-a"
"""As in RocketMQ's own examples."""


class Seen(NamedTuple):
    """A queue offset at which a broker has a message."""

    topic: str
    queue_id: int
    offset: int


def _absolute(path: str) -> str:
    return local_path(local_uri(path))


def command(*words: str) -> str:
    """A command of ours."""
    return " ".join(("rmqstore", *map(quoted, words)))


def of_new_store(path: str, files: StoreFiles, topics: Iterable[str], groups: Sequence[GroupOffset], seen: Seen | None) -> list[Block]:
    """Commands that confirm a new store, before and after a broker starts on it. `files`: of the old one. `groups`: that it has.

    `topics`, `groups`: those that matter most come first.
    """
    place = _absolute(path)
    ours = [
        command("doctor", place, "--full"),
        command("verify", place),
        command("stat", place),
        command("tables", place, "queues"),
        command("lag", place, "--by", "queue", "--all"),
    ]
    known, identity = set(Topics(files.config).names()), identity_of(files)
    theirs = [_mqadmin("topicStatus", t=topic) for topic in _first(topics)]
    # mqadmin finds a group by its retry topic only.
    names = _first(each.group or "" for each in groups if f"%RETRY%{each.group}" in known)
    theirs += [_mqadmin("consumerProgress", g=group) for group in names]
    return [
        *paragraph("confirm files"),
        Code("bash", ours),
        *paragraph("confirm broker"),
        Code("bash", [*_where(identity), *_of_cluster(identity), *theirs, *_at(seen)]),
        *(paragraph("confirm groups") if names else ()),
        *(paragraph("confirm message") if seen else ()),
    ]


def of_rescue(files: StoreFiles, folder: str, lost: Seen | None) -> list[Block]:
    """Commands that confirm what a rescue says, and lead on. `lost`: the place of a lost message."""
    place, parts, beside = with_paths(files.uri), tuple(_elsewhere(files)), _absolute(folder)
    ours = [command("verify", place, *parts), command("lag", place, "--verify", *parts)]
    if lost is not None:
        ours.append(command("lost", place, "-o", f"{beside}-lost", "--keys", "keys.txt", *parts))
    ours.append(command("repair", place, f"{beside}-repaired", "--dry-run", *parts))
    blocks = [*paragraph("confirm rescue"), Code("bash", ours), *(paragraph("confirm keys") if lost is not None else ())]
    if theirs := list(_at(lost)):
        blocks += [*paragraph("ask slave"), Code("bash", [*_where(identity_of(files)), *theirs])]
    return blocks


def _elsewhere(files: StoreFiles) -> Iterator[str]:
    """The options that name the parts of a store which are not below its root."""
    parts = {
        "--commitlog": dict.fromkeys(segment.directory for segment in files.segments),
        "--consumequeue": (files.consume_queue,),
        "--index": (files.index,),
    }
    for option, uris in parts.items():
        if any(uri is not None and not f"{uri}/".startswith(f"{files.uri}/") for uri in uris):
            yield from (option, ",".join(with_paths(uri) for uri in uris if uri is not None))


def _first(names: Iterable[str]) -> list[str]:
    """The first few that are valid names, without topics of the broker itself."""
    return [each for each in dict.fromkeys(names) if _IS_NAME(each) and kind_of_topic(each) is None][:_MOST]


def _where(identity: Identity) -> list[str]:
    return [_NAME_SERVER, f"BROKER={quoted(identity.broker or _BROKER)}"]


def _of_cluster(identity: Identity) -> Iterator[str]:
    yield _mqadmin("clusterList")
    if identity.cluster is not None:
        yield _mqadmin("brokerStatus", c=identity.cluster)


def _at(seen: Seen | None) -> Iterator[str]:
    if seen is not None and _IS_NAME(seen.topic):
        yield f'{_mqadmin("queryMsgByOffset", t=seen.topic, i=str(seen.queue_id), o=str(seen.offset))} -b "$BROKER"'


def _mqadmin(name: str, **options: str) -> str:
    """A command of RocketMQ 4.9.7 and 5.x. The letters of its options are the same in all of them."""
    return " ".join((f'sh bin/mqadmin {name} -n "$NAMESRV"', *(f"-{letter} {quoted(value)}" for letter, value in options.items())))
