"""The examples of the gallery run, draw, and read as sphinx-gallery wants them."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("*/plot_*.py"))
SECTIONS = {"diagnose", "estimate", "evaluate", "predict", "correct"}


def test_every_section_has_examples_and_a_header():
    assert len(EXAMPLES) >= 12
    assert {path.parent.name for path in EXAMPLES} == SECTIONS
    assert not list(GALLERY.glob("plot_*")), "an example without a section"
    for folder in (GALLERY, *(GALLERY / section for section in SECTIONS)):
        title, rule, *_ = (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
        assert rule in ("=" * len(title), "-" * len(title))


def test_most_examples_are_of_real_tables():
    real = [
        path for path in EXAMPLES if "from sklearn.datasets import load_" in path.read_text("utf-8")
    ]
    assert 3 * len(real) >= 2 * len(EXAMPLES)


@pytest.mark.thorough  # `make docs` runs them as well
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    try:
        runpy.run_path(str(path))
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert not list(tmp_path.iterdir()), "it leaves files behind"
    title, rule, *_ = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()
    assert rule == "=" * len(title)
