"""What the system says, and what may be meant: parts of errors."""

from __future__ import annotations

CAUSES = {
    "nothing": (
        "",
        "",
    ),
    "did you mean": (
        " Did you mean '{near}'?",
        "是不是 {near}？",
    ),
    "system at": (
        "{what}: {path}",
        "{what}：{path}",
    ),
    "system ENOSPC": (
        "{text}",
        "磁盘写满（{text}）",
    ),
    "system EDQUOT": (
        "{text}",
        "超出磁盘配额（{text}）",
    ),
    "system EACCES": (
        "{text}",
        "无权限（{text}）",
    ),
    "system EPERM": (
        "{text}",
        "无权限（{text}）",
    ),
    "system EROFS": (
        "{text}",
        "文件系统只读（{text}）",
    ),
    "system EIO": (
        "{text}",
        "磁盘读写错误（{text}）",
    ),
    "system ENOENT": (
        "{text}",
        "文件或目录不存在（{text}）",
    ),
    "system ENOTDIR": (
        "{text}",
        "不是目录（{text}）",
    ),
    "system EISDIR": (
        "{text}",
        "是目录，不是文件（{text}）",
    ),
    "system EEXIST": (
        "{text}",
        "已存在（{text}）",
    ),
    "system EMFILE": (
        "{text}",
        "进程打开的文件过多（{text}）",
    ),
    "system ENAMETOOLONG": (
        "{text}",
        "名称过长（{text}）",
    ),
    "system ESTALE": (
        "{text}",
        "网络文件系统上的文件已失效（{text}）",
    ),
    "system ETIMEDOUT": (
        "{text}",
        "连接超时（{text}）",
    ),
    "is a file": (
        "it is a file",
        "这是文件",
    ),
}
