"""Producers with their unique ids, and topics with their queues and tags."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native_reader.testing.java import hash_code
from native_reader.testing.records import Host

STORE_HOST: Final[Host] = (bytes([10, 0, 0, 11]), 10911)
STORE_HOST_V6: Final[Host] = (bytes.fromhex("fd000000000000000000000000000011"), 10911)
CLUSTER: Final = "DefaultCluster"
BROKER: Final = "broker-a"

_TOPIC_NAMES: Final = (
    "orders", "payments", "user-events", "clicks", "inventory", "shipments", "notifications", "audit_log", "invoices", "pricing",
    "search-queries", "sessions",
)  # fmt: skip
_TAG_NAMES: Final = ("created", "paid", "shipped", "cancelled", "TagA", "TagB", "retry", "AaAa", "BBBB", "v2", "eu-west-1", "标签")
_HEX: Final = np.frombuffer("".join(f"{i:02X}" for i in range(256)).encode(), dtype="<u2")
_ID: Final = np.dtype([("ip", ">u4"), ("pid", ">u2"), ("loader", ">u4"), ("since", ">i4"), ("counter", ">u2")])


@dataclass(frozen=True)
class ProducedTopic:
    """A topic with its queues and tags; `first_queue` is the store-wide number of its first queue."""

    name: str
    queues: int
    tags: tuple[str, ...]
    first_queue: int


def make_topics(count: int, rng: np.random.Generator) -> list[ProducedTopic]:
    """Topics with 4 to 8 queues and a few tags each."""
    topics: list[ProducedTopic] = []
    for i in range(count):
        name = _TOPIC_NAMES[i] if i < len(_TOPIC_NAMES) else f"topic-{i}"
        tags = tuple(str(tag) for tag in rng.permutation(_TAG_NAMES)[: rng.integers(2, 7)])
        first = topics[-1].first_queue + topics[-1].queues if topics else 1  # number 0 means no queue
        topics.append(ProducedTopic(name, int(rng.integers(4, 9)), tags, first))
    return topics


def zipf(count: int, exponent: float = 1.0) -> NDArray[np.float64]:
    """Cumulative weights of a Zipf distribution over `count` items, for np.searchsorted."""
    return cumulated(1.0 / np.arange(1, count + 1, dtype=np.float64) ** exponent)


def cumulated(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalized cumulative weights, for np.searchsorted."""
    shares: NDArray[np.float64] = np.cumsum(weights) / weights.sum()
    return shares


def weights_at(
    topics: list[ProducedTopic], shares: dict[str, float], lives: dict[str, tuple[float, float]], at: float
) -> NDArray[np.float64]:
    """The weight of each topic at position `at` of the log, 0 to 1. Topics without a share divide the rest, skewed."""
    weights = 1.0 / np.arange(1, len(topics) + 1, dtype=np.float64)
    named = np.array([topic.name in shares for topic in topics])
    weights[~named] *= (1.0 - sum(shares.values())) / weights[~named].sum()
    weights[named] = [shares[topic.name] for topic in topics if topic.name in shares]
    for which, topic in enumerate(topics):
        begin, end = lives.get(topic.name, (0.0, 1.0))
        weights[which] = weights[which] / (end - begin) if begin <= at < end else 0.0
    return weights


def number(groups: NDArray[np.uint16], next_number: NDArray[np.int64], advance: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Number the members of each group from `next_number` on, and update it; `advance`: steps other than 1."""
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    steps = np.ones(len(groups), dtype=np.int64) if advance is None else advance[order]
    before = np.cumsum(steps) - steps
    first = np.flatnonzero(np.r_[True, sorted_groups[1:] != sorted_groups[:-1]])[: len(groups)]
    sizes = np.diff(np.r_[first, len(groups)])
    numbers = np.empty(len(groups), dtype=np.int64)
    numbers[order] = before + np.repeat(next_number[sorted_groups[first]] - before[first], sizes)
    np.add.at(next_number, sorted_groups, steps)
    return numbers


class Producers:
    """Client processes, each with an address, and the unique ids that they create (MessageClientIDSetter)."""

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self.count = count
        self.ips = (10 << 24 | 1 << 16) + rng.integers(256, 65536, count).astype(np.uint32)
        self.ports = rng.integers(32768, 61000, count).astype(np.int32)
        self._pids = rng.integers(1, 32768, count).astype(np.uint16)
        self._loaders = rng.integers(0, 2**31, count).astype(np.uint32)
        self._counters = rng.integers(0, 65536, count).astype(np.int64)

    def host(self, which: int) -> Host:
        """A producer's address and port."""
        return int(self.ips[which]).to_bytes(4), int(self.ports[which])

    def unique_ids(self, which: NDArray[np.uint16], born: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The ids of messages in sending order: 32 upper-case hex digits per row."""
        ids = np.empty(len(which), dtype=_ID)
        ids["ip"] = self.ips[which]
        ids["pid"] = self._pids[which]
        ids["loader"] = self._loaders[which]
        ids["since"] = born - month_start(int(born[0])) if len(born) else 0
        ids["counter"] = number(which, self._counters) & 0xFFFF
        return _HEX[ids.view(np.uint8)].view(np.uint8).reshape(len(ids), 32)

    def unique_id(self, which: int, born: int) -> str:
        """The id of one message."""
        counter = int(self._counters[which])
        self._counters[which] += 1
        fields = int(self.ips[which]), int(self._pids[which]), int(self._loaders[which]), born - month_start(born), counter & 0xFFFF
        return struct.pack(">IHIiH", *fields).hex().upper()


def month_start(timestamp: int) -> int:
    """The first millisecond of its month, in the producers' time zone (UTC here)."""
    return int(np.datetime64(timestamp, "ms").astype("M8[M]").astype("M8[ms]").astype(np.int64))


def tags_code(tag: str | None) -> int:
    """The tagsCode of a queue entry: the tag's hash, 0 without a tag."""
    return hash_code(tag) if tag else 0
