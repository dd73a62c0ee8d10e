"""User mistakes, and the text for each: what is wrong, where, and what to do. No mistake passes in silence."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from rmqstore_spark.columns import spark_schema
from rmqstore_spark.options import in_sparks_words
from rmqstore_spark.reader import StoreReader
from rmqstore_spark.request import LoadRequest
from rmqstore_spark.source import RocketmqStore
from rmqstore_spark.stream import StoreStreamReader

ID = "0A014917770D3AA694FA16514EA25FC5"
SECONDS, MILLISECONDS = 1_767_225_600, 1_767_225_600_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with queues, an index and a configuration; `orders` has six queues."""
    folder = tmp_path_factory.mktemp("mistakes")
    write_store(folder / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 19, max_hash_slot_num=1000, max_index_num=4000))
    (folder / "store.tar.gz").write_bytes(b"\x1f\x8b")
    (folder / "backup").mkdir()
    (folder / "backup" / ("0" * 20 + ".gz")).write_bytes(b"\x1f\x8b")
    (folder / "empty").mkdir()
    return folder / "store"


# Rejected in Python

REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "text without a zone": (
        {"starting_timestamp": "2026-01-05 16:00:00"},
        "starting_timestamp='2026-01-05 16:00:00' has no time zone. Write '2026-01-05 16:00:00Z' (UTC) or '2026-01-05 16:00:00+08:00', "
        "or set time_zone=Asia/Shanghai",
    ),
    "a day without a zone": ({"ending_timestamp": "2026-01-05"}, "has no time zone. Write '2026-01-05 00:00:00Z' (UTC) or '2026"),
    "a datetime without a zone": ({"starting_timestamp": datetime(2026, 1, 5)}, "has no time zone. Write datetime(..., tzinfo=UTC), or"),
    "a moment of where without a zone": (
        {"where": "store_timestamp >= TIMESTAMP '2026-01-05 16:00:00'"},
        "where: TIMESTAMP '2026-01-05 16:00:00' has no time zone. Write TIMESTAMP '2026-01-05 16:00:00Z' (UTC) or '2026",
    ),
    "a misspelt zone": ({"time_zone": "Asia/Shanghi"}, "is not a time zone. Did you mean 'Asia/Shanghai'? Examples: UTC,"),
    "a city alone": ({"time_zone": "Shanghai"}, "time_zone='Shanghai' is not a time zone. Did you mean 'Asia/Shanghai'?"),
    "seconds": ({"starting_timestamp": SECONDS}, f"={SECONDS}: these look like seconds. Did you mean milliseconds: {MILLISECONDS}?"),
    "microseconds": ({"starting_timestamp": MILLISECONDS * 1000}, f"look like microseconds. Did you mean milliseconds: {MILLISECONDS}?"),
    "nanoseconds": ({"ending_timestamp": MILLISECONDS * 10**6}, f"look like nanoseconds. Did you mean milliseconds: {MILLISECONDS}?"),
    "an end of many nines": ({"ending_timestamp": 9_999_999_999_999}, "in the years 2010 to 2099. Omit it for no bound. Write other years"),
    "a word for a moment": ({"starting_timestamp": "yesterday"}, "is not a time. Examples: '2026-01-31 12:00:00Z'"),
    "the end before the beginning": (
        {"starting_timestamp": MILLISECONDS, "ending_timestamp": MILLISECONDS - 1},
        "starting_timestamp is after ending_timestamp, so no row can match",
    ),
    "a kind that is another's name": ({"where": "kind = 'dead'"}, "kind 'dead' does not exist. Did you mean 'dlq'? All kinds: prepared,"),
    "a misspelt kind": ({"where": "kind IN ('normal', 'dellay')"}, "kind 'dellay' does not exist. Did you mean 'delay'?"),
    "a kind in capitals": ({"where": "NOT kind != 'DLQ'"}, "kind 'DLQ' does not exist. Did you mean 'dlq'?"),
    "a misspelt option": ({"topics": "orders"}, "unknown option 'topics'. Did you mean 'topic'?"),
    "Spark's spelling": ({"startingTimestamp": 0}, "unknown option 'startingTimestamp'. Did you mean 'starting_timestamp'?"),
    "a misspelt column": ({"columns": "topic,boddy"}, "column 'boddy' does not exist. Did you mean 'body'?"),
    "a misspelt column of where": ({"where": "tipic = 'a'"}, "column 'tipic' does not exist. Did you mean 'topic'?"),
    "a number as text": ({"queue_id": "3"}, "queue_id must be an integer from"),
    "text for a number of where": ({"where": "queue_id = '3'"}, "queue_id is an integer, but is compared with text"),
    "keys with =": ({"where": "keys = 'k1'"}, "Use array_contains(keys, 'x')"),
    "= NULL": ({"where": "tags = NULL"}, "a comparison with NULL is never true. Write IS NULL"),
    "a function": ({"where": "lower(topic) = 'a'"}, "expected a column"),
    "a quote left open": ({"where": "topic = 'a"}, "where: invalid SQL, near"),
    "no topic at all": ({"topic": []}, "topic must not be an empty list"),
    "no regular expression": ({"topic_pattern": "ord("}, "topic_pattern='ord(': invalid regular expression: missing )"),
    "an empty tag": ({"tags": "a ||"}, "has an empty tag. Example: 'paid || refunded'"),
    "two keys as one": ({"keys": "k1 all"}, "no message has the key 'k1 all', because RocketMQ separates the keys of a message by spaces."),
    "offsets without queues": ({"starting_offsets": {"orders": 5}}, 'Example: {"orders": {"0": 100, "1": 250}}'),
    "a size in words": ({"max_partition_bytes": "lots"}, "is not a size. Examples: 134217728, '128m', '1g'"),
    "a misspelt mode": ({"mode": "DROPMALFORMD"}, "Did you mean 'DROPMALFORMED'?"),
    "a text for a flag": ({"verify_crc": "true"}, "verify_crc must be True or False, not 'true'"),
}  # fmt: skip

# Requests that may be right: a warning if nothing matches, or more than was probably intended

DOUBTED: dict[str, tuple[dict[str, object], str]] = {
    "a misspelt topic": ({"topic": "oders"}, "no record of topic 'oders'; did you mean 'orders'?"),
    "a topic in other case": ({"topic": "Orders"}, "no record of topic 'Orders'; did you mean 'orders'?"),
    "a star for topics": ({"topic": "ord*"}, "no record of topic 'ord*'; did you mean topic_pattern='ord.*'?"),
    "topics with a comma": ({"topic": "orders,payments"}, "did you mean topic=['orders', 'payments']?"),
    "one topic of two is misspelt": ({"topic": ["orders", "oders"]}, "topic 'oders' is not in the consume queues or the configuration"),
    "a misspelt topic of where": (
        {"where": "topic = 'oders' AND queue_id = 0"},
        "no row matches: topic 'oders' is not in the consume queues or the configuration",
    ),
    "tags with a comma": ({"tags": "TagA,TagB"}, "tags='TagA,TagB' is one tag that contains a comma. Did you mean tags='TagA || TagB'?"),
    "a queue that a topic has not": ({"topic": "orders", "queue_id": 99}, "queue_id=99: topic 'orders' has no queue with this number"),
    "a queue that no topic has": ({"queue_id": 99}, "queue_id=99: the store has no queue with this number; the largest number is 17"),
    "no id": ({"msg_id": "xyz"}, "msg_id='xyz' does not look like an id (32 or 56 hex digits"),
    "half an id": ({"msg_id": ID[:20]}, f"msg_id='{ID[:20]}' does not look like an id"),
    "an id of where in small letters": ({"where": f"msg_id = '{ID.lower()}'"}, f"ids are in upper case. Write '{ID}', or use msg_id="),
    "offsets of a misspelt topic": (
        {"starting_offsets": {"oders": {0: 5}}},
        "topic 'oders' does not exist, so its offsets have no effect. Did you mean",
    ),
    "offsets of a queue that is not there": ({"ending_offsets": {"orders": {77: 5}}}, "topic 'orders' has no queue 77, so its offset"),
}  # fmt: skip

USED: dict[str, tuple[Callable[[nr.Scan], object], str]] = {
    "iterated": (iter, "Use .to_batches() for batches, .to_table().to_pylist() for rows"),
    "its length": (len, "Use .count_rows() for rows, len(scan.schema) for columns"),
    "a column in brackets": (lambda scan: scan["topic"], "Select columns with .messages(columns='topic,body')"),
    "as pandas does": (lambda scan: scan.to_pandas(), "Use .to_table().to_pandas()"),
    "as Spark does": (lambda scan: scan.show(), "Use .head(10)"),
    "polars.scan_pyarrow_dataset": (lambda scan: scan.to_table(columns=["topic"], filter=None), "or .to_pyarrow_dataset()"),
    "as Polars does": (lambda scan: scan.lazy(), "Use .to_polars()"),
    "head of a dataset": (lambda scan: scan.head(5, columns=["topic"]), "Use .messages(columns=..., where=...)"),
    "head of less than nothing": (lambda scan: scan.head(-1), "head must be an integer from 0"),
}

OPENED = {
    "no path": ("", "does not exist"),
    "a misspelt path": ("stor", "does not exist. Did you mean 'store'?"),
    "an archive": ("store.tar.gz", "unpack it first: tar -xzf /"),
    "packed segments": ("backup", f"unpack it first: gunzip {'0' * 20}.gz"),
    "an empty directory": ("empty", "is not a store: no commitlog directory and no file named with 20 digits; it is empty"),
    "a directory of queues": ("store/consumequeue/orders/0", "Did you mean the store"),
}

OF_SPARK: dict[str, tuple[dict[str, str], str]] = {
    "a misspelt option": ({"startingOffset": "earliest"}, "unknown option 'startingOffset'. Did you mean 'startingOffsets'?"),
    "Kafka's name of a topic": (
        {"subscribe": "orders"},
        "unknown option 'subscribe'. Here it is topic. python -m rmqstore_spark --options",
    ),
    "a name server": ({"nameServer": "127.0.0.1:9876"}, "This source reads the files of a broker, and asks none: name the directory"),
    "a name server, as elsewhere": ({"namesrv-addr": "x"}, "unknown option 'namesrv-addr'. This source reads the files of a broker, and"),
    "Kafka's brokers": ({"kafka.bootstrap.servers": "x"}, "unknown option 'kafka.bootstrap.servers'. This source reads the files"),
    "a consumer group": ({"consumerGroup": "g"}, "unknown option 'consumerGroup'. This source is not a consumer: it commits no offsets"),
    "Kafka's group": ({"kafka.group.id": "g"}, "This source is not a consumer: it commits no offsets. A stream keeps its own"),
    "files by name": ({"pathGlobFilter": "*"}, "unknown option 'pathGlobFilter'. The path itself may have wildcards, as in load('/backup"),
    "files of all folders": ({"recursiveFileLookup": "true"}, "The path may have wildcards, as in load('/backup/*/store'), or be a"),
    "files by time": (
        {"modifiedAfter": "2026-01-05"},
        "unknown option 'modifiedAfter'. Here startingTimestamp chooses messages by the time",
    ),
    "Kafka's headers": ({"includeHeaders": "true"}, "What Kafka calls headers is the column properties: name it in columns"),
    "schemas of files": ({"mergeSchema": "true"}, "unknown option 'mergeSchema'. All stores have the same columns"),
    "Kafka's least per batch": ({"minOffsetsPerTrigger": "5"}, "unknown option 'minOffsetsPerTrigger'. A batch has what is there when"),
    "Kafka's longest wait": ({"maxTriggerDelay": "5m"}, "let the trigger of the stream wait, as in trigger(processingTime='1 minute')"),
    "a moment without a zone": (
        {"startingTimestamp": "2026-01-05 16:00:00"},
        "startingTimestamp='2026-01-05 16:00:00' has no time zone. Write '2026-01-05 16:00:00Z' (UTC) or '2026-01-05 16:00:00+08:00', "
        "or set timeZone=Asia/Shanghai",
    ),
    "seconds": ({"startingTimestamp": str(SECONDS)}, f"these look like seconds. Did you mean milliseconds: {MILLISECONDS}?"),
    "a name between commas": ({"topic": "a,,b"}, "has an empty name between commas"),
    "yes for true": ({"verifyCrc": "yes"}, "verifyCrc must be true or false, not 'yes'"),
    "a table with conditions": (
        {"topic": "orders", "provider": "rocketmq-store", "owner": "root"},
        "CREATE TABLE: Spark keeps a table's columns but drops its OPTIONS, so topic would have no effect when the table is read. "
        "Use CREATE TEMPORARY VIEW",
    ),
}

UNKNOWN = "topic 'oders' is not in the consume queues or the configuration: it is misspelled or was deleted. Did you mean 'orders'?"
MISSING: dict[str, tuple[dict[str, str], str]] = {
    "a misspelt topic": ({"topic": "oders"}, UNKNOWN),
    "a star for topics": ({"topic": "ord*"}, "This is a name, not a pattern. Did you mean topicPattern='ord.*'?"),
    "one topic of two is misspelt": ({"topic": "orders,oders"}, UNKNOWN),
    "a misspelt topic of where": ({"where": "topic = 'oders' AND queue_id = 0"}, UNKNOWN),
    "one of the choices of where is misspelt": ({"where": "topic IN ('orders', 'oders') OR topic = 'payments' AND tags = 'a'"}, UNKNOWN),
    "several": ({"topic": "oders,paymens,nothing at all"}, f"{UNKNOWN} topic 'paymens' is not in the consume queues"),
}

DOUBTED_BY_SPARK = {
    "a misspelt topic": ({"topic": "oders", "failOnMissingTopic": "false"}, "it is misspelled or was deleted. Did you mean 'orders'?"),
    "a topic of rows that a key may have": ({"where": "topic = 'oders' OR array_contains(keys, 'k')"}, UNKNOWN),
    "offsets of a misspelt topic": (
        {"startingOffsets": '{"oders": {"0": 5}}'},
        "startingOffsets, endingOffsets: topic 'oders' does not exist",
    ),
    "no id": ({"msgId": "xyz"}, "msgId='xyz' does not look like an id"),
}


def test_sixty_at_least() -> None:
    assert sum(map(len, (REFUSED, DOUBTED, USED, OPENED, OF_SPARK, MISSING, DOUBTED_BY_SPARK))) >= 60


@pytest.mark.parametrize("mistake", REFUSED)
def test_an_invalid_request(path: Path, mistake: str) -> None:
    options, text = REFUSED[mistake]
    with pytest.raises((nr.OptionError, nr.SchemaError)) as raised:
        nr.open(path).messages(**options)
    assert text in str(raised.value)


@pytest.mark.parametrize("mistake", DOUBTED)
def test_a_request_that_matches_nothing(path: Path, caplog: pytest.LogCaptureFixture, mistake: str) -> None:
    options, text = DOUBTED[mistake]
    scan = nr.open(path).messages(columns="topic", **options)
    caplog.set_level(logging.WARNING, "native_reader")
    before = str(scan.explain())
    assert " note: " in before
    assert not caplog.messages  # nothing was read yet
    scan.to_table()
    assert any(text in each for each in caplog.messages)
    caplog.clear()
    scan.count_rows()
    assert any(text in each for each in caplog.messages)


@pytest.mark.parametrize("mistake", USED)
def test_a_scan_used_as_another_type(path: Path, mistake: str) -> None:
    use, text = USED[mistake]
    scan = nr.open(path).messages(columns="topic")
    with pytest.raises((nr.StoreError, AttributeError)) as raised:
        use(scan)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("mistake", OPENED)
def test_a_path_without_a_store(path: Path, mistake: str) -> None:
    name, text = OPENED[mistake]
    with pytest.raises(nr.PathError) as raised:
        nr.open(path.parent / name if name else path.parent / "none" / "there")
    assert text in str(raised.value)


@pytest.mark.parametrize("mistake", OF_SPARK)
def test_invalid_spark_options(path: Path, mistake: str) -> None:
    options, text = OF_SPARK[mistake]
    with pytest.raises(nr.OptionError) as raised, in_sparks_words():
        LoadRequest.of({"path": str(path), **options})
    assert text in str(raised.value)


@pytest.mark.parametrize("mistake", DOUBTED_BY_SPARK)
def test_spark_options_that_match_nothing(path: Path, capfd: pytest.CaptureFixture[str], mistake: str) -> None:
    options, text = DOUBTED_BY_SPARK[mistake]
    StoreReader(LoadRequest.of({"path": str(path), **options})).partitions()
    assert f"{text}" in capfd.readouterr().err


@pytest.mark.parametrize("mistake", MISSING)
def test_a_missing_topic_gave_no_rows_and_a_stream_waited_for_ever(path: Path, mistake: str) -> None:
    options, text = MISSING[mistake]
    with pytest.raises(nr.OptionError) as raised:
        StoreReader(LoadRequest.of({"path": str(path), **options})).partitions()
    assert text in str(raised.value)
    assert str(raised.value).endswith("Set failOnMissingTopic=false to search the log for a deleted topic")
    with pytest.raises(nr.OptionError) as raised:
        stream_of(path, options).initialOffset()
    assert text in str(raised.value)
    assert "Set failOnMissingTopic=false to wait for a topic that does not exist yet" in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"topicPattern": "oder.*"},
        {"where": "topic LIKE 'oder%'"},
        {"where": "NOT topic = 'oders'"},
        {"where": "topic > 'oders'"},
        {"topic": "orders", "where": "topic <> 'oders'"},
        {"startingOffsets": '{"oders": {"0": 5}}'},
        {"topic": "oders", "failOnMissingTopic": "false"},
    ],
    ids=str,
)
def test_conditions_that_name_no_topic_of_every_row_are_no_error(path: Path, options: dict[str, str]) -> None:
    StoreReader(LoadRequest.of({"path": str(path), **options})).partitions()
    reader = stream_of(path, options)
    reader.initialOffset()
    reader.stop()


def test_a_topic_is_not_missing_if_one_of_several_stores_has_it_or_cannot_tell(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_store(other, StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 20, index=False))
    only_log = tmp_path / "copy"
    (only_log / "commitlog").mkdir(parents=True)
    first = next((other / "commitlog").iterdir())
    (only_log / "commitlog" / first.name).write_bytes(first.read_bytes())

    def partitions(paths: list[Path], topic: str) -> object:
        return StoreReader(LoadRequest.of({"paths": json.dumps([str(each) for each in paths]), "topic": topic})).partitions()

    assert partitions([path, only_log], "oders")
    assert partitions([only_log], "oders")
    for folder in ("consumequeue", "batchconsumequeue"):
        shutil.rmtree(other / folder / "payments", ignore_errors=True)
    settings = other / "config" / "topics.json"
    settings.write_text(settings.read_text().replace('"payments"', '"payouts"'))
    assert partitions([other, path], "payments")
    with pytest.raises(nr.OptionError, match="topic 'payments' is not in the consume queues"):
        partitions([other], "payments")
    settings.write_text("{")  # it may have had the topic
    (other / "config" / "topics.json.bak").unlink(missing_ok=True)
    assert partitions([other], "payments")


def test_a_query_with_a_checkpoint_continues_after_its_topic_was_deleted(path: Path) -> None:
    begin = stream_of(path, {"topic": "orders"}).initialOffset()
    later = stream_of(path, {"topic": "oders"})  # as if orders had been deleted
    end = later.latestOffset(begin, ReadAllAvailable())
    assert end != begin
    assert later.partitions(begin, end)
    later.stop()


def stream_of(path: Path, options: dict[str, str]) -> StoreStreamReader:
    reader = RocketmqStore({"path": str(path), "startingOffsets": "earliest", **options}).streamReader(spark_schema(["topic"]))
    assert isinstance(reader, StoreStreamReader)
    return reader


def test_a_stream_warns_once(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reader = stream_of(path, {"topic": "oders", "failOnMissingTopic": "false"})
    start = reader.initialOffset()
    reader.latestOffset(start, ReadAllAvailable())
    reader.latestOffset(start, ReadAllAvailable())
    reader.stop()
    assert capfd.readouterr().err.count("topic 'oders' is not in the consume queues or the configuration") == 1


# Valid requests


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No warning is issued."""
    yield
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "options",
    [
        {"topic": "orders", "tags": "no-such-tag"},
        {"topic": "orders", "queue_id": [0, 5]},
        {"topic": "orders", "where": "queue_offset > 1000000"},
        {"topic": ["orders", "payments"]},
        {"starting_offsets": {"orders": {0: 5}}},
        {"msg_id": ID},
        {"msg_id": "01" + ID},
        {"queue_id": 7},
        {"starting_timestamp": 0},
        {"starting_timestamp": datetime(2026, 1, 5), "time_zone": "Asia/Shanghai"},
        {"where": "kind = 'dlq' AND store_timestamp < TIMESTAMP '2026-01-05 00:00:00+08:00'"},
    ],
    ids=str,
)
def test_a_valid_request_gives_no_warning(path: Path, options: dict[str, object]) -> None:
    scan = nr.open(path).messages(columns="topic", **options)
    scan.to_table()
    assert scan.doubts() == []


@pytest.mark.usefixtures("quiet")
def test_a_deleted_topic_is_read_and_a_limit_gives_no_warning(path: Path, tmp_path: Path) -> None:
    write_store(tmp_path / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 20, deleted="invoices", index=False))
    scan = nr.open(tmp_path / "store").messages(columns="topic", topic="invoices")
    assert scan.count_rows() > 0
    assert nr.open(path).messages(columns="topic", topic=["orders", "oders"]).head(1).num_rows == 1


def test_a_store_without_queues_warns_after_the_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scan = nr.open(path / "commitlog").messages(columns="topic", topic="oders")
    nr.open(path.parent / "store")
    assert scan.to_table().num_rows == 0
    assert any(each.startswith("no record of topic 'oders'") for each in caplog.messages)


@pytest.mark.usefixtures("quiet")
def test_a_store_without_queues_cannot_doubt_a_topic_that_has_other_conditions(path: Path) -> None:
    assert nr.open(path / "commitlog").messages(columns="topic", topic="orders", tags="none").to_table().num_rows == 0


def test_trust_warns_that_it_did_not_search(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert nr.open(path).messages(topic="oders", access="trust").count_rows() == 0
    assert caplog.messages == [
        "no record of topic 'oders'; did you mean 'orders'? (access=trust does not search the log for deleted topics)"
    ]


@pytest.mark.parametrize("access", ["auto", "scan", "trust"])
def test_an_id_matches_in_upper_and_lower_case(path: Path, access: str) -> None:
    store = nr.open(path)
    rows = (
        store.messages(columns="uniq_key,offset_msg_id,physical_offset", where="uniq_key IS NOT NULL", topic="orders")
        .to_table()
        .to_pylist()
    )
    row = rows[len(rows) // 2]
    for name in ("uniq_key", "offset_msg_id"):
        for text in (row[name], row[name].lower(), row[name].capitalize(), f" {row[name].lower()}\n"):
            found = store.messages(columns="physical_offset", msg_id=text, access=access).to_table()["physical_offset"].to_pylist()
            assert row["physical_offset"] in found, text
    small = store.messages(columns="physical_offset", msg_id=row["uniq_key"].lower(), topic="orders", access="trust")
    assert small.plan().lookups[0][1].files == 1  # through the index, without a full read


def test_the_repr_of_a_scan(path: Path) -> None:
    scan = nr.open(path).messages(columns="topic,body", topic="orders")
    assert repr(scan) == (
        f"<Scan {path.as_uri()}: 2 columns (topic, body) where topic = 'orders'. Not read yet. Next: .head(10), .to_table(), "
        ".to_batches(), .count_rows(), .explain()>"
    )
    assert repr(nr.open(path).table("damage")).startswith("<TableScan damage: ")
    assert repr(nr.open(path)).endswith("Next: .messages(topic='...'), .table('segments')>")
    assert bool(scan)
    assert pa.table(scan).num_rows == scan.count_rows()
    assert not hasattr(scan, "scanner")
