"""What is decided about columns that could be read in two ways, as data."""

from __future__ import annotations

import numpy as np
import pytest

from covshift.encoding.cells import Cells
from covshift.encoding.decide import decide
from covshift.encoding.decisions import Answer, options_of

ROWS = 40


def column(cells, name="x"):
    """Cells, repeated to some rows: numbers, or text."""
    every = [cells[k % len(cells)] for k in range(ROWS)]
    if any(isinstance(cell, str) for cell in cells):
        return Cells.of_text(name, "category", every)
    return Cells(name, "number", np.array(every, dtype=np.float64))


def decided(one, other=None, name="x", **options):
    """What is decided about a column: its steps, or None; and the columns that are left."""
    pair = column(one, name), column(one if other is None else other, name)
    made = decide({name: pair[0]}, {name: pair[1]}, **options)
    return (made.made[0].taken.steps if made.made else None), made


NAMES = [f"n{k}" for k in range(ROWS)]
CASES = {
    "names": (NAMES, None, "drop"),
    "free text": ([f"{k} said" for k in range(ROWS - 1)], None, None),  # too few rows to tell
    "codes": (["007", "010", "100"], None, "category"),
    "long numbers": (["12345678901234567", "22345678901234567"], None, "drop"),
    "numbers as text": (["1", "2", "3"], None, "category"),
    "truths": (["1", "0"], None, None),
    "a word": (["1.5", "2.5", "?", "3.5"], None, ("missing", "?")),
    "a word in one sample": ([1.5, 2.5, 3.5], ["1.5", "?", "3.5"], ("missing", "?")),
    "words": (["1", "2", "b", "c"], None, "category"),
    "words such as E51": (["1", "2", "E51"], None, ("missing", "E51")),
    "amounts": (["$1,012", "$999"], None, None),
    "thousands": (["1,282,697", "12"], None, None),
    "two spellings": (["5 %", "12"], None, "category"),
    "a decimal comma, or an answer": (["1,5", "2,5"], None, "category"),
    "dates of one format": (["15.11.2026", "1.2.2026"], None, ("date", "%d.%m.%Y")),
    "dates of a month's name": (["19-Sep-03", "17-Nov-04", " "], None, ("date", "%d-%b-%y")),
    "times": (["10:30", "9:15"], None, "drop"),
    "dates of two": (["1/2/2026", "3/4/2026"], None, "drop"),
    "ISO dates": (["2026-11-15", "2026-02-01"], None, None),
    "a gap above": ([1, 2, 3, 99], [1, 2, 3], ("missing", "99")),
    "amounts of money": ([1.5, 2.25, 99], None, None),
    "nothing": (["", " "], None, "drop"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_column_is_taken_as_what_it_seems_to_be(case):
    one, other, kind = CASES[case]
    steps, made = decided(one, other)
    assert steps == (None if kind is None else ((kind, "") if isinstance(kind, str) else kind,))
    assert ("x" in made.train) == (kind != "drop")
    assert len(made.notes) == (kind is not None)


@pytest.mark.parametrize(("number", "missing"), [(9, False), (-9, False), (99, False), (999, True)])
def test_one_row_of_9_or_99_may_be_a_count_and_several_are_missing(number, missing):
    rest = [0.0, 1.0, 2.0] * 13
    gap = (("missing", str(number)),)
    assert decided([number, *rest])[0] == (gap if missing else None)
    assert decided([number] * 4 + rest[4:])[0] == gap


NAMED = {
    "region": ([1, 2, 5], (("category", ""),)),
    "race": ([1, 2, 3, 9], (("missing", "9"), ("category", ""))),
    "person_id": (list(np.arange(ROWS) * 7.0), (("drop", ""),)),
    "weight": ([1.5, 2.5], None),
    "wgt": ([1.5, 2.5], None),
}


@pytest.mark.parametrize("name", NAMED)
def test_some_names_tell_more(name):
    cells, expected = NAMED[name]
    steps, made = decided(cells, name=name)
    assert steps == expected
    assert (name in made.left_out) == (name in ("person_id", "wgt"))
    assert len(made.notes) == 1


def test_what_was_declared_is_not_decided_about():
    steps, made = decided(["007", "010"], declared=("x",))
    assert steps is None
    assert made.train["x"].kind == "category"


DIFFERENT = {
    "text and numbers, both few": ([*"abcdef1"], [1.0, 2.0], "category"),
    "text and numbers, nothing shared": (["a", "b"], [1.0, 2.0], "drop"),
    "numbers as text and numbers": (["3", "1.5"], [1.5, 2.5], "number"),
    "infinite": ([np.inf, 1.0], [1.0, 2.0], "drop"),
    "huge": ([1.0, 2.0], [1e300, 2.0], "drop"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_cannot_be_used_as_it_is_stays_unless_it_is_to_be_mended(case):
    one, other, kind = DIFFERENT[case]
    assert decided(one, other)[0] is None
    steps, _ = decided(one, other, mending=True)
    assert steps == ((kind, ""),)


def test_a_note_spells_what_undoes_it_for_python_and_for_the_command_line():
    (note,) = decided(["007", "010", "100"], name="my zip")[1].notes
    what = "Read 'my zip' as categories: looks like a code, with leading zeros; "
    target = 'X_target=Target(rows, kinds={"my zip": "number"})'
    assert note.text == f"{what}{target} reads it as numbers."
    assert note.of_command().text == f"{what}--numeric 'my zip' reads it as numbers."


def test_an_answer_of_several_steps_is_several_options():
    answer = Answer.of(("missing", "?"), ("date", "%d.%m.%Y"), "drop")
    assert options_of("-a", answer) == ("--missing=-a=?", "--date=-a=%d.%m.%Y", "--drop=-a")
