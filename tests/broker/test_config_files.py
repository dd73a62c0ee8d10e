"""The broker's files in JSON: the dialect, which version counts, and errors that say what is wrong and where."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.golden import Golden
from support.stores import Backend, in_memory

import native_reader as nr
from native_reader.broker.config_files import DEEPEST, NotFastjson, config_text, parse, read_config
from native_reader.testing.config import fastjson
from native_reader.testing.faulty import FaultyStorage

OFFSETS = b'{\n\t"offsetTable":{"T@g":{0:5,1 : 7}}}'
EXPECTED = {"offsetTable": {"T@g": {"0": 5, "1": 7}}}

TEXTS = st.text(st.one_of(st.sampled_from('{}[],:"\\ 012-\t\n'), st.characters(exclude_categories=["Cs", "Cc"])))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.one_of(TEXTS, st.integers(-(2**31), 2**63 - 1)), inner),
    max_leaves=20,
)


def as_json(value: Any) -> Any:
    """The value with texts as keys."""
    if isinstance(value, Mapping):
        return {str(key): as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "table"), [("consumerOffset.json", "consumer_offsets"), ("topics.json", "config")])
def test_a_damaged_file_beside_a_database_is_a_warning(
    own_store: Callable[[str], Golden], tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, table: str
) -> None:
    """The broker keeps these in RocksDB, and the old file was an error."""
    source = own_store("5.5.0-rocksdb-all").root
    expected = nr.open(source).table(table).to_table().drop_columns(["store", "file"]).to_pylist()
    shutil.copytree(source, tmp_path / "store")
    for path in (tmp_path / "store/config" / name, tmp_path / "store/config" / f"{name}.bak"):
        path.write_bytes(b"{")
    caplog.clear()
    found = nr.open(tmp_path / "store").table(table).to_table()
    assert found.drop_columns(["store", "file"]).to_pylist() == expected
    (text,) = {text for text in caplog.messages if name in text}
    config = (tmp_path / "store/config").as_uri()
    assert text.startswith(f"{config}/{name}: is not JSON at byte 1")
    assert text.endswith(f". {config}/metadata is read instead")


def failure(content: bytes) -> NotFastjson | None:
    try:
        parse(content)
    except NotFastjson as error:
        return error
    return None


@sampled(500)
@given(VALUES)
def test_what_a_broker_writes_is_read(value: Any) -> None:
    assert parse(fastjson(value).encode()) == as_json(value)
    assert parse(json.dumps(as_json(value)).encode()) == as_json(value)


@sampled(1000)
@given(st.binary(max_size=60) | st.text('{}[],:"\\ 0129-tn.eé', max_size=60).map(str.encode))
def test_arbitrary_bytes_are_a_value_or_an_error_at_a_byte(content: bytes) -> None:
    error = failure(content)
    assert error is None or 0 <= error.position <= len(content)


@pytest.mark.parametrize(
    ("content", "position", "expected"),
    [
        (b'{"a":1', 6, "expected ',' delimiter"),
        (b'{"a":{0:1,1:2}', 14, "expected ',' delimiter"),
        (b"{0:1,1:}", 7, "expected value"),
        (b"{-1 :1,\n2:x}", 10, "expected value"),
        ('{"é":{0:1,1:}}'.encode(), 13, "expected value"),
        (b"{0:1,12 34:5}", 5, "expected property name enclosed in double quotes"),
        (b'{"a":"\xff"}', 6, "expected UTF-8"),
        (b'{"a":' + b"1" * 5000 + b"}", 5, "expected a number of fewer digits"),
        (b'{"a":' + b"[" * 32 + b"]" * 32 + b"}", 5 + DEEPEST - 1, "expected at most 32 nested levels"),
        (b"[" * 100_000, DEEPEST, "expected at most 32 nested levels"),
        (b'{"[[":' * 40 + b"1" + b"}" * 40, 6 * DEEPEST, "expected at most 32 nested levels"),
        (b"\0" * 4096, 0, "expected value"),
    ],
)
def test_the_place_of_an_error(content: bytes, position: int, expected: str) -> None:
    with pytest.raises(NotFastjson) as raised:
        parse(content)
    assert (raised.value.position, raised.value.expected) == (position, expected)


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        ({"x.json": OFFSETS}, "x.json"),
        ({"x.json": OFFSETS, "x.json.bak": b"{"}, "x.json"),
        ({"x.json.bak": OFFSETS}, "x.json.bak"),
        ({"x.json": b"", "x.json.bak": OFFSETS}, "x.json.bak"),
        ({"x.json": bytes(100), "x.json.bak": OFFSETS}, "x.json.bak"),
        ({"x.json": OFFSETS[:-3], "x.json.bak": OFFSETS}, "x.json.bak"),
        ({"x.json": b"{}", "x.json.bak": OFFSETS}, "x.json.bak"),
        ({"x.json": b'{"offsetTable":[]}', "x.json.bak": OFFSETS}, "x.json.bak"),
        ({}, None),
    ],
)
def test_the_backup_counts_if_the_file_is_missing_or_damaged(
    backend_of: Callable[[Mapping[str, bytes]], Backend], files: dict[str, bytes], counts: str | None
) -> None:
    """Empty, truncated, only `.bak`; the same in all storages."""
    url = backend_of({f"config/{name}": content for name, content in files.items()} | {"config/other": b""}).url
    file = read_config(f"{url}/config", "x.json", "offsetTable")
    assert (file and (file.uri, file.content)) == (counts and (f"{url}/config/{counts}", EXPECTED))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b'{"offsetTable":{0:', "is not JSON at byte 18: expected value"),
        (b"[]", "expected an object, not a list"),
        (b"{}", "expected the key 'offsetTable'"),
        (b'{"offsetTable":7}', "expected 'offsetTable' to be an object, not 7"),
        (b'{"offsetTable":"secret"}', "expected 'offsetTable' to be an object, not a text"),
    ],
)
def test_without_a_usable_version_the_error_names_both(content: bytes, problem: str) -> None:
    memory = in_memory({"config/x.json": content, "config/x.json.bak": b"?"})
    uri = f"{memory.url}/config/x.json"
    with pytest.raises(nr.StoreDamaged) as raised:
        read_config(f"{memory.url}/config", "x.json", "offsetTable")
    assert str(raised.value) == (
        f"{uri}: {problem}; {uri}.bak: is not JSON at byte 0: expected value. "
        "Restore the file from a copy, or move it away to read the store without it"
    )


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_reader.broker.config_files._LARGEST", 50)
    memory = in_memory({"x.json": OFFSETS + b" " * 50})
    with pytest.raises(nr.StoreDamaged, match=r"x\.json: has \d+ bytes; the limit is 50"):
        read_config(memory.url, "x.json", "offsetTable")
    assert config_text(memory.url, "x.json") == b""


def test_an_unreadable_file_is_a_problem_of_that_file() -> None:
    memory = in_memory({"x.json": OFFSETS, "x.json.bak": OFFSETS})

    def fault(call: str, uri: str, offset: int) -> None:
        if call == "read" and uri.endswith(unreadable):
            raise OSError(errno.EIO, "Input/output error")

    faulty, unreadable = FaultyStorage(memory.url, fault=fault), "x.json"
    file = read_config(faulty.url, "x.json", "offsetTable")
    assert file is not None
    assert file.uri == f"{faulty.url}/x.json.bak"
    unreadable = ""
    with pytest.raises(nr.StoreDamaged, match=r"x\.json: could not be read: .*; .*x\.json\.bak: could not be read: "):
        read_config(faulty.url, "x.json", "offsetTable")
