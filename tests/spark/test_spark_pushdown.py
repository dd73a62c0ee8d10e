"""Filters that Spark pushes down: the same rows as without, and a fault of Spark 4.3 if a frame is used twice."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import pytest
from conditions import leaf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as spark_filters
from pyspark.sql import functions as F
from same import assert_same_rows
from support.effort import WHOLE, at_effort, mostly_long, thinned
from support.golden import FOLDER, OF_EACH_KIND, unpack
from support.golden import STORES as GOLDEN
from support.own_stores import NAMES, STORES
from support.stores import files_of, in_memory, log_of, message, on_disk

import native_reader as nr
import rmqstore_spark
from native_reader.lazy import Scan
from native_reader.options import MessageOptions
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Like, Not, Predicate
from native_reader.testing.records import pack_properties
from rmqstore_spark.pushdown import PushdownReader, predicate_of
from rmqstore_spark.request import LoadRequest

PUSHING = "spark.sql.python.filterPushdown.enabled"
FIRST = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)


@pytest.fixture
def pushing(spark: SparkSession) -> SparkSession:
    spark.conf.set(PUSHING, "true")
    return spark


def pushed(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("rocketmq-store").option("filterPushdown", "true").options(**options).load(str(path))


def plain(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options).load(str(path))


def accepted(frame: DataFrame) -> list[str]:
    """The filters that Spark left to the reader, as its plan shows."""
    told = frame._jdf.queryExecution().executedPlan().toString() + frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )
    found = re.search(r"PushedFilters: \[(.*?)\]", told)
    return [each for each in (found[1] if found else "").split(", ") if each and "IsNotNull" not in each]


FILTERS = {
    "topic = 'T1'": 1,
    "topic IN ('T1', 'T2') AND queue_id = 0": 2,
    "topic <> 'T1'": 1,
    "topic <=> 'T1'": 1,
    "NOT (topic <=> 'T1')": 1,
    "tags IS NULL": 1,
    "tags LIKE 'tag%' AND tags LIKE '%1'": 2,
    "topic LIKE '%1%'": 1,
    "queue_offset >= 3 AND queue_offset < 30": 2,
    "store_timestamp >= TIMESTAMP '2023-11-14 22:13:20.010Z'": 1,
    "body = X'626F6479203037'": 1,
    "msg_id = 'U0007'": 1,
    # What Spark keeps: OR, parts of columns, and conditions without a filter class.
    "topic = 'T1' OR queue_offset = 3": 0,
    "properties['KEYS'] = 'k7 all'": 0,
    "array_contains(keys, 'k7')": 0,
    "upper(topic) = 'T1'": 0,
}


@pytest.mark.parametrize("text", thinned(FILTERS, 9))
def test_each_filter_gives_the_same_rows(pushing: SparkSession, kept: Path, text: str) -> None:
    frame = pushed(pushing, kept).filter(text)
    assert len(accepted(frame)) >= FILTERS[text]
    assert bool(accepted(frame)) == bool(FILTERS[text])
    assert assert_same_rows(frame, plain(pushing, kept).filter(text)) < 40


@pytest.mark.sweep
def test_generated_filters(pushing: SparkSession, odd: Path) -> None:
    random = Random(11)
    frame = plain(pushing, odd, columns="*").cache()
    counts: Counter[str] = Counter()
    tried = at_effort(12, 100)
    for _ in range(tried):
        text = " AND ".join(leaf(random) for _ in range(random.randint(1, 2)))
        mine = pushed(pushing, odd, columns="*").filter(text)
        expected = sorted(row.physical_offset for row in frame.filter(text).select("physical_offset").collect())
        assert sorted(row.physical_offset for row in mine.collect()) == expected, text
        counts.update({"pushed": bool(accepted(mine)), "rows": bool(expected)})
    assert counts["pushed"] > tried / 3
    assert counts["rows"] > tried / 8


@pytest.mark.gate
@pytest.mark.sweep
@pytest.mark.parametrize("name", mostly_long([*NAMES, *GOLDEN], *OF_EACH_KIND))
def test_a_filter_pushed_or_not_gives_the_rows_of_where(pushing: SparkSession, tmp_path: Path, name: str) -> None:
    if name in GOLDEN and not FOLDER.is_dir():
        pytest.skip("there are no golden stores")
    store = unpack(name, tmp_path, STORES if name in NAMES else FOLDER)
    told = {"columns": "topic,queue_id,queue_offset,tags,kind,physical_offset", "failOnMissingTopic": "false"}
    if len(store.log_folders) > 1:
        told["storePathCommitLog"] = ",".join(map(str, store.log_folders))
    texts = [
        "topic = 'Plain' AND queue_id = 1",
        "tags LIKE 'Tag%' AND tags <> 'Tag1'",
        "kind IN ('half', 'op', 'delay')",
        "queue_offset < 2 AND topic > 'P'",
    ]
    for text in texts if WHOLE else Random(name).sample(texts, 1):
        frame = plain(pushing, store.root, **told).filter(text)
        for other in (pushed(pushing, store.root, **told).filter(text), plain(pushing, store.root, where=text, **told)):
            assert_same_rows(frame, other)


def test_a_pushed_filter_prunes(pushing: SparkSession, varied: Path) -> None:
    topic = plain(pushing, varied).groupBy("topic").count().orderBy("count").first()
    assert topic is not None
    frame = pushed(pushing, varied).filter(F.col("topic") == topic.topic)
    assert frame.count() == topic["count"]
    # The number of tasks: all ranges of the log, unless a filter selects some.
    cut = {"maxPartitionBytes": "1m"}
    assert plain(pushing, varied, **cut).filter("physical_offset < 1000").rdd.getNumPartitions() > 3
    assert pushed(pushing, varied, **cut).filter("physical_offset < 1000").rdd.getNumPartitions() == 1


def test_spark_filters_rows_of_damage(pushing: SparkSession, tmp_path: Path) -> None:
    files = files_of(log_of(40))
    name = min(files)
    files[name] = files[name][:500] + bytes(200) + files[name][700:]
    path = on_disk(tmp_path, files) / "store"
    told = {"mode": "PERMISSIVE", "columns": "topic,physical_offset,corrupt_reason"}
    frame = pushed(pushing, path, **told).filter("topic = 'T1'")
    assert accepted(frame) == []
    assert_same_rows(frame, plain(pushing, path, **told).filter("topic = 'T1'"))


def test_if_pushdown_is_off_spark_says_how_to_turn_it_on(spark: SparkSession, kept: Path) -> None:
    spark.conf.unset(PUSHING)
    with pytest.raises(Exception, match=PUSHING.replace(".", r"\.")):
        pushed(spark, kept).filter("topic = 'T1'").count()


# What Spark 4.3.0 does if several queries use one loaded frame. If one of these fails, Spark has fixed it:
# then pushdown can become the default, and docs/filters.md and the option's text must say so.


@pytest.fixture
def thirds(tmp_path: Path) -> Path:
    """Ten messages in each of three topics."""
    return on_disk(tmp_path, files_of(log_of(message(number, topic="abc"[number % 3]) for number in range(30)))) / "store"


def by_topic(frame: DataFrame) -> dict[str, int]:
    return {row.topic: row["count"] for row in frame.groupBy("topic").count().collect()}


def test_spark_still_gives_wrong_rows_if_filters_are_pushed_and_a_frame_is_used_twice(pushing: SparkSession, thirds: Path) -> None:
    frame = pushed(pushing, thirds)
    assert (frame.filter("topic = 'a'").count(), frame.count()) == (10, 10)  # 30 would be right
    frame = pushed(pushing, thirds)
    both = frame.filter("topic = 'a'").union(frame.filter("topic = 'b'"))
    assert by_topic(both) == {"b": 20}  # ten of each would be right
    pushed(pushing, thirds).createOrReplaceTempView("pushed")
    assert pushing.sql("SELECT * FROM pushed WHERE topic = 'a'").count() == 10
    assert pushing.sql("SELECT * FROM pushed").count() == 10
    # If each query loads the frame again, the rows are right.
    assert pushed(pushing, thirds).filter("topic = 'a'").count() == 10
    assert pushed(pushing, thirds).count() == 30
    asked = partial(rmqstore_spark.read, pushing, str(thirds), filterPushdown=True)
    assert (asked().filter("topic = 'a'").count(), asked().count()) == (10, 30)
    assert by_topic(asked().filter("topic = 'a'").union(asked().filter("topic = 'b'"))) == {"a": 10, "b": 10}


@pytest.mark.parametrize("setting", ["true", "false"])
def test_the_default_reader_is_right_in_all_those_cases(spark: SparkSession, thirds: Path, setting: str) -> None:
    spark.conf.set(PUSHING, setting)
    frame = plain(spark, thirds)
    assert (frame.filter("topic = 'a'").count(), frame.count()) == (10, 30)
    assert by_topic(frame.filter("topic = 'a'").union(frame.filter("topic = 'b'"))) == {"a": 10, "b": 10}
    frame.createOrReplaceTempView("plain")
    assert spark.sql("SELECT * FROM plain WHERE topic = 'a'").count() == 10
    assert spark.sql("SELECT * FROM plain").count() == 30
    narrowed = plain(spark, thirds, where="topic IN ('a', 'b')")
    assert by_topic(narrowed.filter("topic = 'a'").union(narrowed)) == {"a": 20, "b": 10}


# One filter at a time, without Spark

TOPIC, MOMENT = ("topic",), ("store_timestamp",)
UNDERSTOOD: list[tuple[spark_filters.Filter, Predicate | None]] = [
    (spark_filters.EqualTo(TOPIC, "a"), Compare(Column("topic"), "=", "a")),
    (spark_filters.EqualNullSafe(TOPIC, None), IsNull(Column("topic"))),
    (spark_filters.EqualNullSafe(TOPIC, "a"), And((Not(IsNull(Column("topic"))), Compare(Column("topic"), "=", "a")))),
    (spark_filters.In(("queue_id",), [1, 2]), In(Column("queue_id"), (1, 2))),
    (spark_filters.Not(spark_filters.IsNull(TOPIC)), Not(IsNull(Column("topic")))),
    (spark_filters.StringStartsWith(TOPIC, "50%_\\"), Like(Column("topic"), "50\\%\\_\\\\%")),
    (spark_filters.LessThan(MOMENT, FIRST), Compare(Column("store_timestamp"), "<", 1_700_000_000_000_000)),
    # Filters that stay with Spark
    (spark_filters.EqualTo(("no_such",), "a"), None),
    (spark_filters.EqualTo(("properties", "x"), "a"), None),
    (spark_filters.EqualTo(TOPIC, 5), None),
    (spark_filters.EqualTo(("queue_id",), True), None),
    (spark_filters.EqualTo(("queue_id",), 1.0), None),
    (spark_filters.LessThan(MOMENT, dt.datetime(2023, 1, 1)), None),
    (spark_filters.In(TOPIC, ["a", None]), None),
    (spark_filters.In(TOPIC, []), None),
    (spark_filters.Not(spark_filters.EqualTo(("no_such",), "a")), None),
    (spark_filters.StringContains(("queue_id",), "1"), None),
]  # fmt: skip


@pytest.mark.parametrize(("told", "meant"), UNDERSTOOD)
def test_one_filter(told: spark_filters.Filter, meant: Predicate | None) -> None:
    assert predicate_of(told) == meant


def test_a_filter_that_spark_pushes_may_name_a_missing_topic(varied: Path) -> None:
    reader = PushdownReader(LoadRequest.of({"path": str(varied), "topic": "orders"}))
    assert list(reader.pushFilters([spark_filters.EqualTo(("topic",), "oders")])) == []
    reader.partitions()


def test_a_prefix_with_wildcards_of_like_is_literal() -> None:
    tags = ["50%_off", "50x_off", "50%xoff", "50\\"]
    memory = in_memory(files_of(log_of(message(number, properties=pack_properties({"TAGS": tag})) for number, tag in enumerate(tags))))
    for prefix, count in (("50%", 2), ("50%_", 1), ("50\\", 1), ("50", 4)):
        found = predicate_of(spark_filters.StringStartsWith(("tags",), prefix))
        assert found is not None
        assert Scan(nr.open(memory.url).stores, MessageOptions(), found).count_rows() == count
