"""What to read: consume queues, index files, store times, and the plan made of them."""
