"""Answers that must agree: the same question asked in another way, and questions without a shift.

Where the mathematics says that two answers are equal they are compared to rounding, or to what a
search leaves (1e-6). Elsewhere the bound is a multiple of a standard error, and the test says so.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import covshift
from covshift import weights

rng = np.random.default_rng(0)
N, M = 160, 120
X, T, NEW = rng.normal(size=(N, 3)), rng.normal(0.4, 1, size=(M, 3)), rng.normal(size=(25, 3))
X[:, 2], T[:, 2], NEW[:, 2] = (np.round(part[:, 2]) for part in (X, T, NEW))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
LABELS = (X[:, 0] + 0.5 * rng.normal(size=N) > 0).astype(int)
ROUNDING = {"rtol": 1e-9, "atol": 1e-9}
SEARCHED = {"rtol": 1e-6, "atol": 1e-6}


class Question:
    """Both samples, the outcomes and new rows, and what may be done to them."""

    def __init__(self, X=X, T=T, y=Y, labels=LABELS, new=NEW):
        self.X, self.T, self.y, self.labels, self.new = X, T, y, labels, new

    def reordered(self):
        rows, target = (np.random.default_rng(1).permutation(size) for size in (N, M))
        return Question(X[rows], T[target], Y[rows], LABELS[rows])

    def turned(self):
        order = [2, 0, 1]
        return Question(X[:, order], T[:, order], new=NEW[:, order])


def machine(**options):
    def answer(q):
        model = covshift.VSVC("blended", random_state=0, **options)
        model.fit(q.X, q.labels, X_target=(q.T,))
        return model.predict_proba(q.new)[:, 1]

    return answer


def regression(**options):
    def answer(q):
        model = covshift.VSVR("blended", random_state=0, **options)
        model.fit(q.X, q.y, X_target=(q.T,))
        return model.predict(q.new)

    return answer


def boosted(q):
    model = covshift.VBoostRegressor(n_estimators=5)
    model.fit(q.X, q.y, X_target=(q.T,))
    return model.predict(q.new)


def estimated(q):
    found = covshift.estimate(q.X, q.y, q.T, method="weights")
    return np.array([found.value])


def weighed(made):
    def answer(q):
        model = made().fit(q.X, X_target=(q.T,))
        return model.predict_weights(q.new)

    return answer


def weighted_means(q):
    """Means of the columns and of y under CDF weights, in standard deviations."""
    w = weights.CDFWeights().fit(q.X, X_target=q.T).weights_
    return np.average(np.column_stack([q.X[:, :3], q.y]), axis=0, weights=w)


def diagnosed(q):
    found = covshift.diagnose(q.X, q.T)
    return np.sort([[part.smd, part.ks, part.energy] for part in found.features], axis=0)


WEIGHTERS = {
    "CDFWeights": weights.CDFWeights,
    "KMM": lambda: weights.KMM(B=5),
    "ULSIF": lambda: weights.ULSIF(random_state=0),
    "KDE": weights.KDE,
    "EnergyWeights": weights.EnergyWeights,
    "EntropyBalancing": weights.EntropyBalancing,
    "GaussianRatio": weights.GaussianRatio,
}
NAMED = {"kernel": covshift.Kernel("rbf", width="scale")}
ANSWERS = {
    "machine": machine(fast=True),
    "machine, rbf": machine(**NAMED),
    "landmarks": machine(solver="primal", n_components=30, **NAMED),
    "regression": regression(fast=True),
    "regression on landmarks": regression(solver="primal", n_components=30, **NAMED),
    "boosted": boosted,
    "estimated": estimated,
    "diagnosed": diagnosed,
    "weighted means": weighted_means,
    **{name: weighed(made) for name, made in WEIGHTERS.items()},
}
DRAWN = {"ULSIF"}  # its centres, by their place among the target rows
SLOW = {"estimated", "boosted", "machine", "regression", "machine, as they come", "diagnosed"}
PLAIN = Question()
_known = {}


def each(names):
    """All names, those that take seconds for the thorough tests."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.thorough) if name in SLOW else name
            for name in sorted(names)
        ],
    )


def plain(name):
    if name not in _known:
        _known[name] = ANSWERS[name](PLAIN)
    return _known[name]


@each(set(ANSWERS) - DRAWN)
def test_the_order_of_rows_does_not_matter(name):
    np.testing.assert_allclose(ANSWERS[name](PLAIN.reordered()), plain(name), **SEARCHED)


@each(set(ANSWERS) - DRAWN - {"weighted means"})
def test_the_order_of_columns_does_not_matter(name):
    np.testing.assert_allclose(ANSWERS[name](PLAIN.turned()), plain(name), **SEARCHED)


@each(["estimated", "weighted means"])
def test_all_rows_twice_of_both_samples_are_nearly_the_same_question(name):
    """Twice the rows say the same, with more confidence: a penalty may be weaker, by a little.

    Machines are another matter: a row that is held out would be known from its copy.
    """
    rows, target = np.tile(np.arange(N), 2), np.tile(np.arange(M), 2)
    twice = ANSWERS[name](Question(X[rows], T[target], Y[rows], LABELS[rows]))
    assert np.abs(twice - plain(name)).max() < 0.1


@each(["weighted means", "estimated", "machine, rbf"])
def test_discrete_data_are_like_jittered_data(name):
    """A jitter of a thousandth breaks all ties; what smooth answers say moves as little."""
    draw = np.random.default_rng(3)
    parts = [part + 1e-3 * draw.normal(size=part.shape) for part in (X, T, NEW)]
    jittered = ANSWERS[name](Question(parts[0], parts[1], new=parts[2]))
    assert np.abs(jittered - plain(name)).max() < 0.1


@each(["weighted means", "estimated", "machine"])
def test_a_feature_of_pure_noise_changes_little(name):
    """Equally distributed in both samples, it asks for no correction; it may cost some noise."""
    draw = np.random.default_rng(4)
    wide = [np.column_stack([part, draw.normal(size=len(part))]) for part in (X, T, NEW)]
    found = ANSWERS[name](Question(wide[0], wide[1], new=wide[2]))
    assert np.abs(found - plain(name)).max() < 0.15


# Categories


def frame(rows, names):
    values = np.asarray(rows)
    kinds = np.digitize(values[:, 2], [-0.5, 0.5])
    return pd.DataFrame({"a": values[:, 0], "kind": np.array(names)[kinds]})


@each(["machine", "estimated", "CDFWeights", "EnergyWeights", "boosted"])
def test_names_of_categories_do_not_matter(name):
    found = []
    for names in (["x", "y", "z"], ["z", "x", "y"]):
        tables = [frame(rows, names) for rows in (X, T, NEW)]
        found.append(ANSWERS[name](Question(tables[0], tables[1], new=tables[2])))
    np.testing.assert_allclose(found[1], found[0], **SEARCHED)


def test_names_of_classes_do_not_matter():
    one, other = (
        covshift.VSVC("blended", fast=True).fit(X, labels, X_target=T).predict_proba(NEW)
        for labels in (LABELS, np.array(["no", "yes"])[LABELS])
    )
    np.testing.assert_allclose(other, one, **ROUNDING)


# No shift at all


@each(WEIGHTERS)
def test_the_sample_itself_as_target_asks_for_no_weights(name):
    """The same rows: weights of one are the answer wherever a ratio is not estimated by kernels."""
    found = WEIGHTERS[name]().fit(X, X_target=(X,))
    exact = name in ("CDFWeights", "EnergyWeights", "EntropyBalancing", "KDE", "GaussianRatio")
    tolerance = 1e-5 if exact else 0.3
    assert np.abs(found.weights_ - 1).max() < tolerance


@pytest.mark.thorough
def test_without_a_shift_estimates_are_plain_means():
    """With the sample itself as target the weights are one, and a mean is a mean."""
    found = covshift.estimate(X, Y, X, method="weights")
    assert found.value == pytest.approx(Y.mean(), abs=1e-6)
    doubly = covshift.estimate(X, Y, X)
    assert abs(doubly.value - Y.mean()) < 0.5 * doubly.standard_error


@pytest.mark.thorough
def test_without_a_shift_an_evaluation_is_the_plain_one():
    model = LinearRegression().fit(X, Y)
    fresh = np.random.default_rng(5).normal(size=(400, 3))
    y = np.sin(fresh[:, 0]) + fresh[:, 1]
    found = covshift.evaluate(model, fresh, y, fresh, metrics=["mae"])
    mae = np.abs(model.predict(fresh) - y).mean()
    assert abs(found.performances[0].value - mae) < 0.5 * found.performances[0].standard_error


def test_without_a_shift_intervals_are_those_without_weights():
    """Weights are near one; a quantile of scores may move to one of its neighbours."""
    options = {"random_state": 0}
    plain_model = covshift.ConformalRegressor(LinearRegression(), weighter=None, **options)
    found = covshift.ConformalRegressor(LinearRegression(), **options)
    one = np.asarray(plain_model.fit(X, Y).predict_interval(NEW))
    other = np.asarray(found.fit(X, Y, X_target=X).predict_interval(NEW))
    assert np.abs(other - one).max() < 0.2 * np.ptp(one, axis=1).mean()


def test_without_a_shift_the_diagnosis_finds_none():
    found = covshift.diagnose(X, X)
    assert found.verdict == "no shift"
    assert max(abs(part.smd) for part in found.features) == 0


def test_without_a_shift_additive_v_and_none_predict_alike():
    """V of the sample itself weighs cumulative residuals: another loss, the same function."""
    x = np.linspace(-2, 2, 200)[:, None]
    y = np.sin(2 * x[:, 0])
    one, other = (covshift.VSVR(name, fast=True).fit(x, y) for name in ("none", "blended"))
    assert np.abs(one.predict(x) - other.predict(x)).max() < 0.05


# Two to five rows


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
@pytest.mark.parametrize("options", [NAMED, {"fast": True}], ids=str)
def test_a_few_rows_choose_the_same_penalty_whatever_the_rounding(rows, options):
    def penalty(factor, offset):
        model = covshift.VSVR("none", **options)
        return model.fit(factor * X[:rows, :1] + offset, Y[:rows]).reg_

    expected = penalty(1.0, 0.0)
    for factor, offset in ((3.0, 0.0), (1e-7, 0.0), (1.0, 5.0), (7.0, 1e3)):
        assert penalty(factor, offset) == pytest.approx(expected, rel=1e-4)


# Far from zero

FAR = {
    "machine, linear": regression(kernel="linear"),
    "machine, linear, as they come": regression(
        kernel=covshift.Kernel("linear", coordinates="none")
    ),
    "machine, rbf, as they come": regression(
        kernel=covshift.Kernel("rbf", width="scale", coordinates="none")
    ),
    "machine, as they come": regression(kernel=covshift.Kernel(coordinates="none"), fast=True),
    **{name: ANSWERS[name] for name in (*WEIGHTERS, "landmarks", "estimated", "diagnosed")},
}


@each(FAR)
def test_an_offset_does_not_matter(name):
    """An offset of 1e7 leaves 1e-9 of error in the features; where rows are chosen, 1e5 is far."""
    offset = 1e5 if name in ("landmarks", "machine, as they come") else 1e7
    moved = Question(X + offset, T + offset, new=NEW + offset)
    np.testing.assert_allclose(FAR[name](moved), FAR[name](PLAIN), rtol=1e-4, atol=1e-4)


def test_a_kernel_of_rounding_says_so():
    model = covshift.VSVR("none", kernel=covshift.Kernel("poly", width="scale", coordinates="none"))
    with pytest.warns(covshift.exceptions.ConditionWarning, match="rounding dominates"):
        model.fit(X + 1e7, Y)


def test_products_that_overflow_are_refused():
    model = covshift.VSVR("none", kernel=covshift.Kernel("linear", coordinates="none"))
    with pytest.raises(covshift.exceptions.InputError, match="coordinates='standard'"):
        model.fit(1e200 * X, Y)
