"""The examples without Spark run as examples/README.md says. tests/spark/test_spark_example{s,_runs}.py have the others."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.documented import ROOT
from support.example_runs import EXAMPLES, called, commands, ended, of_store
from support.golden import Golden
from support.recipes import broker_stores
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

PLAIN = {"replay_check.py": ["orders"], "rescue.py": [], "topic_to_parquet.py": ["orders", "file"], "what_fills_the_disk.py": []}
"""The scripts without Spark, and their arguments after the store."""
LONGEST = 81


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "store"
    write_store(folder, StoreSpec(bytes=2 << 20, queues=False, index=False))
    return folder


def of_readme(script: str, store: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return ended(of_store(commands()[script], store), folder)


# All of them


def test_every_file_is_in_the_table_and_in_a_test() -> None:
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
    assert files == commands().keys()
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in files if name not in tests] == []


@pytest.mark.parametrize("script", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_a_script_says_what_it_does_and_how_it_is_called(script: str) -> None:
    text = (EXAMPLES / script).read_text(encoding="utf-8")
    docstring = re.match(r'"""([^\n]*\.)\n\nUsage: (.*?)\n', text)
    assert docstring
    assert f"examples/{script}" in docstring[2]
    assert len(text.splitlines()) <= LONGEST or script == "demo.py"  # that one is for `make demo`


# Those without Spark


@pytest.mark.parametrize("script", PLAIN)
def test_a_wrong_path_or_no_argument_is_one_line(script: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    wrong = called(script, tmp_path, "stor", *PLAIN[script])
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == f"{(tmp_path / 'stor').as_uri()} does not exist. Did you mean 'store'?\n"
    none = called(script, tmp_path)
    assert (none.returncode, none.stdout) == (2, "")
    assert re.fullmatch(rf"{script} \(see --help\): error: the following arguments are required: store.*\n", none.stderr)


@pytest.mark.parametrize("script", PLAIN)
def test_help_is_the_docstring(script: str, tmp_path: Path) -> None:
    helped = called(script, tmp_path, "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    docstring = (EXAMPLES / script).read_text(encoding="utf-8").split('"""')[1]
    assert helped.stdout.startswith(docstring)


def test_the_parts_of_disk_usage_add_up(path: Path) -> None:
    by_topic = runpy.run_path(str(EXAMPLES / "what_fills_the_disk.py"))["by_topic"](str(path))
    run = nr.open(path).messages(columns="kind").run()
    kinds = {kind for batch in run for kind in batch["kind"].to_pylist()}
    assert "batch" in kinds
    assert sum(by_topic["bytes_sum"].to_pylist()) == sum(segment.record_bytes for segment in run.report.segments)
    assert sum(by_topic["topic_count"].to_pylist()) == run.report.rows
    assert set(by_topic["kind"].to_pylist()) == kinds


def test_disk_usage_is_printed_as_a_table(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    printed = of_readme("what_fills_the_disk.py", own_store("5.5.0-kinds").root, tmp_path)
    assert (printed.returncode, printed.stderr) == (0, "")
    head, *rows, last = printed.stdout.splitlines()
    assert head.split() == ["bytes", "share", "messages", "first", "last", "kind", "topic"]
    assert {line.split()[-1] for line in rows} >= {"Plain", "Fails", "%DLQ%CG_fails"}
    total = sum(int(line.split()[0].replace(",", "")) for line in rows)
    assert last.strip().startswith(f"{total:,} bytes of records in {len(rows)} topics and kinds")
    assert len({line.rindex(line.split()[-1]) for line in rows}) == 1  # aligned


@pytest.mark.gate
@pytest.mark.parametrize("script", ["what_fills_the_disk.py", "topic_to_parquet.py"])
def test_damage_is_an_error_of_one_line(script: str, own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    broker_stores(own_store("5.5.0-kinds"), tmp_path)
    failed = of_readme(script, tmp_path / "damaged", tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert re.fullmatch(r"file://.*/damaged/commitlog/\d{20} at offset [\d,]+ .*found zeros.*mode=DROPMALFORMED.*\n", failed.stderr)


def test_a_topic_becomes_a_parquet_file(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = own_store("5.5.0-kinds").root
    done = of_readme("topic_to_parquet.py", store, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found, expected = pq.read_table(tmp_path / "orders.parquet"), nr.open(store).messages(topic="Plain").to_table()
    assert found.equals(expected)
    assert done.stdout == f"{len(expected):,} messages of 'Plain' in orders.parquet\n"


def test_a_rescue_saves_what_is_readable(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    """tests/docs/test_docs.py: on a store with several kinds of damage, it prints what docs/recovery.md shows."""
    broker_stores(own_store("5.5.0-kinds"), tmp_path)
    done = of_readme("rescue.py", tmp_path / "damaged", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    readable = nr.open(tmp_path / "damaged").messages(mode="DROPMALFORMED", fail_on_data_loss=False, verify_crc=True).count_rows()
    assert 0 < readable < nr.open(tmp_path / "store").messages().count_rows()
    assert pq.read_metadata(tmp_path / "rescued.parquet").num_rows == readable
    assert done.stdout.endswith(f"readable, and now in rescued.parquet: {readable} messages\n")


# The check before a replay


def test_a_replay_check_counts_what_a_group_gets_again(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    """The group has read 3 of 13 messages of queue 0, and nothing of the others."""
    done = of_readme("replay_check.py", own_store("5.5.0-kinds").root, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "    queue    twice    first      end   stored  missing    again      new  missing offsets\n"
        "        0        0        0       13       13        0        3       10  \n"
        "        1        0        0       10       10        0        0       10  \n"
        "        2        0        0       10       10        0        0       10  \n"
        "        3        0        0       10       10        0        0       10  \n"
        "43 messages of 'Plain' are stored, 0 are missing, 0 are there twice\n"
        "after a reset, 'CG_lags' gets up to 3 messages again, and up to 40 others\n"
    )


def replay_check(folder: Path, *arguments: str) -> tuple[int, list[list[str]], str]:
    """Its exit code, the cells of its table, and its standard error."""
    done = called("replay_check.py", folder, *arguments)
    return done.returncode, [line.split() for line in done.stdout.splitlines() if line.startswith("  ")][1:], done.stderr


def test_a_replay_check_begins_at_the_first_message_since_a_time(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    (tmp_path / "store").symlink_to(own_store("5.5.0-kinds").root)
    of_queue = (
        nr.open(tmp_path / "store").messages(topic="Plain", queue_id=0, columns="queue_offset,store_timestamp").to_table().to_pylist()
    )
    since, until = (of_queue[at]["store_timestamp"].isoformat() for at in (5, 9))
    code, rows, _ = replay_check(tmp_path, "store", "Plain", "--since", since, "--until", until)
    window = [row for row in of_queue if since <= row["store_timestamp"].isoformat() < until]
    assert code == 0
    assert rows[0] == ["0", "0", str(window[0]["queue_offset"]), str(window[-1]["queue_offset"] + 1), str(len(window)), "0"]


def test_a_replay_check_names_the_offsets_that_are_missing(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    broker_stores(own_store("5.5.0-kinds"), tmp_path)
    columns = "queue_id,queue_offset"
    whole, left = (
        nr.open(tmp_path / name).messages(topic="Plain", columns=columns, mode="DROPMALFORMED").to_table().to_pylist()
        for name in ("store", "damaged")
    )
    gone = [(row["queue_id"], row["queue_offset"]) for row in whole if row not in left]
    apart = ended([sys.executable, "examples/replay_check.py", "damaged", "Plain"], tmp_path)
    code, rows, _ = replay_check(tmp_path, "damaged", "Plain")
    assert code == apart.returncode == 1
    named = [(int(row[0]), offset) for row in rows for part in " ".join(row[6:]).split(", ") if part for offset in between(part)]
    assert sorted(gone) == named != []
    assert sum(int(row[5]) for row in rows) == len(gone)
    assert "damaged bytes" in apart.stderr
    queue, offset = gone[0]
    asked = ("--offsets", str(queue), str(offset), str(offset + 1))
    assert replay_check(tmp_path, "damaged", "Plain", *asked)[:2] == (1, [[str(queue), "0", *asked[2:], "0", "1", str(offset)]])
    assert replay_check(tmp_path, "store", "Plain", *asked)[:2] == (0, [[str(queue), "0", *asked[2:], "1", "0"]])


def between(part: str) -> range:
    """The offsets of 3-5 or 9."""
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def test_a_replay_check_finds_a_message_that_was_sent_again_to_another_queue(tmp_path: Path) -> None:
    again = message(0, queue_id=1)
    on_disk(tmp_path, files_of(log_of([message(0), message(3, queue_offset=1), again])))
    code, rows, _ = replay_check(tmp_path, "store", "T0")
    assert (code, rows) == (1, [["0", "0", "0", "2", "2", "0"], ["1", "1", "0", "1", "1", "0"]])


def test_a_replay_check_ignores_messages_that_no_queue_has(tmp_path: Path) -> None:
    """Brokers 4.0 to 4.2 store a prepared message in the topic itself, with queue offset 0."""
    prepared = message(0, sys_flag=4)
    on_disk(tmp_path, files_of(log_of([prepared, message(0), message(3, queue_offset=1)])))
    assert replay_check(tmp_path, "store", "T0")[:2] == (0, [["0", "0", "0", "2", "2", "0"]])


def test_a_replay_check_of_an_unknown_group_or_topic(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    (tmp_path / "store").symlink_to(own_store("5.5.0-kinds").root)
    code, rows, error = replay_check(tmp_path, "store", "Plain", "--group", "CG_lag")
    assert (code, rows) == (2, [])
    assert error == "group 'CG_lag' has no offset for 'Plain'. Groups that have one: CG_done, CG_lags, CG_new\n"
    apart = ended([sys.executable, "examples/replay_check.py", "store", "Plan"], tmp_path)
    assert apart.returncode == 1
    assert "Did you mean 'Plain'?" in apart.stderr
    code, rows, error = replay_check(tmp_path, "store", "Plain", "--since", "yesterday")
    assert (code, rows) == (2, [])
    assert error.startswith("starting_timestamp='yesterday' is not a time. Examples: ")
