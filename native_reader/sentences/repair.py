"""The page of a repair or an extract. Code is between backticks."""

from __future__ import annotations

REPAIR = {
    # Results
    "repair": ("Repair", "修复报告"),
    "extract": ("Extract", "提取报告"),
    "damaged store": ("The damaged store, which was only read: `{uri}`.", "损坏的 store（只读取，未改动）：`{uri}`。"),
    "peer": ("The store of a DLedger peer, which was only read: `{uri}`.", "DLedger 节点的 store（只读取，未改动）：`{uri}`。"),
    "store": ("The store, which was only read: `{uri}`.", "原 store（只读取，未改动）：`{uri}`。"),
    "page planned": ("This is the plan. Nothing was written.", "这是计划，没有写入任何内容。"),
    "new store here": ("The new store is in the folder of this page.", "新 store 就在本页所在的目录中。"),
    "result survived": ("Survived:", "保留："),
    "page survived": (
        "{messages:,} {messages:message|messages}, each with its place, its queue offset and its ids.",
        "{messages:,} 条消息，每条的位置、队列位点和各种 ID 都不变。",
    ),
    "result topics": ("Topics:", "Topic："),
    "result copied": ("Copied:", "已复制："),
    "page copied": (
        "{messages:,} {messages:message|messages}, each with its queue offset, tags, keys and unique id.",
        "{messages:,} 条消息，每条的队列位点、tag、key 和消息 ID（msgId）都不变。",
    ),
    "result different": ("Different:", "不同之处："),
    "different": (
        (
            "the place of each in the log, and so the ids that brokers make of it (offsetMsgId): an old one finds nothing, or "
            "another message. In committed transactions, the place of the half message is the old one; no consumer uses it."
        ),
        (
            "每条消息在 commitlog 中的位置变了，broker 由位置生成的 ID（offsetMsgId）也随之改变：用旧 ID 查不到消息，或查到另一条"
            "消息。已提交的事务消息中，半事务消息的位置仍是旧的，消费者不使用这个位置。"
        ),
    ),
    "result ids": ("Message ids:", "消息 ID："),
    "new ids": (
        "`{file}` has the old and the new place of each message, and both offsetMsgIds. Unique ids are as before.",
        "`{file}` 列出每条消息的新旧位置和新旧 offsetMsgId。消息 ID（msgId）不变。",
    ),
    "result peer damaged": ("Damaged in the DLedger log:", "DLedger commitlog 中的损坏："),
    "peer damaged": (
        (
            "{ranges:,} {ranges:range|ranges}, {size}; the first in `{file}` at offset {offset:,}. Another peer may have these entries: "
            "compare them with `rmqstore diff` before you use this store. All other offsets on this page are of the new log."
        ),
        (
            "{ranges:,} 处，共 {size}；第一处在 `{file}` 的偏移量 {offset:,} 处。其他节点可能有这些条目：使用本 store 之前，请用 "
            "`rmqstore diff` 比较各节点。本页其他偏移量都指新 commitlog。"
        ),
    ),
    "result topics account": ("In the store, of these topics:", "原 store 中，这些 topic："),
    "result old account": ("In the damaged store:", "损坏的 store 中："),
    "result from": ("From another store:", "取自其他 store："),
    "from": (
        (
            "{messages:,} {messages:message|messages} in {ranges:,} {ranges:range|ranges} of the log, {size}: `{store}` has the same log "
            "there, as records beside each range show, which are equal byte by byte."
        ),
        "{messages:,} 条消息，在 commitlog 的 {ranges:,} 个区段中，共 {size}：`{store}` 在那里是同一份 commitlog，每个区段旁"
        "边的记录逐字节相同。",
    ),
    "from tier": (
        "{messages:,} {messages:message|messages} of tiered storage, `{store}`, each at its queue offset.",
        "{messages:,} 条消息取自多级存储 `{store}`，队列位点不变。",
    ),
    "from queues": (
        (
            "{messages:,} {messages:message|messages} that `{store}` has elsewhere in its log, at the same queue offsets, with the size "
            "and the hash of the tag that the queue entry here names. A later record of the same queue, or at its end the one before, is "
            "equal in both stores, byte by byte but for its place. Each message gets its place in this log."
        ),
        (
            "{messages:,} 条消息：在 `{store}` 的 commitlog 中位置不同，但队列位点相同，大小和 tag 的哈希值与这里的队列条目一致。"
            "同一队列中后面的某条记录（在队列末尾时为前一条），除位置外，在两个 store 中逐字节相同。每条消息都放回这份 commitlog "
            "中的原位。"
        ),
    ),
    "from keys": (
        (
            "{messages:,} {messages:message|messages} that `{store}` has in other queues or at other queue offsets. The "
            "index here has the "
            "hashes of their unique key and of all their keys at these places, and no others, and a time within ten "
            "minutes of theirs; the "
            "queue entry has their size and the hash of their tag. Each gets the place, queue and queue offset that it had here."
        ),
        (
            "{messages:,} 条消息：在 `{store}` 中的队列或队列位点不同。这里的索引在这些位置上恰好有消息 ID（msgId）"
            "和全部 key 的哈希值，存储时间相差不超过十分钟；队列条目中的大小和 tag 的哈希值一致。"
            "每条消息都放回原来的位置、队列和队列位点。"
        ),
    ),
    "by unique key": ("same unique key", "消息 ID（msgId）相同"),
    "result links": ("Shared with the damaged store:", "与损坏的 store 共享："),
    "links": (
        "{segments:,} {segments:segment|segments} and full queue files are hard links: a change to such a file changes both stores.",
        "{segments:,} 个 commitlog 文件和写满的队列文件是硬链接：改动其中任何一个，两个 store 都会改变。",
    ),
    "in the same log": ("the same log", "同一份 commitlog"),
    "in the tier": ("tiered storage", "多级存储"),
    "in another log": ("another log", "另一份 commitlog"),
    "column source": ("found in", "来源"),
    "nothing from": (
        (
            "nothing: `{store}` has no whole record where this store lacks one, or no equal record beside it. `rmqstore diff` shows what "
            "both have."
        ),
        "没有：在本 store 缺失的位置，`{store}` 也没有完整的记录，或旁边没有相同的记录。`rmqstore diff` 显示两者各有什么。",
    ),
    "nothing from parted": (
        "nothing: `{store}` has another log there. Its records beside what is lost are not equal. `rmqstore diff` shows where they part.",
        "没有：`{store}` 在那里是另一份 commitlog，缺失处旁边的记录不相同。`rmqstore diff` 显示两者从哪里分开。",
    ),
    "from peer": (
        (
            "{messages:,} {messages:message|messages} in {ranges:,} {ranges:range|ranges} of the DLedger log, {size}: `{store}` has the "
            "same log there, by the terms of entries that both have (Raft's rule)."
        ),
        (
            "{messages:,} 条消息，在 DLedger commitlog 的 {ranges:,} 个区段中，共 {size}：根据两者都有的条目的 term，`{store}` 在"
            "那里是同一份 commitlog（Raft 的规则）。"
        ),
    ),
    "nothing from peer": (
        "nothing: `{store}` has no whole entry where this peer lacks one, or no entry that both have shows that it is of this group.",
        "没有：在本节点缺失的位置，`{store}` 也没有完整的条目，或没有相同的条目表明两者属于同一组。",
    ),
    "nothing from parted peer": (
        (
            "nothing: `{store}` has another log there, by the terms of its entries, or is of another group. `rmqstore diff` shows where "
            "they part."
        ),
        "没有：根据条目的 term，`{store}` 在那里是另一份 commitlog，或属于另一个组。`rmqstore diff` 显示两者从哪里分开。",
    ),
    "result differing": ("Differing entries:", "不同的条目："),
    "differing": (
        (
            "{count:,} {count:entry has|entries have} other bytes in `{store}`, although index and term are equal; the first is entry "
            "{index:,}. One of the two was changed on its disk. Those of this peer are kept: look at both."
        ),
        (
            "{count:,} 个条目在 `{store}` 中字节不同，尽管序号和 term 相同；第一个是条目 {index:,}。其中一个在磁盘上被改动过。这"
            "里保留本节点的条目：请检查两者。"
        ),
    ),
    "folder for teams": (
        "For the owners of topics: the folder `lost` has a file for each topic, with what is known of each message, and a text to send.",
        "给各 topic 的负责人：目录 `lost` 中每个 topic 有一个目录，其中有消息清单和可转发的说明。",
    ),
    "result together": ("With the other stores:", "加上其他 store："),
    "title from": ("Messages from other stores", "取自其他 store 的消息"),
    "column store": ("store", "store"),
    "column first slot": ("first queue offset", "起始队列位点"),
    "column last slot": ("last queue offset", "结束队列位点"),
    "result new account": ("In the new store:", "新 store 中："),
    "result filled account": ("In the new store, placeholders included:", "新 store 中（含占位消息）："),
    "result placeholders": ("Placeholders:", "占位消息："),
    "placeholders": (
        "{messages:,}. Each is in the place of a message that the new store does not have, so that all others keep their offsets.",
        "{messages:,} 条。每条都在新 store 中没有的消息的位置上，因此其他消息的位点不变。",
    ),
    "result database": ("Queues in RocksDB:", "RocksDB 中的队列："),
    "database copied": (
        "{name} is copied. Its entries lead to all messages and placeholders.",
        "{name} 已复制，条目指向所有消息和占位消息。",
    ),
    "database added": (
        "{name} is copied, but lacks entries. The new store has the file abort: a broker then starts as after a crash, and puts the "
        "messages of the last {segments:,} segments into the queues again. Leave this file there before the first start.",
        "{name} 已复制，但缺少条目。新 store 中有文件 abort：broker 启动时会按异常退出处理，并把最后 {segments:,} 个 "
        "commitlog 文件中的消息重新放入队列。首次启动前请保留 abort 文件。",
    ),
    "database left out": (
        "{name} is not in the new store: it is damaged, missing, or differs from the log. The new store has the file abort: a broker "
        "then starts as after a crash, and makes all queues again. Leave this file there before the first start. Until then, no queue "
        "leads to a message.",
        "{name} 不在新 store 中：已损坏、缺失，或与 commitlog 不符。新 store 中有文件 abort：broker 启动时会按异常退出处理，"
        "并重新生成所有队列。首次启动前请保留 abort 文件；在此之前没有队列指向消息。",
    ),
    "many to recover": (
        "A broker 5.5.0 makes queues again only from the last {usual} segments, and these are {segments:,}: set "
        "commitLogRecoverMaxNum={segments} in broker.conf before its first start.",
        "broker 5.5.0 只从最后 {usual} 个 commitlog 文件重新生成队列，而这里有 {segments:,} 个："
        "首次启动前请在 broker.conf 中设置 commitLogRecoverMaxNum={segments}。",
    ),
    "second database left out": (
        "{name} is not in the new store: it has other entries than the files of queues, which a broker serves from. A broker with "
        "rocksdbCQDoubleWriteEnable begins a new one.",
        "{name} 不在新 store 中：条目与队列文件不同，broker 使用的是队列文件。启用 rocksdbCQDoubleWriteEnable 的 broker 会新建一个。",
    ),
    "result doubtful": ("Doubtful:", "存疑："),
    "doubtful kept": (
        (
            "some messages are kept as on the disk, with their queue entries, although something contradicts them. Consumers may not get "
            "them, or get them with a wrong tag or key."
        ),
        "有些消息存疑（与其他内容不符），仍按磁盘上的内容保留，队列条目也保留。消费者可能收不到这些消息，或收到错误的 tag 或 key。",
    ),
    "doubtful left": (
        (
            "some messages are left out, because something else in the store contradicts them. `rmqstore rescue` saves those that can be "
            "read, and `--keep-doubtful` keeps those whose tags or keys are in doubt."
        ),
        (
            "有些消息存疑（与 store 中的其他内容不符），未保留。`rmqstore rescue` 会保存其中可读的消息，`--keep-doubtful` 会保留 "
            "tag 或 key 存疑的消息。"
        ),
    ),
    "result tier": ("Tiered storage:", "多级存储："),
    "tier kept": (
        (
            "it is kept as it is (`--tier keep`): its files are in the folder `{folder}` of the new store, its metadata in `config`. Let "
            "`tieredStoreFilePath` name that folder, and keep the other settings `messageStorePlugIn` and `tiered…` and the names of the "
            "broker and its cluster: without them a broker does not serve what only the tier has."
        ),
        (
            "原样保留（`--tier keep`）：文件在新 store 的目录 `{folder}` 中，元数据在 `config` 中。请让 `tieredStoreFilePath` 指"
            "向这个目录，并保留其他 `messageStorePlugIn` 和 `tiered…` 配置，以及 broker 和集群的名称：否则只在多级存储中的消息消"
            "费不到。"
        ),
    ),
    "tier left": (
        (
            "it stays where it is (`--tier leave`), `{where}`; its metadata is in `config`. Keep its files, and the settings "
            "`messageStorePlugIn` and `tiered…`: without them a broker does not serve what only the tier has. Two "
            "brokers must not use it."
        ),
        (
            "留在原处（`--tier leave`）：`{where}`，元数据在 `config` 中。请保留文件，以及 `messageStorePlugIn` 和 `tiered…` 配置"
            "：否则只在多级存储中的消息消费不到。两个 broker 不能同时使用多级存储。"
        ),
    ),
    "tier in log": (
        (
            "its messages that the log lacks are in the new log (`--tier log`), before its first message, in segments "
            "with the time of this "
            "repair. The new store has no metadata of a tier. Start it without the settings `messageStorePlugIn` and "
            "`tiered…`, or with a new "
            "empty folder as `tieredStoreFilePath`. The old tier is as it was: `{where}`."
        ),
        (
            "commitlog 中没有的消息已写入新的 commitlog（`--tier log`），位于原来的第一条消息之前，所在文件的时间为本次修复的时间"
            "。新 store 没有多级存储的元数据。启动时请去掉 `messageStorePlugIn` 和 `tiered…` 配置，或用新的空目录作为 "
            "`tieredStoreFilePath`。旧的多级存储未改动：`{where}`。"
        ),
    ),
    "tier expires": (
        (
            "a broker deletes segments of a tier that are older than `tieredStoreFileReservedTime` (72 hours by "
            "default), the first time an "
            "hour after its start: set it higher first if consumers still need their messages."
        ),
        (
            "broker 会删除多级存储中早于 `tieredStoreFileReservedTime`（默认 72 小时）的文件，第一次在启动一小时之后：消费者还需"
            "要这些消息时，请先调大这个值。"
        ),
    ),
    "tier not extracted": (
        (
            "its messages are not in the new store. `rmqstore export STORE --option tiered=true` saves them. Start the new store without "
            "the settings `messageStorePlugIn` and `tiered…`."
        ),
        (
            "其中的消息不在新 store 中，可用 `rmqstore export STORE --option tiered=true` 保存。启动新 store 时，请去掉 "
            "`messageStorePlugIn` 和 `tiered…` 配置。"
        ),
    ),
    "title doubtful": ("Doubtful messages", "存疑的消息"),
    "column slot": ("queue offset", "队列位点"),
    "column contradiction": ("what contradicts it", "与什么不符"),
    "column result": ("result", "处理"),
    "kept": ("kept", "保留"),
    "left": ("left out", "未保留"),
    "why body": ("it is marked as compressed, and its body cannot be decompressed", "标记为已压缩，但消息体无法解压"),
    "why packed": ("it is marked as not compressed, and its body is compressed", "标记为未压缩，但消息体是压缩的"),
    "why text": ("its properties are not text", "消息属性不是文本"),
    "why maybe text": (
        "its properties are not UTF-8: text in another encoding, or damaged",
        "消息属性不是 UTF-8：可能是其他编码的文本，也可能已损坏",
    ),
    "why keys": ("the index has keys for it that it does not have", "索引中有指向这条消息的 key，而消息中没有"),
    "why tag": ("its queue entry has the hash of another tag", "队列条目中是另一个 tag 的哈希值"),
    "why zeros": ("its properties contain zeros", "消息属性中有零字节"),
    "why place": (
        "another message has the same place in its queue, and nothing shows which of the two is wrong",
        "另一条消息在队列中占同一位置，且没有内容表明哪一条有误",
    ),
    "why transaction": (
        "it is marked as an open or rolled back transaction, and is in an ordinary queue",
        "标记为未提交或已回滚的事务消息，却在普通队列中",
    ),
    "result fields": ("With a corrected field:", "已改正一个字段："),
    "page fields": (
        (
            "{messages:,} {messages:message|messages} with a wrong topic, queue id, queue offset or transaction flag: queue entries, or "
            "the messages before and after it in its queue, show the right one. At offset {offsets}."
        ),
        ("{messages:,} 条消息的 topic、队列 id、队列位点或事务标志有误：从队列条目或队列中前后的消息可知正确的值。所在偏移量：{offsets}。"),
    ),
    "result corrected": ("With another checksum:", "CRC 已改写："),
    "page corrected": (
        "{messages:,} {messages:message|messages}, kept. Consumers get a body that is not what was sent. At offset {offsets}.",
        "{messages:,} 条消息，已保留。消费者收到的消息体与发送时不同。所在偏移量：{offsets}。",
    ),
    "result filled": ("Filled:", "填补："),
    "filled": ("{size} of the log.", "commitlog 中的 {size}。"),
    "filled and made": (
        "{size} of the log, {segments:,} {segments:segment|segments} made or completed.",
        "commitlog 中的 {size}，其中重建或补全了 {segments:,} 个 commitlog 文件。",
    ),
    "result left out": ("Left out:", "未保留："),
    "left out": (
        "messages whose topic or queue was deleted. They are in the log, and in no queue: {topics}.",
        "topic 或队列已删除的消息，在 commitlog 中，但不在任何队列中：{topics}。",
    ),
    "result remade": ("Queues made again:", "重建的队列："),
    "remade": (
        "the files of their queues are missing, and `topics.json` has these topics. Messages made from the log: {topics}.",
        "这些 topic 的队列文件缺失，但 `topics.json` 中有这些 topic。由 commitlog 重建的消息数：{topics}。",
    ),
    "result queue files": ("Queue files:", "队列文件："),
    "queue files": (
        (
            "not copied as they are, because they lack entries for messages of the log, or name other records in their place: they are "
            "of another queue, or damaged. Entries made again from the log: {files}."
        ),
        (
            "以下文件没有原样复制：缺少 commitlog 中消息的条目，或条目指向其他记录，即属于另一个队列或已损坏。由 commitlog 重建的"
            "条目数：{files}。"
        ),
    ),
    "the new store": ("the new store", "新 store"),
    "result before": ("Before the log:", "commitlog 之前："),
    "removed before": (
        (
            "{messages:,} {messages:message|messages} that queues name, in segments before offset {begin:,}: lost. Those files are "
            "missing, and too young to expire after {hours:,} hours (fileReservedTime). Look for them, and repair again. If the broker "
            "keeps files for fewer hours, name its configuration."
        ),
        (
            "队列所指的 {messages:,} 条消息位于偏移量 {begin:,} 之前的 commitlog 文件中：已丢失。这些文件缺失，而按 {hours:,} 小"
            "时（fileReservedTime）计算尚未过期。请找回这些文件，再次修复。如果 broker 的保留时间更短，请指定 broker 的配置。"
        ),
    ),
    "expired before": (
        (
            "{messages:,} {messages:message|messages} that queues name, in segments before offset {begin:,}. Those "
            "files are missing, and "
            "can have expired after {hours:,} hours (fileReservedTime)."
        ),
        (
            "队列所指的 {messages:,} 条消息位于偏移量 {begin:,} 之前的 commitlog 文件中。这些文件缺失，"
            "可能已在 {hours:,} 小时（fileReservedTime）后过期。"
        ),
    ),
    "result ends": ("Ends of segments:", "文件末尾的填充："),
    "ends": (
        "{size}: the mark of the unused end of a segment is damaged, and was made again. No queue names a message there.",
        "{size}：commitlog 文件末尾填充的标记已损坏，已重新写入。没有队列指向那里的消息。",
    ),
    "result renamed": ("Wrong name:", "文件名错误："),
    "renamed": (
        "segment `{name}` is `{right}`: each of its records says so. It has that name in the new store.",
        "commitlog 文件 `{name}` 应为 `{right}`：文件中的每条记录都属于那里。新 store 中已改用正确的文件名。",
    ),
    "result checkpoint": ("Checkpoint:", "checkpoint 文件："),
    "checkpoint later than log": (
        (
            "it is {milliseconds:,} ms later than the last message, and was made again. Either messages after that one "
            "are lost, or it is "
            "of another log."
        ),
        "比最后一条消息晚 {milliseconds:,} 毫秒，已重新生成。要么后面的消息已丢失，要么 checkpoint 属于另一份 commitlog。",
    ),
    "result flaws": ("Made again:", "重新生成："),
    "flaws": (
        "index and checkpoint, because the check of the damaged store found: {codes}.",
        "索引和 checkpoint，因为检查损坏的 store 时发现：{codes}。",
    ),
    "result settings": ("Settings:", "配置："),
    "settings older": (
        "`{file}` is missing or damaged. Its backup, which is older, takes its place.",
        "`{file}` 缺失或已损坏。由较旧的备份代替。",
    ),
    "settings derived": (
        (
            "`{file}` and its backup are missing or damaged. Made from the queues: each topic can be read and written, and has as "
            "many queues as there are here. Check types, permissions and numbers of queues before you reconnect clients, or restore it "
            "from a backup."
        ),
        (
            "`{file}` 和备份缺失或已损坏，已根据消费队列生成：每个 topic 可读可写，队列数与这里相同。放行客户端之前，请检查类型、"
            "权限和队列数，或用备份恢复这个文件。"
        ),
    ),
    "settings other": (
        (
            "`{file}` has none of the topics of this store: it is empty or of another broker. Made from the queues: "
            "each topic can be read "
            "and written, and has as many queues as there are here. Check types, permissions and numbers of queues before you reconnect "
            "clients, or restore it from a backup."
        ),
        (
            "`{file}` 中没有这个 store 的任何 topic：文件为空，或属于另一个 broker。已根据消费队列重新生成：每个 topic 可读可写，"
            "队列数与这里相同。放行客户端之前，请检查类型、权限和队列数，或用备份恢复这个文件。"
        ),
    ),
    "settings left out": (
        "`{file}` and its backup are damaged, and are not in the new store: a broker would not start. Restore them from a backup",
        "`{file}` 和备份都已损坏，未放入新 store，否则 broker 起不来。请用备份恢复",
    ),
    "settings lost": (
        "`{file}` is damaged and has no backup. It is not in the new store. Restore it from a backup",
        "`{file}` 已损坏且没有备份，未放入新 store。请用备份恢复",
    ),
    "settings missing": (
        "`{file}` and its backup are missing, although other files show that the broker had it. Restore it from a backup",
        "`{file}` 和备份都缺失，而从其他文件看，broker 曾有这个文件。请用备份恢复",
    ),
    "result passed": ("Group after the end:", "超出末尾的消费组："),
    "passed": (
        (
            "a group has the offset {committed:,} in queue {queue} of {topic}, which ends at {end:,}. The damaged bytes have no room for "
            "the messages between. Either they are lost, or the offset is wrong."
        ),
        (
            "topic {topic} 队列 {queue}：有消费组的消费位点是 {committed:,}，而队列末尾是 {end:,}。损坏的字节容不下中间的消息：要"
            "么消息已丢失，要么消费位点有误。"
        ),
    ),
    "topic with count": ("{topic} {count:,}", "{topic} {count:,}"),
    "result queue size": ("Queue files:", "队列文件："),
    "page assumed size": (
        (
            "no consume queue is left that shows how large they are, so each has {size:,} bytes, as those of a default broker "
            "(mappedFileSizeConsumeQueue). If yours has another size, it does not start on them: repair again, and name "
            "its configuration."
        ),
        (
            "没有留下能说明文件大小的消费队列，因此每个文件为 {size:,} 字节，与默认的 broker 相同（mappedFileSizeConsumeQueue）。"
            "broker 使用其他大小时起不来：请指定 broker 的配置，再次修复。"
        ),
    ),
    "result keys": ("Keys:", "Key："),
    "no index": (
        (
            "no index is made, because no file tells its size. Old messages are then not found by key. To get one, name the "
            "broker's configuration file when you repair."
        ),
        "没有文件能说明索引文件的大小，未生成索引：按 key 查不到旧消息。如需索引，修复时请指定 broker 的配置文件。",
    ),
    "result needs": ("Needs:", "需要："),
    "work": (
        "{read} to read, {copied} to copy and {made} more to write, in files of {size}",
        "读取 {read}，复制 {copied}，另写入 {made}，文件共 {size}",
    ),
    "result room": ("Room:", "空间："),
    "room": (
        "{room} on the disk of the new store, which has {free} free.",
        "新 store 所在磁盘上需要 {room}，剩余 {free}。",
    ),
    "result time": ("Time:", "时间："),
    "time of reading": (
        "{time} if all of that is read at {rate} a second, as the plan read the log. Reads beside each other take less. "
        "How fast the disk "
        "writes was not measured",
        "如果全部按制定计划时读取 commitlog 的速度（每秒 {rate}）读取，需要 {time}；并行读取时更短。没有测量磁盘的写入速度",
    ),
    "result with links": ("With `--link`:", "使用 `--link`："),
    "with links": (
        "{room} of room. Segments and full queue files that nothing changes are then shared with the damaged store.",
        "需要 {room}。不改动的 commitlog 文件和写满的队列文件与损坏的 store 共享。",
    ),
    "result with shared blocks": ("With reflinks:", "使用 reflink："),
    "sharing": (
        "{room} of room: this file system has them, and a copy takes no room until one of both is written to.",
        "需要 {room}：文件系统支持 reflink，任何一方改写之前，拷贝不占空间。",
    ),
    "not sharing": (
        "{room} of room, on a file system that has them: Btrfs, or XFS with `reflink=1`. This one does not.",
        "需要 {room}，前提是文件系统支持 reflink：Btrfs，或带 `reflink=1` 的 XFS。当前的文件系统不支持。",
    ),
    "sharing unknown": (
        "{room} of room, if the file system has them. That could not be tried in the folder of the new store.",
        "如果文件系统支持，则需要 {room}。无法在新 store 所在目录中测试。",
    ),
    "result second disk": ("On a second disk:", "使用第二块磁盘："),
    "second disk": (
        "{room} of room there. One disk is then read while the other is written to.",
        "在那块磁盘上需要 {room}。读取与写入分别使用两块磁盘。",
    ),
    "result size": ("Size:", "大小："),
    "of data": ("{data} of data, in files of {size}.", "数据 {data}，文件共 {size}。"),
    # Tables
    "title made": ("Made parts of the log", "commitlog 中重建的部分"),
    "title missed": ("What consumer groups miss", "各消费组消费不到的消息"),
    "title copied": ("Copied as they were", "原样复制的内容"),
    "title seen": ("What consumers get instead of a lost message", "消费者在丢失消息的位置看到什么"),
    "title before clients": ("Before you reconnect clients", "放行客户端之前"),
    "column offsets": ("queue offsets", "队列位点"),
    "column group": ("group", "消费组"),
    "column committed": ("resumes at", "继续消费的位点"),
    "column missed": ("lost messages after it", "之后丢失数"),
    "lost op": (
        "Lost in {topic}: the broker may ask a producer again about a finished transaction, and deliver it twice.",
        "{topic} 中有丢失：对已结束的事务，broker 可能再次向生产者回查，并再次投递。",
    ),
    "lost timer": (
        "Lost in {topic}: a timed message whose time had not come is never delivered, and a recalled one can be delivered.",
        "{topic} 中有丢失：尚未到期的定时消息不会再投递，已撤回的定时消息可能会投递。",
    ),
    "lost pop": (
        "Lost in {topic}: a message that a pop consumer took and did not acknowledge may not come again, and one that it acknowledged may.",
        "{topic} 中有丢失：POP 消费者已拉取但未确认的消息可能不会再次投递，已确认的消息可能会再次投递。",
    ),
    "no group": (
        "None: each group resumes at its offset, and no lost message is after it.",
        "无：每个消费组从原来的消费位点继续，之后没有丢失的消息。",
    ),
    "no offsets": (
        (
            "No consumer group has an offset in these queues, or the file of the offsets is lost. A broker takes each group for a "
            "new one: it may skip messages that it had not read, or read all again. Look for `consumerOffset.json` in a backup "
            "before you reconnect clients."
        ),
        (
            "这些队列中没有消费位点，或消费位点文件已丢失。broker 会把每个消费组视为新消费组：可能跳过尚未消费的消息，也可能从头"
            "重新消费。放行客户端之前，先在备份中查找 `consumerOffset.json`。"
        ),
    ),
    "no warning": ("No file with a warning.", "没有需要警告的文件。"),
    "copied with": ("`{code}`: {found}", "`{code}`：{found}"),
    "more offsets": ("{first} and {count:,} more", "{first}，另有 {count:,} 个"),
    # What a proof found
    "proof finding": ("{code}: {found}", "{code}：{found}"),
    "proof bytes": ("its bytes differ near offset {offset:,}", "偏移量 {offset:,} 附近的字节不一致"),
    "proof records": ("its records differ after offset {offset:,}", "偏移量 {offset:,} 之后的记录不一致"),
    "proof end": ("its log ends at offset {end:,}, expected {expected:,}", "commitlog 结束于偏移量 {end:,}，应为 {expected:,}"),
    "proof messages": ("its messages differ after the first {count:,}", "前 {count:,} 条消息之后的消息不一致"),
    "proof count": ("it has {count:,} messages, and {survived:,} survived", "其中有 {count:,} 条消息，应保留 {survived:,} 条"),
    # What consumers see, and what to do next
    "seen by new": (
        "Clients of 5.x that push or pull: nothing. So do clients of any version that subscribe to tags.",
        "5.x 客户端（push 或 pull）：什么也看不到。任何版本中按 tag 订阅的客户端也一样。",
    ),
    "seen by old": (
        "Clients of 4.x with `*`, and pop consumers: one empty message with the tag `RMQSTORE_LOST`. Let them skip that tag.",
        "用 `*` 订阅的 4.x 客户端，以及 POP 消费者：收到一条空消息，tag 为 `RMQSTORE_LOST`。请让消费者跳过这个 tag。",
    ),
    "step copy of repair": (
        (
            "Start a broker on a copy of this store (`cp -a`), with the configuration of the old one, but with the copy as "
            "`storePathRootDir`, another `listenPort`, and a name server of its own as `namesrvAddr`: no client and no slave finds "
            "it."
        ),
        (
            "先用本 store 的拷贝（`cp -a`）试启动一个 broker：使用原来的配置，但 `storePathRootDir` 指向拷贝，`listenPort` 换一个"
            "端口，`namesrvAddr` 指向专为试启动单独起的 NameServer，这样客户端和从节点都连不上。"
        ),
    ),
    "step copy of single": (
        (
            "Start a broker on a copy of this store, with the configuration of the old one but `enableControllerMode=false`, "
            "alone: no controller, no slave, no clients. Give it the copy as `storePathRootDir`, another `listenPort`, and a name "
            "server of its own as `namesrvAddr`."
        ),
        (
            "先用本 store 的拷贝试启动一个 broker：使用原来的配置，但设置 `enableControllerMode=false`，单独运行，没有 Controller"
            "、从节点和客户端。`storePathRootDir` 指向拷贝，`listenPort` 换一个端口，`namesrvAddr` 指向专为试启动单独起的 "
            "NameServer。"
        ),
    ),
    "step copy of plain": (
        (
            "Start a broker of the same version on a copy of this store (`cp -a`), with the configuration of the old one, but without "
            "`enableDLegerCommitLog`, all settings that begin with `dLeger`, `preferredLeaderId` and "
            "`storePathDLedgerCommitLog`, and with "
            "`brokerRole` and `brokerId` of a master. Give it the copy as `storePathRootDir`, another `listenPort`, and a name server of "
            "its own as `namesrvAddr`: no client finds it. Change the version later."
        ),
        (
            "先用本 store 的拷贝（`cp -a`）试启动一个相同版本的 broker：使用原来的配置，但去掉 `enableDLegerCommitLog`、所有以 "
            "`dLeger` 开头的配置、`preferredLeaderId` 和 `storePathDLedgerCommitLog`，`brokerRole` 和 `brokerId` 按主节点设置。"
            "`storePathRootDir` 指向拷贝，`listenPort` 换一个端口，`namesrvAddr` 指向专为试启动单独起的 NameServer，这样客户端连"
            "不上。以后再更换版本。"
        ),
    ),
    "step log": (
        "Leave `storePathCommitLog` out of that configuration: all of the new log is in `commitlog` of this store.",
        "从试启动的配置中去掉 `storePathCommitLog`：新的 commitlog 全部在本 store 的 `commitlog` 中。",
    ),
    "step copy of extract": (
        (
            "Start a broker on a copy of this store, alone, with the old one's sizes of files: `mappedFileSizeCommitLog`, "
            "`mappedFileSizeConsumeQueue`, `maxHashSlotNum`, `maxIndexNum`."
        ),
        (
            "先用本 store 的拷贝单独启动一个 broker，文件大小的配置与原来相同：`mappedFileSizeCommitLog`、"
            "`mappedFileSizeConsumeQueue`、`maxHashSlotNum`、`maxIndexNum`。"
        ),
    ),
    "step old": (
        (
            "Segments keep their times, and a broker deletes those older than `fileReservedTime` (72 hours by default) at "
            "`deleteWhen` (04:00): set it higher first if consumers still need their messages."
        ),
        (
            "commitlog 文件的修改时间不变，broker 会在 `deleteWhen`（默认 04:00）删除早于 `fileReservedTime`（默认 72 小时）的文"
            "件：消费者还需要这些消息时，请先调大。"
        ),
    ),
    "step look": (
        "Look for errors in its `store.log`, and confirm what it serves with the commands at the end of this page.",
        "查看 `store.log` 有没有报错，并用本页末尾的命令核对。",
    ),
    "step go on": (
        "Start it on this store, then let consumers in, then producers.",
        "然后用本 store 启动 broker，先放行消费者，再放行生产者。",
    ),
    "step keep peers": (
        (
            "Keep the folders of all DLedger peers until then, and start none of these peers beside the new broker. Slaves copy the new "
            "store from the start, into empty folders."
        ),
        "在此之前，请保留所有 DLedger 节点的目录，不要与新 broker 同时启动这些节点。从节点清空目录后，会从头重新同步。",
    ),
    "step keep": (
        "Keep the damaged store until then. Slaves copy the new store from the start: empty their directories.",
        "在此之前，请保留损坏的 store。从节点会从头重新同步：请先清空从节点的目录。",
    ),
}
