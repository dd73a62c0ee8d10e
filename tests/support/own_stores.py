"""The stores of this repository, which real brokers wrote: `tests/broker/make_stores.py` writes them again."""

from __future__ import annotations

from pathlib import Path

STORES = Path(__file__).parents[1] / "stores"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))
TRUNCATED = ("5.5.0-failover", "5.5.0-lost-page")
"""Whose brokers cut off what they had acknowledged, and wrote on."""
