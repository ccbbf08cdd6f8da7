"""From two samples to the text of one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import _num_samples

from ..conformal import Intervals, Sets
from ..data.labels import labels_of_rows
from ..data.row_weights import row_weights
from ..data.validation import is_margins, refuse_target_weights, unwrap_target
from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..estimates import Estimates
from ..evaluations import Evaluations
from ..exceptions import NoOverlapError
from ..files.writing import write_atomically
from ..numerics.progress import import_extra
from . import pictures
from .labels import Labelled, recommended_model, reliability_curves
from .margins import margins_page
from .render import render
from .sections import answer_of, checked, data_of, evaluation_of, intervals_of
from .shift import shift_of

TITLE = "Covariate shift report"


def build(
    X: Any,
    X_target: Any,
    *,
    y: Any = None,
    y_target: Any = None,
    weights: Any = None,
    weights_name: str | None = None,
    comparison: Mapping[str, Any] | None = None,
    diagnosis: Diagnosis | MarginsDiagnosis | None = None,
    estimates: Estimates | NoOverlapError | None = None,
    evaluations: Evaluations | NoOverlapError | None = None,
    intervals: Intervals | Sets | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    groups: Any = None,
    date_names: Sequence[str] | None = None,
    title: str | None = None,
    train_name: str | None = None,
    target_name: str | None = None,
    outcome_name: str | None = None,
    command: str | None = None,
    date: str | None = None,
    random_state: int = 0,
) -> str:
    """Return the report as the text of one HTML file that needs nothing else.

    Parameters
    ----------
    X, X_target : training and target rows
        As in `covshift.diagnose`. With `covshift.Margins` as the target the report shows every
        published number, and says what would need rows.
    y : (N,) array, optional
        Labels of the training rows. With two classes the report shows a reliability diagram: of the
        model that the ``comparison`` recommends, without one of a logistic regression, and none
        beside ``evaluations``, which have their own.
    y_target : (M,) array, optional
        Labels of the target rows, used only to score.
    weights : (N,) array, optional
        Final weights of the training rows for the corrected pictures. Default: those of
        `CDFWeights`, times ``sample_weight``; with margins, those that come nearest to them.
    weights_name : str, optional
        What made the weights.
    comparison : dict, optional
        Methods and their estimated risks, as `Comparison.to_dict` and `covshift compare --json`
        give them: "loss", "recommended", "recommendation", "scored_on_target_labels", "rows" and
        the "learner", if there is one.
    diagnosis : Diagnosis or MarginsDiagnosis, optional
        What `covshift.diagnose` found for the same samples and names, where it is known already;
        the weights are then those given, or none. Default: it is made here.
    estimates : Estimates or NoOverlapError, optional
        What `covshift.estimate` found, or why it refused: the report opens with it.
    evaluations : Evaluations or NoOverlapError, optional
        What `covshift.evaluate` found, or why it refused: it comes next.
    intervals : Intervals or Sets, optional
        What `ConformalRegressor.predict_interval` or `ConformalClassifier.predict_set` returned,
        usually for the target: coverage and width come after that.
    feature_names, random_state
        As in `covshift.diagnose`.
    sample_weight, target_weight, groups
        As in `covshift.diagnose`.
    date_names : sequence of str, optional
        Names of columns that hold days since 1970-01-01, which are shown as dates; those of data
        frames are found.
    title : str, optional
        Heading of the page.
    train_name, target_name, outcome_name : str, optional
        What the samples are called, such as the names of their files, and the outcome: they stand
        below the heading.
    command : str, optional
        The command that made the report, for the block on reproducibility.
    date : str, optional
        Shown as it is. None: no date, and the same input gives the same bytes.

    Notes
    -----
    The page loads nothing, runs one script (it sorts tables, copies them as CSV) that its content
    security policy names by hash, shows every name as text, follows the reader's choice of light
    or dark, and holds all its numbers as JSON in the element with the id "numbers". Cost: that of
    `covshift.diagnose`, and about a second for the pictures; with labels and a comparison, six fits
    of the model.

    Examples
    --------
    >>> from covshift import report
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(200, 300, random_state=0)
    >>> page = report.build(survey.X, survey.X_target, feature_names=survey.feature_names)
    >>> page[:15], "<svg" in page
    ('<!doctype html>', True)
    """
    import_extra("jinja2", extra="report", needed_by="covshift.report")
    margins = is_margins(unwrap_target(X_target))
    if margins:
        refuse_target_weights(
            y_target=y_target,
            feature_names=feature_names,
            target_weight=target_weight,
            groups=groups,
            evaluations=evaluations,
        )
    facts: dict[str, Any] = {
        "title": title or TITLE,
        "top": {"train": train_name, "target": target_name, "outcome": outcome_name},
        "comparison": None if comparison is None else checked(comparison),
        "answer": None if estimates is None else answer_of(estimates),
        "evaluation": None if evaluations is None else evaluation_of(evaluations),
        "promise": None if intervals is None else intervals_of(intervals),
        "command": command,
        "date": date,
    }
    numbers = {
        **{key: facts[key] for key in ("title", "command", "date")},
        "samples": facts["top"],
        "estimates": data_of(estimates),
        "evaluations": data_of(evaluations),
        "intervals": data_of(intervals),
        "comparison": comparison,
    }
    model = recommended_model(facts["comparison"])
    if margins:
        return margins_page(
            X,
            unwrap_target(X_target),
            y=y,
            weights=weights,
            weights_name=weights_name,
            diagnosis=diagnosis,
            rows=row_weights(_num_samples(X), sample_weight),
            random_state=random_state,
            model=model,
            numbers=numbers,
            **facts,
        )
    shift = shift_of(
        X,
        X_target,
        weights=weights,
        weights_name=weights_name,
        diagnosis=diagnosis,
        feature_names=feature_names,
        sample_weight=sample_weight,
        target_weight=target_weight,
        groups=groups,
        date_names=date_names,
        random_state=random_state,
    )
    samples, found = shift.samples, shift.weights
    if y is not None:
        y = labels_of_rows(y, "y", _num_samples(X), "X")[samples.rows]
    if y_target is not None:
        count = _num_samples(unwrap_target(X_target))
        y_target = labels_of_rows(y_target, "y_target", count, "X_target")[samples.target_rows]
    curves = None
    if evaluations is None:  # which show that of their own model
        train = Labelled(samples.X, y, samples.sample_weight)
        target = Labelled(samples.T, y_target, samples.weight)
        curves = reliability_curves(train, found, random_state, target, model)
    return render(
        "rows.html",
        numbers={**numbers, **shift.numbers()},
        love=pictures.love_plot(shift.diagnosis, shift.after),
        ecdfs=pictures.distribution_functions(samples, shift.diagnosis, found),
        histogram=None if found is None else pictures.weight_histogram(found),
        map=pictures.overlap_map(samples, shift.diagnosis, random_state),
        reliability=None if curves is None else pictures.reliability(*curves),
        **shift.facts(),
        **facts,
    )


def write(path: str | os.PathLike[str], X: Any, X_target: Any, **options: Any) -> None:
    """Write the report of `build` to ``path``: whole, or not at all."""
    write_atomically(path, build(X, X_target, **options))
