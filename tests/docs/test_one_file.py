"""The program file of docs/install.md: what its launcher does and refuses, and which symbols its files may need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.program_file import MACHINE, file_with, names_of, started

CI_ELF = names_of("elf.py")
linux_only = pytest.mark.skipif(MACHINE not in ("x86_64", "aarch64"), reason="the file is for Linux")


@linux_only
def test_it_unpacks_itself_once_and_passes_its_arguments_on(tmp_path: Path) -> None:
    program, home = file_with(tmp_path), tmp_path / "home"
    first = started(program, "find", "/a b", "--key=*", HOME=str(home))
    assert first.stderr == ""
    assert re.fullmatch(
        rf"{home}/\.cache/rmqstore/rmqstore-1\.2\.3-\w{{12}}/bin/python3: -I -m rmqstore find /a b --key=\*\n", first.stdout
    )
    (place,) = (home / ".cache/rmqstore").iterdir()
    (place / "mark").touch()
    assert started(program, "find", "/a b", "--key=*", HOME=str(home)).stdout == first.stdout
    assert (place / "mark").exists()
    named = started(program, HOME=str(home), RMQSTORE_UNPACK=str(tmp_path / "else"))
    assert named.stdout.startswith(f"{tmp_path}/else/rmqstore-1.2.3-")
    assert [path.name for path in (tmp_path / "else").iterdir()] == [place.name]


@linux_only
def test_it_runs_only_what_its_own_user_laid_there(tmp_path: Path) -> None:
    program, home = file_with(tmp_path), tmp_path / "home"
    (place,) = [Path(started(program, HOME=str(home)).stdout.partition("/bin/python3")[0])]
    elsewhere = tmp_path / "elsewhere"
    shutil.move(place.parent, elsewhere)
    place.parent.symlink_to(elsewhere)
    refused = started(program, HOME=str(home), TMPDIR=str(tmp_path / "tmp"))
    assert refused.stdout.startswith(f"{tmp_path}/tmp/rmqstore-{os.getuid()}/rmqstore-1.2.3-")


@linux_only
@pytest.mark.parametrize("trial", [1, 126, 127])
def test_it_says_why_it_does_not_start(tmp_path: Path, trial: int) -> None:
    program = file_with(tmp_path, trial)
    ended = started(program, RMQSTORE_UNPACK=str(tmp_path / "there"))
    assert ended.returncode == 126
    assert ended.stdout == ""
    if trial == 126:
        assert f"{tmp_path}/there: no program can be started from there: it is mounted noexec\n" in ended.stderr
        assert "RMQSTORE_UNPACK=/some/folder" in ended.stderr
    else:
        assert "Python does not start" in ended.stderr
        assert "glibc 2.17 or newer" in ended.stderr
    assert list((tmp_path / "there").iterdir()) == []


@linux_only
def test_a_damaged_file_and_one_for_another_machine_are_refused(tmp_path: Path) -> None:
    program = file_with(tmp_path)
    data = bytearray(program.read_bytes())
    data[-9] ^= 1
    program.write_bytes(data)
    ended = started(program, RMQSTORE_UNPACK=str(tmp_path / "there"))
    assert ended.returncode == 126
    assert "damaged or not whole" in ended.stderr
    other = file_with(tmp_path / "other", machine="riscv64")
    ended = started(other, RMQSTORE_UNPACK=str(tmp_path / "there"))
    assert ended.returncode == 126
    assert f"This file is for riscv64, and this machine is {MACHINE}" in ended.stderr
    assert not (tmp_path / "there").exists()


@linux_only
def test_the_newest_symbols_of_a_file_are_those_that_readelf_finds() -> None:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("needs readelf")
    library = next(Path(np.__file__).parent.glob("_core/_multiarray_umath*.so"))
    needs = CI_ELF["needs_of"](library)
    shown = subprocess.run([readelf, "-W", "-V", "-d", library], check=True, capture_output=True, text=True).stdout
    assert set(needs.libraries) == set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))
    assert sorted(version for _, version in needs.versions) == sorted(re.findall(r"Name: (\S+)  Flags: \S+  Version", shown))
    assert needs.machine == MACHINE


def test_symbols_newer_than_manylinux2014_are_found(tmp_path: Path) -> None:
    right = (("libc.so.6", "GLIBC_2.17"), ("libc.so.6", "GLIBC_2.2.5"), ("libstdc++.so.6", "GLIBCXX_3.4.19"), ("own.so", "OWN_9"))
    assert CI_ELF["too_new"](right) == []
    wrong = (("libc.so.6", "GLIBC_2.18"), ("libstdc++.so.6", "CXXABI_1.3.8"), ("libc.so.6", "GLIBC_PRIVATE"))
    assert CI_ELF["too_new"](wrong) == ["libc.so.6 GLIBC_2.18", "libstdc++.so.6 CXXABI_1.3.8", "libc.so.6 GLIBC_PRIVATE"]
    (tmp_path / "text").write_text("not a program", encoding="utf-8")
    assert CI_ELF["problems"](tmp_path)[0] == ["files of one machine were expected, and there are: []"]
