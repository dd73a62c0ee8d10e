"""Packed segments are read as others are, and what cannot be unpacked is damage."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from pathlib import Path

import pytest
from support.indexed_stores import indexed
from support.packed import READ, pack
from support.queued_stores import dispatched, numbered
from support.stores import Files, dledger, files_of, in_memory, log_of, message, on_disk
from support.verified import OFFSETS

import native_reader as nr
from native_reader.storage import packed
from native_reader.storage.packed import PackedFile
from native_reader.storage.protocol import storage_of

SIZE = 4096
LOG = log_of(numbered(map(message, range(90))), SIZE)
PLAIN = files_of(LOG) | dispatched(LOG.placed) | indexed(LOG.placed)
NAMES = sorted(files_of(LOG))
COLUMNS = "topic,queue_id,queue_offset,keys,body,physical_offset,store_timestamp"
WHICH = {"all": NAMES, "the first": NAMES[:1], "one between": NAMES[1:2], "the last": NAMES[-1:], "the first two": NAMES[:2]}
CONDITIONS = (
    None,
    "topic = 'T1'",
    "array_contains(keys, 'k7')",
    f"physical_offset >= {SIZE + 100}",
    "store_timestamp < TIMESTAMP '2023-11-14 22:13:20.040Z'",
)


def packed_files(names: list[str], ending: str = "gz", files: Files = PLAIN) -> Files:
    return {name: content for name, content in files.items() if name not in names} | {
        f"{name}.{ending}": pack(bytes(files[name]), ending) for name in names
    }


def rows(store: nr.Store, jobs: int = 1, **options: object) -> list[dict[str, object]]:
    table = store.messages(columns=COLUMNS, **options).to_table(jobs=jobs)
    return list(table.sort_by("physical_offset").to_pylist())


@pytest.mark.parametrize("ending", READ)
@pytest.mark.parametrize("which", WHICH)
def test_the_rows_are_those_of_the_plain_log(which: str, ending: str) -> None:
    one, other = in_memory(PLAIN), in_memory(packed_files(WHICH[which], ending))
    plain, store = nr.open(f"{one.url}/store"), nr.open(f"{other.url}/store")
    assert sum(segment.is_packed for segment in store.stores[0].segments) == len(WHICH[which])
    assert [(each.base, each.size) for each in store.stores[0].segments] == [(each.base, each.size) for each in plain.stores[0].segments]
    assert (store.stores[0].strays, store.stores[0].packed_from) == ((), None)
    for where in CONDITIONS:
        assert rows(store, where=where) == rows(plain, where=where), where
        assert rows(store, where=where, max_partition_bytes=500, jobs=2) == rows(plain, where=where), where
    assert store.table("damage").to_table().num_rows == 0
    codes = [[row["code"] for row in each.verify().to_table().to_pylist()] for each in (plain, store)]
    assert codes[0] == codes[1]


@pytest.mark.parametrize("ending", READ)
def test_a_last_segment_that_is_larger_than_the_others_is_read_to_its_end(ending: str) -> None:
    more = log_of(numbered(map(message, range(200))), 1 << 20)
    larger = bytes(files_of(more)[NAMES[0]])
    one = {NAMES[0]: larger[:SIZE], f"{NAMES[0][:-20]}{SIZE:020}": larger[SIZE:]}
    assert len(larger) > 8 * SIZE
    whole, memory = in_memory(one), in_memory(packed_files(sorted(one)[1:], ending, one))
    plain, store = nr.open(f"{whole.url}/store"), nr.open(f"{memory.url}/store")
    assert [(each.base, each.size) for each in store.stores[0].segments] == [(each.base, each.size) for each in plain.stores[0].segments]
    assert rows(store, mode="DROPMALFORMED", fail_on_data_loss=False) == rows(plain, mode="DROPMALFORMED", fail_on_data_loss=False)
    assert len(rows(store, mode="DROPMALFORMED", fail_on_data_loss=False)) > 150


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little is kept that readers must begin again and again."""
    monkeypatch.setattr(packed, "_PIECE", 100)
    monkeypatch.setattr(packed, "_KEPT", 300)


@pytest.mark.parametrize("ending", READ)
def test_a_read_before_what_is_kept_begins_again(small: None, ending: str) -> None:
    memory = in_memory(packed_files(NAMES, ending))
    content = bytes(PLAIN[NAMES[1]])
    with storage_of(memory.url).open(f"{memory.url}/{NAMES[1]}.{ending}") as inner:
        file = PackedFile(f"packed+{memory.url}/{NAMES[1]}.{ending}", inner)
        assert file.size() > len(content)  # not known yet
        for start, length in ((0, 50), (2000, 700), (1000, 1000), (0, SIZE), (SIZE - 1, 9), (SIZE, 1), (9 * SIZE, 1), (3, 1)):
            assert file.read_ranges([(start, length)]) == [content[start : start + length]]
            assert sum(map(len, file._pieces)) < 300 + 2 * 100
        assert file.written_end() == len(content.rstrip(b"\0"))
        assert file.written_end(17) == 17
        assert file.size() == len(content)
    plain = in_memory(PLAIN)
    assert rows(nr.open(f"{memory.url}/store")) == rows(nr.open(f"{plain.url}/store"))


def test_each_is_read_in_one_split(small: None) -> None:
    memory = in_memory(packed_files(NAMES[:2]))
    splits = nr.open(f"{memory.url}/store").messages(max_partition_bytes=300, access="scan").plan().splits
    assert [len(split) for split in splits if split.segment.is_packed] == [SIZE, SIZE]
    assert len(splits) > 6
    assert pickle.loads(pickle.dumps(splits)) == splits


@pytest.mark.parametrize("ending", READ)
@pytest.mark.parametrize("cut", [True, False], ids=["cut", "changed"])
def test_what_cannot_be_unpacked_is_damage(ending: str, cut: bool) -> None:
    files, name = packed_files(NAMES[1:2], ending), f"{NAMES[1]}.{ending}"
    half = len(files[name]) // 2
    content = bytearray(files[name])
    content[half : half + 40] = b"\xff" * 40
    files[name] = files[name][:half] if cut else bytes(content)
    memory = in_memory(files)
    store = nr.open(f"{memory.url}/store")
    whole = in_memory(PLAIN)
    expected = rows(nr.open(f"{whole.url}/store"))
    with pytest.raises(nr.StoreError) as raised:
        rows(store)
    assert name in str(raised.value) or f"{SIZE:,}" in str(raised.value)
    # zstd and lz4 have no checksum unless asked for one.
    found = rows(store, mode="DROPMALFORMED", fail_on_data_loss=False, verify_crc=True)
    assert [row for row in expected if not SIZE <= int(str(row["physical_offset"])) < 2 * SIZE] == [
        row for row in found if not SIZE <= int(str(row["physical_offset"])) < 2 * SIZE
    ]
    assert all(row in expected for row in found)
    damage = store.table("damage").to_table().to_pylist() if store.stores[0].strays == () else store.verify().to_table().to_pylist()
    assert damage


def test_a_file_of_that_name_that_is_something_else_is_not_read() -> None:
    name = NAMES[1]
    files = {each: content for each, content in PLAIN.items() if each != name} | {f"{name}.gz": b"something else"}
    memory = in_memory(files)
    (found,) = nr.open(f"{memory.url}/store").stores
    assert found.strays == (f"{name[-20:]}.gz",)
    assert not any(segment.is_packed for segment in found.segments)


def test_a_plain_copy_counts_and_not_the_packed_one() -> None:
    memory = in_memory(PLAIN | {f"{name}.gz": b"x" for name in NAMES} | {f"{NAMES[0]}.xz": pack(b"x", "xz")})
    (found,) = nr.open(f"{memory.url}/store").stores
    assert [segment.name for segment in found.segments] == [name[-20:] for name in NAMES]


def test_a_packed_dledger_log() -> None:
    plain, whole = in_memory(dledger()), dledger()
    files = packed_files(sorted(name for name in whole if "/data/" in name), "zst", whole)
    memory = in_memory(files)
    assert rows(nr.open(f"{memory.url}/store")) == rows(nr.open(f"{plain.url}/store"))


def test_one_packed_segment_by_its_name(tmp_path: Path) -> None:
    root = on_disk(tmp_path, packed_files(NAMES, "xz"))
    path = root / f"{NAMES[1]}.xz"
    (found,) = nr.open(path).stores
    assert [(segment.base, segment.size) for segment in found.segments] == [(SIZE, SIZE)]
    assert len(rows(nr.open(path))) == sum(SIZE <= each.offset < 2 * SIZE for each in LOG.placed)


def test_packed_segments_in_an_archive(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, content in packed_files(NAMES[:2]).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(bytes(content)))
    plain = in_memory(PLAIN)
    assert rows(nr.open(tmp_path / "a.tar")) == rows(nr.open(f"{plain.url}/store"))


def test_it_is_said_that_they_are_slow(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = on_disk(tmp_path, packed_files(NAMES[:2])) / "store"
    for _ in range(2):
        nr.open(root)
    assert caplog.messages == [
        f"{root.as_uri()}: 2 packed segments are unpacked while they are read, which is slow. Unpacked copies are read much faster"
    ]


def test_the_newest_rows_of_a_packed_log(tmp_path: Path) -> None:
    root = on_disk(tmp_path, packed_files(NAMES)) / "store"
    assert [row["physical_offset"] for row in nr.open(root).newest(3).to_pylist()] == [each.offset for each in LOG.placed[-3:]]


def test_a_last_packed_segment_that_was_cut_was_left_out_without_a_word() -> None:
    for content in (pack(bytes(PLAIN[NAMES[-1]]), "gz")[:40], b""):
        memory = in_memory(packed_files(NAMES[-1:]) | {f"{NAMES[-1]}.gz": content})
        with pytest.raises(nr.DataLoss):
            rows(nr.open(f"{memory.url}/store"))


def test_a_first_packed_segment_without_a_byte_was_taken_for_expired() -> None:
    memory = in_memory(packed_files(NAMES[:1]) | {f"{NAMES[0]}.gz": b""})
    store = nr.open(f"{memory.url}/store")
    with pytest.raises(nr.DataLoss, match=f"offsets 0 to {SIZE:,}"):
        rows(store)
    assert [(row["start_offset"], row["bytes"]) for row in store.table("damage").to_table().to_pylist()] == [(0, SIZE)]


def test_a_topic_in_a_packed_segment_was_unpacked_a_hundred_times(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, pieces, unpack = in_memory(packed_files(NAMES)), [0], PackedFile._unpack

    def counted(self: PackedFile) -> bool:
        pieces[0] += 1
        return unpack(self)

    store = nr.open(f"{memory.url}/store")
    whole = store.messages(columns="topic", access="scan").to_table()
    monkeypatch.setattr(PackedFile, "_unpack", counted)
    store.messages(columns="topic", access="scan").to_table()
    scanned, pieces[0] = pieces[0], 0
    assert store.messages(topic="T1", columns="topic").count_rows() == whole["topic"].to_pylist().count("T1")
    assert pieces[0] <= 2 * scanned


def test_a_lag_in_a_packed_segment_unpacked_it_again_for_each_group(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = {f"T{queue % 3}@g{group}": {"0": 12 - group} for group in range(9) for queue in range(3)}
    content = json.dumps({"offsetTable": offsets}).encode()
    plain, unpack, pieces = in_memory(PLAIN | {OFFSETS: content}), PackedFile._unpack, [0]

    def counted(self: PackedFile) -> bool:
        pieces[0] += 1
        return unpack(self)

    memory = in_memory(packed_files(NAMES) | {OFFSETS: content})
    store = nr.open(f"{memory.url}/store")
    monkeypatch.setattr(PackedFile, "_unpack", counted)
    store.messages(columns="topic", access="scan").to_table()
    scanned, pieces[0] = pieces[0], 0
    found = store.table("consumer_offsets").to_table().drop_columns(["store", "file"])
    assert found.equals(nr.open(f"{plain.url}/store").table("consumer_offsets").to_table().drop_columns(["store", "file"]))
    assert found["oldest_unread"].null_count < len(found) > 20
    assert pieces[0] <= scanned
