"""What consume queues and index files say about the log."""
