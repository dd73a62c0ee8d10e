"""RocketMQ accepts the stores of our writer: its decoder reads every record, and its store class loads the directory."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from javas_truth import judged
from rocketmq import SMALL_FILES, Java
from support.against_java import NOT_IN_JAVA, OUR_TIMES, SCHEMA
from support.compare import rows_of
from support.golden import EXPLAINED, MISSING, Explanation, Golden, differences

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

SPEC = StoreSpec(
    bytes=6 << 20, rare=0.25, seed=7,
    mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=600, mapper_file_size_batch_consume_queue=460,
    max_hash_slot_num=500, max_index_num=2000,
)  # fmt: skip
LOG_FILES = {"mappedFileSizeCommitLog": 1 << 20, "maxHashSlotNum": 500, "maxIndexNum": 2000}
GZIP = Explanation(
    "the gRPC proxy stores gzip under zlib's flag, which Java's remoting decoder cannot inflate; we can",
    ("body",),
    lambda java, ours: java is MISSING and ours is not None,
)
GZIP_TEXT = Explanation(f"{GZIP.why}: so Java has no text either", ("body_text",), GZIP.fits)


@pytest.fixture(scope="module")
def written(rocketmq: Callable[[str], Java], tmp_path_factory: pytest.TempPathFactory) -> Golden:
    folder = tmp_path_factory.mktemp("synthetic")
    write_store(folder / "store", SPEC)
    return judged(rocketmq("5.5.0"), folder)


@pytest.mark.long
def test_javas_decoder_reads_every_record_as_we_do(written: Golden) -> None:
    rows = rows_of(nr.open(written.root).messages(columns="*").to_table())
    assert len(rows) == len(written.expected_rows) > 3000
    columns = [column for column in SCHEMA if column not in NOT_IN_JAVA]
    used: Counter[str] = Counter()
    assert differences(written.expected_rows, rows, columns, (*EXPLAINED, OUR_TIMES, GZIP, GZIP_TEXT), used) == []
    # Bodies only: the other columns of those records are explained already.
    assert used[GZIP.why] == sum(row["stored_body"].startswith(b"\x1f\x8b") for row in rows) > 0


@pytest.mark.long
def test_rocketmq_loads_it_truncates_nothing_and_finds_every_message(
    rocketmq: Callable[[str], Java], written: Golden, tmp_path: Path
) -> None:
    truth = [line for line in written.lines("truth") if line["decoded"]]
    by_key: dict[tuple[str, str], set[int]] = defaultdict(set)
    for line in truth:
        properties = line["properties"] or {}
        for key in [*properties.get("KEYS", "").split(" "), properties.get("UNIQ_KEY", "")]:
            if key and not line["sys_flag_on_disk"] & 0x4:  # prepared and rolled back ones of 4.0 to 4.2 are not indexed
                by_key[line["topic"], key].add(line["physical_offset"])
    asked = sorted(by_key)[::7]
    (tmp_path / "keys").write_text("".join(f"{topic}\t{key}\n" for topic, key in asked), encoding="utf-8")
    (tmp_path / "conf").write_text(
        "".join(
            f"{name}={value}\n" for name, value in (SMALL_FILES | LOG_FILES | {"enableLmq": "true", "enableMultiDispatch": "true"}).items()
        )
    )
    before = log_digest(written.root)
    lines = rocketmq("5.5.0").run("Load", written.root, tmp_path / "conf", tmp_path / "keys", home=tmp_path / "java", timeout=100)

    (loaded,) = [line for line in lines if "loaded" in line]
    summary_end = max(line["physical_offset"] + line["record_size"] for line in truth)
    assert loaded == {"loaded": True, "first": 0, "end": summary_end}
    assert log_digest(written.root) == before

    ours: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in (
        nr.open(written.root).messages(columns="topic,queue_id,queue_offset,physical_offset,inner_index,kind").to_table().to_pylist()
    ):
        if row["kind"] not in ("prepared", "rollback") and not row["inner_index"]:
            ours[row["topic"], row["queue_id"]].append(row["physical_offset"])
    queues = {(line["topic"], line["queue_id"]): line["offsets"] for line in lines if "queue_offsets" in line}
    light = {queue: offsets for queue, offsets in queues.items() if queue[0].startswith("%LMQ%")}
    assert {queue: offsets for queue, offsets in queues.items() if queue not in light and offsets} == ours
    assert light
    assert {offset for offsets in light.values() for offset in offsets} <= {
        offset for queue in ours for offset in ours[queue] if queue[0] == "mqtt-messages"
    }

    answers = {(line["topic"], line["key"]): set(line["offsets"]) for line in lines if "key" in line}
    assert len(answers) == len(asked) > 500
    assert {key: found for key, found in answers.items() if not found >= by_key[key]} == {}
    more = {key: found - by_key[key] for key, found in answers.items() if found > by_key[key]}
    assert len(more) < len(asked) // 50, json.dumps([list(key) for key in more])  # hashes that collide: an index file has only 500 slots


def log_digest(store: Path) -> str:
    """The digest of the whole log, file by file."""
    digest = hashlib.sha256()
    for path in sorted((store / "commitlog").iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
