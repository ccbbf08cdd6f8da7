"""Saving fitted estimators, and the models of the command line, in files that are safe to load."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import encoded, groups_of
from ..exceptions import InputError, InputTypeError
from ..files.encoding import Encoding
from ..files.reading import checked_reading
from ..numerics.array import Real
from .archive import Arrays, Damaged, read_archive, write_archive
from .objects import ObjectReader, ObjectWriter

MAX_BYTES = 1 << 30  # of a file; a kernel machine of 3000 rows and 100 columns has 5 MB


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


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator in a file that `load` reads without running any code.

    Parameters
    ----------
    estimator : fitted estimator, or Model
        `covshift.VSVC`, `covshift.VSVR`, `covshift.VBoostClassifier`, `covshift.VBoostRegressor`,
        any weighter of `covshift.weights`, `covshift.RobustBiasAware`; `covshift.Reweighted`,
        `covshift.conformal.ConformalRegressor` and `ConformalClassifier` around one of these, or
        around logistic or ridge regression.
    path : path
        An existing file is replaced; readers see the old one or the new one, never half of it.

    Raises
    ------
    InputError
        Where the estimator is not fitted, or holds what no file can: a function as kernel, another
        package's estimator, a pipeline. The message names it. `joblib` and `pickle` keep these,
        but loading a pickle runs code: load only your own.

    Notes
    -----
    Parameters, fitted attributes, feature names and classes are kept; what is loaded predicts the
    same to the last bit, in the same versions of NumPy and scikit-learn. Tensors come back as
    NumPy arrays. Left behind: the sums of an unfinished ``partial_fit``, the fit of estimators that
    are parameters, and calibration rows: ``expected_coverage`` is then known where it was estimated
    before saving. A file holds training and target rows: treat it as you treat the data.

    Examples
    --------
    >>> import covshift, numpy as np, tempfile
    >>> from covshift.weights import KLIEP
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(100, 2)), rng.normal(0.5, 1.0, size=(100, 2))
    >>> weighter = KLIEP(random_state=0).fit(X, X_target=T)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     covshift.save(weighter, f"{folder}/weights.covshift")
    ...     loaded = covshift.load(f"{folder}/weights.covshift")
    >>> bool((loaded.predict_weights(T) == weighter.predict_weights(T)).all())
    True
    """
    if isinstance(estimator, str | os.PathLike):
        raise InputTypeError("The arguments are swapped: use save(estimator, path).")
    if isinstance(estimator, type) or not hasattr(_function(estimator), "get_params"):
        raise InputTypeError(f"{estimator!r} is not a fitted estimator, so it cannot be saved.")
    out = ObjectWriter()
    function = _function(estimator)
    written = out.estimator(function, (type(function).__name__,), fitted=True)
    manifest: dict[str, Any] = {"estimator": written}
    if isinstance(estimator, Model):
        manifest = {"table": _table(estimator), **manifest}
        out.arrays |= {"table.center": estimator.center, "table.scale": estimator.scale}
    write_archive(path, manifest, out.arrays)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read what `save` wrote, or say in an `InputError` what is wrong with the file.

    No code runs from a file: it names classes of covshift's own table and holds plain data, and
    every value is checked against what its class declares. Files of `covshift fit` give a `Model`.

    Parameters
    ----------
    path : path
    max_bytes : int
        Longer files are refused unread.

    Returns
    -------
    fitted estimator, or `covshift.persistence.Model`

    Examples
    --------
    >>> from covshift import load
    >>> load("nothing.covshift")
    Traceback (most recent call last):
    covshift.exceptions.InputError: nothing.covshift ...
    """
    name = os.fspath(path)
    try:
        size = os.stat(name).st_size
        if os.path.isdir(name):
            raise InputError(f"{name} is a folder, not a model file.")
        if not os.path.isfile(name):
            raise InputError(f"{name} is a pipe or a device, and a model is read from a file.")
        if size > max_bytes:
            raise InputError(
                f"{name} has {size:,} bytes, more than the {max_bytes:,} that a model file may "
                "have. Is it another file?"
            )
        with open(name, "rb") as file:
            manifest, arrays = read_archive(name, file, size)
        return _loaded(name, manifest, arrays)
    except FileNotFoundError:
        raise InputError(
            f"{name} does not exist. Make it with covshift.save, or with: covshift fit ... -o "
            f"{name}"
        ) from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from None
    except Damaged as damage:
        raise InputError(
            f"{name} is damaged or was changed: {damage}. Copy it again, or fit the model again."
        ) from None


def _function(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, Model) else estimator


def _table(model: Model) -> dict[str, Any]:
    """Return what a model knows of its table, as plain data."""
    return {
        "task": model.task,
        "label": model.label,
        "unit": model.unit,
        "learner": model.learner,
        "method": model.method,
        "features": model.encoding.to_list(),
        "reading": model.reading,
        "about": model.about,
    }


def _loaded(name: str, manifest: dict[str, Any], arrays: Arrays) -> Any:
    try:
        table = manifest.get("table")
        scaling = [] if table is None else [arrays.pop(f"table.{k}") for k in ("center", "scale")]
        source = ObjectReader(arrays)
        estimator = source.estimator(manifest["estimator"], fitted=True)
        source.check_all_used()
        return estimator if table is None else _model(table, estimator, *scaling)
    except ModuleNotFoundError:
        raise InputError(
            f"{name} holds a learner that this version of covshift lacks. Upgrade it."
        ) from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise Damaged(f"its contents do not fit together ({error})") from None


_WORDS = ("label", "unit", "learner", "method")
_PARTS = {"task", *_WORDS, "features", "about"}


def _model(table: Any, estimator: Any, center: Real, scale: Real) -> Model:
    if not isinstance(table, dict) or not _PARTS <= table.keys() <= _PARTS | {"reading"}:
        raise ValueError("a table with other parts")
    encoding = Encoding.from_list(table["features"])
    n = len(encoding.columns)
    if center.dtype.kind != "f" or scale.dtype.kind != "f":
        raise ValueError("the scaling is of another type")
    if center.shape != (n,) or scale.shape != (n,) or estimator.n_features_in_ != n:
        raise ValueError("the scaling has another number of columns")
    if not (np.isfinite(center).all() and np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("the scaling is not finite and positive")
    task = table["task"]
    if task not in ("classification", "regression"):
        raise ValueError("an unknown task")
    if (task == "classification") != hasattr(estimator, "classes_"):
        raise ValueError("a task without its classes")
    words = {key: table[key] for key in _WORDS}
    if not all(isinstance(word, str) for word in words.values()):
        raise ValueError("a name that is not text")
    reading, about = checked_reading(table.get("reading", {})), table["about"]
    if not isinstance(about, dict) or not all(map(_is_simple, about.values())):
        raise ValueError("facts of unknown kind")
    return Model(estimator, encoding, center, scale, task, about=about, reading=reading, **words)


def _is_simple(fact: Any) -> bool:
    return fact is None or isinstance(fact, str | bool | int | float)
