"""The output in the READMEs is the real output."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import run
from support.effort import mostly_gate

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize("name", mostly_gate(["README.md", "docs/filters.md"], "README.md"))
def test_the_example_prints_the_documented_output(name: str, tmp_path: Path) -> None:
    text = (HERE / name).read_text()
    command, code, output = re.search(
        r"```bash\npython (-m native.*?)\n```.*?```python\n(.*?)```.*?```text\n(.*?)```", text, re.DOTALL
    ).groups()
    subprocess.run([sys.executable, *command.partition("#")[0].split()], cwd=tmp_path, check=True, capture_output=True)
    printed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert alike(printed.replace(str(tmp_path), "/…")) == alike(output)


def commands_of(readme: str) -> list[str]:
    """The commands in its tables."""
    rows = [line for line in (HERE / readme).read_text().splitlines() if line.startswith("|")]
    return [command for row in rows for command in re.findall(r"`rmqstore (.*?)`", row)]


def test_both_readmes_have_the_same_commands() -> None:
    assert commands_of("README.md") == commands_of("README.zh.md")


def test_every_command_of_the_first_table_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a store with a deleted topic `orders` and the key of one message."""
    write_store(tmp_path / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 19, deleted="orders", rare=0))
    keyed = nr.open(tmp_path / "store").messages(topic="orders", columns="keys").to_table().to_pylist()
    key = next(row["keys"][0] for row in keyed if row["keys"])
    monkeypatch.chdir(tmp_path)
    commands = commands_of("README.md")
    assert len(commands) == 12
    for command in commands:
        ended = run(
            *shlex.split(
                command.replace("/data/store", "store")
                .replace("/backup/store", "store")
                .replace("/data/new", "new")
                .replace("ORDER-1", key)
            )
        )
        assert ended.code == 0, (command, ended.err)
        assert key in ended.out or "--key" not in command
    assert nr.open(tmp_path / "store").messages(topic="orders").count_rows() > 0
    for made in ("new/repair.md", "only-payments/extract.md", "saved/rescue.md", "out/*.parquet", "page.html"):
        assert list(tmp_path.glob(made)), made


def alike(text: str) -> str:
    """Without the name of the kernel, which runs only where it was built."""
    return re.sub(r"^ kernel: .*", " kernel: …", text, flags=re.MULTILINE)
