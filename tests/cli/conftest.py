"""Stores for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command_line import HOSTILE
from support.stores import message, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.testing.records import Message, pack_properties
from rmqstore.cli.spoken import speak


@pytest.fixture(autouse=True)
def no_language_of_an_earlier_command() -> None:
    """The language of a command is that of the process until the next one."""
    speak([])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A healthy store of 60 messages in three topics, with queues, index, checkpoint and configuration."""
    return on_disk(tmp_path, healthy()[1]) / "store"


@pytest.fixture
def rows(store: Path) -> list[dict[str, Any]]:
    """All messages, as the engine returns them."""
    return list(nr.open(store).messages(columns="*").to_table().to_pylist())


@pytest.fixture
def damaged(store: Path) -> Path:
    """The same store with 40 zeros inside its second segment."""
    second = sorted((store / "commitlog").iterdir())[1]
    content = bytearray(second.read_bytes())
    content[200:240] = bytes(40)
    second.write_bytes(content)
    return store


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A store with such names in topics, tags, keys, properties and bodies."""
    return on_disk(tmp_path / "hostile", healthy([_hostile(number, name) for number, name in enumerate(HOSTILE * 3)])[1]) / "store"


def _hostile(number: int, name: str) -> Message:
    properties = pack_properties({"TAGS": name, "KEYS": name, "UNIQ_KEY": name, name: name})
    return message(number, topic=name, properties=properties, body=f'{name} {{"{number}": 1}}'.encode())
