"""Which correction helps here, if any: every method, one table, one honest sentence."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from .._gains import paired_gains
from .._progress import track
from ..diagnostics import standardized_mean_differences
from ..estimates import estimate_risk
from ..weights import effective_sample_size
from .methods import UNWEIGHTED, Method, check_method, fit_method, fit_weights, methods_for
from .selection import LOSSES, TargetSafeSplit

Real = NDArray[np.float64]

MAX_ROWS = {"vsvm": 1000, "vboost": 300, "linear": 2000, "trees": 2000}
"""Rows of either sample that a comparison uses unless told otherwise, by learner."""

_LOSS_WORDS = {
    "squared_error": "squared error (Brier score for classes)",
    "zero_one": "share of wrong classes",
    "log_loss": "log loss",
}


@dataclass(frozen=True)
class MethodComparison:
    """Estimated target risk of every method, and what follows from it."""

    learner: str
    loss: str
    chosen: str
    recommendation: str
    scored_on_target_labels: bool
    rows: list[dict[str, Any]]
    needed: float  # standard errors that a gain must exceed to be clear among so many
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that could not be found is None."""
        return {
            "learner": self.learner,
            "loss": self.loss,
            "chosen": self.chosen,
            "recommendation": self.recommendation,
            "scored_on_target_labels": self.scored_on_target_labels,
            "needed_standard_errors": _plain(self.needed),
            "rows": [{key: _plain(value) for key, value in row.items()} for row in self.rows],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        truth = self.scored_on_target_labels
        head = f"{'method':16s} {'risk':>8s} {'s.e.':>7s} {'gain':>8s} {'s.e.':>7s}"
        head += f" {'truth':>8s}" * truth + f" {'ESS':>7s} {'balance':>8s} {'time s':>7s}"
        lines = [self.recommendation, *self._checked(), "", head]
        for row in self.rows:
            numbers = [(row["risk"], 8, 4), (row["standard_error"], 7, 4)]
            numbers += [(row["gain"], 8, 4), (row["gain_standard_error"], 7, 4)]
            numbers += [(row["true_risk"], 8, 4)] * truth
            numbers += [(row["effective_sample_size"], 7, 0), (row["smd_after"], 8, 3)]
            numbers += [(row["seconds"], 7, 2)]
            mark = "*" if row["method"] == self.chosen else " "
            cells = " ".join(_cell(*number) for number in numbers)
            note = f"  {row['note']}" if row["note"] else ""
            lines.append(f"{row['method']:15s}{mark} {cells}{note}")
        before = self.rows[0]["smd_before"]
        lines += [
            "",
            f"risk: {_LOSS_WORDS.get(self.loss, self.loss)} on the target, estimated from held-out "
            "training rows",
            "weighted to look like it; gain: over the unweighted model, with the standard error of "
            "the difference;",
            f"balance: mean absolute standardised mean difference, {before:.3f} before weighting; "
            "* chosen.",
        ]
        if truth:
            lines.append("truth: measured on the target's labels, which had no part in the choice.")
        return "\n".join(lines)

    def _checked(self) -> list[str]:
        """Set the choice against the truth, where it is known."""
        risks = {row["method"]: row["true_risk"] for row in self.rows}
        if not self.scored_on_target_labels or None in (risks[self.chosen], risks[UNWEIGHTED]):
            return []
        if self.chosen == UNWEIGHTED:
            return [f"On the target's labels its risk is {risks[UNWEIGHTED]:.4f}."]
        return [
            f"On the target's labels the risk of {self.chosen} is {risks[self.chosen]:.4f}, that "
            f"of the unweighted model {risks[UNWEIGHTED]:.4f}."
        ]


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
    target_weight: Any = None,
    methods: list[Method] | None = None,
    weighter: str = "cdf",
    n_folds: int = 5,
    max_rows: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> MethodComparison:
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
    learner : {"vsvm", "linear", "trees", "vboost"}
    task : {"classification", "regression"}
    loss : {"squared_error", "zero_one", "log_loss"}
    y_target, X_scored : arrays, optional
        Labels of target rows, and these rows where they are not all of ``X_target``. They score
        the models fitted on all rows (``true_risk``) and have no part in the choice.
    target_weight : (M,) array, optional
    methods : list of Method, optional
        Default `covshift.compare.methods_for`.
    weighter : str
        Makes the weights of the held-out rows.
    n_folds : int
    max_rows : int, optional
        Larger samples are thinned at random to so many rows; default `MAX_ROWS` of the learner.
    random_state : int
    verbose : bool
        Show a progress bar, on a terminal.

    Returns
    -------
    MethodComparison
        A method that fails has a row that says why.

    Notes
    -----
    Rows are standardised, weights estimated and the kernel machine's penalty chosen once, on all
    training rows, not in each fold: the features of held-out rows take part in this, their labels
    in the penalty alone. Standard errors take the weights as known. Cost: a weighter and n_folds +
    1 fits a method.

    Examples
    --------
    >>> from covshift.compare import compare_methods
    >>> from covshift.datasets import make_survey
    >>> data = make_survey(300, 300, random_state=0)
    >>> found = compare_methods(data.X, data.y, data.X_target, learner="linear")
    >>> found.rows[0]["method"], found.chosen
    ('unweighted', 'unweighted')
    """
    X, X_target = np.asarray(X, dtype=np.float64), np.asarray(X_target, dtype=np.float64)
    y = np.asarray(y)
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is unknown. Use one of {', '.join(LOSSES)}.")
    if task == "regression" and loss != "squared_error":
        raise ValueError(f"loss={loss!r} is for classes; numbers have 'squared_error'.")
    methods = methods_for(learner, X.shape[1]) if methods is None else methods
    for method in methods:
        check_method(learner, method.name)
    rng = np.random.default_rng(random_state)
    notes: list[str] = []
    limit = MAX_ROWS[learner] if max_rows is None else max_rows
    rows = _some(len(X), limit, rng, "training", notes)
    target_rows = _some(len(X_target), limit, rng, "target", notes)
    if y_target is not None and X_scored is None:
        X_scored = X_target
    scaler = StandardScaler().fit(X[rows])
    T = scaler.transform(X_target[target_rows])
    share = None if target_weight is None else np.asarray(target_weight)[target_rows]
    scored = None if y_target is None else (scaler.transform(X_scored), np.asarray(y_target))
    trial = _Trial(
        learner, task, loss, scaler.transform(X[rows]), y[rows], T, share, scored, random_state
    )
    trial.prepare(n_folds, weighter)
    notes += trial.notes
    table = [
        trial.row(method) for method in track(methods, len(methods), "comparing", verbose=verbose)
    ]
    needed = trial.needed()
    chosen, sentence = _recommend(table, learner, needed)
    scored_on_labels = y_target is not None
    return MethodComparison(learner, loss, chosen, sentence, scored_on_labels, table, needed, notes)


class _Trial:
    """The samples and folds that all methods share."""

    def __init__(
        self,
        learner: str,
        task: str,
        loss: str,
        X: Real,
        y: NDArray[Any],
        T: Real,
        share: Real | None,
        scored: tuple[Real, NDArray[Any]] | None,
        random_state: int,
    ) -> None:
        self.learner, self.task, self.loss = learner, task, LOSSES[loss]
        self.X, self.y, self.T, self.share, self.scored = X, y, T, share, scored
        self.random_state = random_state
        self.notes: list[str] = []
        self.reference: Real | None = None
        self.contenders: list[Real] = []  # losses of the others, (N,) each

    def prepare(self, n_folds: int, weighter: str) -> None:
        """Draw the folds, and weigh the rows that will be held out."""
        smallest = len(self.y)
        if self.task == "classification":
            smallest = int(np.unique(self.y, return_counts=True)[1].min())
        n_folds = max(2, min(n_folds, smallest))
        split = TargetSafeSplit(n_folds, random_state=self.random_state)
        self.folds = list(split.split(self.X, self.y if self.task == "classification" else None))
        self.held_out = np.ones(len(self.X))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.held_out = self._weigh(weighter)
            except Exception as error:
                self.notes.append(
                    f"The held-out rows could not be weighted ({_short(error)}): the risks below "
                    "are those of the training distribution."
                )
        self.notes += [f"Held-out rows: {_short(item.message)}" for item in caught[:1]]

    def row(self, method: Method) -> dict[str, Any]:
        """Try a method; whatever goes wrong becomes its note."""
        start = time.perf_counter()
        row: dict[str, Any] = {
            "method": method.name,
            "kind": method.kind,
            "risk": math.nan,
            "standard_error": math.nan,
            "gain": math.nan,
            "gain_standard_error": math.nan,
            "true_risk": None,
            "effective_sample_size": None,
            "smd_before": imbalance(self.X, self.T, share=self.share),
            "smd_after": None,
            "seconds": 0.0,
            "note": method.note,
        }
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self._fill(row, method)
            except Exception as error:
                row["note"] = f"failed: {_short(error)}"
        doubts = [
            _short(item.message)
            for item in caught
            if type(item.message).__module__.startswith("covshift")
        ]
        row["note"] = "; ".join(filter(None, [row["note"], *doubts[:1]]))
        row["seconds"] = time.perf_counter() - start
        return row

    def _fill(self, row: dict[str, Any], method: Method) -> None:
        w = None
        if method.kind == "weights":
            w = self._weigh(method.name)
            row["smd_after"] = imbalance(self.X, self.T, w, self.share)
        if method.kind != "correction":
            row["effective_sample_size"] = effective_sample_size(
                np.ones(len(self.X)) if w is None else w
            )
        whole = self._fit(method, np.arange(len(self.y)), w, "cv")
        reg = getattr(whole, "reg_", "cv")
        losses = np.empty(len(self.y))
        for train, test in self.folds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit on all rows has said it
                model = self._fit(method, train, w, reg)
            losses[test] = self.loss(model, self.X[test], self.y[test])
        if method.kind == "baseline":
            self.reference = losses
        else:
            self.contenders.append(losses)
        risk = estimate_risk(losses, self.held_out)
        row["risk"], row["standard_error"] = risk.value, risk.standard_error
        if self.reference is not None:
            gain = estimate_risk(self.reference - losses, self.held_out)
            row["gain"], row["gain_standard_error"] = gain.value, gain.standard_error
        if self.scored is not None:
            row["true_risk"] = float(self.loss(whole, *self.scored).mean())

    def needed(self) -> float:
        """Return the standard errors that a gain must exceed to be clear, infinite without any."""
        able = [losses for losses in self.contenders if np.isfinite(losses).all()]
        if self.reference is None or not able:
            return math.inf
        return paired_gains(self.reference, np.array(able), self.held_out).needed()

    def _fit(self, method: Method, rows: NDArray[np.intp], w: Real | None, reg: Any) -> Any:
        return fit_method(
            self.learner,
            method.name,
            self.task,
            self.X[rows],
            self.y[rows],
            self.T,
            weights=None if w is None else w[rows],
            target_weight=self.share,
            reg=reg,
            random_state=self.random_state,
        )

    def _weigh(self, name: str) -> Real:
        fitted = fit_weights(name, self.X, self.y, self.T, self.share, self.random_state)
        return np.asarray(fitted.weights_)


def imbalance(X: Real, T: Real, w: Real | None = None, share: Real | None = None) -> float:
    """Mean absolute standardised mean difference of the columns, X weighted by w.

    Columns that are constant in both samples, and differ, have no such number and no say; if there
    are no others it is infinite.
    """
    share = np.ones(len(T)) if share is None else share
    found = np.abs(standardized_mean_differences(X, T, share / share.sum(), w))
    finite = found[np.isfinite(found)]
    return float(finite.mean()) if len(finite) else float("inf")


def _recommend(rows: list[dict[str, Any]], learner: str, needed: float) -> tuple[str, str]:
    """Choose the best of the methods whose paired gain is clear, and say so in one sentence.

    ``needed`` is the number of standard errors that a gain must exceed to be clear.
    """
    baseline = rows[0]
    able = [row for row in rows[1:] if math.isfinite(row["risk"]) and math.isfinite(row["gain"])]
    if not able or not math.isfinite(baseline["risk"]):
        return UNWEIGHTED, "Keep the unweighted model: nothing could be compared with it."
    best = min(able, key=lambda row: row["risk"])
    if best["gain"] <= 0:
        return UNWEIGHTED, (
            f"Keep the unweighted model ({learner}): no method has a lower estimated target risk."
        )
    clear = [row for row in able if row["gain"] > max(0.0, needed * row["gain_standard_error"])]
    if not clear:
        return UNWEIGHTED, (
            f"Keep the unweighted model ({learner}): the best of {len(able)} methods, "
            f"{best['method']}, gains {best['gain']:.4f}, "
            f"{best['gain'] / best['gain_standard_error']:.1f} standard errors, and only "
            f"{needed:.1f} or more are clear."
        )
    best = min(clear, key=lambda row: row["risk"])
    gain, error = best["gain"], best["gain_standard_error"]
    share = f" ({gain / baseline['risk']:.0%})" if baseline["risk"] > 0 else ""
    control = (
        "; this is a control without correction: the gain comes from the learner, not from the "
        "target rows"
        if best["note"].startswith("control")
        else ""
    )
    return best["method"], (
        f"Use {best['method']} ({learner}): its estimated target risk is {best['risk']:.4f} "
        f"against {baseline['risk']:.4f} of the unweighted model, a gain of {gain:.4f}{share} with "
        f"a standard error of {error:.4f}{control}."
    )


def _some(
    count: int, limit: int, rng: np.random.Generator, which: str, notes: list[str]
) -> NDArray[np.intp]:
    if count <= limit:
        return np.arange(count)
    notes.append(f"Compared on {limit} of {count} {which} rows, drawn at random.")
    return np.sort(rng.choice(count, limit, replace=False))


def _short(message: object) -> str:
    text = str(message).partition("\n")[0]
    return text if len(text) <= 160 else text[:157] + "..."


def _cell(value: float | None, width: int, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return f"{'-':>{width}s}"
    return f"{value:{width}.{digits}f}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
