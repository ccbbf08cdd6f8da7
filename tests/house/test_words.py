"""What people read is plain English: counts are "per row", not "a row"."""

from __future__ import annotations

import re
from pathlib import Path

import covshift

PACKAGE = Path(covshift.__file__).parent
UNITS = (
    "row|column|feature|fold|class|thread|leaf|view|level|block|step|bin|round|partition|cell|"
    "coordinate|threshold|category|point"
)
A_FOR_PER = re.compile(
    rf"\b(?:one|a|an)\s+(?!of\b|in\b|at\b|for\b|with\b)[a-z]+\s+an?\s+"
    rf"(?:training\s+|target\s+|text\s+)?(?:{UNITS})\b"
)


def test_counts_are_per_row_and_not_a_row():
    found = [
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in (".py", ".html")
        for match in A_FOR_PER.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_rule_finds_what_it_forbids():
    wrong = ["one weight a row", "a task a partition", "one weight a training row"]
    right = ["one weight per row", "the last one of a view", "takes a row of a column"]
    assert all(A_FOR_PER.search(text) for text in wrong)
    assert not any(A_FOR_PER.search(text) for text in right)
