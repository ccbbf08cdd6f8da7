"""`estimate` and `evaluate` of frequencies are those of repeated rows; weights have no scale."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from covshift import Margins, estimate, estimate_mean, estimate_risk, evaluate
from covshift._repeats import Repeats

pandas = pytest.importorskip("pandas")

N, M = 90, 70


@pytest.fixture(scope="module")
def samples():
    """Two samples with all that may belong to their rows, and how often each was seen."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(N, 2)), rng.normal(0.4, 1.0, size=(M, 2))
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(float)
    train = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "g": rng.choice(["u", "v"], N)})
    target = pandas.DataFrame({"a": T[:, 0], "b": T[:, 1], "g": rng.choice(["u", "v"], M)})
    times, seen = rng.integers(0, 4, N), rng.integers(0, 4, M)
    given = {
        "y": y,
        "strata": rng.choice(["s", "t"], N),
        "cluster": np.repeat(np.arange(N // 3), 3),
        "d": rng.uniform(0.5, 3, N),
        "v": rng.uniform(0.5, 3, M),
        "below": rng.uniform(1, 2, N),
    }
    return train, target, given, times, seen


def table_of(found):
    return np.array([[row.value, row.standard_error, *row.interval, row.rows] for row in found])


def both_ways(call, samples, of_rows, of_target):
    """The result with frequencies, and that of the repeated rows."""
    train, target, given, times, seen = samples
    rows, there = np.repeat(np.arange(N), times), np.repeat(np.arange(M), seen)
    ours = {name: given[key] for name, key in of_rows.items()}
    theirs = {name: given[key] for name, key in of_target.items()}
    counted = call(
        given["y"], train, target, frequency_weight=times, target_frequency=seen, **ours, **theirs
    )
    repeats = call(
        given["y"][rows],
        train.iloc[rows].reset_index(drop=True),
        target.iloc[there].reset_index(drop=True),
        **{name: values[rows] for name, values in ours.items()},
        **{name: values[there] for name, values in theirs.items()},
    )
    return counted, repeats, rows


ESTIMATES = {
    "plain": ({}, {}, {}),
    "weights": ({"sample_weight": "d"}, {"target_weight": "v"}, {}),
    "groups": ({}, {}, {"by": "g"}),
    "design": ({"strata": "strata", "cluster": "cluster"}, {}, {"method": "weights"}),
    "ratio": ({"denominator": "below"}, {}, {"what": "ratio"}),
    "known weights": ({"weighter": "d"}, {}, {"what": "cdf", "at": [0.5]}),
    "bootstrap": ({}, {}, {"errors": "bootstrap", "n_bootstrap": 3, "weighter": "entropy"}),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_an_estimate_of_frequencies_is_that_of_repeated_rows(name, samples):
    of_rows, of_target, options = ESTIMATES[name]

    def call(*given, **more):
        return estimate(*given, n_folds=2, outcome_model=LogisticOrNone(name), **options, **more)

    counted, repeats, rows = both_ways(call, samples, of_rows, of_target)
    np.testing.assert_array_equal(table_of(counted.table), table_of(repeats.table))
    assert counted.n_train == len(rows)
    assert len(counted.weights) == N
    assert not counted.weights[samples[3] == 0].any()
    np.testing.assert_allclose(counted.weights[rows], repeats.weights, rtol=1e-12)
    if name == "bootstrap":
        found = np.zeros((N, repeats.replicate_weights.shape[1]))
        np.add.at(found, rows, repeats.replicate_weights)
        times = samples[3][:, None]
        np.testing.assert_allclose(times * counted.replicate_weights, found, atol=1e-12)


def LogisticOrNone(name):
    """A quick outcome model, where a classifier will do."""
    return None if name in ("ratio", "groups") else Numbers()


class Numbers(LogisticRegression):
    """Of the two columns of numbers."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True  # it takes the frame as it is
        return tags

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["a", "b"]], y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X[["a", "b"]])

    def predict(self, X):
        return super().predict(X[["a", "b"]])

    def decision_function(self, X):
        return super().decision_function(X[["a", "b"]])


def test_margins_take_frequencies_of_the_sample_alone(samples):
    train, _, given, times, _ = samples
    margins = Margins({"a": {(None, 0): 0.4, (0, None): 0.6}, "g": {"u": 0.7, "v": 0.3}})
    rows = np.repeat(np.arange(N), times)
    counted = estimate(
        given["y"], train, margins, by="g", sample_weight=given["d"], frequency_weight=times
    )
    repeats = estimate(
        given["y"][rows], train.iloc[rows], margins, by="g", sample_weight=given["d"][rows]
    )
    np.testing.assert_array_equal(table_of(counted.table), table_of(repeats.table))
    with pytest.raises(ValueError, match="target_frequency is for target rows"):
        estimate(given["y"], train, margins, target_frequency=times)


EVALUATIONS = {
    "model": ({}, {}, {}),
    "weights": ({"sample_weight": "d"}, {"target_weight": "v"}, {}),
    "groups": ({}, {}, {"by": "g", "metrics": "accuracy"}),
    "batches": ({"cluster": "cluster"}, {"batch": "batch"}, {"metrics": "accuracy"}),
    "labels": ({}, {"y_target": "labels"}, {"metrics": "accuracy"}),
    "trained": ({"trained_on": "trained"}, {}, {"metrics": "brier"}),
    "several": ({}, {}, {"metrics": "roc_auc"}),
    "folds": ({"cluster": "cluster"}, {}, {"cv": 2, "metrics": "accuracy"}),
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_of_frequencies_is_that_of_repeated_rows(name, samples):
    of_rows, of_target, options = EVALUATIONS[name]
    train, target, given, times, seen = samples
    model = Numbers().fit(train, given["y"])
    more = {
        "batch": np.where(np.arange(M) % 2, "June", "May"),
        "labels": model.predict(target),
        "trained": np.arange(N) % 3 == 0,
    }
    models = {"one": model, "two": Numbers(C=0.01).fit(train, given["y"])}

    def call(y, X, X_target, **more):
        judged = models if name == "several" else model
        numbers = X.drop(columns="g"), X_target.drop(columns="g")
        X, X_target = (X, X_target) if name == "groups" else numbers
        return evaluate(judged, X, y, X_target, n_folds=2, **options, **more)

    samples = train, target, given | more, times, seen
    counted, repeats, rows = both_ways(call, samples, of_rows, of_target)
    np.testing.assert_array_equal(table_of(counted.table), table_of(repeats.table))
    np.testing.assert_allclose(counted.weights[rows], repeats.weights, rtol=1e-12)
    assert [one.value for one in counted.differences] == [one.value for one in repeats.differences]
    assert [one.expected for one in counted.checks] == [one.expected for one in repeats.checks]
    for label, part in counted.batches.items():
        np.testing.assert_array_equal(table_of(part.table), table_of(repeats.batches[label].table))
        assert len(part.weights) == N


def test_scores_and_numbers_of_trained_rows_are_repeated_too(samples):
    train, target, given, times, seen = samples
    model = Numbers().fit(train, given["y"])
    scores, there = (model.predict_proba(part)[:, 1] for part in (train, target))
    X, T = train[["a", "b"]].to_numpy(), target[["a", "b"]].to_numpy()
    rows, seen_rows = np.repeat(np.arange(N), times), np.repeat(np.arange(M), seen)
    counted = evaluate(
        {"s": scores},
        X,
        given["y"],
        (T,),
        target_scores={"s": there},
        trained_on=[0, 5, 7],
        frequency_weight=times,
        target_frequency=seen,
        metrics="accuracy",
    )
    repeats = evaluate(
        {"s": scores[rows]},
        X[rows],
        given["y"][rows],
        T[seen_rows],
        target_scores={"s": there[seen_rows]},
        trained_on=np.isin(rows, [0, 5, 7]),
        metrics="accuracy",
    )
    np.testing.assert_array_equal(table_of(counted.table), table_of(repeats.table))


@pytest.mark.parametrize("scale", [1000.0, 1e-3])
def test_the_scale_of_weights_says_nothing(scale, samples):
    train, target, given, _, _ = samples
    y, d, v = given["y"], given["d"], given["v"]
    model = Numbers().fit(train, y)
    X, T = train.drop(columns="g"), target.drop(columns="g")
    found = []
    for factor in (1.0, scale):
        weights = {"sample_weight": factor * d, "target_weight": factor * v}
        one = estimate(y, X, T, outcome_model=Numbers(), n_folds=2, **weights)
        other = evaluate(model, X, y, T, n_folds=2, metrics="accuracy", **weights)
        found.append(np.vstack([table_of(one.table), table_of(other.table)]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)


@pytest.mark.parametrize("name", ["frequency_weight", "target_frequency"])
def test_fractions_and_other_lengths_are_refused(name, samples):
    train, target, given, times, _ = samples
    model = Numbers().fit(train, given["y"])
    size = N if name == "frequency_weight" else M
    for call in (
        lambda **more: estimate(given["y"], train, target, **more),
        lambda **more: evaluate(model, train, given["y"], target, **more),
    ):
        with pytest.raises(ValueError, match=rf"{name} holds {size} values that are no whole"):
            call(**{name: np.full(size, 0.5)})
        with pytest.raises(ValueError, match=f"{name} has shape"):
            call(**{name: np.ones(3)})
    with pytest.raises(ValueError, match="y has 3 rows, but X has 90"):
        estimate(given["y"][:3], train, target, frequency_weight=times)
    with pytest.raises(ValueError, match="cv lists row numbers"):
        evaluate(model, train, given["y"], target, frequency_weight=times, cv=[([0], [1])])


def test_known_weights_take_frequencies():
    rng = np.random.default_rng(0)
    y, w, times = rng.exponential(size=30), rng.uniform(0.2, 3, 30), rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), times)
    for call in (estimate_mean, estimate_risk):
        counted, repeats = call(y, w, frequency_weight=times), call(y[rows], w[rows])
        assert counted.value == pytest.approx(repeats.value, rel=1e-12)
        assert counted.standard_error == pytest.approx(repeats.standard_error, rel=1e-12)
        assert counted.interval == pytest.approx(repeats.interval, rel=1e-12)
        assert call(y, 1000 * w).interval == pytest.approx(call(y, w).interval, rel=1e-12)
        with pytest.raises(ValueError, match="frequency_weight holds 30 values"):
            call(y, w, frequency_weight=w)


def test_without_frequencies_nothing_is_touched():
    values = object()
    repeats = Repeats.of_rows(np.ones((3, 1)), None, "frequency_weight", "X")
    assert next(repeats.each(values=values)) is values


def test_objectives_and_balance_take_frequencies():
    from covshift.objectives import xgboost_objective

    rng = np.random.default_rng(0)
    X, T, v = rng.normal(size=(20, 2)), rng.normal(size=(15, 2)), rng.uniform(0.5, 2, 15)
    seen, times = rng.integers(0, 3, 15), rng.integers(0, 3, 20)
    there, rows = np.repeat(np.arange(15), seen), np.repeat(np.arange(20), times)
    y, f = rng.normal(size=(2, 20))
    counted = xgboost_objective(X, T, target_weight=v, target_frequency=seen)
    repeats = xgboost_objective(X, T[there], target_weight=v[there])
    np.testing.assert_array_equal(counted(y, f)[0], repeats(y, f)[0])
    with pytest.raises(ValueError, match="target_frequency holds 15 values that are no whole"):
        xgboost_objective(X, T, target_frequency=v / 7)
    margins = Margins({"0": {(None, 0): 0.4, (0, None): 0.6}})
    d = rng.uniform(0.5, 2, 20)
    for one, other in zip(
        margins.balance(X, 1000 * d, times), margins.balance(X[rows], d[rows]), strict=True
    ):
        assert one.sample == pytest.approx(other.sample, abs=1e-11)
    with pytest.raises(ValueError, match="frequency holds 20 values that are no whole"):
        margins.balance(X, frequency=d / 7)
