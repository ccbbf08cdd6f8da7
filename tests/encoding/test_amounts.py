"""Amounts as people write them are numbers where all cells of a column are written alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from covshift import TableEncoder, estimate
from covshift.encoding.amounts import spelling_of
from covshift.exceptions import InputError

READ = {
    ("$1,012", "$999.5"): [1012, 999.5],
    ("1.234,50 €", "12,00 €"): [1234.5, 12],
    ("€1.234", "€999"): [1234, 999],  # nobody writes three decimals of a euro
    ("€1.5M", "€565K", "€0"): [1.5e6, 565e3, 0],
    ("($5)", "-$3", "$0"): [-5, -3, 0],
    ("1,5 %", "12 %"): [1.5, 12],
    ("1 year", "2 years"): [1, 2],
    ("1,012", "999"): [1012, 999],
    ("12'345.5", "7"): [12345.5, 7],
    ("1 234", "12 345 678"): [1234, 12345678],
    ("1.000 kg", "2.5 kg"): [1, 2.5],
}


@pytest.mark.parametrize("words", READ)
def test_amounts_of_one_spelling_are_read(words):
    spelling = spelling_of(words)
    assert spelling is not None
    assert [spelling.read(word) for word in words] == READ[words]


@pytest.mark.parametrize(
    "words",
    [
        ("1.5", "7"),  # plain numbers
        ("$5", "7 €"),
        ("5 %", "7"),
        ("2 years", "3 months"),
        ("1st", "2nd"),
        ("1,2", "1,3"),  # two answers to a question, or a decimal comma
        ("1,2,3", "2,3,4"),
        ("01234", "$5"),
        ("$5", "none"),
        ("10:30", "9:15"),
        ("1.2.2026", "15.11.2026"),
        ("555-1234", "555-4321"),
        ("1,234", "0,500"),
        ("($5", "$3)"),
        ("A1", "B2"),
    ],
)
def test_other_texts_are_no_amounts(words):
    assert spelling_of(words) is None


def test_a_rule_reads_new_rows_as_it_was_learned():
    encoder = TableEncoder().fit(pd.DataFrame({"p": ["1,5 €", "2,25 €", None]}))
    new = pd.DataFrame({"p": ["1,234 €", None]})
    assert encoder.transform(new)[:, 0].tolist() == [1.234, 1.875]
    with pytest.raises(InputError, match="'p' holds text"):
        encoder.transform(pd.DataFrame({"p": ["$3"]}))


def test_an_amount_in_one_sample_meets_numbers_in_the_other():
    encoder = TableEncoder().fit(
        pd.DataFrame({"p": ["$1,012", "$7"]}), X_target=pd.DataFrame({"p": [5.0, 6.0]})
    )
    assert encoder.columns == ("p",)


def test_amounts_that_drive_the_selection_are_corrected_for():
    rng = np.random.default_rng(0)
    amount = rng.lognormal(7, 0.6, 3000)
    rows = pd.DataFrame({"sales": [f"${v:,.0f}" for v in amount], "x": rng.normal(size=3000)})
    y = 2 * np.log(amount) + rng.normal(size=3000)
    chosen = rng.uniform(size=3000) < 0.3 / (1 + np.exp(-2 * (np.log(amount) - 7)))
    found = estimate(rows[chosen], y[chosen], rows[~chosen], method="weights")
    low, high = found.interval
    assert low < y[~chosen].mean() < high
    assert y[chosen].mean() > high


def test_a_column_of_which_most_rows_are_at_rare_levels_is_left_out_with_a_warning():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=600), "school": [f"s{k // 3}" for k in range(600)]})
    rows.loc[::5, "school"] = "none"
    encoder = TableEncoder().fit(rows[:300], X_target=rows[300:])
    assert encoder.columns == ("x",)
    warnings = [note.text for note in encoder.notes_ if note.severity == "warning"]
    assert len(warnings) == 1
    assert warnings[0].startswith("Left out 'school'")
    kept = TableEncoder({"school": "category"}).fit(rows[:300], X_target=rows[300:])
    assert "school" in kept.group_names
