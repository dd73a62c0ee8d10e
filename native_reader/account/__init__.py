"""The account of a store: in which state each message is that anything in it names."""
