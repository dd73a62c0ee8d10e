"""`rmqstore report`: a page about one store or several, to look at and to send on; or its numbers as metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rmqstore.cli.asked import AS_JSON, BROKER, LANGUAGE, NAMES, PATHS, PLACES, READING, RETENTION, WHERE, WRITTEN_SUMMARY, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import in_words, listed
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.cli.summarize import complete
from rmqstore.text import as_json

if TYPE_CHECKING:
    from datetime import tzinfo

    from native_reader import Facts
    from native_reader.sentences import Said

HELP = """Write a page about one store or several: what fills the disk, the log over time, sizes, queue skew, lag, pending messages, damage.

The page is one HTML file that loads nothing from a network. It holds names of topics, tags, groups and hosts, but no bodies, keys or
other properties. The exit code is 1 if the store has damage, or if --verify found errors or warnings.

Several stores are one page: a table of all brokers, then each of them. --to prometheus writes the numbers as metrics, for the textfile
collector of node-exporter.
"""
EPILOG = """\b
Examples:
  rmqstore report /data/store -o report.html
  rmqstore report /data/store -o report.html --lang zh --time-zone Asia/Shanghai
  rmqstore report /copies/broker-a --disk-free 120g --verify
  rmqstore report '/copies/*' --name /copies/broker-a=east --name /copies/broker-b=west
  rmqstore report /data/store --to prometheus -o /var/lib/node_exporter/rmqstore.prom
"""
_ZONE = WHERE[1:]
_OF_ROWS = ("columns", "where", "time_zone")
_LARGEST = 3
_FILES = {"html": Path("report.html"), "prometheus": Path("rmqstore.prom")}
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(help=HELP, epilog=EPILOG)
@click.option("-o", "--output", type=_FILE, help="The file to write.  [default: report.html or rmqstore.prom]")
@click.option("--to", type=click.Choice(tuple(_FILES)), default="html", help="A page, or metrics.  [default: html]")
@click.option("--title", metavar="TEXT", help="The title of the page.  [default: broker, cluster and host, as far as known]")
@click.option("--now", metavar="TIME", help="The time of the report, if not the current time: '2026-01-31 12:00:00Z'.")
@click.option("--disk-free", metavar="SIZE", help="Free space of the broker's disk: 120g.  [default: that of the disk with STORE]")
@click.option("--verify", is_flag=True, help="Also check all files against each other. Reads the log a second time.")
@takes(PATHS, NAMES, _ZONE, LANGUAGE, AS_JSON, RETENTION, WRITTEN_SUMMARY, READING, PLACES)
def report(
    asked: Asked, *, output: Path | None, to: str, lang: str, title: str | None, now: str | None,
    disk_free: str | None, file_reserved_time: int | None, verify: bool,
) -> int:  # fmt: skip
    from rmqstore.report.file import write_metrics, write_report

    output = output or _FILES[to]
    _refuse_title(to, title)
    options = asked.values()
    zone, summary = options.pop("time_zone", None) or "UTC", options.pop("summary", None)
    _refuse_others(options)
    settings = {
        "now": None if now is None else _moment(now, asked.zone or UTC),
        "time_zone": zone,
        "disk_free": None if disk_free is None else _size(disk_free),
        "file_reserved_time": file_reserved_time,
        "verify": verify,
        "summary": summary,
        "jobs": asked.jobs,
        "progress": bar(),
        **options,
    }
    with warnings():
        store = asked.open()
        names = asked.brokers(store)
        complete(asked, store)
        if to == "prometheus":
            brokers = write_metrics(store, output, names, **settings)
        else:
            brokers = write_report(store, output, lang, title, names, **settings)
        clear()
    if asked.as_json:
        for name, facts in brokers.items():
            click.echo(as_json({"page": str(output), BROKER: name, **facts.counts()}))
    _summarize(output, brokers, lang)
    return CLEAN if all(facts.is_clean for facts in brokers.values()) else FOUND


def _refuse_title(to: str, title: str | None) -> None:
    if to != "html" and title is not None:
        raise click.UsageError(in_words("no title"), click.get_current_context())


def _summarize(output: Path, brokers: Mapping[str, Facts], language: str) -> None:
    """The lines below the bar, in the language of the page."""
    from native_reader.sentences import say
    from rmqstore.disk import said_of_deleted

    said = [say("page", path=str(output), bytes=output.stat().st_size)]
    for name, facts in brokers.items():
        found = [_what_fills(facts)]
        if (deleted := facts.deleted).names:
            found.append(said_of_deleted(deleted.names, deleted.messages, deleted.bytes))
        said += [say("of broker", broker=name, said=each) for each in found] if len(brokers) > 1 else found
    for each in said:
        note(each.text(language))


def _refuse_others(options: Iterable[str]) -> None:
    """A report is about all messages, so it takes no conditions."""
    from native_reader.options import TABLE_OPTIONS

    possible = [name for name in TABLE_OPTIONS if name not in _OF_ROWS]
    if wrong := next((name for name in options if name not in possible), None):
        raise click.UsageError(in_words("not for report", name=wrong, possible=listed(possible)), click.get_current_context())


def _moment(text: str, zone: tzinfo) -> datetime:
    """The time, checked."""
    from native_reader.checks import instant

    moment = instant("now", text, zone)
    assert moment is not None
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=moment)


def _size(text: str) -> int:
    from native_reader.checks import size

    return size("disk_free", text, 0)


def _what_fills(facts: Facts) -> Said:
    """One sentence: the parts of the store and its largest topics."""
    from native_reader.sentences import joined, say
    from native_reader.text import share_of
    from rmqstore.disk import said_of_usage
    from rmqstore.report.markup import shortened

    stored, whole = said_of_usage(facts.usage, facts.settings.disk), facts.log.segments.totals()["bytes"]
    rows = facts.log.topics.top(_LARGEST).rows
    shares = [(shortened(str(row["topic"])), share_of(int(str(row["bytes"])), whole)) for row in rows]
    largest = [say("large topic" if at else "largest topic", topic=topic, share=share) for at, (topic, share) in enumerate(shares)]
    return say("largest topics", stored=stored, topics=joined("clauses", largest)) if largest else stored
