"""All sentences of the product in English and Chinese, side by side, but for those that only the page of a report or the help has."""

from native_reader.sentences.said import CHINESE, ENGLISH, LANGUAGES, Said, joined, say, verbatim

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Said", "joined", "say", "verbatim"]
