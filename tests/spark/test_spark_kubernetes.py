"""The pods that the settings of docs/cluster.md make Spark ask for. No Kubernetes runs them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from support.blocks import blocks_of
from support.kubernetes import Asked, api_of_kubernetes

pytestmark = pytest.mark.long
_CLAIM, _DISK = (block.code for block in blocks_of("docs/cluster.md") if "spark.kubernetes" in block.code)
_SPARK_HOME = Path(pyspark.__file__).parent
_OF_MODE = {
    "cluster": {"spark.kubernetes.submission.waitAppCompletion": "false"},
    "client": {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.instances": "1"},
}


def submitted(code: str, mode: str, asked: Asked, folder: Path) -> dict[str, Any]:
    """The pod that Spark asks for first: of the driver in the mode `cluster`, of an executor in the mode `client`."""
    if mode == "client":
        code = code.replace("--deploy-mode cluster", "--deploy-mode client").replace("local:///opt/", "")
    (folder / "job.py").write_text("from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate().stop()\n", encoding="utf-8")
    _, *words = shlex.split(code.replace("https://API:6443", asked.address).replace("\\\n", " "))
    more = [word for name, value in _OF_MODE[mode].items() for word in ("--conf", f"{name}={value}")]
    where = os.environ | {"SPARK_HOME": str(_SPARK_HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [f"{_SPARK_HOME}/bin/spark-submit", *more, *words]
    ended = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return asked.pods[0]


@pytest.mark.parametrize("mode", ["cluster", "client"])
def test_both_pods_see_the_claim_and_cannot_write_to_it(mode: str, tmp_path: Path) -> None:
    with api_of_kubernetes() as asked:
        pod = submitted(_CLAIM, mode, asked, tmp_path)
    container = pod["spec"]["containers"][0]
    assert container["args"][0] == ("driver" if mode == "cluster" else "executor")
    (mount,) = (each for each in container["volumeMounts"] if each["name"] == "store")
    assert (mount["mountPath"], mount["readOnly"]) == ("/data/store", True)
    assert {"name": "store", "persistentVolumeClaim": {"claimName": "broker-a-copy", "readOnly": True}} in pod["spec"]["volumes"]


@pytest.mark.parametrize("mode", ["cluster", "client"])
def test_both_pods_see_the_disk_of_a_node(mode: str, tmp_path: Path) -> None:
    of_claim = [word for word in _CLAIM.split(" \\\n") if "persistentVolumeClaim" not in word]
    code = " \\\n".join([*of_claim[:-1], *_DISK.strip().split(" \\\n"), of_claim[-1]])
    with api_of_kubernetes() as asked:
        pod = submitted(code, mode, asked, tmp_path)
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "NODE"}
    (mount,) = (each for each in pod["spec"]["containers"][0]["volumeMounts"] if each["name"] == "store")
    assert (mount["mountPath"], mount["readOnly"]) == ("/data/store", True)
    assert {"name": "store", "hostPath": {"path": "/data/store", "type": ""}} in pod["spec"]["volumes"]
