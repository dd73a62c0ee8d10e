"""What of a store is not read, and why."""

from __future__ import annotations

UNREAD = {
    "database ends early": (
        (
            "the RocksDB database {uri} is damaged in {file} at byte {offset:,}: the newest changes, in the {bytes:,} bytes from there on, "
            "are not read. A broker drops them too"
        ),
        "RocksDB 数据库 {uri} 的 {file} 在第 {offset:,} 字节处损坏：从该处起 {bytes:,} 字节中的最新修改未读取。broker 也会丢弃它们",
    ),
}
