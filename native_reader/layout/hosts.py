"""Hosts, and the message ids built from them, formatted as in RocketMQ's Java client."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Bytes

_HEX = np.frombuffer("".join(f"{byte:02X}" for byte in range(256)).encode(), np.uint16)
_IPV4_MAPPED = bytes(10) + b"\xff\xff"
_MOST_KEPT = 4096
"""So many hosts keep their texts: most stores have fewer, and each chunk has the same ones again."""


@lru_cache(_MOST_KEPT)
def host_text(host: bytes) -> str:
    """`address:port` from 4 or 16 address bytes and a 4-byte port; IPv6 is printed without `::`, as in Java."""
    address, port = host[:-4], int.from_bytes(host[-4:], "big", signed=True)
    if len(address) == 16 and address.startswith(_IPV4_MAPPED):  # Java converts these to Inet4Address
        address = address[12:]
    if len(address) == 4:
        return f"{'.'.join(map(str, address))}:{port}"
    groups = (f"{int.from_bytes(address[i : i + 2], 'big'):x}" for i in range(0, 16, 2))
    return f"{':'.join(groups)}:{port}"


def offset_message_ids(hosts: NDArray[np.void], physical_offsets: NDArray[np.signedinteger]) -> Bytes:
    """Upper-case hex of store host and physical offset: one row of 32 (IPv4) or 56 (IPv6) bytes per record."""
    width = hosts.dtype.itemsize
    raw = np.empty((len(hosts), width + 8), np.uint8)
    raw[:, :width] = np.ascontiguousarray(hosts).view(np.uint8).reshape(len(hosts), width)
    raw[:, width:] = np.ascontiguousarray(physical_offsets, ">i8").view(np.uint8).reshape(len(hosts), 8)
    return _HEX[raw].view(np.uint8)
