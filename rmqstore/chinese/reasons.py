"""What the engine says about damage, losses and files of settings, reasons for damage, and kinds of messages: in Chinese."""

from __future__ import annotations

from native_reader.plan.lost import MISSING, NOT_THERE, Missing
from native_reader.records.damages import REASONS, Damage

CHINESE = {
    "zeros": "该区间以全零开头：内存页未刷盘，或数据已丢失",
    "magic": "应为记录开头的位置未找到魔数（magic code）",
    "size": "记录的长度不可能成立",
    "cut off": "记录超出文件末尾，或文件在记录中间结束",
    "offset": "记录中的偏移量与其位置不符：重用文件中的旧内容，或之前插入、删除了字节",
    "lengths": "记录中各部分的长度之和与记录长度不符",
    "blank": "填充没有在文件末尾结束",
    "entry": "DLedger 条目头缺失，或与其记录不符",
    "too large": "记录大于 max_record_bytes",
    "checksum": "记录完整，但校验和错误；仅在 verify_crc 时检查",
    "properties": "记录完整，但与其消费队列或索引矛盾：其属性损坏，或条目错误",
    "unreadable": "无法从磁盘或文件系统读取",
    "missing": "没有文件包含这些偏移量",
    "lost": "consumequeue、索引文件或 checkpoint 中有日志末尾之后的记录",
}

_RENAMED = "没有文件包含这些偏移量：末尾的 commitlog 文件缺失或被改名"
SENTENCES = {
    # What is there instead of a record
    "unreadable": "无法读取的字节",
    "zeros": "全零",
    "zeros from properties": "全零，从前一条记录的属性中开始：该消息的 tag 和 key 可能已丢失",
    "no entry": "没有 DLedger 条目头",
    "too few": "只有 {number:,} 字节，不足一条记录",
    "blank": "填充的长度与文件剩余的 {number:,} 字节不符",
    "magic": "未找到记录的魔数（magic code）",
    "cut off": "记录超出文件剩余的 {number:,} 字节",
    "size": "记录的长度不可能成立（文件剩余 {number:,} 字节）",
    "earlier": "记录中的偏移量为 {number:,}（重用文件中的旧内容）",
    "offset": "记录中的偏移量与其位置不符（之前插入或删除了字节，或为重用文件中的旧内容）",
    "lengths": "记录中各部分的长度之和与记录长度不符",
    "other entry": "DLedger 条目头与其 {number:,} 字节的记录不符",
    "unreadable part": "记录中有无法读取的字节",
    "too large": "记录有 {number:,} 字节，大于 max_record_bytes",
    "body checksum": "存储的消息体的校验和错误",
    "checksum": "记录的校验和错误",
    "tag contradicted": "记录完整，但其 tag 与消费队列条目不同：tag 已丢失，或条目错误",
    "key contradicted": "记录完整，但没有索引为其记录的 key：key 已丢失，或条目错误",
    MISSING: CHINESE[MISSING],
    # What is lost after the end of the log
    "named by queues": "{queues:,} 个队列中有 {records:,} 条记录位于日志末尾（偏移量 {end:,}）之后，直到偏移量 {until:,}",
    "only segment": "唯一的 commitlog 文件中没有记录",
    "no segment": "{segments} 个 commitlog 文件中都没有记录",
    "stray": "{name} 不是 commitlog 文件，但其文件名是日志末尾（偏移量 {end:,}）之后的偏移量",
    "segments after": "日志末尾（偏移量 {end:,}）之后的 {segments:,} 个 commitlog 文件中没有记录",
    "bytes after": "日志末尾（偏移量 {end:,}）之后有 {bytes:,} 字节不是记录",
    "named by index": "索引文件中有偏移量 {offset:,} 处的记录，位于日志末尾（偏移量 {end:,}）之后",
    "later checkpoint": "checkpoint 中的存储时间晚于日志末尾（偏移量 {end:,}）之前的最后一条记录",
    # Why it can be lost
    "packed": "{file} 像是 {format} 压缩数据，请先解压：{command}",
    "archive": "{file} 像是 tar 归档，请先解包",
    "begins with zeros": "{file} 以全零开头：从未写入，或数据已丢失",
    "begins with text": "{file} 以文本开头",
    "begins with unknown": "{file} 以无法识别的字节开头",
    "not opened": "无法打开该文件：{reason}",
    "cut segment": "commitlog 文件 {name} 有 {size:,} 字节，其他文件有 {others:,} 字节：它可能被截短了",
    "overwritten": "该处既不是记录也不是零：已被覆盖",
    "no file": _RENAMED,
    "packed file": f"{_RENAMED}。{{name}} 存在，请先解压：{{command}}",
    "renamed file": f"{_RENAMED}。{{name}} 存在，如果它是 commitlog 文件，请先改名：{{command}}",
    "packed segment": "{name} 存在，请先解压：{command}",
    "renamed segment": "{name} 存在，如果它是 commitlog 文件，请先改名：{command}",
    "copied before": "其后只有零或不完整的记录：日志的拷贝早于 consumequeue，或最后写入的页没有刷盘",
}
"""What the engine says about damage and losses, by kind, in Chinese."""
PROBLEMS = {
    "file unreadable": "无法读取：{reason}",
    "file too large": "有 {size:,} 字节，上限为 {limit:,}",
    "file empty": "为空",
    "file not json": "第 {position:,} 字节处不是 JSON（{expected}）",
    "file not object": "应为对象，实际是{found}",
    "file without key": "缺少键 '{key}'",
    "key not object": "'{key}' 应为对象，实际是{found}",
    "file missing": "缺失",
    "an object": "对象",
    "a list": "列表",
    "a text": "文本",
    "null": "null",
    "other value": " {value}",
    "with backup": "{name} {problem}；其 .bak 可读",
    "without backup": "{name} {problem}；没有可读的 .bak",
}
"""What is wrong with a configuration file, by kind, in Chinese."""
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


def described(found: Damage | Missing, language: str) -> str:
    """What was found there."""
    return "。".join(each.text(SENTENCES) for each in found.said) if language == "zh" else found.description


def meaning_of(reason: str, language: str) -> str:
    """What that reason means."""
    return CHINESE[reason] if language == "zh" else (REASONS | NOT_THERE)[reason]
