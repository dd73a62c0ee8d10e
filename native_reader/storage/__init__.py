"""Where bytes come from: storages, a store's files, its segments."""

from native_reader.storage.faulty import FaultyStorage
from native_reader.storage.local import LocalStorage
from native_reader.storage.memory import MemoryStorage
from native_reader.storage.protocol import Entry, Storage, StoredFile, storage_of

__all__ = ["Entry", "FaultyStorage", "LocalStorage", "MemoryStorage", "Storage", "StoredFile", "storage_of"]
