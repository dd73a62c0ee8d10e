"""Loopback ports for the servers that tests start."""

import contextlib
import random
import socket


def free_port() -> int:
    """A port that is free now, like its neighbours: a broker also takes `listenPort - 2`.

    It is below the range of outgoing connections: otherwise, before the server opens it, any client on the
    machine could take it.
    """
    chosen = random.SystemRandom()
    for _ in range(1000):
        port = chosen.randrange(10_000, 32_000)
        with contextlib.ExitStack() as taken, contextlib.suppress(OSError):
            for near in range(port - 2, port + 2):
                taken.enter_context(socket.create_server(("127.0.0.1", near)))
            return port
    raise AssertionError("no four ports side by side are free from 10000 to 32000")
