"""Every code block of the documents is executed: here those of pages with Spark. tests/docs/test_blocks.py has the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pysparks import streams
from support.blocks import Places, Walk, blocks_of, kept, pages
from support.object_store import bucket_of
from support.shop import registry
from support.walked import home, new_store

_OWN = ("docs/bodies.md", "docs/s3.md")
"""Pages that need a server, and so have tests of their own."""
_FILTERS = pytest.mark.pyspark(4, 1)


def marks(page: str) -> list[pytest.MarkDecorator]:
    """What an older PySpark does not have; and not every run walks through all pages."""
    code = "".join(block.code for block in kept(blocks_of(page)))
    needed = [streams] if "readStream" in code else [_FILTERS] if "filterPushdown" in code else []
    if page in ("docs/filters.md", "docs/kernel.md", "docs/recovery.md", "docs/streaming.md", "docs/verify.md"):
        return [*needed, pytest.mark.long]
    return needed if page in ("README.md", "docs/quickstart.md") else [*needed, pytest.mark.gate]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_store(tmp_path_factory.mktemp("blocks") / "store")


@pytest.fixture
def nothing_stays(spark: SparkSession) -> Iterator[None]:
    """Listeners that a page adds are removed, and so are the queries of a page that is wrong."""
    manager = spark._jsparkSession.streams()
    before = list(manager.listListeners())
    yield
    for query in spark.streams.active:
        query.stop()
    for listener in manager.listListeners():
        if listener not in before:
            manager.removeListener(listener)


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("page", [pytest.param(page, marks=marks(page)) for page in pages(with_spark=True) if page not in _OWN])
def test_every_block_is_executed_with_spark(page: str, spark: SparkSession, store: Path, tmp_path: Path) -> None:
    Walk(Places(home(page, store, tmp_path)), spark).go(kept(blocks_of(page)))


def test_every_block_about_object_storage_is_executed(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    """On a server of this machine: its address and its keys are added to the region."""
    here = home("docs/s3.md", store, tmp_path)
    files = {path.relative_to(here / "data").as_posix(): path.read_bytes() for path in (here / "data/store").rglob("*") if path.is_file()}
    with bucket_of(files) as bucket:
        options = bucket.link.fs
        instead = {
            "s3://backups/broker-a/store": f"{bucket.url}/store",
            'fs={"region": "eu-central-1"}': f"fs={options!r}",
            '.option("fs.region", "eu-central-1")': "".join(f".option({f'fs.{name}'!r}, {value!r})" for name, value in options.items()),
        }
        shown = kept(blocks_of("docs/s3.md"))
        assert [text for text in instead if not any(text in block.code for block in shown)] == []
        Walk(Places(here, instead), spark).go(shown)
        assert bucket.link.kinds["get"] > 0


@pytest.mark.gate
def test_every_block_about_bodies_is_executed(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    """With a server that answers as both registries do."""
    pytest.importorskip("fastavro", reason="fastavro is not in this environment; the extra `test` has it")
    with registry() as address:
        instead = dict.fromkeys(("http://registry:8080", "http://registry:8081"), address)
        shown = kept(blocks_of("docs/bodies.md"))
        assert [text for text in instead if not any(text in block.code for block in shown)] == []
        Walk(Places(home("docs/bodies.md", store, tmp_path), instead), spark).go(shown)
