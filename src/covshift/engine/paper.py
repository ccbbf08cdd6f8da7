"""What a paper says of an answer: a methods section, and what a referee asks.

Both are made from the answer and a `Procedure`, the plain facts of the run that made it. A sentence
stands there only if the step was taken, and a work is cited only by such a sentence.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np
from sklearn.pipeline import Pipeline

from ..data.features import MISSING, FeatureColumns
from ..diagnostics.distances import feature_differences
from ..encoding.feature import MISSING as NO_VALUE
from ..margins.sample import balance_of
from ..numerics.copies import shared
from ..registry import weighters
from ..show.notes import Note, distinct, plain
from ..show.table import Column, Table
from ..show.words import joined, percent, printable, shown
from .overlap import Covered
from .problem import Problem
from .stack import NAME
from .weights import Weights

_LISTED = """
covshift: The covshift developers (2026). covshift: correct sampling bias by comparing cumulative
  distribution functions
abadie: Abadie and Imbens (2008). On the failure of the bootstrap for matching estimators
alexandari: Alexandari, Kundaje and Shrikumar (2020). Maximum likelihood with bias-corrected
  calibration is hard-to-beat at label shift adaptation
angelopoulos: Angelopoulos, Duchi and Zrnic (2023). PPI++: efficient prediction-powered inference
armstrong: Armstrong, Kline and Sun (2023). Adapting to misspecification
bialek: Białek, Perrakis et al. (2023). Estimating model performance under covariate shift without
  labels
bickel: Bickel, Brückner and Scheffer (2009). Discriminative learning under covariate shift
garrote: Breiman (1995). Better subset regression using the nonnegative garrote
stacking: Breiman (1996). Stacked regressions
chernozhukov: Chernozhukov et al. (2018). Double/debiased machine learning for treatment and
  structural parameters
deming: Deming and Stephan (1940). On a least squares adjustment of a sampled frequency table
deville: Deville and Särndal (1992). Calibration estimators in survey sampling
dorn: Dorn and Guo (2023). Sharp sensitivity analysis for inverse propensity weighting via quantile
  balancing
guo: Dorn, Guo and Kallus (2024). Doubly-valid/doubly-sharp sensitivity analysis for causal
  inference with unmeasured confounding
hainmueller: Hainmueller (2012). Entropy balancing for causal effects
hampel: Hampel (1974). The influence curve and its role in robust estimation
hansen: Hansen (1982). Large sample properties of generalized method of moments estimators
hartman: Hartman and Huang (2024). Sensitivity analysis for survey weights
holt: Holt and Smith (1979). Post stratification
huang: Huang, Smola, Gretton, Borgwardt and Schölkopf (2007). Correcting sample selection bias by
  unlabeled data
huling: Huling and Mak (2024). Energy balancing of covariate distributions
kallus: Kallus, Mao and Uehara (2024). Localized debiased machine learning
kanamori: Kanamori, Hido and Sugiyama (2009). A least-squares approach to direct importance
  estimation
kott: Kott (2001). The delete-a-group jackknife
kremer: Kremer, Gieseke, Pedersen and Igel (2015). Nearest neighbor density ratio estimation for
  large-scale applications in astronomy
lima: Lima, Cunha, Oyaizu, Frieman, Lin and Sheldon (2008). Estimating the redshift distribution of
  photometric galaxy samples
lipton: Lipton, Wang and Smola (2018). Detecting and correcting for label shift with black box
  predictors
mazaheri: Mazaheri, Jain and Bruck (2020). Robust Correction of Sampling Bias using Cumulative
  Distribution Functions
mackinnon: MacKinnon and White (1985). Some heteroskedasticity-consistent covariance matrix
  estimators
platt: Platt (1999). Probabilistic outputs for support vector machines
qin: Qin (1998). Inferences for case-control and semiparametric two-sample density ratio models
rao: Rao and Wu (1988). Resampling inference with complex survey data
robins: Robins, Rotnitzky and Zhao (1994). Estimation of regression coefficients when some
  regressors are not always observed
rubin: Rubin (1981). The Bayesian bootstrap
saerens: Saerens, Latinne and Decaestecker (2002). Adjusting the outputs of a classifier to new a
  priori probabilities
shimodaira: Shimodaira (2000). Improving predictive inference under covariate shift by weighting
  the log-likelihood function
stefanski: Stefanski and Boos (2002). The calculus of M-estimation
steingrimsson: Steingrimsson, Gatsonis, Li and Dahabreh (2023). Transporting a prediction model for
  use in a new target population
kliep: Sugiyama, Nakajima, Kashima, von Bünau and Kawanabe (2008). Direct importance estimation
  with model selection and its application to covariate shift adaptation
sarndal: Särndal, Swensson and Wretman (1992). Model assisted survey sampling
tan: Tan (2006). A distributional approach for causal inference using propensity scores
woodruff: Woodruff (1952). Confidence intervals for medians and other position measures
yamada: Yamada, Suzuki, Kanamori, Hachiya and Sugiyama (2013). Relative density-ratio estimation
  for robust distribution comparison
superlearner: van der Laan, Polley and Hubbard (2007). Super learner
"""
WORKS = dict(work.split(": ", 1) for work in _LISTED.replace("\n  ", " ").strip().split("\n"))
"""What is cited: authors, year and title, as docstrings and the pages have them."""

_MODELS = {
    "piecewise-linear ridge": "ridge regression on piecewise-linear terms",
    "kernel": "Gaussian kernel ridge regression",
    "boosted trees": "gradient-boosted trees",
    "logistic": "logistic regression",
    "calibrated scores": "the calibrated scores",
    "weighted calibration": "the scores calibrated on weighted rows",
    "logistic of all rows": "logistic regression that also learned from the model's own rows",
    "boosted trees of all rows": "boosted trees that also learned from the model's own rows",
    NAME: "ridge regression on the published numbers",
}
_OF_NUMBERS = frozenset({"piecewise-linear ridge", "kernel", "boosted trees"})
_SPOILED = frozenset(
    {
        *("identifiers", "free text", "rare levels", "constant columns", "copies", "decisions"),
        *("columns of one sample", "columns of one file", "columns without margins", "infinite"),
        *("joined levels", "text", "ordered", "dates", "unseen levels", "rounded shares"),
    }
)
"""Kinds of notes about columns that were left out or changed."""

_EVEN = 0.001  # of a balance, below which no column is the worst
_WEIGHTED = ("dr", "weights", "pape", "both")
_MODELLED = ("dr", "model", "both")
_CHOSEN = {  # how target rows with an outcome were chosen: what was done, and what is assumed
    "random": ("taken to be chosen at random", "were chosen at random"),
    "chances": ("chosen with known probabilities", "were chosen with the probabilities given"),
    "columns": (
        "selected by their covariates, for which they were weighted",
        "are like the rest of the target given their covariates",
    ),
}


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
            _count(self.strata, "stratum", "strata"): self.strata,
            _count(self.clusters, "cluster"): self.clusters,
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
    words = f"published margins of {_count(len(margins.columns), 'covariate')}"
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


class Cited:
    """Works that the text cites, in the order of their authors at its end."""

    def __init__(self) -> None:
        self.keys: set[str] = set()

    def __call__(self, *keys: str) -> str:
        """Cite works in parentheses: "(Kish 1965; Breiman 1996)"; nothing for none."""
        self.keys |= set(keys)
        return f"({'; '.join(map(self._short, keys))})" if keys else ""

    @staticmethod
    def _short(key: str) -> str:
        authors, _, rest = WORKS.get(key, key).partition(" (")
        names = authors.replace(" and ", ", ").split(", ")
        many = len(names) > 3 or authors.endswith("et al.")
        first = names[0].removesuffix(" et al.")
        return f"{f'{first} et al.' if many else authors} {rest[:4]}"

    @property
    def lines(self) -> list[str]:
        """One line per work."""
        return [
            f"- {work}."
            for work in sorted((WORKS.get(key, key) for key in self.keys), key=_letters)
        ]


def _letters(work: str) -> str:
    """The letters by which a list of works is sorted."""
    plain_letters = str.maketrans("äáéöüł", "aaeoul")
    return work.casefold().removeprefix("the ").translate(plain_letters)


class Reportable:
    """What estimates and evaluations say for a paper.

    Examples
    --------
    >>> from covshift import estimate
    >>> found = estimate([[0.0], [1.0]] * 30, [0.0, 1.0] * 30, [[0.0], [1.0], [1.0]] * 20)
    >>> print(found.methods_text().partition(".")[0])
    We estimated the share of rows with y = 1 in the target population
    >>> print(next(line["finding"] for line in found.checklist() if "odds" in line["item"]))
    not checked
    """

    _source: Any
    _evaluates: ClassVar[bool]
    _method_words: ClassVar[dict[str, str]]

    @property
    def _numbers(self) -> Table:
        answer: Any = self
        table: Table = answer.table.where(method=answer.method)
        return table

    @property
    def _of_groups(self) -> bool:
        return any(row.group is not None for row in self._numbers)

    @cached_property
    def _procedure(self) -> Procedure:
        asked: Any = self
        made: Procedure = asked._asked_of("methods_text").procedure()
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Keep the facts of the run in place of its rows."""
        found: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**found, "_procedure": self._procedure} if self._knows_procedure else found

    @property
    def _knows_procedure(self) -> bool:
        return self._source is not None or "_procedure" in vars(self)

    def methods_text(self) -> str:
        """Write the methods section of a paper: what was done here, with references.

        Returns
        -------
        str
            Paragraphs, and the list of works that they cite. It is plain text, and Markdown too.
        """
        return _Methods(self).text()

    def checklist(self) -> Table:
        """Return what a referee asks: the item, what was found, and where to look.

        What was not checked is a line too, with the call that would check it.
        """
        return self._checklist()

    def _checklist(self, before: Sequence[Note] = ()) -> Table:
        """The same, with notes on the columns from ``before`` the answer, as on files."""
        answer: Any = self
        notes = distinct([*before, *answer.notes])
        columns = (
            Column("item", lambda line: line["item"], words=True, wrap=25),
            Column("finding", lambda line: line["finding"], words=True, wrap=40),
            Column("where to look", lambda line: line["where"], words=True, wrap=22),
        )
        keys = ("item", "finding", "where")
        return Table([dict(zip(keys, line, strict=True)) for line in _checks(self, notes)], columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON, without weights and flags of single rows."""
        found: dict[str, Any] = super().to_dict()  # type: ignore[misc]
        if self._knows_procedure:
            found |= {"methods_text": self.methods_text(), "checklist": plain(self.checklist())}
        return found


# The methods section.

# What kind of estimator a method is: of a number, and of the metrics of a model.
_ESTIMATORS = {
    "weights": (
        "We used weighted means, with weights that carry the sample to the target population.",
        "We used the metrics of the weighted labelled rows, with weights that carry the labelled "
        "rows to the target population.",
    ),
    "model": (
        "We used the mean prediction of an outcome model over the target population.",
        "We used the expectation of the metrics under an outcome model over the target population.",
    ),
    "dr": (
        ": the mean prediction of an outcome model over the target, plus the weighted mean of the "
        "model's residuals in the sample.",
        " of the metrics on the target: every target row counted with its predicted outcome, every "
        "labelled row with the weighted residual of that prediction.",
    ),
}


class _Methods:
    """Writes the sentences of one answer, in the order in which they are read."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.how, self.cite = answer, answer._procedure, Cited()
        self.method, self.evaluates = answer.method, answer._evaluates
        self.errors_from = getattr(answer, "errors", "influence")

    def text(self) -> str:
        """All paragraphs, and the works that they cite."""
        parts = [
            [self.answer._question(), *self._data()],
            [*self._estimator(), *self._weights(), *self._models()],
            [*self._errors(), *self._doubt()],
            [*self._assumed(), self._software()],
        ]
        paragraphs = [" ".join(sentences) for sentences in parts]
        return "\n\n".join([*filter(None, paragraphs), "References", "\n".join(self.cite.lines)])

    def _data(self) -> Iterator[str]:
        """The two samples."""
        answer, how = self.answer, self.how
        lost = f" (of {how.rows:,} in all)" if how.rows > answer.n_train else ""
        known = "a label" if self.evaluates else "a known outcome"
        target = ""
        if self.method == "none":
            pass
        elif how.margins:
            target = f"; the target population was known by {how.margins}"
        else:
            target = f"; a sample of the target population had {how.target_rows:,}"
            if how.finite:
                target = f"; the target was the whole population of {how.target_rows:,} rows"
            target += f". Both had the same {_count(how.covariates, 'covariate')}"
        yield f"The sample had {_count(answer.n_train, 'row')} with {known}{lost}{target}."
        learned = getattr(answer, "n_learned", 0)
        if learned:
            yield f"The {learned:,} rows that had trained the model did not judge it."
        if answer.covered_share < 1:
            yield (
                f"The answer is for {answer.covered_share:.1%} of the target: the rest, for lack "
                "of similar rows in the sample, was left out."
            )
        if how.design:
            yield f"The sample's design was taken into account: {how.design}."
        if how.target_weighted:
            yield "Target rows had weights of their own."
        if how.gaps:
            names = joined([repr(printable(name)) for name, _, _ in how.gaps])
            yield (
                f"Missing values of {names} were filled with the median and marked by an "
                "indicator, or, in a category, were a level of their own."
            )
        if how.groups and answer._of_groups:
            yield (
                f"Numbers of {_count(how.groups, 'group')} were ratios of means with the indicator "
                "of the group; weights and models learned from all rows."
            )

    def _estimator(self) -> Iterator[str]:
        """What kind of estimator it was."""
        method, cite = self.method, self.cite
        if method == "none":
            return
        if method in ("weights", "model"):
            yield _ESTIMATORS[method][self.evaluates]
        elif method in ("cbpe", "pape"):
            by = "by a cross-fitted logistic regression on their log-odds"
            what = (
                f"calibrated scores over the target rows {cite('bialek')}; the scores were "
                f"calibrated {by}"
                if method == "cbpe"
                else "scores over the target rows, calibrated on weighted labelled rows "
                f"{cite('bialek')} {by}"
            )
            yield f"We used the expected performance of {what} {cite('platt')}."
        elif method == "label":
            yield (
                "The shares of the classes in the target were those with which the sample's "
                "classes make up the target's mean scores, a linear equation in cross-fitted class "
                f"probabilities (black-box shift estimation; {cite('lipton')[1:]}; the scores were "
                f"those of the likelihood {cite('saerens', 'alexandari')}, unless these told the "
                "classes apart less than half as well as the probabilities do."
            )
            if self.evaluates:
                yield "Labelled rows were weighted by the share of their class in the target."
        else:
            yield from self._doubly_robust()
        yield from self.answer._from_means()

    def _doubly_robust(self) -> Iterator[str]:
        both, cite = self.method == "both", self.cite
        if both:
            yield (
                f"The outcome was known for {_count(self.answer.n_labels, 'target row')}, "
                f"{_CHOSEN[self.how.labels][0]}. We used prediction-powered inference with power "
                "tuning: an outcome model, which learned from both samples, predicted every target "
                f"row, and the known outcomes corrected its mean {cite('angelopoulos')}."
            )
            if not self.how.trusted:
                yield (
                    "The sample does not cover the whole target, so that the number rests on the "
                    "outcomes of target rows and not on a correction of the sample."
                )
                return
            yield (
                "The point estimate lies between this estimate and a doubly robust one from the "
                "sample, nearer to the latter the better the two agree, and within the interval of "
                f"the former {cite('armstrong')}."
            )
        works = ("robins", *(("steingrimsson",) if self.evaluates else ()), "chernozhukov")
        start = "The doubly robust estimate came from" if both else "We used"
        kind = "augmented" if both else "augmented (doubly robust)"
        what = _ESTIMATORS["dr"][self.evaluates]
        yield f"{start} a cross-fitted {kind} estimator {cite(*works)}{what}"
        yield "It is consistent if either the weights or the outcome model are correct."

    def _weights(self) -> Iterator[str]:
        """How the weights were made, and what they cost."""
        answer, how, cite = self.answer, self.how, self.cite
        if self.method not in _WEIGHTED or not how.trusted:
            return
        if not how.weighter:
            also = ", multiplied by the design weights" if how.weighted else ""
            yield f"The weights were given in advance{also}, and taken as known."
        elif how.met:
            yield (
                "The weights were calibrated to the published numbers, which they meet exactly, by "
                f"{how.weighter} {cite(*dict.fromkeys((*how.weighter_works, 'deville')))}."
            )
        else:
            by = f"{how.weighter} {cite(*how.weighter_works)}".rstrip()
            yield f"The weights were made by {by}."
        if how.max_weight is not None:
            done = f"which cut off {percent(answer.trimmed_share)} of their sum"
            if not answer.trimmed_share:
                done = "which none of them reached"
            yield f"They were limited to {how.max_weight:g} times their mean, {done}."
        yield (
            f"Their effective sample size (Kish) was {answer.effective_sample_size:,.0f} of "
            f"{answer.n_train:,} rows, and the largest weight was {answer.largest_weight:.1f} "
            "times the mean."
        )

        if how.leans and self.method in ("dr", "both"):
            yield (
                "The residuals were weighted by a compromise between these weights and flatter "
                "ones of the same kind, which the data chose in the manner of the nonnegative "
                f"garrote {cite('garrote')}; the change that it makes counts as an error."
            )

    def _models(self) -> Iterator[str]:
        """What the outcome models were, and how they were cross-fitted."""
        how, method = self.how, self.method
        calibrates = method in ("cbpe", "pape")
        for_errors = method == "weights" and bool(how.weighter) and not how.equation
        for_errors &= self.errors_from in ("influence", "replicate weights")
        if method not in (*_MODELLED, "label") and not (calibrates or for_errors):
            return
        parts = () if calibrates else self.answer.models.values()
        names = {name: share for part in parts for name, share in part.items()}
        what = "The outcome model was"
        if method == "label":
            what = "The class probabilities came from"
        elif for_errors:
            what = "An outcome model for the standard errors was"
        if how.outcome_model and not calibrates:
            yield f"{what} {how.outcome_model}."
        elif names:
            yield f"{what} {self._mixture(names, len({tuple(part) for part in parts}) > 1)}."
        over = ""
        if how.deals > 1:
            over = f"; this was averaged over {_count(how.deals, 'deal')} of the folds"
        together = " Rows of one cluster stayed in one fold." if how.clusters else ""
        yield (
            "No row was predicted by a model that had seen it: models were fitted to all but one "
            f"of {how.folds} folds{over}.{together}"
        )

    def _mixture(self, names: Mapping[str, float], several: bool) -> str:
        """Name the models and their shares, unless ``several`` numbers have their own."""
        parts = {_MODELS.get(name, name): share for name, share in names.items()}
        if len(parts) == 1:
            return next(iter(parts))
        words = [name if several else f"{name} ({share:.0%})" for name, share in parts.items()]
        likely = not set(names) <= _OF_NUMBERS
        aim, work = "minimise the cross-fitted error", "stacking"
        if self.evaluates and likely:
            aim, work = "maximise the cross-fitted likelihood", "superlearner"
        own = ", for each quantity by itself," if several else ""
        return f"a mixture of {joined(words)}, with shares{own} that {aim} {self.cite(work)}"

    def _errors(self) -> Iterator[str]:
        """Where standard errors and intervals come from."""
        answer, how, method, cite = self.answer, self.how, self.method, self.cite
        known = method == "weights" and not how.weighter  # weights that were given
        rows = "both samples"
        if how.finite or how.margins or known or method == "none":
            rows = "the sample"
        if method == "both":
            rows = "the target, with and without an outcome"
        drawn = self.errors_from != "influence" and method not in ("model", "label")
        influence = f"Standard errors came from influence values of the rows of {rows}"
        if drawn:
            yield from self._replicates(rows)
        elif method in ("model", "cbpe", "pape"):
            target = "" if how.finite else " and the sampling error of the target"
            yield (
                f"Standard errors came from a jackknife over the folds{target}; they do not count "
                "a bias of the model."
            )
        elif method == "label":
            yield (
                "Standard errors came from influence values of the rows of both samples "
                f"{cite('hampel')}, which count that the shares of the classes were estimated."
            )
        else:
            units = ", by the primary units of the design" if how.clusters or how.strata else ""
            yield f"{influence} {cite('hampel', 'sarndal')}{units}."
            if method == "weights" and how.weighter and how.equation:
                work = "deville" if how.met and how.weighted else "stefanski"
                yield f"They account for the estimation of the weights {cite(work)}."
            elif method == "weights" and how.weighter:
                yield "The imbalance left after weighting was added to the standard errors."
            if method == "dr" and how.small_sample:
                yield (
                    "As a small-sample correction, variances were multiplied by n / (n - p - 1), "
                    "at most by two, with n the effective sample size and p the number of columns "
                    f"that the covariates were coded in {cite('mackinnon')}."
                )
        if method != "none" and how.finite:
            yield (
                "The published numbers were taken as exact."
                if how.margins
                else "The target rows were taken as the whole population, without sampling error."
            )
        elif method != "none" and how.margins and not known:
            yield "The sampling error of the published numbers was counted as well."
        scale = answer._scale(cite)
        yield (
            f"Intervals ({100 * answer.confidence:g}%) use quantiles of Student's distribution "
            f"with Satterthwaite's degrees of freedom{f', {scale}' if scale else ''}."
        )

    def _replicates(self, rows: str) -> Iterator[str]:
        how, cite = self.how, self.cite
        kind, count = how.replicates
        again = ", in each of which the weights were fitted again"
        if self.method == "none":
            again = ""
        elif self.errors_from == "replicate weights" and not how.equation:
            again = ", with the factors of the weights kept"
        if self.errors_from == "replicate weights":
            made = f"the {count:,} replicate weights of the sample (type {kind}){again}"
        elif self.errors_from == "bootstrap":
            made = (
                f"{count:,} bootstrap draws of {rows} with fractional multipliers "
                f"{cite('rubin', 'rao')}{again}"
            )
        else:
            one = "delete-one jackknife within strata"
            made = (
                f"a {one if kind == 'JKn' else 'delete-a-group jackknife'} of {rows} with "
                f"{count:,} replicates {cite('kott')}{again}; a bootstrap would understate the "
                f"error of such weights {cite('abadie')}"
            )
        yield f"Standard errors came from {made}."
        if self.method in _MODELLED:
            yield "The outcome model stayed as it was."

    def _doubt(self) -> Iterator[str]:
        """Sensitivity analyses that were made."""
        odds, robust, cite = self.answer.sensitivity, self.answer._robustness, self.cite
        if odds is not None:
            yield (
                "In a sensitivity analysis unobserved factors could change the odds of being in "
                f"the target up to {odds:g}-fold among rows with the same covariates (marginal "
                f"sensitivity model; {cite('tan')[1:-1]}), with sharp and doubly robust bounds "
                f"{cite('dorn', 'guo')}."
            )
        if robust is not None:
            goal = "undo the correction" if robust.undoes else f"move the answer to {robust.null:g}"
            yield (
                f"How strong an unobserved factor would have to be to {goal} was measured by the "
                f"robustness value {cite('hartman')}."
            )

    def _assumed(self) -> Iterator[str]:
        """The untestable assumption behind the numbers."""
        answer, method = self.answer, self.method
        if method == "none":
            yield "No correction was made, so the numbers describe the sample's population."
        elif method == "both":
            yield (
                "The interval rests on the outcomes of target rows. It assumes that these rows "
                f"{_CHOSEN[self.how.labels][1]}, and not that the outcome behaves the same in the "
                "sample and in the target given the covariates."
            )
        elif method == "label":
            tests = joined([f"p = {test.p_value:.2g}" for test in answer.label_shift])
            yield (
                "The analysis assumes that, within each class, the covariates have the same "
                "distribution in the sample and in the target (label shift). Additional moments "
                f"tested this {self.cite('hansen')}: {tests}."
            )
        else:
            of = "the scores of the model" if method == "cbpe" else "the covariates"
            yield (
                f"The analysis assumes that, given {of}, the outcome behaves the same in the "
                "sample and in the target (covariate shift)."
            )
            changes = answer.changes if self.evaluates else ()
            if changes:
                tests = joined([f"p = {change.p_value:.2g}" for change in changes])
                yield f"Labels of {_count(answer.n_labels, 'target row')} tested this: {tests}."
            else:
                yield "This cannot be checked without outcomes from the target."

    def _software(self) -> str:
        named = [f"{name} {number}" for name, number in self.how.versions.items()]
        self.cite("covshift")
        return (
            f"Computations used {named[0]} with {joined(named[1:])}; the random seed was "
            f"{self.how.random_state}."
        )


# The checklist: item, finding and where to look, in the order in which a referee asks.

_NOT = "not checked"
_Line = tuple[str, str, str]


def _checks(answer: Any, notes: Sequence[Note]) -> Iterator[_Line]:
    how = answer._procedure
    yield "Shift of the covariates", answer.verdict, "diagnosis"
    yield from _overlap_checks(answer, how)
    yield from _weight_checks(answer, how)
    row = answer.headline
    others = [
        f"{answer._method_words[other.method]} {_written(other.value, row)}"
        for other in answer.table
        if other.method != answer.method and answer.name_of(other) == answer.name_of(row)
    ]
    here = f"{_written(row.value, row)} here; {', '.join(others)}"
    yield "Other methods", here if others else _NOT, "table"
    yield from _doubt_checks(answer, notes)
    yield from _row_checks(answer, how, notes)


def _written(value: float, row: Any) -> str:
    return "not defined" if math.isnan(value) else shown(value, row)


def _overlap_checks(answer: Any, how: Procedure) -> Iterator[_Line]:
    if how.margins:
        worst = max((shift.uncovered for shift in answer.diagnosis.margins), default=0.0)
        text = "every published cell has rows of the sample"
        if worst > 0:
            text = f"{percent(worst)} of the target is in cells without rows of the sample"
        yield "Overlap", text, "diagnosis.margins"
    else:
        support = answer.diagnosis.support
        for item, share, expected, where in (
            (
                "range",
                support.outside_range,
                support.expected_range,
                "beyond the sample's range of a column",
            ),
            ("neighbours", support.outside, support.expected, "without similar rows in the sample"),
        ):
            text = _NOT
            if share is not None:
                text = (
                    f"{percent(share)} of the target {where} ({percent(expected)} without a shift)"
                )
            yield f"Overlap: {item}", text, "diagnosis.support"
    yield "Part of the target answered for", f"{answer.covered_share:.1%}", "covered_share"


def _weight_checks(answer: Any, how: Procedure) -> Iterator[_Line]:
    unit = "gap to a published number" if how.margins else "standardised difference"
    weighted = answer.method in _WEIGHTED and how.trusted
    if how.balance is not None:
        before, after = (_worst(unit, *end) for end in how.balance)
        own = "diagnose(X, X_target, weights=found)" if weighted else 'method="dr"'
        where = "diagnosis.numbers" if how.margins else "diagnosis.table"
        yield "Balance before weighting", before, where
        if answer.method == "label":
            after, own = "the weights follow class shares, not the covariates", "label_shift"
        elif not weighted:
            after = "no weights in this estimate"
        yield "Balance after weighting", after, own
    if not weighted and answer.method != "label":
        return
    share = answer.effective_sample_size / answer.n_train
    yield (
        "Effective sample size",
        f"{answer.effective_sample_size:,.0f} of {answer.n_train:,} rows ({percent(share)}), "
        f"design effect {answer.design_effect:.2f}",
        "effective_sample_size",
    )
    cut = "not limited"
    if how.max_weight is not None:
        cut = f"limited to {how.max_weight:g}, {percent(answer.trimmed_share)} cut off"
    largest = f"{answer.largest_weight:.1f} times the mean; {cut}"
    yield "Largest weight", largest, "largest_weight, weights"


def _worst(unit: str, name: str, size: float) -> str:
    if size < _EVEN:
        return f"largest {unit} below {_EVEN}"
    return f"largest {unit} {size:.3f} ({printable(name)})"


def _doubt_checks(answer: Any, notes: Sequence[Note]) -> Iterator[_Line]:
    """What if the assumption is wrong."""
    if answer.method in ("dr", "weights", "model", "cbpe", "pape"):
        text, row = _NOT, answer.headline
        if answer.sensitivity is not None and row.sensitivity_interval is not None:
            ends = " to ".join(shown(end, row) for end in row.sensitivity_interval)
            text = f"{ends} for odds up to {answer.sensitivity:g}-fold"
        elif answer.sensitivity is not None:
            text = "has no bounds for this number"
        yield "Interval if odds of being in the target differ", text, "with_sensitivity(1.5)"
        value, line = answer.robustness_value, answer._robust_line()
        line = line.partition(" (robustness")[0] or "the correction is within its error"
        yield "Robustness value", _NOT if value is None else f"{value:.2f}: {line}", "robustness()"
    tests = [note.text for note in notes if note.kind == "assumption"]
    if answer._evaluates and answer.changes:
        tests = [f"{_count(one.rows, 'label')}, p = {one.p_value:.2g}" for one in answer.changes]
    tests += [
        f"label shift: p = {test.p_value:.2g}, {'rejected' if test.rejected else 'not rejected'}"
        for test in answer.label_shift
    ]
    if answer.method != "none":
        where = "notes" if tests else "y_target="
        yield "Assumption tested by data", " ".join(tests) or _NOT, where


def _row_checks(answer: Any, how: Procedure, notes: Sequence[Note]) -> Iterator[_Line]:
    """Rows, columns and what was decided about them."""
    lost = how.rows - answer.n_train - getattr(answer, "n_learned", 0)
    text = f"{lost:,} of {how.rows:,} (no outcome, or no weight)" if lost else "none"
    yield "Rows of the sample left out", text, "notes" if lost else "n_train"
    gaps = "; ".join(f"{printable(n)}: {a:,} and {b:,}" for n, a, b in how.gaps)
    text = f"{gaps}; filled and marked, or a category" if gaps else "none"
    yield "Missing values, sample and target", text, "notes" if gaps else "X, X_target"
    changed = " ".join(note.text for note in notes if note.kind in _SPOILED)
    nothing = "none noted" if how.encoded else "none"
    yield "Columns left out or changed", changed or nothing, "notes"
    design = how.design or "rows count as drawn one by one"
    yield "Design of the sample", design, "sample_weight=, strata=, cluster="
    if how.shared:
        yield "Target rows in the sample", how.shared, "X_target"
    counted = "counted"
    if answer.method == "weights" and not how.weighter:
        counted = "no: the weights count as known"
    elif how.finite:
        counted = f"no: {'the margins count as exact' if how.margins else 'the whole population'}"
    if answer.method != "none":
        yield "Sampling error of the target", counted, "finite_population="
    if answer._of_groups and how.groups:
        rows = (row for row in answer._numbers if row.group is not None)
        small = min(rows, key=lambda row: row.rows)
        yield "Smallest group", f"{small.rows:,} rows ({printable(small.group)})", "table"
    yield "Interval", f"{100 * answer.confidence:g}%, {answer._errors_word}", "confidence="
    yield "Random seed", str(how.random_state), "random_state="


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
