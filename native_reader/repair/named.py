"""Segments under a wrong name: each record says at which offset of the log it is, so it also says what the name of its file is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from native_reader.log.misnamed import under_right_names
from native_reader.storage.store import StoreFiles, is_segment_name


def rightly_named(files: StoreFiles) -> StoreFiles:
    """The same files, each at the offset that its records say, if no other file is there. Their URIs stay.

    A segment under its name and a suffix such as `.bak` is one of them.
    """
    return under_right_names(files).files


def as_named(files: StoreFiles) -> StoreFiles:
    """The same files, each at the offset of its name, as a broker reads them, and without those that have a suffix."""
    named = [each for each in files.segments if each.is_packed or is_segment_name(each.name)]
    others = tuple(each.name for each in files.segments if each not in named)
    segments = sorted(each if each.is_packed else replace(each, base=int(each.name)) for each in named)
    return replace(files, segments=tuple(segments), strays=(*files.strays, *others))


def renamed_in(files: StoreFiles) -> Mapping[str, str]:
    """The right name of each segment whose name is wrong."""
    names = {each.name: f"{each.base:020d}" for each in files.segments if not each.is_packed}
    return {name: right for name, right in names.items() if name != right}
