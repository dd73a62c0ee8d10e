"""`where` has the same meaning as the same text in Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest
from conditions import ROWS, condition, leaf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from same import assert_same_rows
from support.effort import at_effort, mostly_long

import native_reader as nr
from native_reader.conditions import predicate_of
from native_reader.options import MessageOptions
from native_reader.predicate.tree import Leaf, leaves
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

SMALL = "topic,queue_id,queue_offset,tags,keys,body,store_timestamp,physical_offset"


@pytest.mark.sweep
@pytest.mark.parametrize("zone", mostly_long(["UTC", "Asia/Shanghai"], "Asia/Shanghai"))
def test_where_selects_the_rows_that_spark_selects(spark: SparkSession, odd: Path, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    random = Random(zone)
    frame = spark.read.format("rocketmq-store").option("columns", "*").load(str(odd)).cache()
    store = nr.open(odd)
    some, rounds = 0, at_effort(1, 40)
    for _ in range(rounds):
        texts = [condition(random) for _ in range(150)]
        told = frame.select("physical_offset", *(F.expr(text).alias(f"c{number}") for number, text in enumerate(texts))).collect()
        for number, text in enumerate(texts):
            expected = sorted(row.physical_offset for row in told if row[f"c{number}"])
            found = store.messages(where=text, columns="physical_offset", time_zone=zone).to_table()["physical_offset"].to_pylist()
            assert sorted(found) == expected, text
            some += 0 < len(found) <= ROWS / 2
    assert some > min(25 * rounds, 100)


def test_every_condition_is_among_the_random_ones() -> None:
    random = Random(0)
    tried = [each for _ in range(500) for each in leaves(predicate_of(MessageOptions(where=leaf(random), time_zone="UTC")))]
    assert {type(each).__name__ for each in tried} == {kind.__name__ for kind in Leaf.__subclasses__()}


def _frame(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options, failOnMissingTopic="false").load(str(path))


@pytest.mark.parametrize("seed", mostly_long(range(8), 0, 1))
def test_where_and_filter_give_the_same_frame(spark: SparkSession, odd: Path, varied: Path, seed: int) -> None:
    random, zone = Random(seed), ("UTC", "Asia/Shanghai")[seed % 2]
    spark.conf.set("spark.sql.session.timeZone", zone)
    for path, text in ((odd, condition(random)), (varied, f"{condition(random)} OR topic IN ('orders', 'payments') AND queue_id = 1")):
        asked = _frame(spark, path, where=text, columns=SMALL, timeZone=zone)
        named = "topic,tags,kind,msg_id,born_host,segment,uniq_key,properties,keys,body,queue_id,queue_offset,physical_offset,flag"
        rest = ",sys_flag,record_size,delay_level,inner_index,reconsume_times,store_timestamp,born_timestamp,origin_topic,body_text"
        filtered = _frame(spark, path, columns=named + rest).filter(text).select(*SMALL.split(","))
        assert_same_rows(asked, filtered)


def test_queues_and_filter_give_the_same_frame(spark: SparkSession, varied: Path) -> None:
    text = "topic = 'sessions' AND queue_offset < 40 AND tags IS NOT NULL"
    for access in ("auto", "scan", "trust"):
        asked = _frame(spark, varied, where=text, access=access, columns=SMALL)
        assert_same_rows(asked, _frame(spark, varied, columns=SMALL).filter(text))
        assert asked.count() > 0


@pytest.mark.gate
@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"tags": "created || paid"}, "tags IN ('created', 'paid')"),
        ({"tags": "*"}, "TRUE"),
        ({"keys": "all"}, "array_contains(keys, 'all')"),
        ({"startingOffsets": '{"orders": {"0": 40, "1": -2}}'}, "NOT (topic = 'orders' AND queue_id = 0 AND queue_offset < 40)"),
        ({"endingOffsets": '{"orders": {"0": 40, "1": -1}}'}, "NOT (topic = 'orders' AND queue_id = 0 AND queue_offset >= 40)"),
        ({"startingOffsets": "earliest", "endingOffsets": "latest"}, "TRUE"),
        ({"topicPattern": "ord.*", "queueId": "1,2"}, "topic RLIKE '^ord' AND queue_id IN (1, 2)"),
        ({"timeZone": "Asia/Shanghai", "startingTimestamp": "2026-01-05 16:00:30"}, "store_timestamp >= TIMESTAMP '2026-01-05 08:00:30Z'"),
    ],
    ids=str,
)
def test_shorthands_are_conditions(spark: SparkSession, varied: Path, option: dict[str, str], text: str) -> None:
    both = _frame(spark, varied, **option, columns=SMALL, where="queue_offset >= 0")
    assert_same_rows(both, _frame(spark, varied, columns=SMALL, where=f"({text}) AND queue_offset >= 0"))


def test_an_id_matches_as_clients_show_it(spark: SparkSession, varied: Path) -> None:
    some = _frame(spark, varied, columns="msg_id,uniq_key,offset_msg_id,physical_offset").limit(200).collect()
    for row in (some[0], some[-1]):
        found = _frame(spark, varied, msgId=row.msg_id).select("physical_offset").collect()
        assert row.physical_offset in {each.physical_offset for each in found}
        found = _frame(spark, varied, msgId=row.offset_msg_id.lower()).select("physical_offset").collect()
        assert [each.physical_offset for each in found] == [row.physical_offset]


@pytest.mark.gate
@pytest.mark.parametrize("access", ["auto", "trust", "scan"])
def test_a_key_is_looked_up_by_the_index(spark: SparkSession, varied: Path, access: str) -> None:
    keyed = _frame(spark, varied, columns=SMALL, where="keys IS NOT NULL AND kind = 'normal'").orderBy("physical_offset")
    last = keyed.collect()[-1]
    for told in ({"keys": last["keys"][0], "topic": last.topic}, {"keys": last["keys"][0]}):
        asked = _frame(spark, varied, columns=SMALL, access=access, **told)
        text = f"array_contains(keys, '{last['keys'][0]}')" + (f" AND topic = '{last.topic}'" if "topic" in told else "")
        assert_same_rows(asked, _frame(spark, varied, columns=SMALL).filter(text))
        assert last.physical_offset in {row.physical_offset for row in asked.collect()}
        if "topic" in told and access != "scan":
            assert asked.rdd.getNumPartitions() == 1
            assert nr.open(varied).messages(access=access, **told).plan().lookups[0][1].is_sufficient
    # One slot more than the files have: nothing matches, and only access=trust loses rows.
    if access == "auto":
        wrong = _frame(spark, varied, columns=SMALL, keys=last["keys"][0], topic=last.topic, maxHashSlotNum="1001")
        assert last.physical_offset in {row.physical_offset for row in wrong.collect()}


@pytest.mark.gate
def test_tasks_read_what_a_summary_names(spark: SparkSession, tmp_path: Path) -> None:
    """A topic whose queues are gone, from the driver's plan to the rows of tasks; and with a summary that went between them."""
    write_store(tmp_path / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=256 << 10, deleted="invoices", index=False))
    nr.open(tmp_path / "store").summarize(tmp_path / "summary")
    told: dict[str, str] = {"topic": "invoices", "summary": str(tmp_path / "summary")}
    assert "summary" in {split.access for split in nr.open(tmp_path / "store").messages(**told).plan().splits}  # type: ignore[arg-type]
    expected = _frame(spark, tmp_path / "store", columns=SMALL).filter("topic = 'invoices'").cache()
    assert expected.count() > 10
    asked = _frame(spark, tmp_path / "store", columns=SMALL, **told)
    assert_same_rows(asked, expected)
    known = "topic,queue_id,queue_offset,physical_offset,store_timestamp"  # the summary has them, so tasks do not read the log
    assert_same_rows(_frame(spark, tmp_path / "store", columns=known, **told), expected.select(*known.split(",")))
    shutil.rmtree(tmp_path / "summary")
    (tmp_path / "summary").mkdir()
    assert_same_rows(asked, expected)


def test_a_time_in_the_session_zone_is_never_misread(spark: SparkSession, odd: Path) -> None:
    """Spark's filter uses the session's zone, which a source cannot see. So it is rejected, or given with timeZone."""
    spark.conf.set("spark.sql.session.timeZone", "Asia/Shanghai")
    text = "store_timestamp >= TIMESTAMP '2023-11-15 06:13:50'"
    expected = _frame(spark, odd, columns=SMALL).filter(text)
    assert 0 < expected.count() < ROWS
    for told in ({"where": text}, {"startingTimestamp": "2023-11-15 06:13:50"}):
        with pytest.raises(Exception, match=r"has no time zone\. Write .*\+08:00'?.*, or set timeZone=Asia/Shanghai"):
            _frame(spark, odd, columns=SMALL, **told)
        zone = spark.conf.get("spark.sql.session.timeZone")
        assert_same_rows(_frame(spark, odd, columns=SMALL, timeZone=zone, **told), expected)
