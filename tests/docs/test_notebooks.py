"""The outputs that are saved with the notebooks. The gate runs the notebooks themselves, with nbmake."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.documented import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 150_000


def cells_of(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["cells"])


def test_there_are_six_and_the_docs_name_them() -> None:
    text = (ROOT / "docs/notebooks.md").read_text(encoding="utf-8")
    assert re.findall(r"\(\.\./notebooks/(.*?\.ipynb)\)", text) == [path.name for path in NOTEBOOKS]
    assert [path.name[0] for path in NOTEBOOKS] == list("123456")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_outputs_were_made_from_these_cells(path: Path) -> None:
    """If not: python .ci/refresh_notebooks.py."""
    cells = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    stores = (ROOT / "notebooks/demo_stores.py").read_text(encoding="utf-8")
    made_from = json.loads(path.read_text(encoding="utf-8"))["metadata"]["made_from"]
    assert made_from == hashlib.sha256("\0".join([*sources, stores]).encode()).hexdigest()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_outputs_are_small_and_name_no_machine(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    for cell in cells_of(path):
        texts = [text for output in cell.get("outputs", []) for text in texts_of(output)]
        # Producers of the example stores have addresses 10.x.
        assert re.findall(r"/tmp/\w+|/home/\w+|/root/\w+|\b(?!10\.|127\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b", "\n".join(texts)) == []
        assert not cell["metadata"]  # such as the times of a run


def texts_of(output: dict[str, Any]) -> list[str]:
    """The text of an output, without its images."""
    data = output.get("data", {}) | {"text": output.get("text", "")}
    return ["".join(text) for kind, text in data.items() if not kind.startswith("image/")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_teaches_in_small_steps(path: Path) -> None:
    cells = cells_of(path)
    assert cells[0]["cell_type"] == "markdown"
    assert "At the end you" in "".join(cells[0]["source"])
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(re.search(r"plotly|altair|seaborn|bokeh", source) for source in code)
    assert any("matplotlib" in source for source in code)
    assert any("assert " in source for source in code)
    assert max(source.count("\n") for source in code) < 35
