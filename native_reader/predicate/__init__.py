"""Which rows are wanted: the tree, its SQL text, its patterns, and what it comes to when only part of a row is known."""
