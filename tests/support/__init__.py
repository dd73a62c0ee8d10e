"""What several test files share: plain decoders, makers of small and damaged stores, ways to compare."""
