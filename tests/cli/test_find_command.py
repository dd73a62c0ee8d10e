"""`rmqstore find` says why nothing is found, and prints few results in the order of their times."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.command_line import run, run_on_terminal, uncolored
from support.stores import files_of, log_of, message, on_disk
from support.verified import healthy

from native_reader.testing.records import pack_properties

_SPAN = "note: the log has messages stored from 2023-11-14 22:13:20.000 UTC to 2023-11-14 22:13:20.059 UTC"


def test_a_key_that_is_not_found(store: Path) -> None:
    ended = run("find", store, "--key", "K20", "--topic", "T1")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-2:] == [_SPAN, "note: keys are case-sensitive; --text searches bodies and the values of properties"]
    assert "messages stored from 2023-11-15 06:13" in run("find", store, "--key", "K20", "--time-zone", "Asia/Shanghai").err
    assert _SPAN in run("find", store, "--key", "K20", "--first").err
    ended = run("find", store, "--msg-id", "U9999")
    assert ended.err.splitlines()[-2:] == [_SPAN, "note: --text searches bodies and the values of properties"]
    ended = run("find", store, "--key", "k20,k21")
    hint = "keys are case-sensitive; a comma is part of the key; repeat --key for several keys; --text"
    assert ended.err.splitlines()[-1].startswith(f"note: {hint} ")
    assert "comma" not in run("find", store, "--key", "K20", "--key", "K21").err
    for found in (["--key", "k20"], ["--where", "queue_id = 9"]):
        assert "note: the log" not in run("find", store, *found).err


def test_an_offset_that_the_queue_does_not_have_was_only_not_found(store: Path, tmp_path: Path) -> None:
    ended = run("find", store, "--offset", "T0/0/99999")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1] == "note: queue 0 of topic 'T0' lists queue offsets 0 to 19"
    assert (
        run("find", store, "--offset", "T0/0/99999", "--lang", "zh").err.splitlines()[-1].endswith("topic 'T0' 的队列 0 中有位点 0 至 19")
    )
    assert "lists" not in run("find", store, "--offset", "T0/0/19").err
    assert "lists" not in run("find", store, "--offset", "T0/0/20", "--offset", "99999999").err
    assert "lists" not in run("find", store, "--offset", "T0/7/5").err
    copy = shutil.copytree(store, tmp_path / "copy")
    *_, one, other = run("find", store, copy, "--offset", "T0/0/20").err.splitlines()
    assert one == f"note: {store}: queue 0 of topic 'T0' lists queue offsets 0 to 19"
    assert other == f"note: {copy}: queue 0 of topic 'T0' lists queue offsets 0 to 19"
    for segment in (store / "commitlog").iterdir():
        segment.rename(segment.with_name(f"{int(segment.name) + (1 << 30):020d}"))
    ended = run("find", store, "--offset", "T0/0/3")
    assert ended.err.splitlines()[-1] == "note: queue 0 of topic 'T0' lists no message of this log; its next queue offset is 20"


def test_older_messages_have_expired_only_if_the_log_begins_later(store: Path, tmp_path: Path) -> None:
    assert "expired" not in run("find", store, "--key", "K20").err
    later = on_disk(tmp_path / "later", files_of(log_of([message(7)], start=1 << 20))) / "store"
    time = "2023-11-14 22:13:20.007 UTC"
    assert f"from {time} to {time}; older ones expired or were removed\n" in run("find", later, "--key", "K20").err


def test_the_index_names_a_message_that_the_log_has_lost(store: Path, tmp_path: Path) -> None:
    """Zeros where a record was, and a segment that is gone."""
    assert run("summarize", store, "--to", tmp_path / "summary").code == 0
    place = json.loads(run("find", store, "--key", "k31", "--json", "--columns", "physical_offset").out)["physical_offset"]
    path = max(each for each in (store / "commitlog").iterdir() if int(each.name) <= place)
    content = bytearray(path.read_bytes())
    content[place - int(path.name) : place - int(path.name) + 100] = bytes(100)
    path.write_bytes(content)
    said = f"note: the index names offset {place:,} for it, and the log has no such message there: "
    why = "the message is lost, or the index is wrong. rmqstore verify tells which"
    summarized = ["--option", f"summary={tmp_path / 'summary'}"]
    for asked in (["--key", "k31"], ["--msg-id", "U0031"], ["--key", "k31", "--topic", "T1"], ["--key", "k31", *summarized]):
        *lines, last = run("find", store, *asked).err.splitlines()
        assert last == said + why
        assert len({*lines}) == len(lines), "the index is asked without saying all again"
    for asked in (["--key", "k32"], ["--key", "k0031"], ["--key", "k31", "--topic", "T2"]):
        assert "the index names" not in run("find", store, *asked).err
    path.unlink()
    assert said in run("find", store, "--key", "k31").err


def test_the_times_of_a_damaged_log(damaged: Path) -> None:
    assert _SPAN in run("find", damaged, "--key", "K20").err
    first, *_, last = sorted((damaged / "commitlog").iterdir())
    for path in (first, last):
        path.write_bytes(b"\1" * 8 + path.read_bytes()[8:])
    ended = run("find", damaged, "--key", "K20")
    assert ended.code == 1
    assert re.search(r"stored from 2023-11-14 22:13:20.0[1-4]\d UTC to 2023-11-14 22:13:20.0[45]\d UTC\n", ended.err)


def test_a_log_without_messages(tmp_path: Path) -> None:
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    assert "note: the log has no messages" in run("find", tmp_path / "store", "--key", "k").err


def test_a_key_without_a_topic_reads_most_of_the_log(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = "note: this read most of the log, because any topic may have the key. Add --topic to read less"
    assert note not in run("find", store, "--key", "k20").err
    monkeypatch.setattr("rmqstore.cli.find._MUCH", 0)
    assert run("find", store, "--key", "k20").err.splitlines()[-1] == note
    assert run("find", store, "--msg-id", "U0020").err.splitlines()[-1] == note.replace("key", "id")
    assert note not in run("find", store, "--key", "k20", "--topic", "T2").err
    assert note not in run("find", store, "--where", "queue_id = 0").err


def test_few_results_are_in_the_order_of_their_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [message(number, store_timestamp=1_700_000_000_000 + time) for number, time in enumerate((5, 3, 3, 9))]
    store = on_disk(tmp_path, healthy(messages)[1]) / "store"

    def numbers(*more: str) -> list[str]:
        return [row["body"] for row in run("find", store, "--key", "all", "--json", *more).rows]

    assert numbers() == ["body 1", "body 2", "body 0", "body 3"]
    assert len(run("find", store, "--key", "all", "--json", "--columns", "topic").rows) == 4
    assert numbers("--first") == ["body 0"]
    for name in ("_MOST_HELD", "_MOST_BYTES_HELD", "_QUICK"):
        with monkeypatch.context() as patch:
            patch.setattr(f"rmqstore.cli.find.{name}", 1)
            assert numbers() == [f"body {number}" for number in range(4)]


def test_what_was_found_before_damage_is_printed(damaged: Path) -> None:
    ended = run("find", damaged, "--where", "queue_id = 0", "--option", "max_partition_bytes=1k", "--strict", "--json")
    assert ended.code == 1
    assert [row["body"] for row in ended.rows] == [f"body {number}" for number in range(len(ended.rows))]
    assert ended.rows


def test_people_see_where_a_message_that_was_sent_back_comes_from(tmp_path: Path) -> None:
    properties = pack_properties({"KEYS": "k", "RETRY_TOPIC": "invoices"})
    topics = {"%RETRY%g": 2, "%DLQ%g": 16, "orders": 0, "payments": 3}
    messages = [message(n, topic=topic, reconsume_times=times, properties=properties) for n, (topic, times) in enumerate(topics.items())]
    store = on_disk(tmp_path, healthy(messages)[1]) / "store"
    lines = [line for line in uncolored(run_on_terminal("find", store, "--key", "k").out).splitlines() if line.startswith("2023")]
    assert [line.split("  ")[2] for line in lines] == ["retry 2 of invoices", "dlq of invoices after retry 16", "keys k", "retry 3"]
    assert "origin_topic" not in run("find", store, "--key", "k").out


def test_a_text_is_found_in_bodies_and_in_values_of_properties(store: Path) -> None:
    found = [json.loads(line) for line in run("find", store, "--text", "body 2", "--json", "--columns", "body_text").out.splitlines()]
    assert {row["body_text"] for row in found} == {"body 2", *(f"body {number}" for number in range(20, 30))}
    assert len(run("find", store, "--text", "k31 ", "--json").out.splitlines()) == 1
    assert run("find", store, "--text", "BODY 2").code == 1


def test_many_keys_from_a_file(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text("".join(f"k{number}\r\n" for number in (3, 5, 5000, 31)) + "\n")
    found = run("find", store, "--keys", file, "--key", "k7", "--json", "--columns", "keys").out.splitlines()
    assert sorted(json.loads(line)["keys"][0] for line in found) == ["k3", "k31", "k5", "k7"]
    file.write_text("\n")
    ended = run("find", store, "--keys", file)
    assert ended.code == 2
    assert "it has no key. Write one in each line" in ended.err
