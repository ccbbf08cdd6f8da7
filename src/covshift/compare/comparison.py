"""Which correction helps here, if any: every method, one table, one honest sentence."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from .._both_samples import BothSamples
from .._gains import paired_gains
from .._labels import class_labels, one_outcome
from .._parallel import one_thread
from .._parameters import one_of
from .._progress import Progress
from .._quiet import alone, heard, quiet
from .._row_weights import check_weight, row_weights, target_weights
from .._types import Real
from .._validation import unwrap_target
from ..encoding import encoded as grouped
from ..estimates import estimate_risk
from ..exceptions import InputError, MarginsWarning
from ..show.notes import Note, distinct
from ..weights import effective_sample_size
from .methods import (
    Method,
    check_method,
    fit_method,
    learner_entry,
    methods_for,
    refuse_what_needs_rows,
    resolve,
)
from .remembered import Remembered
from .result import Comparison, Row, control_of, empty_row
from .selection import LOSSES, TargetSafeSplit
from .target import (
    MarginTarget,
    RowTarget,
    default_judge,
    margin_rows,
    methods_with_margins,
    refuse_scored,
)


def compare_methods(
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
    """Compare all methods with one learner, by importance-weighted cross-validation.

    Held-out training rows, weighted by ``weighter``, stand for the target (Sugiyama, Krauledat,
    Müller 2007). The unweighted model is always in the first line, and is recommended unless a
    method beats it clearly: by more standard errors of the paired difference than the luckiest of
    so many methods would reach in 5 % of the cases if none of them gained anything. That number
    comes from a multiplier bootstrap of the paired losses (Chernozhukov, Chetverikov, Kato 2013),
    so that a dozen nearly equal methods are not judged as if they were a dozen different ones.

    Parameters
    ----------
    X, y, X_target : (N, n), (N,) and (M, n) arrays
        X and ``X_target`` may be data frames with text, categories, dates, booleans and gaps: all
        methods get the same numbers (`covshift.TableEncoder`). ``X_target`` may be
        `covshift.Margins`. Methods that need target rows are then left out, and a note names them.
    learner : str
        A name in `covshift.compare.LEARNERS`: "vsvm", "linear", "trees", "vboost".
    task : {"classification", "regression"}
    loss : {"squared_error", "zero_one", "log_loss"}
    y_target, X_scored : arrays, optional
        Labels of target rows, and these rows where they are not all of ``X_target``. They score
        the models fitted on all rows (``true_risk``) and have no part in the choice.
    scored_weight : array, optional
        Weights of the rows of ``X_scored``.
    sample_weight, target_weight : (N,) and (M,) arrays, optional
        Probability weights of the rows, such as those of a survey, on any scale: the methods' own
        weights are factors on ``sample_weight``.
    methods : list of Method, optional
        Default `covshift.compare.methods_for`.
    weighter : str, optional
        Makes the weights of the held-out rows. Default "cdf"; for margins that are means alone,
        "entropy".
    n_folds : int
    max_rows : int, optional
        Rows drawn at random from larger samples; default: by the learner, 300 to 2000.
    random_state : int
    verbose : bool
        Show a progress bar, on a terminal.

    Returns
    -------
    Comparison
        A method that fails has a row that says why.

    Notes
    -----
    Rows are standardised, weights estimated and the kernel machine's penalty chosen once, on all
    training rows, not in each fold: the features of held-out rows take part in this, their labels
    in the penalty alone, which is found by three folds. Standard errors take the weights as known.
    Cost per method: a weighter and n_folds + 1 fits.

    Examples
    --------
    >>> from covshift.compare import compare_methods
    >>> from covshift.datasets import make_survey
    >>> data = make_survey(300, 300, random_state=0)
    >>> found = compare_methods(data.X, data.y, data.X_target, learner="linear")
    >>> found.rows[0]["method"], found.recommended
    ('none', 'none')
    """
    one_of(*LOSSES).check(loss, "loss")
    if task == "regression" and loss != "squared_error":
        raise InputError(f"loss={loss!r} is for classes. For numbers use 'squared_error'.")
    notes: list[Note] = []
    known = margin_rows(X, X_target, target_weight)
    groups = None
    if known is None:
        both = BothSamples.of(X, unwrap_target(X_target))
        X, T, groups = both.X, both.T, both.groups
        if X_scored is not None:
            X_scored = both.rows(X_scored, "X_scored")
        notes += both.notes
        judge = weighter or default_judge()
        methods = methods_for(learner, X.shape[1]) if methods is None else methods
    else:
        X, T = known.numbers(X, "X"), np.empty((0, 0))
        if X_scored is not None:
            X_scored = known.numbers(X_scored, "X_scored")
        refuse_scored(y_target, X_scored)
        judge = weighter or default_judge(known.known.margins)
        refuse_what_needs_rows(judge, judge=True)
        methods = methods_with_margins(learner, X.shape[1], known, methods, notes)
        notes += known.notes
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
    if known is None:
        there = target_weights(len(T), unwrap_target(target_weight))
        if y_target is not None and X_scored is None:
            X_scored, scored_weight = T, there.w
        given = np.flatnonzero(there.kept)
        there_rows = given[_some(len(given), limit, rng, "target", notes)]
        share = None if there.equal else _mean_one(there.w[there_rows])
        target = RowTarget(scaled(X[rows]), scaled(T[there_rows]), share, groups)
    else:
        target = known.rows(rows).standardised(scaler.mean_, scaler.scale_)
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
    )


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
        with heard() as caught:
            try:
                self.held_out = self._final(self._weigh(weighter))
            except Exception as error:
                text = (
                    f"The held-out rows could not be weighted ({_short(error)}): the risks are "
                    "those of the training distribution, not of the target."
                )
                self.notes.append(Note("weights of held-out rows", text, "warning"))
        self.notes += [
            Note("weights of held-out rows", f"Held-out rows: {_short(item.text)}")
            for item in caught[:1]
        ]

    def row(self, method: Method) -> Row:
        """Try a method; whatever goes wrong becomes its note."""
        start = time.perf_counter()
        row = empty_row(method.name, method.kind, note=method.note, control=method.control)
        row[f"{self.target.measure}_before"] = self.target.off(self.own)
        with heard() as caught:
            try:
                self._fill(row, method)
            except Exception as error:
                row["note"] = f"failed: {_short(error)}"
        doubts = [
            _short(item.text) for item in caught if item.category.__module__.startswith("covshift")
        ]
        row["note"] = "; ".join(filter(None, [row["note"], *doubts[:1]]))
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
            found = getattr(whole, f"{entry.shared}_")
            if entry.shared == "kernel":
                scored = None if self.scored is None else np.asarray(self.scored[0])
                found = Remembered.of(found, whole._f.Z, scored)
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
        risk = estimate_risk(losses, self.held_out)
        row["risk"], row["standard_error"] = risk.value, risk.standard_error
        if self.reference is not None:
            gain = estimate_risk(self.reference - losses, self.held_out)
            row["gain"], row["gain_standard_error"] = gain.value, gain.standard_error
        control = self.controls.get(control_of(method.name))
        if control is not None and not method.control:
            gain = estimate_risk(control - losses, self.held_out)
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


def _short(message: object) -> str:
    text = str(message).partition("\n")[0]
    return text if len(text) <= 160 else text[:157] + "..."
