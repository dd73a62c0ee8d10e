"""A commitlog in memory, with the broker's rule for new segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from native_reader.testing.records import DLEDGER_HEADER, Message, blank, dledger_blank, encode, frame

Framing = Literal["plain", "dledger"]
END_BLANK = 8  # a record must fit with 8 more bytes, so every full file ends with a blank


@dataclass(frozen=True)
class Placed:
    """A message and the place of its record; `offset` is its physical offset (in DLedger, after the entry header)."""

    message: Message
    segment: int
    offset: int
    size: int


class CommitLog:
    """A commitlog to which messages are appended. `files()` returns the content of its directory.

    Args:
        segment_size: The size of each file in bytes.
        start: The name of the first segment, as after an expiry.
        framing: "plain", or "dledger" for records inside entries of DLedger.

    Examples:
        >>> from pathlib import Path
        >>> from native_reader.testing import CommitLog, Message
        >>> log = CommitLog(4096)
        >>> log.append(Message(topic="orders", body=b"paid")).offset
        0
        >>> Path("small/commitlog").mkdir(parents=True)
        >>> for name, content in log.files().items():
        ...     size = Path("small/commitlog", name).write_bytes(content)
        >>> rmqstore.open("small").messages(columns="topic,body").to_table().to_pylist()
        [{'topic': 'orders', 'body': b'paid'}]
    """

    def __init__(self, segment_size: int, start: int = 0, framing: Framing = "plain") -> None:
        self.segment_size = segment_size
        self.framing = framing
        self.placed: list[Placed] = []
        self._bases = [start]
        self._data = [bytearray()]
        self._index = 0

    @property
    def end(self) -> int:
        """The offset after the last written byte."""
        return self._bases[-1] + len(self._data[-1])

    def append(self, message: Message, garbage: bytes = b"") -> Placed:
        """Write one record.

        Args:
            message: The message.
            garbage: If the record needs a new segment, these bytes follow the blank of the old one.

        Returns:
            Where the record is.

        Raises:
            ValueError: The record does not fit in a segment.
        """
        return self.append_batch([message], garbage)[0]

    def append_batch(self, messages: Sequence[Message], garbage: bytes = b"") -> list[Placed]:
        """Write several adjacent records: a client's batch is always in one file.

        Args:
            messages: The messages.
            garbage: As for `append`.

        Raises:
            ValueError: The records do not fit in a segment.
        """
        header = DLEDGER_HEADER if self.framing == "dledger" else 0
        length = sum(len(encode(message)) + header for message in messages)
        if length + END_BLANK > self.segment_size:
            raise ValueError(f"{length} bytes and a blank do not fit in a segment of {self.segment_size} bytes")
        if length + END_BLANK > self.segment_size - len(self._data[-1]):
            self.seal(garbage)
        placed = []
        for message in messages:
            at = self.end
            record = encode(message, at + header)
            self._data[-1] += frame(record, at, self._index) if header else record
            self._index += 1
            placed.append(Placed(message, self._bases[-1], at + header, len(record)))
        self.placed += placed
        return placed

    def seal(self, garbage: bytes = b"") -> None:
        """Close the segment with a blank and start the next one.

        Args:
            garbage: These bytes follow the blank.
        """
        data = self._data[-1]
        remaining = self.segment_size - len(data)
        data += blank(remaining) if self.framing == "plain" else dledger_blank(remaining)
        rest = self.segment_size - len(data)
        data += garbage[:rest].ljust(rest, b"\0") if self.framing == "plain" else bytes(rest)
        self._bases.append(self._bases[-1] + self.segment_size)
        self._data.append(bytearray())

    def segments(self, *, preallocated: bool = True, extra: int = 0, tail: bytes = b"") -> list[tuple[int, bytes]]:
        """Return (first offset, bytes) of every file.

        Args:
            preallocated: The active file has its full size; zeros follow what was written.
            extra: How many files of zeros follow, as after a kill. Then the active file always has its full size.
            tail: Bytes after the last record.
        """
        files = [(base, bytes(data)) for base, data in zip(self._bases, self._data, strict=True)]
        base, data = files[-1]
        data += tail[: self.segment_size - len(data)]
        files[-1] = (base, data.ljust(self.segment_size, b"\0") if preallocated or extra else data)
        if not files[-1][1]:  # a clean stop deletes the empty preallocated file
            files.pop()
        files += [(base + (i + 1) * self.segment_size, bytes(self.segment_size)) for i in range(extra)]
        return files

    def files(self, *, preallocated: bool = True, extra: int = 0, tail: bytes = b"") -> dict[str, bytes]:
        """Return the bytes of every file by its name. The arguments are those of `segments`.

        Args:
            preallocated: As for `segments`.
            extra: As for `segments`.
            tail: As for `segments`.
        """
        return {name(base): data for base, data in self.segments(preallocated=preallocated, extra=extra, tail=tail)}


def name(offset: int) -> str:
    """A data file's name: its first offset in 20 digits."""
    return f"{offset:020d}"
