"""Every correction, weighter, learner, metric and quantity by name, from which all lists derive.

`covshift.weights.WEIGHTERS`, `covshift.corrections.CORRECTIONS`, what is compared, what "auto"
tries, the metrics of `evaluate`, the quantities of `estimate`, the command line's choices and the
kinds of model files are read from it. Entries are plain data: a class or function is given by its
path and imported when it is first asked for, so that the registry costs nothing to read.

`register` adds an entry; docs/extending.md walks through one of each kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from math import inf
from typing import Any, ClassVar

from .exceptions import InputError

NONE = "none"
"""The method that corrects nothing: V = I, all weights one."""

AUTO = "auto"
"""No entry, and never the name of one: "choose for me"."""

__all__ = [
    "LEARNERS",
    "METRICS",
    "QUANTITIES",
    "TABLE",
    "CorrectionEntry",
    "Entry",
    "LearnerEntry",
    "MetricEntry",
    "QuantityEntry",
    "WeighterEntry",
    "corrections",
    "learners",
    "register",
    "weighters",
]

FILES = "model files"
"""What a learner can do that `covshift fit` may fit and save."""

MARGINS = "margins"
"""What a weighter or correction can do that takes `covshift.Margins` in place of target rows."""

NEEDS = {
    "target rows": "it sees the target through its rows",
    "labels": "it learns from outcomes",
    "weights": "it weights the training rows: its factory takes weights, or what finds them",
    "all pairs of rows": "its cost or its memory grows with the square of the rows",
    "scores": "it ranks rows: predicted classes are not enough",
    "probabilities": "it judges probabilities: other scores are not enough",
    "groups": "it compares the groups of by",
}
CAN = {
    "V": "fit(X, y, X_target=...) corrects by V: it has a parameter `correction`",
    "sample weights": "fit takes sample_weight",
    "many outputs": "its regressor takes a column of y for each output",
    "blocks": "it can be summed over blocks of rows: landmarks, partial_fit, clusters",
    "device": "it computes in the array library and on the device of its input",
    MARGINS: "its fit takes X_target=Margins, which has no rows",
    FILES: "its fitted estimators can be saved, and `covshift fit` offers it",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a name stands for; ``needs`` and ``can`` are words of `NEEDS` and `CAN`."""

    name: str
    about: str  # a few words, for the help of the command line
    needs: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()

    table: ClassVar[dict[str, Any]] = {}  # where the name stands: no two entries of one share it

    def __post_init__(self) -> None:
        for word in self.needs - NEEDS.keys() | self.can - CAN.keys():
            raise InputError(f"{self.name}: {word!r} is neither in NEEDS nor in CAN.")

    @property
    def takes_margins(self) -> bool:
        """Whether margins are enough of a target."""
        return MARGINS in self.can or "target rows" not in self.needs

    def load(self) -> Any:
        """Import and return what the name stands for."""
        return load(self.path)  # type: ignore[attr-defined]


TABLE: dict[str, Any] = Entry.table
"""Corrections, weighters and learners by name: a method may be either of the first two."""


@dataclass(frozen=True, kw_only=True)
class CorrectionEntry(Entry):
    """A way to make V."""

    path: str  # of a class or factory, "module:name"
    compared_up_to: float = 0  # features up to which a comparison tries it
    in_auto: bool = False  # whether correction="auto" tries it


@dataclass(frozen=True, kw_only=True)
class WeighterEntry(Entry):
    """A way to weight the training rows."""

    path: str  # of a class
    words: str = ""  # what makes the weights, in the methods section of a paper
    works: tuple[str, ...] = ()  # "Author (year). Title", or keys of `covshift.engine.citing.WORKS`
    rows: int = 1_000  # of either sample that a diagnosis or report gives it
    compared_up_to: float = inf  # features up to which a comparison tries it
    in_diagnosis: bool = False  # whether a diagnosis shows its effective sample size
    in_auto: bool = False  # whether correction="auto" tries its weights


@dataclass(frozen=True, kw_only=True)
class LearnerEntry(Entry):
    """A classifier and a regressor that take V, or sample weights."""

    classifier: str
    regressor: str
    classifier_options: Mapping[str, Any] = field(default_factory=dict)
    regressor_options: Mapping[str, Any] = field(default_factory=dict)
    default: str | None  # the method of ``covshift fit``; None: held-out rows choose it
    max_rows: int = 2_000  # of either sample that a comparison uses by default
    compares: frozenset[str] | None = None  # corrections that a comparison tries; None: all
    tuned: str | None = None  # parameter that "cv" chooses once, on all rows, in a comparison
    shared: str | None = None  # the same, but once for all methods: by the uncorrected fit
    in_comparison: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # options, by task
    beside_others: str | None = None  # correction with which it stands beside learners without V

    def load(self) -> tuple[Any, Any]:
        """Return the classes: classifier and regressor."""
        return load(self.classifier), load(self.regressor)

    def make(self, task: str, **options: Any) -> Any:
        """Return an estimator for "classification" or "regression"."""
        classify = task == "classification"
        path = self.classifier if classify else self.regressor
        own = self.classifier_options if classify else self.regressor_options
        return load(path)(**{**own, **options})


@dataclass(frozen=True, kw_only=True)
class MetricEntry(Entry):
    """A number that says how good a model is, for `evaluate`.

    ``of`` says what the function at ``path`` takes:

    - "losses": ``loss(y, prediction)`` returns one number per row, whose mean is the metric; with
      two classes ``y`` is 1 for the positive class, and the prediction is its score;
    - "classes", "one class": masses, and masses with the number of a class, as
      `covshift.evaluations.masses` has them; it returns the value with its derivative;
    - "its own": `covshift.evaluations` knows how it is computed.
    """

    path: str
    of: str = "losses"
    task: str | None = None  # "classes" or "numbers"; None: of both
    range: str = "any"  # "share" (from 0 to 1), "positive" (from 0 on) or "any"
    word: str = ""  # as people write it, where that is not its name
    in_default: bool = False  # whether `evaluate` shows it where no metrics are named

    table: ClassVar[dict[str, Any]] = {}


METRICS: dict[str, MetricEntry] = MetricEntry.table
"""The metrics of `covshift.evaluate` by name."""


@dataclass(frozen=True, kw_only=True)
class QuantityEntry(Entry):
    """What `estimate` can be asked for.

    The class at ``path`` is a `covshift.estimates.Quantity`, whose fields are its options.
    """

    path: str

    table: ClassVar[dict[str, Any]] = {}


QUANTITIES: dict[str, QuantityEntry] = QuantityEntry.table
"""The quantities of `covshift.estimate` by name."""


def load(path: str) -> Any:
    """Import what ``"module:name"`` names."""
    module, _, name = path.partition(":")
    return reduce(getattr, name.split("."), import_module(module))


def register(entry: Entry) -> Entry:
    """Add an entry: its name then works wherever names of its kind do; it can be taken once."""
    if not entry.name or entry.name == AUTO or ":" in entry.name:
        raise InputError(f"{entry.name!r} cannot be the name of an entry.")
    if entry.name in entry.table:
        about = entry.table[entry.name].about
        raise InputError(f"The name {entry.name!r} is taken: {about}. Choose another one.")
    entry.table[entry.name] = entry
    return entry


class Names(Mapping[str, Any]):
    """What the names of one kind stand for, imported when it is asked for."""

    def __init__(self, kind: type[Entry]) -> None:
        self.kind = kind

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return TABLE[name].load()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and isinstance(TABLE.get(name), self.kind)

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in TABLE.items() if isinstance(entry, self.kind))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{len(self)} names: {', '.join(self)}>"


LEARNERS: Mapping[str, tuple[Any, Any]] = Names(LearnerEntry)
"""The classifier and the regressor that a learner's name stands for."""


def corrections() -> list[CorrectionEntry]:
    """Return the corrections in the order of the table."""
    return [entry for entry in TABLE.values() if isinstance(entry, CorrectionEntry)]


def weighters() -> list[WeighterEntry]:
    """Return the weighters in the order of the table."""
    return [entry for entry in TABLE.values() if isinstance(entry, WeighterEntry)]


def learners() -> list[LearnerEntry]:
    """Return the learners in the order of the table, the default first."""
    return [entry for entry in TABLE.values() if isinstance(entry, LearnerEntry)]


def listed(names: Any) -> str:
    """Return names as a sentence has them: "a, b or c"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else str(last)


def _correction(
    name: str, path: str, about: str, needs: str, *, margins: bool = False, **more: Any
) -> None:
    by_blocks = "all pairs of rows" not in needs
    can = {"device", "blocks"} if by_blocks else {"device"}
    can |= {MARGINS} if margins else set()
    path = f"covshift.corrections.{path}"
    register(
        CorrectionEntry(
            name=name, path=path, about=about, needs=_words(needs), can=frozenset(can), **more
        )
    )


def _weighter(name: str, path: str, about: str, *, quadratic: bool = False, **more: Any) -> None:
    needs = "target rows, all pairs of rows" if quadratic else "target rows"
    path = f"covshift.weights.{path}"
    register(WeighterEntry(name=name, path=path, about=about, needs=_words(needs), **more))


def _metric(name: str, path: str, about: str, needs: str = "", **more: Any) -> None:
    path = f"covshift.evaluations.{path}"
    register(MetricEntry(name=name, path=path, about=about, needs=_words(needs), **more))


def _quantity(name: str, path: str, about: str, **more: Any) -> None:
    path = f"covshift.estimates.{path}"
    register(QuantityEntry(name=name, path=path, about=about, **more))


def _words(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(", ")))


# fmt: off
_correction(NONE, "elementary:Unweighted", "no correction, V = I", "", in_auto=True)
_correction("uniform", "distributions:Uniform", "a target uniform on a box", "all pairs of rows")
_correction("gaussian", "distributions:Gaussian", "a target with normal, independent features",
            "target rows, all pairs of rows")
_correction("blended", "empirical:blended", "each feature's distribution function, mixed with I",
            "target rows", compared_up_to=inf, in_auto=True, margins=True)
_correction("additive", "empirical:Additive", "each feature's distribution function",
            "target rows", compared_up_to=inf, margins=True)
_correction("sliced", "empirical:Sliced", "distribution functions along random directions",
            "target rows", compared_up_to=inf)
_correction("pairwise", "empirical:Pairwise", "pairs of features", "target rows", compared_up_to=4)
_correction("multiplicative", "empirical:Multiplicative", "all features jointly", "target rows",
            compared_up_to=3)
_correction("doubly-corrected", "empirical:doubly_corrected", "blended, the rows weighted too",
            "target rows, weights", margins=True)

_weighter("cdf", "cdf.weighter:CDFWeights", "distribution functions matched", rows=100_000,
          in_diagnosis=True, in_auto=True, can=frozenset({"device", MARGINS}),
          words="weights under which the distribution function of every covariate approaches "
                "the target's",
          works=("mazaheri",))
_weighter("tilted-cdf", "tilted:TiltedCDFWeights", "cdf on top of an exponential tilt",
          rows=100_000, compared_up_to=0,
          words="an exponential tilt of the covariates' means and squares (penalised entropy "
                "balancing), refined by weights under which the distribution function of every "
                "covariate approaches the target's",
          works=("hainmueller", "mazaheri"))
_weighter("discriminative", "discriminative:Discriminative", "a classifier of the two samples",
          rows=30_000, in_diagnosis=True,
          words="a classifier of the two samples",
          works=("qin", "bickel"))
_weighter("entropy", "entropy:EntropyBalancing", "moments matched", rows=30_000,
          in_diagnosis=True, can=frozenset({MARGINS}),
          words="entropy balancing",
          works=("hainmueller",))
_weighter("energy", "energy:EnergyWeights", "energy distance", quadratic=True, in_diagnosis=True,
          words="energy balancing",
          works=("huling",))
_weighter("gaussian-ratio", "gaussian:GaussianRatio", "ratio of two normal densities", rows=30_000,
          words="a ratio of two normal densities",
          works=("shimodaira",))
_weighter("kde", "kde:KDE", "ratio of two kernel densities", quadratic=True,
          words="a ratio of two kernel density estimates",
          works=("shimodaira",))
_weighter("kmm", "kmm:KMM", "kernel mean matching", quadratic=True,
          words="kernel mean matching",
          works=("huang",))
_weighter("kliep", "kliep:KLIEP", "density ratio by Kullback-Leibler divergence",
          words="the Kullback-Leibler importance estimation procedure (KLIEP)",
          works=("kliep",))
_weighter("ulsif", "ulsif:ULSIF", "density ratio by least squares",
          words="unconstrained least-squares importance fitting (uLSIF)",
          works=("kanamori",))
_weighter("rulsif", "ulsif:RULSIF", "relative density ratio by least squares",
          words="relative least-squares importance fitting (RuLSIF)",
          works=("yamada",))
_weighter("neighbors", "neighbors:NearestNeighbors", "target rows among nearest neighbours",
          quadratic=True,
          words="a nearest-neighbour density ratio",
          works=("lima", "kremer"))
_weighter("raking", "raking:Raking", "shares of cells, by iterative proportional fitting",
          rows=30_000, can=frozenset({MARGINS}),
          words="raking (iterative proportional fitting)",
          works=("deming",))
_weighter("poststratification", "poststratification:PostStratification",
          "shares of crossed cells", rows=30_000, compared_up_to=3, can=frozenset({MARGINS}),
          words="post-stratification",
          works=("holt",))

_CLASSES = {"task": "classes", "of": "classes", "range": "share"}
_ONE_CLASS = {"task": "classes", "of": "one class", "range": "share"}
_NUMBERS = {"task": "numbers", "range": "positive"}
_metric("accuracy", "masses:accuracy", "share of rows predicted in the right class", **_CLASSES,
        in_default=True)
_metric("balanced_accuracy", "masses:balanced_accuracy", "mean recall of the classes", **_CLASSES)
_metric("precision", "masses:precision", "share of correct ones among predicted", **_ONE_CLASS)
_metric("recall", "masses:recall", "share of a class that is recognised", **_ONE_CLASS)
_metric("specificity", "masses:specificity", "the same for all other classes", **_ONE_CLASS)
_metric("f1", "masses:f1", "harmonic mean of precision and recall", **_ONE_CLASS, word="F1")
_metric("roc_auc", "masses:roc_auc", "area under the ROC curve", "scores", **_ONE_CLASS,
        word="AUC", in_default=True)
_metric("average_precision", "masses:average_precision", "area under precision and recall",
        "scores", **_ONE_CLASS)
_metric("brier", "masses:brier", "squared error of probabilities", "probabilities", **_CLASSES,
        word="Brier score", in_default=True)
_metric("log_loss", "masses:log_loss", "minus the log of the class's probability",
        "probabilities", **_CLASSES | {"range": "positive"}, word="log-loss")
_metric("calibration_intercept", "masses:calibration_intercept", "log-odds by which it is off",
        "probabilities", **_ONE_CLASS | {"range": "any"})
_metric("calibration_slope", "masses:calibration_slope", "1 where log-odds have the right spread",
        "probabilities", **_ONE_CLASS | {"range": "any"})
_metric("calibration_error", "masses:calibration_error", "mean distance in ten bins",
        "probabilities", **_ONE_CLASS)
_metric("calibration_curve", "metrics:bin_metrics", "share of the class in bins of its score",
        "probabilities", **_CLASSES | {"of": "its own"})
_metric("confusion_matrix", "metrics:cells", "share of each pair of classes",
        **_CLASSES | {"of": "its own"})
_metric("cost", "masses:cost", "mean cost, as Cost(table)",
        **_CLASSES | {"of": "its own", "range": "any"})
_metric("mse", "numbers:squared", "mean squared error", **_NUMBERS, word="MSE")
_metric("rmse", "numbers:root", "its square root", **_NUMBERS, of="its own", word="RMSE",
        in_default=True)
_metric("mae", "numbers:absolute", "mean absolute error", **_NUMBERS, word="MAE", in_default=True)
_metric("median_absolute_error", "numbers:Regressed.numbers", "median absolute error",
        **_NUMBERS | {"range": "any"}, of="its own")
_metric("r2", "numbers:explained", "share of the variance explained",
        **_NUMBERS | {"range": "any"}, of="its own", word="R²", in_default=True)
_metric("bias", "numbers:excess", "mean of prediction less outcome", **_NUMBERS | {"range": "any"})

_quantity("mean", "quantities:Mean", "mean; of zeros and ones a share")
_quantity("proportion", "quantities:Proportion", "share of every category")
_quantity("total", "quantities:Total", "sum over the population")
_quantity("ratio", "quantities:Ratio", "ratio of two means")
_quantity("median", "quantiles:Median", "median")
_quantity("quantile", "quantiles:Quantile", "quantiles")
_quantity("cdf", "quantities:CDF", "share of outcomes of at most a value")
_quantity("difference", "quantities:Difference", "differences between groups",
          needs=_words("groups"))
_quantity("coefficients", "regressions:Coefficients", "coefficients of a regression",
          needs=_words("target rows"))
# fmt: on

register(
    LearnerEntry(
        name="vsvm",
        about="V-SVM",
        needs=_words("target rows, labels"),
        can=_words("V, sample weights, many outputs, blocks, device, model files"),
        classifier="covshift.machine:VSVC",
        regressor="covshift.machine:VSVR",
        default=None,
        max_rows=1_000,
        tuned="reg",
        shared="kernel",
        in_comparison={  # no folds inside the folds, and few for the penalty: it is chosen often
            "classification": {"probability": "clip", "n_folds": 3},
            "regression": {"n_folds": 3},
        },
        beside_others="blended",
    )
)
register(
    LearnerEntry(
        name="linear",
        about="logistic or ridge regression",
        needs=_words("labels"),
        can=_words("sample weights, many outputs, model files"),
        classifier="sklearn.linear_model:LogisticRegression",
        regressor="sklearn.linear_model:Ridge",
        classifier_options={"max_iter": 2000},
        default=None,
    )
)
register(
    LearnerEntry(
        name="trees",
        about="boosted trees of scikit-learn",
        needs=_words("labels"),
        can=_words("sample weights, model files"),
        classifier="covshift.boosting:BoostedTreesClassifier",
        regressor="covshift.boosting:BoostedTreesRegressor",
        default=None,
    )
)
_LARGE_STEPS = {"n_estimators": 30, "learning_rate": 0.3}  # a comparison fits ninety models
register(
    LearnerEntry(
        name="vboost",
        about="V-boosted trees",
        needs=_words("target rows, labels"),
        can=_words("V, sample weights, many outputs, model files"),
        classifier="covshift.boosting:VBoostClassifier",
        regressor="covshift.boosting:VBoostRegressor",
        classifier_options=_LARGE_STEPS,
        regressor_options=_LARGE_STEPS,
        default="blended",
        max_rows=300,
        compares=frozenset({"blended"}),
    )
)
