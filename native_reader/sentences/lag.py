"""What `rmqstore lag` says below its table."""

from __future__ import annotations

LAG = {
    "no offset matches": ("no consumer offset matches", "没有符合条件的消费位点"),
    "no offset of group": ("warning: group {group} has no consumer offset", "警告：消费组 {group} 没有消费位点"),
    "no group offsets": ("the store has no consumer offsets", "store 中没有消费位点"),
    "without lag": ("--all also shows {rows:,} {rows:row|rows} without a lag", "另有 {rows:,} 行没有堆积，用 --all 显示"),
    "lag in tier": (
        "note: {messages:,} {messages:message|messages} of the lag {messages:is|are} in tiered storage, which is not read",
        "提示：堆积中有 {messages:,} 条消息只在多级存储中，未读取",
    ),
    "lag unknown": (
        "note: the lag of {offsets:,} {offsets:offset|offsets} is not known: the queue has no files, or the position in it is not stored",
        "提示：有 {offsets:,} 个消费位点的堆积量未知：队列没有文件，或消费位点没有保存",
    ),
    "offsets ahead": (
        "warning: {offsets:,} {offsets:offset|offsets} after the end of the queue: it lost entries, or was copied before the offsets",
        "警告：有 {offsets:,} 个消费位点超出队列末尾：队列丢失了条目，或复制队列早于复制消费位点",
    ),
    "lag of entries": (
        "counted in queues: whether the log has these messages was not looked at; --verify looks",
        "按队列计数：没有检查 commitlog 中是否有这些消息；用 --verify 检查",
    ),
    "lag untold": (
        "note: the states of what {offsets:,} {offsets:offset has|offsets have} not read are not known: a light queue, or one in no order",
        "提示：有 {offsets:,} 个消费位点之后的消息状态未知：属于轻量队列，或队列位点顺序错乱",
    ),
    "lag without trace": (
        "warning: {messages:,} {messages:message|messages} of the lag {messages:is|are} in no state: no record and no entry has the offset",
        "警告：堆积中有 {messages:,} 条消息状态不明：没有这些位点的记录和条目",
    ),
    "states of store": ("{store}: {states}", "{store}：{states}"),
}
