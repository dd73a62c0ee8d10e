"""Which C library a compiled file needs: its machine, the libraries it names, and the newest versions of symbols it asks of them.

elf.py FOLDER: every ELF file in it must be able to run with the libraries that manylinux2014 promises, so with glibc 2.17.
"""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path
from typing import NamedTuple

# PEP 599, which names the libraries that a system has, and their newest symbols. On ARM64 the oldest symbol is already GLIBC_2.17.
NEWEST = {"GLIBC": (2, 17), "GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7), "GCC": (4, 8, 0)}
SYSTEM = re.compile(r"(lib(c|m|dl|rt|util|pthread|resolv|nsl|crypt|stdc\+\+|gcc_s|z)|ld-linux-(x86-64|aarch64))\.so\.\d")
MACHINES = {62: "x86_64", 183: "aarch64"}
_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _VERSIONS, _VERSIONS_NUMBER = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF


class Needs(NamedTuple):
    """What the dynamic section of one file says. `versions`: pairs of a library and a version of its symbols."""

    machine: str
    libraries: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]


def needs_of(path: Path) -> Needs | None:
    """None for what is not an ELF file, or not one that is loaded. Sections may be stripped, so the program headers are read."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    data = path.read_bytes()
    assert data[4:6] == b"\x02\x01", f"{path}: not 64 bits with the lowest byte first"
    machine, program, size, number = struct.unpack_from("<18xH12xQ14xHH", data)
    headers = [struct.unpack_from("<IIQQQQ", data, program + size * index) for index in range(number)]
    loads = [(address, address + length, place - address) for kind, _, place, address, _, length in headers if kind == _LOAD]

    def place_of(address: int) -> int:
        (shift,) = (shift for begin, end, shift in loads if begin <= address < end)
        return address + shift

    tags: list[tuple[int, int]] = []
    for kind, _, place, _, _, length in headers:
        if kind == _DYNAMIC:
            tags = [struct.unpack_from("<qQ", data, place + 16 * index) for index in range(length // 16)]
    values = dict(tags)
    name = MACHINES.get(machine, str(machine))
    if _STRINGS not in values:
        return Needs(name, (), ())
    strings = place_of(values[_STRINGS])

    def text(at: int) -> str:
        return data[strings + at : data.index(b"\0", strings + at)].decode()

    versions = []
    one = place_of(values[_VERSIONS]) if _VERSIONS in values else 0
    for _ in range(values.get(_VERSIONS_NUMBER, 0)):
        symbols, library, first, following = struct.unpack_from("<2xHIII", data, one)
        version = one + first
        for _ in range(symbols):
            named, step = struct.unpack_from("<8xII", data, version)
            versions.append((text(library), text(named)))
            version += step
        one += following
    return Needs(name, tuple(text(value) for tag, value in tags if tag == _NEEDED), tuple(versions))


def too_new(versions: tuple[tuple[str, str], ...]) -> list[str]:
    """Those that a system of manylinux2014 does not have. GLIBC_PRIVATE and others without numbers are for glibc's own libraries."""
    found = []
    for library, version in versions:
        family, _, numbers = version.partition("_")
        if family in NEWEST and not (re.fullmatch(r"[\d.]+", numbers) and tuple(map(int, numbers.split("."))) <= NEWEST[family]):
            found.append(f"{library} {version}")
    return found


def problems(folder: Path) -> tuple[list[str], dict[Path, Needs]]:
    """What keeps the files in a folder from running on glibc 2.17, and what each ELF file needs."""
    found: list[str] = []
    all_needs = {
        path: needs for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and (needs := needs_of(path))
    }
    own = {path.name for path in folder.rglob("*")}
    for path, needs in all_needs.items():
        where = path.relative_to(folder)
        found += [f"{where} needs {each}, newer than manylinux2014" for each in too_new(needs.versions)]
        foreign = [library for library in needs.libraries if library not in own and not SYSTEM.fullmatch(library)]
        found += [f"{where} needs {library}, which is not in it and not in every system" for library in foreign]
    machines = {needs.machine for needs in all_needs.values()}
    if len(machines) != 1:
        found.append(f"files of one machine were expected, and there are: {sorted(machines)}")
    return found, all_needs


def main(folder: Path) -> None:
    found, all_needs = problems(folder)
    if found:
        sys.exit("\n".join(found))
    families: dict[str, tuple[int, ...]] = {}
    for needs in all_needs.values():
        for _, version in needs.versions:
            family, _, numbers = version.partition("_")
            if family in NEWEST:
                families[family] = max(families.get(family, ()), tuple(map(int, numbers.split("."))))
    newest = ", ".join(f"{family}_{'.'.join(map(str, numbers))}" for family, numbers in sorted(families.items()))
    print(f"{folder}: {len(all_needs)} ELF files of {next(iter(all_needs.values())).machine}; newest symbols {newest}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
