"""What a read would look at, what it skips, and why: `rmqstore explain`."""

from __future__ import annotations

EXPLAIN = {
    "plan messages": (
        "messages where {predicate}",
        "消息，条件：{predicate}",
    ),
    "plan zone": (
        " times without a time zone are in {zone}",
        " 没有时区的时间按 {zone}",
    ),
    "plan note": (
        " note: {what}",
        " 提示：{what}",
    ),
    "plan store": (
        " {store}: {segments:,} {segments:segment|segments}, {size}",
        " {store}：{segments:,} 个 commitlog 文件，{size}",
    ),
    "plan excluded": (
        "  not read   {size} in {segments:,} {segments:segment|segments}, excluded by {why}",
        "  不读取     {segments:,} 个 commitlog 文件，共 {size}，排除依据：{why}",
    ),
    "plan excluded inside": (
        "  not read   {size} inside segments, excluded by {why}",
        "  不读取     commitlog 文件内的 {size}，排除依据：{why}",
    ),
    "by store": (
        "store",
        "store 条件",
    ),
    "by queue": (
        "queue",
        "消费队列",
    ),
    "by segment": (
        "segment",
        "commitlog 文件名",
    ),
    "by store time": (
        "store time",
        "存储时间",
    ),
    "by summary": (
        "summary",
        "摘要",
    ),
    "by an earlier pass": (
        "an earlier pass",
        "之前的一次读取",
    ),
    "by key": (
        "key",
        "key 索引",
    ),
    "by physical offset": (
        "physical offset",
        "物理偏移量",
    ),
    "plan not read": (
        "  not read   {what}",
        "  不读取     {what}",
    ),
    "old records after end": (
        "{size} of old records after the end of the log of {store}, which a broker discarded. Set tail=all to read them",
        "{store} 的 commitlog 末尾之后有旧记录 {size}，broker 已丢弃。设置 tail=all 可读取",
    ),
    "plan missing": (
        "  missing    offsets {start:,} to {stop:,} ({bytes:,} bytes) of {store}: no file contains them",
        "  缺失       {store} 的偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）：没有文件包含",
    ),
    "plan missing in": (
        "  missing    offsets {start:,} to {stop:,} ({bytes:,} bytes) of {store}: no file contains them. {back}",
        "  缺失       {store} 的偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）：没有文件包含。{back}",
    ),
    "plan kernel": (
        " kernel: {name} ({why})",
        " Rust 加速模块：{name}（{why}）",
    ),
    "kernel installed": (
        "rmqstore-kernel is installed",
        "已安装 rmqstore-kernel",
    ),
    "bytes in segments": (
        "{size} in {segments:,} {segments:segment|segments}",
        "{segments:,} 个 commitlog 文件，共 {size}",
    ),
    "plan scan": (
        "  by scan    {where}",
        "  扫描       {where}",
    ),
    "plan scan why": (
        "  by scan    {where}: {why}",
        "  扫描       {where}：{why}",
    ),
    "plan scan small": (
        "  by scan    {where}, {why}",
        "  扫描       {where}，{why}",
    ),
    "plan scan part": (
        "  by scan    {where} {why}",
        "  扫描       {where}，{why}",
    ),
    "plan costs": (
        "             estimated cost: scan {scan}, queues {queues}",
        "             估算开销：扫描 {scan}，按队列 {queues}",
    ),
    "plan hint": (
        "             {hint}",
        "             {hint}",
    ),
    "read less": (
        "add a condition on topic, keys, store_timestamp or physical_offset to read less",
        "加上 topic、keys、store_timestamp 或 physical_offset 条件，可减少读取量",
    ),
    "entries that match": (
        "{queues:,} {queues:queue|queues} with {entries:,} entries; about {wanted:,} ({size}) match",
        "{queues:,} 个队列，{entries:,} 个条目；约 {wanted:,} 条（{size}）符合条件",
    ),
    "in small parts": (
        "in small parts, for which searching the queues of {topics:,} {topics:topic|topics} would cost more",
        "分片较小，查找 {topics:,} 个 topic 的队列开销更大",
    ),
    "plan queue": (
        "  by queue   {what}",
        "  按队列     {what}",
    ),
    "plan trust listed": (
        "             access=trust: rows are made from these entries, of {where}",
        "             access=trust：由这些条目生成行，范围：{where}",
    ),
    "plan trust": (
        "             access=trust: only records in these queues are read, of {where}",
        "             access=trust：只读取这些队列中的记录，范围：{where}",
    ),
    "plan no queue listed": (
        "  no queue   of {where}, only bytes in no consume queue are read, and records of inner batches",
        "  无队列     {where}：只读取不在任何消费队列中的字节，以及内部批量消息的记录",
    ),
    "plan no queue": (
        "  no queue   of {where}, only bytes in no consume queue are scanned:",
        "  无队列     {where}：只扫描不在任何消费队列中的字节，",
    ),
    "plan in no queue": (
        "             they may contain records of a deleted topic, or records not yet in a queue. access=trust skips them",
        "             其中可能有已删除 topic 的记录，或尚未进入队列的记录。access=trust 可跳过",
    ),
    "plan known": (
        "  by summary {size}, without reading the log: it has all columns of this read",
        "  按摘要     {size}，不读取 commitlog：摘要中有需要的全部列",
    ),
    "plan summary": (
        (
            "  by summary {size}; the summary covers {segments:,} {segments:segment|segments}; about {records:,}"
            " {records:record|records} ({wanted}) {records:matches|match}"
        ),
        "  按摘要     {size}；摘要包含 {segments:,} 个 commitlog 文件；约 {records:,} 条记录（{wanted}）符合条件",
    ),
    "plan summary costs": (
        "             estimated cost: scan {scan}, summary {summary}",
        "             估算开销：扫描 {scan}，按摘要 {summary}",
    ),
    "plan summary scan": (
        ("  by scan    {size} in {segments:,} {segments:segment|segments} of the summary, where fetching what matches would cost more"),
        "  扫描       摘要中的 {segments:,} 个 commitlog 文件，共 {size}，逐条读取符合条件的记录开销更大",
    ),
    "plan no summary": (
        "  no summary {why}",
        "  无摘要     {why}",
    ),
    "plan key": (
        "  by key     {records:,} {records:record|records}, from {places}, searched for {topics:,} {topics:topic|topics}",
        "  按 key     {records:,} 条记录，来源：{places}，查找了 {topics:,} 个 topic",
    ),
    "index files counted": (
        "{files:,} {files:index file|index files}",
        "{files:,} 个索引文件",
    ),
    "index of rocksdb": (
        "the index in RocksDB",
        "RocksDB 中的索引",
    ),
    "both indexes": (
        "{files:,} {files:index file|index files} and the index in RocksDB",
        "{files:,} 个索引文件和 RocksDB 中的索引",
    ),
    "plan deleted too": (
        "             deleted topics may have the key too; a condition on the topic, or access=trust, reads less.",
        "             已删除的 topic 也可能有这个 key；加上 topic 条件或 access=trust，可减少读取量。",
    ),
    "plan index first": (
        "             Rows from the index are returned first",
        "             先返回索引中找到的行",
    ),
    "plan not by key": (
        "  not by key {why}",
        "  不按 key   {why}",
    ),
    "plan more not by key": (
        "             {files} more index files are not used",
        "             另有 {files} 个索引文件未使用",
    ),
    "plan lacks ids": (
        "             {size} in no index file are scanned: the index in RocksDB lacks messages without",
        "             扫描不在索引文件中的 {size}：RocksDB 中的索引不含没有 UNIQ_KEY 的消息，",
    ),
    "plan lacks ids too": (
        "             UNIQ_KEY, which may have the key too; access=trust skips them",
        "             这些消息也可能有这个 key（UNIQ_KEY 之外）；access=trust 可跳过",
    ),
    "plan not in index": (
        "             {size} that no index covers are scanned; access=trust skips them",
        "             扫描不在索引范围内的 {size}；access=trust 可跳过",
    ),
    "plan not in index files": (
        "             {size} that no index file covers are scanned; access=trust skips them",
        "             扫描不在任何索引文件范围内的 {size}；access=trust 可跳过",
    ),
    "plan unknown topics": (
        "             deleted topics may have the key too, so bytes in no consume queue are scanned;",
        "             已删除的 topic 也可能有这个 key，因此扫描不在任何消费队列中的字节；",
    ),
    "plan skip unknown topics": (
        "             a condition on the topic, or access=trust, skips them. Rows from the index are returned first",
        "             加上 topic 条件或 access=trust 可跳过。先返回索引中找到的行",
    ),
    "plan batches": (
        "             messages inside batches are not indexed, so those of {topics} are read",
        "             内部批量消息不在索引中，因此读取 {topics} 的这类消息",
    ),
    "plan without queues": (
        "             {topics} has no consume queue and may have batches, which are not indexed,",
        "             {topics} 没有消费队列，可能有不在索引中的内部批量消息，",
    ),
    "plan scan in no queue": (
        "             so bytes in no consume queue are scanned; access=trust skips them",
        "             因此扫描不在任何消费队列中的字节；access=trust 可跳过",
    ),
    "plan prepared": (
        ("             a prepared message at offset {offset:,}: brokers 4.0 to 4.2 do not index its rollback, so later records of"),
        "             偏移量 {offset:,} 处有 prepared 消息：4.0 至 4.2 的 broker 不为回滚建索引，因此读取",
    ),
    "plan prepared read": (
        "             {topic} and bytes in no consume queue are read; access=trust skips them",
        "             {topic} 其后的记录，以及不在任何消费队列中的字节；access=trust 可跳过",
    ),
    "as scan": (
        "access=scan",
        "已设置 access=scan",
    ),
    "no conditions": (
        "there are no conditions",
        "没有条件",
    ),
    "no narrow condition": (
        "no condition on topic, queue, queue offset or tags",
        "没有关于 topic、队列、队列位点或 tag 的条件",
    ),
    "no consume queues": (
        "there are no consume queues",
        "没有消费队列",
    ),
    "queues unreadable": (
        "the consume queues cannot be read: {why}",
        "无法读取消费队列：{why}",
    ),
    "search costs less": (
        "a search for the wanted bytes costs less",
        "直接搜索字节开销更小",
    ),
    "any topic": (
        "messages of every topic may match",
        "任何 topic 的消息都可能符合条件",
    ),
    "no queue matches": (
        "no matching topic has a consume queue",
        "符合条件的 topic 没有消费队列",
    ),
    "many topics": (
        "{topics:,} topics may match",
        "有 {topics:,} 个 topic 可能符合条件",
    ),
    "much may match": (
        "about {share} of the log may match",
        "commitlog 中约 {share} 可能符合条件",
    ),
    "index has all": (
        "the index has all matching records",
        "索引中有全部符合条件的记录",
    ),
    "index none": (
        "there are no index files",
        "没有索引文件",
    ),
    "index too costly": (
        ("searching {files:,} {files:index file|index files} for {topics:,} {topics:topic|topics} costs more than reading the log"),
        "在 {files:,} 个索引文件中查找 {topics:,} 个 topic，开销比读取 commitlog 更大",
    ),
    "index unread": (
        "it cannot be read",
        "无法读取",
    ),
    "index newer": (
        "it is newer than the checkpoint, and the broker crashed or was running when the store was copied",
        "比 checkpoint 新，而 broker 曾异常退出，或复制 store 时仍在运行",
    ),
    "index of no record": (
        "the log has none of its records",
        "commitlog 中没有其中的任何记录",
    ),
    "index wrong": (
        "the log has no record with the indexed key at offset {offset:,}",
        "commitlog 的偏移量 {offset:,} 处没有带这个 key 的记录",
    ),
    "index too often": (
        "it has too many entries for the record at offset {offset:,}",
        "偏移量 {offset:,} 处的记录，索引条目过多",
    ),
    "index many": (
        "{entries:,} entries match, too many to check while planning",
        "有 {entries:,} 个条目符合条件，过多，无法预先检查",
    ),
    "index rows wrong": (
        "it has rows that are no index",
        "其中有不属于索引的行",
    ),
    "index lookups": (
        "to look up {keys:,} keys in {hours:,} hours takes longer than to read the log",
        "在 {hours:,} 个小时中查找 {keys:,} 个 key，比读取 commitlog 更慢",
    ),
    "index rows many": (
        "more than {most:,} rows match, too many to check while planning",
        "超过 {most:,} 行符合条件，过多，无法预先检查",
    ),
    "index one hour": (
        "it has more than {most:,} rows of one hour, and no file of the log begins after that",
        "一小时内超过 {most:,} 行，且之后没有 commitlog 文件开始",
    ),
    "compares all": (
        "mode=PERMISSIVE compares each record with the entries that name it",
        "mode=PERMISSIVE 逐条比对记录与指向记录的条目",
    ),
    "no condition of summary": (
        "no condition on topic, queue, queue offset, store time or key",
        "没有关于 topic、队列、队列位点、存储时间或 key 的条件",
    ),
    "segments not summarized": (
        "{segments:,} {segments:segment|segments}: {why}",
        "{segments:,} 个 commitlog 文件：{why}",
    ),
    "unfit no part": (
        "the summary has no part for it",
        "摘要中没有对应的部分",
    ),
    "unfit other version": (
        "another version of rmqstore wrote its part",
        "对应的部分由另一版本的 rmqstore 写入",
    ),
    "unfit damaged part": (
        "a checksum of its part is wrong: the part was changed or not written to the end",
        "对应部分的校验和有误：有改动，或没有写完",
    ),
    "unfit unreadable part": (
        "its part cannot be read",
        "对应的部分无法读取",
    ),
    "unfit contradiction": (
        "its part contradicts itself",
        "对应部分的内容前后不一致",
    ),
    "unfit other segment": (
        "its part is of another file",
        "对应的部分属于另一个文件",
    ),
    "unfit changed": (
        "it was changed after its part was written",
        "写入摘要之后有改动",
    ),
    "unfit damage": (
        "it has damaged bytes",
        "有损坏的字节",
    ),
    "unfit many": (
        "too many of its queues may match",
        "可能符合条件的队列过多",
    ),
    "unfit large": (
        "it has a record that is larger than max_record_bytes",
        "有超过 max_record_bytes 的记录",
    ),
    "index slot wrong": (
        "a slot points to an entry that does not exist",
        "有哈希槽指向不存在的条目",
    ),
    "index chains long": (
        "its chains are too long: more than {most:,} entries",
        "链过长：超过 {most:,} 个条目",
    ),
    "index entry lost": (
        "an entry was lost or never written",
        "有条目丢失，或未写入",
    ),
    "index wrong chain": (
        "an entry is in the wrong chain",
        "有条目不在正确的链中",
    ),
    "index chain newer": (
        "a chain leads to a newer entry",
        "链指向了更新的条目",
    ),
    "index offset outside": (
        "an entry has an offset outside the range of its file",
        "有条目的偏移量不在文件的范围内",
    ),
    "index offset unfit": (
        "an entry has an offset that does not fit its neighbours",
        "有条目的偏移量与相邻条目不符",
    ),
    "of all entries": (
        "rows are made from the entries of all queues",
        "由全部队列的条目生成行",
    ),
}
