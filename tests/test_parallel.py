"""Threads over rows: every row once, errors reach the caller, work inside work stays put."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from covshift import _parallel
from covshift._parallel import over_rows


@pytest.fixture(autouse=True)
def _three_threads(monkeypatch):
    monkeypatch.setattr(_parallel, "thread_count", lambda: 3)


@pytest.mark.parametrize(("rows", "at_least", "parts"), [(10, 1, 3), (10, 4, 2), (10, 6, 1)])
def test_every_row_is_in_one_range(rows, at_least, parts):
    seen: list[range] = []
    over_rows(lambda some: seen.append(range(some.start, some.stop)), rows, at_least=at_least)
    assert len(seen) == parts
    assert sorted(row for some in seen for row in some) == list(range(rows))
    assert min(map(len, seen)) >= min(at_least, rows)


@pytest.mark.parametrize("bad", [0, 9])
def test_an_error_in_any_thread_is_raised_after_all_have_ended(bad):
    ended = []

    def work(some):
        if bad in range(some.start, some.stop):
            raise ValueError("row")
        ended.append(some.start)

    with pytest.raises(ValueError, match="row"):
        over_rows(work, 10)
    assert len(ended) == 2
    over_rows(work, bad)  # and the threads still work


def test_work_inside_work_runs_in_its_own_thread():
    where = []

    def outer(some):
        mine = threading.get_ident()
        over_rows(lambda _: where.append(threading.get_ident() == mine), 100)

    over_rows(outer, 3)
    assert where == [True] * 3


def test_several_callers_share_the_threads():
    totals = []

    def call():
        found = []
        over_rows(lambda some: found.append(some.stop - some.start), 1000)
        totals.append(sum(found))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=30)
    assert totals == [1000] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_makes_threads_of_its_own():
    code = """
import os, signal, warnings
from covshift import _parallel
_parallel.thread_count = lambda: 2  # a pool of one, which the child lacks
def total():
    found = []
    _parallel.over_rows(lambda some: found.append(some.stop - some.start), 1000)
    return sum(found)
assert total() == 1000
warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
child = os.fork()
if not child:
    signal.alarm(50)  # one that waits for its parent's threads does not wait for ever
    os._exit(0 if total() == 1000 else 1)
assert os.waitpid(child, 0)[1] == 0
assert total() == 1000
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
