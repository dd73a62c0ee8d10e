"""What the commands at the end of a page are for."""

from __future__ import annotations

CONFIRM = {
    "title confirm": ("Commands to confirm this", "用于核对的命令"),
    "confirm files": (
        (
            "Run these before a broker starts on the new store. They only read it. `doctor` counts the states that the "
            "results above give "
            "for the new store, and `verify` finds no error. `tables` has the offsets of each queue, and `lag` what each group has not "
            "read:"
        ),
        (
            "用新 store 启动 broker 之前执行，只读取、不改动。`doctor` 统计的消息状态应与上面“新 store 中”一致，`verify` 应不报告"
            "错误。`tables` 列出每个队列的位点，`lag` 列出各消费组的堆积量："
        ),
    ),
    "confirm broker": (
        (
            "Run these after the start, before clients are connected, in the folder of RocketMQ. In the first two lines, "
            "write the address "
            "of your name server and the name of the broker. `topicStatus` shows the offsets of `tables`:"
        ),
        (
            "启动之后、客户端连接之前，在 RocketMQ 的目录中执行；前两行改为实际的 NameServer 地址和 broker 名称。`topicStatus` "
            "显示的位点应与 `tables` 一致："
        ),
    ),
    "confirm groups": (
        "`consumerProgress` shows, as Diff, what `lag` shows as the lag.",
        "`consumerProgress` 的 Diff 应与 `lag` 的堆积量一致。",
    ),
    "confirm message": (
        "`queryMsgByOffset` prints a message that the new store has at that queue offset.",
        "`queryMsgByOffset` 应打印新 store 中这个队列位点的消息。",
    ),
    "confirm rescue": (
        (
            "These commands only read the store. `verify` prints the findings again, `lag` counts what each group has not read and never "
            "gets, and `repair --dry-run` says what a new store for a broker would have:"
        ),
        (
            "以下命令只读取 store。`verify` 再次列出问题，`lag` 统计各消费组未消费的消息，以及其中消费不到的消息，`repair "
            "--dry-run` 说明可供 broker 使用的新 store 会有哪些消息："
        ),
    ),
    "confirm keys": (
        "`lost` says which of the keys in `keys.txt`, one a line, are in whole, doubtful or lost messages.",
        "`lost` 说明 `keys.txt` 中的 key（每行一个）哪些完好、存疑或已丢失。",
    ),
    "ask slave": (
        (
            "If a slave of this broker still runs, it may have a lost message. Run this in the folder of RocketMQ. In "
            "the first two lines, "
            "write the address of your name server and the name of the broker:"
        ),
        (
            "如果 broker 的从节点仍在运行，从节点上可能有丢失的消息。在 RocketMQ 的目录中执行；前两行改为实际的 NameServer 地址和"
            " broker 名称："
        ),
    ),
}
