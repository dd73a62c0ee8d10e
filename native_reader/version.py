"""The version of this package."""

from __future__ import annotations

from importlib import metadata

UNKNOWN = "unknown"
"""Of a zip or a folder of sources, which has no metadata."""


def version() -> str:
    """The version of the installed package."""
    try:
        return metadata.version("rmqstore-spark")
    except metadata.PackageNotFoundError:
        return UNKNOWN
