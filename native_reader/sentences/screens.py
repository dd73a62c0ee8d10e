"""What the commands say around their tables and messages."""

from __future__ import annotations

SCREENS = {
    # All commands
    "note": ("note: {what}", "提示：{what}"),
    "warnings left out": ("warning: {count:,} more warnings are not shown", "警告：另有 {count:,} 个警告未显示"),
    "interrupted": ("interrupted", "已中断"),
    "columns left out": (
        "not shown on {width} columns: {names}. A wider terminal or --json has them",
        "终端宽 {width} 列，未显示：{names}。请加宽终端，或用 --json",
    ),
    "gap of store": (
        "{store}: no file contains offsets {start:,} to {stop:,} ({bytes:,} bytes)",
        "{store}：没有文件包含偏移量 {start:,} 至 {stop:,}（{bytes:,} 字节）",
    ),
    "skipped ranges": (
        "skipped {ranges:,} damaged {ranges:range|ranges} with {bytes:,} bytes. rmqstore tables STORE damage lists all damage",
        "跳过 {ranges:,} 处损坏，共 {bytes:,} 字节。查看全部损坏：rmqstore tables STORE damage",
    ),
    "no rows": ("0 rows", "0 行"),
    "no messages": ("0 messages", "0 条消息"),
    "summary incomplete": ("the summary was not completed: {why}", "摘要没有写完：{why}"),
    "summary": ("summary {what}", "摘要：{what}"),
    "parts written": (
        "written: {parts:,} {parts:part|parts} in files of {size} in all, from {read} of the log",
        "已写入 {parts:,} 个部分，文件共 {size}，读取 commitlog {read}",
    ),
    "parts kept": ("kept: {parts:,} {parts:part|parts}", "沿用 {parts:,} 个部分"),
    "parts of damaged": (
        "not used: {segments:,} {segments:segment|segments} with damaged bytes, from {first}",
        "未使用：{segments:,} 个 commitlog 文件有损坏，第一个是 {first}",
    ),
    "parts left out": (
        "left out: {segments:,} {segments:segment|segments}, from {first}: not full yet, or packed",
        "未包含：{segments:,} 个 commitlog 文件，从 {first} 起：尚未写满，或已压缩",
    ),
    # Errors
    "error": ("error: {what}", "错误：{what}"),
    "error no rich": (
        "tables on a terminal need the package rich: pip install rich. Without it, use --json, or add | cat",
        "终端上的表格需要 rich：pip install rich。没有时，请用 --json，或加上 | cat",
    ),
    "error of output": ("cannot write to standard output: {why}", "无法写入标准输出：{why}"),
    "try help": ("Try '{command} --help'.", "查看用法：{command} --help"),
    "no command": ("No such command '{command}'. All commands: {hint}", "没有命令 {command}。全部命令：{hint}"),
    "no command near": ("No such command '{command}'. Did you mean '{hint}'?", "没有命令 {command}。是不是 {hint}？"),
    "no option": ("No such option: {option}", "没有选项 {option}"),
    "no option near": ("No such option: {option} Did you mean {near}?", "没有选项 {option}。是不是 {near}？"),
    "missing command": ("Missing command.", "缺少命令"),
    "missing parameter": ("Missing {name}.", "缺少 {name}"),
    "wrong value": ("Invalid value for {name}: {why}", "{name} 的值不正确：{why}"),
    "a directory": ("{path} is a directory", "{path} 是目录，请指定文件"),
    "not readable": ("{path} is not readable", "{path} 不可读"),
    "not a choice": ("it is not one of {choices}", "可选值为 {choices}"),
    "unwanted value": ("Option {option} does not take a value.", "选项 {option} 不带值"),
    "missing value": ("Option {option} requires an argument.", "选项 {option} 缺少值"),
    "extra argument": ("Got unexpected extra argument {argument}", "多余的参数：{argument}"),
    "no store named": ("Missing argument 'STORE...'.", "缺少参数 STORE"),
    "name without store": (
        "--name {name} does not name a store. Write --name {store}={name}",
        "--name {name} 没有指明 store。请写成 --name {store}={name}",
    ),
    "no server": (
        "No such option: -n. rmqstore reads the files of a store, and needs no name server (-n) and no cluster.",
        "没有选项 -n：rmqstore 读取 store 的文件，不需要 NameServer（-n）和集群",
    ),
    "no server as number": (
        "{value} is an address: rmqstore reads the files of a store, and needs no name server (-n) and no cluster. Here, -n is a number",
        "{value} 是地址：rmqstore 读取 store 的文件，不需要 NameServer（-n）和集群。这里的 -n 是数量",
    ),
    "address no time": (
        "{value} is an address, and no time: rmqstore reads files, and asks no broker",
        "{value} 是地址，不是时间：rmqstore 读取文件，不访问 broker",
    ),
    "before year 1": ("'{value}' is before the year 1", "{value} 早于公元 1 年"),
    "no pair": ("{value} is not of the form name=value", "{value} 不是 name=value 的形式"),
    "no language": ("{value} is not one of {languages}", "{value} 不可用，可选值为 {languages}"),
    "no number": ("{value} is not a number from {least}", "{value} 不是不小于 {least} 的整数"),
    "no number to": ("{value} is not a number from {least} to {most}", "{value} 不是 {least} 至 {most} 的整数"),
    "same option": ("--option {name} and {flag} are the same option.", "--option {name} 和 {flag} 是同一个选项"),
    "two stores": ("A comparison needs two stores: rmqstore diff A B.", "比对需要两个 store：rmqstore diff A B"),
    "only two stores": (
        "Name two stores to use --by, --each, --heads or a filter.",
        "使用 --by、--each、--heads 或过滤条件时，只能比对两个 store",
    ),
    "only with full": ("--option {name} is for --full, which reads the store.", "--option {name} 只能与 --full 一起使用"),
    "resend sets": (
        "--for-resend sets --columns, and --to jsonl without --text. Omit these.",
        "--for-resend 已包含 --columns、--to jsonl，且不带 --text。请去掉这些选项",
    ),
    "resend needs": (
        "--for-resend needs a selection, such as --topic or --where \"kind = 'dlq'\".",
        "--for-resend 需要条件，例如 --topic，或 --where \"kind = 'dlq'\"",
    ),
    "no query": (
        'The query is missing after the store: rmqstore sql {store} "SELECT …"',
        'store 之后缺少查询：rmqstore sql {store} "SELECT …"',
    ),
    "no new messages": ("no new messages", "没有新消息"),
    "export run": (
        "run {run:,}: {messages:,} {messages:message|messages} in {files:,} {files:file|files} of {size} in {folder}",
        "第 {run:,} 次：{messages:,} 条消息，{files:,} 个文件，共 {size}，位于 {folder}",
    ),
    "run not read": (
        "{ranges:,} {ranges:range|ranges} of the log could not be read. All: {file}",
        "commitlog 有 {ranges:,} 处无法读取，全部见 {file}",
    ),
    "no format of name": (
        "{path} does not end in .parquet, .arrow, .jsonl, .json or .csv, the last three also with .gz or .zst",
        "{path} 的扩展名不是 .parquet、.arrow、.jsonl、.json 或 .csv；后三种还可加 .gz 或 .zst",
    ),
    "rows in file": ("{rows:,} {rows:row|rows} in {file}", "{rows:,} 行写入 {file}"),
    "extract needs": ("An extract needs a topic: --topic NAME.", "提取需要指定 topic：--topic NAME"),
    "no offset": (
        "{value} is neither an offset in the log nor TOPIC/QUEUE/OFFSET",
        "{value} 既不是物理偏移量，也不是 TOPIC/QUEUE/OFFSET",
    ),
    "nothing to find": (
        "Nothing to find. Use --key, --keys, --msg-id, --offset, --text or --where; rmqstore cat prints all messages.",
        "没有查找条件。请用 --key、--keys、--msg-id、--offset、--text 或 --where；查看全部消息：rmqstore cat",
    ),
    "offset sets": ("--offset already sets {options}.", "--offset 已包含 {options}"),
    "not utf-8": ("it is not UTF-8", "不是 UTF-8"),
    "no owner in line": (
        "line {number:,}: expected a pattern of topics and a team, as in orders*,sales",
        "第 {number:,} 行：应为 topic 的通配符和团队，例如 orders*,sales",
    ),
    "not json": ("it cannot be read as JSON", "无法按 JSON 解析"),
    "no owners": (
        "it has no line. Write a pattern of topics and a team in each, as in orders*,sales",
        "文件中没有内容。请每行写 topic 的通配符和团队，例如 orders*,sales",
    ),
    "no owners in json": ("expected {pairs} or {rows}", "应为 {pairs} 或 {rows}"),
    "no keys": ("it has no key. Write one in each line", "文件中没有 key。请每行写一个"),
    "many keys": (
        "it has {count:,} keys, and {most:,} are the most. Split it",
        "文件中有 {count:,} 个 key，最多 {most:,} 个。请拆成几个文件",
    ),
    "no such options": ("This command takes no other options: --option {name}.", "本命令不接受 --option {name}"),
    "no folder": (
        "The folder for the new store is missing: rmqstore {command} {store} NEW",
        "缺少新 store 的目录：rmqstore {command} {store} NEW",
    ),
    "no folder of rescue": (
        "The folder for the rescued messages is missing: rmqstore rescue {store} FOLDER",
        "缺少存放消息的目录：rmqstore rescue {store} FOLDER",
    ),
    "no title": (
        "Metrics have no --title. Use --name for the broker's name.",
        "指标没有 --title。请用 --name 指定 broker 的名称",
    ),
    "not for report": (
        "A report does not take --option {name}. Possible: {possible}",
        "报告不接受 --option {name}。可用的选项：{possible}",
    ),
    "one job": ("A summary is written by one job: omit --jobs.", "摘要只能由一个任务写入：请去掉 --jobs"),
    "use cat": ("Use rmqstore cat for messages.", "查看消息请用 rmqstore cat"),
    "no table named": ("The name of a table is missing. All tables: {tables}", "缺少表名。全部表：{tables}"),
    "no table after store": (
        "The name of a table is missing after the store: rmqstore tables {store} NAME. All tables: {tables}",
        "store 之后缺少表名：rmqstore tables {store} NAME。全部表：{tables}",
    ),
    "no such table": ("{name} is not a table. All tables: {tables}", "没有表 {name}。全部表：{tables}"),
    "no such table near": (
        "{name} is not a table. Did you mean '{near}'? All tables: {tables}",
        "没有表 {name}。是不是 {near}？全部表：{tables}",
    ),
    # Messages
    "no time": ("no time", "无时间"),
    "place of message": ("{topic}/{queue} offset {offset:,}", "{topic}/{queue} 位点 {offset:,}"),
    "tag of message": ("tag {tag}", "tag {tag}"),
    "keys of message": ("keys {keys}", "key {keys}"),
    "id of message": ("id {id}, at {offset:,} of {store}", "消息 ID {id}，{store} 的偏移量 {offset:,} 处"),
    "retried": ("retry {times}", "重试 {times} 次"),
    "of origin": ("{what} of {topic}", "{what}，原 topic {topic}"),
    "origin": ("of {topic}", "原 topic {topic}"),
    "after retry": ("{what} after retry {times}", "{what}，重试 {times} 次后"),
    "body packed": (
        "(the body cannot be decompressed; --columns stored_body shows its bytes)",
        "（消息体无法解压；用 --columns stored_body 查看原始字节）",
    ),
    "more of body": ("… {bytes:,} more bytes; --json prints all", "…… 另有 {bytes:,} 字节；用 --json 显示全部"),
    "not followed": (
        "no broker on this host has the store open; waiting for new messages all the same",
        "本机没有 broker 正在使用这个 store；仍在等待新消息",
    ),
    # find
    "messages found": (
        "{messages:,} {messages:message|messages} found; {size} of the log were read",
        "找到 {messages:,} 条消息；读取了 commitlog {size}",
    ),
    "queue lists": (
        "queue {queue} of topic {topic} lists queue offsets {first:,} to {last:,}",
        "topic {topic} 的队列 {queue} 中有位点 {first:,} 至 {last:,}",
    ),
    "queue lists none": (
        "queue {queue} of topic {topic} lists no message of this log; its next queue offset is {next:,}",
        "topic {topic} 的队列 {queue} 中没有这个 commitlog 的消息，下一个位点是 {next:,}",
    ),
    "read most": (
        "this read most of the log, because any topic may have the {name}. Add --topic to read less",
        "任何 topic 都可能有这个 {name}，因此读取了大部分 commitlog。加上 --topic 可减少读取量",
    ),
    "a key": ("key", "key"),
    "an id": ("id", "消息 ID"),
    "named but missing": (
        "the index names offset {offset:,} for it, and the log has no such message there: "
        "the message is lost, or the index is wrong. rmqstore verify tells which",
        "索引指向偏移量 {offset:,}，而 commitlog 中那里没有这条消息：消息已丢失，或索引有误。用 rmqstore verify 可判断是哪种",
    ),
    "several named but missing": (
        "the index names offset {offset:,} and {others:,} other {others:offset|offsets} for it, and the log has no such message there: "
        "the message is lost, or the index is wrong. rmqstore verify tells which",
        "索引指向偏移量 {offset:,}，另有 {others:,} 个偏移量，而 commitlog 中那里没有这条消息：消息已丢失，或索引有误。"
        "用 rmqstore verify 可判断是哪种",
    ),
    "log empty": ("the log has no messages", "commitlog 中没有消息"),
    "log spans": ("the log has messages stored from {first} to {last}", "commitlog 中的消息，存储时间从 {first} 到 {last}"),
    "log spans later": (
        "the log has messages stored from {first} to {last}; older ones expired or were removed",
        "commitlog 中的消息，存储时间从 {first} 到 {last}；更早的已过期，或被移走",
    ),
    "case of keys": ("keys are case-sensitive", "key 区分大小写"),
    "comma in key": (
        "a comma is part of the key; repeat --key for several keys",
        "逗号是 key 的一部分；查多个 key 时，请重复 --key",
    ),
    "search text": (
        "--text searches bodies and the values of properties",
        "用 --text 可在消息体和消息属性的值中查找",
    ),
    # dlq
    "none given up of these": ("no message that matches was given up", "没有符合条件的死信消息"),
    "none given up": ("no message was given up", "没有死信消息"),
    "to export dead of groups": (
        "to export all dead messages of these groups, with bodies and properties:",
        "导出这些消费组的全部死信消息，包括消息体和消息属性：",
    ),
    "to export dead": ("to export them, with bodies and properties:", "导出死信消息，包括消息体和消息属性："),
    # stat
    "groups left out": ("{count:,} more groups are not shown; --top 0 shows all", "另有 {count:,} 组未显示；用 --top 0 显示全部"),
    "groups forgotten": (
        "too many groups. The smallest are only in the totals, and the figures of other small ones can be too low",
        "分组过多。最小的组只计入合计，其他较小的组，数值可能偏低",
    ),
    "groups forgotten in diff": (
        "too many groups. The smallest are only in the counts below",
        "分组过多。最小的组只计入下面的数字",
    ),
    "stat totals": (
        "{messages:,} messages, {size} of records, {groups:,} {groups:group|groups}, times in {zone}, read in {time}",
        "{messages:,} 条消息，记录共 {size}，{groups:,} 组，时区 {zone}，读取用时 {time}",
    ),
    "name of deleted": ("{topic} (deleted)", "{topic}（已删除）"),
    # ls
    "store of broker": ("{broker}: {what}", "{broker}：{what}"),
    "store listed": (
        "{store}: {segments:,} {segments:segment|segments}, {size}",
        "{store}：{segments:,} 个 commitlog 文件，{size}",
    ),
    "light queues left out": (
        "{count:,} light queues (LMQ) are not listed; --queues lists them",
        "另有 {count:,} 个轻量队列（LMQ）未列出；用 --queues 列出",
    ),
    "no queues to list": (
        "no consume queues; rmqstore stat lists the topics in the log",
        "没有消费队列；用 rmqstore stat 查看 commitlog 中的 topic",
    ),
    "counted from queues": (
        "counted from the queues; rmqstore stat counts the log's records, also of deleted topics and the kinds prepared and rollback",
        "按消费队列计数；rmqstore stat 按 commitlog 中的记录计数，包括已删除的 topic，以及 prepared 和 rollback 类型",
    ),
    # export
    "none exported": (
        "nothing was exported: no message that matches has this key or id",
        "没有导出任何消息：符合条件的消息中，没有这个 key 或消息 ID",
    ),
    "exported": (
        "{messages:,} {messages:message|messages} in {files:,} {files:file|files} of {size} in {folder}",
        "已导出 {messages:,} 条消息，{files:,} 个文件，共 {size}，目录：{folder}",
    ),
    "not exported": (
        "{ranges:,} {ranges:range|ranges} of the log could not be read. All: {folder}/_damage.jsonl",
        "commitlog 有 {ranges:,} 处无法读取。全部见 {folder}/_damage.jsonl",
    ),
    # verify
    "at offset": ("at offset {offset:,}", "偏移量 {offset:,}"),
    "findings of code": ("{findings:,} findings", "{findings:,} 个问题"),
    "findings in places": ("{findings:,} findings in {places:,} places", "{findings:,} 个问题，共 {places:,} 处"),
    "more of code": ("{findings:,} more; --all prints each", "另有 {findings:,} 个；用 --all 全部列出"),
}
