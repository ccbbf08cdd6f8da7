"""Weights within limits: exact against general solvers, at their ends, and what they cost."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import reference

from covshift import Margins, Reweighted, estimate
from covshift.exceptions import WeightWarning
from covshift.persistence import load, save
from covshift.weights import CDFWeights, EntropyBalancing, Raking
from covshift.weights.tilt import bounded_tilt

WEIGHTERS = {
    "entropy": EntropyBalancing,
    "cdf": CDFWeights,
    "cdf by thresholds": lambda **given: CDFWeights(solver="thresholds", **given),
    "raking": Raking,
}
RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(80, 2)), RNG.normal(0.5, 1.0, size=(120, 2))
D = RNG.uniform(0.5, 2.0, 80)
MARGINS = Margins.from_rows(T, bins=3)
TARGETS = {"rows": T, "margins": MARGINS}


def fitted(name, target, limits, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WEIGHTERS[name](limits=limits).fit(X, X_target=TARGETS[target], **given)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WEIGHTERS)
def test_weights_are_within_the_limits_and_have_mean_one(name, target):
    found = fitted(name, target, (0.4, 2.0), sample_weight=D)
    assert found.weights_.min() >= 0.4
    assert found.weights_.max() <= 2.0
    assert np.average(found.weights_, weights=D) == pytest.approx(1, abs=1e-7)
    new = found.predict_weights(3 * X)
    assert new.min() >= 0.4
    assert new.max() <= 2.0
    np.testing.assert_allclose(found.predict_weights(X), found.weights_, atol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WEIGHTERS)
def test_limits_that_do_not_bind_change_nothing(name, target):
    plain = fitted(name, target, None, sample_weight=D)
    wide = fitted(name, target, (0.0, 60.0), sample_weight=D)
    np.testing.assert_array_equal(wide.weights_, plain.weights_)
    assert not hasattr(plain, "balance_cost_")
    cost = wide.balance_cost_
    assert cost.gap == pytest.approx(cost.gap_without, abs=1e-12)
    assert cost.effective_sample_size == pytest.approx(cost.effective_sample_size_without)


@pytest.mark.parametrize("limits", [(1.0, 3.0), (0.2, 1.0)])
@pytest.mark.parametrize("name", WEIGHTERS)
def test_limits_that_leave_one_alone_give_the_sample_as_it_is(name, limits):
    found = fitted(name, "margins", limits, sample_weight=D)
    np.testing.assert_allclose(found.weights_, 1.0, atol=1e-9)
    assert found.balance_cost_.gap == pytest.approx(
        max(abs(row.gap) for row in MARGINS.balance(X, D))
    )


@pytest.mark.parametrize("target", TARGETS)
def test_the_cost_is_the_largest_gap_with_and_without(target):
    plain = fitted("entropy", target, None, sample_weight=D)
    found = fitted("entropy", target, (0.5, 1.8), sample_weight=D)

    def gap(w):
        if target == "margins":
            return max(abs(row.gap) for row in MARGINS.balance(X, w))
        spread = (np.sqrt(np.average((X - np.average(X, 0, D)) ** 2, 0, D)), T.std(axis=0))
        unit = np.sqrt((spread[0] ** 2 + spread[1] ** 2) / 2)
        return np.abs((np.average(X, 0, w) - T.mean(axis=0)) / unit).max()

    cost = found.balance_cost_
    assert cost.gap == pytest.approx(gap(D * found.weights_))
    assert cost.gap_without == pytest.approx(gap(D * plain.weights_), abs=1e-9)
    assert cost.gap > cost.gap_without + 0.01
    assert cost.effective_sample_size == found.effective_sample_size_
    assert cost.effective_sample_size_without == pytest.approx(plain.effective_sample_size_)
    assert str(cost).startswith("Weights from 0.5 to 1.8: largest gap 0.")


def test_the_cost_names_the_column():
    pandas = pytest.importorskip("pandas")
    frame, target = (pandas.DataFrame(rows, columns=["age", "pay"]) for rows in (X, T))
    with pytest.warns(WeightWarning):
        found = EntropyBalancing(limits=(0.8, 1.2)).fit(frame, X_target=target)
    assert found.balance_cost_.worst in ("'age'", "'pay'")


def test_entropy_balancing_within_limits_is_that_of_a_general_solver():
    Z = X[:40] - 0.35
    share = D[:40] / D[:40].sum()
    for low, high in ((0.6, 1.6), (0.0, 1.5), (0.65, 3.0)):
        found = bounded_tilt(Z, share, low, high, reg=0.0, tol=1e-10, start=np.zeros(2))
        assert found.exact
        exact = reference.calibrated_within(Z, share, low, high)
        assert (exact > high - 1e-6).any() or (exact < low + 1e-6).any()
        np.testing.assert_allclose(found.w, exact, atol=2e-5)
        np.testing.assert_allclose(found.gap, 0, atol=1e-9)


@pytest.mark.parametrize("shift", [0.8, 2.0, 5.0])
def test_where_nothing_balances_the_sum_of_squares_is_the_smallest(shift):
    Z = X - [shift, 0.5]
    share = D / D.sum()
    found = bounded_tilt(Z, share, 0.4, 1.7, reg=0.0, tol=1e-10, start=np.zeros(2))
    assert not found.exact
    least = reference.smallest_squares_within(Z, share, 0.4, 1.7)
    assert float(found.gap @ found.gap) == pytest.approx(least, rel=1e-4)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.OverlapWarning")
def test_no_overlap_is_no_error_within_limits():
    far = T + 10
    with pytest.warns(WeightWarning, match=r"no weights balance all moments.*comes nearest"):
        found = EntropyBalancing(limits=(0.2, 3.0)).fit(X, X_target=far)
    assert found.balance_cost_.gap_without is None
    assert "no weights reach the target" in str(found.balance_cost_)
    assert found.weights_.max() == pytest.approx(3.0)


def test_raking_within_limits_is_entropy_balancing_of_cells():
    cells = [(None, -0.5), (-0.5, 0.5), (0.5, None)]
    margins = Margins(
        {"0": dict(zip(cells, (0.25, 0.35, 0.4), strict=True)), "1": dict.fromkeys(cells, 1 / 3)}
    )
    plain = Raking().fit(X, X_target=margins).weights_
    limits = 0.5 * plain.min() + 0.5 * np.sort(np.unique(plain.round(6)))[1], 0.98 * plain.max()
    raked = Raking(limits).fit(X, X_target=margins)
    balanced = EntropyBalancing(limits=limits).fit(X, X_target=margins)
    assert raked.imbalance_ < 1e-8
    np.testing.assert_allclose(raked.weights_, balanced.weights_, atol=1e-7)


@pytest.mark.parametrize("name", ["cdf", "cdf by thresholds"])
def test_cdf_weights_within_limits_are_the_quadratic_programme(name):
    """No weights within the limits, of mean one, have a smaller objective: by conditions."""
    few, d = X[:30], D[:30]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = WEIGHTERS[name](limits=(0.4, 1.8)).set_params(reg=0.05, allow_no_overlap=True)
        w = made.fit(few, X_target=T[:40], sample_weight=d).weights_
    R, F = reference.cdf_problem(few, T[:40], [[0], [1]])
    g = d / d.mean()
    gradient = R.T @ (R @ (g * w) / 30 - F) / 30 + 0.05 / 30**2 * w  # by g w, for every row
    free = (w > 0.4 + 1e-6) & (w < 1.8 - 1e-6)
    assert free.any()
    assert (w <= 0.4 + 1e-6).any()
    assert (w >= 1.8 - 1e-6).any()
    level = gradient[free].mean()
    np.testing.assert_allclose(gradient[free], level, atol=1e-7)
    assert (gradient[w <= 0.4 + 1e-6] >= level - 1e-7).all()
    assert (gradient[w >= 1.8 - 1e-6] <= level + 1e-7).all()


def test_pairwise_views_are_limited_by_either_solver():
    one, other = (
        CDFWeights("pairwise", solver=solver, limits=(0.8, 1.2)).fit(X, X_target=T)
        for solver in ("dense", "thresholds")
    )
    assert one.weights_.max() == pytest.approx(1.2)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-4)


@pytest.mark.parametrize("name", ["entropy", "cdf", "raking"])
def test_limited_weights_are_saved_with_their_cost(name, tmp_path):
    found = fitted(name, "rows", (0.4, 2.0))
    save(found, tmp_path / "weights.covshift")
    again = load(tmp_path / "weights.covshift")
    assert again.balance_cost_ == found.balance_cost_
    np.testing.assert_array_equal(again.predict_weights(2 * T), found.predict_weights(2 * T))


@pytest.mark.thorough
def test_estimates_and_learners_take_limited_weighters():
    from sklearn.linear_model import Ridge

    y = X[:, 0] + RNG.normal(size=80)
    for target in (T, MARGINS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = estimate(X, y, target, weighter=EntropyBalancing(limits=(0.5, 1.8)))
        assert found.largest_weight <= 1.8 + 1e-9
        assert np.isfinite(found.standard_error)
    with pytest.warns(WeightWarning):
        model = Reweighted(Ridge(), weighter=Raking((0.8, 1.2))).fit(X, y, X_target=T)
    assert model.weighter_.balance_cost_.high == 1.2


def test_a_mean_of_one_is_kept_where_few_rows_are_between_the_limits():
    Z = np.array([[-1.0], [1.0], [1.0], [1.0]])
    share = np.full(4, 0.25)
    found = bounded_tilt(Z, share, 0.5, 2.5, reg=0.0, tol=1e-10, start=np.zeros(1))
    np.testing.assert_allclose(found.w, [2.0, 2 / 3, 2 / 3, 2 / 3], atol=1e-8)
    edge = bounded_tilt(Z, share, 0.7, 2.5, reg=0.0, tol=1e-10, start=np.zeros(1))
    np.testing.assert_allclose(edge.w, [1.9, 0.7, 0.7, 0.7], atol=1e-8)


# Where rows, margins and limits cannot go together


def test_a_device_says_what_to_use_for_margins_and_limits():
    torch = pytest.importorskip("torch")
    rows, target = torch.tensor(X), torch.tensor(T)
    for made, given, name in (
        (CDFWeights(solver="thresholds"), {"X_target": MARGINS}, "margins"),
        (CDFWeights(solver="thresholds", limits=(0.5, 2.0)), {"X_target": target}, "limits"),
    ):
        with pytest.raises(ValueError, match=rf"takes no {name} where.*solver='dense'"):
            made.fit(rows, **given)
        made.set_params(solver="dense").fit(rows, **given)


def test_a_cluster_says_what_to_use_for_margins_and_limits():
    array = pytest.importorskip("dask.array")
    from covshift import distributed

    rows = array.from_array(X, chunks=(40, 2))
    with pytest.raises(ValueError, match=r"call the method fit of CDFWeights with rows in memory"):
        distributed.fit(CDFWeights(), rows, None, X_target=MARGINS)
    with pytest.raises(ValueError, match=r"limits are for rows in memory.*CDFWeights\(limits="):
        distributed.fit(CDFWeights(limits=(0.5, 2.0)), rows, None, X_target=T)


def test_objectives_and_blocks_say_what_takes_margins():
    from covshift import VSVR, objectives
    from covshift.distributed import fit_blocks

    with pytest.raises(ValueError, match=r"an objective needs target rows: use VBoostRegressor"):
        objectives.lightgbm_objective(X, MARGINS)
    with pytest.raises(ValueError, match=r"a fit in blocks.*call the method fit of VSVR"):
        fit_blocks(VSVR("additive"), [(X, X[:, 0])], X_target=MARGINS)
    torch = pytest.importorskip("torch")
    from covshift.torch import VLoss

    with pytest.raises(ValueError, match=r"X_target is a covshift.Margins, and VLoss needs"):
        VLoss(torch.tensor(X), MARGINS)
