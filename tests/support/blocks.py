"""The code blocks of the documents. Those of a page are executed in order and share their names, as when a reader goes through it."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import native_reader as nr
from native_reader.stream import offset
from support.documented import ROOT, english_of, is_shown, lasting, printed
from support.left_out import LEFT_OUT, LeftOut

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FIRST_BATCH = 120
"""Seconds that a query may take until it has read something."""


class Block(NamedTuple):
    """A code block of a page. `line`: that of its first line."""

    page: str
    line: int
    language: str
    code: str


def documents() -> list[str]:
    """Every Markdown file of the project, by its path."""
    paths = (path for pattern in ("*.md", "[a-z]*/*.md", ".github/*.md") for path in ROOT.glob(pattern))
    return sorted(path.relative_to(ROOT).as_posix() for path in paths if path.relative_to(ROOT).parts[0] not in ("build", "dist"))


def blocks_of(page: str, text: str | None = None) -> list[Block]:
    """All blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    return [Block(page, text.count("\n", 0, found.start()) + 2, found[1], found[2]) for found in _BLOCK.finditer(text)]


def leaves_out(each: LeftOut, block: Block) -> bool:
    """Whether an entry is about this block, or about a line of it."""
    if each.page not in (block.page, english_of(block.page)):
        return False
    return (
        re.search(rf"^{re.escape(each.begins)}", block.code, re.MULTILINE) is not None if each.line else block.code.startswith(each.begins)
    )


def kept(blocks: list[Block]) -> list[Block]:
    """The blocks that are executed here, without the lines that are left out."""
    found = []
    for block in blocks:
        entries = [each for each in LEFT_OUT if leaves_out(each, block)]
        if all(each.line for each in entries):
            begins = tuple(each.begins for each in entries)
            found.append(block._replace(code="".join(line for line in block.code.splitlines(True) if not line.startswith(begins))))
    return found


def needs_spark(page: str) -> bool:
    """Whether one of the executed blocks of a page needs a session."""
    return any(block.language == "sql" or re.search(r"\bspark\.|SparkSession", block.code) for block in kept(blocks_of(page)))


def pages(*, with_spark: bool) -> list[str]:
    """The pages with blocks that are executed here."""
    return [page for page in documents() if kept(blocks_of(page)) and needs_spark(page) is with_spark]


class Places(NamedTuple):
    """Where a page is executed, and what its code says instead of the places that it names."""

    folder: Path
    instead: Mapping[str, str] = {}

    def of(self, code: str) -> str:
        """The code with the places of the test."""
        for text, other in self.instead.items():
            code = code.replace(text, other)
        return re.sub(r"(?<![\w/.:…])/(?=(?:data|backup|backups|copy|lake)\b)", f"{self.folder}/", code)

    def of_spark(self, code: str) -> str:
        """The same, with full paths: the directory of the Java process is another one."""
        return re.sub(r'(\bload\(|"path", |"checkpointLocation", )"([\w-]+)"', rf'\1"{self.folder}/\2"', self.of(code))


class Walk:
    """Executes blocks one after another. `spark`: the session that the page's readers have."""

    def __init__(self, places: Places, spark: Any = None) -> None:
        self._places, self._spark, self._queries = places, spark, 0
        self._names: dict[str, Any] = {"__name__": "__main__"} | ({} if spark is None else {"spark": spark})
        self._output = ""

    def go(self, blocks: list[Block]) -> None:
        """Execute them. The first that is wrong is an error that names its place."""
        how: dict[str, Callable[[Block], None]] = {
            "python": self._python,
            "bash": self._bash,
            "console": self._console,
            "sql": self._sql,
            "json": self._offset,
            "text": self._shown,
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self._places.folder)
            patch.setenv("COLUMNS", "120")
            patch.setattr("rmqstore.cli.rows.is_terminal", lambda: True)
            for block in blocks:
                assert block.language in how, f"{block.page}:{block.line}: nothing executes a block of '{block.language}'"
                try:
                    how[block.language](block)
                except BaseException as error:
                    error.add_note(f"{block.page}:{block.line}: {block.code}")
                    raise

    def _python(self, block: Block) -> None:
        code = self._places.of(block.code) if self._spark is None else self._places.of_spark(block.code)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            values = list[Any]()
            for statement in ast.parse("\n" * (block.line - 1) + code, block.page).body:
                if isinstance(statement, ast.Expr):
                    values.append(eval(compile(ast.Expression(statement.value), block.page, "eval"), self._names))
                    continue
                exec(compile(ast.Module([statement], []), block.page, "exec"), self._names)
                if isinstance(statement, ast.Assign):
                    values += [self._names[target.id] for target in statement.targets if isinstance(target, ast.Name)]
        self._output = output.getvalue()
        if self._spark is not None:
            self._end_queries()
        for value in values:
            if "writeStream" not in block.code or not getattr(value, "isStreaming", False):  # else it was read
                self._finish(value)

    def _finish(self, value: Any) -> None:
        """Frames and scans read nothing before they are used: read them to their end."""
        if isinstance(value, nr.Scan):
            value.to_table()
        elif type(value).__name__ == "DataFrame" and value.isStreaming:
            self._queries += 1
            checkpoint = self._places.folder / f"checkpoint-{self._queries}"
            value.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(
                availableNow=True
            ).start().awaitTermination()
        elif type(value).__name__ == "DataFrame":
            value.write.format("noop").mode("overwrite").save()

    def _end_queries(self) -> None:
        """A query that follows a store is stopped when it has read something."""
        for query in self._spark.streams.active:
            patience = time.monotonic() + _FIRST_BATCH
            while query.isActive and not any(each["numInputRows"] for each in query.recentProgress):
                assert time.monotonic() < patience, "the query reads nothing"
                time.sleep(0.1)
            failed = query.exception()
            query.stop()
            assert failed is None, failed

    def _bash(self, block: Block) -> None:
        commands = self._places.folder.parent / "commands"
        for name, arguments in {"rmqstore": "-m rmqstore ", "python": "", "python3": "", "python3.11": ""}.items():
            commands.mkdir(exist_ok=True)
            (commands / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}"$@"\n', encoding="utf-8")
            (commands / name).chmod(0o755)
        own = {"PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        command = ["bash", "-euo", "pipefail", "-c", self._places.of(block.code)]
        ended = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode == 0, f"exit code {ended.returncode}\n{ended.stdout}{ended.stderr}"
        self._output = ended.stdout

    def _console(self, block: Block) -> None:
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.code, re.MULTILINE):
            program, *arguments = shlex.split(self._places.of(command), comments=True)
            if program == "rmqstore":
                real = printed(shlex.join(arguments), self._places.folder)
                assert is_shown(output, real), f"{command} printed\n{real}"
            else:
                assert (program, output) == ("python", ""), f"nothing executes {command}"
                self._script(*(self._full(each) for each in arguments))

    def _full(self, argument: str) -> str:
        """A path in full: the directory of the Java process is another one."""
        return argument if argument.startswith("-") or Path(argument).is_absolute() else str(self._places.folder / argument)

    def _script(self, *arguments: str) -> None:
        """A script of `examples`, in this process, so that it uses the session that is there."""
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as output:
            patch.setattr(sys, "argv", list(arguments))
            runpy.run_path(arguments[0], run_name="__main__")
        self._output = output.getvalue()

    def _sql(self, block: Block) -> None:
        for statement in filter(None, map(str.strip, self._places.of(block.code).split(";"))):
            self._spark.sql(statement).collect()

    def _offset(self, block: Block) -> None:
        """The only JSON that the documents show is the offset of a stream."""
        parsed = json.loads(block.code)
        assert offset.to_json(offset.from_json(parsed)) == parsed

    def _shown(self, block: Block) -> None:
        assert lasting(self._output.replace(str(self._places.folder), "/…")) == lasting(block.code)
