"""Why a store is not repaired: each in one sentence that says what to do."""

from __future__ import annotations

_RESCUE = ("Save the messages with `rmqstore rescue`", "请用 `rmqstore rescue` 保存消息")
REFUSALS = {
    "refused in use": (
        "{store} is in use by a broker. Stop the broker first, or repair a copy of its files",
        "broker 正在使用 {store}，无法修复。请先停止 broker，或修复拷贝",
    ),
    "refused not local": (
        "{store} is not a directory of this machine. Copy the store to a disk, and repair the copy",
        "{store} 不是本机的目录。请把 store 复制到磁盘上，再修复这份拷贝",
    ),
    "refused same store": (
        "{store} is the store that is repaired. Name another one that may have what it lacks: a slave, a backup, an old master",
        "{store} 就是要修复的 store。请指定另一个可能有缺失内容的 store：从节点、备份或旧的主节点",
    ),
    "refused other log": (
        "{store} cannot help: only plain segments in a directory of this machine are read for that. Copy or unpack its commitlog first",
        "{store} 无法使用：这里只读取本机目录中未打包的普通 commitlog 文件。请先复制 commitlog，或解包",
    ),
    "refused other sizes": (
        "{store} cannot help: its segment {name} does not begin where this store's {other} does. Both must have segments of one size",
        "{store} 无法使用：文件 {name} 与本 store 的 {other} 起点不同。两者的 commitlog 文件大小必须相同",
    ),
    "refused no record": (
        "{store} has no whole record, so there is nothing to repair. Restore it from a slave or a backup",
        "{store} 中没有完好的记录，无法修复。请用从节点或备份恢复",
    ),
    "refused nothing to extract": (
        "{store} has no whole message of {topics}. Choose other topics: `rmqstore ls` lists them",
        "{store} 中没有 {topics} 的完好消息。请选择其他 topic，查看全部 topic：`rmqstore ls`",
    ),
    "refused topic of broker": (
        "'{topic}' belongs to the broker itself, which makes it again. Choose topics of users: `rmqstore ls` lists them",
        "topic {topic} 是 broker 的系统 topic，broker 会自行创建。请选择用户的 topic，查看全部 topic：`rmqstore ls`",
    ),
    "refused unknown topic": (
        "topic '{topic}' is not in {store}: `rmqstore ls` lists all topics.{near}",
        "{store} 中没有 topic {topic}。查看全部 topic：`rmqstore ls`。{near}",
    ),
    "refused dledger": (
        (
            "{store} is of a DLedger peer, whose log must stay equal to those of the others. Compare the peers first: "
            "`rmqstore diff` says "
            "which has the most. A peer gets its log again from the others if its folder is renamed (never delete it: it may be the only "
            "whole one). To go on without DLedger, make a plain store of it: --plain, in Python plain=True"
        ),
        (
            "{store} 属于 DLedger 节点，commitlog 必须与其他节点一致。请先比较各节点：`rmqstore diff` 会说明哪个最全。把这个节点"
            "的目录改名后，broker 会从其他节点重新取得 commitlog（切勿删除：这份可能是唯一完好的）。如要脱离 DLedger，可生成普通 "
            "store：--plain，在 Python 中为 plain=True"
        ),
    ),
    "refused plain already": (
        "{store} is a plain store already: it has no DLedger log. Repair it without --plain, in Python without plain=True",
        "{store} 已经是普通 store，没有 DLedger commitlog。请去掉 --plain（在 Python 中为 plain=True）再修复",
    ),
    "refused other is no peer": (
        "{store} is not the store of a DLedger peer. What a peer lacks can only be taken from other peers of its group. "
        "Name one of them, or leave --from out",
        "{store} 不是 DLedger 节点的 store：节点缺失的内容只能取自同组的其他节点。请指定其中一个，或去掉 --from",
    ),
    "refused peers part": (
        "{store} and {other} are not the same log after entry {index:,}, and DLedger keeps that of {other}: its last term is higher, or "
        "the same with a higher index. Repair {other}, with --from {store} for what it lacks before that. `rmqstore diff` shows both",
        "{store} 与 {other} 在条目 {index:,} 之后不是同一份 commitlog，而 DLedger 会保留 {other} 的：最后的 term 更高，或 "
        "term 相同而序号更高。请修复 {other}，并用 --from {store} 补上在此之前缺失的内容。`rmqstore diff` 显示两者",
    ),
    "refused controller": (
        "{store} has {name}: its broker runs in controller mode. Brokers compare only epochs and the ends of their logs, so its "
        "slaves would go on with other bytes than a repaired master, and nothing would say so. "
        "Copy the store from the slave with the longest log; or make one of a single master, without a controller and slaves: "
        "--single, in Python single=True",
        "{store} 中有 {name}：broker 以 Controller 模式运行。broker 之间只比较 epoch 和 commitlog 的末尾，因此从节点会继续使"
        "用与修复后的主节点不同的内容，且没有任何提示。请从 commitlog 最长的从节点复制 store；或生成单个主节点的 store，不带 "
        "Controller 和从节点：--single，在 Python 中为 single=True",
    ),
    "refused rocksdb unread": (
        "{store} has {name}, and the library for RocksDB is not installed. Install it: pip install 'rmqstore-spark[rocksdb]'",
        "{store} 中有 {name}，但未安装 RocksDB 库。请安装：pip install 'rmqstore-spark[rocksdb]'",
    ),
    "refused rocksdb damaged": (
        f"{{store}} has {{name}}, which RocksDB cannot open: {{why}}. A broker whose settings use it does not start, and what it held is "
        f"nowhere else. Put a backup in its place; or move it away, if you can do without what it held. {_RESCUE[0]}",
        f"RocksDB 无法打开 {{store}} 中的 {{name}}：{{why}}。配置用到这个数据库的 broker 起不来，而其中的内容别处没有。请用备"
        f"份替换；可以不要其中的内容时，也可以移走。{_RESCUE[1]}",
    ),
    "refused rocksdb store damaged": (
        f"{{store}} has {{name}}, which RocksDB cannot open: {{why}}. A broker 5.5.0 starts all the same and serves the queues, without "
        f"the index, timers and transactions that it held, and they are nowhere else. Put a backup in its place; or move it away, if you "
        f"can do without what it held. {_RESCUE[0]}",
        f"RocksDB 无法打开 {{store}} 中的 {{name}}：{{why}}。5.5.0 的 broker 仍会启动，队列能正常消费，但其中的索引、定时消息和事务"
        f"都没有了，别处也没有。请用备份替换；可以不要其中的内容时，也可以移走。{_RESCUE[1]}",
    ),
    "refused rocksdb twice": (
        "{store} has {names}: queues in RocksDB in two places. A broker refuses to start. Move away the one that "
        "useSeparateStorePathForRocksdbCQ does not choose",
        "{store} 中有 {names}：两处都有 RocksDB 队列，broker 拒绝启动。请移走 useSeparateStorePathForRocksdbCQ 未选用的那一个",
    ),
    "refused rocksdb extract": (
        f"{{store}} has {{name}}: queues or settings in RocksDB cannot be written for an extract, whose messages have new places. "
        f"`rmqstore repair` keeps all topics. {_RESCUE[0]}",
        f"{{store}} 中有 {{name}}：提取的消息位置不同，无法为其写入 RocksDB 中的队列或配置。"
        f"`rmqstore repair` 会保留所有 topic。{_RESCUE[1]}",
    ),
    "refused rocksdb mixed": (
        f"the RocksDB database with queues lacks entries, so a broker would have to make them again. But topic "
        f"'{{topic}}' was deleted and "
        f"created again, and its queue {{queue}} would get messages of the deleted topic, up to offset {{offset:,}}. {_RESCUE[0]}",
        f"RocksDB 队列数据库缺少条目，需要 broker 重新生成。但 topic {{topic}} 删除后又重新创建，队列 {{queue}} 会得到已删除 "
        f"topic 的消息，直到偏移量 {{offset:,}}。{_RESCUE[1]}",
    ),
    "refused rocksdb light": (
        f"light queues (LMQ) are only in {{name}}, and its entries do not agree with the repaired log: a broker with "
        f"rocksdbCQDoubleWriteEnable does not make them again for all records. {_RESCUE[0]}",
        f"轻量队列（LMQ）只在 {{name}} 中，条目与修复后的 commitlog 不符：启用 rocksdbCQDoubleWriteEnable 的 broker 不会为所有"
        f"记录重新生成条目。{_RESCUE[1]}",
    ),
    "refused batches in database": (
        f"{{store}} has batch queues beside queues in RocksDB: what a broker makes of a repair was not tried. {_RESCUE[0]}",
        f"{{store}} 中既有批量队列，又有 RocksDB 中的队列：尚未试过 broker 如何处理修复结果。{_RESCUE[1]}",
    ),
    "refused batches": (
        f"'{{topic}}' has inner batches, and is not of queue type BatchCQ: a broker gives each of their messages a queue offset, "
        f"and all of them one entry, so that its queues cannot name them. {_RESCUE[0]}",
        f"topic {{topic}} 中有内部批量消息，但队列类型不是 BatchCQ：broker 为其中每条消息分配一个位点，却只写入一个条目，因此"
        f"队列中找不到这些消息。{_RESCUE[1]}",
    ),
    "refused batches of extract": (
        "'{topic}' has batch queues (queue type BatchCQ), which are not extracted. `rmqstore repair` writes a store with all topics",
        "topic {topic} 的队列为批量队列（类型 BatchCQ），不能提取。`rmqstore repair` 会写出包含所有 topic 的 store",
    ),
    "refused batch size": (
        "all files of batch queues (queue type BatchCQ) are gone, and nothing in {store} tells how large they were. Name the broker's "
        "configuration: --broker-conf, in Python broker_conf=",
        "批量队列（类型 BatchCQ）的文件全部丢失，{store} 中没有内容能说明文件大小。请指定 broker 的配置：--broker-conf，在 "
        "Python 中为 broker_conf=",
    ),
    "refused light": (
        f"{{name}} is a light queue (LMQ): it lists messages of any topics, and would have gaps in an extract. {_RESCUE[0]}",
        f"{{name}} 是轻量队列（LMQ）：其中有任意 topic 的消息，在提取出的 store 中会出现空缺。{_RESCUE[1]}",
    ),
    "refused no light place": (
        f"light queue {{topic}} lacks {{count:,}} messages from queue offset {{first:,}}, "
        f"and only {{found:,}} placeholders there can name it. {_RESCUE[0]}",
        f"轻量队列 {{topic}} 从位点 {{first:,}} 起缺少 {{count:,}} 条消息，那里只有 {{found:,}} 条占位消息能写下这个名称。{_RESCUE[1]}",
    ),
    "refused no tier": (
        "no tiered storage of {store} was found. If it has one, name the broker's configuration: --broker-conf, in Python broker_conf=. "
        "Else leave --tier out, in Python tier=",
        "未找到 {store} 的多级存储。如果有，请指定 broker 的配置：--broker-conf，在 Python 中为 broker_conf=；否则请去掉 --tier"
        "（在 Python 中为 tier=）",
    ),
    "refused several tiers": (
        "the folder of tiered storage of {store} has files of several brokers, and the store has no config/tieredStoreMetadata.json that "
        "names its own. Put that file back from a backup; or use --tier leave, in Python tier='leave', and keep the folder",
        "{store} 的多级存储目录中有多个 broker 的文件，而 store 中没有 config/tieredStoreMetadata.json 指明哪个属于这个 store"
        "。请从备份恢复这个文件；或使用 --tier leave（在 Python 中为 tier='leave'），并保留这个目录",
    ),
    "refused tier forbidden": (
        "{where}: this user may not open it, so tiered storage would be copied without it. Run the command as the user of the broker",
        "{where}：当前用户无权打开，复制的多级存储会不完整。请用运行 broker 的用户执行本命令",
    ),
    "refused tier elsewhere": (
        "{where}: the files of tiered storage were not found on a disk of this machine, so they cannot be copied or "
        "read. They stay where they "
        "are with --tier leave, in Python tier='leave'. If they are on a disk, name the broker's configuration: --broker-conf",
        "{where}：在本机磁盘上未找到多级存储的文件，无法复制或读取。用 --tier leave（在 Python 中为 tier='leave'）可留在原处"
        "。如果文件在磁盘上，请指定 broker 的配置：--broker-conf",
    ),
    "refused tier of extract": (
        "the tier of {topics} is not kept in an extract: its files have the name of the old broker, and stand for all "
        "its topics. Put its messages "
        "into the new log: --tier log, in Python tier='log'; or leave them out: --tier leave",
        "提取时不能保留 {topics} 的多级存储：文件带有旧 broker 的名称，且属于旧 broker 的所有 topic。请把其中的消息写入新的 "
        "commitlog：--tier log，在 Python 中为 tier='log'；或不要这些消息：--tier leave",
    ),
    "refused tier to such a log": (
        "messages of tiered storage are not put into the log of {store}: its queues are in RocksDB, or its log is of "
        "DLedger, and no broker "
        "was tried with the result. Keep the tier: --tier keep, in Python tier='keep'",
        "不能把多级存储中的消息写入 {store} 的 commitlog：队列在 RocksDB 中，或 commitlog 属于 DLedger，没有用 broker 试过这"
        "样的结果。请保留多级存储：--tier keep，在 Python 中为 tier='keep'",
    ),
    "refused no place before log": (
        "{messages:,} {messages:message is|messages are} only in tiered storage. To write {messages:it|them} before the log of {store}, "
        "{segments:,} more {segments:segment|segments} would be needed, but that log begins at offset {begin:,}: there is no room. After "
        "the log, their queues would be in the wrong order. Keep the tier: --tier keep, in Python tier='keep'",
        "有 {messages:,} 条消息只在多级存储中。要写到 {store} 的 commitlog 之前，需要增加 {segments:,} 个文件，而 commitlog "
        "从偏移量 {begin:,} 开始：放不下。写到 commitlog 之后，队列中的顺序会错。请保留多级存储：--tier keep，在 Python 中为 "
        "tier='keep'",
    ),
    "refused tier parted": (
        "tiered storage has queue {queue} of topic '{topic}' up to queue offset {end:,}, and the new log begins at "
        "{begin:,}. A broker with "
        "the tier deletes all messages of that queue there. Put them into the new log: --tier log, in Python tier='log'",
        "多级存储中，topic {topic} 的队列 {queue} 到位点 {end:,} 为止，而新的 commitlog 从 {begin:,} 开始。使用这个多级存储的"
        " broker 会删除这个队列的全部消息。请写入新的 commitlog：--tier log，在 Python 中为 tier='log'",
    ),
    "refused packed cut": (
        (
            "{name} is a packed segment that cannot be unpacked: it is cut, damaged or empty. Look for a whole copy of it. Without one, "
            "move it away, with what is left of it in a file elsewhere: {command}"
        ),
        (
            "{name} 是压缩的 commitlog 文件，但无法解压：不完整、已损坏或为空。请查找完整的拷贝。如果没有，请移走这个文件，并把剩"
            "余的部分写到别处：{command}"
        ),
    ),
    "refused packed": (
        "{name} is packed or renamed, and a broker reads plain segments only. Restore it first, in its directory: {command}",
        "{name} 是压缩（或打包）的、改过名的文件，而 broker 只读取普通的 commitlog 文件。请先在所在目录中还原：{command}",
    ),
    "refused segment sizes": (
        "segment {name} has {size:,} bytes, and others begin {expected:,} bytes apart. Move it away, or correct its name",
        "commitlog 文件 {name} 有 {size:,} 字节，而其他文件的起点相隔 {expected:,} 字节。请移走这个文件，或改正文件名",
    ),
    "refused segment names": (
        "segment {name} does not begin at a multiple of {expected:,} bytes, as others do. Move it away, or correct its name",
        "commitlog 文件 {name} 的起点不是 {expected:,} 字节的倍数，与其他文件不同。请移走这个文件，或改正文件名",
    ),
    "refused segments": (
        "{count:,} segments would have to be made, more than {most:,}. Look for the missing files first",
        "需要生成 {count:,} 个 commitlog 文件，超过 {most:,} 个。请先查找缺失的文件",
    ),
    "refused queue sizes": (
        "queue file {name} has {size:,} bytes, others {expected:,}. Move the files of another configuration away",
        "队列文件 {name} 有 {size:,} 字节，其他文件有 {expected:,} 字节。请移走属于其他配置的文件",
    ),
    "refused configured": (
        "the broker's configuration sets {name} to {size:,}, and the store has {found:,}: a broker does not start on files of another "
        "size. Name the configuration with which the store was written",
        "broker 配置中 {name} 为 {size:,}，而 store 中为 {found:,}：文件大小不同时 broker 起不来。请指定写入 store 时所用的配置",
    ),
    "refused foreign": (
        "{what}. Look for the right file. Without it, move this one away, and repair again: the messages that were there count as lost",
        "{what}。请查找正确的文件。如果没有，请移走这个文件，再重新修复：原有的消息计为丢失",
    ),
    "refused order": (
        "the queue offsets of queue {queue} of '{topic}' go back at offset {offset:,}, and no consume queue says which "
        "of the two records "
        f"counts. {_RESCUE[0]}",
        f"topic {{topic}} 队列 {{queue}} 的位点在偏移量 {{offset:,}} 处回退，且没有消费队列说明两条记录中哪一条有效。{_RESCUE[1]}",
    ),
    "refused many": (
        "queue {queue} of '{topic}' lacks {count:,} messages, more than the damaged bytes can have held. A record or an "
        "entry has a wrong "
        "queue offset: run `rmqstore verify`, and save the messages with `rmqstore rescue`",
        "topic {topic} 的队列 {queue} 缺少 {count:,} 条消息，超过损坏的字节所能容纳的数量。某条记录或某个条目的队列位点有误："
        "请运行 `rmqstore verify`，并用 `rmqstore rescue` 保存消息",
    ),
    "refused no room": (
        f"{{size:,}} damaged bytes at offset {{offset:,}} have no room for a record in the place of the one that was lost. {_RESCUE[0]}",
        f"偏移量 {{offset:,}} 处损坏的 {{size:,}} 字节放不下代替丢失消息的记录。{_RESCUE[1]}",
    ),
    "refused no place": (
        "queue {queue} of '{topic}' lacks {count:,} {count:message|messages} from queue offset {first:,} on, and the {size:,} damaged "
        f"bytes after offset {{offset:,}} between its neighbours have no room for {{count:it|them}}. {_RESCUE[0]}",
        f"topic {{topic}} 的队列 {{queue}} 从队列位点 {{first:,}} 起缺少 {{count:,}} 条消息，而偏移量 {{offset:,}} 之后、相邻"
        f"消息之间损坏的 {{size:,}} 字节放不下这些消息。{_RESCUE[1]}",
    ),
    "refused property crc": (
        "the records have checksums of the broker (enabledAppendPropCRC), which cover their places in the log, and an "
        "extract moves them. "
        "`rmqstore repair` keeps the places, and writes a store with all topics",
        "记录带有 broker 的校验和（enabledAppendPropCRC），其中包含记录在 commitlog 中的位置，而提取会移动记录。`rmqstore "
        "repair` 保留这些位置，并写出包含所有 topic 的 store",
    ),
    "refused unfinished": (
        "{path} holds a repair that was not finished. Name the damaged store: the same repair continues it",
        "{path} 中有一次未完成的修复。请指定损坏的 store：再次执行同一修复命令即可继续",
    ),
    "refused left": (
        "{path} holds an unfinished repair that this one cannot continue: it is of another store, has other options, or "
        "files of the store "
        "changed since then. Delete it, and start again: rm -r {path}",
        "{path} 中有一次未完成的修复，本次无法继续：属于另一个 store、选项不同，或 store 的文件在那之后有变化。请删除后重新开"
        "始：rm -r {path}",
    ),
    "refused links": (
        "a file cannot be in two file systems: {path} is not on the disk of {store}. Choose a folder there, or leave out --link "
        "(in Python, link=True)",
        "同一文件不能位于两个文件系统：{path} 与 {store} 不在同一磁盘上。请选择同一磁盘上的目录，或去掉 --link（在 Python 中为 link=True）",
    ),
    "refused changed": (
        "files of {store} changed while it was repaired. Find out what writes to it: a broker must not run on it. Then "
        "delete {path}, and "
        "repair again: rm -r {path}",
        "修复期间 {store} 的文件有变化。请查明是什么在写入：不能有 broker 正在使用。然后删除 {path}，重新修复：rm -r {path}",
    ),
    "refused being written": (
        "another repair is writing to {path}. Wait for its end, or choose another folder",
        "另一次修复正在写入 {path}。请等那次修复结束，或换一个目录",
    ),
    "refused mount": (
        "{path} is where a disk is mounted, and the new store appears there under a new name. Name a folder in it: {path}/store",
        "{path} 是磁盘的挂载点，而新 store 写好后要改名到那里。请指定挂载点下的一个目录：{path}/store",
    ),
    "refused file": (
        "{path} is a file. Choose a folder that is new or empty",
        "{path} 是文件。请换一个新目录或空目录",
    ),
    "refused not empty": (
        "{path} is not empty: it contains {name}. Choose a new or empty folder",
        "目录 {path} 不为空，其中有 {name}。请换一个新目录或空目录",
    ),
    "refused no space": (
        "{path} has {free} free, and the new store needs {needed}. Choose a folder on another disk",
        "磁盘空间不足：{path} 剩余 {free}，新 store 需要 {needed}。请换一块更大的磁盘",
    ),
    "refused no space without links": (
        "{path} has {free} free, and the new store needs {needed}. Add --link (in Python, link=True): it then shares files with {store} "
        "and needs {linked}. Or choose a folder on another disk",
        "磁盘空间不足：{path} 剩余 {free}，新 store 需要 {needed}。请加上 --link（在 Python 中为 link=True），这样与 {store} "
        "共享文件，只需要 {linked}；或换一块更大的磁盘",
    ),
    "refused proof": (
        "the new store is not what it should be: {found}. It stays in {path} for a look; the source was not changed",
        "新 store 与预期不符：{found}。结果保留在 {path}，供检查；原 store 没有改动",
    ),
}
