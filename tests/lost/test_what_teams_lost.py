"""What each team lost: rows, texts and answers about keys, compared with what was destroyed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import HOSTILE, run
from support.effort import sampled
from support.indexed_stores import key_of_hash
from support.stores import Files, message, on_disk
from support.verified import beside, healthy

import native_reader as nr
from native_reader.account.states import STATES
from native_reader.layout.index_entry import key_hash
from native_reader.layout.properties import parse
from native_reader.layout.queue_entry import java_hash
from native_reader.lost import Lost, evidence, lost
from native_reader.lost.hashes import java_hashes, key_hashes
from native_reader.lost.keys import ANSWERS
from native_reader.lost.lists import list_lines
from native_reader.lost.rows import COLUMNS
from native_reader.sentences import Said
from native_reader.testing.config import offsets_json
from native_reader.testing.logs import Placed

LOG, WHOLE = healthy(60)
SEGMENTS = sorted(name for name in WHOLE if name.startswith("store/commitlog/"))


def place_of(placed: Placed) -> tuple[str, int, int]:
    return str(placed.message.topic), placed.message.queue_id, placed.message.queue_offset


def zeros(which: int, until: int | None = None) -> Files:
    """The store with zeros in the place of these records."""
    files = dict(WHOLE)
    for placed in LOG.placed[which : which + 1 if until is None else until]:
        name = f"store/commitlog/{placed.segment:020}"
        at = placed.offset - placed.segment
        files[name] = files[name][:at] + bytes(placed.size) + files[name][at + placed.size :]
    return files


def without_segment(number: int) -> Files:
    return {name: content for name, content in WHOLE.items() if name != SEGMENTS[number]}


def without_index(files: Files) -> Files:
    return {name: content for name, content in files.items() if not name.startswith("store/index/")}


def destroyed(files: Files) -> list[Placed]:
    """The records that are not there byte for byte."""
    return [each for each in LOG.placed if bytes_at(files, each) != bytes_at(WHOLE, each)]


def bytes_at(files: Files, placed: Placed) -> bytes:
    begin = placed.offset - placed.segment
    return files.get(f"store/commitlog/{placed.segment:020}", b"")[begin : begin + placed.size]


def lost_of(files: Files, folder: Path, **asked: Any) -> tuple[Lost, list[dict[str, Any]]]:
    """What was found, and the rows of all topics."""
    found = nr.open(on_disk(folder, files) / "store").lost(folder / "lost", **asked)
    assert "_writing" not in {path.name for path in (folder / "lost").iterdir()}
    return found, [row for topic in found.topics for row in rows_in(folder / "lost" / topic.folder / "lost.jsonl")]


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cells_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def offsets_in(rows: Iterable[dict[str, Any]]) -> set[tuple[str, int, int]]:
    numbers = [(row, range(row["first_queue_offset"], row["last_queue_offset"] + 1)) for row in rows]
    return {(row["topic"], row["queue_id"], number) for row, several in numbers for number in several}


def test_a_lost_message_has_a_row_with_all_that_is_still_known(tmp_path: Path) -> None:
    gone, files = LOG.placed[31], zeros(31)
    found, (row,) = lost_of(files, tmp_path)
    topic, queue, number = place_of(gone)
    assert [row[name] for name in COLUMNS[:5]] == [topic, queue, number, number, 1]
    assert (row["state"], row["why"], row["physical_offset"], row["size"]) == ("lost", "entry", gone.offset, gone.size)
    properties = parse(gone.message.properties)
    assert (row["tag_hash"], row["tags"]) == (java_hash(properties["TAGS"]), [properties["TAGS"]])
    keys = [properties["UNIQ_KEY"], *properties["KEYS"].split()]
    assert sorted(each["hash"] for each in row["keys"]) == sorted(key_hash(topic, key) for key in keys)
    neighbours = [each.message.store_timestamp for each in LOG.placed if place_of(each)[:2] == (topic, queue)]
    at = neighbours.index(gone.message.store_timestamp)
    stamps = [f"2023-11-14 22:13:20.{each - 1_700_000_000_000:03}Z" for each in (neighbours[at - 1], neighbours[at + 1])]
    assert [row["first_store_timestamp"], row["last_store_timestamp"]] == stamps
    assert (row["read_by"], row["not_read_by"]) == (["g"], [])  # at 20 of T1
    assert found.topics[0].groups == {("g", "lost"): (1, 0)}
    assert not found.is_whole


@pytest.mark.parametrize(("at", "english", "chinese"), [
    (39, "its offset has passed 2 messages", "消费位点已越过 2 条消息"),
    (0, "its offset has not passed 2 messages", "消费位点未越过 2 条消息"),
    (None, "its offset has passed 1 message, and has not passed 1", "消费位点已越过 1 条消息，未越过 1 条"),
])  # fmt: skip
def test_a_letter_says_only_what_there_is(at: int | None, english: str, chinese: str, tmp_path: Path) -> None:
    """It said: past 1 of these messages, and not past 0."""
    lost = [each for each in LOG.placed if place_of(each)[:2] == place_of(LOG.placed[31])[:2]][4:6]
    topic, queue, number = place_of(lost[1])
    first, last = (LOG.placed.index(each) for each in lost)
    files = zeros(first, last + 1)
    offsets = {f"{topic}@g": {queue: number if at is None else at}}
    files["store/config/consumerOffset.json"] = json.dumps(offsets_json(offsets, 7)).encode()
    lost_of(files, tmp_path)
    for text in ((english, "message.en.txt"), (chinese, "message.zh.txt")):
        assert text[0] in "".join(path.read_text() for path in (tmp_path / "lost").rglob(text[1])), text


DAMAGED: dict[str, Callable[[], Files]] = {
    "one": lambda: zeros(20),
    "several": lambda: zeros(20, 27),
    "file": lambda: without_segment(2),
    "two": lambda: zeros(8, 10) | {name: content for name, content in zeros(40, 44).items() if name == SEGMENTS[-3]},
    "no index": lambda: without_index(zeros(20, 27)),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_the_rows_are_what_was_destroyed(damage: str, tmp_path: Path) -> None:
    files = DAMAGED[damage]()
    found, rows = lost_of(files, tmp_path)
    truth = destroyed(files)
    assert offsets_in(rows) == {place_of(each) for each in truth}
    assert sum(row["messages"] for row in rows) == found.account.lost == len(truth)
    assert {row["size"] for row in rows} == {each.size for each in truth}
    assert all(bool(row["keys"]) == (damage != "no index") for row in rows)
    for topic in found.topics:  # CSV has the same
        folder = tmp_path / "lost" / topic.folder
        cells, lines = cells_in(folder / "lost.csv"), rows_in(folder / "lost.jsonl")
        assert [cell["first_queue_offset"] for cell in cells] == [str(row["first_queue_offset"]) for row in lines]
        assert [cell["keys"].split(" ")[0].partition("@")[0] for cell in cells] == [
            str(([*row["keys"], {"hash": ""}])[0]["hash"]) for row in lines
        ]


@pytest.mark.parametrize("damage", DAMAGED)
def test_each_key_has_a_true_answer(damage: str, tmp_path: Path) -> None:
    """A key of a lost message is possibly lost if the index is there, and is never said to be whole unless another message has it."""
    files = DAMAGED[damage]()
    gone = {each.offset for each in destroyed(files)}
    keys = {f"{kind}{number}": number for number in range(60) for kind in ("k", "U00" if number > 9 else "U000")}
    found, _ = lost_of(files, tmp_path, keys=[*keys, "all", "never sent"])
    answers: dict[str, list[str]] = {}
    for cell in cells_in(tmp_path / "lost" / "keys.csv"):
        answers.setdefault(cell["key"], []).append(cell["answer"])
    for key, number in keys.items():
        lost_answer = "not seen" if damage == "no index" else "possibly lost"
        assert answers[key] == [lost_answer if LOG.placed[number].offset in gone else "whole"]
    assert answers["never sent"] == ["not seen"]
    assert answers["all"] == (["possibly lost"] * len(gone) if damage != "no index" else []) + ["whole"] * (60 - len(gone))
    assert found.keys is not None
    assert sum(found.keys.values()) == 122
    rows = rows_in(tmp_path / "lost" / "keys.jsonl")
    assert [row["key"] for row in rows] == [cell["key"] for cell in cells_in(tmp_path / "lost" / "keys.csv")]
    assert {(row["topic"], row["queue_id"], row["queue_offset"]) for row in rows if row["answer"] == "possibly lost"} <= {
        place_of(each) for each in destroyed(files)
    }


def test_another_key_with_the_hash_of_a_lost_one_is_only_possibly_lost(tmp_path: Path) -> None:
    gone = LOG.placed[31]
    other = key_of_hash(str(gone.message.topic), key_hash(str(gone.message.topic), "k31"))
    found, _ = lost_of(zeros(31), tmp_path, keys=[other, f"{other}x"])
    assert found.keys == {"possibly lost": 1, "not seen": 1}


def test_a_record_with_a_wrong_checksum_still_has_its_key(tmp_path: Path) -> None:
    placed = LOG.placed[31]
    name = f"store/commitlog/{placed.segment:020}"
    content = bytearray(WHOLE[name])
    content[placed.offset - placed.segment + 88] ^= 1
    found, (row,) = lost_of(WHOLE | {name: bytes(content)}, tmp_path, keys=["k31", "k30"])
    assert (row["state"], row["why"], found.keys) == ("lost", "checksum", {"lost": 1, "whole": 1})


def test_what_no_consumer_gets_is_a_range_and_its_keys_are_there(tmp_path: Path) -> None:
    files = {name: content for name, content in WHOLE.items() if "/consumequeue/T1/" not in name}
    found, (row,) = lost_of(files, tmp_path, keys=["k1", "k2"])
    assert (row["state"], row["first_queue_offset"], row["last_queue_offset"], row["messages"]) == ("unreachable", 0, 19, 20)
    assert (row["first_store_timestamp"], row["keys"]) == ("2023-11-14 22:13:20.001Z", [])
    assert found.keys == {"unreachable": 1, "whole": 1}
    text = (tmp_path / "lost" / "T1" / "message.en.txt").read_text()
    assert "Do not send unreachable messages again yet" in text
    assert "Send again" not in text


def test_of_a_whole_store_nothing_is_told_and_the_exit_code_is_0(tmp_path: Path) -> None:
    store = on_disk(tmp_path, WHOLE) / "store"
    ended = run("lost", store, "-o", tmp_path / "lost", "--json")
    assert (ended.code, ended.rows) == (0, [{"folder": str(tmp_path / "lost"), "topics": 0, "states": {"served": 60}, "keys": None}])
    assert sorted(path.name for path in (tmp_path / "lost").iterdir()) == ["store.jsonl", "topics.csv"]
    assert ended.err == f"Messages: 60 served\nno topic has messages that consumers cannot get: {tmp_path / 'lost'}\n"
    (tmp_path / "keys").write_text("k7\n\nk8\n")
    assert run("lost", store, "-o", tmp_path / "all", "--keys", tmp_path / "keys").code == 0
    (tmp_path / "keys").write_text("k7\nk8000\n")
    ended = run("lost", store, "-o", tmp_path / "some", "--keys", tmp_path / "keys")
    assert ended.code == 1
    assert f"Keys: 1 whole, 1 not seen. Each is in {tmp_path / 'some'}/keys.csv\n" in ended.err


@pytest.mark.parametrize(
    "content",
    ["topic,team\nT1,pay\nT?,库存\n", '{"T1": "pay", "T*": "库存"}', '[{"topic":"T1","team":"pay"},{"topic":"T*","team":"库存"}]'],
)
def test_each_team_has_a_folder_and_a_text(content: str, tmp_path: Path) -> None:
    (tmp_path / "owners").write_text(content, encoding="utf-8")
    store = on_disk(tmp_path, without_segment(2)) / "store"
    assert run("lost", store, "-o", tmp_path / "lost", "--owners", tmp_path / "owners").code == 1
    names = {str(path.relative_to(tmp_path / "lost")) for path in (tmp_path / "lost").rglob("*.txt")}
    folders = ("pay", "pay/T1", "库存", "库存/T0", "库存/T2")
    assert names == {f"{folder}/message.{language}.txt" for folder in folders for language in ("en", "zh")}
    text = (tmp_path / "lost" / "库存" / "message.en.txt").read_text(encoding="utf-8")
    assert text.startswith("Messages that consumers cannot get, of 2 topics. Owner: 库存\n")
    assert {cell["topic"]: cell["team"] for cell in cells_in(tmp_path / "lost" / "topics.csv")} == {"T0": "库存", "T1": "pay", "T2": "库存"}


def test_topics_of_nobody_are_in_a_folder_of_their_own(tmp_path: Path) -> None:
    found, _ = lost_of(without_segment(2), tmp_path, owners={"T1": "pay"})
    assert {topic.topic: topic.folder for topic in found.topics} == {"T0": "no-owner/T0", "T1": "pay/T1", "T2": "no-owner/T2"}


def test_the_texts_say_the_same_in_both_languages_and_show_no_content(tmp_path: Path) -> None:
    lost_of(zeros(20, 27), tmp_path)
    for topic in ("T0", "T1", "T2"):
        english, chinese = ((tmp_path / "lost" / topic / f"message.{each}.txt").read_text(encoding="utf-8") for each in ("en", "zh"))
        assert "stored between 2023-11-14" in english
        assert "存储时间在 2023-11-14" in chinese
        assert len(english.splitlines()) == len(chinese.splitlines())
        for text in (english, chinese):
            assert str(tmp_path / "store") in text
            assert "file://" not in text
            assert not any(f"body {number}" in text or f"k{number} " in text or f"U{number:04}" in text for number in range(60))


def test_the_terminal_speaks_chinese(tmp_path: Path) -> None:
    store = on_disk(tmp_path, zeros(31)) / "store"
    (tmp_path / "keys").write_text("k31\nk30\n没有\n", encoding="utf-8")
    ended = run("lost", store, "-o", tmp_path / "lost", "--keys", tmp_path / "keys", "--lang", "zh")
    assert ended.code == 1
    assert "警告：消息：59 条可正常消费，1 条丢失\nT1：1 条丢失\nkey：1 个可能丢失，1 个完好，1 个未发现。" in ended.err


def test_lists_for_people_are_in_their_language_and_those_for_programs_are_not(tmp_path: Path) -> None:
    """A spreadsheet takes a file without the mark for GBK."""
    store = on_disk(tmp_path, zeros(20, 27)) / "store"
    (tmp_path / "keys").write_text("k20\nk30\n", encoding="utf-8")
    for name in ("en", "zh"):
        run("lost", store, "-o", tmp_path / name, "--keys", tmp_path / "keys", "--lang", name)
    english, chinese = ({str(path.relative_to(tmp_path / name)): path for path in (tmp_path / name).rglob("*")} for name in ("en", "zh"))
    assert {*chinese} - {*english} == {"topics.zh.csv", "keys.zh.csv", "T0/lost.zh.csv", "T1/lost.zh.csv", "T2/lost.zh.csv"}
    assert all(path.read_bytes() == chinese[name].read_bytes() for name, path in english.items() if path.suffix in (".csv", ".jsonl"))
    for name in {*chinese} - {*english}:
        assert chinese[name].read_text(encoding="utf-8").startswith("\ufeff")
        told, plain = ([*csv.reader(io.StringIO(chinese[each].read_text("utf-8-sig")))] for each in (name, name.replace(".zh", "")))
        assert len(told) == len(plain) > 1
        assert {len(cells) for cells in told} == {len(told[0])}
    row = cells_in(english["T0/lost.csv"])[0]
    first = next(csv.DictReader(io.StringIO(chinese["T0/lost.zh.csv"].read_text("utf-8-sig"))))
    assert [first[name] for name in ("topic", "队列", "起始位点", "结束位点（含）", "消息数")] == [*row.values()][:5]
    assert (first["状态"], first["依据"]) == ("丢失", "有队列条目指向这条消息")
    assert first["位点已越过的消费组"] == row["read_by"]
    assert [cells["结果"] for cells in csv.DictReader(io.StringIO(chinese["keys.zh.csv"].read_text("utf-8-sig")))] == ["可能丢失", "完好"]
    assert "同样内容的中文清单（UTF-8，带 BOM），可用表格软件打开：`T0/lost.zh.csv`。" in chinese["T0/message.zh.txt"].read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("state", STATES[3:])
def test_each_answer_and_state_has_a_word(state: str) -> None:
    row = {"state": state, "why": "entry", "answer": "whole"}
    assert [*list_lines(("state", "cause"), [row], "zh")][1] == f"{Said(f'state {state}').text('zh')},有队列条目指向这条消息"
    for answer in ANSWERS:
        assert not [*list_lines(("answer",), [row | {"answer": answer}], "zh")][1].isascii()


NAMES = (
    "..",
    ".",
    "-rf",
    "a/../../b",
    "Orders",
    "orders",
    "topics.csv",
    "topics.zh.csv",
    "_writing",
    "x" * 127,
    "x" * 126 + "y",
    "=1+1",
    "%RETRY%g|1",
    "订单",
    *HOSTILE,
)


def test_no_name_of_a_topic_leads_out_of_the_folder_or_to_a_terminal(tmp_path: Path) -> None:
    """Topics that settings know, and that have no queue."""
    log, files = healthy([replace(message(number), topic=name) for number, name in enumerate(NAMES)], deleted=NAMES)
    found, rows = lost_of(files | beside(log, NAMES), tmp_path)
    assert {row["topic"] for row in rows} == set(NAMES)
    assert {path.name for path in tmp_path.iterdir()} == {"store", "lost"}
    folders = {path.relative_to(tmp_path / "lost") for path in (tmp_path / "lost").rglob("*") if path.is_dir()}
    assert len(folders) == len(NAMES)
    assert all(len(folder.parts) == 1 and folder.name.isprintable() and folder.name[0] not in "-." for folder in folders)
    assert len({folder.name.casefold() for folder in folders}) == len(NAMES)
    for path in (tmp_path / "lost").rglob("*"):
        if path.is_file():
            assert path.read_text(encoding="utf-8").replace("\n", "").isprintable() or path.suffix == ".jsonl"
    assert all(
        not value.startswith("=") for topic in found.topics for value in cells_in(tmp_path / "lost" / topic.folder / "lost.csv")[0].values()
    )


def test_a_message_without_a_queue_entry_is_in_a_range(tmp_path: Path) -> None:
    """The queue of T1 has lost its entries there, too: only its neighbours show how many there were."""
    name = next(name for name in WHOLE if "/consumequeue/T1/" in name)
    content = WHOLE[name]
    files = zeros(20, 33) | {name: content[: 7 * 20] + bytes(4 * 20) + content[11 * 20 :]}
    _, rows = lost_of(files, tmp_path)
    assert offsets_in(row for row in rows if row["topic"] == "T1") >= {("T1", 0, number) for number in range(7, 11)}
    (row,) = [row for row in rows if row["why"] == "hole"]
    assert (row["size"], row["physical_offset"], row["keys"], row["tag_hash"]) == (None, None, [], None)


def test_a_rescue_writes_the_same(tmp_path: Path) -> None:
    found, _ = lost_of(without_segment(2), tmp_path)
    nr.open(tmp_path / "store").rescue(tmp_path / "rescued")
    folders = tmp_path / "lost", tmp_path / "rescued" / "lost"
    assert len(found.topics) == 3
    own, rescued = ({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")} for folder in folders)
    assert own == rescued
    assert "- `lost/`: for each topic" in (tmp_path / "rescued" / "rescue.md").read_text()
    name = SEGMENTS[2].removeprefix("store/")
    (tmp_path / "store" / name).write_bytes(WHOLE[SEGMENTS[2]])  # it was found again
    nr.open(tmp_path / "store").rescue(tmp_path / "again")
    assert not (tmp_path / "again" / "lost").exists()


def test_too_many_messages_are_told_as_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MOST", 5)
    files = without_segment(2)
    found, rows = lost_of(files, tmp_path)
    assert offsets_in(rows) == {place_of(each) for each in destroyed(files)}
    assert len(rows) < found.account.lost


def test_topics_without_a_folder_are_in_the_file_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "_MOST_TOPICS", 1)
    found, rows = lost_of(without_segment(2), tmp_path)
    assert len(found.topics) == 1
    others = rows_in(tmp_path / "lost" / "store.jsonl")
    assert sum(row["messages"] for row in [*rows, *others]) == found.account.lost


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-o", "{out}", "--keys", "{empty}"], "it has no key. Write one in each line"),
        (["-o", "{out}", "--keys", "{none}"], "No such file or directory"),
        (["-o", "{out}", "--owners", "{empty}"], "it has no line"),
        (["-o", "{out}", "--owners", "{bad}"], "line 1: expected a pattern of topics and a team"),
        (["-o", "{full}"], "is not empty: it contains"),
        (["-o", "{store}/lost"], "is inside the store"),
        ([], "Missing option '--output'"),
    ],
)
def test_wrong_arguments_exit_with_2_and_write_nothing(arguments: list[str], text: str, tmp_path: Path) -> None:
    store = on_disk(tmp_path, WHOLE) / "store"
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bad").write_text("a,b,c\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    names = {name: tmp_path / name for name in ("out", "empty", "none", "bad", "full", "store")}
    ended = run("lost", store, *(each.format_map(names) for each in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert text in ended.err
    assert not (tmp_path / "out").exists()


def test_owners_that_are_no_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(nr.OptionError, match="owners="):
        nr.open(on_disk(tmp_path, WHOLE) / "store").lost(tmp_path / "lost", owners={"T1": ""})


@sampled(100)
@given(st.lists(st.text(), max_size=9), st.text(max_size=9))
def test_hashes_of_many_texts_are_those_of_each(texts: list[str], topic: str) -> None:
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    topic = topic.encode("utf-8", "ignore").decode()
    hashes = java_hashes(pa.array(texts, pa.string()))
    assert hashes.tolist() == [java_hash(text) for text in texts]
    sizes = np.array([len(text.encode("utf-16-le")) // 2 for text in texts], np.int64)
    assert key_hashes(topic, hashes, sizes).tolist() == [key_hash(topic, text) for text in texts]


def test_the_least_hash_of_java_has_no_sign() -> None:
    """`abs` of it is negative in Java; the index has 0."""
    text = key_of_hash("polygenelubricants", 0)
    assert key_hashes("polygenelubricants", java_hashes(pa.array([text])), np.array([len(text)])).tolist() == [0]
