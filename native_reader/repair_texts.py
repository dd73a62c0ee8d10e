"""What the page of a repair or an extract says, by kind, in English. Code is between backticks.

`rmqstore/chinese/` has the same in Chinese.
"""

from __future__ import annotations

from native_reader.start import ENGLISH as START
from native_reader.verify.codes import CODES
from native_reader.verify.words import ENGLISH as FOUND

RESULTS = {
    "repair": "Repair",
    "extract": "Extract",
    "damaged store": "The damaged store, which was only read: `{uri}`.",
    "store": "The store, which was only read: `{uri}`.",
    "only planned": "This is the plan. Nothing was written.",
    "new store here": "The new store is in the folder of this page.",
    "result survived": "Survived:",
    "survived": "{messages:,} {messages:message|messages}, each with its place, its queue offset and its ids.",
    "result start": "May a broker be started on the damaged store?",
    "result topics": "Topics:",
    "result copied": "Copied:",
    "copied": "{messages:,} {messages:message|messages}, each with its queue offset, tags, keys and unique id.",
    "result different": "Different:",
    "different": (
        "the place of each in the log, and so the ids that brokers make of it (offsetMsgId): an old one finds nothing, "
        "or another message. In committed transactions, the place of the half message is the old one; no consumer uses it."
    ),
    "result lost": "Lost:",
    "lost": "{messages:,} {messages:message|messages}. In the place of each is a placeholder, so that all others keep their offsets.",
    "nothing lost": "nothing was found to be lost.",
    "result doubtful": "Without properties:",
    "doubtful kept": "{messages:,} {messages:message|messages}, kept: tags and keys are gone.",
    "doubtful lost": (
        "{messages:,} {messages:message|messages}, counted as lost: tags and keys are gone. `rmqstore rescue` saves them, and "
        "`--keep-doubtful` keeps them."
    ),
    "result corrected": "With another checksum:",
    "corrected": ("{messages:,} {messages:message|messages}, kept. Consumers get a body that is not what was sent. At offset {offsets}."),
    "result filled": "Filled:",
    "filled": "{size} of the log.",
    "filled and made": "{size} of the log, {segments:,} {segments:segment|segments} made or completed.",
    "result left out": "Left out:",
    "left out": "messages whose topic or queue was deleted. They are in the log, and in no queue: {topics}.",
    "topic with count": "{topic} {count:,}",
    "result keys": "Keys:",
    "no index": (
        "no index is made, because no file tells its size. Old messages are then not found by key. To get one, name the broker's "
        "configuration file when you repair."
    ),
    "result size": "Size:",
    "of data": "{data} of data, in files of {size}.",
}
TABLES = {
    "title lost": "Lost messages, by queue",
    "title made": "Made parts of the log",
    "title missed": "What consumer groups miss",
    "title copied": "Copied as they were",
    "title seen": "What consumers see in the place of a lost message",
    "title next": "Before clients are let in",
    "column topic": "topic",
    "column queue": "queue",
    "column lost": "lost",
    "column offsets": "queue offsets",
    "column from": "from offset",
    "column to": "to offset",
    "column bytes": "bytes",
    "column group": "group",
    "column committed": "goes on at",
    "column missed": "lost messages after it",
    "none": "None.",
    "lost ends": "Lost in {topic}: the broker may ask a producer again about a finished transaction, and deliver it twice.",
    "no group": "None: each group goes on at its offset, and no lost message is after it.",
    "no offsets": (
        "No consumer group has an offset in these queues, or the file of the offsets is lost. A broker takes each group for a new one: "
        "it may skip messages that it had not read, or read all again. "
        "Look for `consumerOffset.json` in a backup before clients are let in."
    ),
    "no warning": "No file with a warning.",
    "copied with": "`{code}`: {found}",
    **{f"found {code}": "{message}" for code in CODES},
    "one offset": "{first:,}",
    "offsets to": "{first:,} to {last:,}",
    "more ranges": "{first} and {count:,} more ranges",
    "more offsets": "{first} and {count:,} more",
    "commas": "{first}, {second}",
}
NEXT = {
    "seen by new": "Clients of 5.x that push or pull: nothing. So do clients of any version that subscribe to tags.",
    "seen by old": "Clients of 4.x with `*`, and pop consumers: one empty message with the tag `RMQSTORE_LOST`. Let them skip that tag.",
    "seen again": "All clients: the next message of the queue, once more for each lost one.",
    "seen last": (
        "After the last message of a queue: clients of 4.x with `*`, and pop consumers get one empty message with the tag "
        "`RMQSTORE_LOST`, other clients nothing."
    ),
    "seen by check": (
        "`rmqstore verify` finds these entries (`entry-number`, `entry-twice`). To have placeholders again, repair this store once more."
    ),
    "step copy of repair": (
        "Start a broker on a copy of this store (`cp -a`), with the configuration of the old one, but with the copy as "
        "`storePathRootDir`, another `listenPort`, and a name server of its own as `namesrvAddr`: no client and no slave finds it."
    ),
    "step copy of single": (
        "Start a broker on a copy of this store, with the configuration of the old one but `enableControllerMode=false`, alone: "
        "no controller, no slave, no clients. Give it the copy as `storePathRootDir`, another `listenPort`, and a name server of its own "
        "as `namesrvAddr`."
    ),
    "step copy of extract": (
        "Start a broker on a copy of this store, alone, with the old one's sizes of files: `mappedFileSizeCommitLog`, "
        "`mappedFileSizeConsumeQueue`, `maxHashSlotNum`, `maxIndexNum`."
    ),
    "step old": (
        "Segments keep their times, and a broker deletes those older than `fileReservedTime` (72 hours by default) at `deleteWhen` "
        "(04:00): set it higher first if consumers still need their messages."
    ),
    "step look": "Look for errors in its `store.log`, and compare `mqadmin topicStatus -t TOPIC` with `rmqstore tables NEW queues`.",
    "step go on": "Start it on this store, then let consumers in, then producers.",
    "step keep": "Keep the damaged store until then. Slaves copy the new store from the start: empty their directories.",
}
ENGLISH = {**START, **FOUND, **RESULTS, **TABLES, **NEXT}
