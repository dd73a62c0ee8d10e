"""Every code block of the documents is executed: here those of pages without Spark. tests/spark/test_spark_blocks.py has the others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.blocks import Block, Places, Walk, blocks_of, documents, kept, leaves_out, pages
from support.command_line import run
from support.documented import NOT_RUN, ROOT, write_stores
from support.effort import mostly_gate, mostly_long
from support.left_out import LEFT_OUT, LeftOut
from support.walked import home, new_store

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from rmqstore.cli.program import COMMANDS


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_store(tmp_path_factory.mktemp("blocks") / "store")


AT_NIGHT = ("docs/install.md", "docs/install.zh.md", "docs/recipes.md")
"""Pages with little that the gate does not have elsewhere: an installed wheel, and the recipes."""
BY_DAY = [page for page in pages(with_spark=False) if page not in AT_NIGHT]


@pytest.mark.parametrize("page", [*mostly_gate(BY_DAY, "docs/export.md"), *mostly_long(AT_NIGHT)])
def test_every_block_is_executed(page: str, store: Path, tmp_path: Path) -> None:
    here = home(page, store, tmp_path)
    Walk(Places(here)).go(kept(blocks_of(page)))
    if page == "docs/export.md":
        compare_tree(here / "orders-2026")


def compare_tree(folder: Path) -> None:
    """The folder of an export is as docs/export.md shows it, with the days of this store."""
    (shown,) = (block.code for block in blocks_of("docs/export.md") if block.code.startswith("orders-2026/"))
    documented = {re.sub(r"\d+", "N", name) for name in re.findall(r"^  (\S+)", shown, re.MULTILINE)}
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert {re.sub(r"\d+", "N", name.as_posix()) if name.parts[0] != "_parts" else "_parts/" for name in found} == documented


# Commands in tables, and of tables


def commands_in_tables(page: str) -> list[str]:
    rows = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [command for row in rows for command in re.findall(r"`rmqstore ([^`]*)`", row)]


def test_every_command_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a store with a deleted topic `orders` and the key of one message."""
    write_store(tmp_path / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 19, deleted="orders", rare=0))
    keyed = nr.open(tmp_path / "store").messages(topic="orders", columns="keys").to_table().to_pylist()
    key = next(row["keys"][0] for row in keyed if row["keys"])
    monkeypatch.chdir(tmp_path)
    commands = commands_in_tables("README.md")
    assert len(commands) == 12
    assert commands_in_tables("README.zh.md") == commands
    for command in commands:
        ended = run(*shlex.split(re.sub(r"/(?:data|backup)/", "", command).replace("ORDER-1", key)))
        assert ended.code == 0, (command, ended.err)
        assert key in ended.out or "--key" not in command
    assert nr.open(tmp_path / "store").messages(topic="orders").count_rows() > 0
    for made in ("new/repair.md", "only-payments/extract.md", "saved/rescue.md", "out/*.parquet", "page.html"):
        assert list(tmp_path.glob(made)), made


@pytest.mark.gate
def test_the_commands_for_one_order_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stores(tmp_path, ["store"])
    monkeypatch.chdir(tmp_path)
    codes = [run(*shlex.split(command)).code for command in commands_in_tables("docs/recipes.md")]
    assert (codes[0], set(codes) - {0, 1}) == (0, set())
    assert len(codes) == 4


@pytest.mark.parametrize("page", ["docs/cli.md", "docs/cli.zh.md"])
def test_every_command_is_documented(page: str) -> None:
    assert [command.split()[0] for command in commands_in_tables(page)][: len(COMMANDS)] == list(COMMANDS)


def test_every_output_was_filled_in() -> None:
    assert [page for page in documents() if NOT_RUN in (ROOT / page).read_text(encoding="utf-8")] == []


# The table of what is left out


def all_blocks() -> list[Block]:
    return [block for page in documents() for block in blocks_of(page)]


def test_every_fence_belongs_to_a_block() -> None:
    """An indented fence, or one with tildes, would hide its block."""
    for page in documents():
        fences = re.findall(r"^\s*(?:>\s*)*(?:```|~~~)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks_of(page)), page


def test_every_block_is_in_one_of_both_tests_or_in_the_table() -> None:
    walked = {*pages(with_spark=False), *pages(with_spark=True)}
    for block in all_blocks():
        entries = [each for each in LEFT_OUT if leaves_out(each, block)]
        assert len(entries) <= 1 or all(each.line for each in entries), (block, entries)
        assert any(not each.line for each in entries) or block.page in walked, block


@pytest.mark.parametrize("entry", LEFT_OUT, ids=lambda entry: f"{entry.page}: {entry.begins[:30]!r}")
def test_an_entry_of_the_table_is_about_a_block(entry: LeftOut) -> None:
    assert any(leaves_out(entry, block) for block in all_blocks())
    assert bool(entry.reason) != bool(entry.by), "either a reason, or a test"
    for named in re.findall(r"(?:tests|\.ci)/[\w/]+\.py", entry.reason):
        assert (ROOT / named).is_file()
    if entry.by:
        test = (ROOT / entry.by).read_text(encoding="utf-8")
        helpers = [
            (ROOT / f"tests/support/{name}.py").read_text(encoding="utf-8")
            for name in re.findall(r"^from support\.(\w+)", test, re.MULTILINE)
        ]
        parts = Path(entry.page).parts
        assert any(entry.page in text or all(f'"{part}"' in text for part in parts) for text in [test, *helpers]), (
            f"{entry.by} reads no {entry.page}"
        )


# A wrong block is detected


_DAMAGE = """
from pathlib import Path
import rmqstore
min(Path("data/store/commitlog").iterdir()).write_bytes(bytes(1 << 20))
"""


@pytest.mark.gate
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (f"```python\n{_DAMAGE}rmqstore.open('/data/store').messages()\n```", "found zeros"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "a page:8"),
        ("```bash\nrmqstore doctor /data/stor | cat\n```", "exit code 3"),
        ("```bash\nfalse\ntrue\n```", "exit code 1"),
        ("```console\n$ rmqstore ls data/store\nnothing\n```", "a page:4"),
        ("```console\n$ ls data/store\n```", "nothing executes ls"),
        ("```yaml\na: 1\n```", "nothing executes a block of 'yaml'"),
        ('```json\n{"checksum": 1, "stores": {}, "version": 2}\n```', "a page:4"),
    ],
)
def test_a_wrong_block_is_detected(wrong: str, why: str, store: Path, tmp_path: Path) -> None:
    walk = Walk(Places(home("a page", store, tmp_path)))
    with pytest.raises(Exception, match=re.escape(why)):
        walk.go(kept(blocks_of("a page", f"# A page\n\n{wrong}\n")))


def test_a_right_page_is_accepted(store: Path, tmp_path: Path) -> None:
    count = "print(rmqstore.open('/data/store').messages().count_rows() > 0)"
    text = f"```python\nimport rmqstore\n```\n\n```python\n{count}\n```\n\n```text\nTrue\n```\n"
    Walk(Places(home("a page", store, tmp_path))).go(kept(blocks_of("a page", text)))
