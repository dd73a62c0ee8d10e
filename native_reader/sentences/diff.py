"""What the comparison of two stores says."""

from __future__ import annotations

DIFF = {
    "side": ("{name}: {store}, offsets {begin:,} to {end:,}", "{name}：{store}，偏移量 {begin:,} 至 {end:,}"),
    "shared": (
        "{records:,} {records:record|records} ({size}) are equal, at the same offsets",
        "{records:,} 条记录（{size}）相同，且偏移量相同",
    ),
    "unshared": (
        "the logs have no record at the same offset: their messages are compared by unique key",
        "两份日志没有偏移量相同的记录：按唯一 key 比较消息",
    ),
    "parted": (
        "the logs part at offset {offset:,}: messages after it are compared by unique key",
        "两份日志从偏移量 {offset:,} 起不同：其后的消息按唯一 key 比较",
    ),
    "no differences": ("no differences", "没有差异"),
    "only": ("{count:,} {count:message is|messages are} only in {name}: {difference}", "{count:,} 条消息仅在 {name} 中：{difference}"),
    "only older": ("older than the other log", "早于另一份日志"),
    "only newer": ("newer than the other log", "晚于另一份日志"),
    "only missing": ("missing in the other log", "在另一份日志中缺失"),
    "only changed": ("another record is there in the other log", "另一份日志的该处是另一条记录"),
    "only parted": ("stored after the logs parted", "在两份日志分开之后存储"),
}
