"""What is wrong with an option."""

from __future__ import annotations

OPTIONS = {
    "kernel of other version": (
        "{variable}={wanted}, but {versions}. Install the rmqstore-kernel of this reader's version",
        "{variable}={wanted}，但 {versions}。请安装与此版本一致的 rmqstore-kernel",
    ),
}
