"""`rmqstore lost`: what each team lost, as files for each topic and texts to send."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, LANGUAGE, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.given import fault_in, keys_in, text_of
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.text import as_json

if TYPE_CHECKING:
    from native_reader import Lost

HELP = """Write to FOLDER what the owners of topics must know of messages that consumers cannot get.

For each topic: each message or range with its queue offsets, the times between which it was stored, its size, the hash of its tag, hashes
of its keys, and which groups had read past it; as lost.csv and lost.jsonl, with --lang zh also as lost.zh.csv, for people. And a text to
send, in English and Chinese. The exit code is 1 if a message is lost, doubtful, unreachable or not read, or a key is not in a whole
message.
"""
EPILOG = """\b
Examples:
  rmqstore lost /data/store -o lost
  rmqstore lost /data/store -o lost --keys orders.txt --owners owners.csv
"""
_PAIRS, _ROWS = '{"orders*": "sales"}', '[{"topic": "orders*", "team": "sales"}]'
"""How JSON names the teams of topics."""


@click.command(help=HELP, epilog=EPILOG)
@takes(
    PATHS,
    (
        click.option("--output", "-o", metavar="FOLDER", required=True, type=click.Path(), help="The folder: new or empty."),
        click.option(
            "--keys", "keys_file", metavar="FILE", type=click.Path(), help="Which of these keys are whole, doubtful or lost? One a line."
        ),
        click.option(
            "--owners",
            "owners_file",
            metavar="FILE",
            type=click.Path(),
            help="A folder for each team: lines orders*,sales in CSV; or JSON.",
        ),
    ),
    *(LANGUAGE, AS_JSON, READING, PLACES),
)
def lost(asked: Asked, output: str, keys_file: str | None, owners_file: str | None, lang: str) -> int:
    from rmqstore.results import said_of_lost

    asked.check_paths()
    values = asked.values()
    of_read = {name: values.pop(name) for name in ("max_read_rate", "tiered", "tiered_store_file_path") if name in values}
    if values:
        raise click.UsageError(in_words("no such options", name=next(iter(values))), click.get_current_context())
    keys = None if keys_file is None else keys_in(keys_file)
    owners = None if owners_file is None else _owners_in(owners_file)
    with warnings():
        progress = bar("checking", "reading")
        done = asked.open().lost(output, keys=keys, owners=owners, jobs=asked.jobs, progress=progress, language=lang, **of_read)
        clear()
    if asked.as_json:
        click.echo(as_json(_counts(done)))
    for each in said_of_lost(done):
        note(each.text(lang))
    return CLEAN if done.is_whole else FOUND


def _owners_in(path: str) -> dict[str, str]:
    """The team of each pattern, from JSON or CSV."""
    text = text_of(path, "--owners")
    try:
        pairs = _pairs_of_json(json.loads(text)) if text.lstrip()[:1] in ("{", "[") else _pairs_of_csv(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise fault_in(path, in_words("not json"), "--owners") from error
    except (ValueError, csv.Error) as error:
        raise fault_in(path, str(error), "--owners") from error
    owners: dict[str, str] = {}
    for pattern, team in pairs:
        owners.setdefault(pattern, team)
    return owners


def _pairs_of_json(found: Any) -> list[tuple[str, str]]:
    """An object of patterns and teams, or a list of objects with `topic` and `team`."""
    pairs: list[tuple[Any, Any]] = list(found.items()) if isinstance(found, dict) else []
    pairs += [(each.get("topic"), each.get("team")) for each in found if isinstance(each, dict)]
    if not pairs or len(pairs) != len(found) or not all(isinstance(part, str) and part for pair in pairs for part in pair):
        raise ValueError(in_words("no owners in json", pairs=_PAIRS, rows=_ROWS))
    return pairs


def _pairs_of_csv(text: str) -> list[tuple[str, str]]:
    """Lines of a pattern and a team; a first line `topic,team` is a heading."""
    pairs = []
    for number, cells in enumerate(csv.reader(text.splitlines()), 1):
        parts = [cell.strip() for cell in cells]
        if not any(parts) or (number == 1 and [part.lower() for part in parts] == ["topic", "team"]):
            continue
        if len(parts) != 2 or not all(parts):
            raise ValueError(in_words("no owner in line", number=number))
        pairs.append((parts[0], parts[1]))
    if not pairs:
        raise ValueError(in_words("no owners"))
    return pairs


def _counts(done: Lost) -> dict[str, object]:
    return {"folder": done.path, "topics": len(done.topics), "states": dict(done.account.messages), "keys": done.keys}
