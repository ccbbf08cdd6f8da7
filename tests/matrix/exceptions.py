"""Cells that are meant to differ from their row, each with the reason; and names without cells."""

from __future__ import annotations

import re
from typing import NamedTuple

from .problem import Entry, Expectation, Input, Refuses, Sound, SoundOrRefuses


class Exception_(NamedTuple):
    """Cells by regular expressions, which must match whole names, and what they expect."""

    entry: str
    given: str
    expects: Expectation | None  # None: the cell has no meaning
    reason: str


_GAP = "NaN|None in one place|pd.NA in one place|a nullable series with a gap"
_GAP += "|a polars series with a null|masked"
_FRAME = "(a|an) .*(frame|Arrow table).*"

EXCEPTIONS = [
    Exception_(
        "estimate.*|evaluate.*|plan|diagnose.*|restrict|compare|compare, (numbers|fit|weights)",
        "X_target: a (renamed column|missing column|column too many)",
        Sound(),
        "a column that one frame has alone is left out, and a note says so",
    ),
    Exception_(
        "estimate|estimate, proportion|plan|evaluate.*",
        f"y: ({_GAP})",
        Sound(),
        "a row without an outcome is left out, and a note says so",
    ),
    Exception_(
        "estimate, proportion",
        "y: (inf|minus inf|mixed.*|one class|continuous numbers|two columns|dates|timedeltas)",
        Sound(),
        "categories are whatever the cells spell, and several columns are several outcomes",
    ),
    Exception_(
        "evaluate", "y: (dates|timedeltas)", Sound(), "labels are compared as they are spelled"
    ),
    Exception_("evaluate", "y: mixed.*", Refuses("classes of y"), "labels are what they spell"),
    Exception_(
        "repeat_rows",
        "X: (no rows|a frame of no rows|a number|a string|an empty list|a generator|a dict|a set)"
        "|y: (too (long|short)|empty|an empty list|a number|a string|a generator|a dict)",
        Refuses("rows"),
        "there are no rows to repeat, or not as many",
    ),
    Exception_(
        "repeat_rows", "(X|y|X and X_target): .*", None, "it copies what rows hold, as it is"
    ),
    Exception_(
        "repeat_rows", "sample_weight: None", Refuses("counts|required|None"), "counts are required"
    ),
    Exception_(
        "repeat_rows",
        "sample_weight: a billionth of it",
        Refuses("not whole numbers"),
        "counts have a scale",
    ),
    Exception_(
        "effective_sample_size|WeightsDisplay.*",
        "sample_weight: (None|too long|too short|empty)",
        None,
        "weights alone have no rows to be compared with",
    ),
    Exception_("bounds.loss_error", "y: too .*", None, "residuals alone have no rows beside them"),
    Exception_(
        "bounds.loss_error.*",
        "y: (a column|a frame of one column)",
        Refuses("shape"),
        "residuals are one number per row: a column may be an outer product gone wrong",
    ),
    Exception_("bounds.loss_error_1d", "X: one dimension", Sound(), "one view may come as (N,)"),
    Exception_(
        "Reweighted|compare, estimators",
        "y: one class",
        SoundOrRefuses("at least 2 classes", named=False),
        "the user's model decides",
    ),
    Exception_(
        "TableEncoder",
        f"X(_target)?: ({_FRAME}|NaN|None.*|pd.NA.*|timedeltas|a date in a cell)",
        SoundOrRefuses("columns|time spans|empty|whole numbers|neither a number|holds|tuple"),
        "it takes gaps and dates, and a frame never goes with an array without names",
    ),
    Exception_(
        "TableEncoder",
        "X and X_target: all columns constant",
        SoundOrRefuses("No column is left that varies", named=False),
        "no one column is at fault",
    ),
    Exception_(
        "ReliabilityDisplay.*",
        "y: one class",
        Sound(),
        "a curve of one class is a line at zero or one",
    ),
    Exception_(
        "ReliabilityDisplay.from_predictions",
        "y: (strings|objects that are strings|a string series|a categorical|continuous numbers)",
        Refuses("0 and 1|text"),
        "y is 0 or 1, as it says",
    ),
    Exception_(
        ".*Display.from_estimator",
        "y: (strings|objects that are strings|a string series|a categorical)",
        Refuses("classes"),
        "the model knows the classes 0 and 1",
    ),
    Exception_(
        ".*Display.from_(estimator|predictions)",
        "y: a class of one row",
        Refuses("class|0 and 1"),
        "the picture is of two classes",
    ),
    Exception_(
        "Margins.from_rows",
        "X and X_target: (table with (dates|.*gaps|polars nulls)|all columns constant)",
        SoundOrRefuses("T has date|T contains NaN|No column has two cells", named=False),
        "margins are of numbers and categories without gaps",
    ),
    Exception_(
        "fit_blocks",
        "X_target: (a list of arrays|a sparse .*)",
        Refuses("blocks"),
        "an iterable of rows is taken for the blocks of a target",
    ),
    Exception_(
        "fit_blocks",
        "X_target: .*reordered.*",
        Refuses("order"),
        "blocks may come from anywhere: their columns are compared, not moved",
    ),
]

UNTRIED = {
    r"covshift\.operators\..*": "algebra on checked arrays; covshift.testing.check_operator",
    r"covshift\.testing\..*": "checks of estimators: they make their own data",
    r"covshift\.bounds\.(confidence|half_width|target_size)(_1d)?": "numbers alone, no rows",
    r"covshift\.datasets\.make_.*": "they make rows, and take numbers of them",
    r"covshift\.datasets\.survey_probability": "eight columns; checked as sigmoid_probability is",
    r"covshift\.persistence\..*|covshift\.(load|save)": "files; tests of model files",
    r"covshift\.distributed\.(fit|predict|from_parquet)": "Dask collections and files",
    r"covshift\.encoding\.(encoded|groups_of|read_cells|scaled)": "inside alone",
    r"covshift\.Kernel": "options of a kernel, no rows",
    r"covshift\.machine\.LeaveOneOut.*": "made by VSVC and VSVR from checked rows",
    r"covshift\.comparison\.(Method|TargetSafeSplit)": "no rows, or their number alone",
    r"covshift\.comparison\.(log_loss|squared_error|zero_one)": "ask a fitted model, which checks",
    r"covshift\.comparison\.imbalance": "typed for checked arrays",
    r"covshift\.diagnostics\.standardized_mean_differences": "typed for checked arrays",
    r"covshift\.weights\.cdf_mismatch": "typed for checked arrays",
    r"covshift\.corrections\.(Importance|Precomputed|Product)": "their parameters have own tests",
    r"covshift\.corrections\.as_correction|covshift\.weights\.as_weighter": "names, no rows",
    r"covshift\.corrections\.(Correction|EmpiricalCorrection|VMatrixCorrection)": "base classes",
    r"covshift\.weights\.Weighter": "a base class",
    r"covshift\.registry\..*": "names, no rows",
    r"covshift\.report\..*": "answers, which are made from checked rows",
    r"covshift\.plot\.(Sensitivity|Waterfall)Display": "answers, which are made from checked rows",
    r"covshift\.show\.Answer": "the base of results, which are made from checked rows",
    r"covshift\.plot\.(Batches|ForestPlot|Intervals|Margins)Display": "draw what answers hold",
}
"""Public callables that take no rows, or only checked ones, and why."""


def expectation(entry: Entry, one: Input) -> Expectation | None:
    """What a cell expects: that of its input, unless it is an exception."""
    found = entry.expectation(one)
    if found is None:
        return None
    for known in EXCEPTIONS:
        if re.fullmatch(known.entry, entry.name) and re.fullmatch(known.given, one.name):
            return known.expects
    return found
