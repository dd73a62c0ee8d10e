"""Helpers for several test files: plain decoders, small and damaged stores, comparisons."""
