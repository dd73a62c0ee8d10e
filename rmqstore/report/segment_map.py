"""A map of the segments: the log line by line, with the places of damage and findings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from native_reader.facts import Facts, FirstFindings, Numbers
from rmqstore.report.blocks import Range, note, strip, times_in
from rmqstore.report.markup import Markup, element
from rmqstore.report.words import Words

_ROWS = 16
_DISTINCT = 250
"""Ranges that are closer than this part of a row are drawn as one."""
_MOST_BORDERS = 64
_STYLES = ("written", "unwritten", "broken", "gone", "finding")


class Spans(NamedTuple):
    """Ranges of the log, sorted by their start."""

    starts: Numbers
    stops: Numbers

    def inside(self, start: int, stop: int) -> Spans:
        """The parts inside that range."""
        chosen = (self.starts < stop) & (self.stops > start)
        return Spans(np.maximum(self.starts[chosen], start), np.minimum(self.stops[chosen], stop))

    def merged(self, distance: int) -> Spans:
        """Joins those that are closer together than that."""
        if not len(self.starts):
            return self
        ends = np.maximum.accumulate(self.stops)
        firsts = np.flatnonzero(np.append(True, self.starts[1:] - ends[:-1] > distance))
        return Spans(self.starts[firsts], ends[np.append(firsts[1:], len(ends)) - 1])


def segment_map(facts: Facts, words: Words) -> Markup:
    """The map with its legend."""
    legend = [element("li", _sample(style), words.say(style)) for style in _STYLES]
    notes = note(words.say("map_note")), times_in(words, facts.settings.zone_name)
    return element("figure", *notes, element("ul", *legend, class_="legend"), *_rows(facts, words))


def _sample(style: str) -> Markup:
    rect = element("rect", x=0, y=0, width=10, height=10, class_=style)
    return element("svg", rect, viewBox="0 0 10 10", aria_hidden="true")


def _rows(facts: Facts, words: Words) -> Iterator[Markup]:
    written, broken, gone, found = _written(facts), _broken(facts), _gone(facts), _found(facts)
    borders = np.array(sorted({each for segment in facts.segments for each in (segment.base, segment.end)}), np.int64)
    first = min([int(borders[0]), *(gap.start for gap in facts.missing)])
    last = max([int(borders[-1]), *(gap.stop for gap in facts.missing)])
    in_row = -(-len(facts.segments) // _ROWS) * facts.segments[0].size
    width = max(1, in_row, -(-(last - first) // _ROWS))
    stored = _first_times(facts)
    for start, stop in pairwise([*range(first, last, width), last]):
        layers = (("written", written), ("gone", gone), ("finding", found), ("broken", broken))
        ranges = [each for style, spans in layers for each in _ranges(spans, start, stop, width, style)]
        begun = min((first_time for base, first_time in stored if start <= base < stop), default=None)
        time = words.say("no_message") if begun is None else words.time(begun)
        label = words.say("map_row", time=time, start=f"{start:,}", stop=f"{stop:,}")
        counts = {
            "map_damaged": sum(len(each.inside(start, stop).starts) for each in (broken, gone)),
            "map_found": len(found.inside(start, stop).starts),
        }
        texts = [label, *(words.say(key, number=f"{count:,}") for key, count in counts.items() if count)]
        inside = borders[(borders > start) & (borders < stop)]
        lines = ((inside - start) / width).tolist() if len(inside) <= _MOST_BORDERS else []
        title = words.say("semicolon").join(texts)
        yield element("div", element("div", title, class_="label"), strip(ranges, lines, title), class_="row")


def _ranges(spans: Spans, start: int, stop: int, width: int, style: str) -> Iterator[Range]:
    merged = spans.inside(start, stop).merged(width // _DISTINCT)
    for begin, end in zip(merged.starts.tolist(), merged.stops.tolist(), strict=True):
        yield Range((begin - start) / width, (end - start) / width, style)


def _first_times(facts: Facts) -> list[tuple[int, int]]:
    """The offset of each segment, and when its first record was stored."""
    found = facts.log.segments.table()
    rows = [] if found is None else found.select(["segment", "first"]).to_pylist()
    return [(int(row["segment"]), row["first"]) for row in rows if row["first"] is not None]


def _written(facts: Facts) -> Spans:
    unwritten = {account.base: account.unwritten_bytes for account in facts.log.accounts}
    pairs = [(segment.base, segment.end - unwritten.get(segment.base, 0)) for segment in facts.segments]
    return _spans([(start, stop) for start, stop in pairs if start < stop])


def _broken(facts: Facts) -> Spans:
    return _spans(np.stack((facts.log.damage.starts, facts.log.damage.ends), axis=1))


def _gone(facts: Facts) -> Spans:
    return _spans([(gap.start, gap.stop) for gap in facts.missing])


def _found(facts: Facts) -> Spans:
    rows = facts.findings.rows if isinstance(facts.findings, FirstFindings) else []
    offsets = [offset for row in rows if row["severity"] != "note" and isinstance(offset := row["offset"], int)]
    return _spans([(offset, offset + 1) for offset in offsets])


def _spans(pairs: list[tuple[int, int]] | Numbers) -> Spans:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    array = array[np.argsort(array[:, 0], kind="stable")]
    return Spans(array[:, 0], array[:, 1])
