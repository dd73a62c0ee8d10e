"""Every sentence by its kind, with its text in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from native_reader.sentences.account import ACCOUNT
from native_reader.sentences.archives import ARCHIVES
from native_reader.sentences.causes import CAUSES
from native_reader.sentences.codes import CODES, SEVERITIES
from native_reader.sentences.conditions import CONDITIONS
from native_reader.sentences.confirm import CONFIRM
from native_reader.sentences.doctor import DOCTOR
from native_reader.sentences.explain import EXPLAIN
from native_reader.sentences.lag import LAG
from native_reader.sentences.losses import LOSSES
from native_reader.sentences.lost import LOST
from native_reader.sentences.misses import MISSES
from native_reader.sentences.options import OPTIONS
from native_reader.sentences.reading import READING
from native_reader.sentences.refusals import REFUSALS
from native_reader.sentences.repair import REPAIR
from native_reader.sentences.rescue import RESCUE
from native_reader.sentences.results import DISK, RESULTS
from native_reader.sentences.screens import SCREENS
from native_reader.sentences.start import START
from native_reader.sentences.streams import STREAMS
from native_reader.sentences.unread import UNREAD
from native_reader.sentences.verify import DIFF, VERIFY
from native_reader.sentences.warnings import WARNINGS
from native_reader.sentences.writing import WRITING

JOINTS = {
    "text": ("{text}", "{text}"),
    "sentences": ("{first}. {second}", "{first}。{second}"),
    "commas": ("{first}, {second}", "{first}、{second}"),
    "clauses": ("{first}, {second}", "{first}，{second}"),
    "semicolons": ("{first}; {second}", "{first}；{second}"),
}
"""What holds parts together."""
OF_CODES = {
    **{f"code {code}": meaning for code, (meaning, _) in CODES.items()},
    **{f"advice {code}": advice for code, (_, advice) in CODES.items()},
    # A finding at its first place. A code is an English word, so in Chinese its meaning comes first.
    **{f"found {code}": ("{message}", f"{chinese}（{{message}}）") for code, ((_, chinese), _) in CODES.items()},
}
TABLES = (
    JOINTS,
    SEVERITIES,
    OF_CODES,
    ACCOUNT,
    CONFIRM,
    DOCTOR,
    LAG,
    LOSSES,
    LOST,
    START,
    VERIFY,
    RESCUE,
    REPAIR,
    REFUSALS,
    RESULTS,
    DISK,
    DIFF,
    UNREAD,
    SCREENS,
    MISSES,
    CAUSES,
    READING,
    ARCHIVES,
    WRITING,
    WARNINGS,
    OPTIONS,
    CONDITIONS,
    STREAMS,
    EXPLAIN,
)
BOOK: Mapping[str, tuple[str, str]] = {kind: pair for table in TABLES for kind, pair in table.items()}
