"""Entries that agree with their records are compared all at once. What a check finds must not depend on that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.queued_stores import changed_queues, queued_stores
from support.stores import Files
from support.verified import findings

from native_reader.verify import entries


def both_ways(files: Files) -> None:
    quick = findings(files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries._ByQueue, "agreeing", lambda *_: None)
        assert findings(files) == quick


@pytest.mark.sweep
@sampled(200)
@given(queued_stores(index=True).flatmap(lambda files: st.one_of(st.just(files), changed_queues(files))))
def test_shortcuts_hide_nothing(files: Files) -> None:
    both_ways(files)
