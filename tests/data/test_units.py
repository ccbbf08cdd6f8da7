"""A unit of measurement does not matter: X or y times any factor gives the same answer."""

import numpy as np
import pytest
from machines import with_kernel
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import covshift
from covshift import weights
from covshift.exceptions import InputError
from covshift.numerics.hashing import RowUnits, row_hash

rng = np.random.default_rng(0)
X, T, NEW = rng.normal(size=(150, 2)), rng.normal(0.4, 1, size=(100, 2)), rng.normal(size=(30, 2))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=len(X))
LABELS = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)


class Step(RegressorMixin, BaseEstimator):
    """Two means, of the rows below and above the middle of the first column: in any unit."""

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = X.shape[1]
        self.cut_ = np.sort(X[:, 0])[len(X) // 2]
        w = np.ones(len(X)) if sample_weight is None else sample_weight / sample_weight.max()
        below = X[:, 0] < self.cut_
        self.means_ = [np.average(y[side], weights=w[side]) for side in (below, ~below)]
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] < self.cut_, *self.means_)


class StepClassifier(ClassifierMixin, Step):
    """The same for two classes."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        p = super().predict(X)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(super().predict(X) > 0.5).astype(int)]


def classifier(**options):
    def answer(f, g):
        model = covshift.VSVC(random_state=0, **with_kernel(options)).fit(
            f * X, LABELS, X_target=f * T
        )
        return model.predict_proba(f * NEW)[:, 1]

    return answer


def regressor(**options):
    def answer(f, g):
        model = covshift.VSVR(random_state=0, **with_kernel(options)).fit(
            f * X, g * Y, X_target=f * T
        )
        return model.predict(f * NEW) / g

    return answer


def weighter(made):
    def answer(f, g):
        model = made()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(f * X, X_target=f * T)
        return np.concatenate([model.weights_, model.predict_weights(f * NEW)])

    return answer


def trees(f, g):
    model = covshift.VBoostRegressor(n_estimators=8, early_stopping=True, n_iter_no_change=2)
    return model.fit(f * X, g * Y, X_target=f * T).predict(f * NEW) / g


def tree_classes(f, g):
    model = covshift.VBoostClassifier(n_estimators=8).fit(f * X, LABELS, X_target=f * T)
    return model.predict_proba(f * NEW)[:, 1]


def reweighted(f, g):
    return covshift.Reweighted(Step()).fit(f * X, g * Y, X_target=f * T).predict(f * NEW) / g


def robust(f, g):
    model = covshift.RobustBiasAware().fit(f * X, LABELS, X_target=f * T)
    return model.predict_proba(f * NEW)[:, 1]


def estimated(method):
    def answer(f, g):
        found = covshift.estimate(f * X, g * Y, f * T, method=method)
        return np.array([found.value, found.standard_error, *found.interval]) / g

    return answer


def evaluated(f, g):
    model = Step().fit(f * X[::2], g * Y[::2])
    found = covshift.evaluate(model, f * X[1::2], g * Y[1::2], f * T, metrics=["mae", "r2"])
    mae, r2 = found.performances
    return np.array([mae.value / g, mae.standard_error / g, r2.value, r2.standard_error])


def evaluated_classes(f, g):
    model = StepClassifier().fit(f * X[::2], LABELS[::2])
    found = covshift.evaluate(
        model, f * X[1::2], LABELS[1::2], f * T, metrics=["accuracy", "roc_auc"]
    )
    return np.array([[part.value, part.standard_error] for part in found.performances])


def diagnosed(f, g):
    found = covshift.diagnose(f * X, f * T)
    return np.array([[part.smd, part.ks, part.energy, part.p_value] for part in found.features])


def intervals(f, g):
    model = covshift.ConformalRegressor(Step(), random_state=0).fit(f * X, g * Y, X_target=f * T)
    return np.asarray(model.predict_interval(f * NEW)) / g


def sets(f, g):
    model = covshift.ConformalClassifier(StepClassifier(), random_state=0)
    return np.asarray(model.fit(f * X, LABELS, X_target=f * T).predict_set(f * NEW), dtype=float)


EXACT = {"correction": "blended", "fast": True}
LANDMARKS = EXACT | {"solver": "primal", "n_components": 30}
UNCHANGED = EXACT | {"coordinates": "none", "width": "scale", "fast": False}
OF_X = {
    "machine": classifier(**EXACT),
    "machine, cdf": classifier(**EXACT | {"coordinates": "cdf"}),
    "machine, gaussian V": classifier(**EXACT | {"correction": "gaussian"}),
    "machine, rbf": classifier(**UNCHANGED | {"kernel": "rbf"}),
    "machine, laplacian": classifier(**UNCHANGED | {"kernel": "laplacian"}),
    "machine, poly": classifier(**UNCHANGED | {"kernel": "poly"}),
    "machine, median": classifier(**UNCHANGED | {"kernel": "rbf", "width": "median"}),
    "machine, landmarks": classifier(**LANDMARKS),
    "machine, landmarks of rbf": classifier(
        **UNCHANGED | {"kernel": "rbf", "solver": "primal", "n_components": 30}
    ),
    "tree classes": tree_classes,
    "robust": robust,
    "evaluated classes": evaluated_classes,
    "diagnosed": diagnosed,
    "sets": sets,
    "KMM": weighter(lambda: weights.KMM(B=5)),
    **{
        name: weighter(getattr(weights, name))
        for name in (
            "KDE",
            "KLIEP",
            "RULSIF",
            "ULSIF",
            "CDFWeights",
            "Discriminative",
            "EnergyWeights",
            "EntropyBalancing",
            "GaussianRatio",
            "NearestNeighbors",
        )
    },
}
OF_BOTH = {
    "regression": regressor(**EXACT),
    "regression, landmarks": regressor(**LANDMARKS),
    "trees": trees,
    "reweighted": reweighted,
    "estimate": estimated("dr"),
    "estimate by weights": estimated("weights"),
    "estimate by a model": estimated("model"),
    "evaluated": evaluated,
    "intervals": intervals,
}
REFUSED_BEYOND = {  # what answers with numbers of the user's own units says so beyond 1e100
    name: answer
    for name, answer in (OF_X | OF_BOTH).items()
    if name.startswith(("estimate", "evaluated"))
}
FACTORS = [1e12, 1e-12, 1e150, 1e-150, 1e300, 1e-300]
CLOSE = {"rtol": 1e-6, "atol": 1e-7}  # a search stops at steps of 1e-8 or so
QUICK = {
    **{name: 1e300 for name in OF_X if hasattr(weights, name)},
    "KLIEP": 1e-300,
    "ULSIF": 1e-12,
    "machine, landmarks": 1e12,
    "machine, rbf": 1e-300,
    "machine, median": 1e300,
    "trees": 1e-12,
    "reweighted": 1e300,
    "diagnosed": 1e300,
    "intervals": 1e300,
}
_known = {}


def same(name, f, g):
    answer = (OF_X | OF_BOTH)[name]
    if name not in _known:
        _known[name] = answer(1.0, 1.0)
    beyond = not 1e-100 < f < 1e100 or g > 1e100 or (g < 1e-100 and name == "evaluated")
    if name in REFUSED_BEYOND and beyond:
        with pytest.raises(InputError, match="escale"):
            answer(f, g)
        return
    np.testing.assert_allclose(answer(f, g), _known[name], **CLOSE)


@pytest.mark.part(20)
@pytest.mark.parametrize("name", QUICK)
def test_the_unit_of_the_features_does_not_matter(name):
    same(name, QUICK[name], 1.0)


@pytest.mark.parametrize(("name", "factor"), [("regression, landmarks", 1e12), ("trees", 1e-300)])
def test_the_unit_of_the_outcomes_does_not_matter(name, factor):
    same(name, 1.0, factor)


@pytest.mark.thorough
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", [*OF_X, *OF_BOTH])
def test_no_unit_of_the_features_matters_to_anything(name, factor):
    same(name, factor, 1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", OF_BOTH)
def test_no_unit_of_the_outcomes_matters_to_anything(name, factor):
    same(name, 1.0, factor)


# What chooses rows by their content


def test_neither_units_nor_an_origin_nor_the_order_of_columns_change_the_keys_of_rows():
    wide, target = rng.normal(size=(500, 3)), rng.normal(size=(200, 3))
    wide[:, 2], target[:, 2] = np.exp(3 * wide[:, 2]), rng.integers(0, 2, size=200)
    keys = row_hash(wide, 5, RowUnits.of(target))
    assert len(np.unique(keys)) == 500
    for factor in (*FACTORS, np.array([2.54, 1e-7, 9 / 5])):
        other = row_hash(factor * wide, 5, RowUnits.of(factor * target))
        np.testing.assert_array_equal(other, keys)
    other = row_hash(9 / 5 * wide + 32, 5, RowUnits.of(9 / 5 * target + 32))
    np.testing.assert_array_equal(other, keys)
    turned = [2, 0, 1]
    other = row_hash(wide[:, turned], 5, RowUnits.of(target[:, turned]))
    np.testing.assert_array_equal(other, keys)


def test_weights_and_repeats_of_the_target_do_not_change_the_keys_of_rows():
    share = rng.random(len(T))
    share /= share.sum()
    again = RowUnits.of(np.repeat(T, 2, axis=0), np.repeat(share / 2, 2))
    here = RowUnits.of(T, share)
    np.testing.assert_array_equal(row_hash(X, 0, again), row_hash(X, 0, here))


def test_rows_that_differ_have_different_keys_beside_an_outlier():
    target = np.array([[0.0], [1.0], [2.0], [1e12]])
    keys = row_hash(np.linspace(0, 2, 1001)[:, None], 0, RowUnits.of(target))
    assert len(np.unique(keys)) == 1001


def test_units_of_many_rows_are_middles_of_all_values_few_or_many():
    """Few distinct values are counted, also where rare ones come late and zeros have two signs."""
    draw, M = np.random.default_rng(0), 100_001
    columns = {
        "many": draw.normal(size=M),
        "few": draw.integers(0, 9, M) / 7,
        "zeros": draw.choice([-0.0, 0.0, 1.0, -2.0], M),
        "one": np.full(M, 3.0),
        "late": np.where(np.arange(M) < 90_000, 1.0, draw.normal(size=M)),
        "rare": np.where(draw.uniform(size=M) < 1e-3, 10.0 + draw.integers(0, 40, M), 2.0),
        "largest": draw.choice([-1e308, 1e308, 0.0], M),
    }
    T = np.column_stack(list(columns.values()))
    units = RowUnits.of(T)
    for k, column in enumerate(T.T):
        center = np.sort(column)[(M - 1) // 2]
        others = np.sort(np.abs(column[column != center] / 2 - center / 2))
        spread = 2 * others[(len(others) - 1) // 2] if len(others) else abs(center)
        assert units.center[k] == center
        assert units.spread[k] == spread
        u = np.clip(units.rounded(column, k), -64, 64)
        np.testing.assert_allclose(units.marks[k], u.mean() * 2**20, atol=0.51)
    shuffled = RowUnits.of(draw.permutation(T))
    for name in ("center", "spread", "marks"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(units, name))


def test_early_stopping_asks_for_a_part_of_the_error_and_not_for_a_number():
    """With y in small units the tolerance was larger than any gain, and trees stopped at once."""
    options = {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 2}
    rounds = [
        covshift.VBoostRegressor(**options).fit(X, g * Y, X_target=T).n_iter_ for g in (1.0, 1e-6)
    ]
    assert rounds[0] == rounds[1] > 3


def test_a_price_of_leaves_is_in_the_unit_of_squared_outcomes():
    def fitted(g):
        model = covshift.VBoostRegressor(n_estimators=3, reg_leaves=0.5 * g**2)
        return model.fit(X, g * Y, X_target=T).predict(NEW) / g

    g = 2.0**140
    np.testing.assert_array_equal(fitted(g), fitted(1.0))


def test_coefficients_are_in_the_unit_of_y():
    g = 2.0**200
    one, other = (
        covshift.VSVR("blended", kernel=covshift.Kernel("rbf", width="scale")).fit(
            X, u * Y, X_target=T
        )
        for u in (1.0, g)
    )
    np.testing.assert_allclose(other.dual_coef_ / g, one.dual_coef_, rtol=1e-12)
    np.testing.assert_allclose(other.intercept_ / g, one.intercept_, rtol=1e-12)
    np.testing.assert_allclose(other.reg_path_["error"] / g / g, one.reg_path_["error"], rtol=1e-9)


def test_tensors_have_the_keys_of_arrays():
    torch = pytest.importorskip("torch")
    units = RowUnits.of(T)
    for factor in (1.0, 1e6, 1e12):  # near, far and very far from the target
        rows = factor * X
        keys = row_hash(torch.as_tensor(rows), 3, units)
        np.testing.assert_array_equal(keys, row_hash(rows, 3, units))
