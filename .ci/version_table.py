"""Writes the table of versions in docs/recovery.md and docs/recovery.zh.md, from the rows of `native_reader/start/lines.py`.

`--check`: compares only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from native_reader.log.recovery import by_queues, of_ten_by_queues, third_last
from native_reader.start.lines import LINES, Line, Requeues

DOCS = Path(__file__).parents[1] / "docs"
PAGES = DOCS / "recovery.md", DOCS / "recovery.zh.md"
"""In the order of the languages in WORDS."""
BEGIN, END = "<!-- versions -->\n", "<!-- /versions -->"
CHECKED = {third_last: "third-last", by_queues: "by queues", of_ten_by_queues: "of ten"}
WORDS = {
    "third-last": ("the third-last segment", "倒数第三个文件"),
    "by queues": ("the newest segment that a queue names", "队列所指的最新文件"),
    "of ten": (
        "the newest of the last ten that a queue names, with a whole first record",
        "最后十个文件中，首条记录完好且为队列所指的最新文件",
    ),
    Requeues.NONE.value: ("none", "不重建"),
    Requeues.AFTER_ALL.value: (
        "those after the farthest queue; after damage, only from the next segment on",
        "最远的队列之后的消息；遇到损坏，从下一个文件继续",
    ),
    Requeues.CHECKED.value: ("those after the farthest queue, as far as it checks", "最远的队列之后的消息，限于检查的范围"),
    "refused": ("does not start", "不启动"),
    "left out": ("left out, with those after it", "忽略它及其后的文件"),
    "skipped": ("skipped", "跳过"),
    "deleted": ("deleted", "删除"),
}
NAMES = (
    ("version", "版本"),
    ("checks after a clean stop from", "正常停止后从哪里开始检查"),
    ("queues again after a clean stop", "正常停止后重建队列"),
    ("file of another size", "大小不同的文件"),
    ("folder", "目录"),
    ("empty last file", "最后一个文件为空"),
)


def row_of(line: Line, language: int) -> str:
    """One row of versions."""
    size = "refused" if line.refuses_sizes else "left out"
    folder = size if line.refuses_folders else "skipped"
    empty = size if line.refuses_empty else "deleted"
    cells = CHECKED[line.stopped], line.requeues.value, size, folder, empty
    return f"| {' | '.join([line.span, *(WORDS[cell][language] for cell in cells)])} |\n"


def table(language: int) -> str:
    """The whole table."""
    names = " | ".join(each[language] for each in NAMES)
    return f"| {names} |\n|{'---|' * len(NAMES)}\n{''.join(row_of(line, language) for line in LINES)}"


def page_with(text: str, language: int) -> str:
    """The page with the table of today."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{table(language)}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    for place, page in enumerate(PAGES):
        old = page.read_text(encoding="utf-8")
        if "--check" not in sys.argv:
            page.write_text(page_with(old, place), encoding="utf-8")
        elif page_with(old, place) != old:
            sys.exit(f"{page}: the table of versions is not that of native_reader/start/lines.py: python .ci/version_table.py")
