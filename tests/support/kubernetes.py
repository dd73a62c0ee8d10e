"""What Spark asks the API of Kubernetes for: a server on this machine says yes to all of it. No pod runs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """The address of the server, and the pods that were asked for."""

    address: str
    pods: list[dict[str, Any]]


@contextmanager
def api_of_kubernetes() -> Iterator[Asked]:
    """The server, until the end of the block."""
    pods = list[dict[str, Any]]()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if made["kind"] == "Pod":
                pods.append(made)
            made["metadata"] |= {"uid": "1", "resourceVersion": "1", "namespace": "default"}
            self._answer(201, made)

        do_PATCH = do_PUT = do_POST

        def do_DELETE(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(200, {"kind": "Status", "status": "Success"})

        def do_GET(self) -> None:
            if "watch=true" in self.path:
                time.sleep(1)
                self._answer(200)
            elif self.path.split("?")[0].endswith("s"):
                self._answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []})
            else:
                self._answer(404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404})

        def _answer(self, status: int, content: dict[str, Any] | None = None) -> None:
            body = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Asked(f"http://127.0.0.1:{server.server_port}", pods)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
