"""Which bytes to read: predicates, plans, splits, where they begin and where the log ends."""
