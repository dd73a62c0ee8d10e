"""A plan carried out: one split to Arrow batches, and several side by side."""
