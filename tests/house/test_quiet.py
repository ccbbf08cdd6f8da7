"""Warnings that are kept back in one thread are kept back there alone, and filters stay."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import covshift
from covshift import VSVR, Kernel, VBoostRegressor, diagnose, estimate
from covshift.comparison import Method, compare
from covshift.exceptions import FewRowsWarning, OverlapWarning, WeightWarning
from covshift.numerics import parallel as _parallel
from covshift.numerics import quiet as _quiet
from covshift.numerics.quiet import Heard, heard, listening, quiet
from covshift.weights import CDFWeights, Discriminative, EntropyBalancing


def in_threads(*calls):
    """Run the calls at once; errors of theirs are errors here."""
    errors: list[BaseException] = []

    def guarded(call):
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread does not end"
    if errors:
        raise errors[0]


@pytest.fixture
def shown():
    """What a user sees under ``always``."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        yield log


# The small tools


def test_the_innermost_that_fits_takes_a_warning(shown):
    with (
        heard() as all_of_them,
        heard(WeightWarning) as weights,
        quiet(UserWarning, message="dull"),
    ):
        warnings.warn("Dull thing", stacklevel=1)
        warnings.warn("few rows", FewRowsWarning, stacklevel=1)
        warnings.warn("bright thing", stacklevel=1)
    warnings.warn("outside", stacklevel=1)
    assert weights == [Heard(FewRowsWarning, "few rows")]
    assert all_of_them == [Heard(UserWarning, "bright thing")]
    assert [str(found.message) for found in shown] == ["outside"]


def test_silence_may_be_asked_for_under_a_condition(shown):
    for when in (True, False):
        with quiet(when=when):
            warnings.warn(f"{when}", stacklevel=1)
    assert [str(found.message) for found in shown] == ["False"]


def test_an_error_leaves_no_filter_behind():
    before = list(warnings.filters)
    with pytest.raises(ValueError, match="no"), quiet(), heard():
        raise ValueError("no")
    assert warnings.filters == before


def test_a_warning_that_was_shown_before_is_heard_again():
    def warn():
        warnings.warn("once", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("default")
        warn()
        warn()
        with heard() as found:
            warn()
    assert len(log) == 1
    assert len(found) == 1


def test_filters_of_others_in_front_do_not_hide_ours(shown):
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet():
            warnings.warn("nothing", stacklevel=1)
    assert not shown


def test_listeners_are_told_at_once():
    told = []
    with listening(told.append, UserWarning):
        warnings.warn("first", stacklevel=1)
        assert told == [Heard(UserWarning, "first")]


def test_threads_over_rows_are_as_quiet_as_their_caller(monkeypatch, shown):
    monkeypatch.setattr(_parallel, "thread_count", lambda: 3)
    with quiet():
        _parallel.over_rows(lambda some: warnings.warn(f"{some}", stacklevel=1), 9)
    assert not shown
    _parallel.over_rows(lambda some: warnings.warn(f"{some}", stacklevel=1), 9)
    assert len(shown) == 3


def test_scikit_learn_can_hand_our_filter_to_its_workers():
    x = np.arange(20.0)[:, None]
    with quiet(), heard():
        RandomForestRegressor(4, n_jobs=2, random_state=0).fit(x, x[:, 0])
        pickle.loads(pickle.dumps(warnings.filters))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of fork and threads
def test_a_forked_process_is_not_bound_by_its_parents_other_threads():
    inside, over = threading.Event(), threading.Event()

    def other():
        with quiet(), _quiet.alone():
            inside.set()
            over.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    child = os.fork()
    if not child:
        ours = _quiet._FILTER in warnings.filters
        with _quiet.alone():  # which the other thread had
            os._exit(1 if ours else 0)
    over.set()
    thread.join(60)
    assert os.waitpid(child, 0)[1] == 0


# Several threads


def test_silence_in_one_thread_is_none_in_another(shown):
    both = threading.Barrier(2, timeout=60)

    def silent():
        with quiet():
            both.wait()
            warnings.warn("silent", stacklevel=1)
            both.wait()

    def loud():
        both.wait()
        warnings.warn("loud", stacklevel=1)
        both.wait()

    in_threads(silent, loud)
    assert [str(found.message) for found in shown] == ["loud"]
    assert _quiet._FILTER not in warnings.filters


def test_blocks_that_overlap_in_two_threads_leave_the_filters_as_they_were():
    before, kept = list(warnings.filters), warnings.filters
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first():
        with quiet():
            first_in.set()
            second_in.wait(60)
        first_out.set()

    def second():
        first_in.wait(60)
        with heard() as found:
            second_in.set()
            first_out.wait(60)
            warnings.warn("still", stacklevel=1)
        assert [item.text for item in found] == ["still"]

    in_threads(first, second)
    assert warnings.filters is kept
    assert warnings.filters == before


rng = np.random.default_rng(0)
X, T = rng.normal(size=(80, 2)), rng.normal(0.3, 1.0, size=(60, 2))
y = X[:, 0] + rng.normal(size=80)
FIXED = {"kernel": Kernel("rbf", width=1.0, coordinates="none"), "reg": 1.0, "random_state": 0}
METHODS = [Method("none", "baseline"), Method("entropy", "weights")]
CALLS = {
    "machine": lambda: VSVR("blended", **FIXED).fit(X, y, X_target=T).predict(T),
    "trees": lambda: VBoostRegressor(n_estimators=3).fit(X, y, X_target=T).predict(T),
    "cdf": lambda: CDFWeights().fit(X, X_target=T).weights_,
    "discriminative": lambda: Discriminative(random_state=0).fit(X, X_target=T).weights_,
    "entropy": lambda: EntropyBalancing(limits=(0.2, 5.0)).fit(X, X_target=T).weights_,
    "diagnose": lambda: diagnose(X, T, methods=("cdf",)).to_dict(),
    "estimate": lambda: [item.value for item in estimate(X, y, T)],
    "compare": lambda: [
        row["risk"]
        for row in compare(X, y, T, learner="linear", task="regression", methods=METHODS).rows
    ],
}


def warned():
    """A fit that warns of its weights."""
    EntropyBalancing(reg=0.01).fit(X, X_target=T + np.array([1.5, 0.0]))


@pytest.mark.thorough
def test_fits_in_many_threads_leave_filters_and_warnings_alone(shown):
    """A filter of the user holds during and after, and every fit that warns is heard once."""
    for call in CALLS.values():  # imports and caches of all libraries
        call()
    warned()
    per_fit, before = len(shown), list(warnings.filters)
    assert per_fit == 2
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        in_threads(*list(CALLS.values()) * 2, *[warned] * 4)
    finally:
        sys.setswitchinterval(switch)
    assert warnings.filters == before
    assert len(shown) == 5 * per_fit
    assert {found.category for found in shown} == {FewRowsWarning, OverlapWarning}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_where_scikit_learn_swaps_the_filters_it_does_so_in_one_thread_at_a_time(call, monkeypatch):
    """Its checks do, in every fit; models of the user are the user's."""
    enter, apart = warnings.catch_warnings.__enter__, []

    def noted(self):
        caller = sys._getframe(1)
        if "sklearn" in caller.f_code.co_filename and not _quiet._in_front.turn._is_owned():
            apart.append(f"{caller.f_code.co_filename}:{caller.f_lineno}")
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", noted)
    call()
    assert not apart


def test_no_other_file_changes_the_filters():
    package = Path(covshift.__file__).parent
    words = ("warnings.catch_warnings(", "warnings.simplefilter(", "warnings.filterwarnings(")
    found = [
        path.name
        for path in package.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    ]
    assert found == ["quiet.py"]
