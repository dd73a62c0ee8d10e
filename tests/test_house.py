"""The rules of the house that no tool has. `make lint` checks the others: .importlinter and ruff.toml have them, with reasons."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore")
# What users of the engine must install, and what it can use if it is there.
THIRD_PARTY = {"duckdb", "isal", "numpy", "polars", "pyarrow", "rmqstore_kernel", "rocksdict", "sqlglot"}
ENGINE = "native_reader/storage/discovery.py"
WITH_FILES = (
    "native_reader/storage/local.py",
    "native_reader/storage/linux.py",
    "native_reader/export/target.py",
    "native_reader/repair/disk.py",
)
"""The files of the engine that may open files."""


def test_the_engine_needs_few_packages() -> None:
    """Each one that it imports must be installed everywhere, or the engine must work without it."""
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)
    engine = {"native_reader", *graph.find_descendants("native_reader")}
    testing = {"native_reader.testing", *graph.find_descendants("native_reader.testing")}
    needed = {imported for module in engine - testing for imported in graph.find_modules_directly_imported_by(module)}
    assert needed - engine - sys.stdlib_module_names == THIRD_PARTY - {"rmqstore_kernel"}  # which kernel.py imports by its name
    needed = {imported for module in testing for imported in graph.find_modules_directly_imported_by(module)}
    assert needed - engine - sys.stdlib_module_names == {"hypothesis", "numpy", "pyarrow"}


# Of the built-ins, ruff cannot ban these. `__import__` hides an import from the contracts above.
BUILT_IN = {"open": "read with `storage_of(uri)`", "__import__": "write an import statement, in a function if it must be late"}


def banned_built_ins(path: str, source: str) -> list[str]:
    if path in WITH_FILES or path.startswith("native_reader/testing/") or not re.search(r"(?<![.\w])(open|__import__)\b", source):
        return []
    tree = ast.parse(source, path)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}  # `native_reader.open` is one
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [f"{path}:{node.lineno}: {node.id}: {BUILT_IN[node.id]}" for node in used if node.id in BUILT_IN.keys() - own]


def borrowing(path: str, source: str) -> list[str]:
    """Imports of one test file by another: the second could not be moved or run without the first."""
    found = re.findall(r"^\s*(?:from|import)\s.*\btest_\w+", source, re.MULTILINE)
    return [f"{path}: '{line.strip()}': move what both need to tests/support or a conftest.py" for line in found]


def breaches(rule: Callable[[str, str], list[str]], *packages: str) -> list[str]:
    paths = sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))
    assert paths
    return [breach for path in paths for breach in rule(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))]


def test_the_rules_that_no_tool_has() -> None:
    assert breaches(banned_built_ins, "native_reader") == []
    assert breaches(borrowing, "tests", "benchmarks") == []


@pytest.mark.parametrize(
    ("rule", "path", "wrong", "right"),
    [
        (banned_built_ins, ENGINE, "f = open", "file = backend.open('x')"),
        (banned_built_ins, ENGINE, "class A:\n    def open(self):\n        return open('x')", "def open(path): ...\nstore = open('x')"),
        (banned_built_ins, ENGINE, "__import__('pyspark')", "import pyspark"),
        (borrowing, "tests/plan/test_b.py", "from test_a import same", "from support.compare import same"),
        (borrowing, "tests/plan/test_b.py", "import test_a", "import pytest"),
        (borrowing, "tests/plan/test_b.py", "def f():\n    from tests.plan.test_a import b", "from native_reader.testing import spec"),
        (borrowing, "tests/plan/test_b.py", "from . import test_a", "from conftest import x"),
    ],
)
def test_these_rules_can_fail(rule: Callable[[str, str], list[str]], path: str, wrong: str, right: str) -> None:
    assert len(rule(path, wrong)) == 1
    assert rule(path, right) == []
