"""Two stores compared: each difference that was made is found, and no other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.golden import Golden
from support.slaves import batch
from support.stores import Files, files_of, log_of, message, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.compare.lacking import steps
from native_reader.testing.records import Message, pack_properties

Rows = list[dict[str, Any]]


def store_of(root: Path, messages: Iterable[Message], **log: Any) -> Path:
    return on_disk(root, files_of(log_of(messages, **log))) / "store"


def found(a: Path, b: Path, **options: Any) -> tuple[nr.Diff, Rows]:
    diff = nr.diff(a, b, **options)
    return diff, diff.to_table().to_pylist()


def keys(rows: Rows) -> list[tuple[str, str, str]]:
    return sorted((row["only_in"], row["difference"], row["uniq_key"]) for row in rows)


def all_rows(path: Path, **options: Any) -> Rows:
    return nr.open(path).messages(columns="physical_offset,record_size,uniq_key", mode="DROPMALFORMED", **options).to_table().to_pylist()


def changed(files: Files, name: str, change: Callable[[bytearray], None]) -> Files:
    content = bytearray(files[name])
    change(content)
    return files | {name: bytes(content)}


def test_a_store_is_the_same_as_itself_and_its_copy(tmp_path: Path) -> None:
    a, b = (store_of(tmp_path / name, map(message, range(40))) for name in "ab")
    diff, rows = found(a, b)
    assert (rows, diff.is_same, diff.parted_at, diff.counts) == ([], True, None, {})
    assert list(diff.lines())[-2:] == [
        f"40 records ({sum(r['record_size'] for r in all_rows(a)) / 1024:.1f} KiB) are equal, at the same offsets",
        "no differences in what was compared: heads, tags, unique keys, and bodies by their checksums",
    ]


def test_what_a_slave_that_is_late_lacks_is_newer_and_what_it_kept_is_older(tmp_path: Path) -> None:
    whole = files_of(log_of(60))
    names = sorted(whole)
    a = on_disk(tmp_path / "a", {name: whole[name] for name in names[2:]}) / "store"
    b = on_disk(tmp_path / "b", {name: whole[name] for name in names[:-1]}) / "store"
    diff, rows = found(a, b)
    first, last = int(Path(names[2]).name), int(Path(names[-1]).name)
    older = [("b", "older", row["uniq_key"]) for row in all_rows(b) if row["physical_offset"] < first]
    newer = [("a", "newer", row["uniq_key"]) for row in all_rows(a) if row["physical_offset"] >= last]
    assert keys(rows) == sorted(older + newer)
    assert diff.counts == {("b", "older"): len(older), ("a", "newer"): len(newer)}
    assert (diff.parted_at, diff.is_same) == (None, False)
    assert f"{len(newer)} messages are only in a: newer than the other log" in list(diff.lines())


def test_a_damaged_record_is_missing(tmp_path: Path) -> None:
    whole = files_of(log_of(30))
    name, at = min(whole), all_rows(on_disk(tmp_path / "a", whole) / "store")[3]["physical_offset"]

    def destroy(content: bytearray) -> None:
        content[at + 4 : at + 8] = bytes(4)

    b = on_disk(tmp_path / "b", changed(whole, name, destroy)) / "store"
    diff, rows = found(tmp_path / "a/store", b)
    assert keys(rows) == [("a", "missing", "U0003")]
    assert diff.parted_at is None


def test_a_record_with_another_checksum_is_changed_in_both(tmp_path: Path) -> None:
    a = store_of(tmp_path / "a", map(message, range(30)))
    b = store_of(tmp_path / "b", (message(number, **({"body": b"BODY 7"} if number == 7 else {})) for number in range(30)))
    diff, rows = found(a, b)
    assert keys(rows) == [("a", "changed", "U0007"), ("b", "changed", "U0007")]
    assert diff.parted_at is None


def test_logs_that_part_are_compared_by_key_after_that(tmp_path: Path) -> None:
    """As after a failover: some messages of the old master were sent again to the new one, others never reached it."""
    old = [message(number) for number in range(30)]
    new = [message(number) for number in range(20)] + [message(number, topic="T9") for number in (40, 41)]
    new += [message(number, store_timestamp=1_700_000_000_500 + number) for number in (22, 25)]
    a, b = store_of(tmp_path / "a", old), store_of(tmp_path / "b", new)
    diff, rows = found(a, b)
    lacking = [("a", "parted", f"U00{number}") for number in range(20, 30) if number not in (22, 25)]
    assert keys(rows) == sorted([*lacking, ("b", "parted", "U0040"), ("b", "parted", "U0041")])
    assert diff.parted_at == sum(row["record_size"] for row in all_rows(a)[:20]) + _blanks(all_rows(a)[:20])
    assert any(line.startswith(f"the logs part at offset {diff.parted_at:,}") for line in diff.lines())


def test_a_message_from_before_the_parting_that_was_sent_again_to_one_log_is_only_there(tmp_path: Path) -> None:
    both = [message(number) for number in range(20)]
    a = store_of(tmp_path / "a", [*both, *map(message, range(20, 30))])
    b = store_of(tmp_path / "b", [*both, *(message(number, store_timestamp=1_700_000_000_500 + number) for number in (5, *range(20, 30)))])
    assert keys(found(a, b)[1]) == [("b", "parted", "U0005")]


def _blanks(rows: Rows) -> int:
    return int(rows[-1]["physical_offset"]) + int(rows[-1]["record_size"]) - sum(row["record_size"] for row in rows)


def test_logs_that_share_no_record_are_compared_by_key(tmp_path: Path) -> None:
    a = store_of(tmp_path / "a", [message(number) for number in range(10)])
    b = store_of(tmp_path / "b", [message(number, queue_offset=99 - number) for number in (50, 9, 3, 8, 7, 6, 5, 4, 2, 1)])
    diff, rows = found(a, b)
    assert keys(rows) == [("a", "missing", "U0000"), ("b", "missing", "U0050")]
    assert any("no record at the same offset" in line for line in diff.lines())


def test_the_same_id_with_another_body_or_topic_is_another_message(tmp_path: Path) -> None:
    a = store_of(tmp_path / "a", [message(1), message(2), message(3)])
    b = store_of(tmp_path / "b", [message(9), message(1, topic="other"), message(2, body=b"other"), message(3)])
    assert keys(found(a, b)[1]) == [
        *(("a", "missing", f"U000{number}") for number in (1, 2)),
        *(("b", "missing", f"U000{number}") for number in (1, 2, 9)),
    ]


def test_each_message_of_a_missing_inner_batch_is_a_row(tmp_path: Path) -> None:
    messages = [message(1), batch(5, 3), message(2), message(3)]
    a = store_of(tmp_path / "a", messages, segment_size=16384)
    b = store_of(tmp_path / "b", messages[:1], segment_size=16384)
    rows = found(a, b)[1]
    assert [row["inner_index"] for row in rows] == [0, 1, 2, None, None]
    assert found(a, a)[1] == []


def test_an_empty_store_lacks_all(tmp_path: Path) -> None:
    a = store_of(tmp_path / "a", [message(1)])
    (tmp_path / "b/commitlog").mkdir(parents=True)
    diff, rows = found(a, tmp_path / "b")
    assert [row["only_in"] for row in rows] == ["a"]
    assert found(tmp_path / "b", tmp_path / "b")[0].is_same
    assert not any("no record at the same offset" in line for line in diff.lines())


@pytest.mark.parametrize("seed", range(6))
def test_any_damaged_records_are_those_that_are_missing(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    whole = files_of(log_of(50))
    on_disk(tmp_path / "whole", whole)
    placed = all_rows(tmp_path / "whole/store")
    kept: list[set[int]] = []
    for name in "ab":
        lost = {row for row in range(len(placed) - 1) if draw.random() < 0.2}
        files = {path: bytearray(content) for path, content in whole.items()}
        for row in lost:
            at = placed[row]["physical_offset"]
            base = at // 2048 * 2048
            files[f"store/commitlog/{base:020}"][at - base + 4] ^= 0xFF
        on_disk(tmp_path / name, {path: bytes(content) for path, content in files.items()})
        kept.append({row["physical_offset"] for row in all_rows(tmp_path / name / "store")})
    rows = found(tmp_path / "a/store", tmp_path / "b/store", max_partition_bytes=700)[1]
    assert {row["physical_offset"] for row in rows if row["only_in"] == "a"} == kept[0] - kept[1]
    assert {row["physical_offset"] for row in rows if row["only_in"] == "b"} == kept[1] - kept[0]
    assert len(rows) == len(kept[0] ^ kept[1])


def test_conditions_select_what_is_compared(tmp_path: Path) -> None:
    a, b = store_of(tmp_path / "a", map(message, range(30))), store_of(tmp_path / "b", map(message, range(20)))
    assert {row["topic"] for row in found(a, b, topic="T1")[1]} == {"T1"}
    assert keys(found(a, b, keys="k25")[1]) == [("a", "missing", "U0025")]  # no selected record is in both
    assert found(a, b, where="uniq_key = 'U0003'")[0].is_same


def test_a_real_store_and_its_copy_without_the_end(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = own_store("5.5.0-killed").root
    segments = sorted((Path(store) / "commitlog").iterdir())
    on_disk(tmp_path / "copy", {f"commitlog/{each.name}": each.read_bytes() for each in segments[:2]})
    _, rows = found(Path(store), tmp_path / "copy")
    wanted = [row for row in all_rows(Path(store)) if row["physical_offset"] >= int(segments[2].name)]
    assert [row["physical_offset"] for row in rows] == [row["physical_offset"] for row in wanted]
    assert {row["difference"] for row in rows} == {"newer"}
    assert found(Path(store), Path(store))[0].is_same


@pytest.mark.parametrize("seed", range(20))
def test_steps_have_all_rows_of_both_in_ranges_that_do_not_overlap(seed: int) -> None:
    draw = random.Random(seed)
    logs = [sorted(draw.choices(range(30), k=draw.randrange(25))) for _ in range(2)]
    schema = pa.schema([("physical_offset", pa.int64())])

    def batches(log: list[int]) -> Iterator[pa.RecordBatch]:
        while log:
            count = draw.randrange(4)
            yield pa.record_batch([pa.array(log[:count], pa.int64())], schema=schema)
            log = log[count:]

    taken = [[table["physical_offset"].to_pylist() for table in pair] for pair in steps(schema, *map(batches, logs))]
    assert [list(chain.from_iterable(pair[side] for pair in taken)) for side in range(2)] == logs
    ranges = [(min(one + other), max(one + other)) for one, other in taken]
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


def test_mistakes_are_named(tmp_path: Path) -> None:
    a = store_of(tmp_path / "a", [message(1)])
    store_of(tmp_path / "b", [message(1)])
    with pytest.raises(nr.OptionError, match="a comparison is about one store, and this path has 2"):
        nr.diff(a, tmp_path / "*/store")
    with pytest.raises(nr.OptionError, match=r"a comparison does not support the option 'topik'\. Did you mean 'topic'"):
        nr.diff(a, a, topik="x")
    with pytest.raises(nr.UseError, match="Read all rows first"):
        assert nr.diff(a, a).is_same
    assert "Not read yet" in repr(nr.diff(a, a))


def test_a_body_that_differs_was_no_difference_while_its_checksum_was_not_computed(tmp_path: Path) -> None:
    whole = files_of(log_of(30))
    name = min(whole)
    row = (
        nr.open(on_disk(tmp_path / "a", whole) / "store").messages(columns="physical_offset,uniq_key,stored_body").to_table().to_pylist()[4]
    )

    def change(content: bytearray) -> None:
        at = bytes(content).index(row["stored_body"], row["physical_offset"])
        content[at] ^= 1

    b = on_disk(tmp_path / "b", changed(whole, name, change)) / "store"
    diff, rows = found(tmp_path / "a/store", b)
    assert keys(rows) == [("a", "missing", row["uniq_key"])]
    diff, rows = found(tmp_path / "a/store", b, heads=True)
    assert (rows, list(diff.lines())[-2:]) == (
        [],
        [
            "heads compared: bodies were not checked against their checksums, and the states of messages were not counted",
            "no differences in the heads",
        ],
    )


@pytest.mark.parametrize("changes", [{"properties": pack_properties({"TAGS": "TagsB", "UNIQ_KEY": "U0007"})}, {"flag": 9}])
def test_other_tags_or_flags_are_a_change(tmp_path: Path, changes: dict[str, Any]) -> None:
    tagged = {"properties": pack_properties({"TAGS": "TagsA", "UNIQ_KEY": "U0007"})}
    a = store_of(tmp_path / "a", (message(number, **(tagged if number == 7 else {})) for number in range(30)))
    b = store_of(tmp_path / "b", (message(number, **({**tagged, **changes} if number == 7 else {})) for number in range(30)))
    assert {row["difference"] for row in found(a, b)[1]} == {"changed"}
    assert found(a, b, heads=True)[0].is_same


def test_rows_did_not_say_in_which_state_a_message_is(tmp_path: Path) -> None:
    """In a copy with a damaged record, a lost end and a queue that lacks an entry."""
    files = dict(healthy(60)[1])
    master = on_disk(tmp_path / "a", files) / "store"
    rows = all_rows(master)
    hit, last = rows[5]["physical_offset"], sorted(name for name in files if name.startswith("store/commitlog/"))[-1]
    segment = max(name for name in files if name.startswith("store/commitlog/") and int(name[-20:]) <= hit)
    files = changed(
        files, segment, lambda content: content.__setitem__(slice(hit - int(segment[-20:]), hit - int(segment[-20:]) + 60), bytes(60))
    )
    del files[last]
    slave = on_disk(tmp_path / "b", files) / "store"
    diff, lacking = found(master, slave)
    assert {(row["difference"], row["state"], row["other_state"]) for row in lacking} == {
        ("missing", "served", "lost"),
        ("newer", "served", "lost"),
    }
    assert sum(row["other_state"] == "lost" for row in lacking) == diff.accounts[1].messages["lost"]
    diff, lacking = found(slave, master)
    assert {row["other_state"] for row in lacking} == {"lost"}
    assert {row["state"] for row in found(master, slave, heads=True)[1]} == {None}
