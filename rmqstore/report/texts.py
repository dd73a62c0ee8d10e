"""The texts of the page in English and Chinese."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("RocketMQ store report: {name}", "RocketMQ store 报告：{name}"),
    "title_brokers": ("RocketMQ store report: {count} brokers", "RocketMQ store 报告：{count} 个 broker"),
    "two_sentences": ("{first} {second}", "{first}{second}"),
    "comma": (", ", "、"),
    "semicolon": ("; ", "；"),
    "contents": ("Contents", "目录"),
    "save_first": (
        "Save it first: rmqstore rescue STORE FOLDER; or make one on which a broker runs: rmqstore repair STORE NEW",
        "请先抢救消息：rmqstore rescue STORE FOLDER；或写出 broker 可以用来启动的新 store：rmqstore repair STORE NEW",
    ),
    # One sentence
    "summary": (
        "{size} in {segments} with {messages} of {topics}, stored from {first} to {last}. {damage}",
        "commitlog 共 {size}，{segments}，{messages}，分属 {topics}，存储时间从 {first} 到 {last}。{damage}",
    ),
    "summary_empty": ("{size} in {segments}, without any message. {damage}", "commitlog 共 {size}，{segments}，没有消息。{damage}"),
    "on_disk": (
        "The whole store takes {total} on disk: log {log}, consume queues {queues}, index {index}, other files {other}.",
        "整个 store 占用磁盘 {total}：commitlog {log}，consumequeue {queues}，index {index}，其他文件 {other}。",
    ),
    "of_disk": (
        "Its disk has {size}: {used} are used, {free} are free{rest}. It is {percent} % full, as df counts it: used / (used + free).",
        "所在磁盘共 {size}，已用 {used}，剩余 {free}{rest}。使用率 {percent}%，按 df 的算法：已用 /（已用 + 剩余）。",
    ),
    "reserved": (", the rest is reserved by the file system or for other users", "，其余由文件系统保留，或留给其他用户"),
    "limits": (
        "By default, the broker acts at 75 %, 85 % and 90 %: see “What frees space”.",
        "broker 的默认阈值是 75%、85% 和 90%：见“如何释放空间”。",
    ),
    "of_disk_free": ("{free} are free on its disk.", "所在磁盘剩余 {free}。"),
    "at_least": ("at least {size}", "至少 {size}"),
    "not_counted": ("not counted", "未统计"),
    "deleted_topic": (
        "1 deleted topic still has records: {names}, {messages}, {size}, until its segments expire.",
        "1 个已删除的 topic 仍有记录：{names}，{messages}，{size}，其空间要等所在 commitlog 文件过期删除后才会释放。",
    ),
    "deleted_topics": (
        "{count} deleted topics still have records: {names}, {messages}, {size}, until their segments expire.",
        "{count} 个已删除的 topic 仍有记录：{names}，{messages}，{size}，其空间要等所在 commitlog 文件过期删除后才会释放。",
    ),
    "deleted": ("deleted", "已删除"),
    "n_segments": ("{count} segment{s}", "{count} 个 commitlog 文件"),
    "n_messages": ("{count} message{s}", "{count} 条消息"),
    "n_topics": ("{count} topic{s}", "{count} 个 topic"),
    "undamaged": ("No damage was found.", "未发现损坏。"),
    "older": (
        "Queues name {count} record{s} of {topics} older than the log: {names}. They expired or were removed; the files do not show which.",
        "消费队列中还有 commitlog 开头之前的 {count} 条记录，属于 {topics}：{names}。可能已过期，也可能被移走，从文件看不出是哪种。",
    ),
    "damaged": ("{size} are damaged or missing, in {places}.", "有 {size} 损坏或缺失，共 {places}。"),
    "n_places": ("{count} place{s}", "{count} 处"),
    "findings_sentence": ("The check of all files found {errors} and {warnings}.", "对全部文件的检查发现 {errors}、{warnings}。"),
    "n_errors": ("{count} error{s}", "{count} 个错误"),
    "n_warnings": ("{count} warning{s}", "{count} 个警告"),
    # Several brokers
    "brokers": ("All brokers", "所有 broker"),
    "broker": ("Broker", "Broker"),
    "disk_column": ("On disk", "占用磁盘"),
    "last_column": ("Last message", "最后一条消息"),
    "damage_column": ("Damaged", "损坏"),
    "start_column": ("May it be started?", "可以启动 broker 吗？"),
    "start_no": ("no, see below", "不可以，见下文"),
    "start_better_not": ("better not, see below", "最好不要，见下文"),
    "start_but": ("yes, but: see below", "可以，但见下文"),
    "start_yes": ("yes", "可以"),
    "start_unknown": ("unknown, see below", "无法判断，见下文"),
    "not_read": ("not readable", "无法读取"),
    "lag_of_all": ("Lag by consumer group, on all brokers", "各消费组的消息堆积，所有 broker 合计"),
    "topics_of_all": ("By topic, on all brokers", "按 topic，所有 broker 合计"),
    # Columns
    "topic": ("Topic", "Topic"),
    "kind": ("Kind", "类型"),
    "tag": ("Tag", "Tag"),
    "host": ("Producer host", "生产者主机"),
    "group": ("Group", "消费组"),
    "messages": ("Messages", "消息数"),
    "size": ("Size", "大小"),
    "share": ("Share", "占比"),
    "part": ("Part", "部分"),
    "mean": ("Mean size", "平均大小"),
    "largest": ("Largest", "最大"),
    "main_topic": ("Its largest topic", "占用最多的 topic"),
    "others": ("{count} other{s}", "其余 {count} 个"),
    "search": ("Search", "搜索"),
    "first_page": ("First", "首页"),
    "previous_page": ("Previous", "上一页"),
    "next_page": ("Next", "下一页"),
    "last_page": ("Last", "末页"),
    "rows_shown": ("{first} to {last} of {whole}", "第 {first} 至 {last} 个，共 {whole} 个"),
    "rows_found": ("{first} to {last} of {rows} found among {whole}", "第 {first} 至 {last} 个，找到 {rows} 个，共 {whole} 个"),
    "no_row_found": ("No name has this.", "没有名称包含搜索内容。"),
    "needs_script": (
        "In a browser that runs scripts and is not older than 2023, all {count} can be searched and sorted here.",
        "使用 2023 年及以后的浏览器并允许脚本时，这里可以搜索和排序全部 {count} 个。",
    ),
    "unlisted": ("{count} small one{s} more: not listed, but in the sums.", "另有 {count} 个较小的未列出，但已计入合计。"),
    "no_tag": ("(no tag)", "（无 tag）"),
    "no_name": ("(no name)", "（无名称）"),
    "none": ("None.", "无。"),
    "problem": ("This part could not be read: {text}", "这一部分无法读取：{text}"),
    "forgotten": (
        "There are so many groups that small ones were not counted one by one: the figures of small groups can be too low.",
        "分组过多，较小的分组没有逐一统计，因此数值可能偏低。",
    ),
    # What fills the disk
    "disk": ("What fills the disk", "磁盘空间占用"),
    "disk_note": (
        "Sizes by topic, kind, tag and host are those of whole records in the log, with bodies and properties, "
        "without consume queues and index files.",
        "按 topic、类型、tag 和主机统计的大小是 commitlog 中完整记录的大小，包括消息体和属性；不含 consumequeue 和索引文件。",
    ),
    "by_place": ("The store on its disk", "store 的磁盘空间占用"),
    "place_log": ("Log", "commitlog 文件"),
    "place_queues": ("Consume queues", "consumequeue 文件"),
    "place_index": ("Index", "索引"),
    "place_other": ("Other files", "其他文件"),
    "what_frees": ("What frees space", "如何释放空间"),
    "frees": (
        "A broker frees space only by deleting whole segments, the oldest first. It deletes a segment that was last written more than "
        "fileReservedTime hours ago (72 by default), at the hour deleteWhen (04 by default).",
        "broker 只通过删除整个 commitlog 文件来释放空间，从最旧的开始。最后写入时间距今超过 fileReservedTime（默认 72 小时）的文件，"
        "在 deleteWhen 指定的时刻（默认凌晨 4 点）删除。",
    ),
    "expired": (
        "Last written more than {hours} before this report ({now}), the newest one aside: {count} of {segments}, {size}.",
        "截至本报告时间（{now}），除最新的文件外，{segments}中有 {count} 个（{size}）的最后写入时间已超过 {hours}。",
    ),
    "expired_go": (
        "A running broker deletes them at its next cleaning.",
        "运行中的 broker 会在下一次清理时删除这些文件。",
    ),
    "expires_next": ("The oldest of the others expires at {time}.", "其余文件中最旧的一个将于 {time} 过期。"),
    "newest_stays": ("A broker never deletes the newest segment.", "broker 从不删除最新的文件。"),
    "expired_by": (
        "This goes by the last store time in each segment. A broker goes by the modification times of the files, which are later in a "
        "copy that did not keep them.",
        "以上按每个文件中最后一条消息的存储时间计算；broker 则按文件的修改时间计算；复制时如果没有保留修改时间，拷贝会更晚过期。",
    ),
    "frees_files": (
        "Consume queue and index files follow the log. A broker deletes one when all its entries are for records before the first offset "
        "of the log, but keeps the newest file of each queue and of the index.",
        "consumequeue 和索引文件随 commitlog 一起清理：文件中的所有条目都指向 commitlog 最小偏移量之前的记录时，broker 才删除该文件；"
        "每个队列和索引的最新文件会保留。",
    ),
    "frees_limits": (
        "As the disk fills, a broker does more. These are its defaults. Above 75 % (diskMaxUsedSpaceRatio), it deletes such expired "
        "segments at once. Above 85 % (diskSpaceCleanForciblyRatio), it deletes the oldest segments whatever their age. "
        "Above 90 % (diskSpaceWarningLevelRatio), it refuses messages.",
        "磁盘使用率越高，broker 的清理越激进（以下为默认值）：超过 75%（diskMaxUsedSpaceRatio）时，立即删除已过期的文件；超过"
        " 85%（diskSpaceCleanForciblyRatio）时，强制删除最旧的文件，无论是否过期；超过 90%（diskSpaceWarningLevelRatio）时，"
        "拒绝写入新消息。",
    ),
    "frees_lower": (
        "A lower fileReservedTime, set with mqadmin updateBrokerConfig, makes more segments old enough. "
        "Messages that no consumer has read are deleted too: look at the lag first, and export what you need.",
        "用 mqadmin updateBrokerConfig 调低 fileReservedTime，会有更多文件过期。"
        "尚未消费的消息也会一并删除：请先查看堆积，并导出需要的消息。",
    ),
    "frees_topic": (
        "Deleting a topic frees almost nothing at once: its records stay until their segments expire.",
        "删除 topic 并不会立即释放 commitlog 的空间：其记录会保留到所在的 commitlog 文件过期为止。",
    ),
    "by_topic": ("By topic", "按 topic"),
    "by_kind": ("By kind", "按消息类型"),
    "by_tag": ("By tag", "按 tag"),
    "by_host": ("By producer host", "按生产者主机"),
    "by_part": ("The files of the log", "commitlog 文件的组成"),
    "part_records": ("Records", "记录"),
    "part_blank": ("Blanks at the ends of segments", "文件末尾的填充"),
    "part_damage": ("Damaged", "损坏"),
    "part_unwritten": ("Not written yet", "尚未写入"),
    "part_stale": ("Old records after the end of the log", "commitlog 末尾之后的旧记录"),
    "part_unread": ("Not read", "未读取"),
    # Over time
    "time": ("The log over time", "commitlog 随时间的变化"),
    "time_chart": ("Bytes stored per {width}. The highest: {peak}", "每 {width}写入的字节数，最高 {peak}"),
    "times_in": ("Times are in {zone}.", "时间为 {zone} 时间。"),
    "time_table": ("The chart as a table", "以数据表显示"),
    "from": ("From", "起始时间"),
    "wrong_times": (
        "{messages} with an impossible store time (before 2010, or in the future) are not in this chart.",
        "另有 {messages}未计入图表：存储时间不合理（早于 2010 年或在未来）。",
    ),
    "pace_whole": ("Over the whole log, it grows by {rate} a day.", "按整个 commitlog 计算，每天增长 {rate}。"),
    "pace_recent": ("In its last 24 hours it grew by {rate}.", "最近 24 小时增长了 {rate}。"),
    "pace_short": ("The log spans less than an hour: too short for a forecast.", "commitlog 的时间跨度不足一小时，无法预测。"),
    "disk_full": (
        "At the latest pace, the {free} that are free on the disk are full after {time}, about {when}.",
        "按最近的速度，磁盘剩余的 {free} 将在 {time} 后写满，大约在 {when}。",
    ),
    "disk_full_far": (
        "At the latest pace, the {free} that are free on the disk last for more than ten years.",
        "按最近的速度，磁盘剩余的 {free} 十年以上才会写满。",
    ),
    "disk_full_assumptions": (
        "This counts from the last record, with the same pace, the log as the only writer, and nothing deleted. The free space is that of "
        "the disk from which the store was read, unless --disk-free was set. A broker deletes segments: by default after 72 hours, and "
        "earlier if the disk is 75 % full.",
        "以上估计从最后一条记录算起，并假设速度不变、只有 commitlog 在写这块磁盘、且不删除任何文件。剩余空间取自读取时 store "
        "所在的磁盘，除非指定了 --disk-free。实际上 broker 会删除旧文件：默认保留 72 小时，磁盘使用率超过 75% 时会更早删除。",
    ),
    "disk_unknown": (
        "The free space of the broker's disk is not known, so there is no forecast. Pass --disk-free to get one.",
        "不知道 broker 磁盘的剩余空间，因此没有预测。可用 --disk-free 指定。",
    ),
    # Sizes
    "sizes": ("Message sizes", "消息大小"),
    "by_size": ("By size of the record", "按记录大小"),
    "record_size": ("Record size", "记录大小"),
    "records": ("Records", "记录数"),
    "up_to": ("up to {size}", "不超过 {size}"),
    "above": ("above {size}", "超过 {size}"),
    "largest_by_host": ("The largest records, by producer host and topic", "最大的记录，按生产者主机和 topic"),
    # Skew
    "skew": ("Queue skew", "队列倾斜"),
    "skew_note": (
        "For each topic: its fullest queue, compared with the mean of the queues that have messages in the log. "
        "The topics with the most messages above the mean come first.",
        "对每个 topic，比较消息最多的队列与 commitlog 中有消息的各队列的平均值；超出平均值的消息最多的 topic 排在最前。倍数 ="
        " 最多队列的消息数 / 平均值。",
    ),
    "queues": ("Queues", "队列数"),
    "fullest": ("Fullest queue (queueId)", "消息最多的队列（queueId）"),
    "in_fullest": ("Messages in it", "最多队列的消息数"),
    "excess": ("Messages above the mean", "超出的消息数"),
    "ratio": ("Times the mean", "倍数"),
    # Lag
    "lag": ("Lag by consumer group", "各消费组的消息堆积"),
    "lag_column": ("Lag", "堆积"),
    "largest_lag": ("Largest in one queue", "最大堆积"),
    "lag_expired": ("Expired of it", "其中已过期"),
    "oldest_unread": ("Oldest unread", "最早未消费消息"),
    "lag_note": (
        "Lag is the number of queue offsets between a group's offset and the end of the queue. Those of them that expired are lost "
        "for the group.",
        "堆积量 = 队列最大位点 − 消费位点。其中已过期的消息，消费组已无法消费。",
    ),
    "lag_none": ("The store has no consumer offsets.", "store 中没有消费位点。"),
    "lag_zero": ("No group is behind.", "没有消费组有堆积。"),
    "lag_unknown": (
        "The lag of {count} stored offset{s} is not known: the queue has no files, as that of a %RETRY% topic without messages, "
        "or the group's position in it is not stored.",
        "有 {count} 个消费位点无法计算堆积：对应的队列没有文件（例如没有消息的 %RETRY% topic），或没有保存消费位点。",
    ),
    "lag_ahead": (
        "{count} offset{s} after the end of the queue: the queue lost entries, or was copied before the offsets.",
        "有 {count} 个消费位点超出队列末尾：队列丢失了条目，或复制队列早于复制消费位点。",
    ),
    # Dead
    "dead": ("Dead messages", "死信消息"),
    "origin_topic": ("Sent to topic", "原 topic"),
    "unknown_topic": ("(not known)", "（未知）"),
    "failures": ("Most failures of one", "单条最多消费失败次数"),
    "first_dead": ("First given up", "最早进入死信的时间"),
    "last_dead": ("Last given up", "最晚进入死信的时间"),
    "dead_note": (
        "Messages that a group gave up after its last retry. They expire with their segments, as others do. A broker stores no reason.",
        "消费组重试次数用尽、进入死信队列（%DLQ%）的消息。与其他消息一样，随所在的 commitlog 文件过期。broker 不保存失败原因。",
    ),
    # Pending
    "pending": ("Delayed and undecided messages", "延时消息、未提交也未回滚的事务消息"),
    "delayed": ("Messages that wait for their delivery time", "等待投递的延时消息"),
    "level": ("Delay level", "延时级别"),
    "timer": ("no level: timer message", "无级别：定时消息"),
    "state": ("State", "状态"),
    "overdue": ("Overdue", "已到期未投递"),
    "due": ("Earliest due", "最早应投递时间"),
    "latest": ("Latest due", "最晚应投递时间"),
    "since": ("Oldest stored", "最早存储时间"),
    "state_pending": ("pending", "待投递"),
    "state_recalled": ("recalled", "已撤回"),
    "state_unknown": ("not known: pending or delivered", "未知：待投递或已投递"),
    "halves": ("Half messages without a decision", "未提交也未回滚的半事务消息"),
    "producer_group": ("Producer group", "生产者组"),
    "transactions": ("Transactions", "事务数"),
    "checks": ("Most checks", "最多回查次数"),
    "fates": ("Transactions in the log", "commitlog 中的事务"),
    "fate": ("Outcome", "结果"),
    "fate_committed": ("committed", "已提交"),
    "fate_rolled_back": ("rolled back", "已回滚"),
    "fate_finished": ("finished, outcome unknown", "已结束，结果未知"),
    "fate_discarded": ("given up after too many checks", "超过最大回查次数，已丢弃"),
    "fate_undecided": ("undecided", "未提交也未回滚"),
    "fate_unknown": ("not known: undecided or given up", "未知：未提交也未回滚，或已丢弃"),
    # Damage
    "damage": ("Damage and findings", "损坏与检查结果"),
    "map": ("Map of the segments", "commitlog 文件分布图"),
    "map_note": (
        "The log from its first offset to its last, line by line. Thin lines are the borders of segments.",
        "commitlog 从最小偏移量到最大偏移量逐行排列；细线是文件边界。",
    ),
    "map_row": ("{time}, offsets {start} to {stop}", "{time}，偏移量 {start} 至 {stop}"),
    "no_message": ("no readable message", "没有可读的消息"),
    "map_damaged": ("damaged or missing ranges: {number}", "损坏或缺失：{number} 处"),
    "map_found": ("errors and warnings: {number}", "错误和警告：{number} 个"),
    "written": ("written", "已写入"),
    "unwritten": ("not written yet", "尚未写入"),
    "broken": ("damaged", "损坏"),
    "gone": ("missing", "缺失"),
    "finding": ("error or warning of the check", "校验发现的错误或警告"),
    "by_reason": ("By reason", "按原因"),
    "reason": ("Reason", "原因"),
    "meaning": ("Meaning", "含义"),
    "ranges": ("Ranges", "处数"),
    "largest_ranges": ("The largest ranges", "最大的几处"),
    "offset": ("Offset", "偏移量"),
    "file": ("File", "文件"),
    "found": ("Found", "说明"),
    "place": ("Place", "位置"),
    "at_offset": ("offset {offset}", "偏移量 {offset}"),
    "severity": ("Severity", "严重程度"),
    "count": ("Count", "数量"),
    "advice": ("What to do", "处理建议"),
    "findings": ("Findings of the check", "检查结果"),
    # Made
    "made": ("How this page was made", "生成信息"),
    "store": ("Store", "store"),
    "version": ("Made by", "生成工具"),
    "at": ("Time of the report", "报告时间"),
    "zone": ("Times are in", "时区"),
    "options": ("Options", "选项"),
    "read": ("Bytes of the log read", "读取的 commitlog 量"),
    "read_known": (
        "{read}. {known} are known from the summary: damage there since it was written is not on this page",
        "{read}。另有 {known} 取自摘要，摘要写成之后那里出现的损坏不在本页中",
    ),
    "holds": ("This page holds", "本页包含"),
    "holds_text": (
        "Names of topics, tags and groups, host addresses and file paths. It holds no bodies, keys or other properties.",
        "topic、tag 和消费组的名称、主机地址和文件路径；不含消息体、key 和其他属性。",
    ),
    "not_looked": ("Not looked at", "未检查的内容"),
    "not_contents": ("The contents of bodies.", "消息体的内容。"),
    "not_verified": (
        "Checksums, and whether consume queues, index and configuration agree with the log. Pass --verify to check them.",
        "校验和；消费队列、索引和配置是否与 commitlog 一致。可用 --verify 检查。",
    ),
    "terms": ("Words on this page", "术语"),
    "terms_text": (
        "A segment is one file of the commitlog. A record is one stored message, or several in an inner batch. "
        "An offset is a position in the whole log.",
        "一个 commitlog 文件即一个 segment。记录是一条存储的消息；内部批量（inner batch）的一条记录含多条消息。"
        "偏移量都是 commitlog 的物理偏移量，不是队列位点。",
    ),
    # Durations
    "minutes": ("{count} minute{s}", "{count} 分钟"),
    "hours": ("{count} hour{s}", "{count} 小时"),
    "days": ("{count} day{s}", "{count} 天"),
}
"""By key: English, Chinese. `{s}` is the plural ending for `{count}`."""
