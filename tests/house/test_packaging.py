"""One version everywhere, floors that are tested, workflows that can be read, and what is built."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import covshift

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
YAML = sorted([*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml"])


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def script(name: str):
    """A module of .ci, which no package holds."""
    place = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


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


@pytest.mark.parametrize(("file", "job"), [("ci", "tests"), ("nightly", "versions")])
def test_the_workflow_runs_every_python_that_is_declared(file, job):
    jobs = yaml.safe_load(text(f".github/workflows/{file}.yml"))["jobs"]
    prefix = "Programming Language :: Python :: 3."
    classifiers = PYPROJECT["project"]["classifiers"]
    declared = [line.rpartition(" ")[2] for line in classifiers if line.startswith(prefix)]
    assert jobs[job]["strategy"]["matrix"]["python"] == declared == list(script("pythons").PYTHONS)
    assert PYPROJECT["project"]["requires-python"] == ">=" + declared[0]


def test_a_python_that_is_not_here_is_none_and_this_one_is_found():
    pythons = script("pythons")
    assert pythons.find("3.99") is None
    assert pythons.find("{}.{}".format(*sys.version_info)) is not None


def test_packages_that_lack_a_file_or_hold_too_many_are_refused(tmp_path):
    versions = script("versions")
    sources = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    names = [
        path.relative_to(ROOT).as_posix() for path in sources if "__pycache__" not in path.parts
    ]
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar"
    with tarfile.open(sdist, "w") as archive:
        others = ("tests/reference.py", "reproduction/settings.toml", "Makefile", "LICENSE")
        for name in (*names, "pyproject.toml", *others):
            archive.addfile(tarfile.TarInfo(f"a/{name}"))

    def pack(*more, without=""):
        with zipfile.ZipFile(wheel, "w") as archive:
            for name in (*names, "src/covshift-0.dist-info/METADATA", *more):
                if not name.endswith(f"/{without}"):
                    archive.writestr(name.removeprefix("src/"), "")

    pack()
    versions.look_into(wheel, sdist)
    for options, words in (
        ({"without": "page.html"}, "The wheel lacks covshift/report/page.html"),
        ({"without": "py.typed"}, r"The wheel lacks covshift/py\.typed"),
    ):
        pack(**options)
        with pytest.raises(SystemExit, match=words):
            versions.look_into(wheel, sdist)
    pack("tests/test_one.py")
    with pytest.raises(SystemExit, match="installs more than covshift"):
        versions.look_into(wheel, sdist)
    pack("covshift/__pycache__/a.pyc")
    with pytest.raises(SystemExit, match="should not hold"):
        versions.look_into(wheel, sdist)


REPORT = {  # the part of pip's installation report that the bill reads
    "environment": {"python_full_version": "3.11.7", "python_version": "3.11"},
    "install": [
        {
            "metadata": {
                "name": "covshift",
                "version": "0.1.0",
                "license_expression": "BSD-3-Clause",
                "requires_dist": [
                    "NumPy>=2",
                    'Jinja2; extra == "cli"',
                    'pandas; extra == "pandas"',
                    'tomli; python_version < "3.11"',
                ],
            }
        },
        {
            "metadata": {"name": "numpy", "version": "2.4.6", "license": "BSD\nall of it"},
            "download_info": {"archive_info": {"hashes": {"sha256": "ab" * 32}}},
        },
        {
            "metadata": {
                "name": "Jinja2",
                "version": "3.1.6",
                "classifier": ["License :: OSI Approved :: BSD License"],
                "requires_dist": ["MarkupSafe>=2"],
            }
        },
        {"metadata": {"name": "MarkupSafe", "version": "3.0.4", "license": "BSD"}},
    ],
}


def test_the_bill_of_materials_names_every_package_once_and_what_needs_it():
    bill = script("sbom").bill(REPORT, ("cli",), "cd" * 32, 0)
    assert json.loads(json.dumps(bill)) == bill
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    pattern = r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(pattern, bill["serialNumber"])
    own, parts = bill["metadata"]["component"], bill["components"]
    assert own["purl"] == "pkg:pypi/covshift@0.1.0"
    assert own["hashes"] == [{"alg": "SHA-256", "content": "cd" * 32}]
    assert own["licenses"] == [{"expression": "BSD-3-Clause"}]
    by_name = {part["name"]: part for part in parts}
    assert list(by_name) == ["Jinja2", "MarkupSafe", "numpy"]
    assert by_name["numpy"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert "licenses" not in by_name["numpy"]  # a text of many lines is no name
    assert by_name["Jinja2"]["licenses"] == [{"license": {"name": "BSD License"}}]
    assert {line["ref"].partition("@")[0]: line["dependsOn"] for line in bill["dependencies"]} == {
        "pkg:pypi/covshift": ["pkg:pypi/jinja2@3.1.6", "pkg:pypi/numpy@2.4.6"],
        "pkg:pypi/jinja2": ["pkg:pypi/markupsafe@3.0.4"],
        "pkg:pypi/markupsafe": [],
        "pkg:pypi/numpy": [],
    }


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


def test_no_dependency_is_capped():
    """A cap keeps users from what repairs a library; one broken version may be left out."""
    lists = PYPROJECT["project"]["optional-dependencies"].values()
    wanted = [line for lines in (PYPROJECT["project"]["dependencies"], *lists) for line in lines]
    for line in wanted:
        assert {part.operator for part in Requirement(line).specifier} <= {">=", "!="}, line
    assert PYPROJECT["project"]["requires-python"].startswith(">=")
    assert "<" not in PYPROJECT["project"]["requires-python"]
