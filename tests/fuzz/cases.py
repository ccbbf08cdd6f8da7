"""How many cases each property gets, and how many were tried.

`make test` tries a few of each, always the same ones. `make fuzz` shares out a hundred thousand, or
as many as COVSHIFT_FUZZ says, and draws other ones at every run. A case that failed once is kept
beside its property by `hypothesis.example`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings

from covshift.exceptions import InputError

HUNDRED_THOUSAND = 100_000
CASES = int(os.environ.get("COVSHIFT_FUZZ", "0"))
PART = 250  # cases that one test tries, so that many cores share a property
SECONDS = 60  # after so many a case counts as one that hangs

tried: Counter[str] = Counter()
"""Cases by the name of their property, in this process."""
answered: Counter[str] = Counter()
"""Those of them that were not refused."""


def fuzz(*strategies: Any, of_100_000: int, few: int = 10, **named: Any) -> Callable[..., Any]:
    """Let a test hold for every case that the strategies draw.

    ``of_100_000`` is what it gets of a hundred thousand cases, ``few`` what `make test` tries. A
    test returns False where the case was refused, as it may be.
    """
    cases = max(few, of_100_000 * CASES // HUNDRED_THOUSAND) if CASES else few
    parts = -(-cases // PART)

    def decorate(test: Callable[..., bool | None]) -> Callable[..., Any]:
        @wraps(test)
        def counted(*values: Any, **options: Any) -> None:
            tried[test.__name__] += 1
            start = time.perf_counter()
            answered[test.__name__] += test(*values, **options) is not False
            seconds = time.perf_counter() - start
            assert seconds < SECONDS, f"One case took {seconds:.0f} seconds."

        asked = settings(
            max_examples=-(-cases // parts), suppress_health_check=[HealthCheck.filter_too_much]
        )
        made = asked(given(*strategies, **named)(counted))
        made.parts = parts
        return made

    return decorate


def unless_refused(call: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Return what a call does, or None where it refuses its input in the words of the package.

    A warning of another library is an error: it reaches a user who did not call that library.
    """
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            return call(*values, **options)
        except InputError as refused:
            words = str(refused).strip()
        finally:
            for found in shown:
                ours = found.category.__module__.startswith("covshift")
                assert ours, f"{found.category.__name__}: {found.message}"
    assert words, "refused without a word"
    return None


class Unstable(AssertionError):
    """Two ways to ask for one number gave two."""


def check_same(one: Any, other: Any, *, tolerance: Any) -> None:
    """Refuse numbers that differ by more than a tolerance; what is not defined is so twice."""
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    alike = one.shape == other.shape and (np.isnan(one) == np.isnan(other)).all()
    if not alike or not (np.isnan(one) | (np.abs(one - other) <= tolerance)).all():
        raise Unstable(f"{one} and {other} differ by more than {tolerance}")
