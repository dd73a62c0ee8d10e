"""Each command prints what the engine returns, as lines in a pipe and as JSON, and ends with the right exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run, unsafe
from support.stores import ZERO

import native_reader as nr
from native_reader.storage.local import LocalFile
from native_reader.tables import TABLE_NAMES
from native_reader.text import size_of, with_paths
from native_reader.tuning import tuned


def test_ls_lists_topics_queues_and_stores(store: Path) -> None:
    queues = nr.open(store).table("queues").to_table().to_pylist()
    ended = run("ls", store, "--json")
    assert (ended.code, ended.err) == (0, "")
    counted = {(row["topic"], row["queues"], row["messages"]) for row in ended.rows}
    assert counted == {(row["topic"], 1, row["entries"]) for row in queues}
    assert run("ls", store).cells == [["store", "topic", "kind", "queues", "messages"]] + [
        [row["store"], row["topic"], "", str(row["queues"]), str(row["messages"])] for row in ended.rows
    ]
    listed = run("ls", store, "--queues", "--json", "--where", "topic = 'T1'").rows
    assert [row["topic"] for row in listed] == ["T1"]
    assert listed[0]["max_offset"] == next(row["max_offset"] for row in queues if row["topic"] == "T1")
    (only,) = run("ls", store, "--stores", "--json").rows
    segments = nr.open(store).stores[0].segments
    sizes = {"segments": len(segments), "bytes": sum(each.size for each in segments), "first_offset": 0, "next_offset": segments[-1].end}
    assert only == {"store": store.as_uri()} | sizes


def test_ls_lists_every_store_below_a_directory(store: Path) -> None:
    assert [row["store"] for row in run("ls", store.parent, "--stores", "--json").rows] == [store.as_uri()]


def test_ls_of_a_thousand_segments_opens_one_of_them(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1000):  # after the log, as if it were preallocated
        (store / "commitlog" / f"{10**12 + 2048 * number:020}").write_bytes(bytes(2048))
    opened, start = list[str](), LocalFile.__init__

    def noted(file: LocalFile, uri: str) -> None:
        opened.append(uri)
        start(file, uri)

    monkeypatch.setattr(LocalFile, "__init__", noted)
    (only,) = run("ls", store, "--stores", "--json").rows
    assert only["segments"] > 1000
    assert [uri for uri in opened if "/commitlog/" in uri] == [f"{store.as_uri()}/commitlog/{ZERO}"]
    assert len(run("ls", store, "--json").rows) == 3
    assert len([uri for uri in opened if "/commitlog/" in uri]) == 2


def test_ls_without_queues_says_what_else_to_do(tmp_path: Path, store: Path) -> None:
    (store / "consumequeue").rename(tmp_path / "away")
    ended = run("ls", store)
    assert (ended.code, ended.cells) == (0, [["store", "topic", "kind", "queues", "messages"]])
    assert "rmqstore stat" in ended.err


def test_cat_prints_messages(store: Path, rows: list[dict[str, Any]]) -> None:
    printed = run("cat", store, "--json")
    assert (printed.code, printed.err) == (0, "")
    assert [row["body"] for row in printed.rows] == [row["body"].decode() for row in rows]
    assert printed.rows[0]["body_form"] == "text"
    assert printed.rows[7]["properties"] == dict(rows[7]["properties"])
    assert printed.rows[7]["store_timestamp"] == f"{rows[7]['store_timestamp'].isoformat(timespec='milliseconds')[:-6]}Z"
    names, *lines = run("cat", store).cells
    assert names[-1] == "body"
    assert [line[-1] for line in lines] == [row["body"].decode() for row in rows]
    assert [line[names.index("keys")] for line in lines] == [" ".join(row["keys"]) for row in rows]


def test_cat_limits_selects_and_reads_in_parallel(store: Path) -> None:
    assert len(run("cat", store, "--limit", "7", "--json").rows) == 7
    assert run("cat", store, "-n", "0").out == ""
    assert run("cat", store, "-t", "T1", "-c", "topic,queue_id", "-n", "1").cells == [["topic", "queue_id"], ["T1", "0"]]
    assert {row["topic"] for row in run("cat", store, "-t", "T1", "-t", "T2", "--json").rows} == {"T1", "T2"}
    alone, together = (run("cat", store, "-j", jobs, "--option", "max_partition_bytes=1k", "--rate", "100MB/s").out for jobs in (1, 3))
    assert alone == together
    assert "body" not in run("cat", store, "--json", "--body", "none", "-n", "1").rows[0]
    assert run("cat", store, "--json", "--body", "hex", "-n", "1").rows[0]["body"] == b"body 0".hex()


def test_find_prints_what_the_conditions_match(store: Path, rows: list[dict[str, Any]]) -> None:
    wanted = rows[20]
    place = f"{wanted['topic']}/{wanted['queue_id']}/{wanted['queue_offset']}"
    for arguments in (
        ["--key", "k20"],
        ["--msg-id", wanted["uniq_key"]],
        ["--msg-id", wanted["offset_msg_id"].lower()],
        ["--offset", str(wanted["physical_offset"])],
        ["--offset", f"{wanted['physical_offset']:,}"],
        ["--offset", place],
        ["--where", "body_text = 'body 20'"],
        ["--key", "k20", "--first"],
        ["--key", "k20", "--key", "k999"],
    ):
        ended = run("find", store, *arguments, "--json")
        assert (ended.code, [row["physical_offset"] for row in ended.rows]) == (0, [wanted["physical_offset"]]), arguments
    assert len(run("find", store, "--key", "all", "--json").rows) == len(rows)
    first = run("find", store, "--key", "all", "--json", "--first")
    assert (len(first.rows), first.err) == (1, "")
    nothing = run("find", store, "--key", "k999")
    assert (nothing.code, nothing.out) == (1, "")
    assert "0 messages found; " in nothing.err
    assert run("find", store, "--key", "k20", "--topic", "T0,T1,T2", "--first").code == 0
    assert run("find", store, "--key", "k999", "--first").code == 1


@pytest.mark.parametrize("command", [["cat"], ["tail"], ["tail", "-n", "1"], ["stat"], ["stat", "--by", "hour"]])
def test_a_topic_that_no_store_has_exited_with_0(store: Path, command: list[str]) -> None:
    name, *more = command
    unknown = run(name, store, *more, "--topic", "T00", "--json")
    assert (unknown.code, unknown.out) == (1, "")
    assert "topic 'T00'" in unknown.err
    assert "T0" in unknown.err
    for known in (["--topic", "T0", "--topic", "T00"], ["--topic", "T0", "--since", "2031-01-01 00:00:00Z"]):
        assert run(name, store, *more, *known, "--json").code == 0


@pytest.mark.parametrize("command", [["doctor"], ["ls"], ["stat"], ["find", "--key", "k20"], ["verify"], ["explain"], ["cat"]])
def test_a_copy_of_a_dead_hosts_store_has_its_own_parts(store: Path, command: list[str]) -> None:
    conf = store.parent / f"{command[0]}.conf"  # the warning comes once in a process
    conf.write_text("storePathRootDir=/dead/store\nstorePathCommitLog=/dead/commitlog\nstorePathIndex=/dead/index\n")
    name, *more = command
    ended = run(name, store, *more, "--broker-conf", conf)
    assert (ended.code, ended.out) == (0, run(name, store, *more).out)
    text = f"warning: {conf}: storePathCommitLog, storePathIndex not used, because {store} has its own"
    assert ended.err.splitlines()[0] == text


def test_a_topic_that_only_the_log_could_have_exited_with_0(store: Path) -> None:
    for name in ("cat", "stat", "find"):
        ended = run(name, store / "commitlog", "--topic", "T00", "--json")
        assert (ended.code, ended.out) == (1, "")
        assert "no record of topic 'T00'" in ended.err
        assert run(name, store / "commitlog", "--topic", "T0", "--json").code == 0


def test_tail_prints_the_newest_messages_in_order(store: Path, rows: list[dict[str, Any]]) -> None:
    for count in (0, 1, 10, 1000):
        printed = run("tail", store, "-n", count, "--json").rows
        assert [row["physical_offset"] for row in printed] == [row["physical_offset"] for row in rows[len(rows) - min(count, len(rows)) :]]
    of_topic = [row["physical_offset"] for row in rows if row["topic"] == "T2"][-4:]
    assert [row["physical_offset"] for row in run("tail", store, "-n", "4", "-t", "T2", "--json").rows] == of_topic


def test_tail_looks_further_back_only_as_far_as_needed(store: Path, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_reader.arrivals._FIRST_LOOK", 100)
    for count in (1, 2, 33, 60, 61):
        printed = run("tail", store, "-n", count, "--json").rows
        assert [row["physical_offset"] for row in printed] == [row["physical_offset"] for row in rows[-count:]]


def test_tables_lists_describes_and_prints(store: Path) -> None:
    listed = run("tables", "--json").rows
    assert [row["table"] for row in listed] == list(TABLE_NAMES)
    described = {row["column"]: row["type"] for row in run("tables", "segments", "--json").rows}
    expected = nr.open(store).table("segments").to_table()
    assert described == {each.name: str(each.type) for each in expected.schema}
    printed = run("tables", store, "segments", "--columns", "segment,records", "--where", "records > 0", "--json")
    assert printed.code == 0
    assert printed.rows == [{"segment": row["segment"], "records": row["records"]} for row in expected.to_pylist() if row["records"]]
    assert len(run("tables", store, "segments", "-n", "1").cells) == 2
    assert run("tables", store, "damage").cells == [nr.open(store).table("damage").schema.names]


@pytest.mark.parametrize(
    ("name", "more", "text"), [("cat", [], "0 messages"), ("tail", [], "0 messages"), ("tables", ["queue_entries"], "0 rows")]
)
def test_nothing_found_is_said_to_people(store: Path, name: str, more: list[str], text: str) -> None:
    command = [name, store, *more]
    ended = run(*command, "--where", "queue_offset = 99")
    assert (ended.code, ended.err) == (0, f"{text}\n")
    ended = run(*command, "--where", "queue_offset = 99", "--json")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert text not in run(*command).err


def test_explain_prints_the_plan(store: Path) -> None:
    explanation = nr.open(store).messages(topic="T1", mode="DROPMALFORMED", fail_on_data_loss=False).explain()
    assert run("explain", store, "-t", "T1").out == f"{with_paths(str(explanation))}\n"
    assert run("explain", store, "-t", "T1", "--json").rows == [json.loads(json.dumps(explanation.to_dict()))]


def test_explain_says_which_parts_are_too_small_for_the_queues(store: Path) -> None:
    scan = nr.open(store).messages(topic="T1")
    size, run_of = size_of(scan.plan().bytes_to_prune), scan.run()
    assert sum(map(len, run_of)) == 20
    assert run_of.report.bytes_read >= scan.plan().bytes_to_prune
    shown = run("explain", store, "-t", "T1").out
    assert f"  by scan    {size} in " in shown
    assert ", in small parts, for which searching the queues of 3 topics would cost more" in shown
    assert "no queue" not in shown
    with tuned(queue_costs=0):
        shown = run("explain", store, "-t", "T1").out
    assert "  by queue   1 queue with 20 entries; about 20 (" in shown
    assert f"  no queue   of {size} in " in shown
    assert "by scan" not in shown
    with tuned(queue_costs=0):
        assert "by consume queue" in nr.open(store).messages(topic="T1").explain().in_short(1)
    assert f": scans {size}" in nr.open(store).messages(topic="T1").explain().in_short(1)


def test_verify_of_a_healthy_store_is_clean(store: Path) -> None:
    ended = run("verify", store, "--json")
    assert (ended.code, [row for row in ended.rows if row["severity"] != "note"]) == (0, [])
    assert "no errors, no warnings" in ended.err


def test_verify_of_no_segments_says_so(tmp_path: Path) -> None:
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    assert "nothing to check" in run("verify", tmp_path / "store").err


# Damage


@pytest.mark.parametrize("command", ["cat", "stat", "tail", "find"])
def test_reads_continue_after_damage_and_exit_with_1(rows: list[dict[str, Any]], damaged: Path, command: str) -> None:
    more = {"find": ["--where", "queue_id = 0"], "tail": ["-n", "1000"]}.get(command, [])
    ended = run(command, damaged, *more, "--json")
    assert ended.code == 1
    count = sum(row["messages"] for row in ended.rows) if command == "stat" else len(ended.rows)
    assert 0 < count < len(rows)
    assert "damaged bytes at offset 2," in ended.err
    assert "warning: skipped 1 damaged range with " in ended.err
    strict = run(command, damaged, *more, "--strict")
    assert strict.code == 1
    assert "error: " in strict.err
    assert "Omit --strict" in strict.err
    assert "mode=" not in strict.err


def test_other_commands_report_damage_too(damaged: Path) -> None:
    listed = run("tables", damaged, "damage", "--json")
    assert (listed.code, len(listed.rows)) == (1, 1)
    checked = run("verify", damaged, "--json")
    assert checked.code == 1
    assert "log-damage" in {row["code"] for row in checked.rows}
    assert " error" in checked.err


def test_a_missing_segment_is_a_loss(store: Path) -> None:
    sorted((store / "commitlog").iterdir())[1].unlink()
    ended = run("cat", store, "--json")
    assert ended.code == 1
    assert "no file contains offsets" in ended.err
    strict = run("cat", store, "--strict")
    assert (strict.code, strict.out) == (1, "")
    assert "--option fail_on_data_loss=false" in strict.err
    examined = run("doctor", store, "--json")
    assert examined.code == 1
    assert any("no file contains offsets" in text for text in examined.rows[0]["findings"])
    assert run("explain", store).code == 1


def test_missing_segments_at_the_end_are_a_loss(store: Path) -> None:
    for path in sorted((store / "commitlog").iterdir())[2:]:
        path.unlink()
    (store / "abort").touch()
    ended = run("cat", store, "--json")
    assert ended.code == 1
    assert "No file contains these offsets" in ended.err
    assert run("doctor", store).code == 1


# Hostile names


COMMANDS = (
    *(["ls"], ["ls", "--queues"], ["stat"], ["stat", "--by", "tag"], ["cat"], ["cat", "-c", "topic,keys,properties,body"]),
    *(["find", "--where", "queue_id = 0"], ["tail"], ["explain"], ["verify"], ["doctor"]),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_name_of_a_store_controls_the_terminal(hostile: Path, arguments: list[str], form: list[str]) -> None:
    command, *more = arguments
    ended = run(command, hostile, *more, *form)
    assert ended.code in (0, 1)
    assert not unsafe(ended.out + ended.err)
    assert "\r" not in ended.out
    if form:
        assert ended.rows
    elif command in ("ls", "stat", "cat", "tail", "find"):  # no name adds a row or a column
        assert len({len(line) for line in ended.cells}) == 1


def test_an_argument_in_an_error_does_not_control_the_terminal(store: Path) -> None:
    for arguments in ([f"{store}\x1b[2J"], [store, "-t", "\x1b[2J\u202e"], [store, "-c", "\x1b[2J"], [store, "--option", "\x1b[2J=1"]):
        assert not unsafe(run("cat", *arguments).err)


@pytest.mark.parametrize("arguments", [["doctor"], ["ls", "--stores"], ["cat"], ["explain"], ["verify"], ["stat"]], ids=" ".join)
def test_no_path_of_a_store_controls_the_terminal(store: Path, arguments: list[str]) -> None:
    moved = store.rename(store.with_name("\x1b[2J\u202e\n"))
    (moved / "commitlog" / ZERO).write_bytes(b"\1" + (moved / "commitlog" / ZERO).read_bytes()[1:])  # so that a warning names a file
    for form in ((), ("--json",)):
        ended = run(arguments[0], moved, *arguments[1:], *form)
        assert ended.code in (0, 1)
        assert not unsafe(ended.out + ended.err)
    missing = run("cat", moved / "\x1b[2Jmissing")
    assert missing.code == 3
    assert not unsafe(missing.err)


def test_files_that_are_written_have_hostile_paths_too(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "\x1b[2J\u202e"
    for arguments in (["export", store, "-o", out], ["rescue", store, out / "saved"], ["report", store, "-o", out / "page.html"]):
        ended = run(*arguments, "--json")
        assert ended.code == 0
        assert not unsafe(ended.out + ended.err)


def test_names_survive_in_json(hostile: Path) -> None:
    topics = {row["topic"] for row in nr.open(hostile).messages(columns="topic").to_table().to_pylist()}
    assert {row["topic"] for row in run("stat", hostile, "--json").rows} == topics
    assert ZERO not in topics
