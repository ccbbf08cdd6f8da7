"""What `fit` was given, checked: rows, outcomes, weights, target and groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..data import validation
from ..data.columns import spelled
from ..data.features import cells_of
from ..data.labels import class_labels, one_outcome
from ..data.row_weights import row_weights, target_weights
from ..data.values import is_gap, plain_values
from ..engine.labels import Labels, chances
from ..exceptions import InputError, InputTypeError
from ..machine.reweighted import fit_for_target
from ..numerics.array import Real, Rows, row_count, take_rows

_DRAWS = 100  # until every model has two classes to learn from


@dataclass(frozen=True)
class LabelledRows:
    """Rows with outcomes and design weights, each as often as it was seen; and the target."""

    X: Any
    y: NDArray[Any]  # (N,)
    design: Real | None  # (N,): None where all rows count alike
    target: Any  # rows, margins, or None: the rows themselves
    target_weight: Real | None
    groups: NDArray[Any] | None  # (N,), texts
    target_groups: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def of_target(self) -> dict[str, Any]:
        """Options of `fit` that belong to the target's rows."""
        return {} if self.target_weight is None else {"target_weight": self.target_weight}

    def rows(self, some: Rows) -> LabelledRows:
        """Keep some of the rows, with the whole target."""
        return replace(
            self,
            X=take_rows(self.X, some),
            y=self.y[some],
            design=None if self.design is None else self.design[some],
            groups=None if self.groups is None else self.groups[some],
        )

    def fitted(self, estimator: Any) -> Any:
        """Fit a clone of the estimator to the rows, and to the target if it takes one."""
        target = self.target, self.target_weight
        return fit_for_target(clone(estimator), self.X, self.y, *target, sample_weight=self.design)

    @property
    def by_class(self) -> LabelledRows:
        """The same rows in groups by their classes."""
        return replace(self, groups=np.array(list(map(str, self.y))))

    def in_group(self, group: str) -> LabelledRows:
        """Keep the rows of one group, in both samples."""
        if self.groups is None:
            return self
        found = self.rows(np.flatnonzero(self.groups == group))
        if self.target_groups is None:
            return found
        some = np.flatnonzero(self.target_groups == group)
        weight = None if self.target_weight is None else self.target_weight[some]
        return replace(found, target=take_rows(self.target, some), target_weight=weight)


def labelled_rows(
    X: Any,
    y: NDArray[Any],
    by: str | int | None,
    *,
    text: bool,
    X_target: Any,
    sample_weight: Any,
    target_weight: Any,
) -> LabelledRows:
    """Check the weights; rows of weight zero are left out."""
    X_target = validation.unwrap_target(X_target)
    if X_target is not None and not validation.is_margins(X_target):
        X_target = rows_of(X_target, "X_target", text=text)
    N = row_count(X)
    if len(y) != N:
        raise InputError(f"y has {len(y)} values, but X has {N} rows.")
    weights = row_weights(N, sample_weight)
    rows = np.flatnonzero(weights.kept)
    design = None if weights.equal else weights.w[rows]
    target, of_target = X_target, None
    target_weight = validation.unwrap_target(target_weight)
    if target is None and target_weight is not None:
        raise InputError("target_weight needs X_target, whose rows it weighs.")
    if validation.is_margins(target):
        validation.refuse_target_weights(target_weight=target_weight)
    elif target is not None and target_weight is not None:
        given = target_weights(row_count(target), target_weight)
        of_target = None if given.uniform else given.w
    X, y = (X, y) if len(rows) == N else (take_rows(X, rows), y[rows])
    groups = None if by is None else groups_of(X, by, "X")
    in_target = None
    if by is not None and target is not None and not validation.is_margins(target):
        in_target = groups_of(target, by, "X_target")
    return LabelledRows(X, y, design, target, of_target, groups, in_target)


def labelled_target(
    rows: LabelledRows, labels: Labels, classes: NDArray[Any] | None
) -> LabelledRows:
    """Return the target rows that have an outcome; ``classes`` (K,) are those of the sample.

    They are a sample of the target by design: each counts by its ``target_weight`` over the
    probability with which it was chosen.
    """
    M = row_count(rows.target)
    values = plain_values(labels.y, "y_target", "one value per row of X_target, or missing")
    if values.shape != (M,):
        raise InputError(
            f"y_target has shape {values.shape}, but X_target has {M} rows: pass one outcome per "
            "row, missing where it is not known."
        )
    weight = np.ones(M) if rows.target_weight is None else rows.target_weight
    some = np.flatnonzero([not is_gap(cell) for cell in values.tolist()] & (weight > 0))
    if not len(some):
        raise InputError("y_target is missing in every row of the target: leave it out.")
    if classes is None:
        y = one_outcome(values[some].tolist(), "y_target", None, "X_target")
    else:
        y = _of_classes(class_labels(values[some].tolist(), None, "y_target", "X_target"), classes)
    u = weight[some]
    if labels.probability is not None:
        chosen = np.zeros(M, dtype=bool)
        chosen[some] = True
        u = u / chances(labels.probability, chosen)[some]
    design = None if np.ptp(u) == 0 else u / u.mean()
    groups = None if rows.target_groups is None else rows.target_groups[some]
    X = validation.in_order_of(rows.target, validation.column_names(rows.X))
    return LabelledRows(take_rows(X, some), y, design, None, None, groups)


def _of_classes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as they are spelled among the classes: 1.0, beside gaps, is 1."""
    known = {name: k for k, name in enumerate(classes.tolist())}
    strange = next((name for name in labels.tolist() if name not in known), None)
    if strange is not None:
        raise InputError(
            f"y_target has the class {spelled(strange)!r}, which no row of the sample has. Spell "
            "the classes the same way in both."
        )
    return np.asarray(classes[[known[name] for name in labels.tolist()]])


def rows_of(X: Any, title: str, *, text: bool) -> Any:
    """Return a frame as it is, anything else as an array; refuse what is sparse or empty.

    ``text``: whether the model takes more than numbers.
    """
    if issparse(X):
        raise InputTypeError(
            f"{title} is sparse, and conformal prediction needs dense rows: pass {title}.toarray()."
        )
    X = validation.check_given(X, title, text=text)
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2 and 0 in shape:
        raise InputError(
            f"{title} has {shape[0]} sample(s) and {shape[1]} feature(s) (shape={tuple(shape)}) "
            "while a minimum of 1 is required."
        )
    return X


def groups_of(X: Any, by: str | int, title: str) -> NDArray[Any]:
    """Return the group of each row, as text: a column of a frame by name, of an array by number."""
    names = validation.column_names(X)
    if names is not None:
        if str(by) not in names:
            raise InputError(f"by={by!r} names a column, but {title} has no such column.")
        return np.array(cells_of(X, str(by), title))
    values = np.asarray(X)  # of numbers, or of mixed cells
    if isinstance(by, str) or not -values.shape[1] <= by < values.shape[1]:
        raise InputError(
            f"by={by!r} is not a column of {title}, an array of {values.shape[1]} columns: pass "
            "its number, or a data frame."
        )
    cells = values[:, by]
    if cells.dtype.kind in "OUS":
        return np.array([str(cell) for cell in cells])
    return np.array([f"{cell:.15g}" for cell in cells.astype(np.float64)])


def split_rows(
    y: NDArray[Any], share: float, random_state: Any, *, classes: bool
) -> tuple[Rows, Rows]:
    """Draw rows that train and rows that calibrate, whatever their outcomes.

    Not class by class: then calibration rows would have the class shares that the model has
    learned, as new rows have not, and sets would be too small. Draws that leave a single class to
    train on are drawn again.
    """
    rng = check_random_state(random_state)
    held = max(1, min(len(y) - 1, round(share * len(y))))
    for _ in range(_DRAWS):
        order = rng.permutation(len(y))
        if not classes or several(y[order[held:]]):
            break
    return np.sort(order[held:]), np.sort(order[:held])


def deal_folds(y: NDArray[Any], n_folds: int, random_state: Any, *, classes: bool) -> Rows:
    """Number the fold of each row, whatever its outcome; see `split_rows`."""
    rng = check_random_state(random_state)
    fold = np.empty(len(y), dtype=np.intp)
    for _ in range(_DRAWS):
        fold[rng.permutation(len(y))] = np.arange(len(y)) % min(n_folds, len(y))
        if not classes or all(several(y[fold != k]) for k in range(int(fold.max()) + 1)):
            break
    return fold


def several(y: NDArray[Any]) -> bool:
    """Whether outcomes differ."""
    return bool((y[1:] != y[:-1]).any())  # by y[0], NumPy would take "\0" for an empty text
