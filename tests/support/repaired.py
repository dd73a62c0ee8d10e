"""What a damaged store and its repaired one hold, byte for byte."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import native_reader as nr
from native_reader.layout.inner import PLACEHOLDER_TAG


def contents(store: Path) -> dict[str, bytes]:
    """Every file of a store. Pages name its folder."""
    return {str(path.relative_to(store)): _without_place(path, store) for path in sorted(store.rglob("*")) if path.is_file()}


def _without_place(path: Path, store: Path) -> bytes:
    content = path.read_bytes()
    return content.replace(bytes(store), b"NEW") if path.suffix == ".md" else content


def records_of(store: Path) -> list[tuple[int, str, int, int, int, str | None, bytes]]:
    """Place, queue, size and tag of each whole message, and its bytes; without the records that fill holes."""
    columns = "physical_offset,topic,queue_id,queue_offset,record_size,tags,kind"
    scan = nr.open(store).messages(columns=columns, mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, access="scan")
    rows = [tuple(row.values()) for row in scan.to_table().to_pylist()]
    log = {int(path.name): path for path in (store / "commitlog").iterdir()}
    return [(*row, _bytes_at(log, row[0], row[4])) for row in rows if row[5] != PLACEHOLDER_TAG and row[1] != PLACEHOLDER_TAG]  # type: ignore[misc]


def _bytes_at(log: dict[int, Path], offset: int, size: int) -> bytes:
    base = max(base for base in log if base <= offset)
    with log[base].open("rb") as file:
        file.seek(offset - base)
        return file.read(size)


def entries(store: Path, topic: str, queue_id: int) -> Iterator[tuple[int, int, int, int]]:
    """Slot, offset, size and code of each entry that is not zeros."""
    for path in sorted((store / "consumequeue" / topic / str(queue_id)).iterdir()):
        for number, entry in enumerate(struct.iter_unpack(">qiq", path.read_bytes())):
            if any(entry):
                yield (int(path.name) // 20 + number, *entry)


def opened(store: Path) -> nr.Store:
    """With the settings of its broker: if all queues are gone, nothing else tells how large their files are."""
    conf = store.parent / "broker.conf"
    settings = json.loads((store.parent / "settings.json").read_text()) | {"storePathRootDir": store}
    conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return nr.open(store, broker_conf=str(conf))
