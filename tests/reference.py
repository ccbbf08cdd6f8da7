"""The oracle: every equation as naive, dense loops, written from the paper.

Nothing here is shared with the package, and nothing is fast. Slips in the paper's listings are
read in their evident meaning: Algorithm 2's max(x_i, x_i) as max(x_i, x_j), its 1/l as 1/n.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
from scipy import integrate, optimize, stats


def theta(z) -> int:
    """1 if every coordinate is at least 0 (section 2)."""
    return int(all(value >= 0 for value in z))


def algorithm_1(X, T, phi=None):
    """ComputeV: V_ij = (1/M) #{q: x_i <= t_q and x_j <= t_q}, times phi(t_q) (eqs. 10 and 11)."""
    N, M = len(X), len(T)
    phi = np.ones(M) if phi is None else phi
    V = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for q in range(M):
                if theta(T[q] - X[i]) and theta(T[q] - X[j]):
                    V[i, j] += phi[q]
            V[i, j] /= M
    return V


def algorithm_2(X, T, phi=None):
    """ComputeVAdditive: the mean over coordinates and target points."""
    N, M, n = len(X), len(T), X.shape[1]
    phi = np.ones(M) if phi is None else phi
    V = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for q in range(M):
                for k in range(n):
                    if max(X[i, k], X[j, k]) <= T[q, k]:
                        V[i, j] += phi[q] / n
            V[i, j] /= M
    return V


def pairwise(X, T):
    """Algorithm 1 averaged over all pairs of coordinates."""
    pairs = list(combinations(range(X.shape[1]), 2))
    return sum(algorithm_1(X[:, pair], T[:, pair]) for pair in map(list, pairs)) / len(pairs)


def sliced(X, T, directions):
    """Algorithm 1 averaged over projections on the given directions."""
    V = np.zeros((len(X), len(X)))
    for a in directions:
        V += algorithm_1((X * a).sum(axis=1)[:, None], (T * a).sum(axis=1)[:, None])
    return V / len(directions)


def mirrored(algorithm, X, T, **options):
    """The average of V and of the V in which every comparison is turned round."""
    return (algorithm(X, T, **options) + algorithm(-X, -T, **options)) / 2


def algorithm_2_of_features(X, T, groups, phi=None):
    """Algorithm 2 of every column by itself: the mean over those of a feature, then over features.

    ``phi`` gives the weights (M,) of the target points in a column of theirs (M, 1).
    """
    N, M = len(X), len(T)
    features = sorted(set(groups))
    V = np.zeros((N, N))
    for feature in features:
        columns = [k for k in range(X.shape[1]) if groups[k] == feature]
        for k in columns:
            weight = np.ones(M) if phi is None else phi(T[:, [k]])
            for i in range(N):
                for j in range(N):
                    for q in range(M):
                        if T[q, k] >= X[i, k] and T[q, k] >= X[j, k]:
                            V[i, j] += weight[q] / M / len(columns) / len(features)
    return V


def pairwise_of_features(X, T, groups):
    """Algorithm 1 in the columns of two features together, averaged over all pairs of them."""
    columns = {g: [k for k in range(len(groups)) if groups[k] == g] for g in groups}
    boxes = [columns[a] + columns[b] for a, b in combinations(sorted(columns), 2)]
    boxes = boxes or list(columns.values())
    return sum(algorithm_1(X[:, box], T[:, box]) for box in boxes) / len(boxes)


def v_from_cells(X, columns, both_sides=False, groups=None):
    """Additive V of a target known by its cells: (smallest value, largest value, share) for each.

    A cell speaks for rows up to its largest value, and from its smallest one on the other side.
    """
    N, n = X.shape
    V = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(n):
                for low, high, share in columns[k]:
                    up_to = X[i, k] <= high and X[j, k] <= high
                    from_on = X[i, k] >= low and X[j, k] >= low
                    seen = (int(up_to) + int(from_on)) / 2 if both_sides else int(up_to)
                    if groups is None:
                        V[i, j] += share * seen / n
                    else:
                        V[i, j] += share * seen / len(set(groups)) / groups.count(groups[k])
    return V


def anderson_darling_phi(T):
    """1 / (F (1 - F)), F counting points strictly below fully and the others up to it by half."""
    M = len(T)
    phi = np.empty(M)
    for q in range(M):
        below = sum(bool((T[p] < T[q]).all()) for p in range(M))
        up_to = sum(bool((T[p] <= T[q]).all()) for p in range(M))
        F = (below + up_to) / (2 * M)
        phi[q] = 1 / (F * (1 - F))
    return phi


def lemma_2_1_by_integration(X, densities, upper):
    """V_ij = prod_k of the integral of the density from max(x_i^k, x_j^k) (proof of Lemma 2.1)."""
    N, n = X.shape
    V = np.ones((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(n):
                start = max(X[i, k], X[j, k])
                V[i, j] *= integrate.quad(densities[k], start, upper, limit=200)[0]
    return V


def lemma_2_1(X, at_or_above):
    """V_ij = prod_k of the target's probability of a value at or above max(x_i^k, x_j^k)."""
    N, n = X.shape
    V = np.ones((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(n):
                V[i, j] *= at_or_above(max(X[i, k], X[j, k]), k)
    return V


def example_2_1(X, mean=0.0, std=1.0):
    """Gaussian target: prod_k (1/2) [1 - erf((max - mean) / (std sqrt 2))]."""
    N, n = X.shape
    V = np.ones((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(n):
                z = (max(X[i, k], X[j, k]) - mean) / std
                V[i, j] *= (1 - math.erf(z / math.sqrt(2))) / 2
    return V


def example_2_2(X, c):
    """Uniform target on [-c, c]: prod_k (c_k - max) / (2 c_k)."""
    N, n = X.shape
    V = np.ones((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(n):
                V[i, j] *= (c[k] - max(X[i, k], X[j, k])) / (2 * c[k])
    return V


def rho_squared(residuals, V):
    """The loss (1/N^2) sum_ij r_i r_j V_ij (eq. 7)."""
    N = len(residuals)
    return sum(residuals[i] * residuals[j] * V[i, j] for i in range(N) for j in range(N)) / (N * N)


def rho_squared_by_definition(f, y, X, T):
    """The loss as the mean over target points of (F_1 - F_2)^2 (eqs. 3 and 6)."""
    N = len(X)
    total = 0.0
    for t in T:
        F_1 = sum(f[i] * theta(t - X[i]) for i in range(N)) / N
        F_2 = sum(y[i] * theta(t - X[i]) for i in range(N)) / N
        total += (F_1 - F_2) ** 2
    return total / len(T)


def loss_error_of_theorem_3_2(residuals, h):
    """(h / N^2) sum_ij |r_i r_j| (Theorem 3.2)."""
    N = len(residuals)
    return h * sum(abs(a * b) for a in residuals for b in residuals) / N**2


def loss_error_in_one_view(x, residuals, h):
    """The largest |rho^2(S) - rho^2(S_hat)| for any survival functions h apart at every x.

    rho^2 is (1/N^2) sum_ij r_i r_j S(max(x_i, x_j)): linear in S at each distinct value, so the
    largest change puts h there with the sign of the pairs whose larger value it is.
    """
    N = len(x)
    total = 0.0
    for value in set(x):
        total += abs(
            sum(
                residuals[i] * residuals[j]
                for i in range(N)
                for j in range(N)
                if max(x[i], x[j]) == value
            )
        )
    return h * total / N**2


def location_chance(x, t):
    """Chance of a sum of normal scores beyond the target's, equal ones half, over all deals.

    The score of a value is the mean normal score of its ranks: the mean of a standard normal number
    between the quantiles that they fill (van der Waerden, 1952).
    """
    from statistics import NormalDist

    normal, both = NormalDist(), sorted([*x, *t])
    n = len(both)

    def density(u):
        return 0.0 if u in (0, 1) else normal.pdf(normal.inv_cdf(u))

    def score(value):
        below, at = sum(v < value for v in both), sum(v == value for v in both)
        return n / at * (density(below / n) - density((below + at) / n))

    scores = [score(value) for value in both]
    found = sum(score(value) for value in t)
    sums = [sum(part) for part in combinations(scores, len(t))]
    above, below = (sum(sign * (s - found) > 1e-9 for s in sums) for sign in (1, -1))
    equal = len(sums) - above - below
    return (2 * min(above, below) + equal) / len(sums)


def closed_form(V, K, Y, gamma):
    """The paper's V-SVM (section 2.4): A = A_b - c A_c, c = 1'V(K A_b - Y) / 1'V(K A_c - 1)."""
    N = len(V)
    one = np.ones(N)
    system = V @ K + gamma * np.eye(N)
    A_b = np.linalg.solve(system, V @ Y)
    A_c = np.linalg.solve(system, V @ one)
    c = (one @ V @ (K @ A_b - Y)) / (one @ V @ (K @ A_c - one))
    return A_b - c * A_c, c


def left_out(V, K, K_new, Y, gamma):
    """Fit again without each row: f_{-i}(x_i) (N,), and f_{-i} at new rows (rows, N)."""
    N = len(V)
    at_rows, at_new = np.empty(N), np.empty((len(K_new), N))
    for i in range(N):
        rest = [j for j in range(N) if j != i]
        A, c = closed_form(V[np.ix_(rest, rest)], K[np.ix_(rest, rest)], Y[rest], gamma)
        at_rows[i] = K[i, rest] @ A + c
        at_new[:, i] = K_new[:, rest] @ A + c
    return at_rows, at_new


def penalised_loss(f, A, K, V, Y, gamma):
    """(f - Y)'V(f - Y) + gamma A'KA, which the closed form minimises."""
    r = f - Y
    return r @ V @ r + gamma * A @ K @ A


def exact_fit(V, K, Y, gamma, digits=60):
    """Fit K A + c at the training points, from the closed form in many digits."""
    import mpmath

    with mpmath.workdps(digits):
        V, K, Y = mpmath.matrix(V.tolist()), mpmath.matrix(K.tolist()), mpmath.matrix(Y.tolist())
        N = V.rows
        one = mpmath.matrix([1] * N)
        system = V * K + mpmath.mpf(float(gamma)) * mpmath.eye(N)
        A_b, A_c = mpmath.lu_solve(system, V * Y), mpmath.lu_solve(system, V * one)
        c = (one.T * V * (K * A_b - Y))[0] / (one.T * V * (K * A_c - one))[0]
        f = K * (A_b - c * A_c)
        return np.array([float(f[i] + c) for i in range(N)])


def cdf_problem(X, T, groups, weight=None, mirrored=False, tails=False, parts=None):
    """R and F of the CDF weights: one row for every view (a group of columns) and target row.

    R(q, i) = sqrt(share_q phi_q / G) if t_q dominates x_i in the view; F is the same for the
    target. phi is one, or a sixth of Anderson and Darling's. ``parts`` are what the views have in
    the mean, in place of 1 / G.
    """
    parts = [1 / len(groups)] * len(groups) if parts is None else parts
    share = np.full(len(T), 1 / len(T)) if weight is None else weight / weight.sum()
    signs = (1, -1) if mirrored else (1,)
    rows, seen = [], []
    for group, part in zip(map(list, groups), parts, strict=True):
        for sign in signs:
            phi = anderson_darling_phi(sign * T[:, group]) / 6 if tails else np.ones(len(T))
            for q in range(len(T)):
                scale = math.sqrt(share[q] * phi[q] * part / len(signs))
                t = sign * T[q, group]
                rows.append([scale * theta(t - sign * x) for x in X[:, group]])
                below = (share[p] * theta(t - sign * T[p, group]) for p in range(len(T)))
                seen.append(scale * sum(below))
    return np.array(rows), np.array(seen)


def column_sides(X, T):
    """-1 for each column in which more than half of the target is at the largest value of both.

    Seen from below, such a target has a distribution function of one at nearly all its points,
    whatever the training rows are; CDF weights then look at the column from above.
    """
    sides = []
    for k in range(X.shape[1]):
        largest = max([*X[:, k], *T[:, k]])
        sides.append(-1.0 if sum(t == largest for t in T[:, k]) > len(T) / 2 else 1.0)
    return np.array(sides)


def parts_of_columns(features):
    """What each column has in a mean over the columns of each feature, and then over features."""
    return [1 / len(set(features)) / features.count(feature) for feature in features]


def cdf_mismatch_of_features(X, T, w, features):
    """Mean over features of the mean over their columns of the squared distance of the CDFs."""
    by_feature = {}
    for k, feature in enumerate(features):
        gaps = []
        for t in T[:, k]:
            train = sum(w[i] for i in range(len(X)) if X[i, k] <= t) / sum(w)
            target = sum(T[q, k] <= t for q in range(len(T))) / len(T)
            gaps.append((train - target) ** 2)
        by_feature.setdefault(feature, []).append(sum(gaps) / len(gaps))
    return sum(sum(found) / len(found) for found in by_feature.values()) / len(by_feature)


def quadratic_on_simplex(H, b, total, mass=None):
    """Minimise w'Hw / 2 - b'w over w >= 0 with mass'w = total: every support is tried."""
    N = len(b)
    mass = np.ones(N) if mass is None else mass
    best, minimum = None, math.inf
    for size in range(1, N + 1):
        for support in map(list, combinations(range(N), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = H[np.ix_(support, support)]
            system[size, :size] = system[:size, size] = mass[support]
            system[size, size] = 0
            x = np.linalg.lstsq(system, np.append(b[support], total), rcond=None)[0][:size]
            if (x < -1e-12).any() or abs(mass[support] @ x - total) > 1e-9 * abs(total):
                continue
            w = np.zeros(N)
            w[support] = x
            value = w @ H @ w / 2 - b @ w
            if value < minimum - 1e-14:
                best, minimum = w, value
    return best


def cdf_weights(X, T, groups, reg, d=None, **options):
    """Minimise |R w / N - F|^2 + (reg / N^2) |w|^2 over w >= 0 with mean one, by brute force.

    With design weights d: |R (d w) / sum d - F|^2 + (reg / N^2) sum_i (d_i / mean d) w_i^2 over
    w >= 0 with sum d w = sum d.
    """
    N = len(X)
    d = np.ones(N) if d is None else d
    R, F = cdf_problem(X, T, groups, **options)
    RD = R * (d / d.sum())
    H = 2 * (RD.T @ RD + reg * np.diag(d / d.mean()) / N**2)
    return quadratic_on_simplex(H, 2 * RD.T @ F, d.sum(), mass=d)


def energy_weights(X, T, reg, d):
    """Minimise the energy distance of the sample of weights d w from T, and a penalty.

    With p = d w / sum d: 2 sum_i p_i mean_j |x_i - t_j| - sum_ij p_i p_j |x_i - x_j|, in units of
    the d-weighted mean distance of the samples, + (reg / N^2) sum_i (d_i / mean d) w_i^2.
    """
    N, share = len(X), d / d.sum()
    between = np.array([[np.linalg.norm(x - t) for t in T] for x in X]).mean(axis=1)
    within = np.array([[np.linalg.norm(x - z) for z in X] for x in X])
    unit = share @ between
    H = -2 * np.outer(share, share) * within / unit + 2 * reg * np.diag(d / d.mean()) / N**2
    return quadratic_on_simplex(H, -2 * share * between / unit, d.sum(), mass=d)


def kernel_sum(
    U,
    Z,
    *,
    relevance,
    linear=0.0,
    rbf=0.0,
    laplacian=0.0,
    main_effects=0.0,
    ratio=1.0,
    groups=None,
):
    """Theory, eq. 3.10, entry by entry; the columns of a group are one feature.

    Differences of a feature of several columns add up to its part over sqrt 2.
    """
    n = len(relevance)
    groups = list(range(n)) if groups is None else list(groups)
    features = [[k for k in range(n) if groups[k] == g] for g in sorted(set(groups))]
    K = np.zeros((len(U), len(Z)))
    for i, u in enumerate(U):
        for j, z in enumerate(Z):
            square = sum(relevance[k] * (u[k] - z[k]) ** 2 for k in range(n))
            gap = [np.sqrt(relevance[k]) * abs(u[k] - z[k]) for k in range(n)]
            city = [sum(gap[k] for k in some) / np.sqrt(min(len(some), 2)) for some in features]
            K[i, j] = (
                linear * sum(u[k] * z[k] for k in range(n)) / len(features)
                + rbf * np.exp(-square / 2)
                + laplacian * np.exp(-ratio * sum(city))
                + main_effects * sum(np.exp(-ratio * part) for part in city) / len(features)
            )
    return K


def negative_log_evidence(K, Y, w, *, wide=100.0):
    """Theory, eq. 3.11 without priors: rows repeated w times, s by its maximum, per column of Y.

    The columns of Y are standardised. Returns the value up to a constant that depends on w alone.
    """
    rows = np.repeat(np.arange(len(K)), np.asarray(w, dtype=int))
    K, Y = K[np.ix_(rows, rows)], Y[rows]
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    N, k = Y.shape
    C = K + np.eye(N) + wide
    inverse = np.linalg.inv(C)
    total = sum(float(Y[:, j] @ inverse @ Y[:, j]) for j in range(k))
    return k * (N * np.log(total) + np.linalg.slogdet(C)[1]) / 2


def pooled_distribution(x, t, at):
    """F at the middle of its step: the mean over both samples of P(X < a) + P(X = a) / 2."""
    return np.array(
        [
            np.mean([np.mean(s < a) + np.mean(s == a) / 2 for s in (np.asarray(x), np.asarray(t))])
            for a in at
        ]
    )


# Estimates for the target: sums over rows, strata and clusters, one at a time.


def doubly_robust(y, h_train, h_target, w, share):
    """Target mean of h plus the weighted mean residual, and its error without n / (n - 1)."""
    W = sum(w)
    residual = sum(w[i] * (y[i] - h_train[i]) for i in range(len(y))) / W
    modelled = sum(share[q] * h_target[q] for q in range(len(share)))
    train = [w[i] * (y[i] - h_train[i] - residual) / W for i in range(len(y))]
    target = [share[q] * (h_target[q] - modelled) for q in range(len(share))]
    variance = sum(z**2 for z in train) + sum(z**2 for z in target)
    return modelled + residual, math.sqrt(variance), train, target


def ratio_of(top, bottom):
    """Ratio of two estimates (value, influence values), linearised."""
    (a, psi), (b, chi) = top, bottom
    return a / b, [(psi[i] - a / b * chi[i]) / b for i in range(len(psi))]


def design_variance(psi, stratum, cluster):
    """Variance of sum psi over units in strata; a lonely unit is compared with all units."""
    units = {}
    for i in range(len(psi)):
        key = (stratum[i], cluster[i])
        units[key] = units.get(key, 0.0) + psi[i]
    everything = sum(units.values()) / len(units)
    variance = 0.0
    for h in {key[0] for key in units}:
        totals = [total for key, total in units.items() if key[0] == h]
        if len(totals) == 1:
            variance += (totals[0] - everything) ** 2
            continue
        mean = sum(totals) / len(totals)
        spread = sum((total - mean) ** 2 for total in totals)
        variance += len(totals) / (len(totals) - 1) * spread
    return variance


def averaged_cross_fit(fit, X, y, T, deals):
    """Predictions left out (N,) and of the target (M,): means over deals, of a fit for each row.

    ``fit(X, y)`` returns a function of rows.
    """
    train, target = np.zeros(len(X)), []
    for fold in deals:
        for i in range(len(X)):
            others = [j for j in range(len(X)) if fold[j] != fold[i]]
            train[i] += fit(X[others], y[others])(X[i : i + 1])[0] / len(deals)
        for k in sorted(set(fold)):
            others = [j for j in range(len(X)) if fold[j] != k]
            target.append(fit(X[others], y[others])(T))
    return train, np.mean(target, axis=0)


def calibrated_variance(y, f, w, d, cluster):
    """Variance of a mean under weights w, calibrated from d: regression by d, residuals times w."""
    mu = np.average(y, weights=w)
    A = np.column_stack([np.ones(len(y)), f])
    root = np.sqrt(d)
    b = np.linalg.lstsq(A * root[:, None], (y - mu) * root, rcond=None)[0]
    psi = w * (y - mu - A @ b) / w.sum()
    return design_variance(psi, np.zeros(len(y)), cluster)


def replicate_variance(y, d, replicates, scales):
    """Variance of a weighted mean from replicate weights, around the full sample's."""
    theta, total = np.average(y, weights=d), 0.0
    for again, scale in zip(replicates.T, scales, strict=True):
        total += scale * (np.average(y, weights=again) - theta) ** 2
    return total


def delete_one_variance(y, d, stratum, unit):
    """JKn of a weighted mean: leave out each unit, its stratum's others times n / (n - 1)."""
    total = 0.0
    for h in np.unique(stratum):
        inside = np.unique(unit[stratum == h])
        n = len(inside)
        for c in inside if n > 1 else []:
            again = np.where(stratum == h, d * n / (n - 1), d)
            again[unit == c] = 0
            total += (n - 1) / n * (np.average(y, weights=again) - np.average(y, weights=d)) ** 2
    return total


def log_likelihood(shares, seen, weight, least=1e-3):
    """Weighted log-likelihood of a mixture; a chance below ``least`` counts as that."""
    total = 0.0
    for i in range(len(seen)):
        chance = sum(shares[k] * max(seen[i][k], least) for k in range(len(shares)))
        total += weight[i] * math.log(chance)
    return total


def likeliest_on_a_grid(seen, weight, steps=200):
    """Shares of two or three parts that maximise the likelihood, of all multiples of 1 / steps."""
    parts = len(seen[0])
    grid = [[a, steps - a] for a in range(steps + 1)]
    if parts == 3:
        grid = [[a, b, steps - a - b] for a in range(steps + 1) for b in range(steps + 1 - a)]
    found = [[part / steps for part in shares] for shares in grid]
    return max(found, key=lambda shares: log_likelihood(shares, seen, weight))


def judged_by_pairs(y, q, q_target, s, s_target, residual_share, share):
    """Accuracy (threshold 1/2), Brier score and AUC of the doubly robust masses, all pairs."""
    atoms = [
        (residual_share[i] * (y[i] - q[i]), -residual_share[i] * (y[i] - q[i]), s[i])
        for i in range(len(y))
    ]
    atoms += [
        (share[j] * q_target[j], share[j] * (1 - q_target[j]), s_target[j])
        for j in range(len(share))
    ]
    accuracy = sum(p if score >= 0.5 else n for p, n, score in atoms)
    brier = sum(p * (1 - score) ** 2 + n * score**2 for p, n, score in atoms)
    ordered = 0.0
    for p, _, score in atoms:
        for _, n, other in atoms:
            ordered += p * n * (1.0 if score > other else 0.5 if score == other else 0.0)
    P, N = sum(p for p, _, _ in atoms), sum(n for _, n, _ in atoms)
    return {
        "accuracy": accuracy / (P + N),
        "brier": brier / (P + N),
        "roc_auc": ordered / (P * N),
    }


def auc_and_parts(y, s):
    """AUC, and the place of every row among those of the other class (DeLong et al., 1988)."""
    ones = [s[i] for i in range(len(y)) if y[i] == 1]
    zeros = [s[i] for i in range(len(y)) if y[i] == 0]

    def wins(a, b):
        return 1.0 if a > b else 0.5 if a == b else 0.0

    above = [sum(wins(a, b) for b in zeros) / len(zeros) for a in ones]
    below = [sum(wins(a, b) for a in ones) / len(ones) for b in zeros]
    return sum(above) / len(above), above, below


def calibrated_within(Z, share, low, high):
    """Minimise sum s w log w with sum s w z = 0, sum s w = 1 and low <= w <= high: SLSQP."""
    from scipy.optimize import minimize

    rows = np.column_stack([Z, np.ones(len(Z))]) * share[:, None]
    aim = np.append(np.zeros(Z.shape[1]), 1.0)
    found = minimize(
        lambda w: float(share @ (w * np.log(w))),
        np.clip(np.ones(len(Z)), low, high),
        jac=lambda w: share * (np.log(w) + 1),
        bounds=[(max(low, 1e-12), high)] * len(Z),
        constraints={
            "type": "eq",
            "fun": lambda w: rows.T @ w - aim,
            "jac": lambda w: rows.T,
        },
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    assert found.success, found.message
    return found.x


def smallest_squares_within(Z, share, low, high):
    """Smallest |sum s w z|^2 with sum s w = 1 and low <= w <= high: bounded least squares."""
    from scipy.optimize import lsq_linear

    rows = (Z * share[:, None]).T
    heavy = 1e4 * share[None, :]  # the mean of one, nearly exactly
    aim = np.append(np.zeros(Z.shape[1]), 1e4)
    found = lsq_linear(np.vstack([rows, heavy]), aim, bounds=(low, high), method="bvls", tol=1e-15)
    gap = rows @ found.x
    return float(gap @ gap)


def conformal_p_value(scores, weights, own, c, u=1):
    """Weighted p-value of a new row of weight ``own`` and score c; u = 1 is the conservative one.

    Tibshirani et al. (2019), equation 7; ties and the row itself count by the part u (Vovk, 2005).
    """
    above = sum(w for s, w in zip(scores, weights, strict=True) if s > c)
    tied = sum(w for s, w in zip(scores, weights, strict=True) if s == c)
    return (above + u * (tied + own)) / (sum(weights) + own)


def conformal_threshold(scores, weights, own, coverage):
    """Smallest score up to which rows have the share ``coverage`` of all weight; or infinite."""
    for c in sorted({s for s, w in zip(scores, weights, strict=True) if w > 0}):
        upto = sum(w for s, w in zip(scores, weights, strict=True) if s <= c)
        if upto >= coverage * (sum(weights) + own):
            return c
    return math.inf


def threshold_with_labels(scores, weights, own, labels, label_weights, coverage):
    """The labels' own threshold where it is finite; else the larger of the largest and the rows'.

    ``labels`` are scores of target rows, and a new row weighs as they do on average.
    """
    mean = sum(w * w for w in label_weights) / sum(label_weights)
    alone = conformal_threshold(labels, label_weights, mean, coverage)
    if alone < math.inf:
        return alone
    return max(max(labels), conformal_threshold(scores, weights, own, coverage))


def plus_interval(bands, fold, scores, weights, own, coverage):
    """CV+ of one new row: ``bands`` holds (low, high, unit) of every fold (Barber et al., 2021)."""
    lower, upper = [], []
    for k, s in zip(fold, scores, strict=True):
        low, high, unit = bands[k]
        lower.append(-(low - s * unit))
        upper.append(high + s * unit)
    low = -conformal_threshold(lower, weights, own, coverage)
    high = conformal_threshold(upper, weights, own, coverage)
    return (low, high) if low <= high else ((low + high) / 2,) * 2


def plus_set(matrix, fold, scores, weights, own, coverage, u=1):
    """CV+ of one new row: ``matrix`` holds the classes' scores by every fold's model."""
    found = []
    for y in range(len(matrix[0])):
        mass = u * own
        for k, s, w in zip(fold, scores, weights, strict=True):
            mass += w if s > matrix[k][y] else u * w if s == matrix[k][y] else 0
        found.append(mass > (1 - coverage) * (sum(weights) + own))
    return found


def set_by_class(matrix, fold, scores, weights, codes, own, coverage, u=1):
    """As `plus_set`, but that a class is compared with the rows of that class alone.

    Label-conditional (Mondrian) conformal prediction (Vovk, Gammerman and Shafer, 2005); one fold
    is the split form.
    """
    found = []
    for y in range(len(matrix[0])):
        mass, total = u * own, own
        for k, s, w, code in zip(fold, scores, weights, codes, strict=True):
            if code == y:
                total += w
                mass += w if s > matrix[k][y] else u * w if s == matrix[k][y] else 0
        found.append(total == own or mass > (1 - coverage) * total)
    return found


def adaptive_scores(p, u=1, penalty=0, start=0):
    """Probability up to each class in descending order, of itself the part u; a price by rank."""
    order = sorted(range(len(p)), key=lambda y: -p[y])
    found = [0.0] * len(p)
    for rank, y in enumerate(order):
        before = sum(p[z] for z in order[:rank])
        found[y] = before + u * p[y] + penalty * max(0, rank + 1 - start)
    return found


def prediction_powered(y, h, h_target, u):
    """Mean of a target of which some rows have y, chosen with chances 1 / u: value, power, error^2.

    h and h_target are what a model that has not seen y predicts for these rows and for all.
    """
    total = sum(u)
    mean_y = sum(a * b for a, b in zip(u, y, strict=True)) / total
    mean_h = sum(a * b for a, b in zip(u, h, strict=True)) / total
    cross = sum(a * (b - mean_h) * (c - mean_y) for a, b, c in zip(u, h, y, strict=True))
    square = sum(a * (b - mean_h) ** 2 for a, b in zip(u, h, strict=True))
    power = min(1.0, max(0.0, cross / square)) if square > 0 else 0.0
    rest = [b - power * c for b, c in zip(y, h, strict=True)]
    left = sum(a * b for a, b in zip(u, rest, strict=True)) / total
    there = sum(h_target) / len(h_target)
    L, M = len(y), len(h_target)
    own = sum((a * (b - left) / total) ** 2 for a, b in zip(u, rest, strict=True)) * L / (L - 1)
    others = sum((power * (b - there) / M) ** 2 for b in h_target) * M / (M - 1)
    return power * there + left, power, own + others


def between(theta_L, theta_0, v_L, v_0, shared):
    """From the best combination of two numbers to the first, as they are further apart."""
    v_D = v_L + v_0 - 2 * shared
    share = (v_L - shared) / v_D  # of the second, where both have the same mean
    return theta_L - share * (theta_L - theta_0) * math.exp(-((theta_L - theta_0) ** 2) / v_D / 8)


def inclusion_probabilities(sizes, count):
    """min(1, c sizes) that sum to the count, c by halving an interval."""
    low, high = 0.0, count / min(size for size in sizes if size > 0)
    for _ in range(200):
        middle = (low + high) / 2
        total = sum(min(1.0, middle * size) for size in sizes)
        low, high = (middle, high) if total < count else (low, middle)
    return [min(1.0, low * size) for size in sizes]


def spread_of_influence(metric, mass, q, step=1e-6):
    """Root of sum_c q_c (g_c - sum q g)^2 in each row, g by moving the mass of a row and class.

    ``metric`` is a function of masses (n, K).
    """
    found = []
    for i in range(len(mass)):
        g = []
        for c in range(len(mass[i])):
            ends = []
            for side in (step, -step):
                moved = mass.copy()
                moved[i, c] += side
                ends.append(metric(moved))
            g.append((ends[0] - ends[1]) / (2 * step))
        mean = sum(chance * one for chance, one in zip(q[i], g, strict=True))
        square = sum(chance * (one - mean) ** 2 for chance, one in zip(q[i], g, strict=True))
        found.append(square**0.5)
    return found


def sharp_bound(gains, chances, odds):
    """Largest sum_c q_c g_c with chances / odds <= q <= chances * odds that sum to one: an LP."""
    found = optimize.linprog(
        [-gain for gain in gains],
        A_eq=[[1.0] * len(gains)],
        b_eq=[1.0],
        bounds=[(chance / odds, chance * odds) for chance in chances],
    )
    return -found.fun


def free_bound(y, w, odds):
    """Largest weighted mean with weights in [w / odds, w odds], whatever they sum to.

    Zhao, Small and Bhattacharya (2019): the largest outcomes count most, from some rank on.
    """
    order = sorted(range(len(y)), key=lambda i: y[i])
    best = -math.inf
    for cut in range(len(y) + 1):
        factor = [w[i] * (1 / odds if rank < cut else odds) for rank, i in enumerate(order)]
        total = sum(f * y[i] for f, i in zip(factor, order, strict=True))
        best = max(best, total / sum(factor))
    return best


def corrected_for(b, t, y, d, share, columns, penalty):
    """The number by a ridge regression on some columns, fitted once more to what it leaves."""
    d = d / d.sum()
    centre = d @ b
    root = np.sqrt(d)[:, None]
    A = np.vstack([root * (b - centre)[:, columns], np.sqrt(penalty) * np.eye(len(columns))])
    left, beta = y - d @ y, np.zeros(len(columns))
    for _ in range(2):
        goal = np.append(root[:, 0] * left, np.zeros(len(columns)))
        more = np.linalg.lstsq(A, goal, rcond=None)[0]
        beta, left = beta + more, left - (b - centre)[:, columns] @ more
    return d @ y + (share @ t - centre)[columns] @ beta


def shapley_values(value, n):
    """The mean over all orders of what each of n players adds."""
    found = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        for k, player in enumerate(order):
            found[player] += value(order[: k + 1]) - value(order[:k])
    return found / len(orders)


def robustness_value(number, null, y, w):
    """Hartman and Huang (2024): shares of two variances that an unobserved factor would explain."""
    a = (number - null) ** 2 / (_variance(y) * _variance(w))
    return (math.sqrt(a**2 + 4 * a) - a) / 2


def benchmark(w, without, y):
    """Share of the ideal weights' variance, correlation and bias of a reason like a column."""
    e = [b - a for a, b in zip(w, without, strict=True)]
    R2 = _variance(e) / _variance(w)
    mean_e, mean_y = sum(e) / len(e), sum(y) / len(y)
    shared = sum((a - mean_e) * (b - mean_y) for a, b in zip(e, y, strict=True)) / (len(y) - 1)
    rho = shared / math.sqrt(_variance(e) * _variance(y))
    of_ideal = R2 / (1 + R2)
    bias = rho * math.sqrt(_variance(w) * of_ideal / (1 - of_ideal)) * math.sqrt(_variance(y))
    return of_ideal, rho, bias


def _variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def robust_threshold(scores, weights, own, coverage, odds):
    """Smallest score that keeps the coverage under the worst weights in [w / odds, w odds]."""
    for c in sorted(scores):
        inside = sum(w for s, w in zip(scores, weights, strict=True) if s <= c) / odds
        outside = sum(w for s, w in zip(scores, weights, strict=True) if s > c) * odds
        if inside >= coverage * (inside + outside + own * odds) * (1 - 1e-12):
            return c
    return math.inf


def black_box_shares(q, y, q_target, d=None, s=None):
    """Shares of the classes by E_T[q] = sum_c pi_c E_S[q | y = c] (Lipton, Wang and Smola 2018)."""
    N, M, K = len(q), len(q_target), q.shape[1]
    d, s = np.ones(N) if d is None else d, np.full(M, 1 / M) if s is None else s
    C, right = np.zeros((K, K)), np.zeros(K)
    for c in range(K):
        total = sum(d[i] for i in range(N) if y[i] == c)
        for i in range(N):
            if y[i] == c:
                C[:, c] += d[i] / total * q[i]
    for t in range(M):
        right += s[t] * q_target[t]
    return np.linalg.solve(C, right)


def likeliest_shares(p, q_target, steps=5000):
    """Shares of the highest likelihood, by naive steps (Saerens, Latinne and Decaestecker 2002)."""
    pi = np.array(p, dtype=float)
    for _ in range(steps):
        found = np.zeros(len(p))
        for row in q_target:
            mixed = pi / p * row
            found += mixed / mixed.sum() / len(q_target)
        pi = found
    return pi


def within_classes(classes):
    """Test by Hotelling's statistics of pairs (X, T), one for each class, columns in units of X."""
    statistic, degrees, rest = 0.0, 0, 0
    for X, T in classes:
        center, unit = X.mean(axis=0), X.std(axis=0)
        a, b = (np.clip((part - center) / unit, -3, 3) for part in (X, T))
        D = b.mean(axis=0) - a.mean(axis=0)
        V = np.cov(a, rowvar=False) / len(a) + np.cov(b, rowvar=False) / len(b)
        statistic += D @ np.linalg.inv(V) @ D
        degrees += len(D)
        rest += min(len(a), len(b)) - 1
    F = statistic * (rest - degrees) / (rest * degrees)
    return stats.f.sf(F, degrees, rest - degrees)
