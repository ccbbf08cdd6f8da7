"""Tutorials become notebooks that run and print what their pages show."""

from __future__ import annotations

import importlib
import json
import re
import sys

import pytest
from pages import DOCS, page, run_notebook

NEED_TABLES = [f"{name}_tutorial" for name in ("correct", "estimate", "evaluate", "predict")]
OTHERS = ["start", "tutorial"]


@pytest.fixture
def extension(monkeypatch):
    """The extension of Sphinx that makes them, without Sphinx."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield importlib.import_module("notebooks")
    for name in ("notebooks", "api_pages"):
        sys.modules.pop(name, None)


def test_every_tutorial_becomes_a_notebook(extension):
    assert sorted(extension.tutorials(DOCS)) == sorted(NEED_TABLES + OTHERS)


@pytest.mark.parametrize("name", NEED_TABLES + OTHERS)
def test_a_notebook_has_the_format_and_all_of_the_code(extension, name):
    made = json.loads(json.dumps(extension.notebook(page(f"{name}.md"))))
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert set(made) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    for cell in made["cells"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        text = "".join(cell["source"])
        assert text.strip()
        common = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            assert set(cell) == common | {"execution_count", "outputs"}
            for output in cell["outputs"]:
                assert output["output_type"] == "stream"
                assert output["name"] == "stdout"
        else:
            assert cell["cell_type"] == "markdown"
            assert set(cell) == common
            assert not re.search(r"^:::|\]\((?!https?:)|<!--", text, flags=re.MULTILINE)
    codes = ["".join(c["source"]) for c in made["cells"] if c["cell_type"] == "code"]
    blocks = re.findall(r"^```python\n(.*?)^```$", page(f"{name}.md"), flags=re.DOTALL | re.M)
    assert [code for code in codes if not code.startswith("%%bash")] == [
        block.strip("\n") for block in blocks
    ]


def test_text_that_only_the_site_understands_becomes_words(extension):
    text = "# A\n\n:::{container} ways\n- [b](c.md#d), ![e](f.svg)\n:::\n\n:::{toctree}\nx\n:::\n"
    (cell,) = extension.notebook(text)["cells"]
    assert "".join(cell["source"]) == "# A\n\n- b, *(e)*"


@pytest.mark.thorough
@pytest.mark.parametrize("name", OTHERS)
def test_the_cells_of_a_notebook_run_and_print_what_it_shows(
    extension, name, tmp_path, monkeypatch
):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    run_notebook(extension.notebook(page(f"{name}.md")))
