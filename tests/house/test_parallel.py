"""Threads over rows: every row once, errors reach the caller, work inside work stays put."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import parallel_tasks
import pytest
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController, threadpool_info

from covshift import VSVC, VSVR, Kernel
from covshift.comparison import Method, compare
from covshift.comparison import learners as comparison
from covshift.machine import primal
from covshift.numerics import parallel as _parallel
from covshift.numerics.parallel import one_blas_thread, one_thread, over_rows
from covshift.weights import CDFWeights


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
from covshift.numerics import parallel as _parallel
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


# BLAS beside our threads


def blas_threads():
    every = _parallel._blas()
    own = [lib for lib in every if "numpy" in lib.filepath or "scipy" in lib.filepath]
    return {lib.num_threads for lib in own or every}  # PyTorch's counts by thread


@pytest.fixture
def _two_blas_threads():
    with ThreadpoolController().select(user_api="blas").limit(limits=2):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread")
        yield


@pytest.mark.usefixtures("_two_blas_threads")
def test_blas_has_one_thread_on_small_arrays_and_inside_of_our_threads():
    inside = []
    over_rows(lambda some: inside.append(blas_threads()), 3)
    assert inside == [{1}] * 3
    assert blas_threads() == {2}
    with one_blas_thread(1000):
        assert blas_threads() == {1}
        with one_blas_thread(1000):
            pass
        assert blas_threads() == {1}
    with one_blas_thread(1 << 30):
        assert blas_threads() == {2}
    with one_thread(10):
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("_two_blas_threads")
def test_limits_that_overlap_in_two_threads_leave_blas_as_it_was():
    first_inside, second_inside, first_out = (threading.Event() for _ in range(3))

    def first():
        with one_blas_thread(0):
            first_inside.set()
            second_inside.wait(timeout=30)
        first_out.set()

    def second():
        first_inside.wait(timeout=30)
        with one_thread(0):
            second_inside.set()
            first_out.wait(timeout=30)
            assert blas_threads() == {1}

    callers = [threading.Thread(target=call) for call in (first, second)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=30)
    assert first_out.is_set()
    assert blas_threads() == {2}


@pytest.mark.usefixtures("_two_blas_threads")
def test_a_small_fit_never_asks_blas_for_a_second_thread(monkeypatch):
    """Wherever SciPy and NumPy factor a matrix, in the search for a kernel and in the fit."""
    seen = []

    def noted(work):
        def call(*args, **options):
            seen.append(blas_threads())
            return work(*args, **options)

        return call

    for place, name in ((np.linalg, "eigh"), (lapack, "dpotrf"), (lapack, "dposv")):
        monkeypatch.setattr(place, name, noted(getattr(place, name)))
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(120, 3)), rng.normal(0.5, 1.0, size=(80, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    for solver in ("dual", "primal"):
        model = VSVC("blended", solver=solver, n_components=30, fast=True, random_state=0)
        model.fit(X, y, X_target=T)
    assert len(seen) > 10
    assert all(found == {1} for found in seen)


@pytest.mark.parametrize("count", [2, 8])
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, count):
    monkeypatch.setattr(primal, "_SHARED_ROWS", 100)
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(4000, 3)), rng.normal(0.3, 1.0, size=(300, 3))
    y = X[:, 0] + rng.normal(size=4000)

    def found(threads):
        monkeypatch.setattr(_parallel, "thread_count", lambda: threads)
        options = {"kernel": Kernel("rbf", width="scale", coordinates="none"), "n_components": 20}
        machine = VSVR("blended", solver="primal", random_state=0, **options)
        weights = CDFWeights(reg=1.0, random_state=0).fit(X, X_target=T).weights_
        return machine.fit(X, y, X_target=T).predict(T), weights

    for one, several in zip(found(1), found(count), strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-7, atol=1e-8)


@pytest.fixture(scope="module")
def expected():
    return parallel_tasks.answers()


@pytest.mark.thorough
@pytest.mark.part(3)
@pytest.mark.parametrize("count", [1, 2, 8])
def test_answers_are_equal_in_one_thread_and_in_several(monkeypatch, expected, count):
    monkeypatch.setattr(_parallel, "thread_count", lambda: count)
    parallel_tasks.check_equal(parallel_tasks.answers(), expected)


@pytest.mark.thorough
def test_answers_are_equal_from_several_threads_at_once(expected):
    found = []
    calls = [lambda: found.append(parallel_tasks.answers())] * 4
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=parallel_tasks.PATIENCE)
    assert len(found) == 4
    for answers in found:
        parallel_tasks.check_equal(answers, expected)


@pytest.mark.thorough
def test_answers_are_equal_after_fork_and_spawn():
    """A child that waits for its parent's threads, or inherits a lock that is held, never ends."""
    methods = ["fork", "spawn"] if hasattr(os, "fork") else ["spawn"]
    script = Path(parallel_tasks.__file__)
    paths = os.pathsep.join([*map(str, sys.path), str(script.parent)])
    subprocess.run(
        [sys.executable, script, *methods],
        check=True,
        timeout=3 * parallel_tasks.PATIENCE,
        env={**os.environ, "PYTHONPATH": paths},
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("learner", ["linear", "trees", "vsvm"])
def test_the_fits_of_a_comparison_have_one_thread_of_every_library(monkeypatch, learner):
    """They are many and small: with a second one, each waits for the other, and burns a core."""
    seen, fit = [], comparison.fit_method

    def noted(*args, **options):
        seen.append({library["num_threads"] for library in threadpool_info()})
        return fit(*args, **options)

    monkeypatch.setattr(comparison, "fit_method", noted)
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.5, 1.0, size=(50, 2))
    methods = [Method("none", "baseline"), Method("entropy", "weights")]
    with ThreadpoolController().limit(limits=2):
        given = {"learner": learner, "task": "regression", "methods": methods}
        compare(X, X[:, 0], T, **given)
    assert len(seen) > 2
    assert all(found == {1} for found in seen)
