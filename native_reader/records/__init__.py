"""Valid records in bytes: how they are found and followed, the words for damage, the account of every byte."""
