"""The page on other learners and the example of a network run."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from .conftest import require

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def test_the_code_of_the_page_runs_from_top_to_bottom(capsys):
    for module in ("xgboost", "lightgbm", "torch"):
        require(module)
    page = ROOT / "docs" / "other_learners.md"
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) == 5
    namespace = {"__name__": page.stem}
    for block in blocks:
        exec(compile(block, page.name, "exec"), namespace)
    assert namespace["probability"].shape == (300, 2)
    assert capsys.readouterr().out == "True\n"


def test_the_network_example_prints_every_loss_and_its_control(torch, capsys):
    example = runpy.run_path(str(ROOT / "examples" / "network.py"))
    main = example["main"]
    main.__globals__.update(STEPS=20, SEEDS=2)
    main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert "control" in lines[-1]
