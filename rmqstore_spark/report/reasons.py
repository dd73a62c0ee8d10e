"""The meanings of the reasons for damage, in both languages. The engine has the English ones."""

from __future__ import annotations

from native_reader.records.damages import REASONS
from native_reader.tables.table import NOT_THERE

CHINESE = {
    "zeros": "范围以零开头：页从未写入，或已丢失",
    "magic": "应为记录开头的位置没有记录的魔数",
    "size": "记录的长度不可能成立",
    "cut off": "记录超出文件末尾，或文件在记录中间结束",
    "offset": "记录中的偏移与其位置不符：重用文件中的旧内容，或之前插入、删除了字节",
    "lengths": "记录中各部分的长度之和与记录长度不符",
    "blank": "填充没有在文件末尾结束",
    "entry": "DLedger 条目头缺失，或与其记录不符",
    "too large": "记录大于 max_record_bytes",
    "checksum": "记录完整，但校验和错误；仅在 verify_crc 时检查",
    "unreadable": "无法从磁盘或文件系统读取",
    "missing": "没有文件包含这些偏移",
    "lost": "consumequeue、索引文件或 checkpoint 中有日志末尾之后的记录",
}


def meaning_of(reason: str, language: str) -> str:
    """What that reason means."""
    return CHINESE[reason] if language == "zh" else (REASONS | NOT_THERE)[reason]
