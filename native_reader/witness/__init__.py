"""A quick look at a store: a witness for each file, compared with the others, in time that grows with the number of files."""

from native_reader.witness.contradiction import Contradiction
from native_reader.witness.look import Witnesses, look_at

__all__ = ["Contradiction", "Witnesses", "look_at"]
