"""Settings files of which neither the file nor its backup is left, or can be used: each face says what that means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES

import native_reader as nr
from native_reader.broker.missing_settings import missing_settings
from native_reader.layout.kinds import DELAY_TOPIC

MEANING = {
    "topics.json": "A broker knows no topic",
    "consumerOffset.json": "The positions of all groups are lost",
    "subscriptionGroup.json": "The settings of groups are lost",
    "delayOffset.json": "delivers again each delayed message",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store whose broker wrote its files more than once. With light queues, the offsets of its groups are in another file."""
    root = unpack("4.9.7-kinds", tmp_path, STORES).root
    for suffix in ("", ".bak"):
        (root / "config" / f"lmqConsumerOffset.json{suffix}").rename(root / "config" / f"consumerOffset.json{suffix}")
    return root


@pytest.mark.parametrize("is_gone", [True, False])
@pytest.mark.parametrize("name", MEANING)
def test_nothing_was_said_of_settings_that_are_lost(store: Path, tmp_path: Path, name: str, *, is_gone: bool) -> None:
    file = store / "config" / name
    file.with_name(f"{name}.bak").unlink(missing_ok=True)
    if is_gone:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    code = "config-missing" if is_gone else "config-damaged"
    looked, checked = run("doctor", store, "--file-reserved-time", "900000"), run("verify", store)
    assert (looked.code, checked.code) == (1, 1)
    assert any(line.startswith("finding") and name in line for line in looked.out.splitlines())
    assert [MEANING[name] in line for line in checked.out.splitlines() if line.startswith(code)] == [True]
    saved = run("rescue", store, tmp_path / "saved")
    assert saved.code == 1
    assert MEANING[name] in (tmp_path / "saved" / "rescue.md").read_text()
    planned, done = run("repair", store, tmp_path / "new", "--dry-run"), run("repair", store, tmp_path / "new")
    assert (planned.code, done.code) == (1, 1)
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    is_made = name == "topics.json"
    assert facts["settings"] == {name: "derived" if is_made else "missing" if is_gone else "lost"}
    assert (tmp_path / "new" / "config" / name).exists() is is_made
    page = (tmp_path / "new" / "repair.md").read_text()
    assert page.count(MEANING[name]) == (not is_made)  # the page said it twice
    assert "`config-missing`" not in page
    assert any(name in each for each in facts["warnings"]) is not is_made
    for said in (planned.err, done.err, page):
        assert is_made or MEANING[name] in said
        assert name in said


def test_an_extract_is_not_whole_without_the_offsets_of_groups(store: Path, tmp_path: Path) -> None:
    for path in (store / "config").glob("consumerOffset.json*"):
        path.unlink()
    ended = run("extract", store, tmp_path / "new", "--topic", "Plain")
    assert ended.code == 1
    assert MEANING["consumerOffset.json"] in ended.err


def test_a_whole_store_lacks_no_settings(store: Path) -> None:
    topics = [path.name for path in (store / "consumequeue").iterdir()]
    assert DELAY_TOPIC in topics
    assert list(missing_settings((store / "config").as_uri(), lambda: topics)) == []
    assert nr.open(store).diagnose(file_reserved_time=900_000).findings == []


def test_a_broker_that_was_killed_soon_has_not_written_all_files(tmp_path: Path) -> None:
    """It writes topics at once, offsets of groups and of delayed messages ten seconds after its start."""
    config = tmp_path / "config"
    config.mkdir()
    for name in ("topics.json", "topics.json.bak"):
        (config / name).write_text('{"topicConfigTable":{}}')
    assert list(missing_settings(config.as_uri(), lambda: ["orders", DELAY_TOPIC])) == []
    (config / "consumerOffset.json").write_text('{"offsetTable":{}}')
    assert list(missing_settings(config.as_uri(), lambda: ["orders", DELAY_TOPIC])) == []
    (config / "consumerOffset.json.bak").write_text('{"offsetTable":{}}')
    assert list(missing_settings(config.as_uri(), lambda: ["orders", DELAY_TOPIC])) == ["delayOffset.json"]
