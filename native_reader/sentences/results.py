"""What `rescue`, `repair` and `extract` say when they end, and what fills the disk."""

from __future__ import annotations

RESULTS = {
    "warning": ("warning: {what}", "警告：{what}"),
    "progress of": ("{what}: {progress}", "{what}：{progress}"),
    "share read": ("{percent} %, {done} of {total}", "{percent}%，{done}，共 {total}"),
    "share read and time": ("{percent} %, {done} of {total}, {left} left", "{percent}%，{done}，共 {total}，还需 {left}"),
    "bar sizes": ("{done} of {total}", "{done}，共 {total}"),
    "bar left": ("{left} left", "还需 {left}"),
    "now reading": ("reading", "读取"),
    "now checking": ("checking", "检查"),
    "now copying": ("copying", "复制"),
    "now comparing": ("comparing", "比较"),
    "now saving": ("saving", "保存"),
    "now counting": ("counting", "计数"),
    "now checking a": ("checking a", "检查 a"),
    "now checking b": ("checking b", "检查 b"),
    "now listing": ("listing", "列出"),
    "now queues": ("queues", "队列"),
    "now segments": ("segments", "commitlog 文件"),
    "now writing the summary": ("writing the summary", "写入摘要"),
    "further reason": ("  {reason}", "  {reason}"),
    "see": ("see {page}", "详见 {page}"),
    "little room": (
        "note: the log has {size}, but {folder} has only {free} free. Files are compressed, so it may fit",
        "提示：commitlog 有 {size}，而 {folder} 只剩 {free}。文件会被压缩，因此可能放得下",
    ),
    "little room for copies": (
        "note: the log has {size}, but {folder} has only {free} free. The repair is refused if the plan shows that it needs more. "
        "With --link, files that do not change take no room",
        "提示：commitlog 有 {size}，而 {folder} 只剩 {free}。计划需要的空间不够时，会拒绝修复。使用 --link 时，不改动的文件不占空间",
    ),
    "planned": (
        "the plan is made. To do: {work}; {room} of room, and the disk has {free} free",
        "计划已完成。待办：{work}；需要空间 {room}，磁盘剩余 {free}",
    ),
    "rescued before": (
        "this rescue was complete already: no message was saved again; the check was repeated and the page written again",
        "之前已抢救完成，消息未重复保存；本次重新检查了 store，并更新了页面",
    ),
    "saved messages": ("saved {messages:,} {messages:message|messages}", "已保存 {messages:,} 条消息"),
    "bytes lost": ("{bytes:,} {bytes:byte|bytes} of the log {bytes:is|are} lost: {parts}", "commitlog 丢失 {bytes:,} 字节：{parts}"),
    "bytes unread": (
        "{bytes:,} {bytes:byte|bytes} of the log could not be read, in {ranges:,} {ranges:range|ranges}",
        "commitlog 中有 {ranges:,} 个区间无法读取，共 {bytes:,} 字节",
    ),
    "in damaged": ("{bytes:,} in {ranges:,} damaged {ranges:range|ranges}", "{ranges:,} 处损坏，共 {bytes:,} 字节"),
    "in missing": ("{bytes:,} in {ranges:,} missing {ranges:range|ranges}", "{ranges:,} 处缺失，共 {bytes:,} 字节"),
    "and lost": ("{first} and {second}", "{first}；{second}"),
    "findings": ("{findings:,} {findings:finding|findings} of the check", "检查发现 {findings:,} 个问题"),
    "saved doubtful": (
        "{messages:,} {messages:message|messages} with a wrong checksum saved apart, in {folder}",
        "{messages:,} 条消息 CRC 校验失败，另存于 {folder}",
    ),
    "saved tiered": (
        "{messages:,} {messages:message|messages} from tiered storage {messages:was|were} saved apart, in {folder}",
        "只在多级存储中的 {messages:,} 条消息另存于 {folder}",
    ),
    "no loss": ("no loss found", "未发现丢失"),
    "survived": ("{messages:,} {messages:message|messages} survived", "保留了 {messages:,} 条消息"),
    "copied": ("{messages:,} {messages:message|messages} copied", "复制了 {messages:,} 条消息"),
    "fields": (
        "{messages:,} {messages:message|messages} kept: a topic, queue id, queue offset or transaction flag is corrected as queues have it",
        "{messages:,} 条消息已保留，topic、队列 ID、队列位点或事务标志已按队列改正",
    ),
    "corrected": (
        "{messages:,} {messages:message|messages} kept with a changed body and another checksum",
        "{messages:,} 条消息的消息体已改变，仍然保留，CRC 已改写",
    ),
    "ids changed": (
        "places in the log and offsetMsgIds are new: {file} has the old and the new ones",
        "commitlog 中的位置和 offsetMsgId 都是新的：{file} 列出新旧对照",
    ),
    "dledger is damaged": (
        "{ranges:,} {ranges:range|ranges} of the DLedger log {ranges:is|are} damaged. Compare the peers with `rmqstore diff` before you "
        "use this store",
        "DLedger commitlog 有 {ranges:,} 处损坏。使用本 store 之前，请用 `rmqstore diff` 比较各节点",
    ),
    "assumed size": (
        "no consume queue shows how large its files are: they have {size:,} bytes, as those of a default broker. Check "
        "mappedFileSizeConsumeQueue of yours; if it differs, repair with its configuration",
        "没有消费队列能说明文件大小：新文件为 {size:,} 字节，与 broker 的默认值相同。请检查 mappedFileSizeConsumeQueue；如果"
        "不同，请指定 broker 的配置再修复",
    ),
    "taken from": (
        "{messages:,} {messages:message|messages} from {store}, in their places: there, it has the same log",
        "{messages:,} 条消息取自 {store}，位置不变：双方在那里是同一份 commitlog",
    ),
    "taken from tier": (
        "{messages:,} {messages:message|messages} from tiered storage, {store}",
        "{messages:,} 条消息取自多级存储 {store}",
    ),
    "tier keep": (
        "tiered storage of {where} is kept: its files are copied. --tier log puts its messages into the new log, --tier "
        "leave copies nothing",
        "{where} 的多级存储原样保留，文件会一并复制。--tier log 把其中的消息写入新的 commitlog，--tier leave 则不复制",
    ),
    "tier log": (
        "the messages that are only in tiered storage, {where}, are written into the new log. A broker on it does not need that tier",
        "只在 {where} 的多级存储中的消息会写入新的 commitlog，之后不再需要这个多级存储",
    ),
    "tier leave": (
        "tiered storage stays where it is, {where}: a broker needs it and its settings to serve what only the tier has",
        "多级存储留在原处 {where}：只在其中的消息，broker 要有这个多级存储和相关配置才能投递",
    ),
    "taken by queue": (
        "{messages:,} {messages:message|messages} from {store}: its log is another one, and has them at the same queue offsets",
        "{messages:,} 条消息取自 {store}：commitlog 不同，但消息的队列位点相同",
    ),
    "taken by key": (
        "{messages:,} {messages:message|messages} from {store}: it has them in other queues or at other queue offsets, with the same keys",
        "{messages:,} 条消息取自 {store}：队列或队列位点不同，但 key 相同",
    ),
    "nothing taken": (
        (
            "nothing from {store}: it has no whole record where this store lacks one; or neither the same log there, nor the same queue, "
            "nor a message with the same keys"
        ),
        "没有从 {store} 取得消息：在本 store 缺失的位置，那里没有完好的记录；或 commitlog、队列都不相同，也没有 key 相同的消息",
    ),
    "in both stores": ("with the other stores: {states}", "加上其他 store：{states}"),
    "in the old store": ("in the damaged store: {states}", "损坏的 store 中：{states}"),
    "in the store": ("in the store, of these topics: {states}", "原 store 中，这些 topic：{states}"),
    "in the new store": ("in the new store: {states}", "新 store 中：{states}"),
    "in the filled store": ("in the new store, placeholders included: {states}", "新 store 中（含占位消息）：{states}"),
    "replaced": (
        "{messages:,} {messages:placeholder is|placeholders are} in the place of messages that are not in the new store",
        "新 store 中没有的消息，其位置上有 {messages:,} 条占位消息",
    ),
    "doubtful kept on disk": (
        "doubtful messages are kept as on the disk, with their queue entries; the page names them",
        "存疑的消息按磁盘上的内容保留，队列条目也保留；报告中逐条列出",
    ),
    "new store without": (
        "{file} is missing or damaged, and is not in the new store",
        "{file} 缺失或已损坏，新 store 中没有这个文件",
    ),
    "new topics": (
        "{file} is missing, damaged or of another broker, and is made from the queues: check types, permissions and numbers of queues",
        "{file} 缺失、已损坏或属于另一个 broker，由队列重新生成：请检查类型、权限和队列数",
    ),
    "only planned": ("this is the plan: nothing was written", "这是计划，没有写入任何内容"),
    "new store does not start": (
        "the new store was written and checked, but a broker does not start on it; see {page}",
        "新 store 已写好，校验通过，但 broker 用它起不来；详见 {page}",
    ),
    "new store lacks": (
        "the new store was written and checked, and does not serve all of its messages; see {page}",
        "新 store 已写好，校验通过，但其中有消息无法正常消费；详见 {page}",
    ),
    "new store": (
        "the new store was written and checked, and serves all messages of its topics; see {page}",
        "新 store 已写好，校验通过，其中各 topic 的消息都可正常消费；详见 {page}",
    ),
}
DISK = {
    "log": ("log", "commitlog"),
    "queues": ("consume queues", "消费队列"),
    "index": ("index", "索引"),
    "other": ("other", "其他"),
    "part": ("{name} {size}", "{name} {size}"),
    "and": ("{first} and {second}", "{first}和{second}"),
    "size unknown": ("how much it takes on disk is not known", "占用的磁盘空间未知"),
    "stored": ("on disk {total}: {parts}", "占用磁盘 {total}：{parts}"),
    "stored at least": ("on disk at least {total}: {parts}, not counted: {missing}", "占用磁盘至少 {total}：{parts}；未计入：{missing}"),
    "disk": (
        "{stored}; its disk has {size}, {used} ({percent} %) used, {free} free",
        "{stored}；所在磁盘共 {size}，已用 {used}（{percent}%），剩余 {free}",
    ),
    "disk with reserve": (
        (
            "{stored}; its disk has {size}, {used} ({percent} %) used, {free} free, the rest is reserved by the file system or for "
            "other users"
        ),
        "{stored}；所在磁盘共 {size}，已用 {used}（{percent}%），剩余 {free}，其余由文件系统保留或留给其他用户",
    ),
    "deleted": (
        (
            "{topics:,} deleted {topics:topic still has|topics still have} records: {names}, {messages:,} "
            "{messages:message|messages}, {size}, until {topics:its|their} segments expire"
        ),
        "{topics:,} 个已删除的 topic 仍有记录：{names}，{messages:,} 条消息，{size}，所在文件过期后才会释放",
    ),
    "deleted among them": (
        (
            "{topics:,} deleted {topics:topic is|topics are} among them: {names}, {messages:,} {messages:message|messages}, "
            "{size}, until {topics:its|their} segments expire"
        ),
        "其中有 {topics:,} 个已删除的 topic：{names}，{messages:,} 条消息，{size}，所在文件过期后才会释放",
    ),
    "largest topics": ("{stored}; largest topics: {topics}", "{stored}；最大的 topic：{topics}"),
    "largest topic": ("{topic} ({share} of the records)", "{topic}（占记录的 {share}）"),
    "large topic": ("{topic} ({share})", "{topic}（{share}）"),
    "page": ("{path}: {bytes:,} bytes", "{path}：{bytes:,} 字节"),
    "of broker": ("{broker}: {said}", "{broker}：{said}"),
}
