"""Access to bytes: storages, the files of a store, its segments."""

from native_reader.storage.local import LocalStorage
from native_reader.storage.protocol import DirEntry, Storage, StoredFile, storage_of

__all__ = ["DirEntry", "LocalStorage", "Storage", "StoredFile", "storage_of"]
