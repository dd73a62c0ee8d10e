"""The check of a store: whether its log, queues, index, checkpoint and configuration agree."""
