"""The documentation lists what the code has, and the examples run."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name
from unicodedata import east_asian_width

import pyarrow.parquet as pq
import pytest
from support.golden import unpack
from support.own_stores import STORES

import native_reader as nr
import rmqstore
import rmqstore_spark
from native_reader import testing
from native_reader.columns.schema import COLUMNS, DEFAULT_COLUMNS, projected
from native_reader.conditions import predicate_of
from native_reader.errors import spelled
from native_reader.export.formats import FORMATS
from native_reader.export.partitions import PARTITION_COLUMNS
from native_reader.export.writers import folder_name
from native_reader.layout.bodies import codec_of
from native_reader.layout.kinds import KINDS, SYSTEM_KINDS
from native_reader.options import PLACES, MessageOptions, options_of
from native_reader.plan.lost import NOT_THERE
from native_reader.records.damages import REASONS
from native_reader.sentences import Said
from native_reader.tables import TABLES, index_entries, queue_entries, queues
from native_reader.testing.compression import CODECS, COMPRESSED
from native_reader.verify.codes import CODES, SEVERITIES, advice
from rmqstore_spark.options import OPTIONS, as_markdown

HERE = Path(__file__).parents[2]
COLUMNS_MD = "docs/columns.md"
PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore")


def rows_of(name: str, heading: str) -> list[list[str]]:
    """The rows of the table whose header begins with that cell."""
    text = (HERE / name).read_text(encoding="utf-8")
    table = re.search(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table, f"{name} has no table with a column '{heading}'"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def quoted(text: str) -> list[str]:
    """The texts in backticks, without blocks of code: their fences would pair with the quotes of the text."""
    return re.findall(r"`([^`]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))


def test_every_column_is_documented_with_its_type() -> None:
    documented = [
        (quoted(name)[0], quoted(kind)[0], default == "default", what) for name, kind, default, what in rows_of(COLUMNS_MD, "column")
    ]
    assert documented == [(name, str(spec.type), name in DEFAULT_COLUMNS, spec.meaning) for name, spec in COLUMNS.items()]


def test_the_columns_that_heads_omits_are_documented() -> None:
    sentence = re.search(r'`columns="heads"`: all but (.*?)\. `columns', (HERE / COLUMNS_MD).read_text(encoding="utf-8"), re.DOTALL)
    assert sentence
    assert set(quoted(sentence[1])) == COLUMNS.keys() - set(projected("heads"))


def test_every_kind_is_documented_in_order() -> None:
    assert [kind for row in rows_of(COLUMNS_MD, "kind") for kind in quoted(row[0])] == list(KINDS)
    hidden = re.search(r"`system_topics=False` hides (.*)\.", (HERE / COLUMNS_MD).read_text(encoding="utf-8"))
    assert hidden
    assert tuple(quoted(hidden[1])) == SYSTEM_KINDS


def test_the_table_of_options_equals_that_of_the_code() -> None:
    assert as_markdown() in (HERE / "docs/options.md").read_text(encoding="utf-8")


def test_every_condition_is_documented() -> None:
    with pytest.raises(nr.PredicateError) as raised:
        predicate_of(MessageOptions(where="topic"))
    listed = re.search(r"Supported: (.*) on columns", str(raised.value))
    section = re.search(r"^## Conditions\n(.*?)^#", (HERE / "docs/filters.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert listed
    assert section
    assert set(listed[1].split()) <= set(re.findall(r"\w+|[=!<>]+", " ".join(quoted(section[1]))))


def test_every_codec_is_documented_and_written() -> None:
    read = {bits << 8: codec for bits in range(8) if (codec := codec_of(bits << 8))}
    documented = {int(bits, 16): codec.lower() for cell, codec, _ in rows_of("docs/format.md", "codec bits") for bits in quoted(cell)}
    assert documented == read
    assert {flags - COMPRESSED for _, flags, _ in CODECS} == read.keys()


def test_spark_accepts_every_option_of_the_engine() -> None:
    known = {option.name for option in OPTIONS}
    assert len(known) == len(OPTIONS)
    assert list(inspect.signature(nr.open).parameters) == [option.name for option in PLACES]
    described = [option.name for option in options_of(MessageOptions)]
    assert ["values", *described] == [field.name for field in fields(MessageOptions)]
    assert {*described, *inspect.signature(nr.open).parameters} <= known


RECOVERY_MD, TABLES_MD, VERIFY_MD = "docs/recovery.md", "docs/tables.md", "docs/verify.md"


def test_every_reason_of_damage_is_documented() -> None:
    documented = {quoted(reason)[0]: meaning for reason, meaning in rows_of(RECOVERY_MD, "reason")}
    assert documented == {reason: Said(f"reason {reason}").text() for reason in (*REASONS, *NOT_THERE)}


def test_every_state_and_validity_is_documented() -> None:
    for heading, meanings in (
        ("state", queues.STATES),
        ("validity of a queue entry", queue_entries.VALIDITIES),
        ("validity of an index entry", index_entries.VALIDITIES),
    ):
        assert {quoted(name)[0]: meaning for name, meaning in rows_of(TABLES_MD, heading)} == meanings


def test_every_code_of_a_finding_is_documented() -> None:
    severities = [f"| `{name}` | {meaning} |" for name, meaning in SEVERITIES.items()]
    meaning = {code: Said(f"code {code}").text() for code in CODES}
    codes = [f"| `{code}` | {severity} | {meaning[code]} | {spelled(advice(code), str)} |" for code, severity in CODES.items()]
    heads = ["| severity | meaning |", "|---|---|"], ["", "| code | severity | meaning | what to do |", "|---|---|---|---|"]
    assert "\n".join([*heads[0], *severities, *heads[1], *codes]) in (HERE / VERIFY_MD).read_text(encoding="utf-8")


def test_the_columns_of_the_other_tables_are_documented() -> None:
    text = "".join((HERE / name).read_text(encoding="utf-8") for name in (RECOVERY_MD, TABLES_MD, VERIFY_MD))
    for table in TABLES.values():
        _, heading, rest = text.partition(f": `table={table.name}`\n")
        assert heading, f"no document has a heading that ends in `table={table.name}`"
        part = rest.split("\n## ")[0]
        documented = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| (.*) \|$", part, re.MULTILINE)
        assert documented == [(name, str(spec.type), spec.meaning) for name, spec in table.columns.items()]


def test_the_rescue_example_prints_the_documented_output(tmp_path: Path) -> None:
    """The store of a killed broker, with a page of zeros, a flipped bit and a truncated last file."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root.rename(tmp_path / "killed")
    log = sorted((store / "commitlog").iterdir())
    with log[2].open("r+b") as file:
        file.seek(20480)
        file.write(bytes(4096))
    with log[3].open("r+b") as file:
        file.seek(30_000)
        file.write(bytes([log[3].read_bytes()[30_000] ^ 4]))
    with log[5].open("r+b") as file:
        file.truncate(6000)
    log[6].unlink()
    rescue = [sys.executable, str(HERE / "examples" / "rescue.py"), "killed", "rescued.parquet"]
    ended = subprocess.run(rescue, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(HERE)}, capture_output=True, text=True, check=True)
    (shown,) = re.findall(r"```text\n(killed: .*?)```", (HERE / RECOVERY_MD).read_text(encoding="utf-8"), re.DOTALL)
    assert ended.stdout == shown
    assert pq.read_table(tmp_path / "rescued.parquet").num_rows == 779


CONTRIBUTING_MD = "CONTRIBUTING.md"


def test_contributing_is_a_welcome() -> None:
    """What a newcomer reads first. Details belong to docs/extending.md, files to docs/code.md."""
    assert (HERE / CONTRIBUTING_MD).stat().st_size <= 9 << 10


def test_the_recipes_name_what_the_code_has() -> None:
    paths = [path for folder in (*PACKAGES, "tests", ".ci") for path in (HERE / folder).rglob("*.py")]
    code = {word for path in paths for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    text = (HERE / "docs/extending.md").read_text(encoding="utf-8")
    named = {word for span in quoted(text) if "/" not in span and " " not in span for word in re.findall(r"[A-Za-z_]\w+", span)}
    assert len(named) > 100
    assert named - code == set()


@pytest.mark.parametrize("name", [CONTRIBUTING_MD, *(f"docs/{path.name}" for path in sorted((HERE / "docs").glob("*.md")))])
def test_every_file_that_is_named_exists(name: str) -> None:
    paths = [path for path in quoted((HERE / name).read_text(encoding="utf-8")) if re.fullmatch(r"[\w./]+/[\w.]+\.(?:py|md|rs|toml)", path)]
    assert [path for path in paths if not any((HERE / folder / path).is_file() for folder in (".", "native_reader", "docs"))] == []


def test_the_api_page_has_every_public_name() -> None:
    shown = re.findall(r"^::: ([\w.]+)$", (HERE / "docs/api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(set(shown)) == len(shown)
    public = {f"{package.__name__}.{name}" for package in (rmqstore, rmqstore_spark, testing) for name in package.__all__}
    assert public <= set(shown)


def test_every_name_on_the_api_page_exists() -> None:
    for name in re.findall(r"^::: ([\w.]+)$", (HERE / "docs/api.md").read_text(encoding="utf-8"), re.MULTILINE):
        resolve_name(name)


EXPORT_MD = "docs/export.md"


def test_every_format_is_documented() -> None:
    rows = rows_of(EXPORT_MD, "`to`")
    documented = [(quoted(to)[0], quoted(suffix)[0], tuple(quoted(packed)), meaning) for to, suffix, packed, meaning in rows]
    assert documented == [(name, f".{each.suffix}", each.compressions, each.meaning) for name, each in FORMATS.items()]


def test_every_partition_column_is_documented() -> None:
    (listed,) = re.findall(r"`partition_by` takes any of (.*?)\. `day` is", (HERE / EXPORT_MD).read_text(encoding="utf-8"), re.DOTALL)
    assert quoted(listed) == list(PARTITION_COLUMNS)


def test_the_names_of_folders_are_documented() -> None:
    for value, folder in rows_of(EXPORT_MD, "value")[:-1]:
        column, given = quoted(folder)[0].partition("=")[0], {"null": None, "empty text": ""}
        assert folder_name(column, given[value] if value in given else quoted(value)[0]) == quoted(folder)[0]


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_first_screen_fits(page: str) -> None:
    """Before the first heading: at most 25 lines, none of which is wider than 100 columns, where GitHub would scroll it."""
    title, *lines = (HERE / page).read_text(encoding="utf-8").split("\n## ")[0].rstrip().split("\n")
    assert title.startswith("# ")
    assert len(lines) < 25
    assert [line for line in lines if sum(1 + (east_asian_width(each) in "WF") for each in line) > 100] == []
    assert sum(line.startswith("$ rmqstore") for line in lines) == 4
