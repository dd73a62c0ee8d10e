"""Runs notebooks and saves their outputs: python .ci/refresh_notebooks.py [NOTEBOOK …]. Needs the extra `notebooks`.

Left out: the times of the run, and what Spark prints when it starts. Plots get 256 colors, which makes them small.
"""

from __future__ import annotations

import base64
import hashlib
import io
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def digest(notebook: nbformat.NotebookNode) -> str:
    """Of all that the outputs are made from. tests/docs/test_notebooks.py compares it."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256("\0".join([*sources, (NOTEBOOKS / "demo_stores.py").read_text(encoding="utf-8")]).encode()).hexdigest()


def smaller(image: str) -> str:
    """A plot with 256 colors."""
    packed = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(image))).convert("RGB").quantize(256).save(packed, "PNG", optimize=True)
    return base64.b64encode(packed.getvalue()).decode()


def refresh(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, record_timing=False, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in notebook.cells:
        if "SparkSession.builder" in cell.source:
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
        for data in (each["data"] for each in cell.get("outputs", []) if "image/png" in each.get("data", {})):
            data["image/png"] = smaller(data["image/png"])
    notebook.metadata["made_from"] = digest(notebook)
    nbformat.write(notebook, path)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    for each in [Path(name).resolve() for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb")):
        refresh(each)
