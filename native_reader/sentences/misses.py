"""Why a path is not a store, and what may be meant."""

from __future__ import annotations

from native_reader.errors import option_name

_COMMITLOG = option_name("store_path_commit_log")
MISSES = {
    "miss not there": ("{uri} does not exist.", "{uri} 不存在。"),
    "miss not there below": (
        "{uri} does not exist (nearest existing directory: {parent}).",
        "{uri} 不存在（存在的上级目录：{parent}）。",
    ),
    "miss did you mean": ("{what} Did you mean '{near}'?", "{what}是不是 {near}？"),
    "miss other logs": (
        f"{{uri}} is not a store: it has no commitlog directory, only {{names}}. Set {_COMMITLOG}='{{logs}}'",
        f"{{uri}} 不是 store：没有 commitlog 目录，只有 {{names}}。请设置 {_COMMITLOG}='{{logs}}'",
    ),
    "miss not a log": (
        "{uri} is not a commitlog: it belongs to a queue, a compacted topic, the timer or the index of DLedger.",
        "{uri} 不是 commitlog：属于消费队列、compaction topic、定时消息或 DLedger 的索引。",
    ),
    "miss no store": (
        "{uri} is not a store: no commitlog directory and no file named with 20 digits; {instead}.",
        "{uri} 不是 store：没有 commitlog 目录，也没有文件名为 20 位数字的文件；{instead}。",
    ),
    "miss store above": (
        "{what} Did you mean the store {store} ({segments} segments)?",
        "{what}是不是 {store}（{segments} 个 commitlog 文件）？",
    ),
    "miss name it": ("{what} Name the directory that contains commitlog", "{what}请指定 commitlog 所在的目录"),
    "miss below": (
        "{uri} is not a store, but stores are further below: {names}. Name one of them",
        "{uri} 不是 store，下级目录中有 store：{names}。请指定其中一个",
    ),
    "miss below all": (
        "{uri} is not a store, but stores are further below: {names}. Name one of them, or all of them: '{pattern}'",
        "{uri} 不是 store，下级目录中有 store：{names}。请指定其中一个，或全部：'{pattern}'",
    ),
    "miss and more": ("{names}, and more", "{names} 等"),
    "miss log inside": (
        "{uri} has no segments, but contains a commitlog directory. Did you mean {uri}/commitlog?",
        "{uri} 中没有 commitlog 文件，但有 commitlog 目录。是不是 {uri}/commitlog？",
    ),
    "miss no log directory": ("{uri} is not a commitlog directory; {instead}.", "{uri} 不是 commitlog 目录；{instead}。"),
    "miss neither": ("it is neither a file nor a directory", "既不是文件，也不是目录"),
    "miss packed": ("it is packed, so unpack it first: {command}", "这是压缩文件，请先解压：{command}"),
    "miss a file": ("it is a file, but not a segment", "这是文件，但不是 commitlog 文件"),
    "miss contains": ("it contains {names}", "其中有 {names}"),
    "miss contains more": ("it contains {names} and {more} more", "其中有 {names}，另有 {more} 个"),
    "no row matches": ("no row matches: {why}", "没有符合条件的行：{why}"),
    "no record of topic": ("no record of topic {topic}", "没有 topic {topic} 的记录"),
    "no record of topic near": ("no record of topic {topic}; did you mean {near}?", "没有 topic {topic} 的记录；是不是 {near}？"),
    "trust and deleted": (
        "{what} (access=trust does not search the log for deleted topics)",
        "{what}（access=trust 不在 commitlog 中查找已删除的 topic）",
    ),
    "miss empty": ("it is empty", "目录为空"),
    "miss broker conf": (
        f"{{uri}} {{problem}}. Set {option_name('broker_conf')} to the broker's configuration file, often conf/broker.conf",
        f"{{uri}} {{problem}}。请把 {option_name('broker_conf')} 设为 broker 的配置文件，通常是 conf/broker.conf",
    ),
    "miss store path": (
        ("{uri} sets neither storePathRootDir nor storePathCommitLog. The store is then ~/store of the broker's user: load that path"),
        "{uri} 没有设置 storePathRootDir 和 storePathCommitLog。store 位于运行 broker 的用户的 ~/store：请指定这个路径",
    ),
    "miss logs": (
        "none of these log directories exists: {logs}",
        "这些 commitlog 目录都不存在：{logs}",
    ),
    "miss among matches": (
        "{path}: {count} files and directories match, but none is a store or part of one",
        "{path}：有 {count} 个文件和目录匹配，但都不是 store，也不属于 store",
    ),
    "miss one node": (
        "{uri} has the logs of several DLedger nodes: {nodes}. Load one of them: {one}",
        "{uri} 中有多个 DLedger 节点的 commitlog：{nodes}。请指定其中一个：{one}",
    ),
    "miss no match": (
        "{uri}: no file or directory matches",
        "{uri}：没有匹配的文件或目录",
    ),
    "miss scheme": (
        "{uri}: {scheme}:// is not supported. Use a local path, or {known}. {other}",
        "{uri}：不支持 {scheme}://。请使用本地路径，或 {known}。{other}",
    ),
    "miss bucket name": (
        "{origin}: the bucket is missing. Write {scheme}://bucket/store",
        "{origin}：缺少 bucket。请写成 {scheme}://bucket/store",
    ),
    "miss bucket": (
        "{origin}: the bucket does not exist. Check its name, fs.region and fs.endpoint_override",
        "{origin}：bucket 不存在。请检查名称、fs.region 和 fs.endpoint_override",
    ),
    "conf missing": (
        "does not exist",
        "不存在",
    ),
    "conf size": (
        "has {size:,} bytes",
        "有 {size:,} 字节",
    ),
    "conf no file": (
        "is not a file",
        "不是文件",
    ),
    "miss compacted": (
        ("{uri} is the log of a compacted topic, with offsets of its own, not a commitlog. Its store has it as the table `compacted`"),
        "{uri} 属于 compaction topic，有自己的偏移量，不是 commitlog。store 的表 `compacted` 有其中的内容",
    ),
    "miss only strays": (
        "{directory}: no segments found, only {names}. For each of these files: {how}",
        "{directory}：没有 commitlog 文件，只有 {names}。请对每个文件这样处理：{how}",
    ),
    "and files more": (
        "{names} and {more} more",
        "{names}，另有 {more} 个",
    ),
    "restore not regular": (
        "it is not a regular file: restore it from a copy, or mount what it links to",
        "不是普通文件：请从拷贝中取回，或挂载链接指向的磁盘",
    ),
    "restore unpack": (
        "unpack it first: {command}",
        "请先解压：{command}",
    ),
    "restore rename": (
        "if it is a segment, rename it first: {command}",
        "如果是 commitlog 文件，请先改名：{command}",
    ),
    "miss other systems": (
        "In Python, fs= also takes a file system of pyarrow or fsspec",
        "在 Python 中，fs= 也可以是 pyarrow 或 fsspec 的文件系统",
    ),
}
