"""Two stores compared: what a slave, a copy, a backup or an old master has that the other lacks."""

from native_reader.compare.diff import Diff

__all__ = ["Diff"]
