"""The examples with Spark, in the session of the tests. test_spark_example_runs.py runs them as processes."""

from __future__ import annotations

import gc
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession
from pysparks import streams
from support.documented import ROOT
from support.example_runs import by_hour, called, cells, of_table

import native_reader as nr

WITH_SPARK: dict[str, list[str]] = {
    "dead_letters.py": [],
    "follow_to_parquet.py": ["out"],
    "lake.py": ["out"],
    "run_sql.py": [],
    "topics_by_hour.py": [],
}
"""The scripts that start a Spark, and their arguments after the store."""


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(spark: SparkSession) -> Iterator[Callable[..., Ended]]:
    """Runs a script in this process, with the session of the tests."""

    def run(script: str, *arguments: object) -> Ended:
        ended = called(script, Path.cwd(), *map(str, arguments))
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()  # what a script leaves open ends with its process
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    streams = spark._jsparkSession.streams()
    before = list(streams.listListeners())
    yield run
    spark.sparkContext.setLogLevel("ERROR")
    for listener in streams.listListeners():
        if listener not in before:
            streams.removeListener(listener)


@pytest.mark.gate
@pytest.mark.parametrize("script", [pytest.param(each, marks=streams) if "out" in more else each for each, more in WITH_SPARK.items()])
def test_a_wrong_path_or_no_argument_is_one_line_with_spark(script: str, run: Callable[..., Ended], stores: Path) -> None:
    more = [name if name.startswith("--") else stores / name for name in WITH_SPARK[script]]
    wrong = run(script, stores / "stor", *more)
    assert wrong == (2, "", f"{(stores / 'stor').as_uri()} does not exist. Did you mean 'store'?\n")
    none = run(script)
    assert (none.code, none.out) == (2, "")
    assert re.fullmatch(rf"{script} \(see --help\): error: the following arguments are required: store.*\n", none.err)


@pytest.mark.parametrize(
    "script", ["dead_letters.py", *(pytest.param(each, marks=[streams, pytest.mark.long]) for each in ("follow_to_parquet.py", "lake.py"))]
)
def test_damage_is_one_line_with_spark(script: str, run: Callable[..., Ended], stores: Path) -> None:
    more = {"follow_to_parquet.py": [stores / "out", "--all", "--until-now"], "lake.py": [stores / "out", "--until-now"]}
    failed = run(script, stores / "damaged", *more.get(script, []))
    table = f"starting Spark\nIceberg table rocketmq.messages of the catalog sqlite:///{stores}/out/catalog.db: 0 messages\n"
    assert (failed.code, failed.out) == (2, table if script == "lake.py" else "")
    assert re.fullmatch(r"file://.*/damaged/commitlog/\d{20} at offset [\d,]+ .*found zeros.*mode=DROPMALFORMED.*\n", failed.err)


@pytest.mark.gate
@streams
def test_a_lake_has_each_message_once_and_says_so(run: Callable[..., Ended], stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = nr.open(stores / "store").messages().count_rows()
    table = f"starting Spark\nIceberg table rocketmq.messages of the catalog sqlite:///{stores}/out/catalog.db"
    for before, batches in ((0, f"batch 0: {count} messages\n"), (count, "")):
        done = run("lake.py", stores / "store", stores / "out", "--until-now")
        last = f"{count} messages in rocketmq.messages, {count - before} of them new\n"
        assert (done.code, done.out) == (0, f"{table}: {before} messages\n{batches}{last}")
    compare(stores)
    assert capsys.readouterr().out == "True\n"


def compare(stores: Path, topic: str = "") -> None:
    """Run the comparison of docs/lake.md; for one topic, with what the page says about it."""
    page = (ROOT / "docs/lake.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from pyiceberg.*?)```", page, re.DOTALL)
    if topic:
        (call,) = re.findall(r"write `(messages\(topic=.*?\))`", page)
        code = code.replace("messages(columns=queue)", call.replace("payments", topic))
    exec(code.replace("/data/store", str(stores / "store")).replace("/lake", str(stores / "out")), {})


@pytest.mark.long
@streams
def test_a_lake_of_one_topic(run: Callable[..., Ended], stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run("lake.py", stores / "store", stores / "out", "--topic", "Plain", "--until-now")
    assert (done.code, done.out.splitlines()[-1]) == (0, "43 messages in rocketmq.messages, 43 of them new")
    compare(stores, "Plain")
    assert capsys.readouterr().out == "True\n"


@pytest.mark.parametrize(
    "which",
    [
        ("lake.py", "pyiceberg.catalog.sql", "pip install 'pyiceberg[pyarrow,sql-sqlite]'"),
        ("lake_delta.py", "delta", "pip install pyspark==4.2.0 delta-spark==4.4.0"),
    ],
)
def test_a_lake_without_its_library(
    which: tuple[str, str, str], run: Callable[..., Ended], stores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, module, install = which
    monkeypatch.setitem(sys.modules, module, None)
    done = run(script, stores / "store", stores / "out")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f". Run: {install}\n")
    assert done.err.count("\n") == 1
    assert not (stores / "out").exists()


def test_dead_letters_are_counted_and_saved(run: Callable[..., Ended], stores: Path, spark: SparkSession) -> None:
    done = run("dead_letters.py", stores / "store", stores / "saved")
    assert (done.code, done.err) == (0, "")
    columns = "topic,origin_topic,msg_id,store_timestamp"
    letters = nr.open(stores / "store").messages(where="kind = 'dlq'", columns=columns).to_table().to_pylist()
    first, last = (f"{each(row['store_timestamp'] for row in letters):%Y-%m-%d %H:%M:%S.%f}"[:-3].rstrip("0") for each in (min, max))
    assert cells(done.out)[1:] == [["CG_fails", "Fails", "2", first, last]]
    assert done.out.endswith(f"2 messages in {stores / 'saved'}\n")
    assert {row["msg_id"] for row in spark.read.parquet(str(stores / "saved")).collect()} == {row["msg_id"] for row in letters}
    again = run("dead_letters.py", stores / "store", stores / "saved")
    assert again.code == 2
    assert again.err.startswith("[PATH_ALREADY_EXISTS] ")
    assert again.err.count("\n") == 1


def test_topics_by_hour_are_those_of_the_engine(run: Callable[..., Ended], stores: Path) -> None:
    done = run("topics_by_hour.py", stores / "store")
    assert (done.code, done.err) == (0, "")
    assert of_table(done.out) == by_hour(stores / "store") != {}
    later = run("topics_by_hour.py", stores / "store", "--since", "2099-01-01T00:00:00Z")
    assert (later.code, cells(later.out)[1:]) == (0, [])
    bad = run("topics_by_hour.py", stores / "store", "--since", "2099-01-01")
    assert (bad.code, bad.out) == (2, "")
    assert bad.err.startswith("startingTimestamp='2099-01-01' has no time zone. ")


def test_sql_alone_shows_the_lag(run: Callable[..., Ended], stores: Path) -> None:
    lags = nr.open(stores / "store").groups(where="lag > 0", columns="group,topic,queue_id,committed,lag").to_table().to_pylist()
    done = run("run_sql.py", stores / "store")
    assert (done.code, done.err) == (0, "")
    rows = cells(done.out)[1:]
    sums = {(group, topic): int(lag) for group, topic, _, lag, _ in rows}
    expected: dict[tuple[str, str], int] = {}
    for row in lags:
        expected[row["group"], row["topic"]] = expected.get((row["group"], row["topic"]), 0) + row["lag"]
    assert sums == expected != {}
    for group, topic, _, _, oldest in rows:
        waits = [row for row in lags if (row["group"], row["topic"]) == (group, topic)]
        where = " OR ".join(f"(queue_id = {row['queue_id']} AND queue_offset = {row['committed']})" for row in waits)
        times = nr.open(stores / "store").messages(topic=topic, where=where).to_table()["store_timestamp"].to_pylist()
        assert f"{min(times):%Y-%m-%d %H:%M:%S.%f}".startswith(oldest)


def test_sql_of_a_file_that_is_missing_or_wrong(run: Callable[..., Ended], stores: Path) -> None:
    missing = run("run_sql.py", stores / "store", stores / "no.sql")
    assert missing == (2, "", f"{stores / 'no.sql'}: No such file or directory\n")
    (stores / "wrong.sql").write_text("SELECT 1 AS one;\nSELEC 2;\n")
    wrong = run("run_sql.py", stores / "store", stores / "wrong.sql")
    assert (wrong.code, cells(wrong.out)) == (2, [["one"], ["1"]])
    assert wrong.err.startswith("[PARSE_SYNTAX_ERROR] ")
    assert wrong.err.count("\n") == 1
