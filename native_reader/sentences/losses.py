"""What is damaged or missing, and why, in a log and in the files of settings."""

from __future__ import annotations

LOSSES = {
    # What is there instead of a record
    "unreadable": ("bytes that could not be read", "无法读取的字节"),
    "zeros": ("zeros", "全零"),
    "no entry": ("no DLedger entry header", "没有 DLedger 条目头"),
    "too few": ("{number:,} bytes, too few for a record", "只有 {number:,} 字节，不足一条记录"),
    "blank": ("a blank whose size is not the {number:,} bytes left in the file", "填充的长度与文件剩余的 {number:,} 字节不符"),
    "magic": ("no record magic", "未找到记录的魔数（magic code）"),
    "cut off": ("a record larger than the {number:,} bytes left in the file", "记录超出文件剩余的 {number:,} 字节"),
    "size": ("an impossible record size ({number:,} bytes left in the file)", "记录长度不合法（文件剩余 {number:,} 字节）"),
    "earlier": ("a record with offset {number:,} (old bytes of a reused file)", "记录中的偏移量为 {number:,}（重用文件中的旧内容）"),
    "offset": (
        "a record with another offset (bytes inserted or removed before it, or old bytes of a reused file)",
        "记录中的偏移量与所在位置不符（前面插入或删除了字节，或为重用文件中的旧内容）",
    ),
    "lengths": ("a record whose lengths do not add up to its size", "记录中各部分的长度之和与记录长度不符"),
    "other entry": (
        "a DLedger entry header that does not match its record of {number:,} bytes",
        "DLedger 条目头与 {number:,} 字节的记录不符",
    ),
    "unreadable part": ("a record with bytes that could not be read", "记录中有无法读取的字节"),
    "too large": ("a record of {number:,} bytes, larger than max_record_bytes", "记录有 {number:,} 字节，大于 max_record_bytes"),
    "body checksum": ("the checksum of the stored body is wrong", "消息体 CRC 校验失败"),
    "checksum": ("the checksum of the record is wrong", "记录的 CRC 校验失败"),
    "zeros from properties": (
        "zeros that begin in the properties of the record before, whose tags and keys may be lost",
        "全零，从前一条消息的属性中开始：前一条消息的 tag 和 key 可能已丢失",
    ),
    "tag contradicted": (
        "a whole record with another tag than its consume queue entry: the tag was lost, or the entry is wrong",
        "记录完好，但 tag 与消费队列条目不符：tag 已丢失，或条目有误",
    ),
    "key contradicted": (
        "a whole record without a key that the index has for it: the key was lost, or the entry is wrong",
        "记录完好，但没有索引中的 key：key 已丢失，或条目有误",
    ),
    "missing": ("no file contains these offsets", "没有文件包含这些偏移量"),
    # The reasons for damage and losses, as the column `reason` has them
    "reason zeros": (
        "zeros at the start of the range: pages that were never written, or were lost",
        "区间以全零开头：内存页未刷盘，或数据已丢失",
    ),
    "reason magic": ("no record magic where a record must start", "应为记录开头的位置未找到魔数（magic code）"),
    "reason size": ("an impossible record size", "记录长度不合法"),
    "reason cut off": (
        "a record that extends past the end of the file, or a file that ends inside a record",
        "记录超出文件末尾，或文件在记录中间结束",
    ),
    "reason offset": (
        "a record with another offset: old bytes of a reused file, or bytes inserted or removed before it",
        "记录中的偏移量与所在位置不符：重用文件中的旧内容，或前面插入、删除了字节",
    ),
    "reason lengths": ("a record whose lengths do not add up to its size", "记录中各部分的长度之和与记录长度不符"),
    "reason blank": ("a blank that does not end at the end of its file", "填充没有在文件末尾结束"),
    "reason entry": ("a DLedger entry header that is missing or does not match its record", "DLedger 条目头缺失，或与记录不符"),
    "reason too large": ("a record larger than max_record_bytes", "记录大于 max_record_bytes"),
    "reason checksum": (
        "a complete record whose checksum is wrong; checked only with verify_crc",
        "记录完整，但 CRC 校验失败；仅在设置 verify_crc 时检查",
    ),
    "reason properties": (
        "a whole record that its consume queue or the index contradicts: its properties are damaged, or their entries are",
        "记录完好，但与消费队列或索引不符：消息属性损坏，或条目有误",
    ),
    "reason unreadable": ("bytes that could not be read from the disk or file system", "无法从磁盘或文件系统读取"),
    "reason missing": ("no file contains these offsets", "没有文件包含这些偏移量"),
    "reason lost": (
        "consume queues, index files or the checkpoint have records there, after the end of the log",
        "consumequeue、索引文件或 checkpoint 中有 commitlog 末尾之后的记录",
    ),
    # What can be lost after the end of a log
    "named by queues": (
        (
            "{records:,} {records:record|records} in {queues:,} {queues:queue|queues} {records:is|are} after the end of the log at "
            "offset {end:,}, up to offset {until:,}"
        ),
        "{queues:,} 个队列中有 {records:,} 条记录位于 commitlog 末尾（偏移量 {end:,}）之后，直到偏移量 {until:,}",
    ),
    "only segment": ("its only segment contains no record", "唯一的 commitlog 文件中没有记录"),
    "no segment": ("none of its {segments} segments contains a record", "{segments} 个 commitlog 文件中都没有记录"),
    "stray": (
        "{name} is not a segment, but its name is an offset after the end of the log at offset {end:,}",
        "{name} 不是 commitlog 文件，但文件名是 commitlog 末尾（偏移量 {end:,}）之后的偏移量",
    ),
    "segments after": (
        ("{segments:,} {segments:segment|segments} after the end of the log at offset {end:,} {segments:contains|contain} no record"),
        "commitlog 末尾（偏移量 {end:,}）之后的 {segments:,} 个 commitlog 文件中没有记录",
    ),
    "bytes after": (
        "{bytes:,} bytes after the end of the log at offset {end:,} are not records",
        "commitlog 末尾（偏移量 {end:,}）之后有 {bytes:,} 字节不是记录",
    ),
    "named by index": (
        "an index file has a record at offset {offset:,}, after the end of the log at offset {end:,}",
        "索引文件中有偏移量 {offset:,} 处的记录，位于 commitlog 末尾（偏移量 {end:,}）之后",
    ),
    "later checkpoint": (
        "the checkpoint has a later store time than the last record before the end of the log at offset {end:,}",
        "checkpoint 中的存储时间晚于 commitlog 末尾（偏移量 {end:,}）之前的最后一条记录",
    ),
    # Why it can be lost
    "packed": ("{file} looks like {format} data. Unpack it first: {command}", "{file} 像是 {format} 压缩数据，请先解压：{command}"),
    "archive": ("{file} looks like a tar archive. Unpack it first", "{file} 像是 tar 归档，请先解包"),
    "begins with zeros": (
        "{file} begins with zeros: nothing was written, or the data is lost",
        "{file} 以全零开头：从未写入，或数据已丢失",
    ),
    "begins with text": ("{file} begins with text", "{file} 以文本开头"),
    "begins with unknown": ("{file} begins with unknown bytes", "{file} 以无法识别的字节开头"),
    "not opened": ("The file cannot be opened: {reason}", "无法打开文件：{reason}"),
    "cut segment": (
        "Segment {name} has {size:,} bytes, others {others:,}: it looks cut off",
        "commitlog 文件 {name} 有 {size:,} 字节，其他文件有 {others:,} 字节：可能不完整（被截短）",
    ),
    "overwritten": ("The bytes there are neither records nor zeros: they were overwritten", "那里既不是记录，也不是全零：已被覆盖写"),
    "no file": (
        "No file contains these offsets: segments at the end are missing or renamed",
        "没有文件包含这些偏移量：末尾的 commitlog 文件缺失或被改名",
    ),
    "packed file": (
        "No file contains these offsets: segments at the end are missing or renamed. {name} exists: unpack it first: {command}",
        "没有文件包含这些偏移量：末尾的 commitlog 文件缺失或被改名。{name} 存在，请先解压：{command}",
    ),
    "renamed file": (
        (
            "No file contains these offsets: segments at the end are missing or renamed. {name} exists: if it is a segment, rename "
            "it first: {command}"
        ),
        "没有文件包含这些偏移量：末尾的 commitlog 文件缺失或被改名。{name} 存在，如果是 commitlog 文件，请先改名：{command}",
    ),
    "copied before": (
        "Only zeros or half a record follow: the log was copied before its consume queues, or its newest pages were lost",
        "后面只有全零或不完整的记录：复制 commitlog 早于复制 consumequeue，或最后写入的页没有刷盘",
    ),
    # How to get missing offsets back
    "packed segment": ("{name} exists: unpack it first: {command}", "{name} 存在，请先解压：{command}"),
    "cut packed segment": (
        (
            "{name} exists, but it cannot be unpacked: it is cut, damaged, empty or not packed. Look for a whole copy of it. This "
            "writes what is left of it, if anything: {command}"
        ),
        "{name} 存在，但无法解压：不完整、已损坏、为空或并未压缩。请查找完整的拷贝。以下命令可写出剩余的部分（如果有）：{command}",
    ),
    "renamed segment": (
        "{name} exists: if it is a segment, rename it first: {command}",
        "{name} 存在，如果是 commitlog 文件，请先改名：{command}",
    ),
    "blocked segment": (
        "{name} is not a regular file, or is a link to nothing: restore the segment from a copy, or mount what it links to",
        "{name} 不是普通文件，或是失效的链接：请从拷贝中取回这个 commitlog 文件，或挂载链接指向的磁盘",
    ),
    "blocked file": (
        (
            "No file contains these offsets: {name} is not a regular file, or is a link to nothing. Restore the segment from a copy, or "
            "mount what it links to"
        ),
        "没有文件包含这些偏移量：{name} 不是普通文件，或是失效的链接。请从拷贝中取回这个 commitlog 文件，或挂载链接指向的磁盘",
    ),
    # Of one of several stores
    "lost in store": ("{store}: {what}. {why}", "{store}：{what}。{why}"),
    # Warnings of a read
    "skipped": (
        "{segment}: skipped {bytes:,} damaged bytes at offset {offset:,}: {what}",
        "{segment}：跳过偏移量 {offset:,} 处的 {bytes:,} 字节损坏数据：{what}",
    ),
    "skipped more": ("{segment}: skipped {ranges:,} more damaged ranges", "{segment}：另外跳过 {ranges:,} 处损坏"),
    # What is wrong with a file of settings
    "file unreadable": ("could not be read: {reason}", "无法读取：{reason}"),
    "file too large": ("has {size:,} bytes; the limit is {limit:,}", "有 {size:,} 字节，上限为 {limit:,}"),
    "file empty": ("is empty", "为空"),
    "file not json": ("is not JSON at byte {position:,}: {expected}", "第 {position:,} 字节处不是 JSON（{expected}）"),
    "file not object": ("expected an object, not {found}", "应为对象，实际是{found}"),
    "file without key": ("expected the key '{key}'", "缺少 JSON 键 {key}"),
    "key not object": ("expected '{key}' to be an object, not {found}", "{key} 应为对象，实际是{found}"),
    "file missing": ("is missing", "缺失"),
    "an object": ("an object", "对象"),
    "a list": ("a list", "列表"),
    "a text": ("a text", "文本"),
    "null": ("null", "null"),
    "other value": ("{value}", " {value}"),
    "with backup": ("{name}: {problem}; its .bak can be read", "{name} {problem}；.bak 可读"),
    "without backup": ("{name}: {problem}; it has no readable .bak", "{name} {problem}；没有可读的 .bak"),
    "file gone": (
        "{name} and its .bak are missing, although other files show that the broker had it",
        "{name} 和 .bak 都缺失，而从其他文件看，broker 曾有这个文件",
    ),
    # What a broker without a file of settings does
    "without topics.json": (
        "A broker knows no topic, until each is made again with as many queues as it had",
        "broker 启动后没有任何 topic，需要按原有队列数重新创建",
    ),
    "without consumerOffset.json": (
        "The positions of all groups are lost: they consume from where they are set to begin, and skip messages or get them again",
        "所有消费组的消费位点都已丢失：消费会从各自设定的起点开始，可能跳过消息，也可能重复消费",
    ),
    "without lmqConsumerOffset.json": (
        "With enableLmq=true, the positions of all groups are lost, or those in light queues",
        "如果 enableLmq=true，所有消费组的消费位点，或轻量队列的消费位点都已丢失",
    ),
    "without subscriptionGroup.json": (
        (
            "The settings of groups are lost: a broker makes groups with default settings, or refuses them with "
            "autoCreateSubscriptionGroup=false"
        ),
        "消费组的配置都已丢失：broker 会按默认配置创建消费组；如果 autoCreateSubscriptionGroup=false，则拒绝这些消费组",
    ),
    "without delayOffset.json": (
        "A broker delivers again each delayed message that it still has in the log",
        "broker 会再次投递 commitlog 中还有的每条延时消息",
    ),
    "without consumerFilter.json": (
        "Filters in SQL are lost until their consumers connect again",
        "SQL 过滤条件会丢失，直到相应的消费者重新连接",
    ),
    # The kinds of messages, whose names are English words. `prepared` and `rollback` are of 4.0 to 4.2, in the topic itself
    "kind prepared": ("prepared", "prepared（旧版的半事务消息）"),
    "kind rollback": ("rollback", "rollback（旧版的事务回滚）"),
    "kind half": ("half", "half（半事务消息）"),
    "kind op": ("op", "op（op 消息，标记事务已提交或回滚）"),
    "kind delay": ("delay", "delay（延时消息）"),
    "kind timer": ("timer", "timer（定时消息）"),
    "kind retry": ("retry", "retry（重试消息）"),
    "kind dlq": ("dlq", "dlq（死信消息）"),
    "kind trace": ("trace", "trace（消息轨迹）"),
    "kind pop": ("pop", "pop（POP 消费记录）"),
    "kind system": ("system", "system（系统内部消息）"),
    "kind committed": ("committed", "committed（已提交的事务消息）"),
    "kind batch": ("batch", "batch（批量消息）"),
    "kind normal": ("normal", "normal（普通消息）"),
}
