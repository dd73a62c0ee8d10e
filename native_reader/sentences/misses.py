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
}
