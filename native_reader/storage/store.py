"""A store: the files in one broker's storage directory.

A broker that switched to DLedger keeps its plain files, at lower offsets: both are one log.
"""

from __future__ import annotations

import errno
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from native_reader.errors import StoreDamaged, UnreadableError
from native_reader.layout.begin import UP_TO_FRAMING, is_framed
from native_reader.layout.record import ENTRY_HEAD
from native_reader.sentences import say
from native_reader.storage.broker_conf import USUAL_START, StartSettings
from native_reader.storage.packed import SCHEME as PACKED
from native_reader.storage.protocol import DirEntry, storage_of
from native_reader.storage.rocksdb_queues import queues_uri
from native_reader.storage.strays import offset_in

PLAIN, DLEDGER = "plain", "dledger"
QUEUE_DATABASES = ("consumequeue", "consumequeue_rocksdb")
"""Where consume queues can be in RocksDB. The second: 5.5.0+, useSeparateStorePathForRocksdbCQ."""
REFUSED = (errno.EACCES, errno.EPERM)
"""This user may not read the file."""
_FAILED = frozenset(
    getattr(errno, name)
    for name in (
        *("ETIMEDOUT", "ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "ENOTCONN", "EPIPE", "ENETDOWN", "ENETUNREACH", "ENETRESET"),
        *("EHOSTDOWN", "EHOSTUNREACH", "ESTALE", "EAGAIN", "EMFILE", "ENFILE"),
    )
)
_SEGMENT_NAME = re.compile("[0-9]{20}")
_LAST_OFFSET = 2**63 - 2**32
"""Keeps sums of an offset and a record's size within 64 bits."""
_COMPARED = 1 << 20
_SAMPLED = 8


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """One commitlog file: its first offset, and its size and identity at planning time."""

    base: int
    size: int
    uri: str
    identity: int
    framing: str = PLAIN
    may_fail: bool = field(default=False, compare=False)
    """Whether a lenient read passes over what a storage does not give, and not only over what a disk lost."""

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.base + self.size

    @property
    def frame(self) -> int:
        """The size of the header before each record, or 0. A record *starts* at that header."""
        return ENTRY_HEAD if self.framing == DLEDGER else 0

    @property
    def name(self) -> str:
        """Its file name: 20 digits, with a suffix if it is packed."""
        return self.uri.rpartition("/")[2]

    @property
    def is_packed(self) -> bool:
        """Whether it is unpacked while it is read, so that only reads in order are fast."""
        return self.uri.startswith(PACKED)

    @property
    def directory(self) -> str:
        """The URI of the directory with its file."""
        return self.uri.removeprefix(PACKED).rpartition("/")[0]


UNFINISHED = ".repairing"
"""The end of the name of a folder in which a repair writes its new store. A finished one gets its own name."""


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """The paths of one store's parts. A partial copy of a store has only some of them."""

    uri: str
    segments: tuple[Segment, ...]
    consume_queue: str | None = None
    index: str | None = None
    config: str | None = None
    batch_queue: str | None = None
    databases: tuple[str, ...] = ()
    """The directories of databases of RocksDB that hold consume queues (5.2.0+)."""
    strays: tuple[str, ...] = ()
    """The first few names of compressed or renamed segments whose original is missing."""
    packed_from: int | None = None
    """Where those of them begin that lead up to the first segment: the log begins there, but they are not read."""
    reserved_hours: int | None = None
    """For how many hours its broker keeps a segment, by its configuration; None if that is not known."""
    tier: str | None = None
    """The path of tiered storage in its broker's configuration."""
    on_start: StartSettings = USUAL_START
    """What its broker does when it starts, by its configuration."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The directories of its consume queues. Those in a database come as one too."""
        return (*(each for each in (self.consume_queue, self.batch_queue) if each is not None), *map(queues_uri, self.databases))

    @property
    def queue_directories(self) -> tuple[str, ...]:
        """The directories with the files of its consume queues."""
        return tuple(dict.fromkeys(each for each in (self.consume_queue, self.batch_queue, *self.databases) if each is not None))

    @property
    def first_record(self) -> int:
        """The lowest offset that a record can have: after the frame, if there is one."""
        return self.begins + (self.segments[0].frame if self.segments else 0)

    @property
    def begins(self) -> int:
        """The first offset of the log, also if it is in a file that cannot be read."""
        return self.min_offset if self.packed_from is None else self.packed_from

    @property
    def min_offset(self) -> int:
        """The first offset in a segment; 0 if there is none."""
        return self.segments[0].base if self.segments else 0

    def segment_at(self, offset: int) -> Segment | None:
        """The last segment that begins at or before that offset, though it may end before; None if none begins there."""
        after = bisect_right(self.segments, offset, key=lambda segment: segment.base)
        return self.segments[after - 1] if after else None

    def segment_finder(self) -> Callable[[int], Segment | None]:
        """`segment_at` for many offsets."""
        segments, bases = self.segments, [segment.base for segment in self.segments]

        def find(offset: int) -> Segment | None:
            after = bisect_right(bases, offset)
            return segments[after - 1] if after else None

        return find


def past_failures(store: StoreFiles) -> StoreFiles:
    """The store, for a look that says what is not read and goes on with the other files.

    A read of messages does not: what a network does not give today, it gives tomorrow.
    """
    return replace(store, segments=tuple(replace(segment, may_fail=True) for segment in store.segments))


def is_live(store: str) -> bool:
    """Whether a broker on this host uses the store at that URI: it holds a lock on the file `lock`."""
    return storage_of(store).is_locked(f"{store}/lock")


def is_unknown(error: OSError) -> bool:
    """Whether an error tells nothing of a file: this user may not open it, or its storage failed. A broker may be able to read it."""
    return isinstance(error, UnreadableError) and (error.errno is None or error.errno in REFUSED or error.errno in _FAILED)


def is_refused(uri: str) -> bool:
    """Whether this user may not open a file."""
    try:
        storage_of(uri).open(uri).close()
    except OSError as error:
        return error.errno in REFUSED
    return False


def is_closed(directory: str) -> bool:
    """Whether this user may not list a directory."""
    try:
        storage_of(directory).directories(directory)
    except OSError as error:
        return error.errno in REFUSED
    return False


def is_segment_name(name: str) -> bool:
    """Whether a name is a segment's: its first offset in 20 digits."""
    return _SEGMENT_NAME.fullmatch(name) is not None and int(name) < 2**63


def segments_in(directory: str, entries: Iterable[DirEntry], framing: str | None = None) -> list[Segment]:
    """The segments among the entries of one directory; skips empty files, other names and subdirectories."""
    files = [entry for entry in entries if entry.is_file and entry.size and is_segment_name(entry.name)]
    uris = [f"{directory}/{entry.name}" for entry in files]
    for entry, uri in zip(files, uris, strict=True):
        _check_offsets(uri, int(entry.name), entry.size)
    framing = framing or framing_of(uris)
    return [Segment(int(entry.name), entry.size, uri, entry.identity, framing) for entry, uri in zip(files, uris, strict=True)]


def log_of_files(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """The log of these segments, which a tier names in its own way."""
    for segment in segments:
        _check_offsets(segment.uri, segment.base, segment.size)
    return merged(segments)


def _check_offsets(uri: str, base: int, size: int) -> None:
    if base + size > _LAST_OFFSET:
        raise StoreDamaged(say("offsets too large", uri=uri, size=size, last=_LAST_OFFSET))


def framing_of(uris: Sequence[str]) -> str:
    """PLAIN or DLEDGER, from the first segment with enough bytes to tell."""
    problem: UnreadableError | None = None
    for uri in uris[:_SAMPLED]:
        try:
            with storage_of(uri).open(uri) as file:
                (head,) = file.read_ranges([(0, UP_TO_FRAMING)])
        except FileNotFoundError:  # deleted meanwhile
            continue
        except UnreadableError as error:
            problem = error if problem is None and not (error.is_of_disk or error.errno in REFUSED) else problem
            continue  # a read of its records is an error, or skips it
        problem = None
        if (framed := is_framed(head, offset_in(uri.rpartition("/")[2]))) is not None:
            return DLEDGER if framed else PLAIN
    if problem is not None:
        raise problem
    return PLAIN


def merged(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Merge the segments of several directories into one log: sorted by offset, identical copies once."""
    log: list[Segment] = []
    for segment in sorted(segments):
        before = log[-1] if log else None
        if before is None or before.end <= segment.base:
            log.append(segment)
        elif before.base != segment.base or before.size != segment.size or not _same_bytes(before, segment):
            raise StoreDamaged(
                say("two segments", uri=before.uri, size=before.size, segment_uri=segment.uri, segment_size=segment.size, base=segment.base)
            )
    return tuple(log)


def _location(segment: Segment) -> Hashable:
    return storage_of(segment.uri).location(segment.uri)


def _same_bytes(one: Segment, other: Segment) -> bool:
    if one.identity == other.identity and (one.uri == other.uri or _location(one) == _location(other)):
        return True
    storage = storage_of(one.uri)
    buffers = bytearray(_COMPARED), bytearray(_COMPARED)
    with storage.open(one.uri) as left, storage_of(other.uri).open(other.uri) as right:
        offset = 0
        while (offset := min(left.next_data(offset), right.next_data(offset))) < one.size:
            got = left.read_into(offset, buffers[0])
            if got != right.read_into(offset, buffers[1]) or buffers[0][:got] != buffers[1][:got]:
                return False
            if not got:  # both were cut meanwhile
                break
            offset += _COMPARED
    return True


_ZEROS = bytes(1 << 20)


def one_log(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Merge the segments of one store into one log. Files that hold data are never dropped."""
    dledger = [segment for segment in segments if segment.framing == DLEDGER]
    plain = [segment for segment in segments if segment.framing == PLAIN] if dledger else []
    if not _reaching_into(dledger, plain):
        return merged(segments)
    # Brokers allocate files ahead of use, so a file of zeros does not show which offsets a log covers.
    dledger = [segment for segment in dledger if _holds_data(segment)]
    shared = _reaching_into(dledger, plain)
    conflict = next(filter(_holds_data, shared), None)
    if conflict is not None:
        first = min(dledger)
        raise StoreDamaged(
            say(
                "two logs",
                base=first.base,
                uri=conflict.uri,
                first_uri=first.uri,
                directory=conflict.directory,
                first_directory=first.directory,
            )
        )
    return merged([*dledger, *(segment for segment in plain if segment not in shared)])


def _reaching_into(dledger: Sequence[Segment], plain: Sequence[Segment]) -> list[Segment]:
    """The plain segments that end after the start of the DLedger log."""
    return [segment for segment in plain if segment.end > min(dledger).base] if dledger else []


def _holds_data(segment: Segment) -> bool:
    """Whether a file holds a byte other than zero; False if the file is gone."""
    try:
        file = storage_of(segment.uri).open(segment.uri)
    except FileNotFoundError:
        return False
    with file:
        buffer = bytearray(len(_ZEROS))
        offset, end = 0, file.written_end()
        while (offset := file.next_data(offset)) < end:
            got = file.read_into(offset, buffer)
            if not got:  # the file was truncated during the read
                break
            if buffer[:got] != _ZEROS[:got]:
                return True
            offset += len(_ZEROS)
    return False
