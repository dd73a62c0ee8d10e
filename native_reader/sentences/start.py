"""Whether a broker may be started on a store, and what it would do to it."""

from __future__ import annotations

START = {
    # The question and its answer
    "start question": ("Is it safe to start a broker on {store}?", "可以用{store} 启动 broker 吗？"),
    "this store": ("this store", "这个 store"),
    "the damaged store": ("the damaged store", "损坏的 store"),
    "start answered": ("{question} {answer}", "{question}{answer}"),
    "start no": ("no: {reason}", "不可以：{reason}"),
    "start better not": ("better not: {reason}", "最好不要：{reason}"),
    "start but": ("yes, but {reason}", "可以，但{reason}"),
    "start yes": ("yes", "可以"),
    "start unknown": ("unknown: {reason}", "无法判断：{reason}"),
    "start and": ("{first}; {second}", "{first}；{second}"),
    "start for": ("{reason} ({lines})", "{reason}（{lines}）"),
    "start so far": ("nothing speaks against it, as far as was read ({share} %)", "就已读取的部分（{share}%）而言，没有发现问题"),
    "start unread": (
        "{share} % of the log was read: what is before offset {offset:,} a broker does not check when it starts. rmqstore verify reads it",
        "只读取了 {share}% 的 commitlog：偏移量 {offset:,} 之前的部分，broker 启动时不检查。rmqstore verify 会读取",
    ),
    # Its reasons
    "start runs": ("a broker on this host runs on it", "本机已有 broker 正在使用"),
    "start segment size": (
        "{file} has {size:,} bytes, others {usual:,}: a broker refuses to load the log",
        "{file} 大小为 {size:,} 字节，其他文件为 {usual:,}：broker 拒绝加载 commitlog",
    ),
    "start foreign file": (
        "{file} in the commitlog directory is not a segment: a broker refuses to load the log. Keep it elsewhere",
        "commitlog 目录中的 {file} 不是 commitlog 文件：broker 拒绝加载。请将其存到别处",
    ),
    "start renamed file": (
        "{file} is a segment that is packed or has another name: a broker refuses to load the log. Restore it: {command}",
        "{file} 是压缩（或打包）的、改过名的 commitlog 文件：broker 拒绝加载。请还原：{command}",
    ),
    "start waits": (
        "it does not finish its start: it puts messages into queues that lack them first, and waits for ever at offset {offset:,}, which "
        "no file of the log has",
        "启动无法完成：启动时先补上队列缺少的条目，而 commitlog 中没有文件包含偏移量 {offset:,}，broker 会一直等在那里",
    ),
    "start not opened": ("{file} cannot be opened: {found}", "{file} 无法打开：{found}"),
    "start queue size": (
        "{file} of queue {queue} of {topic} has {size:,} bytes, others {usual:,}: a broker refuses to load the queues",
        "{topic} 队列 {queue} 的 {file} 大小为 {size:,} 字节，其他文件为 {usual:,}：broker 拒绝加载 consumequeue",
    ),
    "start cut file": (
        "{file} is a packed segment that cannot be unpacked: a broker refuses to load the log. Look for a whole copy of it",
        "{file} 是压缩的 commitlog 文件，但无法解压：broker 拒绝加载。请查找完整的拷贝",
    ),
    "start foreign queue file": (
        "{file} in queue {queue} of {topic} is not a queue file: a broker refuses to load the queues. Move it away",
        "{topic} 队列 {queue} 目录中的 {file} 不是 consumequeue 文件：broker 拒绝加载。请将其移走",
    ),
    "start queue type": (
        "{topic} has {type} queues, which its settings contradict, as on some slaves: a broker refuses to load them",
        "topic {topic} 的队列类型（{type}）与配置不符，某些从节点会这样：broker 拒绝加载",
    ),
    "start folder": (
        "{file} is a folder: a broker cannot open it as a file, and does not start. Move it away",
        "{file} 是目录：broker 无法当作文件打开，起不来。请移走这个目录",
    ),
    "start index folder": (
        "the folder index/{file} has a number as its name: a broker takes it for an index file, and does not start. Move it away",
        "目录 index/{file} 的名称是数字：broker 会视为索引文件，起不来。请移走这个目录",
    ),
    "start timer wheel": (
        "{file} has {size:,} bytes, and a broker expects {usual:,}: it does not start. Without the file, it makes a new one",
        "{file} 大小为 {size:,} 字节，broker 要求 {usual:,} 字节：起不来。没有这个文件时，broker 会新建",
    ),
    "start timer log size": (
        "{file} in timerlog has {size:,} bytes, not {usual:,}: a broker refuses to load the timer log",
        "timerlog 中的 {file} 大小为 {size:,} 字节，而不是 {usual:,}：broker 拒绝加载 timerlog",
    ),
    "start timer log cut": (
        "{file} in timerlog has {size:,} bytes, which is not the size that it had: a broker refuses to load the timer log",
        "timerlog 中的 {file} 大小为 {size:,} 字节，与原来的大小不同：broker 拒绝加载 timerlog",
    ),
    "start foreign timer log": (
        "{file} in timerlog is not a file of the timer log: a broker refuses to load it. Move it away",
        "timerlog 中的 {file} 不是 timerlog 文件：broker 拒绝加载。请将其移走",
    ),
    "start no array": (
        "what is at offset {offset:,} claims to be a record larger than any array in Java: a broker ends there with an OutOfMemoryError",
        "偏移量 {offset:,} 处的大小超过 Java 数组的上限：broker 读到这里会因 OutOfMemoryError 退出",
    ),
    "start large array": (
        "what is at offset {offset:,} claims to be a record of {size}: with less memory than that, a broker ends with an OutOfMemoryError",
        "偏移量 {offset:,} 处自称是一条 {size} 的记录：内存不足时，broker 会因 OutOfMemoryError 退出",
    ),
    "start left out segment size": (
        "it takes {files:,} {files:segment|segments} for not there, from {file} on: one before {files:it|them} has another size",
        "从 {file} 起的 {files:,} 个 commitlog 文件会视为不存在：其中或之前有大小不同的文件",
    ),
    "start left out queue size": (
        (
            "it takes {files:,} {files:file|files} of queue {queue} of {topic} for not there, from {file} on: one before "
            "{files:it|them} has another size"
        ),
        "topic {topic} 队列 {queue} 中，从 {file} 起的 {files:,} 个文件会视为不存在：其中或之前有大小不同的文件",
    ),
    "start lost topics": (
        ("{file} cannot be used and has no .bak: no consumer gets a message until each topic is made again, with as many queues as it had"),
        "{file} 无法使用，也没有 .bak：在按原有队列数重新创建各 topic 之前，消费者收不到任何消息",
    ),
    "start light settings": (
        "neither {file} nor its .bak can be parsed: with enableLmq=true, a broker does not start",
        "{file} 和 .bak 都无法解析：如果 enableLmq=true，broker 起不来",
    ),
    "start unused database": (
        "{file} cannot be opened by RocksDB: a broker whose settings use it (transactions, timers or index in RocksDB) does not start",
        "RocksDB 无法打开 {file}：如果 broker 的配置用到这个数据库（RocksDB 中的事务、定时消息或索引），则起不来",
    ),
    "start settings": (
        "neither {file} nor its .bak can be parsed: a broker refuses to load them",
        "{file} 和 .bak 都无法解析：broker 拒绝加载",
    ),
    "start cut": (
        "it would truncate the log at offset {offset:,} and delete {messages:,} {messages:message|messages} after it ({size})",
        "启动时会在偏移量 {offset:,} 处截断 commitlog，并删除其后的 {messages:,} 条消息（{size}）",
    ),
    "start no log": (
        "the log has no record: it would delete the entries of all consume queues",
        "commitlog 中没有记录：启动时会删除所有消费队列中的条目",
    ),
    "start not queued": (
        (
            "without queues, it would make them again only from offset {offset:,} on: consumers would not get {messages:,} "
            "{messages:message|messages} before it"
        ),
        "没有 consumequeue，启动时只从偏移量 {offset:,} 起重建：之前的 {messages:,} 条消息消费不到",
    ),
    "start never queued": (
        (
            "without queues, these versions make none again after a clean stop: consumers would get none of the {messages:,} "
            "{messages:message|messages}, and new ones would take {messages:its queue offset|their queue offsets}"
        ),
        "正常停止后没有 consumequeue 时，这些版本不会重建：{messages:,} 条消息消费不到，新消息会占用原来的队列位点",
    ),
    "start unreached": (
        (
            "consumers would not get {messages:,} {messages:message|messages} of {queues:,} {queues:queue|queues} that {messages:is|are} "
            "whole in the log: most of {messages:it|them} of queue {queue} of {topic}"
        ),
        "{queues:,} 个队列中有 {messages:,} 条消息在 commitlog 中完好，但消费不到：最多的是 topic {topic} 的队列 {queue}",
    ),
    "start moved": (
        "it would put {messages:,} {messages:message|messages} at other queue offsets than {messages:its own|their own}",
        "启动后会有 {messages:,} 条消息的队列位点与原来不同",
    ),
    "start second fewer": (
        (
            "after its next stop and start, consumers would get {messages:,} {messages:message|messages} fewer than "
            "after this start, and "
            "the log would end at offset {offset:,}"
        ),
        "再次停止并启动后，能正常消费的消息会比这次启动后少 {messages:,} 条，commitlog 末尾为偏移量 {offset:,}",
    ),
    "start second more": (
        "after its next stop and start, consumers would get {messages:,} {messages:message|messages} more than after this start",
        "再次停止并启动后，能正常消费的消息会比这次启动后多 {messages:,} 条",
    ),
    "start reused": (
        (
            "new messages would get {messages:,} queue {messages:offset|offsets} that messages in the log have, from {offset:,} on in "
            "queue {queue} of {topic}: groups that are past {messages:it|them} would skip the new ones"
        ),
        "新消息会占用 commitlog 中已有消息的 {messages:,} 个队列位点，如 topic {topic} 队列 {queue} 从 {offset:,} 起：消费组"
        "会跳过原来的消息",
    ),
    "start kept damage": (
        (
            "it would keep {ranges:,} damaged {ranges:range|ranges} ({size}): consumers that read past {ranges:it|them} lose the "
            "messages that follow in the same answer without an error, get one that was never sent, or run out of memory"
        ),
        (
            "会留下 {ranges:,} 处损坏（{size}）：消费者拉取到这里时，可能丢失同一批后面的消息（不报错），可能收到从未发送过的消息"
            "，也可能内存溢出"
        ),
    ),
    "start wrong bodies": (
        "it would serve {messages:,} {messages:message|messages} with a wrong checksum as if {messages:it|they} were whole",
        "有 {messages:,} 条消息 CRC 校验失败，仍会照常投递给消费者",
    ),
    "start hole": (
        "files of the log are missing ({ranges:,} {ranges:range|ranges}, {size}): it would go on without them",
        "commitlog 缺了 {ranges:,} 段（{size}）：broker 仍会启动，带着空缺运行",
    ),
    "start misnamed": (
        "{count:,} {count:segment has|segments have} a wrong name: consumers would get none of {count:its|their} messages, or others",
        "{count:,} 个 commitlog 文件的文件名有误：其中的消息消费不到，或收到的是其他消息",
    ),
    "start foreign segments": (
        "{count:,} {count:segment is|segments are} of another broker: what was there is lost, and consumers would stop there",
        "{count:,} 个 commitlog 文件属于另一个 broker：原有的消息已丢失，消费者会卡在那里",
    ),
    "start not files": (
        "{count:,} {count:segment is|segments are} not there as a file under {count:its|their} name: it would go on without the messages",
        "{count:,} 个 commitlog 文件缺失或改名：broker 仍会启动，没有其中的消息",
    ),
    "start first gone": (
        "the beginning of the log is missing, and it has not expired ({count:,} {count:message|messages} or more): look for the file first",
        "commitlog 开头的文件缺失，且并未过期（至少 {count:,} 条消息）：请先查找缺失的文件",
    ),
    "start past end": (
        "the end of the log is missing ({count:,} {count:message|messages} or more): it would delete what still names {count:it|them}",
        "commitlog 末尾缺失（至少 {count:,} 条消息）：启动时会删除指向这些消息的条目",
    ),
    "start far entries": (
        "{count:,} {count:queue ends|queues end} with an entry far after the end of the log: it would remove {count:it|them}",
        "{count:,} 个队列末尾的条目指向 commitlog 末尾之后很远的位置：启动时会删除这些条目",
    ),
    "start unlisted": (
        "queues are gone ({count:,} {count:message|messages} or more): consumers would not get {count:it|them}, and it makes none again",
        "有队列不见了（至少 {count:,} 条消息）：这些消息消费不到，broker 也不会补上",
    ),
    "start foreign queues": (
        (
            "{count:,} {count:file|files} of queues {count:names|name} records of other queues: consumers would get messages of another "
            "queue, or none"
        ),
        "{count:,} 个队列文件指向其他队列的记录：消费者会收到其他队列的消息，或收不到消息",
    ),
    "start no record": (
        (
            "{count:,} {count:file|files} of log or queues {count:names|name} no record where one was: messages are lost, or consumers "
            "would stop there"
        ),
        "{count:,} 个 commitlog 或队列文件指向的位置没有记录：消息已丢失，或消费者会卡在那里",
    ),
    "start foreign topics": (
        "{count:,} {count:topic|topics} with messages {count:has|have} no settings: it would refuse their consumers and producers",
        "有消息的 {count:,} 个 topic 没有配置：broker 会拒绝这些 topic 的消费者和生产者",
    ),
    "start other tags": (
        "{count:,} {count:queue file contradicts|queue files contradict} tags of records: consumers that filter by tag may miss messages",
        "{count:,} 个队列文件与消息的 tag 不符：按 tag 订阅的消费者可能收不到消息",
    ),
    "start offsets past": (
        "consumer groups are past the end of {count:,} {count:queue|queues}: it would set them back, or they skip what is sent next",
        "消费位点超出 {count:,} 个队列的末尾：broker 会重置消费位点，或跳过之后发送的消息",
    ),
    "start foreign index": (
        "{count:,} {count:index file contradicts|index files contradict} the log: it would not find some messages by their keys",
        "{count:,} 个索引文件与 commitlog 不符：有些消息按 key 查不到",
    ),
    "start no offsets": (
        "consumerOffset.json is missing: consumers would begin where they are set to begin without a position",
        "缺少 consumerOffset.json：消费者会按没有位点时的设置开始消费",
    ),
    "start no groups": (
        "subscriptionGroup.json is missing: it would make groups again with default settings, or refuse them",
        "缺少 subscriptionGroup.json：broker 会按默认配置重新创建消费组，或拒绝消费组",
    ),
    "start no delays": (
        "delayOffset.json is missing: it would deliver delayed messages again that are still in the log",
        "缺少 delayOffset.json：broker 会再次投递 commitlog 中还有的延时消息",
    ),
    "start expired": (
        (
            "at its next cleaning (deleteWhen, 04:00 by default), it deletes {segments:,} {segments:segment|segments} ({size}) "
            "with messages older than {hours:,} hours (fileReservedTime), unless the files were modified later"
        ),
        (
            "下一次清理时（deleteWhen，默认 04:00），会删除 {segments:,} 个 commitlog 文件（{size}）：其中的消息早于 {hours:,} 小"
            "时（fileReservedTime）。文件的修改时间较新时不删除"
        ),
    ),
    "start controller": (
        "with a controller, this is for a broker that becomes the master. One that becomes a slave cuts its log where the master's one "
        "differs: compare both with rmqstore diff first",
        "Controller 模式下，这里的回答针对成为主节点的 broker。成为从节点的 broker 会从与主节点不同的地方截断自己的 commitlog"
        "：请先用 rmqstore diff 比较两者",
    ),
    "start no topics": ("it would not know any topic: there are no topic settings", "没有 topic 配置：启动后没有任何 topic"),
    "start lost settings": (
        "{file} cannot be used and has no .bak: it would start without what was in it",
        "{file} 无法使用，也没有 .bak：启动后没有这些配置",
    ),
    "start old settings": ("{file} cannot be used: it would take its .bak, which is older", "{file} 无法使用：启动时会改用较旧的 .bak"),
    "start queued again": ("there are no queues: it would make them again from the log", "没有 consumequeue：启动时会根据 commitlog 重建"),
    "start database": ("{file} cannot be opened by RocksDB", "RocksDB 无法打开 {file}"),
    "start database ends": (
        "{file} is damaged: it would go on without its newest topics, groups or offsets",
        "{file} 已损坏：broker 仍会启动，但没有最新的 topic、消费组或消费位点",
    ),
    "start database unknown": (
        "{file} was not read, because the library for RocksDB is not installed: pip install rmqstore-spark[rocksdb]",
        "未读取 {file}，因为未安装 RocksDB 库。请安装可选依赖：pip install rmqstore-spark[rocksdb]",
    ),
    "start database queues": (
        "consume queues in RocksDB lack entries, or have others than the log shows. A broker can add some of them, and this is not "
        "modelled: start one on a copy of the store, and then run rmqstore verify on the copy",
        "RocksDB 中的消费队列缺少条目，或条目与 commitlog 不符。broker 可能会补上一部分，本工具没有建模：请用 store 的拷贝启"
        "动一个 broker，再对拷贝运行 rmqstore verify",
    ),
    "start dledger file": (
        "a file is missing before {file}, or {file} does not have {size:,} bytes: DLedger does not load its log, and the process ends",
        "{file} 之前缺少文件，或文件大小不是 {size:,} 字节：DLedger 不加载 commitlog，进程退出",
    ),
    "start dledger exits": (
        (
            "DLedger would have to cut its log at offset {offset:,}, more than one file before the last, and ends the process instead: "
            "compare this peer with another one (rmqstore diff), and keep its files until then"
        ),
        (
            "DLedger 需要在偏移量 {offset:,} 处截断 commitlog，那里距最后一个文件超过一个文件，因此进程会退出：请先与另一个节点比"
            "较（rmqstore diff），在此之前保留这些文件"
        ),
    ),
    "start dledger peers": (
        "in a DLedger group, it gets from the leader what it cut off, if the leader has it: compare the peers first (rmqstore diff)",
        "在 DLedger 组中，leader 有截断的内容时，会从 leader 取回：请先比较各节点（rmqstore diff）",
    ),
    "start dledger index": (
        "it would write its DLedger index again from entry {number:,} on: the index there is missing, or differs from the log",
        "启动时会从第 {number:,} 个条目起重写 DLedger 索引：那里的索引缺失，或与 commitlog 不符",
    ),
    "start forbidden": (
        "this user may not open {file}: what a broker does with it is not known. Run this as the user that the broker runs as",
        "当前用户无权打开 {file}：无法得知 broker 会如何处理。请用运行 broker 的用户执行本命令",
    ),
    "start not given": (
        "{file} could not be read: what a broker does with it is not known. Try again, or read a copy",
        "{file} 无法读取：无法得知 broker 会如何处理。请重试，或读取一份拷贝",
    ),
    "start not read": (
        "a broker would check {size} of the log, from offset {offset:,} on: too much for this command. rmqstore verify reads them",
        "broker 会从偏移量 {offset:,} 起检查 commitlog（{size}）。数据量大，本命令不检查。请执行：rmqstore verify STORE",
    ),
}
