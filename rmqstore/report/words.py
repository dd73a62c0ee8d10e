"""Texts and times as the page writes them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from native_reader.facts import DAY, HOUR
from native_reader.layout.times import EPOCH
from native_reader.text import in_chinese, size_of
from rmqstore.report.texts import TEXTS
from rmqstore.text import LANGUAGES

_MINUTE = 60_000_000
_MINUTES = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Words:
    """One language and one time zone. `within`: the id of the section that all others are in; then their titles are one level lower."""

    language: str
    zone: tzinfo
    within: str = ""

    def id(self, key: str) -> str:
        """The id of a section."""
        return f"{self.within}-{key}" if self.within else key

    def heading(self, level: int) -> str:
        """The element of a title."""
        return f"h{level + bool(self.within)}"

    def say(self, key: str, **values: str | int) -> str:
        """A text. `count` is written with separators and gives the plural."""
        text = TEXTS[key][LANGUAGES.index(self.language)]
        number = values.get("count")
        plural = {} if number is None else {"s": "" if number == 1 else "s", "count": f"{number:,}"}
        measures = {name: self.measure(value) if isinstance(value, str) else value for name, value in values.items()}
        return text.format(**(measures | plural))

    def size(self, count: float) -> str:
        """A number of bytes, in the largest unit that fits."""
        return self.measure(size_of(count))

    def measure(self, text: str) -> str:
        """A number with its unit, in this language."""
        return in_chinese(text) if self.language == "zh" else text

    def time(self, microseconds: int | None) -> str:
        """A time to the minute; a dash for none."""
        return "–" if microseconds is None else self._there(microseconds).isoformat(" ", "minutes")[:16]

    def minutes_there(self, microseconds: int | None) -> int | None:
        """The minutes since 1970 that a clock shows in the zone."""
        return None if microseconds is None else (self._there(microseconds).replace(tzinfo=UTC) - EPOCH) // _MINUTES

    def _there(self, microseconds: int) -> datetime:
        moment = EPOCH + timedelta(microseconds=microseconds)
        with suppress(OverflowError):  # in the first or last hours of all years: shown in UTC
            moment = moment.astimezone(self.zone)
        return moment

    def duration(self, microseconds: int) -> str:
        """Whole days, hours or minutes."""
        if microseconds >= 2 * DAY:
            return self.say("days", count=microseconds // DAY)
        if microseconds >= 2 * HOUR:
            return self.say("hours", count=microseconds // HOUR)
        return self.say("minutes", count=microseconds // _MINUTE)

    def width(self, microseconds: int) -> str:
        """The width of a bin, in the largest unit that fits."""
        unit, size = next(
            (pair for pair in (("days", DAY), ("hours", HOUR)) if microseconds % pair[1] == 0 and microseconds >= pair[1]),
            ("minutes", _MINUTE),
        )
        return self.say(unit, count=microseconds // size)
