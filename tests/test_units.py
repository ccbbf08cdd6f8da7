"""A unit of measurement does not matter: X or y times any factor gives the same answer."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import covshift
from covshift import bounds, weights
from covshift.compare import compare_methods

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
        model = covshift.VSVC(random_state=0, **options).fit(f * X, LABELS, X_target=f * T)
        return model.predict_proba(f * NEW)[:, 1]

    return answer


def regressor(**options):
    def answer(f, g):
        model = covshift.VSVR(random_state=0, **options).fit(f * X, g * Y, X_target=f * T)
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
        found = covshift.estimate(g * Y, f * X, f * T, method=method)
        return np.array([found.value, found.standard_error, *found.interval]) / g

    return answer


def evaluated(f, g):
    model = Step().fit(f * X[::2], g * Y[::2])
    found = covshift.evaluate(model, f * X[1::2], g * Y[1::2], f * T, metrics=["mae", "r2"])
    mae, r2 = found.performances
    return np.array([mae.value / g, mae.standard_error / g, r2.value, r2.standard_error])


def evaluated_classes(f, g):
    model = StepClassifier().fit(f * X[::2], LABELS[::2])
    found = covshift.evaluate(model, f * X[1::2], LABELS[1::2], f * T, metrics=["accuracy", "auc"])
    return np.array([[part.value, part.standard_error] for part in found.performances])


def diagnosed(f, g):
    found = covshift.diagnose(f * X, f * T)
    return np.array([[part.smd, part.ks, part.energy, part.p_value] for part in found.features])


def compared(f, g):
    found = compare_methods(f * X, g * Y, f * T, learner="vboost", task="regression", n_folds=2)
    return np.array([row["error"] for row in found.rows]) / g**2


def intervals(f, g):
    model = covshift.ConformalRegressor(Step(), random_state=0).fit(f * X, g * Y, X_target=f * T)
    return np.asarray(model.predict_interval(f * NEW)) / g


def sets(f, g):
    model = covshift.ConformalClassifier(StepClassifier(), random_state=0)
    return np.asarray(model.fit(f * X, LABELS, X_target=f * T).predict_set(f * NEW), dtype=float)


def bounded(f, g):
    return np.array([bounds.loss_error(g * Y, 100) / g / g])


AT_ONCE = {"fast": True, "reg": 1.0}
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
FACTORS = [1e12, 1e-300, 1e300]
MORE = [2.0**40, 1e-12, 1e150, 1e-150]
CLOSE = {"rtol": 1e-6, "atol": 1e-7}  # of what is found by a search that stops at 1e-8 or so
_known = {}


def reference(name, answer):
    if name not in _known:
        _known[name] = answer(1.0, 1.0)
    return _known[name]


@pytest.mark.parametrize(
    "factor", FACTORS + [pytest.param(f, marks=pytest.mark.thorough) for f in MORE]
)
@pytest.mark.parametrize("name", [*OF_X, *OF_BOTH])
def test_the_unit_of_the_features_does_not_matter(name, factor):
    answer = (OF_X | OF_BOTH)[name]
    np.testing.assert_allclose(answer(factor, 1.0), reference(name, answer), **CLOSE)


@pytest.mark.parametrize(
    "factor", FACTORS + [pytest.param(f, marks=pytest.mark.thorough) for f in MORE]
)
@pytest.mark.parametrize("name", OF_BOTH)
def test_the_unit_of_the_outcomes_does_not_matter(name, factor):
    answer = OF_BOTH[name]
    np.testing.assert_allclose(answer(1.0, factor), reference(name, answer), **CLOSE)
