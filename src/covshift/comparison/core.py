"""Which correction helps here, if any: every method, one table, one honest sentence."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ..data import Samples
from ..data.columns import NamedColumns
from ..data.labels import class_labels, one_outcome
from ..data.parameters import VERBOSE, Rule, function, one_of, whole
from ..data.row_weights import RowWeights, check_weight, row_weights, target_weights
from ..data.validation import (
    Target,
    checked,
    column_names,
    is_margins,
    refuse_target_weights,
    unwrap_target,
)
from ..encoding import encoded as grouped
from ..exceptions import ConstantColumnWarning, InputError, MarginsWarning, OverlapWarning
from ..numerics.array import Real, is_array, to_numpy
from ..numerics.parallel import one_thread
from ..numerics.progress import Progress
from ..numerics.quiet import Heard, alone, heard, quiet
from ..numerics.statistics import paired_gains, weighted_risk
from ..registry import NONE
from ..show.notes import Note, distinct
from ..weights import WEIGHTERS, as_weighter, effective_sample_size
from .methods import (
    Method,
    check_method,
    contenders_of,
    fit_method,
    fit_weights,
    found_once,
    learner_entry,
    method_named,
    methods_for,
    refuse_what_needs_rows,
    resolve,
)
from .result import Comparison, Row, control_of, empty_row
from .selection import LOSSES, SEED, TargetSafeSplit, compare_estimators
from .target import (
    MarginTarget,
    RowTarget,
    beside_margins,
    default_judge,
    methods_with_margins,
    refuse_scored,
    standardised,
)

TASK = one_of("classification", "regression", None)
METHODS = Rule(
    ("a list of names of weights and corrections",),
    lambda methods: (
        isinstance(methods, Sequence | Set | np.ndarray)
        and not isinstance(methods, str)
        and all(isinstance(method, str | Method) for method in methods)
    ),
) | one_of(None)
_FEWEST_ROWS = 20  # that may be drawn: folds of fewer say nothing
_FEW_NUMBERS = 10  # different whole numbers that may be classes


def compare(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    learner: Any = "vsvm",
    estimators: Mapping[str, Any] | None = None,
    baseline: Any = None,
    cv: Any = None,
    task: str | None = None,
    methods: Sequence[str | Method] | None = None,
    loss: Any = "squared_error",
    weighter: Any = None,
    y_target: Any = None,
    X_scored: Any = None,
    scored_weight: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    n_folds: int = 5,
    max_rows: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> Comparison:
    """Say which correction helps, if any: the risk on the target of every method.

    Importance-weighted cross-validation: held-out training rows, weighted by ``weighter``, stand
    for the target (Sugiyama, Krauledat, Müller 2007). The unweighted model is always in the first
    line, and is recommended unless a method beats it clearly: by more standard errors of the paired
    difference than the luckiest of so many methods would reach in 5% of the cases if none of them
    gained anything. That number comes from a multiplier bootstrap of the paired losses
    (Chernozhukov, Chetverikov, Kato 2013), so that a dozen nearly equal methods are not judged as
    if they were a dozen different ones.

    Parameters
    ----------
    X, X_target : (N, n) and (M, n) arrays or data frames
        Data frames may have text, categories, dates, booleans and gaps: what takes numbers alone
        gets numbers (`covshift.TableEncoder`). ``X_target`` may be `covshift.Margins`: methods that
        need target rows are then left out, and a note names them; a contender that needs them is
        refused by name.
    y : name of a column of X, or (N,) array
        Outcomes. Columns that y and the weights name are not features. Values with an index of
        pandas are paired with the rows of a data frame by it.
    learner : str or estimator
        A name in `covshift.registry.LEARNERS`, "vsvm", "linear", "trees" or "vboost": every way to
        correct it is compared. Or any scikit-learn estimator or pipeline whose `fit` takes
        ``sample_weight``: with every weighter that suits the data, as `covshift.Reweighted`.
    estimators : mapping of names to estimators, optional
        Compare these in place of a learner. Those that take ``X_target``, at the end of a pipeline
        or inside a search too, get the whole target in every fold, with its weights.
    baseline : estimator, optional
        With ``estimators``: the unweighted model that stands in the first line, as "none". Default:
        a contender called "none", else the model inside the first `covshift.Reweighted`, else the
        first V-machine with ``correction="none"``.
    cv : splitter, optional
        With ``estimators``: default `covshift.comparison.TargetSafeSplit`; all share its folds.
    task : {"classification", "regression"}, optional
        Of the learner. Default: "regression" where ``y`` holds numbers with decimals or more than
        ten different ones, else "classification".
    methods : list of str, optional
        Names of weighters and corrections to compare for the learner, after "none"; default: all
        that suit it.
    loss : {"squared_error", "zero_one", "log_loss"} or, with ``estimators``, callable
    weighter : str or, with ``estimators``, weighter, optional
        Makes the weights of the held-out rows. Default "cdf"; for margins that are means alone,
        "entropy".
    y_target, X_scored : arrays, optional
        Labels of target rows, and these rows where they are not all of ``X_target``; ``y_target``
        may name a column of them. They score the learner's models fitted on all rows
        (``true_risk``) and have no part in the choice.
    scored_weight : name of a column of ``X_scored``, or array, optional
        Weights of its rows.
    sample_weight, target_weight : names of columns of X and X_target, or arrays, optional
        Probability weights of the rows, such as those of a survey, on any scale: the methods' own
        weights are factors on ``sample_weight``, which all contenders must take.
    n_folds : int
    max_rows : int, optional
        Rows drawn at random from larger samples; default: by the learner, 300 to 2000.
    random_state : int
    verbose : bool
        Show a progress bar, on a terminal.

    Returns
    -------
    Comparison
        ``print`` it. ``recommended`` names the method to use, ``fit()`` fits it to all rows,
        ``weights("cdf")`` returns weights. A method of a learner that fails has a row that says
        why.

    Notes
    -----
    For a learner, rows are standardised, weights estimated and the kernel machine's penalty chosen
    once, on all training rows, not in each fold: the features of held-out rows take part in this,
    their labels in the penalty alone, which is found by three folds. Standard errors take the
    weights as known and folds as independent. Cost per method: a weighter and n_folds + 1 fits.

    Examples
    --------
    >>> from covshift import compare
    >>> from covshift.datasets import make_survey
    >>> data = make_survey(300, 300, random_state=0)
    >>> found = compare(data.X, data.y, data.X_target, learner="linear")
    >>> found.rows[0]["method"], found.recommended
    ('none', 'none')
    >>> found.fit().predict(data.X_target).shape
    (300,)

    Estimators of your own:

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covshift import Reweighted
    >>> contenders = {"weighted": Reweighted(DecisionTreeClassifier(max_depth=2), weighter="cdf")}
    >>> found = compare(data.X, data.y, data.X_target, estimators=contenders)
    >>> [row["method"] for row in found.rows]
    ['none', 'weighted']
    """
    own, named_loss = not isinstance(learner, str), one_of(*LOSSES)
    for rule, value, name in (
        (named_loss | function() if own or estimators is not None else named_loss, loss, "loss"),
        (TASK, task, "task"),
        (METHODS, methods, "methods"),
        (whole(2), n_folds, "n_folds"),
        (whole(_FEWEST_ROWS) | one_of(None), max_rows, "max_rows"),
        (SEED, random_state, "random_state"),
        (VERBOSE, verbose, "verbose"),
    ):
        rule.check(value, name)
    if weighter is not None:
        as_weighter(weighter)
    samples = X if isinstance(X, Samples) else None
    if samples is not None:
        X, X_target = samples.X, samples.T
    target = unwrap_target(X_target)
    margins = samples.margins if samples is not None else target if is_margins(target) else None
    rows = None if margins is not None else target
    named = NamedColumns(X, rows)
    scored = named if X_scored is None else NamedColumns(X, X_scored)
    y, sample_weight = named.of_rows(y, "y"), named.of_rows(sample_weight, "sample_weight")
    if rows is not None:
        target_weight = named.of_target(unwrap_target(target_weight), "target_weight")
    if rows is not None or X_scored is not None:
        y_target = scored.of_target(y_target, "y_target")
        scored_weight = scored.of_target(scored_weight, "scored_weight")
    X, kinds = named.features[0], Target.of(X_target).kinds
    if rows is not None:
        X_target = Target(named.features[1], kinds=kinds)
    shared: dict[str, Any] = {
        "loss": loss,
        "weighter": weighter,
        "sample_weight": sample_weight,
        "target_weight": target_weight,
    }
    of_learner: dict[str, Any] = {
        "task": task,
        "methods": methods,
        "y_target": y_target,
        "X_scored": X_scored,
        "scored_weight": scored_weight,
        "max_rows": max_rows,
    }
    if own:
        if estimators is not None or baseline is not None:
            raise InputError("Pass learner=estimator, or estimators={name: estimator}, not both.")
        estimators, baseline = contenders_of(learner, X, margins, methods), learner
        of_learner["methods"] = None
    if estimators is not None:
        for name, value in of_learner.items():
            if value is not None:
                raise InputError(f"{name} belongs to a learner's name, not to estimators.")
        cv = TargetSafeSplit(n_folds, random_state=random_state) if cv is None else cv
        return compare_estimators(
            X, y, X_target, estimators, baseline=baseline, cv=cv, failing=own, **shared
        )
    for name, value in (("baseline", baseline), ("cv", cv)):
        if value is not None:
            raise InputError(f"{name} belongs to estimators: pass estimators={{name: estimator}}.")
    of_learner["task"] = task or _task_of(y)
    if methods is not None:
        of_learner["methods"] = [
            method_named(learner, part) if isinstance(part, str) else part for part in methods
        ]
        if NONE not in [part.name for part in of_learner["methods"]]:
            of_learner["methods"].insert(0, method_named(learner, NONE))
    return compare_learner(
        X if samples is None else samples,
        y,
        X_target,
        learner=learner,
        n_folds=n_folds,
        random_state=random_state,
        verbose=verbose,
        **of_learner,
        **shared,
    )


def _task_of(y: Any) -> str:
    """What outcomes are, where nobody says it."""
    try:
        values = to_numpy(y) if is_array(y) else np.asarray(y)
    except ValueError:  # rows of several lengths, which are refused where outcomes are read
        return "classification"
    if values.dtype.kind not in "iuf":
        return "classification"
    levels = np.unique(values[np.isfinite(values)])
    whole = len(levels) <= _FEW_NUMBERS and bool((np.mod(levels, 1) == 0).all())
    return "classification" if whole else "regression"


def compare_learner(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    learner: str = "vsvm",
    task: str = "classification",
    loss: str = "squared_error",
    y_target: Any = None,
    X_scored: Any = None,
    scored_weight: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    methods: list[Method] | None = None,
    weighter: str | None = None,
    n_folds: int = 5,
    max_rows: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> Comparison:
    """Compare all methods of one learner: `compare` without ``estimators``."""
    if task == "regression" and loss != "squared_error":
        raise InputError(f"loss={loss!r} is for classes. For numbers use 'squared_error'.")
    notes: list[Note] = []
    both, names = X, None
    if isinstance(X, Samples):
        names = both.names
    elif is_margins(margins := unwrap_target(X_target)):
        both = beside_margins(margins, X)
    else:
        alike = X_scored is None  # else other rows have to be read by the same rules
        kinds = Target.of(X_target).kinds
        both = Samples.of_rows(X, X_target, deciding=alike, kinds=kinds)
        names = None if column_names(X) is None else both.names
    if not isinstance(X, Samples):
        X_scored = None if X_scored is None else both.encode(X_scored, "X_scored")
        notes += () if both.margins is not None else both.notes
    X, T, groups = both.X, both.T, both.one_feature
    if both.margins is None:
        judge = weighter or default_judge()
        methods = methods_for(learner, X.shape[1]) if methods is None else methods
    else:
        refuse_target_weights(target_weight=target_weight)
        refuse_scored(y_target, X_scored)
        judge = weighter or default_judge(both.margins)
        refuse_what_needs_rows(judge, judge=True)
        methods = methods_with_margins(learner, X.shape[1], both.margins, methods, notes)
        notes += both.notes
    raw = X
    y = _outcomes(task, y, "y", len(X), "X")
    for method in methods:
        check_method(learner, method.name)
    seen = row_weights(len(X), sample_weight)
    given = np.flatnonzero(seen.kept)
    rng = np.random.default_rng(random_state)
    limit = learner_entry(learner).max_rows if max_rows is None else max_rows
    rows = given[_some(len(given), limit, rng, "training", notes)]
    own = None if seen.equal else _mean_one(seen.w[rows])
    with alone():
        scaler = StandardScaler().fit(X[rows], sample_weight=own)
    scaled = alone()(scaler.transform)
    target: RowTarget | MarginTarget
    if both.margins is None:
        there = target_weights(len(T), unwrap_target(target_weight))
        if y_target is not None and X_scored is None:
            X_scored, scored_weight = T, there.w
        given = np.flatnonzero(there.kept)
        there_rows = given[_some(len(given), limit, rng, "target", notes)]
        share = None if there.equal else _mean_one(there.w[there_rows])
        target = RowTarget(scaled(X[rows]), scaled(T[there_rows]), share, groups, names)
    else:
        target = standardised(both.take(rows), scaler)
    scored = None
    if y_target is not None:
        of = "X_target" if X_scored is T else "X_scored"
        truth = _outcomes(task, y_target, "y_target", len(X_scored), of)
        w = np.ones(len(X_scored))
        if scored_weight is not None:
            w = check_weight(scored_weight, len(X_scored), "scored_weight", of=of)
        scored = scaled(X_scored), truth, w / w.sum()
    trial = _Trial(
        learner,
        task,
        loss,
        grouped(scaled(X[rows]), groups),
        y[rows],
        target,
        scored,
        random_state,
        own,
    )
    with one_thread(len(rows)):  # the fits are many and small: threads would wait for each other
        trial.prepare(n_folds, judge)
        notes += trial.notes
        table = []
        with Progress(len(methods), "comparing", verbose=verbose) as progress:
            for method in methods:
                progress.show(method.name)
                table.append(trial.row(method))
                progress.done += 1
    return Comparison(
        table,
        trial.needed(),
        learner=learner,
        loss=loss,
        scored_on_target_labels=y_target is not None,
        notes=distinct(notes),
        needed_by_control=trial.needed_by_control(),
        rows_compared=ComparedRows(
            learner,
            task,
            raw,
            y,
            both,
            judge,
            seen,
            there if both.margins is None else None,
            random_state,
            trial.shared,
        ),
    )


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """What `Comparison.fit` and `Comparison.weights` need: all rows, as they were given."""

    learner: str
    task: str
    X: Real  # (N, n): numbers
    y: NDArray[Any]
    samples: Samples
    judge: str
    own: RowWeights  # of the training rows
    share: RowWeights | None  # of the target's rows
    random_state: int
    shared: dict[str, dict[str, Any]]  # what was found once, by the learner that is fitted

    def fit(self, name: str) -> Any:
        """Fit a method to all rows; the pipeline takes rows as they were given."""
        kept = self._rows()
        scaler, X, target = self._scaled(kept)
        samples = self.samples
        weights = None
        if samples.margins is not None:
            method = resolve(self.learner, name)[1]
            if method in WEIGHTERS:
                weights = self._weighed(method, kept)
            target = target.for_learner(method)
        model = fit_method(
            self.learner,
            name,
            self.task,
            X,
            self.y[kept],
            target,
            weights=weights,
            sample_weight=self._design(kept),
            target_weight=self._target_weight(),
            random_state=self.random_state,
        )
        numbers = FunctionTransformer(partial(_numbers_of, samples))
        return Pipeline([("numbers", numbers), ("scaler", scaler), ("model", model)])

    def weights(self, name: Any) -> Real:
        """Weights (N,) of the training rows: factors on those of the design."""
        kept, found = self._rows(), np.zeros(len(self.X))
        found[kept] = self._weighed(self.judge if name is None else name, kept)
        return found

    def options(self, name: str) -> dict[str, Any]:
        """Options of a method's learner that the comparison found once, such as the kernel."""
        return self.shared.get(resolve(self.learner, name)[0].name, {})

    def _weighed(self, name: Any, rows: NDArray[np.intp]) -> Real:
        _, X, target = self._scaled(rows)
        given = self._target_weight(), self.random_state, self._design(rows)
        if isinstance(target, MarginTarget):
            X, target = target.known.table, target.known.margins
        return np.asarray(fit_weights(name, X, self.y[rows], target, *given).weights_)

    def _rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.own.kept)

    def _design(self, rows: NDArray[np.intp]) -> Real | None:
        return None if self.own.equal else self.own.w[rows]

    def _target_weight(self) -> Real | None:
        if self.share is None or self.share.equal:
            return None
        return self.share.w[self.share.kept]

    def _scaled(self, rows: NDArray[np.intp]) -> tuple[StandardScaler, Any, Any]:
        with alone():
            scaler = StandardScaler().fit(self.X[rows], sample_weight=self._design(rows))
            X = scaler.transform(self.X[rows])
            if self.samples.margins is not None:
                return scaler, X, standardised(self.samples.take(rows), scaler)
            assert self.share is not None
            T = scaler.transform(self.samples.T[self.share.kept])
        return scaler, *(grouped(part, self.samples.one_feature) for part in (X, T))


def _numbers_of(samples: Samples, X: Any) -> Real:
    """Rows as the numbers that models see."""
    return samples.encode(X, "X")


def _outcomes(task: str, y: Any, name: str, rows: int, of: str) -> NDArray[Any]:
    """Check outcomes once, so that no method fails for what is wrong with them."""
    if task == "regression":
        return one_outcome(y, name, rows, of)
    labels = class_labels(y, rows, name, of)
    if name == "y" and len(np.unique(labels)) < 2:
        raise InputError(f"y holds only the class {labels[0]!r}; a comparison needs two.")
    return labels


class _Trial:
    """The samples and folds that all methods share."""

    def __init__(
        self,
        learner: str,
        task: str,
        loss: str,
        X: Real,
        y: NDArray[Any],
        target: RowTarget | MarginTarget,
        scored: tuple[Real, NDArray[Any], Real] | None,
        random_state: int,
        own: Real | None = None,
    ) -> None:
        self.own = own  # (N,): weights by the design of the sample, mean one
        self.learner, self.task, self.loss = learner, task, LOSSES[loss]
        self.X, self.y, self.target, self.scored = X, y, target, scored
        self.random_state = random_state
        self.notes: list[Note] = []
        self.reference: Real | None = None
        self.contenders: list[Real] = []  # losses of the others, (N,) each
        self.controls: dict[str, Real] = {}  # of these, other learners without a correction
        self.weights: dict[str, Real] = {}  # of weighters by name, each fitted once
        self.options: dict[str, dict[str, Any]] = {}  # of every learner, shared by its methods
        self.shared: dict[str, dict[str, Any]] = {}  # of these, what the first fit found

    def prepare(self, n_folds: int, weighter: str) -> None:
        """Draw the folds, and weigh the rows that will be held out."""
        smallest = len(self.y)
        if self.task == "classification":
            smallest = int(np.unique(self.y, return_counts=True)[1].min())
        n_folds = max(2, min(n_folds, smallest))
        split = TargetSafeSplit(n_folds, random_state=self.random_state)
        with alone():
            labels = self.y if self.task == "classification" else None
            self.folds = list(split.split(self.X, labels))
        self.held_out = self._final(None)
        with heard() as caught, checked():
            try:
                self.held_out = self._final(self._weigh(weighter))
            except Exception as error:
                text = (
                    f"The held-out rows could not be weighted ({_short(error)}): the risks are "
                    "those of the training distribution, not of the target."
                )
                self.notes.append(Note("weights of held-out rows", text, "warning"))
        self.notes += [
            Note("weights of held-out rows", f"Held-out rows: {_said(item)}") for item in caught[:1]
        ]

    def row(self, method: Method) -> Row:
        """Try a method; whatever goes wrong becomes its note."""
        start = time.perf_counter()
        row = empty_row(method.name, method.kind, note=method.note, control=method.control)
        row[f"{self.target.measure}_before"] = self.target.off(self.own)
        with heard() as caught, checked():
            try:
                self._fill(row, method)
            except Exception as error:
                row["note"] = f"failed: {_short(error)}"
        doubts = [
            _said(item)
            for item in caught
            if item.category.__module__.startswith("covshift")
            and not issubclass(item.category, ConstantColumnWarning)  # of the rows that were drawn
        ]
        row["note"] = "; ".join(filter(None, [row["note"], *doubts[:1]])).replace(".; ", ". ")
        row["seconds"] = time.perf_counter() - start
        return row

    def _fill(self, row: Row, method: Method) -> None:
        w = None
        if method.kind == "weights":
            w = self._weigh(method.name)
            row[f"{self.target.measure}_after"] = self.target.off(self.own, self._final(w))
        if method.kind != "correction":
            row["effective_sample_size"] = effective_sample_size(self._final(w))
        entry = resolve(self.learner, method.name)[0]
        options = self.options.setdefault(entry.name, dict(entry.in_comparison.get(self.task, {})))
        whole = self._fit(method, np.arange(len(self.y)), w, options)
        if entry.shared is not None and entry.shared not in options:
            self.shared[entry.name] = found_once(self.learner, method.name, whole)
            found = self.shared[entry.name][entry.shared]
            options[entry.shared] = found
        tuned = {} if entry.tuned is None else {entry.tuned: getattr(whole, f"{entry.tuned}_")}
        losses = np.empty(len(self.y))
        for train, test in self.folds:
            with quiet():  # the fit on all rows has said it
                model = self._fit(method, train, w, {**options, **tuned})
            with alone():
                losses[test] = self.loss(model, self.X[test], self.y[test])
        if method.kind == "baseline":
            self.reference = losses
        else:
            self.contenders.append(losses)
            if method.control:
                self.controls[method.name] = losses
        risk = weighted_risk(losses, self.held_out)
        row["risk"], row["standard_error"] = risk.value, risk.standard_error
        if self.reference is not None:
            gain = weighted_risk(self.reference - losses, self.held_out)
            row["gain"], row["gain_standard_error"] = gain.value, gain.standard_error
        control = self.controls.get(control_of(method.name))
        if control is not None and not method.control:
            gain = weighted_risk(control - losses, self.held_out)
            row["gain_over_control"] = gain.value
            row["gain_over_control_standard_error"] = gain.standard_error
        if self.scored is not None:
            *rows, share = self.scored
            with alone():
                row["true_risk"] = float(share @ self.loss(whole, *rows))

    def needed(self) -> float:
        """Return the standard errors that a gain must exceed to be clear, infinite without any."""
        return self._needed_among(self.contenders)

    def needed_by_control(self) -> float | None:
        """Return the same for controls alone; None without any."""
        return self._needed_among(list(self.controls.values())) if self.controls else None

    def _needed_among(self, contenders: list[Real]) -> float:
        able = [losses for losses in contenders if np.isfinite(losses).all()]
        if self.reference is None or not able:
            return math.inf
        return paired_gains(self.reference, np.array(able), self.held_out).needed()

    def _fit(
        self, method: Method, rows: NDArray[np.intp], w: Real | None, options: dict[str, Any]
    ) -> Any:
        # A note has told of columns without margins.
        with quiet(MarginsWarning, when=isinstance(self.target, MarginTarget)):
            return fit_method(
                self.learner,
                method.name,
                self.task,
                self.X[rows],
                self.y[rows],
                self.target.for_learner(resolve(self.learner, method.name)[1]),
                weights=None if w is None else w[rows],
                sample_weight=None if self.own is None else self.own[rows],
                target_weight=self.target.share,
                options=options,
                random_state=self.random_state,
            )

    def _weigh(self, name: str) -> Real:
        if name not in self.weights:
            found = self.target.weigh(name, self.y, self.own, self.random_state)
            self.weights[name] = found
        return self.weights[name]

    def _final(self, w: Real | None) -> Real:
        """Weights (N,) to use: factors, one where there are none, times those of the design."""
        w = np.ones(len(self.X)) if w is None else w
        return w if self.own is None else w * self.own


def _mean_one(weight: Real) -> Real:
    return np.asarray(weight / weight.mean())


def _some(
    count: int, limit: int, rng: np.random.Generator, which: str, notes: list[Note]
) -> NDArray[np.intp]:
    if count <= limit:
        return np.arange(count)
    text = f"Compared on {limit} of {count} {which} rows, drawn at random."
    notes.append(Note("thinned", text))
    return np.sort(rng.choice(count, limit, replace=False))


_SHORT = 160


def _said(warning: Heard) -> str:
    """Return its first sentence; extremes are those of scaled columns, which nobody knows."""
    apart = issubclass(warning.category, OverlapWarning)
    return "There is no overlap." if apart else _short(warning.text)


def _short(message: object) -> str:
    """Return the first sentence, which says what is wrong: others say what to do about it."""
    text = re.split(r"(?<=\.) (?=[A-Z])|\n", str(message), maxsplit=1)[0]
    if len(text) <= _SHORT:
        return text
    part, comma, _ = text[:_SHORT].rpartition(", ")
    return f"{part}." if comma else f"{text[:_SHORT].rpartition(' ')[0]} ..."
