"""Loopback ports for the servers that tests start."""

import contextlib
import itertools
import os
import random
import socket
from collections.abc import Iterator

FIRST, END = 10_000, 32_000
"""Below the range of outgoing connections: otherwise, before the server opens it, any client on the machine could take it."""
_APART = 4


def free_port() -> int:
    """A port that is free now, like its neighbours: a broker also takes `listenPort - 2`."""
    for port in itertools.islice(_PORTS, (END - FIRST) // _APART):
        with contextlib.ExitStack() as taken, contextlib.suppress(OSError):
            for near in range(port - 2, port + 2):
                taken.enter_context(socket.create_server(("127.0.0.1", near)))
            return port
    raise AssertionError(f"no four ports side by side are free from {FIRST} to {END}")


def _own_ports() -> Iterator[int]:
    """Those of this process of pytest, in turn: one that is free may be that of a broker which is about to start again."""
    share = (END - FIRST) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    first = FIRST + share * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = range(first + 2, first + share - 2, _APART)
    begin = random.SystemRandom().randrange(len(ports))
    return itertools.cycle((*ports[begin:], *ports[:begin]))


_PORTS = _own_ports()
