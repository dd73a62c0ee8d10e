"""Repairs a store: plans, writes the new store, proves it, and only then gives it its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from native_reader.errors import ExportError, StoreError
from native_reader.export.target import Target
from native_reader.repair import disk
from native_reader.repair.moved import moved_plan
from native_reader.repair.page import facts_of, lines_of
from native_reader.repair.plan import RepairPlan, plan_repair
from native_reader.repair.proof import prove
from native_reader.repair.records import Reading
from native_reader.repair.refusals import refusal
from native_reader.repair.repeats import repeat_in_holes
from native_reader.repair.write import PAGES, UNFINISHED, write_store
from native_reader.storage.local import LocalPath
from native_reader.storage.store import StoreFiles
from native_reader.text import size_of


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair: its plan, and the new store if it was written.

    Attributes:
        plan: What survived, what was lost, and what the new store holds.
        path: The new store; None if only the plan was made.
        warnings: What the check of the new store says about files that were copied as they are.

    Examples:
        >>> repaired = nr.open("damaged").repair("repaired")
        >>> repaired.is_whole, repaired.plan.messages
        (False, 246)
        >>> nr.open("repaired").verify().to_table(), nr.open("repaired").messages().count_rows() >= 246
        (...True)
    """

    plan: RepairPlan
    path: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing is known to be lost."""
        return self.plan.is_whole

    @property
    def page(self) -> str | None:
        """The path of the page about what was lost and made; None if only the plan was made."""
        return None if self.path is None else disk.path_in(self.path, PAGES[self.plan.moved is not None][0])

    def lines(self) -> Iterator[str]:
        """Write the plan for people, line by line, as Markdown."""
        yield from lines_of(self.plan, self.path, self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Build the content of `repair.json`."""
        return facts_of(self.plan, self.warnings)


def repair(files: StoreFiles, path: LocalPath, how: Reading, *, dry_run: bool = False) -> Repaired:
    """Write a new store to the folder `path`. `Store.repair` says more."""
    folder = Target(path, (files,))
    _refuse_contents(folder.path)
    plan = plan_repair(files, how) if not how.choices.topics else moved_plan(plan_repair(files, how))
    needed, free = plan.bytes_to_write, disk.free_bytes(folder.path)
    if needed > free:
        raise refusal("no space", path=folder.path, free=size_of(free), needed=size_of(needed))
    if dry_run:
        return Repaired(plan)
    try:
        with folder:
            _refuse_contents(folder.path)
            return _repair(plan, folder, how)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise ExportError(f"{folder.path}: could not write: {error}. Delete that folder, and start the repair again") from error


def _refuse_contents(path: str) -> None:
    """A store that is not finished must never look like one, and nothing in a folder is overwritten."""
    names = disk.names_in(path)
    if UNFINISHED in names:
        raise refusal("unfinished", path=path)
    if names:
        raise refusal("not empty", path=path, name=min(names))


def _repair(plan: RepairPlan, folder: Target, how: Reading) -> Repaired:
    unfinished = disk.path_in(folder.path, UNFINISHED)
    new = write_store(plan, unfinished)
    warnings = tuple(prove(plan, new, unfinished, how))
    if plan.choices.holes == "repeat":
        repeat_in_holes(plan, unfinished)
    done = Repaired(plan, folder.path, warnings)
    page, facts = PAGES[plan.moved is not None]
    folder.write_text(facts, [json.dumps(done.to_dict(), ensure_ascii=False, indent=2)])
    folder.write_text(page, done.lines())
    folder.remove_temporary_folder()
    disk.publish(unfinished, folder.path)
    return done
