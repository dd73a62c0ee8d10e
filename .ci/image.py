"""Makes a container image of the program files, for two kinds of machines, without a container runtime: a folder in the layout of OCI.

image.py OUT VERSION PROGRAM=DEBS [PROGRAM=DEBS]: DEBS is a folder with the packages libc6, libgcc-s1, libstdc++6 and zlib1g of Debian or
Ubuntu for the machine of this program. Needs dpkg-deb. The image has these and the program, unpacked: no shell, no package manager, and
no user but `rmqstore`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

NEEDED = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# A user id that hosts do not give to people. Other images without root have the same one.
USER = 65532
COMMAND = b"#!/opt/rmqstore/bin/python3 -I\nfrom rmqstore.cli import main\n\nmain()\n"
PASSWD = f"root:x:0:0:root:/:/nologin\nrmqstore:x:{USER}:{USER}:rmqstore:/tmp:/nologin\n".encode()
GROUP = f"root:x:0:\nrmqstore:x:{USER}:\n".encode()
# Of Debian's packages: translations, and what only builds or checks packages.
LEFT_OUT = re.compile(r"(usr/share/(locale|lintian|man|doc-base|gcc|gdb)|usr/lib/[^/]+/gconv|lib/[^/]+/gconv|etc)(/|$)")
SOURCE = "https://github.com/rmqstore/rmqstore-spark"


class Layer:
    """A tar whose bytes depend on nothing but its files."""

    def __init__(self) -> None:
        self._data = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._data, mode="w", format=tarfile.GNU_FORMAT)  # noqa: SIM115
        self._names: set[str] = set()

    def folder(self, name: str, mode: int = 0o755) -> None:
        if name and name != "." and name not in self._names:
            self.folder(str(Path(name).parent))
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            self._add(entry)

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self.folder(str(Path(name).parent))
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), mode
        self._add(entry, data)

    def link(self, name: str, target: str) -> None:
        self.folder(str(Path(name).parent))
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._add(entry)

    def has(self, name: str) -> bool:
        return name in self._names

    def _add(self, entry: tarfile.TarInfo, data: bytes = b"") -> None:
        self._names.add(entry.name)
        self._tar.addfile(entry, io.BytesIO(data))

    def tree(self, source: tarfile.TarFile, below: str = "", left_out: re.Pattern[str] | None = None) -> None:
        """All of another tar, in the order of names."""
        entries = {entry.name.removeprefix("./").rstrip("/"): entry for entry in source}
        for name, entry in sorted(entries.items()):
            if name in ("", ".") or (left_out and left_out.match(name)):
                continue
            if entry.isdir():
                self.folder(below + name)
            elif entry.issym():
                self.link(below + name, entry.linkname)
            elif entry.isreg():
                opened = source.extractfile(entry)
                assert opened is not None
                self.file(below + name, opened.read(), 0o755 if entry.mode & 0o100 else 0o644)
            else:
                sys.exit(f"{name}: neither a file, a folder nor a link")

    def bytes(self) -> bytes:
        self._tar.close()
        return self._data.getvalue()


def system(debs: Path, architecture: str) -> bytes:
    """The layer with the C library."""
    layer = Layer()
    there = set()
    for path in sorted(debs.glob("*.deb")):
        package, _, machine = path.stem.split("_")
        assert machine in (architecture, "all"), f"{path.name}: for {architecture} was expected"
        there.add(package)
        content = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            layer.tree(archive, left_out=LEFT_OUT)
    assert there >= NEEDED, f"{debs}: lacks {sorted(NEEDED - there)}"
    # Where all is below /usr, packages rely on these links. Each program names its loader with /lib or /lib64.
    for name in ("lib", "lib64"):
        if not layer.has(name):
            layer.link(name, f"usr/{name}")
    layer.folder("tmp", 0o1777)
    layer.file("etc/passwd", PASSWD)
    layer.file("etc/group", GROUP)
    return layer.bytes()


def application(program: Path) -> tuple[bytes, str]:
    """The layer with what a program file would unpack, and the machine that it is for."""
    data = program.read_bytes()
    head = data[: 1 << 14].decode("latin-1")
    begin = re.search(r"tail -c \+(\d+)", head)
    machine = re.search(r"machine=(\w+)", head)
    assert begin, f"{program}: not a program file of .ci/program.py"
    assert machine, f"{program}: not a program file of .ci/program.py"
    layer = Layer()
    with tarfile.open(fileobj=io.BytesIO(data[int(begin[1]) - 1 :])) as archive:
        layer.tree(archive, "opt/rmqstore/")
    layer.file("usr/bin/rmqstore", COMMAND, 0o755)
    return layer.bytes(), machine[1]


class Store:
    """The blobs of an image, each under its SHA-256."""

    def __init__(self, out: Path) -> None:
        self._blobs = out / "blobs/sha256"
        self._blobs.mkdir(parents=True)
        (out / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', encoding="utf-8")

    def put(self, kind: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self._blobs / digest).write_bytes(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def json(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        return self.put(kind, json.dumps(content, indent=1).encode())


def image(store: Store, version: str, program: Path, debs: Path) -> dict[str, Any]:
    """The entry for one kind of machine in the image's index."""
    applied, machine = application(program)
    architecture = ARCHITECTURES[machine]
    layers = [system(debs, architecture), applied]
    labels = {"title": "rmqstore", "version": version, "source": SOURCE, "licenses": "Apache-2.0"}
    config = {
        "User": f"{USER}:{USER}",
        "Env": ["PATH=/usr/bin", "LANG=C.UTF-8", "HOME=/tmp"],
        "Entrypoint": ["/usr/bin/rmqstore"],
        "WorkingDir": "/",
        "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()},
    }
    sums = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    whole = {"architecture": architecture, "os": "linux", "config": config, "rootfs": {"type": "layers", "diff_ids": sums}}
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": store.json("config.v1+json", whole),
        "layers": [store.put("layer.v1.tar+gzip", gzip.compress(layer, 6, mtime=0)) for layer in layers],
    }
    return store.json("manifest.v1+json", manifest) | {"platform": {"architecture": architecture, "os": "linux"}}


def main(out: Path, version: str, parts: list[str]) -> None:
    store = Store(out)
    manifests = [image(store, version, *map(Path, part.split("=", 1))) for part in parts]
    inner = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    # One name for all machines: the outer index is of the folder, the inner one of the image.
    named = store.json("index.v1+json", inner) | {"annotations": {"org.opencontainers.image.ref.name": version}}
    (out / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [named]}, indent=1), encoding="utf-8")
    print(f"{out}: {', '.join(each['platform']['architecture'] for each in manifests)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
