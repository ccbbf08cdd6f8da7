"""How an answer was made: the facts of its run that a paper and a referee ask for."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..data.features import MISSING, FeatureColumns
from ..diagnostics.distances import feature_differences
from ..encoding.feature import MISSING as NO_VALUE
from ..margins.sample import balance_of
from ..numerics.copies import shared
from ..registry import weighters
from ..show.words import counted, joined, printable
from .overlap import Covered
from .problem import Problem
from .weights import Weights

WEIGHTED = ("dr", "weights", "pape", "both")
"""Methods whose numbers rest on weights."""


class Procedure:
    """How an answer was made: plain facts of its run, which are kept with a stored answer.

    ``settings`` are those of the run, ``made`` the replicates that it made, ``labels`` how target
    rows with an outcome were chosen, and ``detail`` what else the question says.
    """

    def __init__(
        self,
        problem: Problem,
        covered: Covered,
        settings: Any,
        *,
        made: Any = None,
        labels: str = "",
        detail: str = "",
    ) -> None:
        sample, weights, whole = problem.sample, problem.weights, covered.sample
        user = settings.outcome_model
        names = {f.name for f in sample.features if not _marks_gaps(sample, f)}
        # Rows of the sample and of the target that were given; none of margins.
        self.rows = len(whole.X) if whole.rows is None else int(whole.rows.max()) + 1
        self.target_rows = 0 if sample.known is not None else whole.n_given
        self.covariates = len(names if sample.known is None else sample.known.margins.columns)
        self.margins = _margins_words(sample)  # empty where the target is rows
        self.finite = settings.finite_population
        self.folds = int(problem.fold.max()) + 1
        self.deals = len(problem.fold)  # of the folds
        self.outcome_model = "" if user is None else _model_words(user)  # of the user
        self.weighter, self.weighter_works = _weighter_words(weights)  # empty: they were given
        self.met = weights.met  # whether the weights meet margins exactly
        self.equation = weights.solve_equation
        self.small_sample = weights.weighter is not None or weights.met  # correction of variances
        self.leans = weights.flat is not None  # to flatter weights
        self.trusted = covered.trusted  # whether the sample shows the whole target
        self.max_weight = settings.max_weight
        self.weighted = sample.weighted
        self.target_weighted = sample.target_weight is not None
        self.strata = 0 if sample.strata is None else len(np.unique(sample.strata))
        self.clusters = 0 if sample.cluster is None else problem.design.units
        self.fpc = sample.fpc is not None
        self.replicates = None if made is None else (made.type, made.count)
        self.groups = len(problem.groups())
        self.labels, self.detail = labels, detail
        self.balance = _balance(sample, weights.final)  # largest gaps: before, after
        self.gaps = tuple(_gaps(sample))  # column, missing in the sample and in the target
        count = 0 if sample.known is not None else int(shared(whole.X, whole.T).sum())
        self.shared = f"{count:,} of {len(whole.T):,} target rows are sample rows" if count else ""
        self.encoded = sample.encoder is not None  # whether a table became numbers
        self.random_state = settings.random_state
        self.versions = _versions()

    @property
    def design(self) -> str:
        """The sample's design in words; empty where rows count as drawn one by one."""
        parts = {
            "design weights": self.weighted,
            counted(self.strata, "stratum", "strata"): self.strata,
            counted(self.clusters, "cluster"): self.clusters,
            "a finite population correction": self.fpc,
        }
        return joined([words for words, there in parts.items() if there])


def _model_words(model: Any) -> str:
    """Name a model of the user's, that at the end of a pipeline, and its package."""
    last = model[-1] if isinstance(model, Pipeline) else model
    package = type(last).__module__.partition(".")[0]
    package = {"sklearn": "scikit-learn", "__main__": ""}.get(package, package)
    return f"{type(last).__name__}{f' ({package})' if package else ''}"


def _versions() -> dict[str, str]:
    found = {}
    for package in ("covshift", "scikit-learn", "NumPy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "(unknown version)"
    return {**found, "Python": platform.python_version()}


def _weighter_words(weights: Weights) -> tuple[str, tuple[str, ...]]:
    """Name what made the weights, as the field calls it, with its sources."""
    made = weights.weighter
    if made is None:
        return "", ()
    own = type(made).__name__
    entry = next((one for one in weighters() if one.path.rpartition(":")[2] == own), None)
    if entry is None or not entry.words:
        return own, () if entry is None else entry.works
    words, works, options = entry.words, entry.works, made.get_params(deep=False)
    if entry.name == "entropy" and not weights.met:
        words += f" of the covariates' means{' and squares' if options['moments'] > 1 else ''}"
    if entry.name == "discriminative":
        classifier = options["classifier"]
        named = "logistic regression" if classifier is None else type(classifier).__name__
        words += f" ({named}), as its odds of the target"
    if options.get("limits") is not None:
        low, high = options["limits"]
        words += f", with weights limited to {low:g} to {high:g} times their mean"
        works = (*works, "deville")
    return words, works


def _margins_words(sample: Any) -> str:
    if sample.known is None:
        return ""
    margins = sample.known.margins
    words = f"published margins of {counted(len(margins.columns), 'covariate')}"
    if margins.source:
        words += f" ({printable(margins.source, 200)})"
    if margins.size is not None:
        words += f", which describe {margins.size:,.0f} rows"
    return words


def _balance(sample: Any, final: Any) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """Largest difference between sample and target, under design weights and under final ones."""
    if sample.known is not None:
        ends = []
        for w in (sample.d, final):
            worst = max(balance_of(sample.known, w), key=lambda row: abs(row.gap))
            ends.append((worst.what, abs(worst.gap)))
        return ends[0], ends[1]
    names = [feature.name for feature in sample.features]
    before, after = (np.abs(feature_differences(sample, w)) for w in (None, final))
    if not len(names):
        return None
    k, m = int(np.argmax(before)), int(np.argmax(after))
    return (names[k], float(before[k])), (names[m], float(after[m]))


def _marks_gaps(sample: Any, feature: FeatureColumns) -> bool:
    """Whether a feature is the mark of another one's missing values."""
    if feature.kind == "missing":
        return True
    if sample.encoder is None or not feature.name.endswith(MISSING) or len(feature.columns) > 1:
        return False
    return feature.name.removesuffix(MISSING) in sample.names  # where each column is a feature


def _gaps(sample: Any) -> Iterator[tuple[str, int, int]]:
    """Columns with missing values: their name, and in how many rows of both samples."""
    for feature in sample.features if sample.known is None else ():
        column = None
        if _marks_gaps(sample, feature):
            column = feature.columns[0]
        elif NO_VALUE in feature.levels:
            column = feature.columns[feature.levels.index(NO_VALUE)]
        if column is not None:
            here, there = (int(part[:, column].sum()) for part in (sample.X, sample.T))
            yield feature.name.removesuffix(MISSING), here, there
