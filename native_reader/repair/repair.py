"""Repairs a store: plans, writes the new store, proves it, and only then gives it its place."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import pyarrow.compute as pc

from native_reader.account.account import Account
from native_reader.account.states import UNREACHABLE
from native_reader.errors import ExportError, StoreError, UnreadableError, warn
from native_reader.export.target import Target
from native_reader.lost.lost import write_repaired
from native_reader.markdown import lines_of
from native_reader.records.damages import NO_DAMAGE
from native_reader.repair import disk
from native_reader.repair.checking import Warned
from native_reader.repair.comparing import Comparing
from native_reader.repair.copies import Copies
from native_reader.repair.kept_keys import KeptKeys
from native_reader.repair.moved import moved_plan
from native_reader.repair.named import rightly_named
from native_reader.repair.needs import Needs, needs_of
from native_reader.repair.page import facts_of, page_of
from native_reader.repair.plain import IDS, write_ids
from native_reader.repair.plan import RepairPlan, plan_repair
from native_reader.repair.proof import prove
from native_reader.repair.records import TIER_TO_LOG, ReadSettings
from native_reader.repair.refusals import refusal
from native_reader.repair.refused import refuse_kinds
from native_reader.repair.settings import NOT_MADE
from native_reader.repair.tiers import own_tier
from native_reader.repair.unfinished import LOG, NOTE, note_of, refuse_left, take_over
from native_reader.repair.write import LOST, PAGES, indexes_tags, write_store
from native_reader.sentences import ENGLISH, Said, say, told
from native_reader.start import BUT, YES, Start, answer_for
from native_reader.storage.local import LocalPath, local_path
from native_reader.storage.store import UNFINISHED, StoreFiles

_log = logging.getLogger("native_reader")


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair: its plan, and the new store if it was written.

    Attributes:
        plan: What survived, what was lost, and what the new store holds.
        path: The new store; None if only the plan was made.
        warnings: What the check of the new store says about files that were copied as they are; of a plan, that of the damaged one.
        start: Whether a broker may be started on the new store; None if only the plan was made.
        account: In which states the messages of the new store are, placeholders among them; None if only the plan was made.
        needs: Which bytes a repair reads and writes, how much room it needs, and how long it takes; None once the new store was written.

    Examples:
        >>> repaired = rmqstore.open("damaged").repair("repaired")
        >>> repaired.is_whole, repaired.plan.messages
        (False, 246)
        >>> rmqstore.open("repaired").verify().to_table(), rmqstore.open("repaired").messages().count_rows() >= 246
        (...True)
    """

    plan: RepairPlan
    path: str | None = None
    warnings: tuple[str, ...] = ()
    said: tuple[Said, ...] = field(default=(), repr=False)
    """The warnings as the page says them."""
    start: Start | None = None
    account: Account | None = None
    has_lost: bool = field(default=False, repr=False)
    """Whether the folder `lost` has what each team lost."""
    needs: Needs | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is lost, in doubt or assumed, and, if the new store was written, a broker may be started and serves all of it."""
        is_served = self.account is None or self.account.is_whole
        return (
            self.plan.is_whole
            and not (self.plan.plain and self.plan.plain.damage)
            and not self.plan.assumes_queue_size
            and is_served
            and (self.start is None or self.start.outcome in (YES, BUT))
        )

    @property
    def page(self) -> str | None:
        """The path of the page about what was lost and made; None if only the plan was made."""
        return None if self.path is None else disk.path_in(self.path, PAGES[self.plan.moved is not None][0])

    @property
    def ids(self) -> str | None:
        """The path of the table of old and new places and offsetMsgIds; None if these stay, or only the plan was made."""
        return None if self.path is None or self.plan.plain is None else disk.path_in(self.path, IDS)

    def lines(self, language: str = ENGLISH) -> Iterator[str]:
        """Write the page for people, line by line, as Markdown.

        Args:
            language: `en` or `zh`.
        """
        page = page_of(self.plan, self.path, self.said, self.start, self.account, needs=self.needs, has_lost=self.has_lost)
        yield from lines_of(page, language)

    def to_dict(self) -> dict[str, Any]:
        """Build the content of `repair.json`."""
        return facts_of(self.plan, self.warnings, self.start, self.account, self.needs)


When = Callable[[Repaired], object]
"""Gets what a dry run returns."""


def repair(
    files: StoreFiles,
    path: LocalPath,
    settings: ReadSettings,
    *,
    dry_run: bool = False,
    when_planned: When | None = None,
    language: str = ENGLISH,
) -> Repaired:
    """Write a new store to the folder `path`. `Store.repair` says more."""
    files = rightly_named(files)
    folder = Target(path, (files,))
    place = disk.real_path(folder.path)
    unfinished = Target(place + UNFINISHED, (files,))
    _refuse_contents(place, unfinished.path)
    if disk.names_in(unfinished.path) and disk.is_locked(unfinished.path):
        raise refusal("being written", path=unfinished.path)
    refuse_kinds(files, settings.choices)  # before anything is written
    own_tier(files, settings.choices)
    if settings.choices.link:
        _refuse_links(files, unfinished.path)
    note = note_of(files, settings)
    refuse_left(unfinished.path, note)
    if dry_run:
        begun = monotonic()
        plan = _plan(files, settings)
        needs = needs_of(plan, place, free=disk.free_bytes(place), took=monotonic() - begun)
        needs.check(folder.path, files.uri)
        return Repaired(plan, None, *_warnings(plan.copied, plan), needs=needs)
    with KeptKeys(unfinished.path, with_tags=indexes_tags(files)) as kept, unfinished:
        _refuse_contents(place, unfinished.path)
        refuse_left(unfinished.path, note)
        return _written(files, unfinished, folder.path, settings, kept, note=note, when_planned=when_planned, language=language)


def _refuse_links(files: StoreFiles, folder: str) -> None:
    """Raise an error if no file of the store can have a name in a folder, which may not be there yet."""
    for segment in files.segments[:1]:
        if not disk.is_beside(local_path(segment.uri), folder):
            raise refusal("links", store=files.uri, path=folder)


def _written(
    files: StoreFiles, unfinished: Target, path: str, settings: ReadSettings, kept: KeptKeys,
    *, note: str, when_planned: When | None, language: str,
) -> Repaired:  # fmt: skip
    """Plan the new store, write it, and give it its place."""
    try:
        is_continued = take_over(unfinished, note, with_segments=not settings.choices.topics)
        with Comparing(settings.jobs) as comparing, disk.Background() as background:
            copies = Copies(background, disk.path_in(unfinished.path, LOG))
            try:
                planned = _planned(files, path, settings, kept, copies)
                if when_planned is not None:
                    when_planned(planned)
            except BaseException as error:
                background.stop()
                if isinstance(error, StoreError) and not is_continued:  # nothing is left of what is refused
                    disk.remove(unfinished.path)
                raise
            plan = planned.plan
            new = write_store(plan, unfinished.path, copies, kept, comparing, progress=settings.doing("copying").progress)
            warnings, account = prove(plan, new, unfinished.path, settings, comparing)
            if plan.plain is not None:
                ids = disk.path_in(unfinished.path, IDS)
                write_ids(plan.plain, new, ids, plan.filling.placed["offset"], moved=plan.moved, settings=settings.doing("comparing"))
            start = answer_for(
                new, plan.end, settings.reserved_hours, settings.max_read_rate, NO_DAMAGE, checksums=True, counts=not account.is_whole
            )
            has_lost = _write_lost(unfinished, plan, settings, language)
            done = Repaired(plan, path, *_warnings(warnings, plan), start, account, has_lost)
            unfinished.write_text(PAGES[plan.moved is not None][1], [json.dumps(done.to_dict(), ensure_ascii=False, indent=2)])
            background.finish()
        unfinished.write_text(PAGES[plan.moved is not None][0], done.lines(language))
        unfinished.remove_temporary_folder()
        if note_of(files, settings) != note:
            raise refusal("changed", store=files.uri, path=unfinished.path)
        disk.flush(unfinished.path)
        disk.publish(unfinished.path, disk.real_path(path), NOTE)
        return done
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise ExportError(say("repair not written", path=unfinished.path, why=told(error))) from error


def _write_lost(folder: Target, plan: RepairPlan, settings: ReadSettings, language: str) -> bool:
    """Write what each team lost. If something cannot be read for it, the repair goes on. Returns whether it was written."""
    rows = plan.account.table
    account = Account(rows.filter(pc.not_equal(rows["state"], UNREACHABLE)))  # these have their entries again
    if account.is_whole or plan.moved is not None:
        return False
    try:
        reading: dict[str, Any] = {"jobs": settings.jobs, "max_read_rate": settings.max_read_rate}
        write_repaired(folder, LOST, plan.files, account=account, language=language, **reading)
    except UnreadableError as error:
        folder.remove_folder(LOST)
        warn(_log, say("owners not written", path=folder.path, why=told(error)))
        return False
    return True


def _planned(files: StoreFiles, path: str, settings: ReadSettings, kept: KeptKeys, copies: Copies) -> Repaired:
    """The plan, while segments are copied. The disk must have room for it."""
    place = disk.real_path(path)
    if not (
        settings.choices.topics
        or settings.others
        or settings.choices.link
        or settings.choices.plain
        or settings.choices.tier == TIER_TO_LOG
    ):  # else not all segments are copied as they are
        copies.begin(files)
    plan = _plan(files, settings, kept)
    needs = needs_of(plan, place, free=disk.free_bytes(place) + copies.bytes(), took=None)
    if needs.room > needs.free:
        kept.forget()
        needs = replace(needs, free=disk.free_bytes(place) + copies.bytes())
    needs.check(path, files.uri)
    return Repaired(plan, None, *_warnings(plan.copied, plan), needs=needs)


def _plan(files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None = None) -> RepairPlan:
    return moved_plan(plan_repair(files, settings)) if settings.choices.topics else plan_repair(files, settings, kept)


def _refuse_contents(place: str, unfinished: str) -> None:
    """Nothing in a folder is overwritten, and two repairs never write to one."""
    for path in (place, unfinished):
        if disk.is_file(path):
            raise refusal("file", path=path)
    if names := disk.names_in(place):
        raise refusal("not empty", path=place, name=min(names))
    if disk.is_mount(place):
        raise refusal("mount", path=place)


def _warnings(found: Sequence[Warned], plan: RepairPlan) -> tuple[tuple[str, ...], tuple[Said, ...]]:
    """As text, and as what the page says. Its results name each settings file that the new store does not have."""
    return tuple(each.text for each in found), tuple(each.said for each in found if plan.mended.get(each.missing or "") not in NOT_MADE)
