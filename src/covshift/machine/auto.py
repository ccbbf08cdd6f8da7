"""How a kernel machine finds its correction (theory, section 3.4), and its penalty.

The uncorrected machine is fitted first, as ``correction="none"`` fits it. Then the candidates
predict the same held-out rows in features of its kernel, a few hundred at most: what they differ
by from the uncorrected machine there decides whether, and in which share, one of them is fitted
and mixed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack
from sklearn.utils import check_random_state

from ..corrections.auto import BASELINE, LEVEL, Choice, candidates, choose, no_choice
from ..data.fit import FitProblem, some_rows
from ..exceptions import NoOverlapError
from ..numerics.array import Real, Rows
from ..numerics.folds import Fold, part_of, ranked_folds
from ..numerics.parallel import over_rows
from ..numerics.quiet import quiet
from ..numerics.statistics import least, paired_gains, rounding_of
from ..operators import Dense, Diagonal, VOperator
from ..weights import CDFWeights
from .dual import Dual, SmallFactor, small_factor
from .expansion import Expansion

_STRONGER = 3  # penalties that a candidate tries: the uncorrected machine's, and stronger ones
_MOST_FEATURES = 120
_NEGLIGIBLE = 0.01  # of the penalty: what features may leave out of a kernel value
_EXACT = 1e-13  # of the largest kernel value: rounding
_APART = "Parts of the target have no training rows, so that no held-out row can speak for them"
_FAR_BELOW = 4  # part of the rows that features must not exceed to be worth their while


def mix_exact(
    machine: Any, problem: FitProblem, tuning: Tuning, folds: Sequence[Fold], K: Real
) -> None:
    """Mix a correction into the exact machine, which is fitted without one.

    ``tuning`` and ``folds`` are what it was tuned by, and K are its kernel values (N, N).
    """
    if len(folds) < 2 or tuning.held_out is None:
        _tell(machine, no_choice(), machine.reg_)
        return
    rows = np.concatenate([fold.rows for fold in folds])
    f = f_0 = np.empty_like(problem.Y)
    f_0[rows] = tuning.held_out
    Psi = features_of(K, _NEGLIGIBLE * machine.reg_, _MOST_FEATURES)
    # What is left of a kernel value is nearly zero between two rows: as a larger penalty is.
    left_out = max(0.0, float(np.mean(np.diag(K) - np.einsum("ij,ij->i", Psi, Psi))))
    regs = _tried(machine)
    entries: dict[str, Real] = {}
    choice, weights, predictions = _compared(problem, Psi, regs, left_out, folds, f_0, entries)
    evidence, reg_0 = choice.chosen, machine.reg_
    if choice.share:
        plain = machine.dual_coef_, machine.intercept_
        machine.correction_ = candidates(weights)[evidence.correction]
        machine.reg_ = float(regs[evidence.setting])
        V = machine._operator(problem)
        machine._solve_dual(V, problem, K, entries.get(evidence.correction))
        machine.dual_coef_, machine.intercept_ = _mixed(
            choice.share, plain, (machine.dual_coef_, machine.intercept_)
        )
        machine._f = replace(machine._f, coef=machine.dual_coef_, c=machine.intercept_)
        f = f_0 + choice.share * (predictions[evidence.correction][evidence.setting] - f_0)
    _tell(machine, choice, reg_0, regs)
    if machine._uses_held_out():
        machine._learn_from_held_out(f[rows], problem.X, problem.Y, problem.w, folds)


def mix_on_landmarks(machine: Any, problem: FitProblem) -> None:
    """Mix a correction into the fit on landmarks, which has none; a sample of the rows chooses."""
    stream = machine._stream
    some = problem.rows(some_rows(problem.N, check_random_state(machine.random_state)))
    folds = ranked_folds(some.X, some.Y, min(int(machine.n_folds), some.N), some.w)
    if len(folds) < 2:
        _tell(machine, no_choice(), machine.reg_)
        return
    Psi = stream.kernel(some.X, stream.Z) @ stream.basis.W
    regs = _tried(machine)
    choice, weights, _ = _compared(some, Psi, regs, 0.0, folds)
    if not choice.share:
        _tell(machine, choice, machine.reg_, regs)
        return
    reg_0, plain = machine.reg_, (machine.coef_, machine.intercept_)
    learns = machine._uses_held_out() and len(stream.folds) > 1
    f_0 = _on_sample(machine)[0] if learns else None
    if some.N < problem.N:
        weights = target_weights(problem)
    machine.correction_ = candidates(weights)[choice.chosen.correction]
    machine._start_stream(problem, stream.kernel, problem.X, stream.Z)
    machine._add_and_solve(problem, reg=float(regs[choice.chosen.setting]))
    machine.coef_, machine.intercept_ = _mixed(
        choice.share, plain, (machine.coef_, machine.intercept_)
    )
    machine._f = Expansion(stream.kernel, stream.Z, machine.coef_, machine.intercept_)
    _tell(machine, choice, reg_0, regs)
    if f_0 is not None:
        f, folds = _on_sample(machine)
        sample, Y = machine._sample
        machine._learn_from_held_out(
            f_0 + choice.share * (f - f_0), sample.X, Y, sample.counts, folds
        )


def _on_sample(machine: Any) -> tuple[Real, list[Fold]]:
    """Return what the rows of the machine's sample get without their folds, and the folds."""
    sample, Y = machine._sample
    found: tuple[Real, list[Fold]] = machine._stream.held_out(
        sample.X, Y, sample.counts, sample.repeats, machine.reg_
    )
    return found


def _mixed(share: float, *machines: tuple[Real, Real]) -> tuple[Real, Real]:
    """Mix coefficients and intercepts of two machines, ``share`` of the second."""
    (coef_0, c_0), (coef, c) = machines
    return coef_0 + share * (coef - coef_0), c_0 + share * (c - c_0)


def _tell(machine: Any, choice: Choice, reg_0: float, regs: Sequence[float] | Real = ()) -> None:
    """Keep what was chosen, and why."""
    used = {BASELINE: reg_0}
    if choice.share:
        used[choice.chosen.correction] = machine.reg_
    machine.correction_ = candidates(target_weighter())[choice.chosen.correction]
    machine.selection_report_ = choice.report(regs, used)


def _tried(machine: Any) -> Real:
    """Penalties of the candidates: that of the fitted machine, and stronger ones if it chose it."""
    count = _STRONGER if machine.reg == "cv" else 1
    return np.asarray(machine.reg_ * 10.0 ** (_STEP * np.arange(count)))


def features_of(K: Real, tolerance: float, most: int) -> Real:
    """Return Psi (N, r) with K = Psi Psi' up to ``tolerance``, or r = ``most``.

    The first columns of a Cholesky factor with pivots, O(N r^2); LAPACK's makes all of them.
    """
    if most >= len(K) // _FAR_BELOW:
        L, pivots, rank, _ = lapack.dpstrf(K, lower=1, tol=tolerance)
        Psi = np.empty((len(K), min(int(rank), most)))
        Psi[pivots - 1] = np.tril(L[:, : Psi.shape[1]])
        return Psi
    left, Psi = np.diag(K).copy(), np.zeros((len(K), most), order="F")
    for column in range(most):
        pivot = int(np.argmax(left))
        if left[pivot] <= tolerance:
            return Psi[:, :column]
        found = K[pivot] - Psi[:, :column] @ Psi[pivot, :column]
        Psi[:, column] = found / np.sqrt(left[pivot])
        left -= Psi[:, column] ** 2
        left[pivot] = 0.0
    return Psi


def _all_features(K: Real) -> Real | None:
    """Return Psi (N, r) with K = Psi Psi' where r is far below N, else None."""
    few, tolerance = len(K) // _FAR_BELOW, _EXACT * float(np.diag(K).max())
    some = np.linspace(0, len(K) - 1, few + 1).astype(np.intp)
    if features_of(K[np.ix_(some, some)], tolerance, few + 1).shape[1] > few:
        return None
    Psi = features_of(K, tolerance, few + 1)
    return Psi if Psi.shape[1] <= few else None


def _compared(
    problem: FitProblem,
    Psi: Real,
    regs: Real,
    left_out: float,
    folds: Sequence[Fold],
    f_0: Real | None = None,
    entries: dict[str, Real] | None = None,
) -> tuple[Choice, Any, dict[str, Real]]:
    """Return the choice, the weights of the rows, or what would find them, and `_held_out`.

    ``entries`` takes those of every V that is computed on the way, by its correction.
    """
    try:
        with quiet(UserWarning):  # nobody has asked for these weights
            weights = problem.weigh(CDFWeights(random_state=0))
    except NoOverlapError:
        return no_choice(_APART), target_weighter(), {}
    predictions = _held_out(problem, weights, Psi, regs, left_out, folds, f_0, entries)
    choice = choose(predictions, problem.Y, weights * problem.w, problem.w)
    return choice, weights, predictions


def _held_out(
    problem: FitProblem,
    weights: Real,
    Psi: Real,
    regs: Real,
    left_out: float,
    folds: Sequence[Fold],
    f_0: Real | None = None,
    entries: dict[str, Real] | None = None,
) -> dict[str, Real]:
    """Predict every row without its fold: (1, N, k) without a correction, else (penalties, N, k).

    Psi (N, r) are features of the rows, from which ``left_out`` of the kernel is missing, and f_0
    (N, k) what the uncorrected machine itself predicts: candidates then differ from that as they do
    in the features. O(candidates x (N^2 r + folds x penalties x r^3)).
    """
    found: dict[str, Real] = {}
    for name, correction in candidates(weights).items():
        V = problem.operator(correction)
        if not isinstance(V, Diagonal):  # of many columns products are slow
            known = V.dense()
            V = Dense(known)
            if entries is not None:
                entries[name] = known
        tried = regs[:1] if name == BASELINE else regs
        found[name] = np.empty((len(tried), *problem.Y.shape))
        paths = feature_paths(V, Psi, problem.Y, folds, tried + left_out)
        for fold, path in zip(folds, paths, strict=True):
            found[name][:, fold.rows] = path
    if f_0 is not None:
        shift = f_0 - found[BASELINE][0]
        found = {name: f + shift for name, f in found.items()}
    return found


def feature_paths(
    V: VOperator, Psi: Real, Y: Real, folds: Sequence[Fold], regs: Real
) -> list[list[Real]]:
    """Predict the rows of every fold from the others at every penalty, f linear in Psi (N, r).

    With A = [Psi, 1, Y] and VA at hand, leaving out rows takes but their own part of V.
    """
    A = np.column_stack([Psi, np.ones(len(Y)), Y])
    if not isinstance(V, Diagonal | Dense):  # of many columns products are slow
        V = Dense(V.dense())
    VA = np.asarray(V.matmat(A))
    whole, found = A.T @ VA, []
    for fold in folds:
        held = A[fold.rows]
        cross = held.T @ VA[fold.rows]
        own = held.T @ np.asarray(V.subset(fold.rows).matmat(held))
        path = ridge_path(whole - cross - cross.T + own, Psi.shape[1], regs)
        found.append([Psi[fold.rows] @ v + c for v, c in path])
    return found


def ridge_path(
    G: Real,
    r: int,
    regs: Sequence[float] | Real,
    eigh: Callable[[Real], tuple[Real, Real]] = np.linalg.eigh,
) -> list[tuple[Real, Real]]:
    """Minimise ||R Psi v + c R 1 - R Y||^2 + reg ||v||^2 for every penalty: v (r, k) and c (k,).

    G = A'VA for the columns A = [Psi, 1, Y]. Few penalties by Cholesky, many by eigenvalues.
    """
    H, h = G[:r, :r], G[:r, r]  # Psi'V Psi, Psi'V1
    B, b, one = G[:r, r + 1 :], G[r, r + 1 :], G[r, r]  # Psi'VY, 1'VY, 1'V1
    if one > 0:  # the intercept is free: take it out
        H, B = H - np.outer(h, h) / one, B - np.outer(h, b) / one
    H = (H + H.T) / 2
    found = None
    if len(regs) <= _FEW:
        found = _by_cholesky(H, B, regs)
    if found is None:
        values, Q = eigh(H)
        values, QB = np.maximum(values, 0), Q.T @ B
        found = [Q @ (QB / (values + reg)[:, None]) for reg in regs]
    return [(v, (b - h @ v) / one if one > 0 else np.zeros(len(b))) for v in found]


def _by_cholesky(H: Real, B: Real, regs: Sequence[float] | Real) -> list[Real] | None:
    """Solve (H + reg I) v = B; None where, of a tiny penalty, rounding has the last word."""
    found = []
    for reg in regs:
        S = np.array(H, order="F")
        S[np.diag_indices_from(S)] += reg
        try:
            factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        found.append(np.asarray(cho_solve(factor, B, check_finite=False)))
    return found


def target_weights(problem: FitProblem) -> Real:
    """Weights under which the training rows look like the target: (N,)."""
    return problem.weigh(target_weighter())


def target_weighter() -> CDFWeights:
    """What finds them, whether or not there is overlap."""
    return CDFWeights(allow_no_overlap=True, random_state=0)


# Choose the penalty, and the kernel's width, by cross-validated error (theory, section 3.1).
#
# Never by the V-loss: cumulative residuals are strongly dependent, and the V-loss of held-out rows
# picks penalties far too small.


_SMALLEST = -4.0  # decades below the scale of the kernel
_STEP = 8 / 19  # decades from one penalty to the next
_EQUAL = 1e-9  # differences of weights that are equal
_FEW = 4  # penalties up to which a factorisation of each is faster
_FEWEST_ROWS = 200  # below, decompositions are as fast
_MOST_STEPS, _MOST_VECTORS = 150, 10
_LEFT_OVER = 1e-4  # of f, by a bound, at the smallest penalty; far less at those that are chosen
_TRIAL, _HOPELESS = 45, 1.0  # steps after which a bound of more is given up
_THREADED = range(1 << 16, 1 << 24)  # entries of K, where folds are worth a thread and its memory


@dataclass(frozen=True)
class Tuning:
    """Squared errors of held-out rows, and the choice that makes them least."""

    kernels: tuple[Any, ...]
    regs: Real  # (kernels, P)
    errors: Real  # (kernels, P), mean squared error over the held-out rows
    held_out: Real | None = None  # (h, k), what the best predicts for the rows of the folds in turn
    rounding: float = 0.0  # differences of errors that say nothing
    places: tuple[int, ...] = ()  # of the penalty on every kernel's path, where weights chose it

    @property
    def best(self) -> tuple[int, int]:
        """Position of the least error; among equals the first kernel, and its strongest penalty.

        Equal up to rounding: of two to five rows many penalties predict the same.
        """
        kernel, place = least(self.errors, self.rounding)
        return kernel, self.places[kernel] if self.places else place

    @property
    def reg(self) -> float:
        return float(self.regs[self.best])

    def path(self) -> dict[str, Any]:
        """Return what was compared, as plain data."""
        widths = tuple(None if kernel is None else kernel.width for kernel in self.kernels)
        return {"reg": self.regs, "width": widths, "error": self.errors}


def penalties(scale: float, weight: float) -> Real:
    """Return the grid of penalties for a kernel of this scale and rows of this weight in all.

    From 1e-4 of the scale to where nothing but the constant is left: with N rows, centred K and a V
    of unit mean diagonal, R K R' has no eigenvalue above N^2 times the scale.
    """
    largest = max(4.0, 2 * float(np.log10(weight)))
    steps = int(np.ceil(round((largest - _SMALLEST) / _STEP, 6)))
    return np.asarray(scale * 10.0 ** (_SMALLEST + _STEP * np.arange(steps + 1)))


def kernel_scale(K: Real, w: Real) -> float:
    """Mean of the centred kernel's diagonal, over rows of weights w (N,)."""
    scale = _spread(K, w)
    return scale if scale > 1e-12 * float(np.abs(np.diag(K)).max()) else 1.0


def kernel_spread(K: Real, w: Real) -> float:
    """Return the same as a part of the largest value: small where these are nearly constant."""
    return _spread(K, w) / (float(np.abs(np.diag(K)).max()) or 1.0)


def _spread(K: Real, w: Real) -> float:
    share = w / w.sum()
    return float(share @ np.diag(K) - share @ K @ share)


def tune_dual(
    V: VOperator,
    X: Real,
    Y: Real,
    w: Real,
    kernels: Sequence[Any],
    folds: Sequence[Fold],
    K: Real | None = None,
    regs: Real | None = None,
    *,
    in_features: bool = False,
) -> Tuning:
    """Cross-validate the exact machine: `lanczos_paths`, or one decomposition per fold and kernel.

    V of a fold's training rows is a part of V. ``K`` is given where the kernel is precomputed,
    ``regs`` (P,) where the grid is not to be chosen; else every kernel has its own.
    ``in_features`` is faster where the rank of a kernel is far below N, as that of a linear one is.
    Importance weights, a diagonal V that is not w, have a say in the penalty: `by_importance`.
    O(folds x kernels x N^3) time, O(N^2) memory.
    """
    rounding = rounding_of(Y, w)
    parts = [fold.rest(w) for fold in folds]
    factors: list[SmallFactor | None] = [None] * len(folds)  # made once, where they are needed
    grids, errors, held_out, places = [], [], [], []
    weights = importance_of(V, w)
    V = _entries(V)
    for kernel in kernels:
        values = kernel(X, X) if K is None else K
        grid = penalties(kernel_scale(values, w), float(w.sum())) if regs is None else regs

        def path(i: int, values: Real = values, grid: Real = grid) -> list[Real]:
            R = factors[i] = factors[i] or small_factor(part_of(V, *parts[i]))
            return held_out_path(R, values, Y, parts[i][0], folds[i].rows, grid)

        Psi = _all_features(values) if in_features else None
        if Psi is None:
            paths = lanczos_paths(V, values, Y, folds, parts, grid)
            paths = paths or over_folds(path, len(folds), len(X))
        else:
            paths = feature_paths(V, Psi, Y, folds, grid)
        total = np.zeros(len(grid))
        for fold, predicted in zip(folds, paths, strict=True):
            total += [fold.weight @ ((f - Y[fold.rows]) ** 2).sum(axis=1) for f in predicted]
        grids.append(grid)
        errors.append(total / w.sum())
        _, place = least(errors[-1][None], rounding)
        if weights is not None:
            place = by_importance(paths, Y, folds, weights, place, rounding)
        places.append(place)
        held_out.append(np.concatenate([predicted[place] for predicted in paths]))
    found, chosen = (np.array(grids), np.array(errors)), () if weights is None else tuple(places)
    tuning = Tuning(tuple(kernels), *found, None, rounding, chosen)
    return replace(tuning, held_out=held_out[tuning.best[0]])


def _entries(V: VOperator) -> VOperator:
    """Return V by all its entries, which every fold reads, where no small factor takes less."""
    R = V.factor()
    return V if R is not None and R.shape[0] <= R.shape[1] else Dense(V.dense())


def importance_of(V: VOperator, w: Real) -> Real | None:
    """Return the importance weights (N,) in V on top of w; None where there are none."""
    if not isinstance(V, Diagonal):
        return None
    factors = np.asarray(V.diagonal()) / w
    return factors if np.ptp(factors) > _EQUAL * np.abs(factors).max() else None


def by_importance(
    paths: Sequence[Sequence[Real]],
    Y: Real,
    folds: Sequence[Fold],
    weights: Real,
    place: int,
    rounding: float,
) -> int:
    """Return the place of the penalty for importance weights (N,): mostly ``place``, as without.

    Of a model too simple for the truth, the squared error of all rows picks a penalty that undoes
    the weights; the weighted one, which is that of the target, is noisy, and of a flexible model
    picks worse penalties. So the penalty of least weighted error is taken where its gain over
    ``place``, that of least error, is clear at the level 0.1, as with corrections
    (benchmarks/results/discrepancy.md). O(penalties N k).
    """
    losses = np.column_stack(
        [
            [((f - Y[fold.rows]) ** 2).sum(axis=1) for f in path]
            for fold, path in zip(folds, paths, strict=True)
        ]
    )
    w = np.concatenate([fold.weight * weights[fold.rows] for fold in folds])
    _, other = least((losses @ w / w.sum())[None], rounding)
    clear = paired_gains(losses[place], losses[[other]], w).clear(LEVEL)
    return other if clear[0] else place


def held_out_path(
    R: SmallFactor, K: Real, Y: Real, train: Rows, test: Rows, regs: Real
) -> list[Real]:
    """Predict the rows ``test`` from the rows ``train``, of factor R, at every penalty: (h, k)."""
    path = Dual(R, K[np.ix_(train, train)]).path(Y[train], regs)
    held_out = K[np.ix_(test, train)]
    return [held_out @ A + c for A, c in path]


def lanczos_paths(
    V: VOperator,
    K: Real,
    Y: Real,
    folds: Sequence[Fold],
    parts: Sequence[tuple[Rows, Real]],
    regs: Real,
) -> list[list[Real]] | None:
    """Predict the rows of every fold from its ``parts`` at every penalty, V diagonal: (h, k) each.

    With R = V^1/2 of a fold's rows, zero elsewhere, and Q = I - rr'/r'r, r = R1, the machine is
    A = R beta, (Q R K R Q + reg I) beta = Q R Y: the same matrix for all penalties, so that the
    steps of Lanczos give all of them. A step of all folds is one product with K, and the kernels
    of machines have few eigenvalues that are large: some 60 steps take the place of N^3. The bound
    is that of CG: f is off by at most what is left of the equations over the root of reg. Returns
    None where steps are too many.
    """
    (N, k), F = Y.shape, len(folds)
    if not isinstance(V, Diagonal) or N < _FEWEST_ROWS or F * k > _MOST_VECTORS:
        return None
    root = np.zeros((F, N))
    for own, (rows, share) in zip(root, parts, strict=True):
        own[rows] = np.sqrt(np.asarray(V.diagonal())[rows] * share)
    size = np.sqrt(np.einsum("fn,fn->f", root, root))
    if not size.min() > 0:
        return None
    root = np.repeat(root, k, axis=0)  # a vector for every fold and output
    unit = root / np.repeat(size, k)[:, None]
    aim = root * np.tile(Y.T, (F, 1))
    mean = np.einsum("fn,fn->f", unit, aim)
    aim -= unit * mean[:, None]
    length = np.linalg.norm(aim, axis=1)
    length[length <= _EXACT * np.abs(mean)] = 0.0  # constant, but for rounding
    Q = np.zeros((F * k, _MOST_STEPS + 1, N))
    Q[:, 0] = aim / np.where(length > 0, length, np.inf)[:, None]
    images = [np.zeros((_MOST_STEPS, len(fold.rows))) for fold in folds for _ in range(k)]
    spread = np.sqrt(float(np.diag(K).max()) / regs)  # of f, where equations leave one
    a, b, means = (np.zeros((F * k, _MOST_STEPS)) for _ in range(3))
    rest, pivot, largest = np.ones((F * k, len(regs))), np.full((F * k, len(regs)), np.inf), 0.0
    for step in range(_MOST_STEPS):
        now = Q[:, step]
        image = (root * now) @ K
        for j, found in enumerate(images):
            found[step] = image[j, folds[j // k].rows]
        image *= root
        means[:, step] = np.einsum("fn,fn->f", unit, image)
        image -= unit * means[:, step, None]
        a[:, step] = np.einsum("fn,fn->f", now, image)
        image -= a[:, step, None] * now
        if step:
            image -= b[:, step - 1, None] * Q[:, step - 1]
        before = Q[:, : step + 1]  # of rounding, nothing stays in the directions before
        image -= np.matmul(np.matmul(before, image[:, :, None]).transpose(0, 2, 1), before)[:, 0]
        b[:, step] = np.linalg.norm(image, axis=1)
        largest = max(largest, float((a[:, step] + 2 * b[:, step]).max()))
        b[b[:, step] <= _EXACT * largest, step] = 0.0  # the space is whole
        Q[:, step + 1] = image / np.where(b[:, step] > 0, b[:, step], np.inf)[:, None]
        # What is left of the equations is |aim| times the product of b / pivot.
        square = 0.0 if step == 0 else b[:, step - 1, None] ** 2
        pivot = a[:, step, None] + regs - square / pivot
        if not pivot.min() > 0:
            return None
        rest *= b[:, step, None] / pivot
        bound = float((rest * spread).max())
        if bound <= _LEFT_OVER and step:
            break
        if step == _TRIAL and bound > _HOPELESS:
            return None
    else:
        return None
    paths: list[list[Real]] = [[np.empty((len(f.rows), k)) for _ in regs] for f in folds]
    first = np.eye(step + 1, 1)
    for j, found in enumerate(images):
        for place, reg in enumerate(regs):
            z = lapack.dptsv(a[j, : step + 1] + reg, b[j, :step], first)[2][:, 0] * length[j]
            c = (mean[j] - z @ means[j, : step + 1]) / size[j // k]
            paths[j // k][place][:, j % k] = z @ found[: step + 1] + c
    return paths


def over_folds(work: Callable[[int], Any], n_folds: int, N: int) -> list[Any]:
    """Do ``work`` for every fold of N rows, in threads where that pays, and list the results."""
    found: list[Any] = [None] * n_folds

    def some(part: slice) -> None:
        for fold in range(part.start, part.stop):
            found[fold] = work(fold)

    over_rows(some, n_folds, at_least=1 if N**2 in _THREADED else n_folds)
    return found
