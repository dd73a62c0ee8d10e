"""What a broker's small files and databases say: topics, settings, consumer offsets, the checkpoint."""
