"""A table that has not been read yet, as other libraries take it: Arrow streams, pyarrow datasets for DuckDB, lazy frames of Polars."""
