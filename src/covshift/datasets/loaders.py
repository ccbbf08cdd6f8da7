"""The paper's real data: read from a folder, or fetched once from OpenML and kept there.

The folder is ``data_home``, else the environment variable ``COVSHIFT_DATA``, else ``covshift``
in the user's cache (``XDG_CACHE_HOME``, else ``~/.cache``). It holds one CSV file per data set:
a header, then numbers, the label (0 or 1) last. What is read and what is fetched must both have
the checksum that is known here, so every reader works on the same numbers in the same order.
Cost: one pass over the file, about 0.1 s for the largest.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from covshift.datasets._sources import BANKNOTE, CANCER, DIABETES, RINGNORM, TWONORM, Source
from covshift.datasets._storage import checksum, read_table, write_table

from .._quiet import quiet
from .._types import Real, Whole
from ..exceptions import InputError

__all__ = [
    "DatasetNotFoundError",
    "load_banknote",
    "load_cancer",
    "load_diabetes",
    "load_ringnorm",
    "load_twonorm",
]


class DatasetNotFoundError(FileNotFoundError):
    """A data set is neither in its folder nor to be had from OpenML."""


def load_cancer(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load Breast Cancer Wisconsin (Original): 683 complete rows, 9 features, malignant = 1.

    Source: Wolberg and Mangasarian (1990); OpenML ``breast-w``, data id 15.

    Parameters
    ----------
    data_home : path, optional
        Folder with ``cancer.csv``, or where to keep it once fetched. By default the environment
        variable ``COVSHIFT_DATA``, else the user's cache.

    Returns
    -------
    Bunch
        ``X`` and ``y`` (also as ``data`` and ``target``, scikit-learn's names for them),
        ``feature_names``, ``DESCR``, ``filename``.

    Raises
    ------
    DatasetNotFoundError
        If there is no file, and OpenML cannot be reached or sends no data.
    ValueError
        If the file cannot be read, or it or what OpenML sent is not the known data.

    Examples
    --------
    >>> from covshift.datasets import load_cancer
    >>> cancer = load_cancer()  # doctest: +SKIP
    >>> cancer.X.shape  # doctest: +SKIP
    (683, 9)
    """
    return _load(CANCER, data_home)


def load_diabetes(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load Pima Indians Diabetes: 768 rows, 8 features, tested positive = 1.

    Zeros that mean missing are left as 0. Source: Smith et al. (1988); OpenML ``diabetes``, data
    id 37. Parameters, result and errors as in ``load_cancer``; the file is ``diabetes.csv``.

    Examples
    --------
    >>> from covshift.datasets import load_diabetes
    >>> load_diabetes().X.shape  # doctest: +SKIP
    (768, 8)
    """
    return _load(DIABETES, data_home)


def load_banknote(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load Banknote authentication: 1372 rows, 4 features, OpenML's second class = 1.

    Source: Lohweg (2012); OpenML ``banknote-authentication``, data id 1462. Parameters, result
    and errors as in ``load_cancer``; the file is ``banknote.csv``.

    Examples
    --------
    >>> from covshift.datasets import load_banknote
    >>> load_banknote().X.shape  # doctest: +SKIP
    (1372, 4)
    """
    return _load(BANKNOTE, data_home)


def load_ringnorm(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load DELVE's ringnorm: 7400 rows, 20 features, the narrow class = 1.

    Source: Breiman (1996); OpenML ``ringnorm``, data id 1496. Parameters, result and errors as
    in ``load_cancer``; the file is ``ringnorm.csv``. ``make_ringnorm`` draws new rows.

    Examples
    --------
    >>> from covshift.datasets import load_ringnorm
    >>> load_ringnorm().X.shape  # doctest: +SKIP
    (7400, 20)
    """
    return _load(RINGNORM, data_home)


def load_twonorm(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load DELVE's twonorm: 7400 rows, 20 features, the class of negative mean = 1.

    Source: Breiman (1996); OpenML ``twonorm``, data id 1507. Parameters, result and errors as in
    ``load_cancer``; the file is ``twonorm.csv``. ``make_twonorm`` draws new rows.

    Examples
    --------
    >>> from covshift.datasets import load_twonorm
    >>> load_twonorm().X.shape  # doctest: +SKIP
    (7400, 20)
    """
    return _load(TWONORM, data_home)


def _load(source: Source, data_home: str | os.PathLike[str] | None) -> Bunch:
    path = _folder(data_home) / source.filename
    if path.exists():
        X, y = _read(source, path)
    else:
        X, y = _fetch(source, path)
        _keep(path, source, X, y)
    return Bunch(
        X=X,
        y=y,
        data=X,
        target=y,
        feature_names=list(source.feature_names),
        DESCR=source.description,
        filename=str(path),
    )


def _folder(data_home: str | os.PathLike[str] | None) -> Path:
    chosen = data_home or os.environ.get("COVSHIFT_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "covshift"


def _read(source: Source, path: Path) -> tuple[Real, Whole]:
    try:
        X, y = read_table(path, source.columns)
        if checksum(X, y) != source.checksum:
            raise InputError(f"{path} is not the known {source.name} data: its checksum differs.")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{str(error).rstrip('.')}. Replace {path}, or remove it to fetch the data from "
            "OpenML again."
        ) from error
    return X, y


def _fetch(source: Source, path: Path) -> tuple[Real, Whole]:
    try:
        X, classes = _from_openml(source.openml_id)
    except Exception as error:  # no network, a broken download, no such data: one remedy
        raise DatasetNotFoundError(
            f"There is no {path}, and OpenML could not be reached or sent something else "
            f"({type(error).__name__}: {error}). Connect to the network, or put {source.filename} "
            "into a folder and name that folder as data_home or in the environment variable "
            f"COVSHIFT_DATA. The file is CSV with the header {','.join(source.columns)!r}, the "
            "label 0 or 1."
        ) from error
    complete = ~np.isnan(X).any(axis=1)
    X, y = X[complete], (classes[complete] == source.positive_class).astype(np.int64)
    if checksum(X, y) != source.checksum:
        raise InputError(
            f"OpenML's data id {source.openml_id} is not the known {source.name} data: its "
            f"checksum differs. Nothing was kept. Put the known file at {path}."
        )
    return X, y


def _from_openml(data_id: int) -> tuple[Real, NDArray[Any]]:
    from sklearn.datasets import fetch_openml  # slow to import, and seldom needed

    with quiet(UserWarning, message="A network error occurred"):
        # liac-arff: the other parser needs pandas. No cache: the canonical form is kept instead.
        X, classes = fetch_openml(
            data_id=data_id,
            as_frame=False,
            parser="liac-arff",
            return_X_y=True,
            cache=False,
            n_retries=1,
        )
    return np.asarray(X, dtype=np.float64), classes


def _keep(path: Path, source: Source, X: Real, y: Whole) -> None:
    try:
        write_table(path, source.columns, X, y)
    except OSError as error:
        warnings.warn(f"{source.name} was fetched but not kept: {error}.", stacklevel=4)
