"""The findings of a check in Chinese: severities, what each code means, what to do, and the summary."""

from __future__ import annotations

from typing import NamedTuple

from native_reader.errors import option_name


class Meaning(NamedTuple):
    """What a code means, and what to do. Option names in it are marked."""

    meaning: str
    advice: str


SEVERITIES = {"error": "错误", "warning": "警告", "note": "提示"}
_NONE = "无需处理"
_SCAN = f"用 {option_name('access=scan')} 读取"
_REBUILD = "重建消费队列（日志有损坏时除外）"
_REINDEX = f"用 {option_name('access=scan')} 按 key 读取；或重建索引（日志有损坏时除外）"
_COPY = "用从节点或备份中的数据恢复该区间"
_TAIL = "查找末尾缺失或被截短的 commitlog 文件"
_DISK = "检查磁盘和权限"

CODES = {
    # The log
    "log-damage": Meaning("日志中不是记录的字节", f"{_COPY}；rmqstore 会继续读取其余部分，mode=DROPMALFORMED 也一样"),
    "log-checksum": Meaning(
        "完整的记录，但校验和错误", f"{_COPY}；如需跳过，设置 {option_name('verify_crc', True)}，除 rmqstore 外还要设置 mode=DROPMALFORMED"
    ),
    "record-properties": Meaning("记录之后的全零从其属性中开始：该消息的 tag 和 key 可能已丢失，消息体完好", _COPY),
    "log-missing": Meaning("没有文件包含这些偏移量", "查找被移走或改名的 commitlog 文件"),
    "log-lost": Meaning("其他文件指向日志末尾之后的记录，而这些字节缺失", "查找更新的 commitlog 副本"),
    "log-short": Meaning(
        "其他文件指向日志末尾之后的记录，而该处没有写入任何内容",
        "如果 broker 正在运行，请重新复制存储，先复制消费队列；否则在从节点上查找这些消息",
    ),
    "log-old-records": Meaning("日志末尾之后有旧记录，已被 broker 丢弃", f"如果也要读取它们，设置 {option_name('tail=all')}"),
    "log-truncated-by-start": Meaning(
        "5.3.1 及以下的 broker 启动时会丢弃从此处开始的有效记录；更高版本见 `rmqstore doctor`", "启动 broker 之前，先复制或读取此存储"
    ),
    "time-goes-back": Meaning("记录的存储时间早于它之前的记录，且超出容许范围", f"把 {option_name('time_skew_tolerance')} 设为大于该差值"),
    "time-of-first": Meaning("commitlog 文件的第一条记录的存储时间晚于该文件中的其他记录", f"按 store_timestamp 查询时，{_SCAN}"),
    # Records and their queues
    "record-without-entry": Meaning("消费队列中没有该记录的条目：消费者收不到它", f"{_SCAN}；或{_REBUILD}"),
    "record-of-deleted-topic": Meaning("记录所属的 topic 没有消费队列和配置：已被删除", _NONE),
    "record-of-earlier-topic": Meaning("topic 被删除并重新创建之前的记录", _NONE),
    "record-not-dispatched": Meaning("broker 停止时尚未分发到消费队列或索引的记录", "broker 启动时会分发"),
    "queue-missing": Meaning("已配置的 topic 或系统 topic 有记录，但其消费队列没有文件", f"{_SCAN}；或{_REBUILD}"),
    "queue-of-batches": Meaning(
        "普通消费队列中有内部批量消息（从节点上如此）：条目序号不是队列位点", f"如需批量消息中的 key 和 tag，{_SCAN}"
    ),
    # Entries and their records
    "entry-without-record": Meaning("条目指向的偏移量处没有记录", _REBUILD),
    "entry-of-other-queue": Meaning("条目指向另一个队列的记录", _REBUILD),
    "entry-number": Meaning("条目的序号不是其记录的队列位点", _REBUILD),
    "entry-size": Meaning("条目中的长度与其记录不同", _REBUILD),
    "entry-tag": Meaning("条目的 tagsCode 与其记录不符：按 tag 消费的消费者收不到它", f"{_SCAN}；或{_REBUILD}"),
    "entry-count": Meaning("批量条目的消息数与其记录不同", _REBUILD),
    "entry-twice": Meaning("同一队列的多个条目指向同一条记录", _REBUILD),
    "entry-expired": Meaning("条目对应的记录已过期", _NONE),
    "entry-after-end": Meaning("条目指向日志末尾之后的偏移量", _TAIL),
    "entry-discarded": Meaning("条目对应的记录已被 broker 丢弃", _NONE),
    "entry-address": Meaning("tagsCode 是 consumequeue_ext 中的地址，而该目录缺失", "同时复制 consumequeue_ext"),
    # The files of queues
    "queue-order": Meaning("消费队列中的偏移量没有递增", _REBUILD),
    "queue-hole": Meaning("已写入的条目之间有未写入或缺失的条目", _REBUILD),
    "queue-filler": Meaning("第一个记录条目之后出现填充条目", _REBUILD),
    "queue-file": Meaning("消费队列文件的名称或大小不可能成立", "恢复该文件；其余部分会被使用"),
    "queue-unreadable": Meaning("消费队列无法读取", _DISK),
    "queue-of-unknown-topic": Meaning("topic 有消费队列，但没有配置", _NONE),
    "queue-left-behind": Meaning("消费队列的旧副本：broker 已切换到 RocksDB 或切换回文件，使用的是另一份", _NONE),
    "queue-copies-differ": Meaning("消费队列的文件与其在 RocksDB 中的副本条目不同", _REBUILD),
    "queue-not-checked": Meaning("此存储没有消费队列，或其数据库无法打开", _NONE),
    # The index
    "index-unfinished": Meaning(
        "最新索引文件的文件头落后于其条目：broker 被强行终止，或在运行时被复制", "无需处理：读取时会在日志中查找文件头未计入的 key"
    ),
    "index-header": Meaning("索引文件的文件头与其条目矛盾", _REINDEX),
    "index-cut": Meaning("索引文件小于 broker 创建的大小：被截短，或没有完整复制", _REINDEX),
    "index-slot": Meaning("索引文件的槽没有指向其链中最新的条目", _REINDEX),
    "index-chain": Meaning("条目没有指向其链中的前一个条目", _REINDEX),
    "index-order": Meaning("索引文件中的偏移量回退", _REINDEX),
    "index-time": Meaning("条目的时间与其记录不同：按时间查询可能漏掉它", _REINDEX),
    "index-without-record": Meaning("索引条目指向的偏移量处没有记录", _REINDEX),
    "index-other-key": Meaning("索引条目指向的记录没有这个 key", _REINDEX),
    "index-expired": Meaning("索引条目对应的记录已过期", _NONE),
    "index-after-end": Meaning("索引条目指向日志末尾之后的偏移量", _TAIL),
    "index-unreadable": Meaning("索引文件无法读取", _DISK),
    "index-not-checked": Meaning(
        "此存储没有索引文件，或槽数未知，或索引在 RocksDB 中", f"{_NONE}；如果文件大小特殊，设置 {option_name('max_hash_slot_num')}"
    ),
    "key-without-entry": Meaning("覆盖该记录的索引文件中没有它的 key", _REINDEX),
    "key-not-covered": Meaning("没有索引文件覆盖这些带 key 的记录", f"用 {option_name('access=scan')} 按 key 读取"),
    "key-rolled-back": Meaning("回滚事务的记录的 key：broker 不为其建索引", f"如需查找它们，{_SCAN}"),
    # Checkpoint and configuration
    "broker-crashed": Meaning("存在 `abort` 文件：broker 曾异常退出，或复制时 broker 正在运行", "如果没有错误，无需处理"),
    "checkpoint-missing": Meaning("checkpoint 缺失、太短或没有时间", "启动时会新建，并检查整个日志"),
    "checkpoint-ahead": Meaning("checkpoint 的时间晚于最后一条记录", "查找末尾缺失的 commitlog 文件"),
    "config-damaged": Meaning("配置文件为空、被截断、不是 JSON，或缺少其中的表", "如果 .bak 完整，broker 会使用它"),
    "config-not-checked": Meaning("配置在 RocksDB 中，无法打开", "安装 `rocksdb` 扩展"),
    "offset-after-queue": Meaning("消费位点超出队列末尾", "重置位点，或查找丢失的记录"),
}
"""By code."""
CHINESE = {
    "commas": "{first}，{second}",
    "no segments": "没有可检查的内容：没有 commitlog 文件",
    "clean": "没有错误，没有警告",
    "n error": "{count:,} 个错误",
    "n warning": "{count:,} 个警告",
    "n note": "{count:,} 个提示",
    "in log": "{found}；共检查 {segments:,} 个 commitlog 文件，{size}",
}
"""The summary of a check, by kind."""
