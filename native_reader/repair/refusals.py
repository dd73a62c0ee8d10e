"""The error for what is not repaired. `sentences/refusals.py` has the kinds."""

from __future__ import annotations

from native_reader.errors import RepairError
from native_reader.sentences import Said, say


def refusal(kind: str, **values: int | str | Said) -> RepairError:
    """The error of that kind."""
    return RepairError(say(f"refused {kind}", **values))
