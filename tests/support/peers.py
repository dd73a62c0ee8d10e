"""Stores of DLedger peers whose entries, terms and damage a test chooses."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from native_reader.testing.records import DLEDGER_HEADER, Message, dledger_blank, encode, frame

SIZE = 4096
Terms = Sequence[int]


def entry(index: int, term: int, at: int, text: bytes = b"paid") -> bytes:
    record = encode(Message(topic="orders", queue_id=0, queue_offset=index, body=text * 9 + b"%d" % index), at + DLEDGER_HEADER)
    return frame(record, at, index, term)


def peer(folder: Path, terms: Terms, *, first: int = 0, base: int = 0, text: bytes = b"paid", committed: int | None = None) -> Path:
    """A store with an entry of each of these terms."""
    files, content, base_of = {}, b"", base
    for index, term in enumerate(terms, first):
        made = entry(index, term, base_of + len(content), text)
        if len(content) + len(made) + 8 > SIZE:
            files[base_of] = (content + dledger_blank(SIZE - len(content))).ljust(SIZE, b"\0")
            base_of, content = base_of + SIZE, b""
            made = entry(index, term, base_of, text)
        content += made
    files[base_of] = content.ljust(SIZE, b"\0")
    data = folder / "dledger-n0" / "data"
    data.mkdir(parents=True)
    for each, written in files.items():
        (data / f"{each:020}").write_bytes(written)
    last = first + len(terms) - 1
    (data.parent / "checkpoint").write_text(f"committedIndex={last if committed is None else committed}\nendIndex={last}\n")
    return folder


def patched(store: Path, at: int, content: bytes) -> Path:
    path = store / "dledger-n0" / "data" / f"{at // SIZE * SIZE:020}"
    whole = bytearray(path.read_bytes())
    whole[at % SIZE : at % SIZE + len(content)] = content
    path.write_bytes(whole)
    return store


def place_of(store: Path, index: int) -> int:
    """Where an entry begins."""
    for path in sorted((store / "dledger-n0" / "data").iterdir()):
        content, at = path.read_bytes(), 0
        while struct.unpack_from(">i", content, at)[0] == 1:
            size, number = struct.unpack_from(">iq", content, at + 4)
            if number == index:
                return int(path.name) + at
            at += size
    raise AssertionError(index)
