"""Plans: what a read looks at and what it skips, decided from consume queues, index files and store times."""
