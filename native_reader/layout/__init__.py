"""What bytes mean: dtypes, masks, hashes. Pure functions on arrays and bytes; no files."""
