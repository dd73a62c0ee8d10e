"""Streams of a broker's log, from its end and from its start, while broker and Spark are killed and restarted."""

from __future__ import annotations

import json
import logging
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from follows import Driver, driving
from live import ended_by_its_input
from rocketmq import SMALL_FILES, VERSIONS, Broker, ended

import native_reader as nr

RATE = 200
ROUNDS, QUIET, BETWEEN = 2, 10.0, 4.0
KILLED, STOPPED = "killed", "stopped"
SMALL, USUAL = 1 << 20, 1 << 30
"""Segments: many of them, or one that is nearly all unwritten, as those of brokers are."""
COLUMNS = ["physical_offset", "topic", "uniq_key", "body"]
BEGINNINGS = ["latest", "earliest"]
log = logging.getLogger(__name__)


class Case(NamedTuple):
    """A broker, and how it is stopped first."""

    version: str
    first: str
    segment: int

    def __str__(self) -> str:
        return f"{self.version} {self.first} first, segments of {self.segment >> 20} MiB"


CASES = [Case(version, first, size) for version in VERSIONS for first, size in ((KILLED, SMALL), (STOPPED, USUAL))]


class Acknowledged(NamedTuple):
    """A message that a broker acknowledged, and when, in seconds since 1970."""

    number: int
    msg_id: str
    at: float


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_message_comes_once(broker: Callable[..., Broker], tmp_path: Path, case: Case) -> None:
    """A broker is killed while two queries follow it, and stopped while Spark is killed and restarted. Or the other way round.

    In the end, the rest of the log is read at rest, or while the broker runs.
    """
    store, said, returned = tmp_path / f"broker-{case.version}" / "store", tmp_path / "client" / "said", list[float]()
    with driving(store, tmp_path / "spark", COLUMNS, BEGINNINGS) as driver:
        running = broker(
            case.version, mappedFileSizeCommitLog=case.segment, maxIndexNum=SMALL_FILES["maxIndexNum"] * 100, enableLmq="false"
        )
        assert running.store == store
        with sending(running, said) as client:
            driver.start_following()
            quiet = time.time()
            time.sleep(QUIET)
            disturbed = time.time()
            for which in range(ROUNDS):
                goes_and_comes_back(running, killed=(case.first == KILLED) == (which % 2 == 0))
                returned.append(time.time())
                time.sleep(BETWEEN)
                driver.kill()
                driver.start()
                goes_and_comes_back(running, killed=(case.first == KILLED) != (which % 2 == 0))
                driver.start_following()
                returned.append(time.time())
                time.sleep(BETWEEN)
            assert ended_by_its_input(client) == 0
        if case.first == KILLED:
            assert running.stop() == 143
        driver.drain()
        on_disk = nr.open(store).messages(access="scan", columns=COLUMNS).to_table()
        for beginning in BEGINNINGS:
            is_whole(driver, beginning, on_disk)
        driver.close()
    assert "data loss" not in driver.all_said()

    taken, kept = acknowledged_in(said), set(on_disk["uniq_key"].to_pylist())
    assert all(each.msg_id in kept for each in taken), "what a killed process wrote is the system's, and stays"
    for moment in returned:
        assert any(moment < each.at < moment + BETWEEN for each in taken), "the client stopped"
    assert len(taken) > RATE * QUIET
    for beginning in BEGINNINGS:
        waited = latencies(driver, beginning, [each for each in taken if quiet < each.at < disturbed])
        assert len(waited) > RATE * QUIET / 2
        median, most, nearly_all = np.percentile(waited, [50, 90, 99])
        log.info(
            "%s, from %s: %s acknowledged, %s on disk, %s batches; %s waited %.3f s (median), %.3f s (90 %%), %.3f s (99 %%)",
            case, beginning, len(taken), len(on_disk), driver.batches(beginning), len(waited), median, most, nearly_all,
        )  # fmt: skip


def goes_and_comes_back(running: Broker, *, killed: bool) -> None:
    """A broker is killed, or stopped as by an operator, and started again."""
    if killed:
        running.kill()
    else:
        assert running.stop() == 143
    running.start()


@contextmanager
def sending(running: Broker, said: Path) -> Iterator[Popen[bytes]]:
    """A client that keeps sending, whatever happens to the broker."""
    client = running.java.start("Traffic", "steady", running.name_server, running.address, 1, RATE, home=said.parent, log=said.name)
    try:
        yield client
    finally:
        ended(client)


def acknowledged_in(said: Path) -> list[Acknowledged]:
    """The messages that the broker acknowledged to its client."""
    lines = [json.loads(line) for line in said.read_text().splitlines() if line.startswith('{"number"')]
    return [Acknowledged(each["number"], each["msg_id"], each["at"] / 1000) for each in lines]


def delivered_to(driver: Driver, beginning: str) -> pa.Table:
    """All rows of all batches, in order, and when each arrived."""
    tables = [pq.read_table(batch) for batch in driver.delivered(beginning)]
    return pa.concat_tables(tables).sort_by("physical_offset")


def is_whole(driver: Driver, beginning: str, on_disk: pa.Table) -> None:
    """From the start of the first batch on, everything on disk was delivered once, and nothing else."""
    begin = driver.began_at(beginning)
    assert (begin > 0) == (beginning == "latest")
    expected = on_disk.filter(pc.greater_equal(on_disk["physical_offset"], begin))
    delivered = delivered_to(driver, beginning).select(COLUMNS).cast(expected.schema)
    offsets = delivered["physical_offset"].to_pylist()
    assert len(offsets) == len(set(offsets)), "delivered twice"
    assert offsets == expected["physical_offset"].to_pylist()
    assert delivered.equals(expected)
    bodies = expected.filter(pc.equal(expected["topic"], "Steady"))["body"].to_pylist()
    assert len(bodies) > RATE * QUIET
    assert all(map(is_sound, bodies))


def is_sound(body: bytes) -> bool:
    """Whether this is a message that the client made."""
    number, crc, filler = body.split(b" ")
    return number.isdigit() and zlib.crc32(filler) == int(crc, 16)


def latencies(driver: Driver, beginning: str, taken: list[Acknowledged]) -> list[float]:
    """How many seconds those messages waited until their batch arrived."""
    delivered = delivered_to(driver, beginning)
    at = dict(zip(delivered["uniq_key"].to_pylist(), delivered["at"].to_pylist(), strict=True))
    return [at[each.msg_id] - each.at for each in taken]
