"""What the page of a repair or an extract says, in Chinese. Code is between backticks."""

from __future__ import annotations

from rmqstore.chinese.findings import CODES
from rmqstore.chinese.found import CHINESE as FOUND
from rmqstore.chinese.start import CHINESE as START

CHINESE = {
    **START,
    **FOUND,
    # Results
    "repair": "修复报告",
    "extract": "提取报告",
    "damaged store": "损坏的存储（只读取，未改动）：`{uri}`。",
    "store": "原存储（只读取，未改动）：`{uri}`。",
    "only planned": "这是计划，没有写入任何内容。",
    "new store here": "新的存储就在本页所在的目录中。",
    "result survived": "保留：",
    "survived": "{messages:,} 条消息，每条的位置、队列位点和各种 ID 都不变。",
    "result start": "可以在损坏的存储上启动 broker 吗？",
    "result topics": "Topic：",
    "result copied": "已复制：",
    "copied": "{messages:,} 条消息，每条的队列位点、tag、key 和唯一 ID 都不变。",
    "result different": "不同之处：",
    "different": (
        "每条消息在日志中的位置变了，broker 由位置生成的 ID（offsetMsgId）也随之改变：用旧 ID 查不到消息，或查到另一条消息。"
        "已提交的事务消息中记录的半消息位置仍是旧的，消费者不使用它。"
    ),
    "result lost": "丢失：",
    "lost": "{messages:,} 条消息。每条原来的位置都有一条占位消息，因此其他消息的位点不变。",
    "nothing lost": "未发现任何丢失。",
    "result doubtful": "缺少属性：",
    "doubtful kept": "{messages:,} 条消息，已保留：tag 和 key 已丢失。",
    "doubtful lost": "{messages:,} 条消息，按丢失处理：tag 和 key 已丢失。`rmqstore rescue` 会保存它们，`--keep-doubtful` 会保留它们。",
    "result corrected": "校验和已改写：",
    "corrected": "{messages:,} 条消息，已保留。消费者收到的消息体与发送时不同。所在偏移量：{offsets}。",
    "result filled": "填补：",
    "filled": "日志中的 {size}。",
    "filled and made": "日志中的 {size}，其中重建或补全了 {segments:,} 个段文件。",
    "result left out": "未恢复：",
    "left out": "topic 或队列已被删除的消息。它们在日志中，但不在任何队列中：{topics}。",
    "topic with count": "{topic} {count:,}",
    "result keys": "Key：",
    "no index": "没有生成索引，因为没有文件说明索引文件的大小，因此无法按 key 查到旧消息。如需索引，修复时请指定 broker 的配置文件。",
    "result size": "大小：",
    "of data": "数据 {data}，文件共 {size}。",
    # Tables
    "title lost": "丢失的消息（按队列）",
    "title made": "日志中重建的部分",
    "title missed": "各消费组收不到的消息",
    "title copied": "原样复制的内容",
    "title seen": "消费者在丢失消息的位置看到什么",
    "title next": "允许客户端连接之前",
    "column topic": "topic",
    "column queue": "队列",
    "column lost": "丢失数",
    "column offsets": "队列位点",
    "column from": "起始偏移量",
    "column to": "结束偏移量",
    "column bytes": "字节数",
    "column group": "消费组",
    "column committed": "继续消费的位点",
    "column missed": "其后丢失的消息数",
    "none": "无。",
    "lost ends": "{topic} 中有丢失：broker 可能就已结束的事务再次询问生产者，并将其再次投递。",
    "no group": "无：每个消费组从原位点继续，其后没有丢失的消息。",
    "no offsets": (
        "这些队列中没有消费组的位点，或者位点文件已丢失。broker 会把每个消费组当作新的消费组："
        "它可能跳过尚未消费的消息，也可能从头重新消费。"
        "放客户端进来之前，先在备份中查找 `consumerOffset.json`。"
    ),
    "no warning": "没有需要警告的文件。",
    "copied with": "`{code}`：{found}",
    **{f"found {code}": f"{each.meaning}（{{message}}）" for code, each in CODES.items()},
    "one offset": "{first:,}",
    "offsets to": "{first:,} 至 {last:,}",
    "more ranges": "{first}，另有 {count:,} 个区间",
    "more offsets": "{first}，另有 {count:,} 个",
    "commas": "{first}、{second}",
    # What to do
    "seen by new": "5.x 客户端（push 或 pull）：什么也看不到。任何版本中按 tag 订阅的客户端也一样。",
    "seen by old": "用 `*` 订阅的 4.x 客户端，以及 pop 消费者：收到一条空消息，其 tag 为 `RMQSTORE_LOST`。请让它们跳过该 tag。",
    "seen again": "所有客户端：每丢失一条消息，就再次收到该队列的下一条消息。",
    "seen last": (
        "在队列最后一条消息之后：用 `*` 订阅的 4.x 客户端和 pop 消费者收到一条 tag 为 `RMQSTORE_LOST` 的空消息，其他客户端什么也看不到。"
    ),
    "seen by check": "`rmqstore verify` 会发现这些条目（`entry-number`、`entry-twice`）。如需换回占位消息，请再次修复本存储。",
    "step copy of repair": (
        "在本存储的副本（`cp -a`）上启动一个 broker，使用原来的配置，但把 `storePathRootDir` 设为副本，换一个 `listenPort`，"
        "并把 `namesrvAddr` 设为单独为它启动的 name server：客户端和从节点都找不到它。"
    ),
    "step copy of single": (
        "在本存储的副本上启动一个 broker，使用原来的配置，但设置 `enableControllerMode=false`，"
        "单独运行：没有 controller，没有从节点，没有客户端。把 `storePathRootDir` 设为副本，"
        "换一个 `listenPort`，把 `namesrvAddr` 设为单独为它启动的 name server。"
    ),
    "step copy of extract": (
        "在本存储的副本上单独启动一个 broker，文件大小的配置与原来相同：`mappedFileSizeCommitLog`、"
        "`mappedFileSizeConsumeQueue`、`maxHashSlotNum`、`maxIndexNum`。"
    ),
    "step old": (
        "各段文件的修改时间不变，broker 会在 `deleteWhen`（默认 04:00）删除早于 `fileReservedTime`（默认 72 小时）的文件："
        "如果消费者还需要其中的消息，请先调大该值。"
    ),
    "step look": "查看其 `store.log` 中有无错误，并将 `mqadmin topicStatus -t TOPIC` 的输出与 `rmqstore tables NEW queues` 对照。",
    "step go on": "然后在本存储上启动 broker，先放行消费者，再放行生产者。",
    "step keep": "在此之前请保留损坏的存储。从节点会从头复制新的存储：请先清空它们的目录。",
}
