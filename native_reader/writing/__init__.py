"""Bytes as a broker writes them: a record, the chains of an index file, a checkpoint. Pure functions, for repairs and for test stores."""
