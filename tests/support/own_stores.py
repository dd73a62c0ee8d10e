"""The stores in this repository, written by real brokers. `tests/brokers/make_stores.py` writes them again."""

from __future__ import annotations

from pathlib import Path

STORES = Path(__file__).parents[1] / "stores"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))
NOT_LOADED = [name for name in NAMES if "-rocksdb" in name or name.endswith(("-dledger", "-slave"))]
"""Stores that RocketMQ's store class cannot load from their files alone."""
TRUNCATED = ("5.5.0-failover", "5.5.0-lost-page")
"""Stores whose brokers truncated acknowledged records and continued to write."""
