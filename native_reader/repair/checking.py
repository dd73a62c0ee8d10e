"""The check of a store, as a repair uses it: before, of a store that would be copied, and after, of the new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.account.account import Account
from native_reader.lazy import TableScan
from native_reader.options import MessageOptions
from native_reader.repair.records import ReadSettings
from native_reader.sentences import Said, say
from native_reader.storage.store import StoreFiles
from native_reader.tables import TABLES
from native_reader.tables.account import with_account
from native_reader.verify.codes import NOTE

_STAYS = (
    *("time-goes-back", "time-of-first", "offset-after-queue", "log-removed", "entry-removed"),
    *("part-not-read", "queue-of-batches", "database-unreadable", "database-ends-early"),
)
"""Codes of what no repair changes."""
COPIED = (*_STAYS, "queue-missing", "config-damaged", "config-missing", "key-not-covered", "index-time", "queue-file")
"""Codes of what a repair copies as it is, unless it makes the file again."""


class Warned(NamedTuple):
    """A warning: as text, and as what the page says. `missing`: the name of a settings file that is not there."""

    text: str
    said: Said
    missing: str | None = None

    @staticmethod
    def of(row: Mapping[str, Any]) -> Warned:
        """The warning of a finding."""
        found = say(f"found {row['code']}", message=Said.from_json(row["details"]))
        missing = row["file"].rpartition("/")[2] if row["code"] == "config-missing" else None
        return Warned(f"{row['code']}: {row['message']}", say("copied with", code=row["code"], found=found), missing)


class Checked(NamedTuple):
    """What a check found, without notes, and in which states the messages are."""

    findings: list[Mapping[str, Any]]
    account: Account

    @property
    def flaws(self) -> tuple[str, ...]:
        """The codes of what must not be copied."""
        return tuple(sorted({row["code"] for row in self.findings if row["code"] not in COPIED}))

    @property
    def copied(self) -> list[Warned]:
        """The warnings that a repaired store has, too."""
        return [Warned.of(row) for row in self.findings if row["code"] in _STAYS or _is_of_delivery(row)]


def _is_of_delivery(row: Mapping[str, Any]) -> bool:
    """Whether the store time of a delayed message is wrong: its entry has the time of its delivery, which counts for a broker."""
    return row["code"] == "entry-tag" and '"kind": "impossible delivery"' in row["details"]


def checked(files: StoreFiles, settings: ReadSettings) -> Checked:
    """Check a store, as `verify` does. For an extract, the account has its topics, and what can be of any topic."""
    accounts, findings = list[Account](), list[Mapping[str, Any]]()
    table = TableScan(TABLES["findings"], (files,), MessageOptions(max_read_rate=settings.max_read_rate)).of_table(
        with_account(accounts.append)
    )
    for batch in table.to_batches(settings.jobs, settings.doing("checking").progress):
        findings += (row for row in batch.to_pylist() if row["severity"] != NOTE)
    (account,) = accounts
    if topics := settings.choices.topics:
        of_topics = pc.is_in(account.table["topic"], pa.array(topics, pa.string()))
        account = Account(account.table.filter(pc.or_(of_topics, pc.is_null(account.table["topic"]))))
    return Checked(findings, account)
