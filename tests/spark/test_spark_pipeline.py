"""The Declarative Pipeline of examples/pipeline: what its file defines, and runs of spark-pipelines."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pysparks import streams
from support.example_runs import EXAMPLES, README, ended
from support.stores import files_of, log_of, message, on_disk

COUNT = 30
TAGS = {"tag0", "tag1", "tag2"}
TABLES = ("messages", "by_tag")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return on_disk(tmp_path, files_of(log_of(message(number, topic="orders") for number in range(COUNT)))) / "store"


@streams
def test_what_the_file_defines(spark: SparkSession, path: Path) -> None:
    from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context

    class Registry(GraphElementRegistry):
        def __init__(self) -> None:
            self.flows: dict[str, Any] = {}

        def register_flow(self, flow: Any) -> None:
            self.flows[flow.name] = flow.func

        def register_output(self, *_: Any) -> None: ...
        def register_sql(self, *_: Any) -> None: ...
        def register_auto_cdc_flow(self, *_: Any) -> None: ...

    registry = Registry()
    with graph_element_registration_context(registry):
        runpy.run_path(str(EXAMPLES / "pipeline/orders.py"))
    spark.conf.set("rocketmq.store", str(path))
    spark.conf.set("rocketmq.topic", "orders")
    assert list(registry.flows) == ["messages", "by_tag"]
    messages = registry.flows["messages"]()
    assert messages.isStreaming
    spark.read.format("rocketmq-store").option("columns", ",".join(messages.columns)).load(str(path)).createOrReplaceTempView("messages")
    assert {(row.tags, row.messages) for row in registry.flows["by_tag"]().collect()} == {(tag, COUNT // 3) for tag in TAGS}
    spark.catalog.dropTempView("messages")


@pytest.mark.long
@streams
def test_a_second_run_adds_what_is_new(path: Path, tmp_path: Path) -> None:
    """As examples/README.md starts it, with the paths of this test."""
    (command,) = re.findall(r"^spark-pipelines run .*$", README, re.MULTILINE)
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "orders.py").write_text((EXAMPLES / "pipeline/orders.py").read_text(encoding="utf-8"), encoding="utf-8")
    spec = (EXAMPLES / "pipeline/spark-pipeline.yml").read_text(encoding="utf-8")
    spec = spec.replace("/data/store", str(path)).replace("/data/pipeline", str(tmp_path / "checkpoints"))
    (folder / "spark-pipeline.yml").write_text(spec, encoding="utf-8")

    def rows_after_a_run() -> tuple[int, int]:
        run = ended(command.split(), folder)
        assert "Run is COMPLETED" in run.stdout + run.stderr, run.stderr[-2000:]
        return tuple(sum(pq.read_table(file).num_rows for file in (folder / "spark-warehouse" / name).glob("*.parquet")) for name in TABLES)

    assert rows_after_a_run() == (COUNT, len(TAGS))
    on_disk(tmp_path, files_of(log_of(message(number, topic="orders") for number in range(2 * COUNT))))
    assert rows_after_a_run() == (2 * COUNT, len(TAGS))
