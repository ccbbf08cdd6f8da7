"""The paper's real data: read from a folder, or fetched once from OpenML and kept there.

The folder is ``data_home``, else the environment variable ``COVSHIFT_DATA``, else ``covshift``
in the user's cache (``XDG_CACHE_HOME``, else ``~/.cache``). It holds one CSV file per data set:
a header, then numbers, the label (0 or 1) last. What is read and what is fetched must both have
the checksum that is known here, so every reader works on the same numbers in the same order.
Cost: one pass over the file, about 0.1 s for the largest.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from covshift.exceptions import InputError
from covshift.numerics.array import Real, Whole


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
    """
    return load(CANCER, data_home)


def load_diabetes(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load Pima Indians Diabetes: 768 rows, 8 features, tested positive = 1.

    Zeros that mean missing are left as 0. Source: Smith et al. (1988); OpenML ``diabetes``, data
    id 37. Parameters, result and errors as in ``load_cancer``; the file is ``diabetes.csv``.
    """
    return load(DIABETES, data_home)


def load_banknote(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load Banknote authentication: 1372 rows, 4 features, OpenML's second class = 1.

    Source: Lohweg (2012); OpenML ``banknote-authentication``, data id 1462. Parameters, result
    and errors as in ``load_cancer``; the file is ``banknote.csv``.
    """
    return load(BANKNOTE, data_home)


def load_ringnorm(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load DELVE's ringnorm: 7400 rows, 20 features, the narrow class = 1.

    Source: Breiman (1996); OpenML ``ringnorm``, data id 1496. Parameters, result and errors as
    in ``load_cancer``; the file is ``ringnorm.csv``. ``make_ringnorm`` draws new rows.
    """
    return load(RINGNORM, data_home)


def load_twonorm(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load DELVE's twonorm: 7400 rows, 20 features, the class of negative mean = 1.

    Source: Breiman (1996); OpenML ``twonorm``, data id 1507. Parameters, result and errors as in
    ``load_cancer``; the file is ``twonorm.csv``. ``make_twonorm`` draws new rows.
    """
    return load(TWONORM, data_home)


def load(source: Source, data_home: str | os.PathLike[str] | None) -> Bunch:
    path = folder_of(data_home) / source.filename
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


def folder_of(data_home: str | os.PathLike[str] | None) -> Path:
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
            f"checksum differs. It was not saved. Put the known file at {path}."
        )
    return X, y


def _from_openml(data_id: int) -> tuple[Real, NDArray[Any]]:
    from sklearn.datasets import fetch_openml  # slow to import, and seldom needed

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
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
        warnings.warn(f"{source.name} was fetched but not saved: {error}.", stacklevel=4)


# What is known about each real data set: its columns, where it comes from, and its checksum.


class Source(NamedTuple):
    """One data set with labels 0 and 1."""

    name: str
    feature_names: tuple[str, ...]
    openml_id: int
    #: The OpenML class that becomes label 1.
    positive_class: str
    #: SHA-256 of the features (little-endian float64, row by row), then the labels (int8).
    checksum: str
    description: str

    @property
    def filename(self) -> str:
        return f"{self.name}.csv"

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.feature_names, "label")


CANCER = Source(
    name="cancer",
    feature_names=(
        "clump_thickness",
        "uniformity_cell_size",
        "uniformity_cell_shape",
        "marginal_adhesion",
        "single_epithelial_cell_size",
        "bare_nuclei",
        "bland_chromatin",
        "normal_nucleoli",
        "mitoses",
    ),
    openml_id=15,
    positive_class="malignant",
    checksum="8fc5f0cd659722d1800739e16aa2c764d79a425ae43531c76a1a807b49d19ac9",
    description=(
        "Breast Cancer Wisconsin (Original), Wolberg and Mangasarian (1990). The 683 rows without "
        "missing values; 444 benign (0), 239 malignant (1). Nine features graded 1 to 10."
    ),
)

DIABETES = Source(
    name="diabetes",
    feature_names=(
        "pregnancies",
        "glucose",
        "blood_pressure",
        "skin_thickness",
        "insulin",
        "bmi",
        "pedigree",
        "age",
    ),
    openml_id=37,
    positive_class="tested_positive",
    checksum="d43a44b5d8a02e51ede85f1bc8cdb0fac58abee5b49bba69a87e36ca9f309385",
    description=(
        "Pima Indians Diabetes, Smith et al. (1988). 768 rows; 500 tested negative (0), 268 "
        "tested positive (1). Zeros that mean missing are left as 0."
    ),
)

BANKNOTE = Source(
    name="banknote",
    feature_names=("variance", "skewness", "curtosis", "entropy"),
    openml_id=1462,
    positive_class="2",
    checksum="44f7c23b290d300ae749ded27b34444b571e2463925ec0aba2e0dde677d27cd9",
    description=(
        "Banknote authentication, Lohweg (2012). 1372 rows; 762 of label 0, 610 of label 1. Four "
        "statistics of wavelet-transformed pictures of banknotes."
    ),
)

_TWENTY = tuple(f"x{k}" for k in range(1, 21))

RINGNORM = Source(
    name="ringnorm",
    feature_names=_TWENTY,
    openml_id=1496,
    positive_class="2",
    checksum="228ec7e865955c89099052bfb49140b07a12f05a68fdaeb0051429357c1aaf93",
    description=(
        "Ringnorm, Breiman (1996), as drawn for DELVE. 7400 rows; 3664 of the wide class (0), "
        "3736 of the narrow one (1). See make_ringnorm."
    ),
)

TWONORM = Source(
    name="twonorm",
    feature_names=_TWENTY,
    openml_id=1507,
    positive_class="2",
    checksum="7e833b9aad9e583b74eeadeafa161948e2153828465714cd4a09d4ed0cc9546f",
    description=(
        "Twonorm, Breiman (1996), as drawn for DELVE. 7400 rows; 3703 of mean +a (0), 3697 of "
        "mean -a (1). See make_twonorm."
    ),
)


# Read, check and write labelled tables: CSV with a header, numbers, and a last column of 0/1.


def read_table(path: Path, columns: Sequence[str]) -> tuple[Real, Whole]:
    """Read features and labels; anything but a full table of finite numbers is an error."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8: {error}.") from error
    header = ",".join(columns)
    if not lines or lines[0] != header:
        found = repr(lines[0]) if lines else "an empty file"
        raise InputError(f"{path}: the first line must be {header!r}, but it is {found}.")
    rows = [_parse_row(line, path, at, len(columns)) for at, line in enumerate(lines[1:], start=2)]
    table = np.array(rows, dtype=np.float64).reshape(-1, len(columns))
    X, labels = table[:, :-1], table[:, -1]
    if not np.isin(labels, (0, 1)).all():
        raise InputError(f"{path}: the last column must hold labels 0 and 1 only.")
    return np.ascontiguousarray(X), labels.astype(np.int64)


def write_table(path: Path, columns: Sequence[str], X: Real, y: Whole) -> None:
    """Write a table that ``read_table`` reads back bit for bit; readers never see half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".covshift-") as folder:
        draft = Path(folder) / path.name
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(",".join(columns) + "\n")
            for x, label in zip(X.tolist(), y.tolist(), strict=True):
                file.write(",".join(map(repr, x)) + f",{label}\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def checksum(X: Real, y: Whole) -> str:
    """SHA-256 of the features (little-endian float64, row by row), then the labels (int8)."""
    digest = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes())
    digest.update(y.astype(np.int8).tobytes())
    return digest.hexdigest()


def _parse_row(line: str, path: Path, at: int, width: int) -> list[float]:
    cells = line.split(",")
    if len(cells) != width:
        raise InputError(f"{path}, line {at}: {len(cells)} values, but {width} were expected.")
    try:
        row = [float(cell) for cell in cells]
    except ValueError:
        raise InputError(f"{path}, line {at}: not all values are numbers: {line[:80]!r}.") from None
    if not np.isfinite(row).all():
        raise InputError(f"{path}, line {at}: missing or infinite values: {line[:80]!r}.")
    return row
