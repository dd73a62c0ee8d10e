"""The errors a Spark user sees: the last sentence says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, StringType, StructField, StructType
from support.stores import files_of, log_of, on_disk

from native_reader.columns.schema import COLUMNS
from native_reader.errors import StoreError
from native_reader.storage.remote import fs_names
from native_reader.tables import TABLE_NAMES
from rmqstore_spark.source import RocketmqStore


def sentence(work: Callable[[], object]) -> str:
    """The last line of the error, without Spark's own state number and the exception's module."""
    with pytest.raises(PySparkException) as raised:
        work()
    lines = [
        line for line in str(raised.value).splitlines() if line.strip() and not line.strip().startswith(("SQLSTATE", "JVM stacktrace"))
    ]
    return lines[-1].removeprefix("native_reader.errors.").strip()


def refused(spark: SparkSession, path: object, **options: object) -> str:
    """The text of the error from load(), where a user sees it first."""
    return sentence(lambda: spark.read.format("rocketmq-store").options(**options).load(str(path)))


ALL = "python -m rmqstore_spark --options lists all options"
REFUSED = {
    "startingOffset=earliest": f"OptionError: unknown option 'startingoffset'. Did you mean 'startingOffsets'? {ALL}",
    "qxyzzq=1": f"OptionError: unknown option 'qxyzzq'. {ALL}",
    "maxPartitionBytes=lots": "OptionError: maxPartitionBytes='lots' is not a size. Examples: 134217728, '128m', '1g'",
    "maxPartitionBytes=0": "OptionError: maxPartitionBytes must be an integer from 1 to 9223372036854775807, not 0",
    "maxRecordBytes=9000000t": "OptionError: maxRecordBytes='9000000t' is larger than 9223372036854775807 bytes",
    "minPartitions=few": "OptionError: minPartitions must be an integer from 1 to 1000000, not 'few'",
    "minPartitions=0": "OptionError: minPartitions must be an integer from 1 to 1000000, not 0",
    "queueId=3000000000": "OptionError: queueId must be an integer from -2147483648 to 2147483647, not 3000000000",
    "queueId=1,x": "OptionError: queueId must be an integer from -2147483648 to 2147483647, not 'x'",
    "topic=a,,b": "OptionError: topic='a,,b' has an empty name between commas",
    "topicPattern=(": "OptionError: topicPattern='(': invalid regular expression: missing )",
    "startingTimestamp=yesterday": "OptionError: startingTimestamp='yesterday' is not a time. "
    "Examples: '2026-01-31 12:00:00Z', '2026-01-31T12:00:00+08:00', 1769860800000",
    "startingPhysicalOffset=-1": "OptionError: startingPhysicalOffset must be an integer from 0 to 9223372036854775807, not -1",
    "verifyCrc=yes": "OptionError: verifyCrc must be true or false, not 'yes'",
    "mode=FAILSAFE": "OptionError: mode must be one of FAILFAST, DROPMALFORMED, PERMISSIVE, not 'FAILSAFE'. Did you mean 'FAILFAST'?",
    "table=rows": f"OptionError: table must be one of {', '.join(TABLE_NAMES)}, not 'rows'.",
    "table=damages": f"OptionError: table must be one of {', '.join(TABLE_NAMES)}, not 'damages'. Did you mean 'damage'?",
    "columnNameOfCorruptRecord=topic": "SchemaError: columnNameOfCorruptRecord=topic is the name of another column. Choose a new name",
    "maxReadRate=5": "OptionError: maxReadRate must be an integer from 1048576 to 9223372036854775807, not 5",
    "access=believe": "OptionError: access must be one of auto, scan, trust, not 'believe'.",
    "filterPushdown=yes": "OptionError: filterPushdown must be true or false, not 'yes'",
    "timeZone=Asia/Shanghi": "PredicateError: timeZone='Asia/Shanghi' is not a time zone. "
    "Did you mean 'Asia/Shanghai'? Examples: UTC, Europe/Berlin, +08:00 (at most 18:00)",
    "where=tipic = 'a'": f"PredicateError: where: column 'tipic' does not exist. Did you mean 'topic'? All columns: {', '.join(COLUMNS)}, "
    "near \"tipic = 'a'\" (character 1)",
    "timeSkewTolerance=long": "OptionError: timeSkewTolerance='long' is not a duration. Examples: 90s, 10m, 1h, 60000 (milliseconds)",
    "tags=a ||": "OptionError: tags='a ||' has an empty tag. Example: 'paid || refunded'",
    "startingOffsets=soon": "OptionError: startingOffsets='soon' is invalid. It must be 'earliest', or offsets by topic and queue. "
    "Example: {\"orders\": {\"0\": 100, \"1\": 250}}",
    "maxBytesPerTrigger=much": "OptionError: maxBytesPerTrigger='much' is not a size. Examples: 134217728, '128m', '1g'",
    "maxOffsetsPerTrigger=0": "OptionError: maxOffsetsPerTrigger must be an integer from 1 to 9223372036854775807, not 0",
    "tail=flush": "OptionError: tail must be one of available, flushed, confirmed, all, not 'flush'. Did you mean 'flushed'?",
    "fs.s3a.endpoint=x": "OptionError: the option fs.s3a.endpoint is not supported. Did you mean 'fs.endpoint_override'? "
    f"Supported: {', '.join(f'fs.{name}' for name in fs_names())}",
    "fs.region=x": "OptionError: fs options need a path of object storage, such as s3://bucket/store",
}  # fmt: skip


def without_spark(work: Callable[[], object]) -> str:
    """What Spark's worker prints as the last line of its stack."""
    with pytest.raises(StoreError) as raised:
        work()
    return f"{type(raised.value).__name__}: {raised.value}"


@pytest.mark.parametrize("asked", REFUSED)
def test_a_wrong_option_is_rejected_as_soon_as_it_is_read(kept: Path, asked: str) -> None:
    """By `schema`, which load() calls; with a schema from the user, by the reader and its plan."""
    name, _, value = asked.partition("=")
    source = RocketmqStore({name.lower(): value, "path": str(kept)})
    assert without_spark(source.schema) == REFUSED[asked]
    assert without_spark(lambda: source.reader(StructType([StructField("topic", StringType())])).partitions()) == REFUSED[asked]


@pytest.mark.parametrize("asked", ["qxyzzq=1", "columnNameOfCorruptRecord=topic", "where=tipic = 'a'"])
def test_load_rejects_a_wrong_option(spark: SparkSession, kept: Path, asked: str) -> None:
    """One of each class of errors: in Spark, a worker that raised one ends, and the next has to import everything."""
    name, _, value = asked.partition("=")
    assert refused(spark, kept, **{name: value}) == REFUSED[asked]
    frame = spark.read.format("rocketmq-store").schema("topic string").options(**{name: value}).load(str(kept))
    assert sentence(frame.count) == REFUSED[asked]


def test_a_write_is_refused(spark: SparkSession, kept: Path) -> None:
    before = sorted(path.stat().st_mtime_ns for path in kept.rglob("*"))
    writing = spark.range(1).write.format("rocketmq-store")
    for mode in ("append", "overwrite"):
        assert sentence(lambda mode=mode: writing.mode(mode).save(str(kept))).startswith(  # type: ignore[misc]
            "UseError: this source is read-only: a store is never changed. Send messages to a broker"
        )
    assert sorted(path.stat().st_mtime_ns for path in kept.rglob("*")) == before


def rejected(path: Path, **options: str) -> str:
    """The text of the error from load(), as Spark's worker gets it."""
    return without_spark(RocketmqStore({name.lower(): value for name, value in options.items()} | {"path": str(path)}).schema)


def test_options_that_contradict_each_other(spark: SparkSession, kept: Path) -> None:
    said = rejected(kept, startingTimestamp="1700000000001", endingTimestamp="1700000000000")
    assert said == "OptionError: startingTimestamp is after endingTimestamp, so no row can match"
    said = rejected(kept, systemTopics="false", topic="SCHEDULE_TOPIC_XXXX")
    assert said == "OptionError: systemTopics=false hides topic='SCHEDULE_TOPIC_XXXX', so no row can match. Omit one of them"
    said = rejected(kept, table="damage", filterPushdown="true")
    assert said == "OptionError: table=damage does not support the option filterPushdown. Filter after loading"
    said = rejected(kept, table="damage", limitPushdown="true")
    assert said == "OptionError: table=damage does not support the option limitPushdown. Omit it: LIMIT works without"
    said = rejected(kept, table="damage", topic="orders")
    taken = "columns, where, timeZone, verifyCrc, ignoreMissingFiles, maxPartitionBytes, maxRecordBytes, maxReadRate"
    assert said == f"OptionError: table=damage does not support the option topic. Supported options: {taken}. Filter after loading"
    frame = spark.read.format("rocketmq-store").schema("topic string").option("table", "segments").load(str(kept))
    assert sentence(frame.count).startswith("SchemaError: column 'topic' does not exist. All columns: store, segment, ")
    said = rejected(kept, table="segments", columns="stat")
    assert said.startswith("SchemaError: column 'stat' does not exist. Did you mean 'state'? All columns: store, segment, ")
    said = rejected(kept, table="segments", where="recrds > 0")
    assert said.startswith("PredicateError: where: column 'recrds' does not exist. Did you mean 'records'?")
    frame = spark.read.format("rocketmq-store").schema("topic string").option("columns", "body").load(str(kept))
    assert sentence(frame.count) == "OptionError: columns= and .schema(...) request different columns. Omit one of them"


def test_load_rejects_a_wrong_path(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    assert refused(spark, tmp_path / "stor") == f"PathError: {(tmp_path / 'stor').as_uri()} does not exist."
    assert refused(spark, kept.parent / "stor") == f"PathError: {(kept.parent / 'stor').as_uri()} does not exist. Did you mean 'store'?"
    said = sentence(lambda: spark.read.format("rocketmq-store").load())
    assert said.startswith("OptionError: the path is missing. Use .load('/data/store').")
    said = refused(spark, tmp_path, brokerConf=tmp_path / "broker.conf")
    assert said.startswith("PathError: ")
    assert "broker.conf" in said


WRONG_SCHEMAS = {
    "storeTimestamp timestamp": "SchemaError: column 'storeTimestamp' does not exist. Did you mean 'store_timestamp' (timestamp)? All ",
    "qq string": "SchemaError: column 'qq' does not exist. All columns: topic,",
    "topic string, topic string": "SchemaError: column 'topic' is requested twice",
    "topic int": "SchemaError: column 'topic' is string, but the schema has int. Cast it after loading",
    "queue_id bigint": "SchemaError: column 'queue_id' is int, but the schema has bigint. Cast it after loading",
    "properties map<string,binary>": "SchemaError: column 'properties' is map<string,string>, but the schema has map<string,binary>. Cast",
    "store_timestamp timestamp_ntz": "SchemaError: column 'store_timestamp' is timestamp, but the schema has timestamp_ntz. Cast it after",
    "topic string not null": "SchemaError: column 'topic' can be null, but the schema has NOT NULL. Omit NOT NULL",
}


@pytest.mark.parametrize("asked", WRONG_SCHEMAS)
def test_a_schema_that_is_not_supported_is_rejected_by_the_reader(spark: SparkSession, kept: Path, asked: str) -> None:
    """`spark` only parses it."""
    schema = spark.createDataFrame([], asked).schema
    assert without_spark(lambda: RocketmqStore({"path": str(kept)}).reader(schema)).startswith(WRONG_SCHEMAS[asked])


def test_a_schema_that_is_not_supported(spark: SparkSession, kept: Path) -> None:
    asked = "properties map<string,binary>"
    assert sentence(spark.read.format("rocketmq-store").schema(asked).load(str(kept)).count).startswith(WRONG_SCHEMAS[asked])


def test_a_schema_that_differs_only_inside(spark: SparkSession, kept: Path) -> None:
    schema = StructType([StructField("keys", ArrayType(StringType(), containsNull=False))])
    said = sentence(spark.read.format("rocketmq-store").schema(schema).load(str(kept)).count)
    assert said.startswith("SchemaError: column 'keys' is array<string>, but the schema has ")


def test_unknown_columns_in_the_option(spark: SparkSession, kept: Path) -> None:
    said = refused(spark, kept, columns="topic, bodi")
    assert said.startswith("SchemaError: column 'bodi' does not exist. Did you mean 'body'? All columns: topic, queue_id, ")


def test_the_action_reports_damage(spark: SparkSession, tmp_path: Path) -> None:
    log = log_of(30)
    files = files_of(log)
    damaged = bytearray(files["store/commitlog/" + "0" * 20])
    place = log.placed[3].offset
    damaged[place + 4 : place + 8] = b"\xff" * 4
    on_disk(tmp_path, files | {"store/commitlog/" + "0" * 20: bytes(damaged)})
    frame = spark.read.format("rocketmq-store").load(str(tmp_path / "store"))
    with pytest.raises(PythonException):
        frame.count()
    said = sentence(frame.count)
    segment = (tmp_path / "store/commitlog" / ("0" * 20)).as_uri()
    assert said.startswith(f"StoreDamaged: {segment} at offset {place:,} (byte {place:,} of the file): expected a record or the blank")


def test_the_action_reports_a_missing_segment(spark: SparkSession, tmp_path: Path) -> None:
    files = files_of(log_of(40))
    del files["store/commitlog/00000000000000002048"]
    on_disk(tmp_path, files)
    frame = spark.read.format("rocketmq-store").load(str(tmp_path / "store"))
    assert sentence(frame.count) == (
        f"DataLoss: {(tmp_path / 'store').as_uri()}: offsets 2,048 to 4,096 (2,048 bytes) are in no file: a segment is missing or "
        "truncated. Set failOnDataLoss=false to read the rest"
    )
    assert spark.read.format("rocketmq-store").option("failOnDataLoss", "false").load(str(tmp_path / "store")).count() > 0


OF_STREAMS = {
    "maxBytesPerTrigger=1g": "OptionError: maxBytesPerTrigger=1073741824 is supported only in a stream. Omit it: spark.read reads",
    "maxOffsetsPerTrigger=5": "OptionError: maxOffsetsPerTrigger=5 is supported only in a stream. Omit it: spark.read reads",
    "startingOffsets=latest": "OptionError: startingOffsets=latest is supported only in a stream. Omit it, or use spark.readStream",
}


@pytest.mark.parametrize("asked", OF_STREAMS)
def test_options_that_only_a_stream_supports(spark: SparkSession, kept: Path, asked: str) -> None:
    name, _, value = asked.partition("=")
    assert sentence(spark.read.format("rocketmq-store").option(name, value).load(str(kept)).count).startswith(OF_STREAMS[asked])


def test_errors_never_contain_bodies_or_properties(spark: SparkSession, kept: Path) -> None:
    frame = spark.read.format("rocketmq-store").load(str(kept))
    plan = frame._jdf.queryExecution().toString()
    assert "body 1" not in plan
    assert "tag1" not in plan
