"""`estimate`: values, methods and quantities, against loops, identities and known truths."""

from __future__ import annotations

import numpy as np
import pytest
from calls import estimate_with
from reference import design_variance, doubly_robust
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from covshift import (
    CDF,
    Coefficients,
    Difference,
    Proportion,
    Quantile,
    Ratio,
    Target,
    Total,
    diagnose,
    estimate,
)
from covshift.engine.measures import METHODS
from covshift.exceptions import InputError
from covshift.numerics.crossfit import deals
from covshift.weights import CDFWeights, EntropyBalancing, TiltedCDFWeights

N, M = 80, 60
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.4, 1, size=(M, 2))
Y = 2 + X @ [1.0, -0.5] + _rng.normal(size=N)
W, V = _rng.exponential(size=N) + 0.1, _rng.exponential(size=M) + 0.1
GROUPS, TARGET_GROUPS = _rng.integers(0, 3, N), _rng.integers(0, 3, M)


class Fixed(RegressorMixin, BaseEstimator):
    """A prediction that learns nothing: x -> intercept + x @ slopes."""

    def __init__(self, intercept=0.0, slopes=(1.0, 0.0)):
        self.intercept = intercept
        self.slopes = slopes

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.intercept + np.asarray(X) @ np.asarray(self.slopes)


class Line(Fixed):
    """Least squares: LinearRegression without its checks, which take most of its time here."""

    def fit(self, X, y):
        found = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
        self.intercept, self.slopes = found[0], found[1:]
        return self


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(y=Y, X=X, T=T, **options):
        usual = {"outcome_model": LinearRegression(), "weighter": W}
        return estimate_with(diagnosis, X, y, T, **{**usual, **options})

    return asked


def by_method(found, **wanted):
    rows = found.table.where(**wanted)
    return {row.method: row for row in rows}


# Values


@pytest.mark.parametrize(
    "design", [{}, {"strata": GROUPS}, {"cluster": np.arange(N) % 13}], ids=str
)
def test_the_doubly_robust_number_is_that_of_loops(ask, design):
    model = Fixed(1.0, (0.7, 0.2))
    found = ask(outcome_model=model, target_weight=V, sample_weight=np.ones(N), **design)
    share = V / V.sum()
    value, _, train, target = doubly_robust(Y, model.predict(X), model.predict(T), W, share)
    stratum = design.get("strata", np.zeros(N))
    cluster = design.get("cluster", np.arange(N))
    here = design_variance(train, stratum, cluster)
    there = design_variance(target, np.zeros(M), np.arange(M))
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.standard_error == pytest.approx(np.sqrt(here + there), rel=1e-12)
    freedom = len(set(zip(stratum, cluster, strict=True))) - len(set(stratum))
    rows = V.sum() ** 2 / (V @ V)
    satterthwaite = (here + there) ** 2 / (here**2 / freedom + there**2 / (rows - 1))
    half = stats.t.ppf(0.975, satterthwaite) * found.standard_error
    np.testing.assert_allclose(found.interval, [value - half, value + half], rtol=1e-10)


def test_the_four_methods_are_what_they_say(ask):
    model = Fixed(1.0, (0.7, 0.2))
    d = np.arange(1.0, N + 1)
    found = by_method(ask(outcome_model=model, sample_weight=d, weighter=W / d))
    h, t = model.predict(X), model.predict(T)
    assert set(found) == set(METHODS)
    assert found["none"].value == pytest.approx(np.average(Y, weights=d))
    assert found["weights"].value == pytest.approx(np.average(Y, weights=W))
    assert found["model"].value == pytest.approx(t.mean())
    assert found["dr"].value == pytest.approx(t.mean() + np.average(Y - h, weights=W))


def test_the_model_alone_has_the_jackknife_error_of_its_folds(ask):
    """Every fold's model predicts the target; the variance is the mean over the deals of folds."""
    found = ask(method="model", T=Target(T, finite_population=True))
    ranks = np.unique(Y, return_inverse=True)[1]
    variance, every = 0.0, []
    for fold in deals(X, ranks.astype(float), 5, 5):
        models = [LinearRegression().fit(X[fold != k], Y[fold != k]) for k in range(5)]
        means = [model.predict(T).mean() for model in models]
        variance += 4 / 5 * sum((m - np.mean(means)) ** 2 for m in means) / 5
        every += means
    assert found.value == pytest.approx(np.mean(every))
    assert found.standard_error == pytest.approx(np.sqrt(variance))


def test_the_change_has_the_error_of_the_joint_influence(ask):
    model = Fixed(1.0, (0.7, 0.2))
    (change,) = ask(outcome_model=model).changes
    _, _, train, target = doubly_robust(Y, model.predict(X), model.predict(T), W, np.full(M, 1 / M))
    plain = (Y - Y.mean()) / N
    variance = design_variance(np.array(train) - plain, np.zeros(N), np.arange(N))
    variance += design_variance(target, np.zeros(M), np.arange(M))
    rows = by_method(ask(outcome_model=model))
    assert change.value == pytest.approx(rows["dr"].value - rows["none"].value)
    assert change.standard_error == pytest.approx(np.sqrt(variance))


def test_what_weights_leave_unbalanced_counts_as_an_error(ask):
    """Weights of a weighter whose errors have no formula: those of "dr", and the imbalance."""
    found = by_method(ask(weighter="energy"))
    left = found["dr"].value - found["weights"].value
    assert found["weights"].standard_error == pytest.approx(
        np.hypot(found["dr"].standard_error, left)
    )
    assert abs(left) > 0


# Identities between quantities


@pytest.mark.parametrize("by", [GROUPS, (GROUPS, TARGET_GROUPS)], ids=["sample", "both"])
def test_totals_of_groups_sum_to_the_total(ask, by):
    found = ask(what=Total(1000), by=by)
    for method in METHODS:
        rows = found.table.where(method=method)
        assert sum(row.value for row in rows[1:]) == pytest.approx(rows[0].value)
    assert found.value == pytest.approx(1000 * ask().value, rel=0.2)


def test_a_total_is_the_mean_times_the_size(ask):
    total, mean = ask(what=Total(1000)), ask()
    assert total.value == pytest.approx(1000 * mean.value)
    assert total.standard_error == pytest.approx(1000 * mean.standard_error)


def test_shares_of_all_categories_sum_to_one(ask):
    labels = np.array(["a", "b", "c"])[GROUPS]
    found = ask(labels, what="proportion", by=TARGET_GROUPS[np.arange(N) % M])
    for group in (None, "0", "1", "2"):
        for method in ("dr", "weights", "none", "model"):
            shares = [row.value for row in found.table.where(group=group, method=method)]
            assert sum(shares) == pytest.approx(1, abs=1e-6 if group is None else 0.1), group
    two = ask(labels == "a", what="proportion")
    assert two.standard_error[0] == pytest.approx(two.standard_error[1])
    np.testing.assert_allclose(two.interval[0], 1 - two.interval[1][::-1])


def test_a_share_is_the_mean_of_its_indicator(ask):
    labels = np.array(["a", "b", "c"])[GROUPS]
    share = ask(labels, what=Proportion("b"), outcome_model=Ridge())
    mean = ask(labels == "b", outcome_model=Ridge())
    assert share.value == pytest.approx(mean.value)
    assert share.interval == pytest.approx(mean.interval)


def test_a_ratio_of_proportional_numbers_is_exact(ask):
    found = ask(3 * np.exp(X[:, 0]), what=Ratio(np.exp(X[:, 0])), by=GROUPS)
    for row in found.table:
        assert row.value == pytest.approx(3)
        assert row.standard_error == pytest.approx(0, abs=1e-12)
    one = ask(what=Ratio(np.ones(N)))
    assert one.value == pytest.approx(ask().value)
    assert one.standard_error == pytest.approx(ask().standard_error)


@pytest.mark.parametrize("by", [GROUPS, (GROUPS, TARGET_GROUPS)], ids=["sample", "both"])
def test_differences_are_those_of_the_groups(ask, by):
    groups, differences = ask(by=by), ask(by=by, what=Difference(1))
    mean = {row.group: row for row in groups.estimates}
    for label in "02":
        (row,) = differences.estimates.where(what=f"{label} - 1")
        assert row.value == pytest.approx(mean[label].value - mean["1"].value)
        apart = np.hypot(mean[label].standard_error, mean["1"].standard_error)
        assert row.standard_error == pytest.approx(apart, rel=0.25)


def test_a_group_of_everybody_is_everybody(ask):
    for by in (np.zeros(N), (np.zeros(N), np.zeros(M))):
        found = ask(by=by)
        for method in METHODS:
            every, group = found.table.where(method=method)
            assert group.value == pytest.approx(every.value)
            assert group.standard_error == pytest.approx(every.standard_error)


def test_quantiles_invert_the_distribution_function(ask):
    q = [0.1, 0.5, 0.9]
    values = ask(what=Quantile(q)).value
    assert (np.diff(values) > 0).all()
    assert np.isin(values, Y).all()
    for p, value in zip(q, values, strict=True):
        at = ask(what=CDF(value)).value
        assert at == pytest.approx(p, abs=0.06)
    weighted = ask(what=Quantile(q), method="weights").value
    order = np.argsort(Y)
    steps = np.cumsum(W[order]) / W.sum()
    np.testing.assert_array_equal(weighted, [Y[order][np.argmax(steps >= p)] for p in q])
    assert ask(what="median").value == values[1]


def test_a_distribution_function_rises_from_zero_to_one(ask):
    found = ask(what=CDF([-99, *np.quantile(Y, [0.2, 0.5, 0.8]), 99]), method="weights")
    assert (np.diff(found.value) >= 0).all()
    assert found.value[0] == 0
    assert found.value[-1] == pytest.approx(1, abs=1e-15)


def test_coefficients_of_a_straight_line_are_exact(ask):
    y = 2 + X @ [1.0, -0.5]
    found = ask(y, what="coefficients")
    for method in METHODS:
        rows = found.table.where(method=method)
        np.testing.assert_allclose([row.value for row in rows], [2, 1, -0.5])
        np.testing.assert_allclose([row.standard_error for row in rows], 0, atol=1e-12)
    assert [row.what for row in found.overall] == ["intercept", "x0", "x1"]
    alone = ask(y, what=Coefficients("x1")).overall
    assert [row.what for row in alone] == ["intercept", "x1"]


def test_an_intercept_alone_is_the_mean(ask):
    alone, mean = ask(what=Coefficients([])), ask()
    assert alone.value == pytest.approx(mean.value)
    assert alone.standard_error == pytest.approx(mean.standard_error)
    assert alone.interval == pytest.approx(mean.interval)


@pytest.mark.parametrize("weighter", ["entropy", "energy"])
def test_an_intercept_alone_has_the_error_of_a_weighted_mean(ask, weighter):
    """Also where the weights were estimated: their error is in both."""
    options = {"method": "weights", "weighter": weighter}
    alone, mean = ask(what=Coefficients([]), **options), ask(**options)
    assert alone.standard_error == pytest.approx(mean.standard_error, rel=1e-6)
    assert alone.interval == pytest.approx(mean.interval, rel=1e-6)


@pytest.mark.thorough
def test_logistic_coefficients_find_the_truth():
    rng = np.random.default_rng(5)
    X, T = rng.normal(size=(4000, 1)), rng.normal(0.5, 1, size=(3000, 1))
    y = rng.uniform(size=4000) < 1 / (1 + np.exp(0.5 - X[:, 0]))
    found = estimate_with(
        diagnose(X[:50], T[:50], methods=()), X, y, T, what=Coefficients(family="logistic"),
        weighter="entropy", outcome_model=LogisticRegression(C=1e12),
    )  # fmt: skip
    for row, truth in zip(found.overall, (-0.5, 1.0), strict=True):
        assert abs(row.value - truth) < 3 * row.standard_error < 0.3


# Invariants


def test_scales_of_weights_and_of_the_outcome(ask):
    usual = ask(sample_weight=W, target_weight=V, weighter="entropy")
    scaled = ask(sample_weight=1e9 * W, target_weight=1e-9 * V, weighter="entropy")
    assert scaled.value == pytest.approx(usual.value, rel=1e-9)
    assert scaled.standard_error == pytest.approx(usual.standard_error, rel=1e-9)
    moved = ask(-50 * Y + 7, sample_weight=W, target_weight=V, weighter="entropy")
    assert moved.value == pytest.approx(-50 * usual.value + 7, rel=1e-9)
    assert moved.standard_error == pytest.approx(50 * usual.standard_error, rel=1e-9)
    low, high = usual.interval
    assert moved.interval == pytest.approx((-50 * high + 7, -50 * low + 7))


def test_design_weights_and_those_of_the_target_reach_the_weighter(ask):
    found = ask(sample_weight=W, target_weight=V, weighter="entropy")
    balanced = found.weights @ X / found.weights.sum()
    np.testing.assert_allclose(balanced, V @ T / V.sum(), atol=1e-7)
    tilt = np.log(found.weights / W)  # linear in X: the factor is on top of the design weights
    A = np.column_stack([np.ones(N), X])
    np.testing.assert_allclose(A @ np.linalg.lstsq(A, tilt, rcond=None)[0], tilt, atol=1e-7)


@pytest.mark.part(9)
@pytest.mark.parametrize("step", [None, 1.0], ids=["continuous", "many equal rows"])
def test_the_order_of_the_rows_does_not_matter(step):
    here, there = (Z if step is None else np.round(Z / step) for Z in (X, T))
    order, target_order = (np.random.default_rng(1).permutation(len(Z)) for Z in (X, T))
    options = {"outcome_model": LinearRegression(), "weighter": "entropy"}
    found = estimate(here, Y, there, **options)
    again = estimate_with(found.diagnosis, here[order], Y[order], there[target_order], **options)
    for one, other in zip(found.table, again.table, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-7)
        assert other.standard_error == pytest.approx(one.standard_error, rel=1e-7)
    np.testing.assert_allclose(again.weights, found.weights[order], rtol=1e-6)


def test_whole_target_weights_are_repeated_rows_but_for_their_number(ask):
    counts = np.arange(M) % 3
    weighted = ask(target_weight=counts, T=Target(T, finite_population=True))
    repeated = ask(T=Target(np.repeat(T, counts, axis=0), finite_population=True))
    assert weighted.value == pytest.approx(repeated.value)
    assert weighted.standard_error == pytest.approx(repeated.standard_error)


# Intervals


def test_a_whole_population_has_a_narrower_interval(ask):
    sample, whole = ask(), ask(T=Target(T, finite_population=True))
    assert whole.value == sample.value
    assert whole.standard_error < 0.95 * sample.standard_error
    for what in ("coefficients", "median"):
        sample, whole = ask(what=what), ask(what=what, T=Target(T, finite_population=True))
        assert np.all(np.less_equal(whole.standard_error, sample.standard_error))


def test_more_confidence_is_a_wider_interval(ask):
    widths = [np.ptp(ask(confidence=c).interval) for c in (0.5, 0.95, 0.999)]
    assert widths == sorted(widths)
    assert widths[0] < widths[1]


def test_shares_stay_between_zero_and_one(ask):
    found = ask(np.arange(N) == 3, method="dr", outcome_model=LinearRegression())
    for row in found.table:
        assert 0 <= row.interval[0] <= row.value <= row.interval[1] <= 1


# Simulations: small samples, known truths


def draw(seed, N=100, M=50):
    """Outcomes 1 + x0 - x1 / 2 + noise, whose mean over the target is 1.25."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)), rng.normal(0.5, 1, size=(M, 2))
    return X, T, 1 + X @ [1.0, -0.5] + rng.normal(size=N)


TRUTH = 1.25


def simulated(runs, diagnosis, **options):
    """Errors and whether the interval holds the truth, by method."""
    errors = {method: [] for method in METHODS}
    covered = dict.fromkeys(METHODS, 0)
    weighter = options.pop("weighter", "entropy")
    for seed in range(runs):
        X, T, y = draw(seed)
        found = estimate_with(
            diagnosis, X, y, T, weighter=weighter(X) if callable(weighter) else weighter,
            **options,
        )  # fmt: skip
        for row in found.table:
            errors[row.method].append(row.value - TRUTH)
            covered[row.method] += row.interval[0] < TRUTH < row.interval[1]
    return {m: np.array(e) for m, e in errors.items()}, {m: c / runs for m, c in covered.items()}


def assert_unbiased(errors):
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(len(errors))


def true_weights(X):
    return np.exp(0.5 * X.sum(axis=1))


@pytest.mark.thorough
def test_intervals_of_small_samples_cover(diagnosis):
    errors, covered = simulated(200, diagnosis, outcome_model=Line())
    assert_unbiased(errors["dr"])
    assert 0.91 <= covered["dr"] <= 0.985
    assert 0.90 <= covered["weights"] <= 0.985  # errors of estimated weights
    assert covered["none"] < 0.8  # the sample as it is: 1, and sure of it


@pytest.mark.thorough
def test_right_weights_save_a_wrong_model(diagnosis):
    wrong = Fixed(-3.0, (-1.0, 0.5))
    errors, covered = simulated(100, diagnosis, outcome_model=wrong, weighter=true_weights)
    assert abs(errors["model"].mean()) > 3
    assert_unbiased(errors["dr"])
    assert covered["dr"] > 0.85


@pytest.mark.thorough
def test_a_right_model_saves_useless_weights(diagnosis):
    errors, covered = simulated(
        100, diagnosis, outcome_model=Line(), weighter=lambda X: np.ones(len(X))
    )
    assert errors["weights"].mean() < -0.15
    assert_unbiased(errors["dr"])
    assert covered["dr"] > 0.88


@pytest.mark.part(9)
@pytest.mark.parametrize(
    "options", [{}, {"cluster": np.arange(300) % 40}], ids=["rows", "clusters"]
)
def test_drawing_again_finds_the_same_error(diagnosis, options):
    X, T, y = draw(0, N=300, M=200)
    found = {
        replicates: by_method(
            estimate_with(
                diagnosis, X, y, T, weighter=EntropyBalancing(), outcome_model=Line(),
                replicates=replicates, **options,
            )
        )
        for replicates in (None, 120)
    }  # fmt: skip
    for method in ("dr", "weights", "none"):
        one, other = (found[replicates][method] for replicates in (None, 120))
        assert one.value == other.value
        assert other.standard_error == pytest.approx(one.standard_error, rel=0.15), method


def test_replicate_weights_are_those_of_the_draws(ask):
    found = ask(weighter="entropy", replicates=30, method="weights")
    assert found.replicate_weights.shape == (N, 30)
    np.testing.assert_allclose(found.replicate_weights.mean(axis=0), 1)
    means = (found.replicate_weights.T @ Y) / N
    variance = found.replicate_scales @ (means - found.value) ** 2
    assert found.standard_error == pytest.approx(np.sqrt(variance))
    assert found.errors == "bootstrap"
    again = ask(weighter="entropy", replicates=30, method="weights")
    np.testing.assert_array_equal(again.replicate_weights, found.replicate_weights)


# The default weights, of which there are two versions


@pytest.fixture(scope="module")
def curved():
    """A model that misses a curve, so that full and flat weights give different numbers."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(300, 2)), rng.normal(0.6, 1, size=(200, 2))
    y = X[:, 0] ** 2 + rng.normal(size=300)
    by = rng.integers(0, 3, 300), rng.integers(0, 3, 200)
    diagnosis = diagnose(X, T, methods=())

    def ask(y=y, **options):
        return estimate_with(diagnosis, X, y, T, **{"outcome_model": Line(), **options})

    return ask, X, y, by


@pytest.mark.thorough
@pytest.mark.parametrize("slopes", [(0.0, 0.0), (1.2, 0.0)])
def test_the_default_leans_from_full_to_flat_weights_as_far_as_they_agree(curved, slopes):
    """By the formula, with a model that is known: the lean is the share within noise."""
    ask, X, y, _ = curved
    model = Fixed(1.0, slopes)
    flatter = CDFWeights(purpose="training", allow_no_overlap=True)
    full, flat = (ask(weighter=one, outcome_model=model) for one in (TiltedCDFWeights(), flatter))
    rest = y - model.predict(X)

    def influence(w):
        w = w / w.sum()
        rows = 1 / sum(w**2)
        factor = np.sqrt(rows / (rows - 3))  # n / (n - p - 1) of two columns
        return [factor * w[i] * (rest[i] - w @ rest) for i in range(len(y))]

    pairs = zip(influence(full.weights), influence(flat.weights), strict=True)
    noise = sum((a - b) ** 2 for a, b in pairs)
    D = full.value - flat.value
    a = max(0.0, 1 - noise / D**2)
    found = ask(outcome_model=model)
    assert found.value == pytest.approx(flat.value + a * D, rel=1e-9)
    assert found.standard_error == pytest.approx(
        np.hypot(full.standard_error, (1 - a) * D), rel=1e-6
    )
    assert 0.1 < a < 1


@pytest.mark.thorough
def test_identities_hold_under_the_default_weights(curved):
    ask, _, y, (here, there) = curved
    shares = ask(np.digitize(y, [0, 1, 2]), what="proportion").value
    assert shares.sum() == pytest.approx(1)
    for by in (here, (here, there)):
        total = ask(what=Total(1000), by=by)
        parts = sum(row.value for row in total.estimates[1:])  # each leans by itself
        assert abs(parts - total.value) < total.standard_error
        groups, moved = ask(by=by), ask(y + 1000, by=by)
        for one, other in zip(groups, moved, strict=True):
            assert other.value - 1000 == pytest.approx(one.value, rel=1e-6)
    assert ask(what=Coefficients([])).value == pytest.approx(ask().value)
    exact = ask(3 * np.exp(y), what=Ratio(np.exp(y)), by=here)
    np.testing.assert_allclose([row.value for row in exact.table], 3)


@pytest.mark.parametrize("unit", [1e-170, 1e95])
def test_outcomes_of_any_size_under_the_default_weights(curved, unit):
    ask, _, y, _ = curved
    assert ask(unit * y).value / unit == pytest.approx(ask().value)


# Words


def test_the_sentence_names_the_category_that_people_mean(ask):
    answers = np.where(Y > 2.5, "yes", "no")
    assert ask(answers, outcome_model=Ridge(), what="proportion").sentence.startswith(
        "Sample (yes)"
    )
    assert "method (yes)" in str(ask(answers, outcome_model=Ridge(), what="proportion"))
    rare = np.where(Y > 3.5, "left", "right")
    assert ask(rare, outcome_model=Ridge(), what="proportion").sentence.startswith("Sample (left)")


def test_text_has_proportions_unless_it_looks_like_numbers(ask):
    found = ask(np.where(Y > 2, "yes", "no"), outcome_model=None)
    assert found.what == "proportion"
    assert [row.what for row in found] == ["no", "yes"]
    for strange in (np.arange(N).astype(str), np.where(Y > 2, "7", "x")):
        with pytest.raises(InputError, match="holds text"):
            ask(strange)


def test_what_the_numbers_rest_on_stands_under_them(ask):
    found = ask()
    assert str(found).replace("\n  ", " ").endswith(found.assumption)
    assert "given these columns" in found.assumption
    assert found.assumption in found._repr_html_()
    assert found.to_dict()["assumption"] == found.assumption
    assert ask(method="none").assumption == ""


# The deal of folds


def forms(X, T, seed=0):
    """The same rows in forms that should not matter."""
    order = np.random.default_rng(seed).permutation(X.shape[1])
    yield "columns", X[:, order], T[:, order]
    yield "sign", -X, -T
    yield "single precision", X.astype(np.float32), T.astype(np.float32)


def small_problem(seed, N=120):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 4)), rng.normal(0.5, 0.9, size=(2 * N, 4))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N), T


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("binary", [False, True], ids=["numbers", "zeros and ones"])
def test_the_form_of_the_columns_hardly_moves_an_answer(seed, binary):
    """In standard errors; trees break ties between columns by their order."""
    X, y, T = small_problem(seed)
    y = (y > 0) * 1.0 if binary else y
    found = estimate(X, y, T)
    for name, A, B in forms(X, T):
        moved = abs(estimate(A, y, B).value - found.value)
        assert moved < 0.15 * found.standard_error, name


@pytest.mark.thorough
def test_the_seed_hardly_moves_an_answer_of_five_hundred_rows():
    X, y, T = small_problem(0, N=500)
    found = [estimate(X, y, T, random_state=seed) for seed in range(4)]
    values = [one.value for one in found]
    assert len(set(values)) == 4
    assert np.std(values, ddof=1) < 0.1 * found[0].standard_error


def test_every_row_as_its_own_cluster_is_no_cluster(ask):
    strata = np.arange(N) % 2
    one, other = ask(strata=strata), ask(strata=strata, cluster=np.arange(N)[::-1])
    assert one.table == other.table


# An answer is what it is, whatever else is asked


@pytest.mark.parametrize("points", [[6.0, 0.5], [0.5, 6.0, 1.0]])
def test_a_share_does_not_depend_on_the_other_shares_that_are_asked(curved, points):
    ask, _, _, _ = curved
    alone = {point: ask(what=CDF(point)).estimates[0] for point in points}
    for point, row in zip(points, ask(what=CDF(points)).estimates, strict=True):
        assert (row.value, row.interval) == (alone[point].value, alone[point].interval)


def test_groups_of_noise_do_not_move_the_overall_number(curved):
    """Groups that are known of the sample alone are no features."""
    ask, _, _, (here, _) = curved
    alone, grouped = ask(), ask(by=here)
    assert (alone.value, alone.interval) == (grouped.value, grouped.interval)


def test_the_seed_deals_other_folds_and_little_else(curved):
    ask, _, _, _ = curved
    answers = [ask(outcome_model=LinearRegression(), random_state=seed) for seed in (0, 0, 1)]
    values = [found.value for found in answers]
    assert values[0] == values[1] != values[2]
    assert abs(values[0] - values[2]) < 0.2 * answers[0].standard_error
    assert ask(outcome_model=LinearRegression(), n_folds=3, n_rep=1).value != values[0]
