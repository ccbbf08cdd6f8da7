"""What a comparison says: numbers of a readable size, and which machine to use."""

from __future__ import annotations

import math

import numpy as np
import pytest

from covshift.comparison import Comparison, Method, compare
from covshift.comparison.result import Scale
from covshift.report.comparisons import comparison_of


def rows_of(*contenders, risk=0.5):
    """Rows from (method, gain, error, control)."""
    first = {"method": "none", "kind": "baseline", "risk": risk, "standard_error": 0.1 * risk}
    rows = [first | {"gain": 0.0, "gain_standard_error": 0.0, "note": ""}]
    for method, gain, error, control in contenders:
        row = {"method": method, "risk": risk - gain, "gain": gain, "gain_standard_error": error}
        rows.append(
            {"standard_error": 0.1 * risk, "kind": "", "note": "", "control": control} | row
        )
    return rows


@pytest.mark.parametrize(
    ("risk", "written"),
    [
        (129071.6878, "129,072"),
        (9999.96, "10,000"),
        (23.14104, "23.14"),
        (0.13754, "0.1375"),
        (0.0021301, "0.002130"),
        (1.23e-9, "1.230e-09"),
        (489798608.2, "489.8 million"),
        (3.2e17, "3.200e+17"),
        (0.0, "0.0000"),
    ],
)
def test_risks_show_four_digits_and_their_scale(risk, written):
    assert Scale.of(risk).words(risk) == written


def test_all_numbers_of_a_table_have_one_scale():
    rows = rows_of(("cdf", 2_234_885.3, 3e6, False), risk=489_798_608.2)
    found = Comparison(rows, 2.5)
    text = str(found)
    assert "improves the risk by 2.2 million (0.7 s.e.)" in text
    assert "risk in millions: squared error" in text
    line = next(line for line in text.splitlines() if line.startswith("  cdf")).split()
    assert line[1:5] == ["487.6", "49.0", "2.2", "3.0"]
    assert "489798608" not in text
    table = comparison_of(found)["table"]
    assert [row[1].text for row in table.rows] == ["489,798,608", "487,563,723"]


def test_a_gain_that_would_be_written_as_nothing_is_called_level():
    sentence = Comparison(rows_of(("cdf", 0.0004, 0.01, False)), 2.6).recommendation
    assert sentence.endswith("no method improves on it; cdf, the best, is about as good.")


def test_a_number_that_is_short_of_another_is_written_so():
    sentence = Comparison(rows_of(("cdf", 0.0259, 0.01, False)), 2.6).recommendation
    assert "(2.59 s.e.), short of the 2.60 needed." in sentence
    sentence = Comparison(rows_of(("cdf", 0.0231, 0.01, False)), 2.6).recommendation
    assert "(2.3 s.e.), short of the 2.6 needed." in sentence


def test_another_learner_is_one_question_whatever_the_number_of_methods():
    rows = rows_of(("cdf", 0.001, 0.01, False), ("vsvm:none", 0.25, 0.11, True))
    strict = Comparison(rows, 2.6, learner="linear")
    assert strict.recommended == "none"
    found = Comparison(rows, 2.6, learner="linear", needed_by_control=1.7)
    assert found.recommended == "vsvm:none"
    assert found.recommendation.startswith(
        "Use vsvm without a correction (vsvm:none) in place of linear: the estimated risk on the "
        "target is 0.2500, that of the unweighted model 0.5000: better by 0.2500 (50%, 2.3 s.e.)."
    )
    assert found.recommendation.endswith("The learner helps, not the correction.")
    text = " ".join(str(found).split())
    assert "clear beyond 2.6 s.e. (of another learner without a correction, beyond 1.7)" in text
    assert found.to_dict()["recommended"] == "vsvm:none"


@pytest.mark.parametrize(
    ("over_control", "error", "control_gain", "recommended"),
    [
        (0.01, 0.02, 0.25, "vsvm:none"),
        (0.00, 0.00, 0.25, "vsvm:none"),
        (0.01, 0.001, 0.25, "vsvm:blended"),  # clearly better than its control
        (0.10, 0.05, 0.05, "vsvm:blended"),  # whose own gain is not clear
    ],
)
def test_a_correction_is_not_credited_with_what_its_control_gains_as_well(
    over_control, error, control_gain, recommended
):
    rows = rows_of(("vsvm:none", control_gain, 0.06, True), ("vsvm:blended", 0.26, 0.06, False))
    rows[2] |= {"gain_over_control": over_control, "gain_over_control_standard_error": error}
    found = Comparison(rows, 2.6, learner="linear", needed_by_control=1.7)
    assert found.best == "vsvm:blended"
    assert found.recommended == recommended
    assert f"  {recommended} * " in str(found)
    credited = "The learner helps, not the correction: vsvm:blended is not clearly better than that"
    assert (credited in found.recommendation) == (recommended == "vsvm:none")
    assert found.recommendation.startswith(
        "Use vsvm without a correction"
        if recommended == "vsvm:none"
        else "Use vsvm:blended (linear)"
    )


def test_a_control_that_halves_the_risk_is_what_to_use():
    """A circle in the plane: a line is lost, whatever the weights."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(150, 2)), rng.normal(0.2, 1, size=(150, 2))
    y = ((X**2).sum(axis=1) > 1.4).astype(int)
    methods = [
        Method("none", "baseline"),
        Method("entropy", "weights"),
        Method("vsvm:none", "correction", control=True),
        Method("vsvm:blended", "correction"),
    ]
    found = compare(X, y, T, learner="linear", methods=methods)
    assert found.rows[2]["risk"] < found.rows[0]["risk"] / 2
    assert found.recommended == "vsvm:none"
    over = found.rows[3]["gain_over_control"]
    assert over == pytest.approx(found.rows[2]["risk"] - found.rows[3]["risk"])
    assert [row["gain_over_control"] for row in found.rows[:3]] == [None] * 3
    assert "in place of linear" in found.recommendation
    assert found.needed_by_control < found.needed < math.inf


def test_weights_of_held_out_rows_are_fitted_once(monkeypatch):
    from covshift.comparison import target

    real, names = target.fit_weights, []

    def counted(name, *args, **options):
        names.append(name)
        return real(name, *args, **options)

    monkeypatch.setattr(target, "fit_weights", counted)
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    methods = [Method("none", "baseline"), Method("cdf", "weights"), Method("entropy", "weights")]
    compare(X, X[:, 0], T, learner="linear", task="regression", methods=methods)
    assert sorted(names) == ["cdf", "entropy"]
