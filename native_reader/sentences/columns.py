"""What the columns of the tables mean, in Chinese: by the English text, which stands with each column."""

from __future__ import annotations

_PAIRS = (
    # messages
    (
        "the topic that stores the message. Half, delayed and retried messages are stored in the broker's own topics",
        "存储消息的 topic。半事务消息、延时消息和重试消息存在 broker 自己的 topic 中",
    ),
    ("the queue of that topic", "上述 topic 的队列"),
    (
        "the offset in that queue; 0 for prepared and rolled back messages of brokers 4.0 to 4.2, which are in no queue",
        "队列中的位点；4.0 至 4.2 的 broker 所写的 prepared 和 rollback 消息不在任何队列中，为 0",
    ),
    ("the property `TAGS`; null when absent", "消息属性 `TAGS`；没有时为 null"),
    ("the property `KEYS` split at spaces; null when absent", "消息属性 `KEYS`，按空格拆分；没有时为 null"),
    (
        "the id in the Java client: `uniq_key`, else `offset_msg_id`",
        "Java 客户端显示的消息 ID：有 `uniq_key` 时为 `uniq_key`，否则为 `offset_msg_id`",
    ),
    (
        "decompressed. Empty stays empty; null when it cannot be decompressed, or would be larger than `max_decompressed_bytes`",
        "解压后的消息体。空的仍为空；无法解压，或解压后超过 `max_decompressed_bytes` 时为 null",
    ),
    (
        "all properties; empty, never null, when there are none. The broker's own checksum is not included",
        "全部消息属性；没有时为空，不为 null。不含 broker 自己的校验和",
    ),
    (
        "when the producer created the message, by its clock, in milliseconds; null outside the years 1 to 9999",
        "生产者创建消息的时间，按生产者的时钟，单位毫秒；公元 1 至 9999 年之外为 null",
    ),
    (
        ("when the broker stored the message, by its clock, in milliseconds; null outside the years 1 to 9999. This clock can jump back"),
        "broker 存储消息的时间，按 broker 的时钟，单位毫秒；公元 1 至 9999 年之外为 null。时钟可能回跳",
    ),
    ("the kind of message, see [below](#kinds)", "消息类型，见 docs/columns.md"),
    (
        "the offset of the record in the log; in DLedger logs the offset after the entry's header",
        "记录在 commitlog 中的偏移量；DLedger 的 commitlog 中为条目头之后的偏移量",
    ),
    ("URI of the store's root", "store 根目录的 URI"),
    ("address and port of the producer", "生产者的地址和端口"),
    ("address and port of the broker that stored it", "存储消息的 broker 的地址和端口"),
    ("how often consumers retried it", "消费者重试的次数"),
    ("a number set by the producer; in an inner batch, that of the message", "生产者设置的数；内部批量消息中为其中这条消息的数"),
    ("as on disk, see [format.md](format.md#flags)", "与磁盘上的相同，见 docs/format.md"),
    ("physical offset of the half message of a committed message", "已提交消息的半事务消息的物理偏移量"),
    (
        "CRC-32 of the stored body, highest bit cleared; in an inner batch, of the record's whole body",
        "存储的消息体的 CRC-32，最高位清零；内部批量消息中为整条记录的消息体",
    ),
    (
        "size of the record in bytes; equal for all messages of an inner batch, so add it only where `inner_index` is null or 0",
        "记录的大小（字节）；同一内部批量消息中都相同，因此只在 `inner_index` 为 null 或 0 时累加",
    ),
    (
        "the property `UNIQ_KEY`: the id set by the producer, else by the broker; null when absent",
        "消息属性 `UNIQ_KEY`：由生产者设置的 ID，没有时由 broker 设置；都没有时为 null",
    ),
    (
        "the broker's id: store host and physical offset in hexadecimal; null in tiered storage",
        "broker 的消息 ID：存储地址和物理偏移量的十六进制；多级存储中为 null",
    ),
    ("the index in an inner batch, from 0; null outside an inner batch", "在内部批量消息中的序号，从 0 开始；不在其中时为 null"),
    ("the body as stored on disk; in an inner batch, the part of this message", "磁盘上存储的消息体；内部批量消息中为这条消息的部分"),
    ("size of `stored_body` in bytes", "`stored_body` 的大小（字节）"),
    ("-626843481 in V1 records, -626843477 in V2 records", "V1 记录为 -626843481，V2 记录为 -626843477"),
    (
        "the property `REAL_TOPIC`: the target topic of a half or delayed message. Delivered copies may keep it; null when absent",
        "消息属性 `REAL_TOPIC`：半事务消息或延时消息的目标 topic。投递后的消息可能仍有；没有时为 null",
    ),
    (
        "the property `__LITE_TOPIC` (5.5.0): the lite topic of a message. `topic` is its parent; null when absent",
        "消息属性 `__LITE_TOPIC`（5.5.0）：消息的 lite topic，`topic` 为上级 topic；没有时为 null",
    ),
    ("the property `DELAY`; null when absent or not a number", "消息属性 `DELAY`；没有或不是数时为 null"),
    (
        "in a retry or DLQ topic: the topic to which the message was sent at first; null elsewhere, or if it cannot be known",
        "重试 topic 或死信 topic 中：消息最初发送到的 topic；其他 topic 中，或无法判断时为 null",
    ),
    (
        (
            "in a retry or DLQ topic: the `offset_msg_id` of the message as sent at first, or its `uniq_key` if the consumer sent it "
            "back as a new message; null elsewhere, and in the retry topics of pop consumers. All copies have the same `uniq_key`"
        ),
        (
            "重试 topic 或死信 topic 中：最初发送的消息的 `offset_msg_id`；消费者作为新消息发回时为 `uniq_key`；其他 topic 以及 POP "
            "消费者的重试 topic 中为 null。各次重试的 `uniq_key` 相同"
        ),
    ),
    (
        "`body` as text; null where `body` is null or not valid UTF-8. For LIKE, RLIKE and JSON",
        "`body` 的文本；`body` 为 null 或不是有效的 UTF-8 时为 null。用于 LIKE、RLIKE 和 JSON",
    ),
    ("name of the commitlog file", "commitlog 文件的名称"),
    (
        (
            "whether the message is only in tiered storage ([tiered.md](tiered.md)): then `physical_offset` and `segment` are those "
            "of its queue's log there"
        ),
        "消息是否只在多级存储中（docs/tiered.md）：是则 `physical_offset` 和 `segment` 针对多级存储中队列的文件",
    ),
    (
        "mode `PERMISSIVE`: the first 64 KiB of a damaged range; null in a message ([recovery.md](recovery.md))",
        "`PERMISSIVE` 模式：损坏区间的前 64 KiB；正常消息为 null（docs/recovery.md）",
    ),
    (
        "mode `PERMISSIVE`: the reason of the damage; `checksum`, `body` or `properties` in a message with that fault, else null",
        "`PERMISSIVE` 模式：损坏的原因；消息有问题时为 `checksum`、`body` 或 `properties`，否则为 null",
    ),
    # damage
    ("URI of the commitlog file; null where a file is missing", "commitlog 文件的 URI；文件缺失时为 null"),
    ("the first offset of the range", "区间的起始偏移量（含）"),
    ("the first offset after it", "区间的结束偏移量（不含）"),
    ("the size of the range", "区间的大小"),
    ("one of the reasons below", "损坏的原因，见 docs/tables.md"),
    ("a description", "说明"),
    (
        "offset of the record directly before the range; null at the start of a segment",
        "紧接区间之前的记录的偏移量；在 commitlog 文件开头时为 null",
    ),
    ("offset of the record directly after the range; null if none follows in the file", "紧接区间之后的记录的偏移量；文件中没有时为 null"),
    # segments
    ("URI of the commitlog file; null where it is missing", "commitlog 文件的 URI；文件缺失时为 null"),
    ("the offset of its first byte, which is also its name", "第一个字节的偏移量，也是文件名"),
    ("bytes of the file", "文件的字节数"),
    (
        "`full`, `last` (the log ends in it), `ahead` (allocated, nothing written yet), `missing`",
        "`full`、`last`（commitlog 末尾在其中）、`ahead`（已预分配，尚未写入）、`missing`",
    ),
    ("the number of whole records", "完好记录数"),
    ("bytes of whole records", "完好记录的字节数"),
    ("bytes of the blank that closes it", "文件末尾填充的字节数"),
    ("damaged bytes", "损坏的字节数"),
    ("bytes at or after the end of the log", "commitlog 末尾及之后的字节数"),
    ("bytes of old records after the end of the log, which a broker discarded", "commitlog 末尾之后旧记录的字节数，broker 已丢弃"),
    ("bytes that could not be read because the file was deleted", "文件已删除，因此无法读取的字节数"),
    ("the number of damaged ranges", "损坏区间数"),
    ("the number of whole records with a wrong checksum", "完好但 CRC 校验失败的记录数"),
    ("when its first record was stored", "第一条记录的存储时间"),
    ("when its last record was stored", "最后一条记录的存储时间"),
    (
        "where the recovery of a broker up to 5.3.1 would stop and truncate the log; the lowest value counts",
        "5.3.1 及以下的 broker 恢复时停止并截断 commitlog 的位置；以最小值为准",
    ),
    # topics
    (
        "the topic; null in a row for the bytes that no queue lists, with the blanks after them",
        "topic；没有列入任何队列的字节及其后的填充，所在行为 null",
    ),
    ("the kind of its messages, if the topic determines it", "topic 中消息的类型，能由 topic 判断时"),
    ("whether the configuration has the topic; null if it cannot be read", "配置中是否有这个 topic；配置无法读取时为 null"),
    ("the number of queues that consumers read, as configured", "配置的读队列数"),
    ("the number of queues that producers write, as configured", "配置的写队列数"),
    ("the sum of 4 (consumers can read) and 2 (producers can write), as configured", "配置的权限：4（可消费）与 2（可发送）之和"),
    (
        "the attributes, as configured: `queue.type`, `cleanup.policy`, `message.type` and others",
        "配置的属性：`queue.type`、`cleanup.policy`、`message.type` 等",
    ),
    ("the number of its queues on disk", "磁盘上的队列数"),
    ("the number of its records in the log", "commitlog 中的记录数"),
    ("the number of messages in these records: more if some are inner batches", "这些记录中的消息数：有内部批量消息时多于记录数"),
    ("bytes of these records", "这些记录的字节数"),
    ("these bytes, divided by the bytes of all segments", "这些字节占全部 commitlog 文件的比例"),
    ("`queues`, or with `access=scan` `log`", "`queues`；`access=scan` 时为 `log`"),
    (
        "whether these counts are complete: the queues list every byte of the log, or the log has no damage",
        "计数是否完整：队列列出了 commitlog 的每个字节，或 commitlog 没有损坏",
    ),
    # queues
    ("the topic; of a light queue (LMQ), the name of the queue", "topic；轻量队列（LMQ）为队列名"),
    ("the number of the queue", "队列编号"),
    ("`simple`, `batch` (its entries name inner batches), or `LMQ`", "`simple`、`batch`（条目指向内部批量消息）或 `LMQ`"),
    (
        "the queue offset of its first message that has not expired; `max_offset` if there is none",
        "第一条未过期消息的队列位点；没有时为 `max_offset`",
    ),
    ("the next queue offset", "下一个队列位点"),
    (
        "the entries from the first to the last of these messages; one entry can name an inner batch",
        "其中从第一条到最后一条消息的条目数；一个条目可能指向一批消息",
    ),
    ("the entries between them that no file contains; not counted in RocksDB", "其中没有文件包含的条目数；RocksDB 中不计数"),
    ("the entries before them, whose records are no longer in the log", "之前的条目数，其记录已不在 commitlog 中"),
    ("the offset in the log of the first record; null if there is none", "第一条记录的物理偏移量；没有时为 null"),
    ("the offset in the log of the last record; null if there is none", "最后一条记录的物理偏移量；没有时为 null"),
    ("one of the states below; null if unknown", "队列状态，见 docs/tables.md；无法判断时为 null"),
    ("the number of its files; 0 in RocksDB", "文件数；RocksDB 中为 0"),
    ("bytes of its files, including those not written yet; 0 in RocksDB", "文件的字节数，包括尚未写入的部分；RocksDB 中为 0"),
    ("of the queue of a lite topic (5.5.0): the topic that its messages were sent to", "lite topic（5.5.0）的队列：消息发送到的 topic"),
    ("of such a queue: the lite topic", "lite topic 的队列：lite topic"),
    (
        "what is wrong with its files; null if nothing was found. The entries between the ends are not read",
        "文件的问题；未发现问题时为 null。首尾之间的条目未读取",
    ),
    (
        "what `found` says, without its words: its kind, numbers and names as JSON",
        "`found` 的内容，不含文字：类型、数值和名称，格式为 JSON",
    ),
    # queue_entries
    ("`simple`, `batch` or `LMQ`", "`simple`、`batch` 或 `LMQ`"),
    (
        "the place in the queue; of a batch entry, the queue offset of its first message. The record's own may differ in LMQ",
        "在队列中的位置；批量条目为第一条消息的队列位点。LMQ 中与记录自身的位点可能不同",
    ),
    ("the number of messages of a batch entry; otherwise 1", "批量条目的消息数；其他为 1"),
    ("the offset of the record in the log", "记录的物理偏移量"),
    ("the size of the record", "记录的大小"),
    (
        (
            "Java's hash of the tags, 0 without tags; in `SCHEDULE_TOPIC_XXXX` the time of delivery in milliseconds; below "
            "-2147483648 an address in `consumequeue_ext`"
        ),
        (
            "tag 的 Java 哈希值，没有 tag 时为 0；`SCHEDULE_TOPIC_XXXX` 中为投递时间（毫秒）；小于 -2147483648 时为 "
            "`consumequeue_ext` 中的地址"
        ),
    ),
    ("when the record was stored; only batch entries and those in RocksDB have it", "记录的存储时间；只有批量条目和 RocksDB 中的条目才有"),
    ("one of the values below. The record itself is not read", "取值见 docs/tables.md。记录本身未读取"),
    ("URI of the file; in RocksDB, of the database", "文件的 URI；在 RocksDB 中为数据库的 URI"),
    ("the position of the entry in the file; null in RocksDB", "条目在文件中的位置；RocksDB 中为 null"),
    # index_files
    ("URI of the file; its name is the broker's local time when it was created", "文件的 URI；文件名为创建时 broker 的本地时间"),
    ("the number of slots of the hash table; null if unknown", "哈希表的槽数；无法判断时为 null"),
    ("the number of slots in use; brokers up to 4.7.0 count the entries instead", "已用的槽数；4.7.0 及以下的 broker 记录的是条目数"),
    ("the number of entries", "条目数"),
    ("how many entries fit in the file; null if unknown", "文件可容纳的条目数；无法判断时为 null"),
    ("when the record of its first entry was stored", "第一个条目对应的记录的存储时间"),
    ("when the record of its last entry was stored", "最后一个条目对应的记录的存储时间"),
    ("the offset in the log of the first record", "第一条记录的物理偏移量"),
    ("the offset in the log of the last record", "最后一条记录的物理偏移量"),
    ("why a search cannot use the file; null if it can. The entries are not read", "不能用这个文件查找的原因；可用时为 null。条目未读取"),
    # index_entries
    ("URI of the file", "文件的 URI"),
    ("the number of the entry in the file, from 1", "条目在文件中的序号，从 1 开始"),
    ("Java's hash of `topic#key`, made non-negative", "`topic#key` 的 Java 哈希值，取非负"),
    ("the slot of that hash, where its chain begins", "哈希值对应的槽，链从这里开始"),
    (
        "when the record was stored, or up to a second before that; in entry 1, the time in the file's header",
        "记录的存储时间，或早于存储时间不超过一秒；条目 1 中为文件头的时间",
    ),
    ("the number of the next older entry in its chain; 0 if it is the oldest", "链中前一个（较旧的）条目的序号；最旧的条目为 0"),
    # consumer_offsets
    ("the consumer group", "消费组"),
    ("the topic; of a light queue (LMQ), its name", "topic；轻量队列（LMQ）为队列名"),
    ("the queue", "队列"),
    ("queue offset of the next message to consume", "下一条要消费的消息的队列位点"),
    (
        "queue offset of the next message that the queue will get; null if the queue has no files",
        "队列下一条新消息的队列位点；没有队列文件时为 null",
    ),
    ("`max - committed`; negative if the queue has lost its newest entries", "堆积量：`max - committed`；队列丢失了最新的条目时为负"),
    (
        "queue offset of the first message in the queue that has not expired; null if the queue has no files",
        "队列中第一条未过期消息的队列位点；没有队列文件时为 null",
    ),
    ("how many messages of the lag have expired: the group never gets them", "堆积中已过期的消息数：消费组再也收不到"),
    ("how many messages of the lag are in tiered storage, and no longer in the log", "堆积中在多级存储、已不在 commitlog 的消息数"),
    (
        "when the first message was stored that the group has not read and that is still in the log",
        "消费组未读且仍在 commitlog 中的第一条消息的存储时间",
    ),
    ("queue offset of the next message to deliver (5.0 and later)", "下一条要投递的消息的队列位点（5.0 及以上）"),
    (
        "whether each consumer of the group gets every message; `committed` is that of the slowest",
        "是否广播消费，即组内每个消费者都收到每条消息；`committed` 取最慢的消费者",
    ),
    ("URI of the file or database with this offset", "含有这个位点的文件或数据库的 URI"),
    # lag_by_tag
    (
        "the hash of the tag, from the queue; 0 without a tag; null if the queue does not have it",
        "队列中记录的 tag 哈希值；没有 tag 时为 0；队列中没有时为 null",
    ),
    (
        "the tag of the first such message; null without a tag, or if it cannot be read",
        "第一条这样的消息的 tag；没有 tag 或无法读取时为 null",
    ),
    ("the number of messages after the group's offset", "消费位点之后的消息数"),
    ("offset of the first one in the log", "第一条的物理偏移量"),
    # config
    ("`topic` or `group`", "`topic` 或 `group`"),
    ("the topic or consumer group", "topic 或消费组"),
    (
        "the broker's name of the setting; in objects with dots, as `attributes.queue.type`",
        "broker 的配置项名称；对象中用点分隔，例如 `attributes.queue.type`",
    ),
    (
        "its value as text; lists as JSON; null if the settings of that name are damaged",
        "配置项的值，文本形式；列表为 JSON；配置损坏时为 null",
    ),
    ("URI of the file or database with this setting", "含有这个配置项的文件或数据库的 URI"),
    # checkpoint
    ("store time of the last record flushed to the log", "commitlog 最后刷盘的记录的存储时间"),
    ("store time of the last record flushed to its consume queue", "消费队列最后刷盘的记录的存储时间"),
    ("store time of the last record in the last full index file", "最后一个写满的索引文件中，最后一条记录的存储时间"),
    ("offset up to which the master has flushed (5.0 and later)", "主节点已刷盘到的偏移量（5.0 及以上）"),
    ("offset up to which the slaves have confirmed (5.1.1 and later)", "从节点已确认到的偏移量（5.1.1 及以上）"),
    ("offset up to which consume queues were flushed (5.5.0 and later)", "消费队列已刷盘到的偏移量（5.5.0 及以上）"),
    # epochs
    ("its number: each election counts, so numbers are left out", "epoch 编号：每次选举都计数，因此会有空号"),
    ("the offset in the log at which it begins", "在 commitlog 中的起始偏移量"),
    (
        "the offset at which the next one begins; of the last one, where the log ends",
        "下一个 epoch 的起始偏移量；最后一个为 commitlog 末尾",
    ),
    ("store time of its first record; null if that is not in the log", "第一条记录的存储时间；不在 commitlog 中时为 null"),
    (
        (
            "`ok`; `empty`: nothing was written in it; `expired`: it begins before the log; `after log`: it begins after the end of "
            "the log; `no record`: no record begins there; `back`: it does not begin after the one before"
        ),
        (
            "`ok`；`empty`：没有写入；`expired`：早于 commitlog 开头；`after log`：晚于 commitlog 末尾；`no record`："
            "那里不是记录的开头；`back`：不晚于前一个"
        ),
    ),
    (
        "URI of the file with this epoch: a broker takes the `.bak` if the other one is damaged",
        "含有这个 epoch 的文件的 URI：另一个损坏时，broker 使用 `.bak`",
    ),
    # delay
    (
        "`pending`; `unknown`: it may have been delivered, because `delayOffset.json` is missing",
        "`pending`；`unknown`：可能已投递，因为缺少 `delayOffset.json`",
    ),
    ("the level, from 1", "延时级别，从 1 开始"),
    ("when it will be delivered; null if its consume queue entry is missing", "投递时间；缺少消费队列条目时为 null"),
    (
        "the topic that it will be delivered to; `%RETRY%` and a group for a message that is retried",
        "投递的目标 topic；重试消息为 `%RETRY%` 加消费组",
    ),
    ("the queue that it will be delivered to", "投递的目标队列"),
    ("its tags", "消息的 tag"),
    ("its keys", "消息的 key"),
    ("its id", "消息 ID"),
    ("when the producer created it", "生产者创建消息的时间"),
    ("when it was stored: since when it waits", "存储时间，从这时开始等待"),
    ("its offset in the queue of its level", "在所属级别的队列中的位点"),
    ("its offset in the log", "物理偏移量"),
    # timers
    (
        "`pending`; `recalled`: it will not be delivered; `unknown`: it may have been delivered",
        "`pending`；`recalled`：不会投递；`unknown`：可能已投递",
    ),
    ("when it will be delivered; null if the message does not have it", "投递时间；消息中没有时为 null"),
    ("the topic that it will be delivered to", "投递的目标 topic"),
    ("its `uniq_key`; null if it has none", "消息的 `uniq_key`；没有时为 null"),
    (
        "how often the broker stored it again because its delay is longer than a turn of the wheel",
        "因延时超过时间轮一圈，broker 重新存储的次数",
    ),
    ("when it was first stored in the timer topic, as far as the log goes back", "首次存入定时 topic 的时间，以 commitlog 现有内容为准"),
    ("when the request to recall it was first stored", "首次存储撤回请求的时间"),
    ("queue offset of the message in the timer topic, where it was stored last", "在定时 topic 中最近一次存储的队列位点"),
    ("offset of that message in the log", "对应消息的物理偏移量"),
    # pop
    ("the topic that the message was taken from, which can be a retry topic", "取走消息的 topic，可能是重试 topic"),
    ("queue offset of the message", "消息的队列位点"),
    (
        "whether the consumer acknowledged it, or asked for another time, which is another row",
        "消费者是否已确认，或要求改期（改期是另一行）",
    ),
    ("when it was taken: since when it is invisible", "取走的时间，从这时起不可见"),
    (
        "until when it is invisible; later, a broker puts it into the retry topic of the group",
        "不可见的截止时间；之后 broker 把消息放入消费组的重试 topic",
    ),
    ("when the acknowledgement was stored", "确认消息的存储时间"),
    (
        "offset of its checkpoint in the log; null for a message of the database `kvStore`",
        "checkpoint 的物理偏移量；数据库 `kvStore` 中的消息为 null",
    ),
    # transactions
    ("the `uniq_key` of its messages; null if they have none", "事务消息的 `uniq_key`；没有时为 null"),
    (
        "`committed`, `rolled_back`, `finished`, `discarded`, `undecided` or `unknown`",
        "`committed`、`rolled_back`、`finished`、`discarded`、`undecided` 或 `unknown`",
    ),
    ("the topic that the message is for", "消息的目标 topic"),
    ("the queue that it is for", "消息的目标队列"),
    ("the producers that can decide it", "可决定事务的生产者组"),
    ("address and port of the producer that sent it", "发送消息的生产者的地址和端口"),
    (
        "when its first half message in the log was stored: since when it is pending",
        "commitlog 中第一条半事务消息的存储时间，从这时起未决定",
    ),
    ("when its last half message was stored", "最后一条半事务消息的存储时间"),
    ("when the message that decided it was stored", "决定事务的消息的存储时间"),
    ("the number of its half messages; a broker stores one more for each check", "半事务消息数；broker 每次回查会多存一条"),
    ("how often the broker asked the producer", "broker 回查生产者的次数"),
    ("physical offset of its first half message in the log", "commitlog 中第一条半事务消息的物理偏移量"),
    ("physical offset of its last one", "最后一条半事务消息的物理偏移量"),
    ("physical offset of the message that decided it", "决定事务的消息的物理偏移量"),
    # dlq
    ("the consumer group; null in a row for the rest, if more than 100,000 are found", "消费组；超过 100,000 个时，其余合为一行，为 null"),
    ("the topic to which the messages were sent at first; null if it cannot be known", "消息最初发送到的 topic；无法判断时为 null"),
    ("the number of its dead messages in the log", "commitlog 中的死信消息数"),
    ("bytes of their records", "这些记录的字节数"),
    ("how often consumers failed on one of them, at least", "消费者对其中一条的最少失败次数"),
    ("how often consumers failed on one of them, at most", "消费者对其中一条的最多失败次数"),
    ("when the oldest of them was created by its producer", "其中最早的一条由生产者创建的时间"),
    ("when the first of them was given up", "第一条成为死信的时间"),
    ("when the last of them was given up", "最后一条成为死信的时间"),
    # traces
    ("`Pub`, `SubBefore`, `SubAfter`, `EndTransaction` or `Recall`", "`Pub`、`SubBefore`、`SubAfter`、`EndTransaction` 或 `Recall`"),
    (
        "when the send or the consumption began; of a `SubAfter`, when the consumption ended",
        "发送或消费的开始时间；`SubAfter` 为消费的结束时间",
    ),
    ("the topic of the traced message", "被跟踪消息的 topic"),
    ("the producer or consumer group", "生产者组或消费组"),
    ("the `msg_id` of the traced message", "被跟踪消息的 `msg_id`"),
    ("its `offset_msg_id`", "被跟踪消息的 `offset_msg_id`"),
    ("its keys, separated by spaces", "被跟踪消息的 key，用空格分隔"),
    (
        "`Normal_Msg`, `Trans_Msg_Half`, `Trans_msg_Commit`, `Delay_Msg` or `Order_Msg`",
        "`Normal_Msg`、`Trans_Msg_Half`、`Trans_msg_Commit`、`Delay_Msg` 或 `Order_Msg`",
    ),
    ("bytes of its body", "消息体的字节数"),
    ("the broker that it was sent to", "消息发送到的 broker"),
    (
        "the client, as the trace names it (4.8.0), else the address that sent the trace",
        "轨迹中记录的客户端（4.8.0）；没有时为发送轨迹的地址",
    ),
    ("milliseconds of the send or the consumption", "发送或消费的耗时（毫秒）"),
    ("how often the message was retried before", "之前重试的次数"),
    ("`success` or `failed`; null in records without it", "`success` 或 `failed`；记录中没有时为 null"),
    ("the same in a `SubBefore` and its `SubAfter`", "同一次消费的 `SubBefore` 和 `SubAfter` 相同"),
    ("the id of the transaction", "事务 ID"),
    ("`COMMIT_MESSAGE`, `ROLLBACK_MESSAGE` or `UNKNOW`", "`COMMIT_MESSAGE`、`ROLLBACK_MESSAGE` 或 `UNKNOW`"),
    ("whether the broker asked for the state", "是否由 broker 回查得到"),
    ("the region of the broker", "broker 所在的 region"),
    (
        "how the consumption ended: 0 success, 1 time out, 2 exception, 3 returned null, 4 failed",
        "消费结果：0 成功，1 超时，2 异常，3 返回 null，4 失败",
    ),
    ("why some values are missing; null if the record is complete", "部分值缺失的原因；记录完整时为 null"),
    ("when the trace message was stored", "轨迹消息的存储时间"),
    ("offset of the trace message in the log", "轨迹消息的物理偏移量"),
    ("the index of the record in the message, from 0", "在轨迹消息中的序号，从 0 开始"),
    # compacted
    ("the topic", "topic"),
    ("the offset in that queue, as in the commitlog", "在队列中的位点，与 commitlog 中相同"),
    ("the tags", "tag"),
    ("the keys; the broker keeps the newest message of the first one", "key；broker 按第一个 key 保留最新的消息"),
    ("the id", "消息 ID"),
    ("the body, decompressed", "消息体，已解压"),
    ("the properties", "消息属性"),
    ("when the producer created the message", "生产者创建消息的时间"),
    ("when it was stored in the commitlog", "存入 commitlog 的时间"),
    ("URI of the file in `compaction/compactionLog`", "`compaction/compactionLog` 中文件的 URI"),
    ("the offset in the log of that queue, not in the commitlog", "在队列 compaction 文件中的偏移量，不是 commitlog 的偏移量"),
    # duplicates
    ("the id that all copies have", "各份拷贝共有的 ID"),
    ("`first`, `sent`, `stored` or `delivered`, see below", "`first`、`sent`、`stored` 或 `delivered`，见 docs/tables.md"),
    ("the number of copies in the log, with this one", "commitlog 中的份数，含本条"),
    ("the physical offset of the first copy", "第一份的物理偏移量"),
    ("the offset of this copy's record in the log", "本条记录的物理偏移量"),
    ("the index in an inner batch; null outside an inner batch", "在内部批量消息中的序号；不在其中时为 null"),
    ("the topic that stores this copy", "存储本条的 topic"),
    ("the offset in that queue", "在队列中的位点"),
    ("the kind of message, see [columns.md](columns.md#kinds)", "消息类型，见 docs/columns.md"),
    ("in a retry or DLQ topic: the topic to which the message was sent at first", "重试 topic 或死信 topic 中：消息最初发送到的 topic"),
    ("when the producer sent it", "生产者发送的时间"),
    ("when the broker stored this copy", "broker 存储本条的时间"),
    # findings
    ("the kind of finding; one of the codes below", "问题的代码，见 docs/tables.md"),
    ("`error`, `warning` or `note`", "`error`、`warning` 或 `note`"),
    ("URI of the file or directory", "文件或目录的 URI"),
    ("the offset in the log of the first place; null if it concerns no record", "第一处的物理偏移量；与记录无关时为 null"),
    ("the offset in the log of the last place; null if it concerns no record", "最后一处的物理偏移量；与记录无关时为 null"),
    ("the topic; null if it concerns none or several", "topic；与 topic 无关，或涉及多个时为 null"),
    ("the queue; null if it concerns none or several", "队列；与队列无关，或涉及多个时为 null"),
    ("how many places one part of the check found: records, entries, keys or ranges", "检查的一个部分发现的处数：记录、条目、key 或区间"),
    ("what was found at the first place", "第一处发现的内容"),
    (
        "what `message` says, without its words: its kind, numbers and names as JSON",
        "`message` 的内容，不含文字：类型、数值和名称，格式为 JSON",
    ),
    ("what to do", "处理建议"),
    # account
    ("the topic; null if it is not known", "topic；无法判断时为 null"),
    ("the queue; null if it is not known", "队列；无法判断时为 null"),
    (
        "`served`, `deleted`, `expired`, `unreachable`, `doubtful`, `lost`, `at least` or `not read`",
        "`served`、`deleted`、`expired`、`unreachable`、`doubtful`、`lost`、`at least` 或 `not read`",
    ),
    ("what shows the state, `no entry` for example", "判断状态的依据，例如 `no entry`"),
    ("how many messages; 0 if that is not known", "消息数；无法判断时为 0"),
    (
        "the sum of the sizes of their records, as far as it is known; or the size of a range of the log",
        "记录大小之和，只计已知的部分；或 commitlog 一个区间的大小",
    ),
    (
        "the first queue offset; null if there is none, or the messages do not follow each other",
        "第一个队列位点；没有，或消息不连续时为 null",
    ),
    ("the last queue offset", "最后一个队列位点"),
    ("the first offset in the log; null if it is not known", "第一个物理偏移量；无法判断时为 null"),
    ("the last offset in the log", "最后一个物理偏移量"),
    (
        "when the first was stored. Of lost messages: when the message before them was stored",
        "第一条的存储时间。丢失的消息：前一条消息的存储时间",
    ),
    (
        "when the last was stored. Of lost messages: when the message after them was stored",
        "最后一条的存储时间。丢失的消息：后一条消息的存储时间",
    ),
    ("of messages without a record: the hash of their tag, as their queue has it", "没有记录的消息：tag 的哈希值，取自队列"),
    ("URI of the file, if the row is about a file and not about messages of a queue", "文件的 URI，该行针对文件，而不是队列中的消息时"),
)
MEANINGS = dict(_PAIRS)
