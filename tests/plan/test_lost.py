"""What can be lost after the end of a log: each kind is found in a store, and its sentence says all that is known."""

from __future__ import annotations

import gzip
import pickle
from random import Random
from string import Formatter

import pytest
from support.indexed_stores import indexed
from support.log_ends import checkpoint
from support.queued_stores import dispatched
from support.stores import ZERO, Files, files_of, in_memory, log_of

import native_reader as nr
from native_reader.plan.lost import Lost
from native_reader.sentences.book import BOOK
from native_reader.sentences.losses import LOSSES
from native_reader.testing.records import Message

SIZE, FIRST = 4096, f"store/commitlog/{ZERO}"
LOG = log_of(800, SIZE)
WHOLE, QUEUES = files_of(LOG), dispatched(LOG.placed)
LAST = max(WHOLE)
BEFORE = {name: content for name, content in WHOLE.items() if name != LAST}
CUT = BEFORE | {LAST: WHOLE[LAST][: LOG.placed[-2].offset % SIZE].ljust(SIZE, b"\0")}
JUNK, PACKED = Random(1).randbytes(SIZE), gzip.compress(WHOLE[LAST])
FOREIGN = log_of(3, 1 << 17)
CASES: dict[tuple[str, str], Files] = {
    ("named by queues", "copied before"): CUT | QUEUES,
    ("named by queues", "no file"): BEFORE | QUEUES,
    ("named by queues", "renamed file"): BEFORE | QUEUES | {f"{LAST}.bak": WHOLE[LAST]},
    ("named by queues", "cut segment"): BEFORE | QUEUES | {LAST: WHOLE[LAST][:1000]},
    ("only segment", "packed"): {FIRST: PACKED},
    ("only segment", "archive"): {FIRST: b"x".ljust(257, b"\0") + b"ustar"},
    ("only segment", "begins with zeros"): {FIRST: bytes(SIZE)},
    ("only segment", "begins with text"): {FIRST: b"an old note " * 9},
    ("no segment", "begins with unknown"): {FIRST: JUNK, f"store/commitlog/{SIZE:020}": JUNK},
    ("stray", "packed file"): BEFORE | {f"{LAST}.zip": PACKED},
    ("segments after", "begins with unknown"): BEFORE | {LAST: JUNK},
    ("bytes after", "overwritten"): {FIRST: FOREIGN.segments(tail=JUNK * 20)[0][1]},
    ("named by index", "copied before"): CUT | indexed(LOG.placed),
    ("later checkpoint", "copied before"): CUT | {"store/checkpoint": checkpoint(flushed=2_000_000_000_000)},
}


def lost_of(files: Files) -> Lost:
    memory = in_memory(files)
    (lost,) = nr.open(memory.url).messages(mode="DROPMALFORMED", fail_on_data_loss=False).plan().lost
    return lost


@pytest.mark.parametrize("kinds", CASES, ids=" ".join)
def test_each_kind_is_found_with_its_numbers(kinds: tuple[str, str]) -> None:
    lost = lost_of(CASES[kinds])
    assert (lost.what.kind, lost.why.kind) == kinds
    for said in (lost.what, lost.why):
        assert {name for _, name, _, _ in Formatter().parse(BOOK[said.kind][0]) if name} == dict(said.values).keys()
        shown = [value if isinstance(value, str) else f"{value:,}" for _, value in said.values]
        assert [each for each in shown if each not in lost.text] == []
    assert pickle.loads(pickle.dumps(lost)) == lost
    assert {lost: lost.text}[lost] == lost.text


def test_every_kind_has_a_store() -> None:
    kinds = list(LOSSES)
    assert {what for what, _ in CASES} == set(kinds[kinds.index("named by queues") : kinds.index("packed")])
    whys = set(kinds[kinds.index("packed") : kinds.index("packed segment")])
    assert {why for _, why in CASES} == whys - {"not opened"}  # tests/storage/test_unopened.py


@pytest.mark.parametrize(("ending", "kind", "command"), [("zip", "packed segment", "unzip"), ("bak", "renamed segment", "mv")])
def test_a_gap_says_how_to_get_it_back(ending: str, kind: str, command: str) -> None:
    name = f"{SIZE:020}"
    files = {each: content for each, content in WHOLE.items() if not each.endswith(name)} | {f"store/commitlog/{name}.{ending}": PACKED}
    memory = in_memory(files)
    (gap,) = nr.open(memory.url).messages(fail_on_data_loss=False).plan().gaps
    assert (gap.start, gap.stop, gap.back.kind if gap.back else None) == (SIZE, 2 * SIZE, kind)
    assert gap.how_to_get_back.startswith(f"{name}.{ending} exists: ")
    assert f": {command} {name}.{ending}" in gap.how_to_get_back
    assert gap.description == f"no file contains these offsets. {gap.how_to_get_back}"


def test_records_confirm_each_other_also_if_they_are_in_many_topics() -> None:
    """Of many topics, every third is looked at first. The neighbours of their records are in the others: nothing seemed lost."""
    log = log_of([Message(f"topic-{number % 98:02}", queue_offset=number // 98) for number in range(1000)], SIZE)
    start = next(each.offset for number, each in enumerate(log.placed) if number and each.offset % SIZE == 0 and number % 98 % 3)
    whole = files_of(log) | dispatched(log.placed)
    lost = lost_of(
        {name: bytes(SIZE) if "/commitlog/" in name and int(name[-20:]) >= start else content for name, content in whole.items()}
    )
    assert (lost.start, lost.stop) == (start, log.placed[-1].offset + log.placed[-1].size)
    assert dict(lost.what.values)["records"] == sum(each.offset >= start for each in log.placed)


def test_sentences_agree_with_one_and_with_several() -> None:
    what = lost_of(CUT | QUEUES).what
    several, one = what.text(), what._replace(values=tuple((name, 1) for name, _ in what.values)).text()
    assert several.startswith("2 records in 2 queues are after the end of the log at offset ")
    assert one == "1 record in 1 queue is after the end of the log at offset 1, up to offset 1"
