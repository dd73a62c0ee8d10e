"""A search for the bytes of a condition rules out records before they are decoded. It never changes the rows."""

from __future__ import annotations

import pytest
from support.evaluator import Row, plain, read, truth
from support.stores import files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.columns.schema import COLUMNS
from native_reader.kernel import COMPILED, NUMPY
from native_reader.predicate.needles import needles_of
from native_reader.predicate.tree import EVERYTHING, ArrayContains, ArraysOverlap, Column, Compare, Contains, In, Like, Or, Predicate
from native_reader.testing import compression
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties

KEYS, UNIQUE, BODY, TEXT = Column("keys"), Column("uniq_key"), Column("body"), Column("body_text")
WORD = "order-17"
KERNELS = pytest.mark.parametrize("kernel", [NUMPY, pytest.param(COMPILED, marks=pytest.mark.kernel)])


def with_key(key: str, **more: str) -> bytes:
    return pack_properties({"TAGS": "paid", "KEYS": key, **more})


def places() -> list[Message]:
    """Messages with the word in every place that it can be in, and beside it."""
    inner = pack_inner([InnerMessage(b"x", with_key(key)) for key in ("order-1", f"a {WORD}", "order-170")])
    hidden = pack_inner([InnerMessage(f"the {WORD}".encode(), with_key(key)) for key in ("b", f"{WORD} b")])
    messages = [
        Message(topic="t", body=b"nothing", properties=with_key(key))
        for key in (WORD, f"a {WORD}", f"{WORD} b", "order-1", "order-170", f"x{WORD}", "order 17", f"{WORD} {WORD}", " ", "\xff" + WORD)
    ]
    messages += [
        Message(topic="t", properties=pack_properties({WORD: "name", "value": WORD, "UNIQ_KEY": WORD})),
        Message(topic="t", properties=f"KEYS\1{WORD}".encode()),
        Message(topic="t", properties=f"KEYS\1{WORD}\2KEYS\1other\2".encode()),
        Message(topic="t", properties=b"KEYS\1\xe9 order-17\2UNIQ_KEY\1\xe9\2"),
        Message(topic=WORD, body=b"nothing"),
        Message(topic="t", body=f"line\n{WORD}%\n".encode()),
        Message(topic="t", body=f"\xff{WORD}".encode("latin-1")),
        Message(topic="t", body=("x" * 3000 + WORD).encode(), properties=with_key("long")),
        Message(topic="batch", body=inner, sys_flag=INNER_BATCH, properties=pack_properties({"KEYS": "outer"})),
        Message(topic="batch", body=b"broken" + inner, sys_flag=INNER_BATCH, properties=with_key(WORD)),
    ]
    for _, flag, compress in compression.CODECS:
        messages.append(Message(topic="t", body=compress(f"the {WORD}".encode() * 9), sys_flag=flag, properties=with_key("packed")))
        messages.append(Message(topic="batch", body=compress(hidden), sys_flag=INNER_BATCH | flag, properties=with_key("batch")))
    return messages


def searched() -> list[Predicate]:
    words, wanted = ["order-1", WORD, "order-170", "outer", "packed"], [KEYS, UNIQUE, TEXT, Column("tags"), Column("msg_id")]
    wanted += [Column("properties", name) for name in ("KEYS", "value", WORD, "UNIQ_KEY")]
    many = tuple(f"order-{number}" for number in range(100))
    leaves: list[Predicate] = [ArrayContains(KEYS, word) for word in (*words, "a", "\N{REPLACEMENT CHARACTER}", "", "\xff" + WORD)]
    leaves += [ArraysOverlap(KEYS, some) for some in (("a", "b"), (*words,), many, (*many, "b"))]
    leaves += [Compare(column, "=", WORD) for column in wanted if column != KEYS]
    leaves += [In(column, many) for column in wanted if column != KEYS]
    for pattern in ("%order-17%", "order-17", "%-17_\n", "%order-17\\%%", "%r_er-17%", "%", "%the%order-17", "%nowhere%"):
        leaves += [Like(column, pattern) for column in wanted if column != KEYS]
    leaves += [Contains(column, word) for column in (*wanted[1:], Column("properties")) for word in (WORD, "-17", f"the {WORD}")]
    leaves += [Contains(BODY, WORD.encode()), Contains(BODY, b"\xff"), Contains(BODY, b""), Contains(Column("properties"), "")]
    return [*leaves, Compare(BODY, "=", f"the {WORD}".encode()), Or((ArrayContains(KEYS, "b"), Like(TEXT, "%order-17%")))]


def rows_of(storage: MemoryStorage) -> list[Row]:
    return read(storage, EVERYTHING, ",".join(COLUMNS))


def place_of(row: Row) -> tuple[int, int | None]:
    return row["physical_offset"], row["inner_index"]


@KERNELS
def test_a_search_finds_what_is_there_and_no_more(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMQSTORE_KERNEL", kernel)
    for framing in ("plain", "dledger"):
        storage = in_memory(files_of(log_of(places(), 16 << 10, framing=framing)))
        rows = rows_of(storage)
        found = 0
        for predicate in [*searched(), *(Compare(Column("offset_msg_id"), "=", row["offset_msg_id"]) for row in rows[::7])]:
            got = [place_of(row) for row in read(storage, predicate, "physical_offset,inner_index")]
            assert got == [place_of(row) for row in rows if truth(predicate, row)], str(predicate)
            found += bool(got)
        assert found > 40
    assert all(needles_of(predicate) is not None for predicate in searched()[:5])


@KERNELS
def test_a_chunk_of_which_no_checksum_is_right_ended_the_read(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMQSTORE_KERNEL", kernel)
    files = files_of(log_of((message(number) for number in range(20)), 64 << 10))
    name = next(name for name in files if "/commitlog/" in name)
    whole = in_memory(files)
    content, rows = bytearray(files[name]), nr.open(whole.url).messages(columns="physical_offset").to_table()
    for offset in rows["physical_offset"].to_pylist():
        content[offset + 8] ^= 1
    storage = in_memory(files | {name: bytes(content)})
    scan = nr.open(storage.url).messages(keys="k1", verify_crc=True, mode="DROPMALFORMED", access="scan")
    assert scan.count_rows() == 0


@KERNELS
def test_many_keys_give_the_rows_of_each(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In small splits, so that records lie across their borders."""
    monkeypatch.setenv("RMQSTORE_KERNEL", kernel)
    storage = in_memory(files_of(log_of([*places(), *map(message, range(150))], 64 << 10)))
    keys = [WORD, "order-1", "b", "nothing", *(f"k{number}" for number in range(0, 150, 3))]
    cases: list[dict[str, object]] = [{}, {"max_partition_bytes": 1000}, {"verify_crc": True, "mode": "PERMISSIVE"}]
    for options in cases:
        messages = [
            nr.open(storage.url).messages(columns="physical_offset,inner_index", keys=some, **options) for some in ([k] for k in keys)
        ]
        each = {place_of(row) for scan in messages for batch in scan.to_batches() for row in plain(batch)}
        together = nr.open(storage.url).messages(columns="physical_offset,inner_index", keys=keys, **options)
        assert sorted(place_of(row) for batch in together.to_batches() for row in plain(batch)) == sorted(each)
        assert len(each) > 50
