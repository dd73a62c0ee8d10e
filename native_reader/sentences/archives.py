"""What is wrong with a tar archive."""

from __future__ import annotations

ARCHIVES = {
    "no header": (
        "a header is missing there",
        "缺少文件头",
    ),
    "global header": (
        "a global header has the name or the size of a file, which is not supported",
        "全局文件头中有文件的名称或大小，不支持这种格式",
    ),
    "many headers": (
        "more than {most} headers describe one file",
        "一个文件的文件头超过 {most} 个",
    ),
    "header checksum": (
        "the checksum of the header is {found}, expected {expected}",
        "文件头的校验和为 {found}，应为 {expected}",
    ),
    "header number": (
        "the {name} in the header is invalid: {value}",
        "文件头中的 {name} 无效：{value}",
    ),
    "header too large": (
        "a header with a long name or other fields has {size:,} bytes; the limit is {most:,}",
        "含长名称或其他字段的文件头有 {size:,} 字节，上限为 {most:,}",
    ),
    "pax field": (
        "a field of the pax header is invalid: {value}",
        "pax 文件头的一个字段无效：{value}",
    ),
    "pax value": (
        "{name} in the pax header is invalid: {value}",
        "pax 文件头中的 {name} 无效：{value}",
    ),
    "archive in volumes": (
        "it is a part of an archive in several volumes, which cannot be read in place",
        "这是分卷归档的一部分，不能直接读取",
    ),
    "unknown header": (
        "a header of an unknown kind: {code}",
        "未知类型的文件头：{code}",
    ),
    "other long name": (
        "the name in the header is not the beginning of the long name before it",
        "文件头中的名称不是前面长名称的开头",
    ),
    "sparse unknown": (
        "the size of a sparse file is missing, or its version is unknown",
        "缺少稀疏文件的大小，或版本未知",
    ),
    "sparse map too large": (
        "the map of a sparse file has more than {most:,} bytes",
        "稀疏文件的映射超过 {most:,} 字节",
    ),
    "sparse map invalid": (
        "the map of a sparse file is invalid",
        "稀疏文件的映射无效",
    ),
    "sparse map size": (
        "the map of a sparse file does not match its size",
        "稀疏文件的映射与文件大小不符",
    ),
    "after end mark": (
        "the end mark is there, but {bytes:,} bytes follow",
        "有结束标记，但后面还有 {bytes:,} 字节",
    ),
    "data after end mark": (
        "data follows the end mark",
        "结束标记之后有数据",
    ),
    "many members": (
        "it has more than {most:,} files",
        "其中的文件超过 {most:,} 个",
    ),
    "link forward": (
        "{path} is a link to {target}, which is not before it in the archive",
        "{path} 是指向 {target} 的链接，而链接的目标不在其前面",
    ),
    "below no directory": (
        "{path} is a {kind_of_file}, and there are files below it",
        "{path} 的类型是 {kind_of_file}，下面却有文件",
    ),
    "archive packed": (
        "{uri} is packed with {packed}, so unpack it first: {command}",
        "{uri} 是 {packed} 压缩文件，请先解压：{command}",
    ),
    "archive empty": (
        "it is empty",
        "文件为空",
    ),
    "first header wrong": (
        "the checksum of its first header is wrong",
        "第一个文件头的校验和有误",
    ),
    "no archive": (
        "{uri} is not a tar archive: {problem}. Copy or pack it again",
        "{uri} 不是 tar 归档文件：{problem}。请重新复制或打包",
    ),
}
