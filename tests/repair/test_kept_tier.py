"""What a repair and an extract do with tiered storage, and with queues whose messages are all in it, or expired."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.tiers import TIERED_STORE

import native_reader as nr

pytestmark = pytest.mark.skipif(not TIERED_STORE.exists(), reason="no tiered store beside this repository")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a broker 5.5.0 with a tier in the folder `tiered`. Tests must not change it."""
    folder = tmp_path_factory.mktemp("tiered")
    with tarfile.open(TIERED_STORE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "v5-tiered2" / "store"


def ends(store: Path) -> Mapping[tuple[str, int], int]:
    rows = nr.open(store).table("queues").to_table().to_pylist()
    return {(row["topic"], row["queue_id"]): row["max_offset"] for row in rows}


def test_queues_whose_messages_all_expired_go_on_at_their_ends(whole: Path, tmp_path: Path) -> None:
    done = nr.open(whole).repair(tmp_path / "new")
    assert done.plan.changes
    assert ends(tmp_path / "new") == ends(whole)
