"""The code blocks that tests/docs/test_blocks.py and tests/spark/test_spark_blocks.py do not execute, and why."""

from __future__ import annotations

from typing import NamedTuple


class LeftOut(NamedTuple):
    """Blocks of a page that begin so, or with `line` only the lines that do. Either a reason, or the test that executes them."""

    page: str
    begins: str
    reason: str = ""
    by: str = ""
    line: bool = False


_ENVIRONMENT = "makes the environment that runs the tests"
_NETWORK = "needs packages of a registry"
_DOCKER = "needs Docker"
_NOTEBOOKS = "needs Jupyter; the part `notebooks` of the gate runs the notebooks"
_RECIPES, _DOCS = "tests/spark/test_spark_recipes.py", "tests/docs/test_docs.py"

LEFT_OUT = (
    LeftOut("README.md", "make env", _ENVIRONMENT, line=True),
    LeftOut("README.md", "source .venv", _ENVIRONMENT, line=True),
    *(
        LeftOut("README.zh.md", begins, "is code of README.md; .ci/check_docs.py compares them")
        for begins in ("make env", "from pyspark", "stream = ", "python -m", "import rmqstore", "{'queue_id': 1")
    ),
    LeftOut("CONTRIBUTING.md", "git clone", _ENVIRONMENT),
    LeftOut("CONTRIBUTING.md", "make test", "these run the tests; .ci/check_docs.py compares them with the Makefile"),
    LeftOut("docs/architecture.md", "flowchart TB", "a drawing"),
    LeftOut("docs/bodies.md", "from pyspark.sql.avro", "needs a jar of Maven Central"),
    LeftOut("docs/cli.md", "python3 -m venv", _ENVIRONMENT),
    LeftOut("docs/cli.md", 'eval "$(_RMQSTORE_COMPLETE', by="tests/cli/test_start.py"),
    LeftOut("docs/cluster.md", "file:///data/store/commitlog/", "needs two hosts; tests/spark/test_spark_cluster.py asserts its words"),
    LeftOut("docs/cluster.md", "spark-submit --master k8s", by="tests/spark/test_spark_kubernetes.py"),
    LeftOut("docs/cluster.md", "  --conf spark.kubernetes", by="tests/spark/test_spark_kubernetes.py"),
    LeftOut("docs/cluster.md", "spark-submit --master yarn", "needs YARN"),
    LeftOut("docs/demo.md", " ✓ build/demo", by="tests/spark/test_demo.py"),
    LeftOut("docs/export.md", "orders-2026/", by="tests/docs/test_blocks.py"),
    LeftOut("docs/filters.md", "rocketmq-store: file:", "needs 412 GiB; tests/spark/test_spark_process.py asserts its words"),
    LeftOut("docs/install.md", "pipx install", _NETWORK),
    LeftOut("docs/install.md", "pipx run", _NETWORK),
    LeftOut("docs/install.md", "python -m pip wheel", _NETWORK),
    LeftOut("docs/install.md", "tar -xzf wheelhouse.tar.gz", _NETWORK),
    LeftOut("docs/install.md", "chmod +x rmqstore", by="tests/docs/test_one_file.py"),
    LeftOut("docs/install.md", "RMQSTORE_UNPACK=", by="tests/docs/test_one_file.py"),
    LeftOut("docs/install.md", "pip install 'maturin[zig]'", by="tests/docs/test_whole_program.py"),
    LeftOut("docs/install.md", "sudo dpkg -i", "installs a release on the machine"),
    LeftOut("docs/install.md", "docker run", _DOCKER),
    LeftOut("docs/install.md", "securityContext:", "needs Kubernetes"),
    LeftOut("docs/install.md", "kubectl debug", "needs Kubernetes"),
    LeftOut("docs/install.md", "ssh host", "needs another host"),
    LeftOut("docs/kernel.md", "python -m build", "needs Rust; the part `kernel` of the gate builds it"),
    LeftOut("docs/kernel.md", "python -m venv environment", _NETWORK),
    LeftOut("docs/lake.md", "$ python examples/lake.py", "follows until it is stopped; tests/brokers/test_lake.py does that"),
    LeftOut("docs/lake.md", "from pyiceberg", by="tests/spark/test_spark_examples.py"),
    LeftOut("docs/lake.md", "OPTIMIZE delta", "needs the jars of Delta"),
    LeftOut("docs/lake.md", "CALL lake.system", "needs the jars of Iceberg"),
    LeftOut("docs/monitoring.md", "# HELP", by="tests/report/test_metrics.py"),
    LeftOut("docs/monitoring.md", "# /etc/cron.d", "the block of a table of cron jobs"),
    LeftOut("docs/monitoring.md", "groups:", by="tests/report/test_metrics.py"),
    LeftOut("docs/notebooks.md", "python3 -m venv", _NOTEBOOKS),
    LeftOut("docs/notebooks.md", "RMQSTORE_PATH=", _NOTEBOOKS),
    LeftOut("docs/notebooks.md", "bash .ci/run", _NOTEBOOKS),
    LeftOut("docs/notebooks.md", "notebooks-venv/bin/python .ci", _NOTEBOOKS),
    *(
        LeftOut("docs/recipes.md", begins, by=_RECIPES)
        for begins in ("import rmqstore", "read(", "store.", "damaged.", "where = ", "hours = ", "stream = ", "part = ")
    ),
    LeftOut("docs/recipes.md", "rmqstore tail -f", "follows until it is stopped; tests/cli/test_signals.py does that"),
    LeftOut("docs/recovery.md", "killed: 6 segments", by=_DOCS),
    LeftOut("docs/report.md", "page.html: ", "differs by disk; tests/report/test_command.py asserts its form"),
    LeftOut("docs/resend.md", "python examples/resend", "needs a broker; tests/brokers/test_resend.py runs the same program"),
    LeftOut("docs/resend.md", "cd examples/resend", "needs a broker; tests/brokers/test_resend.py runs the same program"),
    LeftOut("docs/s3.md", "import gcsfs", "needs a bucket of Google"),
    LeftOut("docs/spark.md", "rocketmq-store: file:", by="tests/spark/test_spark_process.py"),
    LeftOut("docs/streaming.md", "orders: file:", "differs each time; tests/spark/test_spark_stream.py asserts its form"),
    LeftOut("examples/README.md", "python -m zipfile", by="tests/spark/test_spark_example_runs.py"),
    LeftOut("examples/README.md", "spark-pipelines run", by="tests/spark/test_spark_pipeline.py"),
    LeftOut("examples/README.md", "PYSPARK_PYTHON=", by="tests/spark/test_spark_example_runs.py"),
)
