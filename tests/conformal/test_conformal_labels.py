"""Outcomes of some target rows: they calibrate, so that the coverage needs no covariate shift."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor

from covshift import VSVR, Kernel, Labels, Margins
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.exceptions import InputError
from covshift.persistence import load, save
from covshift.show.answer import ASSUMPTION, OF_LABELS

rng = np.random.default_rng(0)
X, T, new = rng.normal(size=(120, 2)), rng.normal(0.5, 1, (80, 2)), rng.normal(0.5, 1, (40, 2))
y = X[:, 0] + rng.normal(size=120)
y_T = T[:, 0] + 1 + 2 * rng.normal(size=80)  # another mean, and more noise
METHODS = ["split", "cv+", "jackknife+"]


def some(L, values=y_T, seed=0):
    """Outcomes of L target rows, and NaN."""
    chosen = np.random.default_rng(seed).permutation(len(values))[:L]
    found = np.full(len(values), np.nan)
    found[chosen] = values[chosen]
    return found


def regressor(**options):
    options = {"weighter": "cdf", "random_state": 0, "n_folds": 3, **options}
    return ConformalRegressor(LinearRegression(), **options)


def classifier(**options):
    options = {"weighter": "cdf", "random_state": 0, "n_folds": 3, **options}
    return ConformalClassifier(LogisticRegression(), **options)


def half_width(model, coverage):
    found = model.predict_interval(new, coverage)
    return (found.upper - found.lower) / 2


@pytest.mark.part(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("L", [1, 5, 8, 9, 30])
def test_thresholds_are_those_of_the_oracle(L, weighted):
    labels, of_target = some(L), np.linspace(1, 3, 80) if weighted else np.ones(80)
    model = regressor().fit(X, y, X_target=T, y_target=labels, target_weight=of_target)
    there = ~np.isnan(labels)
    scores = np.abs(labels - model.predict(T))[there]
    own = model._shift.weigh(new, len(new))
    expected = [
        reference.threshold_with_labels(
            model.scores_, model.weights_, v, scores, of_target[there], 0.9
        )
        for v in own
    ]
    assert half_width(model, 0.9) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_suffice_are_ordinary_split_conformal(method):
    labels = some(30)
    there = ~np.isnan(labels)
    model = regressor(method=method).fit(X, y, X_target=T, y_target=labels)
    plain = ConformalRegressor(model.estimator_, prefit=True, weighter=None)
    plain.fit(T[there], labels[there])
    found, expected = model.predict_interval(new), plain.predict_interval(new)
    assert np.asarray(found) == pytest.approx(np.asarray(expected))
    assert found.n_calibration == found.effective_sample_size == 30
    assert str(found.expected_coverage) == str(expected.expected_coverage)
    assert model.expected_coverage(0.9).value == expected.expected_coverage.value


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_sets_of_labels_that_suffice_are_ordinary_split_conformal(method):
    labels = some(30, (y_T > 0).astype(int))
    there = ~np.isnan(labels)
    model = classifier(method=method).fit(X, (y > 0).astype(int), X_target=T, y_target=labels)
    plain = ConformalClassifier(model.estimator_, prefit=True, weighter=None)
    plain.fit(T[there], labels[there].astype(int))
    found = model.predict_set(new, 0.8)
    assert (found.member == plain.predict_set(new, 0.8).member).all()
    assert found.calibrated_on_target
    assert found.assumption == OF_LABELS


def test_normalised_scores_of_labels_are_in_the_units_of_their_rows():
    labels = some(30)
    there = ~np.isnan(labels)
    made = regressor(conformity_score="normalized").fit(X, y, X_target=T, y_target=labels)
    scores = made._model.band(T[there]).scores(labels[there])
    q = reference.conformal_threshold(scores, np.ones(30), 1, 0.9)
    assert half_width(made, 0.9) == pytest.approx(q * made._model.band(new).unit)


def test_one_label_fewer_than_suffice_widens_the_intervals_of_the_sample():
    without = regressor().fit(X, y, X_target=T)
    few = regressor().fit(X, y, X_target=T, y_target=some(8))
    widths = half_width(few, 0.9)
    assert (widths >= half_width(without, 0.9) - 1e-9).all()
    worst = np.nanmax(np.abs(some(8) - few.predict(T)))
    assert (widths >= worst - 1e-9).all()
    found = few.predict_interval(new)
    assert found.n_calibration == 60
    assert found.assumption == ASSUMPTION
    [note] = [note for note in found.notes if note.kind == "few labels"]
    assert "8, which are too few to calibrate alone at a coverage of 90%" in note.text
    enough = few.predict_interval(new, 0.85)
    assert enough.calibrated_on_target
    assert "Calibration: 8 target rows with an outcome, effective" in str(enough)


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_few_labels_of_sets_add_the_classes_that_they_ask_for(method):
    z = (y > 0).astype(int)
    labels = some(4, (y_T > 0).astype(int))
    made = classifier(method=method).fit(X, z, X_target=T, y_target=labels)
    without = classifier(method=method).fit(X, z, X_target=T).predict_set(new, 0.9)
    there = ~np.isnan(labels)
    scores = 1 - made.predict_proba(T)[there, labels[there].astype(int)]
    asked = 1 - made.predict_proba(new) <= scores.max()
    assert asked.any()
    assert (made.predict_set(new, 0.9).member == (without.member | asked)).all()


def test_labels_train_nothing():
    with_labels = regressor().fit(X, y, X_target=T, y_target=some(30))
    without = regressor().fit(X, y, X_target=T)
    assert (with_labels.predict(new) == without.predict(new)).all()
    assert (with_labels.weights_ == without.weights_).all()
    assert (with_labels.scores_ == without.scores_).all()


def test_quantile_models_keep_their_median():
    estimator = QuantileRegressor(alpha=0, solver="highs")
    made = ConformalRegressor(estimator, conformity_score="quantile", weighter="cdf")
    made.fit(X, y, X_target=T, y_target=some(20))
    assert (made.predict_interval(new).prediction == made.predict(new)).all()


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_every_group_needs_labels_enough_or_gets_the_larger(method):
    rows, target = np.sign(X[:, :1]), np.sign(T[:, :1])
    A, B = np.hstack([X, rows]), np.hstack([T, target])
    made = regressor(by=2, method=method)
    labels = some(60)
    both = made.fit(A, y, X_target=B, y_target=labels)
    N = np.hstack([new, np.sign(new[:, :1])])
    found = both.predict_interval(N, 0.8)
    for sign in (-1, 1):
        there = ~np.isnan(labels) & (target[:, 0] == sign)
        scores = np.abs(labels - both.predict(B))[there]
        q = reference.conformal_threshold(scores, np.ones(len(scores)), 1, 0.8)
        inside = N[:, 2] == sign
        assert (found.upper - found.lower)[inside] / 2 == pytest.approx(q)
    labels[target[:, 0] < 0] = np.nan  # one group has none
    one = regressor(by=2, method=method).fit(A, y, X_target=B, y_target=labels)
    found = one.predict_interval(N, 0.8)
    usual = regressor(by=2, method=method).fit(A, y, X_target=B).predict_interval(N, 0.8)
    inside = N[:, 2] < 0
    assert np.asarray(found)[inside] == pytest.approx(np.asarray(usual)[inside])
    assert (found.upper >= usual.upper - 1e-9).all()
    assert any("in every group" in note.text for note in found.notes)


def test_every_class_has_a_threshold_of_its_own_labels():
    z, z_T = np.where(y > 0, "yes", "no"), np.where(y_T > 0, "yes", "no").astype(object)
    z_T[np.isnan(some(50))] = None
    made = classifier(by="class").fit(X, z, X_target=T, y_target=z_T)
    found = made.predict_set(new, 0.8)
    assert found.calibrated_on_target
    for k, name in enumerate(made.classes_):
        there = z_T == name
        scores = 1 - made.predict_proba(T[there])[:, k]
        q = reference.conformal_threshold(scores, np.ones(len(scores)), 1, 0.8)
        assert (found.member[:, k] == (1 - made.predict_proba(new)[:, k] <= q)).all()


def test_rows_chosen_with_unequal_chances_count_by_their_inverse():
    labels = some(40)
    there = ~np.isnan(labels)
    chance = np.where(there, np.linspace(0.2, 1, 80), 0.0)
    made = regressor().fit(X, y, X_target=T, y_target=Labels(labels, probability=chance))
    scores = np.abs(labels - made.predict(T))[there]
    args = made.scores_, made.weights_, 1.0, scores, 1 / chance[there]
    expected = reference.threshold_with_labels(*args, 0.9)
    assert half_width(made, 0.9) == pytest.approx(expected)
    equal = regressor().fit(X, y, X_target=T, y_target=Labels(labels, probability=np.full(80, 0.5)))
    assert (
        half_width(equal, 0.9)
        == half_width(regressor().fit(X, y, X_target=T, y_target=labels), 0.9)
    ).all()


def test_outcomes_may_be_a_column_of_the_target():
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(income=y)
    target = pd.DataFrame(T, columns=["a", "b"])[["b", "a"]].assign(income=some(30))
    named = regressor().fit(rows, "income", X_target=target, y_target="income")
    given = regressor().fit(X, y, X_target=T, y_target=(some(30),))
    people = pd.DataFrame(new, columns=["a", "b"])
    found = named.predict_interval(people.assign(income=0.0))
    assert found.calibrated_on_target
    assert np.asarray(found) == pytest.approx(np.asarray(given.predict_interval(new)))


def test_classes_beside_gaps_are_the_classes_of_the_sample():
    z, codes = (y > 0).astype(int), (y_T > 0).astype(int)
    there = ~np.isnan(some(30))
    spellings = [
        np.where(there, codes, np.nan),
        [int(code) if yes else None for code, yes in zip(codes, there, strict=True)],
        pd.Series(codes).astype("Int64").where(there),
    ]
    found = [
        classifier(by="class").fit(X, z, X_target=T, y_target=labels).predict_set(new, 0.8)
        for labels in spellings
    ]
    assert found[0].calibrated_on_target
    assert all((sets.member == found[0].member).all() for sets in found)


@pytest.mark.thorough
@pytest.mark.parametrize("L", [5, 30])
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_a_file_keeps_what_labels_have_calibrated(method, L, tmp_path):
    estimator = VSVR("none", reg=1.0, kernel=Kernel("rbf", width=1.0))
    made = ConformalRegressor(estimator, method=method, weighter="cdf", n_folds=2, random_state=0)
    found = made.fit(X, y, X_target=T, y_target=some(L)).predict_interval(new)
    shown = str(found)
    save(made, tmp_path / "model.covshift")
    loaded = load(tmp_path / "model.covshift").predict_interval(new)
    assert (np.asarray(loaded) == np.asarray(found)).all()
    assert str(loaded) == shown


def test_a_later_fit_without_labels_forgets_them():
    made = regressor().fit(X, y, X_target=T, y_target=some(30))
    again = made.fit(X, y, X_target=T).predict_interval(new)
    assert not again.calibrated_on_target


def test_randomised_intervals_of_labels_are_exact():
    level = [
        regressor(randomized=True, random_state=k, weighter=None)
        .fit(X, y, X_target=T, y_target=some(25, seed=k))
        .predict_interval(T, 0.9)
        .covers(y_T)[np.isnan(some(25, seed=k))]
        .mean()
        for k in range(40)
    ]
    assert np.mean(level) == pytest.approx(0.9, abs=0.025)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.full(80, np.nan), "missing in every row of the target: leave it out"),
        (some(20)[:50], "y_target has shape (50,), but X_target has 80 rows"),
        (np.where(np.isnan(some(20)), np.nan, np.inf), "infinity"),
        (["high"] * 80, "y_target"),
        ("income", "y_target='income' names a column, but X_target has no such"),
        (Labels(some(20), probability=np.zeros(80)), "probability must be above 0"),
        (Labels(some(20), probability=np.ones(3)), "probability has 3 values"),
    ],
)
def test_outcomes_that_are_none_are_refused(labels, words):
    with pytest.raises(InputError) as caught:
        regressor().fit(X, y, X_target=T, y_target=labels)
    assert words in str(caught.value)


def test_labels_need_rows_of_the_target_and_its_classes():
    z = (y > 0).astype(int)
    strange = np.where(np.isnan(some(20)), np.nan, 2)
    with pytest.raises(InputError, match="y_target has the class '2', which no row of the sample"):
        classifier().fit(X, z, X_target=T, y_target=strange)
    words = "y_target holds outcomes of target rows: pass these rows as X_target"
    for target in (None, Margins({"a": {"1": 1.0}})):
        with pytest.raises(InputError, match=words):
            regressor().fit(X, y, X_target=target, y_target=some(20))
    outside = np.where(np.isnan(some(20)), 1.0, 0.0)  # labelled rows are no part of the target
    with pytest.raises(InputError, match="missing in every row of the target"):
        regressor().fit(X, y, X_target=T, y_target=some(20), target_weight=outside)


@pytest.mark.thorough
@pytest.mark.parametrize("L", [25, 100])
def test_coverage_is_kept_where_the_outcome_has_changed(L):
    shares, usual = [], []
    for k in range(60):
        draw = np.random.default_rng(k)
        S, V, W = (
            draw.normal(size=(300, 1)),
            draw.normal(0.5, 1, (400, 1)),
            draw.normal(0.5, 1, (500, 1)),
        )
        z = S[:, 0] + draw.normal(size=300)
        z_V, z_W = (rows[:, 0] + 1 + 1.5 * draw.normal(size=len(rows)) for rows in (V, W))
        made = regressor(random_state=k).fit(S, z, X_target=V, y_target=some(L, z_V, seed=k))
        shares.append(made.predict_interval(W).covers(z_W).mean())
        without = regressor(random_state=k).fit(S, z, X_target=V)
        usual.append(without.predict_interval(W).covers(z_W).mean())
    assert np.mean(shares) > 0.89
    assert np.mean(usual) < 0.75
