"""What a broker with DLedger keeps of a damaged log when it starts, compared with our answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept import Brokers, Kept
from ports import free_port
from rocketmq import SMALL_FILES, Java, running
from support.store_damages import patch

import native_reader as nr
from native_reader.layout.record import INDEX_ENTRY
from native_reader.start import BUT, NO, YES

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("starts of DLedger")]
VERSION = "5.5.0"
MESSAGES = 700
_SIZE = 64 << 10


def _settings() -> dict[str, object]:
    return SMALL_FILES | {
        "enableDLegerCommitLog": "true",
        "dLegerGroup": "broker-a",
        "dLegerSelfId": "n0",
        "dLegerPeers": f"n0-127.0.0.1:{free_port()}",
        "sendMessageThreadPoolNums": 4,
        "timerWheelEnable": "false",
        "enableLmq": "false",
        "enableMultiDispatch": "false",
        "mappedFileSizeCommitLog": _SIZE,
        "maxMessageSize": 16 << 10,
        "traceTopicEnable": "false",
    }


@pytest.fixture(scope="module")
def written(rocketmq: Callable[[str], Java], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one peer, with files for more entries than are read at a start."""
    home = tmp_path_factory.mktemp("dledger")
    with running(rocketmq(VERSION), home, **_settings()) as broker:
        broker.traffic("plain", MESSAGES)
        assert broker.stop() in (0, 143)
    assert len(list((broker.store / "dledger-n0/data").iterdir())) > 4
    return broker.store


def _entries(store: Path) -> np.ndarray:
    """What the index has, in order."""
    found = np.concatenate([np.fromfile(path, INDEX_ENTRY) for path in sorted((store / "dledger-n0/index").iterdir())])
    return found[found["magic"] == 1]


def _data(store: Path) -> list[Path]:
    return sorted((store / "dledger-n0/data").iterdir())


def _write(store: Path, offset: int, content: bytes) -> None:
    data = _data(store)
    path = max(each for each in data if int(each.name) <= offset)
    patch(path, offset - int(path.name), content)


def _in_file(store: Path, number: int) -> np.ndarray:
    entries, base = _entries(store), int(_data(store)[number].name)
    return entries[(entries["position"] >= base) & (entries["position"] < base + _SIZE)]


def nothing(store: Path) -> None:
    """No damage."""


def killed(store: Path) -> None:
    (store / "abort").touch()


def a_page(store: Path) -> None:
    _write(store, int(_in_file(store, -1)[12]["position"]) + 30, bytes(4096))


def a_body(store: Path) -> None:
    """DLedger compares no checksum."""
    place = _in_file(store, -1)[12]
    _write(store, int(place["position"]) + int(place["size"]) // 2, b"\xff\xff")


def a_size_in_the_file_before_the_last(store: Path) -> None:
    _write(store, int(_in_file(store, -2)[10]["position"]) + 4, b"\x00\x00\x00\x31")


def a_size_in_the_third_last_file(store: Path) -> None:
    """It would have to cut more than a file, and ends."""
    _write(store, int(_in_file(store, -3)[10]["position"]) + 4, b"\x00\x00\x00\x31")


def a_size_in_an_old_file(store: Path) -> None:
    """It is not read at a start."""
    _write(store, int(_in_file(store, 0)[10]["position"]) + 4, b"\x00\x00\x00\x31")


def a_wrong_term(store: Path) -> None:
    _write(store, int(_in_file(store, -1)[5]["position"]) + 16, (-1).to_bytes(8, "big", signed=True))


def no_index(store: Path) -> None:
    shutil.rmtree(store / "dledger-n0/index")


def a_wrong_index(store: Path) -> None:
    (path,) = (store / "dledger-n0/index").iterdir()
    patch(path, int(_in_file(store, -1)[7]["index"]) * INDEX_ENTRY.itemsize + 4, b"\x7f")


def a_missing_file(store: Path) -> None:
    _data(store)[1].unlink()


def a_short_file(store: Path) -> None:
    path = _data(store)[-1]
    path.write_bytes(path.read_bytes()[: _SIZE // 2])


def no_last_file(store: Path) -> None:
    _data(store)[-1].unlink()


DAMAGES = (
    nothing,
    killed,
    a_page,
    a_body,
    a_size_in_the_file_before_the_last,
    a_size_in_the_third_last_file,
    a_size_in_an_old_file,
    a_wrong_term,
    no_index,
    a_wrong_index,
    a_missing_file,
    a_short_file,
    no_last_file,
)


def _started(brokers: Brokers, written: Path, store: Path) -> list[dict[str, Any]] | None:
    """What a broker says; None if its process ends."""
    try:
        return brokers.start(VERSION, Kept(written, _settings()), store)
    except AssertionError as error:
        if "ended its Java" in str(error):
            return None
        raise


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_what_it_serves_is_what_we_say(written: Path, started: Brokers, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    store = tmp_path / "store"
    shutil.copytree(written, store)
    whole = {row["physical_offset"] for row in nr.open(store).messages(columns="physical_offset", topic="Plain").to_table().to_pylist()}
    assert len(whole) == MESSAGES
    damage(store)
    start = nr.open(store).diagnose().start
    assert start is not None
    reasons = {each.cause.kind: dict(each.cause.values) for each in start.reasons}
    lines = _started(started, written, store)
    if lines is None:
        assert start.outcome == NO, reasons
        return
    said, *served = lines
    assert (start.outcome == NO) == (not said["started"]), (reasons, said)
    found = {line["physical_offset"] for line in served if line["topic"] == "Plain"}
    stop = reasons["cut"]["offset"] if "cut" in reasons else 2**63
    assert found <= {offset for offset in whole if offset < stop}
    assert start.outcome not in (YES, BUT) or found == whole, (len(found), reasons)
    assert damage is not a_body or found == whole
    assert "cut" not in reasons or found == {offset for offset in whole if offset < stop}
