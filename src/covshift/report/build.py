"""From two samples to the text of one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from sklearn.utils.validation import _num_samples

from .._files import write_atomically
from .._optional import import_extra
from .._row_weights import check_weight
from .._two_samples import TwoSamples, two_samples
from .._types import Real
from .._validation import unwrap_target
from ..conformal import Intervals, Sets
from ..diagnostics import Diagnosis, diagnose_and_weigh, standardized_mean_differences
from ..diagnostics.text import printable, signed
from ..estimates import Estimates
from ..evaluations import Evaluations
from ..exceptions import NoOverlapError
from . import pictures
from .answer import answer_of
from .comparison import checked
from .evaluation import evaluation_of
from .intervals import intervals_of
from .labels import check_labels, reliability_curves

# Characters that HTML does not allow: control characters, and halves of characters.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_PACKAGES = ("covshift", "numpy", "scipy", "scikit-learn", "matplotlib")


def build(
    X: Any,
    X_target: Any,
    *,
    y: Any = None,
    y_target: Any = None,
    weights: Any = None,
    weights_name: str | None = None,
    comparison: Mapping[str, Any] | None = None,
    diagnosis: Diagnosis | None = None,
    estimates: Estimates | NoOverlapError | None = None,
    evaluations: Evaluations | NoOverlapError | None = None,
    intervals: Intervals | Sets | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    frequency_weight: Any = None,
    target_frequency: Any = None,
    title: str | None = None,
    command: str | None = None,
    date: str | None = None,
    random_state: int = 0,
) -> str:
    """Return the report as the text of one HTML file that needs nothing else.

    Parameters
    ----------
    X, X_target : training and target rows
        As in `covshift.diagnose`.
    y : (N,) array, optional
        Labels of the training rows. With two classes the report shows a reliability diagram.
    y_target : (M,) array, optional
        Labels of the target rows, used only to score.
    weights : (N,) array, optional
        Final weights of the training rows for the corrected pictures. Default: those of
        `CDFWeights`, times ``sample_weight``.
    weights_name : str, optional
        What made the weights.
    comparison : dict, optional
        Methods and their estimated risks, as `Comparison.to_dict` and `covshift compare --json`
        give them: "loss", "recommended", "recommendation", "scored_on_target_labels", "rows" and
        the "learner", if there is one.
    diagnosis : Diagnosis, optional
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
    sample_weight, target_weight, frequency_weight, target_frequency
        As in `covshift.diagnose`.
    title : str, optional
        Heading of the page.
    command : str, optional
        The command that made the report, for the block on reproducibility.
    date : str, optional
        Shown as it is. None: no date, and the same input gives the same bytes.

    Notes
    -----
    The page loads nothing, runs one script (it sorts tables) that its content security policy names
    by hash, and shows every name as text. Cost: that of `covshift.diagnose`, and about a second for
    the pictures.

    Examples
    --------
    >>> from covshift import report
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(200, 300, random_state=0)
    >>> page = report.build(survey.X, survey.X_target, feature_names=survey.feature_names)
    >>> page[:15], "<svg" in page
    ('<!doctype html>', True)
    """
    jinja2 = import_extra("jinja2", extra="report", needed_by="covshift.report")
    samples = _with_printable_names(
        two_samples(
            X,
            X_target,
            target_weight,
            feature_names,
            sample_weight=sample_weight,
            frequency_weight=frequency_weight,
            target_frequency=target_frequency,
        )
    )
    found: Real | None = None
    if diagnosis is None:
        diagnosis, found = diagnose_and_weigh(
            samples.X,
            samples.T,
            feature_names=samples.names,
            sample_weight=samples.sample_weight,
            target_weight=samples.weight,
            random_state=random_state,
        )
    name = "CDFWeights"
    if weights is not None:
        found = check_weight(weights, _num_samples(X), "weights", of="X")[samples.rows]
        name = weights_name or "the given weights"
    if y is not None:
        y = check_labels(y, _num_samples(X), "y", "X")[samples.rows]
    if y_target is not None:
        count = _num_samples(unwrap_target(X_target))
        y_target = check_labels(y_target, count, "y_target", "X_target")[samples.target_rows]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"signed": signed, "sort_key": _sort_key}
    here = files("covshift.report")
    script = here.joinpath("sort.js").read_text(encoding="utf-8")
    page = environment.from_string(here.joinpath("page.html").read_text(encoding="utf-8")).render(
        title=title or "Covariate shift report",
        d=diagnosis,
        answer=None if estimates is None else answer_of(estimates),
        evaluation=None if evaluations is None else evaluation_of(evaluations),
        promise=None if intervals is None else intervals_of(intervals),
        weights_name=name if found is not None else None,
        comparison=None if comparison is None else checked(comparison),
        script=script,
        script_hash=_hash(script),
        style=here.joinpath("style.css").read_text(encoding="utf-8"),
        versions=_versions(),
        command=command,
        date=date,
        **_pictures(samples, diagnosis, found, y, y_target, random_state),
    )
    return _UNPRINTABLE.sub("�", str(page))


def write(path: str | os.PathLike[str], X: Any, X_target: Any, **options: Any) -> None:
    """Write the report of `build` to ``path``: whole, or not at all."""
    write_atomically(path, build(X, X_target, **options))


def _with_printable_names(samples: TwoSamples) -> TwoSamples:
    """Write control characters out, which neither HTML nor SVG can hold."""
    return replace(samples, names=tuple(printable(name, width=1000) for name in samples.names))


def _pictures(
    samples: TwoSamples,
    diagnosis: Diagnosis,
    weights: Real | None,
    y: Any,
    y_target: Any,
    random_state: int,
) -> dict[str, Any]:
    after = None
    if weights is not None:
        given = samples.share, weights, samples.own
        after = standardized_mean_differences(samples.X, samples.T, *given)
    curves = reliability_curves(samples, y, y_target, weights, random_state)
    return {
        "after": after,
        "love": pictures.love_plot(diagnosis, after),
        "ecdfs": pictures.distribution_functions(samples, diagnosis, weights),
        "histogram": None if weights is None else pictures.weight_histogram(weights),
        "map": pictures.overlap_map(samples, diagnosis, random_state),
        "reliability": None if curves is None else pictures.reliability(*curves),
    }


def _sort_key(value: float | None) -> str:
    """A number as a script reads it, empty where there is none."""
    return "" if value is None else repr(float(value)).replace("inf", "Infinity")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found
