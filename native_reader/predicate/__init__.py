"""Conditions on rows: the predicate tree, its SQL text, patterns, and evaluation when only part of a row is known."""
