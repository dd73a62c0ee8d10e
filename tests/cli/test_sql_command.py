"""`rmqstore sql` prints and writes what the engine returns, and ends with the right exit code."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from pyarrow import csv, parquet
from support.command_line import COMMAND, ENVIRONMENT, HOSTILE, run, run_on_terminal, unsafe

import native_reader as nr

# A shell starts what runs in the background so that it ignores Ctrl-C, and these tests may run there.
_TAKES_INTERRUPTIONS = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
COUNTS = "SELECT topic, count(*) AS n FROM messages GROUP BY topic ORDER BY topic"


def test_a_query_is_printed_as_lines_and_as_json(store: Path) -> None:
    expected = nr.open(store).sql(COUNTS).to_table().to_pylist()
    ended = run("sql", store, COUNTS)
    assert (ended.code, ended.err) == (0, "")
    assert ended.cells == [["topic", "n"], *([row["topic"], str(row["n"])] for row in expected)]
    assert run("sql", store, COUNTS, "--json").rows == expected
    assert "T0" in run_on_terminal("sql", store, COUNTS).out


def test_no_rows_are_said(store: Path) -> None:
    ended = run("sql", store, "SELECT topic FROM messages WHERE topic = 'T0' AND queue_offset = 999")
    assert (ended.code, ended.out, ended.err) == (0, "topic\n", "0 rows\n")
    ended = run("sql", store, "SELECT topic FROM messages WHERE topic = 'none'")
    assert (ended.code, ended.out, ended.err) == (1, "topic\n", "warning: no record of topic 'none'\n0 rows\n")


def test_a_query_becomes_a_file(store: Path, tmp_path: Path) -> None:
    expected = nr.open(store).sql(COUNTS).to_table().to_pylist()
    for name in ("n.parquet", "n.csv", "n.csv.gz", "n.jsonl", "n.json"):
        for _ in range(2):  # the second time, the file is replaced
            ended = run("sql", store, COUNTS, "-o", tmp_path / name)
            assert (ended.code, ended.out, ended.err) == (0, "", f"{len(expected)} rows in {tmp_path / name}\n")
    assert parquet.read_table(tmp_path / "n.parquet").to_pylist() == expected
    assert csv.read_csv(tmp_path / "n.csv.gz").to_pylist() == expected
    assert [json.loads(line) for line in (tmp_path / "n.jsonl").read_text().splitlines()] == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.csv", "n.csv.gz", "n.json", "n.jsonl", "n.parquet", "store"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["SELECT topc FROM messages"], 2, "error: sql: the column 'topc' does not exist. Did you mean 'topic'?"),
        (["FROM mesages"], 2, "error: sql: the table 'mesages' does not exist. Did you mean 'messages'?"),
        (["SELECT 1", "-o", "/no such/rows.xlsx"], 2, "rows.xlsx does not end in .parquet, .arrow, .jsonl, .json or .csv"),
        (["SELECT 1", "-o", "/no such/rows.csv"], 3, "the folder /no such does not exist. Make it first"),
        (["SELECT 1", "-o", "/proc/rows.csv"], 3, "/proc/rows.csv: could not write: No such file or directory"),
        ([], 2, "The query is missing after the store: rmqstore sql "),
    ],
)
def test_wrong_arguments(store: Path, arguments: list[str], code: int, text: str) -> None:
    ended = run("sql", store, *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert text in ended.err


@pytest.mark.parametrize("expression", ["max(store_timestamp) - min(store_timestamp)", "union_value(a := count(*))"])
def test_a_column_that_parquet_does_not_have_was_a_traceback(store: Path, tmp_path: Path, expression: str) -> None:
    query = f"SELECT topic, {expression} AS span FROM messages GROUP BY topic"
    ended = run("sql", store, query, "-o", tmp_path / "span.parquet")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"{tmp_path / 'span.parquet'}: the column 'span' has the type " in ended.err
    assert ended.err.endswith("which this format does not have. CAST it to VARCHAR, or write .arrow or .csv\n")
    for name in ("span.arrow", "span.csv", "span.json"):
        assert run("sql", store, query, "-o", tmp_path / name).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["span.arrow", "span.csv", "span.json", "store"]


NESTED = """
    SELECT {'a': 1, 'b b"': 'x', 'none': NULL, 'day': DATE '2026-01-31'} AS struct, MAP {1: [1.5]} AS map, [[1, 2], [3]] AS lists,
    [{'at': TIMESTAMPTZ '2026-01-31 12:00:00Z', 'map': MAP {'k': 'x'::BLOB}}] AS structs, [1, NULL]::INT[2] AS pair,
    'nan'::DOUBLE AS nan, ['-inf'::FLOAT, 0.5] AS floats, row(1, 'x') AS unnamed, NULL::STRUCT(a INT) AS nothing
"""


def test_what_is_nested_was_text_that_is_not_json(store: Path, tmp_path: Path) -> None:
    """And an infinite number was one that JSON does not have."""
    expected = {
        "struct": {"a": 1, 'b b"': "x", "none": None, "day": "2026-01-31"},
        "map": {"1": [1.5]},
        "lists": [[1, 2], [3]],
        "pair": [1, None],
        "nan": None,
        "floats": [None, 0.5],
        "unnamed": "(1, x)",
        "nothing": None,
    }
    (printed,) = run("sql", store, NESTED, "--json").rows
    assert printed.pop("structs") == [{"at": "2026-01-31T12:00:00.000Z", "map": {"k": "x"}}]
    assert printed == expected
    assert run("sql", store, NESTED, "-o", tmp_path / "rows.json").code == 0
    written = json.loads((tmp_path / "rows.json").read_text(), parse_constant=pytest.fail)
    assert written.pop("structs") == [{"at": "2026-01-31T12:00:00.000000Z", "map": {"k": "eA=="}}]
    assert written == expected
    assert run("sql", store, NESTED, "-o", tmp_path / "rows.csv").code == 0
    in_csv = csv.read_csv(tmp_path / "rows.csv").to_pylist()[0]
    assert (json.loads(in_csv["lists"]), json.loads(in_csv["map"]), in_csv["floats"]) == ([[1, 2], [3]], {"1": [1.5]}, "[null,0.5]")
    cells = dict(zip(*run("sql", store, NESTED).cells, strict=True))
    assert (cells["lists"], cells["map"], cells["pair"]) == ("[[1, 2], [3]]", '{"1": [1.5]}', "1 ")


def test_a_file_inside_the_store_is_refused(store: Path) -> None:
    ended = run("sql", store, "SELECT 1", "-o", store / "rows.csv")
    assert ended.code == 2
    assert not (store / "rows.csv").exists()


def test_damage_is_skipped_and_said(damaged: Path) -> None:
    ended = run("sql", damaged, COUNTS)
    assert ended.code == 1
    assert "warning: skipped 1 damaged range with " in ended.err
    assert run("sql", damaged, COUNTS, "--strict").code == 1
    assert run("sql", damaged, "SELECT count(*) FROM queues").code == 0


def test_what_is_printed_is_safe_on_a_terminal(hostile: Path) -> None:
    for form in ([], ["--json"]):
        ended = run("sql", hostile, "SELECT topic, tags, keys, properties, body, body_text FROM messages", *form)
        assert ended.code == 0
        assert not unsafe(ended.out)
    assert not unsafe(run("sql", hostile, f"SELECT {HOSTILE[0]!r}").err)


def test_times_are_in_the_zone(store: Path) -> None:
    query = "SELECT min(store_timestamp) AS first, extract(hour FROM min(store_timestamp)) AS hour FROM messages"
    (in_utc,), (there,) = run("sql", store, query, "--json").rows, run("sql", store, query, "--json", "--time-zone", "+08:00").rows
    assert in_utc["first"].endswith("Z")
    assert there["first"].endswith("+08:00")
    assert (there["hour"] - in_utc["hour"]) % 24 == 8


@pytest.mark.parametrize("query", ["SELECT count(*) FROM range(1000000000000)", "SELECT count(*) FROM messages, range(100000000000)"])
def test_it_can_be_interrupted(store: Path, query: str) -> None:
    command = [sys.executable, "-c", _TAKES_INTERRUPTIONS, *COMMAND, "sql", str(store), query]
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=ENVIRONMENT) as process:
        time.sleep(5)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said.strip()) == (130, "", "interrupted")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_ended_early_left_a_folder(store: Path, tmp_path: Path, form: list[str]) -> None:
    """The folder for what does not fit into DuckDB's memory."""
    command = [*COMMAND, "sql", str(store), "SELECT a.topic FROM messages AS a, range(100000)", *form]
    (tmp_path / "temporary").mkdir()
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=ENVIRONMENT | {"TMPDIR": str(tmp_path / "temporary")}) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == -signal.SIGPIPE
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("comment", ["-- how many", "--how many", "--how\n--many", "--"])
def test_a_comment_before_a_query_was_an_unknown_option(store: Path, comment: str) -> None:
    ended = run("sql", store, f"{comment}\nSELECT 1 AS n", "--json")
    assert (ended.code, ended.rows) == (0, [{"n": 1}])
    assert "No such option" in run("sql", store, "--no-such", "SELECT 1").err
