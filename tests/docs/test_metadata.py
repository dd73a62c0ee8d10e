"""What a package says about itself is said in several files, and they agree."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

HERE = Path(__file__).parents[2]
REPOSITORY = "https://github.com/rmqstore/rmqstore-spark"
SITE = "https://rmqstore.github.io/rmqstore-spark"


def setup() -> ConfigParser:
    parser = ConfigParser()
    parser.read(HERE / "setup.cfg", encoding="utf-8")
    return parser


def kernel(name: str) -> dict[str, dict[str, object]]:
    return tomllib.loads((HERE / "kernel" / name).read_text(encoding="utf-8"))


def test_pre_commit_runs_a_ruff_that_setup_cfg_allows() -> None:
    repositories = yaml.safe_load((HERE / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    (hooks,) = (each for each in repositories if each["repo"].endswith("/ruff-pre-commit"))
    (allowed,) = re.findall(r"^ruff(\S+)$", setup()["options.extras_require"]["test"], re.MULTILINE)
    assert hooks["rev"].removeprefix("v") in SpecifierSet(allowed)
    assert [hook["id"] for hook in hooks["hooks"]] == ["ruff-check", "ruff-format"]


def test_the_pythons_are_those_of_the_readme() -> None:
    supported = re.findall(r":: Python :: 3\.(\d+)$", setup()["metadata"]["classifiers"], re.MULTILINE)
    oldest, newest = int(supported[0]), int(supported[-1])
    assert [int(minor) for minor in supported] == [*range(oldest, newest + 1)]
    assert setup()["options"]["python_requires"] == f">=3.{oldest}"
    assert kernel("pyproject.toml")["project"]["requires-python"] == f">=3.{oldest}"
    assert f"| Python | 3.{oldest} to 3.{newest} |" in (HERE / "README.md").read_text(encoding="utf-8")


def test_both_packages_have_one_licence_and_one_author() -> None:
    metadata, project, crate = setup()["metadata"], kernel("pyproject.toml")["project"], kernel("Cargo.toml")["package"]
    assert {metadata["license_expression"], project["license"], crate["license"]} == {"Apache-2.0"}
    assert project["authors"] == [{"name": metadata["author"]}]


def test_every_address_is_of_this_repository() -> None:
    """A link to where the project does not live would lead to someone else."""
    named = ["setup.cfg", "mkdocs.yml", "kernel/pyproject.toml", "kernel/Cargo.toml", "README.md", "CONTRIBUTING.md", "SECURITY.md"]
    paths = [HERE / name for name in named] + [path for path in (HERE / ".github").rglob("*") if path.is_file()]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    found = {url for text in texts.values() for url in re.findall(r"https://(?:github\.com/[\w-]+|[\w-]+\.github\.io)/[\w-]+", text)}
    ours = {url for url in found if "rmqstore" in url}
    assert ours == {REPOSITORY, SITE}
    for name in ("setup.cfg", "mkdocs.yml", "pyproject.toml"):
        assert REPOSITORY in texts[name], name
        assert SITE in texts[name], name
    assert kernel("Cargo.toml")["package"]["repository"] == REPOSITORY
