"""The book of sentences: each kind stands once, and its English and Chinese text name the same numbers, names, options and code."""

from __future__ import annotations

import ast
import errno
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from native_reader.account.states import STATE_OF, STATES, why
from native_reader.broker.versions import SIGNS
from native_reader.layout.kinds import KINDS
from native_reader.plan.lost import NOT_THERE
from native_reader.records.damages import ANOMALIES, REASONS
from native_reader.sentences import LANGUAGES, Said, joined, say, verbatim
from native_reader.sentences.book import BOOK, TABLES
from native_reader.sentences.codes import CODES as WORDS_OF_CODES
from native_reader.start import KINDS as REASONS_OF_STARTS
from native_reader.verify.codes import CODES
from rmqstore import text

ROOT = Path(__file__).parents[2]
SAID = (ROOT / "native_reader" / "sentences" / "said.py").read_text(encoding="utf-8")
OF_THE_PRODUCT = [path for package in ("native_reader", "rmqstore", "rmqstore_spark") for path in sorted((ROOT / package).rglob("*.py"))]
SAME_IN_BOTH = {"in rocksdb", "holds topics", "column topic", "null", "result keys", "result topics"}
SAME_IN_BOTH |= {
    "label commitlog",
    "label rocksdb",
    "and lost",
    "letter topic",
    "label store",
    "column store",
    "log",
    "tag of message",
    "keys of message",
    "a key",
    "head topic",
    "head key",
    "topic named",
    "the store",
    "plan hint",
}
"""Without a word of Chinese: names that its readers use as they are."""
MADE_OF_NAMES = (
    "without ",
    "code ",
    "advice ",
    "found ",
    "reason ",
    "kind ",
    "severity ",
    "start ",
    "title ",
    "column ",
    "result ",
    "file ",
)
MADE_OF_NAMES += ("bytes of ", "holds ", "label ", "refused ", "only ", "n ", "more ", "index ", "step ", "seen ", "state ")
MADE_OF_NAMES += (
    "account some ",
    "account ",
    "witness ",
    "why ",
    "settings ",
    "keys ",
    "now ",
    "settings of ",
    "unfit ",
    "by ",
    "head ",
    "answer ",
)
"""Prefixes that code puts before a name."""


def values_of(sentence: str) -> Counter[str]:
    """The names of its values, and its options. Code is between backticks."""
    names = {name for _, name, _, _ in Formatter().parse(sentence) if name}
    return Counter([*names, *re.findall("\x0e.*?\x0f", sentence)])


def test_no_kind_stands_in_two_tables() -> None:
    counts = Counter(kind for table in TABLES for kind in table)
    assert [kind for kind, count in counts.items() if count > 1] == []


def faults(kind: str) -> Iterator[str]:
    """What the two sentences of a kind do not have in common."""
    english, chinese = BOOK[kind]
    if values_of(english) != values_of(chinese):
        yield "values"
    if not kind.startswith("found ") and sorted(re.findall("`.*?`", english)) != sorted(re.findall("`.*?`", chinese)):
        yield "marks"  # of a finding, only the Chinese one has the meaning of the code, and so its marks
    if re.sub(r"{.*?}|\W", "", english) and bool(re.search("[\u4e00-\u9fff]", chinese)) != (kind not in SAME_IN_BOTH):
        yield "language"
    if re.findall("[\u4e00-\u9fff)}] ?[;,]|。 |[\u4e00-\u9fff]: ", chinese):
        yield "punctuation"


def test_both_languages_say_the_same() -> None:
    assert [(kind, *found) for kind in BOOK if (found := list(faults(kind)))] == []


@pytest.mark.parametrize(
    ("english", "chinese", "found"),
    [
        ("{count:,} messages", "{number:,} 条消息", ["values"]),
        ("`a` is there", "有", ["marks"]),
        ("none", "none", ["language"]),
        ("none, or one", "没有, 或一个", ["punctuation"]),
        ("{count:,} messages", "{count:,} 条消息", []),
    ],
)
def test_what_differs_is_found(monkeypatch: pytest.MonkeyPatch, english: str, chinese: str, found: list[str]) -> None:
    monkeypatch.setitem(BOOK, "a kind", (english, chinese))
    assert list(faults("a kind")) == found


def test_every_name_has_its_sentence() -> None:
    assert WORDS_OF_CODES.keys() == CODES.keys()
    assert {f"reason {each}" for each in (*REASONS, *NOT_THERE)} <= BOOK.keys()
    assert {f"kind {each}" for each in KINDS} <= BOOK.keys()
    assert {f"start {each}" for each in REASONS_OF_STARTS} <= BOOK.keys()
    assert {f"state {each}" for each in STATES} <= BOOK.keys()
    assert {f"because {why(mark)}" for mark in STATE_OF} <= BOOK.keys()
    assert ANOMALIES.keys() | {sign for *_, sign in SIGNS} <= BOOK.keys()


SAYING = dict.fromkeys(("say", "Said", "joined", "paragraph", "in_words"), "")
SAYING |= {"refusal": "refused ", "cause": "start ", "result": "result "}
"""The functions that take a kind, and what they put before it."""


def said(tree: ast.AST) -> Iterator[str]:
    """The kinds that code says by name: one, or one of two. Words of the page of a report come from a table of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYING and node.args:
            first = node.args[0]
            kinds = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            yield from (f"{SAYING[node.func.id]}{each.value}" for each in kinds if isinstance(each, ast.Constant))


def test_what_code_says_is_in_the_book_and_all_of_the_book_is_said() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in OF_THE_PRODUCT if "sentences" not in path.parts}
    unknown = {kind for code in texts.values() for kind in said(ast.parse(code)) if kind not in BOOK}
    assert unknown == set()
    everything = "\n".join([*texts.values(), SAID, *(f'"because {why(mark)}" "state {state}"' for mark, state in STATE_OF.items())])
    everything += " ".join(f'"system {name}"' for name in errno.errorcode.values())
    names = {kind: [kind, *(kind.removeprefix(prefix) for prefix in MADE_OF_NAMES if kind.startswith(prefix))] for kind in BOOK}
    assert [kind for kind, several in names.items() if not any(f'"{name}"' in everything for name in several)] == []


def test_a_sentence_is_written_in_each_language_and_survives_json() -> None:
    one = say("queues of topics", queues=1, topics=2)
    assert one.text() == one.text("en") == "1 queue of 2 topics"
    assert one.text("zh") == "2 个 topic 的 1 个队列"
    both = joined("semicolons", [one, say("none")])
    assert Said.from_json(both.to_json()) == both
    assert both.text("zh") == "2 个 topic 的 1 个队列；无"


def test_names_are_written_as_the_output_needs_them() -> None:
    """The words of a sentence are not, and braces in a name are no values."""
    said = say("at", place="{topic}_1", what=joined("commas", [say("saved messages", messages=1), verbatim("_x")]))
    assert said.text("en", lambda name: name.replace("_", r"\_")) == r"{topic}\_1: saved 1 message, \_x"
    assert said.text("zh") == "{topic}_1：已保存 1 条消息、_x"


def test_the_command_has_the_languages_of_the_book() -> None:
    """It does not import the book for its help."""
    assert text.LANGUAGES == LANGUAGES


def test_the_severities_in_chinese() -> None:
    assert [Said(f"severity {each}").text("zh") for each in ("error", "warning", "note")] == ["错误", "警告", "提示"]
