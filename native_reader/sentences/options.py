"""What is wrong with an option."""

from __future__ import annotations

from native_reader.errors import option_name

OPTIONS = {
    "kernel of other version": (
        "{variable}={wanted}, but {versions}. Install the rmqstore-kernel of this reader's version",
        "{variable}={wanted}，但 {versions}。请安装与此版本一致的 rmqstore-kernel",
    ),
    "owners wrong": (
        "owners={owners} is not a team for each pattern of topics, as {{'orders*': 'sales'}}",
        "owners={owners} 不正确：应为每个 topic 模式对应一个团队，例如 {{'orders*': 'sales'}}",
    ),
    "no path": (
        "the path is missing. Pass a path, store_path_commit_log or broker_conf",
        "缺少路径。请给出路径、store_path_commit_log 或 broker_conf",
    ),
    "two peers": (
        "a comparison of peers needs two stores or more",
        "比对节点需要两个以上的 store",
    ),
    "no table": (
        "table={name} does not exist.{near} All tables: {tables}",
        "没有表 {name}。{near}全部表：{tables}",
    ),
    "one store only": (
        "{what} is about one store, and this path has {stores}: {paths}. Choose one",
        "{what} 只针对一个 store，而这个路径有 {stores} 个：{paths}。请选择一个",
    ),
    "unknown option": (
        "unknown option '{name}'.{near} All options: {known}",
        "没有选项 {name}。{near}全部选项：{known}",
    ),
    "option not taken": (
        "{what} does not support the option '{option}'.{near} Supported: {taken}",
        "{what} 不支持选项 {option}。{near}支持的选项：{taken}",
    ),
    "wrong start": (
        "start must be {earliest}, {latest} or None, not {start}",
        "start 应为 {earliest}、{latest} 或 None，不是 {start}",
    ),
    "wrong pause": (
        "pause must be a number of seconds from 0 to {most:,}, not {pause}",
        "pause 应为 0 至 {most:,} 的秒数，不是 {pause}",
    ),
    "name of no store": (
        f"{option_name('names')}: {{path}} is {{what}}. The stores: {{stores}}",
        f"{option_name('names')}：{{path}} 对应 {{what}}。全部 store：{{stores}}",
    ),
    "empty name": (
        f"{option_name('names')}: a name is empty",
        f"{option_name('names')}：名称为空",
    ),
    "one broker twice": (
        f"{{other}} and {{uri}} are both of broker {{name}}. Give at least one of them another name with "
        f"{option_name('names')}: {{uri}}=NAME",
        f"{{other}} 和 {{uri}} 都属于 broker {{name}}。请用 {option_name('names')} 为其中至少一个指定别的名称：{{uri}}=NAME",
    ),
    "several tiers": (
        "{folder} has the tiers of several brokers: {names}. Set {option} to a folder with that of this store only",
        "{folder} 中有多个 broker 的多级存储：{names}。请把 {option} 设为只含这个 store 的目录",
    ),
    "no tier": (
        "{where}. Set {option} to the broker's tieredStoreFilePath; a tier in object storage is not read",
        "{where}。请把 {option} 设为 broker 的 tieredStoreFilePath；对象存储中的多级存储不能读取",
    ),
    "empty list": (
        "{option} must not be an empty list. Omit the option instead",
        "{option} 不能是空列表。请去掉这个选项",
    ),
    "not text": (
        "{option} must be text, not {value}",
        "{option} 应为文本，不是 {value}",
    ),
    "not of words": (
        "{option} must be one of {words}, not {value}.{near}",
        "{option} 的可选值为 {words}，不是 {value}。{near}",
    ),
    "not a flag": (
        "{option} must be True or False, not {value}",
        "{option} 应为 True 或 False，不是 {value}",
    ),
    "not whole": (
        "{option}{of} must be an integer from {least} to {most}, not {value}",
        "{option}{of} 应为 {least} 至 {most} 的整数，不是 {value}",
    ),
    "not a size": (
        "{option}={value} is not a size. Examples: 134217728, '128m', '1g'",
        "{option}={value} 不是大小。例如：134217728、'128m'、'1g'",
    ),
    "size too large": (
        "{option}={value} is larger than {largest} bytes",
        "{option}={value} 超过 {largest} 字节",
    ),
    "not a duration": (
        "{option}={value} is not a duration. Examples: 90s, 10m, 1h, 60000 (milliseconds)",
        "{option}={value} 不是时长。例如：90s、10m、1h、60000（毫秒）",
    ),
    "not an instant": (
        "{option} must be a datetime with a time zone, ISO 8601 text, or milliseconds since 1970, not {value}",
        "{option} 应为带时区的 datetime、ISO 8601 文本，或 1970 年以来的毫秒数，不是 {value}",
    ),
    "not milliseconds": (
        "{option}={milliseconds}: {why}",
        "{option}={milliseconds}：{why}",
    ),
    "surrogate": (
        "{option}={value} contains an unpaired surrogate, which matches no text",
        "{option}={value} 中有不成对的代理字符，不会匹配任何文本",
    ),
    "wrong type": (
        "{option} does not support a value of type {name}",
        "{option} 不支持类型为 {name} 的值",
    ),
    "many values": (
        "{option} has more than {most:,} values",
        "{option} 的值超过 {most:,} 个",
    ),
    "not a time": (
        "{option}={text} is not a time. Examples: {examples}",
        "{option}={text} 不是时间。例如：{examples}",
    ),
    "no utc offset": (
        "{option}: the time zone of this datetime has no UTC offset",
        "{option}：这个 datetime 的时区没有 UTC 偏移",
    ),
    "column taken": (
        f"{option_name('column_name_of_corrupt_record')}={{name}} is the name of another column. Choose a new name",
        f"{option_name('column_name_of_corrupt_record')}={{name}} 是另一列的名称。请换一个名称",
    ),
    "column twice": (
        "column '{name}' is requested twice",
        "列 {name} 出现两次",
    ),
    "no column": (
        "column '{name}' does not exist.{near} All columns: {known}",
        "没有列 {name}。{near}全部列：{known}",
    ),
    "no peer": (
        "{uri} is not the store of a DLedger peer. Compare it with one other store: rmqstore diff A B",
        "{uri} 不是 DLedger 节点的 store。请与另一个 store 比对：rmqstore diff A B",
    ),
    "bounds crossed": (
        "{option} is after {end}, so no row can match",
        "{option} 晚于 {end}，不会有符合条件的行",
    ),
    "topics hidden": (
        "{option} hides topic={topics}, so no row can match. Omit one of them",
        "{option} 会排除 topic={topics}，不会有符合条件的行。请去掉其中一个",
    ),
    "kernel unknown": (
        "{variable}={wanted} is invalid. It must be {numpy} or {compiled}",
        "{variable}={wanted} 不正确，可选值为 {numpy} 或 {compiled}",
    ),
    "kernel wanted": (
        "{variable}={compiled}, but {module} cannot be imported: {error}. Install rmqstore-kernel",
        "{variable}={compiled}，但无法导入 {module}：{error}。请安装 rmqstore-kernel",
    ),
    "several options": (
        "{option} is several options. Write each by its name, for example fs.region",
        "{option} 是一组选项。请逐个写出，例如 fs.region",
    ),
    "empty option": (
        "{option} is empty. Omit the option instead",
        "{option} 为空。请去掉这个选项",
    ),
    "empty between commas": (
        "{option}={given} has an empty name between commas",
        "{option}={given} 的逗号之间有空名称",
    ),
    "not a written flag": (
        "{option} must be true or false, not {given}",
        "{option} 应为 true 或 false，不是 {given}",
    ),
    "empty tag": (
        "{option}={value} has an empty tag. Example: 'paid || refunded'",
        "{option}={value} 中有空的 tag。例如：'paid || refunded'",
    ),
    "key with space": (
        "{option}: no message has the key {key}, because RocketMQ separates the keys of a message by spaces. Ask for one of them: {keys}",
        "{option}：没有消息的 key 是 {key}，因为 RocketMQ 用空格分隔一条消息的多个 key。请查其中一个：{keys}",
    ),
    "trust in stream": (
        "access=trust misses new messages in a stream, because a broker writes consume queues after the log. Omit it",
        "access=trust 在流式读取中会漏掉新消息，因为 broker 先写 commitlog，后写消费队列。请去掉这个选项",
    ),
    "wrong pattern": (
        "{option}={pattern}: {error}",
        "{option}={pattern}：{error}",
    ),
    "wrong offsets": (
        "{option}={value} is invalid. It must be {expected}",
        "{option}={value} 不正确，应为 {expected}",
    ),
    "not in stream": (
        "{option} is not supported in a stream, which has no end. Omit it",
        "流式读取没有终点，不支持 {option}。请去掉这个选项",
    ),
    "not in stream of Spark": (
        "{option} is not supported in a stream, which has no end. Omit it, or use spark.read",
        "流式读取没有终点，不支持 {option}。请去掉这个选项，或改用 spark.read",
    ),
    "not in runs": (
        "{option} is not supported in an export with a state, whose runs continue without end. Omit it, or export without the state",
        "带状态文件的导出会一次接一次地继续，没有终点，不支持 {option}。请去掉这个选项，或不带状态文件导出",
    ),
    "many splits": (
        (
            f"{option_name('max_partition_bytes')}={{most:,}} would cut the log into {{splits:,}} ranges; at most "
            f"{{limit:,}} of this size are "
            f"possible. Set {option_name('max_partition_bytes')} to {{enough:,}} or more"
        ),
        (
            f"{option_name('max_partition_bytes')}={{most:,}} 会把 commitlog 分为 {{splits:,}} 段，这种大小最多 {{limit:,}} 段。请把 "
            f"{option_name('max_partition_bytes')} 设为 {{enough:,}} 以上"
        ),
    ),
    "wrong progress": (
        "progress must be True, False or a function, not {progress}",
        "progress 应为 True、False 或函数，不是 {progress}",
    ),
    "run iterated": (
        "this run was already iterated, and can be iterated only once. Use scan.run() for a new one",
        "这次运行已遍历过，只能遍历一次。请用 scan.run() 重新开始",
    ),
    "wrong version": (
        f"{option_name('for_version')} has to be a version of RocketMQ from 4.0.0 on, with three numbers as in 5.3.2, not {{text}}",
        f"{option_name('for_version')} 应为 RocketMQ 4.0.0 及以上的版本，写成三个数字，例如 5.3.2，不是 {{text}}",
    ),
    "wrong fs": (
        "fs= must be options by name, a pyarrow.fs.FileSystem or an fsspec file system, not {name}",
        "fs= 应为按名称给出的选项、pyarrow.fs.FileSystem 或 fsspec 文件系统，不是 {name}",
    ),
    "parts of one store": (
        "{logs}, {queues} and {index} are for one store, not for {count}",
        "{logs}、{queues} 和 {index} 只针对一个 store，不能用于 {count} 个",
    ),
    "parts without path": (
        "{queues} and {index} need a path or {logs}",
        "{queues} 和 {index} 需要同时给出路径或 {logs}",
    ),
    "path too long": (
        "{given} is too long for a path: {size:,} bytes; the limit is {most:,}",
        "{given} 作为路径过长：{size:,} 字节，上限为 {most:,}",
    ),
    "many paths": (
        "too many paths: more than {most:,}",
        "路径过多：超过 {most:,} 个",
    ),
    "character in path": (
        "{given} is not a path: it contains a character that file names cannot have",
        "{given} 不是路径：其中有文件名不能使用的字符",
    ),
    "no list of paths": (
        "{paths} is not a list of paths",
        "{paths} 不是路径列表",
    ),
    "path empty": (
        "the path is empty. Use '.' for the current directory",
        "路径为空。当前目录请写成 '.'",
    ),
    "credentials in path": (
        "a path {scheme}://…@… holds credentials. Give the path without them, and {how}",
        "路径 {scheme}://…@… 中有凭证。请给出不含凭证的路径，并{how}",
    ),
    "fs not text": (
        "fs.{name} must be text that is not empty",
        "fs.{name} 应为非空的文本",
    ),
    "fs not a flag": (
        "fs.{name} must be true or false",
        "fs.{name} 应为 true 或 false",
    ),
    "fs no seconds": (
        "fs.{name} must be a number of seconds above 0",
        "fs.{name} 应为大于 0 的秒数",
    ),
    "fs without storage": (
        "fs options need a path of object storage, such as s3://bucket/store",
        "fs 选项需要对象存储的路径，例如 s3://bucket/store",
    ),
    "fs option unknown": (
        "the option {given} is not supported.{near} Supported: {known}",
        "不支持选项 {given}。{near}支持的选项：{known}",
    ),
    "fs for other": (
        "fs options are for {schemes}, not for {origin}",
        "fs 选项用于 {schemes}，不能用于 {origin}",
    ),
    "fs scheme": (
        "fs.{name} must be http or https",
        "fs.{name} 应为 http 或 https",
    ),
    "oss endpoint": (
        "oss:// needs fs.endpoint_override, for example oss-cn-hangzhou.aliyuncs.com",
        "oss:// 需要 fs.endpoint_override，例如 oss-cn-hangzhou.aliyuncs.com",
    ),
    "fs not reached": (
        "{where} cannot be reached with these fs options: {why}",
        "用这些 fs 选项无法访问 {where}：{why}",
    ),
    "rate too low": (
        f"{option_name('max_read_rate')} is too low for {{jobs}} jobs: each needs at least 1 MiB per second",
        f"{option_name('max_read_rate')} 对 {{jobs}} 个任务来说太低：每个任务至少需要每秒 1 MiB",
    ),
    "stores at path": (
        "{count} stores",
        "{count} 个 store",
    ),
    "no store at path": (
        "none of the stores",
        "0 个 store",
    ),
    "no tier folder": (
        "{path} has no folder <8 hex>_<cluster>",
        "{path} 中没有目录 <8 位十六进制>_<集群>",
    ),
    "tier not found": (
        "no tiered storage of {store} was found on a disk",
        "在磁盘上未找到 {store} 的多级存储",
    ),
    "of a queue": (
        " of {topic}/{queue}",
        " 中的 {topic}/{queue}",
    ),
    "like seconds": (
        "these look like seconds. Did you mean milliseconds: {number}?",
        "看似秒数。是不是毫秒 {number}？",
    ),
    "like microseconds": (
        "these look like microseconds. Did you mean milliseconds: {number}?",
        "看似微秒数。是不是毫秒 {number}？",
    ),
    "like nanoseconds": (
        "these look like nanoseconds. Did you mean milliseconds: {number}?",
        "看似纳秒数。是不是毫秒 {number}？",
    ),
    "no zone": (
        f"{{time}} has no time zone. Write {{example}}, or set {option_name('time_zone')}=Asia/Shanghai (or another zone) as the default",
        f"时间 {{time}} 没有时区。请写成 {{example}}，或设置 {option_name('time_zone')}=Asia/Shanghai（或其他时区）作为默认值",
    ),
    "zones of time": (
        "'{time}Z' (UTC) or '{time}+08:00'",
        "'{time}Z'（UTC）或 '{time}+08:00'",
    ),
    "offsets expected": (
        "'{all}', or offsets by topic and queue. Example: {example}",
        "'{all}'，或按 topic 和队列给出的位点。例如：{example}",
    ),
    "not a path": (
        "{given} is not a path: expected text or a pathlib.Path",
        "{given} 不是路径：应为文本或 pathlib.Path",
    ),
    "not a path or list": (
        "{given} is not a path: expected text or a pathlib.Path, or a list of them",
        "{given} 不是路径：应为文本或 pathlib.Path，或由这些组成的列表",
    ),
    "credentials of s3": (
        "set fs.access_key and fs.secret_key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
        "设置 fs.access_key 和 fs.secret_key，或环境变量 AWS_ACCESS_KEY_ID 和 AWS_SECRET_ACCESS_KEY",
    ),
    "credentials of others": (
        "pass fs=, a file system of pyarrow or fsspec that has them",
        "用 fs= 传入含凭证的 pyarrow 或 fsspec 文件系统",
    ),
    "topics together": (
        "{first} {second}",
        "{first}{second}",
    ),
    "out of range": (
        (
            "out of range; expected milliseconds since 1970 in the years 2010 to 2099. Omit it for no bound. Write other years "
            "as text: '1999-01-31 12:00:00Z'"
        ),
        ("超出范围，应为 1970 年以来的毫秒数，在 2010 至 2099 年之间。不限制时请去掉这个选项。其他年份请写成文本：'1999-01-31 12:00:00Z'"),
    ),
}
