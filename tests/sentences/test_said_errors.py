"""Every error and warning of the engine and of the commands carries a sentence of the book, so that a command can say it in Chinese."""

from __future__ import annotations

import ast
import logging
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from native_reader import errors
from native_reader.errors import DataLoss, ExportError, Line, StoreError, UnreadableError, Warned, text_in, warn
from native_reader.sentences import Said, commas, meant, say, told, words_of
from native_reader.sentences.book import BOOK

ROOT = Path(__file__).parents[2]
FILES = [path for package in ("native_reader", "rmqstore") for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


CLASSES = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, StoreError)}
CLASSES |= {"ExtraMissing", "OffsetError"}
"""With the subclasses elsewhere."""
SAYING = {"say", "Said", "joined", "told", "words_of"}
IN_ENGLISH = {
    "native_reader/compare/diff.py": ("UseError", 1, "the commands read all rows first"),
    "native_reader/frames/dataset.py": ("UseError", 2, "only Python can ask for it"),
    "native_reader/frames/lazy.py": ("UseError", 4, "only Python can ask for it"),
    "native_reader/frames/polars_frame.py": ("UseError", 1, "only Python can ask for it"),
    "native_reader/verification.py": ("UseError", 1, "the commands read all rows first"),
    "native_reader/storage/protocol.py": ("PathError", 1, "a storage of tests"),
    "native_reader/stream/offset.py": ("OffsetError", 2, "a checkpoint of Spark; the state of an export says it in its own words"),
}
"""Errors with a text only, by file: their class, how many, and why. This list may only become shorter."""


def functions_that_say() -> set[str]:
    trees = (tree_of(path) for path in FILES)
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.returns is not None)
    return {node.name for node in nodes if ast.unparse(node.returns or node) == "Said"}


SAYING |= functions_that_say()


def is_said(node: ast.expr, scope: ast.AST) -> bool:
    """Whether a value is a sentence: a call that makes one, one of two, or a name that was given one in the same scope."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in SAYING
        case ast.IfExp(body=body, orelse=other):
            return is_said(body, scope) and is_said(other, scope)
        case ast.Attribute(attr="said"):
            return True
        case ast.Name(id=name):
            given = [
                each.value
                for each in ast.walk(scope)
                if isinstance(each, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in each.targets)
            ]
            return bool(given) and all(is_said(each, scope) for each in given)
    return False


def errors_in(tree: ast.Module) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """Each error that is made: its class, its text and the function around it."""
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]
    inner: dict[ast.Call, ast.AST] = {call: scope for scope in scopes for call in ast.walk(scope) if isinstance(call, ast.Call)}
    for call, scope in inner.items():
        name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in CLASSES and call.args:
            yield name, call.args[-1], scope


def test_every_error_has_both_languages() -> None:
    found: dict[str, list[str]] = {}
    for path in FILES:
        for name, text, scope in errors_in(tree_of(path)):
            if not is_said(text, scope):
                found.setdefault(str(path.relative_to(ROOT)), []).append(name)
    assert {file: (names[0], len(names)) for file, names in found.items()} == {file: known[:2] for file, known in IN_ENGLISH.items()}


def test_every_warning_has_both_languages() -> None:
    """They go through `warn`, which takes a sentence."""
    for path in FILES:
        if path.name == "errors.py":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("warning", "error", "critical"):
                assert "log" not in ast.unparse(node.func.value), f"{path}:{node.lineno}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn" and len(node.args) == 2:
                assert not isinstance(node.args[1], ast.Constant | ast.JoinedStr), f"{path}:{node.lineno}"


def calls_of_say() -> Iterator[tuple[str, str, set[str]]]:
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("say", "Said") and node.args):
                continue
            first, names = node.args[0], {each.arg for each in node.keywords}
            kinds = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            if None in names or len(node.args) > 1:  # `**values`
                continue
            for kind in kinds:
                if isinstance(kind, ast.Constant):
                    yield f"{path.name}:{node.lineno}", kind.value, {str(name) for name in names}


def test_every_sentence_gets_its_values() -> None:
    """A value that is missing would hide an error, or a warning, behind a KeyError."""
    for where, kind, given in calls_of_say():
        wanted = {name for _, name, _, _ in Formatter().parse(BOOK[kind][0]) if name}
        assert given >= wanted, f"{where}: {kind}"


def test_an_error_says_it_in_both_languages() -> None:
    said = say("gone since plan", uri="file:///store/commitlog/00000000000000000000")
    error = DataLoss(said)
    assert str(error) == said.text()
    assert error.args == (said.text(),)
    assert isinstance(error.said, Said)
    assert text_in(error.said, "zh", str).endswith("请重新读取 store")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.said) == (str(error), said)
    assert error.extended("Look.").said is None  # nobody says the advice in Chinese
    assert StoreError("only a text").said is None


def test_an_error_of_the_system_keeps_its_number() -> None:
    cause = PermissionError(13, "Permission denied")
    error = UnreadableError(cause.errno, say("could not open", uri="file:///store", why=words_of(cause)))
    assert (error.errno, str(error)) == (13, "could not open file:///store: Permission denied")
    assert text_in(error.said, "zh", str) == "无法打开 file:///store：无权限（Permission denied）"  # type: ignore[arg-type]
    assert told(error) is error.said
    assert told(OSError(28, "No space left on device", "/new/x")).text("zh") == "磁盘写满（No space left on device）：/new/x"
    assert told(ValueError("x")).text("zh") == "x"


def test_no_language_has_secrets_or_control_characters() -> None:
    error = ExportError(say("folder in use", path="s3://name:secret@host/\x1b[31m"))
    for language in ("en", "zh"):
        text = text_in(error.said, language, str)  # type: ignore[arg-type]
        assert "secret" not in text
        assert "\x1b" not in text


def test_any_number_of_names_can_be_listed() -> None:
    """A folder can have thousands of them. Each was one level deeper, until Python refused."""
    assert (commas([]).text(), commas(["a"]).text(), commas("abc").text(), commas("abc").text("zh")) == ("", "a", "a, b, c", "a、b、c")
    names = [f"commitlog{number}" for number in range(20_001)]
    assert commas(names).text() == ", ".join(names)
    assert Said.from_json(commas(names).to_json()).text("zh") == "、".join(names)


def test_what_may_be_meant() -> None:
    assert meant("topik", ["topic", "tags"]).text("zh") == "是不是 topic？"
    assert meant("topik", ["topic", "tags"]).text() == " Did you mean 'topic'?"
    assert meant("xyz", ["topic"]).text("zh") == ""


def test_a_warning_is_logged_in_english_and_said_in_chinese(caplog: pytest.LogCaptureFixture) -> None:
    said = say("read continues", why=told(DataLoss(say("archive changed", archive="file:///a.tar"))))
    in_chinese = Warned(5, text_of=lambda record: text_in(record.said, "zh", str))  # type: ignore[attr-defined]
    with in_chinese:
        warn(logging.getLogger("native_reader"), said, is_loss=True)
    assert in_chinese.has_loss
    assert in_chinese.texts == ["file:///a.tar 在读取期间有变化。请重新读取 store。读取继续，不含这部分"]
    assert caplog.messages == ["file:///a.tar was changed while it was read. Load the store again. The read continues without it"]
    assert Line(said) == caplog.messages[0]


@pytest.mark.parametrize("kind", ["skip damage"])
def test_a_command_has_its_own_option_for_skipping(kind: str) -> None:
    """It writes `--strict` where the engine writes `mode`."""
    for pair in (BOOK["damage in the way"], BOOK["checksum in the way"]):
        for language, text in zip(("en", "zh"), pair, strict=True):
            assert Said(kind).text(language) in text
