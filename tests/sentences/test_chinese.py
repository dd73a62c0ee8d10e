"""The Chinese texts as an operator of RocketMQ reads them: no words of a translation, and the marks and spaces of Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from native_reader.api import TABLE_NAMES, columns_of
from native_reader.sentences.book import BOOK
from native_reader.sentences.columns import MEANINGS
from rmqstore.cli.help_texts import HELP_TEXTS
from rmqstore.report.texts import TEXTS

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT, ROOT / "docs") for path in path.glob("*.zh.md"))
HAN = "[\u4e00-\u9fff]"
TRANSLATED = (
    r"其上|自相矛盾|不可能成立|段文件|半消息|校验和错误|或更高版本|[0-9}] %|size\}的|可选的内核|您|在[^，。]{1,12}的情况下"
    r"|的[^，。：；、]{1,5}的[^，。：；、]{1,5}的"
)
"""What only a translation says."""
OTHER_WORDS = (
    "中止文件|检查点|消费偏移量|消费者分组|订阅组|延迟消息|预备消息|逻辑队列|消费队列文件夹|名字服务|终端用户|证人|坏块|不可达|幸存|"
    "返回值|退出代码|总结|设定(?!的起点)|放进来|(?<!预写|归档)(?<!broker )日志(?!中，列出)"
)
"""Words that RocketMQ's own people do not use for these things: its log is commitlog, its files are abort and checkpoint."""
WRONG_MARKS = f"{HAN}[,;:!?()]|(?<![A-Za-z0-9`}}*])[,;!?()]{HAN}|{HAN}[“”]? [，。：；！？（）]|[，。：；！？（）] {HAN}"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|<!--.*?-->", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\([^)\n]*\)")


def in_pages() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = LINK.sub("]", CODE.sub("x", page.read_text(encoding="utf-8")))
        yield from ((f"{page.name}:{number}", line) for number, line in enumerate(text.split("\n"), 1))


TEXTS_OF_ALL = [
    *((kind, chinese) for kind, (_, chinese) in BOOK.items()),
    *((key, chinese) for key, (_, chinese) in TEXTS.items()),
    *HELP_TEXTS.items(),
    *MEANINGS.items(),
    *in_pages(),
]


@pytest.mark.parametrize("pattern", [TRANSLATED, OTHER_WORDS, WRONG_MARKS], ids=["translated", "other words", "wrong marks"])
def test_no_chinese_text_has_it(pattern: str) -> None:
    found = [(where, each[0], text) for where, text in TEXTS_OF_ALL for each in re.finditer(pattern, text)]
    assert found == []


def test_chinese_and_latin_words_have_a_space_between_them() -> None:
    joined = f"{HAN}[A-Za-z0-9]|[A-Za-z0-9%]{HAN}"
    texts = [(where, re.sub(r"{[^{}]*}|\x0e.*?\x0f|\[x\]", " ", text)) for where, text in TEXTS_OF_ALL]
    assert [(where, each[0], text) for where, text in texts for each in re.finditer(joined, text)] == []


def test_every_column_has_its_meaning_in_chinese() -> None:
    """With the same code: values of columns, and names of others."""
    english = {spec.meaning for name in TABLE_NAMES for spec in columns_of(name).values()}
    assert MEANINGS.keys() == english
    for meaning, chinese in MEANINGS.items():
        assert set(re.findall("`.*?`", meaning)) == set(re.findall("`.*?`", chinese)), meaning
