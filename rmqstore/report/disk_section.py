"""What fills the disk: the sentences at the top of the page, and the section."""

from __future__ import annotations

from collections.abc import Callable

from native_reader.facts import Expiry, Facts, LogFacts, Row, Tally, expiry_of
from native_reader.sentences import Said
from rmqstore.disk import has_rest, used_percent
from rmqstore.report.blocks import NUMBER, SHARE, TEXT, TOP, name, note, part, ranking, section, share_cell, table
from rmqstore.report.markup import Markup, element, filled, joined
from rmqstore.report.topics_part import all_topics, largest_topics, topic_name
from rmqstore.report.words import Words

_PARTS = ("record", "blank", "damage", "unwritten", "stale", "unread")
_MOST_NAMES = 5


def on_disk(facts: Facts, words: Words) -> Markup:
    """How large the store is on its disk, and how full the disk is."""
    usage = facts.usage
    total = words.size(usage.total) if usage.is_whole else words.say("at_least", size=words.size(usage.total))
    sizes = {each: words.say("not_counted") for each in ("log", "queues", "index", "other")}
    sizes |= {each: words.size(size) for each, size in usage.known.items()}
    text = words.say("on_disk", total=total, **sizes)
    of_disk = _of_disk(facts, words)
    if of_disk is not None:
        text = words.say("two_sentences", first=text, second=of_disk)
    return element("p", text)


def _of_disk(facts: Facts, words: Words) -> str | None:
    """How full the disk is. What is reserved for others is neither used nor free."""
    disk, free = facts.settings.disk, facts.settings.free
    if disk is None:
        return None if free is None else words.say("of_disk_free", free=words.size(free))
    sizes = {each: words.size(getattr(disk, each)) for each in ("size", "used", "free")}
    rest = words.say("reserved") if has_rest(disk) else ""
    text = words.say("of_disk", **sizes, rest=rest, percent=used_percent(disk))
    return words.say("two_sentences", first=text, second=words.say("limits"))


def deleted_topics(facts: Facts, words: Words) -> Markup | None:
    """Which deleted topics still have records."""
    found = facts.deleted
    if not found.names:
        return None
    names = [part for each in found.names[:_MOST_NAMES] for part in (words.say("comma"), name(words, each))][1:]
    more = " …" if len(found.names) > _MOST_NAMES else None
    key = "deleted_topic" if len(found.names) == 1 else "deleted_topics"
    counts = {"messages": words.say("n_messages", count=found.messages), "size": words.size(found.bytes)}
    text = words.say(key, count=len(found.names), names="{names}", **counts)
    return element("p", filled(text, {"names": joined(*names, more)}))


def disk(facts: Facts, words: Words) -> Markup:
    """What fills the disk."""
    log = facts.log
    whole = log.segments.totals()["bytes"]

    shown: dict[str, Callable[[object], Markup]] = {
        "topic": lambda topic: topic_name(words, topic, deleted),
        "kind": lambda kind: name(words, kind and Said(f"kind {kind}").text(words.language)),
    }
    deleted = facts.deleted.names

    def ranked(tally: Tally, titles: tuple[str, ...], columns: tuple[str, ...], missing: str = "no_name") -> Markup:
        def cells(row: Row) -> list[Markup]:
            return [shown[column](row[column]) if column in shown else name(words, row[column], missing) for column in columns]

        return ranking(words, tally.top(TOP), whole, titles, cells)

    if words.within:  # the page has one table of all topics, of all brokers
        topics = largest_topics(words, log.topics, whole, deleted)
    else:
        topics = all_topics(words, log.topics, whole, facts.settings.zone_name, deleted)
    sizes = {part: sum(int(getattr(account, f"{part}_bytes")) for account in log.accounts) for part in _PARTS}
    columns = ((words.say("part"), TEXT), (words.say("size"), NUMBER), (words.say("share"), SHARE))
    labels = {part: words.say("part_records" if part == "record" else f"part_{part}") for part in _PARTS}
    parts = [(labels[each], words.size(size), share_cell(words, size, facts.size)) for each, size in sizes.items() if size]
    used = facts.usage.known.items()
    places = [(words.say(f"place_{each}"), words.size(size), share_cell(words, size, facts.usage.total)) for each, size in used]
    has_forgotten = any(tally.forgotten_groups for tally in (log.places, log.tags, log.hosts))
    return section(
        words,
        "disk",
        part(words, "by_place", table(columns, places)),
        part(words, "what_frees", *_frees(facts, words)),
        note(words.say("disk_note")),
        part(words, "by_topic", topics),
        part(words, "by_kind", ranked(log.places.by("kind"), ("kind",), ("kind",))),
        part(words, "by_tag", ranked(log.tags, ("tag", "topic"), ("tags", "topic"), "no_tag")),
        part(words, "by_host", _hosts(log, words, whole)),
        part(words, "by_part", table(columns, parts)),
        note(words.say("forgotten")) if has_forgotten else None,
    )


def _frees(facts: Facts, words: Words) -> list[Markup]:
    """The rules of a broker, and which segments it would delete now."""
    expiry = expiry_of(facts)
    now = "" if expiry is None else _expired(facts, expiry, words)
    rules = [words.say(each) for each in ("frees_files", "frees_limits", "frees_lower", "frees_topic")]
    return [element("p", text) for text in (words.say("frees"), now, *rules) if text]


def _expired(facts: Facts, expiry: Expiry, words: Words) -> str:
    """The segments that a broker would delete now, and the next one."""
    settings, segments = facts.settings, words.say("n_segments", count=len(facts.segments))
    now = f"{words.time(settings.now)} {settings.zone_name}"
    sizes = {"segments": segments, "size": words.size(expiry.bytes)}
    text = words.say("expired", hours=words.say("hours", count=settings.reserved), now=now, count=expiry.segments, **sizes)
    following = [words.say("expired_go")] if expiry.segments else []
    if expiry.next is None:
        following.append(words.say("newest_stays"))
    else:
        following.append(words.say("expires_next", time=f"{words.time(expiry.next)} {settings.zone_name}"))
    for sentence in (*following, words.say("expired_by")):
        text = words.say("two_sentences", first=text, second=sentence)
    return text


def _hosts(log: LogFacts, words: Words, whole: int) -> Markup:
    """Hosts, each with the topic that it fills most."""
    top = log.hosts.by("born_host").top(TOP)
    wanted = {row["born_host"] for row in top.rows}
    pairs = log.hosts.table()
    mains: dict[object, object] = {}
    for batch in () if pairs is None else pairs.select(["born_host", "topic"]).to_batches():  # the largest first
        for host, topic in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if host in wanted:
                mains.setdefault(host, topic)
    return ranking(
        words, top, whole, ("host", "main_topic"), lambda row: [name(words, row["born_host"]), name(words, mains[row["born_host"]])]
    )
