"""What of a store is not read, and why."""

from __future__ import annotations

UNREAD = {
    "database ends early": (
        (
            "the RocksDB database {uri} is damaged in {file} at byte {offset:,}: the newest changes, in the {bytes:,} "
            "bytes from there on, "
            "are not read. A broker drops them too"
        ),
        "RocksDB 数据库 {uri} 的 {file} 在第 {offset:,} 字节处损坏：从这里起 {bytes:,} 字节中的最新修改未读取。broker 也会丢弃这些修改",
    ),
    "of rocketmq-rust": (
        (
            "{store} has files of rocketmq-rust ({names}), not of Java's broker. Its timers and its state of pop have "
            "formats that are not "
            "read: do not trust what is said about these. Its log was not tried here"
        ),
        (
            "{store} 中有 rocketmq-rust 的文件（{names}），而不是 Java broker 的。定时消息和 POP 状态的格式未读取：相关内容不可信"
            "。没有测试过 rocketmq-rust 的 commitlog"
        ),
    ),
    "tier holds": (
        (
            "{where}: tiered storage holds {messages:,} {messages:message|messages} of {topics:,} {topics:topic|topics}, which are not "
            "read there: {names}"
        ),
        "{where}：多级存储（tiered storage，也叫分级存储）中有 {topics:,} 个 topic 的 {messages:,} 条消息，未读取：{names}",
    ),
    "tier can be read": ("{what}. {option} reads them, if they are on a disk", "{what}。若文件在磁盘上，可用 {option} 读取"),
    "tier by damaged metadata": (
        "{where} names segments of tiered storage and cannot be understood: what is in the tier is not read and not counted",
        "{where} 记录多级存储的文件，但无法解析：其中的内容未读取，也未计数",
    ),
    "tier by index": (
        "{where} exists: the broker has tiered storage. What is in the tier is not read and not counted",
        "存在 {where}：broker 使用多级存储，其中的内容未读取，也未计数",
    ),
    "tier by settings": (
        "the broker is configured for tiered storage ({where}). What is in the tier is not read and not counted",
        "broker 配置了多级存储（{where}）。其中的内容未读取，也未计数",
    ),
    "older or tiered": (
        "they name {records:,} {records:record|records} older than the log, which are in tiered storage, expired or removed: {names}",
        "其中还有 commitlog 开头之前的 {records:,} 条记录，在多级存储中，或已过期、被移走：{names}",
    ),
    "forbidden": ("{where} is not read: this user may not open it", "{where} 未读取：当前用户无权打开"),
    "not given": ("{where} is not read: {reason}", "{where} 未读取：{reason}"),
    "compaction not read": (
        "{where}: {size} of compacted copies are no part of the log. The table compacted has them",
        "{where}：{size} 的 compaction 拷贝不属于 commitlog，可用表 compacted 读取",
    ),
}
