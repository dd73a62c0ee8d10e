"""The options of `messages`, and the projection and planning settings that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from native_reader.checks import Duration, Instant, Size, duration, flag, list_of, one_of_words, plain, size, whole
from native_reader.errors import OptionError
from native_reader.log.tail import AVAILABLE, TAILS
from native_reader.plan.estimate import ACCESSES, AUTO
from native_reader.plan.planning import Planning
from native_reader.scan.read import FAILFAST, MODES, Projection
from native_reader.schema import projected

_MOST_PARTITIONS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageOptions:
    """The options of `messages`; None means not set."""

    columns: str | Iterable[str] | None = None
    topic: str | Iterable[str] | None = None
    topic_pattern: str | None = None
    queue_id: int | Iterable[int] | None = None
    where: str | None = None
    tags: str | Iterable[str] | None = None
    keys: str | Iterable[str] | None = None
    msg_id: str | None = None
    starting_offsets: str | Mapping[str, Mapping[int, int]] | None = None
    ending_offsets: str | Mapping[str, Mapping[int, int]] | None = None
    starting_timestamp: Instant | None = None
    ending_timestamp: Instant | None = None
    starting_physical_offset: int | None = None
    ending_physical_offset: int | None = None
    time_zone: str | None = None
    time_skew_tolerance: Duration = "1m"
    system_topics: bool = True
    access: str = AUTO
    max_hash_slot_num: int | None = None
    verify_crc: bool = False
    mode: str = FAILFAST
    column_name_of_corrupt_record: str | None = None
    fail_on_data_loss: bool = True
    ignore_missing_files: bool = False
    tail: str = AVAILABLE
    max_partition_bytes: Size = 128 << 20
    min_partitions: int = 1
    max_record_bytes: Size = 64 << 20
    max_decompressed_bytes: Size = 64 << 20
    max_read_rate: Size | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, plain(field.name, getattr(self, field.name)))

    def projection(self) -> Projection:
        """The columns, and the limits of the read."""
        columns = self.columns if self.columns is None or isinstance(self.columns, str) else list_of("columns", self.columns, str)
        corrupt_name = self.column_name_of_corrupt_record
        if corrupt_name is not None and (not isinstance(corrupt_name, str) or not corrupt_name.strip()):
            raise OptionError(f"column_name_of_corrupt_record={corrupt_name!r} is no name")
        return Projection(
            projected(columns, corrupt_name),
            mode=one_of_words("mode", self.mode, MODES),
            verify_crc=flag("verify_crc", self.verify_crc),
            max_record_bytes=size("max_record_bytes", self.max_record_bytes, 1),
            max_decompressed_bytes=size("max_decompressed_bytes", self.max_decompressed_bytes, 0),
            max_read_rate=None if self.max_read_rate is None else size("max_read_rate", self.max_read_rate, 1 << 20),
            refuses_loss=flag("fail_on_data_loss", self.fail_on_data_loss),
            ignores_missing=flag("ignore_missing_files", self.ignore_missing_files),
            corrupt_name=corrupt_name,
        )

    def planning(self) -> Planning:
        """The settings for planning."""
        slots = self.max_hash_slot_num
        return Planning(
            access=one_of_words("access", self.access, ACCESSES),
            tail=one_of_words("tail", self.tail, TAILS),
            partition_bytes=size("max_partition_bytes", self.max_partition_bytes, 1),
            min_partitions=whole("min_partitions", self.min_partitions, 1, _MOST_PARTITIONS),
            max_record_bytes=size("max_record_bytes", self.max_record_bytes, 1),
            clock_skew=duration("time_skew_tolerance", self.time_skew_tolerance),
            index_slots=None if slots is None else whole("max_hash_slot_num", slots, 1, 2**31 - 1),
            lenient=one_of_words("mode", self.mode, MODES) != FAILFAST,
            refuses_loss=flag("fail_on_data_loss", self.fail_on_data_loss),
        )
