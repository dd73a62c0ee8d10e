"""The states of messages, and what shows each."""

from __future__ import annotations

from enum import IntEnum, auto

SERVED, DELETED, EXPIRED, UNREACHABLE, DOUBTFUL, LOST, AT_LEAST, NOT_READ = STATES = (
    "served",
    "deleted",
    "expired",
    "unreachable",
    "doubtful",
    "lost",
    "at least",
    "not read",
)
"""Every state. What each means: the sentence `state` and its name."""
AS_WANTED = frozenset((SERVED, DELETED, EXPIRED))
"""A broker did this itself. All else is a finding."""


class Mark(IntEnum):
    """The state of some messages, and what shows it. If several hold for a message, the highest counts."""

    # Whole records
    QUEUED = 0
    NOT_DISPATCHED = auto()
    IN_NO_QUEUE = auto()
    EARLIER_TOPIC = auto()
    DELETED_TOPIC = auto()
    NO_ENTRY = auto()
    QUEUE_NOT_READ = auto()
    NO_QUEUE = auto()
    NO_SETTINGS = auto()
    FILE_NAME = auto()
    OTHER_QUEUE = auto()
    OTHER_NUMBER = auto()
    OTHER_SIZE = auto()
    OTHER_TAG = auto()
    OTHER_KEYS = auto()
    PROPERTIES = auto()
    PACKED = auto()
    FOREIGN = auto()
    COMPRESSION = auto()
    CHECKSUM = auto()
    # Entries of queues without their record
    ENTRY = auto()
    GAP = auto()
    AFTER_END = auto()
    BEFORE_BEGIN = auto()
    REMOVED = auto()
    UNREAD_RECORD = auto()
    # What no entry names
    HOLE = auto()
    BYTES = auto()
    LAST_BYTES = auto()
    GAP_BYTES = auto()
    REMOVED_FILE = auto()
    GROUP_OFFSET = auto()
    CHECKPOINT = auto()
    UNREAD = auto()
    # What a tier has
    TIERED = auto()
    ONLY_TIERED = auto()
    TIER_NO_ENTRY = auto()
    TIER_DOUBT = auto()
    TIER_DAMAGE = auto()
    TIER_FILE = auto()
    TIER_HOLE = auto()
    TIER_BEYOND = auto()
    TIER_EXPIRED = auto()
    TIER_BYTES = auto()
    # For the account itself: an entry that names bytes of whole records
    WRONG_ENTRY = auto()


STATE_OF = {
    Mark.QUEUED: SERVED,
    Mark.NOT_DISPATCHED: SERVED,
    Mark.IN_NO_QUEUE: SERVED,
    Mark.EARLIER_TOPIC: DELETED,
    Mark.DELETED_TOPIC: DELETED,
    Mark.NO_ENTRY: UNREACHABLE,
    Mark.QUEUE_NOT_READ: NOT_READ,
    Mark.NO_QUEUE: UNREACHABLE,
    Mark.NO_SETTINGS: UNREACHABLE,
    Mark.FILE_NAME: UNREACHABLE,
    Mark.OTHER_QUEUE: DOUBTFUL,
    Mark.OTHER_NUMBER: DOUBTFUL,
    Mark.OTHER_SIZE: DOUBTFUL,
    Mark.OTHER_TAG: DOUBTFUL,
    Mark.OTHER_KEYS: DOUBTFUL,
    Mark.PROPERTIES: DOUBTFUL,
    Mark.PACKED: DOUBTFUL,
    Mark.FOREIGN: DOUBTFUL,
    Mark.COMPRESSION: LOST,
    Mark.CHECKSUM: LOST,
    Mark.ENTRY: LOST,
    Mark.GAP: LOST,
    Mark.AFTER_END: LOST,
    Mark.BEFORE_BEGIN: EXPIRED,
    Mark.REMOVED: LOST,
    Mark.UNREAD_RECORD: NOT_READ,
    Mark.HOLE: LOST,
    Mark.BYTES: AT_LEAST,
    Mark.LAST_BYTES: AT_LEAST,
    Mark.GAP_BYTES: AT_LEAST,
    Mark.REMOVED_FILE: AT_LEAST,
    Mark.GROUP_OFFSET: AT_LEAST,
    Mark.CHECKPOINT: AT_LEAST,
    Mark.UNREAD: NOT_READ,
    Mark.TIERED: SERVED,
    Mark.ONLY_TIERED: UNREACHABLE,
    Mark.TIER_NO_ENTRY: UNREACHABLE,
    Mark.TIER_HOLE: UNREACHABLE,
    Mark.TIER_BEYOND: UNREACHABLE,
    Mark.TIER_DOUBT: DOUBTFUL,
    Mark.TIER_DAMAGE: LOST,
    Mark.TIER_FILE: LOST,
    Mark.TIER_EXPIRED: EXPIRED,
    Mark.TIER_BYTES: AT_LEAST,
}


def why(mark: Mark) -> str:
    """The column `why`: `no entry`, for example."""
    return mark.name.lower().replace("_", " ")
