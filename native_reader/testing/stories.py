"""The rare records between the ordinary ones: every kind, as a 5.5.0 broker writes them.

A story starts with one record (or a batch) and continues after that record is stored: a half message is committed, a delayed one
delivered, a failed one retried until it goes to the DLQ. Stories may be unfinished at the end of the log.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from native_reader.testing import compression
from native_reader.testing.java import map_order
from native_reader.testing.producers import BROKER, CLUSTER, STORE_HOST, STORE_HOST_V6, ProducedTopic, Producers
from native_reader.testing.queues import QueueName
from native_reader.testing.rare import DELAY_SECONDS, HALF, MAX_TIME, OP, REVIVE, SCHEDULE, TIMER, TRACE, Next, Pairs, Rare
from native_reader.testing.records import (
    COMMIT,
    INNER_BATCH,
    NEED_UNWRAP,
    PREPARED,
    ROLLBACK,
    InnerMessage,
    Message,
    pack_inner,
    pack_properties,
)

BATCH_TOPIC: Final = "batched-orders"
LMQ_PARENT: Final = "mqtt-messages"
GROUP: Final = "checkout-service"
LONG_GROUP: Final = "analytics-" + "g" * 80
LONG_TOPIC: Final = "partner-feed-" + "t" * 60
_MULTI_TAGS: Final = 2


class Stories:
    """Returns the next rare records, due ones first."""

    def __init__(self, topics: Sequence[ProducedTopic], producers: Producers, largest: int, seed: int, huge: bool = False) -> None:
        self._topics, self._producers, self._largest, self._with_huge = topics, producers, largest, huge
        self._random = random.Random(seed)
        self._due: list[tuple[int, int, Callable[[], list[Rare]]]] = []
        self._tie = itertools.count()
        self._decided: list[int] = []  # queue offsets of halves without an op message so far
        self._lmq_offsets: dict[str, int] = {}  # the next offset of each light queue; only these stories write to them
        self._batched: dict[QueueName, int] = {}
        self.delivered: Counter[int] = Counter()  # by delay level
        self._now = 0
        self._kinds = itertools.cycle(self._random.sample(self._first_records(), len(self._first_records())))

    def _first_records(self) -> list[Callable[[], list[Rare]]]:
        return [
            self._transaction, self._transaction, self._delayed, self._delayed, self._retried, self._timed, self._popped, self._trace,
            self._lmq_message, self._inner_batch, self._client_batch, self._ipv6, self._compressed, self._old_transaction, self._unusual,
            *([self._huge] if self._with_huge else []),
        ]  # fmt: skip

    def next(self, now: int) -> list[Rare]:
        """The records stored at `now`, adjacent to each other."""
        self._now = now
        if self._due and self._due[0][0] <= now:
            return heapq.heappop(self._due)[2]()
        return next(self._kinds)()

    def _later(self, seconds: float, make: Callable[[], list[Rare]]) -> None:
        heapq.heappush(self._due, (self._now + int(seconds * 1000), next(self._tie), make))

    def _after(self, seconds: float, make: Callable[[Rare], list[Rare]]) -> Next:
        """The sequel of a record: what to store some seconds after it."""
        return lambda stored: self._later(seconds, lambda: make(stored))

    def _send(
        self, topic: str, queue_id: int, own: Pairs, body: bytes, *, producer: int = -1, then: Next | None = None, **more: Any
    ) -> Rare:
        """The record that a broker stores for a single message of a client; by default of any producer."""
        producer = self._random.randrange(self._producers.count) if producer < 0 else producer
        born = self._now - self._random.randint(1, 9)
        pairs = {"UNIQ_KEY": self._producers.unique_id(producer, born), "WAIT": "true", **own}
        pairs |= {"MSG_REGION": "DefaultRegion", "CLUSTER": CLUSTER, "TRACE_ON": "true"}
        host = self._producers.host(producer)
        message = Message(topic=topic, queue_id=queue_id, body=body, born_timestamp=born, born_host=host, **more)
        return self._stored(message, pairs, then=then)

    def _stored(self, message: Message, pairs: Pairs, capacity: int = 128, then: Next | None = None) -> Rare:
        ordered = [(name, pairs[name]) for name in map_order(pairs, capacity)]
        properties = pack_properties(ordered)
        host = message.store_host if len(message.store_host[0]) == 16 else STORE_HOST
        return Rare(replace(message, properties=properties, store_timestamp=self._now, store_host=host), pairs, then=then)

    def _store_again(self, rare: Rare, topic: str, queue_id: int, pairs: Pairs, then: Next | None = None, **more: Any) -> list[Rare]:
        """The same message, stored again in another queue."""
        return [self._stored(replace(rare.message, topic=topic, queue_id=queue_id, queue_offset=0, **more), pairs, then=then)]

    def _random_queue(self) -> tuple[str, int, str]:
        """A random topic, one of its queues and one of its tags."""
        topic = self._random.choice(self._topics)
        return topic.name, self._random.randrange(topic.queues), self._random.choice(topic.tags)

    def _text(self, words: int = 0) -> bytes:
        words = words or self._random.randint(3, 60)
        return " ".join(self._random.choices(("half", "order", "total", "état", "支付", "0", "42", "{}", "ok"), k=words)).encode()

    # Transactions since 4.3.0.

    def _transaction(self) -> list[Rare]:
        topic, queue_id, tag = self._random_queue()
        key = f"tx{self._random.randrange(10**6)}"
        own = {"TRAN_MSG": "true", "PGROUP": "PG_" + GROUP, "KEYS": key, "TAGS": tag, "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
        half = self._send(HALF, 0, own, self._text())
        half.pairs["__transactionId__"] = half.pairs["UNIQ_KEY"]
        return [self._stored(half.message, half.pairs, then=self._decide)]

    def _decide(self, half: Rare) -> None:
        drawn = self._random.random()
        if drawn < 0.65:
            self._later(self._random.uniform(0.01, 2), lambda: self._commit(half))
        elif drawn < 0.8:
            self._later(self._random.uniform(0.01, 2), lambda: self._roll_back(half))
        elif drawn < 0.95:
            self._later(6, lambda: self._check(half))

    def _commit(self, half: Rare) -> list[Rare]:
        """5.5.0 removes REAL_TOPIC and REAL_QID from the committed copy; 4.x and 5.3.3 keep them."""
        self._decided.append(half.message.queue_offset)
        self._later(3, self._op)
        pairs = {name: value for name, value in half.pairs.items() if name not in ("REAL_TOPIC", "REAL_QID")}
        topic, queue_id = half.pairs["REAL_TOPIC"], int(half.pairs["REAL_QID"])
        return self._store_again(half, topic, queue_id, pairs, sys_flag=COMMIT, prepared_transaction_offset=half.offset)

    def _roll_back(self, half: Rare) -> list[Rare]:
        self._decided.append(half.message.queue_offset)
        return self._op()

    def _op(self) -> list[Rare]:
        """One op message for all halves decided so far: their queue offsets, each followed by a comma."""
        if not self._decided:
            return self.next(self._now)
        body = "".join(f"{offset}," for offset in self._decided).encode()
        self._decided = []
        message = Message(topic=OP, body=body, born_timestamp=self._now - 1, born_host=STORE_HOST)
        return [self._stored(message, {"WAIT": "true", "TAGS": "d"}, 16)]

    def _check(self, half: Rare) -> list[Rare]:
        """An undecided half is stored again; later checks decide it or give up."""
        times = int(half.pairs.get("TRANSACTION_CHECK_TIMES", "0")) + 1
        pairs = half.pairs | {"TRANSACTION_CHECK_TIMES": str(times)}
        if times > 2:
            return self._store_again(half, MAX_TIME, 0, pairs)
        return self._store_again(half, HALF, 0, pairs, self._decide if self._random.random() < 0.5 else self._after(6, self._check))

    def _old_transaction(self) -> list[Rare]:
        """A transaction of 4.0 to 4.2, as in an upgraded store: a PREPARED record in the real topic, in no queue."""
        topic, queue_id, tag = self._random_queue()
        own = {"TRAN_MSG": "true", "PGROUP": "PG_old", "TAGS": tag, "KEYS": f"old{self._random.randrange(1000)}"}
        prepared = self._send(topic, queue_id, own, self._text(), sys_flag=PREPARED)
        pairs = {name: prepared.pairs[name] for name in prepared.pairs if name != "CLUSTER"}  # since 4.6.0

        def end(first: Rare) -> None:
            commits = self._random.random() < 0.7
            flag, body = (COMMIT, first.message.body) if commits else (ROLLBACK, b"")
            more: dict[str, Any] = {"sys_flag": flag, "body": body, "prepared_transaction_offset": first.offset}
            self._later(1, lambda: self._store_again(first, topic, queue_id, first.pairs, **more))

        return [self._stored(prepared.message, pairs, 16, end)]

    # Delays, retries, timers.

    def _delayed(self) -> list[Rare]:
        topic, queue_id, tag = self._random_queue()
        level = self._random.choice((1, 1, 2, 3, 4, 5, 14, 18))
        own = {"DELAY": str(level), "TAGS": tag, "KEYS": f"d{self._random.randrange(1000)}", "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
        return [self._send(SCHEDULE, level - 1, own, self._text(), then=lambda stored: self._deliver(stored, level, topic, queue_id))]

    def _deliver(self, delayed: Rare, level: int, topic: str, queue_id: int, then: Next | None = None) -> None:
        """When it is due, a delayed record is stored again in its real topic."""

        def count(stored: Rare) -> None:
            self.delivered[level] += 1
            if then:
                then(stored)

        self._later(DELAY_SECONDS[level - 1], lambda: self._store_again(delayed, topic, queue_id, delayed.pairs, count))

    def _retried(self) -> list[Rare]:
        """A consumer sends a message back: delay level 3 + times, then %RETRY%, and finally %DLQ%."""
        topic, queue_id, tag = self._random_queue()
        own = {"TAGS": tag, "KEYS": f"r{self._random.randrange(1000)}"}
        return [self._send(topic, queue_id, own, self._text(), then=self._after(0.5, lambda stored: self._send_back(stored, topic)))]

    def _send_back(self, rare: Rare, topic: str) -> list[Rare]:
        times = rare.message.reconsume_times
        origin = (STORE_HOST[0] + STORE_HOST[1].to_bytes(4) + rare.offset.to_bytes(8)).hex().upper()
        pairs = {"RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": origin} | rare.pairs | {"WAIT": "false"}
        if times >= 3:
            return self._store_again(rare, f"%DLQ%{GROUP}", 0, pairs | {"DELAY": "0"}, reconsume_times=times)
        retry = f"%RETRY%{GROUP}"
        pairs |= {"DELAY": str(3 + times), "REAL_TOPIC": retry, "REAL_QID": "0"}

        def fail(stored: Rare) -> None:
            if self._random.random() < 0.7:
                self._later(0.2, lambda: self._send_back(stored, topic))

        def deliver(stored: Rare) -> None:
            self._deliver(stored, 3 + times, retry, 0, fail)

        return self._store_again(rare, SCHEDULE, 2 + times, pairs, deliver, reconsume_times=times + 1)

    def _timed(self) -> list[Rare]:
        topic, queue_id, tag = self._random_queue()
        seconds = self._random.choice((2, 5, 20, 3600))
        due = (self._now + 1000 * seconds) // 1000 * 1000
        own = {"TIMER_DELAY_SEC": str(seconds), "TIMER_OUT_MS": str(due), "TAGS": tag, "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
        return [self._send(TIMER, 0, own, self._text(), then=self._after(min(seconds, 10), lambda stored: self._tick(stored, due)))]

    def _tick(self, rare: Rare, due: int) -> list[Rare]:
        """A long delay is stored in the timer topic repeatedly; then the message goes to its real topic."""
        enqueued = rare.message.store_timestamp // 1000 * 1000
        pairs = rare.pairs | {"TIMER_ENQUEUE_MS": str(enqueued), "TIMER_DEQUEUE_MS": str(self._now)}
        if self._now >= due:
            return self._store_again(rare, rare.pairs["REAL_TOPIC"], int(rare.pairs["REAL_QID"]), pairs)
        pairs["TIMER_ROLL_TIMES"] = str(int(pairs.get("TIMER_ROLL_TIMES", "0")) + 1)
        return self._store_again(rare, TIMER, 0, pairs, self._after(10, lambda stored: self._tick(stored, due)))

    def _popped(self) -> list[Rare]:
        """A check point in the revive log. Without an ack, the message is stored in the pop retry topic, as V2 if its name is long."""
        topic, queue_id, tag = self._random_queue()
        group = GROUP
        if self._random.random() < 0.5:
            topic, queue_id, group = LONG_TOPIC, 0, LONG_GROUP
        own = {"TAGS": tag, "KEYS": f"p{self._random.randrange(1000)}"}
        return [self._send(topic, queue_id, own, self._text(), then=self._after(0.1, lambda stored: self._check_point(stored, group)))]

    def _check_point(self, rare: Rare, group: str) -> list[Rare]:
        topic, queue_id, start = str(rare.message.topic), rare.message.queue_id, rare.message.queue_offset
        point = {"bm": 0, "bn": BROKER, "c": group, "d": [0], "it": 1000, "n": 1, "pt": self._now, "q": queue_id, "ro": 0, "so": start}
        unique = f"{topic}@{queue_id}@{start}@{group}@{self._now}@{BROKER}@ck"
        pairs = {"UNIQ_KEY": unique, "TAGS": "ck", "TIMER_DELIVER_MS": str(self._now)}
        body = json.dumps(point, separators=(",", ":")).encode()
        popped = self._now

        def revive(_: Rare) -> None:
            if self._random.random() < 0.7:
                again = {name: rare.pairs[name] for name in reversed(rare.pairs)} | {"ORIGIN_GROUP": group, "1ST_POP_TIME": str(popped)}
                retry = f"%RETRY%{group}_{topic}"
                version: Literal[1, 2] = 2 if len(retry) > 127 else 1
                message = replace(rare.message, topic=retry, version=version, queue_id=0, queue_offset=0, reconsume_times=1)
                self._later(1, lambda: [self._stored(message, again, 16)])

        return [self._stored(Message(topic=REVIVE, body=body, born_timestamp=popped, born_host=STORE_HOST), pairs, 16, revive)]

    # Messages from clients.

    def _trace(self) -> list[Rare]:
        topic, _, tag = self._random_queue()
        key = f"tr{self._random.randrange(1000)}"
        host, no_id = "10.0.0.11:10911", "0" * 32
        fields = ("Pub", self._now, "DefaultRegion", "PG_" + GROUP, topic, no_id, tag, key, host, 8, 19, 0, no_id, "true")
        body = "\x01".join(map(str, fields)) + "\x02"
        return [self._send(TRACE, 0, {"KEYS": f"{key} {no_id}"}, body.encode() * self._random.randint(1, 4))]

    def _lmq_message(self) -> list[Rare]:
        """An LMQ message: stored once, with entries in its topic's queue and in each of its light queues."""
        names = self._random.sample([f"%LMQ%{device}" for device in ("alice", "bob", "carol", "sensor-7")], self._random.randint(1, 3))
        taken = [(name, self._lmq_offsets.get(name, 0)) for name in names]
        self._lmq_offsets |= {name: offset + 1 for name, offset in taken}
        offsets = ",".join(str(offset) for _, offset in taken)
        own = {"INNER_MULTI_DISPATCH": ",".join(names), "INNER_MULTI_QUEUE_OFFSET": offsets, "TAGS": "lmq"}
        light = self._send(LMQ_PARENT, self._random.randrange(2), own, self._text())
        light.lmq = taken
        return [light]

    def _inner_batch(self) -> list[Rare]:
        queue = QueueName(BATCH_TOPIC, self._random.randrange(2), batch=True)
        base = self._batched.get(queue, 0)
        if self._random.random() < 0.3:
            single = self._send(BATCH_TOPIC, queue.queue_id, {"TAGS": "single", "KEYS": f"bs{base}"}, self._text())
            single.batch = True
            self._batched[queue] = base + 1
            return [single]
        units = []
        for i in range(self._random.randint(2, 6)):
            own = {"KEYS": f"bq{base}-{i}", "UNIQ_KEY": self._producers.unique_id(0, self._now), "WAIT": "true", "TAGS": "TagB"}
            packed = pack_properties([(name, own[name]) for name in map_order(own)])
            units.append(InnerMessage(self._text(), packed, flag=i))
        own = {"INNER_NUM": str(len(units)), "INNER_BASE": str(base)}
        batch = self._send(BATCH_TOPIC, queue.queue_id, own, pack_inner(units), sys_flag=INNER_BATCH | NEED_UNWRAP)
        batch.batch, batch.units = True, len(units)
        self._batched[queue] = base + len(units)
        return [batch]

    def _client_batch(self) -> list[Rare]:
        """Adjacent records of one send; the broker stores the properties as the client wrote them."""
        topic, queue_id, tag = self._random_queue()
        producer, born = self._random.randrange(self._producers.count), self._now - 2
        batch = []
        for i in range(self._random.randint(2, 6)):
            pairs = {"KEYS": f"b{i}", "UNIQ_KEY": self._producers.unique_id(producer, born), "WAIT": "true"}
            pairs |= {"TAGS": tag} if self._random.random() < 0.7 else {"bp": f"批{i}", "empty": ""}
            host = self._producers.host(producer)
            message = Message(topic=topic, queue_id=queue_id, body=self._text(), born_timestamp=born, born_host=host)
            batch.append(self._stored(message, pairs, 16))
        return batch

    def _ipv6(self) -> list[Rare]:
        topic, queue_id, tag = self._random_queue()
        rare = self._send(topic, queue_id, {"TAGS": tag, "KEYS": f"v6{self._random.randrange(100)}"}, self._text())
        address = bytes.fromhex("fd00000000000000") + self._random.randbytes(8)
        born, stored = self._random.choice(((True, False), (True, True), (False, True)))
        born_host = (address, rare.message.born_host[1]) if born else rare.message.born_host
        rare.message = replace(rare.message, born_host=born_host, store_host=STORE_HOST_V6 if stored else STORE_HOST)
        return [rare]

    def _compressed(self) -> list[Rare]:
        topic, queue_id, tag = self._random_queue()
        name, flags, compress = self._random.choice(compression.CODECS)
        body = compress(self._text(self._random.randint(1000, 3000)))  # real producers compress from 4 KiB on
        return [self._send(topic, queue_id, {"TAGS": tag, "KEYS": name}, body, sys_flag=flags)]

    def _huge(self) -> list[Rare]:
        """A large message; all come from one producer and are in the same topic."""
        topic = self._topics[-1]
        body = self._random.randbytes(self._random.randint(self._largest // 2, self._largest))
        return [self._send(topic.name, 0, {"TAGS": "export"}, body, producer=0)]

    def _unusual(self) -> list[Rare]:
        """Unusual but valid: an empty or large body, no own properties, unused flag bits, odd texts."""
        topic, queue_id, tag = self._random_queue()
        kind = self._random.randrange(6)
        if kind == 0:
            return [self._send(topic, queue_id, {"TAGS": tag}, b"")]
        if kind == 1:
            return [self._send(topic, queue_id, {}, self._random.randbytes(self._random.randint(1, self._largest)))]
        if kind == 2:  # a resumed half keeps the type bits of its decompressed body
            return [self._send(topic, queue_id, {"TAGS": tag}, self._text(), sys_flag=compression.TYPE_ZSTD)]
        if kind == 3:
            text, flag = self._text(), self._random.randint(-(2**31), 2**31 - 1)
            return [self._send(topic, queue_id, {"TAGS": tag}, text, sys_flag=_MULTI_TAGS, flag=flag)]
        if kind == 4:
            return [self._send(topic, queue_id, {"KEYS": "dup dup  Ünïcode🚀 ", "TAGS": "tag with space", "blank": " "}, self._text())]
        return [self._send(topic, queue_id, {"TAGS": tag}, self._text(), sys_flag=compression.COMPRESSED)]  # cannot be decompressed
