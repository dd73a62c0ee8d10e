"""Prints all options: python -m rmqstore_spark."""

from __future__ import annotations

import sys

from rmqstore_spark.options import as_markdown

if __name__ == "__main__":
    sys.stdout.write(as_markdown() + "\n")
