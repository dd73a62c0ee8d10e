"""What an export will read, pinned before its first row: the options, the ends of the logs, and the splits of each task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from native_reader.columns.projection import Projection
from native_reader.errors import ExportError, OptionError, option_name, shown
from native_reader.export.target import Target
from native_reader.plan.beside import Sides
from native_reader.plan.lost import Missing
from native_reader.plan.plan import Plan
from native_reader.plan.planning import Planning
from native_reader.plan.split import Split, SplitLog
from native_reader.plan.tier_log import TierLog
from native_reader.plan.ways import ALONE, AUTO, SCAN, SUMMARY, TRUST, ByQueues, BySummary, Scanned, Way
from native_reader.predicate.tree import Predicate
from native_reader.records.damages import SegmentReport
from native_reader.sentences import Said, say
from native_reader.storage.store import Segment, StoreFiles

NAME = "_export.json"
_LAYOUT = 7
"""Of this file and those next to it. Another one cannot be continued."""
_NOT_PINNED = ("max_read_rate", "lenient", "returned")
"""The first does not change what is in the files; the others follow from `mode` and `columns`."""

_SHARED = ("log", "segment", "way")
"""Many splits share one of these. In the file, it is there once, and a split has its number."""
_WAYS: Mapping[str, Any] = {SCAN: Scanned, AUTO: ByQueues, TRUST: ByQueues, SUMMARY: BySummary, ALONE: BySummary}
"""By access. An export is not planned with records that an earlier pass saw."""
_SHOWN = 200

ExportRequest = Mapping[str, Any]
"""By name: everything that the user asked for and that changes the files. The values are those of JSON."""


def request_of(
    stores: Sequence[StoreFiles], predicate: Predicate, projection: Projection, planning: Planning, files: ExportRequest
) -> ExportRequest:
    """The request for an export. `files`: how the files look."""
    options = asdict(projection) | asdict(planning) | {"where": str(predicate)} | dict(files)
    pinned = {name: value for name, value in options.items() if name not in _NOT_PINNED}
    request = {"version": version(), "layout": _LAYOUT, "stores": [store.uri for store in stores]} | pinned
    plain: ExportRequest = json.loads(json.dumps(request))
    return plain


@dataclass(frozen=True, slots=True)
class Manifest:
    """An export: its request, the end of each log, its tasks, the segments that no task reads, and what no file holds."""

    request: ExportRequest
    ends: Sequence[tuple[str, int]]
    tasks: Sequence[tuple[Split, ...]]
    idle: Sequence[SegmentReport]
    missing: Sequence[Missing]

    @property
    def stores(self) -> Mapping[str, str]:
        """The store of each segment that a task reads, by their URIs."""
        return {split.segment.uri: split.log.root for task in self.tasks for split in task}


def manifest_of(request: ExportRequest, plan: Plan) -> Manifest:
    """The export of a plan. It always has a task, so that an export without rows has a file with the columns."""
    idle = [SegmentReport(segment.uri, segment.base, segment.size) for segment, _ in plan.skipped]
    idle += [SegmentReport(segment.uri, segment.base, segment.size, unwritten_bytes=segment.size) for segment in plan.unwritten]
    return Manifest(request, plan.ends, plan.packed() or [()], idle, list(plan.missing))


def save(manifest: Manifest, target: Target) -> None:
    """Write the manifest: the export has begun."""
    splits = [split for task in manifest.tasks for split in task]
    shared = {name: list(dict.fromkeys(getattr(split, name) for split in splits)) for name in _SHARED}
    numbers = {each: number for several in shared.values() for number, each in enumerate(several)}
    own = [each.name for each in fields(Split) if each.name not in _SHARED]
    target.write_text(
        NAME,
        [
            json.dumps(
                {
                    "request": manifest.request,
                    "ends": manifest.ends,
                    "log": [asdict(log) for log in shared["log"]],
                    "segment": [asdict(segment) for segment in shared["segment"]],
                    "way": [{"access": way.access} | asdict(way) for way in shared["way"]],
                    "tasks": [
                        [
                            {name: numbers[getattr(split, name)] for name in _SHARED} | {name: getattr(split, name) for name in own}
                            for split in task
                        ]
                        for task in manifest.tasks
                    ],
                    "idle": [asdict(segment) for segment in manifest.idle],
                    "missing": [
                        {**each._asdict(), "what": each.what.to_json(), "back": None if each.back is None else each.back.to_json()}
                        for each in manifest.missing
                    ],
                },
                ensure_ascii=False,
            )
        ],
    )


def saved(target: Target) -> Manifest | None:
    """The manifest of an export that has begun; None if there is none."""
    if target.size(NAME) is None:
        return None
    try:
        known = json.loads("".join(target.lines(NAME)))
        if known["request"]["layout"] == _LAYOUT:
            shared: dict[str, list[Any]] = {
                "log": [_log_of(**each) for each in known["log"]],
                "segment": [Segment(**each) for each in known["segment"]],
                "way": [_way_of(each) for each in known["way"]],
            }
            return Manifest(
                known["request"],
                tuple((uri, end) for uri, end in known["ends"]),
                [tuple(Split(**each | {name: shared[name][each[name]] for name in shared}) for each in task) for task in known["tasks"]],
                [SegmentReport(**each) for each in known["idle"]],
                [_missing(each) for each in known["missing"]],
            )
    except (ValueError, TypeError, LookupError) as error:
        raise ExportError(say("manifest damaged", path=target.path, name=NAME)) from error
    raise OptionError(say("export of other version", path=target.path))


def _missing(known: Mapping[str, Any]) -> Missing:
    said = {name: None if known[name] is None else Said.from_json(known[name]) for name in ("what", "back")}
    return Missing(**{**known, **said})


def _log_of(sides: dict[str, Any] | None, tier: dict[str, Any] | None, **known: Any) -> SplitLog:
    of_tier = None if tier is None else TierLog.saved(tier)
    return SplitLog(**known, tier=of_tier, sides=None if sides is None else Sides(**sides | {"directories": tuple(sides["directories"])}))


def _way_of(known: dict[str, Any]) -> Way:
    """The way that was written like this. Raises KeyError or TypeError for anything else."""
    kind = _WAYS[known["access"]]
    values = {each.name: known[each.name] for each in fields(kind)}
    way: Way = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
    return way


def check_same(target: Target, begun: ExportRequest, request: ExportRequest) -> None:
    """Refuse to continue an export with other options."""
    for name in _in_order(request):
        if begun.get(name) == request[name]:
            continue
        before, now = _shown(begun.get(name)), _shown(request[name])
        if name == "stores":
            raise OptionError(say("export of other stores", path=target.path, before=before, now=now))
        if name == "version":
            raise OptionError(say("export of version", path=target.path, before=before, now=now))
        raise OptionError(say("export of other options", path=target.path, option=option_name(name), before=before, now=now))


def _in_order(request: ExportRequest) -> Iterable[str]:
    """The name of the version last: where options differ too, they say more."""
    return sorted(request, key=lambda name: name == "version")


def _shown(value: Any) -> str:
    return (",".join(map(str, value))[:_SHOWN] or "nothing") if isinstance(value, list) else shown(value)


UNKNOWN = "unknown"
"""Of a zip or a folder of sources, which has no metadata."""


def version() -> str:
    """The version of the installed package."""
    from importlib import metadata  # with the parsers of e-mail and zip files

    try:
        return metadata.version("rmqstore-spark")
    except metadata.PackageNotFoundError:
        return UNKNOWN
