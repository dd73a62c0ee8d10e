"""Entries that agree with their records are compared all at once. What a check finds must not depend on that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.indexed_stores import changed_indexes
from support.kernels import VARIABLE
from support.queued_stores import changed_queues, queued_stores
from support.stores import Files, in_memory

import native_reader as nr
from native_reader import kernel
from native_reader.verify import entries, keys

changed_stores = queued_stores(index=True).flatmap(lambda files: st.one_of(st.just(files), changed_queues(files), changed_indexes(files)))


@pytest.mark.sweep
@sampled(300)
@given(changed_stores)
def test_shortcuts_hide_nothing(files: Files) -> None:
    memory = in_memory(files)
    store = nr.open(memory.url)
    quick = store.verify().to_table().to_pylist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries._ByQueue, "agreeing", lambda *_: None)
        patch.setattr(keys._Keys, "in_order", lambda *_: None)
        assert store.verify().to_table().to_pylist() == quick


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(300)
@given(changed_stores)
def test_both_kernels_find_the_same(files: Files) -> None:
    memory, found = in_memory(files), []
    for name in (kernel.NUMPY, kernel.COMPILED):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, name)
            found.append(nr.open(memory.url).verify().to_table().to_pylist())
    assert found[0] == found[1]
