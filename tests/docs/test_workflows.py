"""What GitHub would run, where actionlint cannot know it: who may publish, what a night runs, and that each part of the sweep exists.

GitHub itself does not run here, so nothing else tests these files.
"""

from __future__ import annotations

import re
import runpy
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import yaml
from support.documented import ROOT

FILES = {name: yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8")) for name in ("ci", "release")}
JOBS: dict[tuple[str, str], dict[str, Any]] = {(file, name): job for file, tree in FILES.items() for name, job in tree["jobs"].items()}
COMMANDS = {place: [step["run"] for step in job["steps"] if "run" in step] for place, job in JOBS.items()}
WRITES = {
    ("release", "publish"): {"attestations": "write", "id-token": "write"},
    ("release", "release"): {"attestations": "write", "contents": "write", "id-token": "write"},
    ("release", "push"): {"packages": "write"},
    ("release", "pages"): {"id-token": "write", "pages": "write"},
}
"""The jobs that may do more than read the repository. Another one is a decision."""
PUBLISHING = {
    ("release", "publish"): [],
    ("release", "release"): ["gh release create"],
    ("release", "push"): ["printf '%s'", "skopeo copy"],
    ("release", "pages"): [],
}
"""What these jobs run, by how each line begins. None has a clone."""
PARTS: dict[str, tuple[str, ...]] = runpy.run_path(str(ROOT / ".ci/sweep.py"))["PARTS"]


def test_only_a_tag_publishes_after_everything_passed_and_no_code_of_the_repository_runs_there() -> None:
    assert all(tree["permissions"] == {"contents": "read"} and "pull_request_target" not in tree[True] for tree in FILES.values())
    assert {place: job["permissions"] for place, job in JOBS.items() if "permissions" in job} == WRITES
    for place in WRITES:
        assert JOBS[place]["if"] == "github.ref_type == 'tag'"
        assert all("checkout" not in step.get("uses", "") for step in JOBS[place]["steps"])
        lines = [line for command in COMMANDS[place] for line in command.splitlines()]
        assert all(line.startswith(begin) for line, begin in zip(lines, PUBLISHING[place], strict=True))
    assert set(JOBS["release", "publish"]["needs"]) == {"gate", "sources", "kernel", "musl", "program", "image", "files"}
    assert all("publish" in JOBS["release", name]["needs"] for name in ("release", "push", "pages"))
    assert "bash .ci/run" in COMMANDS["release", "gate"]


def test_each_action_is_pinned_to_a_commit_and_has_one_version() -> None:
    text = "".join((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8") for name in FILES)
    uses = re.findall(r"uses: (.*)", text)
    assert [line for line in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", line)] == []
    assert len({line.partition("@")[0] for line in uses}) == len(set(uses))


def test_each_job_ends_and_names_what_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    (parts,) = re.findall(r'^all="(.*)"$', (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)
    for place, job in JOBS.items():
        assert 0 < job["timeout-minutes"] <= 90, place
        for command in COMMANDS[place]:
            assert set(re.findall(r"\bmake ([\w-]+)", command)) <= {*targets}, command
            assert all((ROOT / path).is_file() for path in re.findall(r"\.ci/\w+(?:\.py)?", command)), command
            assert {word for named in re.findall(r"\.ci/run (.*)", command) for word in named.split()} <= {*parts.split()}, command


def test_each_script_of_a_release_is_run_by_the_gate_or_by_a_test() -> None:
    scripts = {
        name for (file, _), commands in COMMANDS.items() for name in re.findall(r"\.ci/([\w.]+)", "".join(commands)) if file == "release"
    }
    assert scripts >= {"run", "make_program", "image.py", "release_files.py"}
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    runs = (ROOT / ".ci/run").read_text(encoding="utf-8") + "".join(text for text in tests if "subprocess" in text)
    assert {name for name in scripts - {"run"} if f".ci/{name}" not in runs and f'CI / "{name}"' not in runs} == set()


def test_a_change_runs_what_is_quick_on_the_oldest_and_the_newest_python_and_a_night_the_rest() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    supported = re.findall(r":: Python :: (3\.\d+)$", setup["metadata"]["classifiers"], re.MULTILINE)
    matrices = {name: JOBS["ci", name].get("strategy", {}).get("matrix") for name in FILES["ci"]["jobs"]}
    assert matrices == {"checks": None, "tests": {"python": [supported[0], supported[-1]]}, "gate": None, "sweep": {"part": [*PARTS]}}
    assert COMMANDS["ci", "gate"] == [
        "bash .ci/run",
        "make test-numpy",
        "RMQSTORE_SWEEP=whole make test-numpy OF_THE_KERNEL=tests/promises/test_truth.py",
    ]
    # GitHub sets CI=true, with which `make test` looks at the samples of the gate.
    assert COMMANDS["ci", "tests"] == ["CI=false make test"]
    assert all("schedule" in JOBS["ci", name]["if"] for name in ("gate", "sweep"))


def test_each_test_of_the_sweep_is_in_exactly_one_part() -> None:
    marked = re.compile(r"mark\.(sweep|long)\b|\b(mostly_long|thinned)\(")
    others = {*(ROOT / "tests").rglob("test_*.py")} - {Path(__file__)}
    files = [path for path in others if marked.search(path.read_text(encoding="utf-8"))]
    places = {ROOT / place: part for part, named in PARTS.items() for place in named}
    found = {file: [part for place, part in places.items() if place in (file, *file.parents)] for file in files}
    assert {file: parts for file, parts in found.items() if len(parts) != 1} == {}
    assert {part for parts in found.values() for part in parts} == PARTS.keys(), "a part without tests"
    assert all(place.exists() for place in places)
