"""An export in runs: each run writes the messages that came since the one before, so that all runs together have each message once.

A state file says to which offset of which log the runs have come, and of the run that was begun, where it ends. So a run that was
killed does the same range again, in a folder of its own. Only when all of its files are complete do they get their names, which have
the number of the run; and only then does the state say that the run is done.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from native_reader.checks import MOST_JOBS, whole
from native_reader.conditions import predicate_of
from native_reader.errors import DataLoss, Line, OptionError, option_name, warn
from native_reader.export.account import DAMAGE, SUMMARY
from native_reader.export.run import WantedExport, export
from native_reader.export.target import Target, save_text, text_of_file
from native_reader.options import MessageOptions, refuse_in_streams
from native_reader.scan.progress import Watch
from native_reader.sentences import Said, joined, say, verbatim
from native_reader.storage.local import LocalPath
from native_reader.storage.store import StoreFiles
from native_reader.stream import EARLIEST, BatchLimit, Offset, Stream, start_of
from native_reader.stream.offset import Batch, OffsetError, from_json, to_json

_VERSION = 1
_RUNS = "_runs"
_MOVES = "_moves.json"
_RUN = "_run-"
_OF_RUN = re.compile("run-([0-9]{6,18})_")
_MOST_NAMED = 3
"""Stores that an error lists."""
_LONGEST_VALUE = 200
"""Characters of an option's value that an error shows."""
_RESTORE = Said("restore state")
_MAY_DIFFER = ("max_read_rate", "fail_on_data_loss", "mode", "body_views")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _State:
    """What the state file says.

    `options`: those that decide which rows are written, and how. `begun`: where the run ends that began. `blanks`: by store, the end of a
    segment of which the last run saw only the closing blank after its last record.
    """

    folder: str
    options: Mapping[str, Any]
    runs: int
    done: Offset
    begun: Offset | None = None
    blanks: Mapping[str, int] = field(default_factory=dict)

    def text(self) -> str:
        """The file."""
        known = {
            "version": _VERSION,
            "folder": self.folder,
            "options": dict(self.options),
            "runs": self.runs,
            "done": to_json(self.done),
            "begun": None if self.begun is None else to_json(self.begun),
            "blanks": dict(self.blanks),
        }
        return json.dumps(known, ensure_ascii=False, indent=2) + "\n"


def _state_of(path: str, text: str) -> _State:
    """The state. Nothing in the file is trusted."""
    try:
        known = json.loads(text)
        number = known["version"]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise OptionError(say("state not of export", path=path, restore=_RESTORE)) from error
    if type(number) is int and number > _VERSION:
        raise OptionError(say("state of newer version", path=path, number=number, version=_VERSION))
    try:
        begun = None if known["begun"] is None else from_json(known["begun"])
        state = _State(known["folder"], known["options"], known["runs"], from_json(known["done"]), begun, known.get("blanks", {}))
        if not (
            number == _VERSION
            and isinstance(state.folder, str)
            and isinstance(state.options, dict)
            and type(state.runs) is int
            and state.runs >= 0
            and isinstance(state.blanks, dict)
            and all(type(end) is int for end in state.blanks.values())
        ):
            raise ValueError
    except OffsetError as error:
        raise OptionError(say("state changed", path=path, restore=_RESTORE)) from error
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise OptionError(say("state not of export", path=path, restore=_RESTORE)) from error
    return state


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """One run of an export with a state.

    Attributes:
        path: The folder.
        number: The number of the run, from 1.
        rows: How many messages it wrote.
        bytes: The size of its files.
        damaged: How many ranges of the log are damaged or missing; `_runs` in the folder lists them.
        ranges: By store: from which offset of the log it read, and to which.
        files: The names of its files, below the folder.

    Examples:
        >>> run = store.export_new("new", "new.json", topic="orders")
        >>> run.number, run.rows
        (1, 122)
        >>> store.export_new("new", "new.json", topic="orders") is None
        True
    """

    path: str
    number: int
    rows: int
    bytes: int
    damaged: int
    ranges: Mapping[str, Sequence[int]]
    files: Sequence[str]


def export_new(
    list_stores: Callable[[], tuple[StoreFiles, ...]],
    options: MessageOptions,
    folder: LocalPath,
    state: LocalPath,
    *,
    files: Mapping[str, Any],
    jobs: int,
    progress: Watch,
) -> ExportedRun | None:
    """Do one run; None if there is nothing new."""
    refuse_in_streams(options, "not in runs")
    whole("jobs", jobs, 1, MOST_JOBS)
    return _Runs(list_stores, options, folder, str(state), files).one(jobs, progress)


class _Runs:
    """One run, after all earlier ones."""

    def __init__(
        self,
        list_stores: Callable[[], tuple[StoreFiles, ...]],
        options: MessageOptions,
        folder: LocalPath,
        state: str,
        files: Mapping[str, Any],
    ) -> None:
        self._list, self._options, self._files, self._path = list_stores, options, dict(files), state
        self._target = Target(folder, list_stores())
        self._stream = Stream(
            list_stores,
            predicate_of(options),
            options.planning(),
            start_of(options.values, None if text_of_file(state) else EARLIEST),
            _warn,
            start_over=Said("use new state"),
        )

    def one(self, jobs: int, progress: Watch) -> ExportedRun | None:
        """Do the run that was begun, or the next one."""
        try:
            with self._target:
                state = self._known()
                if state.begun is None:
                    done = self._stream.past_blanks(state.done, state.blanks)
                    following = self._stream.next_offset(done, BatchLimit())
                    if following == done:
                        return None
                    if empty := next((uri for uri, batch in following.items() if _is_emptied(state.done.get(uri), batch)), None):
                        raise DataLoss(say("log emptied", store=empty, offset=state.done[empty].end.offset))
                    state = replace(state, done=done, begun=following, runs=state.runs + 1)
                    self._save(state)
                exported = self._written(state, jobs, progress)
                assert state.begun is not None
                self._save(replace(state, done=state.begun, begun=None, blanks=self._stream.blanks(state.begun)))
                self._target.remove_folder(_folder_of(state))
                return exported
        finally:
            self._stream.close()

    def _known(self) -> _State:
        """What earlier runs left, or a new state."""
        text = text_of_file(self._path)
        options = self._pinned()
        if text is None:
            part = ".{}.part".format(self._path.rpartition("/")[2])  # of a state in the folder itself, where the first run was stopped
            if [name for name in self._target.other_names() if name != part] or self._target.temporaries():
                raise OptionError(say("no state", path=self._target.path, state=self._path))
            return _State(self._target.path, options, 0, self._stream.first_offset())
        state = _state_of(self._path, text)
        if state.folder != self._target.path:
            raise OptionError(say("state of other folder", path=self._path, folder=state.folder, target=self._target.path))
        newest = max((_number_of(name) for name in self._target.names_in(_RUNS)), default=0)
        if newest > state.runs:
            raise OptionError(say("state older", path=self._path, runs=state.runs, newest=newest, restore=_RESTORE))
        for name in options.keys() | state.options.keys():
            before, now = state.options.get(name), options.get(name)
            if before != now:
                raise OptionError(_of_other_options(self._path, name, before, now))
        self._check_stores(state)
        for name in self._target.other_names():  # of runs that were done before they could be removed
            if name.startswith(_RUN) and (state.begun is None or name != _folder_of(state)):
                self._target.remove_folder(name)
        return state

    def _check_stores(self, state: _State) -> None:
        """Refuse a run without a store of the state, and, even if losses are allowed, one without any of them: its messages are others."""
        known = state.done if state.begun is None else state.begun
        absent = self._stream.absent(known)
        is_other, may_lose = len(absent) == len(known), not self._options.values["fail_on_data_loss"]
        for uri in absent:
            last = known[uri].end.last
            if last is not None and (is_other or not may_lose):
                uris = self._stream.uris
                named = joined("commas", [verbatim(each) for each in (*uris[:_MOST_NAMED], *["…"][: len(uris) > _MOST_NAMED])])
                more = Said("nothing" if is_other else "without the store")
                raise OptionError(
                    say("state of other store", path=self._path, store=uri, named=named, offset=last.offset, **{"else": more})
                )

    def _pinned(self) -> dict[str, Any]:
        """The options that must stay the same, as JSON has them."""
        usual = MessageOptions().values
        given = {name: value for name, value in self._options.values.items() if value != usual.get(name) and name not in _MAY_DIFFER}
        plain: dict[str, Any] = json.loads(json.dumps(given | self._files, default=str))
        return plain

    def _save(self, state: _State) -> None:
        save_text(self._path, state.text(), self._list())

    def _written(self, state: _State, jobs: int, progress: Watch) -> ExportedRun:
        """Write the files of the run, then give them their names."""
        begun, own = state.begun, _folder_of(state)
        assert begun is not None
        if self._target.size(f"{own}/{_MOVES}") is None:
            self._export(begun, own, state.runs, jobs, progress)
        run = ExportedRun(**json.loads("".join(self._target.lines(f"{own}/{_MOVES}"))))
        number = f"run-{run.number:06}"
        moves = [(f"{own}/{name}", _numbered(name, number)) for name in run.files]
        moves += [(f"{own}/{name}", f"{_RUNS}/{number}{name}") for name in (SUMMARY, DAMAGE)]
        self._target.move(moves)
        return replace(run, files=[_numbered(name, number) for name in run.files])

    def _export(self, begun: Offset, own: str, number: int, jobs: int, progress: Watch) -> None:
        """Write the files, as an export to the run's own folder.

        What a stopped run left there is written again: it belongs to the log as it was, which the plan would not look at again.
        """
        stores, options, planning = self._list(), self._options, self._options.planning()
        target = Target(f"{self._target.path}/{own}", stores)
        self._target.remove_folder(own)
        predicate, projection, zone = predicate_of(options), options.projection(), options.time_zone
        wanted = WantedExport(stores, predicate, projection, planning, zone, lambda: self._stream.plan(begun))
        done = export(wanted, target.path, **self._files, jobs=jobs, progress=progress)
        ranges = {uri: (batch.start, batch.end.offset) for uri, batch in begun.items()}
        damaged = len(done.report.damage) + len(done.missing)
        run = ExportedRun(self._target.path, number, done.rows, done.bytes, damaged, ranges, [file.name for file in done.files])
        target.write_text(_MOVES, [json.dumps(asdict(run), ensure_ascii=False)])
        target.remove_temporary_folder()


def _of_other_options(path: str, name: str, before: object, now: object) -> Said:
    """An option that the runs before had otherwise. None: not given."""
    option = option_name(name)
    if before is None:
        return say("state without option", path=path, option=option, now=_in_words(now))
    if now is None:
        return say("state with option", path=path, option=option, before=_in_words(before))
    return say("state of other options", path=path, option=option, before=_in_words(before), now=_in_words(now))


def _in_words(value: object) -> str:
    """A value of JSON as a user writes it: names with commas, and texts without quotes."""
    if isinstance(value, list):
        value = ", ".join(map(_in_words, value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"


def _numbered(name: str, number: str) -> str:
    """The final name of a file: each run has others."""
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}{number}-{file}"


def _number_of(name: str) -> int:
    """The number of the run that a file belongs to; 0 of other files."""
    found = _OF_RUN.match(name)
    return 0 if found is None else int(found[1])


def _is_emptied(before: Batch | None, now: Batch) -> bool:
    """Whether a log that had records has none."""
    return before is not None and before.end.offset > 0 and now.end.offset == 0


def _folder_of(state: _State) -> str:
    return f"{_RUN}{state.runs:06}"


def _warn(line: Line) -> None:
    warn(_log, line.said, is_loss=line.is_loss, is_unknown=line.is_unknown)
