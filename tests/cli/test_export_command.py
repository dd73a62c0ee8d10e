"""`rmqstore export` and `rmqstore rescue` write what the engine writes, and end with the right exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.command_line import run, unsafe
from support.exported import data_files, expected_rows, exported_rows, json_lines, summary
from support.golden import Golden
from support.stores import files_of, log_of, on_disk

import native_reader as nr


@pytest.mark.parametrize("to", ["parquet", "arrow", "jsonl", "csv"])
def test_export_writes_the_rows_of_a_read(store: Path, tmp_path: Path, to: str) -> None:
    out = tmp_path / "out"
    ended = run("export", store, "-o", out, "--to", to, "--partition-by", "topic", "--where", "queue_offset > 0", "-j", "2")
    assert (ended.code, ended.out) == (0, "")
    scan = nr.open(store).messages(where="queue_offset > 0")
    assert exported_rows(out, to, scan.schema) == expected_rows(scan.to_table())
    assert f"{scan.count_rows()} messages in {len(data_files(out))} files" in ended.err


def test_export_prints_its_counts_as_json(store: Path, tmp_path: Path) -> None:
    ended = run("export", store, "-o", tmp_path / "out", "--json")
    found = summary(tmp_path / "out")
    assert json.loads(ended.out) == {name: value for name, value in found.items() if name not in ("request", "segments")}
    assert found["request"]["verify_crc"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--topic", "T00"], 1, "warning: no record of topic 'T00'; did you mean 'T0'?"),
        (["--topic", "T0", "--queue", "7"], 1, "warning: no row matches: "),
        (["--key", "k999"], 1, "warning: nothing was exported: no message that matches has this key or id"),
        (["--msg-id", "F" * 32], 1, "warning: nothing was exported: no message that matches has this key or id"),
        (["--topic", "T0", "--since", "2031-01-01 00:00:00Z"], 0, "0 messages in 1 file"),
        (["--topic", "T0", "--topic", "TO"], 0, "20 messages in 1 file"),
    ],
)
def test_an_export_of_an_unknown_name_exits_with_1(store: Path, tmp_path: Path, arguments: list[str], code: int, text: str) -> None:
    for _ in range(2):  # the second time, the export is complete already
        ended = run("export", store, "-o", tmp_path / "out", *arguments)
        assert (ended.code, ended.out) == (code, "")
        assert text in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--since", "2h"], 0, "0 messages in 1 file"),  # the store is of 2023
        (["--until", " 90 m "], 0, "60 messages in 1 file"),
        (["--since", "36500d", "--until", "1s"], 0, "60 messages in 1 file"),
        (["--since", "999999999d"], 2, "'999999999d' is before the year 1"),
        (["--since", "2 weeks"], 2, "--since='2 weeks' is not a time. Examples: "),
    ],
)
def test_times_that_are_so_long_ago(store: Path, tmp_path: Path, arguments: list[str], code: int, text: str) -> None:
    ended = run("export", store, "-o", tmp_path / "out", *arguments)
    assert ended.code == code
    assert text in ended.err


def test_export_skips_damage_and_lists_it(damaged: Path, tmp_path: Path) -> None:
    ended = run("export", damaged, "-o", tmp_path / "out")
    assert ended.code == 1
    assert "1 range of the log could not be read" in ended.err
    assert json_lines(tmp_path / "out" / "_damage.jsonl") == nr.open(damaged).table("damage").to_table().to_pylist()
    assert run("export", damaged, "-o", tmp_path / "strict", "--strict").code == 1
    assert not (tmp_path / "strict" / "_summary.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "parqet"], "--to='parqet' is not a format. Did you mean 'parquet'?"),
        (["--partition-by", "topics"], "--partition-by: 'topics' is not a partition column. Did you mean 'topic'?"),
        (["--compression", "rar"], "--compression='rar' is not possible with --to=parquet. Possible: zstd, none, snappy, lz4, gzip"),
        (["--text"], "--text is only for --to=jsonl and --to=csv"),
    ],
)
def test_wrong_arguments_of_export(store: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    ended = run("export", store, "-o", tmp_path / "out", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err


def test_export_needs_a_store_and_a_target(store: Path) -> None:
    assert run("export", store).code == 2
    assert run("export").code == 2


def test_other_options_in_the_same_folder_are_wrong_usage(store: Path, tmp_path: Path) -> None:
    assert run("export", store, "-o", tmp_path / "out").code == 0
    assert run("export", store, "-o", tmp_path / "out").code == 0
    ended = run("export", store, "-o", tmp_path / "out", "--where", "queue_id = 0")
    assert ended.code == 2
    assert "Use the same options to continue it" in ended.err


def test_rescue_saves_and_prints_what(damaged: Path, tmp_path: Path) -> None:
    ended = run("rescue", damaged, tmp_path / "out", "--json")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert found["messages"] == nr.open(damaged).messages(mode="DROPMALFORMED", fail_on_data_loss=False).count_rows()
    assert (found["damaged_ranges"], found["page"]) == (1, f"{tmp_path / 'out' / 'rescue.md'}")
    (lost,) = nr.open(damaged).table("damage").to_table().to_pylist()
    assert f"warning: {lost['bytes']:,} bytes of the log are lost: {lost['bytes']:,} in 1 damaged range\n" in ended.err
    assert ended.err.splitlines()[-1] == f"see {tmp_path / 'out' / 'rescue.md'}"
    assert "complete already" not in ended.err
    again = run("rescue", damaged, tmp_path / "out", "--json")
    assert (again.code, json.loads(again.out)) == (1, found)
    assert "this rescue was complete already: no message was saved again; " in again.err


def test_rescue_takes_its_folder_as_an_option_too(store: Path, tmp_path: Path) -> None:
    assert run("rescue", store, "-o", tmp_path / "out").code == 0
    assert run("rescue", "-o", tmp_path / "again", "--commitlog", store / "commitlog").code == 0
    assert {path.name for path in tmp_path.glob("*/rescue.md")} == {"rescue.md"}
    assert len(list(tmp_path.glob("*/rescue.md"))) == 2


def test_rescue_of_a_healthy_store_is_clean(store: Path, tmp_path: Path) -> None:
    ended = run("rescue", store, tmp_path / "out")
    assert (ended.code, ended.out) == (0, "")
    saved, states, start, *rest = ended.err.splitlines()
    assert (saved, states, rest) == ("saved 60 messages", "Messages: 60 served", ["no loss found", f"see {tmp_path / 'out' / 'rescue.md'}"])
    assert start.startswith("Is it safe to start a broker on this store? yes, but at its next cleaning")
    assert "- **Lost:** no message that the log, the queues or the offsets of groups name." in (tmp_path / "out" / "rescue.md").read_text()


def test_hostile_names_reach_neither_terminal_nor_page(hostile: Path, tmp_path: Path) -> None:
    ended = run("rescue", hostile, tmp_path / "out")
    assert not unsafe(ended.out + ended.err)
    assert not unsafe((tmp_path / "out" / "rescue.md").read_text())
    assert not unsafe("\n".join(path.as_posix() for path in (tmp_path / "out").rglob("*")))
    assert not unsafe(run("export", hostile, "-o", tmp_path / "parts", "--partition-by", "topic,tags").err)
    assert not unsafe("\n".join(path.as_posix() for path in (tmp_path / "parts").rglob("*")))


def test_rescue_says_at_the_start_that_the_disk_may_be_too_small(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1))
    ended = run("rescue", store, tmp_path / "new" / "out")
    assert ended.code == 0
    assert ended.err.startswith("note: the log has ")
    assert f"but {tmp_path} has only 1 byte free" in ended.err
    monkeypatch.undo()
    assert "note: " not in run("rescue", store, tmp_path / "again").err


def test_rescue_warns_of_a_start(tmp_path: Path) -> None:
    log = log_of(40)
    root, record = on_disk(tmp_path, files_of(log)) / "store", log.placed[1]
    first = min((root / "commitlog").iterdir())
    content = bytearray(first.read_bytes())
    content[record.offset : record.offset + record.size] = bytes(record.size)
    first.write_bytes(content)
    ended = run("rescue", root, tmp_path / "out")
    answer = f"better not: it would truncate the log at offset {record.offset:,} and delete 38 messages after it"
    assert f"warning: Is it safe to start a broker on this store? {answer}" in ended.err


def test_an_export_for_a_producer_has_its_columns_and_needs_a_selection(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store, out = own_store("5.5.0-kinds").root, tmp_path / "again"
    assert run("export", store, "-o", out, "--for-resend", "--where", "kind = 'dlq'").code == 0
    (file,) = out.glob("part-*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["kind"], row["origin_topic"], row["tags"], row["keys"]) for row in rows] == [
        ("dlq", "Fails", "always", ["fails5"]),
        ("dlq", "Fails", "always", ["fails2"]),
    ]
    assert all({"body", "properties", "flag", "msg_id", "offset_msg_id", "delay_level"} <= row.keys() for row in rows)
    refused = run("export", store, "-o", out, "--for-resend")
    assert refused.code == 2
    assert "error: --for-resend needs a selection, such as --topic or --where \"kind = 'dlq'\"." in refused.err
    for more in (["--to", "csv"], ["--text"], ["--columns", "topic"]):
        refused = run("export", store, "-o", out, "--for-resend", "--topic", "Plain", *more)
        assert (refused.code, "--for-resend sets --columns, and --to jsonl without --text. Omit these." in refused.err) == (2, True)
