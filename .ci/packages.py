"""Packs a program file as a package for Debian and one for RPM: packages.py PROGRAM LICENCES OUT.

Needs dpkg-deb and rpmbuild. The packages have that one file as /usr/bin/rmqstore, and the licences of what is inside.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ABOUT = "Reads the files an Apache RocketMQ broker leaves on disk, and repairs its store"
SITE = "https://github.com/rmqstore/rmqstore-spark"
OF_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
CONTROL = """\
Package: rmqstore
Version: {version}
Architecture: {machine}
Maintainer: The rmqstore-spark developers <{site}/issues>
Depends: libc6 (>= 2.17), libstdc++6, zlib1g, tar, gzip
Section: admin
Priority: optional
Homepage: {site}
Description: {about}
 One file with Python and all that the command needs. At its first start, each
 user's copy is unpacked into ~/.cache/rmqstore. No broker is asked or changed.
"""
# The program is a script with a tar behind it: rpm must not strip it or look for libraries in it. rpm on CentOS 7 cannot read zstd.
SPEC = """\
%global __os_install_post %{{nil}}
%global _build_id_links none
%global debug_package %{{nil}}
%define _binary_payload w1.gzdio
%define _build_name_fmt %%{{NAME}}-%%{{VERSION}}-%%{{RELEASE}}.%%{{ARCH}}.rpm
Name: rmqstore
Version: {version}
Release: 1
Summary: {about}
License: Apache-2.0
URL: {site}
AutoReqProv: no
Requires: glibc >= 2.17, libstdc++, zlib, tar, gzip

%description
One file with Python and all that the command needs. At its first start, each
user's copy is unpacked into ~/.cache/rmqstore. No broker is asked or changed.

%files
/usr/bin/rmqstore
/usr/share/doc/rmqstore
"""


def lay(root: Path, program: Path, licences: Path) -> None:
    """The files of both packages."""
    documents = root / "usr/share/doc/rmqstore"
    documents.mkdir(parents=True)
    (root / "usr/bin").mkdir()
    shutil.copyfile(program, root / "usr/bin/rmqstore")
    shutil.copyfile(Path(__file__).parents[1] / "LICENSE", documents / "copyright")
    shutil.copyfile(licences, documents / "THIRD-PARTY.txt")
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.name == "rmqstore" else 0o644)


def main(program: Path, licences: Path, out: Path) -> None:
    named = re.fullmatch(r"rmqstore-(?P<version>.+)-linux-(?P<machine>x86_64|aarch64)", program.name)
    if not named:
        sys.exit(f"{program.name}: rmqstore-VERSION-linux-MACHINE was expected")
    version, machine = named["version"], named["machine"]
    out.mkdir(exist_ok=True)
    # The time of the files, so that the same program makes the same package.
    environment = {"SOURCE_DATE_EPOCH": "0"} | os.environ
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        root, top = Path(scratch).resolve() / "deb", Path(scratch).resolve()
        lay(root, program, licences)
        (root / "DEBIAN").mkdir()
        control = CONTROL.format(version=version, machine=OF_DEBIAN[machine], site=SITE, about=ABOUT)
        (root / "DEBIAN/control").write_text(control, encoding="utf-8")
        deb = out / f"rmqstore_{version}_{OF_DEBIAN[machine]}.deb"
        # The content is already compressed.
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Znone", "--build", root, deb], check=True, env=environment, stdout=subprocess.DEVNULL
        )
        shutil.rmtree(root / "DEBIAN")
        spec = top / "rmqstore.spec"
        spec.write_text(SPEC.format(version=version, site=SITE, about=ABOUT), encoding="utf-8")
        command = [
            "rpmbuild",
            "-bb",
            "--quiet",
            "--target",
            f"{machine}-linux",
            "--buildroot",
            root,
            f"-D_topdir {top}",
            f"-D_rpmdir {top}",
        ]
        subprocess.run([*command, "-Duse_source_date_epoch_as_buildtime 1", "-D_buildhost localhost", spec], check=True, env=environment)
        (rpm,) = top.glob("*.rpm")
        shutil.move(rpm, out / rpm.name)
    print(f"{deb.name}, {rpm.name}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
