"""Sends the messages of an export again, each once: python resend.py FOLDER NAMESERVER [--rate N] [--dry-run]

FOLDER is from `rmqstore export … --for-resend`. FOLDER.sent notes each message before it is sent. After a stop or a crash, start the same
command again: it asks the broker for the last message that was noted, because that one may have been sent or not.

It needs nothing but Python: it speaks the protocol of RocketMQ's own Java client, without TLS and access keys. Resend.java does the same.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import itertools
import json
import os
import re
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]

SENT_BACK, WAITING = ("retry", "dlq"), {"delay": "SCHEDULE_TOPIC_XXXX", "timer": "rmq_sys_wheel_timer"}
KINDS = ("normal", "committed", "batch", *SENT_BACK, *WAITING)
ORIGINAL_ID, UNIQUE_KEY, SHARDING_KEY, LATEST = "resent_from", "UNIQ_KEY", "__SHARDINGKEY", 2**63 - 1
# What clients and brokers add: MessageConst.STRING_HASH_SET of 5.5.0 without KEYS and TAGS, and what it lacks.
_OF_OTHERS = """1ST_POP_TIME ARRIVE_TIME BORN_TIMESTAMP BUYER_ID CLUSTER CONSUME_START_TIME CORRECTION_FLAG CORRELATION_ID DELAY
    DLQ_ORIGIN_MESSAGE_ID DLQ_ORIGIN_TOPIC DUP_INFO EXTEND_UNIQ_INFO INNER_MULTI_QUEUE_OFFSET INSTANCE_ID MAX_OFFSET MAX_RECONSUME_TIMES
    MIN_OFFSET MQ2_FLAG MSG_REGION MSG_TYPE ORIGIN_GROUP ORIGIN_MESSAGE_ID PGROUP POP_CK POP_CK_OFFSET PUSH_REPLY_TIME REAL_QID REAL_TOPIC
    RECONSUME_TIME REPLY_TO_CLIENT RETRY_TOPIC TIMER_DELAY_LEVEL TIMER_DELAY_MS TIMER_DELAY_SEC TIMER_DELIVER_MS TIMER_DEL_UNIQKEY
    TIMER_DEQUEUE_MS TIMER_ENQUEUE_MS TIMER_OUT_MS TIMER_ROLL_TIMES TRACE_ON TRANSFER_FLAG TRAN_MSG TRAN_PREPARED_QUEUE_OFFSET TTL UNIQ_KEY
    WAIT _SYS_MSG_PRIORITY_ __BORNHOST __CRC32# __LITE_TOPIC INNER_NUM INNER_BASE __transactionId__ TRANSACTION_CHECK_TIMES TRANS_OFFSET
    TIMER_ROLL_LABEL"""
OF_OTHERS = frozenset(_OF_OTHERS.split())
SEND, QUERY, ROUTE, CLUSTER = 310, 12, 105, 106
"""SEND_MESSAGE_V2, QUERY_MESSAGE, GET_ROUTEINFO_BY_TOPIC and GET_BROKER_CLUSTER_INFO of RocketMQ's RequestCode."""
BROKER_NAME = re.compile(rb'"brokerName":"([^"]*)"')
"""In the answer to the last one, which is not JSON: its numbers of brokers have no quotes."""
STORED, NO_TOPIC, NOT_FOUND = (0, 10, 11, 12), 17, 22
"""Also stored, but not yet flushed or copied to a slave in time."""
ASKED, ATTEMPTS, TIMEOUT, LARGEST_ANSWER, WRITABLE = 5, 3, 10, 64 << 20, 2
GROUP, TEMPLATE, DEFAULT_QUEUES = "rmqstore-resend", "TBW102", 4


class Refused(Exception):
    """What was asked for cannot be done."""


class Failed(Exception):
    """A broker or a name server did not answer, or refused."""


@dataclass(frozen=True)
class Message:
    """A message as a producer would send it. `topics`: where a broker can have it."""

    topic: str
    topics: tuple[str, ...]
    body: bytes
    flag: int
    properties: dict[str, str]


def main() -> int:
    parser = argparse.ArgumentParser(description="Sends the messages of an export again, each once.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("nameserver", help="such as 127.0.0.1:9876")
    parser.add_argument("--rate", type=float, default=float("inf"), help="the most messages per second")
    parser.add_argument("--dry-run", action="store_true", help="count the messages by topic, and send nothing")
    asked = parser.parse_args()
    if not asked.rate > 0:
        parser.error("--rate must be more than 0")
    try:
        dry(asked.folder) if asked.dry_run else send(asked.folder, Cluster(asked.nameserver), asked.rate)
    except (Refused, Failed, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, Refused) else 1
    return 0


def dry(folder: Path) -> None:
    counts = Counter(message.topic for message in messages(folder, files_of(folder)))
    for topic, count in sorted(counts.items()):
        print(f"{topic}: {count}")
    print("nothing was sent")


def send(folder: Path, cluster: Cluster, rate: float) -> None:
    sent, begun, files = 0, time.monotonic(), files_of(folder)
    with Journal(folder) as journal:
        noted = len(journal.ids)
        number = max(noted - 1, 0)
        for message in messages(folder, files, skip=number):
            is_noted = number < noted
            identity = journal.ids[number] if is_noted else journal.note(new_id())
            number += 1
            if is_noted and cluster.has(message, identity):
                continue
            deliver(cluster, message, identity, number)
            sent += 1
            time.sleep(max(0, begun + sent / rate - time.monotonic()))
        print(f"{sent} messages were sent, {number - sent} before")


def deliver(cluster: Cluster, message: Message, identity: str, number: int) -> None:
    """After a send without an answer, the broker knows whether it has the message."""
    for attempt in range(ATTEMPTS):
        try:
            return cluster.send(message, identity, number)
        except (Failed, OSError):
            if cluster.has(message, identity):
                return None
            if attempt == ATTEMPTS - 1:
                raise


def files_of(folder: Path) -> list[Path]:
    if not (folder / "_summary.json").exists():
        raise Refused(f"{folder} is not a complete export: _summary.json is missing")
    return sorted(path for path in folder.rglob("*.jsonl") if not path.relative_to(folder).as_posix().startswith("_"))


def messages(folder: Path, files: list[Path], skip: int = 0) -> Iterator[Message]:
    lines = (line for path in files for line in path.open(encoding="utf-8"))
    for line in itertools.islice(lines, skip, None):
        try:
            message = message_of(json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            raise Refused(f"{folder} is not from rmqstore export --for-resend: {type(error).__name__} {error}") from error
        yield message


def message_of(row: Row) -> Message:
    kind, place = row["kind"], f"{row['store']} at offset {row['physical_offset']}"
    topic = row["origin_topic"] if kind in SENT_BACK else row["real_topic"] if kind in WAITING else row["topic"]
    if kind not in KINDS or not topic or topic.startswith("%"):
        raise Refused(f"{place}: a message of kind {kind} without a topic of a producer. Exclude it from the export")
    if row["body"] is None:
        raise Refused(f"{place}: its body cannot be read. Exclude it from the export")
    given = row["properties"] or {}
    properties = {name: value for name, value in given.items() if name not in OF_OTHERS} | {ORIGINAL_ID: row["msg_id"]}
    if kind == "delay" and row["delay_level"] is not None:
        properties["DELAY"] = str(row["delay_level"])
    if kind == "timer" and "TIMER_OUT_MS" in given:
        properties["TIMER_DELIVER_MS"] = given["TIMER_OUT_MS"]
    topics = (topic, WAITING[kind]) if kind in WAITING else (topic,)  # a message that waits is in another topic
    return Message(topic, topics, base64.b64decode(row["body"]), row["flag"], properties)


_COUNTER = itertools.count()
_OF_PROCESS = os.urandom(10)


def new_id() -> str:
    """An id like those of the Java client: it has the milliseconds since the month began, from which mqadmin looks for the message."""
    now = datetime.now()
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    passed = int((now - month).total_seconds() * 1000)
    return (_OF_PROCESS + struct.pack(">IH", passed & 0xFFFFFFFF, next(_COUNTER) & 0xFFFF)).hex().upper()


class Cluster:
    """The brokers of a name server."""

    def __init__(self, name_server: str) -> None:
        self._name_server = name_server
        self._connections: dict[str, Connection] = {}
        self._queues: dict[str, list[tuple[str, str, int]]] = {}

    def send(self, message: Message, identity: str, number: int) -> None:
        queues = self._queues_of(message.topic)
        key = message.properties.get(SHARDING_KEY)
        broker, address, queue = queues[number % len(queues) if key is None else abs(_java_hash(key)) % len(queues)]
        properties = message.properties | {UNIQUE_KEY: identity}
        header = {
            "a": GROUP, "b": message.topic, "c": TEMPLATE, "d": DEFAULT_QUEUES, "e": queue, "f": 0, "g": int(time.time() * 1000),
            "h": message.flag, "i": "".join(f"{name}\x01{value}\x02" for name, value in properties.items()), "j": 0, "k": "false",
            "m": "false", "n": broker,
        }  # fmt: skip
        code, said, _ = self._call(address, SEND, header, message.body)
        if code not in STORED:
            raise Failed(f"{broker} refused a message to {message.topic}: {said} (code {code})")

    def has(self, message: Message, identity: str) -> bool:
        """A broker indexes a message some milliseconds after it has stored it."""
        for _ in range(ASKED):
            for topic in message.topics:
                header = {"topic": topic, "key": identity, "maxNum": 32, "beginTimestamp": 0, "endTimestamp": LATEST}
                for address in {address for _, address, _ in self._queues_of(message.topic)}:
                    code, said, found = self._call(address, QUERY, header | {"_UNIQUE_KEY_QUERY": "true"})
                    if code not in (0, NOT_FOUND):
                        raise Failed(f"{address} does not say whether it has the last message: {said} (code {code})")
                    if code == 0 and identity.encode() in found:
                        return True
            time.sleep(1)
        return False

    def _queues_of(self, topic: str) -> list[tuple[str, str, int]]:
        """The queues in the order of the Java client, so that a sharding key leads to the same one: broker, its address, number."""
        if topic not in self._queues:
            route, most = self._route(topic), LATEST
            if route is None:  # the broker makes it, if it may
                route, most = self._route(TEMPLATE), DEFAULT_QUEUES
            if route is None:
                raise Failed(self._without_route(topic))
            masters = {each["brokerName"]: each["brokerAddrs"].get("0") for each in route["brokerDatas"]}
            of_brokers = sorted(route["queueDatas"], key=lambda each: str(each["brokerName"]))
            self._queues[topic] = [
                (each["brokerName"], masters[each["brokerName"]], queue)
                for each in of_brokers
                if each["perm"] & WRITABLE and masters.get(each["brokerName"])
                for queue in range(min(each["writeQueueNums"], most))
            ]
        if not self._queues[topic]:
            del self._queues[topic]
            if not any(masters.values()):
                raise Failed(f"broker not reachable: {', '.join(sorted(masters))} has no running master. Start it, then start this again")
            raise Failed(
                f"topic {topic} has no queue for writing on a running master. Set its perm to 6, such as with mqadmin updateTopicPerm"
            )
        return self._queues[topic]

    def _without_route(self, topic: str) -> str:
        """A name server forgets the topics of a broker that has stopped."""
        code, _, body = self._call(self._name_server, CLUSTER, {})
        brokers = ", ".join(sorted({each.decode("utf-8", "replace") for each in BROKER_NAME.findall(body)}))
        if code == 0 and not brokers:
            return (
                f"broker not reachable: no broker has registered with {self._name_server}. Start it, wait 30 seconds, then start this again"
            )
        return (
            f"topic {topic} does not exist on the running brokers ({brokers}), and they make no topics. "
            "If another broker has it, that one is not reachable: start it. Else create the topic, such as with mqadmin updateTopic"
        )

    def _route(self, topic: str) -> Row | None:
        code, said, body = self._call(self._name_server, ROUTE, {"topic": topic, "acceptStandardJsonOnly": "true"})
        if code not in (0, NO_TOPIC):
            raise Failed(f"{self._name_server} does not know where topic {topic} is: {said} (code {code})")
        return _parsed(body, self._name_server) if code == 0 else None

    def _call(self, address: str, code: int, header: Row, body: bytes = b"") -> tuple[int, str, bytes]:
        connection = self._connections.pop(address, None) or Connection(address)
        answer = connection.call(code, header, body)
        self._connections[address] = connection  # not after an error: an answer that comes late would be taken for another one
        return answer


class Connection:
    """Frames: length, length of the header, header as JSON, body."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise Refused(f"{address!r} is not the address of a name server, such as 127.0.0.1:9876")
        try:
            self._socket = socket.create_connection((host, int(port)), TIMEOUT)
        except OSError as error:
            raise Failed(f"{address} cannot be reached: {error}") from error
        self._address, self._number = address, 0

    def call(self, code: int, fields: Row, body: bytes) -> tuple[int, str, bytes]:
        """The code of the answer, its remark and its body."""
        self._number += 1
        texts = {name: str(value) for name, value in fields.items()}
        begin = {"code": code, "language": "PYTHON", "version": 453, "opaque": self._number, "flag": 0, "serializeTypeCurrentRPC": "JSON"}
        header = json.dumps(begin | {"extFields": texts}).encode()
        self._socket.sendall(struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body)
        while True:
            size, header_size = struct.unpack(">II", self._received(8))
            header_size &= 0xFFFFFF  # the highest byte says how it is written
            if not header_size + 4 <= size <= LARGEST_ANSWER:
                raise Failed(f"{self._address} does not speak the protocol of RocketMQ")
            said, found = _parsed(self._received(header_size), self._address), self._received(size - 4 - header_size)
            if said["opaque"] == self._number and said["flag"] & 1:  # not a request of the broker
                return said["code"], said.get("remark") or "", found

    def _received(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            some = self._socket.recv(min(size - len(found), 1 << 20))
            if not some:
                raise Failed(f"{self._address} closed the connection")
            found += some
        return bytes(found)


def _parsed(text: bytes, address: str) -> Row:
    try:
        found: Row = json.loads(text)
    except ValueError as error:
        raise Failed(f"{address} does not answer as a name server or broker of RocketMQ 4.9 or 5 does; a proxy is neither") from error
    return found


def _java_hash(text: str) -> int:
    """`String.hashCode`, which is signed."""
    value = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


class Journal:
    """One line for each message that was begun, its new id. All but the last were sent."""

    def __init__(self, folder: Path) -> None:
        self._path = folder.resolve().with_name(f"{folder.resolve().name}.sent")
        self._file = self._path.open("a+b")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(f"{self._path} is in use by another resend") from None
        self._file.seek(0)
        known = self._file.read()
        end = known.rfind(b"\n") + 1  # the message of a line without an end was not begun
        self._file.truncate(end)
        self.ids = known[:end].decode("ascii").split()

    def note(self, identity: str) -> str:
        self._file.write(f"{identity}\n".encode("ascii"))
        self._file.flush()
        os.fsync(self._file.fileno())
        return identity

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


if __name__ == "__main__":
    sys.exit(main())
