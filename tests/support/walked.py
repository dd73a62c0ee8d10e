"""What a page needs before its first block: stores, copies and archives where its readers have theirs."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from support.documented import ROOT, english_of, write_stores
from support.shop import write_shop
from support.store_damages import PAGE, patch
from support.stores import files_of, log_of, message, on_disk
from support.tiers import add_tier

_GIVEN = {
    "docs/install.md": ("copy/store", "store"),
    "docs/monitoring.md": ("copy/east", "copy/west"),
    "docs/python.md": ("store",),
    "docs/report.md": ("copy/broker-a", "copy/broker-b"),
    "docs/streaming.md": ("build/example",),
}
"""Other places where a page has a store. What the page itself writes is not among them."""
_WRITTEN = {
    "README.md": ("crashed",),
    "README.zh.md": ("crashed",),
    "docs/recipes.md": ("store", "failing", "damaged"),
    "docs/summary.md": ("store",),
}
"""The pages that show what commands print about the stores of docs/cli.md."""
_PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark")


def new_store(path: Path) -> Path:
    """A small store, whose files have no holes: it is copied often."""
    small = {
        "mapped_file_size_commit_log": 1 << 20,
        "mapped_file_size_consume_queue": 20 * 500,
        "max_hash_slot_num": 5000,
        "max_index_num": 20_000,
    }
    write_store(path, StoreSpec(bytes=2 << 20, deleted="invoices", **small))
    return path


def home(page: str, store: Path, folder: Path) -> Path:
    """A folder for the blocks of a page, where `data/store` is a copy of that store. Its parent is for the test too."""
    here, page = folder / "page", english_of(page)
    shutil.copytree(store, here / "data/store")
    for name in _GIVEN.get(page, ()):
        shutil.copytree(store, here / name)
    write_stores(here, _WRITTEN.get(page, ()))
    (here / "examples").symlink_to(ROOT / "examples")
    if page == "docs/spark.md":
        _store_of_json(here / "data")
    if page == "docs/bodies.md":
        write_shop(here / "data/shop")
    if page == "docs/verify.md":
        keys = nr.open(store).messages(columns=["keys"]).to_table()["keys"].to_pylist()
        (here / "orders.txt").write_text(f"{next(filter(None, keys))[0]}\n", encoding="utf-8")
        (here / "owners.csv").write_text("orders*,sales\n", encoding="utf-8")
    if page == "docs/repair.md":
        _damaged_store(here / "damaged")
    if page == "docs/tiered.md":
        add_tier(here / "data/store", here / "data/store/tiered")
        shutil.copytree(here / "data/store/tiered", here / "data/tier")
    if page == "docs/install.md":
        subprocess.run(["tar", "-czf", "store.tar.gz", "store"], cwd=here, check=True)
        _wheel(here / "wheelhouse")
    return here


def _store_of_json(path: Path) -> None:
    """`orders`: a store with twelve messages, of which nine are JSON."""
    bodies = [b"no JSON" if number % 4 == 3 else b'{"id": "O-%d", "total": %d.5}' % (number, 10 * number) for number in range(12)]
    log = log_of(message(number, topic="orders", body=body) for number, body in enumerate(bodies))
    on_disk(path, files_of(log, "orders/commitlog"))


def _damaged_store(path: Path) -> None:
    """A store of ordinary messages with a page of zeros, and without one segment; and beside it its whole copy, `slave`."""
    sizes = {"mapped_file_size_commit_log": 256 << 10, "mapped_file_size_consume_queue": 20 * 500}
    write_store(path, StoreSpec(bytes=1 << 20, topics=2, shapes="equal", max_hash_slot_num=500, max_index_num=2000, **sizes))
    shutil.copytree(path, path.with_name("slave"))
    log = sorted((path / "commitlog").iterdir())
    patch(log[0], 25 * PAGE, bytes(PAGE))
    log[2].unlink()


def _wheel(folder: Path) -> None:
    """What a wheel of this project has: its packages. Those that it needs are installed."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "rmqstore_spark-0-py3-none-any.whl", "w") as wheel:
        for path in (path for package in _PACKAGES for path in (ROOT / package).rglob("*.py")):
            wheel.write(path, path.relative_to(ROOT))
