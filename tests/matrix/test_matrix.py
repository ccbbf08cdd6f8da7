"""Every kind of input × every public callable: refused in words, or the canonical answer.

A new estimator is one line in `matrix.entry_points`, a new kind of input one in `matrix.inputs`.
`make test` tries every cell that refuses at once, and a fixed part of the others. The whole product
is among the thorough tests, and `matrix.count` counts it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from zlib import crc32

import pytest

import covshift
from matrix.entry_points import ENTRIES
from matrix.exceptions import EXCEPTIONS, UNTRIED, expectation
from matrix.inputs import INPUTS
from matrix.problem import SLOTS, Refuses, failure

PART, SLOW_PART = 24, 180  # of the answers, one in so many is tried in every run
SLOW_REFUSALS = 10  # of what a slow entry point refuses, one in so many


def cells(entry, slot, *, whole):
    """Inputs of one slot, with what this entry point should make of them."""
    for one in INPUTS:
        expected = expectation(entry, one) if one.slot == slot else None
        if expected is None:
            continue
        if isinstance(expected, Refuses):
            part = SLOW_REFUSALS if entry.slow else 1
        else:
            part = SLOW_PART if entry.slow else PART
        if whole or crc32(f"{entry.name} {one.name}".encode()) % part == 0:
            yield one, expected


def check(entry, slot, *, whole):
    found = [
        f"{entry.name} × {one.name}: {wrong}"
        for one, expected in cells(entry, slot, whole=whole)
        if (wrong := failure(entry, one, expected)) is not None
    ]
    assert not found, "\n".join(found)


PAIRS = [(entry, slot) for entry in ENTRIES for slot in SLOTS if slot in entry.takes]


def named(value):
    return getattr(value, "name", value)


@pytest.mark.part(8)
@pytest.mark.parametrize(("entry", "slot"), PAIRS, ids=named)
def test_inputs_are_refused_in_words_or_get_the_canonical_answer(entry, slot):
    check(entry, slot, whole=False)


@pytest.mark.thorough
@pytest.mark.parametrize(("entry", "slot"), PAIRS, ids=named)
def test_so_they_are_in_every_cell(entry, slot):
    check(entry, slot, whole=True)


def public_callables():
    """Names of all classes and functions that public modules offer, but results and errors."""
    for module in pkgutil.iter_modules(covshift.__path__):
        if module.name.startswith("_") or module.name in ("cli", "torch"):
            continue
        part = importlib.import_module(f"covshift.{module.name}")
        for name in getattr(part, "__all__", ()):
            thing = getattr(part, name)
            if callable(thing) and not _is_result(thing):
                yield f"{part.__name__}.{name}", name
    for name in covshift._HOME:
        if not _is_result(getattr(covshift, name)):
            yield f"covshift.{name}", name


def _is_result(thing):
    if not inspect.isclass(thing):
        return False
    made = hasattr(thing, "__dataclass_fields__") or issubclass(thing, tuple | BaseException)
    return made or any(base.__name__ in ("ndarray", "Record") for base in thing.__mro__)


def test_every_public_callable_is_in_the_matrix_or_has_a_reason_not_to_be():
    tried = {name for entry in ENTRIES for name in entry.covers}
    missing = [
        full
        for full, name in public_callables()
        if name not in tried and not any(re.fullmatch(known, full) for known in UNTRIED)
    ]
    assert not missing, "Add these to tests/matrix/entry_points.py, one line each"


def test_names_of_entry_points_and_inputs_are_unique():
    inputs = [(one.name, one.task) for one in INPUTS]
    for names in ([entry.name for entry in ENTRIES], inputs):
        assert len(set(names)) == len(names)


def test_exceptions_are_of_cells_that_exist():
    for known in EXCEPTIONS:
        assert any(re.fullmatch(known.entry, entry.name) for entry in ENTRIES), known
        assert any(re.fullmatch(known.given, one.name) for one in INPUTS), known


def test_a_broken_cell_fails():
    entry = next(entry for entry in ENTRIES if entry.name == "v_matrix")
    nan, lists = (next(x for x in INPUTS if x.name == n) for n in ("X: NaN", "X: lists"))
    assert "does not name" not in (failure(entry, nan, Refuses("NaN")) or "")
    assert "without the words" in failure(entry, nan, Refuses("other words"))
    assert "took it silently" in failure(entry, lists, Refuses("lists"))
