"""What a parameter may be, checked in one place and refused in one form of words.

    n_folds=1 must be a whole number of at least 2.

An estimator names the rules of its parameters in ``_rules`` and applies them when it is fitted, by
`check_parameters`; a function checks an argument by ``whole(2).check(n_folds, "n_folds")``. True,
False and NaN are not numbers here, and 5.0 is no whole number, as in scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..show.words import meant

_SHOWN = 80  # characters of a value that a message repeats


@dataclass(frozen=True)
class Rule:
    """Values that a parameter may have, in words and as a test; ``one | other`` allows both.

    >>> from covshift.data.parameters import number, one_of
    >>> (number(above=0) | one_of("cv")).check(-1, "reg")
    Traceback (most recent call last):
    covshift.exceptions.InputError: reg=-1 must be a finite number above 0 or 'cv'.
    """

    options: tuple[str, ...]
    allows: Callable[[Any], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(
            self.options + other.options, lambda value: self.allows(value) or other.allows(value)
        )

    def check(self, value: Any, name: str) -> None:
        """Refuse a ``value`` that is not allowed: say what came, and what is expected."""
        if self.allows(value):
            return
        *most, last = self.options
        expected = f"{', '.join(most)} or {last}" if most else last
        as_int = isinstance(value, float) and value.is_integer() and self.allows(int(value))
        advice = f" Pass {int(value)}." if as_int else ""
        advice += meant(value, [option[1:-1] for option in self.options if option[0] == "'"])
        text = f"{{{name}}} must be {expected}.{advice}"
        raise InputError(text, **{name: _shown(value)})


Rules = Mapping[str, Rule]
"""The rules of an estimator's parameters, by name."""


def check_parameters(estimator: Any) -> None:
    """Refuse the first parameter of an estimator that breaks its rule in ``_rules``."""
    for name, rule in estimator._rules.items():
        rule.check(getattr(estimator, name), name)


def whole(least: int, most: int | None = None) -> Rule:
    """A whole number from ``least`` to ``most``."""
    words = f"of at least {least}" if most is None else f"from {least} to {most}"
    return Rule(
        (f"a whole number {words}",),
        lambda value: _is(Integral, value) and least <= value and (most is None or value <= most),
    )


def number(
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> Rule:
    """A finite number within bounds: ``least`` and ``most`` belong to them."""
    bounds = [f"of at least {least}"] if least > -math.inf else []
    bounds += [f"above {above}"] if above > -math.inf else []
    bounds += [f"at most {most}"] if most < math.inf else []
    bounds += [f"below {below}"] if below < math.inf else []
    words = " and ".join(bounds)
    if least > -math.inf and most < math.inf:
        words = f"from {least} to {most}"
    kind = "number" if min(most, below) < math.inf else "finite number"
    return Rule(
        (f"a {kind} {words}".rstrip(),),
        lambda value: _is(Real, value) and bool(least <= value <= most and above < value < below),
    )


def one_of(*choices: str | None) -> Rule:
    """One of some words, or None."""
    return Rule(
        tuple(map(repr, choices)),
        lambda value: (value is None or isinstance(value, str)) and value in choices,
    )


def flag() -> Rule:
    """True or False."""
    return Rule(("True", "False"), lambda value: isinstance(value, bool | np.bool_))


VERBOSE = whole(0) | flag()
"""What the parameter ``verbose`` may be."""


def function() -> Rule:
    """Something that can be called."""
    return Rule(("a callable",), callable)


def or_list(rule: Rule) -> Rule:
    """What ``rule`` allows, or a list of such values."""

    def allows(value: Any) -> bool:
        return (
            isinstance(value, Sequence | np.ndarray)
            and len(value) > 0
            and all(map(rule.allows, value))
        )

    return rule | Rule(("a list of them",), allows)


def _is(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
