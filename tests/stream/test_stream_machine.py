"""Random changes to logs and queries: a stream delivers each row once, and only whole ones."""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections import Counter
from collections.abc import Iterator
from datetime import date
from random import Random

import pytest
from support.effort import WHOLE, at_effort
from support.growing import Disk, GrowingStore
from support.micro_batches import STAGES, Killed, Query
from support.tune import Tune

from native_reader.errors import DataLoss
from native_reader.layout.record import BLANK_HEAD, SMALLEST_RECORD
from rmqstore_spark import stream

LIVES = at_effort(24, 600)
# Different in each sweep. Two workers that collect the same tests must draw the same seeds.
FIRST = LIVES * date.today().toordinal() if WHOLE else 0
BLOCKS = pytest.mark.parametrize("seeds", [range(FIRST + k, FIRST + LIVES, 4) for k in range(4)], ids=lambda seeds: f"seed {seeds[0] % 4}")
pytestmark = pytest.mark.sweep
STEPS = 60
log = logging.getLogger(__name__)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    """A look does not wait here."""
    tune(look_every=0.0, rest=0)
    monkeypatch.setattr(stream, "announce", lambda line: None)


class Life:
    """Some stores, one query, and the events of their lives."""

    def __init__(self, seed: int, tune: Tune) -> None:
        self.random = random = Random(seed)
        self.disk = Disk()
        self.several = random.random() < 0.4
        self.segment_size = random.choice((1500, 2048, 8192))
        self.stores = [self._store(random.choice((0, 0, 3 * self.segment_size)))]
        self.stores[0].append(random.randrange(12))
        self.listed_always = self.several or random.random() < 0.5
        tune(list_every=0.0 if self.listed_always else 1e9, search_every=random.choice((0.0, 1e9)), quiet=random.choice((0.0, 1e9)))
        start = random.choice(("earliest", "earliest", "latest", None))
        options = {"maxPartitionBytes": str(random.choice((300, 1000, 1 << 20)))}
        self.query = Query(self.path, options if start is None else {**options, "startingOffsets": start})
        self.done: Counter[str] = Counter()

    def _store(self, start: int = 0) -> GrowingStore:
        where = f"parent/broker-{len(getattr(self, 'stores', []))}" if self.several else "store"
        return GrowingStore(self.disk, where, self.random, segment_size=self.segment_size, start=start)

    @property
    def path(self) -> str:
        return f"{self.disk.url}/{'parent' if self.several else self.stores[0].place}"

    def step(self) -> None:
        choices = {
            "append": 30, "roll": 6, "tear": 12, "dispatch": 10, "cut": 6, "expire": 5, "lock": 5, "new store": 3,
            "trigger": 35, "kill": 20, "restart": 6, "move": 2,
        }  # fmt: skip
        what = self.random.choices(list(choices), choices.values())[0]
        self.done[what] += 1
        getattr(self, f"_{what.replace(' ', '_')}")(self.random.choice(self.stores))

    def _append(self, store: GrowingStore) -> None:
        store.append(self.random.randrange(1, 5))

    def _roll(self, store: GrowingStore) -> None:
        store.append(self.random.randrange(8, 25))

    def _tear(self, store: GrowingStore) -> None:
        store.tear()

    def _dispatch(self, store: GrowingStore) -> None:
        store.dispatch()

    def _cut(self, store: GrowingStore) -> None:
        """Truncate what no query was promised. Other records may take its place."""
        promised = self._promised(store)
        loose = sum(each.offset >= promised for each in store.history)
        if loose:
            store.cut(self.random.randrange(1, loose + 1), closed=promised)

    def _expire(self, store: GrowingStore) -> None:
        committed = self._promised(store, committed=True)
        if self.query.offsets and f"{self.disk.url}/{store.place}" not in json.loads(self.query.offsets[-1])["stores"]:
            committed -= 1  # after it moved, a query knows a store by the record that it read last
        while store.expired + self.segment_size <= committed and self.random.random() < 0.7:
            before = store.expired
            store.expire(1)
            if store.expired == before:
                break

    def _lock(self, store: GrowingStore) -> None:
        self.disk.locked ^= {store.place}

    def _new_store(self, _: GrowingStore) -> None:
        if self.several and len(self.stores) < 3:
            self.stores.append(self._store())
            self.stores[-1].append(self.random.randrange(4))

    def _move(self, store: GrowingStore) -> None:
        if self.query.runs or not self._knows(store):
            return
        store.move(f"{store.place}-moved")
        self.query.path = self.path

    def _trigger(self, _: GrowingStore) -> None:
        self._start()
        if self.query.runs:
            grows = self.random.random() < 0.5
            self.query.trigger(meanwhile=lambda: self._append(self.stores[0]) if grows else None)

    def _kill(self, store: GrowingStore) -> None:
        self._start()
        if self.query.runs:
            with contextlib.suppress(Killed):
                self.query.trigger(kill=self.random.choice(STAGES))

    def _restart(self, _: GrowingStore) -> None:
        self.query.end()

    def _start(self) -> None:
        if self.query.runs:
            return
        limits = self.random.choice(
            ({}, {"maxBytesPerTrigger": "700"}, {"maxOffsetsPerTrigger": "3"}, {"maxBytesPerTrigger": "2k", "maxOffsetsPerTrigger": "5"})
        )
        self.query.options = {name: value for name, value in self.query.options.items() if "PerTrigger" not in name}
        way = self.random.choice(({}, {}, {"available_now": True}, {"once": True}))
        self.query.start(**way, **limits)

    def _promised(self, store: GrowingStore, *, committed: bool = False) -> int:
        """The end of what was read or will be read, according to the query's log."""
        count = self.query.commits if committed else len(self.query.offsets)
        known = json.loads(self.query.offsets[count - 1])["stores"] if count else {}
        return max((known[uri]["next"] for uri in self._uris(store) if uri in known), default=0)

    def _knows(self, store: GrowingStore) -> bool:
        known = json.loads(self.query.offsets[-1])["stores"] if self.query.offsets else {}
        return any(uri in known and known[uri]["last"] for uri in self._uris(store)) and self._promised(store) > store.expired

    def _uris(self, store: GrowingStore) -> Iterator[str]:
        return (f"{self.disk.url}/{place}" for place in store.places)

    def finish(self) -> None:
        """End the events, and let the query read everything."""
        for store in self.stores:
            store.append(1)
            store.dispatch()
        self.disk.locked.clear()
        self.query.end()
        self.query.start(available_now=True)
        while self.query.trigger():
            pass

    def expected(self) -> Counter[tuple[int, bytes]]:
        rows: Counter[tuple[int, bytes]] = Counter()
        for store in self.stores:
            begin = next((self.query.began[uri] for uri in self._uris(store) if uri in self.query.began), 0)
            rows.update((each.offset, each.message.body) for each in store.history if each.offset >= begin)
        return rows


class LossyLife(Life):
    """The same, but data that was read, or is yet to be read, is lost too."""

    def __init__(self, seed: int, tune: Tune, *, fails: bool) -> None:
        super().__init__(seed, tune)
        self.query.options = {**self.query.options, "failOnDataLoss": str(fails).lower()}
        self.lost = 0
        self.unsure = False
        """Whether only a blank was lost after what was read: no record, unless another one is written in its place."""

    def _cut(self, store: GrowingStore) -> None:
        promised, count = self._promised(store), len(store.placed)
        read = max((each.offset + each.size for each in store.placed if each.offset < promised), default=0)
        if count > 1 and self.random.random() < 0.5:
            store.cut(self.random.randrange(1, count))
            if self._needed(store) < math.inf:
                self.lost += store.end < read
                self.unsure |= read <= store.end < promised

    def _expire(self, store: GrowingStore) -> None:
        needed = self._needed(store)
        store.expire(self.random.randrange(1, 4))
        is_lost = any(needed <= each.offset < store.expired for each in store.history)
        self.lost += is_lost
        self.unsure |= not is_lost and store.expired - needed >= SMALLEST_RECORD + BLANK_HEAD  # less has no room for a record

    def _move(self, store: GrowingStore) -> None:
        """Do nothing: a store that moved and lost data would look like a new one."""

    def _needed(self, store: GrowingStore) -> float:
        """The first offset that a repeated batch or the next one must still read."""
        known = json.loads(self.query.offsets[-1])["stores"] if self.query.offsets else {}
        place = "next" if self.query.commits == len(self.query.offsets) else "from"
        return min((known[uri][place] for uri in self._uris(store) if uri in known and known[uri]["last"]), default=math.inf)


def whole(life: Life) -> None:
    """All of it, to the end."""
    for _ in range(STEPS):
        life.step()
    life.finish()


@BLOCKS
def test_losses_are_errors(tune: Tune, seeds: range) -> None:
    lost = 0
    for seed in seeds:
        life = LossyLife(seed, tune, fails=True)
        try:
            whole(life)
            announced = False
        except DataLoss:
            announced = True
        assert announced == bool(life.lost) or (life.unsure and not life.lost), f"seed {seed}"
        lost += announced
    log.info("%s lives, %s lost something and said so", len(seeds), lost)
    assert lost > len(seeds) // 4


@BLOCKS
def test_losses_are_skipped_on_request(monkeypatch: pytest.MonkeyPatch, tune: Tune, seeds: range) -> None:
    """No row is torn or comes twice, and records written after all losses are delivered.

    One record per loss is an exception: the newest of a truncated log, while it waits for its queue entry, looks new.
    """
    lost = 0
    for seed in seeds:
        announced: list[str] = []
        monkeypatch.setattr(stream, "announce", announced.append)
        life = LossyLife(seed, tune, fails=False)
        whole(life)
        ends = {store: len(store.history) for store in life.stores}
        life.finish()
        found = Counter((row["physical_offset"], bytes(row["body"])) for row in life.query.rows())
        assert found.keys() <= set.union(*(store.ever for store in life.stores)), f"seed {seed}"
        assert found.total() - len(found) <= life.lost, f"seed {seed}"
        for store, count in ends.items():
            assert all((each.offset, bytes(each.message.body)) in found for each in store.history[count:]), f"seed {seed}"
        lost += bool(life.lost)
        assert any("data loss: " in line for line in announced) >= bool(life.lost), f"seed {seed}"
    assert lost > len(seeds) // 4


@BLOCKS
def test_rows_come_once(tune: Tune, seeds: range) -> None:
    kills: Counter[str] = Counter()
    rows = replays = asks = 0
    done: Counter[str] = Counter()
    for seed in seeds:
        life = Life(seed, tune)
        whole(life)
        found = Counter((row["physical_offset"], row["body"]) for row in life.query.rows())
        assert found == life.expected(), f"seed {seed}"
        kills.update(life.query.kills)
        done.update(life.done)
        rows, replays, asks = rows + found.total(), replays + life.query.replays, asks + life.query.asks
    log.info(
        "%s lives, %s rows, %s kills, %s replays, %s asks; kills %s; done %s", len(seeds), rows, kills.total(), replays, asks, kills, done
    )
    assert kills.total() >= 2 * len(seeds)
    assert sum(kills[stage] for stage in ("logged", "planned", "reading", "written")) >= len(seeds)
    assert replays >= len(seeds)
    assert rows > 20 * len(seeds)
