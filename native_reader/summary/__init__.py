"""A summary of our own: what full segments hold, in Parquet files outside the store. docs/summary.md describes it."""
