"""The byte formats: dtypes, masks, hashes. Pure functions on arrays and bytes, no file access."""
