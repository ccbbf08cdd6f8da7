"""Weighted means and risks: known answers, coverage, and the bootstrap that refits the weights."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from scipy import stats

from covshift import bootstrap_mean, estimate_mean, estimate_risk
from covshift._parallel import one_blas_thread
from covshift._progress import track
from covshift.weights import KDE, GaussianRatio


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
    assert estimate_risk(loss, w) == estimate_mean(loss.astype(float), w)


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
        (lambda: bootstrap_mean([1.0], [[1.0]], [[1.0]], "gaussian", 1), "n_bootstrap=1"),
        (lambda: bootstrap_mean([1.0], [[1.0], [2.0]], [[1.0]], "gaussian"), "inconsistent"),
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
        low, high = bootstrap_mean(y, X, T, "gaussian", 40, random_state=seed).interval
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(track(range(3), 3, "work", verbose=True)) == [0, 1, 2]
    assert sys.stderr.getvalue().endswith("3/3\n")
    for stream, verbose in ((Terminal(), False), (io.StringIO(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(track(range(3), 3, "work", verbose=verbose)) == [0, 1, 2]
        assert stream.getvalue() == ""


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
