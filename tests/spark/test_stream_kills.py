"""Repeated kill -9: over its whole life, a query delivers the rows of one read of the same range, each once."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import randrange

import pytest
from lives import Life
from pysparks import streams

LIVES, RUNS = 4, 12
AT_ONCE = 2
LEAST = {"kills": 48, "between offsets and commit": 20, "of batch 0": 3, "workers_of": 7, "reader_of": 2, "kept again": 1}
SEED = int(os.environ.get("RMQSTORE_SEED", randrange(1 << 32)))

_log = logging.getLogger(__name__)


@streams
@pytest.mark.long
def test_rows_come_exactly_once_although_the_query_is_killed(tmp_path: Path) -> None:
    begun = time.monotonic()

    def lived(which: int) -> Counter[str]:
        home = tmp_path / f"life{which}"
        try:
            counts = Life(home, f"{SEED} {which}", RUNS).run()
        except BaseException as error:
            error.add_note(f"life {which} of RMQSTORE_SEED={SEED}, in {home}")
            raise
        shutil.rmtree(home)
        _log.info("life %s of seed %s: %s", which, SEED, dict(counts))
        return counts

    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(lived, range(LIVES)))
    counts = sum(outcomes, Counter[str]())
    counts["kills"] = counts["driver"] + counts["workers_of"] + counts["reader_of"]
    _log.info("seed %s, %s lives in %.0f s: %s", SEED, LIVES, time.monotonic() - begun, dict(counts))
    assert {name: counts[name] for name, least in LEAST.items() if counts[name] < least} == {}, counts
    assert min(each["rows"] for each in outcomes) > 0
