"""Looks for what is not repaired, from the files of a store alone."""

from __future__ import annotations

from collections.abc import Iterable

from native_reader.broker.epochs import EPOCHS
from native_reader.broker.settings import Topics
from native_reader.errors import RepairError
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.properties import CRC_NAME
from native_reader.log.recovery import is_controlled
from native_reader.repair.databases import refuse_databases
from native_reader.repair.named import rightly_named
from native_reader.repair.old_queues import OldQueues
from native_reader.repair.records import Choices
from native_reader.repair.refusals import refusal
from native_reader.sentences import ENGLISH, Said, meant
from native_reader.sides.queues import Queue
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.local import local_path
from native_reader.storage.packed import rest_command
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import DLEDGER, UNFINISHED, StoreFiles, is_live
from native_reader.storage.strays import rename_command, unpack_command
from native_reader.witness.contradiction import FOREIGN_SEGMENTS
from native_reader.witness.look import look_at

_LOCAL = "file://"
_SAMPLED = 8
_LOOKED_AT = 64 << 10


def refuse_kinds(files: StoreFiles, choices: Choices) -> None:
    """Raise an error about a store that is not repaired."""
    if not files.uri.startswith(_LOCAL) or any(not each.uri.startswith(_LOCAL) for each in files.segments if not each.is_packed):
        raise refusal("not local", store=files.uri)
    if files.uri.endswith(UNFINISHED):
        raise refusal("unfinished", path=local_path(files.uri))
    if is_live(files.uri):
        raise refusal("in use", store=files.uri)
    if not files.segments:
        raise refusal("no record", store=files.uri)
    is_framed = any(each.framing == DLEDGER for each in files.segments)
    if is_framed and not (choices.plain or choices.topics):
        raise refusal("dledger", store=files.uri)
    if choices.plain and not is_framed:
        raise refusal("plain already", store=files.uri)
    packed = [each.uri for each in files.segments if each.is_packed] + list(files.strays)
    if packed:
        name = packed[0].rpartition("/")[2]
        if command := rest_command(name) if packed[0] in files.strays else None:
            raise refusal("packed cut", name=name, command=command)
        raise refusal("packed", name=packed[0], command=unpack_command(name) or rename_command(name))
    refuse_databases(files, choices.topics)
    if is_controlled(files) and not (choices.single or choices.plain or choices.topics):
        raise refusal("controller", store=files.uri, name=EPOCHS)
    if choices.topics and appends_checksums(files):
        raise refusal("property crc")


def refuse_foreign(files: StoreFiles, reserved_hours: int) -> None:
    """Raise an error about a segment of another broker: its messages are not of this store, and nothing in them says so."""
    for each in look_at(files, files.segments[-1].end, reserved_hours, reads_log=False).contradictions:
        if each.effect == FOREIGN_SEGMENTS:
            raise refusal("foreign", what=each.said)


def why_refused(
    files: StoreFiles, sizes: FileSizes | None, language: str = ENGLISH, queues: Iterable[Queue] | None = None
) -> str | None:  # fmt: skip
    """Why a store is not repaired, as far as its files show, in that language; None if nothing does. `queues`: its own, if known."""
    has_others = files.queue_directories != (files.consume_queue,)
    try:
        refuse_kinds(rightly_named(files), Choices())
        OldQueues(files, sizes, None if has_others else queues)
    except RepairError as error:
        return error.said.text(language) if isinstance(error.said, Said) else str(error)
    return None


def refuse_topics(files: StoreFiles, topics: Iterable[str], known: Iterable[str]) -> None:
    """Raise an error about a topic that cannot be extracted. `known`: those with queues."""
    names = {*known, *Topics(files.config).names()}
    for topic in topics:
        if kind_of_topic(topic) in SYSTEM_KINDS:
            raise refusal("topic of broker", topic=topic)
        if topic not in names:
            users = [name for name in names if kind_of_topic(name) not in SYSTEM_KINDS]
            raise refusal("unknown topic", store=files.uri, topic=topic, near=meant(topic, users))


def appends_checksums(files: StoreFiles) -> bool:
    """Whether its broker appends a checksum to each record: those that verify them reject a placeholder without one."""
    step = max(1, len(files.segments) // _SAMPLED)
    for segment in files.segments[::step]:
        with storage_of(segment.uri).open(segment.uri) as file:
            (content,) = file.read_ranges([(0, _LOOKED_AT)])
        if CRC_NAME in content:
            return True
    return False
