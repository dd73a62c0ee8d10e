"""Access to bytes: storages, the files of a store, its segments."""

from native_reader.storage.local import LocalStorage
from native_reader.storage.protocol import Entry, Storage, StoredFile, storage_of

__all__ = ["Entry", "LocalStorage", "Storage", "StoredFile", "storage_of"]
