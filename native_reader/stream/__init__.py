"""What a stream decides: where it begins, where each batch ends, what a batch reads, and what was lost."""
