"""The script .ci/make_program: what it fetches and refuses, and what it leaves for a release. A script named curl serves its archives."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.program_file import MACHINE, clone_served, file_with

SERVED = ("cpython-3.11.17+1-{}-unknown-linux-install_only_stripped.tar.gz", "cpython-3.11.17+1-{}-unknown-linux-pgo+lto-full.tar.zst")
# Instead of .ci/program.py: it notes what it got, and gives a file that was made before.
PROGRAM = """\
import json, shutil, sys
from pathlib import Path
python, wheels, out, option, licences = sys.argv[1:]
wheels = sorted(path.name for path in Path(wheels).iterdir())
said = [Path(python).read_text(), wheels, option, (Path(licences) / "LICENSE.a.txt").read_text()]
Path("said").write_text(json.dumps(said))
Path(out).mkdir()
shutil.copy({made!r}, out)
for end in ("third-party.txt", "cdx.json"):
    Path(out, Path({made!r}).name + "." + end).write_text(end)
"""
needs = [name for name in ("dpkg-deb", "rpmbuild", "zstd") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(needs) or MACHINE not in ("x86_64", "aarch64"), reason=f"needs Linux and {needs}")


def made_by(clone: Path, environment: dict[str, str], machine: str = MACHINE) -> subprocess.CompletedProcess[str]:
    command = ["sh", ".ci/make_program", machine, "wheels", "out"]
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A clone with one wheel of its own, one on the index of packages, and Python's archives of two machines."""
    served = tmp_path / "served"
    served.mkdir()
    licences = tmp_path / "python/licenses"
    licences.mkdir(parents=True)
    (licences / "LICENSE.a.txt").write_text("free", encoding="utf-8")
    for machine in ("x86_64", "aarch64"):
        python, full = (served / name.format(machine) for name in SERVED)
        python.write_text(f"Python for {machine}", encoding="utf-8")
        subprocess.run(["tar", "--zstd", "-cf", full, "-C", tmp_path, "python"], check=True)
    where = tmp_path / "clone"
    environment = clone_served(where, served)
    made = file_with(tmp_path / "made", name=f"rmqstore-1.2.3-linux-{MACHINE}")
    (where / ".ci/program.py").write_text(PROGRAM.format(made=str(made)), encoding="utf-8")
    index = tmp_path / "index"
    index.mkdir()
    wheel = index / "a-2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("a-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: a\nVersion: 2.0\n")
        packed.writestr("a-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr("a-2.0.dist-info/RECORD", "")
    pinned = f"a==2.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (where / ".ci/program.txt").write_text(pinned, encoding="utf-8")
    (where / "wheels").mkdir()
    (where / "wheels/own-1.2.3-py3-none-any.whl").write_bytes(b"own")
    return where, environment | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "HOME": str(tmp_path)}


def test_it_leaves_the_file_packages_and_wheelhouse_of_its_machine(clone: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    where, environment = clone
    ended = made_by(where, environment)
    assert ended.returncode == 0, ended.stderr
    name = f"rmqstore-1.2.3-linux-{MACHINE}"
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[MACHINE]
    assert {path.name for path in (where / "out").iterdir()} == {
        *(name, f"{name}.third-party.txt", f"{name}.cdx.json", f"{name}-wheelhouse.tar.gz"),
        *(f"rmqstore-1.2.3-1.{MACHINE}.rpm", f"rmqstore_1.2.3_{architecture}.deb"),
    }
    assert "-I -m rmqstore --version" in ended.stdout, "the file was not started"
    wheels = ["a-2.0-py3-none-any.whl", "own-1.2.3-py3-none-any.whl"]
    said = f'["Python for {MACHINE}", ["{wheels[0]}", "{wheels[1]}"], "--licences", "free"]'
    assert (where / "said").read_text() == said
    with tarfile.open(where / f"out/{name}-wheelhouse.tar.gz") as packed:
        assert sorted(entry.name for entry in packed if entry.isfile()) == [f"wheelhouse/{wheel}" for wheel in wheels]
    asked = (tmp_path / "served/asked").read_text().split()
    assert asked == [f"https://example.org/of+python/{each.format(MACHINE).replace('+', '%2B')}" for each in sorted(SERVED)]


@pytest.mark.parametrize("which", [0, 1])
def test_an_archive_with_another_sum_is_not_unpacked(clone: tuple[Path, dict[str, str]], tmp_path: Path, which: int) -> None:
    where, environment = clone
    with (tmp_path / "served" / SERVED[which].format(MACHINE)).open("ab") as archive:
        archive.write(b"more")
    ended = made_by(where, environment)
    assert ended.returncode != 0
    assert f"{SERVED[which].format(MACHINE)}: FAILED" in ended.stdout
    assert not (where / "said").exists()
    assert not (where / "out").exists()


def test_a_package_with_another_sum_is_not_taken(clone: tuple[Path, dict[str, str]]) -> None:
    where, environment = clone
    (where / ".ci/program.txt").write_text(f"a==2.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    ended = made_by(where, environment)
    assert ended.returncode != 0
    assert "DO NOT MATCH THE HASHES" in ended.stderr
    assert not (where / "said").exists()


def test_a_machine_without_a_python_is_refused(clone: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    where, environment = clone
    ended = made_by(where, environment, "riscv64")
    assert ended.returncode != 0
    assert ended.stderr == "riscv64: .ci/program-python.txt has no Python for it; x86_64 and aarch64 are in it\n"
    assert not (tmp_path / "served/asked").exists()
