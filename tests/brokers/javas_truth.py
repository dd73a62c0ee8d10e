"""Java's reading of a store, in the form of a golden store's truth."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocketmq import Java
from support.golden import Golden
from support.plain_decoder import Row

_COLLIDING = ("AaAa", "BBBB", "AaBB", "BBAa")
"""One hash for all of them."""


def judged(java: Java, folder: Path) -> Golden:
    """Write Java's decoding of `folder/store` next to it."""
    logs = sorted([*(folder / "store").glob("commitlog*"), *(folder / "store").glob("dledger-*/data")])
    lines = java.run("Truth", *logs, home=folder / "java", timeout=300)
    for kind in ("truth", "inner"):
        _write(folder / f"{kind}.jsonl.gz", (line for line in lines if line["told"] == kind))
    return Golden(folder.name, folder)


def loaded(java: Java, folder: Path, settings: Mapping[str, object]) -> None:
    """Start a broker on a copy of `folder/store`, and write the contents of its queues and index next to it."""
    home = folder / "java"
    shutil.copytree(folder / "store", home / "store")
    (home / "conf").write_text("".join(f"{name}={value}\n".replace("{store}", str(home / "store")) for name, value in settings.items()))
    (home / "keys").write_text("".join(f"{topic}\t{key}\n" for topic, key in asked(Golden(folder.name, folder).lines("truth"))))
    lines = java.run("Load", home / "store", home / "conf", home / "keys", home=home)
    (found,) = [line for line in lines if "loaded" in line]
    assert found["loaded"]
    (folder / "loaded.json").write_text(json.dumps(found))
    _write(
        folder / "queues.jsonl.gz",
        sorted((line for line in lines if "entries" in line), key=lambda line: (line["topic"], line["queue_id"])),
    )
    _write(folder / "keys.jsonl.gz", (line for line in lines if "key" in line))


def keys_of(truth: Iterable[Row]) -> Iterable[tuple[str, str, int]]:
    """Topic, key and offset of everything that a broker indexes."""
    for line in truth:
        properties = line.get("properties") or {}
        if not line["sys_flag_on_disk"] & 0x4:  # prepared and rolled back ones of 4.0 to 4.2 are not
            for key in [*properties.get("KEYS", "").split(" "), properties.get("UNIQ_KEY", "")]:
                if key:
                    yield line["topic"], key, line["physical_offset"]


def asked(truth: Iterable[Row]) -> list[tuple[str, str]]:
    """A third of all keys, those that collide, and some that were never sent."""
    known = sorted({(topic, key) for topic, key, _ in keys_of(truth) if "\t" not in topic + key and "\n" not in topic + key})
    colliding = [(topic, key) for topic in sorted({topic for topic, key in known if key in _COLLIDING}) for key in _COLLIDING]
    return list(dict.fromkeys([*known[::3], *colliding, *((topic, f"{key} of nobody") for topic, key in known[:5])]))


def _write(path: Path, lines: Iterable[Row]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
