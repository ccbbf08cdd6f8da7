"""The examples of the gallery run, draw, and read as sphinx-gallery wants them."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "gallery").glob("plot_*.py"))


def test_there_are_a_dozen_and_a_header():
    assert len(EXAMPLES) >= 12
    assert (EXAMPLES[0].parent / "GALLERY_HEADER.rst").exists()


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
