"""The page of a rescue. Code is between backticks."""

from __future__ import annotations

RESCUE = {
    # Results
    "rescue of": ("Rescue of {stores}", "{stores} 的抢救报告"),
    "empty store": ("an empty store", "空 store"),
    "finished": ("Finished {time} UTC. The store was only read, not changed.", "完成时间：{time}（UTC）。对 store 只读，未做任何改动。"),
    "result saved": ("Saved:", "已保存："),
    "saved": (
        "{messages:,} {messages:message|messages} of {topics:,} {topics:topic|topics}, in {files:,} {files:file|files}.",
        "{topics:,} 个 topic 的 {messages:,} 条消息，共 {files:,} 个文件。",
    ),
    "result damaged": ("Damaged:", "损坏："),
    "damaged": (
        "{ranges:,} {ranges:range|ranges} of the log with {bytes:,} bytes.",
        "commitlog 中有 {ranges:,} 处损坏，共 {bytes:,} 字节。",
    ),
    "damaged checksums": (
        (
            "{ranges:,} {ranges:range|ranges} of the log with {bytes:,} bytes, of which {failed:,} {failed:whole record|whole "
            "records} with a wrong checksum."
        ),
        "commitlog 中有 {ranges:,} 处损坏，共 {bytes:,} 字节，其中 {failed:,} 条记录完整，但 CRC 校验失败。",
    ),
    "page doubtful": (
        (
            "{messages:,} {messages:message|messages} with a wrong checksum, in `doubtful/`, not among the saved ones. "
            "{messages:It|They} may not be what was sent."
        ),
        "{messages:,} 条消息 CRC 校验失败，另存在 `doubtful/` 中，未计入已保存的消息。消息体可能与发送时不同。",
    ),
    "result tiered": ("Tiered storage:", "多级存储："),
    "page tiered": (
        "{messages:,} {messages:message|messages} that {messages:is|are} only in tiered storage, in `tiered/`.",
        "只在多级存储中的 {messages:,} 条消息，保存在 `tiered/` 中。",
    ),
    "tier damaged": (
        "tiered storage too: `tiered/_damage.jsonl` names each range.",
        "多级存储也有损坏：各区间见 `tiered/_damage.jsonl`。",
    ),
    "result unread": ("Not read:", "未读取："),
    "unread ranges": (
        "{ranges:,} {ranges:range|ranges} of the log with {bytes:,} bytes. What is in them is not known.",
        "commitlog 中有 {ranges:,} 个区间无法读取，共 {bytes:,} 字节，内容未知。",
    ),
    "result missing": ("Missing:", "缺失："),
    "missing ranges": (
        "{ranges:,} {ranges:range|ranges} that no file contains: {bytes:,} bytes.",
        "{ranges:,} 个区间不在任何文件中：{bytes:,} 字节。",
    ),
    "lost ranges": (
        ("{ranges:,} {ranges:range|ranges} after the end of the log, to which consume queues or index files still point: {bytes:,} bytes."),
        "commitlog 末尾之后的 {ranges:,} 个区间，消费队列或索引文件中仍有条目：{bytes:,} 字节。",
    ),
    "result account": ("Messages:", "消息："),
    "end": ("{what}.", "{what}。"),
    "not accounted": ("Not counted: the check did not reach its end.", "未统计：检查没有完成。"),
    "all served": (
        "None. Each message that the log, the queues or the offsets of groups name is where a broker left it.",
        "无。commitlog、消费队列和消费位点提到的每条消息都在 broker 留下的位置。",
    ),
    "nothing lost": (
        "no message that the log, the queues or the offsets of groups name.",
        "未发现丢失：commitlog、消费队列和消费位点中的消息都在。",
    ),
    "result lost": ("Lost:", "丢失："),
    # Titles
    "title store": ("The store", "store 概况"),
    "title topics": ("Saved, by topic", "已保存的消息（按 topic）"),
    "title queues": ("Messages that consumers cannot get", "消费不到的消息"),
    "title damage": ("Lost parts of the log", "commitlog 中丢失的部分"),
    "title bytes": ("The log, byte by byte", "commitlog 的逐字节统计"),
    "title check": ("What the check of the store found", "检查结果"),
    "title warnings": ("Warnings", "警告"),
    "title files": ("The files", "文件"),
    "title next": ("What to do next", "后续步骤"),
    "column topic": ("topic", "topic"),
    "column queue": ("queue", "队列"),
    "column queues": ("queues", "队列数"),
    "column saved": ("messages saved", "已保存消息数"),
    "column first": ("first stored (UTC)", "最早存储时间（UTC）"),
    "column last": ("last stored (UTC)", "最晚存储时间（UTC）"),
    "column missing": ("lost", "丢失"),
    "column lacking": ("messages", "消息数"),
    "column which": ("queue offsets", "队列位点"),
    "column file": ("file", "文件"),
    "column from": ("from offset", "起始偏移量"),
    "column to": ("to offset", "结束偏移量"),
    "column bytes": ("bytes", "字节数"),
    "column reason": ("reason", "原因"),
    "column before": ("record before (UTC)", "之前的记录（UTC）"),
    "column after": ("record after (UTC)", "之后的记录（UTC）"),
    "column found": ("found", "说明"),
    "column part": ("part of the segments", "commitlog 文件的组成"),
    "column size": ("size", "大小"),
    "column severity": ("severity", "严重程度"),
    "column code": ("code", "代码"),
    "column count": ("count", "数量"),
    "column offset": ("log offset", "物理偏移量"),
    "column first found": ("found first", "说明（首处）"),
    "column advice": ("advice", "处理建议"),
    # Tables
    "labelled": ("{label}: {what}", "{label}：{what}"),
    "no message": ("No message was saved.", "一条消息也没能保存。"),
    "missing means": (
        (
            "Lost: something names a message, and its record is not there. Doubtful: the record is there, and something contradicts it. "
            "Unreachable: the record is whole, and no queue leads to it. Not read: nothing is known."
        ),
        (
            "丢失：有文件提到这条消息，但没有记录。存疑：有记录，但与其他文件不符。消费不到：记录完好，但没有队列条目指向这条消息"
            "。未读取：情况未知。"
        ),
    ),
    "missing while in use": (
        "A broker uses the store: it is behind with its queues, and offsets after the last saved one can be new messages.",
        "有 broker 正在使用这个 store：队列可能尚未更新，最后一个已保存位点之后的位点可能是新消息。",
    ),
    "column state": ("state", "状态"),
    "column why": ("what shows it", "依据"),
    "one offset": ("{first:,}", "{first:,}"),
    "offsets to": ("{first:,} to {last:,}", "{first:,} 至 {last:,}"),
    "more ranges": ("{first} and {count:,} more ranges", "{first} 等，另有 {count:,} 个区间"),
    "nothing here": ("None.", "无。"),
    "times mean": (
        "The two times are the store times of the last saved message before the range and of the first one after it.",
        "两个时间分别是区间之前最后一条、区间之后第一条已保存消息的存储时间。",
    ),
    "no file of log": ("no file", "无文件"),
    "bytes of records": ("records", "记录"),
    "bytes of blanks": ("blanks at the end of segments", "文件末尾的填充"),
    "bytes of damage": ("damage", "损坏"),
    "bytes of unwritten": ("after the end of the log", "commitlog 末尾之后"),
    "bytes of stale": ("old records after the end, which a broker discarded", "commitlog 末尾之后的旧记录，已被 broker 丢弃"),
    "bytes of unread": ("not read: files that disappeared or could not be opened", "未读取：文件消失或无法打开"),
    "bytes of together": ("together", "合计"),
    "check stopped": ("The check stopped before its end: {reason}", "检查提前中止：{reason}"),
    "check clean": (
        "Nothing: log, queues, index, checkpoint and configuration agree.",
        "没有发现问题：commitlog、消费队列、索引、checkpoint 和配置一致。",
    ),
    "more topics": ("{count:,} more topics are in `{name}`.", "另有 {count:,} 个 topic，见 `{name}`。"),
    "more queues": ("{count:,} more queues are in `{name}`.", "另有 {count:,} 个队列，见 `{name}`。"),
    "more losses": ("{count:,} more ranges are in `{name}`.", "另有 {count:,} 处，见 `{name}`。"),
    "more findings": ("{count:,} more findings are in `{name}`.", "另有 {count:,} 个问题，见 `{name}`。"),
    # Files
    "file messages": (
        "`messages/`: {files:,} {files:Parquet file|Parquet files}, {size}. All readable messages.",
        "`messages/`：{files:,} 个 Parquet 文件，{size}。所有可读的消息。",
    ),
    "file doubtful": (
        "`doubtful/`: the messages with a wrong checksum, as an export of their own.",
        "`doubtful/`：CRC 校验失败的消息，单独导出。",
    ),
    "file tiered": (
        "`tiered/`: the messages that are only in tiered storage, as an export of their own.",
        "`tiered/`：只在多级存储中的消息，单独导出。",
    ),
    "file damage": (
        "`messages/_damage.jsonl`: each damaged or missing range of the log.",
        "`messages/_damage.jsonl`：commitlog 中每个损坏或缺失的区间。",
    ),
    "file summary": (
        "`messages/_summary.json`: the counts of this page, and those of each segment.",
        "`messages/_summary.json`：本页的各项数字，以及每个 commitlog 文件的数字。",
    ),
    "file parts": (
        "`messages/_export.json` and `messages/_parts/`: what a rescue that was stopped needs to continue.",
        "`messages/_export.json` 和 `messages/_parts/`：用于继续中断的抢救。",
    ),
    "file account": (
        "`account.jsonl`: in which state the messages are, by queue; each run of messages that consumers cannot get.",
        "`account.jsonl`：各队列的消息状态，以及消费不到的每一段消息。",
    ),
    "file lost": (
        "`lost/`: for each topic, its messages that consumers cannot get, and a text to send to its owner.",
        "`lost/`：每个 topic 中消费不到的消息，以及可发送给负责人的说明。",
    ),
    "file queues": ("`queues.jsonl`: each queue, with the number of saved messages.", "`queues.jsonl`：每个队列和已保存的消息数。"),
    "file findings": ("`findings.jsonl`: all that the check of the store found.", "`findings.jsonl`：检查发现的全部问题。"),
    # What to do next
    "how to read": ("Read the messages, in the folder of this page, with one of these:", "在本页所在的目录中，用以下任一方式读取消息："),
    "how to send": (
        "To send messages again, read them there and use a producer of RocketMQ. This project never writes to a broker.",
        "如需重新发送消息，请在那里读取，并用 RocketMQ 的生产者发送。本项目从不写入 broker。",
    ),
    "look elsewhere": ("No message was saved. Look on a slave or in a backup.", "一条消息也没能保存。请到从节点或备份中查找。"),
    "look for lost": (
        "To find lost messages, look on a slave, in a backup, or at the producers, for the times and queue offsets above.",
        "如需找回丢失的消息，请按上面的时间和队列位点，到从节点、备份或生产者处查找。",
    ),
    "how to serve": (
        (
            "To run a broker again, with all queue offsets and ids: `rmqstore repair`. If it refuses this store, begin with an "
            "empty one (this project has not tested these steps):"
        ),
        (
            "如需重新启动 broker，并保留所有队列位点和消息 ID，请用 `rmqstore repair`。如果提示不支持修复，则从空 store 开始（本"
            "项目没有测试过这些步骤）："
        ),
    ),
    "step rename": (
        "Rename the folder of the store, so that no broker starts on it. Keep it until nothing more is wanted from it.",
        "给存储目录改名，防止 broker 用损坏的 store 启动。在确认不再需要之前，不要删除。",
    ),
    "step start": (
        ("Start the broker with an empty `storePathRootDir`. Copy only `config/topics.json` and `config/subscriptionGroup.json` into it."),
        "用空的 `storePathRootDir` 启动 broker，只复制 `config/topics.json` 和 `config/subscriptionGroup.json`。",
    ),
    "step leave out": (
        ("Leave out `consumerOffset.json` and `delayOffset.json`: their offsets are of the old queues, and the new ones begin at 0."),
        "不要复制 `consumerOffset.json` 和 `delayOffset.json`：其中是旧队列的位点，而新队列从 0 开始。",
    ),
    "step copy": (
        (
            "Or start it on a copy of the whole store. It then keeps only {kept:,} {kept:message|messages}, and deletes the others "
            "from the copy."
        ),
        "或者用整个 store 的拷贝启动。这样只保留 {kept:,} 条消息，其余的会从拷贝中删除。",
    ),
}
