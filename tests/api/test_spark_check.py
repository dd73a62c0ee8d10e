"""`python -m rmqstore_spark` says whether Spark can use the format here. It starts no Spark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rmqstore_spark import __main__ as check
from rmqstore_spark.options import as_markdown


def fake_java(folder: Path, text: str) -> str:
    """A directory for JAVA_HOME whose Java has that version."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)
    return str(folder)


def test_all_that_spark_needs_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path, 'openjdk version "21.0.2" 2024-01-16'))
    assert check.main([]) == 0
    said = capsys.readouterr().out
    for part in (
        "Python      3.",
        "PySpark     4.",
        "Java        21.0.2, ",
        "pyarrow ",
        "numpy ",
        "kernel      ",
        "rocketmq-store; Spark finds it",
    ):
        assert part in said
    assert said.splitlines()[-1].strip() == 'spark.read.format("rocketmq-store").load("/data/store").show()'


def test_a_format_that_spark_does_not_find_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path, 'openjdk version "17"'))
    monkeypatch.setattr(check, "iter_modules", lambda: iter(()))
    assert check.main([]) == 0
    assert "rmqstore_spark.register(spark)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problem"),
    [('java version "1.8.0_402"', 'java version "1.8.0_402"'), ("nothing", "nothing")],
)
def test_a_java_that_is_too_old_is_one_line(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path, text))
    assert check.main([]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"error: {tmp_path}/bin/java is {problem}. Spark needs Java 17 or newer. Install it, or set JAVA_HOME\n"


def test_without_java_or_pyspark_it_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    assert check.main([]) == 1
    assert capsys.readouterr().err.startswith("error: Java is not on the PATH, and JAVA_HOME is not set. Spark needs Java 17")
    monkeypatch.setattr("pyspark.__version__", "3.5.4")
    assert check.main([]) == 1
    assert capsys.readouterr().err.startswith("error: PySpark 3.5.4 has no data sources in Python. Install 4.0 or newer")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr(check, "find_spec", lambda name: None)
    assert check.main([]) == 1
    assert capsys.readouterr().err == "error: PySpark is not installed. Install it: pip install 'pyspark>=4.0'\n"


def test_the_options_are_listed_and_other_arguments_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--options"]) == 0
    assert capsys.readouterr().out == as_markdown() + "\n"
    assert check.main(["--help"]) == 2
    assert "usage: python -m rmqstore_spark [--options]" in capsys.readouterr().err
