"""The help of the commands in Chinese, by its English.

It is not with the other sentences, which are in the engine: the help must not wait until numpy and pyarrow are imported. The English is the
key, as the command has it beside its option. So who changes it finds out, by a test, that the Chinese must change, too.
"""

from __future__ import annotations

HELP_TEXTS: dict[str, str] = {
    "Usage": "用法",
    "Options": "选项",
    "Commands": "命令",
    "[OPTIONS]": "[选项]",
    "COMMAND [ARGS]...": "命令 [参数]...",
    "[required]": "[必填]",
    "Show this message and exit.": "显示帮助",
    "Print the version, and exit.": "显示版本",
    "Examples:": "示例：",
    # The program
    "Read the files of an Apache RocketMQ broker, without the broker. Nothing in a store is changed.": (
        "读取 Apache RocketMQ broker 的存储文件，不需要 broker 运行。对 store 只读，不做任何改动。"
    ),
    ("STORE is a broker's storePathRootDir, a commitlog directory, one segment, a directory of stores, or a copy of one of these."): (
        "STORE 可以是 broker 的 storePathRootDir、commitlog 目录、单个 commitlog 文件、多个 store 所在的目录，或以上任意一种的拷贝。"
    ),
    "Is this a store, what is in it, is it in use, what is odd?": "诊断 store：有什么内容、是否正在使用、有什么异常",
    "List stores, topics or queues.": "列出 store、topic 或队列",
    "What fills the disk: by topic, tag, hour, producer, kind or size.": "查看磁盘空间占用：按 topic、tag、小时、生产者、类型或大小",
    "Find messages by key, id, offset or condition; index hits first.": "查找消息：按 key、消息 ID、偏移量或条件，索引中有的在前",
    "Print messages.": "打印消息",
    "Print the newest messages, and new ones as they arrive.": "打印最新的消息，并持续打印新到的消息",
    "Print any other table: damage, segments, queues, consumer_offsets …": "打印其他表：damage、segments、queues、consumer_offsets 等",
    "Run an SQL query of DuckDB on messages and the other tables.": "用 DuckDB 对消息和其他表执行 SQL 查询",
    "Show what a read would look at, and why.": "显示一次读取会读哪些内容，以及原因",
    "Write a summary of a store, so that later reads find their messages without a scan.": "写出 store 的摘要，之后查找消息不必扫描",
    "Which consumer groups are behind, since when, and what have they lost?": "查看哪些消费组有堆积、从何时开始、丢失了什么",
    "Which messages did consumer groups give up, from which topics, since when?": (
        "查看死信消息：属于哪些消费组、来自哪些 topic、从何时开始"
    ),
    "Write messages to Parquet, Arrow, JSON lines or CSV.": "导出消息：Parquet、Arrow、JSON lines 或 CSV",
    "Save what can be read of a broken store, with a page about what was lost.": (
        "抢救消息：保存损坏的 store 中可读的内容，并说明丢失了什么"
    ),
    "What did each team lose? A folder with a file and a text to send for each topic.": (
        "清点各团队丢失的消息：每个 topic 有一份清单和一份可发送的说明"
    ),
    "Write a new store on which a broker runs, with every message that survived.": (
        "修复 store：用完好的消息写出新 store，broker 可直接用来启动"
    ),
    "Write a new store with the messages of some topics, for a broker elsewhere.": (
        "提取部分 topic 的消息，写成新 store，供其他 broker 使用"
    ),
    "Compare two stores: what has a slave, a copy or an old master that the other lacks?": (
        "比对两个 store：从节点、拷贝或旧的主节点有哪些对方缺失的内容"
    ),
    "Check that log, queues, index and configuration agree.": "校验 commitlog、消费队列、索引和配置是否一致",
    "Write a page about one store or several, to look at and to send on.": "生成一个或多个 store 的报告页面，可查看和转发",
    "Exit codes:": "退出码：",
    "clean": "正常",
    (
        "nothing was found: by find, or of a topic that the store does not have; or damage was skipped, data is lost, or a check found "
        "something"
    ): "find 没有找到，或 store 中没有指定的 topic；或跳过了损坏、有数据丢失、检查发现问题",
    "wrong arguments": "参数错误",
    "the store cannot be read, or the output cannot be written": "无法读取 store，或无法写出结果",
    "interrupted": "已中断",
    "Completion in bash; docs/cli.md has zsh and fish:": "bash 的命令补全（zsh 和 fish 见 docs/cli.md）：",
    # Options of several commands
    "The language.  [default: as the locale, else en]": "语言  [默认：按 locale，没有时为 en]",
    "Directories of the log, if not below STORE.": "commitlog 目录，可多个；不在 STORE 下时指定",
    "Directory of the consume queues, if not below STORE.": "消费队列的目录，不在 STORE 下时指定",
    "Directory of the index files, if not below STORE.": "索引文件的目录，不在 STORE 下时指定",
    "The broker's configuration file, which contains these paths.": "broker 的配置文件，其中有以上路径",
    "Only this topic. Several: repeat it, or use commas.": "只要这个 topic；多个时重复使用，或用逗号分隔",
    "Only topics whose whole name matches.": "只要完整名称匹配的 topic",
    "Only this queue.": "只要这个队列",
    "Only this tag. Several: 'paid || refunded'.": "只要这个 tag；多个时写成 'paid || refunded'",
    "Only messages with this key; with one of them if repeated.": "只要有这个 key 的消息；可重复，有其一即可",
    "Only the message with this id.": "只要这个消息 ID 的消息（msgId 或 offsetMsgId）",
    "Only messages stored at this time or later: '2026-01-31 12:00:00Z'; or so long ago: 90m, 2h, 7d.": (
        "只要在这个时间及之后存储的消息：'2026-01-31 12:00:00Z'；也可写多久以前：90m、2h、7d"
    ),
    "Only messages stored before this time.": "只要在这个时间之前存储的消息",
    "Only messages with this text in the body or in the value of a property.": "只要消息体或消息属性的值中有这段文本的消息",
    "Read only what this summary names, where it covers the log: rmqstore summarize.": (
        "摘要范围内的 commitlog，只读取摘要指出的记录，见 rmqstore summarize"
    ),
    "Use this summary. If all messages are read, first write the parts that it lacks.": ("使用这个摘要；读取全部消息时，先补写缺失部分"),
    "Only rows for which this condition is true: \"kind = 'dlq'\".": "只要符合条件的行：\"kind = 'dlq'\"",
    "Zone of the times shown, UTC if not set, and of times written without one: Asia/Shanghai.": (
        "时区，用于显示的时间（不指定时为 UTC）和没有写时区的时间：Asia/Shanghai"
    ),
    "Only this consumer group; several, if repeated.": "只要这个消费组；多个时重复使用",
    "These columns, in this order, separated by commas; * is all.": "只要这些列，按这个顺序，用逗号分隔；* 为全部",
    "Read at most this much per second: 100MB/s. Next to a busy broker.": "限速，例如 100MB/s；broker 繁忙时使用",
    "Read this many parts in parallel.  [default: 1]": "并行任务数  [默认：1]",
    "Any other option: docs/options.md.": "其他选项，见 docs/options.md",
    "What to call the broker; of several stores, --name STORE=NAME for each.  [default: as it is configured]": (
        "broker 的名称；有多个 store 时，每个用 --name STORE=NAME  [默认：配置中的名称]"
    ),
    "How long the broker keeps a segment.  [default: fileReservedTime of --broker-conf, else 72]": (
        "commitlog 文件的保留时间  [默认：--broker-conf 中的 fileReservedTime，没有时为 72]"
    ),
    "Stop at the first damage instead of reading on after it.": "遇到第一处损坏就停止，不跳过",
    "Print JSON, one object per line.": "输出 JSON，每行一个对象",
    "How bodies are shown.  [default: auto]": "消息体的显示方式  [默认：auto]",
    "Only read STORE, and print the plan.": "试运行：只读取 STORE，打印计划，不写入",
    "Group by this.  [default: topic]": "分组方式  [默认：topic]",
    # doctor
    (
        "Look at a store without reading its log: which parts it has and where, which brokers may have written it, whether one "
        "is using it, and what is odd. --full reads the whole log too, and counts in which state each message is."
    ): (
        "查看 store，不读取 commitlog：有哪些部分、在哪里，可能由哪些版本的 broker 写入，broker 是否正在使用，有哪些异常。"
        "--full 还会读取全部 commitlog，清点每条消息的状态。"
    ),
    "Read the whole log, and count in which state each message is.": "读取全部 commitlog，清点每条消息的状态",
    "The version of the broker that is to be started, such as 5.3.2.": "要启动的 broker 的版本，例如 5.3.2",
    # ls
    "List the topics of a store, with --queues its queues, or with --stores only the stores.": (
        "列出 store 的 topic；--queues 列出队列，--stores 只列出 store。"
    ),
    (
        "The numbers come from the consume queues, so they are quick. A deleted topic has no queue, and no queue lists prepared "
        "or rolled back messages: `rmqstore stat` counts what the log has."
    ): (
        "数字取自消费队列，所以很快。已删除的 topic 没有队列，队列中也没有未提交和已回滚的事务消息：按 commitlog 计数请用 `rmqstore stat`。"
    ),
    "List the stores, with the size of their logs.": "列出 store 和 commitlog 的大小",
    "List each queue, with its offsets.": "列出每个队列和位点",
    # stat
    ("Show what fills the log: messages and bytes by topic, tag, hour, day, producer, kind, queue or size. Several --by are combined."): (
        "查看 commitlog 的空间占用：按 topic、tag、小时、天、生产者、类型、队列或大小，统计消息数和字节数。可组合多个 --by。"
    ),
    (
        "Bodies are not read into rows. Bytes are those of whole records; an inner batch counts once. Hours and days are of the "
        "store time, in UTC or in --time-zone. A producer is the host that sent the message. A deleted topic has records until "
        "its segments expire."
    ): (
        "不取出消息体。字节数按整条记录计算，一个内部批量消息只计一次。小时和天按存储时间计算，时区为 UTC 或 --time-zone。生产"
        "者指发送消息的主机。topic 删除后，在 commitlog 文件过期之前仍有记录。"
    ),
    "Group by this.  [default: topic; of several stores, broker and topic]": ("分组方式  [默认：topic；有多个 store 时为 broker 和 topic]"),
    "Print the largest groups only; 0 is all.  [default: 20 on a terminal]": "只显示最大的 N 组，0 为全部  [默认：终端上为 20]",
    # find
    "Find messages. All conditions must be true.": "查找符合全部条件的消息。",
    (
        "Messages that the index names are printed at once. Then the bytes that the index does not cover are searched, with a "
        "progress bar. There is no limit on the number of results, and all copies of a message are printed. Other messages "
        "whose keys have the same hash are not. Up to 1000 results of a quick search are sorted by store time. The exit code is "
        "1 if nothing is found."
    ): (
        "索引指向的消息立即打印，然后查找索引范围之外的内容，并显示进度。结果数量没有上限，同一条消息有几份就打印几份；只是哈希"
        "值相同、key 不同的消息不打印。查找很快且结果不超过 1000 条时，按存储时间排序。未找到时，退出码为 1。"
    ),
    "Only the message at this offset of the log, or at TOPIC/QUEUE/OFFSET.": ("只要这个物理偏移量处的消息，或 TOPIC/QUEUE/OFFSET 处的消息"),
    "Stop after the first message.": "找到第一条消息就停止",
    "Only messages with one of these keys, one in each line.": "只要有这些 key 之一的消息，每行一个 key",
    # cat and tail
    "Print messages in the order of the log.": "按 commitlog 中的顺序打印消息。",
    (
        "On a terminal, each message has a heading and its body below it. In a pipe, each is a line with tabs between its "
        "columns. With --json, each is an object. Control characters are always escaped."
    ): (
        "在终端上，每条消息先是标题，下面是消息体。在管道中，每条消息一行，各列以制表符分隔。用 --json 时，每条消息是一个对象。"
        "控制字符一律转义。"
    ),
    "Print at most this many messages.": "最多打印 N 条消息",
    "Print the newest messages that match. With -f, then print new ones as they arrive, until you interrupt it.": (
        "打印符合条件的最新消息。用 -f 时，之后持续打印新到的消息，直到中断。"
    ),
    "Only whole messages are printed, each once. A running broker is not disturbed; --rate limits what is read.": (
        "只打印完整的消息，每条一次。不影响正在运行的 broker，可用 --rate 限速。"
    ),
    "Wait for new messages.": "等待新消息",
    "Print this many messages first.  [default: 10]": "先打印 N 条消息  [默认：10]",
    # tables, sql and explain
    "Print a table. Without a STORE, list its columns; without a NAME too, list the tables.": (
        "打印一个表。没有 STORE 时列出表的各列，NAME 也没有时列出全部表。"
    ),
    "docs/tables.md describes them.": "各表的说明见 docs/tables.md。",
    "Print at most this many rows.": "最多打印 N 行",
    "Run an SQL query of DuckDB on messages and the other tables of a store: rmqstore tables lists them.": (
        "用 DuckDB 对 store 的消息和其他表执行 SQL 查询。列出全部表：rmqstore tables。"
    ),
    (
        "The query reads only the columns that it names. Its conditions show what need not be read of the log: topic, times, "
        "offsets, and keys with list_contains(keys, 'ORDER-1'), which uses the index. Nothing is written to a store, and a "
        "query can read no other file. messages has the columns of rmqstore cat --json, and every other column that the query "
        "names."
    ): (
        "只读取查询用到的列。topic、时间、位点、偏移量等条件可减少 commitlog 的读取量，key 用 list_contains(keys, 'ORDER-1') 可"
        "用到索引。不写入 store，查询也不能读取其他文件。messages 表有 rmqstore cat --json 的各列，以及查询用到的其他列。"
    ),
    (
        "With -o, the rows go to a file, whose name ends in .parquet, .arrow, .jsonl, .json or .csv; .jsonl, .json and .csv "
        "also with .gz or .zst. It needs DuckDB: pip install 'rmqstore-spark[sql]'."
    ): (
        "用 -o 时，结果写入文件，文件名以 .parquet、.arrow、.jsonl、.json 或 .csv 结尾；.jsonl、.json 和 .csv 后面还可加 .gz 或 "
        ".zst。需要 DuckDB：pip install 'rmqstore-spark[sql]'。"
    ),
    "Write the rows to this file.": "把结果写入这个文件",
    "Show what a read of messages would look at, what it skips, and why. Nothing but the plan is read.": (
        "显示读取消息时会读哪些内容、跳过哪些内容，以及原因。只读取做计划所需的内容。"
    ),
    "The options are those of `cat` and `find`.": "选项与 `cat` 和 `find` 相同。",
    # summarize
    "Write a summary of STORE to DIR: where each full segment has the records of each topic, queue and key.": (
        "把 STORE 的摘要写入 DIR：每个写满的 commitlog 文件中，各 topic、队列和 key 的记录在哪里。"
    ),
    (
        "With --summary DIR, other commands then read only the records that they want. A segment that has a part is not read "
        "again, so run it from time to time. STORE is only read, and DIR must be outside of it."
    ): (
        "之后其他命令加上 --summary DIR，就只读取需要的记录。已有摘要的 commitlog 文件不再读取，因此可以定期执行。STORE 只读，"
        "DIR 必须在 STORE 之外。"
    ),
    "The folder of the summary.": "摘要的目录",
    # lag
    ("Show how far consumer groups are behind, by group and topic, the largest lag first: from the offsets that the broker stored."): (
        "查看各消费组的堆积，按消费组和 topic 列出，堆积量最大的在前。消费位点取自 broker 保存的文件。"
    ),
    "messages between the group's offset and the end of the queue": "消费位点到队列末尾之间的消息",
    "those of them that are before the log: the group never gets them": "其中早于 commitlog 起点的：消费组再也收不到",
    "those of them that are in tiered storage only; shown if there are any": "其中只在多级存储中的；没有时不显示",
    "queues with a lag": "有堆积的队列",
    "when the first message was stored that the group has not read": "第一条未消费消息的存储时间",
    ("Of the log, one record of each queue is read. --verify reads all of it, and counts what each group has not read by state:"): (
        "commitlog 中，每个队列只读取一条记录。--verify 会读取全部 commitlog，按状态清点各消费组未消费的消息："
    ),
    "whole, and its queue names it; with those that a broker queues when it starts": (
        "完好，有队列条目指向；包括 broker 启动时会补建条目的消息"
    ),
    "whole, and no consumer gets it": "完好，但消费者收不到",
    "something contradicts it": "存疑，有内容与消息不符",
    "something names it, and it is not there": "有佐证，但消息不在了",
    "in a file that was not read": "所在的文件未读取",
    (
        "A group with a tag filter skips messages: rmqstore tables STORE lag_by_tag counts them by tag. Nothing in the store "
        "says how fast a group consumes; two runs do. If there are several stores, each row names its broker. The exit code is "
        "1 if a group of --group has no offset, if an offset is after the end of its queue, or if --verify found "
        "errors, warnings, or a message that is not as the broker left it."
    ): (
        "按 tag 过滤的消费组会跳过一些消息，按 tag 计数请用 rmqstore tables STORE lag_by_tag。store 中看不出消费速度，执行两次"
        "即可比较。有多个 store 时，每行都有 broker 的名称。--group 指定的消费组没有消费位点、"
        "有消费位点超出队列末尾，或 --verify 发现错误、警告或不能正常消费的消息时，退出码为 1。"
    ),
    "A row for each topic of a group, or each queue.  [default: topic]": "每行是消费组的一个 topic，或一个队列  [默认：topic]",
    "Also groups that are not behind.": "也显示没有堆积的消费组",
    "Also check all files against each other, and count by state. Reads the log.": "同时核对全部文件，并按状态计数；会读取 commitlog",
    # dlq
    "Show the messages that consumer groups gave up (%DLQ%), by group and by the topic they were sent to, the most first.": (
        "查看死信消息（%DLQ%），按消费组和原 topic 列出，消息最多的在前。"
    ),
    "that are still in the log: they expire with their segments": "仍在 commitlog 中的消息，随 commitlog 文件过期",
    "how often consumers failed on one of them, at most": "单条消息消费失败的次数，取最大值",
    "when the first of them was given up": "最早一条进入死信队列的时间",
    "when the last of them was given up": "最近一条进入死信队列的时间",
    "A broker stores no reason. Of the log, only what may hold such messages is read, if the consume queues show where.": (
        "broker 不保存原因。消费队列能指明位置时，只读取 commitlog 中可能有死信消息的部分。"
    ),
    # export
    "Write messages to files in a folder.": "把消息导出为目录中的文件。",
    (
        "You can stop it at any time, even with kill -9. The same command then continues, and every message is there once. "
        "Checksums are verified. Damage is skipped and listed in _damage.jsonl; the exit code is then 1. It is also 1 if "
        "nothing is exported because the topic, queue, key or id is not in the store. _summary.json has the counts."
    ): (
        "可随时中断，kill -9 也可以；再次执行同一命令即从断点继续，每条消息不重不漏。会检查 CRC 校验和。损坏会跳过，并列在 "
        "_damage.jsonl 中，此时退出码为 1。store 中没有指定的 topic、队列、key 或消息 ID，因此什么也没有导出时，退出码也为 1。"
        "计数见 _summary.json。"
    ),
    (
        "With --state, each run writes only the messages that came since the last run with that file, into folders by day: for "
        "cron. Every message is there once, also if a run was killed."
    ): (
        "用 --state FILE 时，每次只写入上次使用同一 FILE 运行之后的新消息，按天分目录，适合 cron。即使某次运行被 kill，每条消息也不重不漏。"
    ),
    "Formats:": "格式：",
    "every column in its own type (the default)": "每列都是自己的类型（默认格式）",
    "likewise, as Arrow IPC files": "同上，写成 Arrow IPC 文件",
    "one JSON object per line; times are ISO 8601 in UTC": "每行一个 JSON 对象；时间为 ISO 8601 格式（UTC）",
    "with a header; keys and properties are JSON text": "有表头；keys 和 properties 为 JSON 文本",
    "Bodies in jsonl and csv are base64, or with --text UTF-8 text in which other bytes become U+FFFD.": (
        "jsonl 和 csv 中，消息体为 base64；用 --text 时为 UTF-8 文本，其他字节写成 U+FFFD。"
    ),
    "The folder: a new one, or one to continue.": "输出目录：新目录，或要继续的目录",
    "parquet, arrow, jsonl or csv.  [default: parquet]": "parquet、arrow、jsonl 或 csv  [默认：parquet]",
    "Write only what came since the last run with this file.": "只写入上次使用这个文件运行之后的新消息",
    "A folder for each value of these columns, or of 'day': topic,day.": "按这些列（或 day）的值分目录：topic,day",
    "Of the files: none, zstd, gzip …  [default: zstd for parquet, else none]": (
        "文件的压缩方式：none、zstd、gzip 等  [默认：parquet 为 zstd，其他为 none]"
    ),
    "Bodies as text in jsonl and csv.": "在 jsonl 和 csv 中，消息体写成文本",
    "JSON lines with what a producer needs to send the messages again: docs/resend.md.": (
        "写成 JSON lines，包含重新发送所需的内容，见 docs/resend.md"
    ),
    # rescue and lost
    ("Save what a store holds: write all readable messages to FOLDER, check the rest, and describe both in FOLDER/rescue.html."): (
        "抢救消息：把 STORE 中所有可读的消息写入 FOLDER，检查其余内容，并生成报告 FOLDER/rescue.html。"
    ),
    (
        "The page, also as rescue.md, says what was saved and what was lost, by topic and queue. Run it before a broker starts "
        "on the store: a broker deletes what follows the first damage. You can stop it at any time; the same command then "
        "continues. The exit code is 1 if anything was lost or is wrong."
    ): (
        "报告（也写成 rescue.md）按 topic 和队列说明保存了什么、丢失了什么。请在启动 broker 之前执行：broker 会删除第一处损坏之"
        "后的内容。可随时中断，再次执行同一命令即从断点继续。有丢失或有问题时，退出码为 1。"
    ),
    "The folder, if it is not the last argument.": "输出目录，不是最后一个参数时指定",
    "Write to FOLDER what the owners of topics must know of messages that consumers cannot get.": (
        "清点消费者收不到的消息，把各 topic 负责人需要知道的内容写入 FOLDER。"
    ),
    (
        "For each topic: each message or range with its queue offsets, the times between which it was stored, its size, the "
        "hash of its tag, hashes of its keys, and which groups had read past it; as lost.csv and lost.jsonl, with --lang zh "
        "also as lost.zh.csv, for people. And a text to send, in English and Chinese. The exit code is 1 if a message is lost, "
        "doubtful, unreachable or not read, or a key is "
        "not in a whole message."
    ): (
        "每个 topic 都有 lost.csv 和 lost.jsonl，列出每条（或每段）消息的队列位点、存储时间的范围、大小、tag 的哈希值、key 的哈"
        "希值，以及哪些消费组的消费位点已越过；--lang zh 时另有中文表头的 lost.zh.csv。另有可发送的说明，中英文各一份。"
        "有消息丢失、存疑、消费不到或未读取，或有 key 不"
        "在完好的消息中时，退出码为 1。"
    ),
    "The folder: new or empty.": "输出目录：新目录或空目录",
    "Which of these keys are whole, doubtful or lost? One a line.": "查明文件中的 key 完好、存疑还是丢失，每行一个 key",
    "A folder for each team: lines orders*,sales in CSV; or JSON.": "按团队分目录：CSV，每行如 orders*,sales；或 JSON",
    # repair and extract
    "Write a new store to NEW on which a broker runs, with every message of STORE that survived.": (
        "修复 store：把 STORE 中完好的消息写成新 store，放在 NEW，broker 可直接用来启动。"
    ),
    (
        "Messages keep their places, queue offsets and ids; consumers keep their offsets. STORE is only read. Before it ends, "
        "the command checks the new store and compares its messages with those of STORE. NEW/repair.md says what was lost and "
        "what to do before you reconnect clients. You can stop it at any time; the same command then continues. The exit code "
        "is 1 if a message was lost."
    ): (
        "物理偏移量、队列位点和消息 ID 都不变，消费组从原来的消费位点继续。STORE 只读。结束之前会校验新 store，并与 STORE 比对"
        "消息。丢失了什么、放行客户端之前要做什么，见 NEW/repair.md。可随时中断，再次执行同一命令即从断点继续。有消息丢失时，退"
        "出码为 1。"
    ),
    "Take what STORE lacks from this store of the same log: a slave, a backup, an old master. May be given several times.": (
        "STORE 缺失的内容取自这个 store，两者须为同一份 commitlog：从节点、备份或旧的主节点。可多次使用"
    ),
    "A message whose body has a wrong checksum: drop it, or keep its changed body and fix the checksum.  [default: drop]": (
        "CRC 校验失败的消息：丢弃，或保留并改写 CRC  [默认：drop]"
    ),
    "Keep messages whose tags or keys are lost or contradicted by their queue or the index.": (
        "保留 tag 或 key 已丢失，或与队列、索引不符的消息"
    ),
    "Also repair the store of a broker with a controller, for a master without any.": (
        "也修复 Controller 模式的 store，供不用 Controller 的主节点使用"
    ),
    "Make hard links to segments and queue files that nothing changes, not copies. NEW then shares these files with STORE.": (
        "内容不变的 commitlog 文件和队列文件用硬链接，不复制。NEW 会与 STORE 共用这些文件"
    ),
    "Of the store of a DLedger peer, make a plain one, for a broker without DLedger.": (
        "用 DLedger 节点的 store 生成普通 store，供不用 DLedger 的 broker 使用"
    ),
    (
        "Tiered storage: copy its files as they are, put its messages into the new log, or leave it where it is.  [default: "
        "what loses nothing]"
    ): ("多级存储：原样复制文件，把消息写入新的 commitlog，或留在原处  [默认：不丢失消息的方式]"),
    "Write a new store to NEW with the messages of some topics of STORE, for a broker elsewhere.": (
        "把 STORE 中部分 topic 的消息写成新 store，放在 NEW，供其他 broker 使用。"
    ),
    (
        "Messages keep their queue offsets, tags, keys and unique ids; consumers keep their offsets. Their places in the log "
        "change, and so do the ids that brokers make of these (offsetMsgId). STORE is only read. Before it ends, the command "
        "checks the new store and compares its messages with those of STORE. NEW/extract.md says what is different. The exit "
        "code is 1 if a message was lost."
    ): (
        "队列位点、tag、key 和消息 ID（msgId）都不变，消费组从原来的消费位点继续。物理偏移量会变，broker 由此生成的 offsetMsgId "
        "也会变。STORE 只读。结束之前会校验新 store，并与 STORE 比对消息。有哪些不同，见 NEW/extract.md。有消息丢失时，退出码为 "
        "1。"
    ),
    # diff
    ("Compare two stores: what has one of them that the other lacks? For slaves, copies, backups and old masters. Kinds of differences:"): (
        "比对两个 store：一方有哪些另一方缺失的内容。适用于从节点、拷贝、备份和旧的主节点。差异的类型："
    ),
    "from before the other log begins": "早于另一方 commitlog 的起点",
    "from after the other log ends": "晚于另一方 commitlog 的末尾",
    "the other log has no whole record there; or, between logs that share none, no message with that unique key": (
        "另一方在此处没有完好的记录；两份 commitlog 没有共同的记录时，指没有这个消息 ID（msgId）的消息"
    ),
    "the other log has another record there, or another size or checksum": "另一方在此处的记录不同，或大小、校验和不同",
    "from after the point where the logs part, and the other log has no message with that unique key": (
        "在两份 commitlog 分叉之后，且另一方没有这个消息 ID（msgId）的消息"
    ),
    (
        "Two or more stores of DLedger peers are compared entry by entry: what each has, where they part, and which to take. "
        "With --by or --each, the messages of two are compared instead."
    ): (
        "两个或多个 DLedger 节点的 store 会逐个条目比对：各有什么、从哪里分叉、应该用哪个。加上 --by 或 --each 时，改为比对两个 "
        "store 的消息。"
    ),
    (
        "Logs that share offsets are compared record by record: head, tags, unique key, and the body by its checksum. A body "
        "that is damaged is missing. Each store is also checked, and the states of its messages are counted: two stores can "
        "lack the same. --heads compares the heads only, which is faster: stores are not checked. The exit code is 1 if there "
        "are differences, if a message of a store is lost, doubtful, unreachable or not read, or if a log is damaged."
    ): (
        "两份 commitlog 有共同的偏移量时，逐条比对记录：记录头、tag、消息 ID（msgId），消息体按校验和比对。消息体损坏的算作缺"
        "失。还会检查每个 store，清点消息的状态：两个 store 可能缺失相同的消息。--heads 只比对记录头，更快，但不检查 store。有"
        "差异，有消息丢失、存疑、消费不到或未读取，或 commitlog 有损坏时，退出码为 1。"
    ),
    "Print each message instead.": "不分组，逐条打印消息",
    "Compare only heads: bodies are not checked.": "只比对记录头，不检查消息体",
    # verify and report
    "Check that the log, consume queues, index, checkpoint and configuration of a store agree. It reads the whole log once.": (
        "校验 store 的 commitlog、消费队列、索引、checkpoint 和配置是否一致，会读取全部 commitlog 一次。"
    ),
    (
        "On a terminal, the findings of one code are one block: errors first, then warnings, then notes. The exit code is 1 if "
        "there is an error or a warning. Notes do not count: they say what is not in the store or was not checked. "
        "docs/verify.md lists all codes."
    ): (
        "在终端上，同一代码的问题合为一段，依次为错误、警告、提示。有错误或警告时，退出码为 1；提示不算，只说明 store 中没有什"
        "么、没有检查什么。全部代码见 docs/verify.md。"
    ),
    "On a terminal, print each finding, as it is found.": "在终端上逐个打印问题，发现一个打印一个",
    (
        "Write a page about one store or several: what fills the disk, the log over time, sizes, queue skew, lag, pending messages, damage."
    ): ("生成一个或多个 store 的报告页面：磁盘空间占用、commitlog 随时间的变化、消息大小、队列倾斜、堆积、待投递或未提交的消息、损坏。"),
    (
        "The page is one HTML file that loads nothing from a network. It holds names of topics, tags, groups and hosts, but no "
        "bodies, keys or other properties. The exit code is 1 if the store has damage, or if --verify found errors or warnings."
    ): (
        "页面是一个 HTML 文件，不从网络加载任何内容。其中有 topic、tag、消费组和主机的名称，没有消息体、key 和其他消"
        "息属性。store 有损坏，或 --verify 发现错误或警告时，退出码为 1。"
    ),
    (
        "Several stores are one page: a table of all brokers, then each of them. --to prometheus writes the numbers as metrics, "
        "for the textfile collector of node-exporter."
    ): (
        "多个 store 合为一个页面：先是全部 broker 的表，再逐个列出。--to prometheus 把数字写成指标，供 node-exporter 的 "
        "textfile collector 读取。"
    ),
    "The file to write.  [default: report.html or rmqstore.prom]": "要写入的文件  [默认：report.html 或 rmqstore.prom]",
    "A page, or metrics.  [default: html]": "页面，或指标  [默认：html]",
    "The title of the page.  [default: broker, cluster and host, as far as known]": "页面的标题  [默认：已知的 broker、集群和主机]",
    "The time of the report, if not the current time: '2026-01-31 12:00:00Z'.": ("报告的时间，不是当前时间时指定：'2026-01-31 12:00:00Z'"),
    "Free space of the broker's disk: 120g.  [default: that of the disk with STORE]": (
        "broker 磁盘的剩余空间：120g  [默认：STORE 所在磁盘的剩余空间]"
    ),
    "Also check all files against each other. Reads the log a second time.": "同时核对全部文件；会再读一遍 commitlog",
}
