"""Planning: consume queues, index files, store times, and the plan built from them."""
