"""A record that is not ordinary: its content from a story, and its entries in queues and index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from native_reader.testing.java import index_hash
from native_reader.testing.producers import CLUSTER, tags_code
from native_reader.testing.queues import QueueName
from native_reader.testing.records import INNER_BATCH, PREPARED, ROLLBACK, Message, encode

HALF: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
MAX_TIME: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
TIMER: Final = "rmq_sys_wheel_timer"
REVIVE: Final = f"rmq_sys_REVIVE_LOG_{CLUSTER}"
TRACE: Final = "RMQ_SYS_TRACE_TOPIC"
DELAY_SECONDS: Final = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)  # messageDelayLevel


Pairs = dict[str, str]
Next = Callable[["Rare"], None]


@dataclass
class Rare:
    """A record to be stored; storing it sets its offset and queue offset."""

    message: Message
    pairs: Pairs
    batch: bool = False  # its queue has type BatchCQ
    units: int = 1  # how many queue offsets it takes
    lmq: list[tuple[str, int]] = field(default_factory=list)
    then: Next | None = None
    offset: int = -1

    @property
    def in_queue(self) -> bool:
        """PREPARED and ROLLBACK records of 4.0 to 4.2 are in no queue."""
        return self.message.sys_flag & 0xC not in (PREPARED, ROLLBACK)

    @property
    def queue(self) -> QueueName:
        """The queue that gets an entry for it."""
        return QueueName(str(self.message.topic), self.message.queue_id, self.batch) if self.in_queue else QueueName("", -1)

    def store(self, queue_offset: int, offset: int) -> bytes:
        """Set its offsets and encode it."""
        self.message, self.offset = replace(self.message, queue_offset=queue_offset), offset
        return encode(self.message, offset)

    def tags_code(self) -> int:
        """The hash of the tag; in the delay topic the due time; 0 for an inner batch."""
        if self.message.topic == SCHEDULE and "DELAY" in self.pairs:
            return self.message.store_timestamp + 1000 * DELAY_SECONDS[min(int(self.pairs["DELAY"]), len(DELAY_SECONDS)) - 1]
        return 0 if self.message.sys_flag & INNER_BATCH else tags_code(self.pairs.get("TAGS"))

    def index_hashes(self) -> list[int]:
        """The hashes of the indexed keys: unique id, KEYS, and in 5.5.0 the tag; none for a ROLLBACK."""
        if self.message.sys_flag & 0xC == ROLLBACK:
            return []
        keys = [self.pairs.get("UNIQ_KEY", ""), *self.pairs.get("KEYS", "").split(" ")]
        keys += [f"T#{self.pairs['TAGS']}"] if self.pairs.get("TAGS") else []
        return [index_hash(str(self.message.topic), key) for key in keys if key]
