"""A rescue saves what can be read, and its page names every loss."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support.command_line import run
from support.exported import json_lines
from support.golden import Golden
from support.locks import held
from support.queued_stores import dispatched, numbered
from support.stores import files_of, in_memory, log_of, message, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.layout.record import HEAD_SIZE
from native_reader.markdown import Document, Table, lines_of, table, text
from native_reader.rescue.page import ranges_in
from native_reader.rescue.rescue import SAVED_COLUMNS
from native_reader.rescue.saved import COLUMNS, OTHERS, SavedQueues
from native_reader.sentences import say
from native_reader.start import Start, may_start
from native_reader.testing.logs import CommitLog
from native_reader.verify.findings import FirstFindings

NAMES = ("orders|x", "<script>alert(1)</script>", "`code`", "a\nb", "[x](http://evil)", "# head", "*b*", "\u202e", "订单")


def damaged(folder: Path, log: CommitLog) -> Path:
    """The store of this log, with zeros over its second record."""
    root = on_disk(folder, files_of(log)) / "store"
    first = sorted((root / "commitlog").iterdir())[0]
    content, record = bytearray(first.read_bytes()), log.placed[1]
    content[record.offset : record.offset + record.size] = bytes(record.size)
    first.write_bytes(content)
    return root


def test_the_page_names_saved_and_lost(tmp_path: Path) -> None:
    store = damaged(tmp_path, log_of([message(number, topic="orders", queue_offset=number) for number in range(40)]))
    done = nr.open(store).rescue(tmp_path / "out")
    assert (done.exported.rows, done.missing, done.is_whole) == (39, 1, False)
    page = (tmp_path / "out" / "rescue.md").read_text()
    assert "- **Saved:** 39 messages of 1 topic, in 1 file." in page
    assert "- **Damaged:** 1 range of the log with " in page
    assert "- **Messages:** 39 whole, but no consumer gets them, 1 lost." in page  # there are no queues
    assert "| orders | 0 | lost | 1 | 1 | its queue offset is between others |" in page
    damage = nr.open(store).table("damage").to_table().to_pylist()
    assert [row["reason"] for row in damage] == ["zeros"]
    assert f"| {damage[0]['start_offset']:,} | {damage[0]['end_offset']:,} | {damage[0]['bytes']:,} | zeros |" in page
    assert json_lines(tmp_path / "out" / "messages" / "_damage.jsonl") == damage
    (queue,) = json_lines(tmp_path / "out" / "queues.jsonl")
    assert (queue["topic"], queue["queue_id"], queue["messages"]) == ("orders", 0, 39)
    account = json_lines(tmp_path / "out" / "account.jsonl")
    lost = [(row["first_queue_offset"], row["last_queue_offset"]) for row in account if row["state"] == "lost"]
    assert lost == [(1, 1)]


def with_wrong_bodies(folder: Path, log: CommitLog, *numbers: int) -> Path:
    """The store of this log, with another byte at the end of the bodies of these records."""
    root = folder / "store" if (folder / "store").exists() else on_disk(folder, files_of(log)) / "store"
    for number in numbers:
        record = log.placed[number]
        segment = max(path for path in (root / "commitlog").iterdir() if int(path.name) <= record.offset)
        content, begin = bytearray(segment.read_bytes()), record.offset - int(segment.name)
        content[begin + HEAD_SIZE] ^= 0x20
        segment.write_bytes(content)
    return root


def test_what_has_a_wrong_checksum_is_saved_apart(tmp_path: Path) -> None:
    """It was dropped: only the damaged ranges named it."""
    log = log_of([message(number, topic="orders", queue_offset=number) for number in range(40)])
    store, wrong = with_wrong_bodies(tmp_path, log, 3, 17), [log.placed[number].offset for number in (3, 17)]
    plain = {row["physical_offset"]: row for row in nr.open(store).messages(columns=SAVED_COLUMNS).to_table().to_pylist()}
    for _ in range(2):  # the second time, it is complete already
        done = nr.open(store).rescue(tmp_path / "out")
        apart = parquet.read_table(tmp_path / "out" / "doubtful").to_pylist()
        assert apart == [plain[offset] for offset in wrong]
        saved = parquet.read_table(tmp_path / "out" / "messages", columns=["physical_offset"])["physical_offset"].to_pylist()
        assert sorted(saved + wrong) == sorted(plain)
        assert (done.exported.rows, done.doubtful and done.doubtful.rows, done.is_whole) == (38, 2, False)
        page = (tmp_path / "out" / "rescue.md").read_text()
        assert "- **Doubtful:** 2 messages with a wrong checksum, in `doubtful/`, not among the saved ones." in page
        assert "- `doubtful/`: the messages with a wrong checksum, as an export of their own." in page


def test_what_is_saved_apart_adds_no_warnings_about_what_is_beside_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = log_of([message(number, topic="orders", queue_offset=number) for number in range(40)])
    nr.open(damaged(tmp_path, log)).rescue(tmp_path / "out")
    zeros = len(caplog.records)
    caplog.clear()
    nr.open(with_wrong_bodies(tmp_path, log, 0, 2, 3)).rescue(tmp_path / "again")
    assert len(caplog.records) == zeros + 3


def test_a_rescue_of_a_mended_store_has_nothing_apart(tmp_path: Path) -> None:
    """Its disk had given other bytes only once, and the folder of the first run would stay."""
    log = log_of([message(number, topic="orders", queue_offset=number) for number in range(40)])
    store = with_wrong_bodies(tmp_path, log, 3)
    nr.open(store).rescue(tmp_path / "out")
    with_wrong_bodies(tmp_path, log, 3)  # the same bit again
    shutil.rmtree(tmp_path / "out" / "messages")
    done = nr.open(store).rescue(tmp_path / "out")
    assert (done.exported.rows, done.doubtful, (tmp_path / "out" / "doubtful").exists()) == (40, None, False)


def test_the_command_says_what_is_saved_apart(tmp_path: Path) -> None:
    store = with_wrong_bodies(tmp_path, log_of(9), 5)
    ended = run("rescue", store, tmp_path / "out", "--json")
    assert (ended.code, json.loads(ended.out)["doubtful"]) == (1, 1)
    assert f"1 message with a wrong checksum saved apart, in {tmp_path / 'out' / 'doubtful'}" in ended.err
    assert "lost: " not in ended.err
    assert ended.err.count("body is wrong") == 1


def test_it_is_asked_once_whether_a_broker_may_be_started_and_at_the_given_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()

    def asks(*of: Any, **named: Any) -> Start:
        asked.append(named["max_read_rate"])
        return may_start(*of, **named)

    monkeypatch.setattr("native_reader.start.answer.may_start", asks)
    done = nr.open(damaged(tmp_path, log_of(40))).rescue(tmp_path / "out", max_read_rate="100m")
    assert asked == [100 << 20]
    assert done.start is not None


def test_each_loss_has_the_store_times_around_it(tmp_path: Path) -> None:
    start = 1_700_000_000_000
    log = log_of([message(number, topic="orders", queue_offset=number, store_timestamp=start + number) for number in range(40)])
    nr.open(damaged(tmp_path, log)).rescue(tmp_path / "out")
    page = (tmp_path / "out" / "rescue.md").read_text()
    assert "| zeros | 2023-11-14 22:13:20.000 | 2023-11-14 22:13:20.002 |  |" in page


def test_the_page_says_what_a_broker_would_keep(tmp_path: Path) -> None:
    log = log_of([message(number, topic="orders", queue_offset=number) for number in range(40)])
    nr.open(damaged(tmp_path, log)).rescue(tmp_path / "out")
    page = (tmp_path / "out" / "rescue.md").read_text()
    offset = log.placed[1].offset
    assert (
        "- **Is it safe to start a broker on this store?** "
        f"better not: it would truncate the log at offset {offset:,} and delete 38 messages after it" in page
    )
    assert "1. Rename the folder of the store" in page
    assert "It then keeps only 1 message, and deletes the others from the copy." in page
    assert "use a producer of RocketMQ" in page


def test_the_page_names_what_queues_have_after_the_log(tmp_path: Path) -> None:
    log, files = healthy(60)
    *whole, last = sorted(files_of(log))
    begin, end = int(last[-20:]), log.placed[-1].offset + log.placed[-1].size
    assert whole
    nr.open(on_disk(tmp_path, {name: files[name] for name in files if name != last}) / "store").rescue(tmp_path / "out")
    page = (tmp_path / "out" / "rescue.md").read_text()
    where = "after the end of the log, to which consume queues or index files still point"
    assert f"- **Missing:** 1 range {where}: {end - begin:,} bytes.\n" in page


def test_the_page_names_all_files(tmp_path: Path) -> None:
    nr.open(on_disk(tmp_path, files_of(log_of(3))) / "store").rescue(tmp_path / "out")
    part = (tmp_path / "out" / "rescue.md").read_text().partition("\n## The files\n")[2].partition("\n## ")[0]
    names = {name.rstrip("/").rpartition("/")[2] for name in re.findall("`(.*?)`", part)} | {"rescue.md"}
    files = {path.name for folder in ("out", "out/messages") for path in (tmp_path / folder).iterdir() if path.suffix != ".parquet"}
    assert names == files


def test_long_descriptions_are_whole() -> None:
    described = "x" * 999
    page = Document(say("title check"), [Table([say("column found")], [(say("text", text=described),)])], [])
    assert list(lines_of(page, "en"))[-1] == f"| {described} |"


def test_everything_is_saved(tmp_path: Path) -> None:
    store = on_disk(tmp_path, files_of(log_of(30))) / "store"
    nr.open(store).rescue(tmp_path / "out")
    saved = parquet.read_table(tmp_path / "out" / "messages")
    names = [
        name for name in nr.open(store).messages(columns="*").schema.names if not name.startswith(("stored_body", "body_text", "corrupt_"))
    ]
    assert saved.column_names == names
    assert saved.sort_by("physical_offset").equals(nr.open(store).messages(columns=names).to_table())


def test_a_rescue_can_be_repeated(tmp_path: Path) -> None:
    store = damaged(tmp_path, log_of(30))
    first, again = (nr.open(store).rescue(tmp_path / "out", jobs=2) for _ in range(2))
    assert first == again
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "account.jsonl",
        "findings.jsonl",
        "lost",
        "messages",
        "queues.jsonl",
        "rescue.md",
    ]


def test_findings_of_the_check_are_on_the_page(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = nr.open(own_store("5.5.0-lost-page").root)
    done = store.rescue(tmp_path / "out")
    checked = store.verify().to_table().to_pylist()
    assert json_lines(tmp_path / "out" / "findings.jsonl") == checked
    page = (tmp_path / "out" / "rescue.md").read_text()
    assert checked
    assert all(f"| {row['severity']} | {row['code']} |" in page for row in checked)
    assert done.problems == sum(row["severity"] != "note" for row in checked)


def test_untrusted_names_cannot_become_markup(tmp_path: Path) -> None:
    log = log_of([message(number, topic=name, version=2) for number, name in enumerate(NAMES)], segment_size=4096)
    nr.open(on_disk(tmp_path, files_of(log)) / "store").rescue(tmp_path / "out")
    page = (tmp_path / "out" / "rescue.md").read_text()
    assert "<script" not in page
    assert "[x](" not in page
    assert "http://evil" not in page
    assert "\u202e" not in page
    assert "订单" in page
    widths = {line.count(" | ") for line in page.splitlines() if re.match(r"\| .*2023-11-14", line)}
    assert widths == {5}


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    memory = in_memory(files_of(log_of(3)))
    with pytest.raises(nr.OptionError, match="is not empty: it contains mine"):
        nr.open(memory.url).rescue(tmp_path / "out")


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    memory = in_memory(files_of(log_of(3)))
    with pytest.raises(nr.StoreError, match=r"/out: cannot create this folder: it is a file\. Choose another$"):
        nr.open(memory.url).rescue(tmp_path / "out")
    with pytest.raises(nr.StoreError, match=r"/in: cannot create this folder: Not a directory\. Choose another$"):
        nr.open(memory.url).rescue(tmp_path / "out" / "in")


def test_a_rescue_is_of_one_store(tmp_path: Path) -> None:
    memories = in_memory(files_of(log_of(3))), in_memory(files_of(log_of(3)))
    with pytest.raises(nr.OptionError, match="a rescue is about one store, and this path has 2: "):
        nr.open([memory.url for memory in memories]).rescue(tmp_path / "out")


@given(st.lists(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 1)), max_size=30), max_size=4))
def test_saved_messages_are_counted_by_queue(batches: list[list[tuple[str, int]]]) -> None:
    saved = SavedQueues()
    log = [message(0, topic=topic, queue_id=queue) for rows in batches for topic, queue in rows]
    if log:
        memory = in_memory(files_of(log_of(log)))
        for batch in nr.open(memory.url).messages(columns=COLUMNS).to_batches():
            saved.add(batch)
    found = {(queue.topic, queue.queue_id): queue.messages for queue in saved.queues()}
    assert found == Counter((each.topic, each.queue_id) for each in log)


def test_many_queues_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_reader.rescue.saved._MOST_QUEUES", 5)
    saved = SavedQueues()
    memory = in_memory(files_of(log_of([message(0, topic=f"t{number}", queue_offset=number) for number in range(20)])))
    for batch in nr.open(memory.url).messages(columns=COLUMNS).to_batches():
        saved.add(batch)
    queues = {(queue.topic, queue.queue_id): queue.messages for queue in saved.queues()}
    assert len(queues) == 6
    assert queues[OTHERS] == 15


def test_text_of_ranges() -> None:
    assert ranges_in([(7, 8), (10, 13)]).text() == "7, 10 to 12"
    assert ranges_in([(number, number + 1) for number in range(0, 16, 2)]).text() == "0, 2, 4, 6, 8 and 3 more ranges"


def test_a_table_in_markdown() -> None:
    assert table(("a", "b"), [("x|y", 1234), ("<z>", None)]) == ["| a | b |", "|---|--:|", r"| x\|y | 1,234 |", r"| &lt;z&gt; |  |"]
    assert text("see http://x.y, www.x.y & file:///x") == r"see http\://x.y, www\.x.y &amp; file:///x"
    assert text("a\nb") == r"a\\u000ab"
    assert len(text("x" * 1000)) < 300


def test_the_page_has_what_doctor_says(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = nr.open(own_store("5.5.0-killed").root)
    store.rescue(tmp_path / "out")
    part = (tmp_path / "out" / "rescue.md").read_text().partition("\n## The store\n")[2].partition("\n## ")[0]
    lines = [line.partition(": ")[0] for line in part.split("\n") if line]
    diagnosis = store.diagnose()
    assert lines == [f"- {label}" for label, _ in diagnosis.lines(str)]
    assert lines[:7] == ["- store", "- version", "- commitlog", "- queues", "- index", "- config", "- state"]
    log = diagnosis.facts["commitlog"]
    assert f"{log['last_store_timestamp']:%Y-%m-%d %H:%M:%S} UTC" in part
    assert "\x0e" not in part


def test_a_check_that_fails_does_not_cost_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise nr.UnreadableError("could not read <the disk>")

    memory = in_memory(files_of(log_of(30)))
    monkeypatch.setattr("native_reader.tables.findings.check_segment", fail)
    done = nr.open(f"{memory.url}/store").rescue(tmp_path / "out")
    assert (done.exported.rows, done.is_whole) == (30, False)
    page = (tmp_path / "out" / "rescue.md").read_text()
    assert "- **Saved:** 30 messages" in page
    assert "The check stopped before its end: could not read &lt;the disk&gt;" in page


def test_a_million_findings_are_not_held_in_memory() -> None:
    found = FirstFindings(200)
    rows = [{"severity": ("note", "warning", "error")[number % 3], "number": number} for number in range(5000)]
    for batch in pa.Table.from_pylist(rows).to_batches(max_chunksize=700):
        found.add(batch)
    assert (found.counts.total(), found.faults) == (5000, 3333)
    assert sum(map(len, found._first.values())) == 600
    assert [row["number"] for row in found.rows] == list(range(2, 600, 3))[:200]


def test_offsets_that_a_running_broker_adds_are_not_called_lost(tmp_path: Path) -> None:
    store = damaged(tmp_path, log_of([message(number, topic="orders", queue_offset=number) for number in range(40)]))
    (store / "lock").write_bytes(b"lock")
    sentence = "A broker uses the store: it is behind with its queues, and offsets after the last saved one can be new messages."
    with held(store / "lock"):
        nr.open(store).rescue(tmp_path / "live")
    assert sentence in (tmp_path / "live" / "rescue.md").read_text()
    nr.open(store).rescue(tmp_path / "rest")
    assert sentence not in (tmp_path / "rest" / "rescue.md").read_text()


def test_what_a_starting_broker_would_do_is_told(tmp_path: Path) -> None:
    log = log_of([message(number, topic="orders", queue_offset=number) for number in range(40)])
    done = nr.open(damaged(tmp_path, log)).rescue(tmp_path / "out")
    assert done.start is not None
    assert (done.start.outcome, done.start.loses, done.start.deleted) == ("better not", True, 38)


def test_the_first_file_was_removed_and_said_to_be_expired(tmp_path: Path) -> None:
    """The page said: no loss found. But no file expires within seconds, and a broker that deletes one deletes its queue files, too."""
    log = log_of(numbered(map(message, range(60))), 2048)
    files = files_of(log) | dispatched(log.placed, file=4000)
    first = sorted(name for name in files if name.startswith("store/commitlog/"))[0]
    root = on_disk(tmp_path, {name: content for name, content in files.items() if name != first}) / "store"
    store, gone = nr.open(root), sum(each.offset < 2048 for each in log.placed)
    done = store.rescue(tmp_path / "rescued")
    assert (done.missing, done.is_whole) == (gone, False)
    page = Path(done.page).read_text(encoding="utf-8")
    assert f"- **Messages:** {60 - gone} served, at least {gone} lost." in page
    ended = run("rescue", root, tmp_path / "again")
    assert (ended.code, f"Messages: {60 - gone} served, at least {gone} lost\n" in ended.err) == (1, True)


def test_a_store_whose_log_is_whole_and_whose_queue_is_wrong_is_not_whole(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))
    queue = min((store / "consumequeue" / "Plain" / "0").iterdir())
    with queue.open("r+b") as file:
        file.seek(20 + 8)
        file.write(struct.pack(">i", 7))
    rescued = nr.open(store).rescue(tmp_path / "rescued")
    assert (rescued.exported.is_damaged, rescued.missing, rescued.problems > 0) == (False, 0, True)
    assert not rescued.is_whole


def test_ranges_in_chinese() -> None:
    assert ranges_in([(7, 8), (10, 13)]).text("zh") == "7、10 至 12"
