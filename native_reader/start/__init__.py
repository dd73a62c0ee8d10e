"""Whether a broker may be started on a store, and what it would do to it: one answer for every face."""

from native_reader.start.answer import BUT, NO, OUTCOMES, UNKNOWN, YES, Start, may_start
from native_reader.start.reasons import KINDS, Reason
from native_reader.start.words import LANGUAGES, lines_of

__all__ = ["BUT", "KINDS", "LANGUAGES", "NO", "OUTCOMES", "UNKNOWN", "YES", "Reason", "Start", "lines_of", "may_start"]
