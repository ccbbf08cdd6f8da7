"""Sets under label shift: rows weigh as their classes do, and so do candidates of new rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from covshift import ConformalClassifier, Margins, load, save
from covshift.engine.label_shift import Shares
from covshift.exceptions import InputError

MEANS = np.array([[0.0, 0.0], [1.8, 0.0], [0.0, 1.8]])


def draw(rng, rows, shares):
    y = rng.choice(3, size=rows, p=shares)
    return rng.normal(size=(rows, 2)) + MEANS[y], y


rng = np.random.default_rng(0)
X, Y = draw(rng, 160, [0.5, 0.3, 0.2])
T, Y_TARGET = draw(rng, 150, [0.1, 0.2, 0.7])
NEW = draw(rng, 12, [0.1, 0.2, 0.7])[0]
MODEL = LogisticRegression().fit(*draw(rng, 100, [0.4, 0.3, 0.3]))


@pytest.fixture(scope="module")
def fitted():
    model = ConformalClassifier(MODEL, prefit=True, shift="label", random_state=0)
    return model.fit(X, Y, X_target=T)


@pytest.mark.thorough
def test_sets_are_those_of_weighted_quantiles_with_the_weight_of_each_candidate(fitted):
    ratios = Shares.of_rows(X, Y, T, random_state=fitted._seed)
    r = ratios.value / ratios.sample
    assert fitted.weights_ == pytest.approx(r[Y])
    scores = 1 - MODEL.predict_proba(X)[np.arange(len(X)), Y]
    for coverage in (0.6, 0.9):
        sets = fitted.predict_set(NEW, coverage)
        for row, member in zip(1 - MODEL.predict_proba(NEW), sets.member, strict=True):
            for k in range(3):
                total, sum_of = r[Y].sum() + r[k], 0.0
                limit = np.inf
                for i in np.argsort(scores):
                    sum_of += r[Y[i]]
                    if sum_of >= coverage * total * (1 - 1e-12):
                        limit = scores[i]
                        break
                assert member[k] == (row[k] <= limit)


@pytest.mark.thorough
def test_the_expected_coverage_is_that_of_the_classes_by_their_shares(fitted):
    found = fitted.expected_coverage(0.8)
    shares = fitted._shares
    by_class = fitted.expected_coverage(0.8, by="class").groups
    value = sum(shares.value[c] * by_class[str(c)][0] for c in range(3))
    assert found.value == pytest.approx(value)
    assert found.interval[0] < found.value < found.interval[1]
    moved = shares.influence.linear(np.array([[by_class[str(c)][0] for c in range(3)]]))
    assert found.standard_error > moved.standard_error(shares.problem.design)[0]


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_the_target_is_covered_better_than_without_weights(method):
    here = np.random.default_rng(7)
    X, y = draw(here, 500, [0.6, 0.3, 0.1])
    T, _ = draw(here, 400, [0.1, 0.2, 0.7])
    new, truth = draw(here, 3000, [0.1, 0.2, 0.7])
    covered = {}
    for name, options in {"label": {"shift": "label"}, "none": {"weighter": None}}.items():
        model = ConformalClassifier(LogisticRegression(), method=method, random_state=0, **options)
        covered[name] = model.fit(X, y, X_target=T).predict_set(new, 0.9).covers(truth).mean()
    assert covered["none"] + 0.05 < covered["label"]


def test_a_file_keeps_the_weights_of_candidates(fitted, tmp_path):
    expected = fitted.predict_set(NEW, 0.9)
    save(fitted, tmp_path / "model.covshift")
    again = load(tmp_path / "model.covshift").predict_set(NEW, 0.9)
    assert (again.member == expected.member).all()
    assert "within each class" in again.assumption
    assert "p = " in expected.assumption


@pytest.mark.thorough
def test_outcomes_of_target_rows_calibrate_alone_where_they_suffice():
    options = {"prefit": True, "random_state": 0}
    model = ConformalClassifier(MODEL, shift="label", **options)
    sets = model.fit(X, Y, X_target=T, y_target=Y_TARGET).predict_set(NEW, 0.9)
    other = ConformalClassifier(MODEL, **options).fit(X, Y, X_target=T, y_target=Y_TARGET)
    assert (sets.member == other.predict_set(NEW, 0.9).member).all()
    assert "within each class" not in sets.assumption


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({"threshold": "dr"}, {}, "not for shift"),
        ({"sensitivity": 2.0}, {}, "is for covariate shift"),
        ({"weighter": "entropy"}, {}, "follow from the class shares"),
        ({"weighter": None}, {}, "follow from the class shares"),
        ({"shift": "both"}, {}, "shift"),
        ({}, {"X_target": Margins({"x0": {"mean": 0.1}})}, "needs target rows"),
    ],
)
def test_what_it_has_no_use_for_is_refused(options, given, words):
    model = ConformalClassifier(MODEL, prefit=True, **{"shift": "label"} | options)
    with pytest.raises(InputError, match=words):
        model.fit(X, Y, **{"X_target": T} | given)
