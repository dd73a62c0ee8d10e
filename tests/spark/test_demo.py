"""docs/demo.md shows what `make demo` prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]


def alike(shown: str) -> list[str]:
    """Its lines without times, versions, paths and the kernel, which differ by machine."""
    shown = re.sub(r"\d+(\.\d)? s\b|(?<=Spark )\d.*cores|(?<=kernel: ).*|file://\S*?(?=/build/)", "…", shown)
    return [re.sub(r" +…", " …", line.rstrip()) for line in shown.strip().splitlines()]


@pytest.mark.long
def test_the_demo_prints_what_its_document_shows(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(HERE), "PYSPARK_PYTHON": sys.executable}
    demo = [sys.executable, str(HERE / "examples/demo.py")]
    ended = subprocess.run(demo, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=400)
    log = tmp_path / "build/demo/spark.log"
    assert ended.returncode == 0, ended.stderr + (log.read_text() if log.exists() else "")
    (shown,) = re.findall(r"```text\n( ✓ build/demo.*?)```", (HERE / "docs/demo.md").read_text(encoding="utf-8"), re.DOTALL)
    assert alike(ended.stdout) == alike(shown)
