"""The type of every column, the columns that Java does not have, and an intended difference."""

from __future__ import annotations

import pyarrow as pa

from support.compare import FIRST_MS, LAST_MS
from support.golden import MISSING, Explanation

TEXTS = pa.list_(pa.string())
TIME = pa.timestamp("us", tz="UTC")
SCHEMA = {  # written again, independent of the product's
    "topic": pa.string(), "queue_id": pa.int32(), "queue_offset": pa.int64(), "tags": pa.string(), "keys": TEXTS, "msg_id": pa.string(),
    "body": pa.binary(), "properties": pa.map_(pa.string(), pa.string()), "born_timestamp": TIME, "store_timestamp": TIME,
    "kind": pa.string(), "physical_offset": pa.int64(), "store": pa.string(),
    "born_host": pa.string(), "store_host": pa.string(), "reconsume_times": pa.int32(), "flag": pa.int32(), "sys_flag": pa.int32(),
    "prepared_transaction_offset": pa.int64(), "body_crc": pa.int32(), "record_size": pa.int32(), "uniq_key": pa.string(),
    "offset_msg_id": pa.string(), "inner_index": pa.int32(), "stored_body": pa.binary(), "body_size": pa.int32(), "magic": pa.int32(),
    "real_topic": pa.string(), "lite_topic": pa.string(), "delay_level": pa.int32(),
    "origin_topic": pa.string(), "origin_msg_id": pa.string(),
    "body_text": pa.string(), "segment": pa.string(), "tiered": pa.bool_(), "corrupt_record": pa.binary(), "corrupt_reason": pa.string(),
}  # fmt: skip
NOT_IN_JAVA = ("kind", "tiered", "corrupt_record", "corrupt_reason")

OUR_TIMES = Explanation(
    "timestamps of Spark and Python cover the years 1 to 9999; others are null",
    ("born_timestamp", "store_timestamp"),
    lambda java, ours: java is not MISSING and not FIRST_MS <= java <= LAST_MS and ours is None,
)
