"""The folder of a repair that is not finished: whose it is, and what the same repair uses of it when it continues.

Only segments are used. Each is compared with the old one, byte by byte, before it counts; all else is written again.
"""

from __future__ import annotations

import json

from native_reader.export.target import Target
from native_reader.repair import disk
from native_reader.repair.records import ReadSettings
from native_reader.repair.refusals import refusal
from native_reader.storage.store import StoreFiles, is_segment_name
from native_reader.storage.unchanged import state_of

LOG, NOTE = "commitlog", "repairing.json"
"""NOTE: the file that says whose repair it is. It is the first, and the last that is removed."""


def note_of(files: StoreFiles, settings: ReadSettings) -> str:
    """What must be equal for a repair to continue: the stores, as they are, and the options."""
    stores = [(each.uri, state_of(each)) for each in (files, *settings.others)]
    return json.dumps({"stores": stores, "options": repr((settings.choices, settings.sizes, settings.reserved_hours))})


def refuse_left(path: str, note: str) -> None:
    """Raise an error if a folder has anything that this repair cannot continue."""
    if disk.names_in(path) and not _is_note(path, note):
        raise refusal("left", path=path)


def take_over(folder: Target, note: str, *, with_segments: bool) -> bool:
    """Note whose folder this is, or keep what the same repair left in it that can be used. Returns whether it continues."""
    if is_continued := _is_note(folder.path, note):
        disk.clear(folder.path, lambda name: name == NOTE or (with_segments and _is_segment(name)))
    else:
        folder.write_text(NOTE, [note])
    return is_continued


def _is_segment(name: str) -> bool:
    parts = name.split("/")
    return len(parts) == 2 and parts[0] == LOG and is_segment_name(parts[1])


def _is_note(path: str, note: str) -> bool:
    return NOTE in disk.names_in(path) and disk.text_of(disk.path_in(path, NOTE)).rstrip("\n") == note
