"""Reports: the accounts of splits merge into the account of one pass, in any order, and no byte is lost."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.stores import ZERO, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.records.damages import Damage, Report, SegmentReport
from native_reader.scan.run import Run

SIZE = 1000
SEGMENTS = [f"file:///{folder}/{base:020}" for folder in ("a", "b") for base in (0, SIZE, 2 * SIZE)]


@st.composite
def pieces(draw: st.DrawFn) -> tuple[Report, list[Report]]:
    """The report of one pass, and the reports of its splits: damage may extend across a cut."""
    whole, parts = Report(), []
    for segment in draw(st.lists(st.sampled_from(SEGMENTS), unique=True)):
        base = int(segment.rpartition("/")[2])
        places = sorted(draw(st.sets(st.integers(0, SIZE), max_size=8)) | {0, SIZE})
        kinds = draw(st.lists(st.sampled_from(["records", "damage", "blank", "unwritten", "unread"]), min_size=9, max_size=9))
        account, damage = SegmentReport(segment, base, SIZE), []
        for start, stop, kind in zip(places, places[1:], kinds, strict=False):
            mine = SegmentReport(segment, base, SIZE)
            found: tuple[Damage, ...] = ()
            if kind == "records":
                mine = replace(mine, records=1, record_bytes=stop - start)
            elif kind != "unread":
                mine = replace(mine, **{f"{kind}_bytes": stop - start})
            if kind == "damage":
                found = (Damage(segment, base + start, base + stop, draw(st.sampled_from(("magic", "size", "zeros")))),)
                if damage and damage[-1].end == base + start:
                    damage[-1] = replace(damage[-1], end=base + stop)
                else:
                    damage += found
            account += mine
            parts.append(Report((mine,), found, draw(st.integers(0, 3))))
        whole = Report((*whole.segments, account), (*whole.damage, *damage), 0)
    ordered = tuple(sorted(whole.segments, key=lambda each: each.segment))
    return Report(
        ordered, tuple(sorted(whole.damage, key=lambda each: (each.segment, each.start))), sum(part.rows for part in parts)
    ), parts


@pytest.mark.sweep
@sampled(200)
@given(pieces(), st.randoms(use_true_random=False))
def test_merging_is_associative_and_commutative(drawn, random):
    whole, parts = drawn
    assert Report.merged(parts) == whole
    heap = list(parts)
    while len(heap) > 1:  # any two, in any order, repeatedly
        random.shuffle(heap)
        heap.append(Report.merged((heap.pop(), heap.pop())))
    assert reduce(lambda one, other: Report.merged((one, other)), heap, Report()) == whole
    assert Report.merged((Report(), whole)) == Report.merged((whole, Report())) == whole
    for account in whole.segments:
        assert account.unread_bytes >= 0


def test_damage_on_both_sides_of_a_cut_is_one():
    one, two, three = (
        Damage(SEGMENTS[0], start, stop, anomaly) for start, stop, anomaly in ((0, 5, "magic"), (5, 7, "size"), (7, 9, "zeros"))
    )
    far = Damage(SEGMENTS[0], 10, 11, "blank")
    merged = Report.merged(Report(damage=damage) for damage in ((three,), (far, one), (two,)))
    assert merged.damage == (Damage(SEGMENTS[0], 0, 9, "magic"), far)
    other = replace(two, segment=SEGMENTS[1])
    assert Report.merged((Report(damage=(one,)), Report(damage=(other,)))).damage == (one, other)


# Reports of runs


def accounted(report: Report) -> None:
    for each in report.segments:
        parts = (each.record_bytes, each.blank_bytes, each.damage_bytes, each.unwritten_bytes, each.unread_bytes)
        assert min(parts) >= 0
        assert sum(parts) == each.size


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("split", [150, 700, 1 << 30])
def test_a_whole_run_accounts_for_every_byte(split, jobs):
    log = log_of(50)
    memory = in_memory({f"store/commitlog/{name}": content for name, content in log.files(extra=2).items()})
    run = nr.open(memory.url).messages(max_partition_bytes=split).run(jobs)
    rows = sum(batch.num_rows for batch in run)
    report = run.report
    accounted(report)
    assert (rows, report.rows, sum(each.records for each in report.segments), report.damage) == (50, 50, 50, ())
    assert [each.base for each in report.segments] == [2048 * number for number in range(len(report.segments))]
    assert sum(each.record_bytes for each in report.segments) == sum(placed.size for placed in log.placed)
    assert [each.unwritten_bytes for each in report.segments[-2:]] == [2048, 2048]
    assert all(each.unread_bytes == 0 for each in report.segments)


def test_a_run_that_selects_counts_rows_apart_from_records():
    memory = in_memory()
    scan = nr.open(memory.url).messages(topic="T1", starting_physical_offset=2048)
    run = scan.run()
    rows = sum(batch.num_rows for batch in run)
    accounted(run.report)
    skipped, *looked_at = run.report.segments
    assert (skipped.unread_bytes, skipped.records) == (2048, 0)
    assert run.report.rows == rows < sum(each.records for each in looked_at)
    assert "by physical offset" in str(scan.explain())


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_run_that_stops_early_reports_what_it_did_not_read(jobs):
    memory = in_memory(files_of(log_of(200)))
    run = nr.open(memory.url).messages(max_partition_bytes=700).run(jobs)
    iterator = iter(run)
    next(iterator)
    iterator.close()
    accounted(run.report)
    assert [each.base for each in run.report.segments] == [2048 * number for number in range(len(memory.files))]
    assert run.report.segments[0].records > 0
    assert run.report.segments[-1].unread_bytes == 2048


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_run_that_fails_accounts_for_what_it_read_before(jobs):
    files = files_of(log_of(200))
    broken = bytearray(files[f"store/commitlog/{2048 * 3:020}"])
    broken[500:700] = bytes(200)
    memory = in_memory(files | {f"store/commitlog/{2048 * 3:020}": bytes(broken)})
    run = nr.open(memory.url).messages().run(jobs)
    with pytest.raises(nr.StoreDamaged):
        list(run)
    report = run.report
    accounted(report)
    assert [each.unread_bytes for each in report.segments[:3]] == [0, 0, 0]
    assert report.segments[3].unread_bytes > 1300
    assert len(report.segments) == len(files)


def test_a_run_before_its_first_batch_has_read_nothing():
    memory = in_memory()
    run = nr.open(memory.url).messages().run()
    accounted(run.report)
    assert [each.unread_bytes for each in run.report.segments] == [2048] * 3


def test_a_segment_of_zeros_is_unwritten_and_before_the_end_it_is_damage():
    files = files_of(log_of(50))
    memory = in_memory(files | {f"store/commitlog/{ZERO}": bytes(2048)})
    scan = nr.open(memory.url).messages()
    with pytest.raises(nr.StoreDamaged, match=r"expected a record or the blank that closes a segment, found zeros\. "):
        scan.to_table()
    store = in_memory({f"store/commitlog/{ZERO}": bytes(2048)})
    run = nr.open(store.url).messages(fail_on_data_loss=False).run()
    assert list(run) == []
    assert [each.unwritten_bytes for each in run.report.segments] == [2048]


def test_a_count_reports_the_same_as_a_read():
    memory = in_memory(files_of(log_of([message(number) for number in range(40)])))
    plan = nr.open(memory.url).messages().plan()
    reports = []
    for columns in ((), ("topic",)):
        run = Run(plan, Projection(columns))
        list(run)
        reports.append(run.report)
    assert reports[0] == reports[1]
