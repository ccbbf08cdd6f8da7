"""One version everywhere, floors that are the ones tested, and workflows that can be read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import covshift

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
YAML = sorted([*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml"])


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    """The version of every package that a file of constraints names."""
    lines = re.findall(r"^([\w.-]+)==([^\s#]+)", text(name), flags=re.MULTILINE)
    return {canonicalize_name(package): version for package, version in lines}


def declared() -> dict[str, Requirement]:
    """What users and the tests install, by the words of pyproject.toml."""
    project, groups = PYPROJECT["project"], PYPROJECT["dependency-groups"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        groups["test"],
        groups["extras"],
    ]
    return {line: Requirement(line) for lines in lists for line in lines}


def test_the_version_has_one_source():
    assert "version" not in PYPROJECT["project"]
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    source = ROOT / PYPROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{covshift.__version__}"\n' in source.read_text(encoding="utf-8")


def test_citation_and_changelog_name_the_version():
    version = Version(covshift.__version__).base_version  # 0.2.0.dev0 is on its way to 0.2.0
    assert yaml.safe_load(text("CITATION.cff"))["version"] == version
    newest = re.search(r"^## \[(.+?)\] - (unreleased|\d{4}-\d\d-\d\d)$", text("CHANGELOG.md"), re.M)
    assert newest is not None
    assert newest[1] == version


@pytest.mark.parametrize("line", declared())
def test_the_oldest_versions_tested_are_those_declared(line):
    requirement = declared()[line]
    (floor,) = requirement.specifier
    assert floor.operator == ">="
    tested = pins("constraints-oldest.txt")[canonicalize_name(requirement.name)]
    assert Version(tested) == Version(floor.version)


def test_pre_commit_runs_the_ruff_of_the_constraints():
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    revisions = {hook["repo"].rpartition("/")[2]: hook["rev"] for hook in hooks}
    assert revisions["ruff-pre-commit"] == "v" + pins("constraints.txt")["ruff"]


def test_the_workflow_runs_every_python_that_is_declared():
    matrix = yaml.safe_load(text(".github/workflows/ci.yml"))["jobs"]["tests"]["strategy"]["matrix"]
    prefix = "Programming Language :: Python :: 3."
    classifiers = PYPROJECT["project"]["classifiers"]
    assert matrix["python"] == [
        line.rpartition(" ")[2] for line in classifiers if line.startswith(prefix)
    ]
    assert PYPROJECT["project"]["requires-python"] == ">=" + matrix["python"][0]


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_workflows_forms_and_hooks_are_valid_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_every_file_that_a_page_links_to_exists(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text(page)):
        assert (ROOT / link).exists(), link


def test_every_make_command_that_the_pages_name_exists():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), flags=re.MULTILINE))
    for page in ("CONTRIBUTING.md", "docs/releasing.md", ".github/PULL_REQUEST_TEMPLATE.md"):
        named = re.findall(r"(?:\$ |`)make((?: [a-z-]+)+)", text(page))
        assert named, page
        assert {target for line in named for target in line.split()} <= targets, page
