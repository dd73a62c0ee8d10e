"""The stores in this repository, written by real brokers. `tests/brokers/make_stores.py` writes them again."""

from __future__ import annotations

from pathlib import Path

STORES = Path(__file__).parents[1] / "stores"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))
TRUNCATED = ("5.5.0-failover", "5.5.0-lost-page")
"""Stores whose brokers truncated acknowledged records and continued to write."""
