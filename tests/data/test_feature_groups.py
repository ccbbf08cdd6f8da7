"""Columns that are one feature: they share its weight in every V that averages over columns."""

from __future__ import annotations

from functools import partial

import array_api_strict
import numpy as np
import pandas as pd
import pytest
import reference

from covshift import v_matrix
from covshift.corrections import Additive, Multiplicative, Pairwise, Sliced, as_correction
from covshift.data.features import column_shares, feature_groups, members, order_by_content
from covshift.data.row_weights import target_weights
from covshift.exceptions import InputError
from covshift.operators.leaves import leaf_gram
from covshift.testing import check_operator

N, M = 9, 11


def levels(rng, rows, count, shares=None):
    """A category of so many levels, one column for each."""
    return np.eye(count)[rng.choice(count, rows, p=shares)]


def numbers_and_a_category(seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=N), levels(rng, N, 4), rng.choice(3, N)])
    T = np.column_stack([rng.normal(size=M), levels(rng, M, 4), rng.choice(3, M)])
    return X, T, [5, 2, 2, 2, 2, 9]


def any_columns(seed=1):
    """Groups of columns that stand apart, and are no levels."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 5)).round(1), rng.normal(size=(M, 5)).round(1), [0, 1, 0, 2, 1]


def all_in_one(seed=2):
    rng = np.random.default_rng(seed)
    return levels(rng, N, 3), levels(rng, M, 3), [4, 4, 4]


def constant_in_the_target(seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([levels(rng, N, 3), rng.normal(size=N)])
    return X, np.column_stack([levels(rng, M, 3, [0, 1, 0]), rng.normal(size=M)]), [1, 1, 1, 0]


SAMPLES = [numbers_and_a_category, any_columns, all_in_one, constant_in_the_target]
mean_over_features = reference.algorithm_2_of_features


def both_sides(X, T, groups, **options):
    return reference.mirrored(partial(mean_over_features, groups=groups), X, T, **options)


# groups


def test_groups_are_numbered_in_their_order_and_columns_share_a_features_weight():
    groups = feature_groups(np.array([8, 3, 8, 1]), 4)
    assert groups.tolist() == [0, 1, 0, 2]
    assert column_shares(groups).tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 6, 1 / 3])
    assert members(groups) == [[0, 2], [1], [3]]


def test_columns_that_are_features_by_themselves_have_no_groups():
    assert feature_groups(None, 3) is None
    assert feature_groups([2, 0, 1], 3) is None


def test_groups_of_another_number_of_columns_are_refused():
    with pytest.raises(InputError, match=r"groups has shape \(2,\), expected \(3,\)"):
        Additive().of_features([0, 0]).operator(np.zeros((2, 3)))


def test_the_content_of_rows_orders_levels_and_not_their_place():
    """Also where all levels are as frequent; whatever the order of the rows."""
    rng = np.random.default_rng(0)
    hot = np.eye(4)[np.arange(40) % 4]
    X, Y, T = np.column_stack([rng.normal(size=40), hot]), rng.normal(size=(40, 1)), np.eye(5)
    groups = np.array([0, 1, 1, 1, 1])
    expected = X[:, order_by_content(groups, X, Y, T)]
    seen = set()
    for _ in range(5):
        moved = np.append(0, 1 + rng.permutation(4))
        order = order_by_content(groups, X[:, moved], Y, T[:, moved])
        np.testing.assert_array_equal(X[:, moved][:, order], expected)
        rows = rng.permutation(40)
        again = order_by_content(groups, X[rows], Y[rows], T)
        np.testing.assert_array_equal(X[:, again], expected)
        seen.add(tuple(order))
    assert len(seen) > 1
    assert all(order[0] == 0 for order in seen)


# V against the naive one


@pytest.mark.parametrize("make", SAMPLES)
def test_additive(make):
    X, T, groups = make()
    V = Additive().of_features(groups).operator(X, T)
    check_operator(V)
    assert V.dense() == pytest.approx(mean_over_features(X, T, groups), abs=1e-12)


@pytest.mark.parametrize("make", SAMPLES)
def test_symmetric(make):
    X, T, groups = make()
    V = Additive(symmetric=True).of_features(groups).operator(X, T)
    assert V.dense() == pytest.approx(both_sides(X, T, groups), abs=1e-12)


@pytest.mark.parametrize("make", SAMPLES)
def test_anderson_darling(make):
    X, T, groups = make()
    V = Additive(phi="anderson-darling").of_features(groups).operator(X, T)
    expected = mean_over_features(X, T, groups, phi=reference.anderson_darling_phi)
    assert V.dense() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("make", SAMPLES)
def test_blended(make):
    X, T, groups = make()
    seen = both_sides(X, T, groups)
    expected = 0.5 * seen * N / np.trace(seen) + 0.5 * np.eye(N)
    V = as_correction("blended").of_features(groups).operator(X, T)
    assert V.dense() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("make", SAMPLES)
def test_pairwise(make, symmetric):
    X, T, groups = make()
    naive = partial(reference.pairwise_of_features, groups=groups)
    expected = reference.mirrored(naive, X, T) if symmetric else naive(X, T)
    V = Pairwise(symmetric=symmetric).of_features(groups).operator(X, T)
    assert V.dense() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_multiplicative_v_compares_levels_and_needs_no_groups(symmetric):
    X, T, groups = all_in_one()
    same = (X[:, None] == T).all(axis=2).astype(float)  # level of x_i = level of t_q
    V = Multiplicative(symmetric=symmetric)
    assert V.operator(X, T).dense() == pytest.approx(same @ same.T / M)
    assert V.of_features(groups).operator(X, T).dense() == pytest.approx(same @ same.T / M)


@pytest.mark.parametrize(
    "correction",
    [Additive(), Additive(symmetric=True, phi="anderson-darling"), Pairwise(), "blended"],
    ids=str,
)
def test_the_target_side_of_v_sums_to_the_same(correction):
    X, T, groups = numbers_and_a_category()
    known = as_correction(correction).of_features(groups)
    A = np.random.default_rng(0).normal(size=(N, 3))
    sums = known.target_sums(T, np.full(M, 1 / M), X)
    blocks = slice(4), slice(4, N)
    parts = [sums.sums(X[rows], A[rows], np.ones(N)[rows], rows) for rows in blocks]
    expected = A.T @ known.operator(X, T).dense() @ A
    assert sums.gram(parts[0].combine(parts[1])) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_form_of_trees_knows_the_groups(symmetric):
    X, T, groups = numbers_and_a_category()
    V = Additive(symmetric=symmetric).of_features(groups).operator(X, T)
    place = np.random.default_rng(0).integers(0, 4, N)
    Z = (place[:, None] == np.arange(4)).astype(float)
    dense = (both_sides if symmetric else mean_over_features)(X, T, groups)
    assert leaf_gram(V, place, 4) == pytest.approx(Z.T @ dense @ Z, abs=1e-10)


def test_sliced_gives_a_feature_the_part_of_one_column():
    X, T, groups = numbers_and_a_category()
    correction = Sliced(n_directions=6, random_state=0, standardize=False)
    drawn = np.random.RandomState(0).normal(size=(6, 6))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    expected = reference.sliced(X, T, drawn / np.sqrt([1, 4, 4, 4, 4, 1]))
    assert correction.of_features(groups).operator(X, T).dense() == pytest.approx(expected)
    given = Sliced(directions=drawn, standardize=False).of_features(groups)
    assert given.operator(X, T).dense() == pytest.approx(reference.sliced(X, T, drawn))


@pytest.mark.parametrize("correction", [Additive(symmetric=True), Pairwise(), "blended"], ids=str)
def test_arrays_of_another_library(correction):
    X, T, groups = numbers_and_a_category()
    known = as_correction(correction).of_features(groups)
    found = known.operator(*map(array_api_strict.asarray, (X, T))).dense()
    assert np.asarray(found) == pytest.approx(known.operator(X, T).dense(), abs=1e-12)


# properties


@pytest.mark.parametrize("correction", [Additive(), Pairwise(), Sliced(random_state=0)], ids=str)
def test_groups_of_one_column_each_change_no_bit(correction):
    X, T, _ = numbers_and_a_category()
    known = correction.of_features([3, 1, 4, 0, 5, 2]).operator(X, T)
    np.testing.assert_array_equal(known.dense(), correction.operator(X, T).dense())


@pytest.mark.parametrize("count", [3, 5, 12])
def test_a_category_has_the_share_of_one_number(count):
    rng = np.random.default_rng(count)
    x, t = rng.normal(size=(N, 1)), rng.normal(size=(M, 1))
    c, d = levels(rng, N, count), levels(rng, M, count)
    groups = [0] + [1] * count
    V = Additive().of_features(groups).operator(np.hstack([x, c]), np.hstack([t, d])).dense()
    alone = v_matrix(x, t), v_matrix(c, d)
    assert V == pytest.approx((alone[0] + alone[1]) / 2, abs=1e-12)


@pytest.mark.parametrize("correction", [Additive(), "blended", Pairwise()], ids=str)
def test_the_order_of_levels_and_of_features_does_not_matter(correction):
    X, T, groups = numbers_and_a_category()
    known = as_correction(correction)
    V = known.of_features(groups).operator(X, T).dense()
    for order in ([0, 4, 2, 1, 3, 5], [3, 5, 1, 0, 4, 2]):
        moved = known.of_features(np.array(groups)[order]).operator(X[:, order], T[:, order])
        assert moved.dense() == pytest.approx(V, abs=1e-12)


def test_every_level_twice_changes_nothing():
    X, T, groups = numbers_and_a_category()
    twice = [0, 1, 2, 3, 4, 1, 2, 3, 4, 5]
    one = Additive().of_features(groups).operator(X, T).dense()
    other = Additive().of_features(np.array(groups)[twice]).operator(X[:, twice], T[:, twice])
    assert other.dense() == pytest.approx(one, abs=1e-12)


def test_weights_inside_a_correction_do_not_lose_the_groups():
    X, T, groups = numbers_and_a_category()
    w = np.linspace(0.5, 2, N)
    expected = w[:, None] * mean_over_features(X, T, groups) * w
    known = Additive(weights=w).of_features(groups)
    assert known.operator(X, T).dense() == pytest.approx(expected, abs=1e-12)
    rows, target = target_weights(N), target_weights(M)
    fitted = Additive(weights="cdf").of_features(groups).weighed(X, T, rows, target)
    assert fitted._groups == groups
    assert np.ndim(fitted.weights) == 1


# frames


def frames(seed=0):
    rng = np.random.default_rng(seed)

    def made(rows, shares):
        return pd.DataFrame(
            {
                "age": rng.normal(size=rows),
                "region": rng.choice(["n", "s", "e", "w"], rows, p=shares),
                "sex": rng.choice(["f", "m"], rows),
            }
        )

    return made(N, [0.25] * 4), made(M, [0.4, 0.3, 0.2, 0.1])


def by_hand(frame):
    hot = np.column_stack([frame.region == level for level in "ensw"])
    return np.column_stack([frame.age, hot, frame.sex == "m"]).astype(float)


def test_v_of_frames_is_that_of_their_features():
    X, T = frames()
    expected = mean_over_features(by_hand(X), by_hand(T), [0, 1, 1, 1, 1, 2])
    assert v_matrix(X, T) == pytest.approx(expected, abs=1e-12)
    assert v_matrix(X, (T,)) == pytest.approx(expected, abs=1e-12)
    weighed = Additive().operator(X, T, sample_weight=np.arange(1.0, N + 1)).diagonal()
    assert weighed == pytest.approx(np.diag(expected) * (np.arange(1, N + 1) / 5.0) ** 2)


def test_the_target_of_a_frame_may_be_itself():
    X = frames()[1]
    hot = by_hand(X)
    assert v_matrix(X) == pytest.approx(mean_over_features(hot, hot, [0, 1, 1, 1, 1, 2]))
