"""Writes the stores of the notebooks. With these, the notebooks run without a broker, and everybody sees the same numbers."""

from __future__ import annotations

import heapq
import itertools
import math
import random
import shutil
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from native_reader.testing import CommitLog, Message
from native_reader.testing.config import groups_json, offsets_json, topics_json, write_checkpoint, write_json
from native_reader.testing.java import hash_code, index_hash
from native_reader.testing.records import COMMIT, pack_properties
from native_reader.writing.index import IndexFiles

MONDAY = 1_767_571_200_000  # 2026-01-05 00:00 UTC, in milliseconds
SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
HALF, OP, TRACE = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC"
_QUEUE_FILE = 300_000 * 20


@dataclass(frozen=True)
class Stored:
    """A stored message: what a later message needs to know about it."""

    message: Message
    pairs: dict[str, str]
    offset: int

    @property
    def id(self) -> str:
        """The id that clients show."""
        return self.pairs["UNIQ_KEY"]


@dataclass
class Broker:
    """Stores messages, and writes the files that a broker would: log, consume queues, index and configuration."""

    root: Path
    segment: int = 4 << 20
    topics: dict[str, int] = field(default_factory=dict)  # configured: the number of queues
    committed: dict[str, dict[int, int]] = field(default_factory=dict)  # by "topic@group": the next offset of each queue

    def __post_init__(self) -> None:
        self._log = CommitLog(self.segment)
        self._queues: defaultdict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self._keys: list[tuple[int, int, int]] = []
        self.now = 0

    def send(
        self,
        topic: str,
        body: bytes,
        at: int,
        *,
        queue: int = 0,
        producer: int = 1,
        took: int = 2,
        pairs: Mapping[str, str] | None = None,
        **fields: int,
    ) -> Stored:
        """Store a message at a time. `took`: the milliseconds since the producer created it."""
        count = len(self._log.placed)
        unique = f"0A0000{producer:02X}04D218B4AAC2{(at - MONDAY) & 0xFFFFFFFF:08X}{count & 0xFFFF:04X}"
        own = {"UNIQ_KEY": unique, "WAIT": "true", **(pairs or {})}
        host = bytes([10, 0, 0, producer]), 40_000 + producer
        message = Message(topic, body, pack_properties(own), queue, born_timestamp=at - took, born_host=host, **fields)
        return self.store(message, own, at)

    def store(self, message: Message, pairs: dict[str, str], at: int) -> Stored:
        """Store a message as it is, for example again in another topic."""
        entries = self._queues[str(message.topic), message.queue_id]
        message = replace(message, properties=pack_properties(pairs), store_timestamp=at, queue_offset=len(entries) // 20)
        placed = self._log.append(message)
        entries += struct.pack(">qiq", placed.offset, placed.size, hash_code(pairs["TAGS"]) if "TAGS" in pairs else 0)
        keys = [pairs["UNIQ_KEY"], *pairs.get("KEYS", "").split()]
        self._keys += [(index_hash(str(message.topic), key), placed.offset, at) for key in keys]
        self.topics.setdefault(str(message.topic), 1)
        self.now = max(self.now, at)
        return Stored(message, pairs, placed.offset)

    def length(self, topic: str, queue: int) -> int:
        """The next offset of a queue."""
        return len(self._queues[topic, queue]) // 20

    def save(self, deleted: str | None = None) -> None:
        """Write all files. Saved again later, they hold the same and what was sent since. `deleted`: a topic without queues."""
        (self.root / "commitlog").mkdir(parents=True, exist_ok=True)
        for name, content in self._log.files().items():
            (self.root / "commitlog" / name).write_bytes(content)
        for (topic, queue), entries in self._queues.items():
            if topic != deleted and entries:
                file = self.root / "consumequeue" / topic / str(queue) / f"{0:020d}"
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as opened:
                    opened.write(entries)
                    opened.truncate(_QUEUE_FILE)
        shutil.rmtree(self.root / "index", ignore_errors=True)
        index = IndexFiles(self.root / "index", 50_000, 200_000)
        hashes, offsets, times = zip(*self._keys, strict=True)
        index.put(np.array(hashes, np.int64), np.array(offsets, np.int64), np.array(times, np.int64))
        index.close()
        config, known = self.root / "config", {name: count for name, count in self.topics.items() if name != deleted}
        write_json(config, "topics.json", topics_json(known, "", self.now))
        groups = sorted({name.partition("@")[2] for name in self.committed})
        write_json(config, "subscriptionGroup.json", groups_json(groups, self.now))
        write_json(config, "consumerOffset.json", offsets_json(self.committed, self.now))
        write_checkpoint(self.root / "checkpoint", self.now, self.now, 0, self._log.placed[-1].offset)


def two_weeks(root: Path) -> None:
    """Fourteen days from a Monday. Orders grow, clicks rest at the weekend, an export runs each night, and `legacy` was deleted."""
    chance, broker = random.Random(1), Broker(root, topics={"orders": 4, "clicks": 4, "payments": 4, "audit": 1})

    def around(middle: float, hour: float, width: float) -> float:
        return math.exp(-(((hour - middle) / width) ** 2))

    for day in range(14):
        for hour in range(24):
            office = around(10.5, hour, 2.2) + around(15.5, hour, 2.5)
            evening = around(20, hour, 2.5)
            rates = {
                "orders": (4 + 60 * evening + 25 * office) * 1.06**day,
                "clicks": 4 + 150 * office * (0.12 if day % 7 >= 5 else 1),
                "payments": 2 + 40 * evening + 15 * office,
                "legacy": 30 if day < 3 else 0,
                "audit": 25 if hour == 2 else 0,
            }
            sent = [(chance.randrange(HOUR), name) for name, rate in rates.items() for _ in range(round(rate))]
            for moment, name in sorted(sent):
                at = MONDAY + day * DAY + hour * HOUR + moment
                tag = {"orders": ("created", "created", "paid", "cancelled"), "clicks": ("page", "page", "button")}.get(name, ("event",))
                size = {"orders": 900, "clicks": 250, "payments": 500, "legacy": 700, "audit": 12_000}[name]
                size = int(size * chance.uniform(0.6, 1.4))
                producer = {"audit": 99, "legacy": 50}.get(name, chance.choice((11, 11, 11, 12, 12, 13)))
                # No text that compresses or repeats: only its size matters here.
                broker.send(name, bytes(size), at, queue=chance.randrange(broker.topics.get(name, 1)), producer=producer,
                            pairs={"TAGS": chance.choice(tag)})  # fmt: skip
    broker.save(deleted="legacy")


class _Shop:
    """Orders as transactions, with their traces. Each step of an order is one method, and plans the next one."""

    followed = "order-1042"  # its consumption fails twice

    def __init__(self, root: Path) -> None:
        self.broker = Broker(root, topics={"orders": 4, "%RETRY%billing": 1})
        self._chance = random.Random(2)
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._steps = itertools.count()

    def later(self, at: int, step: Callable[..., None], *arguments: object) -> None:
        """Plan a step."""
        heapq.heappush(self._due, (at, next(self._steps), partial(step, *arguments)))

    def run(self) -> None:
        """Take all steps in the order of their times."""
        while self._due:
            at, _, step = heapq.heappop(self._due)
            step(at)

    def order(self, number: int, at: int) -> None:
        """A producer sends a half message."""
        chance, key = self._chance, f"order-{number}"
        pairs = {"KEYS": key, "TAGS": "created", "TRAN_MSG": "true", "PGROUP": "shop", "REAL_TOPIC": "orders"}
        pairs["REAL_QID"] = str(chance.randrange(4))
        body = b'{"order": "%s", "total": %d}' % (key.encode(), chance.randrange(5, 500))
        half = self.broker.send(HALF, body, at, took=self._some(3.3, 0.5), pairs=pairs, producer=chance.choice((11, 12)))
        rolls_back = chance.random() < 0.04 and key != self.followed
        self.later(at + self._some(20, 0.6), self._finish if rolls_back else self._commit, half)

    def _commit(self, half: Stored, at: int) -> None:
        pairs = {each: value for each, value in half.pairs.items() if not each.startswith("REAL_")}
        queue = int(half.pairs["REAL_QID"])
        message = replace(half.message, topic="orders", queue_id=queue, sys_flag=COMMIT, prepared_transaction_offset=half.offset)
        sent = self.broker.store(message, pairs, at)
        self.later(at + 200, self._finish, half)
        self.later(at + 50, self._trace_send, sent, half)
        self.later(at + self._some(36, 0.7), self._consume, sent, 0)

    def _finish(self, half: Stored, at: int) -> None:
        self.broker.send(OP, b"%d," % half.message.queue_offset, at, pairs={"TAGS": "d"})

    def _consume(self, sent: Stored, times: int, at: int) -> None:
        key, request, cost = sent.pairs["KEYS"], f"{next(self._steps):032X}", self._some(12, 0.5)
        fails = times < 2 if key == self.followed else times == 0 and self._chance.random() < 0.01
        end = at + cost
        self._trace(end + 20, key, "SubBefore", at, "DefaultRegion", "billing", request, sent.id, times, key)
        code, success = (4, "false") if fails else (0, "true")
        self._trace(end + 20, key, "SubAfter", request, sent.id, cost, success, key, code, end, "billing")
        if fails:
            self.later(end + 10 * SECOND * (times + 1), self._retry, sent, times + 1)

    def _retry(self, sent: Stored, times: int, at: int) -> None:
        pairs = sent.pairs | {"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": sent.id}
        fields = {"queue_id": 0, "sys_flag": 0, "prepared_transaction_offset": 0, "reconsume_times": times}
        again = self.broker.store(replace(sent.message, topic="%RETRY%billing", **fields), pairs, at)
        self.later(at + self._some(36, 0.7), self._consume, again, times)

    def _trace_send(self, sent: Stored, half: Stored, at: int) -> None:
        key, born = sent.pairs["KEYS"], half.message.born_timestamp
        cost, size = half.message.store_timestamp - born + 1, len(sent.message.body)
        sender = born, "DefaultRegion", "shop", "orders", sent.id, "created", key, "10.0.0.5:10911"
        self._trace(at, key, "Pub", *sender, size, cost, 1, "0" * 32, "true")

    def _trace(self, at: int, key: str, *fields: object) -> None:
        body = "\x01".join(map(str, fields)) + "\x02"
        self.broker.send(TRACE, body.encode(), at, producer=7, pairs={"KEYS": key})

    def _some(self, middle: float, spread: float) -> int:
        """Milliseconds around a median, sometimes many more."""
        return max(1, round(self._chance.lognormvariate(math.log(middle), spread)))


def shop(root: Path) -> str:
    """Half an hour of orders. Returns the key of the one to follow."""
    chance, shop = random.Random(4), _Shop(root)
    for number in range(1000, 2500):
        shop.later(MONDAY + 9 * HOUR + (number - 1000) * 1200 + chance.randrange(600), shop.order, number)
    shop.run()
    shop.broker.save()
    return shop.followed


def skewed(root: Path) -> None:
    """An hour of a topic whose keys are skewed, with two groups that are behind, messages out of order, and a lost page of the log."""
    chance, broker = random.Random(3), Broker(root, topics={"orders": 8})
    numbers: Counter[str] = Counter()
    held: dict[str, tuple[int, str]] = {}
    for i in range(12_000):
        at = MONDAY + 9 * HOUR + i * 300
        customer = "c-17" if chance.random() < 0.3 else f"c-{chance.randrange(400)}"
        queue = hash_code(customer) % 8
        numbers[customer] += 1
        number = numbers[customer]
        if number > 1 and chance.random() < 0.0005:  # the producer gave up
            continue
        tag = "created" if number % 5 else "refund"

        def send(number: int, tag: str, at: int = at, customer: str = customer, queue: int = queue) -> None:
            body = f'{{"customer": "{customer}", "number": {number}}}'.encode()
            broker.send("orders", body, at, queue=queue, producer=11, pairs={"TAGS": tag, "KEYS": f"{customer}#{number}"})

        # Some producers send in parallel: then a message overtakes the one before it.
        if customer not in held and chance.random() < 0.003:
            held[customer] = number, tag
            continue
        send(number, tag)
        if customer in held:
            send(*held.pop(customer))
    lag = {"billing": 0.02, "refunds": 0.35, "analytics": 0.0}
    for group, share in lag.items():
        lengths = {queue: broker.length("orders", queue) for queue in range(8)}
        broker.committed[f"orders@{group}"] = {queue: round(length * (1 - share)) for queue, length in lengths.items()}
    broker.save()
    with (root / "commitlog" / f"{0:020d}").open("r+b") as log:
        log.seek(300 * 4096)
        log.write(bytes(4096))


def days(root: Path) -> Broker:
    """A broker with one day of orders, which `next_day` continues."""
    broker = Broker(root, segment=1 << 20, topics={"orders": 4})
    next_day(broker)
    return broker


def next_day(broker: Broker) -> None:
    """One more day: 1,200 orders and 300 clicks, and the files as they are then."""
    day = (broker.now - MONDAY) // DAY + 1 if broker.now else 0
    chance = random.Random(100 + day)
    for i in range(1500):
        at = MONDAY + day * DAY + i * 50 * SECOND
        topic = "clicks" if i % 5 == 4 else "orders"
        body = f'{{"order": "order-{day}-{i}", "total": {chance.randrange(5, 500)}}}'.encode()
        broker.send(topic, body, at, queue=i % 4 if topic == "orders" else 0, pairs={"KEYS": f"order-{day}-{i}", "TAGS": "created"})
    broker.save()
