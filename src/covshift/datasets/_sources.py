"""What is known about each real data set: its columns, where it comes from, and its checksum."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BANKNOTE", "CANCER", "DIABETES", "RINGNORM", "TWONORM", "Source"]


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
