"""Every code block of the documents is executed: here those of pages without Spark. tests/spark/test_spark_blocks.py has the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.blocks import Block, Places, Walk, blocks_of, documents, kept, leaves_out, pages
from support.documented import ROOT
from support.effort import mostly_gate
from support.left_out import LEFT_OUT, LeftOut
from support.walked import home, new_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_store(tmp_path_factory.mktemp("blocks") / "store")


@pytest.mark.parametrize("page", mostly_gate(pages(with_spark=False), "docs/export.md"))
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


# The table of what is left out


def test_both_readmes_show_the_same_code() -> None:
    def code(page: str) -> list[tuple[str, str]]:
        """Without comments and outputs, which are translated."""
        translated = {"console": r"(?m)^(?!\$ ).*\n| --lang zh$"}
        return [(block.language, re.sub(translated.get(block.language, r"\s+#.*"), "", block.code)) for block in blocks_of(page)]

    assert code("README.md") == code("README.zh.md") != []


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
        ("```python\nrmqstore.open('data/store')\n```", "name 'rmqstore' is not defined"),
        ("```python\nimport rmqstore\nrmqstore.open('/data/stor')\n```", "does not exist"),
        ("```python\nimport rmqstore\n```\n```python\nrmqstore.open('/data/store').messages(limt=1)\n```", "limt"),
        (f"```python\n{_DAMAGE}rmqstore.open('/data/store').messages()\n```", "found zeros"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "a page:8"),
        ("```bash\nrmqstore doctor /data/stor\n```", "exit code 3"),
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
