"""Label shift: the classes have other shares in the target, and look the same within.

Under it p(x | y) is kept, so that the target is a mixture of the sample's classes. With the share
p_c of class c in the sample, its share pi_c in the target, and any functions a(x) of the row,

    E_T[a] = sum_c pi_c E_S[a | y = c] = C pi ,                                        (13.1)

a linear equation for pi. With the cross-fitted chances a = q (K columns) this is black-box shift
estimation (BBSE), which is right whatever the calibration of q. The maximum-likelihood shares
(MLLS), found by expectation and maximisation,

    pi_c = sum_t s_t pi_c q_c(t) / p_c / sum_k pi_k q_k(t) / p_k ,                     (13.2)

err less where q is calibrated, and are wrong where it is not. What is used here has both virtues:
(13.1) with the scores of the likelihood at the solution of (13.2),

    a_c(x) = q_c(x) / sum_k q_k(x) r_k ,    r = pi / p .                               (13.3)

Influence values, with the columns C_c of class means, the target's shares s and the sample's u:

    target row:  s_t C^-1 (a(t) - mean_T a) ,    sample row of class c:  -pi_c u_i / p_c C^-1
    (a(x_i) - C_c) .

A number that is a function of the shares and of the classes' own distributions, such as a metric
whose labelled rows weigh u_i r_c, has the influence values pi_c u_i / p_c (g_i - mean_c g) of rows
and those of pi times mean_c g, g its derivative by the masses.

The test. A mixture of the classes must agree with the target in every function of the row, not
only in those that found pi. With more of them, phi (hat functions of the chances, and columns),

    D = mean_T phi - sum_c pi_c mean_c phi ,    D' Cov(D)^- D ,                        (13.4)

against the F distribution with as many degrees as Cov(D) has rank, the influence of pi counted in
it. A small p-value says that the columns differ within classes: no label shift. Without labels of
the target covariate shift cannot be tested so: any p(x) fits it.

Sources: Lipton, Wang and Smola (2018), *Detecting and correcting for label shift with black box
predictors*; Saerens, Latinne and Decaestecker (2002), *Adjusting the outputs of a classifier to new
a priori probabilities*; Alexandari, Kundaje and Shrikumar (2020), *Maximum likelihood with
bias-corrected calibration is hard-to-beat at label shift adaptation*; Hansen (1982) for the test of
more moments than parameters. The combination (13.3) is **ours**: `benchmarks/assumptions.py`
compares it with both. Cost: O((N + F M) K) besides the chances, of F folds' models, and
O((N + M) J^2) for the test of J functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from ..data import Samples
from ..data.row_weights import kish
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Design, Influence
from ..show.answer import OF_CLASSES
from ..show.notes import Note
from ..show.table import Record
from ..show.words import printable
from .intervals import Errors, Number
from .problem import Problem
from .weights import weigh

SHIFTS = ("covariate", "label")
_LEAST_CHANCE = 1e-3  # of a class, in the likelihood
_LEAST_RATIO = 0.02  # of the shares, in the scores: beyond, few rows would carry them
_LEAST_ROWS = 5  # of a class
_STEPS, _TOLERANCE = 300, 1e-7
_APART = 3.0  # standard errors between the classes' means, below which they cannot be told apart
_BARELY = 6.0  # and below which a note says so
_BENDS = 4
_MOST_COLUMNS = 30
_ROWS_PER_MOMENT = 10.0  # degrees of freedom for each function of the test
_SEEN = 20.0  # rows that differ from the others in a column of the test
_FAR = 3.0  # standard deviations at which columns of the test are cut
_LEAST_PART = 0.01  # of the largest eigenvalue of D's correlation: beyond, folds' noise speaks
_LEVEL = 0.05


WHY_NOT = {  # options that label shift has no use for
    "by": "classes may look different within groups: ask for each group by itself",
    "method": "the methods rest on covariate shift",
    "weighter": "the weights follow from the class shares",
    "restrict": "the target is explained as a whole, by the classes",
    "replicates": "errors come from influence values",
    "y_target": "outcomes of target rows tell the shares themselves, without it",
}


def refuse_with_label_shift(margins: bool, **given: Any) -> None:
    """Refuse what label shift has no use for; ``given`` are options by name, None if absent."""
    if margins:
        raise InputError('shift="label" needs target rows, and X_target is a covshift.Margins.')
    for name, value in given.items():
        if value is not None:
            raise InputError(f'{name} is not for shift="label": {WHY_NOT[name]}.')


@dataclass(frozen=True)
class LabelShiftTest(Record):
    """Whether the target is a mixture of the sample's classes: a test of label shift."""

    outcome: str
    statistic: float  # of the F distribution
    degrees: int
    p_value: float

    @property
    def rejected(self) -> bool:
        """Whether the columns contradict label shift."""
        return self.p_value < _LEVEL


def of_classes(tests: Sequence[LabelShiftTest]) -> str:
    """Say what an answer by class shares rests on, and what the tests say of it."""
    told = [OF_CLASSES]
    for test in tests:
        of = f" ({test.outcome})" if len(tests) > 1 else ""
        does = "contradict" if test.rejected else "do not contradict"
        told.append(f"The target's columns {does} this{of}: {_p_value(test.p_value)}.")
    return " ".join(told)


def within_classes(problem: Problem, y: NDArray[Any], rows: Rows, there: NDArray[Any]) -> float:
    """Test label shift by outcomes of target rows: do columns differ within classes? A p-value.

    ``y`` (N,) are the classes of the sample, ``there`` (L,) those of the target ``rows`` (L,). For
    each class, D is the difference of the means of columns between the samples; D' Cov(D)^-1 D,
    summed over classes, is compared with the F distribution. NaN where no class has enough rows.
    """
    kept = [c for c in np.unique(y) if min(np.sum(y == c), np.sum(there == c)) >= 2 * _LEAST_ROWS]
    if not kept:
        return np.nan
    fewest = min(min(np.sum(y == c), np.sum(there == c)) for c in kept)
    most = int(np.clip(fewest // _LEAST_ROWS, 1, _MOST_COLUMNS))
    phi, target = _columns(problem.weights.Z, problem.weights.T, most)
    if not phi.shape[1]:
        return np.nan
    statistic, degrees, freedom = 0.0, 0, []
    for c in kept:
        parts = phi[y == c], target[rows][there == c]
        D = parts[1].mean(axis=0) - parts[0].mean(axis=0)
        cov = sum(np.cov(part, rowvar=False).reshape(len(D), -1) / len(part) for part in parts)
        statistic += float(D @ np.linalg.pinv(cov, hermitian=True) @ D)
        degrees += int(np.linalg.matrix_rank(cov, hermitian=True))
        freedom.append(min(map(len, parts)) - 1)
    rest = sum(freedom)
    left = max(1.0, rest - degrees)
    return float(fdtrc(degrees, left, statistic * left / (rest * degrees)))


def which_shift(p: float) -> str:
    """Say, where outcomes of the target contradict covariate shift, whether label shift fits."""
    if np.isnan(p):
        return ""
    if p < _LEVEL:
        return (
            f" Within classes the columns differ too ({_p_value(p)}): it is not label shift either."
        )
    return (
        f" Within classes the columns do not differ ({_p_value(p)}): this may be label shift, for "
        'which leave out y_target and pass shift="label".'
    )


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 1e-3 else f"p = {p:.2g}"


def rejection(test: LabelShiftTest, *, of_model: bool = False) -> list[Note]:
    """Warn where the target is no mixture of the classes, which a model may have scored."""
    if not test.rejected:
        return []
    of = f", as {test.outcome!r} scores them" if of_model else f" of {test.outcome!r}"
    text = (
        f"The target is not a mixture of the sample's classes{of} "
        f"({_p_value(test.p_value)}): within classes, the columns differ between the two groups. "
        "The class shares may be wrong. Outcomes of a few target rows would show whether covariate "
        "shift holds instead."
    )
    return [Note("label shift", text, "warning")]


@dataclass(frozen=True)
class Shares:
    """Shares of the classes in the target, and what numbers that rest on them need."""

    problem: Problem
    name: str  # of the outcome
    labels: Rows  # (N,): numbers of the classes
    chances: CrossFit  # (N, K) and (folds, M, K)
    influence: Influence  # of the shares (K,): those of the equation, which may be beyond 0 and 1
    separation: float  # standard errors between the two classes that look most alike

    @classmethod
    def of(
        cls,
        problem: Problem,
        y: NDArray[Any],
        classes: NDArray[Any],
        name: str,
        names: Sequence[str] | None = None,
    ) -> Shares:
        """Estimate the shares of the classes (K,) from the labels y (N,), called ``name``.

        ``names`` (K,) are those of the classes, where they are only numbered.
        """
        counts = np.array([(y == c).sum() for c in classes])
        called = list(map(str, classes)) if names is None else names
        rare = [
            f"{printable(c)!r} ({n})"
            for c, n in zip(called, counts, strict=True)
            if n < _LEAST_ROWS
        ]
        if len(classes) < 2:
            raise InputError(
                f"Label shift is about classes, but every row of {name!r} has the same one, "
                f"{printable(called[0])!r}."
            )
        if rare:
            raise InputError(
                "Label shift needs several rows of each class, and some classes have fewer "
                f"than {_LEAST_ROWS} rows: {', '.join(rare)}. Leave these rows out, or put classes "
                "together."
            )
        if np.count_nonzero(problem.sample.share) < 2:
            raise InputError(
                "Label shift compares how rows are distributed, and the target has one row alone: "
                "it needs at least two, and preferably fifty."
            )
        labels = np.searchsorted(classes, y)
        u = problem.sample.d / problem.sample.d.sum()
        h = problem.classes(y, classes, name).h
        q = _within(h, int(problem.fold.max()) + 1)
        p = _totals(labels, u, len(classes))
        pi = _likeliest(
            q.folds, problem.sample.share, p, nearest_shares(_solved(q, labels, u, problem))
        )
        r = np.maximum(pi / p, _LEAST_RATIO)
        a = CrossFit(q.train / (q.train @ r)[:, None], q.folds / (q.folds @ r)[..., None])
        separation, of_scores = (_separation(part.train, labels, u, p, problem) for part in (q, a))
        if of_scores < separation / 2:  # extreme shares: few rows would carry the scores
            a = q
        C, found = _means(a.train, labels, u, p), a.target
        if separation < _APART:
            raise InputError(
                f"Label shift needs columns that tell the classes of {name!r} apart. Some look "
                f"alike in these columns ({separation:.1f} standard errors apart; at least "
                f"{_APART:g} are needed), so their shares cannot be estimated. Add columns or "
                "rows, or put classes together."
            )
        inverse = np.linalg.inv(C)
        mean = problem.sample.share @ found
        pi = inverse @ mean
        size = _root(labels, problem) * (pi[labels] / p[labels]) * u
        train = -size[:, None] * ((a.train - C[:, labels].T) @ inverse.T)
        target = problem.sample.share[:, None] * ((found - mean) @ inverse.T)
        influence = Influence(pi, train, target)
        if problem.finite_population:
            influence = influence.known_target()
        return cls(problem, name, labels, q, influence, separation)

    @classmethod
    def of_rows(
        cls,
        X: Any,
        y: Rows,
        X_target: Any,
        *,
        outcome_model: Any = None,
        names: Sequence[str] | None = None,
        random_state: int = 0,
        **weights: Any,
    ) -> Shares:
        """Estimate the shares of numbered classes y (N,) from rows, with design ``weights``."""
        sample = Samples.of(X, y, X_target, outcome_model=outcome_model, **weights)
        flat = weigh(sample, np.ones(len(y)), max_weight=None, random_state=random_state)
        codes = y.astype(np.float64)
        problem = Problem(sample, flat, "label", 0.95, 5, outcome_model, False, random_state, codes)
        classes = np.arange(int(y.max()) + 1 if names is None else len(names))
        return cls.of(problem, y, classes, "y", names)

    @cached_property
    def value(self) -> Real:
        """Shares (K,), none below zero and summing to one."""
        return nearest_shares(self.influence.value)

    @cached_property
    def sample(self) -> Real:
        """Shares (K,) in the sample, by its design weights."""
        d = self.problem.sample.d
        return _totals(self.labels, d / d.sum(), len(self.value))

    @cached_property
    def weights(self) -> Real:
        """Weights (N,) of the sample's rows, u_i r_c: they sum to one."""
        d = self.problem.sample.d
        return np.asarray(d / d.sum() * (self.value / self.sample)[self.labels])

    def mean(self, value: float, g: Real) -> Influence:
        """Influence on a function of the masses `weights`, of the derivatives g (N,) by them."""
        w, pi = self.weights, self.value
        of_class = np.array([g[self.labels == c] @ self._inside(c) for c in range(len(pi))])
        own = _root(self.labels, self.problem) * w * (g - of_class[self.labels])
        moved = self.influence.linear(of_class[None, :])
        return Influence(np.array([value]), own[:, None] + moved.train, moved.target)

    def errors(self, influence: Influence) -> Errors:
        """What the interval of one number needs: degrees of freedom by how its classes vary."""
        problem, design = self.problem, self.problem.design
        freedom = _freedom(influence.train, self.labels, problem)
        whole = float(design.degrees_within(problem.sample.d > 0))
        there = kish(problem.sample.share)
        return Errors(design, min(freedom, whole), kish(self.weights), there, problem.confidence)

    def number(self, influence: Influence, **options: Any) -> Number:
        """Give a number of these shares its interval."""
        return self.errors(influence).number(influence, **options)

    def share(self, c: int) -> Influence:
        """One of the shares, within 0 and 1."""
        return replace(self.influence.column(c), value=self.value[c : c + 1])

    def notes(self) -> list[Note]:
        """Say where the columns barely tell the classes apart."""
        if self.separation >= _BARELY:
            return []
        text = (
            f"The columns hardly tell the classes of {self.name!r} apart ({self.separation:.1f} "
            "standard errors): the shares are rough, and their intervals as well."
        )
        return [Note("alike classes", text, "warning")]

    @cached_property
    def test(self) -> LabelShiftTest:
        """Test whether the target is a mixture of the classes: equation (13.4)."""
        problem = self.problem
        u, s = problem.sample.d / problem.sample.d.sum(), problem.sample.share
        pi, p = self.influence.value, self.sample
        phi, there = self._functions()
        means = _means(phi, self.labels, u, p)  # (J, K)
        D = s @ there - means @ pi
        size = _root(self.labels, problem) * (pi[self.labels] / p[self.labels]) * u
        moved = self.influence.linear(means)
        train = -size[:, None] * (phi - means[:, self.labels].T) - moved.train
        target = s[:, None] * (there - s @ there)
        target = np.zeros_like(target) if problem.finite_population else target - moved.target
        parts = [problem.design.covariance(train)]
        parts.append(
            Design.simple(len(target)).covariance(target) if target.any() else 0 * parts[0]
        )
        cov = parts[0] + parts[1]
        unit = np.sqrt(np.maximum(np.diag(cov), 1e-300))
        values, vectors = np.linalg.eigh(cov / np.outer(unit, unit))
        kept = values > _LEAST_PART * values.max()
        rank = int(kept.sum())
        B = (vectors[:, kept] / np.sqrt(values[kept])).T / unit  # B Cov B' = I
        statistic = float(np.sum((B @ D) ** 2))
        here = _freedom(train @ B.T, self.labels, problem)
        spread = [float(np.trace(B @ part @ B.T)) / rank for part in parts]
        degrees = [here, max(1.0, kish(s) - 1)]
        freedom = 1 / sum(v**2 / f for v, f in zip(spread, degrees, strict=True))
        rest = max(1.0, freedom - rank + 1)
        F = statistic * rest / (freedom * rank)
        return LabelShiftTest(printable(self.name), F, rank, float(fdtrc(rank, rest, F)))

    def _inside(self, c: int) -> Real:
        """Shares of the rows of a class within it."""
        d = self.problem.sample.d[self.labels == c]
        return np.asarray(d / d.sum())

    def _functions(self) -> tuple[Real, Real]:
        """Functions phi of the rows of both samples, (N, J) and (M, J)."""
        problem, q = self.problem, self.chances
        rows = min(_freedom(self.influence.train, self.labels, problem), len(problem.sample.share))
        most = int(np.clip(rows / _ROWS_PER_MOMENT, 3, _MOST_COLUMNS))
        by_class = min(q.train.shape[1] - 1, 3)
        bends = max(2, min(_BENDS, most // (2 * by_class) + 1))
        parts = [_hats(q.train[:, c], q.folds[..., c], bends) for c in range(1, by_class + 1)]
        parts.append(_columns(problem.weights.Z, problem.weights.T, most))
        return np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])


def _within(q: CrossFit, n_folds: int) -> CrossFit:
    """Keep chances away from zero, all of them means over the deals.

    A row of the sample has the mean over the deals. Had a target row the chance of each, curved
    functions would differ between the two: those of a mean are not the mean of theirs.
    """
    dealt = q.folds.reshape(-1, n_folds, *q.folds.shape[1:]).mean(axis=0)
    train, folds = (np.maximum(part, _LEAST_CHANCE) for part in (q.train, dealt))
    return CrossFit(
        train / train.sum(axis=-1, keepdims=True), folds / folds.sum(axis=-1, keepdims=True)
    )


def _totals(labels: Rows, u: Real, K: int) -> Real:
    """Sum the rows' shares u (N,) over the classes: (K,)."""
    return np.asarray(np.bincount(labels, u, minlength=K), dtype=np.float64)


def _means(values: Real, labels: Rows, u: Real, p: Real) -> Real:
    """Class means of columns (N, J): (J, K)."""
    return np.column_stack(
        [u[labels == c] @ values[labels == c] / share for c, share in enumerate(p)]
    )


def _solved(q: CrossFit, labels: Rows, u: Real, problem: Problem) -> Real:
    """Shares by equation (13.1) with the chances themselves, those of least squares."""
    p = _totals(labels, u, q.train.shape[1])
    C = _means(q.train, labels, u, p)
    return np.asarray(np.linalg.lstsq(C, problem.sample.share @ q.target, rcond=1e-6)[0])


def _likeliest(folds: Real, share: Real, p: Real, pi: Real) -> Real:
    """Shares of the highest likelihood, equation (13.2), from those given on."""
    F, M, K = folds.shape
    ratio, s = (folds / p).reshape(F * M, K), np.tile(share / F, F)
    pi = np.maximum(pi, 1e-6)
    for _ in range(_STEPS):
        mixed = ratio * pi
        found = s @ (mixed / mixed.sum(axis=1, keepdims=True))
        done = np.abs(found - pi).max() < _TOLERANCE
        pi = found
        if done:
            break
    return np.asarray(pi)


def nearest_shares(values: Real) -> Real:
    """Return the nearest shares that are not negative and sum to one (Euclidean projection)."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - excess[ordered > excess][-1], 0.0))


def _root(labels: Rows, problem: Problem) -> Real:
    """Factor (N,) on influence values for the class means taken away: (n_c / (n_c - 1))^(1/2)."""
    d = problem.sample.d
    n = np.array([kish(d * (labels == c)) for c in range(int(labels.max()) + 1)])
    return np.asarray(np.sqrt(n / np.maximum(n - 1, 1.0))[labels])


def _freedom(train: Real, labels: Rows, problem: Problem) -> float:
    """Satterthwaite's degrees of freedom of a sum over classes, each with its own spread."""
    within = [train * (labels == c)[:, None] for c in range(int(labels.max()) + 1)]
    spread = np.array([float(np.trace(problem.design.covariance(part))) for part in within])
    d = problem.sample.d
    degrees = [
        max(1, problem.design.degrees_within((labels == c) & (d > 0))) for c in range(len(within))
    ]
    if not spread.sum() > 0:
        return float(min(degrees))
    share = spread / spread.sum()
    return float(1 / np.sum(share**2 / np.array(degrees)))


def _separation(a: Real, labels: Rows, u: Real, p: Real, problem: Problem) -> float:
    """Standard errors by which a_c - a_k is larger in class c than in class k; the least of pairs.

    Below zero where rows look like other classes than their own: chances of rows left out do so
    where the columns carry no information.
    """
    C, found = _means(a, labels, u, p), []
    for c, k in combinations(range(len(p)), 2):
        v = np.zeros(len(p))
        v[[c, k]] = 1.0, -1.0
        psi = (v[labels] * u / p[labels] * ((a - C[:, labels].T) @ v))[:, None]
        error = float(np.sqrt(problem.design.covariance(psi)[0, 0]))
        found.append(float(v @ C @ v / error) if error > 0 else float("inf"))
    return min(found)


def _hats(train: Real, folds: Real, bends: int) -> tuple[Real, Real]:
    """Hat functions between quantiles of a chance: (N, b), and the means of folds (M, b).

    No indicators of bins: where rows have few distinct values, those near an edge would be on one
    side of it in some folds alone, by the outcomes of the others.
    """
    both = np.concatenate([train, folds.mean(axis=0)])
    knots = np.unique(np.quantile(both, np.linspace(0, 1, bends + 1)))
    one = np.eye(len(knots))[:, 1:]
    here, there = (
        np.stack([np.interp(part, knots, hat) for hat in one.T], axis=-1) for part in (train, folds)
    )
    return here, np.asarray(there.mean(axis=0))


def _columns(Z: Real, T: Real, most: int) -> tuple[Real, Real]:
    """Columns of both samples, standardised and cut; of many the leading principal components."""
    center, spread = Z.mean(axis=0), Z.std(axis=0)
    both = np.vstack([Z, T])
    unit = np.where(spread > 0, spread, both.std(axis=0))
    kept = unit > 0
    both = np.clip((both - center)[:, kept] / unit[kept], -_FAR, _FAR)
    centred = both - both.mean(axis=0)
    squares = np.sum(centred**2, axis=0)
    seen = squares**2 >= _SEEN * np.sum(centred**4, axis=0)
    both, centred = both[:, seen & (squares > 0)], centred[:, seen & (squares > 0)]
    if both.shape[1] > most:
        vectors = np.linalg.eigh(centred.T @ centred)[1]
        both = both @ vectors[:, -most:]
    return both[: len(Z)], both[len(Z) :]
