"""Which coordinates and which kernel a machine uses: those that are named, or found on a sample.

What is learned here comes from at most 5000 labelled rows, chosen by their content
(`covshift._row_sample`), so that a fit in memory, on landmarks, in blocks, on a cluster and on a
GPU chooses alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._coordinates import Centered, Coordinates, OnCoordinates, Unchanged, fit_coordinates
from .._folds import ranked_folds
from .._kernel_sum import PARTS as SUM_PARTS
from .._kernel_sum import KernelSum
from .._kernels import Kernel, find_width, widths_to_compare
from .._parallel import one_blas_thread
from .._parameters import Rule
from .._row_sample import RowSample
from .._row_units import RowUnits
from .._types import Real, Rows
from ..exceptions import InputError
from ..operators import Diagonal
from .search import FAST, FULL, PARTS, find_kernel
from .tuning import tune_dual

_LARGEST = 1e150
_TUNING_ROWS = 1000  # that compare widths for the fit on landmarks


@dataclass(frozen=True)
class KernelChoice:
    """Coordinates, and the kernels of them among which the penalty's path decides."""

    coordinates: Coordinates
    kernels: Sequence[Any]  # of the columns themselves
    report: dict[str, Any] | None  # what a search compared


def is_searched(kernel: Any) -> bool:
    """Whether ``kernel`` asks for a sum of kernels, found by evidence."""
    return (isinstance(kernel, str) and kernel in ("cv", "main_effects")) or isinstance(
        kernel, list | tuple
    )


def parts_of(kernel: Any) -> tuple[str, ...]:
    """Return the parts of the sum that ``kernel`` asks for."""
    if kernel == "cv":
        return PARTS
    return (kernel,) if isinstance(kernel, str) else tuple(kernel)


def _is_sum(kernel: Any) -> bool:
    """Whether ``kernel`` lists parts of a sum, each once."""
    if not isinstance(kernel, list | tuple) or not kernel:
        return False
    return all(kernel.count(part) == 1 and part in SUM_PARTS for part in kernel)


SUM_OF_KERNELS = Rule((f"a list of some of {', '.join(map(repr, SUM_PARTS))}",), _is_sum)


def check_search(machine: Any) -> None:
    """Refuse a width for a kernel that finds its own."""
    if is_searched(machine.kernel) and machine.width != "cv":
        raise InputError(
            f"width={machine.width!r} needs a kernel by name, such as 'rbf': kernel="
            f"{machine.kernel!r} finds its own widths. Leave width at 'cv'."
        )


def choose_kernels(
    machine: Any,
    sample: RowSample,
    Y: Real,
    T: Real,
    share: Real,
    groups: Rows | None,
    units: RowUnits,
) -> KernelChoice:
    """Learn from labelled rows, their outcomes Y (c, k), and target rows T (M, n) of shares.

    ``groups`` (n,) numbers the features that the columns belong to; None: each is its own.
    ``units`` are what rows are measured in.
    """
    if isinstance(machine.kernel, KernelSum | OnCoordinates):  # another machine's kernel_
        own = getattr(machine.kernel, "coordinates", Unchanged())
        return KernelChoice(own, [machine.kernel], None)
    target = RowSample.of(T, np.zeros((T.shape[0], 1)), share, units=units)
    kinds = ("standard", "cdf") if machine.coordinates == "cv" else (machine.coordinates,)
    found = []
    for kind in kinds:
        if kind == "none" and _has_products(machine.kernel):
            coordinates: Coordinates = Centered(_center(sample))
            found.append(_on(coordinates, machine, sample, Y, groups, judged=len(kinds) > 1))
            continue
        coordinates = fit_coordinates(
            kind,
            sample.X,
            sample.counts,
            target.X,
            target.w / target.w.sum(),
            groups,
            squared=machine.kernel != "laplacian",
        )
        found.append(_on(coordinates, machine, sample, Y, groups, judged=len(kinds) > 1))
    best = min(found, key=lambda pair: pair[1])[0]
    if best.report is not None and len(kinds) > 1:
        best.report["coordinates"] = dict(zip(kinds, (error for _, error in found), strict=True))
    return best


def _has_products(kernel: Any) -> bool:
    """Whether a kernel, or a part of it, is linear in the columns."""
    return kernel == "linear" or (is_searched(kernel) and "linear" in parts_of(kernel))


def _center(sample: RowSample) -> Real:
    """Mean of every column (n,); products of numbers so large that they overflow are refused."""
    if np.abs(sample.X).max() > _LARGEST:
        raise InputError(
            f"X has numbers beyond {_LARGEST:g}, whose products overflow in a linear kernel. Use "
            "coordinates='standard', or rescale the columns."
        )
    return np.asarray(sample.counts @ sample.X / sample.counts.sum())


def _on(
    coordinates: Coordinates,
    machine: Any,
    sample: RowSample,
    Y: Real,
    groups: Rows | None,
    *,
    judged: bool,
) -> tuple[KernelChoice, float]:
    U, counts = coordinates(sample.X), sample.counts
    error, report = np.inf, None
    searched = is_searched(machine.kernel)
    if searched or judged:
        found = find_kernel(
            U,
            Y,
            counts,
            sample.repeats,
            parts=parts_of(machine.kernel) if searched else PARTS,
            groups=groups,
            relevance=machine.relevance,
            effort=FAST if machine.fast else FULL,
            judged=judged,
        )
        error, report = found.error, found.report()
    kernels = [found.kernel] if searched else _named(machine, U, counts, groups)
    if not isinstance(coordinates, Unchanged):
        kernels = [OnCoordinates(kernel, coordinates) for kernel in kernels]
    return KernelChoice(coordinates, kernels, report), error


def _named(machine: Any, U: Real, w: Real, groups: Rows | None) -> list[Any]:
    """Return the kernel by name, once per width that is to be compared."""
    n_features = None if groups is None else int(groups.max()) + 1
    width = find_width(machine.width, machine.kernel, U, w, n_features)
    widths: Sequence[float | None] = [width]
    if machine.width == "cv" and width is not None:
        widths = widths_to_compare(machine.kernel, width)
    params = dict(machine.kernel_params or {})
    return [Kernel(machine.kernel, w, machine.degree, machine.coef0, params) for w in widths]


def best_of(kernels: Sequence[Any], sample: RowSample, Y: Real, n_folds: int) -> Any:
    """Return the kernel of least cross-validated error on rows of the sample, uncorrected."""
    if len(kernels) == 1:
        return kernels[0]
    X, Y, w = sample.X[:_TUNING_ROWS], Y[:_TUNING_ROWS], sample.counts[:_TUNING_ROWS]
    folds = ranked_folds(X, Y, max(2, n_folds), w, sample.repeats[:_TUNING_ROWS])
    with one_blas_thread(len(X) ** 2):
        return kernels[tune_dual(Diagonal(w), X, Y, w, kernels, folds).best[0]]
