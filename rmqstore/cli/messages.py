"""Messages on standard output: for people with a heading and the body below it, else as lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli import stderr
from rmqstore.cli.asked import AS_JSON, COLUMNS, FILTERS, PATHS, PLACES, READING, STRICT, SUMMARY, WHERE, Decorator
from rmqstore.cli.rows import Output, rows_of
from rmqstore.cli.spoken import in_words
from rmqstore.text import AUTO, BODIES, JSON, NONE, body_lines, cell, for_people, moment_of, safe

if TYPE_CHECKING:
    import pyarrow as pa

    from rmqstore.cli.asked import Asked
    from rmqstore.cli.reading import Read

HEADS = ("store_timestamp", "topic", "queue_id", "queue_offset", "tags", "keys", "msg_id", "kind", "physical_offset", "store")
"""The columns of a message for people and in a pipe; then comes the body."""
_OF_RETRIES = "reconsume_times", "origin_topic"
"""More columns for people: where a message that was sent back comes from."""
_NORMAL, _RETRY = "normal", "retry"
_SHOWN = 4096
"""Bytes of a body that people see; programs get all."""

MESSAGES: tuple[Decorator, ...] = (*PATHS, *FILTERS, *SUMMARY, *WHERE, *COLUMNS, *AS_JSON, *STRICT, *READING, *PLACES)
"""The arguments of commands that print messages."""
BODY: Decorator = click.option("--body", type=click.Choice(BODIES), default=AUTO, help="How bodies are shown.  [default: auto]")


class Messages:
    """Prints messages. `defaults`: the options that a scan needs for that."""

    def __init__(self, asked: Asked, body: str) -> None:
        self._output = Output(json=asked.as_json, zone=asked.zone, body=body)
        self._is_chosen, self._body = "columns" in asked.options, body
        self._count = 0

    @property
    def defaults(self) -> dict[str, Any]:
        """The columns to read, unless the user chose some."""
        if self._is_chosen:
            return {}
        if not self._output.is_json:
            more = _OF_RETRIES if self._output.is_terminal else ()
            return {"columns": (*HEADS, *more) if self._body == NONE else (*HEADS, *more, "body")}
        from native_reader.api import DEFAULT_COLUMNS

        return {"columns": [name for name in DEFAULT_COLUMNS if name != "body" or self._body != NONE]}

    def print(self, batches: Iterable[pa.RecordBatch], limit: int | None = None) -> int:
        """Print the messages of these batches, at most `limit`; returns their number."""
        before = self._count
        if limit == 0:
            return 0
        for batch in batches:
            left = len(batch) if limit is None else limit - (self._count - before)
            some = batch.slice(0, left)
            self._count += len(some)
            stderr.clear()
            if self._output.is_terminal and not self._is_chosen:
                for row in rows_of(some):
                    self._block(row)
                sys.stdout.flush()
            else:
                self._output.batches(some.schema, [some])
            if limit is not None and self._count - before >= limit:
                break
        return self._count - before

    def finish(self, read: Read) -> None:
        """Say that no message was printed, if that is so and people read it."""
        from native_reader.sentences import Said

        if self._count == 0 and not self._output.is_json:
            stderr.note(Said("no messages"))
        read.expect(self._count)

    def _block(self, row: dict[str, Any]) -> None:
        """A message for people."""
        moment = in_words("no time") if row["store_timestamp"] is None else moment_of(row["store_timestamp"], self._output.zone)
        place = in_words("place of message", topic=safe(row["topic"]), queue=row["queue_id"], offset=row["queue_offset"])
        more = [in_words("tag of message", tag=safe(row["tags"])) if row["tags"] else ""]
        more.append(in_words("keys of message", keys=cell(row["keys"])) if row["keys"] else "")
        heading = "  ".join(part for part in (moment, place, _kind(row), *more) if part)
        self._output.line(self._output.styled(heading, bold=True))
        place = in_words("id of message", id=cell(row["msg_id"]), offset=row["physical_offset"], store=for_people(row["store"]))
        self._output.line(f"    {place}")
        if "body" in row:
            self._print_body(row["body"])

    def _print_body(self, body: bytes | None) -> None:
        if body is None:
            self._output.line("    " + in_words("body packed"))
            return
        shown = body if self._body == JSON else _first(body)  # half of a JSON document is not JSON
        for line in body_lines(shown, self._output.body):
            self._output.line(f"    {line}")
        if len(shown) < len(body):
            self._output.line("    " + in_words("more of body", bytes=len(body) - len(shown)))


def _kind(row: dict[str, Any]) -> str:
    """The kind of a message, unless it is an ordinary one: `retry 2 of invoices`."""
    kind, times = str(row["kind"] or _NORMAL), row["reconsume_times"]
    topic, is_usual = row["origin_topic"], kind in (_NORMAL, _RETRY)
    known = in_words("retried", times=times) if times and is_usual else "" if kind == _NORMAL else kind
    if topic:
        known = in_words("of origin", what=known, topic=safe(topic)) if known else in_words("origin", topic=safe(topic))
    return in_words("after retry", what=known, times=times) if times and not is_usual else known


def _first(body: bytes) -> bytes:
    """The first bytes of a long body, without half of a character."""
    if len(body) <= _SHOWN:
        return body
    end = _SHOWN
    while end > _SHOWN - 4 and body[end] & 0xC0 == 0x80:  # inside a character of UTF-8
        end -= 1
    return body[:end]
