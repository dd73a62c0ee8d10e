"""The rescue of a store: all readable messages as files, a check of the rest, and a page that says what was saved and lost."""

from native_reader.rescue.rescue import Rescued

__all__ = ["Rescued"]
