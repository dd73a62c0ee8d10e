"""What can be wrong with a store before a broker starts on it: each function damages one in place."""

from __future__ import annotations

import shutil
from pathlib import Path

SEGMENT = 64 << 10


def whole(store: Path) -> None:
    """The store stays unchanged."""


def a_page_of_zeros_in_the_first_segment(store: Path) -> None:
    patch(segments(store)[0], 20480, bytes(4096))


def a_page_of_zeros_in_the_second_newest(store: Path) -> None:
    patch(segments(store)[-2], 20480, bytes(4096))


def a_flipped_bit_in_a_body(store: Path) -> None:
    segment = segments(store)[-3]
    at = next_record(segment, 20_000) + 100
    patch(segment, at, bytes([segment.read_bytes()[at] ^ 4]))


def a_record_without_magic_in_the_newest(store: Path) -> None:
    patch(segments(store)[-1], next_record(segments(store)[-1], 300), b"\0\0\0\0")


def an_overwritten_start(store: Path) -> None:
    patch(segments(store)[-2], 0, b"\xff" * 100)


def a_cut_segment(store: Path) -> None:
    truncate(segments(store)[1], 40_000)


def a_cut_last_segment(store: Path) -> None:
    truncate(segments(store)[-1], 40_000)


def an_empty_last_segment(store: Path) -> None:
    last = max((store / "commitlog").glob("0*"))
    last.with_name(f"{int(last.name) + SEGMENT:020}").touch()


def a_missing_segment(store: Path) -> None:
    segments(store)[1].unlink()


def a_packed_segment(store: Path) -> None:
    segments(store)[0].rename(segments(store)[0].with_suffix(".gz"))


def a_folder_beside_the_segments(store: Path) -> None:
    (store / "commitlog" / "old").mkdir()


def a_cut_queue_file(store: Path) -> None:
    truncate(next(iter(sorted(store.glob("consumequeue/*/*/0*")))), 20)


def a_note_beside_a_queue(store: Path) -> None:
    (next(iter(sorted(store.glob("consumequeue/*/*")))) / "readme.txt").write_bytes(bytes(600))


def no_queues(store: Path) -> None:
    shutil.rmtree(store / "consumequeue")
    shutil.rmtree(store / "batchconsumequeue", ignore_errors=True)


def no_queues_and_a_page_of_zeros(store: Path) -> None:
    no_queues(store)
    a_page_of_zeros_in_the_second_newest(store)


def no_checkpoint(store: Path) -> None:
    (store / "checkpoint").unlink()


def no_log(store: Path) -> None:
    for segment in segments(store):
        segment.unlink()


DAMAGE = (
    whole, a_page_of_zeros_in_the_first_segment, a_page_of_zeros_in_the_second_newest, a_flipped_bit_in_a_body,
    a_record_without_magic_in_the_newest, an_overwritten_start, a_cut_segment, a_cut_last_segment, an_empty_last_segment,
    a_missing_segment, a_packed_segment, a_folder_beside_the_segments, a_cut_queue_file, a_note_beside_a_queue, no_queues,
    no_queues_and_a_page_of_zeros, no_checkpoint, no_log,
)  # fmt: skip


def segments(store: Path) -> list[Path]:
    """Those with records."""
    return [each for each in sorted((store / "commitlog").glob("0*")) if any(each.read_bytes()[:8])]


def next_record(segment: Path, after: int) -> int:
    return segment.read_bytes().index(b"\xda\xa3\x20\xa7", after)


def patch(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def truncate(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)
