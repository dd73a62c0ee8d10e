"""What a read warns of, and continues."""

from __future__ import annotations

WARNINGS = {
    "config read instead": (
        "{problems}. {instead} is read instead",
        "{problems}。改为读取 {instead}",
    ),
    "offsets elsewhere": (
        "{files} is not used: the broker keeps its consumer offsets elsewhere, in {used}",
        "{files} 未使用：broker 的消费位点保存在 {used}",
    ),
    "timer unknown": (
        "{why}. Messages of the timer are `unknown` without it",
        "{why}。缺少这个文件时，定时消息的状态为 `unknown`",
    ),
    "settings elsewhere": (
        "{uri} is not used: the broker keeps its {settings} elsewhere, in {used}",
        "{uri} 未使用：broker 的{settings}保存在 {used}",
    ),
    "settings of topic": (
        "topics",
        " topic 配置",
    ),
    "settings of group": (
        "groups",
        "消费组配置",
    ),
    "kernel not used": (
        "{versions}. It is not used: reads are slower",
        "{versions}。未使用，读取较慢",
    ),
    "numpy runs": (
        "{reason}. numpy runs: reads are slower",
        "{reason}。改用 numpy，读取较慢",
    ),
    "kernel version": (
        "rmqstore-kernel {version} has version {found} of the interface, this reader needs {needed}",
        "rmqstore-kernel {version} 的接口版本为 {found}，而这里需要 {needed}",
    ),
    "no bound in checkpoint": (
        "{store}: the checkpoint has no {tail} offset, so tail={tail} reads to the end of the log",
        "{store}：checkpoint 中没有 {tail} 偏移量，因此 tail={tail} 读取到 commitlog 末尾",
    ),
    "owners not written": (
        "{path}: the files for the owners of topics were not written: {why}",
        "{path}：各 topic 负责人的文件没有写出：{why}",
    ),
    "read continues": (
        "{why}. The read continues without it",
        "{why}。读取继续，不含这部分",
    ),
    "packed read": (
        (
            "{uri}: {segments:,} packed {segments:segment is unpacked while it is|segments are unpacked while they are} read, "
            "which is slow. Unpacked copies are read much faster"
        ),
        "{uri}：有 {segments:,} 个压缩的 commitlog 文件，读取时才解压，速度较慢。解压后的拷贝读取快得多",
    ),
    "stores deeper": (
        "{uri}: stores deeper in it are not read: {names}. Name each store that you want, or use a pattern",
        "{uri}：更深目录中的 store 未读取：{names}。请逐个指定需要的 store，或使用通配符",
    ),
    "entries not listed": (
        "{uri}: {why}. Its entries are not listed",
        "{uri}：{why}。其中的条目未列出",
    ),
    "pop state missing": (
        "{why}. Without it, messages that pop consumers hold are missing",
        "{why}。因此缺少 POP 消费者持有的消息",
    ),
    "queues unknown": (
        "{store}: no queue has an entry for the last {bytes:,} bytes of the log, so the states are unknown",
        "{store}：commitlog 最后的 {bytes:,} 字节没有消费队列条目，因此无法判断队列状态",
    ),
    "transactions unknown": (
        "{why}. Transactions that no message decided are `unknown`",
        "{why}。没有消息决定的事务，状态为 `unknown`",
    ),
    "own paths": (
        "{conf}: {settings} not used, because {store} has its own",
        "{conf}：{settings} 未使用，因为 {store} 有自己的目录",
    ),
    "paths missing": (
        "{conf}: {settings} not used, because the path does not exist here",
        "{conf}：{settings} 未使用，因为路径在本机不存在",
    ),
    "queues in it": (
        "The queues in it are not listed. The log has all messages: topics with access=scan counts them",
        "其中的队列未列出。commitlog 中有全部消息：用表 topics 加 access=scan 可以计数",
    ),
    "kernel absent": (
        "rmqstore-kernel is not installed",
        "未安装 rmqstore-kernel",
    ),
    "kernel zipped": (
        "rmqstore-kernel is not installed, and Python cannot load it from a zip",
        "未安装 rmqstore-kernel，而且 Python 无法从 zip 加载",
    ),
    "kernel not imported": (
        "{module} cannot be imported: {error}",
        "无法导入 {module}：{error}",
    ),
    "owned by other": (
        "{what}. It belongs to the user {user}: run this as that user, for example with sudo -u {user}",
        "{what}。文件属于用户 {user}：请用该用户执行，例如 sudo -u {user}",
    ),
}
