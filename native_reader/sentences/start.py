"""Whether a broker may be started on a store, and what it would do to it."""

from __future__ import annotations

START = {
    # The question and its answer
    "start question": ("Is it safe to start a broker on {store}?", "可以在{store}上启动 broker 吗？"),
    "this store": ("this store", "此存储"),
    "the damaged store": ("the damaged store", "损坏的存储"),
    "start answered": ("{question} {answer}", "{question}{answer}"),
    "start no": ("no: {reason}", "不可以：{reason}"),
    "start better not": ("better not: {reason}", "最好不要：{reason}"),
    "start but": ("yes, but {reason}", "可以，但{reason}"),
    "start yes": ("yes", "可以"),
    "start unknown": ("unknown: {reason}", "无法判断：{reason}"),
    "start and": ("{first}; {second}", "{first}；{second}"),
    "start for": ("{reason} ({lines})", "{reason}（{lines}）"),
    "start unread": (
        "the log before offset {offset:,} was not read, as a broker does not check it when it starts: rmqstore verify does",
        "偏移量 {offset:,} 之前的日志未读取（broker 启动时也不检查）：rmqstore verify 会检查",
    ),
    # Its reasons
    "start runs": ("a broker on this host runs on it", "本机已有 broker 正在使用它"),
    "start segment size": (
        "{file} has {size:,} bytes, others {usual:,}: a broker refuses to load the log",
        "{file} 大小为 {size:,} 字节，其他文件为 {usual:,}：broker 拒绝加载 commitlog",
    ),
    "start foreign file": (
        "{file} in the commitlog directory is not a segment: a broker refuses to load the log. Move it away",
        "commitlog 目录中的 {file} 不是 commitlog 文件：broker 拒绝加载。请将其移走",
    ),
    "start not opened": ("{file} cannot be opened: {found}", "{file} 无法打开：{found}"),
    "start queue size": (
        "{file} of queue {queue} of {topic} has {size:,} bytes, others {usual:,}: a broker refuses to load the queues",
        "{topic} 队列 {queue} 的 {file} 大小为 {size:,} 字节，其他文件为 {usual:,}：broker 拒绝加载 consumequeue",
    ),
    "start foreign queue file": (
        "{file} in queue {queue} of {topic} is not a queue file: a broker refuses to load the queues. Move it away",
        "{topic} 队列 {queue} 目录中的 {file} 不是 consumequeue 文件：broker 拒绝加载。请将其移走",
    ),
    "start queue type": (
        "{topic} has {type} queues, which its settings contradict, as on some slaves: a broker refuses to load them",
        "{topic} 的队列类型（{type}）与其配置不符，某些从节点会这样：broker 拒绝加载",
    ),
    "start settings": (
        "neither {file} nor its .bak can be parsed: a broker refuses to load them",
        "{file} 及其 .bak 都无法解析：broker 拒绝加载",
    ),
    "start cut": (
        "it would truncate the log at offset {offset:,} and delete {messages:,} {messages:message|messages} after it ({size})",
        "它会在偏移量 {offset:,} 处截断 commitlog，删除其后的 {messages:,} 条消息（{size}）",
    ),
    "start no log": (
        "the log has no record: it would delete the entries of all consume queues",
        "日志中没有记录：它会删除所有消费队列中的条目",
    ),
    "start not queued": (
        (
            "without queues, it would make them again only from offset {offset:,} on: consumers would not get {messages:,} "
            "{messages:message|messages} before it"
        ),
        "没有 consumequeue，它只会从偏移量 {offset:,} 起重建：消费者收不到之前的 {messages:,} 条消息",
    ),
    "start kept damage": (
        (
            "it would keep {ranges:,} damaged {ranges:range|ranges} ({size}): consumers that read past {ranges:it|them} lose the "
            "messages that follow in the same answer without an error, get one that was never sent, or run out of memory"
        ),
        (
            "它会保留 {ranges:,} 处损坏（{size}）：消费者拉取到此处时，同一批中后面的消息会丢失且没有报错，"
            "或者得到从未发送过的消息，或者内存溢出"
        ),
    ),
    "start wrong bodies": (
        "it would serve {messages:,} {messages:message|messages} with a wrong checksum as if {messages:it|they} were whole",
        "它会把 {messages:,} 条校验和错误的消息当作完好的消息投递",
    ),
    "start hole": (
        "files of the log are missing ({ranges:,} {ranges:range|ranges}, {size}): it would go on without them",
        "commitlog 缺少文件（{ranges:,} 处，{size}）：它会跳过继续运行",
    ),
    "start expired": (
        (
            "at its next cleaning (deleteWhen, 04:00 by default), it deletes {segments:,} {segments:segment|segments} ({size}) "
            "with messages older than {hours:,} hours (fileReservedTime), unless the files were modified later"
        ),
        (
            "下一次清理时（deleteWhen，默认 04:00），它会删除 {segments:,} 个消息早于 {hours:,} 小时（fileReservedTime）的 "
            "commitlog 文件（{size}），除非文件的修改时间较新"
        ),
    ),
    "start no topics": ("it would not know any topic: there are no topic settings", "没有 topic 配置：它不认识任何 topic"),
    "start lost settings": (
        "{file} cannot be used and has no .bak: it would start without these settings",
        "{file} 无法使用，也没有 .bak：它会在没有这些配置的情况下启动",
    ),
    "start old settings": ("{file} cannot be used: it would take its .bak, which is older", "{file} 无法使用：它会采用较旧的 .bak"),
    "start queued again": ("there are no queues: it would make them again from the log", "没有 consumequeue：它会根据 commitlog 重建"),
    "start dledger": ("what a broker with DLedger does on such a store was not tested", "DLedger broker 在此类存储上的行为未经测试"),
    "start not read": (
        "a broker would check {size} of the log, from offset {offset:,} on: too much for this command. rmqstore verify reads them",
        "broker 会从偏移量 {offset:,} 起检查 {size}的 commitlog：对此命令来说太多。请用 rmqstore verify 检查",
    ),
}
