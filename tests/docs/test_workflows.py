"""What GitHub would run, read as files: who may do what, how long, with what, and that each command exists.

GitHub itself does not run here, so nothing else tests these files.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parents[2]
GITHUB = HERE / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").iterdir() if path.name != "config.yml")
LONGEST = 90
"""Minutes. Without a limit, GitHub stops a job that hangs after six hours."""
WRITES = {
    ("release.yml", "publish"): {"attestations": "write", "id-token": "write"},
    ("release.yml", "pages"): {"id-token": "write", "pages": "write"},
}
"""The jobs that may do more than read the repository. Another one is a decision."""
PUBLISHERS = {"actions", "PyO3", "pypa"}

Tree = dict[str, Any]


def parsed(path: Path) -> Tree:
    """A YAML file. The key `on` of a workflow is `True` in YAML 1.1."""
    tree: Tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in tree.items()}


def jobs() -> list[tuple[str, str, Tree]]:
    """Every job, with its file and its name."""
    return [(path.name, name, job) for path in WORKFLOWS for name, job in parsed(path)["jobs"].items()]


def steps() -> list[tuple[str, Tree]]:
    """Every step, with the name of its job."""
    return [(name, step) for _, name, job in jobs() for step in job["steps"]]


def commands() -> Iterator[str]:
    """Every line that a shell would execute."""
    for _, step in steps():
        yield from step.get("run", "").splitlines()


def test_both_workflows_are_read() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_the_repository(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in workflow["on"]
    assert {"group", "cancel-in-progress"} == workflow["concurrency"].keys()


def test_only_the_jobs_that_publish_may_write() -> None:
    assert {(file, name): job["permissions"] for file, name, job in jobs() if "permissions" in job} == WRITES


@pytest.mark.parametrize("place", WRITES, ids="-".join)
def test_a_job_that_may_write_runs_for_tags_in_an_environment_and_executes_no_code_of_the_repository(place: tuple[str, str]) -> None:
    (job,) = (job for file, name, job in jobs() if (file, name) == place)
    assert job["if"] == "github.ref_type == 'tag'"
    assert job["environment"]["name"]
    assert all("run" not in step and "checkout" not in step["uses"] for step in job["steps"])


def test_nothing_is_published_before_everything_passed() -> None:
    release = {name: job for file, name, job in jobs() if file == "release.yml"}
    assert set(release["publish"]["needs"]) == {"gate", "sources", "kernel", "musl"}
    assert "publish" in release["pages"]["needs"]
    assert any(step.get("run") == "bash .ci/run" for step in release["gate"]["steps"])


def test_each_job_ends_on_a_known_machine() -> None:
    for file, name, job in jobs():
        assert 0 < job["timeout-minutes"] <= LONGEST, (file, name)
        assert set(job.get("needs", [])) <= parsed(GITHUB / "workflows" / file)["jobs"].keys(), (file, name)
        machines = [job["runs-on"], *(each.get("runner", "") for each in job.get("strategy", {}).get("matrix", {}).get("include", []))]
        assert not any(machine.endswith("-latest") for machine in machines), (file, name)


def test_actions_are_those_of_known_publishers_at_a_major_version() -> None:
    used = [step["uses"] for _, step in steps() if "uses" in step]
    assert used
    for action in used:
        found = re.fullmatch(r"([\w-]+)/[\w-]+@(?:v\d+|release/v\d+)", action)
        assert found, action
        assert found[1] in PUBLISHERS, action
    for name, step in steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, name


def test_artifacts_are_downloaded_by_the_names_that_they_have() -> None:
    (taken,) = (step["with"]["pattern"] for _, step in steps() if step.get("uses", "").startswith("actions/download-artifact@"))
    given = [step["with"]["name"] for _, step in steps() if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert len(given) == 3
    assert all(name.startswith(taken.removesuffix("*")) for name in given)


def test_each_command_names_what_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (HERE / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    gate = re.search(r'^all="(.*)"$', (HERE / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)
    assert gate
    lines = list(commands())
    assert "bash .ci/run lint types docs" in lines
    for line in lines:
        assert "${{" not in line, f"a shell would execute what GitHub puts there: {line}"
        assert set(re.findall(r"\bmake ([\w-]+)", line)) <= targets, line
        assert all((HERE / path).is_file() for path in re.findall(r"\.ci/\w+(?:\.py)?", line)), line
        parts = re.search(r"\.ci/run (.*)", line)
        assert parts is None or set(parts[1].split()) <= set(gate[1].split()), line


def test_a_pull_request_runs_what_is_quick_and_a_night_the_gate() -> None:
    ci = parsed(GITHUB / "workflows/ci.yml")
    assert ci["on"].keys() == {"pull_request", "push", "schedule", "workflow_dispatch"}
    assert ci["on"]["push"] == {"branches": ["main"]}
    when = {name: set(re.findall(r"github\.event_name == '(\w+)'", job["if"])) for name, job in ci["jobs"].items()}
    changes = {"pull_request", "push"}
    assert when == {
        "checks": changes,
        "tests": changes,
        "gate": {"schedule", "workflow_dispatch"},
        "sweep": {"schedule", "workflow_dispatch"},
    }
    ran = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in ci["jobs"].items()}
    # GitHub sets CI=true, with which `make test` looks at the samples of the gate.
    assert ran == {
        "checks": ["bash .ci/run lint types docs"],
        "tests": ["CI=false make test"],
        "gate": ["bash .ci/run"],
        "sweep": ['make sweep PART="$PART"'],
    }
    parts = runpy.run_path(str(HERE / ".ci/sweep.py"))["PARTS"]
    assert ci["jobs"]["sweep"]["strategy"]["matrix"] == {"part": list(parts)}


def test_the_tests_run_on_the_oldest_and_the_newest_python() -> None:
    setup = ConfigParser()
    setup.read(HERE / "setup.cfg", encoding="utf-8")
    supported = re.findall(r":: Python :: (3\.\d+)$", setup["metadata"]["classifiers"], re.MULTILINE)
    matrix = parsed(GITHUB / "workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == [supported[0], supported[-1]]


@pytest.mark.parametrize(("name", "libc", "machines"), [("kernel", "2_28", 4), ("musl", "musllinux_1_2", 2)])
def test_the_kernel_is_built_and_imported_on_each_machine(name: str, libc: str, machines: int) -> None:
    (job,) = (job for file, other, job in jobs() if (file, other) == ("release.yml", name))
    assert len({each["runner"] for each in job["strategy"]["matrix"]["include"]}) == machines
    builds = [step["with"]["manylinux"] for step in job["steps"] if step.get("uses", "").startswith("PyO3/maturin-action@")]
    assert builds == [libc]
    assert any(step.get("run", "").endswith("python .ci/check_kernel.py wheels scratch") for step in job["steps"])


def test_dependabot_looks_at_every_list_of_dependencies() -> None:
    updates = parsed(GITHUB / "dependabot.yml")["updates"]
    found = {(each["package-ecosystem"], each["directory"]) for each in updates}
    assert found == {("github-actions", "/"), ("pip", "/"), ("cargo", "/kernel")}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_is_one_that_github_shows(path: Path) -> None:
    form = parsed(path)
    assert form["name"]
    assert form["description"]
    questions = [each for each in form["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in questions}) == len(questions) == len({each["attributes"]["label"] for each in questions})
    assert {each["type"] for each in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    assert any(each.get("validations", {}).get("required") for each in questions)
