"""`index_files` and `index_entries`: every key of every record, and each fault of an index file."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from support.golden import Golden, opened
from support.indexed_stores import ENTRIES, SLOTS, indexed, keys_of
from support.own_stores import NAMES, TRUNCATED
from support.stores import Files, files_of, in_memory, log_of

import native_reader as nr
from native_reader.layout.index_entry import key_hash
from native_reader.testing.logs import CommitLog

Row = dict[str, object]
_FIRST = 40 + 4 * SLOTS


def store() -> tuple[CommitLog, Files]:
    """Index files of nine records each."""
    log = log_of(60)
    return log, files_of(log) | indexed(log.placed)


def indexes(files: Files) -> list[str]:
    return sorted(name for name in files if name.startswith("store/index/"))


def rows(files: Files, table: str, **options: object) -> list[Row]:
    memory = in_memory(files)
    return nr.open(f"{memory.url}/store").table(table, **options).to_table().to_pylist()


def name_of(row: Row) -> str:
    return str(row["file"]).rpartition("/")[2]


def changed(files: Files, place: int, fields: str, *values: int) -> Files:
    """The second index file, with other fields at that place."""
    name = indexes(files)[1]
    content = bytearray(files[name])
    struct.pack_into(fields, content, place, *values)
    return files | {name: bytes(content)}


def validities(files: Files) -> list[object]:
    """Of the entries in the second file."""
    found = rows(files, "index_entries")
    name = indexes(files)[1].rpartition("/")[2]
    return [row["validity"] for row in found if str(row["file"]).endswith(name)]


def test_every_key_of_every_record_has_an_entry() -> None:
    log, files = store()
    found = rows(files, "index_entries")
    keys = [(key_hash(*text.split("#", 1)), placed.offset) for placed in log.placed for text in keys_of(placed)]
    assert Counter((row["hash"], row["physical_offset"]) for row in found) == Counter(keys)
    assert {row["validity"] for row in found} == {"valid"}
    times = {placed.offset: placed.message.store_timestamp for placed in log.placed}
    for row in found:
        assert row["slot"] == row["hash"] % SLOTS  # type: ignore[operator]
        assert 0 <= times[row["physical_offset"]] - round(row["store_timestamp"].timestamp() * 1000) < 1000  # type: ignore[index, attr-defined]
    assert Counter(row["number"] for row in found)[1] == len(indexes(files))


def test_the_files_have_the_numbers_of_their_headers() -> None:
    _, files = store()
    found = rows(files, "index_files")
    assert [row["entries"] for row in found][:-1] == [ENTRIES - 1] * (len(found) - 1)
    assert {(row["slots"], row["capacity"], row["found"]) for row in found} == {(SLOTS, ENTRIES - 1, None)}
    entries = rows(files, "index_entries")
    for row in found:
        offsets = [entry["physical_offset"] for entry in entries if name_of(entry) == name_of(row)]
        assert (row["first_physical_offset"], row["last_physical_offset"]) == (offsets[0], offsets[-1])
        assert row["used_slots"] == len({entry["slot"] for entry in entries if name_of(entry) == name_of(row)})
    assert found[0]["begin_timestamp"] <= found[0]["end_timestamp"] <= found[1]["begin_timestamp"]  # type: ignore[operator]


@pytest.mark.parametrize("name", NAMES)
def test_the_index_of_a_healthy_store_is_valid(own_store: Callable[[str], Golden], name: str) -> None:
    """And the time of each entry is that of its record, within the second that an index stores."""
    golden = opened(own_store(name))
    files, entries = (golden.table(table).to_table().to_pylist() for table in ("index_files", "index_entries"))
    assert {row["found"] for row in files} <= {None, "it is empty"}  # made just before a kill
    allowed = {"valid"} | ({"expired"} if name.endswith("-expired") else set()) | ({"ahead"} if name in TRUNCATED else set())
    assert {row["validity"] for row in entries} <= allowed
    assert sum(row["entries"] for row in files) == len(entries)
    messages = golden.messages(columns="physical_offset,store_timestamp").to_table().to_pylist()
    times = {row["physical_offset"]: row["store_timestamp"] for row in messages}
    for row in entries:
        if row["validity"] == "valid" and name not in TRUNCATED:  # entries of lost records name others now
            assert timedelta() <= times[row["physical_offset"]] - row["store_timestamp"] < timedelta(seconds=1)


@pytest.mark.parametrize(
    ("fields", "place", "values", "found"),
    [
        (">qqqqii", 0, (0, 0, 0, 0, 0, 0), "it is empty"),
        (">i", 36, (ENTRIES + 1,), "its header is inconsistent"),
        (">i", 36, (2**31 - 1,), "its header is inconsistent"),
        (">i", 36, (-5,), "its header is inconsistent"),
        (">q", 16, (-1,), "its header is inconsistent"),
        (">4q", 0, (2**63 - 1, 2**63 - 1, 5, 2**63 - 1), None),
        (">i", _FIRST + 20 * (ENTRIES - 1), (-1,), "its last entry is in no chain. Check max_hash_slot_num"),
    ],
)
def test_62_a_wrong_header(fields: str, place: int, values: tuple[int, ...], found: str | None) -> None:
    files = changed(store()[1], place, fields, *values)
    assert [row["found"] for row in rows(files, "index_files")][:3] == [None, found, None]
    assert len(validities(files)) in (0, ENTRIES - 1)


@pytest.mark.parametrize("size", [0, 1, 39, 40, _FIRST, _FIRST + 20 * ENTRIES - 1])
def test_62_a_truncated_file(size: int, caplog: pytest.LogCaptureFixture) -> None:
    _, files = store()
    name = indexes(files)[1]
    files[name] = files[name][:size]
    found = rows(files, "index_files")[1]
    assert found["size"] == size
    expected = "was truncated" if size < 40 else "its number of slots is unknown. Set max_hash_slot_num"
    assert expected in str(found["found"])
    assert validities(files) == []
    assert f"{name}: its number of slots is unknown" in caplog.text
    known = len(rows(files, "index_entries", max_hash_slot_num=SLOTS))
    assert (known > len(rows(files, "index_entries"))) == (size > _FIRST + 20)


def test_63_64_pointers_that_lead_nowhere_or_back() -> None:
    for pointer in (-1, 9, 10, 2**31 - 1):
        found = validities(changed(store()[1], _FIRST + 20 * 9 + 16, ">i", pointer))
        assert found == ["valid"] * 8 + ["chain"] + ["valid"] * (ENTRIES - 10)


def test_a_lost_entry() -> None:
    found = validities(changed(store()[1], _FIRST + 20 * 9, ">5i", 0, 0, 0, 0, 0))
    assert found == ["valid"] * 8 + ["unwritten"] + ["valid"] * (ENTRIES - 10)


def test_68_entries_of_expired_and_of_lost_records() -> None:
    log, files = store()
    for base in sorted({placed.segment for placed in log.placed})[:2]:
        del files[f"store/commitlog/{base:020}"]
    found = Counter(row["validity"] for row in rows(files, "index_entries"))
    expired = sum(len(keys_of(placed)) for placed in log.placed if placed.offset < 4096)
    assert found == {"expired": expired, "valid": sum(len(keys_of(placed)) for placed in log.placed) - expired}
    assert validities(changed(store()[1], _FIRST + 20 * 9 + 4, ">q", 2**62))[8] == "ahead"
    _, files = store()
    del files[f"store/commitlog/{2048:020}"]
    found = Counter(row["validity"] for row in rows(files, "index_entries"))
    assert found["hole"] == sum(len(keys_of(placed)) for placed in log.placed if placed.segment == 2048)


def test_parts_and_batches_change_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    _, files = store()
    memory = in_memory(files)
    table = nr.open(memory.url).table("index_entries", max_partition_bytes=1)
    whole = table.to_table()
    monkeypatch.setattr("native_reader.tables.index_entries._AT_ONCE", 5)
    table = nr.open(memory.url).table("index_entries", max_partition_bytes=1)
    assert len(table.parts()) == 6 * len(indexes(files))
    assert max(map(len, table.to_batches())) == 5
    assert table.to_table(jobs=3).equals(whole)


def test_a_store_without_an_index_has_no_rows() -> None:
    for table in ("index_files", "index_entries"):
        assert rows(files_of(), table) == []
        assert rows(files_of() | {"store/index/": b"", "store/index/a": b"x"}, table) == []
