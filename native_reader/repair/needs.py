"""What a repair needs: bytes to read and to write, room and time; and what it would need with links or shared blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from native_reader.repair import disk
from native_reader.repair.plan import RepairPlan
from native_reader.repair.refusals import refusal
from native_reader.sentences import Said, say
from native_reader.storage.filled import own_uri
from native_reader.storage.local import local_path
from native_reader.text import duration_of, size_of

_PASSES = 2
"""How often a plan reads the log: for what survives, and for its account."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a repair needs, in bytes. Of a dry run, the plan counts, which a run makes again; of a run, only what follows its plan.

    Attributes:
        read: How many are read, of both stores and all passes.
        copied: How many are copied as they are; `made`: how many others are written.
        room: How many the new store takes on its disk.
        free: How many are free there.
        rate: How many a second the plan read of the log; None if it took too short a time to tell.
        seconds: How long the plan took, if it counts, and what else is read takes at that rate.
        linked: The room with `--link`; None if files of the damaged store cannot have names there, or have them already.
        shares: Whether copies share blocks with the damaged store there (reflinks), so that they take no room; None if that is not known.
    """

    read: int
    copied: int
    made: int
    free: int
    rate: float | None
    seconds: float | None
    linked: int | None
    shares: bool | None
    is_beside: bool
    """Whether both stores are on one disk."""

    @property
    def room(self) -> int:
        """How many bytes the new store takes on its disk."""
        return self.made + (0 if self.shares else self.copied)

    def check(self, path: str, store: str) -> None:
        """Raise an error if the disk has too little room."""
        if self.room <= self.free:
            return
        values = {"path": path, "free": size_of(self.free), "needed": size_of(self.room)}
        if self.linked is not None and self.linked <= self.free:
            raise refusal("no space without links", **values, linked=size_of(self.linked), store=store)
        raise refusal("no space", **values)

    def work(self, size: int) -> Said:
        """What is read and written. `size`: of the new files, holes among them."""
        sizes = {"read": self.read, "copied": self.copied, "made": self.made, "size": size}
        return say("work", **{name: size_of(each) for name, each in sizes.items()})

    def time(self) -> Said | None:
        """How long that takes, as far as it was measured."""
        if self.rate is None or self.seconds is None:
            return None
        return say("time of reading", time=duration_of(self.seconds), rate=size_of(self.rate))

    def to_dict(self) -> dict[str, int | float | bool | None]:
        """For `repair.json`."""
        return {
            "read_bytes": self.read,
            "copied_bytes": self.copied,
            "made_bytes": self.made,
            "room_bytes": self.room,
            "free_bytes": self.free,
            "read_bytes_per_second": None if self.rate is None else round(self.rate),
            "seconds": None if self.seconds is None else round(self.seconds),
            "room_with_links_bytes": self.linked,
            "shares_blocks": self.shares,
            "room_with_shared_blocks_bytes": self.made,
        }


def needs_of(plan: RepairPlan, path: str, *, free: int, took: float | None) -> Needs:
    """What a repair to a folder needs. `took`: how many seconds the plan took, if it is to be made again."""
    files = plan.files if plan.plain is None else plan.plain.old
    own = [local_path(uri) for each in files.segments if (uri := own_uri(each.uri)) is not None]
    log, copied, made = sum(map(disk.data_bytes, own)), plan.bytes_copied, plan.bytes_made
    linked, shares, is_beside = None, None, disk.is_beside(own[0], path)
    if plan.moved is None and plan.plain is None:
        shares = disk.shares_blocks(own[0], path)
        if is_beside and not plan.choices.link:
            with_links = replace(plan, choices=plan.choices._replace(link=True))
            linked = made + (0 if shares else with_links.bytes_copied)
    # All of the new log is checked, and what was copied is compared; of an extract, this is the other way round.
    rest = (0 if shares else copied) + log + 2 * copied
    passes = 0 if took is None else _PASSES if plan.alone is None else 2 * _PASSES
    rate = plan.survey.rate
    seconds = None if rate is None else rest / rate + (took or 0)
    return Needs(passes * log + rest, copied, made, free, rate, seconds, linked, shares, is_beside)
