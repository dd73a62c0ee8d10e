"""What a release has beside its wheels: an image, packages for Debian and RPM, a bill of materials, sums and notes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.documented import ROOT
from support.program_file import file_with, names_of, unpacked

CI = ROOT / ".ci"


def deb_of(folder: Path, name: str, files: dict[str, str]) -> None:
    package, version, architecture = name.removesuffix(".deb").split("_")
    control = f"Package: {package}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: a\nDescription: b\n"
    root = folder / package
    for path, text in (files | {"DEBIAN/control": control}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    subprocess.run(["dpkg-deb", "--build", root, folder / name], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_an_image_has_both_machines_no_root_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    parts = []
    for machine, architecture in (("x86_64", "amd64"), ("aarch64", "arm64")):
        program = file_with(tmp_path / machine, machine=machine)
        debs = tmp_path / architecture
        debs.mkdir()
        for package in ("libc6", "libgcc-s1", "libstdc++6", "zlib1g"):
            files = {f"usr/lib/{package}.so": machine, f"usr/share/doc/{package}/copyright": "free", "usr/share/man/a": ""}
            deb_of(debs, f"{package}_1_{architecture}.deb", files)
        parts.append(f"{program}={debs}")
    for name in ("one", "two"):
        subprocess.run([sys.executable, CI / "image.py", tmp_path / name, "1.2.3", *parts], check=True)
    for which, machine in enumerate(("x86_64", "aarch64")):
        root = tmp_path / f"root-{machine}"
        config = unpacked(tmp_path / "one", root, which)
        assert config["User"] == "65532:65532"
        assert config["Entrypoint"] == ["/usr/bin/rmqstore"]
        assert (root / "opt/rmqstore/bin/python3").stat().st_mode & 0o777 == 0o755
        assert (root / "usr/lib/libc6.so").read_text() == (root / "lib/libc6.so").read_text() == machine
        assert (root / "usr/share/doc/zlib1g/copyright").exists()
        assert not (root / "usr/share/man").exists()
        assert (root / "tmp").stat().st_mode & 0o7777 == 0o1777
    blobs = sorted((tmp_path / "one/blobs/sha256").iterdir())
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in blobs] == [path.name for path in blobs]
    assert (tmp_path / "one/index.json").read_bytes() == (tmp_path / "two/index.json").read_bytes()


@pytest.mark.parametrize(("machine", "architecture"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_packages_have_the_file_and_the_licences(tmp_path: Path, machine: str, architecture: str) -> None:
    if not (shutil.which("dpkg-deb") and shutil.which("rpmbuild")):
        pytest.skip("needs dpkg-deb and rpmbuild")
    program = file_with(tmp_path / "program", machine=machine, name=f"rmqstore-1.2.3-linux-{machine}")
    (tmp_path / "licences").write_text("theirs", encoding="utf-8")
    subprocess.run([sys.executable, CI / "packages.py", program, tmp_path / "licences", tmp_path / "out"], check=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"rmqstore-1.2.3-1.{machine}.rpm",
        f"rmqstore_1.2.3_{architecture}.deb",
    ]
    subprocess.run(["dpkg-deb", "-x", tmp_path / f"out/rmqstore_1.2.3_{architecture}.deb", tmp_path / "root"], check=True)
    assert (tmp_path / "root/usr/bin/rmqstore").read_bytes() == program.read_bytes()
    assert os.access(tmp_path / "root/usr/bin/rmqstore", os.X_OK)
    assert (tmp_path / "root/usr/share/doc/rmqstore/THIRD-PARTY.txt").read_text() == "theirs"
    rpm = tmp_path / f"out/rmqstore-1.2.3-1.{machine}.rpm"
    listed = subprocess.run(["rpm", "-qp", "--nosignature", "--dump", rpm], check=True, capture_output=True, text=True).stdout
    assert f"/usr/bin/rmqstore {program.stat().st_size} " in listed
    assert hashlib.sha256(program.read_bytes()).hexdigest() in listed


def test_the_bill_names_each_part_with_its_licence_and_its_sum(tmp_path: Path) -> None:
    bill = names_of("bill.py")
    wheel = tmp_path / "a_b-2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("a_b-2.0.dist-info/METADATA", "Name: a_b\nVersion: 2.0\nClassifier: License :: OSI Approved :: MIT License\n")
        packed.writestr("a_b-2.0.dist-info/LICENSE", "the text")
        packed.writestr("a_b-2.0.dist-info/RECORD", "a_b/__init__.py,,\n")
        packed.writestr("a_b/__init__.py", "")
    python = tmp_path / "cpython-3.11.17+1-x.tar.gz"
    python.write_bytes(b"archive")
    packages = tmp_path / "tree/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(packages)
    (tmp_path / "licenses").mkdir()
    (tmp_path / "licenses/LICENSE.zlib.txt").write_text("of zlib", encoding="utf-8")
    components = bill["components"](python, [wheel], tmp_path / "tree")
    text = bill["licences"](components, packages, tmp_path / "licenses")
    assert "  python 3.11.17, PSF-2.0\n  a-b 2.0, MIT\n" in text
    assert "a-b: LICENSE\n\nthe text\n" in text
    assert "of zlib" in text
    read = json.loads(bill["cyclonedx"]("program", "1.2.3", python, components))
    assert (read["bomFormat"], read["specVersion"]) == ("CycloneDX", "1.6")
    assert [each["purl"] for each in read["components"]] == ["pkg:generic/python@3.11.17", "pkg:pypi/a-b@2.0"]
    assert read["components"][1]["licenses"] == [{"expression": "MIT"}]
    assert read["components"][1]["properties"][1]["value"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    (packages / "a_b-2.0.dist-info/LICENSE").unlink()
    with pytest.raises(SystemExit, match="has no file with its licence"):
        bill["licences"](components, packages, tmp_path / "licenses")


def test_notes_are_one_version_of_the_changes_and_sums_can_be_checked(tmp_path: Path) -> None:
    files = names_of("release_files.py")
    changes = "# Changes\n\n## [Unreleased]\n\n- a\n\n## [1.2.3] - 2026-12-01\n\n- b: [c](docs/c.md#d)\n\n## [1.2.2]\n\n- e\n"
    assert files["notes"](changes, "1.2.3") == "- b: [c](https://github.com/rmqstore/rmqstore-spark/blob/v1.2.3/docs/c.md#d)\n"
    with pytest.raises(SystemExit, match=r"nothing about version 9\.9\.9: a heading `## \[9\.9\.9\]` was expected"):
        files["notes"](changes, "9.9.9")
    (tmp_path / "a b.whl").write_bytes(b"wheel")
    (tmp_path / "notes.md").touch()
    (tmp_path / "SHA256SUMS").write_text(files["sums"](tmp_path), encoding="utf-8")
    assert (tmp_path / "SHA256SUMS").read_text() == f"{hashlib.sha256(b'wheel').hexdigest()}  a b.whl\n"
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=tmp_path)


def test_the_script_writes_the_sums_and_the_notes_of_what_is_next(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    command = [sys.executable, CI / "release_files.py", tmp_path, "Unreleased"]
    ended = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout == (tmp_path / "SHA256SUMS").read_text() == f"{hashlib.sha256(b'wheel').hexdigest()}  a.whl\n"
    written = (tmp_path / "notes.md").read_text(encoding="utf-8")
    assert written.startswith("- ")
    links = re.findall(r"\]\((\S+?)\)", written)
    assert links
    assert all(link.startswith("https://") for link in links)
