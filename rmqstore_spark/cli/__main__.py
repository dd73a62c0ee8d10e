"""The command line without its script: python -m rmqstore_spark.cli."""

from __future__ import annotations

from rmqstore_spark.cli import main

if __name__ == "__main__":
    main()
