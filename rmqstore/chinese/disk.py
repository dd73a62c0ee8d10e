"""What fills the disk besides the messages of a topic, in Chinese."""

from __future__ import annotations

CHINESE = {
    "log": "日志",
    "queues": "消费队列",
    "index": "索引",
    "other": "其他",
    "part": "{name} {size}",
    "next part": "{first}，{second}",
    "and": "{first}和{second}",
    "size unknown": "占用的磁盘空间未知",
    "stored": "占用磁盘 {total}：{parts}",
    "stored at least": "占用磁盘至少 {total}：{parts}；未计入：{missing}",
    "disk": "{stored}；所在磁盘共 {size}，已用 {used}（{percent} %），剩余 {free}",
    "disk with reserve": "{stored}；所在磁盘共 {size}，已用 {used}（{percent} %），剩余 {free}，其余由文件系统保留或留给其他用户",
    "deleted": "{topics:,} 个已删除的 topic 仍有记录：{names}，{messages:,} 条消息，{size}，其所在文件过期后才会释放",
    "deleted among them": "其中有 {topics:,} 个已删除的 topic：{names}，{messages:,} 条消息，{size}，直到它们所在的文件过期",
    "largest topics": "{stored}；最大的 topic：{topics}",
    "largest topic": "{topic}（占记录的 {share}）",
    "large topic": "{topic}（{share}）",
    "page": "{path}：{bytes:,} 字节",
    "of broker": "{broker}：{said}",
}
