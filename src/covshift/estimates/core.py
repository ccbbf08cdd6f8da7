"""`estimate`: from a biased sample to a number of the population."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Samples
from ..data.columns import check_outcomes, refuse_old_order
from ..data.parameters import flag, number, one_of, whole
from ..data.validation import is_margins, unwrap_target
from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..exceptions import InputTypeError
from .asked import Asked
from .margins import covered_by_margins, refuse_what_needs_rows
from .methods import METHODS, Method
from .overlap import check_overlap
from .result import Estimates
from .run import Run, Settings
from .weighing import are_weights

_MANY_ROWS = 100_000


def estimate(
    X: Any,
    y: Any = None,
    X_target: Any = None,
    *,
    what: str = "mean",
    by: Any = None,
    method: Method = "dr",
    weighter: Any = None,
    outcome_model: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    strata: Any = None,
    cluster: Any = None,
    finite_population: bool = False,
    category: Any = None,
    population_size: float | None = None,
    denominator: Any = None,
    q: Any = None,
    at: Any = None,
    reference: Any = None,
    family: str | None = None,
    regressors: Any = None,
    restrict: str | None = None,
    sensitivity: float | None = None,
    max_weight: float | None = None,
    confidence: float = 0.95,
    errors: str = "influence",
    n_bootstrap: int = 200,
    n_folds: int | None = None,
    feature_names: Any = None,
    diagnosis: Any = None,
    random_state: int = 0,
    verbose: bool = False,
) -> Estimates:
    """Say what a quantity is in the population, from a sample of whoever was easy to reach.

    The default is cross-fitted and doubly robust. With h(x) = E[y | x], predicted for every row by
    models that have not seen it, weights w that carry the sample to the target, and the target's
    shares s,

        theta = sum_q s_q h(t_q) + sum_i w_i (y_i - h(x_i)) / sum_i w_i ,
        se^2  = sum_q s_q^2 (h(t_q) - mean h)^2 + sum_i w_i^2 (y_i - h(x_i) - r)^2 / (sum w)^2 ,

    r the weighted mean of the residuals. The estimate is right if the weights or the outcome model
    are; the first term of the error is that of the target's own sampling. Both samples must come
    from one population given the features: E[y | x] is the same (covariate shift).

    Parameters
    ----------
    X, X_target : (N, n) and (M, n) arrays or data frames
        Features of the training rows and of the population's. Frames may hold text, categories,
        dates, booleans and gaps (`covshift.TableEncoder` says what becomes of them). X_target may
        be a `covshift.Margins`: then the weights meet its numbers exactly where that is
        possible (`EntropyBalancing`, else `CDFWeights`), the outcome model is linear in what is
        published, ``by`` names a column of the margins, and their ``size`` tells their sampling
        error (none without a size, or in a total of so many). What belongs to rows (y, by,
        sample_weight, strata, cluster, denominator; target_weight) may be the name of a column,
        which then is no feature; a Series is put in the order of the frame's index.
    y : name, list of names, (N,) array, (N, k) array or data frame
        One outcome per training row, or several columns. Rows without one (NaN, None) are left out,
        counted and named.
    what : str
        "mean" (of zeros and ones: a share), "proportion" (of every category, or of ``category``),
        "total" (with ``population_size``, or the size of margins), "ratio" (of the means of y and
        ``denominator``), "median", "quantile" (at the levels ``q``), "cdf" (the share of outcomes
        of at most each value in ``at``), "difference" (between the groups of ``by`` and the
        ``reference`` group), or "coefficients" (of the columns ``regressors``; ``family`` "linear"
        or "logistic").
    by : str, (N,) array or pair of arrays, optional
        Groups: a column, one label per training row, or labels of both samples. A column that
        both frames have is a feature too, as a category. Groups are ratios with their
        indicators, and the overall number stands beside them.
    method : {"dr", "weights", "model", "none"}
        Doubly robust; the weighted sample; the outcome model's mean over the target; the sample as
        it is. All are in ``table``.
    weighter : weighter, name or (N,) array, optional
        What makes the weights; default: CDF weights on top of an exponential tilt of means and
        squares. An array holds factors that are known already: they multiply ``sample_weight``.
    outcome_model : scikit-learn estimator, optional
        Regressor, or classifier for categories and zeros and ones; cloned, and fitted to X as it
        was given; a frame with text, dates or gaps becomes numbers first, unless it is a pipeline
        or a model of covshift. Default: ridge regressions on features, broken lines and a kernel,
        and boosted trees, mixed by cross-fitted error.
    sample_weight, target_weight : names, or (N,) and (M,) arrays, optional
        Design weights, on any scale.
    strata, cluster : names, or (N,) arrays, optional
        Strata and primary units of the training sample's design. Rows of a cluster are never
        parted between a model and its check.
    finite_population : bool
        The target rows, or those that the margins describe, are the whole population: they have no
        sampling error.
    restrict : {None, "overlap"}
        What to do where the samples do not overlap: raise `NoOverlapError`, or answer for the
        covered part of the target and say which.
    sensitivity : float, optional
        Also give intervals that hold if the mean of y given x differed by up to so much between
        sample and population: for shares in units of probability, for quantiles if all of y given
        x moved by it, for ratios if y did and the denominator did not.
    max_weight : float, optional
        Limit of the weights, in units of their mean.
    confidence : float
        Coverage of the intervals.
    errors : {"influence", "bootstrap"}
        Where errors come from: influence values, or ``n_bootstrap`` draws in each of which the
        weights are fitted again; ``replicate_weights`` keeps these. The draws take margins as
        exact.
    n_folds : int, optional
        Folds of the cross-fitting; default 5, beyond 100,000 training rows 3.
    feature_names : sequence of str, optional
        Names of the columns of arrays.
    diagnosis : Diagnosis, optional
        Of the same samples, where `diagnose` has been called already.
    random_state : int
        Seed of all that is drawn.
    verbose : bool
        Show a progress bar of the bootstrap, on a terminal.

    Returns
    -------
    Estimates
        ``print`` it; ``value``, ``interval``, ``standard_error``, ``table``, ``to_frame()``,
        ``to_dict()``, ``plot()``.

    Notes
    -----
    Theory: section 9. Sources: Robins, Rotnitzky and Zhao (1994); Chernozhukov et al. (2018),
    *Double/debiased machine learning for treatment and structural parameters*. Cost: one fit of the
    weighter and ``n_folds`` fits of the outcome models, O(N + M) besides. Models of ours learn from
    at most 100,000 rows per fold, the default weights from as many of each sample.

    Examples
    --------
    >>> from covshift import estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(500, 1000, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target)
    >>> print(found.sentence)
    The sample says 40.2 %; corrected for who answered: 31.7 % (95 % interval 27.9 to 35.8).
    """
    refuse_old_order(X, y)
    target_given = X.margins if isinstance(X, Samples) else unwrap_target(X_target)
    margins = target_given if is_margins(target_given) else None
    of_these = margins is not None and what == "total" and population_size is None
    if margins is not None and of_these:
        population_size = margins.size
    asked = Asked(
        what, category, population_size, denominator, q, at, reference, family, regressors
    )
    groups = X.groups if isinstance(X, Samples) else by
    asked.check(by=groups, sensitivity=sensitivity)
    one_of(*METHODS).check(method, "method")
    one_of("overlap", None).check(restrict, "restrict")
    one_of("influence", "bootstrap").check(errors, "errors")
    number(above=0, below=1).check(confidence, "confidence")
    whole(2).check(n_bootstrap, "n_bootstrap")
    (whole(2) | one_of(None)).check(n_folds, "n_folds")
    whole(0).check(random_state, "random_state")
    flag().check(finite_population, "finite_population")
    if max_weight is not None:
        number(above=1).check(max_weight, "max_weight")
    kind: Any = Diagnosis if margins is None else MarginsDiagnosis
    if diagnosis is not None and not isinstance(diagnosis, kind):
        raise InputTypeError(f"diagnosis={diagnosis!r} is none. Pass what covshift.diagnose found.")
    if margins is not None:
        refuse_what_needs_rows(
            what,
            outcome_model=outcome_model,
            target_weight=target_weight,
            restrict=restrict,
            feature_names=feature_names,
        )
        finite_population = finite_population or of_these or margins.size is None
    known_weights = are_weights(weighter)
    sample = Samples.of(
        X,
        y,
        X_target,
        by=by,
        sample_weight=sample_weight,
        target_weight=target_weight,
        strata=strata,
        cluster=cluster,
        feature_names=feature_names,
        outcome_model=outcome_model,
        beside={"denominator": denominator, "weighter": weighter if known_weights else None},
    )
    asked = replace(asked, denominator=sample.beside.get("denominator"))
    weighter = sample.beside["weighter"] if known_weights else weighter
    outcomes = check_outcomes(sample.y, len(sample.Z), numbers=not asked.entry.of_categories)
    known = np.flatnonzero(np.any([outcome.present for outcome in outcomes], axis=0))
    if margins is not None:
        covered = covered_by_margins(sample, known, diagnosis)
    else:
        covered = check_overlap(
            sample, known, restrict=restrict, diagnosis=diagnosis, random_state=random_state
        )
    settings = Settings(
        method=method,
        weighter=weighter,
        outcome_model=outcome_model,
        finite_population=finite_population,
        max_weight=max_weight,
        sensitivity=sensitivity,
        confidence=confidence,
        errors=errors,
        n_bootstrap=n_bootstrap,
        n_folds=n_folds or (5 if len(sample.Z) <= _MANY_ROWS else 3),
        random_state=random_state,
        verbose=verbose,
    )
    return Run(covered, asked, settings).found(outcomes)
