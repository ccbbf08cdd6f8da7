"""Sets of classes: those of their definition, with coverage on the target, and what is said."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import reference
from contract import either_routing, run_check
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covshift import VSVC, Reweighted
from covshift.conformal import ConformalClassifier, shift
from covshift.conformal.data import deal_folds, split_rows
from covshift.exceptions import InputError
from covshift.weights import Weighter

SCORES = ("lac", "aps", "raps")


# Known ratios are wrong on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*weights of Known")


class Known(Weighter):
    """The density ratio of N(shift, 1) and N(0, 1) in the first column."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def _solve(self, problem):
        return self._ratio(problem.X)

    def _ratio(self, X):
        return np.exp(self.shift * X[:, 0] - self.shift**2 / 2)


class Curve(ClassifierMixin, BaseEstimator):
    """Fixed probabilities of three classes, wrong in that they do not flatten where y does."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.array(["a", "b", "c"]), X.shape[1]
        return self

    def predict_proba(self, X):
        odds = np.exp(np.column_stack([X[:, 1], np.zeros(len(X)), -X[:, 1]]))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def draw(n, mean, rng):
    """Three classes that follow the second column, less so where the first is large."""
    X = np.column_stack([rng.normal(mean, 1, n), rng.normal(0, 2, n)])
    noisy = rng.random(n) < 1 / (1 + np.exp(-1.5 * X[:, 0]))
    cut = np.digitize(-X[:, 1], [-0.7, 0.7])
    return X, np.array(["a", "b", "c"])[np.where(noisy, rng.integers(0, 3, n), cut)]


rng = np.random.default_rng(0)
X, y = draw(240, 0.0, rng)
T, y_T = draw(240, 0.8, rng)
CURVE = Curve().fit(X, y)
LEARNER = LogisticRegression(max_iter=1000)


@pytest.mark.part(2)
@parametrize_with_checks(
    [
        ConformalClassifier(LEARNER, random_state=0),
        ConformalClassifier(LEARNER, method="cv+", n_folds=3, conformity_score="aps"),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    run_check(estimator, check)


# the definition


def scored(p, score, u=1):
    if score == "lac":
        return [1 - value for value in p]
    return reference.adaptive_scores(p, u, *((0.01, 2) if score == "raps" else ()))


@pytest.mark.parametrize("score", SCORES)
def test_sets_hold_the_classes_whose_p_value_exceeds_alpha(score):
    model = ConformalClassifier(
        CURVE, weighter=Known(0.8), conformity_score=score, prefit=True
    ).fit(X, y, X_target=T)
    code = np.searchsorted(CURVE.classes_, y)
    scores = [scored(p, score)[k] for p, k in zip(CURVE.predict_proba(X), code, strict=True)]
    np.testing.assert_allclose(model.scores_, scores)
    scaler = StandardScaler().fit(X)
    ratio = Known(0.8)._ratio(scaler.transform(X))
    own = Known(0.8)._ratio(scaler.transform(T))
    sets = model.predict_set(T[:30], coverage=0.8)
    for j, p in enumerate(CURVE.predict_proba(T[:30])):
        candidates = scored(p, score)
        near = min(abs(c - s) for c in candidates for s in scores) > 1e-12
        expected = [reference.conformal_p_value(scores, ratio, own[j], c) > 0.2 for c in candidates]
        assert not near or sets.member[j].tolist() == expected
    assert 1 < sets.mean_size < 3


@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_cv_plus_is_that_of_its_loops(score, randomized):
    few, z = X[:30], y[:30]
    options = {"method": "cv+", "n_folds": 4, "random_state": 0, "randomized": randomized}
    model = ConformalClassifier(LEARNER, weighter=Known(0.8), conformity_score=score, **options)
    model.fit(few, z, X_target=T)
    fold = deal_folds(z, 4, model._seed, classes=True)
    models = [clone(LEARNER).fit(few[fold != k], z[fold != k]) for k in range(4)]
    u = model._random(30, "calibration") if randomized else np.ones(30)
    v = model._random(8, "threshold") if randomized else np.ones(8)
    mine = model._random(8, "classes") if randomized else np.ones(8)
    code = np.searchsorted(model.classes_, z)
    scores = [
        scored(models[fold[i]].predict_proba(few[[i]])[0], score, u[i])[code[i]] for i in range(30)
    ]
    np.testing.assert_allclose(model.scores_, scores)
    scaler = StandardScaler().fit(few)
    weights = Known(0.8)._ratio(scaler.transform(few))
    own = Known(0.8)._ratio(scaler.transform(T[:8]))
    sets = model.predict_set(T[:8], coverage=0.7)
    for j in range(8):
        matrix = [scored(m.predict_proba(T[[j]])[0], score, mine[j]) for m in models]
        expected = reference.plus_set(matrix, fold, scores, weights, own[j], 0.7, v[j])
        assert sets.member[j].tolist() == expected


def test_every_row_calibrates_as_often_whatever_its_class():
    z = np.repeat([0, 1, 2], [30, 9, 1])
    often, counts = np.zeros(40), []
    for seed in range(400):
        trains, calibrates = split_rows(z, 0.5, seed, classes=True)
        assert sorted([*trains, *calibrates]) == list(range(40))
        assert len(calibrates) == 20
        counts.append((z[calibrates] == 0).sum())
        often[calibrates] += 1 / 400
    assert np.abs(often - 0.5).max() < 0.12  # 4.8 standard errors
    folds = deal_folds(z, 4, 0, classes=True)
    assert np.bincount(folds).tolist() == [10] * 4
    # Class counts vary as chance has it (hypergeometric), not as if they were dealt.
    assert np.var(counts) == pytest.approx(20 * 0.75 * 0.25 * 20 / 39, rel=0.25)
    rare = np.repeat([0, 1], [38, 2])
    for seed in range(20):  # every model has two classes to learn from
        trains, _ = split_rows(rare, 0.9, seed, classes=True)
        fold = deal_folds(rare, 2, seed, classes=True)
        assert len(np.unique(rare[trains])) == 2
        assert all(len(np.unique(rare[fold != k])) == 2 for k in range(2))


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_class_shares_that_a_model_learns_cost_no_coverage(method):
    """Rows split class by class would make calibration rows too easy: coverage 0.76, not 0.8."""
    rng = np.random.default_rng(3)
    model = ConformalClassifier(
        DummyClassifier(strategy="prior"), weighter=None, randomized=method == "split",
        method=method, random_state=0,
    )  # fmt: skip
    covered = []
    for seed in range(60):
        z = rng.integers(10, size=98)
        model.set_params(random_state=seed).fit(np.zeros((98, 1)) + np.arange(98)[:, None], z)
        new = rng.integers(10, size=200)
        covered.append(
            model.predict_set(rng.normal(size=(200, 1)), coverage=0.8).covers(new).mean()
        )
    error = np.std(covered) / np.sqrt(len(covered))
    assert np.mean(covered) > 0.8 - 3 * error


@pytest.mark.part(20)
def test_jackknife_plus_of_a_machine_takes_one_fit():
    two = np.where(y[:20] == "a", "a", "b")
    machine = VSVC("additive", probability="clip")
    model = ConformalClassifier(machine, weighter=None, method="jackknife+", random_state=0)
    model.fit(X[:20], two, X_target=T[:30])
    assert len(model._models) == 0
    sets = model.predict_set(T[:6], coverage=0.8)
    left_out = model.estimator_.leave_one_out(X[:20], two, X_target=T[:30])
    p = left_out.predict_proba()[np.arange(20), (two == "b").astype(int)]
    np.testing.assert_allclose(model.scores_, 1 - p)
    for j, rows in enumerate(left_out.predict_proba(T[:6])):
        given = range(20), model.scores_, np.ones(20), 1.0
        assert sets.member[j].tolist() == reference.plus_set(1 - rows, *given, 0.8)
    assert sets.member.shape == (6, 2)


# coverage


class Same:
    """A scaler that does nothing, so that the known ratio sees the rows as they are."""

    def fit(self, X, sample_weight=None):
        return self

    def transform(self, X):
        return X


@pytest.mark.thorough
@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("score", ["lac", "aps"])
def test_coverage_of_thirty_rows_under_known_ratios(score, randomized, monkeypatch):
    monkeypatch.setattr(shift, "StandardScaler", Same)
    monkeypatch.setattr(shift, "uncovered", lambda *_: ())  # the ratio is known everywhere
    rng, state = np.random.default_rng(3), np.random.RandomState(0)
    options = {"prefit": True, "conformity_score": score, "random_state": state}
    model = ConformalClassifier(CURVE, weighter=Known(0.8), randomized=randomized, **options)
    plain = ConformalClassifier(CURVE, weighter=None, randomized=randomized, **options)
    found, unweighted = [], []
    for _ in range(100):
        X, y = draw(30, 0.0, rng)
        T, y_T = draw(60, 0.8, rng)
        found.append(model.fit(X, y, X_target=T).predict_set(T, 0.7).covers(y_T).mean())
        unweighted.append(plain.fit(X, y).predict_set(T, 0.7).covers(y_T).mean())
    error = np.std(found) / 10
    assert error < 0.02
    assert np.mean(found) > 0.7 - 4 * error
    assert np.mean(unweighted) < np.mean(found) - 0.03
    if randomized:
        assert np.mean(found) < 0.7 + 4 * error


def test_randomised_sets_lie_inside_of_conservative_ones_of_the_same_scores():
    options = {"prefit": True, "weighter": None, "random_state": 0}
    sure = ConformalClassifier(CURVE, **options).fit(X, y).predict_set(T, 0.8)
    random = ConformalClassifier(CURVE, randomized=True, **options).fit(X, y)
    found = random.predict_set(T, 0.8)
    assert not (found.member & ~sure.member).any()
    np.testing.assert_array_equal(random.predict_set(T, 0.8).member, found.member)
    smaller = ConformalClassifier(CURVE, conformity_score="aps", randomized=True, **options)
    larger = ConformalClassifier(CURVE, conformity_score="aps", **options)
    sizes = [m.fit(X, y).predict_set(T, 0.8).mean_size for m in (smaller, larger)]
    assert sizes[0] < sizes[1]


def test_expected_coverage_is_that_of_the_randomised_sets():
    z = np.array(["a", "b"] * 120)
    same = np.zeros((240, 2))  # all classes are as likely, so that all scores tie

    def expected(**options):
        model = ConformalClassifier(CURVE, prefit=True, weighter=None, random_state=0, **options)
        return model.fit(same, z).expected_coverage(0.8).value

    assert expected() == 1.0
    assert expected(randomized=True) == pytest.approx(0.8, abs=0.08)


# inputs


def test_classes_that_the_calibration_lacks_are_still_candidates():
    known = y != "c"
    model = ConformalClassifier(CURVE, prefit=True, weighter=None).fit(X[known], y[known])
    sets = model.predict_set(T)
    assert sets.classes.tolist() == ["a", "b", "c"]
    assert sets.member[:, 2].any()
    with pytest.raises(InputError, match="classes that the estimator does not know: 'z'"):
        model.fit(X, np.where(y == "c", "z", y))


def test_a_class_that_trained_no_model_is_scored_as_impossible():
    z = y.astype(object)
    z[y == "c"] = "b"
    z[7] = "c"  # alone: no model of CV+ that may score it has seen it
    options = {"method": "cv+", "n_folds": 3, "weighter": None, "random_state": 0}
    model = ConformalClassifier(LEARNER, **options).fit(X, z.astype(str))
    assert model.scores_[7] == 1.0
    assert model.predict_set(T).member.shape == (240, 3)
    assert model.predict_proba(T).shape == (240, 3)


@pytest.mark.parametrize("method", ["cv+", "jackknife+"])
def test_the_only_row_of_a_second_class_is_scored_as_impossible(method):
    """A model without it has one class to learn from, which scikit-learn refuses."""
    rows, z = X[:25], np.where(np.arange(25) == 7, "yes", "no")
    options = {"method": method, "n_folds": 3, "weighter": None, "random_state": 0}
    model = ConformalClassifier(LEARNER, **options).fit(rows, z)
    assert model.scores_[7] == 1.0
    assert (model.scores_[np.arange(25) != 7] < 1).all()
    assert model.predict_set(T).member[:, 0].mean() > 0.8  # "no", as nearly everywhere


def test_rows_that_train_need_two_classes():
    rows, z = X[:2], np.array(["yes", "no"])
    with pytest.raises(InputError, match=r"The rows that train have only one class, '(yes|no)'"):
        ConformalClassifier(LEARNER, weighter=None, random_state=0).fit(rows, z)


@pytest.mark.parametrize(
    "estimator", [VSVC("additive"), Reweighted(LEARNER, weighter="gaussian-ratio")]
)
def test_estimators_that_take_the_target_get_it(estimator):
    two = (y == "a").astype(int)
    model = ConformalClassifier(estimator, weighter="gaussian-ratio", random_state=0)
    model.fit(X, two, X_target=T)
    trains, _ = split_rows(two, 0.5, model._seed, classes=True)
    expected = clone(estimator).fit(X[trains], two[trains], X_target=T).predict_proba(T)
    np.testing.assert_allclose(model.predict_proba(T), expected)


@either_routing
def test_the_target_reaches_it_through_a_search(routing):
    pipeline = make_pipeline(StandardScaler(), LEARNER)
    model = ConformalClassifier(pipeline, weighter="gaussian-ratio", random_state=0)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(model, {"estimator__logisticregression__C": [0.1, 1.0]}, cv=2)
        search.fit(X, y, X_target=(T,))
    assert search.best_estimator_.weighter_ is not None
    assert 0 < search.score(T, y_T) <= 1


def test_groups_have_thresholds_of_their_own():
    rows = np.column_stack([X[:, 0], X[:, 1], np.arange(240) % 2])
    model = ConformalClassifier(CURVE, prefit=True, weighter=None, by=2).fit(rows, y)
    new = np.column_stack([T, np.arange(240) % 3])
    found = model.predict_set(new)
    assert found.member[new[:, 2] == 2].all()  # no row of this group calibrates
    for group in (0, 1):
        own, there = rows[:, 2] == group, new[:, 2] == group
        alone = ConformalClassifier(CURVE, prefit=True, weighter=None).fit(rows[own], y[own])
        np.testing.assert_array_equal(found.member[there], alone.predict_set(new[there]).member)


# by="class"


@pytest.mark.part(3)
@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_sets_by_class_are_those_of_their_loops(method, score, randomized):
    some = np.flatnonzero((y != "c") | (np.arange(240) < 40))[:150]  # "c" is rare
    few, z = X[some], y[some]
    options = {"method": method, "n_folds": 4, "random_state": 0, "randomized": randomized}
    weighter = Known(0.8)
    model = ConformalClassifier(
        LEARNER, weighter=weighter, by="class", conformity_score=score, **options
    ).fit(few, z, X_target=T)
    trains, held = split_rows(z, 0.5, model._seed, classes=True)
    fold = deal_folds(z, 4, model._seed, classes=True)
    if method == "split":
        models, scaler = [clone(LEARNER).fit(few[trains], z[trains])], few[trains]
        few, z, fold = few[held], z[held], np.zeros(len(held), dtype=int)
    else:
        models, scaler = [clone(LEARNER).fit(few[fold != k], z[fold != k]) for k in range(4)], few
    n, scaler = len(z), StandardScaler().fit(scaler)
    u = model._random(n, "calibration") if randomized else np.ones(n)
    v = model._random(8, "threshold") if randomized else np.ones(8)
    mine = model._random(8, "classes") if randomized else np.ones(8)
    codes = np.searchsorted(model.classes_, z)
    scores = [
        scored(models[fold[i]].predict_proba(few[[i]])[0], score, u[i])[codes[i]] for i in range(n)
    ]
    weights, own = (weighter._ratio(scaler.transform(rows)) for rows in (few, T[:8]))
    sets = model.predict_set(T[:8], coverage=0.7)
    for j in range(8):
        matrix = [scored(m.predict_proba(T[[j]])[0], score, mine[j]) for m in models]
        expected = reference.set_by_class(matrix, fold, scores, weights, codes, own[j], 0.7, v[j])
        assert sets.member[j].tolist() == expected


def rare(n, mean, rng):
    """Three in a hundred are positive; five where the first column has moved."""
    X = rng.normal([mean, 0], size=(n, 2))
    return X, (rng.random(n) < 1 / (1 + np.exp(4.6 - X[:, 0] - 1.2 * X[:, 1]))).astype(int)


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_rare_positives_have_the_coverage_by_class_and_not_without(method, monkeypatch):
    monkeypatch.setattr(shift, "StandardScaler", Same)
    monkeypatch.setattr(shift, "uncovered", lambda *_: ())  # the ratio is known everywhere
    covered = {None: [], "class": []}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rare(1000, 0.0, rng)
        T, y_T = rare(2000, 0.6, rng)
        for by, found in covered.items():
            model = ConformalClassifier(
                LEARNER, weighter=Known(0.6), by=by, method=method, n_folds=5, random_state=seed
            )
            inside = model.fit(X, y, X_target=T).predict_set(T).covers(y_T)
            found.append([inside[y_T == k].mean() for k in (0, 1)] + [inside.mean()])
    plain, by_class = (np.mean(found, axis=0) for found in covered.values())
    error = np.std(covered["class"], axis=0) / np.sqrt(40)
    assert plain[2] > 0.88
    assert plain[1] < 0.3  # in total, and not here
    assert (by_class > 0.9 - 3 * error).all()
    assert (by_class < 0.95 + 3 * error).all()


def test_a_class_of_few_rows_is_in_every_set_and_a_note_says_so():
    few = np.concatenate([np.flatnonzero(y != "c")[:100], np.flatnonzero(y == "c")[:8]])
    model = ConformalClassifier(CURVE, prefit=True, weighter=None, by="class", random_state=0)
    sets = model.fit(X[few], y[few]).predict_set(T, 0.9)
    assert sets.member[:, 2].all()
    assert not sets.member[:, :2].all()
    (note,) = (note for note in sets.notes if note.kind == "rare classes")
    assert "coverage of 90%: 'c' (8 calibration rows; 100.0% of the sets)." in note.text
    enough = np.append(few, np.flatnonzero(y == "c")[8])  # nine are enough: 9 >= 0.9 * 10
    sets = model.fit(X[enough], y[enough]).predict_set(T, 0.9)
    assert not sets.member[:, 2].all()
    assert sets.notes == ()
    without = model.fit(X[y != "c"], y[y != "c"]).predict_set(T, 0.9)
    assert without.member[:, 2].all()
    assert "'c' (0 calibration rows; 100.0% of the sets)" in without.notes[0].text


def test_by_class_is_no_column_and_needs_no_rows_of_classes_in_the_target():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "class"])
    model = ConformalClassifier(LEARNER, weighter=None, by="class", random_state=0)
    with pytest.raises(InputError, match="a column 'class' as well: rename the column"):
        model.fit(frame, y)
    with pytest.raises(InputError, match="threshold='dr' is not for by='class'"):
        clone(model).set_params(threshold="dr").fit(X, y)
    other = frame.rename(columns={"class": "b"})
    found = model.fit(other, y).predict_set(other)
    expected = clone(model).fit(X, y).predict_set(X)
    np.testing.assert_array_equal(found.member, expected.member)


def test_design_weights_of_new_rows_are_those_of_the_class():
    design = np.where(y == "a", 3.0, 1.0)
    options = {"prefit": True, "weighter": None, "by": "class", "random_state": 0}
    weighted = ConformalClassifier(CURVE, **options).fit(X, y, sample_weight=design)
    plain = ConformalClassifier(CURVE, **options).fit(X, y)  # a factor of a class changes nothing
    found, expected = (model.predict_set(T, 0.8).member for model in (weighted, plain))
    np.testing.assert_array_equal(found, expected)


def test_expected_coverage_by_class_of_the_sample_itself_is_a_share():
    X, y = rare(600, 0.0, np.random.default_rng(1))
    model = ConformalClassifier(LEARNER, weighter=None, by="class", random_state=0).fit(X, y)
    found = model.expected_coverage(0.9).groups
    assert found.keys() == {"0", "1"}
    assert 0.7 < found["1"][0] <= 1
    model.set_params(by=None).fit(X, y)
    assert model.expected_coverage(0.9, by="class").groups["1"][0] < 0.4


@pytest.mark.thorough
def test_expected_coverage_by_class_shows_what_ordinary_sets_leave_out():
    rng = np.random.default_rng(1)
    X, y = rare(600, 0.0, rng)
    T, _ = rare(600, 0.4, rng)
    model = ConformalClassifier(LEARNER, weighter="gaussian-ratio", random_state=0)
    model.fit(X, y, X_target=T)
    ordinary = model.expected_coverage(0.9, by="class")
    assert ordinary.value == model.expected_coverage(0.9).value
    assert ordinary.groups["1"][0] < 0.4
    assert ordinary.groups["0"][0] > 0.85
    by_class = model.set_params(by="class").fit(X, y, X_target=T)
    assert by_class.expected_coverage(0.9).groups["1"][0] > 0.7
    assert "  1: " in str(by_class.predict_set(T[:5]))


@pytest.mark.parametrize(
    "wrong",
    [{"conformity_score": "absolute"}, {"penalty": -1}, {"start": 0.5}, {"n_folds": 1}],
    ids=str,
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ConformalClassifier(LEARNER, **wrong).fit(X, y)


# results


def test_a_result_says_how_far_it_can_be_trusted():
    model = ConformalClassifier(LEARNER, weighter="gaussian-ratio", random_state=0)
    found = model.fit(X, y, X_target=T).predict_set(T, coverage=0.8)
    np.testing.assert_array_equal(np.asarray(found), found.member)
    assert np.asarray(found, dtype=int).dtype.kind == "i"
    assert len(found) == 240
    assert found.labels[0].tolist() == found.classes[found.member[0]].tolist()
    assert found.share_empty == (found.member.sum(axis=1) == 0).mean()
    hits = [truth in labels for truth, labels in zip(y_T, found.labels, strict=True)]
    np.testing.assert_array_equal(found.covers(y_T), hits)
    first = found.expected_coverage
    assert found.expected_coverage is first
    assert 0.6 < first.value < 0.95
    text = str(found)
    assert "240 sets of coverage 80%" in text
    assert f"Expected coverage on the target: {first}" in text
    frame = found.to_frame()
    assert list(frame.columns) == ["prediction", "a", "b", "c"]
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["mean_size"] == pytest.approx(found.member.sum() / 240)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.member, found.member)
    assert again.expected_coverage == first


def test_sets_of_all_classes_say_so():
    few = ConformalClassifier(CURVE, prefit=True, weighter=None).fit(X[:8], y[:8])
    found = few.predict_set(T, coverage=0.9)
    assert found.share_whole == 1.0
    assert {note.kind for note in found.notes} == {"infinite", "few rows"}
    options = {"method": "cv+", "weighter": None, "n_folds": 2, "random_state": 0}
    plus = ConformalClassifier(LEARNER, **options).fit(X[:20], y[:20])
    assert plus.predict_set(T, coverage=0.96).share_whole == 1.0
    assert {n.kind for n in plus.predict_set(T, coverage=0.96).notes} == {"infinite", "few rows"}


def test_with_sensitivity_sets_are_those_of_a_larger_coverage():
    """The odds of the coverage are L^2 times as large: 90 % becomes 36 / 37."""
    made = ConformalClassifier(LogisticRegression(), random_state=0).fit(X, y, X_target=T)
    wide = clone(made).set_params(sensitivity=2.0).fit(X, y, X_target=T)
    found, same = wide.predict_set(T), made.predict_set(T, coverage=36 / 37)
    np.testing.assert_array_equal(found.member, same.member)
    assert found.member.sum() > made.predict_set(T).member.sum()
    assert found.coverage == 0.9
