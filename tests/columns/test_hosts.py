"""Hosts of both address families in one chunk."""

from __future__ import annotations

import pytest
from support.compare import same, segments_of

from native_reader.layout.record import BORN_IPV6, STORE_IPV6
from native_reader.testing.records import Message

V4, OTHER_V4 = (bytes([127, 0, 0, 1]), 10911), (bytes([10, 0, 0, 7]), 5)
V6, OTHER_V6, MAPPED = (bytes(15) + b"\x01", 5), (bytes(range(16)), 10911), (bytes(10) + b"\xff\xff\x7f\0\0\x01", 10911)


@pytest.mark.parametrize("families", ["4464", "6446", "66", "4664646446", "44"])
def test_hosts_of_both_families_in_one_chunk_are_those_of_their_rows(families: str) -> None:
    """They are formatted by family, and put in their rows again. One address, mapped to IPv6, is the text of another."""
    messages = []
    for number, family in enumerate(families):
        longer, other = [V6, OTHER_V6, MAPPED][number % 3], families[-1 - number]
        born = longer if family == "6" else [V4, OTHER_V4][number % 2]
        store = longer if other == "6" else V4
        flags = (BORN_IPV6 if family == "6" else 0) | (STORE_IPV6 if other == "6" else 0)
        messages.append(Message(topic="t", body=b"x" * number, born_host=born, store_host=store, sys_flag=flags))
    assert len(same(segments_of(*messages), "plain")) == len(families)
