"""The findings of a check, and its summary: a read that has not happened yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from native_reader.account.account import Account
from native_reader.errors import UseError, spelled
from native_reader.frames.lazy import Lazy
from native_reader.lazy import TableScan
from native_reader.records.damages import NO_DAMAGE, Damages
from native_reader.scan.progress import Watch
from native_reader.sentences import ENGLISH, Said, joined, say
from native_reader.storage.store import StoreFiles
from native_reader.tables.account import with_account
from native_reader.text import size_of
from native_reader.verify.codes import SEVERITIES, advice
from native_reader.verify.findings import FirstFindings


class Verification(Lazy):
    """The findings of a check, one row each, and their summary. It reads when it is used, as a scan; a second use reads again.

    `counts`, `is_clean` and `summary` are about the last use: read the findings first.

    Examples:
        >>> check = store.verify()
        >>> errors = [row for row in check.to_table().to_pylist() if row["severity"] == "error"]
        >>> check.is_clean, errors
        (True, [])
    """

    def __init__(self, stores: Sequence[StoreFiles], findings: TableScan) -> None:
        self._stores, self._findings = tuple(stores), findings
        self._found: FirstFindings | None = None
        self._account: Account | None = None
        self.damage: Damages = NO_DAMAGE
        """What the last use found to be damaged in the log, wrong checksums too."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return self._findings.schema

    def __repr__(self) -> str:
        stores = ", ".join(store.uri for store in self._stores) or "no store"
        read = "Not read yet" if self._found is None else self.summary
        return f"<Verification {stores}: {read}. Next: .to_table(), .to_batches(), then .summary, .counts, .is_clean>"

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Read the findings, as they are found.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `Scan.to_batches`.
        """
        found, accounts, damage = FirstFindings(), list[Account](), list[Damages]()
        for batch in self._findings.of_table(with_account(accounts.append, damage.append)).to_batches(jobs, progress):
            found.add(batch)
            yield batch
        self._found, self._account, self.damage = found, accounts[0], damage[0]

    @property
    def reads_tier(self) -> bool:
        """Whether the check reads the tiers of the stores, too."""
        return self._findings.reads_tier

    @property
    def counts(self) -> Counter[str]:
        """The number of findings of each severity: `error`, `warning` and `note`."""
        return self._read.counts

    @property
    def is_clean(self) -> bool:
        """Whether there is neither an error nor a warning, every message is where a broker left it, and everything was read."""
        return not self._read.faults and self.account.is_whole

    @property
    def account(self) -> Account:
        """In which state the messages are, from the same pass."""
        self._read  # noqa: B018
        assert self._account is not None
        return self._account

    @property
    def _read(self) -> FirstFindings:
        if self._found is None:
            raise UseError("a Verification counts what was read. Read all findings first, with .to_table() or .to_batches()")
        return self._found

    @property
    def summary(self) -> str:
        """One line: how many errors, warnings and notes, in how much."""
        return self.said.text()

    @property
    def said(self) -> Said:
        """The summary, without its words."""
        return say("sentences", first=self.found, second=say("messages are", states=self.account.said))

    @property
    def found(self) -> Said:
        """How many errors, warnings and notes there are, in how much."""
        segments = [segment for each in self._stores for segment in each.segments]
        if not segments:
            return say("nothing to check")
        found = [say("clean")] if not self._read.faults else []
        found += [say(f"n {name}", count=self.counts[name]) for name in SEVERITIES if self.counts[name]]
        size = size_of(sum(segment.size for segment in segments))
        return say("in log", found=joined("clauses", found), segments=len(segments), size=size)

    @staticmethod
    def advice(code: str, spell: Callable[[str], str] = str, *, language: str = ENGLISH) -> str:
        """What to do about findings of a code.

        Args:
            code: One of those in docs/verify.md.
            spell: How option names are written.
            language: `en` or `zh`.
        """
        return spelled(advice(code, language), spell)
