"""Weighted means and risks: known answers, coverage, and the bootstrap that refits the weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from covshift import bootstrap_mean, estimate_mean, estimate_risk
from covshift._additive import additive_fit
from covshift._parallel import one_blas_thread
from covshift.exceptions import NoOverlapError
from covshift.weights import KDE, CDFWeights, GaussianRatio


def shifted(N, M, shift, seed):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 1)), rng.normal(shift, 1.0, size=(M, 1))
    return X, T, X[:, 0] + rng.normal(size=N)


def test_equal_weights_give_the_textbook_mean_and_standard_error():
    y = np.random.default_rng(0).normal(size=30)
    estimate = estimate_mean(y, np.full(30, 7.0))
    assert estimate.value == pytest.approx(y.mean())
    assert estimate.standard_error == pytest.approx(stats.sem(y))
    expected = stats.t.interval(0.95, 29, y.mean(), stats.sem(y))
    np.testing.assert_allclose(estimate.interval, expected)
    assert estimate.effective_sample_size == pytest.approx(30)
    assert estimate.confidence == 0.95


def test_the_scale_of_the_weights_does_not_matter():
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=20), rng.uniform(size=20)
    one, other = estimate_mean(y, w), estimate_mean(y, w * 1e300)
    assert one.value == pytest.approx(other.value)
    assert one.standard_error == pytest.approx(other.standard_error)
    assert one.effective_sample_size == pytest.approx(other.effective_sample_size)


def test_rows_of_weight_zero_do_not_move_the_mean():
    estimate = estimate_mean([1.0, 3.0, 100.0], [1, 1, 0])
    assert estimate.value == 2.0
    assert estimate.effective_sample_size == 2.0


def test_the_interval_covers_the_mean_under_known_weights():
    covered = 0
    for seed in range(300):
        X, _, y = shifted(400, 1, 0.5, seed)
        truth_ratio = np.exp(0.5 * X[:, 0] - 0.125)
        low, high = estimate_mean(y, truth_ratio).interval
        covered += low < 0.5 < high
    assert 0.91 <= covered / 300 <= 0.985


# The target as a sample


def outcomes(kind, N, M, seed):
    """Return rows, outcomes, target rows and the target's mean: a line, a curve, categories."""
    rng = np.random.default_rng(seed)
    if kind == "discrete":
        effect, shares = np.array([0.0, 1.0, 0.5, 2.0, 3.0]), [0.1, 0.15, 0.2, 0.25, 0.3]
        X = np.column_stack([rng.choice(5, N, p=shares[::-1]), rng.random(N) < 0.3]).astype(float)
        T = np.column_stack([rng.choice(5, M, p=shares), rng.random(M) < 0.6]).astype(float)
        y = effect[X[:, 0].astype(int)] + X[:, 1] + rng.normal(size=N)
        return X, y, T, effect @ shares + 0.6
    X, T = rng.normal(size=(N, 3)), rng.normal(size=(M, 3))
    T[:, 0] = 0.6 + 0.8 * T[:, 0]
    first = X[:, 0] ** 2 if kind == "curved" else X[:, 0]
    y = 2 * first + X[:, 1] + rng.normal(size=N)
    return X, y, T, 2.0 if kind == "curved" else 1.2


@pytest.mark.parametrize("kind", ["line", "curved", "discrete"])
@pytest.mark.parametrize(("N", "M"), [(2000, 50), (200, 200)])
def test_with_both_samples_the_interval_covers_the_mean(kind, N, M):
    """A sample of 95 % in 60 runs: 51 or fewer have a chance of one in a hundred."""
    both = known = 0
    for seed in range(60):
        X, y, T, truth = outcomes(kind, N, M, seed)
        w = CDFWeights(random_state=0).fit(X, X_target=T).weights_
        low, high = estimate_mean(y, w, X=X, X_target=T).interval
        both += low < truth < high
        low, high = estimate_mean(y, w).interval
        known += low < truth < high
    assert both >= 52
    if M == 50:
        assert known <= 36  # it takes these fifty rows for all there is


def test_the_error_is_that_of_its_definition():
    X, y, T, _ = outcomes("discrete", 80, 30, 0)
    w = np.random.default_rng(0).exponential(size=80)
    cells = np.column_stack([X[:, :1] == np.arange(5), X[:, 1:] == [0, 1]]).astype(float)
    cells_T = np.column_stack([T[:, :1] == np.arange(5), T[:, 1:] == [0, 1]]).astype(float)
    h = additive_fit(X, y, w, T)
    # Each row left out: the penalty is the one found, so that a loop can follow it.
    share = w / w.sum()
    center = share @ cells
    spread = np.sqrt(share @ (cells - center) ** 2)
    B, B_T = (cells - center) / spread, (cells_T - center) / spread
    mean = share @ y
    best = None
    for multiple in np.logspace(-4, 4, 17):
        gram = B.T @ (share[:, None] * B)
        values = np.linalg.eigvalsh(gram)
        A = gram + multiple * values[values > -1].sum() / 7 * np.eye(7)
        coef = np.linalg.solve(A, B.T @ (share * (y - mean)))
        leverage = share * (1 + np.einsum("ij,ji->i", B, np.linalg.solve(A, B.T)))
        left_out = y - (y - mean - B @ coef) / (1 - leverage)
        error = share @ (y - left_out) ** 2
        if best is None or error < best[0]:
            best = error, left_out, mean + B_T @ coef
    np.testing.assert_allclose(h.left_out, best[1])
    np.testing.assert_allclose(h.target, best[2])
    e = y - h.left_out
    training = 80 / 79 * (w**2 * (e - share @ e) ** 2).sum() / w.sum() ** 2
    unmatched = h.target.mean() - share @ h.left_out
    expected = np.sqrt(training + h.target.var(ddof=1) / 30 + unmatched**2)
    found = estimate_mean(y, w, X=X, X_target=T)
    assert found.standard_error == pytest.approx(expected)
    assert found.value == pytest.approx(share @ y)


def test_integer_target_weights_are_repeated_target_rows_for_the_error():
    X, y, T, _ = outcomes("line", 100, 40, 0)
    w, times = np.ones(100), 1 + np.arange(40) % 4
    weighted = estimate_mean(y, w, X=X, X_target=T, target_weight=times)
    repeated = estimate_mean(y, w, X=X, X_target=np.repeat(T, times, axis=0))
    assert weighted.standard_error == pytest.approx(repeated.standard_error)
    plain = estimate_mean(y, w, X=X, X_target=T)
    assert plain.standard_error != pytest.approx(weighted.standard_error, rel=1e-3)


def test_a_constant_outcome_has_no_error_and_constant_features_explain_none_of_it():
    X, T, w = np.ones((20, 2)), np.ones((5, 2)), np.ones(20)
    assert estimate_mean(np.full(20, 3.0), w, X=X, X_target=T).interval == (3.0, 3.0)
    y = np.random.default_rng(0).normal(size=20)
    constant = estimate_mean(y, w, X=X, X_target=T).standard_error
    assert constant == pytest.approx(estimate_mean(y, w).standard_error, rel=0.1)


def test_more_features_than_rows_and_one_that_matters():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 50)), rng.normal(size=(40, 50))
    y = 3 * X[:, 0] + 0.1 * rng.normal(size=60)
    found = estimate_mean(y, np.ones(60), X=X, X_target=T)
    assert 3 / np.sqrt(60) < found.standard_error < 3 * (3 / np.sqrt(60) + 3 / np.sqrt(40))


def test_an_estimate_says_what_its_interval_counts():
    X, y, T, _ = outcomes("line", 50, 20, 0)
    assert "takes the target's distribution as known" in str(estimate_mean(y, np.ones(50)))
    both = estimate_risk(y**2, np.ones(50), X=X, X_target=(T,))
    assert "counts the sampling error of the training rows and of the target rows" in str(both)
    drawn = bootstrap_mean(y, X, T, "gaussian-ratio", 5, random_state=0)
    assert "fitted again in each of 5 draws" in str(drawn)


def test_a_higher_confidence_is_a_wider_interval():
    y, w = np.arange(10.0), np.arange(1.0, 11.0)
    widths = [
        np.diff(estimate_mean(y, w, confidence=level).interval)[0] for level in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(widths)


def test_one_row_has_an_infinite_error():
    estimate = estimate_mean([3.0], [2.0])
    assert estimate.value == 3.0
    assert estimate.standard_error == np.inf
    assert estimate.interval == (-np.inf, np.inf)


def test_one_row_that_carries_all_the_weight_has_an_infinite_interval():
    assert estimate_mean([3.0, 5.0], [1.0, 1e-200]).interval == (-np.inf, np.inf)


def test_a_constant_is_known_exactly():
    estimate = estimate_mean([2.0, 2.0, 2.0], [1, 2, 3])
    assert estimate.interval == (2.0, 2.0)


def test_huge_outcomes_do_not_overflow():
    estimate = estimate_mean([1e308, -1e308, 1e308], [1, 1, 1])
    assert np.isfinite([estimate.value, estimate.standard_error]).all()


def test_risk_is_the_weighted_mean_of_the_losses():
    loss, w = np.array([True, False, True, False]), [1, 2, 3, 4]
    assert estimate_risk(loss, w).value == pytest.approx(0.4)
    assert estimate_risk(loss, w).standard_error == estimate_mean(loss, w).standard_error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_mean([1.0, np.nan], [1, 1]), "y contains 1 NaN or inf"),
        (lambda: estimate_risk([1.0, np.inf], [1, 1]), "loss_values contains 1 NaN or inf"),
        (lambda: estimate_mean([], []), "y is empty"),
        (lambda: estimate_mean([1.0, 2.0], [1, -1]), "weights contains 1 negative"),
        (lambda: estimate_mean([1.0, 2.0], [0, 0]), "weights is zero for every row"),
        (lambda: estimate_mean([1.0, 2.0], [1, 1, 1]), "weights has shape"),
        (lambda: estimate_mean([1.0, 2.0], [1, 1], confidence=95), "confidence=95"),
        (lambda: estimate_mean([1.0, 2.0], [1, 1], X=[[1.0], [2.0]]), "X_target is missing"),
        (lambda: estimate_mean([1.0, 2.0], [1, 1], X_target=[[1.0]]), "X is missing"),
        (lambda: estimate_mean([1.0, 2.0], [1, 1], target_weight=[1]), "pass X and X_target"),
        (lambda: estimate_mean([1.0, 2.0], [1, 1], X=[[1.0]], X_target=[[1.0]]), "inconsistent"),
        (lambda: bootstrap_mean([1.0], [[1.0]], [[1.0]], "gaussian-ratio", 1), "n_bootstrap=1"),
        (lambda: bootstrap_mean([1.0], [[1.0], [2.0]], [[1.0]], "gaussian-ratio"), "inconsistent"),
        (lambda: bootstrap_mean([1.0], [[1.0]], [[1.0]], "none"), "weighter='none' is unknown"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_bootstrap_is_deterministic_given_a_seed():
    X, T, y = shifted(80, 60, 0.5, 0)
    one, same, other = (
        bootstrap_mean(y, X, (T,), GaussianRatio(), 20, random_state=seed) for seed in (0, 0, 1)
    )
    assert one == same
    assert one.value == other.value
    assert one.standard_error != other.standard_error


def test_the_bootstrap_counts_the_error_of_the_weights():
    """The target is small, so that what is known of it limits the mean."""
    X, T, y = shifted(2000, 25, 0.3, 0)
    w = GaussianRatio(1.0).fit(X, X_target=T).weights_
    known = estimate_mean(y, w)
    refitted = bootstrap_mean(y, X, T, GaussianRatio(1.0), 60, random_state=0)
    assert refitted.value == pytest.approx(known.value)
    assert refitted.standard_error > 2 * known.standard_error
    # A mean that depends on the target through its own mean: 1 / sqrt(25).
    assert refitted.standard_error == pytest.approx(0.2, rel=0.4)


def test_the_bootstrap_covers_the_mean():
    covered = 0
    for seed in range(25):
        X, T, y = shifted(200, 100, 0.4, seed)
        low, high = bootstrap_mean(y, X, T, "gaussian-ratio", 40, random_state=seed).interval
        covered += low < 0.4 < high
    assert covered >= 20


def test_the_bootstrap_takes_target_weights_and_labels():
    X, T, y = shifted(60, 40, 0.4, 0)
    weight = np.where(T[:, 0] > 0.4, 4.0, 0.0)
    estimate = bootstrap_mean(y, X, T, GaussianRatio(), 10, random_state=0, target_weight=weight)
    assert estimate.value > bootstrap_mean(y, X, T, GaussianRatio(), 10, random_state=0).value
    labelled = bootstrap_mean(y, X, T, KDE(tau="cv", random_state=0), 5, random_state=0)
    assert np.isfinite(labelled.standard_error)


def test_the_bootstrap_survives_a_draw_of_weightless_rows():
    X, T, y = shifted(30, 3, 0.4, 0)
    estimate = bootstrap_mean(y, X, T, KDE(), 10, random_state=0, target_weight=[1, 0, 0])
    assert np.isfinite(estimate.standard_error)


class Fragile(GaussianRatio):
    """Refuses draws that hold fewer than ``needed`` different training rows."""

    def __init__(self, shrinkage=1e-3, needed=0):
        super().__init__(shrinkage)
        self.needed = needed

    def _fit(self, X, T, share):
        if len(np.unique(X)) < self.needed:
            raise NoOverlapError("The samples do not overlap.")
        return super()._fit(X, T, share)


def test_draws_without_overlap_are_left_out_and_counted():
    X, T, y = shifted(60, 40, 0.4, 0)
    estimate = bootstrap_mean(y, X, T, Fragile(needed=37), 40, random_state=0)
    assert np.isfinite(estimate.standard_error)
    kept = int(estimate.note.split("fitted again in each of ")[1].split()[0])
    assert 20 <= kept < 40
    assert f"{40 - kept} more draws had no weights" in estimate.note
    with pytest.raises(NoOverlapError, match=r"In 40 of 40 draws no weights .* do not overlap"):
        bootstrap_mean(y, X, T, Fragile(needed=60), 40, random_state=0)


def test_the_bootstrap_interval_lies_around_the_estimate():
    """A percentile interval would count the bias of the draws twice."""
    X, T, y = shifted(60, 40, 0.4, 0)
    estimate = bootstrap_mean(y, X, T, GaussianRatio(), 20, random_state=0)
    assert np.mean(estimate.interval) == pytest.approx(estimate.value)


def test_the_blas_threads_come_back():
    from threadpoolctl import threadpool_info

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with one_blas_thread(1000):
        assert set(threads()) <= {1}
    assert threads() == before
    with one_blas_thread(1 << 30):
        assert threads() == before


def test_the_interval_of_a_risk_goes_up_as_that_of_its_logarithm():
    losses, w = np.array([0.0, 1.0, 4.0, 9.0]), np.array([1.0, 2.0, 1.0, 1.0])
    risk, mean = estimate_risk(losses, w), estimate_mean(losses, w)
    assert (risk.value, risk.standard_error) == (mean.value, mean.standard_error)
    low, high = risk.interval
    assert low == max(0.0, mean.interval[0])
    assert low < risk.value < mean.interval[1] < high
    assert np.log(high / risk.value) == pytest.approx((mean.interval[1] - mean.value) / mean.value)
    assert estimate_risk(losses - 1, w).interval == estimate_mean(losses - 1, w).interval
    assert estimate_risk(0 * losses, w).interval == (0.0, 0.0)


def test_the_interval_of_a_skewed_risk_holds_it_more_often_than_a_symmetric_one():
    covered = {estimate_mean: 0, estimate_risk: 0}
    truth = 0.5**4 + 6 * 0.5**2 + 3  # the fourth moment of N(1/2, 1)
    for seed in range(300):
        x = np.random.default_rng(seed).normal(size=200)
        for estimate in covered:
            low, high = estimate(x**4, np.exp(0.5 * x)).interval
            covered[estimate] += low < truth < high
    assert covered[estimate_risk] > covered[estimate_mean] + 6
