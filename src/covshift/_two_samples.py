"""The two samples of a diagnosis, and smaller ones cut from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._types import Real
from ._validation import check_samples, check_weight, column_names, unwrap_target
from .exceptions import InputError
from .weights._rows import target_size


@dataclass(frozen=True)
class TwoSamples:
    """Checked training and target rows in float64, the target's weights, and the names."""

    X: Real  # (N, n)
    T: Real  # (M, n): rows of positive weight
    weight: Real | None  # (M,), as it was given
    names: tuple[str, ...]

    @property
    def share(self) -> Real:
        """Shares of the target rows, (M,), summing to one."""
        if self.weight is None:
            return np.full(len(self.T), 1 / len(self.T))
        return np.asarray(self.weight / self.weight.sum())

    @property
    def target_rows(self) -> float:
        """Number of target rows that the weights stand for: integers are repeats."""
        return target_size(self.weight, self.share)

    def cut(self, most: int, random_state: int) -> TwoSamples:
        """Draw at most ``most`` rows of each sample, without replacement, in their order."""
        rng = np.random.default_rng(random_state)
        rows, target = _draw(len(self.X), most, rng), _draw(len(self.T), most, rng)
        weight = None if self.weight is None else self.weight[target]
        return TwoSamples(self.X[rows], self.T[target], weight, self.names)


def two_samples(X: Any, X_target: Any, target_weight: Any, feature_names: Any) -> TwoSamples:
    """Check both samples, their weights and their names."""
    target = unwrap_target(X_target)
    if target is None:
        raise InputError(
            "X_target is None. Pass the rows of the target: there is nothing to compare."
        )
    names = column_names(X) or column_names(target)
    samples = check_samples(X, target, target_weight)
    rows, T = samples.on_host()
    weight = None
    if target_weight is not None:
        weight = check_weight(target_weight, len(T), "target_weight", of="X_target")
        if weight.max() > 1e100:  # its sum may overflow, and no count is that large
            weight = weight / weight.max()
        T, weight = T[weight > 0], weight[weight > 0]
    return TwoSamples(rows, T, weight, feature_labels(feature_names, names, rows.shape[1]))


def feature_labels(given: Any, found: list[str] | None, n_features: int) -> tuple[str, ...]:
    """Names of the features: as given, else of the data frame, else x0, x1, ..."""
    if given is None:
        return tuple(found) if found else tuple(f"x{k}" for k in range(n_features))
    if isinstance(given, str):
        raise InputError(f"feature_names={given!r} is one string. Pass a list of {n_features}.")
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise InputError(
            f"feature_names holds {len(names)} names, but X has {n_features} columns. "
            "Pass one name per column."
        )
    return names


def _draw(count: int, most: int, rng: np.random.Generator) -> Any:
    if count <= most:
        return slice(None)
    return np.sort(rng.choice(count, size=most, replace=False))
