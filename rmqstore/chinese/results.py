"""What `rescue`, `repair` and `extract` say when they end, in Chinese."""

from __future__ import annotations

from rmqstore.chinese.doctor import CHINESE as DOCTOR

OWN = {
    "warning": "警告：{what}",
    "further reason": "  {reason}",
    "see": "详见 {page}",
    # A rescue
    "little room": "提示：日志有 {size}，而 {folder} 只剩 {free}。文件会被压缩，因此可能放得下",
    "rescued before": "此次抢救之前已完成：没有重新保存消息；重新检查了存储，并重新写了页面",
    "saved messages": "已保存 {messages:,} 条消息",
    "bytes lost": "日志中丢失了 {bytes:,} 字节：{parts}",
    "in damaged": "{ranges:,} 处损坏，共 {bytes:,} 字节",
    "in missing": "{ranges:,} 处缺失，共 {bytes:,} 字节",
    "and": "{first}；{second}",
    "offsets lost": "{offsets:,} 个队列位点没有保存到消息",
    "findings": "检查发现 {findings:,} 个问题",
    "may start": "可以在其上启动 broker 吗？{answer}",
    "older than log": "消费队列中还有比日志更早的 {records:,} 条记录，它们已过期或被移走",
    "no loss": "未发现任何丢失",
    "no other loss": "未发现其他丢失",
    # A repair, or an extract
    "survived": "保留了 {messages:,} 条消息",
    "copied": "复制了 {messages:,} 条消息",
    "may start damaged": "可以在损坏的存储上启动 broker 吗？{answer}",
    "corrected": "{messages:,} 条消息的消息体已改变，仍然保留，并改写了校验和",
    "without properties": "{messages:,} 条消息没有 tag 和 key，仍然保留",
    "replaced": "丢失了 {messages:,} 条消息；每条消息的位置上都有一条占位消息",
    "only planned": "这是计划：没有写入任何内容",
    "new store": "新的存储已写好，校验通过；详见 {page}",
}
CHINESE = {**DOCTOR, **OWN}
