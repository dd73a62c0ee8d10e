"""What a read that continues says of its logs, and names in conditions that the stores do not have."""

from __future__ import annotations

STREAMS = {
    "store gone": (
        "{uri}: this store is not among those found, and none of them has the record at offset {offset:,}, the last one read",
        "{uri}：找到的 store 中没有这一个，也都没有偏移量 {offset:,} 处的记录，即最后读取的一条",
    ),
    "store moved": (
        "{uri}: the store was moved to {now}, which has the last record read. Reading continues there",
        "{uri}：store 已移到 {now}，其中有最后读取的记录。在那里继续读取",
    ),
    "offsets in no file": (
        "{store}: no file has offsets {start:,} to {stop:,} ({bytes:,} bytes). Reading continues after them",
        "{store}：没有文件包含偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）。从其后继续读取",
    ),
    "offsets in stray": (
        "{store}: no file has offsets {start:,} to {stop:,} ({bytes:,} bytes). {back}. Reading continues after them",
        "{store}：没有文件包含偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）。{back}。从其后继续读取",
    ),
    "store gone before": (
        "{uri}: this store is not among those found, so offsets {start:,} to {stop:,} were not read",
        "{uri}：找到的 store 中没有这一个，偏移量 {start:,} 至 {stop:,} 未读取",
    ),
    "expired unread": (
        (
            "{uri}: offsets {start:,} to {stop:,} ({bytes:,} bytes) were deleted before they were read: the log now begins at "
            "{stop:,}. A broker deletes its oldest segments"
        ),
        (
            "{uri}：偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）读取之前已删除，commitlog 现在从 {stop:,} 开始。broker 会删除最"
            "旧的 commitlog 文件"
        ),
    ),
    "blank expired": (
        (
            "{uri}: offsets {start:,} to {stop:,} were deleted. The run before saw only the blank there that closes the segment. "
            "They had messages only if a broker stopped then, and wrote over the blank when it started again"
        ),
        (
            "{uri}：偏移量 {start:,} 至 {stop:,} 已删除。上次导出时，那里只有 commitlog 文件末尾的填充。只有 broker 在那时停止，重启后"
            "又从那里写起，其中才有过消息"
        ),
    ),
    "log rewritten": (
        (
            "{uri}: the record at offset {last:,}, the last one read before offset {offset:,}, is not in the log any more. The "
            "log was truncated and rewritten, as after a crash of a master, or another store is now at this path"
        ),
        (
            "{uri}：commitlog 中已没有偏移量 {last:,} 处的记录，即偏移量 {offset:,} 之前最后读取的一条。commitlog 曾被截断并重写"
            "，例如主节点宕机之后；也可能这个路径现在是另一个 store"
        ),
    ),
    "log rewritten until": (
        "{what}. Reading can continue at offset {offset:,}, without the records rewritten before it",
        "{what}。可从偏移量 {offset:,} 继续读取，不含在此之前重写的记录",
    ),
    "data loss": (
        "data loss: {what}. Reading continues with the remaining data",
        "数据丢失：{what}。继续读取其余数据",
    ),
    "query continues": (
        "this query continues from its checkpoint; {option}={position} is for new queries",
        "这个查询从上次结束处继续；{option}={position} 只用于新的查询",
    ),
    "use new state": (
        "use a new state and a new folder",
        "请换新的状态文件和目录",
    ),
    "use new checkpoint": (
        "use a new checkpointLocation",
        "请换新的 checkpointLocation",
    ),
    "doubt pattern": (
        "topic {topic} is not in the consume queues or the configuration. This is a name, not a pattern. Did you mean {near}?",
        "消费队列和配置中没有 topic {topic}。这里是名称，不是模式。是不是 {near}？",
    ),
    "doubt comma": (
        ("topic {topic} is not in the consume queues or the configuration. This is one name, with a comma. Did you mean {near}?"),
        "消费队列和配置中没有 topic {topic}。这是一个含逗号的名称。是不是 {near}？",
    ),
    "doubt topic": (
        "topic {topic} is not in the consume queues or the configuration: it is misspelled or was deleted.{near}",
        "消费队列和配置中没有 topic {topic}：可能写错，也可能已删除。{near}",
    ),
    "doubt queue": (
        "{option}={queue}: {of} has no queue with this number; the largest number is {largest}",
        "{option}={queue}：{of} 没有这个队列，最大的队列编号是 {largest}",
    ),
    "the store": (
        "the store",
        "store",
    ),
    "topic named": (
        "topic {topic}",
        "topic {topic}",
    ),
    "doubt tag": (
        "tags={tag} is one tag that contains a comma. Did you mean tags='{either}'?",
        "tags={tag} 是一个含逗号的 tag。是不是 tags='{either}'？",
    ),
    "doubt id": (
        (
            "{name}={text} does not look like an id (32 or 56 hex digits; from gRPC clients 34 that begin with 01); it matches "
            "only if a producer sets its own ids"
        ),
        "{name}={text} 不像消息 ID（32 或 56 位十六进制；gRPC 客户端为 34 位，以 01 开头），只有生产者自己设置 ID 时才会匹配",
    ),
    "doubt case": (
        "{name} = {text}: ids are in upper case. Write {upper}, or use {option}={text}, which ignores case",
        "{name} = {text}：消息 ID 为大写。请写成 {upper}，或使用 {option}={text}，后者不区分大小写",
    ),
    "column named": (
        "column {column}",
        "列 {column}",
    ),
    "doubt bounds": (
        "{options}: topic {topic} does not exist, so its offsets have no effect.{near}",
        "{options}：没有 topic {topic}，为其设置的位点不起作用。{near}",
    ),
    "doubt bound": (
        "{options}: topic {topic} has no queue {queue}, so its offset has no effect",
        "{options}：topic {topic} 没有队列 {queue}，为其设置的位点不起作用",
    ),
}
