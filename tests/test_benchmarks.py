"""Small versions of the benchmarks run, so that they cannot rot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(
    path.name for path in BENCHMARKS.glob("*.py") if "--quick" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_benchmark_runs_quickly_and_prints_a_table(script):
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), "--quick"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("# ")
    assert "|---|" in done.stdout


def test_there_are_benchmarks():
    assert "operators.py" in SCRIPTS
