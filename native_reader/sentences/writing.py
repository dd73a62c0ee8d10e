"""What stops the writing of an export, a rescue, a repair or a page."""

from __future__ import annotations

WRITING = {
    "account damaged": (
        "{path}/{name} is damaged. Export to another folder",
        "{path}/{name} 已损坏。请导出到另一个目录",
    ),
    "manifest damaged": (
        "{path}/{name} is damaged, or not the file of an export. Export to another folder",
        "{path}/{name} 已损坏，或不是导出所写的文件。请导出到另一个目录",
    ),
    "export not written": (
        "{path}: could not write: {why}. Start the same export again to continue it",
        "无法写入 {path}：{why}。再次执行同一导出命令即可继续",
    ),
    "export changed": (
        "{place} was changed or deleted after it was written. Export to another folder",
        "{place} 写入后有改动，或被删除。请导出到另一个目录",
    ),
    "export link": (
        "{folder} is a link, or inside one, which no export makes. Remove it, or export to another folder",
        "{folder} 是链接，或位于链接之下，不是导出所建。请移除这个链接，或导出到另一个目录",
    ),
    "file not written": (
        "{path}: could not write: {why}",
        "无法写入 {path}：{why}",
    ),
    "folder not made": (
        "{path}: cannot create this folder: {why}. Choose another",
        "无法创建目录 {path}：{why}。请换一个目录",
    ),
    "folder in use": (
        "{path}: another program is writing to this folder",
        "另一个程序正在写入目录 {path}",
    ),
    "partition exists": (
        (
            "{path} already exists. Either something else wrote it, or this file system does not distinguish two partitions "
            "whose names differ in case. Export to another folder"
        ),
        "{path} 已存在：可能由别的程序写入，也可能是文件系统不区分大小写，而有两个分区名只有大小写不同。请导出到另一个目录",
    ),
    "part gone": (
        "{path} was deleted before the run was complete. Export to another folder",
        "{path} 在本次导出完成之前被删除。请导出到另一个目录",
    ),
    "lost not written": (
        "{path}: could not write: {why}. Choose another folder",
        "无法写入 {path}：{why}。请换一个目录",
    ),
    "repair not written": (
        "{path}: could not write: {why}. Start the same repair again to continue it",
        "无法写入 {path}：{why}。再次执行同一修复命令即可继续",
    ),
    "rescue not written": (
        "{path}: could not write: {why}. Start the same rescue again to continue it",
        "无法写入 {path}：{why}。再次执行同一抢救命令即可继续",
    ),
}
