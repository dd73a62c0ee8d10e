"""What stops the writing of an export, a rescue, a repair or a page."""

from __future__ import annotations

from native_reader.errors import option_name

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
    "export of other version": (
        "{path} holds an export of another version of this package. Export to another folder",
        "{path} 中有本软件另一版本的导出。请导出到另一个目录",
    ),
    "export of other options": (
        ("{path} holds an export with {option}={before}, not {now}. Use the same options to continue it, or export to another folder"),
        "{path} 中的导出使用 {option}={before}，不是 {now}。请用相同的选项继续，或导出到另一个目录",
    ),
    "export of other stores": (
        "{path} holds an export of {before}, not of {now}. Export to another folder",
        "{path} 中有 {before} 的导出，不是 {now} 的。请导出到另一个目录",
    ),
    "export of version": (
        "{path} holds an export of version {before}; this is {now}. Finish it with that one, or export anew",
        "{path} 中的导出来自版本 {before}，当前是 {now}。请用原来的版本完成，或重新导出",
    ),
    "partition twice": (
        f"{option_name('partition_by')} names '{{name}}' twice",
        f"{option_name('partition_by')} 中 {{name}} 出现两次",
    ),
    "no partition column": (
        f"{option_name('partition_by')}: {{name}} is not a partition column.{{near}} Possible: {{columns}}",
        f"{option_name('partition_by')}：{{name}} 不是分区列。{{near}}可选值为 {{columns}}",
    ),
    "no format": (
        f"{option_name('to')}={{format}} is not a format.{{near}} Possible: {{formats}}",
        f"{option_name('to')}={{format}} 不是支持的格式。{{near}}可选值为 {{formats}}",
    ),
    "no such compression": (
        f"{option_name('compression')}={{compression}} is not possible with {option_name('to')}={{format}}. Possible: {{possible}}",
        f"{option_name('to')}={{format}} 不能使用 {option_name('compression')}={{compression}}。可选值为 {{possible}}",
    ),
    "text bodies only": (
        (
            f"{option_name('text_bodies')} is only for {option_name('to')}=jsonl and {option_name('to')}=csv. "
            "Other formats hold the bytes themselves"
        ),
        f"{option_name('text_bodies')} 只能用于 {option_name('to')}=jsonl 和 {option_name('to')}=csv。其他格式直接保存字节",
    ),
    "corrupt is partition": (
        f"{option_name('column_name_of_corrupt_record')}={{name}} is also a partition column. Choose a new name",
        f"{option_name('column_name_of_corrupt_record')}={{name}} 也是分区列。请换一个名称",
    ),
    "all columns partition": (
        f"{option_name('partition_by')} names every column, so the files would be empty. Add columns",
        f"{option_name('partition_by')} 包含了全部列，文件会是空的。请增加列",
    ),
    "folder with other files": (
        "{path} is not empty, and holds no export to continue. Choose a new or empty folder",
        "{path} 不为空，其中没有可继续的导出。请换一个新目录或空目录",
    ),
    "no folder name": (
        "{path}: no folder can have this name. Choose another",
        "{path}：不能作为目录名。请换一个",
    ),
    "not local": (
        "{uri} is not a local path. An export is written to a folder of this machine; copy it from there",
        "{uri} 不是本地路径。导出写入本机目录，之后可再复制",
    ),
    "folder not utf-8": (
        "{path}: the name of this folder is not UTF-8. Choose another",
        "{path}：目录名不是 UTF-8。请换一个",
    ),
    "cannot read file": (
        "{path}: cannot read this file: {why}",
        "无法读取文件 {path}：{why}",
    ),
    "inside the store": (
        "{path} is inside the store {store}. Choose a folder outside it: a store is never changed",
        "{path} 位于 store {store} 之内。请换一个 store 之外的目录：不改动 store",
    ),
    "many partitions": (
        f"{option_name('partition_by')}={{names}} makes more than {{most:,}} partitions in one task. Choose columns with fewer values",
        f"{option_name('partition_by')}={{names}} 在一个任务中产生的分区超过 {{most:,}} 个。请选择取值较少的列",
    ),
    "state of newer version": (
        "{path}: a state of version {number}; this package reads version {version}. Use a newer one",
        "{path}：状态文件的版本为 {number}，本软件支持版本 {version}。请使用更新的版本",
    ),
    "state changed": (
        "{path}: an offset in this state was changed after it was written. {restore}",
        "{path}：状态文件中的偏移量写入后有改动。{restore}",
    ),
    "state of other folder": (
        "{path} is the state of the export to {folder}, not to {target}. Name another file",
        "{path} 是导出到 {folder} 的状态文件，不是导出到 {target} 的。请指定另一个文件",
    ),
    "state of other store": (
        (
            "{path} is the state of an export of {store}, which is not among the stores of this run: {named}. None of these has the "
            "last record that was read from it, at offset {offset:,}. Name {store}, or use a new state and a new folder{else}"
        ),
        (
            "{path} 是导出 {store} 的状态文件，这次的 store 中没有它：{named}。这些 store 都没有从它最后读取的那条记录（偏移量 "
            "{offset:,}）。请指定 {store}，或换新的状态文件和目录{else}"
        ),
    ),
    "without the store": (
        f". If it does not exist any more, {option_name('fail_on_data_loss', False)} continues with the other stores",
        f"。如果它已不存在，{option_name('fail_on_data_loss', False)} 可继续导出其他 store",
    ),
    "state older": (
        (
            "{path} is an older copy of the state: it knows of {runs:,} {runs:run|runs}, and the folder has run "
            "{newest}, whose messages would "
            "come twice. {restore}"
        ),
        "{path} 是旧的状态文件：其中记录了 {runs:,} 次导出，而目录中已有第 {newest} 次，消息会重复。{restore}",
    ),
    "no state": (
        (
            "{path} is not empty, and there is no state {state}. Messages could come twice. Name the state of this export, or a "
            "new or empty folder"
        ),
        "{path} 不为空，而没有状态文件 {state}，消息可能重复。请指定这次导出的状态文件，或换一个新目录或空目录",
    ),
    "state of other options": (
        "{path}: the runs before had {option}={before}, and this one has {now}. Use the same options, or a new state and a new folder",
        "{path}：之前的导出使用 {option}={before}，这次是 {now}。请使用相同的选项，或换新的状态文件和目录",
    ),
    "state without option": (
        "{path}: the runs before had no {option}, and this one has {now}. Use the same options, or a new state and a new folder",
        "{path}：之前的导出没有 {option}，这次是 {now}。请使用相同的选项，或换新的状态文件和目录",
    ),
    "state with option": (
        "{path}: the runs before had {option}={before}, and this one has none. Use the same options, or a new state and a new folder",
        "{path}：之前的导出使用 {option}={before}，这次没有。请使用相同的选项，或换新的状态文件和目录",
    ),
    "folder not empty": (
        "{path} is not empty: it contains {name}. Choose a new or empty folder",
        "目录 {path} 不为空，其中有 {name}。请换一个新目录或空目录",
    ),
    "output not a file": (
        "{path}: cannot write there: it is not a regular file. Name a file",
        "无法写入 {path}：不是普通文件。请指定文件",
    ),
    "output without folder": (
        "{path}: cannot write there: the folder {parent} does not exist. Make it first",
        "无法写入 {path}：目录 {parent} 不存在。请先创建",
    ),
    "column not in format": (
        "{path}: the column {name} has the type {type}, which this format does not have. CAST it to VARCHAR, or write .arrow or .csv",
        "{path}：列 {name} 的类型是 {type}，这种格式不支持。请用 CAST 转成 VARCHAR，或写成 .arrow 或 .csv",
    ),
    "output of other kind": (
        "{output}: cannot write there: {what}. Name a file",
        "无法写入 {output}：{what}。请指定文件",
    ),
    "state not of export": (
        "{path} is no state of an export, or was changed. {restore}",
        "{path} 不是导出的状态文件，或有改动。{restore}",
    ),
    "restore state": (
        "Restore what the last run left in it, or name a new file and a new folder",
        "请恢复为上次导出结束时的内容，或换新的状态文件和目录",
    ),
    "not utf8": (
        "it is not UTF-8",
        "不是 UTF-8",
    ),
    "output is a folder": (
        "it is a folder",
        "是目录",
    ),
    "output is no file": (
        "it is not a regular file",
        "不是普通文件",
    ),
    "output not opened": (
        "{path}: cannot write there: {why}",
        "无法写入 {path}：{why}",
    ),
}
