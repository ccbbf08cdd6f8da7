"""Small versions of the benchmarks run, so that they cannot rot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import run_script

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(
    path.name
    for path in BENCHMARKS.glob("*.py")
    if path.stem not in ("harness", "evidence")
    and re.search(r"--quick|^def works", path.read_text(encoding="utf-8"), re.MULTILINE)
)


@pytest.mark.thorough
@pytest.mark.parametrize("script", SCRIPTS)
def test_benchmark_runs_quickly_and_prints_a_table(script, tmp_path):
    code, out, err = run_script(BENCHMARKS / script, ["--quick"], tmp_path)
    assert code == 0, err
    assert out.startswith("# ")
    assert "|---|" in out


def test_there_are_benchmarks():
    assert "operators.py" in SCRIPTS
