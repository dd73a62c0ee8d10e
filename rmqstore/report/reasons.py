"""Reasons for damage, descriptions of it, and kinds of messages, in both languages. The engine has the English ones."""

from __future__ import annotations

import re

from native_reader.plan.lost import NOT_THERE
from native_reader.records.damages import REASONS

CHINESE = {
    "zeros": "该区间以全零开头：内存页未刷盘，或数据已丢失",
    "magic": "应为记录开头的位置没有记录的魔数",
    "size": "记录的长度不可能成立",
    "cut off": "记录超出文件末尾，或文件在记录中间结束",
    "offset": "记录中的偏移量与其位置不符：重用文件中的旧内容，或之前插入、删除了字节",
    "lengths": "记录中各部分的长度之和与记录长度不符",
    "blank": "填充没有在文件末尾结束",
    "entry": "DLedger 条目头缺失，或与其记录不符",
    "too large": "记录大于 max_record_bytes",
    "checksum": "记录完整，但校验和错误；仅在 verify_crc 时检查",
    "unreadable": "无法从磁盘或文件系统读取",
    "missing": "没有文件包含这些偏移量",
    "lost": "consumequeue、索引文件或 checkpoint 中有日志末尾之后的记录",
}

DESCRIPTIONS = {
    "bytes that could not be read": "无法读取的字节",
    "zeros": "全零",
    "no DLedger entry header": "没有 DLedger 条目头",
    "{} bytes, too few for a record": "只有 {} 字节，不足一条记录",
    "a blank whose size is not the {} bytes left in the file": "填充的长度与文件剩余的 {} 字节不符",
    "no record magic": "没有记录的魔数",
    "a record larger than the {} bytes left in the file": "记录超出文件剩余的 {} 字节",
    "an impossible record size ({} bytes left in the file)": "记录的长度不可能成立（文件剩余 {} 字节）",
    "a record with offset {} (old bytes of a reused file)": "记录中的偏移量为 {}（重用文件中的旧内容）",
    "a record with another offset (bytes inserted or removed before it, or old bytes of a reused file)": (
        "记录中的偏移量与其位置不符（之前插入或删除了字节，或为重用文件中的旧内容）"
    ),
    "a record whose lengths do not add up to its size": "记录中各部分的长度之和与记录长度不符",
    "a DLedger entry header that does not match its record of {} bytes": "DLedger 条目头与其 {} 字节的记录不符",
    "a record with bytes that could not be read": "记录中有无法读取的字节",
    "a record of {} bytes, larger than max_record_bytes": "记录有 {} 字节，大于 max_record_bytes",
}
"""Descriptions of damage, with room for one number."""
LOST = {
    "{} record{s} in {} queue{s} {are} after the end of the log at offset {}, up to offset {}": (
        "{1} 个队列中有 {0} 条记录位于日志末尾（偏移量 {2}）之后，直到偏移量 {3}"
    ),
    "its only segment contains no record": "唯一的 commitlog 文件中没有记录",
    "none of its {} segments contains a record": "{} 个 commitlog 文件中都没有记录",
    "{} segment{s} after the end of the log at offset {} {contain} no record": (
        "日志末尾（偏移量 {1}）之后的 {0} 个 commitlog 文件中没有记录"
    ),
    "{} bytes after the end of the log at offset {} are not records": "日志末尾（偏移量 {1}）之后有 {0} 字节不是记录",
    "an index file has a record at offset {}, after the end of the log at offset {}": (
        "索引文件中有偏移量 {} 处的记录，位于日志末尾（偏移量 {}）之后"
    ),
    "the checkpoint has a later store time than the last record before the end of the log at offset {}": (
        "checkpoint 中的存储时间晚于日志末尾（偏移量 {}）之前的最后一条记录"
    ),
}
"""What is lost after the end of the log."""
WHY = {
    "The bytes there are neither records nor zeros: they were overwritten": "该处既不是记录也不是零：已被覆盖",
    "No file contains these offsets: segments at the end are missing or renamed": (
        "没有文件包含这些偏移量：末尾的 commitlog 文件缺失或被改名"
    ),
    "Segment {} has {} bytes, others {}: it looks cut off": "commitlog 文件 {} 有 {} 字节，其他文件有 {} 字节：它可能被截短了",
    "Only zeros or half a record follow: the log was copied before its consume queues, or its newest pages were lost": (
        "其后只有零或不完整的记录：日志的拷贝早于 consumequeue，或最后写入的页没有刷盘"
    ),
}
"""The second sentence about what is lost."""
_PLACES = {"{}": r"([\d,]+)", "{s}": "s?", "{are}": "(?:is|are)", "{contain}": "contains?"}
KINDS = {
    "prepared": "旧版半事务消息",
    "rollback": "旧版事务回滚",
    "half": "半事务消息",
    "op": "事务处理标记",
    "delay": "延时消息",
    "timer": "定时消息",
    "retry": "重试消息",
    "dlq": "死信消息",
    "trace": "消息轨迹",
    "pop": "POP 消费记录",
    "system": "系统内部消息",
    "committed": "已提交的事务消息",
    "batch": "批量消息",
    "normal": "普通消息",
}
"""Kinds of messages. `prepared` and `rollback` are those of 4.0 to 4.2, which are stored in the topic itself."""


def kind_in_words(kind: str, language: str) -> str:
    """A kind as in the tables and options, in Chinese with its meaning: its name is an English word."""
    return f"{kind}（{KINDS[kind]}）" if language == "zh" and kind in KINDS else kind


def _translated(text: str, known: dict[str, str]) -> str | None:
    for english, chinese in known.items():
        pattern = re.sub(r"\\{(\w*)\\}", lambda found: _PLACES[f"{{{found[1]}}}"], re.escape(english))
        if found := re.fullmatch(pattern, text):
            return chinese.format(*found.groups())
    return None


def described(text: str, reason: str, language: str) -> str:
    """That description of damage; the meaning of its reason if it cannot be translated, as if it contains text of the system."""
    if language != "zh":
        return text
    what, _, why = text.partition(". ")
    first, second = _translated(what, LOST), _translated(why, WHY)
    if first and second:
        return f"{first}。{second}"
    return _translated(text, DESCRIPTIONS) or CHINESE[reason]


def meaning_of(reason: str, language: str) -> str:
    """What that reason means."""
    return CHINESE[reason] if language == "zh" else (REASONS | NOT_THERE)[reason]
