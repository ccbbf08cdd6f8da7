"""How wrong an evaluation could be: bounds of metrics against linear programs and identities."""

from __future__ import annotations

import numpy as np
import pytest
from calls import evaluate_with
from reference import sharp_bound
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import Cost, diagnose
from covshift.exceptions import InputError

N, M = 150, 70
_rng = np.random.default_rng(2)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.4, 1, size=(M, 2))
LABELS = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + _rng.normal(size=N), [-0.5, 0.7])]
FLAGS = np.asarray(X[:, 0] + _rng.normal(size=N) > 0, dtype=int)
Y = X @ [1.0, 0.5] + _rng.normal(size=N)
W = _rng.exponential(size=N) + 0.3
GROUPS = _rng.integers(0, 2, N), _rng.integers(0, 2, M)


class Known(ClassifierMixin, BaseEstimator):
    """Chances that learn nothing; the scores are further columns, which do not count."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        return chances(np.asarray(X)[:, :2], len(self.classes_))


def chances(X, K):
    odds = np.exp(np.column_stack([k * X[:, 0] + 0.3 * X[:, 1] for k in range(K)]))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(model, y, **options):
        usual = {"weighter": W, "outcome_model": Known()}
        return evaluate_with(diagnosis, model, X, y, T, **{**usual, **options})

    return asked


@pytest.mark.part(3)
@pytest.mark.parametrize("y", [FLAGS, LABELS], ids=["two", "three"])
def test_means_of_losses_are_bounded_row_by_row(ask, y):
    model = LogisticRegression().fit(X, y)
    classes = model.classes_
    K, L = len(classes), 2.0
    costs = np.arange(K * K, dtype=float).reshape(K, K) ** 1.5 % 4
    found = ask(model, y, metrics=["accuracy", Cost(costs)]).with_sensitivity(L)
    here, there = (np.searchsorted(classes, model.predict(rows)) for rows in (X, T))
    q, q_target = chances(X, K), chances(T, K)
    own = np.searchsorted(classes, y)
    w = W / W.sum()
    for name, table in (("accuracy", np.eye(K)), ("cost", costs)):
        for side in (1, -1):
            known = zip(here, q, own, strict=True)
            phi = np.array([_phi(table[:, c], p, table[k, c], L, side) for c, p, k in known])
            rho, of_target = (
                np.array([_rho(table[:, c], p, L, side) for c, p in zip(chosen, part, strict=True)])
                for chosen, part in ((here, q), (there, q_target))
            )
            one = sharp_bound(side * table[:, there[0]], q_target[0], L)
            assert of_target[0] == pytest.approx(side * one)
            expected = {
                "model": of_target.mean(),
                "weights": w @ phi,
                "dr": of_target.mean() + w @ (phi - rho),
            }
            for method, value in expected.items():
                row = found.table.where(metric=name, method=method)[0]
                assert row.sensitivity_bounds[side > 0] == pytest.approx(value, abs=1e-9)


def _rho(gains, q, L, side):
    return sum(p * _phi(gains, q, gain, L, side) for p, gain in zip(q, gains, strict=True))


def _phi(gains, q, own, L, side):
    """Return phi of one row, its quantile by counting up."""
    order = sorted(range(len(q)), key=lambda c: side * gains[c])
    total, Q = 0.0, None
    for c in order:
        total += q[c]
        if total >= L / (1 + L) - 1e-12:
            Q = gains[c]
            break
    return own / L + (1 - 1 / L) * (Q + side * (1 + L) * max(0.0, side * (own - Q)))


def test_one_fold_is_the_plain_interval_and_more_is_wider(ask):
    model = LogisticRegression().fit(X, FLAGS)
    metrics = ["accuracy", "roc_auc", "f1"]
    found = ask(model, FLAGS, metrics=metrics, by=GROUPS)
    for row in found.with_sensitivity(1.0).performances:
        assert row.sensitivity_interval == pytest.approx(row.interval, rel=1e-9)
    before = found.with_sensitivity(1.0)
    for odds in (1.2, 2.0):
        after = found.with_sensitivity(odds)
        for one, other in zip(before.performances, after.performances, strict=True):
            assert other.sensitivity_bounds[0] < one.sensitivity_bounds[0]
            assert other.sensitivity_bounds[1] > one.sensitivity_bounds[1]
        before = after
    assert "if odds differ up to 2-fold" in str(after)
    assert after.to_dict()["sensitivity"] == 2.0


def test_numbers_have_bounds_too(ask):
    model = LinearRegression().fit(X, Y)
    names = ["mse", "rmse", "mae", "bias", "r2"]
    found = ask(model, Y, metrics=names, outcome_model=LinearRegression()).with_sensitivity(2.0)
    mse, rmse = found["mse"].sensitivity_bounds, found["rmse"].sensitivity_bounds
    np.testing.assert_allclose(np.square(rmse), np.maximum(mse, 0), rtol=1e-9)
    for name in names:
        row = found[name]
        assert row.sensitivity_bounds[0] < row.value < row.sensitivity_bounds[1]
        assert row.sensitivity_interval[0] <= row.sensitivity_bounds[0]
        assert row.sensitivity_interval[1] >= row.sensitivity_bounds[1]
    bias = found["bias"].sensitivity_bounds  # in the scale of the outcome: about half a spread
    assert 0.3 < np.ptp(bias) / np.std(Y - model.predict(X)) < 2


def test_what_has_no_bound_is_left_out(ask):
    model = LogisticRegression().fit(X, FLAGS)
    found = ask(model, FLAGS, metrics=["accuracy", "calibration_error"])
    assert found.with_sensitivity(2.0)["calibration_error"].sensitivity_interval is None
    with pytest.raises(InputError, match="method='none' does not use"):
        ask(model, FLAGS, method="none").with_sensitivity(2.0)
    with pytest.raises(InputError, match="at least 1"):
        found.with_sensitivity(0.1)


@pytest.mark.thorough
def test_batches_have_their_own_bounds(ask):
    model = LogisticRegression().fit(X, FLAGS)
    month = np.where(np.arange(M) < 40, "May", "June")
    found = ask(model, FLAGS, metrics="accuracy", batch=month, weighter="entropy")
    parts = found.with_sensitivity(1.5).batches
    assert {name: part.sensitivity for name, part in parts.items()} == {"May": 1.5, "June": 1.5}
    assert all(part["accuracy"].sensitivity_interval is not None for part in parts.values())
