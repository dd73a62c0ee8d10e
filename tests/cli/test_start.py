"""The program starts quickly, and says in one line what is wrong."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.command_line import COMMAND, ENVIRONMENT, run, run_apart
from support.golden import unpack
from support.own_stores import STORES
from support.stores import files_of, on_disk

from native_reader.export.manifest import version
from rmqstore.cli.program import COMMANDS, program

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
_LIGHT = """
import sys
from rmqstore.cli import main
sys.argv = ["rmqstore", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0, ended.code
heavy = {"numpy", "pyarrow", "native_reader", "rich", "pyspark", "sqlglot"} & set(sys.modules)
sys.exit(f"imported {sorted(heavy)}" if heavy else 0)
"""
_WITHOUT_CLICK = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "click":
            raise ModuleNotFoundError("No module named 'click'", name="click")
sys.meta_path.insert(0, Missing())
from rmqstore.cli import main
main()
"""
_WITHOUT_TIME_ZONES = """
import sys, zoneinfo
sys.modules["pytz"] = None
zoneinfo.reset_tzpath(to=())
from rmqstore.cli import main
main()
"""


def test_a_host_without_time_zones_has_those_of_a_package(tmp_path: Path) -> None:
    """In an empty container, `doctor` ended with a traceback: pyarrow did not find UTC."""
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    for arguments in (["doctor"], ["cat", "--time-zone", "Asia/Shanghai"]):
        command = [sys.executable, "-c", _WITHOUT_TIME_ZONES, *arguments, str(store)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert ended.returncode == 0, ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_command_that_reads_a_store_does_not_import_pandas(tmp_path: Path) -> None:
    """pyarrow does, with its first array."""
    assert find_spec("pandas")
    store = on_disk(tmp_path, files_of()) / "store"
    code = _LIGHT.partition("heavy =")[0] + 'sys.exit("imported" if "pandas" in sys.modules else 0)'
    ended = subprocess.run([sys.executable, "-c", code, "cat", str(store)], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "body 29" in ended.stdout


def test_a_read_without_anything_to_say_does_not_import_the_sentences(tmp_path: Path) -> None:
    """They are loaded with the first one that is written."""
    store = on_disk(tmp_path, files_of()) / "store"
    code = _LIGHT.partition("heavy =")[0] + 'sys.exit("imported" if "native_reader.sentences.book" in sys.modules else 0)'
    ended = subprocess.run(
        [sys.executable, "-c", code, "cat", str(store), "--json"], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["--help", "--lang=zh"], ["cat", "-h", "--lang=zh"]],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    ended = subprocess.run([sys.executable, "-c", _LIGHT, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


def test_the_version_of_sources_without_metadata_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("--version").code == 0

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    ended = run("--version")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("unknown")
    assert version() == "unknown"


def test_help_names_every_command_and_exit_code() -> None:
    shown = run("--help").out
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert all(f"    {code} " in shown for code in (0, 1, 2, 3, 130))


def test_without_arguments_it_prints_its_help() -> None:
    ended = run()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == run("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    ended = run(name, "--help")
    assert ended.code == 0
    assert f"Usage: rmqstore {name} " in ended.out
    assert f"    rmqstore {name}" in ended.out.partition("Examples:")[2]
    command = program.commands.get(name) or program.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert command.name == name


def test_without_click_one_line_says_what_to_install() -> None:
    ended = subprocess.run([sys.executable, "-c", _WITHOUT_CLICK], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "rmqstore needs the packages click and rich: pip install 'rmqstore-spark[cli]'\n"


def test_completion_lists_commands_and_tables() -> None:
    wanted = {"_RMQSTORE_COMPLETE": "bash_complete", "COMP_WORDS": "rmqstore do", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['rmqstore']; from rmqstore.cli import main; main()"

    def completed(**more: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT | wanted | more
        ).stdout

    assert completed() == "plain,doctor\n"
    assert completed(COMP_WORDS="rmqstore tables /data dam", COMP_CWORD="3") == "plain,damage\nfile,dam\n"
    for shell, start in (("bash", "_rmqstore_completion() {"), ("zsh", "#compdef rmqstore"), ("fish", "function _rmqstore_completion")):
        assert completed(_RMQSTORE_COMPLETE=f"{shell}_source").startswith(start)
        assert f"_RMQSTORE_COMPLETE={shell}_source rmqstore" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["sta"], "No such command 'sta'. Did you mean 'stat'?"),
        (["index", "{store}"], "No such command 'index'. Did you mean 'summarize'?"),
        (["cat"], "Missing argument 'STORE...'"),
        (["stat", "{store}", "--by", "color"], "'color' is not one of"),
        (["cat", "{store}", "--where", "topc = 'a'"], "Did you mean 'topic'?"),
        (["cat", "{store}", "--where", "topic = 'a"], "error: where: "),
        (["cat", "{store}", "--columns", "topc"], "error: column 'topc' does not exist. Did you mean 'topic'?"),
        (["cat", "{store}", "--columns", "status"], "error: column 'status' does not exist. All columns: topic, queue_id, "),
        (["cat", "{store}", "--since", "2026-01-31 12:00:00"], "set --time-zone=Asia/Shanghai"),
        (["cat", "{store}", "--rate", "fast"], "error: --rate='fast' is not a size"),
        (["cat", "{store}", "--rate", "2m", "--jobs", "4"], "--rate is too low for 4 jobs"),
        (["cat", "{store}", "--option", "acess=scan"], "unknown option 'acess'. Did you mean 'access'?"),
        (["cat", "{store}", "--option", "access=fast"], "error: --option access must be one of"),
        (["cat", "{store}", "--option", "access"], "is not of the form name=value"),
        (["cat", "{store}", "-t", "T0", "--option", "topic=T1"], "--option topic and --topic are the same option"),
        (["tail", "{store}", "-n", "x"], "'x' is not a number from 0"),
        (["cat", "{store}", "-n", "-1"], "'-1' is not a number from 0"),
        (["stat", "{store}", "--jobs", "0"], "'0' is not a number from 1 to 1000"),
        (["find", "{store}"], "Nothing to find"),
        (["find"], "Missing argument 'STORE...'"),
        (["find", "{store}", "--offset", "a/b"], "is neither an offset in the log nor TOPIC/QUEUE/OFFSET"),
        (["find", "{store}", "--offset", "T0/0/1", "-t", "T0"], "--offset already sets -t"),
        (["tables", "{store}", "damge"], "'damge' is not a table. Did you mean 'damage'?"),
        (["tables", "{store}"], "The name of a table is missing after the store: rmqstore tables {store} NAME. All tables: messages, "),
        (["tables", "--commitlog", "{store}/commitlog"], "The name of a table is missing. All tables: messages, "),
        (["rescue"], "The folder for the rescued messages is missing: rmqstore rescue STORE FOLDER"),
        (["rescue", "{store}"], "The folder for the rescued messages is missing: rmqstore rescue {store} FOLDER"),
        (["tables", "{store}", "messages"], "Use rmqstore cat for messages"),
        (["tail", "-f", "{store}", "--until", "2026-01-31 12:00:00Z"], "--until is not supported in a stream, which has no end. Omit it"),
        (["tail", "-f", "{store}", "--option", "access=trust"], "access=trust misses new messages"),
    ],
)
def test_wrong_arguments_exit_with_2(store: Path, arguments: list[str], text: str) -> None:
    ended = run(*(each.replace("{store}", str(store)) for each in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert text.replace("{store}", str(store)) in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_exits_with_2_in_every_command(store: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    more = {"find": ["--key", "k"], "tables": ["queues"], "export": ["-o", out], "report": ["-o", out]}
    more |= {
        "rescue": [out],
        "summarize": ["--to", out],
        "repair": [out],
        "lost": ["-o", out],
        "extract": [out, "--topic", "T0"],
        "diff": [store],
        "sql": ["SELECT 1"],
    }
    ended = run(command, store, *more.get(command, []), "--option", "acess=scan")
    assert (ended.code, ended.out) == (2, "")
    assert "unknown option 'acess'. Did you mean 'access'?" in ended.err
    assert not out.exists()


def test_an_unreadable_store_exits_with_3(store: Path, tmp_path: Path) -> None:
    for path, text in ((tmp_path / "nowhere", "does not exist"), (store / "consumequeue", "Did you mean the store")):
        for command in ("ls", "stat", "cat", "tail", "explain", "verify", "doctor"):
            ended = run(command, path)
            assert (ended.code, ended.out) == (3, "")
            assert ended.err.startswith("error: /")
            assert ended.err.count("\n") == 1
            assert text in ended.err


def test_a_fault_of_the_program_is_not_hidden(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("rmqstore.cli.explain.for_people", fail)
    with pytest.raises(ZeroDivisionError):
        run("explain", store)


def test_it_runs_as_a_module(store: Path) -> None:
    ended = run_apart("ls", store, "--stores", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.rows[0]["store"] == store.as_uri()
    assert COMMAND[1:] == ("-m", "rmqstore")
