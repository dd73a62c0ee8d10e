"""Makes one file of Python, the packages and the command, for hosts without Python: glibc 2.17 and newer, x86-64 or ARM64.

program.py PYTHON WHEELS OUT: PYTHON is an archive of python-build-standalone (install_only_stripped), and WHEELS a folder with exactly the
wheels that go into it. OUT gets the file, the licences of what is inside, and its bill of materials.

Not PyInstaller: its files unpack themselves again at every start, and need the glibc of the machine that made them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import bill
import elf

# All that a command may import late, so that what Python or a package lacks is found now.
TRIAL = "import isal, native_reader, pyarrow.dataset, pyarrow.fs, pyarrow.parquet, rmqstore.cli.program, rocksdict, zoneinfo"
LAUNCHER = Path(__file__).with_name("launcher.sh")
# Of Python: what only developers use, and what needs a screen. `test` is in tests of Python itself.
NOT_OF_PYTHON = (
    "include",
    "share",
    "lib/*.a",
    "lib/pkgconfig",
    "lib/tcl*",
    "lib/tk*",
    "lib/thread*",
    "lib/itcl*",
    "lib/python3*/config-*",
    *(f"lib/python3*/{name}" for name in ("ensurepip", "idlelib", "lib2to3", "test", "tkinter", "turtledemo", "turtle.py")),
    "lib/python3*/lib-dynload/_tkinter*",
    "lib/python3*/site-packages/*",
)
# Of the packages: headers, tests, and the parts of Arrow that the command does not import.
NOT_OF_PACKAGES = (
    "numpy/_core/include",
    "numpy/f2py",
    "numpy/**/tests",
    "pyarrow/include",
    "pyarrow/includes",
    "pyarrow/src",
    "pyarrow/tests",
    "pyarrow/**/*.pyx",
    "pyarrow/**/*.pxi",
    "pyarrow/**/*.pxd",
    "pyarrow/_flight*",
    "pyarrow/_pyarrow_cpp_tests*",
    "pyarrow/libarrow_flight*",
    "pyarrow/libarrow_python_flight*",
)


def remove(folder: Path, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        for path in list(folder.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def unpack_python(archive: Path, tree: Path) -> Path:
    """Python alone; returns the folder of its packages. Of its programs, only `python3` stays, as a file."""
    with tarfile.open(archive) as packed:
        packed.extractall(tree.parent / "unpacked", filter="tar")
    shutil.move(tree.parent / "unpacked/python", tree)
    remove(tree, NOT_OF_PYTHON)
    program = (tree / "bin/python3").resolve()
    shutil.copy2(program, tree / "python3")
    shutil.rmtree(tree / "bin")
    (tree / "bin").mkdir()
    shutil.move(tree / "python3", tree / "bin/python3")
    needs = elf.needs_of(tree / "bin/python3")
    assert needs, f"{archive}: python/bin/python3 is not a program of Linux"
    # Programs that embed Python load it as a library; this program may have all of it inside.
    if not any(library.startswith("libpython") for library in needs.libraries):
        remove(tree, ("lib/libpython*",))
    (library,) = tree.glob("lib/python3.*/")
    packages = library / "site-packages"
    packages.mkdir(exist_ok=True)
    return packages


def unpack_wheels(wheels: list[Path], packages: Path) -> None:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            assert not any(".data/" in name for name in archive.namelist()), f"{wheel.name} has files for other places than site-packages"
            archive.extractall(packages)
    remove(packages, NOT_OF_PACKAGES)


def compile_all(python: Path, tree: Path) -> None:
    """Python never asks whether these are newer than their sources, and never writes others: the folder may be read-only."""
    command = [python, "-I", "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", tree, tree / "lib"]
    subprocess.run(command, check=True)


def packed(tree: Path) -> bytes:
    """The same bytes from the same files, whenever and by whomever they were laid there."""

    def bare(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with tempfile.TemporaryFile() as whole:
        with tarfile.open(fileobj=whole, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path in sorted(tree.rglob("*")):
                archive.add(path, path.relative_to(tree), recursive=False, filter=bare)
        whole.seek(0)
        return gzip.compress(whole.read(), 6, mtime=0)


def with_launcher(payload: bytes, version: str, machine: str, room: int) -> bytes:
    sum_of_payload = hashlib.sha256(payload).hexdigest()
    values = {"VERSION": version, "MACHINE": machine, "SUM": sum_of_payload, "SHORT": sum_of_payload[:12], "ROOM": str(room)}
    script = re.sub(r"@([A-Z]+)@", lambda found: values.get(found[1], found[0]), LAUNCHER.read_text(encoding="utf-8"))
    # `tail -c +N` counts from 1. The number has a fixed width, so that it does not move what it counts.
    head = script.replace("@BEGIN@", f"{len(script.replace('@BEGIN@', '#' * 6).encode()) + 1:06}")
    return head.encode() + payload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--licences", type=Path, help="folder with the licences of what is compiled into Python; default: the archive's own"
    )
    parser.add_argument("--compiler", type=Path, help="a Python of the same version that runs here, if the archive's does not")
    given = parser.parse_args()
    wheels = sorted(given.wheels.glob("*.whl"))
    given.out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.out) as scratch:
        tree = Path(scratch).resolve() / "tree"
        packages = unpack_python(given.python, tree)
        unpack_wheels(wheels, packages)
        found, all_needs = elf.problems(tree)
        if found:
            sys.exit("\n".join(found))
        machine = all_needs[tree / "bin/python3"].machine
        components = bill.components(given.python, wheels, tree)
        version = next(each.version for each in components if each.name == "rmqstore-spark")
        licences = given.licences or tree / "licenses"
        (tree / "THIRD-PARTY.txt").write_text(bill.licences(components, packages, licences), encoding="utf-8")
        compile_all(given.compiler or tree / "bin/python3", tree)
        if machine == platform.machine():
            kernel = ", rmqstore_kernel" if any(each.name == "rmqstore-kernel" for each in components) else ""
            subprocess.run([tree / "bin/python3", "-I", "-c", TRIAL + kernel], check=True)
        room = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1_000_000 + 1
        name = f"rmqstore-{version}-linux-{machine}"
        program = given.out / name
        program.write_bytes(with_launcher(packed(tree), version, machine, room))
        program.chmod(0o755)
        shutil.copy(tree / "THIRD-PARTY.txt", given.out / f"{name}.third-party.txt")
        (given.out / f"{name}.cdx.json").write_text(bill.cyclonedx(name, version, program, components), encoding="utf-8")
    print(f"{program}: {program.stat().st_size / 1e6:.0f} MB, {room} MB unpacked, {len(all_needs)} ELF files, {len(components)} components")


if __name__ == "__main__":
    main()
