"""Synthetic stores: a simple record encoder, a log builder, hypothesis strategies and a fast store writer. Also test storages.

The writer does not import the reader: it defines its own constants, so that writer and reader check each other.
"""

from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message, encode
from native_reader.testing.spec import StoreSpec, Summary
from native_reader.testing.store_writer import write_store

__all__ = ["CommitLog", "Message", "StoreSpec", "Summary", "encode", "write_store"]
