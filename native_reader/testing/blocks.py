"""Blocks of ordinary records as numpy arrays: drawn, measured, and encoded once their offsets are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native_reader.testing.bodies import Bodies
from native_reader.testing.java import hash_code, hash_texts, non_negative
from native_reader.testing.producers import STORE_HOST, ProducedTopic, Producers, cumulated, tags_code, zipf
from native_reader.testing.records import MAGIC_V1
from native_reader.testing.shapes import COLUMN, COLUMNS, PropertySet
from native_reader.testing.tokens import Pool, concatenate, texts_at

_HEAD: Final = np.dtype(
    [
        ("size", ">i4"), ("magic", ">u4"), ("body_crc", ">i4"), ("queue_id", ">i4"), ("flag", ">i4"), ("queue_offset", ">i8"),
        ("physical_offset", ">i8"), ("sys_flag", ">i4"), ("born", ">i8"), ("born_ip", ">u4"), ("born_port", ">i4"), ("store", ">i8"),
        ("store_ip", ">u4"), ("store_port", ">i4"), ("reconsume", ">i4"), ("prepared", ">i8"), ("body_length", ">i4"),
    ]
)  # fmt: skip
_DIGITS4: Final = np.frombuffer("".join(f"{i:04d}" for i in range(10000)).encode(), dtype="<u4")
_BORN: Final = np.dtype([("first", "u1"), ("a", "<u4"), ("b", "<u4"), ("c", "<u4")])  # 13 digits
_ID_WIDTH: Final = 32
_SLICES: Final = {"order": 12, "user": 8, "trace": 32, "span": 16, "amount": 6}  # columns that are random ranges of a pool of digits
_CHOICES: Final = {
    "region": ("eu-west-1", "us-east-2", "cn-hangzhou", "华东1"),
    "app": ("web", "checkout-service", "importer", "mobile-gateway", "batch"),
    "version": ("1.4.2", "1.5.0-rc1", "2.0.13"),
    "city": ("Zürich", "深圳", "São Paulo", "Paris", "🚀 Base"),
    "ip": tuple(f"192.168.{i}.{i * 7 % 255}" for i in range(1, 60)),
    "flag": ("true", "false"),
    "small": tuple(str(i) for i in range(1200)),
}
_POOLED: Final = 1 << 20
_STATIC, _DYNAMIC, _RARE = 0, 1, 2


@dataclass
class Block:
    """Ordinary records without offsets; arrays have one element per record, unless noted otherwise."""

    count: int
    topic: NDArray[np.intp]
    queue: NDArray[np.uint16]
    queue_id: NDArray[np.int32]
    shape: NDArray[np.intp]
    producer: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    sys_flags: NDArray[np.int32]
    known_crcs: NDArray[np.int32]
    offsets: NDArray[np.int32]  # [column, record] in the column's buffer
    lengths: NDArray[np.int32]  # [column, record]
    tag: NDArray[np.intp]
    tags_code: NDArray[np.int64]
    token_starts: NDArray[np.int64]  # a record's first token
    token_buffers: NDArray[np.uint8]  # by token
    token_offsets: NDArray[np.int32]  # by token
    token_lengths: NDArray[np.int32]  # by token


class Blocks:
    """Draws blocks and encodes them."""

    def __init__(
        self,
        topics: Sequence[ProducedTopic],
        shapes: Sequence[PropertySet],
        producers: Producers,
        *,
        pool: Pool,
        bodies: Bodies,
        rng: np.random.Generator,
    ) -> None:
        self._rng, self._producers, self._bodies = rng, producers, bodies
        self._topic_weights, self._shape_weights = zipf(len(topics)), zipf(len(shapes), 0.5)
        self._queues = np.array([topic.queues for topic in topics])
        self._first_queue = np.array([topic.first_queue for topic in topics])
        # Each topic prefers different shapes.
        self._topic_shapes = np.array([rng.permutation(len(shapes)) for _ in topics])
        self._tagged = np.array([shape.tagged for shape in shapes])
        self._order_key = np.array([shape.order_key for shape in shapes])
        self._user_key = np.array([shape.user_key for shape in shapes])
        self._seeds = {prefix: np.array([hash_code(f"{topic.name}#{prefix}") for topic in topics]) for prefix in ("", "o", "u")}
        self._topics = pool.add_all([bytes([len(topic.name.encode())]) + topic.name.encode() for topic in topics])
        self._tag_counts = np.array([len(topic.tags) for topic in topics])
        self._first_tag = np.cumsum(self._tag_counts) - self._tag_counts
        tags = [tag for topic in topics for tag in topic.tags]
        self._tag_codes = np.array([tags_code(tag) for tag in tags])
        self._tag_keys = np.array([hash_code(f"{topic.name}#T#{tag}") & 0xFFFFFFFF for topic in topics for tag in topic.tags])
        self._tags = pool.add_all([tag.encode() for tag in tags])
        self._choices = {name: pool.add_all([value.encode() for value in values]) for name, values in _CHOICES.items()}
        digits = pool.add(rng.choice(np.frombuffer(b"0123456789", dtype=np.uint8), _POOLED + 64).tobytes())
        hexits = pool.add(rng.choice(np.frombuffer(b"0123456789abcdef", dtype=np.uint8), _POOLED + 64).tobytes())
        self._sliced = {name: hexits if name in ("trace", "span") else digits for name in _SLICES}
        self._two_bytes = pool.add(np.arange(32768, dtype=">i2").tobytes())
        self._compile(shapes, pool)
        self._static = pool.freeze()

    def _compile(self, shapes: Sequence[PropertySet], pool: Pool) -> None:
        constants = sorted({token for shape in shapes for token in shape.tokens if isinstance(token, bytes)})
        code = {token: len(COLUMNS) + i for i, token in enumerate(constants)}
        templates = [[0, 1, 2, 3] + [code[token] if isinstance(token, bytes) else token for token in shape.tokens] for shape in shapes]
        self._template = np.array([token for template in templates for token in template], dtype=np.int32)
        self._template_size = np.array([len(template) for template in templates])
        self._template_start = np.cumsum(self._template_size) - self._template_size
        self._constants = pool.add_all(constants)
        self._buffer_of = np.full(len(COLUMNS) + len(constants), _STATIC, dtype=np.uint8)
        self._buffer_of[[COLUMN["head"], COLUMN["id"], COLUMN["born"]]] = _DYNAMIC

    def weigh(self, weights: NDArray[np.float64]) -> None:
        """Set the weight of each topic for the next draws."""
        self._topic_weights = cumulated(weights)

    def draw(self, count: int) -> Block:
        """Draw `count` records, without the fields that depend on offset and store time."""
        rng = self._rng
        topic = np.searchsorted(self._topic_weights, rng.random(count))
        queue_id = (rng.random(count) * self._queues[topic]).astype(np.int32)
        shape = self._topic_shapes[topic, np.searchsorted(self._shape_weights, rng.random(count))]
        offsets = np.empty((len(COLUMNS), count), dtype=np.int32)
        lengths = np.empty((len(COLUMNS), count), dtype=np.int32)

        def fill(name: str, values: tuple[NDArray[np.int32], NDArray[np.int32]], which: NDArray[np.intp]) -> None:
            offsets[COLUMN[name]], lengths[COLUMN[name]] = values[0][which], values[1][which]

        rows = np.arange(count, dtype=np.int32)
        for name, start, width in (("head", 0, _HEAD.itemsize), ("id", 88, _ID_WIDTH), ("born", 120, _BORN.itemsize)):
            offsets[COLUMN[name]], lengths[COLUMN[name]] = start * count + width * rows, width
        body = COLUMN["body"]
        offsets[body], lengths[body], sys_flags, known = self._bodies.draw(count, rng)
        fill("topic", self._topics, topic)
        tag = self._first_tag[topic] + (rng.random(count) ** 2 * self._tag_counts[topic]).astype(np.intp)
        fill("tag", self._tags, tag)
        for name, values in self._choices.items():
            fill(name, values, rng.integers(0, len(values[0]), count))
        for name, width in _SLICES.items():
            offsets[COLUMN[name]], lengths[COLUMN[name]] = self._sliced[name] + rng.integers(0, _POOLED, count, dtype=np.int32), width
        offsets[3], lengths[3] = 0, 2
        starts, buffers, token_offsets, token_lengths = self._tokens(shape, offsets, lengths)
        sizes = np.add.reduceat(token_lengths, starts, dtype=np.int64)
        properties = sizes - (88 + 2) - lengths[body] - lengths[COLUMN["topic"]]
        token_offsets[starts + 3] = self._two_bytes + 2 * properties
        return Block(
            count, topic, (self._first_queue[topic] + queue_id).astype(np.uint16), queue_id, shape,
            rng.integers(0, self._producers.count, count, dtype=np.uint16), sizes, sys_flags, known, offsets, lengths,
            tag, np.where(self._tagged[shape], self._tag_codes[tag], 0), starts, buffers, token_offsets, token_lengths,
        )  # fmt: skip

    def _tokens(
        self, shape: NDArray[np.intp], offsets: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]:
        sizes = self._template_size[shape]
        starts = np.cumsum(sizes) - sizes
        count, total = len(shape), int(sizes.sum())
        code = self._template[np.arange(total) + np.repeat(self._template_start[shape] - starts, sizes)]
        row = np.repeat(np.arange(count, dtype=np.int32), sizes)
        # One table: a row of `count` for each column, then the constants.
        cell = np.where(code < len(COLUMNS), code * count + row, code + len(COLUMNS) * (count - 1))
        all_offsets = np.concatenate([offsets.ravel(), self._constants[0]])
        all_lengths = np.concatenate([lengths.ravel(), self._constants[1]])
        return starts, self._buffer_of[code], all_offsets[cell], all_lengths[cell]

    def assemble(
        self,
        block: Block,
        kept: int,
        *,
        queue_offsets: NDArray[np.int64],
        physical_offsets: NDArray[np.int64],
        stored: NDArray[np.int64],
        rare: Sequence[bytes],
        rare_before: NDArray[np.int64],
    ) -> tuple[memoryview, NDArray[np.uint8]]:
        """Encode the block's first `kept` records, with the `rare` ones inserted before the records at `rare_before`.

        Returns the bytes and the unique ids of the ordinary records.
        """
        rng, count = self._rng, block.count
        born = stored - 1 - (rng.standard_exponential(kept) * 3).astype(np.int64)
        dynamic = np.zeros(count * (88 + _ID_WIDTH + _BORN.itemsize), dtype=np.uint8)
        heads = dynamic[: count * 88].view(_HEAD)[:kept]
        producer = block.producer[:kept]
        heads["size"], heads["magic"] = block.sizes[:kept], MAGIC_V1
        body = COLUMN["body"]
        heads["body_crc"] = self._bodies.crcs(self._static, block.offsets[body, :kept], block.lengths[body, :kept], block.known_crcs[:kept])
        heads["queue_id"], heads["queue_offset"], heads["physical_offset"] = block.queue_id[:kept], queue_offsets, physical_offsets
        flagged = rng.random(kept) < 0.03  # few applications use the flag
        heads["flag"] = np.where(flagged, rng.integers(-(2**31), 2**31, kept), 0)
        heads["sys_flag"], heads["body_length"] = block.sys_flags[:kept], block.lengths[body, :kept]
        heads["born"], heads["born_ip"], heads["born_port"] = born, self._producers.ips[producer], self._producers.ports[producer]
        heads["store"], heads["store_ip"], heads["store_port"] = stored, int.from_bytes(STORE_HOST[0]), STORE_HOST[1]
        ids = self._producers.unique_ids(producer, born)
        dynamic[count * 88 : count * 88 + kept * _ID_WIDTH] = ids.ravel()
        dates = dynamic[count * (88 + _ID_WIDTH) :].view(_BORN)[:kept]
        dates["first"] = ord("0") + born // 10**12
        dates["a"], dates["b"], dates["c"] = (_DIGITS4[born // 10**power % 10000] for power in (8, 4, 0))
        end = int(block.token_starts[kept]) if kept < count else len(block.token_offsets)
        buffers, offsets, lengths = block.token_buffers[:end], block.token_offsets[:end], block.token_lengths[:end]
        rare_lengths = np.array([len(record) for record in rare], dtype=np.int32)
        if rare:
            at = np.append(block.token_starts[:kept], end)[rare_before]
            buffers = np.insert(buffers, at, _RARE)
            offsets = np.insert(offsets, at, (np.cumsum(rare_lengths) - rare_lengths).astype(np.int32))
            lengths = np.insert(lengths, at, rare_lengths)
        sources = (self._static, dynamic, np.frombuffer(b"".join(rare) or b"\0", dtype=np.uint8))
        return concatenate(sources, buffers, offsets, lengths), ids

    def index_keys(self, block: Block, ids: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The (record, key hash) pairs that 5.5.0's IndexService adds for the block: unique id, KEYS, tag."""
        kept = len(ids)
        topic, shape = block.topic[:kept], block.shape[:kept]
        hashes = np.empty((kept, 4), dtype=np.int64)
        present = np.empty((kept, 4), dtype=bool)
        hashes[:, 0], present[:, 0] = hash_texts(ids, self._seeds[""][topic]), True
        for i, (prefix, column, keyed) in enumerate((("o", "order", self._order_key), ("u", "user", self._user_key)), 1):
            texts = texts_at(self._static, block.offsets[COLUMN[column], :kept], _SLICES[column])
            hashes[:, i], present[:, i] = hash_texts(texts, self._seeds[prefix][topic]), keyed[shape]
        hashes[:, 3], present[:, 3] = self._tag_keys[block.tag[:kept]], self._tagged[shape]
        return np.nonzero(present)[0], non_negative(hashes[present])
