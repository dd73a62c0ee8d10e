"""A server with the API of S3 on this machine, and a link to it: slow, counted, and with faults."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import native_reader as nr

KEY, SECRET, TOKEN = "AKIDOFTHETESTSXXXXXX", "the/Secret+Of0the1Tests2XXXXXXXXXXXXXXXX", "TheTokenOfTheTests=="
_PIECE = 64 << 10
_NUMBERS = count(1)


class Call(NamedTuple):
    """One call of a client. `kind`: list, head or get. `range`: of bytes; of a list, the token of what an earlier answer lacks."""

    kind: str
    key: str
    range: str | None = None
    host: str = ""


class Answer(NamedTuple):
    """What a client gets instead of the server's answer. `status` 0: nothing, and the connection stays open for `seconds`."""

    status: int
    body: bytes = b""
    seconds: float = 0.0
    cut: bool = False
    """Only half of the real answer, then the end of the connection."""


def refusal(status: int, code: str, message: str) -> Answer:
    """An answer in the form of S3's errors, as long as real ones."""
    request = "<RequestId>4442587FB7D0A2F9</RequestId><HostId>" + "h" * 80 + "</HostId>"
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>{request}</Error>'
    return Answer(status, text.encode())


SLOW_DOWN = refusal(503, "SlowDown", "Please reduce your request rate.")
FAILED = refusal(500, "InternalError", "We encountered an internal error. Please try again.")
DENIED = refusal(403, "AccessDenied", "Access Denied")


def always(answer: Answer, kind: str) -> Callable[[Call], Answer | None]:
    """A fault of all calls of a kind."""
    return lambda call: answer if call.kind == kind else None


class Link:
    """A way to the server. `delay`: seconds for each call; `rate`: bytes per second, of all answers together."""

    def __init__(self, server: int) -> None:
        self.calls: list[Call] = []
        self.bytes = 0
        self.busy = 0.0
        """For how many seconds at least one answer was on its way. On a loaded machine, less may pass in them than the rate says."""
        self.delay = 0.0
        self.rate: float | None = None
        self.fault: Callable[[Call], Answer | None] = lambda _: None
        self._server, self._lock, self._free = server, threading.Lock(), 0.0
        self._sending, self._since = 0, 0.0
        self._kept: dict[str, bytes] = {}
        link = self

        class Handler(_Handler):
            of = link

        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._proxy.daemon_threads = True
        self._thread = threading.Thread(target=self._proxy.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def fs(self) -> dict[str, object]:
        """The options that reach the server over this link."""
        here = f"127.0.0.1:{self._proxy.server_address[1]}"
        return {"endpoint_override": here, "scheme": "http", "access_key": KEY, "secret_key": SECRET, "region": "us-east-1"}

    @property
    def kinds(self) -> Counter[str]:
        """How many calls of each kind came."""
        return Counter(call.kind for call in self.calls)

    def reset(self) -> None:
        """Forget what was counted, and all faults."""
        self.calls, self.bytes, self.busy, self.fault = [], 0, 0.0, lambda _: None

    def keep(self, path: str, content: bytes) -> None:
        """Answer for ranges of that object from memory: the server reads it whole for each range."""
        self._kept[path] = content

    def close(self) -> None:
        """Stop."""
        self._proxy.shutdown()
        self._proxy.server_close()
        self._thread.join()

    def note(self, call: Call) -> Answer | None:
        """Count a call and wait for the delay; returns the fault, if there is one."""
        with self._lock:
            self.calls.append(call)
        time.sleep(self.delay)
        return self.fault(call)

    def answer(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, list[tuple[str, str]], bytes | memoryview]:
        """What the server says."""
        ranges = next((value for name, value in headers.items() if name.lower() == "range"), None)
        if method == "GET" and path in self._kept and ranges is not None:
            content = self._kept[path]
            first, _, last = ranges.removeprefix("bytes=").partition("-")
            part = memoryview(content)[int(first) : int(last) + 1]
            return 206, [("Content-Range", f"bytes {first}-{last}/{len(content)}")], part
        return self._asked(method, path, body, headers)

    def _asked(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = HTTPConnection("127.0.0.1", self._server)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def send(self, write: Callable[[memoryview], Any], body: bytes | memoryview) -> None:
        """Send a body at the link's rate."""
        view = memoryview(body)
        with self._lock:
            self._since = time.monotonic() if not self._sending else self._since
            self._sending += 1
        try:
            self._send(write, view)
        finally:
            with self._lock:
                self._sending -= 1
                self.busy += 0 if self._sending else time.monotonic() - self._since

    def _send(self, write: Callable[[memoryview], Any], view: memoryview) -> None:
        for begin in range(0, len(view), _PIECE):
            piece = view[begin : begin + _PIECE]
            with self._lock:
                self.bytes += len(piece)
                if self.rate is not None:
                    self._free = max(self._free, time.monotonic()) + len(piece) / self.rate
                    wait = self._free - time.monotonic()
            if self.rate is not None and wait > 0.002:
                time.sleep(wait)
            write(piece)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    of: Link

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def _handle(self) -> None:
        link, body = self.of, self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        listed = query.get("prefix") if "list-type" in query else None
        key = unquote(parts.path).lstrip("/").partition("/")[2]
        kind = "list" if "list-type" in query else self.command.lower()
        part = query.get("continuation-token", [None])[0] if kind == "list" else self.headers.get("Range")
        fault = link.note(Call(kind, listed[0] if listed else key, part, self.headers["Host"]))
        try:
            if fault is not None and not fault.cut:
                if not fault.status:
                    time.sleep(fault.seconds)
                    self.close_connection = True
                    return
                return self._send(fault.status, [("Content-Type", "application/xml")], fault.body)
            status, headers, content = link.answer(self.command, self.path, body, dict(self.headers))
            self._send(status, headers, content, cut=fault is not None)
        except (BrokenPipeError, ConnectionResetError):  # the client gave up
            self.close_connection = True

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes | memoryview, *, cut: bool = False) -> None:
        self.send_response_only(status)
        length = next((value for name, value in headers if self.command == "HEAD" and name.lower() == "content-length"), len(body))
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "content-range") or name == "Content-Range":
                self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.of.send(self.wfile.write, body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle


class Bucket(NamedTuple):
    """A bucket, and a client that writes to it past the link."""

    name: str
    client: Any
    link: Link

    @property
    def url(self) -> str:
        """Where a reader finds it."""
        return f"s3://{self.name}"

    def put(self, name: str, content: bytes) -> None:
        """Write an object; a name that ends in `/` is an empty directory."""
        self.client.put_object(Bucket=self.name, Key=name, Body=content)

    def put_kept(self, files: Mapping[str, bytes]) -> None:
        """Write objects that the link answers for."""
        for name, content in files.items():
            self.put(name, content)
            self.link.keep(f"/{self.name}/{name}", content)

    def replace(self, name: str, content: bytes) -> None:
        """Replace an object in another second, because S3 knows the times of objects in seconds."""
        time.sleep(0.3)  # a reader relies on a shorter time
        before = self.client.head_object(Bucket=self.name, Key=name)["LastModified"]
        while self.client.head_object(Bucket=self.name, Key=name)["LastModified"] == before:
            time.sleep(0.1)
            self.put(name, content)

    def remove(self, name: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket=self.name, Key=name)


@functools.cache
def _server() -> tuple[Any, int, Any]:
    """The server, its port and a client; one for a process of tests, until it ends."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs each call
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    at = f"http://127.0.0.1:{port}"
    client = boto3.client("s3", endpoint_url=at, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1")
    return server, port, client


@contextmanager
def bucket_of(files: Mapping[str, bytes]) -> Iterator[Bucket]:
    """A new bucket with those objects."""
    bucket = new_bucket(files)
    try:
        yield bucket
    finally:
        bucket.link.close()


def new_bucket(files: Mapping[str, bytes]) -> Bucket:
    """A new bucket with those objects. Close its link."""
    _, port, client = _server()
    bucket = Bucket(f"bucket-{next(_NUMBERS)}", client, Link(port))
    client.create_bucket(Bucket=bucket.name)
    kept = _kept()
    for name, content in files.items():
        kept.put_object(bucket.name, name, content)
    return bucket


@functools.cache
def _kept() -> Any:
    """What the server keeps. To write an object with a call takes a hundred times as long."""
    from moto.s3.models import s3_backends

    return s3_backends["123456789012"]["aws"]


def opened(bucket: Bucket, **more: object) -> nr.Store:
    """Open the store in it."""
    return nr.open(f"{bucket.url}/store", fs=bucket.link.fs | more)
