"""Made-up data against their truth."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from covshift import datasets

# Generators


def test_sigmoid_shift_has_the_paper_distributions():
    shift = datasets.make_sigmoid_shift(20_000, 20_000, random_state=0)
    for X in (shift.X, shift.X_target):
        assert X.min() >= -1
        assert X.max() <= 1
    assert (shift.X < 0).mean() == pytest.approx(0.5, abs=0.01)
    assert (shift.X_target < 0).mean() == pytest.approx(0.7, abs=0.01)
    left = shift.X_target[shift.X_target < 0]
    assert left.mean() == pytest.approx(-0.5, abs=0.01)
    assert left.var() == pytest.approx(1 / 12, abs=0.003)


def test_sigmoid_shift_returns_the_true_probability():
    shift = datasets.make_sigmoid_shift(20_000, 10, random_state=1)
    np.testing.assert_allclose(shift.probability, 1 / (1 + np.exp(5 * shift.X[:, 0])))
    np.testing.assert_array_equal(shift.probability_function(shift.X), shift.probability)
    assert shift.y.mean() == pytest.approx(shift.probability.mean(), abs=0.01)
    assert_calibrated(shift.y, shift.probability)


def test_sigmoid_shift_density_ratio_moves_training_means_to_the_target():
    shift = datasets.make_sigmoid_shift(50_000, 50_000, random_state=2)
    assert shift.density_ratio.mean() == pytest.approx(1.0, abs=0.01)
    weighted = np.average(shift.X[:, 0], weights=shift.density_ratio)
    assert weighted == pytest.approx(shift.X_target.mean(), abs=0.01)
    assert abs(shift.X.mean() - shift.X_target.mean()) > 0.15


# Survey


def test_survey_columns_are_plausible():
    survey = datasets.make_survey(2000, 20_000, random_state=0)
    column = dict(zip(survey.feature_names, survey.X_target.T, strict=True))
    assert survey.X.shape == (2000, len(column))
    assert all(name in survey.DESCR for name in column)
    assert column["age"].min() >= 18
    assert column["age"].max() <= 90
    assert 25_000 < np.median(column["income"]) < 35_000 < column["income"].mean()
    assert column["household_size"].min() == 1
    assert column["doctor_visits"].min() == 0
    assert set(column["urban"]) == set(column["smoker"]) == {0.0, 1.0}
    assert 17 < column["bmi"].min() < column["bmi"].max() < 75
    assert np.corrcoef(column["age"], column["doctor_visits"])[0, 1] > 0.2
    assert np.corrcoef(column["education_years"], column["income"])[0, 1] > 0.2


def test_survey_respondents_are_older_richer_and_more_often_at_the_doctor():
    survey = datasets.make_survey(20_000, 20_000, random_state=1)
    for name in ("age", "income", "doctor_visits"):
        k = survey.feature_names.index(name)
        difference = survey.X[:, k].mean() - survey.X_target[:, k].mean()
        assert difference > 0.1 * survey.X_target[:, k].std()


def test_survey_mean_is_biased_as_documented_and_response_weights_repair_it():
    survey = datasets.make_survey(100_000, 100_000, random_state=2)
    truth = survey.probability_target.mean()
    assert truth == pytest.approx(0.317, abs=0.005)
    assert survey.y.mean() - truth == pytest.approx(0.078, abs=0.006)
    repaired = np.average(survey.y, weights=1 / survey.response_probability)
    assert repaired == pytest.approx(truth, abs=0.006)


def test_survey_overlap_is_as_documented():
    response = datasets.make_survey(100_000, 1, random_state=3).response_probability
    assert response.min() > 0.05
    assert response.max() < 0.80
    weights = 1 / response
    assert weights.sum() ** 2 / (weights**2).sum() == pytest.approx(75_000, abs=1500)


def test_survey_outcome_depends_on_the_features_alone():
    survey = datasets.make_survey(50_000, 50_000, random_state=4)
    np.testing.assert_array_equal(survey.probability_function(survey.X), survey.probability)
    assert_calibrated(survey.y, survey.probability)
    assert_calibrated(survey.y_target, survey.probability_target)


def test_survey_minutes_of_sport_are_biased_and_vary_as_documented():
    survey = datasets.make_survey(100_000, 100_000, outcome="sport", random_state=5)
    truth = survey.mean_target.mean()
    assert truth == pytest.approx(70, abs=1)
    assert survey.y.mean() == pytest.approx(50, abs=1)
    assert survey.y_target.mean() == pytest.approx(truth, abs=1)
    repaired = np.average(survey.y, weights=1 / survey.response_probability)
    assert repaired == pytest.approx(truth, abs=1)
    error, error_target = abs(survey.y - survey.mean), abs(survey.y_target - survey.mean_target)
    assert error.mean() == pytest.approx(12.5, abs=0.3)
    assert error_target.mean() == pytest.approx(17.5, abs=0.3)
    inside = (error_target <= np.quantile(error, 0.9)).mean()
    assert inside == pytest.approx(0.82, abs=0.01)


def test_survey_outcomes_share_their_people():
    condition, sport = (
        datasets.make_survey(30, 40, outcome=outcome, random_state=0)
        for outcome in ("condition", "sport")
    )
    np.testing.assert_array_equal(condition.X, sport.X)
    np.testing.assert_array_equal(condition.X_target, sport.X_target)
    np.testing.assert_array_equal(condition.mean, condition.probability)
    assert "probability" not in sport


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.make_survey(0), "n_train=0 must be a whole number"),
        (lambda: datasets.make_survey(9, outcome="y"), "outcome='y' must be 'condition' or"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("make", [datasets.make_sigmoid_shift, datasets.make_survey])
def test_bunches_are_repeatable_and_survive_pickling(make):
    bunch, again, other = (make(30, 40, random_state=seed) for seed in (0, 0, 1))
    again = pickle.loads(pickle.dumps(again))
    for name, value in bunch.items():
        np.testing.assert_array_equal(value, again[name])
    assert not np.array_equal(bunch.X, other.X)


def assert_calibrated(y: np.ndarray, probability: np.ndarray) -> None:
    """In every tenth of [0, 1], as many ones as the probabilities say, within 4 deviations."""
    tenth = np.minimum((10 * probability).astype(int), 9)
    for k in np.unique(tenth):
        p = probability[tenth == k]
        deviation = np.sqrt((p * (1 - p)).sum())
        assert abs(y[tenth == k].sum() - p.sum()) <= 4 * deviation + 1
