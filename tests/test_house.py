"""The house: which part may import which, where files are opened, and how long a file may be.

The rules read the source code (`ast`), so they also see imports inside functions and under TYPE_CHECKING.
Every rule is first tried on a snippet that breaks it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 400

# Part of native_reader → the parts it may import. A part is a folder, or a module next to the folders. "native_reader" is the
# package itself: what its users import, so no part may import it.
_LOWEST = {"layout", "errors", "text", "tuning"}
_READING = _LOWEST | {"storage", "records"}
_SIDES = _READING | {"predicate", "log", "kernel", "broker"}
_PLANNING = _SIDES | {"sides"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "text": set(),
    "tuning": set(),
    "version": set(),
    "layout": set(),
    "storage": _LOWEST,
    "broker": _LOWEST | {"storage"},
    "predicate": _LOWEST,
    "kernel": {"errors", "layout"},
    "records": _LOWEST | {"storage", "kernel"},
    "log": _READING | {"broker"},
    "columns": _READING | {"predicate", "kernel"},
    "sides": _SIDES,
    "plan": _PLANNING,
    "scan": _PLANNING | {"columns", "plan"},
    "verify": _PLANNING | {"columns", "plan", "scan"},
    "tables": _PLANNING | {"columns", "plan", "scan", "verify"},
    "export": _PLANNING | {"columns", "plan", "scan", "tables", "version"},
    "stream": _PLANNING | {"plan"},
    "checks": {"errors"},
    "values": {"errors", "checks", "predicate", "storage"},
    "options": {"errors", "checks", "values", "columns", "log", "plan", "predicate", "scan"},
    "conditions": {"errors", "checks", "columns", "layout", "options", "predicate"},
    "lazy": {"errors", "checks", "conditions", "options", "storage", "predicate", "plan", "scan", "tables", "export"},
    "newest": {"lazy", "options", "storage"},
    "arrivals": {"conditions", "errors", "lazy", "log", "newest", "options", "scan", "storage", "stream"},
    "verification": {"errors", "lazy", "scan", "storage", "text", "verify"},
    "doctor": {"lazy", "errors", "text", "log", "newest", "options", "plan", "storage", "tables"},
    "facts": _LOWEST
    | {"broker", "checks", "lazy", "options", "plan", "predicate", "records", "scan", "sides", "storage", "tables", "verify"},
    "rescue": {
        "columns",
        "doctor",
        "errors",
        "text",
        "export",
        "lazy",
        "options",
        "plan",
        "records",
        "scan",
        "storage",
        "tables",
        "verify",
    },
    "api": {
        *("checks", "columns", "errors", "lazy", "options", "scan", "storage", "tables", "text"),
        *("arrivals", "doctor", "facts", "newest", "rescue", "verification"),
    },
    "native_reader": {
        "api",
        "errors",
        "export",
        "kernel",
        "lazy",
        "plan",
        "scan",
        *("arrivals", "doctor", "facts", "rescue", "verification"),
    },
    "testing": _LOWEST | {"storage"},
}
# File of rmqstore_spark → the parts of native_reader it may import. Of rmqstore_spark it may import only files listed above it.
SPARK_MAY_IMPORT: dict[str, set[str]] = {
    "rmqstore_spark/errors.py": set(),
    "rmqstore_spark/options.py": {"api", "checks", "errors", "options", "values"},
    "rmqstore_spark/request.py": {
        *("native_reader", "api", "columns", "conditions", "errors", "options"),
        *("predicate", "scan", "stream", "tables"),
    },
    "rmqstore_spark/columns.py": {"columns", "errors"},
    "rmqstore_spark/reader.py": {"errors", "scan"},
    "rmqstore_spark/refused.py": {"errors"},
    "rmqstore_spark/pushdown.py": {"columns", "predicate"},
    "rmqstore_spark/stream.py": {"scan", "stream"},
    "rmqstore_spark/lag.py": {"stream"},
    "rmqstore_spark/source.py": {"errors"},
    "rmqstore/disk.py": {"native_reader", "facts"},
    "rmqstore/cli/layout.py": set(),
    "rmqstore/text.py": set(),
    "rmqstore/report/texts.py": set(),
    "rmqstore/report/markup.py": set(),
    "rmqstore/report/words.py": {"facts"},
    "rmqstore/report/style.py": set(),
    "rmqstore/report/charts.py": set(),
    "rmqstore/report/blocks.py": {"facts"},
    "rmqstore/report/log_sections.py": {"facts", "layout"},
    "rmqstore/report/reasons.py": {"plan", "records"},
    "rmqstore/report/disk_section.py": {"facts"},
    "rmqstore/report/side_sections.py": {"facts"},
    "rmqstore/report/segment_map.py": {"facts"},
    "rmqstore/report/damage_section.py": {"facts"},
    "rmqstore/report/page.py": {"facts", "version"},
    "rmqstore/report/file.py": {"native_reader", "export"},
    "rmqstore/report/__init__.py": set(),
    "rmqstore/cli/asked.py": {"native_reader", "checks", "errors", "options"},
    "rmqstore/cli/stderr.py": {"errors"},
    "rmqstore/cli/program.py": {"native_reader"},
    "rmqstore/cli/rows.py": set(),
    "rmqstore/cli/reading.py": {"native_reader"},
    "rmqstore/cli/messages.py": {"api"},
    "rmqstore/cli/cat.py": set(),
    "rmqstore/cli/find.py": {"native_reader", "plan"},
    "rmqstore/cli/explain.py": set(),
    "rmqstore/cli/tables.py": {"api", "errors"},
    "rmqstore/cli/ls.py": {"native_reader", "layout"},
    "rmqstore/cli/stat.py": {"facts"},
    "rmqstore/cli/tail.py": {"errors"},
    "rmqstore/cli/export.py": {"native_reader", "export"},
    "rmqstore/cli/rescue.py": {"native_reader"},
    "rmqstore/cli/verify.py": {"native_reader"},
    "rmqstore/cli/doctor.py": {"native_reader", "errors"},
    "rmqstore/cli/report.py": {"native_reader", "checks", "errors", "options"},
    "rmqstore/cli/__init__.py": set(),
    "rmqstore/__main__.py": set(),
    "rmqstore/__init__.py": set(),
    "rmqstore_spark/__init__.py": {"errors"},
    "rmqstore_spark/__main__.py": {"native_reader"},
}
THIRD_PARTY = {"isal", "numpy", "pyarrow", "rmqstore_kernel", "rocksdict", "sqlglot"}
THIRD_PARTY_TESTING = {"numpy", "pyarrow", "hypothesis"}

# The one module that reads the file system, with what it asks the kernel; the one that writes; and the ways to it that no other
# module may name.
LOCAL = ("native_reader/storage/local.py", "native_reader/storage/page_cache.py", "native_reader/export/target.py")
FILE_MODULES = {"os", "pathlib", "mmap", "shutil", "glob", "tempfile", "fcntl", "posix", "subprocess"}
FILE_FUNCTIONS = {
    *("open", "builtins.open", "io.open", "io.FileIO", "io.open_code", "codecs.open"),
    *("numpy.memmap", "numpy.fromfile", "numpy.load", "pyarrow.memory_map", "pyarrow.OSFile", "pyarrow.fs.LocalFileSystem"),
    *("pyarrow.input_stream", "pyarrow.output_stream"),
}


@dataclass(frozen=True)
class Import:
    line: int
    name: str  # in full, with what is imported from it: "native_reader.layout.heads.HEAD"
    bound: str  # the name it binds in the module
    means: str  # what that name then stands for: `import a.b` binds a, and that is a
    when_loaded: bool  # not inside a function, not only for the type checker


@dataclass(frozen=True)
class Module:
    path: str
    source: str

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, self.path)

    @property
    def part(self) -> str:
        _, *folders, file = self.path.split("/")
        return folders[0] if folders else part_of(f"native_reader.{file.removesuffix('.py')}")


def part_of(name: str) -> str:
    """The part of native_reader that an imported name belongs to: native_reader.layout.heads → layout."""
    second = [*name.split("."), ""][1]
    return second if second in MAY_IMPORT else "native_reader"


def imports(module: Module) -> Iterator[Import]:
    yield from _imports(module.tree, module, when_loaded=True)


def _imports(node: ast.AST, module: Module, when_loaded: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import():
                for alias in child.names:
                    top = alias.name.partition(".")[0]
                    yield Import(child.lineno, alias.name, alias.asname or top, alias.name if alias.asname else top, when_loaded)
            case ast.ImportFrom():
                base = _absolute(child, module)
                for alias in child.names:
                    full = f"{base}.{alias.name}"
                    yield Import(child.lineno, full, alias.asname or alias.name, full, when_loaded)
            case ast.Call(func=ast.Name("__import__") | ast.Attribute(attr="import_module"), args=[ast.Constant(str(name)), *_]):
                yield Import(child.lineno, name, "", name, when_loaded)
        deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _for_types_only(child)
        yield from _imports(child, module, when_loaded and not deferred)


def _absolute(node: ast.ImportFrom, module: Module) -> str:
    if not node.level:
        return node.module or ""
    package = module.path.split("/")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def wrong_arrows(module: Module) -> list[str]:
    """Imports that the direction of the house does not allow."""
    found = []
    for each in imports(module):
        top = each.name.partition(".")[0]
        if top == "native_reader":
            target = part_of(each.name)
            if target != module.part and target not in MAY_IMPORT.get(module.part, set()):
                found.append(f"{module.path}:{each.line}: {module.part} must not import {each.name}")
            continue
        allowed = THIRD_PARTY_TESTING if module.part == "testing" else THIRD_PARTY
        if top not in sys.stdlib_module_names and top not in allowed:
            found.append(f"{module.path}:{each.line}: native_reader must not import {each.name}")
        elif top == "sqlglot" and each.when_loaded:
            found.append(f"{module.path}:{each.line}: sqlglot is imported only inside the function that parses text")
    return found


def wrong_spark_arrows(module: Module) -> list[str]:
    """Imports of rmqstore_spark that its row does not allow."""
    if module.path not in SPARK_MAY_IMPORT:
        return [f"{module.path}: has no row in SPARK_MAY_IMPORT"]
    files = list(SPARK_MAY_IMPORT)
    lower = [file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files[: files.index(module.path)]]
    found = []
    for each in imports(module):
        top = each.name.partition(".")[0]
        if top == "native_reader" and part_of(each.name) not in {"text", *SPARK_MAY_IMPORT[module.path]}:
            found.append(f"{module.path}:{each.line}: must not import {each.name}")
        elif top in {"rmqstore", "rmqstore_spark"} and not any(f"{each.name}.".startswith(f"{file}.") for file in lower):
            found.append(f"{module.path}:{each.line}: must not import {each.name}, which is not named above it")
    return found


def file_access(module: Module) -> list[str]:
    """Ways to the file system outside the local backend. Writing stores is what `testing` is for."""
    if module.path in LOCAL or module.part == "testing":
        return []
    found = set()
    names = {node.name: "" for node in module.tree.body if isinstance(node, ast.FunctionDef)}  # its own `open` is not the built-in
    for each in imports(module):
        names[each.bound] = each.means
        if (each.name.partition(".")[0] in FILE_MODULES and each.name != "os.environ") or each.name in FILE_FUNCTIONS:
            found.add((each.line, each.name))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            first, dot, rest = ast.unparse(node).partition(".")
            full = names.get(first, first) + dot + rest
            if full in FILE_FUNCTIONS:
                found.add((node.lineno, full))
    return [f"{module.path}:{line}: {name} belongs into {LOCAL[0]}" for line, name in sorted(found)]


def unreadable(module: Module) -> list[str]:
    """Too long, or without a docstring that states its purpose."""
    found = []
    lines = len(module.source.splitlines())
    if lines > LONGEST:
        found.append(f"{module.path}: {lines} lines, more than {LONGEST}: does it tell two stories?")
    if not ast.get_docstring(module.tree):
        found.append(f"{module.path}: has no docstring")
    return found


def borrowing(module: Module) -> list[str]:
    """Imports of one test file by another: what they share belongs in tests/support or a conftest.py."""
    return [
        f"{module.path}:{each.line}: {each.name} is a test; move what is shared to tests/support"
        for each in imports(module)
        if any(part.startswith("test_") for part in each.name.split("."))
    ]


def modules(*packages: str) -> list[Module]:
    paths = sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))
    return [Module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def breaches(rule: Callable[[Module], list[str]], *packages: str) -> list[str]:
    return [breach for module in modules(*packages) for breach in rule(module)]


# The rules hold


def test_the_modules_are_found():
    assert {"native_reader/__init__.py", *LOCAL} <= {module.path for module in modules("native_reader")}
    assert {module.part for module in modules("native_reader")} <= set(MAY_IMPORT)
    assert {module.path for module in modules("rmqstore", "rmqstore_spark")} == set(SPARK_MAY_IMPORT)


def test_imports_point_one_way():
    assert breaches(wrong_arrows, "native_reader") == []
    assert breaches(wrong_spark_arrows, "rmqstore", "rmqstore_spark") == []


def test_files_are_opened_in_one_place():
    assert breaches(file_access, "native_reader") == []


def test_files_are_short_and_documented():
    assert breaches(unreadable, "native_reader", "rmqstore", "rmqstore_spark") == []


def test_no_test_imports_another():
    assert breaches(borrowing, "tests", "benchmarks") == []


# The rules can fail


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("native_reader/layout/a.py", "import native_reader.errors"),
        ("native_reader/layout/a.py", "from native_reader.tuning import TUNING"),
        ("native_reader/tuning.py", "from native_reader.layout import record"),
        ("native_reader/layout/a.py", "from native_reader import StoreError"),
        ("native_reader/layout/a.py", "from .. import storage"),
        ("native_reader/layout/a.py", "from ..storage.local import read"),
        ("native_reader/layout/__init__.py", "from ..storage import local"),
        ("native_reader/errors.py", "from native_reader.layout import heads"),
        ("native_reader/storage/a.py", "from native_reader.plan import queues"),
        ("native_reader/storage/a.py", "from native_reader import options"),
        ("native_reader/storage/a.py", "from native_reader import *"),
        ("native_reader/plan/a.py", "def f():\n    from native_reader.scan import read"),
        ("native_reader/plan/a.py", "if TYPE_CHECKING:\n    from native_reader.columns import rows"),
        ("native_reader/log/a.py", "from native_reader.predicate import tree"),
        ("native_reader/records/a.py", "from native_reader.log import tail"),
        ("native_reader/predicate/a.py", "from native_reader.storage import store"),
        ("native_reader/scan/a.py", "from native_reader.stream import offset"),
        ("native_reader/stream/a.py", "from native_reader.scan import read"),
        ("native_reader/stream/a.py", "from native_reader import options"),
        ("native_reader/checks.py", "from native_reader import options"),
        ("native_reader/options.py", "from native_reader import conditions"),
        ("native_reader/scan/deep/a.py", "from native_reader.tables import queues"),
        ("native_reader/scan/deep/a.py", "from ...tables import queues"),
        ("native_reader/tables/a.py", "import native_reader.api"),
        ("native_reader/testing/a.py", "from native_reader.records import walk"),
        ("native_reader/api.py", "from native_reader.testing import writer"),
        ("native_reader/__init__.py", "from .testing import writer"),
        ("native_reader/unheard_of/a.py", "from native_reader.layout import heads"),
        ("native_reader/api.py", "import pyspark.sql"),
        ("native_reader/api.py", "def f():\n    import pyspark"),
        ("native_reader/api.py", "import importlib\nimportlib.import_module('pyspark')"),
        ("native_reader/api.py", "__import__('rmqstore_spark')"),
        ("native_reader/api.py", "from rmqstore_spark import register"),
        ("native_reader/api.py", "import pandas"),
        ("native_reader/api.py", "import hypothesis"),
        ("native_reader/api.py", "import sqlglot"),
        ("native_reader/api.py", "try:\n    from sqlglot import parse_one\nexcept ImportError:\n    pass"),
        ("native_reader/api.py", "class A:\n    import sqlglot"),
    ],
)
def test_a_wrong_import_is_detected(path, code):
    assert len(wrong_arrows(Module(path, code))) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("native_reader/layout/a.py", "import struct\nimport numpy as np\nfrom .b import c\nfrom native_reader.layout.d import e"),
        ("native_reader/layout/__init__.py", "from .heads import HEAD"),
        ("native_reader/scan/a.py", "from native_reader.tuning import TUNING"),
        ("native_reader/storage/a.py", "from native_reader import errors\nfrom ..errors import StoreError\nfrom ..layout import heads"),
        ("native_reader/scan/a.py", "import pyarrow as pa\nfrom native_reader.plan.plan import Split"),
        ("native_reader/api.py", "from native_reader.tables import queues\nfrom native_reader.options import Options\nfrom . import scan"),
        ("native_reader/__init__.py", "from native_reader.api import open"),
        ("native_reader/testing/a.py", "from hypothesis import strategies\nfrom ..layout import heads"),
        ("native_reader/api.py", "def parse(text):\n    import sqlglot"),
        ("native_reader/api.py", "if TYPE_CHECKING:\n    import sqlglot"),
    ],
)
def test_a_right_import_is_accepted(path, code):
    assert wrong_arrows(Module(path, code)) == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("rmqstore_spark/stream.py", "from native_reader.log.boundary import Boundary"),
        ("rmqstore_spark/stream.py", "import native_reader as nr"),
        ("rmqstore_spark/source.py", "def f():\n    from native_reader.plan import plan"),
        ("rmqstore_spark/reader.py", "from rmqstore_spark.stream import StoreStreamReader"),
        ("rmqstore_spark/reader.py", "from . import stream"),
        ("rmqstore/text.py", "from rmqstore.cli.rows import Output"),
        ("rmqstore/text.py", "from rmqstore.cli import rows"),
        ("rmqstore/cli/cat.py", "from rmqstore.cli.find import find"),
        ("rmqstore/cli/cat.py", "from native_reader.scan.run import Run"),
        ("rmqstore_spark/unheard_of.py", "import json"),
    ],
)
def test_a_wrong_import_of_rmqstore_spark_is_detected(path, code):
    assert len(wrong_spark_arrows(Module(path, code))) == 1


def test_a_right_import_of_rmqstore_spark_is_accepted():
    code = "from pyspark.sql import datasource\nfrom native_reader.stream.stream import Stream\nfrom rmqstore_spark.reader import announce"
    assert wrong_spark_arrows(Module("rmqstore_spark/stream.py", code)) == []
    code = "from rmqstore.cli import stderr\nfrom rmqstore.text import safe\nimport native_reader"
    assert wrong_spark_arrows(Module("rmqstore/cli/ls.py", code)) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "import os.path",
        "from os import fspath",
        "def f():\n    import pathlib",
        "from pathlib import Path",
        "import mmap",
        "import shutil",
        "from io import open as look",
        "import io\nf = io.open('x')",
        "import io as i\nf = i.FileIO('x')",
        "with open('x') as f:\n    pass",
        "f = open",
        "class A:\n    def open(self):\n        return open('x')",
        "import builtins\nbuiltins.open('x')",
        "import numpy as np\na = np.memmap('x')",
        "from numpy import fromfile",
        "import pyarrow as pa\npa.memory_map('x')",
        "import pyarrow.fs\npyarrow.fs.LocalFileSystem()",
        "from pyarrow import fs\nfs.LocalFileSystem()",
        "import pyarrow as pa\npa.output_stream('x')",
    ],
)
def test_a_file_opened_elsewhere_is_detected(code):
    assert len(file_access(Module("native_reader/storage/once.py", code))) == 1


def test_calls_that_only_look_like_opening_are_accepted():
    for code in (
        "def open(path): ...\nstore = open('x')",
        "from native_reader.api import open\n__all__ = ['open']\nstore = open('x')",
        "file = backend.open('x')",
        "import io\nbuffer = io.BytesIO()",
        "import posixpath",
    ):
        assert file_access(Module("native_reader/api.py", code)) == []
    reads = "import os\nfd = os.open('x', os.O_RDONLY)"
    assert file_access(Module(LOCAL[0], reads)) == []
    assert file_access(Module("native_reader/testing/writer.py", reads)) == []


@pytest.mark.parametrize(
    "code",
    [
        "from test_a import same",
        "import test_a",
        "def f():\n    from test_a import same",
        "from tests.plan.test_a import b",
        "from . import test_a",
    ],
)
def test_a_test_that_imports_another_is_detected(code):
    assert len(borrowing(Module("tests/plan/test_b.py", code))) == 1


def test_allowed_imports_of_a_test_are_accepted():
    code = "import pytest\nfrom support.compare import same\nfrom native_reader.testing import spec\nfrom conftest import x"
    assert borrowing(Module("tests/plan/test_b.py", code)) == []


def test_a_long_or_undocumented_file_is_detected():
    said = '"""What it is for."""\n'
    assert unreadable(Module("native_reader/a.py", said + "x = 1\n" * (LONGEST - 1))) == []
    assert len(unreadable(Module("native_reader/a.py", said + "x = 1\n" * LONGEST))) == 1
    assert len(unreadable(Module("native_reader/a.py", "x = 1\n"))) == 1
    assert len(unreadable(Module("native_reader/a.py", ""))) == 1
