"""Saving fitted estimators, and the models of the command line, in files that are safe to load."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..exceptions import InputError, InputTypeError, import_extra
from ..files.writing import atomic_file
from ..numerics.array import to_numpy
from ..numerics.quiet import quiet
from ..registry import TABLE
from .archive import Contents, Damaged, read_contents, short
from .fitted import check_fitted, finite_answers
from .model import Model

MAX_BYTES = 1 << 30  # of a file; a kernel machine of 3000 rows and 100 columns has 5 MB

_FORMAT = 5  # 1 to 4 had a manifest and declared attributes
_ROOMS = (  # of covshift, whose classes a fitted estimator is made of
    *("boosting", "conformal", "corrections", "data", "encoding", "files", "machine", "margins"),
    *("numerics", "operators", "persistence", "robust", "show", "weights"),
)
_OURS = tuple(f"covshift.{room}." for room in _ROOMS)
_OBJECTS = ("ObjectNode", "TupleNode")  # the parts that are built without calling their type
_UNCHECKED = tuple(  # of scikit-learn: compiled code trusts their arrays, which nobody checks
    f"sklearn.{module}." for module in ("ensemble._gb", "svm")
)
_PATHS = ("path", "classifier", "regressor")  # of the classes of an entry of the registry
_ALSO = (  # of skops' own list are not; trees are checked
    *("numpy.dtype", "numpy.linalg.eigh", "sklearn.tree._tree.Tree"),
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator in a file that `load` reads without running code of the file.

    Needs skops: ``pip install "covshift[save]"``.

    Parameters
    ----------
    estimator : fitted estimator, or Model
        Of covshift, of scikit-learn, or one around the other: a pipeline, a forest in
        `covshift.conformal.ConformalRegressor`. Types of other packages are saved too; `load` must
        then be told to trust them.
    path : path
        An existing file is replaced; readers see the old one or the new one, never half of it.

    Raises
    ------
    InputError
        Where the estimator is not fitted, or holds what no file can: a lambda as kernel, an open
        file. The message names it. `joblib` and `pickle` keep these, but loading a pickle runs
        code: load only your own.

    Notes
    -----
    What is loaded predicts the same to the last bit, in the same versions of NumPy and
    scikit-learn. Tensors come back as NumPy arrays. A file holds rows of the training sample, of
    the target and of the calibration: treat it as you treat the data.

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
    function = _function(estimator)
    if isinstance(estimator, type) or not hasattr(function, "get_params"):
        raise InputTypeError(f"{estimator!r} is not a fitted estimator, so it cannot be saved.")
    name = type(function).__name__
    try:
        check_is_fitted(function)
    except NotFittedError:
        raise InputError(
            f"{name} is not fitted, so there is nothing to save. Call fit first; the parameters "
            "alone are get_params()."
        ) from None
    skops = _skops()
    try:
        model = _for_file(estimator, {})
        answers = bool(finite_answers(_function(model)))
        about = {"format": _FORMAT, "covshift": __version__, "answers": answers}
        data = skops.dumps({**about, name: model})
        contents = read_contents(data)
        if contents.local_function():
            raise Damaged(contents.local_function())
        _built(data, [type for _, type in contents.types])
    except Exception as error:
        reason = error if isinstance(error, Damaged) else short(error)
        raise InputError(
            f"{name} cannot be saved: {reason}. Use numbers, texts and objects of importable "
            "classes; or keep it with joblib or pickle, and load such a file only if you trust its "
            "author."
        ) from None
    with atomic_file(path) as file:
        file.write(data)


def load(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, trusted: Sequence[str] = ()
) -> Any:
    """Read what `save` wrote, or say in an `InputError` what is wrong with the file.

    No code runs from a file: it names classes of covshift and scikit-learn and holds plain data,
    which is checked. Files of `covshift fit` give a `Model`.

    Parameters
    ----------
    path : path
    max_bytes : int
        Longer files are refused unread.
    trusted : names of types, optional
        Further types that the file may name, such as ``"my_package.my_module.MyWeighter"``. They
        are imported and built as the file says: name them only if you trust its author.

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
    data = _read(name, max_bytes)
    _check_origin(name, data)
    version = __version__
    try:
        contents = read_contents(data)
        version = _check_envelope(name, contents)
        return _built(data, _trusted_types(name, data, contents, trusted))
    except Damaged as damage:
        advice = "Copy it again, or fit the model again."
        if version != __version__:
            advice = f"It was written by covshift {version}, and this is {__version__}: {advice}"
        raise InputError(f"{name} is damaged or was changed: {damage}. {advice}") from None


def _function(model: Any) -> Any:
    """What predicts: a model, or the estimator of a `Model`."""
    return model.estimator if isinstance(model, Model) else model


def _skops() -> Any:
    return import_extra("skops.io", extra="save", needed_by="Saving and loading models")


def _read(name: str, max_bytes: int) -> bytes:
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
            return file.read(max_bytes + 1)
    except FileNotFoundError:
        raise InputError(
            f"{name} does not exist. Make it with covshift.save, or with: covshift fit ... -o "
            f"{name}"
        ) from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from None


_OLD = re.compile(rb"covshift-model ([0-9]{1,6}) [0-9a-f]{64}")


def _check_origin(name: str, data: bytes) -> None:
    """Refuse other files, and those of covshift 0.9 and before."""
    if data[:4] != b"PK\x03\x04":
        raise InputError(
            f"{name} is not a model file of covshift. Make one with covshift.save, or with: "
            "covshift fit ... -o MODEL"
        )
    old = _OLD.search(data[-100:])
    if old:
        raise InputError(
            f"{name} was written by covshift 0.9 or older (format {old[1].decode()}), whose files "
            f"this version does not read (it is {__version__}). Fit the model again and save it; "
            "or read the file with: pip install 'covshift<0.10'"
        )


def _check_envelope(name: str, contents: Contents) -> str:
    """Refuse a file of another format; return the version of covshift that wrote it."""
    about = contents.schema.get("content")
    if not isinstance(about, dict) or list(about)[:-1] != ["format", "covshift", "answers"]:
        raise InputError(f"{name} is not a model file of covshift.")
    number, version = (json.loads(about[key]["content"]) for key in ("format", "covshift"))
    if number != _FORMAT:
        raise InputError(
            f"{name} was written by covshift {version} (format {number}), and this is covshift "
            f"{__version__} (format {_FORMAT}). Upgrade covshift to read it."
        )
    return str(version)


def _trusted_types(name: str, data: bytes, contents: Contents, more: Sequence[str]) -> list[str]:
    """Return the types of a file that are not of skops' own list; refuse what nobody trusts."""
    ours = {type for kind, type in contents.types if kind in _OBJECTS and type.startswith(_OURS)}
    paths = [vars(entry).get(key, "") for entry in TABLE.values() for key in _PATHS]
    registered = {path.replace(":", ".") for path in paths if not path.startswith("covshift")}
    trusted = {*ours, *_ALSO, *more, *registered}
    places = {type: path for (_, type), path in contents.types.items()}
    unchecked = {type for type in places if type.startswith(_UNCHECKED)} - set(more)
    functions = {type for kind, type in contents.types if kind not in _OBJECTS} & ours
    try:
        found = set(_skops().get_untrusted_types(data=data))
    except Exception as error:
        raise Damaged(f"its parts cannot be read ({short(error)})") from None
    unknown = found - trusted | unchecked | functions
    if unknown:
        types = sorted(unknown)
        raise InputError(
            f"{name} holds {places.get(types[0], 'a part')}, a {types[0]}, which covshift does not "
            "load from a file by itself. If you trust who made the file: "
            f"covshift.load(path, trusted={types})"
        )
    return sorted(trusted)


def _built(data: bytes, trusted: Sequence[str]) -> Any:
    """Return the model of a file whose contents and types are checked."""
    try:
        with quiet():  # of another version: what it answers is checked
            *_, answers, model = _skops().loads(data, trusted=trusted).values()
        function = _function(model)
        if not hasattr(function, "get_params"):
            raise Damaged("it holds no estimator")
        check_fitted(model)
        if function is not model:
            model.check()
        found = finite_answers(function)
        if found is False or (answers and not found):
            raise Damaged("it gives no finite answer")
    except Damaged:
        raise
    except Exception as error:
        raise Damaged(f"its parts do not fit together ({short(error)})") from None
    return model


def _for_file(value: Any, done: dict[int, tuple[Any, Any]]) -> Any:
    """Return what of a value goes into a file: without tensors and rows, mostly itself."""
    if id(value) in done:
        return done[id(value)][1]
    found, package = value, type(value).__module__.partition(".")[0]
    if package == "torch":
        found = to_numpy(value)
    elif type(value) in (list, tuple):
        items = [_for_file(item, done) for item in value]
        if any(one is not other for one, other in zip(items, value, strict=True)):
            found = type(value)(items)
    elif type(value) is dict:
        pairs = {key: _for_file(item, done) for key, item in value.items()}
        if any(pairs[key] is not item for key, item in value.items()):
            found = pairs
    elif package in ("covshift", "sklearn") and hasattr(value, "__dict__"):
        found = value.for_file() if hasattr(type(value), "for_file") else value
        state = _for_file(vars(found), done)
        if state is not vars(found):
            found = copy.copy(found)
            vars(found).update(state)
    done[id(value)] = value, found
    return found
