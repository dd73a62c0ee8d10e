"""The command without its script: python -m rmqstore."""

from __future__ import annotations

from rmqstore.cli import main

if __name__ == "__main__":
    main()
