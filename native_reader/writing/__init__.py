"""Bytes as a broker writes them: a record, index files, a checkpoint. For repairs, and for the stores of tests."""
