"""`--summary DIR` of commands that read everything anyway: they first write the parts that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqstore.cli.stderr import bar, clear, note

if TYPE_CHECKING:
    from native_reader import Store
    from rmqstore.cli.asked import Asked

_NO_CONDITIONS = {"summary", "time_zone", "max_read_rate", "mode", "fail_on_data_loss", "columns"}


def has_conditions(asked: Asked) -> bool:
    """Whether the user asked for some messages only."""
    return not asked.options.keys() <= _NO_CONDITIONS


def complete(asked: Asked, store: Store) -> None:
    """Write the parts that the summary lacks, if it is in a local folder. Says what prevents it."""
    import native_reader

    folder = asked.options.get("summary")
    if not isinstance(folder, str) or ("://" in folder and not folder.startswith("file://")):
        return
    for one in store.one_by_one():
        try:
            done = one.index(folder, progress=bar("writing the summary"), max_read_rate=asked.values().get("max_read_rate"))
        except native_reader.ExportError as error:
            note(f"warning: the summary was not completed: {error}")
            return
        clear()
        if done.written:
            note(f"summary {next(done.lines())}")
