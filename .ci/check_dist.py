"""What `python -m build` made holds what it should: every module, the types marker, the licence, its metadata; and nothing else."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore")


def main(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    assert wheel.name.endswith("-py3-none-any.whl"), f"not a pure Python wheel: {wheel.name}"

    inside = set(zipfile.ZipFile(wheel).namelist())
    info = {name for name in inside if ".dist-info/" in name}
    modules = {path.as_posix() for package in PACKAGES for path in Path(package).rglob("*.py")}
    expected = modules | {f"{package}/py.typed" for package in PACKAGES}
    assert inside - info == expected, f"in the wheel or in the tree, not in both: {sorted((inside - info) ^ expected)}"
    assert any(name.endswith("/LICENSE") for name in info), "the wheel has no LICENSE"

    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in info if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    assert metadata["License-Expression"] == "Apache-2.0", f"an older setuptools wrote no License-Expression: {metadata['License']}"
    linked = {url.partition(",")[0] for url in metadata.get_all("Project-URL", [])}
    assert linked == {"Source", "Documentation", "Changelog", "Issues"}, f"the page on PyPI would link {sorted(linked)}"

    keywords = [word.strip() for word in metadata["Keywords"].split(",")]
    assert {"rocketmq", "数据恢复"} <= set(keywords), f"keywords: {keywords}"
    assert not any("\n" in word for word in keywords), f"keywords: {keywords}"
    description = str(metadata.get_payload())
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", description, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    dead = [link for link in links if not re.match(r"(https?|mailto):", link)]
    assert not dead, f"the page on PyPI has links that lead nowhere: {dead}"
    pictures = re.findall(r"!\[[^\]]*\]\((\S+?)\)", prose)
    assert pictures, "the page on PyPI has no picture"
    assert all(each.startswith("https://raw.githubusercontent.com/") for each in pictures), f"pictures: {pictures}"

    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    wanted = expected | {"LICENSE", "README.md", "setup.cfg", "pyproject.toml", "Makefile", ".ci/run", "tests/test_house.py"}
    wanted |= {"kernel/Cargo.lock", "kernel/src/lib.rs"}
    assert wanted <= source, f"missing in the source distribution: {sorted(wanted - source)}"
    assert not any(name.startswith("kernel/target") for name in source), "the source distribution has what cargo built"
    print(f"{wheel.name}: {len(modules)} modules, types marker, licence, metadata, {len(links)} links; {sdist.name}: {len(source)} entries")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
