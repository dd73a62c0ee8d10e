"""Hosts of both address families in one chunk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.compare import same, segments_of

import native_reader as nr
from native_reader.layout.record import BORN_IPV6, STORE_IPV6
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message

V4, OTHER_V4 = (bytes([127, 0, 0, 1]), 10911), (bytes([10, 0, 0, 7]), 5)
V6, OTHER_V6, MAPPED = (bytes(15) + b"\x01", 5), (bytes(range(16)), 10911), (bytes(10) + b"\xff\xff\x7f\0\0\x01", 10911)


FAMILIES = pytest.mark.parametrize("families", ["4464", "6446", "66", "4664646446", "44"])
HOSTS = ["born_host", "store_host"]


def messages(families: str) -> list[Message]:
    """A message of each family; the hosts that store them have the families in reverse. One address, mapped to IPv6, is another's text."""
    made = []
    for number, (born, stored) in enumerate(zip(families, families[::-1], strict=True)):
        longer, shorter = [V6, OTHER_V6, MAPPED][number % 3], [V4, OTHER_V4][number % 2]
        flags = (BORN_IPV6 if born == "6" else 0) | (STORE_IPV6 if stored == "6" else 0)
        hosts = {"born_host": longer if born == "6" else shorter, "store_host": longer if stored == "6" else shorter}
        made.append(Message(topic="t", body=b"x" * number, sys_flag=flags, **hosts))
    return made


@FAMILIES
@pytest.mark.usefixtures("by_numpy")
def test_hosts_of_both_families_are_those_of_their_rows(families: str) -> None:
    """numpy formats them by family, and puts them in their rows again. The plain decoder judges."""
    assert len(same(segments_of(*messages(families)), "plain")) == len(families)


@FAMILIES
def test_a_summary_has_the_hosts_of_both_families(families: str, tmp_path: Path) -> None:
    """A summary takes them without the columns that a read makes."""
    log = CommitLog(1 << 16)
    for message in [*messages(families), *(Message(topic="t", body=bytes(1 << 14)) for _ in range(5))]:
        log.append(message)
    (tmp_path / "store/commitlog").mkdir(parents=True)
    for base, content in log.segments():
        (tmp_path / f"store/commitlog/{base:020d}").write_bytes(content)
    store = nr.open(tmp_path / "store")
    assert len(store.summarize(tmp_path / "summary").written) == 1
    scan = store.messages(topic="t", columns=["physical_offset", *HOSTS], summary=tmp_path / "summary")
    assert "summary alone" in {split.access for split in scan.plan().splits}
    assert scan.to_table().equals(store.messages(topic="t", columns=["physical_offset", *HOSTS], access="scan").to_table())
