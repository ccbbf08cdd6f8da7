"""Label shift: shares by their definition, their errors, and the test that the classes make it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import reference
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from covshift import (
    DesignWeights,
    Labels,
    Margins,
    Proportion,
    Quantile,
    Target,
    Total,
    estimate,
    evaluate,
)
from covshift.engine.label_shift import Shares, within_classes
from covshift.exceptions import InputError

MEANS = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]])


class Known(ClassifierMixin, BaseEstimator):
    """Chances that are known beforehand, and not calibrated."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        far = np.asarray(X)[:, None, :] - MEANS[: len(self.classes_)]
        odds = np.exp(-0.3 * np.sum(far**2, axis=2))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def draw(rng, rows, shares):
    y = rng.choice(len(shares), size=rows, p=shares)
    return rng.normal(size=(rows, 2)) + MEANS[y], y


def samples(K=2, N=200, M=150, seed=0):
    rng = np.random.default_rng(seed)
    here, there = ([0.5, 0.5], [0.8, 0.2]) if K == 2 else ([0.4, 0.3, 0.3], [0.1, 0.3, 0.6])
    X, y = draw(rng, N, here)
    return X, y, draw(rng, M, there)[0], there


def shares(X, y, T):
    """The shares alone, without what covariate shift would say."""
    return Shares.of_rows(X, y, T, outcome_model=Known())


def by_hand(X, y, T):
    """Shares by the scores of the likelihood at its maximum, with naive loops."""
    q, there = (Known().fit(X, y).predict_proba(rows) for rows in (X, T))
    p = np.bincount(y) / len(y)
    r = np.maximum(reference.likeliest_shares(p, there, steps=400) / p, 0.02)
    return reference.black_box_shares(q / (q @ r)[:, None], y, there / (there @ r)[:, None])


@pytest.mark.part(3)
@pytest.mark.parametrize("K", [2, 3])
def test_shares_are_those_of_naive_loops(K):
    X, y, T, _ = samples(K)
    found = estimate(X, y, T, what="proportion", shift="label", outcome_model=Known())
    assert found.value == pytest.approx(by_hand(X, y, T), abs=1e-5)
    assert found.value.sum() == pytest.approx(1)
    assert found.method == "label"
    assert {row.method for row in found.table} == {"label", "none"}


@pytest.mark.thorough
def test_uncalibrated_chances_do_not_spoil_them_as_they_spoil_the_likelihood():
    X, y, T, there = samples(2, 2000, 2000)
    q = Known().fit(X, y).predict_proba(T)
    wrong = reference.likeliest_shares(np.bincount(y) / len(y), q, steps=60)
    found = estimate(X, y, T, shift="label", outcome_model=Known())
    low, high = found.interval
    assert low < there[1] < high
    assert abs(wrong[1] - there[1]) > 3 * found.standard_error


@pytest.mark.part(3)
@pytest.mark.parametrize("K", [2, 3])
def test_errors_are_those_of_a_jackknife(K):
    X, y, T, _ = samples(K, 120, 90)
    found = estimate(X, y, T, what="proportion", shift="label", outcome_model=Known())
    q, there = (Known().fit(X, y).predict_proba(rows) for rows in (X, T))
    p = np.bincount(y) / len(y)
    r = np.maximum(reference.likeliest_shares(p, there, steps=300) / p, 0.02)
    a, b = q / (q @ r)[:, None], there / (there @ r)[:, None]
    variance = np.zeros(K)
    for n, of in ((len(X), "sample"), (len(T), "target")):
        left = []
        for i in range(n):
            rows = np.arange(n) != i
            given = (a[rows], y[rows], b) if of == "sample" else (a, y, b[rows])
            left.append(reference.black_box_shares(*given))
        variance += (n - 1) / n * np.sum((np.array(left) - np.mean(left, axis=0)) ** 2, axis=0)
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=0.03)


@pytest.mark.thorough
def test_the_example_of_the_page_finds_the_true_share():
    rng = np.random.default_rng(0)
    X, y = draw(rng, 500, [0.5, 0.5])
    T, there = draw(rng, 500, [0.9, 0.1])
    found = estimate(X, y, T, shift="label")
    assert abs(found.value - there.mean()) < 0.08
    low, high = found.interval
    assert low < 0.1 < high
    assert found.label_shift[0].p_value > 0.05
    assert "do not contradict" in found.assumption
    (note,) = (note for note in found.notes if note.kind == "covariate shift")
    other = estimate(X, y, T)
    assert f"it would be {other.value:.1%}." in note.text
    assert other.value > 0.3
    assert found.to_dict()["label_shift"][0]["p_value"] == found.label_shift[0].p_value


def test_a_covariate_shift_is_rejected():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(500, 3)), rng.normal(0.5, 1, size=(500, 3))
    y = rng.uniform(size=500) < 1 / (1 + np.exp(-X.sum(axis=1)))
    found = estimate(X, y, T, shift="label", outcome_model=Logistic())
    assert found.label_shift[0].p_value < 0.01
    assert "contradict this: p <" in found.assumption
    assert any(note.kind == "label shift" and note.severity == "warning" for note in found.notes)


class Logistic(Known):
    def predict_proba(self, X):
        chance = 1 / (1 + np.exp(-np.asarray(X).sum(axis=1)))
        return np.column_stack([1 - chance, chance])


@pytest.mark.thorough
@pytest.mark.parametrize("K", [2, 3])
def test_the_test_has_its_level_and_intervals_their_coverage(K):
    p_values, covered = [], []
    for seed in range(150):
        X, y, T, there = samples(K, 300, 300, seed)
        found = shares(X, y, T)
        p_values.append(found.test.p_value)
        for c, pi in enumerate(there):
            number = found.number(found.share(c), proportion=True)
            covered.append(number.low <= pi <= number.high)
    assert stats.binomtest(sum(p < 0.05 for p in p_values), 150, 0.05).pvalue > 0.01
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert 0.91 < np.mean(covered) < 0.99


@pytest.mark.thorough
def test_the_test_has_its_level_where_a_class_is_rare():
    """Chances of several deals: a row of the sample has their mean, and so has a target row."""
    p_values = []
    for seed in range(20):
        rng = np.random.default_rng([1, seed])
        y = (rng.random(1000) < 0.02).astype(int)
        there = (rng.random(1000) < 0.1).astype(int)
        X, T = (rng.normal(size=(1000, 4)) + [2.0, 1.0, 0, 0] * k[:, None] for k in (y, there))
        p_values.append(Shares.of_rows(X, y, T).test.p_value)
    assert np.mean(np.array(p_values) < 0.05) <= 0.15
    assert np.median(p_values) > 0.25


@pytest.mark.thorough
def test_rows_that_count_twice_are_rows_twice():
    X, y, T, _ = samples()
    w = np.random.default_rng(2).integers(1, 3, size=len(X))
    options = {"shift": "label", "outcome_model": Known()}
    weighted = estimate(X, y, T, sample_weight=w, **options)
    again = estimate(np.repeat(X, w, axis=0), np.repeat(y, w), T, **options)
    assert weighted.value == pytest.approx(again.value, abs=1e-6)
    target = estimate(X, y, T, target_weight=np.arange(len(T)) % 2 + 1.0, **options)
    twice = estimate(X, y, np.vstack([T, T[1::2]]), **options)
    assert target.value == pytest.approx(twice.value, abs=1e-6)


@pytest.mark.thorough
def test_clusters_and_whole_populations_change_the_errors():
    X, y, T, _ = samples()
    options = {"shift": "label", "outcome_model": Known()}
    found = estimate(X, y, T, **options)
    pairs = estimate(
        np.repeat(X, 2, axis=0), np.repeat(y, 2), T, cluster=np.repeat(np.arange(200), 2), **options
    )
    assert pairs.value == pytest.approx(found.value, abs=1e-6)
    assert pairs.standard_error == pytest.approx(found.standard_error, rel=0.01)
    whole = estimate(X, y, Target(T, finite_population=True), **options)
    assert whole.standard_error < 0.9 * found.standard_error


@pytest.mark.thorough
def test_text_totals_and_weights_agree_with_the_share():
    X, y, T, _ = samples()
    options = {"shift": "label", "outcome_model": Known()}
    found = estimate(X, y, T, **options)
    words = np.where(y == 1, "yes", "no")
    assert estimate(X, words, T, **options).headline.value == pytest.approx(found.value)
    assert estimate(X, words, T, what=Proportion("no"), **options).value == pytest.approx(
        1 - found.value
    )
    total = estimate(X, y, T, what=Total(5000), **options)
    assert total.value == pytest.approx(5000 * found.value)
    assert total.standard_error == pytest.approx(5000 * found.standard_error)
    assert np.average(y, weights=found.weights) == pytest.approx(found.value)
    change = found.changes[0]
    assert change.value == pytest.approx(found.value - y.mean())


def test_a_rare_class_has_few_degrees_of_freedom():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [294, 6])
    X = rng.normal(size=(300, 2)) + MEANS[y]
    found = shares(X, y, draw(rng, 5000, [0.5, 0.5])[0])
    share = found.share(1)
    parts = np.array([np.sum(share.train[y == c] ** 2) for c in (0, 1)])
    satterthwaite = parts.sum() ** 2 / np.sum(parts**2 / np.array([293, 5]))
    assert found.errors(share).freedom == pytest.approx(satterthwaite, rel=0.05)
    assert satterthwaite < 100


X, Y, T, _ = samples(2, 60, 50)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": "median"}, "cannot be computed from class shares"),
        ({"what": Quantile(0.5)}, "cannot be computed from class shares"),
        ({"y": np.arange(60.0)}, "numbers other than zero and one"),
        ({"by": Y}, "each group by itself"),
        ({"method": "dr"}, "rest on covariate shift"),
        ({"weighter": "entropy"}, "follow from the class shares"),
        ({"restrict": "overlap"}, "as a whole"),
        ({"replicates": 20}, "influence values"),
        ({"y_target": np.r_[np.zeros(25), np.ones(25)]}, "tell the shares themselves"),
        ({"y_target": Labels(np.zeros(50), np.ones(50))}, "tell the shares themselves"),
        ({"y": np.ones(60)}, "every row of 'y' has the same one"),
        ({"y": np.r_[np.ones(2), np.zeros(58)]}, "fewer than 5 rows: '1' (2)"),
        ({"shift": "concept"}, "shift='concept'"),
        ({"X_target": T[:1]}, "the target has one row alone"),
        ({"X_target": Margins({"x0": {"mean": 0.1}})}, "needs target rows"),
        (
            {"sample_weight": DesignWeights(np.ones(60), None, np.ones((60, 4)), "BRR")},
            "pass the weights alone",
        ),
    ],
)
def test_what_label_shift_does_not_answer_is_refused(options, words):
    given = {"X": X, "y": Y, "X_target": T, "shift": "label", "outcome_model": Known()} | options
    if isinstance(options.get("X_target"), Margins):
        del given["outcome_model"]
    with pytest.raises(InputError) as refused:
        estimate(**given)
    assert words in str(refused.value)


def test_classes_that_look_alike_are_refused():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, size=200)
    with pytest.raises(InputError, match="look alike in these columns"):
        estimate(rng.normal(size=(200, 2)), y, rng.normal(size=(100, 2)), shift="label")


def test_a_target_that_the_sample_does_not_cover_is_no_mixture():
    rng = np.random.default_rng(5)
    X, y = draw(rng, 300, [0.5, 0.5])
    T = draw(rng, 300, [0.5, 0.5])[0] + np.array([0.0, 12.0])
    found = estimate(X, y, T, shift="label", outcome_model=Known())
    assert found.label_shift[0].p_value < 1e-6
    assert any("do not cover the target" in note.text for note in found.notes)


def test_what_rests_on_covariate_shift_is_refused_afterwards():
    found = estimate(X, Y, T, shift="label", outcome_model=Known())
    assert found.robustness_value is None
    for ask in (found.explain, found.robustness, lambda: found.with_sensitivity(2.0)):
        with pytest.raises(InputError):
            ask()


def _with_outcomes(kind, seed=1):
    """A sample, and a target all of whose rows have their class: only one thing changed."""
    rng = np.random.default_rng(seed)
    share = 0.15 if kind == "label shift" else 0.5
    y, there = rng.random(400) < 0.5, rng.random(300) < share
    X, T = rng.normal(size=(400, 3)), rng.normal(size=(300, 3))
    X[:, 0] += 1.2 * y
    T[:, 0] += 1.2 * there
    if kind == "concept drift":  # the second class looks like the first, and the first is gone
        T[:, 0] -= 1.2 * there
        T[:, 1] += 1.0
        there = T[:, 0] < 0.5
    return X, y.astype(float), T, there.astype(float)


_WHICH = [("label shift", "this may be label shift"), ("concept drift", "not label shift either")]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "words"), _WHICH)
def test_outcomes_of_the_target_tell_which_shift_it_is(kind, words):
    X, y, T, there = _with_outcomes(kind)
    (note,) = (n for n in estimate(X, y, T, y_target=there).notes if n.kind == "assumption")
    assert words in str(note)


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "words"), _WHICH)
def test_labels_of_the_target_tell_which_shift_a_model_met(kind, words):
    X, y, T, there = _with_outcomes(kind)
    model = LogisticRegression().fit(X[:200], y[:200])
    found = evaluate(model, X[200:], y[200:], T, y_target=there)
    assert any(words in str(n) for n in found.notes)


@pytest.mark.parametrize("rows", [60, 200])
def test_the_test_within_classes_has_its_level(rows):
    rejected = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y, there = rng.random(300) < 0.5, rng.random(rows) < 0.2
        X, T = (rng.normal(size=(len(c), 3)) + 1.2 * np.outer(c, [1, 0, 1]) for c in (y, there))
        problem = SimpleNamespace(weights=SimpleNamespace(Z=X, T=T))
        rejected.append(within_classes(problem, y, np.arange(rows), there) < 0.05)
    assert np.sum(rejected) <= stats.binom.ppf(0.999, 150, 0.06)


def test_the_test_within_classes_of_one_class_is_that_of_hotelling():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 2)), rng.normal(size=(60, 2)) + 0.2
    problem = SimpleNamespace(weights=SimpleNamespace(Z=X, T=T))
    found = within_classes(problem, np.zeros(80), np.arange(60), np.zeros(60))
    assert found == pytest.approx(reference.within_classes([(X, T)]), rel=1e-9)
    assert np.isnan(within_classes(problem, np.arange(80), np.arange(60), np.zeros(60)))
