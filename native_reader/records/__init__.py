"""Records in bytes: finding, validating and walking them, kinds of damage, the account of every byte."""
