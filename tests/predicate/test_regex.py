"""Patterns: the meaning of Java and LIKE, in time that grows only with the text."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.effort import sampled
from support.evaluator import like
from support.java_regex import java_pattern
from support.stores import files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.predicate.patterns import can_like, fits, java_regex, like_regex, match_java, match_like
from native_reader.testing.records import pack_properties

ATOMS = (
    *("a", "b", "k", "K", "S", "é", "🚀", ".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\n", "\\t", "\\r", "\n", "\u2028", "\0"),
    *("\\.", "\\\\", "\\-", "\\$", "[a-z]", "[^a]", "[^\\s]", "[\\S]", "[a-]", "[-a]", "[K-a]", "[\\w-]", "[^\\w\n]", "[é-🚀]", "[a^]"),
    *("[&]", "[\\--a]", "[ -/]", "[$.]", "()", "(a|b$)", "(?:\n|a)", "(|b)", " ", "#", "_", "\x0b", "-", "/"),
)
REPEATS = ("", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??", "{1,2}?")
CHARACTERS = (
    *("a", "b", "k", "K", "s", "S", "\u212a", "ſ", "é", "🚀", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "1", "_", " "),
    *("\t", "\x0b", "\x0c", "\0", "-", ".", "$", "\\", "^", "\u00a0", "A", "&", "İ", "ı", "\x1c"),
)
TEXTS = st.lists(st.sampled_from(CHARACTERS), max_size=5).map("".join)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    branches = []
    for _ in range(draw(st.integers(1, 2))):
        atoms = [draw(st.sampled_from(ATOMS)) for _ in range(draw(st.integers(0, 4)))]
        repeated = [atom + ("" if "$)" in atom else draw(st.sampled_from(REPEATS))) for atom in atoms]
        branches.append(draw(st.sampled_from(["", "", "^"])) + "".join(repeated) + draw(st.sampled_from(["", "", "$"])))
    return draw(st.sampled_from(["", "", "(?i)", "(?s)", "(?is)"])) + "|".join(branches)


@pytest.mark.sweep
@sampled(600)
@given(expressions(), st.lists(TEXTS, min_size=1, max_size=6), st.booleans())
def test_an_accepted_expression_means_the_same_as_in_java(pattern: str, texts: list[str], whole: bool) -> None:
    assume(not re.search(r"(?s)b\$\).", pattern))  # a $ that is not at an end is rejected
    match = re.fullmatch if whole else re.search
    expected = [match(java_pattern(pattern), text) is not None for text in texts]
    assert match_java(pa.array(texts), pattern, whole).to_pylist() == expected
    assert [fits(text, pattern, java=True, whole=whole) for text in texts] == expected


@pytest.mark.sweep
@sampled(400)
@given(st.lists(st.sampled_from(["%", "%", "_", "\\%", "\\_", "\\\\", *CHARACTERS]), max_size=6).map("".join), st.lists(TEXTS, min_size=1))
def test_like_means_the_same_as_in_sql(pattern: str, texts: list[str]) -> None:
    expected = [like(text, pattern) for text in texts]
    assert match_like(pa.array(texts), pattern).to_pylist() == expected
    assert [fits(text, pattern, java=False) for text in texts] == expected


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", True),
        ("a$", "a\r\n", True),
        ("\\r$", "a\r\n", False),
        ("\\n$", "a\r\n", True),
        ("a$", "a\n\n", False),
        ("^$", "\u2028", True),
        ("^.$", "🚀", True),
        ("a.b", "a\u0085b", False),
        ("a\\sb", "a\x0bb", True),
        ("a\\Sb", "a\x0bb", False),
        ("(?i)k", "\u212a", False),
        ("(?i)[^k]", "K", False),
        ("\\w", "é", False),
        ("\\d", "٣", False),
        ("a\0b", "a\0b", True),
    ],
)
def test_expressions_that_other_engines_treat_differently(pattern: str, text: str, found: bool) -> None:
    assert fits(text, pattern, java=True) is found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(a)\\1", r"\\1 needs backtracking"),
        ("\\k<a>", r"\\k needs backtracking"),
        ("a(?=b)", r"'\(\?=' needs backtracking"),
        ("a(?!b)", r"'\(\?!' needs backtracking"),
        ("(?<=a)b", r"'\(\?<=' needs backtracking"),
        ("(?<!a)b", r"'\(\?<!' needs backtracking"),
        ("(?>a)b", r"'\(\?>' needs backtracking"),
        ("a++", r"'\+\+' needs backtracking"),
        ("a{1,2}+", r"'\{1,2\}\+' needs backtracking"),
        ("(?<a>b)", "is not supported. Supported: groups"),
        ("(?x)b", "is not supported. Supported: groups"),
        ("a(?i)b", "is not supported. Supported: groups"),
        ("\\p{L}", r"\\p is not supported. Supported: "),
        ("\\Qx\\E", r"\\Q is not supported. Supported: "),
        ("\\h", r"\\h is not supported. Supported: "),
        ("\\bx", r"\\b is not supported. Supported: "),
        ("\\é", "is not supported. Supported: "),
        ("\\", "unbalanced"),
        ("a\\", "unbalanced"),
        ("[a[b]]", "unbalanced"),
        ("[a&&b]", "nested brackets"),
        ("[]", "unbalanced|nested brackets"),
        ("[]a]", "nested brackets"),
        ("[z-a]", "is reversed"),
        ("[\\d-z]", "cannot begin a range"),
        ("[+-\\d]", "cannot end a range"),
        ("[\u1000-\uffff]", r"U\+D800"),
        ("a{1,2", "unbalanced"),
        ("]", "unbalanced"),
        ("a**", "must follow"),
        ("+a", "must follow"),
        ("(|+)", "must follow"),
        ("^*", "must follow"),
        ("(a$)*", "must follow"),
        ("a$b", r"\$ is supported only at the end"),
        ("(a$)b", r"\$ is supported only at the end"),
        ("(a", "invalid regular expression: missing \\)"),
        ("a)", "invalid regular expression: missing \\("),
        ("x{1001}", "invalid regular expression: invalid repetition size"),
        ("x{3,2}", "invalid regular expression: "),
        ("((x{100}){100}){100}", "after its repetitions are expanded"),
        ("a" * 10_001, "10,001 characters; the limit is 10,000"),
        ("a\ud800", "an unpaired surrogate"),
    ],
)  # fmt: skip
def test_expressions_that_java_and_re2_may_treat_differently_are_rejected(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        java_regex(pattern)


def test_patterns_of_like_that_are_too_long_are_rejected() -> None:
    assert can_like("%" * 10_000)
    assert not can_like("a" * 10_001)
    assert not can_like("\ud800")
    with pytest.raises(ValueError, match="10,001 characters"):
        like_regex("_" * 10_001)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "where",
    [
        "tags LIKE '%a%b'",
        "tags LIKE '%a%a%b'",
        "tags LIKE '%a%a%a%a%b'",
        "tags LIKE '" + "%a_" * 200 + "b'",
        "tags RLIKE '^(a+)+$'",
        "tags RLIKE '(a?){1000}b'",
        "tags RLIKE '(a|aa)+b'",
        "tags RLIKE '.*.*.*.*b'",
        "tags RLIKE '[ac]*a[ac]{500}b'",
    ],
)
def test_a_pattern_took_hours_on_one_long_value(where: str) -> None:
    memory = in_memory(files_of(log_of([message(0, properties=pack_properties({"TAGS": "a" * 32_000 + "c"}))], 1 << 16)))
    assert nr.open(memory.url).messages(where=where, columns="topic").count_rows() == 0
    assert nr.open(memory.url).messages(where=f"NOT {where}", columns="topic").count_rows() == 1


@pytest.mark.timeout(20)
def test_a_topic_took_hours_to_match() -> None:
    memory = in_memory(files_of(log_of([message(0, topic="a" * 100 + "c")])))
    assert nr.open(memory.url).messages(topic_pattern="(a+)+").count_rows() == 0
