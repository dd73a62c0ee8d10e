"""Numbers, sizes, durations and lists of names for people."""

from __future__ import annotations

import pytest

from native_reader.text import counted, duration_of, in_chinese, names_of, share_of, size_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0 bytes"), (1, "1 byte"), (1023, "1,023 bytes"), (1024, "1.0 KiB"), (10_240, "10.0 KiB"), (1 << 20, "1.0 MiB")),
        *(((1 << 20) - 1, "1.0 MiB"), (5 * (1 << 30), "5.0 GiB"), (1 << 62, "4.0 EiB"), (1 << 73, "8,192.0 EiB"), (0.6, "1 byte")),
    ],
)
def test_sizes(value: float, text: str) -> None:
    assert size_of(value) == text


def test_counts() -> None:
    assert [counted(count, "record") for count in (0, 1, 2000)] == ["0 records", "1 record", "2,000 records"]


def test_durations() -> None:
    assert [duration_of(seconds) for seconds in (0.4, 59.6, 185, 7620, 172_799, 172_800, 450_000)] == [
        "0 s", "1:00 min", "3:05 min", "2:07 h", "47:59 h", "2.0 days", "5.2 days"
    ]  # fmt: skip


def test_shares() -> None:
    texts = "1 byte", "12 s", "3:05 min", "2:07 h", "5.2 days", "< 0.1 %", "1.5 GiB", "3:05"
    assert [in_chinese(each) for each in texts] == [
        "1 字节",
        "12 秒",
        "3 分 05 秒",
        "2 小时 07 分",
        "5.2 天",
        "< 0.1%",
        "1.5 GiB",
        "3:05",
    ]
    assert [share_of(*pair) for pair in ((0, 5), (5, 0), (1, 10_000), (1, 3), (1, 1))] == ["0 %", "0 %", "< 0.1 %", "33.3 %", "100.0 %"]


def test_names() -> None:
    assert [names_of(names, 2) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a, b", "a, b …"]
