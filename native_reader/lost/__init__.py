"""What each team lost: a folder with a file for each topic, and a text to send."""

from native_reader.lost.lost import Lost

__all__ = ["Lost"]
