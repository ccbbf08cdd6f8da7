"""The count of the cases tried, at the end of a run that fuzzes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fuzz.cases import CASES, tried

_KEY = "cases tried"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    name = getattr(item, "originalname", item.name)
    before = tried[name]
    try:
        return (yield)
    finally:  # a report carries it from the worker to the process that sums up
        item.user_properties.append((_KEY, tried[name] - before))


def pytest_terminal_summary(terminalreporter) -> None:
    if not CASES:
        return
    reports = [
        report
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, [])
        if report.when == "call"
    ]
    found = {
        report.nodeid.rpartition("/")[2]: (value, report.duration)
        for report in reports
        for key, value in report.user_properties
        if key == _KEY
    }
    terminalreporter.section("cases tried")
    for name, (count, seconds) in sorted(found.items()):
        terminalreporter.write_line(f"{count:>8,}  {seconds:>7.0f} s  {name}")
    total = sum(count for count, _ in found.values())
    failed = sum(report.failed for report in reports)
    terminalreporter.write_line(
        f"{total:,} cases of {len(found)} properties tried ({CASES:,} asked for); {failed} failed."
    )
