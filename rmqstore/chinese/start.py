"""Whether a broker may be started, in Chinese."""

from __future__ import annotations

CHINESE = {
    # The answer
    "start no": "不可以：{reason}",
    "start better not": "最好不要：{reason}",
    "start but": "可以，但{reason}",
    "start yes": "可以",
    "start unknown": "无法判断：{reason}",
    "start and": "{first}；{second}",
    "start for": "{reason}（{lines}）",
    "start unread": "偏移量 {offset:,} 之前的日志未读取（broker 启动时也不检查）：rmqstore verify 会检查",
    # Its reasons
    "start runs": "本机已有 broker 正在使用它",
    "start segment size": "{file} 大小为 {size:,} 字节，其他文件为 {usual:,}：broker 拒绝加载 commitlog",
    "start foreign file": "commitlog 目录中的 {file} 不是 commitlog 文件：broker 拒绝加载。请将其移走",
    "start not opened": "{file} 无法打开：{found}",
    "start queue size": "{topic} 队列 {queue} 的 {file} 大小为 {size:,} 字节，其他文件为 {usual:,}：broker 拒绝加载 consumequeue",
    "start foreign queue file": "{topic} 队列 {queue} 目录中的 {file} 不是 consumequeue 文件：broker 拒绝加载。请将其移走",
    "start queue type": "{topic} 的队列类型（{type}）与其配置不符，某些从节点会这样：broker 拒绝加载",
    "start settings": "{file} 及其 .bak 都无法解析：broker 拒绝加载",
    "start cut": "它会在偏移量 {offset:,} 处截断 commitlog，删除其后的 {messages:,} 条消息（{size}）",
    "start no log": "日志中没有记录：它会删除所有消费队列中的条目",
    "start not queued": "没有 consumequeue，它只会从偏移量 {offset:,} 起重建：消费者收不到之前的 {messages:,} 条消息",
    "start kept damage": "它会保留 {ranges:,} 处损坏（{size}）：消费者拉取到此处时，同一批中后面的消息会丢失且没有报错，"
    "或者得到从未发送过的消息，或者内存溢出",
    "start wrong bodies": "它会把 {messages:,} 条校验和错误的消息当作完好的消息投递",
    "start hole": "commitlog 缺少文件（{ranges:,} 处，{size}）：它会跳过继续运行",
    "start expired": (
        "下一次清理时（deleteWhen，默认 04:00），"
        "它会删除 {segments:,} 个消息早于 {hours:,} 小时（fileReservedTime）的 commitlog 文件（{size}），除非文件的修改时间较新"
    ),
    "start no topics": "没有 topic 配置：它不认识任何 topic",
    "start lost settings": "{file} 无法使用，也没有 .bak：它会在没有这些配置的情况下启动",
    "start old settings": "{file} 无法使用：它会采用较旧的 .bak",
    "start queued again": "没有 consumequeue：它会根据 commitlog 重建",
    "start dledger": "DLedger broker 在此类存储上的行为未经测试",
    "start not read": "broker 会从偏移量 {offset:,} 起检查 {size}的 commitlog：对此命令来说太多。请用 rmqstore verify 检查",
}
"""By kind."""
