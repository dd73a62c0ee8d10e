"""Bytes to Arrow: find the records, filter them, gather their columns."""
