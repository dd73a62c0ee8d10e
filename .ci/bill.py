"""What is inside of a program file: each part with its version, licence and checksum, as text and as a CycloneDX bill of materials."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, NamedTuple

HEAD = """\
{name} has these in it:

{parts}

Some of them have compiled code of other projects in them, and name those in their own licences. All that they pass on follows.
Written by .ci/bill.py.
"""
_LICENCE = re.compile(r"(licen[cs]e|copying|notice|third-party)", re.IGNORECASE)
_CLASSIFIERS = {"MIT License": "MIT", "BSD License": "BSD-3-Clause", "Apache Software License": "Apache-2.0"}


class Component(NamedTuple):
    """One part. `licence` as the part itself says it; `sha256` of the archive or the wheel that it came in."""

    name: str
    version: str
    licence: str
    purl: str
    archive: str
    sha256: str
    folder: str
    """The name of its folder with metadata; empty for Python."""


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _licence(metadata: Any) -> str:
    """The expression, or else what older metadata has: one line, or a classifier."""
    if said := metadata["License-Expression"] or (metadata["License"] or "").strip():
        return str(said).splitlines()[0]
    classes = [each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier", []) if each.startswith("License ::")]
    return " OR ".join(_CLASSIFIERS.get(each, each) for each in classes) or "see its licence"


def of_wheel(wheel: Path) -> Component:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    package = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
    version = metadata["Version"]
    return Component(
        package, version, _licence(metadata), f"pkg:pypi/{package}@{version}", wheel.name, _sum(wheel), name.split("/", maxsplit=1)[0]
    )


def components(python: Path, wheels: list[Path], tree: Path) -> list[Component]:
    """Python and each wheel. The version of Python is that of its headers, which are gone by now, so its name has it."""
    patchlevel = re.search(r"3\.\d+\.\d+", python.name)
    if not patchlevel:
        sys.exit(f"{python.name}: the name does not say which Python it is, for example cpython-3.13.17")
    version = patchlevel[0]
    (library,) = tree.glob("lib/python3.*/")
    assert version.startswith(library.name.removeprefix("python") + "."), f"{python.name} has {library.name}"
    own = Component("python", version, "PSF-2.0", f"pkg:generic/python@{version}", python.name, _sum(python), "")
    return [own, *map(of_wheel, wheels)]


def licences(components: list[Component], packages: Path, of_python: Path) -> str:
    """The licences of all parts. `of_python` has those of the libraries that are compiled into Python."""
    files = [("python", path) for path in sorted(of_python.glob("*")) if path.is_file()]
    if not files:
        sys.exit(f"{of_python}: no licences of what is compiled into Python. Name the folder `licenses` of the full archive: --licences")
    files += [("python", path) for path in sorted(packages.parent.glob("LICENSE.txt"))]
    for component in components[1:]:
        folder = packages / component.folder
        own = sorted(path for path in folder.rglob("*") if path.is_file() and _LICENCE.match(path.name))
        # Some wheels also have licences beside the code that they are about.
        roots = {path.relative_to(packages).parts[0] for path in _recorded(packages, component)}
        beside = [
            path
            for root in sorted(roots)
            for path in sorted((packages / root).rglob("*"))
            if re.match(r"(LICENSE|COPYING|NOTICE)", path.name)
        ]
        if not own + beside:
            sys.exit(f"{component.archive}: has no file with its licence")
        files += [(component.name, path) for path in dict.fromkeys(own + [path for path in beside if path.is_file()])]
    same: dict[str, list[str]] = {}
    for name, path in files:
        text = "\n".join(line.rstrip() for line in path.read_text(encoding="utf-8", errors="replace").strip().splitlines())
        same.setdefault(text, []).append(f"{name}: {path.name}")
    parts = "\n".join(f"  {each.name} {each.version}, {each.licence}" for each in components)
    line = "-" * 100
    head = HEAD.format(name="This program", parts=parts)
    return "\n".join([head, *("\n".join([line, *names, "", text, ""]) for text, names in same.items())])


def _recorded(packages: Path, component: Component) -> list[Path]:
    """The files of a wheel that are still there, but for its metadata."""
    lines = (packages / component.folder / "RECORD").read_text(encoding="utf-8").splitlines()
    paths = (packages / line.split(",")[0] for line in lines if "/" in line and not line.startswith(component.folder))
    return [path for path in paths if path.is_file()]


def cyclonedx(name: str, version: str, program: Path, components: list[Component]) -> str:
    """A bill of materials for one file. It has no time and no random number: the same file has the same bill."""

    def licence(said: str) -> dict[str, Any]:
        return (
            {"expression": said} if re.fullmatch(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*", said) else {"license": {"name": said}}
        )

    def part(each: Component) -> dict[str, Any]:
        return {
            "type": "library",
            "bom-ref": each.purl,
            "name": each.name,
            "version": each.version,
            "purl": each.purl,
            "licenses": [licence(each.licence)],
            "properties": [{"name": "archive", "value": each.archive}, {"name": "archive:sha256", "value": each.sha256}],
        }

    root = {
        "type": "application",
        "bom-ref": name,
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": _sum(program)}],
    }
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": [part(each) for each in components],
        "dependencies": [{"ref": name, "dependsOn": [each.purl for each in components]}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
