"""The output in the READMEs is the real output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
READMES = ("README.md", "README.zh.md", "docs/filters.md")


@pytest.mark.parametrize("name", READMES)
def test_the_example_prints_the_documented_output(name: str, tmp_path: Path) -> None:
    text = (HERE / name).read_text()
    command, code, output = re.search(
        r"```bash\npython (-m native.*?)\n```.*?```python\n(.*?)```.*?```text\n(.*?)```", text, re.DOTALL
    ).groups()
    subprocess.run([sys.executable, *command.split()], cwd=tmp_path, check=True, capture_output=True)
    printed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert alike(printed.replace(str(tmp_path), "/…")) == alike(output)


def alike(text: str) -> str:
    """Without the name of the kernel, which runs only where it was built."""
    return re.sub(r"^ kernel: .*", " kernel: …", text, flags=re.MULTILINE)
