"""The examples with Spark, as processes of their own, as examples/README.md says."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import pyspark
import pytest
from ports import free_port
from pysparks import streams
from support.documented import ROOT
from support.effort import mostly_long
from support.example_runs import EXAMPLES, PACKAGES, README, by_hour, cells, commands, ended, of_store, of_table

import native_reader as nr

SPARK_HOME = Path(pyspark.__file__).parent
OF_SPARK = {"SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


long = pytest.mark.long


def of_readme(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Its command, as a process of its own."""
    where = OF_SPARK | {"PATH": f"{SPARK_HOME}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"} | variables
    return ended(of_store(commands()[script], folder / "store"), folder, where)


@pytest.mark.gate
@pytest.mark.parametrize("script", mostly_long(["lake.py", "lake_delta.py"], "lake_delta.py"))
def test_a_lake_of_an_unknown_topic_ends_before_spark_starts(script: str, stores: Path) -> None:
    done = ended([sys.executable, f"examples/{script}", "store", "out", "--topic", "Plan"], stores, {"SPARK_HOME": "nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"topic 'Plan' is not in .* Did you mean 'Plain'\?\n", done.stderr)
    assert not (stores / "out").exists()


@pytest.mark.gate
@pytest.mark.parametrize("script", mostly_long(["follow_to_parquet.py", "lake.py", "lake_delta.py"], "lake.py"))
def test_a_file_in_place_of_the_folder_is_refused_before_spark_starts(script: str, stores: Path) -> None:
    (stores / "out").touch()
    done = ended([sys.executable, f"examples/{script}", "store", "out"], stores, {"SPARK_HOME": "nowhere"})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "out is a file. Name a folder\n")


OWN_SPARK = ["dead_letters.py", "run_sql.py", pytest.param("follow_to_parquet.py", marks=streams)]
"""The first way to make a session; that of a stream is in test_spark_process.py."""


@long
@pytest.mark.parametrize("script", OWN_SPARK)
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


INTERRUPTED = [("follow_to_parquet.py", 3), *product(("lake.py", "follow_to_parquet.py"), (0, 7))]
"""The scripts, and seconds after Java has started."""
JAVA_ENDS = re.compile(
    r"java\.lang\.IllegalStateException: Shutdown hooks cannot be modified during shutdown\."
    r'|Exception in thread "stream execution thread .*\n(?:\tat .*\n)+'
    r"Caused by: org\.apache\.spark\.rpc\.RpcEnvStoppedException: RpcEnv already stopped\.\n(?:\t.*\n)+"
)
"""What Spark says if Java ends just when its context is made, or when a query ends with it."""


@long
@pytest.mark.parametrize(("script", "seconds"), INTERRUPTED)
def test_an_interrupt_while_spark_starts_is_one_line(script: str, seconds: int, stores: Path) -> None:
    process = started(script, stores)
    until_java_runs(process)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    printed = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert printed.count("stopped; the same command continues\n") == 1
    assert "Traceback" not in printed
    assert "Exception" not in JAVA_ENDS.sub("", printed)


@long
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


@long
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


@long
def test_spark_submit_ends_with_the_exit_code_of_the_script(stores: Path) -> None:
    """It writes what the script says about errors to standard output."""
    submit = [f"{SPARK_HOME}/bin/spark-submit", "examples/topics_by_hour.py"]
    none = ended(submit, stores, OF_SPARK)
    assert (none.returncode, none.stdout) == (2, "topics_by_hour.py (see --help): error: the following arguments are required: store\n")
    wrong = ended([*submit, "stor"], stores, OF_SPARK)
    assert wrong.returncode == 2
    assert wrong.stdout.splitlines()[-1] == f"{(stores / 'stor').as_uri()} does not exist. Did you mean 'store'?"


@long
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


@long
def test_a_client_reads_through_spark_connect(server: str, stores: Path) -> None:
    command = [server if word.startswith("sc://") else word for word in of_store(commands()["connect.py"], stores / "store")]
    done = ended([*command, "--rows", "3"], stores)
    assert done.returncode == 0, done.stderr
    columns = "store_timestamp,queue_id,queue_offset"
    messages = nr.open(stores / "store").messages(topic="Plain", columns=columns).to_table().to_pylist()
    messages.sort(key=lambda row: (-row["store_timestamp"].timestamp(), row["queue_id"], -row["queue_offset"]))
    assert [row[1:3] for row in cells(done.stdout)[1:]] == [[str(row["queue_id"]), str(row["queue_offset"])] for row in messages[:3]]


@long
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
