"""Asks brokers and name servers by RocketMQ's protocol: a Java program for each question would take a second of the processor."""

from __future__ import annotations

import json
import socket
import struct

CREATE_TOPIC, CHANGE_SETTINGS, ROUTE_OF_TOPIC = 17, 25, 105
_MOST = 16 << 20
_PATIENCE = 10.0


def ask(address: str, code: int, body: bytes = b"", **fields: object) -> int:
    """The code of the answer: 0 if it was done. Raises OSError if there is none.

    A frame has its length, the length of its header, the header as JSON, and a body.
    """
    host, port = address.split(":")
    header = json.dumps({
        "code": code, "language": "PYTHON", "version": 453, "opaque": 1, "flag": 0, "serializeTypeCurrentRPC": "JSON",
        "extFields": {name: str(value) for name, value in fields.items()},
    }).encode()  # fmt: skip
    with socket.create_connection((host, int(port)), _PATIENCE) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body)
        size, header_size = struct.unpack(">II", _read(answers.read(8), 8))
        header_size &= 0xFFFFFF  # the highest byte says how it is written
        if not header_size + 4 <= size <= _MOST:
            raise OSError(f"{address} sent a frame of {size} bytes with a header of {header_size}")
        answer = json.loads(_read(answers.read(size - 4), size - 4)[:header_size])
    return int(answer["code"])


def _read(content: bytes, expected: int) -> bytes:
    if len(content) != expected:
        raise OSError("the connection was closed")
    return content


def is_ready(name_server: str, broker: str, *, registers_again: bool = True) -> bool:
    """Whether the broker takes a topic named Ready, and the name server knows that.

    When 5.5.0 starts, it registers with the name servers that it has found by then: often none, and then once more ten seconds later.
    A change of its permissions, to what they are, makes it register at once: `registers_again`.
    """
    settings = {
        "topic": "Ready", "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0, "order": "false",
    }  # fmt: skip
    try:
        if ask(broker, CREATE_TOPIC, **settings) != 0:
            return False
        known = ask(name_server, ROUTE_OF_TOPIC, topic="Ready") == 0
        if registers_again and not known:
            ask(broker, CHANGE_SETTINGS, b"brokerPermission=6")
    except OSError:
        return False
    return known
