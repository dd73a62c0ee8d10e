"""Every byte format of a broker is declared in `native_reader/layout`, once.

A broker writes big-endian numbers, and nothing else here does. So outside of `layout` there is no `struct`, no big-endian type,
no dtype of fields, and no number made from bytes. `writing`, and `testing` with it, have declarations of their own for what they
write: they are the second opinion, and real brokers read what they wrote.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = "native_reader", "rmqstore", "rmqstore_spark"
HOME = "native_reader/layout/", "native_reader/testing/", "native_reader/writing/"
ELSEWHERE = {
    "native_reader/storage/linux.py": "what statx of Linux answers",
    "native_reader/storage/local.py": "what fcntl answers about a lock",
    "native_reader/storage/tar.py": "a mark of our own, from a digest",
    "native_reader/storage/tar_headers.py": "numbers of tar archives",
    "native_reader/records/damages.py": "rows in memory, which no file has",
    "native_reader/storage/filled.py": "the same",
    "native_reader/repair/lights.py": "the same",
    "native_reader/repair/lost.py": "the same",
    "native_reader/repair/doubts.py": "the same",
    "native_reader/repair/survey.py": "the same, around an entry of layout",
}
_BIG_ENDIAN = re.compile(r"[>!](\d*[a-zA-Z]\d*)+")
_MADE_FROM_BYTES = {"from_bytes", "to_bytes"}


def declared(source: str) -> list[str]:
    """The places where a module says how numbers are stored: line and expression."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names) if any(each.name == "struct" for each in names):
                found.append((node.lineno, "import struct"))
            case ast.ImportFrom(module="struct"):
                found.append((node.lineno, "from struct import"))
            case ast.Constant(str(text)) if _BIG_ENDIAN.fullmatch(text):
                found.append((node.lineno, repr(text)))
            case ast.Call(func=ast.Attribute(attr="dtype") | ast.Name("dtype"), args=[ast.List() | ast.Dict() | ast.Tuple(), *_]):
                found.append((node.lineno, ast.unparse(node)))
            case ast.Call(func=ast.Attribute(attr=name)) if name in _MADE_FROM_BYTES and not _is_little(node):
                found.append((node.lineno, ast.unparse(node)))
    return [f"{line}: {what}" for line, what in sorted(found)]


def _is_little(call: ast.Call) -> bool:
    """Whether bytes are only compared as words, in the order of this machine."""
    given = [*call.args, *(each.value for each in call.keywords)]
    return any(isinstance(each, ast.Constant) and each.value == "little" for each in given)


def modules() -> list[tuple[str, str]]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return [(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def test_each_format_is_declared_in_layout():
    away = [(path, source) for path, source in modules() if not path.startswith(HOME) and path not in ELSEWHERE]
    assert [f"{path}:{each}" for path, source in away for each in declared(source)] == []


def test_each_exception_is_needed():
    sources = dict(modules())
    assert [path for path in ELSEWHERE if not declared(sources[path])] == []


def test_layout_declares_no_format_twice():
    """The same fields under two names are two declarations that can come to differ."""
    texts = [text for path, source in modules() if path.startswith(HOME[0]) for text in _formats(source)]
    assert [text for text in texts if texts.count(text) > 1] == []


def _formats(source: str) -> list[str]:
    """The formats of more than one field, as text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="Struct"), args=[ast.Constant(str(text))]) if len(text) > len(">i"):
                found.append(text)
            case ast.Call(func=ast.Attribute(attr="dtype"), args=[ast.List() as fields]):
                found.append(ast.unparse(fields))
    return found


@pytest.mark.parametrize(
    "code",
    [
        "import struct\n",
        "from struct import Struct\n",
        "places = at(u8, '>i4')\n",
        "kind = '>qi16xqh'\n",
        "kind = np.dtype([('offset', 'i8'), ('size', 'i4')])\n",
        "kind = np.dtype({'names': ['size'], 'formats': ['i4'], 'offsets': [36]})\n",
        "size = int.from_bytes(begin[:4], 'big')\n",
        "size = int.from_bytes(begin[:4])\n",
        "field = len(topic).to_bytes(1 + wide)\n",
    ],
)
def test_a_format_elsewhere_is_detected(code):
    assert len(declared(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "words = at(u8, '<u8')\n",
        "word = int.from_bytes(NAME, 'little')\n",
        "numbers = np.frombuffer(content, np.int64)\n",
        "after = Compare(Column('offset'), '>=', 5)\n",
        "kind = np.dtype(np.int64)\n",
        "head = read_head(begin, frame)\n",
    ],
)
def test_code_that_declares_no_format_is_accepted(code):
    assert declared(code) == []
