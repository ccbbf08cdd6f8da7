"""Properties in parts, and the count of the cases tried at the end of a run that fuzzes."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.cases import CASES, PART, answered, tried

from benchmarks.harness import commit, machine, table

_TRIED, _ANSWERED = "cases tried", "cases answered"
_HEAD = ("property", "cases", "answered", "raw", "unstable", "seconds")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parts = getattr(metafunc.function, "parts", 1)
    if parts > 1:
        metafunc.fixturenames.append("part")  # of the test's name alone
        metafunc.parametrize("part", range(parts))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    name = getattr(item, "originalname", item.name)
    before = tried[name], answered[name]
    try:
        return (yield)
    finally:  # a report carries it from the worker to the process that sums up
        item.user_properties.append((_TRIED, tried[name] - before[0]))
        item.user_properties.append((_ANSWERED, answered[name] - before[1]))


def pytest_terminal_summary(terminalreporter) -> None:
    """Lay out a line for each property; a part that fails counts once."""
    if not CASES:
        return
    rows: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0.0])
    for kind in ("passed", "failed"):
        for report in terminalreporter.stats.get(kind, []):
            known = dict(report.user_properties)
            if report.when != "call" or _TRIED not in known:
                continue
            row = rows[report.nodeid.rpartition("::")[2].partition("[")[0].removeprefix("test_")]
            unstable = report.failed and "Unstable" in report.longreprtext
            more = (known[_TRIED], known[_ANSWERED], report.failed and not unstable, unstable)
            row[:] = [a + b for a, b in zip(row, (*more, report.duration), strict=True)]
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    lines = [
        [name.replace("_", " "), *(f"{value:,.0f}" for value in row)]
        for name, row in [*sorted(rows.items()), ("all", total)]
    ]
    text = table(_HEAD, lines)
    terminalreporter.section("cases tried")
    terminalreporter.write_line(text)
    if path := os.environ.get("COVSHIFT_FUZZ_TABLE"):
        Path(path).write_text(_page(text), encoding="utf-8")


def _page(text: str) -> str:
    return (
        "# Cases that nobody chose\n\n"
        "Properties of `tests/fuzz` on drawn cases. Answered: not refused in the package's own "
        f"words. Raw and unstable: parts, of up to {PART} cases, in which a case gave an error or "
        "a warning of another library, or a number that is not sound; or two numbers where there "
        "should be one. Seconds are those of all cores together.\n\n"
        f"Machine: {machine(('numpy', 'scikit-learn', 'pandas', 'polars', 'pyarrow', 'covshift'))}."
        f" Commit {commit()}.\n\n{text}\n\n"
        "Command: `make fuzz TABLE=benchmarks/results/fuzz.md`.\n"
    )
