"""Two stores compared: what a slave, a copy, a backup or an old master has that the other lacks."""

from native_reader.compare.diff import Diff
from native_reader.compare.peers import Peers

__all__ = ["Diff", "Peers"]
