"""What stops a read: damaged bytes, missing data, and files that cannot be read."""

from __future__ import annotations

from native_reader.errors import option_name

READING = {
    "not an object": (
        "{uri}: expected '{name}' to be an object, not {found}. {advice}",
        "{uri}：{name} 应为对象（object），实际是 {found}。{advice}",
    ),
    "value not json": (
        "{where} is not JSON at byte {position:,} of its value: {expected}",
        "{where} 的值在第 {position:,} 字节处不是 JSON：{expected}",
    ),
    "log emptied": (
        (
            "{store}: the log is empty, and the runs before came to offset {offset:,}. Is its disk there? To export a new log, "
            "use a new state and a new folder"
        ),
        ("{store}：commitlog 为空，而之前的导出已到偏移量 {offset:,}。磁盘是否已挂载？要导出新的 commitlog，请换新的状态文件和目录"),
    ),
    "gap in log": (
        (
            "{store}: offsets {start:,} to {stop:,} ({bytes:,} bytes) are in no file: {why}.{more} Set "
            f"{option_name('fail_on_data_loss', False)} to read the rest"
        ),
        (
            f"{{store}}：没有文件包含偏移量 {{start:,}} 至 {{stop:,}}（{{bytes:,}} 字节）：{{why}}。{{more}}设置 "
            f"{option_name('fail_on_data_loss', False)} "
            "可读取其余部分"
        ),
    ),
    "split in record": (
        (
            "{where}: a split begins at bytes that look like a record but are inside another one, such as a body that contains a "
            f"stored record. Set {option_name('max_partition_bytes')}={{size}} to split only between segments"
        ),
        (
            "{where}：读取的分片从这里开始，这里看似一条记录，实际在另一条记录之内，例如消息体中有一条存储格式的记录。请设置 "
            f"{option_name('max_partition_bytes')}={{size}}，只在 commitlog 文件之间分片"
        ),
    ),
    "records past end": (
        (
            "{where}: the records from here extend to byte {position:,}, past the end of the log at byte {end:,}. The end was "
            "taken from bytes that look like a record but are inside another one, such as a body that contains a stored record. "
            f"Set {option_name('max_partition_bytes')}={{size}} to find the end by walking the whole segment"
        ),
        (
            "{where}：从这里开始的记录延伸到第 {position:,} 字节，超过第 {end:,} 字节处的 commitlog 末尾。判断末尾时，把另一条记"
            f"录之内的字节当作了记录，例如消息体中有一条存储格式的记录。请设置 "
            f"{option_name('max_partition_bytes')}={{size}}，从头读取整个文件来"
            "判断末尾"
        ),
    ),
    "record too large": (
        (
            f"{{where}}: a record of {{size:,}} bytes is larger than {option_name('max_record_bytes')}={{limit:,}}. If "
            f"this size is expected, set "
            f"{option_name('max_record_bytes')}={{size}}"
        ),
        (
            f"{{where}}：一条记录有 {{size:,}} 字节，超过 {option_name('max_record_bytes')}={{limit:,}}。如果大小正常，"
            f"请设置 {option_name('max_record_bytes')}"
            "={size}"
        ),
    ),
    "damage in the way": (
        (
            "{where}: expected a record or the blank that closes a segment, found {found}. Set mode=DROPMALFORMED to skip the "
            f"damaged bytes, log them and continue. To read only before this segment, set "
            f"{option_name('ending_physical_offset')}={{base}}; to "
            f"read only after it, {option_name('starting_physical_offset')}={{end}}"
        ),
        (
            "{where}：应为一条记录或文件末尾的填充，实际是{found}。设置 mode=DROPMALFORMED，可跳过损坏的字节并写入警告。只读取这"
            f"个文件之前的部分：{option_name('ending_physical_offset')}={{base}}；只读取之后的部分："
            f"{option_name('starting_physical_offset')}={{end}}"
        ),
    ),
    "checksum in the way": (
        (
            "{uri} at offset {offset:,}: {text}. Possible causes: a disk or memory fault, an unfinished write. Set "
            f"mode=DROPMALFORMED to continue without the record, or {option_name('verify_crc', False)} to return it unchecked"
        ),
        (
            "{uri} 的偏移量 {offset:,} 处：{text}。可能的原因：磁盘或内存故障，或写入未完成。设置 mode=DROPMALFORMED，可跳过这条"
            f"记录；设置 {option_name('verify_crc', False)}，则不校验"
        ),
    ),
    "log shrank": (
        (
            "{uri}: bytes {start:,} to {end:,} of the log held records when the read was planned, and do not now. Load the store "
            "again. If a network file system is behind on this machine, wait until it shows the whole file"
        ),
        (
            "{uri}：开始读取时，commitlog 的第 {start:,} 至 {end:,} 字节中有记录，现在没有。请重新读取 store。如果是网络文件系统"
            "，本机看到的内容可能较旧，请等到能看到整个文件"
        ),
    ),
    "replaced in read": (
        "{uri} was replaced by another file while it was read. Load the store again",
        "{uri} 在读取期间被另一个文件替换。请重新读取 store",
    ),
    "deleted in read": (
        "{uri} was deleted while it was read. A broker deletes its oldest segments: load the store again",
        "{uri} 在读取期间被删除。broker 会删除最旧的 commitlog 文件：请重新读取 store",
    ),
    "not a file": (
        "{uri} is not a regular file",
        "{uri} 不是普通文件",
    ),
    "database remote": (
        "{uri} is a RocksDB database of {size:,} bytes, which can be read only from a local disk. Copy the store",
        "{uri} 是 {size:,} 字节的 RocksDB 数据库，只能从本地磁盘读取。请复制 store",
    ),
    "database unreadable": (
        "the RocksDB database {uri} cannot be read: {text}. It may be an incomplete copy",
        "无法读取 RocksDB 数据库 {uri}：{text}。可能是不完整的拷贝",
    ),
    "database too large": (
        (
            "the RocksDB database {uri} has more than {most:,} bytes of entries, which is the limit for settings and consumer "
            "offsets. The messages can be read without them. RocketMQ's mqadmin rocksDBConfigToJson prints them"
        ),
        (
            "RocksDB 数据库 {uri} 的条目超过 {most:,} 字节，这是读取配置和消费位点的上限。消息仍可读取。查看其中的内容可用"
            " RocketMQ 的 mqadmin rocksDBConfigToJson"
        ),
    ),
    "offsets too large": (
        ("{uri} cannot be a segment: with {size:,} bytes, its offsets exceed the maximum, {last:,}. Move it away, or correct its name"),
        "{uri} 不可能是 commitlog 文件：大小为 {size:,} 字节，偏移量会超过上限 {last:,}。请移走这个文件，或改正文件名",
    ),
    "two logs": (
        (
            "a plain log and a DLedger log both contain data at or after offset {base:,}: {uri} and {first_uri}. Expected the "
            "plain log to end there. Load only the directory of the right log: {directory} or {first_directory}"
        ),
        (
            "普通 commitlog 和 DLedger commitlog 在偏移量 {base:,} 及之后都有数据：{uri} 和 {first_uri}。普通 commitlog 应在那里"
            "结束。请只读取正确的目录：{directory} 或 {first_directory}"
        ),
    ),
    "two segments": (
        (
            "{uri} ({size:,} bytes) and {segment_uri} ({segment_size:,} bytes) both have offset {base:,} but differ. One of them "
            f"belongs to another store: set {option_name('store_path_commit_log')} to the right directories."
        ),
        (
            "{uri}（{size:,} 字节）和 {segment_uri}（{segment_size:,} 字节）的起始偏移量都是 {base:,}，但内容不同，其中一个属于另"
            f"一个 store。请把 {option_name('store_path_commit_log')} 设为正确的目录"
        ),
    ),
    "link in archive": (
        (
            "{directory}/{name} is a link to {target}, which is not in the archive. Pack the store with tar -h, which follows "
            f"links. Or set {option_name('store_path_commit_log')} if only the log is elsewhere"
        ),
        (
            "{directory}/{name} 是指向 {target} 的链接，而归档文件中没有链接的目标。请用 tar -h 打包 store，这样会包含链接的目标"
            f"。如果只有 commitlog 在别处，也可以设置 {option_name('store_path_commit_log')}"
        ),
    ),
    "archive changed": (
        "{archive} was changed while it was read. Load the store again",
        "{archive} 在读取期间有变化。请重新读取 store",
    ),
    "archive too large": (
        "{archive} is too large: {size:,} bytes; the limit is {largest:,}",
        "{archive} 过大：{size:,} 字节，上限为 {largest:,}",
    ),
    "archive truncated in read": (
        "{archive} was truncated while {uri} was read. Load the store again",
        "{archive} 在读取 {uri} 期间被截短。请重新读取 store",
    ),
    "archive damaged": (
        ("{uri} is damaged at byte {place:,}: {problem}. Copy or pack it again, or unpack what is left and load that: {command}"),
        "{uri} 在第 {place:,} 字节处损坏：{problem}。请重新复制或打包；或解压剩余的部分，再读取解压的结果：{command}",
    ),
    "archive truncated": (
        (
            "{uri} was truncated: it has {size:,} bytes, but bytes {place:,} to {end:,} are needed. Wait until it is complete, "
            "copy it again, or unpack what is there and load that: {command}"
        ),
        (
            "{uri} 不完整（被截短）：只有 {size:,} 字节，而需要第 {place:,} 至 {end:,} 字节。请等待复制完成，或重新复制；也可以解"
            "压已有的部分，再读取解压的结果：{command}"
        ),
    ),
    "segment truncated": (
        (
            "{uri} has {size:,} bytes, but had {before:,} when the read was planned. It was truncated since then. Load the store "
            "again to read the rest"
        ),
        "{uri} 有 {size:,} 字节，而开始读取时有 {before:,} 字节，之后被截短。重新读取 store，可读取其余部分",
    ),
    "replaced since plan": (
        "{uri} was replaced by another file after the read was planned. Load the store again",
        "{uri} 在开始读取后被另一个文件替换。请重新读取 store",
    ),
    "gone since plan": (
        ("{uri} no longer exists; it existed when the read was planned. A broker deletes its oldest segments: load the store again"),
        "{uri} 已不存在，而开始读取时存在。broker 会删除最旧的 commitlog 文件：请重新读取 store",
    ),
    "store removed": (
        "{uri}: the store was removed while it was read. Restore it, and restart the query",
        "{uri}：store 在读取期间被移走。请恢复原处，再重新启动查询",
    ),
    "stream lost": (
        f"{{text}}. To continue with the remaining data, set {option_name('fail_on_data_loss', False)}; to start over, {{start_over}}",
        f"{{text}}。设置 {option_name('fail_on_data_loss', False)} 可继续读取其余数据；要重新开始，{{start_over}}",
    ),
    "epochs file damaged": (
        (
            "{uri} is damaged: its count or its checksum is wrong, and no .bak beside it is whole. Take the file of another "
            "replica of the group, or rmqstore diff to compare their logs"
        ),
        (
            "{uri} 已损坏：条数或校验和有误，旁边的 .bak 也不完好。请取同一 broker 组中其他副本的文件，或用 rmqstore diff 比对两"
            "者的 commitlog"
        ),
    ),
    "one key too large": (
        (
            "the messages with the uniq_key of the one at offset {offset:,} take more than {most:,} bytes of memory. This table "
            "needs all messages with one key at once. Read the messages instead, with the column uniq_key, and group them with "
            "Spark or DuckDB"
        ),
        (
            "偏移量 {offset:,} 处的消息，与 uniq_key 相同的消息合计占用内存超过 {most:,} 字节。这个表需要同时读取同一个 key 的全"
            "部消息。请改为读取消息，带上列 uniq_key，再用 Spark 或 DuckDB 分组"
        ),
    ),
    "lost data": (
        f"{{lost}}. Set {option_name('fail_on_data_loss', False)} to read the rest. The table 'damage' lists what is missing",
        f"{{lost}}。设置 {option_name('fail_on_data_loss', False)} 可读取其余部分。缺失的部分见表 damage",
    ),
    "place in segment": (
        "{uri} at offset {offset:,} (byte {byte:,} of the file)",
        "{uri} 的偏移量 {offset:,} 处（文件的第 {byte:,} 字节）",
    ),
    "no segment there": (
        "a segment is missing or truncated",
        "有 commitlog 文件缺失，或被截短",
    ),
    "and more gaps": (
        " {ranges} more ranges are missing.",
        "另有 {ranges} 处缺失。",
    ),
    "skip damage": (
        "Set mode=DROPMALFORMED",
        "设置 mode=DROPMALFORMED",
    ),
    "not strict": (
        "Omit --strict",
        "去掉 --strict",
    ),
    "could not list": (
        "could not list {uri}: {why}",
        "无法列出 {uri}：{why}",
    ),
    "no status": (
        "could not get the status of {uri}: {why}",
        "无法取得 {uri} 的状态：{why}",
    ),
    "could not open": (
        "could not open {uri}: {why}",
        "无法打开 {uri}：{why}",
    ),
    "could not read": (
        "could not read {uri} at byte {offset:,}: {why}",
        "无法读取 {uri} 的第 {offset:,} 字节：{why}",
    ),
    "no temporary directory": (
        "could not fill a temporary directory: {why}. If the disk is full or read-only, set TMPDIR to another directory",
        "无法写入临时目录：{why}。如果磁盘写满或只读，请把 TMPDIR 设为另一个目录",
    ),
    "no rocksdb library": (
        "{uri} is a RocksDB database. To read it, install the extra: pip install 'rmqstore-spark[rocksdb]' ({error})",
        "{uri} 是 RocksDB 数据库，读取前请安装可选依赖：pip install 'rmqstore-spark[rocksdb]'（{error}）",
    ),
    "config unreadable": (
        "{problems}. {advice}",
        "{problems}。{advice}",
    ),
    "restore config": (
        "Restore the file from a copy, or move it away to read the store without it",
        "请从拷贝中恢复这个文件；也可以移走这个文件再读取 store",
    ),
}
