"""The repair of a store: a new one beside it, on which a broker runs, with every message that survived."""

from native_reader.repair.repair import Repaired

__all__ = ["Repaired"]
