"""The examples with Spark run as examples/README.md says."""

from __future__ import annotations

import gc
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest
from ports import free_port
from pyspark.sql import SparkSession
from pysparks import streams
from support.documented import ROOT
from support.example_runs import EXAMPLES, PACKAGES, README, cells, commands, ended, of_store
from support.golden import Golden
from support.recipes import broker_stores

import native_reader as nr

SPARK_HOME = Path(pyspark.__file__).parent
WITH_SPARK: dict[str, list[str]] = {
    "dead_letters.py": [],
    "follow_to_parquet.py": ["out"],
    "lake.py": ["out"],
    "run_sql.py": [],
    "topics_by_hour.py": [],
}
"""The scripts that start a Spark, and their arguments after the store."""
OF_SPARK = {"SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture
def stores(own_store: Callable[[str], Golden], tmp_path: Path) -> Path:
    """A folder with `store`, written by a real broker, and `damaged`, a copy with a page of zeros."""
    broker_stores(own_store("5.5.0-kinds"), tmp_path)
    return tmp_path


def of_readme(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Its command, as a process of its own."""
    where = OF_SPARK | {"PATH": f"{SPARK_HOME}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"} | variables
    return ended(of_store(commands()[script], folder / "store"), folder, where)


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Ended]]:
    """Runs a script in this process, with the session of the tests."""

    def run(script: str, *arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        capsys.readouterr()
        code: object = 0
        try:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        except SystemExit as ended:
            code = ended.code
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()  # what a script leaves open ends with its process
        assert isinstance(code, int)
        return Ended(code, *capsys.readouterr())

    streams = spark._jsparkSession.streams()
    before = list(streams.listListeners())
    yield run
    spark.sparkContext.setLogLevel("ERROR")
    for listener in streams.listListeners():
        if listener not in before:
            streams.removeListener(listener)


@pytest.mark.parametrize("script", [pytest.param(each, marks=streams) if "out" in more else each for each, more in WITH_SPARK.items()])
def test_a_wrong_path_or_no_argument_is_one_line_with_spark(script: str, run: Callable[..., Ended], stores: Path) -> None:
    more = [name if name.startswith("--") else stores / name for name in WITH_SPARK[script]]
    wrong = run(script, stores / "stor", *more)
    assert wrong == (2, "", f"{(stores / 'stor').as_uri()} does not exist. Did you mean 'store'?\n")
    none = run(script)
    assert (none.code, none.out) == (2, "")
    assert re.fullmatch(rf"{script} \(see --help\): error: the following arguments are required: store.*\n", none.err)


@pytest.mark.parametrize(
    "script", ["dead_letters.py", *(pytest.param(each, marks=streams) for each in ("follow_to_parquet.py", "lake.py")), "topics_by_hour.py"]
)
def test_damage_is_one_line_with_spark(script: str, run: Callable[..., Ended], stores: Path) -> None:
    more = {"follow_to_parquet.py": [stores / "out", "--all", "--until-now"], "lake.py": [stores / "out", "--until-now"]}
    failed = run(script, stores / "damaged", *more.get(script, []))
    table = f"starting Spark\nIceberg table rocketmq.messages of the catalog sqlite:///{stores}/out/catalog.db: 0 messages\n"
    assert (failed.code, failed.out) == (2, table if script == "lake.py" else "")
    assert re.fullmatch(r"file://.*/damaged/commitlog/\d{20} at offset [\d,]+ .*found zeros.*mode=DROPMALFORMED.*\n", failed.err)


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


@streams
def test_a_lake_of_one_topic(run: Callable[..., Ended], stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run("lake.py", stores / "store", stores / "out", "--topic", "Plain", "--until-now")
    assert (done.code, done.out.splitlines()[-1]) == (0, "43 messages in rocketmq.messages, 43 of them new")
    compare(stores, "Plain")
    assert capsys.readouterr().out == "True\n"


@pytest.mark.parametrize("script", ["lake.py", "lake_delta.py"])
def test_a_lake_of_an_unknown_topic_ends_before_spark_starts(script: str, stores: Path) -> None:
    done = ended([sys.executable, f"examples/{script}", "store", "out", "--topic", "Plan"], stores, {"SPARK_HOME": "nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"topic 'Plan' is not in .* Did you mean 'Plain'\?\n", done.stderr)
    assert not (stores / "out").exists()


@pytest.mark.parametrize("script", ["follow_to_parquet.py", "lake.py", "lake_delta.py"])
def test_a_file_in_place_of_the_folder_is_refused_before_spark_starts(script: str, stores: Path) -> None:
    (stores / "out").touch()
    done = ended([sys.executable, f"examples/{script}", "store", "out"], stores, {"SPARK_HOME": "nowhere"})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "out is a file. Name a folder\n")


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


def by_hour(store: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Messages and bytes by hour and topic, from the engine."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    columns = "topic,record_size,inner_index,store_timestamp"
    for row in nr.open(store).messages(columns=columns).to_table().to_pylist():
        key = f"{row['store_timestamp']:%Y-%m-%d %H:00:00}", row["topic"]
        messages, size = sums.get(key, (0, 0))
        sums[key] = messages + 1, size + (0 if row["inner_index"] else row["record_size"])
    return sums


def of_table(printed: str) -> dict[tuple[str, str], tuple[int, int]]:
    return {(hour, topic): (int(messages), int(size)) for hour, topic, messages, size in cells(printed)[1:]}


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


# As processes of their own


@pytest.mark.gate
@pytest.mark.parametrize("script", ["dead_letters.py", "run_sql.py", pytest.param("follow_to_parquet.py", marks=streams)])
def test_a_script_starts_its_own_spark(script: str, stores: Path) -> None:
    done = of_readme(script, stores)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    result = {"dead_letters.py": "2 messages in dead-letters", "follow_to_parquet.py": "43 messages in out/messages"}
    assert result.get(script, "|CG_new ") in done.stdout


def started(script: str, folder: Path) -> subprocess.Popen[str]:
    """The script, in a process group of its own. Java has its output too, so the output ends when Java has ended."""
    where = os.environ | OF_SPARK | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, str(EXAMPLES / script), "store", "out"]
    output = subprocess.PIPE
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored, and so in the script
    return subprocess.Popen(command, cwd=folder, env=where, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def until_java_runs(script: subprocess.Popen[str]) -> None:
    """Until then Python imports, and then forks: there, an interrupt prints Python's own traceback."""
    assert script.stdout
    while not (line := script.stdout.readline()).startswith("NOTE: Picked up JDK_JAVA_OPTIONS"):
        assert line, "the script ended"


@pytest.mark.gate
@pytest.mark.parametrize("seconds", [0, 3, 7])
@pytest.mark.parametrize("script", ["lake.py", "follow_to_parquet.py"])
def test_an_interrupt_while_spark_starts_is_one_line(script: str, seconds: int, stores: Path) -> None:
    process = started(script, stores)
    until_java_runs(process)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    printed = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert printed.count("stopped; the same command continues\n") == 1
    assert "Traceback" not in printed
    assert "Exception" not in printed


@pytest.mark.gate
@streams
def test_a_lake_says_once_that_it_is_up_to_date(stores: Path) -> None:
    for has_batch in (True, False):
        process = started("lake.py", stores)
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("up to date; "):
                break
        time.sleep(12)  # a trigger that finds nothing
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "stopped; the same command continues\n"
        assert lines[-1] == "up to date; waiting for new messages (Ctrl-C stops)\n"
        assert any(line.startswith("batch 0: ") for line in lines) == has_batch


@pytest.mark.gate
def test_spark_submit_takes_the_package_from_the_zip(stores: Path) -> None:
    """Another package of these names comes first on the PYTHONPATH, and cannot be imported: only the zip can."""
    (zipped,) = re.findall(r"^(python -m zipfile .*)$", README, re.MULTILINE)
    assert zipped in (EXAMPLES / "topics_by_hour.py").read_text(encoding="utf-8")
    for name in PACKAGES:
        (stores / name).symlink_to(ROOT / name)
        other = stores / "other" / name / "__init__.py"
        other.parent.mkdir(parents=True)
        other.write_text("raise ImportError('this is not the package of the zip')\n")
    assert ended(zipped.split(), stores).returncode == 0
    for name in PACKAGES:
        (stores / name).unlink()
    done = of_readme("topics_by_hour.py", stores, PYTHONPATH=str(stores / "other"))
    assert done.returncode == 0, done.stderr
    assert of_table(done.stdout) == by_hour(stores / "store")
    (stores / "rmqstore_spark.zip").write_bytes(b"PK\x05\x06" + bytes(18))  # an empty zip
    without = of_readme("topics_by_hour.py", stores, PYTHONPATH=str(stores / "other"))
    assert without.returncode == 1
    assert "this is not the package of the zip" in without.stdout


@pytest.mark.gate
def test_spark_submit_ends_with_the_exit_code_of_the_script(stores: Path) -> None:
    """It writes what the script says about errors to standard output."""
    submit = [f"{SPARK_HOME}/bin/spark-submit", "examples/topics_by_hour.py"]
    none = ended(submit, stores, OF_SPARK)
    assert (none.returncode, none.stdout) == (2, "topics_by_hour.py (see --help): error: the following arguments are required: store\n")
    wrong = ended([*submit, "stor"], stores, OF_SPARK)
    assert wrong.returncode == 2
    assert wrong.stdout.splitlines()[-1] == f"{(stores / 'stor').as_uri()} does not exist. Did you mean 'store'?"


@pytest.mark.gate
def test_spark_sql_runs_the_file(stores: Path) -> None:
    done = of_readme("lag.sql", stores)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("CG_")]
    lags = nr.open(stores / "store").groups(where="lag > 0", columns="lag").to_table()["lag"].to_pylist()
    assert sum(int(row[3]) for row in rows) == sum(lags) > 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server, started as examples/README.md says."""
    (start,) = re.findall(r"^PYSPARK_PYTHON=.*?(\S*sbin/start-connect-server\.sh)$", README, re.MULTILINE)
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {"spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1", "spark.ui.enabled": "false"}
    command = f"exec {start} --master 'local[2]' " + " ".join(f"--conf {name}={value}" for name, value in settings.items())
    where = os.environ | OF_SPARK | {"PYTHONPATH": str(ROOT), "SPARK_NO_DAEMONIZE": "1"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=where, stdout=log, stderr=log, start_new_session=True)
    try:
        patience = time.monotonic() + 120
        while True:
            assert process.poll() is None, (folder / "server.log").read_text()
            assert time.monotonic() < patience, (folder / "server.log").read_text()
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def connected(server: str, folder: Path, store: str, topic: str = "Plain") -> subprocess.CompletedProcess[str]:
    return ended([sys.executable, "examples/connect.py", store, topic, "--remote", server, "--rows", "3"], folder)


@pytest.mark.gate
def test_a_client_reads_through_spark_connect(server: str, stores: Path) -> None:
    command = [server if word.startswith("sc://") else word for word in of_store(commands()["connect.py"], stores / "store")]
    done = ended([*command, "--rows", "3"], stores)
    assert done.returncode == 0, done.stderr
    columns = "store_timestamp,queue_id,queue_offset"
    messages = nr.open(stores / "store").messages(topic="Plain", columns=columns).to_table().to_pylist()
    messages.sort(key=lambda row: (-row["store_timestamp"].timestamp(), row["queue_id"], -row["queue_offset"]))
    assert [row[1:3] for row in cells(done.stdout)[1:]] == [[str(row["queue_id"]), str(row["queue_offset"])] for row in messages[:3]]


@pytest.mark.gate
def test_a_client_of_spark_connect_prints_errors_in_one_line(server: str, stores: Path) -> None:
    for store, expected in (
        ("stor", rf"{(stores / 'stor').as_uri()} does not exist\. Did you mean 'store'\?"),
        ("damaged", r"file://.*/damaged/commitlog/\d{20} at offset [\d,]+ .*found zeros.*mode=DROPMALFORMED.*"),
    ):
        failed = connected(server, stores, str(stores / store))
        assert (failed.returncode, failed.stdout) == (2, "")
        assert re.fullmatch(expected, without_warnings(failed.stderr)), failed.stderr


def test_a_client_of_spark_connect_without_a_server_or_arguments(stores: Path) -> None:
    for remote, expected in (
        (f"sc://127.0.0.1:{free_port()}", r"no Spark Connect server at sc://.*: .*Connection refused"),
        ("sc://127.0.0.1:x", r"no Spark Connect server at sc://127.0.0.1:x: .*"),
    ):
        failed = connected(remote, stores, "store")
        assert (failed.returncode, failed.stdout) == (2, "")
        assert re.fullmatch(expected, without_warnings(failed.stderr)), failed.stderr
    none = ended([sys.executable, "examples/connect.py"], stores)
    assert (none.returncode, none.stdout) == (2, "")
    assert without_warnings(none.stderr) == "connect.py (see --help): error: the following arguments are required: store, topic"


def without_warnings(printed: str) -> str:
    """Without what PySpark says about pandas 3, of which each warning is two lines."""
    return re.sub(r"^\S+: FutureWarning: PySpark .*\n.*\n", "", printed, flags=re.MULTILINE).strip()
