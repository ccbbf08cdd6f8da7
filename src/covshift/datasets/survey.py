"""A synthetic health survey in which the people who answer are not the people who live there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from ..data.parameters import one_of, whole
from ..data.validation import check_points
from ..numerics.array import Real, to_numpy

__all__ = ["make_survey", "survey_probability"]


FEATURE_NAMES = [
    "age",
    "income",
    "education_years",
    "household_size",
    "doctor_visits",
    "urban",
    "smoker",
    "bmi",
]


def make_survey(
    n_train: int = 1000,
    n_target: int = 2000,
    *,
    outcome: Literal["condition", "sport"] = "condition",
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw the answers to a survey, and a separate sample of the population it asked.

    The outcome y is a chronic condition, or the minutes of sport in a week. Everybody is asked;
    whether a person answers depends on age, income and visits to the doctor only (older, richer and
    more often at the doctor: more likely). Answers become ``X`` and ``y``; ``X_target`` is a fresh,
    unbiased sample.

    Covariate shift holds exactly: given the features, y is independent of the answer. The true
    density ratio of target over training is proportional to 1 / ``response_probability``.

    The facts, in the limit of many rows: 28% answer; a person's chance to answer lies between
    0.05 and 0.80 (5th to 95th percentile of the population: 0.10 to 0.54). The condition is
    present in 31.7% of the population and in 39.5% of the answers, so the plain mean is 7.8
    percentage points too high. With the true weights, the effective sample size is
    75% of the rows. The numbers are invented, not estimated from any survey.

    Minutes of sport fall with age along a curve, to which no line in age is near, and vary in
    proportion to their mean: the young, who seldom answer, do more and differ more. Their mean is
    70 in the population and 50 in the answers. So a model judged by answers alone looks better
    than it is: the true mean is off by 12 minutes in the answers, by 18 in the population, and
    the bound that holds 90% of the answers holds 82% of the population.

    Parameters
    ----------
    n_train, n_target : int
        Numbers of answers and of rows in the population sample.
    outcome : {"condition", "sport"}, default="condition"
        A chronic condition, 0 or 1; or minutes of sport in a week, a number.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X`` (n_train, 8), ``y``, ``X_target`` (n_target, 8), ``y_target`` (to judge, not to
        fit); ``mean`` and ``mean_target``, the true E[y|x] of the rows, for the condition also
        called ``probability`` and ``probability_target``; ``response_probability``, the chance to
        answer of the rows of ``X``; for the condition ``probability_function``, which is
        ``survey_probability``; ``feature_names``; ``DESCR``.

    Notes
    -----
    Whole years, persons and visits tie often. Cost: O(rows), about 0.3 s for 100,000 answers.

    Examples
    --------
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(random_state=0)
    >>> survey.X.shape, survey.X_target.shape
    ((1000, 8), (2000, 8))
    >>> bool(survey.y.mean() > survey.probability_target.mean() + 0.04)
    True
    """
    whole(1).check(n_train, "n_train")
    whole(1).check(n_target, "n_target")
    one_of("condition", "sport").check(outcome, "outcome")
    rng = check_random_state(random_state)
    X = _draw_respondents(n_train, rng)
    X_target = _draw_people(n_target, rng)
    mean_of, draw = _OUTCOMES[outcome]
    mean, mean_target = mean_of(X), mean_of(X_target)
    survey = Bunch(
        X=X,
        y=draw(mean, rng),
        X_target=X_target,
        y_target=draw(mean_target, rng),
        mean=mean,
        mean_target=mean_target,
        response_probability=_response_probability(X),
        feature_names=list(FEATURE_NAMES),
        DESCR=_DESCR,
    )
    if outcome == "condition":
        survey.update(probability=mean, probability_target=mean_target)
        survey.update(probability_function=survey_probability)
    return survey


def survey_probability(X: ArrayLike) -> Real:
    """True probability of the chronic condition in ``make_survey``, for rows of 8 features.

    Examples
    --------
    >>> from covshift.datasets import survey_probability
    >>> survey_probability([[47, 30_000, 13, 2, 4, 1, 0, 27.0]]).round(3)
    array([0.289])
    """
    age, income, _, _, visits, _, smoker, bmi = to_numpy(check_points(X, "X")).astype(np.float64).T
    log_odds = (
        -1.8
        + 0.5 * _decades(age)
        - 0.35 * _log_income(income)
        + 0.45 * np.sqrt(visits)
        + 0.7 * smoker
        + 0.09 * (bmi - 27)
    )
    return np.asarray(expit(log_odds), dtype=np.float64)


def _draw_condition(probability: Real, rng: np.random.RandomState) -> np.ndarray:
    return (rng.uniform(size=len(probability)) < probability).astype(np.int64)


def _mean_minutes(X: Real) -> Real:
    age, smoker = X[:, 0], X[:, 6]
    return np.asarray(20 + 300 * np.exp((18 - age) / 12) * (1 - 0.3 * smoker), dtype=np.float64)


def _draw_minutes(mean: Real, rng: np.random.RandomState) -> Real:
    """Gamma of shape ten: the standard deviation is a third of the mean, or a little less."""
    return np.asarray(np.round(mean * rng.gamma(10.0, 0.1, size=len(mean))), dtype=np.float64)


_OUTCOMES: dict[str, tuple[Callable[[Real], Real], Callable[..., Any]]] = {
    "condition": (survey_probability, _draw_condition),
    "sport": (_mean_minutes, _draw_minutes),
}
"""How each outcome's mean depends on the rows, and how it is drawn around it."""


def _response_probability(X: Real) -> Real:
    age, income, visits = X[:, 0], X[:, 1], X[:, 4]
    log_odds = -1.0 + 0.45 * _decades(age) + 0.9 * _log_income(income) + 0.12 * (visits - 3)
    return np.asarray(0.05 + 0.75 * expit(log_odds), dtype=np.float64)


def _draw_respondents(n: int, rng: np.random.RandomState) -> Real:
    answers = np.empty((0, len(FEATURE_NAMES)))
    while len(answers) < n:
        people = _draw_people(4 * n, rng)
        answered = rng.uniform(size=len(people)) < _response_probability(people)
        answers = np.vstack([answers, people[answered]])
    return answers[:n]


def _draw_people(n: int, rng: np.random.RandomState) -> Real:
    def chance(log_odds: Real) -> Real:
        return np.asarray(rng.uniform(size=n) < expit(log_odds), dtype=np.float64)

    status = rng.normal(size=n)  # social position: not observed, ties the columns together
    age = np.floor(18 + 73 * rng.beta(1.4, 1.9, size=n))
    decades = _decades(age)
    urban = chance(0.8 + 0.6 * status)
    education = np.clip(
        np.round(13.2 + 2 * status - 0.3 * decades + 1.4 * rng.normal(size=n)), 6, 22
    )
    log_income = (
        10.4
        + 0.09 * (education - 13)
        + 0.04 * decades
        - 0.07 * decades**2
        + 0.15 * urban
        + 0.5 * rng.normal(size=n)
    )
    household_size = 1 + rng.poisson(np.exp(0.45 - 0.12 * decades - 0.1 * decades**2))
    smoker = chance(-1.1 - 0.15 * (education - 13) - 0.2 * decades)
    bmi = 20 + 0.4 * decades - 0.15 * (education - 13) + rng.gamma(4.5, 1.5, size=n)
    visit_rate = np.exp(0.8 + 0.18 * decades + 0.05 * (bmi - 27) + 0.2 * smoker)
    visits = rng.poisson(visit_rate * rng.gamma(2.0, 0.5, size=n))
    columns = [
        age,
        np.round(np.exp(log_income), -2),
        education,
        household_size,
        visits,
        urban,
        smoker,
        np.round(bmi, 1),
    ]
    return np.column_stack(columns).astype(np.float64)


def _decades(age: Real) -> Real:
    return (age - 47) / 10


def _log_income(income: Real) -> Real:
    return np.log(np.maximum(income, 100.0) / 30_000)  # incomes are rounded to 100, 0 may occur


_DESCR = """\
Synthetic health survey (covshift.datasets.make_survey)

age              whole years, 18 to 90
income           household income per year, rounded to 100, log-normal given the rest
education_years  whole years, 6 to 22
household_size   persons, 1 or more
doctor_visits    visits in the last twelve months, 0 or more
urban            1 if the person lives in a town, else 0
smoker           1 or 0
bmi              body mass index, one decimal
y                condition: 1 if the person has a chronic condition, else 0
                 sport: minutes in a week

Answering depends on age, income and doctor_visits; y depends on the features and on nothing else.
"""
