"""What a diagnosis says about a store."""

from __future__ import annotations

from native_reader.errors import option_name

DOCTOR = {
    # What shows a version, by the column or file that shows it
    "dispatched_offset": ("the checkpoint has a dispatched offset", "checkpoint 中有已分发的偏移量（dispatched offset）"),
    "consumequeue_rocksdb": ("consume queues are in consumequeue_rocksdb", "消费队列在 consumequeue_rocksdb 中"),
    "metadata": ("the configuration is in one database, config/metadata", "配置都在一个数据库 config/metadata 中"),
    "rocksdbstore": ("the directory rocksdbstore exists", "存在 rocksdbstore 目录"),
    "kvStore": ("the directory kvStore exists", "存在 kvStore 目录"),
    "confirmed_offset": ("the checkpoint has a confirmed offset", "checkpoint 中有已确认的偏移量（confirmed offset）"),
    "master_flushed_offset": ("the checkpoint has a flushed offset", "checkpoint 中有已刷盘的偏移量（flushed offset）"),
    "rdb": ("the configuration is in RocksDB", "配置在 RocksDB 中"),
    "topics": ("the configuration is in RocksDB", "配置在 RocksDB 中"),
    "transactionMetrics": ("the file transactionMetrics exists", "存在 transactionMetrics 文件"),
    "timercheck": ("the file timercheck exists", "存在 timercheck 文件"),
    "consumerOrderInfo.json": ("the file consumerOrderInfo.json exists", "存在 consumerOrderInfo.json 文件"),
    "lmqConsumerOffset.json": ("the file lmqConsumerOffset.json exists", "存在 lmqConsumerOffset.json 文件"),
    "CURRENT": ("the consume queues are in RocksDB", "消费队列在 RocksDB 中"),
    "batchconsumequeue": ("there are batch queues", "存在批量消费队列"),
    # Labels
    "label store": ("store", "store"),
    "label version": ("version", "版本"),
    "label commitlog": ("commitlog", "commitlog"),
    "label queues": ("queues", "消费队列"),
    "label index": ("index", "索引"),
    "label config": ("config", "配置"),
    "label rocksdb": ("rocksdb", "RocksDB"),
    "label state": ("state", "状态"),
    "label finding": ("finding", "问题"),
    "label note": ("note", "提示"),
    "label warning": ("warning", "警告"),
    "label try": ("try", "后续命令"),
    "label start": ("start", "启动"),
    "label messages": ("messages", "消息"),
    "label check": ("check", "检查"),
    "label repair": ("repair", "修复"),
    # Facts
    "at least": ("RocketMQ {version} or later: {because}", "RocketMQ {version} 及以上：{because}"),
    "no sign": ("unknown: nothing shows a version of RocketMQ after 4.9.2", "未知：未发现 4.9.2 之后版本的特征"),
    "no segments": ("no segments", "没有 commitlog 文件"),
    "none": ("none", "无"),
    "at": ("{place}: {what}", "{place}：{what}"),
    "period": ("{what}, {first} to {last}", "{what}，{first} 至 {last}"),
    "size of log": ("{segments:,} {segments:segment|segments}, {size}", "{segments:,} 个 commitlog 文件，{size}"),
    "queues of topics": (
        "{queues:,} {queues:queue|queues} of {topics:,} {topics:topic|topics}",
        "{topics:,} 个 topic 的 {queues:,} 个队列",
    ),
    "and light": ("{what}, and {light:,} {light:light queue|light queues}", "{what}，以及 {light:,} 个轻量队列（LMQ）"),
    "and older": ("{what}; {older}", "{what}；{older}"),
    "older": (
        "they name {records:,} {records:record|records} older than the log, which expired or were removed: {names}",
        "其中还有 commitlog 开头之前的 {records:,} 条记录，已过期或被移走：{names}",
    ),
    "size of index": ("{files:,} {files:file|files}, {keys:,} {keys:key|keys}", "{files:,} 个文件，{keys:,} 个 key"),
    "in rocksdb": ("{place} (RocksDB)", "{place}（RocksDB）"),
    "not read": ("not read", "未读取"),
    "in use": (
        f"a broker on this host has the store open. Reading is safe; {option_name('max_read_rate')} limits the load",
        f"本机有 broker 正在使用这个 store。读取是安全的；可用 {option_name('max_read_rate')} 限速",
    ),
    "at rest": ("no broker on this host has it open", "本机没有 broker 正在使用"),
    # What is odd
    "not examined": ("{part} could not be examined: {reason}", "无法检查 {part}：{reason}"),
    "unfinished": (
        "this is the folder of a repair that was not finished. Start the same repair again to continue it, or delete it",
        "这是一次未完成的修复留下的目录。再次执行同一修复命令即可继续，也可以删除",
    ),
    "strays": (
        "not read: {names}. Each is a packed or renamed segment, or has the name of one and is not a regular file",
        "未读取：{names}。这些是压缩（或打包）的、改过名的 commitlog 文件，或文件名相同但不是普通文件",
    ),
    "gap": (
        "no file contains offsets {start:,} to {stop:,} ({bytes:,} bytes)",
        "没有文件包含偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）",
    ),
    "found packed": ("{gap}. {back}", "{gap}。{back}"),
    "stale": (
        "{bytes:,} bytes of old records follow the end of the log: a broker discarded them",
        "commitlog 末尾之后有 {bytes:,} 字节的旧记录，已被 broker 丢弃",
    ),
    "epochs damaged": (
        "{file} is damaged: its count or its checksum is wrong, and no .bak beside it is whole. Take the file of another replica of the "
        "group, or compare their logs: rmqstore diff",
        "{file} 已损坏：条数或校验和有误，旁边也没有完好的 .bak。请使用同组其他副本的文件，或用 rmqstore diff 比较双方的 commitlog",
    ),
    "epochs of backup": (
        "epochFileCheckpoint is damaged or missing: a broker takes {file}, which can lack the last epoch",
        "epochFileCheckpoint 已损坏或缺失：broker 会使用 {file}，其中可能没有最后一个 epoch",
    ),
    "epoch after log": (
        "{file}: epoch {number:,} begins at offset {begin:,}, after the end of the log: the log lost its end, or the file is of another "
        "store. Compare both with another replica: rmqstore diff",
        "{file}：epoch {number:,} 起于偏移量 {begin:,}，在 commitlog 末尾之后：commitlog 的末尾已丢失，或这个文件属于另一个 "
        "store。请与另一个副本比较：rmqstore diff",
    ),
    "epoch without record": (
        "{file}: epoch {number:,} begins at offset {begin:,}, where no whole record begins: the log is damaged there, or the file is of "
        "another store. Compare both with another replica: rmqstore diff",
        "{file}：epoch {number:,} 起于偏移量 {begin:,}，那里没有完好的记录：commitlog 在那里已损坏，或这个文件属于另一个 "
        "store。请与另一个副本比较：rmqstore diff",
    ),
    "epoch back": (
        "{file}: epoch {number:,} begins at offset {begin:,}, which is not after the begin of the epoch before it: a broker never writes "
        "this. Take the file of another replica",
        "{file}：epoch {number:,} 起于偏移量 {begin:,}，不在前一个 epoch 的起点之后：broker 不会这样写。请使用另一个副本的文件",
    ),
    "no queues": (
        "there are no consume queues: without them, consumers get no messages",
        "没有消费队列：消费者收不到任何消息",
    ),
    "ahead": (
        ("{queues:,} {queues:queue|queues} with entries for records after the end of the log, which were lost or discarded: {names}"),
        "{queues:,} 个队列中有指向 commitlog 末尾之后的条目，对应的记录已丢失或已丢弃：{names}",
    ),
    "behind": (
        "{queues:,} {queues:queue|queues} without entries for their newest records; a broker adds them when it starts: {names}",
        "{queues:,} 个队列缺少最新记录的条目，broker 启动时会补上：{names}",
    ),
    "orphaned": (
        (
            "{queues:,} {queues:queue|queues} of topics without settings: they were deleted, or this is a follower that never got "
            "the settings: {names}"
        ),
        "{queues:,} 个队列的 topic 没有配置：topic 已删除，或这是从未同步过配置的从节点：{names}",
    ),
    "index size unknown": (
        (
            f"{{files:,}} {{files:index file|index files}} cannot be searched: set {option_name('max_hash_slot_num')} as in the "
            "broker's configuration"
        ),
        f"{{files:,}} 个索引文件无法查询：请按 broker 的配置设置 {option_name('max_hash_slot_num')}",
    ),
    "index cut": ("{file} has {size:,} bytes: it was cut, or not copied whole", "{file} 有 {size:,} 字节：不完整（被截短），或没有复制完"),
    "no config": (
        "there is no directory config: a broker that starts here has no topics, groups or consumer offsets",
        "没有 config 目录：broker 启动后没有 topic、消费组和消费位点",
    ),
    "no topics": (
        "{config} has no topics.json: a broker that starts here has no topics",
        "{config} 中没有 topics.json：broker 启动后没有 topic",
    ),
    "no consumer offsets": (
        "{config} has no consumerOffset.json: the consumer groups of a broker that starts here do not know how far they were",
        "{config} 中没有 consumerOffset.json：broker 启动后，消费组没有消费位点",
    ),
    "no extra": (
        "what is in RocksDB is not read. To read it, install the extra: pip install 'rmqstore-spark[rocksdb]'",
        "未读取 RocksDB 中的内容。如需读取，请安装可选依赖：pip install 'rmqstore-spark[rocksdb]'",
    ),
    "late databases": (
        "a running broker writes queues and index to its databases late: their newest entries are not on the disk yet",
        "运行中的 broker 会延迟写入队列和索引的数据库：最新的条目尚未落盘",
    ),
    "crashed": (
        "the file abort exists: the broker crashed, or ran while the store was copied",
        "存在 abort 文件：broker 曾异常退出，或复制时 broker 正在运行",
    ),
    "checkpoint ahead": (
        "the checkpoint is {by} later than the last record: look for missing segments at the end",
        "checkpoint 比最后一条记录晚 {by}：请查找末尾缺失的 commitlog 文件",
    ),
    # What is wrong with a queue or an index file
    "queue gap": ("no file contains entries {first:,} to {last:,}", "没有文件包含第 {first:,} 至 {last:,} 个条目"),
    "queue overlap": ("two files contain entry {number:,}", "两个文件都包含第 {number:,} 个条目"),
    "more of queue": ("{first}, and {count:,} more", "{first}，另有 {count:,} 处"),
    "queue end": ("its last entry names no record", "最后一个条目没有指向记录"),
    "index no chain": ("its last entry is in no chain. Check max_hash_slot_num", "最后一个条目不在任何链中，请检查 max_hash_slot_num"),
    "index no slots": ("its number of slots is unknown. Set max_hash_slot_num", "哈希槽数量未知，请设置 max_hash_slot_num"),
    "index empty": ("it is empty", "文件为空"),
    "index inconsistent": ("its header is inconsistent", "文件头中的数值前后不一致"),
    # What contradicts
    "more contradictions": ("and {count:,} more of this kind", "同类问题另有 {count:,} 处"),
    "witness wrong name": (
        "{file} has a wrong name: all its records that were read belong into {name}. Give it that name",
        "{file} 文件名有误：读到的记录都属于 {name}。请改回该文件名",
    ),
    "witness wrong name taken": (
        "{file} has a wrong name: all its records that were read belong into {name}, which is there too: look for the right file",
        "{file} 文件名有误：读到的记录都属于 {name}，而 {name} 也存在。请查找正确的文件",
    ),
    "witness foreign segment": (
        (
            "{file} is of another broker: its records are in their places, but {entries:,} {entries:entry|entries} of queues that "
            "were looked at name others there, and none agrees"
        ),
        "{file} 属于另一个 broker：记录的位置正确，但查看的 {entries:,} 个队列条目在这里指向其他记录，没有一个相符",
    ),
    "witness foreign by host": (
        "{what}. Its first record was stored by {host}, those of other segments by {others}",
        "{what}。其第一条记录由 {host} 存储，其他 commitlog 文件由 {others} store",
    ),
    "witness foreign by times": (
        "{what}. Its store times do not fit between those of its neighbours",
        "{what}。存储时间与相邻文件不衔接",
    ),
    "witness all queues foreign": (
        "the queues are not of this log, or it is of another broker: {segments:,} {segments:segment|segments} contradict their entries",
        "队列不属于这份 commitlog，或 commitlog 属于另一个 broker：{segments:,} 个 commitlog 文件与队列条目不符",
    ),
    "witness no records": ("{file} has no record where one must begin", "{file} 中应为记录开头的位置没有记录"),
    "witness foreign queue file": (
        (
            "{file} is of another queue: its entry {number:,} names the record at offset {offset:,}, which is number {other:,} of queue "
            "{queue} of {topic}"
        ),
        "{file} 属于另一个队列：第 {number:,} 个条目指向偏移量 {offset:,}，那里是 topic {topic} 队列 {queue} 的第 {other:,} 条记录",
    ),
    "witness wrong entries": (
        (
            "{file} has wrong entries: entry {number:,} names the record at offset {offset:,}, which is number {other:,} of queue "
            "{queue} of {topic}, or has another size"
        ),
        "{file} 中有错误的条目：第 {number:,} 个条目指向偏移量 {offset:,}，那里是 topic {topic} 队列 {queue} 的第 {other:,} "
        "条记录，或大小不符",
    ),
    "witness no record": (
        "{file}: entry {number:,} names a record at offset {offset:,}, where none begins: it is lost or damaged, or the entry is wrong",
        "{file}：第 {number:,} 个条目指向偏移量 {offset:,}，那里不是一条记录的开头：记录已丢失或损坏，或条目有误",
    ),
    "witness other tag": (
        "{file}: entry {number:,} has the hash of another tag than its record at offset {offset:,}: one of them is damaged",
        "{file}：第 {number:,} 个条目的 tag 哈希值与偏移量 {offset:,} 处的记录不符：两者之一已损坏",
    ),
    "witness not a file": (
        "{file} is not a segment: {found}. Look for the segment",
        "{file} 不是 commitlog 文件：{found}。请查找正确的文件",
    ),
    "witness a folder": ("it is a folder", "这是目录"),
    "witness no regular file": ("it is not a regular file, but a socket, a pipe or a device", "这不是普通文件，而是套接字、管道或设备"),
    "witness a dangling link": ("it is a link to what is not there", "这是失效的链接"),
    "witness an empty file": ("it is empty", "这是空文件"),
    "witness renamed": (
        "{file} is a segment that the log lacks, packed or under another name. Restore it: {command}",
        "{file} 是 commitlog 缺失的文件，已压缩（或打包）或改名。请还原：{command}",
    ),
    "witness cut": (
        (
            "{file} is a packed segment that the log lacks, and cannot be unpacked: it is cut, damaged or empty. Look "
            "for a whole copy of "
            "it. This writes what is left of it, if anything: {command}"
        ),
        (
            "{file} 是 commitlog 缺失的文件，已压缩，但无法解压：不完整、已损坏或为空。请查找完整的拷贝。以下命令可写出剩余的部分"
            "（如果有）：{command}"
        ),
    ),
    "witness queues gone": (
        (
            "{count:,} {count:queue|queues} of {topic} {count:is|are} gone ({queues}): {messages:,} "
            "{messages:message|messages} in the log "
            "{messages:is|are} in no queue, and a broker does not bring {messages:it|them} back"
        ),
        "topic {topic} 有 {count:,} 个队列不见了（{queues}）：commitlog 中有 {messages:,} 条消息不在任何队列中，broker 不会补上",
    ),
    "witness queues gone seen": (
        (
            "{count:,} {count:queue|queues} of {topic} {count:is|are} gone ({queues}): at least {messages:,} {messages:message|messages} "
            "in the log {messages:is|are} in no queue, and a broker does not bring {messages:it|them} back"
        ),
        "topic {topic} 有 {count:,} 个队列不见了（{queues}）：commitlog 中至少有 {messages:,} 条消息不在任何队列中，broker 不会补上",
    ),
    "witness queues gone consumed": (
        (
            "{count:,} {count:queue|queues} of {topic} {count:is|are} gone ({queues}), and groups have consumed there: "
            "the messages are in "
            "no queue, or lost"
        ),
        "topic {topic} 有 {count:,} 个队列不见了（{queues}），而消费组曾在那里消费：消息不在任何队列中，或已丢失",
    ),
    "witness foreign topics": (
        (
            "the topic settings are of another broker: {topics:,} {topics:topic|topics} with queues {topics:has|have} "
            "none ({names}), and "
            "the settings have others ({others})"
        ),
        "topic 配置属于另一个 broker：有队列的 {topics:,} 个 topic 没有配置（{names}），而配置中是其他 topic（{others}）",
    ),
    "witness no settings of topics": (
        "no topic with queues has settings: {names}. Restore topics.json from a copy",
        "所有有队列的 topic 都没有配置：{names}。请从备份恢复 topics.json",
    ),
    "witness offsets past": (
        (
            "consumer groups are past the end of {queues:,} {queues:queue|queues} ({names}): at least {messages:,} "
            "{messages:message|messages} of {queues:it|them} {messages:is|are} lost, or the offsets are of another broker"
        ),
        "消费位点超出 {queues:,} 个队列的末尾（{names}）：至少丢失 {messages:,} 条消息，或消费位点属于另一个 broker",
    ),
    "witness foreign index": (
        (
            "{file} is the index of another log, or damaged: the records that its first and last entry name, at offsets {offset:,} and "
            "{last:,}, have no such keys"
        ),
        "{file} 是另一个 commitlog 的索引，或已损坏：首末条目指向偏移量 {offset:,} 和 {last:,}，那里的记录没有这样的 key",
    ),
    "witness wrong index entry": (
        ("{file}: an entry names a record at offset {offset:,} with a key that no record there has: the file is damaged, or the record is"),
        "{file}：有条目指向偏移量 {offset:,}，但那里的记录没有这样的 key：文件或记录已损坏",
    ),
    "witness first gone": (
        (
            "the log begins at offset {offset:,}, and queues name at least {messages:,} {messages:message|messages} before it ({names}). "
            "They have not expired: the file before it ended {minutes:,} {minutes:minute|minutes} before the newest "
            "message, and a broker "
            "keeps files for {hours:,} hours unless its disk is almost full. They are lost, unless you find the removed file"
        ),
        (
            "commitlog 从偏移量 {offset:,} 开始，而队列中至少有 {messages:,} 条更早的消息（{names}）。这些消息并未过期：前一个文"
            "件结束于最新消息之前 {minutes:,} 分钟，而磁盘没有写满时，broker 保留文件 {hours:,} 小时。除非找回缺失的文件，这些消"
            "息已丢失"
        ),
    ),
    "witness far entries": (
        (
            "{queues:,} {queues:queue ends|queues end} with an entry that names a record far after the end of the log at offset "
            "{offset:,}: the entry is wrong, or all between was lost ({names})"
        ),
        "{queues:,} 个队列末尾的条目指向 commitlog 末尾（偏移量 {offset:,}）之后很远的位置：条目有误，或者中间的内容全部丢失（{names}）",
    ),
    "witness entries past": (
        (
            "at least {messages:,} {messages:message|messages} after the end of the log at offset {offset:,} {messages:is|are} lost: "
            "{queues:,} {queues:queue|queues} {queues:names|name} {messages:it|them} ({names})"
        ),
        "commitlog 末尾（偏移量 {offset:,}）之后至少丢失 {messages:,} 条消息：{queues:,} 个队列中有对应的条目（{names}）",
    ),
    "witness checkpoint past": (
        "the checkpoint names offset {checkpoint:,}, after the end of the log at {offset:,}: what was between is lost",
        "checkpoint 中的偏移量 {checkpoint:,} 超过了 commitlog 末尾 {offset:,}：中间的内容已丢失",
    ),
    # What a database holds
    "holds queues": ("consume queues", "消费队列"),
    "holds topics": ("topics", "topic"),
    "holds groups": ("groups", "消费组"),
    "holds offsets": ("consumer offsets", "消费位点"),
    "holds config": ("topics, groups and consumer offsets", "topic、消费组和消费位点"),
    "holds pop": ("messages that pop consumers hold", "POP 消费中的消息"),
    "holds trans": ("transactions", "事务"),
    "holds timer": ("timers", "定时消息"),
    "holds default": ("an index of keys", "key 索引"),
    "holds nothing": ("nothing", "空"),
    # The command
    "save first": (
        "copy or rescue this store before a broker starts on it",
        "用这个 store 启动 broker 之前，请先复制或抢救（rmqstore rescue）",
    ),
}
