"""All sentences of the product in English and Chinese, side by side, but for those that only the page of a report or the help has."""

from native_reader.sentences.said import CHINESE, ENGLISH, LANGUAGES, Said, commas, joined, meant, say, told, verbatim, words_of

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Said", "commas", "joined", "meant", "say", "told", "verbatim", "words_of"]
