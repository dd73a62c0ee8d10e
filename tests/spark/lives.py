"""The whole life of a query: stores grow, and the job that follows them is killed again and again, at random moments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from grown import GrownStore
from processes import await_end, kill, kill_whole, reader_of, workers_of

import native_reader as nr

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("followed.py")
_POLL = 0.01
_PATIENCE = 300.0
_PATIENCE_EACH_RUN = 240.0
"""Seconds for a run of the job. A batch of many tasks takes long on a busy machine."""
_BACKLOG = 2 << 20
"""Bytes. With more to read at once than a slow machine can, batches would take minutes."""
_ORDER = [("store", "ascending"), ("physical_offset", "ascending")]


class Moment(StrEnum):
    """When the whole job is killed."""

    STARTING = "while it starts"
    PLANNED = "a batch was planned"
    READING = "a batch is read and written"
    WRITTEN = "a batch was written"
    COMMITTED = "a batch was committed"


_BETWEEN = [Moment.PLANNED, Moment.READING, Moment.WRITTEN]
_TRIGGERS = [{"availableNow": True}, {"once": True}, {"processingTime": "0 seconds"}, {"processingTime": "300 milliseconds"}, {}]
_LIMITS = [
    {},
    {},
    {"maxBytesPerTrigger": "100k"},
    {"maxBytesPerTrigger": "1m"},
    {"maxOffsetsPerTrigger": "77"},
    {"maxOffsetsPerTrigger": "999"},
]


@dataclass(frozen=True)
class Run:
    """One run of the job: its settings, and when it is killed."""

    turns: list[dict[str, Any]]
    loses: list[Callable[[int], list[int]]]
    """The Python processes that are killed alone before the whole job is."""
    moment: Moment
    after: int
    """So many batches are committed before."""
    delay: float
    lingers: float

    @staticmethod
    def drawn(chance: Random, start: dict[str, str], *, first: bool) -> Run:
        """The first run is killed during batch 0, so its start must be kept."""
        turns = [_turn(chance, start) for _ in range(3)]
        loses = [] if first else chance.choices([workers_of, reader_of], [3, 1], k=chance.choice([0, 1, 1, 2]))
        moment = chance.choice(_BETWEEN if first else [*_BETWEEN, *Moment])
        after, delay = 0 if first else chance.choice([0, 0, 1, 2, 4]), chance.uniform(0, 12.0 if moment is Moment.STARTING else 0.2)
        return Run(turns, loses, moment, after, delay, lingers=chance.choice([0, 0.1, 0.3]))


def _turn(chance: Random, start: dict[str, str]) -> dict[str, Any]:
    sizes = chance.choice([{}, {"maxPartitionBytes": "64k"}])
    return {"trigger": chance.choice(_TRIGGERS), "options": {**start, **chance.choice(_LIMITS), **sizes}}


class Life:
    """One query, from its first start to a last run that is not killed."""

    def __init__(self, home: Path, seed: str, kills: int) -> None:
        self._home, self._chance, self._runs = home, Random(seed), kills
        paths = [home / "stores" / name for name in ("first", "second")[: self._chance.choice([1, 2])]]
        self._stores = [GrownStore(path, Random(f"{seed} {path.name}")) for path in paths]
        self._start = self._chance.choice([{"startingOffsets": "earliest"}, {"startingOffsets": "latest"}, {}])
        self._rate = self._chance.choice([50_000, 400_000])
        self._deadline = time.monotonic() + _PATIENCE + _PATIENCE_EACH_RUN * kills
        self._counts = Counter[str]()
        self._job: subprocess.Popen[bytes] | None = None
        self._begins: dict[str, int] | None = None
        self._stop = threading.Event()
        self._noted: list[dict[str, Any]] = []
        self._heard = 0
        home.mkdir()

    def run(self) -> Counter[str]:
        """Run it all, and return the counts of what happened. Errors are raised with the steps that led to them."""
        self._stores[0].grow(self._chance.choice([1, 100_000]))
        begun_at = self._stores[0].records[-1]
        growing = threading.Thread(target=self._grow, args=[Random(self._chance.random())])
        growing.start()
        try:
            for which in range(self._runs):
                start = self._start if which == 0 else self._chance.choice([self._start, {"startingOffsets": "earliest"}, {}])
                self._live_through(Run.drawn(self._chance, start, first=which == 0))
        finally:
            self._stop.set()
            growing.join()
        self._end_in_peace()
        self._compare(begun_at)
        return self._counts

    def _grow(self, chance: Random) -> None:
        begun = time.monotonic()
        appears = chance.uniform(0, 30)
        while not self._stop.wait(chance.uniform(0.01, 0.1)):
            if sum(store.end for store in self._stores) > self._read() + _BACKLOG:
                continue
            for which, store in enumerate(self._stores):
                if which == 0 or time.monotonic() - begun > appears:
                    store.grow(int(chance.expovariate(1 / (self._rate * 0.05))))

    # The job

    @contextmanager
    def _running(self, run: Run, *, ends: bool = False) -> Iterator[subprocess.Popen[bytes]]:
        path = self._stores[0].path if len(self._stores) == 1 else self._home / "stores"
        asked = {"home": str(self._home), "path": str(path), "turns": run.turns, "lingers": run.lingers, "ends": ends}
        where = {
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "TMPDIR": str(self._home),
            "SPARK_LOCAL_DIRS": str(self._home / "local"),
        }
        with (self._home / "err").open("wb") as log:
            command = [sys.executable, str(JOB), json.dumps(asked)]
            streams = {"stdin": subprocess.PIPE, "stdout": log, "stderr": log}
            job = subprocess.Popen(command, env=os.environ | where, cwd=self._home, start_new_session=True, **streams)
        with job:
            self._job = job
            try:
                yield job
            finally:
                kill_whole(job)

    def _live_through(self, run: Run) -> None:
        planned, since = self._planned(), len(self._notes())
        with self._running(run) as job:
            for victims in run.loses:
                self._lose(victims, since)
            self._await_moment(run, since)
            time.sleep(run.delay)
            assert job.poll() is None, self._said()
        self._begins = self._begins or self._first_begins()
        begun = any(note.get("begun") == self._planned() for note in self._notes()[since:])
        self._count("driver", under_way=begun or self._planned() > planned)
        self._counts[run.moment.value] += 1

    def _lose(self, victims: Callable[[int], list[int]], since: int) -> None:
        """Kill only some Python processes. The query fails, and the job starts it again."""
        for _ in range(3):
            if self._robbed(victims, since):
                self._count(victims.__name__, under_way=True)
                return
            self._counts["survived"] += 1

    def _robbed(self, victims: Callable[[int], list[int]], since: int) -> bool:
        """Whether the query failed. It does not if its last batch was read by then, or if another worker took the task."""
        assert self._job is not None
        deaths, robbed = self._deaths(), self._home / "robbed"
        self._until(lambda: self._last_note(since) == "begun")
        time.sleep(self._chance.choice([0, 0.1]))
        notes, committed, until = len(self._notes()), self._committed(), time.monotonic() + _PATIENCE
        robbed.touch()
        while time.monotonic() < until:  # repeatedly: Spark does not notice the loss of an idle process
            found = victims(self._job.pid)
            if len(self._notes()) > notes or self._last_note(since) != "begun":  # do not kill what starts next
                break
            kill(found)
            time.sleep(_POLL)
        self._until(lambda: self._deaths() > deaths or self._committed() > committed + 2)
        robbed.unlink(missing_ok=True)
        return self._deaths() > deaths

    def _count(self, killed: str, *, under_way: bool) -> None:
        """Count one more kill, by the state of the checkpoint after it."""
        self._counts[killed] += 1
        if under_way and self._planned() > self._committed():
            self._counts["between offsets and commit"] += 1
            if self._planned() == 0:
                batches = self._offset(0)["stores"].values()
                self._counts["of batch 0"] += 1
                self._counts["of batch 0 with rows"] += any(batch["from"] < batch["next"] for batch in batches)

    def _await_moment(self, run: Run, since: int) -> None:
        if run.moment is Moment.STARTING:
            return
        goal = self._committed() + run.after
        self._until(lambda: self._committed() >= goal)
        planned, committed = self._planned(), self._committed()
        moments = {
            Moment.PLANNED: lambda: self._planned() > max(planned, self._committed()),
            Moment.READING: lambda: self._last_note(since) == "begun",
            Moment.WRITTEN: lambda: self._last_note(since) == "kept" and self._planned() > self._committed(),
            Moment.COMMITTED: lambda: self._committed() > committed,
        }
        self._until(moments[run.moment])

    def _end_in_peace(self) -> None:
        run = Run([{"trigger": {"availableNow": True}, "options": self._start}], [], Moment.COMMITTED, 0, 0, 0)
        with self._running(run, ends=True) as job:
            assert job.wait(_PATIENCE) == 0, self._said()
            await_end([job.pid], _PATIENCE)
        assert self._planned() == self._committed()

    def _until(self, comes: Callable[[], bool]) -> None:
        assert self._job is not None
        until = min(time.monotonic() + _PATIENCE, self._deadline)
        while not comes():
            assert self._job.poll() is None, self._said()
            assert time.monotonic() < until, f"waited in vain\n{self._said()}"
            time.sleep(_POLL)

    # Observed from outside

    def _planned(self) -> int:
        return _highest(self._home / "checkpoint/offsets")

    def _committed(self) -> int:
        return _highest(self._home / "checkpoint/commits")

    def _read(self) -> int:
        """The number of bytes of the stores that were read, or are being read."""
        offset = self._offset(self._planned())
        return sum(batch["next"] for batch in offset["stores"].values())

    def _offset(self, batch: int) -> dict[str, Any]:
        if batch < 0:
            return {"stores": {}}
        return dict(json.loads((self._home / f"checkpoint/offsets/{batch}").read_text().splitlines()[-1]))

    def _notes(self) -> list[dict[str, Any]]:
        """All notes so far. Each is read from the file only once, because this is asked a hundred times in a second."""
        with suppress(FileNotFoundError), (self._home / "notes").open("rb") as notes:
            notes.seek(self._heard)
            whole, end, _ = notes.read().rpartition(b"\n")
            self._heard += len(whole) + len(end)
            self._noted += map(json.loads, whole.splitlines())
        return self._noted

    def _last_note(self, since: int) -> str:
        notes = self._notes()
        return next(iter(notes[-1])) if len(notes) > since else ""

    def _deaths(self) -> int:
        return sum("died" in note for note in self._notes())

    def _said(self) -> str:
        ended = None if self._job is None else self._job.poll()
        return f"ended with {ended}; {self._notes()[-5:]}\n{(self._home / 'err').read_text()[-6000:]}"

    # Results

    def _compare(self, begun_at: int) -> None:
        expected = self._expected(begun_at)
        kept = [self._home / "out" / str(batch) for batch in range(self._committed() + 1)]
        found = pa.concat_tables(pq.read_table(each).select(expected.column_names).cast(expected.schema) for each in kept)
        found, expected = found.sort_by(_ORDER), expected.sort_by(_ORDER)
        assert found.equals(expected), _difference(found, expected)
        begun, rows = self._of_batches("begun"), self._of_batches("kept")
        unlike = {batch: each for batch, each in rows.items() if any(one != each[0] for one in each)}
        assert not unlike, f"batches with other rows when they came again: {unlike}"
        self._counts.update({"rows": expected.num_rows, "batches": len(kept)})
        self._counts["begun again"] = sum(len(each) - 1 for each in begun.values())
        self._counts["kept again"] = sum(len(each) - 1 for each in rows.values() if each[0][0] > 0)

    def _expected(self, begun_at: int) -> pa.Table:
        """The rows of one read of the same range. Also checks that these are all the rows written."""
        table = nr.open(self._home / "stores").messages().to_table()
        begins = self._begins or self._first_begins()
        parts = []
        for store in self._stores:
            uri = store.path.as_uri()
            rows = table.filter(pc.field("store") == uri)
            assert rows["physical_offset"].to_pylist() == store.records
            begin = begins.get(uri, 0)
            assert begin in store.ends
            if store is self._stores[0]:
                assert (begin == 0) if self._start.get("startingOffsets") == "earliest" else (begin > begun_at)
            parts.append(rows.filter(pc.field("physical_offset") >= begin))
        return pa.concat_tables(parts)

    def _first_begins(self) -> dict[str, int]:
        """Where batch 0 began. Read early, because Spark keeps only the last hundred offsets."""
        return {uri: batch["from"] for uri, batch in self._offset(0)["stores"].items()}

    def _of_batches(self, word: str) -> dict[int, list[Any]]:
        said: dict[int, list[Any]] = {}
        for note in self._notes():
            if word in note:
                said.setdefault(note[word], []).append(note.get("rows"))
        return said


def _highest(folder: Path) -> int:
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1


def _difference(found: pa.Table, expected: pa.Table) -> str:
    counts = [Counter(zip(each["store"].to_pylist(), each["physical_offset"].to_pylist(), strict=True)) for each in (found, expected)]
    missing, extra = counts[1] - counts[0], counts[0] - counts[1]
    if missing or extra:
        return f"{len(missing)} rows missing: {sorted(missing)[:5]} …; {len(extra)} too many: {sorted(extra)[:5]} …"
    return f"unlike columns: {[name for name in expected.column_names if not found[name].equals(expected[name])]}"
