"""How many cases each property gets, and how many were tried.

`make test` tries a few of each, always the same ones. `make fuzz` shares out a hundred thousand, or
as many as COVSHIFT_FUZZ says, and draws other ones at every run. A case that failed once is kept
beside its property by `hypothesis.example`.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from hypothesis import given, settings

from covshift.exceptions import InputError

HUNDRED_THOUSAND = 100_000
CASES = int(os.environ.get("COVSHIFT_FUZZ", "0"))

tried: Counter[str] = Counter()
"""Cases by the name of their property, in this process."""


def fuzz(*strategies: Any, of_100_000: int, few: int = 10, **named: Any) -> Callable[..., Any]:
    """Let a test hold for every case that the strategies draw.

    ``of_100_000`` is what it gets of a hundred thousand cases, ``few`` what `make test` tries.
    """
    cases = max(few, of_100_000 * CASES // HUNDRED_THOUSAND) if CASES else few

    def decorate(test: Callable[..., None]) -> Callable[..., Any]:
        @wraps(test)
        def counted(*values: Any, **options: Any) -> None:
            tried[test.__name__] += 1
            test(*values, **options)

        return settings(max_examples=cases)(given(*strategies, **named)(counted))

    return decorate


def unless_refused(call: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Return what a call does, or None where it refuses its input in the words of the package."""
    with warnings.catch_warnings(), suppress(InputError):
        warnings.simplefilter("ignore")
        return call(*values, **options)
    return None
