"""A fitted function and all that is needed to apply it to a table: what `covshift fit` writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import encoded, groups_of
from ..exceptions import InputError
from ..files.encoding import Encoding
from ..files.reading import checked_reading
from ..numerics.array import Real


@dataclass(frozen=True)
class Model:
    """A fitted function, and all that is needed to apply it to a table.

    What `covshift fit` writes and `load` reads. With ``covshift fit --calibrate`` the estimator is
    a `covshift.conformal.ConformalRegressor` or `ConformalClassifier`, and the model gives
    intervals (`predict_interval`) or sets (`predict_set`); calibration rows are in no file.
    """

    estimator: Any
    encoding: Encoding
    center: Real  # (n,), taken from the columns of X, which are then divided by
    scale: Real  # (n,)
    task: str
    label: str
    learner: str
    method: str
    unit: str = ""  # of the label, where it is a number
    about: dict[str, Any] = field(default_factory=dict)  # versions, rows, command: for people
    reading: dict[str, Any] = field(default_factory=dict)  # how cells are read

    def check(self) -> None:
        """Refuse, by a ValueError, parts that do not fit together."""
        n = len(self.encoding.columns)
        if not n == len(self.center) == len(self.scale) == self.estimator.n_features_in_:
            raise ValueError("a scaling of another number of columns")
        if not (np.isfinite(self.center).all() and (self.scale > 0).all()):
            raise ValueError("a scaling that is not finite and positive")
        if (self.task == "classification") != hasattr(self.estimator, "classes_"):
            raise ValueError("a task without its classes")
        words = (self.task, self.label, self.learner, self.method, self.unit, *self.about)
        if not all(isinstance(word, str) for word in words):
            raise ValueError("a name that is not text")
        checked_reading(self.reading)

    @property
    def classes(self) -> list[str]:
        """The classes in the order of the probabilities; none for numbers."""
        if self.task == "regression":
            return []
        return [str(label) for label in self.estimator.classes_]

    def predict(self, X: Real) -> NDArray[Any]:
        """Return classes or numbers for encoded rows."""
        return np.asarray(self.estimator.predict(self.scaled(X)))

    def predict_proba(self, X: Real) -> Real:
        """Return the probability of every class for encoded rows."""
        return np.asarray(self.estimator.predict_proba(self.scaled(X)))

    def decided(self, probability: Real) -> NDArray[Any]:
        """Return the classes: of two the second from one half on, of more the likeliest."""
        of_two = len(self.classes) == 2
        best = probability[:, 1] >= 0.5 if of_two else probability.argmax(axis=1)
        return np.asarray(np.array(self.classes)[best.astype(int)])

    @property
    def calibrated(self) -> bool:
        """Whether it gives intervals or sets."""
        return hasattr(self.estimator, "predict_interval") or hasattr(self.estimator, "predict_set")

    def predict_interval(self, X: Real, coverage: float = 0.9) -> Any:
        """Return the `covshift.conformal.Intervals` of encoded rows; numbers, calibrated."""
        return self._conformal("predict_interval")(self.scaled(X), coverage)

    def predict_set(self, X: Real, coverage: float = 0.9) -> Any:
        """Return the `covshift.conformal.Sets` of encoded rows; classes, calibrated."""
        return self._conformal("predict_set")(self.scaled(X), coverage)

    def scaled(self, X: Real) -> Real:
        """Return encoded rows as the estimator takes them."""
        return encoded((np.asarray(X) - self.center) / self.scale, groups_of(X))

    def _conformal(self, method: str) -> Any:
        found = getattr(self.estimator, method, None)
        if found is None:
            kind = "for classes" if method == "predict_set" else "for numbers"
            raise InputError(
                f"This model has no {method}, which is {kind}, and for models that covshift fit "
                "--calibrate 0.5 made."
            )
        return found
