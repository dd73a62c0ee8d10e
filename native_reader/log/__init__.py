"""Where a log ends, where a read may start, and how to follow a log that grows."""
