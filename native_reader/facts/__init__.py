"""Facts about one store: what fills it, its log over time, lag, pending messages, damage. `Store.report` gathers them."""

from native_reader.facts.gather import DeletedInLog, Expiry, Facts, Growth, ReportSettings, expiry_of, pace_of
from native_reader.facts.log_facts import DAY, HOUR, SIZES, LogFacts, TimeBins
from native_reader.facts.table_facts import LagOfGroups, Pending, Problem
from native_reader.layout.record import Numbers
from native_reader.plan.lost import Missing
from native_reader.records.damages import REASONS, Damage
from native_reader.sides.deleted import DeletedInAll
from native_reader.storage.protocol import Disk
from native_reader.storage.usage import Usage, disk_of, usage_of
from native_reader.sums import Row, Tally, Top, addresses, measures
from native_reader.verify.findings import FirstFindings
from native_reader.verify.removed import RESERVED

__all__ = [
    "DAY",
    "HOUR",
    "REASONS",
    "RESERVED",
    "SIZES",
    "Damage",
    "DeletedInAll",
    "DeletedInLog",
    "Disk",
    "Expiry",
    "Facts",
    "FirstFindings",
    "Growth",
    "LagOfGroups",
    "LogFacts",
    "Missing",
    "Numbers",
    "Pending",
    "Problem",
    "ReportSettings",
    "Row",
    "Tally",
    "TimeBins",
    "Top",
    "Usage",
    "addresses",
    "disk_of",
    "expiry_of",
    "measures",
    "pace_of",
    "usage_of",
]
