"""The number corrected for a set of columns alone, and what each column adds to the change.

The value of a set J of features is the number with weights and outcome model fitted to J alone.
Both are linear in a basis b(x): broken lines of every number, the levels of every category, and
products of pairs where these are few, which belong to J where both parents do. With b centred at
the sample's mean and in units of its spread, design shares s, the values' mean m and the target's
mean Delta of b,

    G = sum s b b' ,   c = sum s b (y - m) ,   A = (G_JJ + k I)^-1 ,   P = A + k A A ,
    beta = P c_J ,   a = P Delta_J ,
    v(J) = m + Delta_J' beta = sum w y / sum w ,   w_i = s_i (1 + a' b_i) .

That is a ridge regression, fitted once more to what it leaves: its bias is of the order of k
squared, so that the penalty takes noise and leaves columns that matter. It is linear calibration
(GREG) as well, and so right where either the outcome or the density ratio is linear in the basis.
The penalty k is that of the least left-out error of the whole basis, for all sets, and at most a
tenth of the mean eigenvalue of G: where little of the outcome is explained, the least error would
leave a column nothing. Influence values:

    training rows   w_i (y_i - m - b_i' beta) ,      target rows   t_q (b(t_q) - Delta)' beta ,

the former times (n / (n - p_J))^(1/2), p_J the set's part of the effective number of coefficients.

The Shapley value of feature j is the mean of v(J + j) - v(J) over all orders in which features may
be added; the values of all features sum to v(all) - v(none). Up to eight features all sets are
solved; beyond, orders are drawn, each with its reverse, until their noise is a tenth of the
standard errors. One Cholesky factor serves all sets of an order, as leading blocks are factors too.

Sources: Särndal, Swensson and Wretman (1992), *Model assisted survey sampling*, chapter 6;
Bruns-Smith, Dukes, Feller and Ogburn (2025), *Augmented balancing weights as linear regression*;
Shapley (1953), *A value for n-person games*; Mitchell et al. (2022), *Sampling permutations for
Shapley value estimation*. Cost O((N + M) p^2 + p^3) once, and O(N p k + p^3) for each of the orders
of k features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from ..data import Samples
from ..data.row_weights import kish
from ..margins.features import moment_features
from ..numerics.array import Flags, Real, Rows
from ..numerics.influence import Design, Influence
from .ridge import BrokenLines, LeaveOneOutRidge

_EXACT = 8  # features, up to which all sets are solved
_ORDERS = 100  # pairs of an order and its reverse, at most
_AT_ONCE = 5  # pairs, after which the noise is looked at
_NOISE = 0.1  # of the drawn orders, in units of the standard errors
_PRODUCTS = 200  # columns, at most
_COLUMNS = 600  # of broken lines, at most
_CELLS = 50_000_000  # of the basis at the rows of both samples, at most
# Penalty, in units of the mean eigenvalue: factors stay exact, and weak columns have their share.
_LEAST, _MOST = 1e-4, 0.1


@dataclass(frozen=True, eq=False)
class ColumnSets:
    """Numbers that are corrected for sets of features; ``J`` is any of the features' numbers."""

    names: tuple[str, ...]  # of the features
    parents: Rows  # (p, 2): the features that a column of the basis belongs to
    B: Real  # (N, p): the basis at the training rows, centred
    moves: Real  # (M, p): influence of target rows on the target's means of the basis
    d: Real  # (N,), sums to one
    y: Real  # (N,): values, less their mean
    mean: float
    gram: Real  # (p, p)
    sides: Real  # (p, 2): c and Delta
    penalty: float
    freedom: float  # effective number of coefficients of all columns

    @classmethod
    def of(cls, sample: Samples, values: Real) -> ColumnSets:
        """Make the basis of a sample, for the values (N,) whose mean the number is."""
        names, b, t, parents, first = _basis(sample)
        d = sample.own
        fit = LeaveOneOutRidge().fit(b, values, sample_weight=d)
        B, T = fit.standardised(b), fit.standardised(t)
        parents, first = parents[fit.kept_], first[fit.kept_]
        pairs = _pairs(parents, first) if sample.known is None else []
        if pairs:
            left, right = np.array(pairs).T
            more = np.hstack([B, B[:, left] * B[:, right]])
            whole = LeaveOneOutRidge().fit(more, values, sample_weight=d)
            if d @ (values - whole.left_out_) ** 2 < d @ (values - fit.left_out_) ** 2:
                fit, B = whole, whole.standardised(more)
                T = fit.standardised(np.hstack([T, T[:, left] * T[:, right]]))
                both = np.column_stack([parents[left, 0], parents[right, 0]])
                parents = np.vstack([parents, both])[fit.kept_]
        gram = B.T @ (d[:, None] * B)
        y = values - fit.mean_
        delta = sample.share @ T
        spread = np.maximum(np.linalg.eigvalsh(gram), 0.0)
        level = float(spread.sum()) / max(1, len(gram)) or 1.0
        penalty = float(np.clip(fit.penalty_, _LEAST * level, _MOST * level))
        found = cls(
            names,
            parents,
            B,
            sample.share[:, None] * (T - delta),
            d,
            y,
            fit.mean_,
            gram,
            np.column_stack([B.T @ (d * y), delta]),
            penalty,
            float(np.sum(spread / (spread + penalty))),
        )
        return found._with_margins(sample) if sample.known is not None else found

    def _with_margins(self, sample: Samples) -> ColumnSets:
        """Let rows of the sample stand for those that margins of a known size describe."""
        assert sample.known is not None
        size = sample.known.margins.size
        if size is None or sample.finite_population:
            return replace(self, moves=np.zeros_like(self.moves))
        w = np.maximum(self.weights(range(len(self.names))), 0.0)
        w = w / w.sum()
        moved = np.sqrt(w / (2 * size))[:, None] * (self.B - w @ self.B)
        return replace(self, moves=np.concatenate([moved, -moved]))

    def value(self, J: Iterable[int]) -> float:
        """Return v(J)."""
        return float(self.mean + self.sides[:, 1] @ self._coefficients(J)[:, 0])

    def weights(self, J: Iterable[int]) -> Real:
        """Weights (N,), mean one, that carry the features J to the target; they may be negative."""
        found = len(self.d) * self.d * (1 + self.B @ self._coefficients(J)[:, 1])
        return np.asarray(found / found.mean())

    def weights_without(self, k: int) -> Real:
        """`weights` of all features but k, from the inverse of the whole: O(N p + p^2) each."""
        out = (self.parents == k).any(axis=1)
        inside = np.where(out, 0.0, self.sides[:, 1])

        def solved(c: Real) -> Real:
            x = self._inverse @ c
            x -= self._inverse[:, out] @ np.linalg.solve(self._inverse[np.ix_(out, out)], x[out])
            x[out] = 0.0
            return x

        first = solved(inside)
        found = len(self.d) * self.d * (1 + self.B @ (first + self.penalty * solved(first)))
        return np.asarray(found / found.mean())

    @cached_property
    def _inverse(self) -> Real:
        p = len(self.gram)
        return np.asarray(
            cho_solve(cho_factor(self.gram + self.penalty * np.eye(p), lower=True), np.eye(p))
        )

    def influence(self, J: Iterable[int]) -> Influence:
        """Return v(J), with the influence of every row."""
        return self._influence(self._coefficients(J)[None])

    def shapley(self, parts: Sequence[Iterable[int]] | None = None) -> Influence:
        """Return the Shapley value of every feature, or of every one of the ``parts``.

        Each of the parts is a set of features; together they are all of them.
        """
        parts = [[k] for k in range(len(self.names))] if parts is None else parts
        part = np.empty(len(self.names), dtype=np.intp)
        for number, features in enumerate(parts):
            part[list(features)] = number
        owners = part[self.parents]
        if len(parts) <= _EXACT:
            return self._all_sets(owners, len(parts))
        names = [sorted(self.names[k] for k in features) for features in parts]
        return self._drawn_orders(owners, sorted(range(len(parts)), key=names.__getitem__))

    def _all_sets(self, owners: Rows, k: int) -> Influence:
        sets = [J for size in range(k + 1) for J in combinations(range(k), size)]
        place = {J: number for number, J in enumerate(sets)}
        signs = np.zeros((k, len(sets)))
        for J, number in place.items():
            for j in set(range(k)) - set(J):
                weight = 1 / (k * comb(k - 1, len(J)))
                signs[j, place[tuple(sorted((*J, j)))]] += weight
                signs[j, number] -= weight
        solved = [self._solved(np.all(np.isin(owners, J), axis=1)) for J in sets]
        return self._influence(np.array(solved), signs)

    def _drawn_orders(self, owners: Rows, parts: Sequence[int]) -> Influence:
        """Mean over drawn orders of the parts, each with its reverse; those of frames by name."""
        rng, k = np.random.default_rng(0), len(parts)
        design = Design.simple(len(self.d))
        drawn: list[Real] = []
        train, target = np.zeros((len(self.d), k)), np.zeros((len(self.moves), k))
        for count in range(1, _ORDERS + 1):
            order = rng.permutation(np.asarray(parts, dtype=np.intp))
            both = [self._along(owners, one) for one in (order, order[::-1])]
            drawn.append((both[0].value + both[1].value) / 2)
            train += both[0].train + both[1].train
            target += both[0].target + both[1].target
            if count % _AT_ONCE == 0:
                found = Influence(np.mean(drawn, axis=0), train / 2 / count, target / 2 / count)
                noise = np.std(drawn, axis=0, ddof=1) / np.sqrt(count)
                if (noise <= _NOISE * found.standard_error(design)).all():
                    break
        return found

    def _along(self, owners: Rows, order: Rows) -> Influence:
        """What each feature adds in one order."""
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        step = place[owners].max(axis=1, initial=-1)  # with which each column comes in
        columns = np.argsort(step, kind="stable")
        sizes = np.searchsorted(step[columns], np.arange(len(order) + 1))
        p = len(columns)
        G = self.gram[np.ix_(columns, columns)] + self.penalty * np.eye(p)
        inverse = np.eye(p)
        if p:
            inverse = solve_triangular(cholesky(G, lower=True), inverse, lower=True)
        inside = np.arange(p)[:, None, None] < sizes[None, :, None]  # (p, sets, 1)
        z = np.where(inside, (inverse @ self.sides[columns])[:, None, :], 0.0)  # (p, sets, 2)
        first = np.tensordot(inverse.T, z, 1)
        again = np.where(inside, np.tensordot(inverse, first, 1), 0.0)
        again = np.tensordot(inverse.T, again, 1)
        coefficients = np.empty((len(sizes), p, 2))
        coefficients[:, columns] = (first + self.penalty * again).transpose(1, 0, 2)
        signs = np.zeros((len(order), len(sizes)))
        signs[order, np.arange(1, len(sizes))] = 1.0
        signs[order, np.arange(len(order))] = -1.0
        return self._influence(coefficients, signs)

    def _coefficients(self, J: Iterable[int]) -> Real:
        """Return beta and a (p, 2), zero outside of J."""
        return self._solved(np.all(np.isin(self.parents, list(J)), axis=1))

    def _solved(self, inside: Any) -> Real:
        found = np.zeros((len(inside), 2))
        if inside.any():
            G = self.gram[np.ix_(inside, inside)] + self.penalty * np.eye(int(inside.sum()))
            factor = cho_factor(G, lower=True)
            first = cho_solve(factor, self.sides[inside])
            found[inside] = first + self.penalty * cho_solve(factor, first)
        return found

    def _influence(self, coefficients: Real, signs: Real | None = None) -> Influence:
        """Return signs (j, sets) times the values of sets, of which the coefficients are given.

        coefficients (sets, p, 2).
        """
        signs = np.eye(len(coefficients)) if signs is None else signs
        beta, a = coefficients[:, :, 0], coefficients[:, :, 1]
        used = self.freedom * (beta != 0).sum(axis=1) / max(1, beta.shape[1])
        rows = kish(self.d)
        factor = np.sqrt(rows / (rows - np.minimum(used, rows / 2)))  # (sets,)
        each = (1 + self.B @ a.T) * (self.y[:, None] - self.B @ beta.T) * factor
        value = self.mean + beta @ self.sides[:, 1]
        return Influence(
            signs @ value, self.d[:, None] * (each @ signs.T), self.moves @ (signs @ beta).T
        )


def _basis(sample: Samples) -> tuple[tuple[str, ...], Real, Real, Rows, Flags]:
    """Return the features, the basis at both samples' rows, the features (p, 2) of its columns.

    Also which columns (p,) are those that products are made of: the first of a broken line.
    """
    if sample.known is not None:
        names = sample.known.reading.names
        made, _, _ = moment_features(sample.known.margins, names)
        parents = np.array([(part.columns[0], part.columns[-1]) for part in made])
        return names, sample.X, sample.T, parents, np.ones(len(parents), dtype=bool)
    labels = _features(sample)
    names = tuple(dict.fromkeys(labels))
    n = len(labels)
    bent = n * 5 <= _COLUMNS and (len(sample.X) + len(sample.T)) * n * 5 <= _CELLS
    here, there, owner, first = [], [], [], []
    for k, name in enumerate(labels):
        x, t = sample.X[:, [k]], sample.T[:, [k]]
        if bent and len(np.unique(x)) > 2:
            lines = BrokenLines().fit(x)
            x, t = lines.transform(x), lines.transform(t)
        here.append(x)
        there.append(t)
        owner += [names.index(name)] * x.shape[1]
        levels = bool(((x == 0) | (x == 1)).all())
        first += [True] + [levels] * (x.shape[1] - 1)
    parents = np.column_stack([owner, owner]).astype(np.intp)
    return names, np.hstack(here), np.hstack(there), parents, np.array(first)


def _features(sample: Samples) -> list[str]:
    """Name the user's column that each column of the sample was made of."""
    found = list(sample.names)
    if sample.encoder is not None:
        rules = [rule.name for rule in sample.encoder.features_ for _ in rule.made]
        order = range(len(rules)) if sample.order is None else sample.order
        found[: len(rules)] = [rules[k] for k in order]
    elif sample.one_feature is not None:
        for feature in sample.features:
            for k in feature.columns:
                found[k] = feature.name
    if sample.groups is not None:  # which are a feature where both samples have them
        found = ["group" if name.startswith("group=") else name for name in found]
    return found


def _pairs(parents: Rows, first: Flags) -> list[tuple[int, int]]:
    """Return pairs of columns of different features, where they are few."""
    places = np.flatnonzero(first).tolist()
    if len(places) ** 2 > 16 * _PRODUCTS:
        return []
    found = [(a, b) for a, b in combinations(places, 2) if parents[a, 0] != parents[b, 0]]
    return found if len(found) <= _PRODUCTS else []
