"""Where a log ends, where a read of it may begin, and how it is followed while it grows."""
