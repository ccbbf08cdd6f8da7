"""Any estimator with any weighter: weights arrive where they belong, or it is an error."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from covshift import VSVC, ConformalRegressor, Kernel, Reweighted
from covshift.datasets import make_survey
from covshift.exceptions import InputError, NoTargetWarning
from covshift.weights import CDFWeights, GaussianRatio

data = make_survey(300, 300, random_state=0)
X, y, T = data.X, data.y, data.X_target
scaler = StandardScaler().fit(X)
LEARNER = LogisticRegression(max_iter=1000)

SCALED = Reweighted(LEARNER, weighter="gaussian-ratio", preprocess=StandardScaler())


def test_it_is_the_estimator_with_the_weighters_weights():
    model = SCALED.fit(X, y, X_target=T)
    Z, Z_T = scaler.transform(X), scaler.transform(T)
    w = GaussianRatio().fit(Z, X_target=Z_T).weights_
    expected = clone(LEARNER).fit(Z, y, sample_weight=w)
    np.testing.assert_allclose(model.predict_proba(T), expected.predict_proba(Z_T))
    np.testing.assert_allclose(model.weights_, w)
    assert np.abs(model.predict_proba(T) - clone(LEARNER).fit(Z, y).predict_proba(Z_T)).max() > 0.01


def test_the_default_weights_are_those_for_training():
    """Weights for means cost learners of few rows more than the shift does."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 3)), rng.normal(0.6, 1, size=(80, 3))
    found = Reweighted(LinearRegression()).fit(X, X[:, 0], X_target=T).weights_
    np.testing.assert_array_equal(found, CDFWeights(purpose="training").fit(X, X_target=T).weights_)
    assert found.max() < CDFWeights().fit(X, X_target=T).weights_.max()


class Hides(TransformerMixin, BaseEstimator):
    """As `TargetEncoder`: training rows become something else than the same rows later."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X

    def fit_transform(self, X, y=None):
        return X / 2


def test_a_pipeline_learns_what_it_learns_alone():
    pipeline = make_pipeline(Hides(), LEARNER)
    expected = pipeline.fit(X, y).predict_proba(T)
    model = Reweighted(pipeline, weighter=None).fit(X, y, X_target=T)
    np.testing.assert_allclose(model.predict_proba(T), expected)


def test_a_pipeline_takes_text_or_says_which_columns_it_cannot():
    frame = pd.DataFrame({"x": X[:, 0], "town": np.where(X[:, 1] > 0, "a", "b")})
    with pytest.raises(InputError, match=r"'town' hold text.*TableEncoder"):
        Reweighted(make_pipeline(StandardScaler(), LEARNER)).fit(frame, y, X_target=frame)
    levels = make_pipeline(OneHotEncoder(), LEARNER)  # sparse
    assert (
        Reweighted(levels)
        .fit(frame[["town"]], y, X_target=frame[["town"]])
        .score(frame[["town"]], y)
    )


def test_a_pipeline_transforms_sample_and_target_alike():
    pipeline = make_pipeline(StandardScaler(), LEARNER)
    inside = Reweighted(pipeline, weighter="gaussian-ratio").fit(X, y, X_target=T)
    outside = SCALED.fit(X, y, X_target=T)
    np.testing.assert_allclose(inside.predict_proba(T), outside.predict_proba(T))


def test_a_v_machine_at_the_end_of_a_pipeline_gets_the_transformed_target():
    machine = VSVC("additive", kernel=Kernel("rbf", width="scale"))
    pipeline = make_pipeline(StandardScaler(), machine)
    model = Reweighted(pipeline, weighter=None).fit(X, y, X_target=T)
    expected = machine.fit(scaler.transform(X), y, X_target=scaler.transform(T))
    np.testing.assert_allclose(model.predict_proba(T), expected.predict_proba(scaler.transform(T)))


def test_a_model_whose_numbers_overflow_predicts_no_probabilities():
    model = clone(SCALED).fit(X, y, X_target=T)
    model.estimator_[-1].coef_ = model.estimator_[-1].coef_ * np.nan
    with pytest.raises(InputError, match="not finite"):
        model.predict_proba(T)


def test_weights_that_would_be_lost_are_an_error():
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit takes no sample_weight"):
        Reweighted(KNeighborsClassifier(), weighter="gaussian-ratio").fit(X, y, X_target=T)
    Reweighted(KNeighborsClassifier(), weighter=None).fit(X, y, X_target=T)


def test_a_search_inside_hands_the_weights_on():
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]})
    model = Reweighted(search, weighter="gaussian-ratio").fit(X, y, X_target=T)
    depth = model.estimator_.best_params_["max_depth"]
    plain = DecisionTreeClassifier(random_state=0, max_depth=depth)
    expected = plain.fit(X, y, sample_weight=model.weights_).predict_proba(T)
    np.testing.assert_allclose(model.predict_proba(T), expected)
    inner = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]})
    with pytest.raises(TypeError, match="takes no sample_weight"):
        Reweighted(inner, weighter="gaussian-ratio").fit(X, y, X_target=T)


def test_own_sample_weights_multiply():
    own = np.linspace(0.5, 2, 300)
    model = Reweighted(Ridge(), weighter="gaussian-ratio").fit(X, y, X_target=T, sample_weight=own)
    expected = Ridge().fit(X, y, sample_weight=own / own.mean() * model.weights_)
    np.testing.assert_allclose(model.predict(T), expected.predict(T))
    plain = Reweighted(Ridge(), weighter=None).fit(X, y, X_target=T, sample_weight=own)
    alone = Ridge().fit(X, y, sample_weight=own / own.mean())
    np.testing.assert_allclose(plain.predict(T), alone.predict(T))


def test_it_looks_like_the_estimator_it_wraps():
    assert is_classifier(Reweighted(LEARNER))
    assert is_regressor(Reweighted(make_pipeline(StandardScaler(), LinearRegression())))
    assert not hasattr(Reweighted(LinearRegression()), "predict_proba")
    model = SCALED.fit(X, y, X_target=T)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert model.n_features_in_ == X.shape[1]
    assert 0 < model.score(X, y) <= 1
    assert model.decision_function(T).shape == (300,)


def test_the_target_survives_a_search_as_a_one_tuple():
    model = Reweighted(make_pipeline(StandardScaler(), LEARNER), weighter="discriminative")
    scores = cross_val_score(model, X, y, params={"X_target": (T,)}, cv=3)
    assert scores.shape == (3,)
    model.set_params(estimator__logisticregression__C=0.5)
    assert model.fit(X, y, X_target=(T,)).estimator_[-1].C == 0.5


def test_data_frames_give_the_same_model():
    frame, target = (pd.DataFrame(a, columns=data.feature_names) for a in (X, T))
    model = Reweighted(make_pipeline(StandardScaler(), LEARNER), weighter="gaussian-ratio")
    expected = model.fit(X, y, X_target=T).predict_proba(T)
    got = model.fit(frame, y, X_target=target).predict_proba(target)
    np.testing.assert_allclose(got, expected)


def test_without_a_target_nothing_is_corrected():
    model = Reweighted(Ridge(), weighter="gaussian-ratio").fit(X, y)
    np.testing.assert_allclose(model.weights_, 1)


def test_the_steps_of_a_pipeline_keep_their_names():
    pipeline = Pipeline([("units", StandardScaler()), ("model", LEARNER)])
    fitted = Reweighted(pipeline, weighter="gaussian-ratio").fit(X, y, X_target=T)
    assert list(fitted.estimator_.named_steps) == ["units", "model"]
    fitted = Reweighted(pipeline, weighter=None, preprocess=StandardScaler()).fit(X, y, X_target=T)
    assert list(fitted.estimator_.named_steps) == ["preprocess", "units", "model"]
    assert list(SCALED.fit(X, y, X_target=T).estimator_.named_steps) == ["preprocess", "estimator"]


@pytest.mark.parametrize(
    "model", [Reweighted(Ridge()), ConformalRegressor(Ridge())], ids=["Reweighted", "conformal"]
)
def test_a_fit_without_a_target_says_that_nothing_was_corrected(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(NoTargetWarning, match=r"corrects for nothing. Pass .* X_target="):
        clone(model).fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoTargetWarning)
        clone(model).fit(X, X[:, 0], X_target=X + 0.1)
        ConformalRegressor(Ridge(), weighter=None).fit(X, X[:, 0])
