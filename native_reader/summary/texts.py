"""Texts of records in a part: columns that have few different values in most segments."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.layout.record import Index

HOSTS = "born_host", "store_host"
TEXTS = ("tags", *HOSTS, "lite_topic")
"""Columns of messages that a part has, unless they have too many different values in its segment."""
_MOST_VALUES, _MOST_CHARACTERS = 4096, 1 << 18
_NULL = -1


class TextCodes:
    """The texts of records as numbers, added in log order."""

    def __init__(self) -> None:
        self._numbers, self._characters = dict[str, int](), 0
        self._codes: list[NDArray[np.int32]] = []
        self.is_small = True
        """Whether there are few different values. If not, none is kept."""

    def add(self, encoded: pa.DictionaryArray) -> None:
        """Add the texts of the next records. If some have none, the dictionary has a null."""
        if not self.is_small:
            return
        before, codes = len(self._numbers), list[int]()
        for text in encoded.dictionary.to_pylist():  # few
            codes.append(_NULL if text is None else self._numbers.setdefault(text, len(self._numbers)))
        if len(self._numbers) > before:
            self._characters += sum(map(len, list(self._numbers)[before:]))
        self._codes.append(np.array(codes, np.int32)[numpy_of(encoded.indices)])
        if len(self._numbers) > _MOST_VALUES or self._characters > _MOST_CHARACTERS:
            self._numbers, self._codes, self.is_small = {}, [], False

    def column(self, order: Index) -> pa.Array:
        """The texts in another order, dictionary-encoded."""
        codes = np.concatenate([np.empty(0, np.int32), *self._codes])[order]
        return pa.DictionaryArray.from_arrays(array(codes, mask=codes == _NULL), array(list(self._numbers), pa.string()))
