"""The codes of findings: what each means, and what to do."""

from __future__ import annotations

from native_reader.errors import option_name

SEVERITIES = {
    "severity error": ("error", "错误"),
    "severity warning": ("warning", "警告"),
    "severity note": ("note", "提示"),
}
_COPY = ("restore the range from a slave or a backup", "用从节点或备份中的数据补上这一区间")
_SCAN_OR_REBUILD = (
    f"read with {option_name('access=scan')}; or rebuild the queues, unless the log is damaged",
    f"用 {option_name('access=scan')} 读取；commitlog 没有损坏时，可重建消费队列",
)
_NONE = ("no action needed", "无需处理")
_REBUILD = ("rebuild the queues, unless the log is damaged", "commitlog 没有损坏时，可重建消费队列")
_TAIL = ("look for missing or cut-off segments at the end", "查找末尾缺失或被截短的 commitlog 文件")
_DISK = ("check the disk and the permissions", "检查磁盘和权限")
_REINDEX = (
    f"read keys with {option_name('access=scan')}; or rebuild the index, unless the log is damaged",
    f"用 {option_name('access=scan')} 按 key 读取；commitlog 没有损坏时，可重建索引",
)
CODES = {
    # The log
    "log-damage": (
        ("bytes of the log that are not records", "commitlog 中有无法识别为记录的字节"),
        (
            "restore the range from a slave or a backup; rmqstore reads the rest, and so does mode=DROPMALFORMED",
            "用从节点或备份中的数据补上这一区间；rmqstore 会继续读取其余部分，mode=DROPMALFORMED 也一样",
        ),
    ),
    "log-encrypted": (
        ("a file of the log without a record, whose bytes look random", "有 commitlog 文件中没有记录，内容像是随机数据"),
        (
            "it may be encrypted or compressed: decrypt or unpack it, or restore it from a slave or a backup",
            "可能已加密或压缩：请解密、解压，或从从节点、备份取回",
        ),
    ),
    "log-unreadable": (("a file of the log, or a part of it, cannot be read", "有 commitlog 文件整个或部分无法读取"), _DISK),
    "log-checksum": (
        ("a whole record with a wrong checksum", "记录完整，但 CRC 校验失败"),
        (
            (
                f"restore the range from a slave or a backup; to skip it, set {option_name('verify_crc=True')} and, except in rmqstore, "
                "mode=DROPMALFORMED"
            ),
            (
                f"用从节点或备份中的数据补上这一区间；如需跳过，设置 {option_name('verify_crc=True')}，除 rmqstore 外还要设置 "
                "mode=DROPMALFORMED"
            ),
        ),
    ),
    "record-properties": (
        (
            "the properties of a record are damaged: its tags and keys may be lost, its body is whole",
            "消息属性已损坏：tag 和 key 可能已丢失，消息体完好",
        ),
        _COPY,
    ),
    "record-compression": (
        (
            "a record whose body and its flag for compression disagree: a client stops there, or gets packed bytes",
            "消息体与压缩标志不符：客户端会停在这里，或收到未解压的字节",
        ),
        _COPY,
    ),
    "log-missing": (
        ("no file contains these offsets", "没有文件包含这些偏移量"),
        ("look for moved or renamed segments", "查找被移走或改名的 commitlog 文件"),
    ),
    "log-removed": (
        (
            "the log begins later than its queues, and its times show that what was before has not expired",
            "commitlog 的开头晚于消费队列，而从存储时间看，之前的内容尚未过期",
        ),
        (
            "look for the removed segments; a broker with a full disk, or with another fileReservedTime, deletes them itself",
            "查找缺失的 commitlog 文件；磁盘写满或 fileReservedTime 不同时，broker 会自行删除",
        ),
    ),
    "log-file-name": (
        ("a file of the log whose records belong to another offset", "commitlog 文件中的记录属于另一个偏移量"),
        ("give the file its right name before a broker starts; do not delete it", "启动 broker 之前，把文件名改回来；不要删除这个文件"),
    ),
    "log-foreign": (
        ("a segment with records that no queue of this store names", "commitlog 文件中的记录，在这个 store 的消费队列中都没有条目"),
        ("look for the right file: this one is of another broker", "查找正确的文件：这个文件属于另一个 broker"),
    ),
    "log-lost": (
        (
            "other files name records after the end of the log, and their bytes are missing",
            "其他文件中有 commitlog 末尾之后的记录，而这些字节缺失",
        ),
        ("look for a newer copy of the log", "查找更新的 commitlog 拷贝"),
    ),
    "log-short": (
        (
            "other files name records after the end of the log, where nothing is written",
            "其他文件中有 commitlog 末尾之后的记录，而那里没有写入内容",
        ),
        (
            "if its broker runs, copy the store again, the queues first; otherwise look for the messages on a slave",
            "broker 正在运行时，请重新复制 store，先复制消费队列；否则到从节点上查找这些消息",
        ),
    ),
    "tier-damage": (
        ("bytes of tiered storage that are no whole records", "多级存储中有无法识别为完好记录的字节"),
        (
            "what the log has too is served from there; look for the rest on a slave or in a backup",
            "commitlog 中还有的消息不受影响；其余消息请到从节点或备份中查找",
        ),
    ),
    "tier-entry": (
        ("a queue in tiered storage and its records there do not agree", "多级存储中的队列与那里的记录不一致"),
        (
            f"read with {option_name('tiered=True')} what consumers do not get, and keep the files of the tier",
            f"用 {option_name('tiered=True')} 读取消费不到的消息，并保留多级存储的文件",
        ),
    ),
    "tier-missing": (
        ("a file of tiered storage, or the end of one, is missing", "多级存储的文件缺失，或不完整（被截短）"),
        ("look for the file, or for a newer copy of the tier", "查找缺失的文件，或更新的多级存储拷贝"),
    ),
    "part-not-read": (
        ("a part of the store with messages that are not read", "store 中有一部分消息未读取"),
        (
            (
                f"before anything is called complete, read it: a tier on a disk with {option_name('tiered=True')}, other parts with the "
                "broker or with a tool for them"
            ),
            f"读取这一部分之后，才能认定数据完整：磁盘上的多级存储用 {option_name('tiered=True')}，其他部分用 broker 或相应的工具",
        ),
    ),
    "copy-not-read": (
        (
            "a part of the store that is not read, with copies of what the log has",
            "store 中有一部分未读取，其中是 commitlog 已有数据的拷贝",
        ),
        _NONE,
    ),
    "log-old-records": (
        ("old records follow the end of the log: a broker discarded them", "commitlog 末尾之后有旧记录，已被 broker 丢弃"),
        (f"set {option_name('tail=all')} to read them too", f"如需一并读取，设置 {option_name('tail=all')}"),
    ),
    "log-truncated-by-start": (
        (
            (
                "a starting broker up to 5.3.1, or one with DLedger, would discard valid records from here on; what later ones do: "
                "`rmqstore doctor`"
            ),
            "5.3.1 及以下或使用 DLedger 的 broker 启动时，会从这里起丢弃有效的记录；之后的版本见 `rmqstore doctor`",
        ),
        ("copy or read the store before a broker starts on it", "启动 broker 之前，先复制或读取这个 store"),
    ),
    "dledger-index": (
        (
            "the index of a DLedger log lacks an entry, or has another one than the log",
            "DLedger commitlog 的索引缺少某个条目，或条目与 commitlog 不符",
        ),
        (
            "in the last three files, a broker mends it when it starts; elsewhere it cannot send those entries to a peer",
            "在最后三个文件中时，broker 启动时会修复；在其他文件中时，broker 无法把这些条目发送给其他节点",
        ),
    ),
    "time-goes-back": (
        ("a record was stored earlier than one before it, beyond the tolerance", "记录的存储时间早于前面的记录，且超出容许范围"),
        (f"set {option_name('time_skew_tolerance')} above the difference", f"把 {option_name('time_skew_tolerance')} 设为大于这个差值"),
    ),
    "time-of-first": (
        (
            "the first record of a segment has a later store time than another of it",
            "commitlog 文件第一条记录的存储时间晚于文件中的其他记录",
        ),
        (
            f"read with {option_name('access=scan')} for conditions on store_timestamp",
            f"按 store_timestamp 查询时，用 {option_name('access=scan')} 读取",
        ),
    ),
    # Records and their queues
    "record-without-entry": (
        ("a record that its queue does not name: consumers do not get it", "消费队列中没有这条记录的条目：消费不到"),
        _SCAN_OR_REBUILD,
    ),
    "record-of-deleted-topic": (
        ("records of a topic without queues and configuration: it was deleted", "所属 topic 没有消费队列和配置：topic 已删除"),
        _NONE,
    ),
    "record-of-earlier-topic": (
        ("records from before their topic was deleted and created again", "topic 被删除并重新创建之前的记录"),
        _NONE,
    ),
    "record-not-dispatched": (
        ("records that the broker had not put into queues or index when it stopped", "broker 停止时尚未分发到消费队列或索引的记录"),
        ("a broker does so when it starts", "broker 启动时会分发"),
    ),
    "queue-missing": (
        (
            "records of a configured topic, or of a system topic, whose queue has no files",
            "已配置的 topic 或系统 topic 有记录，但消费队列没有文件",
        ),
        _SCAN_OR_REBUILD,
    ),
    "queue-of-batches": (
        (
            "inner batches in an ordinary queue, as on slaves: its numbers are not queue offsets",
            "普通消费队列中有内部批量消息（从节点上如此）：条目序号不是队列位点",
        ),
        (
            f"read with {option_name('access=scan')} for keys and tags in batches",
            f"如需批量消息中的 key 和 tag，用 {option_name('access=scan')} 读取",
        ),
    ),
    # Entries and their records
    "entry-without-record": (("an entry names an offset where no record begins", "条目指向的偏移量处没有记录"), _REBUILD),
    "entry-of-other-queue": (("an entry names a record of another queue", "条目指向另一个队列的记录"), _REBUILD),
    "entry-number": (("an entry's number is not the queue offset of its record", "条目的序号与记录的队列位点不一致"), _REBUILD),
    "entry-size": (("an entry has another size than its record", "条目中的长度与记录不一致"), _REBUILD),
    "entry-tag": (
        (
            "an entry's tags code does not belong to its record: consumers with tags miss it",
            "条目的 tagsCode 与记录不符：按 tag 订阅的消费者收不到这条消息",
        ),
        _SCAN_OR_REBUILD,
    ),
    "entry-count": (("an entry of a batch has another number of messages than its record", "批量条目的消息数与记录不一致"), _REBUILD),
    "entry-twice": (("several entries of one queue name the same record", "同一队列的多个条目指向同一条记录"), _REBUILD),
    "entry-expired": (("entries of records that expired", "条目对应的记录已过期"), _NONE),
    "entry-removed": (
        ("an entry of a record from before the log, which has not expired", "条目指向 commitlog 开头之前的记录，而这条记录尚未过期"),
        ("look for the removed segments", "查找缺失的 commitlog 文件"),
    ),
    "entry-after-end": (("entries name offsets after the end of the log", "条目指向 commitlog 末尾之后的偏移量"), _TAIL),
    "entry-discarded": (("entries of records that a broker discarded", "条目对应的记录已被 broker 丢弃"), _NONE),
    "entry-address": (
        (
            "tags codes are addresses in consumequeue_ext, which is missing",
            "tagsCode 是 consumequeue_ext 中的地址，而 consumequeue_ext 目录缺失",
        ),
        ("copy consumequeue_ext too", "同时复制 consumequeue_ext"),
    ),
    # The files of queues
    "queue-order": (("the offsets of a queue do not ascend", "消费队列中的偏移量没有递增"), _REBUILD),
    "queue-hole": (("unwritten or missing entries between written ones", "已写入的条目之间有未写入或缺失的条目"), _REBUILD),
    "queue-filler": (("filler entries after the first entry of a record", "第一个记录条目之后出现填充条目"), _REBUILD),
    "queue-file": (
        ("a file of a queue has an impossible name or size", "消费队列文件的名称或大小不合法"),
        ("restore the file; the rest of it is used", "恢复这个文件；读取时使用其余部分"),
    ),
    "queue-unreadable": (("a queue cannot be read", "消费队列无法读取"), _DISK),
    "queue-of-unknown-topic": (("a topic has queues, but no configuration", "topic 有消费队列，但没有配置"), _NONE),
    "queue-left-behind": (
        (
            "an old copy of a queue: the broker was changed to RocksDB, or back to files, and uses the other copy",
            "消费队列的旧拷贝：broker 已切换到 RocksDB 或切换回文件，使用的是另一份",
        ),
        _NONE,
    ),
    "queue-copies-differ": (
        ("a queue in files and its copy in RocksDB have different entries", "消费队列文件与 RocksDB 中的拷贝条目不同"),
        _REBUILD,
    ),
    "queue-not-checked": (
        ("the store has no queues, or their database cannot be opened", "store 没有消费队列，或消费队列的数据库无法打开"),
        _NONE,
    ),
    # The index
    "index-unfinished": (
        (
            "the header of the newest index file counts too few entries: the broker was killed, or ran while the store was copied",
            "最新索引文件的文件头落后于条目：broker 异常退出，或复制时 broker 正在运行",
        ),
        (
            "no action needed: reads search the log for keys that it does not count",
            "无需处理：读取时会在 commitlog 中查找文件头未计入的 key",
        ),
    ),
    "index-header": (("the header of an index file contradicts its entries", "索引文件的文件头与条目不一致"), _REINDEX),
    "index-cut": (
        (
            "an index file is smaller than brokers make them: it was cut, or not copied whole",
            "索引文件小于 broker 创建的大小：不完整（被截短），或没有复制完",
        ),
        _REINDEX,
    ),
    "index-slot": (
        ("a slot of an index file does not lead to the newest entry of its chain", "索引文件的哈希槽没有指向链中最新的条目"),
        _REINDEX,
    ),
    "index-chain": (("an entry does not lead to the entry before it in its chain", "条目没有指向链中的前一个条目"), _REINDEX),
    "index-order": (("the offsets of an index file go back", "索引文件中的偏移量回退"), _REINDEX),
    "index-time": (
        ("an entry has another time than its record: searches by time can miss it", "条目的时间与记录不一致：按时间查询可能漏掉这条记录"),
        _REINDEX,
    ),
    "index-without-record": (("an index entry names an offset where no record begins", "索引条目指向的偏移量处没有记录"), _REINDEX),
    "index-other-key": (("an index entry names a record without such a key", "索引条目指向的记录没有这个 key"), _REINDEX),
    "index-expired": (("index entries of records that expired", "索引条目对应的记录已过期"), _NONE),
    "index-after-end": (("index entries name offsets after the end of the log", "索引条目指向 commitlog 末尾之后的偏移量"), _TAIL),
    "index-unreadable": (("an index file cannot be read", "索引文件无法读取"), _DISK),
    "index-not-checked": (
        (
            "the store has no index files, their number of slots is unknown, or its index is in RocksDB",
            "store 没有索引文件，或哈希槽数量未知，或索引在 RocksDB 中",
        ),
        (
            f"no action needed; for files of an unknown size, set {option_name('max_hash_slot_num')}",
            f"无需处理；如果文件大小特殊，设置 {option_name('max_hash_slot_num')}",
        ),
    ),
    "key-without-entry": (
        ("a key of a record is missing in an index file that covers it", "记录在索引文件的范围内，但索引中没有记录的 key"),
        _REINDEX,
    ),
    "key-not-covered": (
        ("no index file covers records with keys", "这些带 key 的记录不在任何索引文件的范围内"),
        (f"read keys with {option_name('access=scan')}", f"用 {option_name('access=scan')} 按 key 读取"),
    ),
    "key-rolled-back": (
        ("keys of records that roll back a transaction: brokers do not index them", "事务回滚记录的 key：broker 不为这类记录建索引"),
        (f"read with {option_name('access=scan')} to find them", f"如需查找，用 {option_name('access=scan')} 读取"),
    ),
    # Checkpoint and configuration
    "broker-crashed": (
        (
            "the file `abort` exists: the broker crashed, or ran while the store was copied",
            "存在 `abort` 文件：broker 曾异常退出，或复制时 broker 正在运行",
        ),
        ("no action needed if there are no errors", "没有错误时，无需处理"),
    ),
    "checkpoint-missing": (
        ("the checkpoint is missing, too short or without times", "checkpoint 缺失、太短或没有时间"),
        ("a start makes a new one, and checks the whole log", "启动时会新建，并检查整个 commitlog"),
    ),
    "checkpoint-ahead": (
        ("the checkpoint has a later time than the last record", "checkpoint 的时间晚于最后一条记录"),
        ("look for missing segments at the end", "查找末尾缺失的 commitlog 文件"),
    ),
    "database-unreadable": (
        ("a RocksDB database cannot be opened", "RocksDB 数据库无法打开"),
        (
            "restore it from a backup or a slave: a broker does not start with it, and what it holds is not checked",
            "用备份或从节点中的数据恢复：broker 起不来，其中的内容未校验",
        ),
    ),
    "database-ends-early": (
        (
            "a write-ahead log of a RocksDB database is damaged: the changes after the damage are not read, and a broker drops them",
            "RocksDB 数据库的 WAL 损坏：损坏处之后的修改未读取，broker 也会丢弃",
        ),
        (
            "restore the database from a backup or a slave, or compare its content with another broker",
            "用备份或从节点中的数据恢复数据库，或与另一个 broker 比对内容",
        ),
    ),
    "config-damaged": (
        ("a configuration file is empty, truncated, not JSON, or lacks its table", "配置文件为空、被截断、不是 JSON，或缺少其中的表"),
        ("a broker then uses its .bak, if that is whole", ".bak 完整时，broker 会使用 .bak"),
    ),
    "config-missing": (
        ("a configuration file is missing, although other files show that it was there", "配置文件缺失，而从其他文件看，曾有这个文件"),
        ("restore it from a backup or a slave before a broker starts", "启动 broker 之前，用备份或从节点中的文件恢复"),
    ),
    "config-not-checked": (
        ("the configuration is in RocksDB, which is not read without the extra", "配置在 RocksDB 中，未安装可选依赖，因此未读取"),
        ("install the extra `rocksdb`", "安装可选依赖 `rocksdb`"),
    ),
    "offset-after-queue": (
        ("a consumer offset is after the end of its queue", "消费位点超出队列末尾"),
        ("reset it, or look for lost records", "重置消费位点，或查找丢失的记录"),
    ),
}
"""By code: what it means, and what to do."""
