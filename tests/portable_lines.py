"""Facts of one-dimensional views for every array library, against naive loops over all points.

Each takes ``convert`` (from NumPy to the library) and ``to_numpy``.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from covshift.operators import LineViews
from covshift.operators.line_bins import at_bins, bin_totals, nested_gram, seen_by_bin, suffix_sums
from covshift.operators.line_groups import Crossed, coarse, crossed, grouped, regrouped
from covshift.operators.line_thresholds import Thresholds
from covshift.weights.cdf.views import line_target


def tied_sample(seed=0, N=40, M=30, n=3):
    """Values on a grid, so that rows lie on thresholds; some target rows weigh nothing."""
    rng = np.random.default_rng(seed)
    X, T = rng.integers(0, 9, (N, n)) / 2, rng.integers(1, 8, (M, n)) / 2
    share = rng.uniform(0.1, 1.0, M) * (rng.uniform(size=M) > 0.2)
    return X, T, share / share.sum()


def the_columns(points):
    return [points[:, k] for k in range(points.shape[1])]


def naive_R(X, T, share):
    """R of all views, one row per target row (not per threshold), weighted by its share."""
    G = T.shape[1]
    seen = [T[:, k, None] >= X[None, :, k] for k in range(G)]
    return np.concatenate([np.sqrt(share / G)[:, None] * view for view in seen])


def thresholds_add_up_equal_values(convert, to_numpy):
    _, T, share = tied_sample()
    line = Thresholds.of(convert(T[:, 0]), convert(share))
    values = np.unique(T[share > 0, 0])
    np.testing.assert_array_equal(to_numpy(line.values), values)
    expected = [share[T[:, 0] == value].sum() for value in values]
    np.testing.assert_allclose(to_numpy(line.weights), expected, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(line.below()), np.cumsum(expected), rtol=1e-12)
    assert line.size == len(values)


def a_target_of_no_weight_has_no_thresholds(convert, to_numpy):
    line = Thresholds.of(convert(np.arange(3.0)), convert(np.zeros(3)))
    assert line.size == 0
    assert to_numpy(line.codes(convert(np.ones(2)))).tolist() == [0, 0]


def anderson_darling_divides_by_the_variance_of_F(convert, to_numpy):
    _, T, share = tied_sample()
    plain = Thresholds.of(convert(T[:, 0]), convert(share))
    w = to_numpy(plain.weights)
    F = np.cumsum(w) - w / 2  # the mid-distribution function
    found = to_numpy(plain.anderson_darling().weights)
    np.testing.assert_allclose(found, w / (F * (1 - F)), rtol=1e-10)


def codes_count_the_thresholds_below(convert, to_numpy):
    X, T, share = tied_sample()
    line = Thresholds.of(convert(T[:, 0]), convert(share))
    x, t = X[:, 0], to_numpy(line.values)
    below, on = (t < x[:, None]).sum(axis=1), np.isin(x, t)
    np.testing.assert_array_equal(to_numpy(line.codes(convert(x))), below)
    mirrored = to_numpy(line.codes(convert(x), symmetric=True))
    np.testing.assert_array_equal(mirrored, 2 * below + on)


def many_points_have_the_codes_of_a_few(convert, to_numpy):
    """Above 2^16 points NumPy sorts them first."""
    rng = np.random.default_rng(1)
    x, t = np.round(rng.normal(size=(1 << 16) + 5), 2), np.round(rng.normal(size=300), 2)
    line = Thresholds.of(convert(t), convert(np.ones(300)))
    for symmetric in (False, True):
        every = to_numpy(line.codes(convert(x), symmetric=symmetric))
        for some in (slice(0, 1000), slice(-1000, None)):
            few = to_numpy(line.codes(convert(x[some]), symmetric=symmetric))
            np.testing.assert_array_equal(every[some], few)


def merged_thresholds_keep_the_weight_and_the_order(convert, to_numpy):
    rng = np.random.default_rng(2)
    t, weight = rng.normal(size=200), rng.exponential(size=200)
    line = Thresholds.of(convert(t), convert(weight))
    whole = line.merged(200)
    assert whole.thresholds is line
    np.testing.assert_array_equal(to_numpy(whole.codes), np.arange(201))
    for size in (1, 2, 17):
        merged = line.merged(size)
        group, chosen = to_numpy(merged.group), to_numpy(merged.chosen)
        assert merged.thresholds.size == group.max() + 1 <= size
        assert set(np.diff(group)) <= {0, 1}
        weights = to_numpy(line.weights)
        expected = [weights[group == g].sum() for g in range(merged.thresholds.size)]
        np.testing.assert_allclose(to_numpy(merged.thresholds.weights), expected)
        assert max(expected) <= weights.sum() / size + weights.max()
        np.testing.assert_array_equal(group[chosen], np.arange(len(chosen)))
        x = rng.normal(size=500)
        direct = to_numpy(merged.thresholds.codes(convert(x)))
        table = to_numpy(merged.codes)
        np.testing.assert_array_equal(table[to_numpy(line.codes(convert(x)))], direct)


def bins_are_added_up_and_counted(convert, to_numpy):
    code, v = np.array([3, 0, 3, 1]), np.array([0.5, 2.0, -1.5, 4.0])
    totals = to_numpy(bin_totals(convert(code), convert(v), 5))
    np.testing.assert_allclose(totals, [2.0, 4.0, 0.0, -1.0, 0.0], atol=1e-15)
    counts = to_numpy(bin_totals(convert(code), None, 5))
    np.testing.assert_array_equal(counts, [1, 1, 0, 2, 0])


def bins_read_the_thresholds_that_see_them(convert, to_numpy):
    """Bin c lies below threshold c, or in a symmetric view on threshold c // 2 where c is odd."""
    upper, lower = np.array([1.0, 10.0, 100.0]), np.array([2.0, 20.0, 200.0])
    np.testing.assert_allclose(to_numpy(suffix_sums(convert(upper))), [111, 110, 100, 0])
    np.testing.assert_allclose(to_numpy(at_bins(convert(upper))), [111, 110, 100, 0])
    below, above = [0, 2, 2, 22, 22, 222, 222], [111, 111, 110, 110, 100, 100, 0]
    both = to_numpy(at_bins(convert(upper[:, None]), convert(lower[:, None])))[:, 0]
    np.testing.assert_allclose(both, np.add(above, below))
    one, two = seen_by_bin(convert(upper), True)
    np.testing.assert_allclose(to_numpy(one), above)
    np.testing.assert_allclose(to_numpy(two), np.array(below) / 2)


def a_nested_gram_is_known_by_its_diagonal(convert, to_numpy):
    sides = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    expected = sum(np.minimum(s[:, None], s) for s in sides)
    found = to_numpy(nested_gram([convert(side) for side in sides]))
    np.testing.assert_allclose(found, expected)


def vector_products_are_those_of_R(convert, to_numpy):
    X, T, share = tied_sample()
    target = line_target(LineViews.of(the_columns, convert(T), convert(share)))
    rows = target.rows(convert(X))
    R, v = naive_R(X, T, share), np.linspace(-1, 2, len(X))
    K = R.T @ R
    np.testing.assert_allclose(to_numpy(rows.gram()), K, atol=1e-13)
    Rv = rows.matvec(convert(v))
    np.testing.assert_allclose(to_numpy(rows.rmatvec(Rv)), K @ v, atol=1e-12)
    np.testing.assert_allclose(float(Rv @ Rv), v @ K @ v, atol=1e-12)
    own = naive_R(T, T, share)
    F = own @ share
    np.testing.assert_allclose(to_numpy(rows.rmatvec(target.F)), R.T @ F, atol=1e-12)
    spread = share @ (own**2).sum(axis=0) - F @ F
    np.testing.assert_allclose(target.spread, spread, atol=1e-12)


def pairs_of_views_are_counted_over_the_free_rows(convert, to_numpy):
    """Also where a row counts for several, and by either way to count."""
    X, T, share = tied_sample()
    mass = np.linspace(0.5, 2, len(X))
    rows = LineViews.of(the_columns, convert(T), convert(share)).factor(convert(X))
    columns = to_numpy(rows.matmat(convert(np.eye(len(X)))))
    codes = [convert(np.arange(line.size + 1)) for line in rows.lines.lines]
    for free, counted in product((X[:, 0] > 1, np.ones(len(X), dtype=bool)), (None, mass)):
        R, g = columns[:, free], (np.ones(len(X)) if counted is None else counted)[free]
        given = None if counted is None else convert(counted)
        cross, ones = crossed(rows, convert(free), codes, rows.lines, given)
        np.testing.assert_allclose(cross, g * R @ R.T, atol=1e-12)
        np.testing.assert_allclose(ones, R @ g, atol=1e-12)
    root, both = np.concatenate([to_numpy(root) for root in rows.lines.roots]), Crossed(rows)
    for given in (None, convert(mass)):
        tables = root * both._counted(given) * root[:, None]
        product_of_ones = root * both._multiplied(given) * root[:, None]
        np.testing.assert_allclose(tables, product_of_ones, atol=1e-12)


def groups_of_thresholds_are_the_coarse_view(convert, to_numpy):
    """P has orthonormal columns, and R of the merged thresholds is nearly P'R."""
    rng = np.random.default_rng(3)
    X, T, share = rng.normal(size=(60, 2)), rng.normal(size=(400, 2)), np.full(400, 1 / 400)
    views = LineViews.of(the_columns, convert(T), convert(share))
    groups, few = grouped(views.lines, 20)
    z, ones = rng.normal(size=groups.count), convert(np.ones((60, 1)))
    np.testing.assert_allclose(groups.gather(groups.spread(z)), z, atol=1e-12)
    rows = views.factor(convert(X))
    merged = regrouped(rows, few.tables(), few.lines)
    expected = to_numpy(merged.matmat(ones))[:, 0]
    fine = rows.matmat(ones)[:, 0]
    np.testing.assert_allclose(groups.gather(fine), expected, atol=0.02 * np.abs(expected).max())
    direct = few.lines.factor(the_columns(convert(X)), n_points=60)
    np.testing.assert_allclose(to_numpy(direct.matmat(ones))[:, 0], expected, rtol=1e-12)
    assert coarse(views.lines, 100) is None
    small = coarse(views.lines, 20)
    straight = np.concatenate([np.linspace(-1, 1, 400), np.linspace(3, 2, 400)])
    root = np.sqrt(to_numpy(small.lines.lines[0].weights))
    chosen = [to_numpy(part.chosen) + 400 * view for view, part in enumerate(small.merged)]
    refined = to_numpy(small.refined(convert(np.tile(root, 2) * straight[np.concatenate(chosen)])))
    inner = np.r_[chosen[0][0] : chosen[0][-1], chosen[1][0] : chosen[1][-1]]
    np.testing.assert_allclose(refined[inner] * np.sqrt(800), straight[inner], atol=1e-12)


FACTS = [
    thresholds_add_up_equal_values,
    a_target_of_no_weight_has_no_thresholds,
    anderson_darling_divides_by_the_variance_of_F,
    codes_count_the_thresholds_below,
    many_points_have_the_codes_of_a_few,
    merged_thresholds_keep_the_weight_and_the_order,
    bins_are_added_up_and_counted,
    bins_read_the_thresholds_that_see_them,
    a_nested_gram_is_known_by_its_diagonal,
    vector_products_are_those_of_R,
    pairs_of_views_are_counted_over_the_free_rows,
    groups_of_thresholds_are_the_coarse_view,
]
