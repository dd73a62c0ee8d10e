"""Stores of real brokers, streamed in portions from the start: the rows of one read, each once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.effort import mostly_long
from support.golden import FOLDER, OF_EACH_KIND, opened, unpack
from support.golden import STORES as GOLDEN
from support.micro_batches import Query
from support.open_files import open_files
from support.own_stores import NAMES, STORES

from rmqstore_spark import stream

LIMITS = [{"maxBytesPerTrigger": "20k"}, {"maxOffsetsPerTrigger": "37"}, {}]
COLUMNS = "physical_offset,inner_index,topic,body"


@pytest.mark.parametrize("name", mostly_long([*NAMES, *GOLDEN], *OF_EACH_KIND))
def test_all_of_it_in_portions(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in GOLDEN and not FOLDER.is_dir():
        pytest.skip("there are no golden stores; they are not part of the project")
    monkeypatch.setattr(stream, "announce", lambda line: None)
    store = unpack(name, tmp_path, STORES if name in NAMES else FOLDER)
    options = {"mode": "DROPMALFORMED", "failOnDataLoss": "false", "startingOffsets": "earliest"}
    if len(store.log_folders) > 1:
        options["storePathCommitLog"] = ",".join(map(str, store.log_folders))
    whole = opened(store).messages(columns=COLUMNS, mode="DROPMALFORMED", fail_on_data_loss=False).to_table().to_pylist()
    for limit in LIMITS:
        query = Query(str(store.root), {**options, **limit}, COLUMNS)
        query.start(available_now=True)
        while query.trigger():
            pass
        batches = len(query.offsets)
        assert Counter(tuple(row.values()) for row in query.rows()) == Counter(tuple(row.values()) for row in whole)
        del query
        assert open_files(str(tmp_path)) == []
        assert batches > (len(whole) > 100 and bool(limit))
