"""What is said to the owners of topics about messages that consumers cannot get."""

from __future__ import annotations

LOST = {
    # The text to send: its heading
    "letter of topic": ("Messages of topic {topic} that consumers cannot get", "topic {topic} 中消费不到的消息"),
    "letter of team": (
        "Messages that consumers cannot get, of {topics:,} {topics:topic|topics}. Owner: {team}",
        "消费不到的消息，涉及 {topics:,} 个 topic。负责人：{team}",
    ),
    "letter happened": (
        (
            "The files of a RocketMQ broker are damaged: {store}. They were compared with each other. This text says which messages "
            "consumers cannot get, as far as these files show it. All times are UTC. Ranges include both ends."
        ),
        ("RocketMQ broker 的文件已损坏：{store}。这些文件已相互比对，以下列出从中能看出的消费不到的消息。所有时间均为 UTC，区间包含两端。"),
    ),
    # One topic
    "letter topic": ("Topic {topic}", "topic {topic}"),
    "letter item": ("- {what}.", "- {what}。"),
    "letter of kind": ("the kind of its messages: {name}", "消息类型：{name}"),
    "letter of broker": (
        "a topic of the broker itself, kind {name}: its messages can belong to other topics, which are not known",
        "broker 的内部 topic，类型为 {name}：其中的消息可能属于其他 topic，具体是哪些未知",
    ),
    "letter count": ("{state}: {messages:,} {messages:message|messages}", "{state}：{messages:,} 条消息"),
    "letter some": ("{state}: an unknown number of messages", "{state}：消息数量未知"),
    "letter because": ("{what}, {when}. What shows it: {cause}", "{what}，{when}。依据：{cause}"),
    "letter between": ("stored between {first} and {last}", "存储时间在 {first} 与 {last} 之间"),
    "letter after": ("stored after {first}, until an unknown time", "存储时间晚于 {first}，截止时间未知"),
    "letter before": ("stored before {last}, since an unknown time", "存储时间早于 {last}，起始时间未知"),
    "letter when": ("stored at an unknown time", "存储时间未知"),
    "letter queue": ("queue {queue}, {state}: queue offsets {which}", "队列 {queue}，{state}：队列位点 {which}"),
    "letter more queues": ("{count:,} more queues are in the files", "另有 {count:,} 个队列，见文件"),
    "letter sizes": (
        "known of {messages:,} {messages:message|messages}: its place in the log, its size, and the hash of its tag",
        "其中 {messages:,} 条消息已知：在 commitlog 中的位置、大小和 tag 的哈希值",
    ),
    "letter keys": (
        "the index has hashes of keys, and times to the second, for {messages:,} {messages:message|messages}",
        "索引中有其中 {messages:,} 条消息的 key 哈希值，以及精确到秒的时间",
    ),
    "letter tags": ("tags of this topic with these hashes: {tags}", "这个 topic 中哈希值相同的 tag：{tags}"),
    "letter tag": ("{tag} ({count:,} {count:time|times})", "{tag}（{count:,} 次）"),
    "letter tag hash": (
        "hash {hash} ({count:,} {count:time|times}), which no whole message of the topic has",
        "哈希值 {hash}（{count:,} 次），这个 topic 的完好消息中没有对应的 tag",
    ),
    "letter or": ("{first} or {second}", "{first} 或 {second}"),
    "letter more tags": ("{count:,} more hashes of tags are in the files", "另有 {count:,} 个 tag 哈希值，见文件"),
    "letter group passed": (
        "group {group}, {state}: its offset has passed {passed:,} {passed:message|messages}",
        "消费组 {group}，{state}：消费位点已越过 {passed:,} 条消息",
    ),
    "letter group left": (
        "group {group}, {state}: its offset has not passed {left:,} {left:message|messages}",
        "消费组 {group}，{state}：消费位点未越过 {left:,} 条消息",
    ),
    "letter group both": (
        "group {group}, {state}: its offset has passed {passed:,} {passed:message|messages}, and has not passed {left:,}",
        "消费组 {group}，{state}：消费位点已越过 {passed:,} 条消息，未越过 {left:,} 条",
    ),
    "letter more groups": ("{count:,} more groups are in the files", "另有 {count:,} 个消费组，见文件"),
    "letter no group": ("no group has an offset in these queues", "这些队列中没有消费位点"),
    "letter files": (
        "each message or range: `{folder}`, `lost.csv` and `lost.jsonl`",
        "每条消息或每个区间：`{folder}` 中的 `lost.csv` 和 `lost.jsonl`",
    ),
    "letter list": (
        "the same for a spreadsheet, in Chinese: `{file}`",
        "同样内容的中文清单（UTF-8，带 BOM），可用表格软件打开：`{file}`",
    ),
    "letter more topics": ("{count:,} more topics are in `topics.csv`.", "另有 {count:,} 个 topic，见 `topics.csv`。"),
    # What is not known
    "letter unknown": ("What is not known", "未知的内容"),
    "letter unknown bodies": (
        "bodies, keys and properties of messages without a record: none of these files has them",
        "没有记录的消息，消息体、key 和属性：这些文件中都没有",
    ),
    "letter unknown keys": (
        "whether a certain key is among the lost ones: a hash is not a key, and other keys have the same hash",
        "某个 key 是否在丢失的消息中：哈希值不等于 key，其他 key 也可能有相同的哈希值",
    ),
    "letter unknown more": (
        "how many more messages were lost: something shows that more was there, and nothing names each",
        "还丢失了多少消息：有迹象表明还有更多消息，但没有逐条的记录",
    ),
    "letter unknown doubtful": (
        "which is right of a doubtful message: its record, or what contradicts it",
        "存疑的消息哪一方正确：是记录，还是与记录不符的内容",
    ),
    "letter unknown unread": ("what is in the parts that were not read", "未读取部分的内容"),
    "letter unknown elsewhere": (
        "whether a slave, a backup or a producer still has these messages: only these files were read",
        "从节点、备份或生产者是否还有这些消息：只读取了这些文件",
    ),
    # What to do
    "letter to do": ("What to do", "处理步骤"),
    "letter step": ("{number}. {what}.", "{number}. {what}。"),
    "letter do compare": (
        "List what your producers sent to this topic between these times, from their database or their logs",
        "从生产者的数据库或日志中，列出这段时间内发送到这个 topic 的消息",
    ),
    "letter do keys": (
        "Give the operators the keys of these orders in a file, one a line: `rmqstore lost STORE -o FOLDER --keys FILE` says which are "
        "whole, doubtful or possibly lost",
        "把这些业务的 key 写入文件（每行一个）交给运维：`rmqstore lost STORE -o FOLDER --keys FILE` 会给出哪些完好、存疑或可能丢失",
    ),
    "letter do send": (
        "Send again what is missing, after the operators have looked on a slave and in a backup",
        "等运维查过从节点和备份之后，重新发送缺失的消息",
    ),
    "letter do twice": (
        "Expect messages twice: groups had read past some of the lost ones, and a message that is sent again is a new one",
        "准备好处理重复消息：丢失的消息中有些已消费过，而重新发送的是新消息",
    ),
    "letter do doubtful": (
        "Look at each doubtful message with `rmqstore find STORE --offset TOPIC/QUEUE/OFFSET` before you trust it",
        "使用存疑的消息之前，先用 `rmqstore find STORE --offset TOPIC/QUEUE/OFFSET` 逐条查看",
    ),
    "letter do unreachable": (
        "Do not send unreachable messages again yet: they are whole, and the operators can bring them back with `rmqstore repair`",
        "暂不要重新发送消费不到的消息：这些消息完好，运维可以用 `rmqstore repair` 找回",
    ),
    "letter do unread": (
        "Wait for the operators to make the unread parts readable: what is in them is neither lost nor there until then",
        "等运维让未读取的部分可读：在此之前，那里的内容既不能算丢失，也不能算存在",
    ),
    # The heads of lists, and what a list says of a key
    "head topic": ("topic", "topic"),
    "head team": ("owner", "负责人"),
    "head folder": ("folder", "目录"),
    "head queue_id": ("queue", "队列"),
    "head queue_offset": ("queue offset", "队列位点"),
    "head first_queue_offset": ("first queue offset", "起始位点"),
    "head last_queue_offset": ("last queue offset", "结束位点（含）"),
    "head messages": ("messages", "消息数"),
    "head state": ("state", "状态"),
    "head cause": ("what shows it", "依据"),
    "head store_timestamp": ("stored (UTC)", "存储时间（UTC）"),
    "head first_store_timestamp": ("stored not before (UTC)", "存储时间不早于（UTC）"),
    "head last_store_timestamp": ("stored not after (UTC)", "存储时间不晚于（UTC）"),
    "head physical_offset": ("offset in the log", "物理偏移量"),
    "head size": ("size (bytes)", "大小（字节）"),
    "head tag_hash": ("hash of the tag", "tag 哈希值"),
    "head tags": ("possible tags", "可能的 tag"),
    "head keys": ("hashes of keys", "key 哈希值"),
    "head read_by": ("groups beyond it", "位点已越过的消费组"),
    "head not_read_by": ("groups before it", "位点未越过的消费组"),
    "head key": ("key", "key"),
    "head answer": ("answer", "结果"),
    "answer lost": ("lost", "丢失"),
    "answer possibly lost": ("possibly lost", "可能丢失"),
    "answer doubtful": ("doubtful", "存疑"),
    "answer unreachable": ("unreachable", "完好，但消费不到"),
    "answer whole": ("whole", "完好"),
    "answer waiting": ("only in a topic of the broker itself", "仅在 broker 的内部 topic 中"),
    "answer not seen": ("not seen", "未发现"),
    # On the terminal
    "lost written": (
        "{topics:,} {topics:topic|topics} with messages that consumers cannot get: {folder}",
        "{topics:,} 个 topic 有消费不到的消息：{folder}",
    ),
    "lost nothing written": ("no topic has messages that consumers cannot get: {folder}", "未发现有消费不到的消息的 topic：{folder}"),
    "lost of topic": ("{topic}: {states}", "{topic}：{states}"),
    "lost more topics": ("{count:,} more topics are in {folder}/topics.csv", "另有 {count:,} 个 topic，见 {folder}/topics.csv"),
    "keys asked": ("Keys: {answers}. Each is in {folder}/keys.csv", "key：{answers}。逐条结果见 {folder}/keys.csv"),
    "keys lost": ("{count:,} in a lost message", "{count:,} 个在丢失的消息中"),
    "keys possibly lost": ("{count:,} possibly lost", "{count:,} 个可能丢失"),
    "keys doubtful": ("{count:,} doubtful", "{count:,} 个存疑"),
    "keys unreachable": ("{count:,} whole, but no consumer gets {count:it|them}", "{count:,} 个完好，但消费不到"),
    "keys whole": ("{count:,} whole", "{count:,} 个完好"),
    "keys waiting": (
        "{count:,} only in topics of the broker itself, as delayed or half messages",
        "{count:,} 个仅在 broker 的内部 topic 中（延时消息或半事务消息）",
    ),
    "keys not seen": ("{count:,} not seen", "{count:,} 个未发现"),
    "keys hashes": (
        "Possibly lost: the index has the hash of this key at a lost place. Other keys have the same hash",
        "可能丢失：索引中，丢失的位置上有这个 key 的哈希值。其他 key 也可能有相同的哈希值",
    ),
    "keys unseen": (
        "Not seen: no whole message has this key, and the index does not have its hash at a lost place. It was not sent "
        "here, has expired, "
        "or was lost without a trace",
        "未发现：没有完好的消息带有这个 key，索引中丢失的位置上也没有这个哈希值。可能没有发送到这里、已过期，或已丢失且没有留下痕迹",
    ),
}
