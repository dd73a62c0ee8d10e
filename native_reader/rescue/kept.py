"""What a check found in each part of a store, a segment for example: kept until the page is written.

A rescue that was stopped goes on after these parts, if the store is as it was. They are read back only if their checksums are right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

import pyarrow as pa

from native_reader.columns.projection import Projection
from native_reader.export.manifest import version
from native_reader.export.target import Content, Target, open_exported
from native_reader.storage.store import StoreFiles
from native_reader.storage.unchanged import state_of
from native_reader.tables.findings import VerifyPart
from native_reader.tables.table import Table
from native_reader.verify.sides import QueueNumbering
from native_reader.verify.tier import TierPart

FOLDER = "checked"
_DIGITS = 16


class KeptParts:
    """The parts of a check of a store that are in a folder."""

    def __init__(self, folder: Target, files: StoreFiles) -> None:
        for temporary in folder.temporaries():  # of a rescue that was stopped
            folder.discard(temporary)
        self._folder, state = folder, state_of(files)
        self._state = None if state is None else f"{version()}-{state[:_DIGITS]}"
        """Of a store that is elsewhere, nothing tells whether it changed: no part is kept."""
        self._names = {name.rpartition("-")[0].rpartition("-")[0]: name for name in folder.names_in(FOLDER)}

    def of(self, table: Table[VerifyPart]) -> Table[VerifyPart]:
        """The table of a check. It does not read a part again that is kept."""
        if self._state is None or table.batches is None:
            return table
        read = table.batches

        def batches(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
            if isinstance(part, TierPart):  # its files can be elsewhere: nothing tells whether they changed
                yield from read(part, projection)
                return
            name = f"{self._state}-{_digest_of(part)}"
            kept = self._kept(name)
            if kept is None:
                kept = list(read(part, projection))
                self._keep(name, kept)
            yield from kept

        return replace(table, batches=batches)

    def _kept(self, name: str) -> list[pa.RecordBatch] | None:
        """The batches with that name, if they are as they were written. A name ends with the size and the checksum of its file."""
        file = self._names.get(name)
        path = f"{FOLDER}/{file}"
        if file is None:
            return None
        if self._folder.content(path) != Content(*(int(each) for each in file.split("-")[-2:])):
            self._folder.remove(path)
            return None
        with open_exported(self._folder.path, path) as content:
            return list(pa.ipc.open_stream(content)) if content.size() else []

    def _keep(self, name: str, batches: list[pa.RecordBatch]) -> None:
        """Write them, unless the disk is full: then they are read again."""
        try:
            with self._folder.create(name) as file:
                if batches:
                    with pa.ipc.new_stream(file, batches[0].schema) as stream:
                        for batch in batches:
                            stream.write_batch(batch)
            content = self._folder.flush(name)
            self._folder.publish([(name, f"{FOLDER}/{name}-{content.bytes}-{content.checksum}")])
        except OSError:
            with suppress(OSError):
                self._folder.discard(name)

    def remove(self) -> None:
        """Forget them, once the page is written."""
        self._folder.remove_folder(FOLDER)


def _digest_of(part: VerifyPart) -> str:
    """A digest of all that a part says of itself, as whether a broker has the store open."""
    said = [each for each in part if not isinstance(each, QueueNumbering)]  # which is made of the queues
    return sha256(repr((type(part).__name__, said)).encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
