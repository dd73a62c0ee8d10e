"""A bucket for the tests of object storage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.object_store import Bucket, bucket_of
from support.stores import files_of

from native_reader.storage import s3


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """A bucket with a small store."""
    with bucket_of(files_of()) as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up after two attempts."""
    monkeypatch.setattr(s3, "_ATTEMPTS", 2)
