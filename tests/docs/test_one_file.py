"""The program of docs/install.md that needs no Python: made as the page says, and run in a file system that has only a C library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.blocks import blocks_of
from support.documented import ROOT
from support.golden import unpack
from support.own_stores import STORES

PAGE = "docs/install.md"
SOURCES = (
    "native_reader",
    "rmqstore",
    "rmqstore_spark",
    "pyspark_rmqstore",
    "setup.cfg",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "NOTICE",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("one_file")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, home)
    (block,) = (each for each in blocks_of(PAGE) if "pyinstaller" in each.code)
    # The interpreter below the tests' environment: one that is made from another environment has the packages of neither.
    code = block.code.replace("python3.11", str(Path(sys.base_prefix, "bin", "python3")))
    subprocess.run(["bash", "-euc", code], cwd=home, check=True, timeout=1200, capture_output=True)
    return home / "dist/rmqstore"


def root_with(program: Path, root: Path) -> Path:
    """A root file system with that program, glibc, zlib, and a store in /data."""
    libraries = [
        Path(each) for each in re.findall(r"/\S+", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout)
    ]
    (folder,) = {path.parent for path in libraries if path.name == "libc.so.6"}
    for path in {program, *libraries, *(folder / f"lib{name}" for name in ("m.so.6", "rt.so.1", "util.so.1"))}:
        target = root / ("rmqstore" if path == program else path.relative_to("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (root / "tmp").mkdir()
    unpack("5.5.0-kinds", root / "data", STORES)
    return root


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root may change the root file system")
def test_it_reads_a_store_where_there_is_no_python(program: Path, tmp_path: Path) -> None:
    root = root_with(program, tmp_path / "root")
    assert not [path for path in root.rglob("*") if "python" in path.name]

    chroot = shutil.which("chroot")
    assert chroot is not None

    def run(*arguments: str) -> str:
        command = [chroot, root, "/rmqstore", *arguments]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, env={}, timeout=300)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    store = "/data/5.5.0-kinds/store"
    assert run("--version").startswith("0.")
    assert "start      yes" in run("doctor", store)
    assert "2026-11-21 15:26:12.154+08:00\tPlain" in run("cat", store, "--topic", "Plain", "--time-zone", "Asia/Shanghai")
    assert run("stat", store, "--by", "topic").count("Plain") == 1
