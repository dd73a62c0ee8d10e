"""What .ci/make_program makes, as docs/install.md says, with all that is real but its Python: without Python, in packages, in an image.

A release packs a Python of python-build-standalone. Here it is the one that Maven Central has for Java (org.bytedeco:cpython), which was
built on CentOS 7.
"""

from __future__ import annotations

import filecmp
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.documented import ROOT
from support.golden import unpack
from support.own_stores import STORES
from support.program_file import MACHINE, clone_served, names_of, started, unpacked

CI = ROOT / ".ci"
CARGO = Path.home() / ".cargo/bin"
# That Python was built without lzma, which is for segments packed by xz.
WITHOUT_LZMA = b"class LZMAError(Exception):\n    pass\n\n\nLZMAFile = None\n"
pytestmark = [
    pytest.mark.long,
    # One process makes it.
    pytest.mark.xdist_group("release"),
    pytest.mark.skipif(MACHINE != "x86_64", reason="there is no such Python for other machines"),
]
only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may change the root file system")


def old_python(folder: Path) -> None:
    """Both archives that .ci/make_program asks for, with the Python of Maven Central for glibc 2.17."""
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("needs Maven")
    jar = "org.bytedeco:cpython:3.11.3-1.5.9:jar:linux-x86_64"
    command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={folder}"]
    subprocess.run(command, check=True, cwd=folder, timeout=600)
    # These need libraries that not every system has.
    others = re.compile(r"lib-dynload/_(bz2|dbm|gdbm|uuid)\.")
    top = "org/bytedeco/cpython/linux-x86_64/"
    (path,) = folder.glob("cpython-*.jar")
    places = {"bin/python3.11": "bin/python3", "libpython3.11.so.1.0": "lib/libpython3.11.so.1.0", "libffi.so.6": "lib/libffi.so.6"}
    archive = folder / "cpython-3.11.3-x86_64-linux-install_only_stripped.tar.gz"
    with zipfile.ZipFile(path) as source, tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        for name in source.namelist():
            inner = name.removeprefix(top)
            place = places.get(inner, inner if inner.startswith("lib/python3.11/") else "")
            if name == inner or not place or name.endswith("/") or others.search(name):
                continue
            entry = tarfile.TarInfo(f"python/{place}")
            data = WITHOUT_LZMA if place == "lib/python3.11/lzma.py" else source.read(name)
            entry.size, entry.mode = len(data), 0o755 if place.startswith("bin/") else 0o644
            packed.addfile(entry, io.BytesIO(data))
        licences = folder / "python/licenses"
        licences.mkdir(parents=True)
        (licences / "LICENSE.cpython.txt").write_bytes(source.read(f"{top}lib/python3.11/LICENSE.txt"))
    full = folder / "cpython-3.11.3-x86_64-linux-full.tar.zst"
    subprocess.run(["tar", "--zstd", "-cf", full, "-C", folder, "python"], check=True)
    shutil.rmtree(folder / "python")
    path.unlink()


def old_kernel(folder: Path, wheels: Path) -> None:
    """The kernel's wheel for glibc 2.17. Zig has the symbols of each glibc; a release builds on CentOS 7."""
    tools, pip = folder / "tools", [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--target", tools, "maturin>=1.9,<2", "ziglang"], check=True, timeout=600)
    command = [tools / "bin/maturin", "build", "--release", "--locked", "--zig", "--compatibility", "manylinux2014", "--quiet"]
    places = ["--manifest-path", ROOT / "kernel/Cargo.toml", "--out", wheels, "--target-dir", folder / "target"]
    environment = {**os.environ, "PYTHONPATH": str(tools), "PATH": f"{os.environ['PATH']}:{CARGO}"}
    subprocess.run([*command, *places], check=True, env=environment, timeout=1800)
    shutil.rmtree(folder / "target")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What .ci/make_program makes, as in a release but for its Python: the file, packages around it, the wheelhouse."""
    missing = [name for name in ("cargo", "dpkg-deb", "rpmbuild", "zstd") if not shutil.which(name, path=f"{os.environ['PATH']}:{CARGO}")]
    if missing:
        pytest.skip(f"needs {missing}")
    folder = tmp_path_factory.mktemp("program")
    (folder / "served").mkdir()
    old_python(folder / "served")
    clone, wheels = folder / "clone", folder / "wheels"
    environment = clone_served(clone, folder / "served")
    for name in ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, clone)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, clone], check=True, timeout=600)
    old_kernel(folder, wheels)
    command = ["sh", ".ci/make_program", "x86_64", wheels, folder / "out"]
    subprocess.run(command, check=True, cwd=clone, env=environment, timeout=1800)
    shutil.rmtree(clone)
    return folder / "out"


@pytest.fixture
def whole(release: Path) -> Path:
    """The program file."""
    (program,) = (path for path in release.iterdir() if path.name.endswith("-linux-x86_64"))
    return program


TOOLS = ("sh", "tail", "tar", "gzip", "mkdir", "rm", "mv", "uname", "sha256sum", "cut", "id")
LIBRARIES = (
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libpthread.so.0",
    "libz.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
)


def root_with(program: Path, root: Path) -> Path:
    """A root file system with that program, what its launcher calls, a C library and a store in /data, and nothing of Python."""
    tools = [shutil.which(name) or pytest.fail(f"needs {name}") for name in TOOLS]
    shown = "".join(subprocess.run(["ldd", tool], check=True, capture_output=True, text=True).stdout for tool in tools)
    files = {Path(each) for each in re.findall(r"/\S+\.so\.[\d.]+", shown)}
    cache = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    files |= {Path(found[1]) for name in LIBRARIES if (found := re.search(rf"{re.escape(name)} \(.*x86-64.*\) => (/\S+)", cache))}
    for path in files:
        (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.relative_to("/"))
    (root / "bin").mkdir(exist_ok=True)
    for name, tool in zip(TOOLS, tools, strict=True):
        shutil.copy(tool, root / "bin" / name)
    shutil.copy(program, root / "rmqstore")
    for name in ("tmp", "proc", "root", "dev"):
        (root / name).mkdir()
    unpack("5.5.0-kinds", root / "data", STORES)
    return root


def test_a_release_has_one_file_with_the_kernel_and_the_same_file_in_packages(release: Path, whole: Path, tmp_path: Path) -> None:
    name, version = whole.name, whole.name.split("-")[1]
    assert {path.name for path in release.iterdir()} == {
        *(name, f"{name}.third-party.txt", f"{name}.cdx.json", f"{name}-wheelhouse.tar.gz"),
        *(f"rmqstore-{version}-1.x86_64.rpm", f"rmqstore_{version}_amd64.deb"),
    }
    there = {"RMQSTORE_UNPACK": str(tmp_path / "there"), "RMQSTORE_KERNEL": "compiled"}
    assert started(whole, "--version", **there).stdout.strip() == version
    found, needs = names_of("elf.py")["problems"](tmp_path / "there")
    assert found == []
    assert "rmqstore_kernel.abi3.so" in {path.name for path in needs}
    parts = {each["name"] for each in json.loads((release / f"{name}.cdx.json").read_text())["components"]}
    licences = (release / f"{name}.third-party.txt").read_text()
    assert parts >= {"python", "rmqstore-spark", "rmqstore-kernel", "numpy", "pyarrow"}
    assert all(f"\n{part}: " in licences for part in parts)
    subprocess.run(["dpkg-deb", "-x", release / f"rmqstore_{version}_amd64.deb", tmp_path / "deb"], check=True)
    assert filecmp.cmp(tmp_path / "deb/usr/bin/rmqstore", whole, shallow=False)
    listed = subprocess.run(["rpm", "-qp", "--nosignature", "--dump", *release.glob("*.rpm")], check=True, capture_output=True, text=True)
    assert hashlib.sha256(whole.read_bytes()).hexdigest() in listed.stdout


def test_the_wheelhouse_has_all_that_the_command_needs(release: Path, tmp_path: Path) -> None:
    with tarfile.open(*release.glob("*-wheelhouse.tar.gz")) as packed:
        packed.extractall(tmp_path, filter="data")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-index", "--only-binary=:all:"]
    kind = ["--platform", "manylinux2014_x86_64", "--implementation", "cp", "--python-version", "3.11", "--target", tmp_path / "target"]
    asked = ["--find-links", tmp_path / "wheelhouse", "rmqstore-spark[cli,fast,rocksdb]"]
    subprocess.run([*pip, *kind, *asked], check=True, timeout=300)
    assert (tmp_path / "target/rmqstore_kernel").is_dir()


@only_root
def test_it_repairs_a_store_where_there_is_no_python(whole: Path, tmp_path: Path) -> None:
    root = root_with(whole, tmp_path / "root")
    assert not [path for path in root.rglob("*") if "python" in path.name]

    def run(*arguments: str, code: int = 0) -> str:
        # In a file system of its own, so that /proc is not left mounted.
        inside = 'mount --bind /proc "$0/proc" && exec chroot "$0" /rmqstore "$@"'
        command = ["unshare", "--mount", "sh", "-c", inside, root, *arguments]
        # Without the kernel, each read would be an error.
        where = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin:/bin", "HOME": "/root", "RMQSTORE_KERNEL": "compiled"}
        ended = subprocess.run(command, check=False, capture_output=True, text=True, env=where, timeout=600)
        assert ended.returncode == code, ended.stderr
        return ended.stdout if code == 0 else ended.stderr

    store = "/data/5.5.0-kinds/store"
    assert run("--version").startswith("0.")
    assert "start      yes" in run("doctor", store)
    assert "Plain" in run("find", store, "--topic", "Plain", "--first")
    assert "2026-11-21 15:26:12.154+08:00\tPlain" in run("cat", store, "--topic", "Plain", "--time-zone", "Asia/Shanghai")
    run("repair", store, "/data/new")
    assert "start      yes" in run("doctor", "/data/new")
    assert "The program file and the container image do not have it" in run("sql", store, "SELECT 1", code=2)


@only_root
def test_its_image_reads_a_store_that_it_may_not_change_as_another_user(whole: Path, tmp_path: Path) -> None:
    """The layers are unpacked and entered as a runtime does it; there is none here."""
    packages = ("libc6", "libgcc-s1", "libstdc++6", "zlib1g")
    (tmp_path / "debs").mkdir()
    subprocess.run(["apt-get", "download", "-qq", *packages], check=True, cwd=tmp_path / "debs", capture_output=True, timeout=300)
    command = [sys.executable, CI / "image.py", tmp_path / "image", "0.1.0", f"{whole}={tmp_path}/debs"]
    subprocess.run(command, check=True, timeout=900)
    root = tmp_path / "root"
    config = unpacked(tmp_path / "image", root)
    assert not [path for path in root.glob("**/bin/*") if path.name.startswith(("sh", "bash", "apt"))]
    unpack("5.5.0-kinds", tmp_path / "data", STORES)
    for name in ("store", "proc"):
        (root / name).mkdir()
    mounts = (
        'mount --bind "$0" "$0"',
        f'mount --bind {tmp_path}/data/5.5.0-kinds/store "$0/store"',
        'mount -o remount,bind,ro "$0/store"',
        'mount --bind /proc "$0/proc"',
        'mount -o remount,bind,ro "$0"',
        f'exec chroot --userspec={config["User"]} "$0" {config["Entrypoint"][0]} doctor /store',
    )
    variables = dict(each.split("=", 1) for each in config["Env"]) | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin:/bin"}
    inside = ["unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join(mounts), root]
    ended = subprocess.run(inside, check=False, capture_output=True, text=True, env=variables, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert "start      yes" in ended.stdout
