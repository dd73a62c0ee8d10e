"""The store's paths, its retention and its broker's names, in a broker's own configuration file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from native_reader.errors import PathError
from native_reader.sentences import Said, say
from native_reader.storage.protocol import storage_of

_LARGEST = 1 << 20
LONGEST = 9_999_999
"""Hours of `fileReservedTime`: more than a thousand years."""
_QUEUE_ENTRY = 20
_TIMER_LOG = 100 << 20
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class StorePaths:
    """Paths of a store's parts that are not below its root, as written in the broker's configuration."""

    root: str | None = None
    commit_log: tuple[str, ...] = ()
    dledger: str | None = None
    consume_queue: str | None = None
    index: str | None = None


@dataclass(frozen=True, slots=True)
class FileSizes:
    """How large a broker makes its files, and its delay levels in seconds. The defaults are the broker's."""

    segment: int = 1 << 30
    queue: int = 300_000 * 20
    index_slots: int = 5_000_000
    index_entries: int = 20_000_000
    delays: tuple[int, ...] = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
    batch_queue: int = 300_000 * 46


def file_sizes(uri: str) -> FileSizes:
    """The sizes in a broker's configuration file. What it does not set, or sets to something else than a number, is the default."""
    settings, usual = _settings_in(uri), FileSizes()

    number = partial(_number, settings)
    levels = re.findall(r"(\d{1,9})([smhd])", settings.get("messageDelayLevel", ""))
    return FileSizes(
        number("mappedFileSizeCommitLog", usual.segment),
        -(-number("mappedFileSizeConsumeQueue", usual.queue) // _QUEUE_ENTRY) * _QUEUE_ENTRY,  # as the broker rounds it
        number("maxHashSlotNum", usual.index_slots),
        number("maxIndexNum", usual.index_entries),
        tuple(int(count) * _SECONDS[unit] for count, unit in levels) or usual.delays,
        number("mapperFileSizeBatchConsumeQueue", usual.batch_queue),
    )


def _number(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name, "")
    return int(text) if re.fullmatch("[1-9][0-9]{0,18}", text) else default


def reserved_hours(uri: str) -> int | None:
    """For how many hours the broker keeps a segment; None if the file does not say."""
    hours = _settings_in(uri).get("fileReservedTime", "")
    return int(hours) if re.fullmatch("[0-9]{1,7}", hours) else None


@dataclass(frozen=True, slots=True)
class StartSettings:
    """What a broker's configuration says about its start. The defaults are the broker's."""

    rechecks_queues: bool = False
    """Whether a broker that was stopped cleanly looks in the log for what its queues lack: `recheckReputOffsetFromCq` (5.0+)."""
    segments: int = 10
    """The number of last segments from which the first to check is chosen: `commitLogRecoverMaxNum` (5.4+)."""
    checks_bodies: bool = True
    """Whether it checks the checksums of bodies when it starts: `checkCRCOnRecover`."""
    has_timers: bool = True
    """Whether it loads the files of its timer: `timerWheelEnable` (5.0+)."""
    timer_log: int | None = None
    """The size of the files of the timer log: `mappedFileSizeTimerLog`. None if its configuration is not known."""
    has_light_queues: bool | None = None
    """Whether it has light queues, with another file of offsets: `enableLmq` (4.9.3+). None if its configuration is not known."""


USUAL_START = StartSettings()


def start_settings(uri: str) -> StartSettings:
    """What a broker's configuration file says about its start."""
    settings, usual = _settings_in(uri), USUAL_START

    def flag(name: str, default: bool) -> bool:
        return settings[name].lower() == "true" if name in settings else default

    return StartSettings(
        flag("recheckReputOffsetFromCq", usual.rechecks_queues),
        _number(settings, "commitLogRecoverMaxNum", usual.segments),  # a broker takes 0 for that, too
        flag("checkCRCOnRecover", usual.checks_bodies),
        flag("timerWheelEnable", usual.has_timers),
        _number(settings, "mappedFileSizeTimerLog", _TIMER_LOG),
        flag("enableLmq", default=False),
    )


def names_in(uri: str) -> tuple[str | None, str | None]:
    """The names of the broker and of its cluster, if the file sets them."""
    settings = _settings_in(uri)
    return settings.get("brokerName") or None, settings.get("brokerClusterName") or None


def tiered_settings(uri: str) -> str | None:
    """The path of tiered storage in a broker's configuration file; empty if it has none, None if the broker has no tiered storage."""
    return _tiered(_settings_in(uri))


def tiered_settings_if_any(uri: str) -> str | None:
    """The same of a file that need not be there."""
    settings = _found_in(uri)
    return None if isinstance(settings, Said) else _tiered(settings)


def _tiered(settings: Mapping[str, str]) -> str | None:
    is_on = "TieredMessageStore" in settings.get("messageStorePlugIn", "")
    names = [name for name in settings if name.startswith("tiered") or name in ("objectStoreEndpoint", "objectStoreBucket")]
    paths = (settings[name] for name in ("tieredStoreFilePath", "tieredStoreFilepath") if settings.get(name))
    return next(paths, "") if is_on or names else None


def _settings_in(uri: str) -> dict[str, str]:
    settings = _found_in(uri)
    if isinstance(settings, Said):
        raise PathError(say("miss broker conf", uri=uri, problem=settings))
    return settings


def _found_in(uri: str) -> dict[str, str] | Said:
    """The settings in a file, or why there are none: no error, because each read of a store looks for such a file."""
    storage = storage_of(uri)
    entry = storage.entry(uri)
    if entry is None or not entry.is_file or entry.size > _LARGEST:
        return Said("conf missing") if entry is None else say("conf size", size=entry.size) if entry.is_file else Said("conf no file")
    with storage.open(uri) as file:
        (text,) = file.read_ranges([(0, entry.size)])
    return dict(re.findall(r"(?m)^[ \t]*(\w+)[ \t]*[=:][ \t]*(.*?)[ \t]*\r?$", text.decode("utf-8", "replace")))


def parse_broker_conf(uri: str, *, is_elsewhere: bool = False) -> StorePaths:
    """The store's paths in a broker's properties file. `is_elsewhere`: the user names the store, so that the file need not."""
    settings = _settings_in(uri)
    logs = paths_of(settings.get("storePathCommitLog", ""))
    if len(logs) > 1:  # with a single path, a broker ignores the read-only ones
        logs += paths_of(settings.get("readOnlyCommitLogStorePaths", ""))
    root = settings.get("storePathRootDir") or None
    if root is None and not logs and not is_elsewhere:
        raise PathError(say("miss store path", uri=uri))
    by_dledger = settings.get("enableDLegerCommitLog", "").lower() == "true"  # RocketMQ's spelling
    dledger = settings.get("storePathDLedgerCommitLog") if by_dledger else None
    return StorePaths(root, logs, dledger or None, settings.get("storePathConsumeQueue") or None, settings.get("storePathIndex") or None)


def paths_of(text: str) -> tuple[str, ...]:
    """The paths in a comma-separated list."""
    return tuple(path.strip() for path in text.split(",") if path.strip())
