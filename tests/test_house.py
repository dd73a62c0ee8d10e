"""The rules of the house: what a module may import and use, and how long a file may be.

.importlinter and ruff.toml hold most of them, with reasons. Here they are checked too, and each is shown to find what breaks it. The
rules that no tool has are at the end.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import Contract
from importlinter.api import read_configuration
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

ROOT = Path(__file__).parents[1]

# Imports: .importlinter

CONFIGURATION = read_configuration(str(ROOT / ".importlinter"))
PACKAGES = CONFIGURATION["session_options"]["root_packages"]
TYPES = {each.type_name: each for each in (AcyclicSiblingsContract, ForbiddenContract, LayersContract, ProtectedContract)}
CONTRACTS = {each["id"]: each for each in CONFIGURATION["contracts_options"]}
# What users of the engine must install, and what it can use if it is there.
THIRD_PARTY = {"isal", "numpy", "polars", "pyarrow", "rmqstore_kernel", "rocksdict", "sqlglot"}


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def is_kept(identity: str, graph: grimp.ImportGraph) -> bool:
    options: dict[str, Any] = CONTRACTS[identity]
    contract: Contract = TYPES[options["type"]](options["name"], CONFIGURATION["session_options"], options)
    return contract.check(deepcopy(graph), verbose=False).kept


@pytest.mark.parametrize("identity", CONTRACTS)
def test_contracts_are_kept(identity: str) -> None:
    """`lint-imports` prints the imports that break one, and what to do instead."""
    assert CONTRACTS[identity]["broken_contract_guidance"]
    assert is_kept(identity, imports())


WRONG = [
    ("layers", "native_reader.layout.record", "native_reader.errors"),
    ("layers", "native_reader.layout.record", "native_reader.storage"),
    ("layers", "native_reader.storage.store", "native_reader"),
    ("layers", "native_reader.storage.store", "native_reader.broker.settings"),
    ("layers", "native_reader.predicate.tree", "native_reader.storage.store"),
    ("layers", "native_reader.records.walk", "native_reader.log.tail"),
    ("layers", "native_reader.log.tail", "native_reader.columns.rows"),
    ("layers", "native_reader.plan.plan", "native_reader.scan.read"),
    ("layers", "native_reader.scan.read", "native_reader.stream.offset"),
    ("layers", "native_reader.stream.stream", "native_reader.options"),
    ("layers", "native_reader.tables.table", "native_reader.api"),
    ("layers", "native_reader.doctor", "native_reader.api"),
    ("layers", "native_reader.facts", "native_reader.rescue"),
    ("layers", "native_reader.testing.logs", "native_reader.records.walk"),
    ("layers", "native_reader.text", "native_reader.new_part"),
    ("circles", "native_reader.plan.lost", "native_reader.plan.ends"),
    ("circles", "rmqstore.report.markup", "rmqstore.cli.rows"),
    ("circles", "rmqstore_spark.options", "rmqstore_spark.source"),
    ("faces", "rmqstore_spark.source", "rmqstore.text"),
    ("faces", "rmqstore.text", "rmqstore_spark.errors"),
    ("faces", "native_reader.api", "rmqstore_spark"),
    ("root", "native_reader.doctor", "native_reader"),
    ("pyspark", "native_reader.api", "pyspark"),
    ("pyspark", "rmqstore.cli.program", "pyspark"),
    ("no-columns", "native_reader.plan.plan", "native_reader.columns.rows"),
    ("no-columns", "native_reader.sides.queues", "native_reader.columns.rows"),
    ("no-columns", "native_reader.stream.stream", "native_reader.columns.rows"),
    ("predicate", "native_reader.predicate.sql", "native_reader.tuning"),
    ("testing", "native_reader.testing.records", "native_reader.layout.record"),
    ("testing", "native_reader.testing.records", "native_reader.kernel"),
    ("no-testing", "native_reader.rescue.rescue", "native_reader.testing.logs"),
    ("no-testing", "rmqstore.disk", "native_reader.testing"),
    ("door", "rmqstore_spark.source", "native_reader.kernel"),
    ("door", "rmqstore.cli.verify", "native_reader.verify.entries"),
    ("door", "rmqstore_spark.stream", "native_reader.log.follow"),
    ("door", "rmqstore.disk", "native_reader.storage.rocksdb"),
]


@pytest.mark.parametrize(("identity", "importer", "imported"), WRONG)
def test_a_wrong_import_breaks_its_contract(identity: str, importer: str, imported: str) -> None:
    graph = deepcopy(imports())
    assert imported not in graph.modules or not graph.direct_import_exists(importer=importer, imported=imported)
    graph.add_import(importer=importer, imported=imported)
    assert not is_kept(identity, graph)


def test_every_contract_is_shown_to_break() -> None:
    assert {identity for identity, _, _ in WRONG} == CONTRACTS.keys()


@pytest.mark.parametrize(
    "code", ["from ..plan import plan", "def f():\n    import native_reader.plan", "if TYPE_CHECKING:\n    import native_reader.plan"]
)
def test_every_import_statement_is_seen(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those in functions, and those for type checkers."""
    for file, text in (
        ("__init__.py", ""),
        ("plan/__init__.py", ""),
        ("plan/plan.py", ""),
        ("layout/__init__.py", ""),
        ("layout/a.py", code),
    ):
        path = tmp_path / "house" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("native_reader", "house"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    graph = grimp.build_graph("house", cache_dir=None)
    assert graph.find_shortest_chains("house.layout", "house.plan", as_packages=True)


def test_the_engine_needs_few_packages() -> None:
    """Each one that it imports must be installed everywhere, or the engine must work without it."""
    graph = imports()
    engine = {"native_reader", *graph.find_descendants("native_reader")}
    testing = {"native_reader.testing", *graph.find_descendants("native_reader.testing")}
    needed = {imported for module in engine - testing for imported in graph.find_modules_directly_imported_by(module)}
    assert needed - engine - sys.stdlib_module_names == THIRD_PARTY - {"rmqstore_kernel"}  # which kernel.py imports by its name
    needed = {imported for module in testing for imported in graph.find_modules_directly_imported_by(module)}
    assert needed - engine - sys.stdlib_module_names == {"hypothesis", "numpy", "pyarrow"}


# What a module may use: ruff.toml

BANNED = tomllib.loads((ROOT / "ruff.toml").read_text(encoding="utf-8"))["lint"]["flake8-tidy-imports"]
ENGINE = "native_reader/storage/discovery.py"
WITH_FILES = (
    "native_reader/storage/local.py",
    "native_reader/storage/linux.py",
    "native_reader/export/target.py",
    "native_reader/repair/disk.py",
)


def ruff(code: str, path: str, rules: str = "TID25") -> set[int]:
    """The lines of this file that break these rules of ruff.toml."""
    command = f"-m ruff check --select {rules} --no-cache --output-format json --stdin-filename {path} -".split()
    ended = subprocess.run([sys.executable, *command], cwd=ROOT, input=code, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    return {each["location"]["row"] for each in json.loads(ended.stdout)}


def test_banned_names_are_found_in_the_engine_only() -> None:
    places = [name.rpartition(".") for name in BANNED["banned-api"]]
    lines = [f"from {module} import {name}" if module else f"import {name}" for module, _, name in places]
    lines += ["from os import fspath", "import os.path", "import io as i; i.open('x')", "import numpy as np; np.memmap('x')"]
    lines += ["def f(): import pathlib", "from pyarrow import fs; fs.LocalFileSystem()"]
    code = "\n".join(lines)
    assert ruff(code, ENGINE) == set(range(1, len(lines) + 1))
    for path in (*WITH_FILES, "native_reader/testing/logs.py", "rmqstore/report/file.py", "tests/test_house.py"):
        assert ruff(code, path) == set()


def test_large_and_optional_packages_are_imported_late() -> None:
    names = BANNED["banned-module-level-imports"]
    assert {"sqlglot", "rich"} <= set(names)
    early = "\n".join(f"import {name}" for name in names)
    late = "\n".join(f"def {name}():\n    import {name}" for name in names)
    for path in (ENGINE, *WITH_FILES, "rmqstore/text.py"):
        assert ruff(early, path) == set(range(1, len(names) + 1))
        assert ruff(late, path) == set()


def test_files_say_what_they_are_for() -> None:
    for path in ("native_reader/a.py", "rmqstore/cli/__init__.py", "rmqstore_spark/a.py", "pyspark_rmqstore/__init__.py"):
        assert ruff("x = 1\n", path, "D1") == {1}
        assert ruff('"""What it is for."""\n', path, "D1") == set()


# What no tool has

# Of the built-ins, ruff cannot ban these. `__import__` hides an import from the contracts above.
BUILT_IN = {"open": "read with `storage_of(uri)`", "__import__": "write an import statement, in a function if it must be late"}


def banned_built_ins(path: str, source: str) -> list[str]:
    if path in WITH_FILES or path.startswith("native_reader/testing/") or not re.search(r"(?<![.\w])(open|__import__)\b", source):
        return []
    tree = ast.parse(source, path)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}  # `native_reader.open` is one
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [f"{path}:{node.lineno}: {node.id}: {BUILT_IN[node.id]}" for node in used if node.id in BUILT_IN.keys() - own]


# A reader gets through 400 lines in one sitting, and a longer file mostly tells two stories: then make two files of it. One that tells
# a single story stays whole: name it here, with its reason. Two files that are only readable together are no better than a long one.
LONGEST = 600
LONGER = {"native_reader/api.py": "half of it is docstrings, which `help` and the site show"}


def long_files(path: str, source: str) -> list[str]:
    lines = len(source.splitlines())
    if lines <= LONGEST or path in LONGER:
        return []
    return [f"{path}: {lines} lines. Does it tell two stories? If not, give the reason in LONGER"]


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
    assert breaches(long_files, *PACKAGES) == []
    assert breaches(borrowing, "tests", "benchmarks") == []
    assert [path for path in LONGER if len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= LONGEST] == []


@pytest.mark.parametrize(
    ("rule", "path", "wrong", "right"),
    [
        (banned_built_ins, ENGINE, "f = open", "file = backend.open('x')"),
        (banned_built_ins, ENGINE, "class A:\n    def open(self):\n        return open('x')", "def open(path): ...\nstore = open('x')"),
        (banned_built_ins, ENGINE, "__import__('pyspark')", "import pyspark"),
        (long_files, "native_reader/a.py", "x = 1\n" * (LONGEST + 1), "x = 1\n" * LONGEST),
        (borrowing, "tests/plan/test_b.py", "from test_a import same", "from support.compare import same"),
        (borrowing, "tests/plan/test_b.py", "import test_a", "import pytest"),
        (borrowing, "tests/plan/test_b.py", "def f():\n    from tests.plan.test_a import b", "from native_reader.testing import spec"),
        (borrowing, "tests/plan/test_b.py", "from . import test_a", "from conftest import x"),
    ],
)
def test_these_rules_can_fail(rule: Callable[[str, str], list[str]], path: str, wrong: str, right: str) -> None:
    assert len(rule(path, wrong)) == 1
    assert rule(path, right) == []
