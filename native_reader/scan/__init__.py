"""Runs a plan: reads one split into Arrow batches, or several splits in parallel."""
