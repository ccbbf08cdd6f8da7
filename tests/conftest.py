"""Shared by all tests: where the paper's data are, and samples that break careless code."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from _pytest.terminal import TerminalReporter
from hypothesis import Phase, settings

# `make test` tries the same cases every time; `make fuzz` others, and says how to get one again.
_PHASES = [phase for phase in Phase if phase is not Phase.explain]  # a minute, and says little
settings.register_profile("default", deadline=None, phases=_PHASES, derandomize=True, database=None)
settings.register_profile("fuzz", deadline=None, phases=_PHASES, print_blob=True)
settings.load_profile("fuzz" if "COVSHIFT_FUZZ" in os.environ else "default")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[None]:
    """Look for examples in the docstrings of src alone: in those of tests there are none."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``part(k)`` leave the first case and about one in k: others are thorough."""
    met = set()
    for item in items:
        part = item.get_closest_marker("part")
        if part is not None:
            name = item.nodeid.partition("[")[0]
            if name in met and crc32(item.nodeid.encode()) % part.args[0]:
                item.add_marker(pytest.mark.thorough)
            met.add(name)


SECONDS, THOROUGH_SECONDS = 120, 1200  # after so many a test counts as one that hangs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a test that hangs: by a failure, or by the end of its process where that comes too late.

    Other processes, clusters and signals can make any test wait for ever.
    """
    if not hasattr(signal, "SIGALRM"):
        return (yield)
    long = item.get_closest_marker("thorough") or "COVSHIFT_FUZZ" in os.environ
    seconds = THOROUGH_SECONDS if long else SECONDS

    def stop(*_: object) -> None:
        pytest.fail(f"The test has not ended after {seconds} seconds.")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=sys.__stderr__)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _unexpected_skips(reporter: TerminalReporter) -> list[str]:
    """Return reasons of skipped tests that tests/skips.txt does not have; it counts in CI alone."""
    if not os.environ.get("COVSHIFT_CI"):
        return []
    text = (Path(__file__).parent / "skips.txt").read_text(encoding="utf-8")
    always, without_extras = text.split("[without extras]")
    if not os.environ.get("COVSHIFT_REQUIRE_EXTRAS"):
        always += without_extras
    known = [line for line in always.splitlines() if line and not line.startswith("#")]
    found = set()
    for report in reporter.stats.get("skipped", []):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not any(re.fullmatch(pattern, reason, re.DOTALL) for pattern in known):
            found.add(f"{report.nodeid}: {reason}")
    return sorted(found)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a test was skipped for a reason that is not on the list."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    workers = hasattr(session.config, "workerinput")  # the process that sums up decides
    if session.exitstatus == 0 and not workers and _unexpected_skips(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Name these tests."""
    if found := _unexpected_skips(terminalreporter):
        terminalreporter.section("skipped for a reason that tests/skips.txt does not have")
        for line in found:
            terminalreporter.write_line(line)


def _samples() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(12, 3))
    return {
        "random": (normal, rng.normal(0.3, 1.2, size=(9, 3))),
        "tied": (
            rng.integers(0, 3, size=(12, 3)).astype(float),
            rng.integers(0, 3, size=(10, 3)).astype(float),
        ),
        "duplicated": (np.repeat(normal[:5], 3, axis=0), np.repeat(normal[4:7], 2, axis=0)),
        "constant": (np.full((6, 2), 1.5), np.full((4, 2), 1.5)),
        "constant column": (
            np.column_stack([normal[:, 0], np.ones(12)]),
            np.column_stack([normal[:8, 1], np.ones(8)]),
        ),
        "one row": (np.array([[0.2, -1.0]]), rng.normal(size=(7, 2))),
        "one target": (normal[:, :2], np.array([[0.1, 0.1]])),
        "one feature": (normal[:, :1], rng.normal(size=(15, 1))),
        "target is train": (normal, normal),
        "no overlap": (normal + 100, normal),
    }


SAMPLES = _samples()


@pytest.fixture(params=list(SAMPLES))
def sample(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """Training and target points: random, tied, duplicated, constant, alone, apart."""
    return SAMPLES[request.param]


@pytest.fixture(scope="session")
def data_home() -> Path:
    """Folder of the paper's data sets; tests that need them skip where it is absent."""
    home = os.environ.get("COVSHIFT_DATA")
    if not home or not Path(home).is_dir():
        pytest.skip("COVSHIFT_DATA does not name a folder with the paper's data sets")
    return Path(home)
