"""Access to bytes: storages, the files of a store, its segments."""

from native_reader.storage.local import LocalStorage
from native_reader.storage.protocol import DirEntry, Storage, StoredFile, storage_of
from native_reader.storage.rocksdb_queues import RocksdbQueues
from native_reader.storage.s3 import S3Storage
from native_reader.storage.tar import TarStorage

__all__ = ["DirEntry", "LocalStorage", "RocksdbQueues", "S3Storage", "Storage", "StoredFile", "TarStorage", "storage_of"]
