"""The store of docs/bodies.md, whose bodies are JSON, Avro and Protobuf, and a registry of schemas on this machine."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from support.stores import files_of, log_of, message, on_disk

_SUBJECT = 135023078756319232
"""What rocketmq-schema-registry gives a schema; the lowest 14 bits are free for the version."""
ORDER_1, ORDER_2 = _SUBJECT | 1, _SUBJECT | 2
_CONFLUENT = 7
_NEW = {"name": "note", "type": "string", "default": "-"}
_OLD = [{"name": "id", "type": "string"}, {"name": "total", "type": "double"}]
_SCHEMAS = {number: json.dumps({"type": "record", "name": "Order", "fields": fields}) for number, fields in ((1, _OLD), (2, [*_OLD, _NEW]))}
_ANSWERS = {
    f"/schema-registry/v1/subject/orders/recordId/{ORDER_1}/schema": {"recordId": ORDER_1, "idl": _SCHEMAS[1]},
    f"/schema-registry/v1/subject/orders/recordId/{ORDER_2}/schema": {"recordId": ORDER_2, "idl": _SCHEMAS[2]},
    # The registry looks at the version only: an id of a subject that was deleted and made again gets the new schema.
    "/schema-registry/v1/subject/orders/recordId/16385/schema": {"recordId": ORDER_1, "idl": _SCHEMAS[1]},
    f"/schemas/ids/{_CONFLUENT}": {"schema": _SCHEMAS[2]},
}


def write_shop(path: Path) -> None:
    """`path/store`, and beside it the descriptor of its Protobuf messages. Some bodies of each topic are broken."""
    bodies = {"clicks": _clicks(), "refunds": _refunds(), "orders": _orders(), "invoices": _invoices(), "payments": _payments()}
    messages = [(topic, number, body) for topic, each in bodies.items() for number, body in enumerate(each)]
    log = log_of(message(place, topic=topic, queue_offset=number, body=body) for place, (topic, number, body) in enumerate(messages))
    on_disk(path, files_of(log))
    (path / "payment.desc").write_bytes(_descriptor())


@contextmanager
def registry() -> Iterator[str]:
    """The address of a server that answers as both registries do; it has no other schemas than those of the store."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = _ANSWERS.get(self.path)
            self.send_response(200 if answer else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer or {"message": "no such schema"}).encode())

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _clicks() -> list[bytes]:
    """JSON: of twelve, one is text, one is cut, one is not UTF-8; one is JSON with a total that is no number."""
    odd = {3: b"no JSON", 7: b'{"id": "C-7", "total"', 9: b'{"id": "\xff"}', 10: b'{"id": "C-10", "total": "x"}'}
    return [odd.get(number, _json(f"C-{number}", number)) for number in range(12)]


def _refunds() -> list[bytes]:
    """JSON after a record id."""
    odd = {1: b"short", 2: struct.pack(">q", ORDER_1) + b"\xff{}"}
    return [odd.get(number, struct.pack(">q", ORDER_1) + _json(f"R-{number}", number)) for number in range(6)]


def _orders() -> list[bytes]:
    """Avro in the form of rocketmq-schema-registry, of two versions."""
    whole = [_with_record_id(ORDER_2 if number > 3 else ORDER_1, _order(number, number > 3)) for number in range(8)]
    broken = [b"no Avro", whole[0][:-1], whole[0] + b"\0", _with_record_id(ORDER_1 + 9, _order(1, False))]
    return [*whole, *broken, _with_record_id(16385, _order(2, False))]


def _invoices() -> list[bytes]:
    """Avro in the form of Confluent's serializers."""
    return [b"\0" + struct.pack(">i", _CONFLUENT) + _order(number, True) for number in range(5)] + [b"\0\0"]


def _payments() -> list[bytes]:
    """Protobuf: of six, one is text, one is cut, one is of another type."""
    whole = [b"\n" + _text(f"P-{number}") + b"\x10" + bytes([number]) for number in range(6)]
    return [*whole[:3], b"no Protobuf", whole[3][:-1], b"\x2a" + _text("another message")]


def _json(name: str, total: float) -> bytes:
    return json.dumps({"id": name, "total": total}).encode()


def _with_record_id(number: int, rest: bytes) -> bytes:
    return b"\x10" + struct.pack(">q", number) + rest


def _order(number: int, is_new: bool) -> bytes:
    """A datum of Avro: texts with the doubled length before them, and a double."""
    note = _avro_text("quick") if is_new else b""
    return _avro_text(f"O-{number}") + struct.pack("<d", number * 1.5) + note


def _avro_text(text: str) -> bytes:
    return bytes([2 * len(text)]) + text.encode()


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _descriptor() -> bytes:
    """What `protoc --include_imports --descriptor_set_out` writes for the message `shop.Payment`."""
    file = descriptor_pb2.FileDescriptorProto(name="payment.proto", package="shop", syntax="proto3")
    payment = file.message_type.add(name="Payment")
    payment.field.add(name="id", number=1, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL)
    payment.field.add(name="cents", number=2, type=FieldDescriptorProto.TYPE_INT64, label=FieldDescriptorProto.LABEL_OPTIONAL)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
