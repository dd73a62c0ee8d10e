"""What a stream decides: where it begins, where each batch ends, what a batch reads, and what was lost."""

from native_reader.stream.begin import EARLIEST, LATEST, Start, start_of
from native_reader.stream.offset import Batch, Offset, OffsetError, ends_from_json, ends_to_json, from_json, to_json
from native_reader.stream.portion import BatchLimit
from native_reader.stream.stream import Stream

__all__ = [
    "EARLIEST",
    "LATEST",
    "Batch",
    "BatchLimit",
    "Offset",
    "OffsetError",
    "Start",
    "Stream",
    "ends_from_json",
    "ends_to_json",
    "from_json",
    "start_of",
    "to_json",
]
