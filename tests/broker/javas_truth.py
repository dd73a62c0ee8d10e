"""What Java makes of a store, in the form of a golden store's truth."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from golden import Golden
from rocketmq import Java


def judged(java: Java, folder: Path) -> Golden:
    """Java's decoding of `folder/store`, written beside it."""
    logs = sorted((folder / "store").glob("commitlog*"))
    told = java.run("Truth", *logs, home=folder / "java", timeout=300)
    for kind in ("truth", "inner"):
        with gzip.open(folder / f"{kind}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in told if line["told"] == kind)
    return Golden(folder.name, folder)
