"""The queues and index files that a broker writes for given records, computed one record at a time. They check the store writer."""

from __future__ import annotations

import json
import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from native_reader.testing.spec import StoreSpec
from support.plain_decoder import Record, properties_of, runs_of

SMALL = StoreSpec(
    bytes=3 << 20,
    body=600,
    rare=0.2,
    rate=8,
    compressed=0.05,
    mapped_file_size_commit_log=512 << 10,
    mapped_file_size_consume_queue=50 * 20,
    mapper_file_size_batch_consume_queue=20 * 46,
    max_hash_slot_num=500,
    max_index_num=3000,
)
DELAYS = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]

Files = dict[str, bytes]


def segments_of(root: Path) -> list[tuple[int, bytes]]:
    return [(int(path.name), path.read_bytes()) for path in sorted((root / "commitlog").iterdir())]


def records_of(root: Path) -> list[Record]:
    return [run[3] for base, data in segments_of(root) for run in runs_of(base, data, "plain") if run[3]]


def files_of(root: Path) -> Files:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def java_hash(text: str) -> int:
    code = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be")):
        code = (31 * code + unit) % 2**32
    return code - 2**32 if code >= 2**31 else code


def relaxed_json(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Parse fastjson's output: quote its integer keys. No string in these files looks like such a key."""
    return dict(json.loads(re.sub(r"([{,]\s*)(-?\d+):", r'\1"\2":', path.read_text())))


def expected_queues(records: list[Record], spec: StoreSpec) -> Files:
    """The files of consumequeue/ and batchconsumequeue/ after a broker has dispatched `records`."""
    queues: dict[tuple[str, str, int], list[bytes]] = defaultdict(list)
    next_offset: dict[tuple[str, int], int] = defaultdict(int)
    for record in records:
        fixed, topic, properties = record.fixed, record.topic.decode(), properties_of(record.properties)
        if fixed["sys_flag"] & 0xC in (0x4, 0xC):
            assert fixed["queue_offset"] == 0
            continue
        place = struct.pack(">qi", fixed["physical_offset"], fixed["record_size"])
        tags = java_hash(properties.get("TAGS", ""))
        if topic == "SCHEDULE_TOPIC_XXXX":
            tags = fixed["store_timestamp"] + 1000 * DELAYS[int(properties["DELAY"]) - 1]
        units = int(properties.get("INNER_NUM", "1"))
        if topic == spec.recreated and fixed["queue_offset"] == 0:
            next_offset[topic, fixed["queue_id"]] = 0
            queues["consumequeue", topic, fixed["queue_id"]] = []
        assert fixed["queue_offset"] == next_offset[topic, fixed["queue_id"]]
        next_offset[topic, fixed["queue_id"]] += units
        if topic == "batched-orders":
            tags = 0 if fixed["sys_flag"] & 0x80 else tags
            batch = struct.pack(">qqqhii", tags, fixed["store_timestamp"], fixed["queue_offset"], units, -1, 0)
            queues["batchconsumequeue", topic, fixed["queue_id"]].append(place + batch)
        else:
            queues["consumequeue", topic, fixed["queue_id"]].append(place + struct.pack(">q", tags))
        if "INNER_MULTI_DISPATCH" in properties:
            names, offsets = properties["INNER_MULTI_DISPATCH"].split(","), properties["INNER_MULTI_QUEUE_OFFSET"].split(",")
            for name, offset in zip(names, offsets, strict=True):
                light = queues["consumequeue", name, 0]
                assert int(offset) == len(light)
                light.append(place + struct.pack(">q", tags))
    files = {}
    for (folder, topic, queue_id), entries in queues.items():
        data = b"".join(entries)
        file_size = spec.mapped_file_size_consume_queue if folder == "consumequeue" else spec.mapper_file_size_batch_consume_queue
        for start in range(0, len(data), file_size):
            files[f"{folder}/{topic}/{queue_id}/{start:020d}"] = data[start : start + file_size].ljust(file_size, b"\0")
    return files


def keys_of(record: Record) -> Iterator[str]:
    """The keys that 5.5.0 indexes, in its order."""
    properties = properties_of(record.properties)
    if record.fixed["sys_flag"] & 0xC != 0xC:
        if "UNIQ_KEY" in properties:
            yield properties["UNIQ_KEY"]
        yield from (key for key in properties.get("KEYS", "").split(" ") if key)
        if "TAGS" in properties:
            yield "T#" + properties["TAGS"]


def expected_index(records: list[Record], spec: StoreSpec) -> list[bytes]:
    """The index files, as IndexFile.putKey writes them."""
    slots, entries = spec.max_hash_slot_num, spec.max_index_num
    files: list[bytearray] = []
    begin_time = end_time = begin_offset = end_offset = used = 0
    count = entries
    for record in records:
        offset, time = record.fixed["physical_offset"], record.fixed["store_timestamp"]
        for key in keys_of(record):
            if count == entries:
                files.append(bytearray(40 + 4 * slots + 20 * entries))
                begin_time, begin_offset, count, used = end_time, end_offset, 1, 0
            file = files[-1]
            code = abs(java_hash(record.topic.decode() + "#" + key))
            code = 0 if code == 2**31 else code
            slot = 40 + 4 * (code % slots)
            (previous,) = struct.unpack_from(">i", file, slot)
            difference = max(0, (time - begin_time) // 1000) if begin_time > 0 else 0
            struct.pack_into(">iqii", file, 40 + 4 * slots + 20 * count, code, offset, difference, previous)
            struct.pack_into(">i", file, slot, count)
            if count == 1:
                begin_time, begin_offset = time, offset
            used += previous == 0
            count, end_time, end_offset = count + 1, time, offset
            struct.pack_into(">qqqqii", file, 0, begin_time, end_time, begin_offset, end_offset, used, count)
    return [bytes(file) for file in files]


def queue_files(root: Path) -> Files:
    return {name: data for name, data in files_of(root).items() if "consumequeue/" in name}


def index_files(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((root / "index").iterdir())]


def entries_of(name: str, data: bytes) -> list[bytes]:
    width = 46 if name.startswith("batch") else 20
    return [data[i : i + width] for i in range(0, len(data), width)]
