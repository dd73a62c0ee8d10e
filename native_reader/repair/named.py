"""Segments under a wrong name: each record says at which offset of the log it is, so it also says what the name of its file is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from native_reader.log.misnamed import under_right_names
from native_reader.storage.store import StoreFiles


def rightly_named(files: StoreFiles) -> StoreFiles:
    """The same files, each at the offset that its records say, if no other file is there. Their URIs stay."""
    return under_right_names(files, with_suffix=False).files


def as_named(files: StoreFiles) -> StoreFiles:
    """The same files, each at the offset of its name, as a broker reads them."""
    return replace(files, segments=tuple(sorted(replace(each, base=int(each.name)) for each in files.segments)))


def renamed_in(files: StoreFiles) -> Mapping[str, str]:
    """The right name of each segment whose name is wrong."""
    return {each.name: f"{each.base:020d}" for each in files.segments if not each.is_packed and int(each.name) != each.base}
