"""What a check of a store found at the first place of a finding, its summary, and what the comparison of two stores says."""

from __future__ import annotations

VERIFY = {
    "more places": ("{found} ({count:,} more)", "{found}（另有 {count:,} 处）"),
    "more places until": ("{found} ({count:,} more, up to offset {last:,})", "{found}（另有 {count:,} 处，直到偏移量 {last:,}）"),
    "without a record": ("{bytes:,} {bytes:byte|bytes} without a record: {what}", "有 {bytes:,} 字节无法识别为记录：{what}"),
    "with reason": ("{reason}: {what}", "{what}（{reason}）"),
    "odd properties": ("its properties end in zeros or are not UTF-8", "消息属性以零结尾，或不是有效的 UTF-8"),
    "is not packed": ("it says that its body is compressed, and the body is not", "消息体未压缩，标志却是已压缩"),
    "is packed": ("it says that its body is plain, and the body is compressed", "标志是未压缩，而消息体已压缩"),
    "stored earlier": ("stored {milliseconds:,} ms earlier than a record before it", "存储时间比前一条记录早 {milliseconds:,} ms"),
    "dledger start cuts": (
        "a DLedger broker that starts would cut its log at offset {offset:,}, {bytes:,} bytes before its end",
        "DLedger broker 启动时会在偏移量 {offset:,} 处截断 commitlog，距末尾 {bytes:,} 字节",
    ),
    "dledger start exits": (
        (
            "a DLedger broker would have to cut its log at offset {offset:,}, {bytes:,} bytes before its end: that is "
            "more than one file, "
            "so its process ends"
        ),
        "DLedger broker 需要在偏移量 {offset:,} 处截断 commitlog，距末尾 {bytes:,} 字节，超过一个文件，因此进程会退出",
    ),
    "dledger index differs": (
        "entry {number:,} is not there, or is another one than in the log",
        "第 {number:,} 个条目不存在，或与 commitlog 中的不同",
    ),
    "start truncates": (
        (
            "a broker up to 5.3.1 that starts would truncate the log at offset {offset:,}, {bytes:,} bytes before its end (what "
            "later ones do: rmqstore doctor)"
        ),
        "5.3.1 及以下的 broker 启动时会在偏移量 {offset:,} 处截断 commitlog，并丢弃其后的 {bytes:,} 字节",
    ),
    "was removed": ("its record was removed: it has not expired", "记录尚未过期，所在文件已被移走"),
    "removed": ("the log begins at offset {begin:,}", "commitlog 从偏移量 {begin:,} 开始"),
    "misnamed": (
        "{name} has the records of {right}: in its folder, {command}",
        "{name} 中是 {right} 的记录：请在其目录中执行 {command}",
    ),
    "foreign": (
        "{entries:,} entries name something in this file, and {met:,} of them a record of their queue",
        "有 {entries:,} 个条目指向这个文件，其中 {met:,} 个指向本队列的记录",
    ),
    "no file has": ("no file has offsets {start:,} to {stop:,}", "没有文件包含偏移量 {start:,} 至 {stop:,}"),
    "old records": ("{bytes:,} bytes of old records follow the end of the log", "commitlog 末尾之后有 {bytes:,} 字节的旧记录"),
    "entry of queue": ("entry {number:,} of queue {queue} of '{topic}': {why}", "topic {topic} 队列 {queue} 的第 {number:,} 个条目：{why}"),
    "tier without entry": (
        "no entry names records from queue offset {first:,} on",
        "从队列位点 {first:,} 起，没有指向记录的条目",
    ),
    "tier entry empty": ("it is not written", "没有写入"),
    "tier file missing": (
        "bytes {start:,} to {stop:,} of {files} are in no file",
        "{files} 的第 {start:,} 至 {stop:,} 字节不在任何文件中",
    ),
    "no record there": ("no record begins there", "那里不是一条记录的开头"),
    "record of other queue": ("the record there belongs to queue {queue} of '{topic}'", "那里的记录属于 topic {topic} 的队列 {queue}"),
    "named twice": ("another entry of the queue names the same record", "队列的另一个条目指向同一条记录"),
    "other size": ("its size is {size:,}, the record's {record:,}", "条目中的长度为 {size:,}，记录的长度为 {record:,}"),
    "other number": ("the record there has queue offset {number:,}", "那里的记录队列位点为 {number:,}"),
    "other count": ("it has {messages:,} messages, its record {record:,}", "条目的消息数为 {messages:,}，记录的消息数为 {record:,}"),
    "other tag": ("its tags code is not the hash of the record's tag", "tagsCode 与消息 tag 的哈希值不一致"),
    "impossible delivery": ("its delivery time is impossible", "投递时间不合理"),
    "not of light queue": ("no record there belongs to this light queue", "那里没有这个轻量队列的记录"),
    "other light number": ("its record has another number for this light queue", "记录中这个轻量队列的位点不同"),
    "other light size": ("its size is {size:,}, its record has another one", "条目中的长度为 {size:,}，与记录的长度不一致"),
    "batches in ordinary queue": (
        "queue {queue} of '{topic}' is an ordinary queue, and has inner batches",
        "topic {topic} 的队列 {queue} 是普通队列，却有内部批量消息",
    ),
    "record of queue": (
        "the record at offset {offset:,}, queue offset {number:,} of queue {queue} of '{topic}'",
        "偏移量 {offset:,} 处的记录，topic {topic} 队列 {queue} 的位点 {number:,}",
    ),
    "deleted at": (
        "{records:,} {records:record|records} of '{topic}' that were in {queues:,} {queues:queue|queues}, at offset {first:,}",
        "topic {topic} 的 {records:,} 条记录，原属 {queues:,} 个队列，位于偏移量 {first:,}",
    ),
    "deleted from": (
        (
            "{records:,} {records:record|records} of '{topic}' that were in {queues:,} {queues:queue|queues}, from offset "
            "{first:,} to {last:,}"
        ),
        "topic {topic} 的 {records:,} 条记录，原属 {queues:,} 个队列，偏移量 {first:,} 至 {last:,}",
    ),
    "not in topics": ("'{topic}' is not in topics.json", "topics.json 中没有 topic {topic}"),
    "lacks entries": (
        "it lacks the last {entries:,} entries of its other copy, which the broker uses",
        "缺少另一份拷贝的最后 {entries:,} 个条目，broker 使用的是另一份",
    ),
    "copies differ": ("entry {number:,} is not the same in its other copy", "第 {number:,} 个条目与另一份拷贝不同"),
    "name is no position": ("its name is not a position", "文件名不是偏移量"),
    "name is no multiple": ("its name is not a multiple of {width}", "文件名不是 {width} 的倍数"),
    "size is no multiple": ("its size of {size:,} bytes is not a multiple of {width}", "文件大小 {size:,} 字节不是 {width} 的倍数"),
    "files overlap": (
        "the file before it has entries up to {until:,}, and it begins at {begin:,}",
        "前一个文件的条目直到 {until:,}，而这个文件从 {begin:,} 开始",
    ),
    "cannot be read": ("{file} cannot be read", "无法读取 {file}"),
    "filler": ("entry {number:,} is a filler", "第 {number:,} 个条目是填充条目"),
    "not written": (
        "entries {first:,} to {last:,} are not written, but later ones are",
        "第 {first:,} 至 {last:,} 个条目没有写入，其后的条目已写入",
    ),
    "not higher": ("its offset is not higher than that of the entry before it", "偏移量不大于前一个条目"),
    "expired": ("its record expired", "记录已过期"),
    "log ends": ("the log ends at offset {end:,}", "commitlog 在偏移量 {end:,} 处结束"),
    "does not follow": ("its first queue offset does not follow the entry before it", "第一个队列位点与前一个条目不相接"),
    "is address": ("its tags code is an address", "tagsCode 是地址"),
    "no queue checked": ("no queue was checked", "没有检查任何队列"),
    "entry of index": ("entry {number:,}: {why}", "第 {number:,} 个条目：{why}"),
    "no such key": ("the record has no such key", "记录没有这个 key"),
    "other time": ("its time is not that of the record", "条目中的时间与记录不一致"),
    "other header times": ("its times are not those of its first and last record", "文件头中的时间与第一条、最后一条记录不一致"),
    "rolls back": ("the record rolls a transaction back", "这是一条事务回滚记录"),
    "key without entry": ("no entry for a key of the record", "记录有一个 key 没有条目"),
    "after newest index": ("the newest index file ends before the record", "最新的索引文件在这条记录之前结束"),
    "not covered": ("no index file covers the record", "这条记录不在任何索引文件的范围内"),
    "index file cut": (
        "it has {size:,} bytes; with its {slots:,} slots a broker makes {usual:,}",
        "有 {size:,} 字节；有 {slots:,} 个哈希槽时，broker 会创建 {usual:,} 字节的文件",
    ),
    "less than a header": ("it has {size:,} bytes, fewer than a header", "有 {size:,} 字节，小于文件头"),
    "unusual size": ("{size:,} bytes do not fit the usual numbers of slots and entries", "{size:,} 字节与通常的哈希槽数和条目数不符"),
    "no record in random bytes": ("no record in {bytes:,} bytes, which look random", "{bytes:,} 字节中没有记录，内容像是随机数据"),
    "unreadable file": ("the file cannot be read", "无法读取文件"),
    "no entries": ("its header has no entries", "文件头中没有条目"),
    "impossible header": (
        "offsets {begin:,} to {end:,}, next entry {next:,} of {room:,}",
        "偏移量 {begin:,} 至 {end:,}，下一个条目 {next:,}，最多 {room:,}",
    ),
    "lower offset": ("its offset is lower than that of the entry before it", "偏移量小于前一个条目"),
    "wrong chain": ("it leads to a wrong entry, so that the chain skips some", "指向了错误的条目，因此链跳过了一些条目"),
    "other header offsets": (
        "offsets {begin:,} to {end:,}, but its entries have {first:,} to {last:,}",
        "文件头为偏移量 {begin:,} 至 {end:,}，而条目的偏移量为 {first:,} 至 {last:,}",
    ),
    "log begins": ("the log begins at offset {begin:,}", "commitlog 从偏移量 {begin:,} 开始"),
    "names after end": (
        "an entry names offset {offset:,}: the log ends at offset {end:,}",
        "一个条目指向偏移量 {offset:,}，而 commitlog 在偏移量 {end:,} 处结束",
    ),
    "wrong slot": ("slot {slot:,} has {entry:,}, expected {expected:,}", "哈希槽 {slot:,} 为 {entry:,}，应为 {expected:,}"),
    "not counted": ("it has entries after the {entries:,} that its header counts", "文件头计入 {entries:,} 个条目，之后还有条目"),
    "other used slots": ("{slots:,} slots in use, but {used:,} lead to an entry", "已用 {slots:,} 个哈希槽，但有 {used:,} 个指向条目"),
    "no index in database": ("no index in this database is checked", "这个数据库中的索引不检查"),
    "no index files": ("the store has no index files", "store 没有索引文件"),
    "abort exists": ("the file `abort` exists", "存在文件 `abort`"),
    "short checkpoint": ("it has {size} bytes, expected {expected} or more", "有 {size} 字节，至少应有 {expected}"),
    "negative time": ("it has a negative time", "其中有负数时间"),
    "no times": ("it has no times", "其中没有时间"),
    "checkpoint later": ("it is {milliseconds:,} ms later than the last record", "比最后一条记录晚 {milliseconds:,} ms"),
    "group ahead": (
        "group '{group}' is at {committed:,} of queue {queue} of '{topic}', which ends at {end:,}",
        "消费组 {group} 在 topic {topic} 队列 {queue} 的消费位点为 {committed:,}，而队列在 {end:,} 处结束",
    ),
    # The summary
    "nothing to check": ("nothing to check: there are no segments", "没有可检查的内容：没有 commitlog 文件"),
    "clean": ("no errors, no warnings", "没有错误，没有警告"),
    "n error": ("{count:,} {count:error|errors}", "{count:,} 个错误"),
    "n warning": ("{count:,} {count:warning|warnings}", "{count:,} 个警告"),
    "n note": ("{count:,} {count:note|notes}", "{count:,} 个提示"),
    "in log": ("{found} in {segments:,} {segments:segment|segments}, {size}", "{found}；共检查 {segments:,} 个 commitlog 文件，{size}"),
}


DIFF = {
    "side": ("{name}: {store}, offsets {begin:,} to {end:,}", "{name}：{store}，偏移量 {begin:,} 至 {end:,}"),
    "states of side": ("messages of {name}: {states}", "{name} 的消息：{states}"),
    "log of side": ("{name} is a log without queues: {states}", "{name} 只有 commitlog，没有队列：{states}"),
    "side not read": ("warning: not all of {name} was read: {what}", "警告：{name} 没有全部读取：{what}"),
    "shared": (
        "{records:,} {records:record|records} ({size}) are equal, at the same offsets",
        "{records:,} 条记录（{size}）相同，且偏移量相同",
    ),
    "unshared": (
        "the logs have no record at the same offset: their messages are compared by unique key",
        "两份 commitlog 没有偏移量相同的记录：按消息 ID（msgId）比较消息",
    ),
    "parted": (
        "the logs part at offset {offset:,}: messages after it are compared by unique key",
        "两份 commitlog 从偏移量 {offset:,} 起不同：之后的消息按消息 ID（msgId）比较",
    ),
    "epochs of side": (
        "{name}: by {file}, masters wrote the log from these offsets on: {epochs}",
        "{name}：根据 {file}，各主节点从以下偏移量开始写 commitlog：{epochs}",
    ),
    "one epoch": ("{begin:,} (epoch {number:,})", "{begin:,}（编号 {number:,} 的 epoch）"),
    "no epochs": (
        "{name} has no epochFileCheckpoint, so nothing says which master wrote its log",
        "{name} 没有 epochFileCheckpoint，无法得知 commitlog 由哪个主节点写入",
    ),
    "no epochs that count": (
        "the epochFileCheckpoint of {name} is damaged, and so is its .bak: nothing says which master wrote its log",
        "{name} 的 epochFileCheckpoint 和 .bak 都已损坏：无法得知 commitlog 由哪个主节点写入",
    ),
    "epochs share": (
        "by these epochs, both logs are the same up to offset {offset:,}, in epoch {number:,}: the one that becomes the "
        "slave cuts its log "
        "there",
        "根据这些 epoch，两份 commitlog 到偏移量 {offset:,} 为止相同，在 epoch {number:,} 中：成为从节点的一方会在那里截断 commitlog",
    ),
    "epochs share none": (
        "no epoch has the same number and the same begin in both: by their epochs, these are not replicas of one log",
        "没有编号和起点都相同的 epoch：根据 epoch，两者不是同一份 commitlog 的副本",
    ),
    "as epochs": ("their records say the same", "记录也是如此"),
    "before epochs": (
        "contradiction: their records are the same up to offset {offset:,} only. A slave would keep what differs after it, and no broker "
        "would say so. Compare both with a third replica before you start one",
        "不一致：双方的记录只到偏移量 {offset:,} 为止相同。从节点会保留后面不同的内容，broker 也不会提示。启动之前请与第三个副本比较",
    ),
    "after epochs": (
        "contradiction: their records are the same up to offset {offset:,}. One of the files lacks an epoch, or has "
        "another begin for it: "
        "a slave would cut records that both have, and copy them again",
        "不一致：双方的记录到偏移量 {offset:,} 为止相同。其中一个文件缺少某个 epoch，或起点不同：从节点会截断双方都有的记录，再重新复制",
    ),
    "no differences": (
        "no differences in what was compared: heads, tags, unique keys, and bodies by their checksums",
        "比对的内容没有差异：记录头、tag、消息 ID（msgId）和消息体的校验和",
    ),
    "same but not whole": (
        "no differences in what was compared. But not all messages of both stores are as a broker left them, or not all was read",
        "比对的内容没有差异。但两个 store 中有消息不能正常消费，或有内容未读取",
    ),
    "no differences of heads": ("no differences in the heads", "记录头没有差异"),
    "heads compared": (
        "heads compared: bodies were not checked against their checksums, and the states of messages were not counted",
        "只比对了记录头：没有按校验和检查消息体，也没有统计消息状态",
    ),
    "only": ("{count:,} {count:message is|messages are} only in {name}: {difference}", "{count:,} 条消息仅在 {name} 中：{difference}"),
    "only older": ("older than the other log", "早于另一份 commitlog"),
    "only newer": ("newer than the other log", "晚于另一份 commitlog"),
    "only missing": ("missing in the other log", "在另一份 commitlog 中缺失"),
    "only changed": ("another record is there in the other log", "另一份 commitlog 的同一位置是另一条记录"),
    "only parted": ("stored after the logs parted", "在两份 commitlog 分开之后 store"),
    "peer has": (
        "{name}: {store}, entries {first:,} to {last:,}, last term {term:,}, the log ends at offset {end:,}",
        "{name}：{store}，条目 {first:,} 至 {last:,}，最后的 term 为 {term:,}，commitlog 结束于偏移量 {end:,}",
    ),
    "peer is empty": ("{name}: {store} has no whole entry", "{name}：{store} 没有完整的条目"),
    "peer not committed": (
        "{name}: its checkpoint does not count the last {count:,} {count:entry|entries} as committed: they may not be on most peers, and "
        "producers may have got an error",
        "{name}：checkpoint 未把最后 {count:,} 个条目记为已提交：可能不在多数节点上，生产者可能收到了错误",
    ),
    "peer is damaged": (
        "{name} is damaged: {ranges:,} {ranges:range|ranges} of its log, and {entries:,} {entries:entry is|entries are} missing between "
        "its first and its last",
        "{name} 有损坏：commitlog 中有 {ranges:,} 处，首末条目之间缺少 {entries:,} 个条目",
    ),
    "peer damaged first": (
        "{name}: the first is in {file} at offset {offset:,}: {what}",
        "{name}：第一处在 {file} 的偏移量 {offset:,} 处：{what}",
    ),
    "peer lost its end": (
        "{name} lost its end: its checkpoint names entry {index:,}",
        "{name} 的末尾已丢失：checkpoint 中有条目 {index:,}",
    ),
    "peers share nothing": (
        "{name} and {chosen} have no entry with the same index: one of them begins after the end of the other, or they are of two groups",
        "{name} 和 {chosen} 没有序号相同的条目：其中一个从另一个的末尾之后开始，或两者属于不同的组",
    ),
    "peers contradict": (
        "entry {index:,} of term {term:,} has other bytes in {name} than in {chosen}: one of the two was changed on its "
        "disk, or they are "
        "of two groups. Look at both before you take one",
        "term {term:,} 的条目 {index:,} 在 {name} 和 {chosen} 中字节不同：其中一个在磁盘上被改动过，或两者属于不同的组。选用之前请检查两者",
    ),
    "peers part": (
        "{name} and {chosen} part at entry {index:,}: it is of term {term:,} in {name}, and of term {other:,} in {chosen}. DLedger would "
        "discard {count:,} {count:entry|entries} of {name} from there on",
        "{name} 和 {chosen} 从条目 {index:,} 起不同：在 {name} 中属于 term {term:,}，在 {chosen} 中属于 term {other:,}。"
        "DLedger 会丢弃 {name} 从那里起的 {count:,} 个条目",
    ),
    "peer lags": (
        "{name} is as {chosen} up to entry {index:,}, and lacks {count:,} {count:entry|entries} after it",
        "{name} 到条目 {index:,} 为止与 {chosen} 相同，缺少其后的 {count:,} 个条目",
    ),
    "peer is same": ("{name} has no other entry than {chosen}", "{name} 没有与 {chosen} 不同的条目"),
    "peer to take": (
        "take {name}: it has the highest last term, {term:,}, and of the peers with it the highest last index, {index:,} (Raft's rule)",
        "请使用 {name}：最后的 term 最高（{term:,}），在 term 相同的节点中，最后的序号也最高（{index:,}），这是 Raft 的规则",
    ),
    "peer has lacking": (
        "of the {lacking:,} {lacking:entry|entries} that {chosen} lacks before its end, {name} has {count:,}: a repair of {chosen} takes "
        "them with --from {name}",
        "{chosen} 的末尾之前缺少 {lacking:,} 个条目，{name} 有其中 {count:,} 个：修复 {chosen} 时可用 --from {name} 补上",
    ),
    "peers all empty": ("no peer has a whole entry: take none of them", "没有节点有完整的条目：哪个都不要使用"),
    "peers stay": (
        "do not remove the files of any peer: rename its folder, and keep it until a broker serves what you need",
        "不要删除任何节点的文件：把目录改名，保留到需要的消息都能正常消费为止",
    ),
}
