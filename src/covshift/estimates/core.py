"""`estimate`: from a biased sample to a number of the population."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Samples
from ..data.columns import Outcome, refuse_old_order
from ..data.parameters import number, one_of, whole
from ..data.validation import Target, is_margins
from ..engine.label_shift import SHIFTS, refuse_with_label_shift
from ..engine.labels import Labels
from ..engine.measures import METHODS, CovariateMethod
from ..engine.overlap import Covered, check_overlap
from ..engine.weights import Trimmed, are_weights
from ..exceptions import InputError
from ..numerics.crossfit import fold_count, sharing_fits
from ..numerics.progress import doing
from ..show.notes import Note
from ..show.words import shown
from .margins import covered_by_margins, refuse_what_needs_rows
from .quantities import Quantity, Total, as_quantity, outcomes_of
from .result import Estimates
from .run import Run, Settings, labelled_rows


def estimate(
    X: Any,
    y: Any = None,
    X_target: Any = None,
    *,
    y_target: Any = None,
    what: str | Quantity | None = None,
    by: Any = None,
    method: CovariateMethod | None = None,
    weighter: Any = None,
    outcome_model: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    strata: Any = None,
    cluster: Any = None,
    restrict: str | None = None,
    confidence: float = 0.95,
    replicates: int | None = None,
    shift: str = "covariate",
    n_folds: int | None = None,
    n_rep: int | None = None,
    random_state: int = 0,
) -> Estimates:
    """Estimate a population quantity from a biased sample.

    The default is cross-fitted and doubly robust. With h(x) = E[y | x], predicted for every row by
    models fitted without it, weights w that carry the sample to the target, and the target's
    shares s,

        theta = sum_q s_q h(t_q) + sum_i w_i (y_i - h(x_i)) / sum_i w_i ,
        se^2  = sum_q s_q^2 (h(t_q) - mean h)^2 + sum_i w_i^2 (y_i - h(x_i) - r)^2 / (sum w)^2 ,

    where r is the weighted mean residual. The estimate is right if the weights or the outcome model
    are; the first term of the error is that of the target's own sampling. Both samples must come
    from one population given the features: E[y | x] is the same (covariate shift).

    Parameters
    ----------
    X, X_target : (N, n) and (M, n) arrays or data frames
        Features of the training rows and of the population's; a `covshift.Target` says more of the
        latter, such as that it is the whole population. Frames may hold text, categories,
        dates, booleans and gaps (`covshift.TableEncoder` says what becomes of them). X_target may
        be a `covshift.Margins`: then the weights meet its numbers exactly where that is
        possible (`EntropyBalancing`, else `CDFWeights`), the outcome model is linear in what is
        published, ``by`` names a column of the margins, and their ``size`` gives their sampling
        error (none without a size, or in a total of so many). What belongs to rows (y, by,
        sample_weight, strata, cluster, a denominator; target_weight) may be the name of a column,
        which then is not a feature; a Series is put in the order of the frame's index.
    y : name, list of names, (N,) array, (N, k) array or data frame
        One outcome per training row, or several columns. Rows without one (NaN, None) are left out,
        counted and named: categories, gaps and what fills them are learned from the others.
    y_target : name, (M,) array or Labels, optional
        Outcomes of some target rows, chosen at random; missing where unknown. They make the
        interval, which then holds whatever p(y | x) does (prediction-powered inference), and the
        number combines them with the correction as far as the two agree (`covshift.engine.labels`).
        `covshift.Labels` have the probabilities with which rows were chosen.
    what : str or Quantity, optional
        Default: the mean of numbers, the proportions of text of up to 20 kinds. A plain name, or
        an object with options: "mean" (of zeros and ones: a share), "proportion" (of every
        category; `Proportion` of some), `Total` (with the size of the population, or "total" with
        that of margins), `Ratio` (of the means of y and a denominator), "median",
        `Quantile` (at its levels), `CDF` (the share of outcomes of at most each value),
        "difference" (between the groups of ``by`` and the first; `Difference` names another), or
        "coefficients" (of a regression on all features; `Coefficients` on some, or logistic).
    by : str, (N,) array or pair of arrays, optional
        Groups: a column, one label per training row, or labels of both samples. A column that
        both frames have is a feature too, as a category. Groups are ratios with their
        indicators, and the overall number stands beside them.
    method : {"dr", "weights", "model", "none"}, optional
        Doubly robust, the default (with ``y_target`` the default is "both"); the weighted sample;
        the outcome model's mean over the target; the sample as it is. All are in ``table``.
    weighter : weighter, name, (N,) array or Trimmed, optional
        What makes the weights; default: CDF weights on top of an exponential tilt of means and
        squares. An array holds factors that are known already: they multiply ``sample_weight``.
        `Trimmed` limits the weights.
    outcome_model : scikit-learn estimator, optional
        Regressor, or classifier for categories and zeros and ones; cloned, and fitted to X as it
        was given; a frame with text, dates or gaps becomes numbers first, unless it is a pipeline
        or a model of covshift. Default: ridge regressions on broken lines of the features and on a
        kernel, and boosted trees, mixed by cross-fitted error.
    sample_weight, target_weight : names, or (N,) and (M,) arrays, optional
        Design weights, on any scale. `covshift.DesignWeights` in place of the first have a finite
        population correction, or published replicate weights, from which the errors come then.
    strata, cluster : names, or (N,) arrays, optional
        Strata and primary units of the training sample's design. Rows of a cluster are never
        parted between a model and its check.
    restrict : {None, "overlap"}
        What to do where the samples do not overlap: raise `NoOverlapError`, or answer for the
        covered part of the target and say which.
    confidence : float
        Coverage of the intervals.
    replicates : int, optional
        Take the errors from so many replicates of the samples, in each of which the weights are
        fitted again, instead of influence values; ``replicate_weights`` keeps these. They are draws
        of a bootstrap where the weights solve an estimating equation (entropy balancing, logistic
        odds, weights that meet the margins, weights that were given), and otherwise those of a
        jackknife, of which there are at most as many as rows or clusters: a bootstrap would see
        half of the error of CDF weights. Margins count as exact.
    shift : {"covariate", "label"}
        What is the same in both groups: the outcome given the columns (the default), or the
        columns given the outcome. With "label" the shares of the classes are found with which the
        sample's classes make up the target, whose columns also test it (``label_shift``); for
        zeros and ones and for categories (`covshift.engine.label_shift` has the equations).
        Options of weights, ``by`` and ``restrict`` are not for it.
    n_folds : int, optional
        Folds of the cross-fitting; default five, and three beyond 20,000 training rows.
    n_rep : int, optional
        How often the rows are dealt into folds; predictions are the mean. Default: five times up to
        1,000 training rows, and once beyond.
    random_state : int
        Random seed: of the folds, and of weights and draws that are random.

    Returns
    -------
    Estimates
        ``print`` it; ``value``, ``interval``, ``standard_error``, ``table``, ``to_frame()``,
        ``to_dict()``, ``plot()``; ``with_sensitivity(2.0)`` widens the intervals for unobserved
        factors that change the odds of being in the target up to 2-fold.

    Notes
    -----
    Theory: section 9. Sources: Robins, Rotnitzky and Zhao (1994); Chernozhukov et al. (2018),
    *Double/debiased machine learning for treatment and structural parameters*. Cost: one fit of the
    weighter and ``n_folds`` times ``n_rep`` fits of the outcome models, O(N + M) besides. Models of
    ours learn from at most 100,000 rows per fold, the default weights from as many of each sample.

    Examples
    --------
    >>> from covshift import estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(500, 1000, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target)
    >>> print(found.sentence)
    Sample: 40.2%. Adjusted to the target population: 31.7% (95% CI 27...% to 3...%).
    """
    refuse_old_order(X, y)
    quantity = as_quantity("mean" if what is None else what)
    target = Target.of(X_target)
    margins = X.margins if isinstance(X, Samples) else target.rows
    margins = margins if is_margins(margins) else None
    exact = margins is not None and margins.size is None
    if margins is not None and quantity == Total():
        quantity, exact = Total(margins.size), True
    quantity.check(X.groups if isinstance(X, Samples) else by)
    one_of(*METHODS, None).check(method, "method")
    one_of(*SHIFTS).check(shift, "shift")
    labels = Labels.of(y_target)
    one_of("overlap", None).check(restrict, "restrict")
    number(above=0, below=1).check(confidence, "confidence")
    (whole(2) | one_of(None)).check(replicates, "replicates")
    (whole(2) | one_of(None)).check(n_folds, "n_folds")
    (whole(1) | one_of(None)).check(n_rep, "n_rep")
    whole(0).check(random_state, "random_state")
    if target.batch is not None:
        raise InputError("batch is for evaluate: estimate each batch of the target by a call.")
    if margins is not None:
        refuse_what_needs_rows(
            quantity,
            outcome_model=outcome_model,
            target_weight=target_weight,
            restrict=restrict,
            y_target=y_target,
        )
    if shift == "label":
        given = {"by": X.groups if isinstance(X, Samples) else by, "method": method}
        given |= {"weighter": weighter, "restrict": restrict, "replicates": replicates}
        refuse_with_label_shift(margins is not None, **given, y_target=y_target)
    weighter, max_weight = Trimmed.parts(weighter)
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
        outcome_model=outcome_model,
        beside={name: getattr(quantity, name) for name in quantity.row_options}
        | ({"weighter": weighter} if known_weights else {}),
        beside_target={}
        if labels is None
        else {"y_target": labels.y, "probability": labels.probability},
    )
    if replicates is not None and (sample.fpc is not None or sample.replicates is not None):
        name = "fpc" if sample.replicates is None else "replicate_weights"
        raise InputError(f"replicates={replicates} and {name}: keep one of them.")
    quantity = quantity.with_rows(sample.beside, len(sample.X))
    weighter = sample.beside["weighter"] if known_weights else weighter
    outcomes, quantity = outcomes_of(sample, quantity, known=what is not None)
    if shift == "label":
        _check_classes(quantity, outcomes, sample)
    known = np.flatnonzero(np.any([outcome.present for outcome in outcomes], axis=0))
    if not sample.d[known].any():
        raise InputError(
            f"None of the {len(known)} training rows that have the outcome has a positive weight."
        )
    if margins is not None:
        covered = covered_by_margins(sample, known)
    else:
        covered = check_overlap(
            sample,
            known,
            restrict=restrict,
            random_state=random_state,
            labelled=shift == "label" or (labels is not None and method is None),
        )
    known_there = None
    if labels is not None:
        known_there = labelled_rows(sample, outcomes, selected=labels.selected)
    settings = Settings(
        method=method or "dr",
        weighter=weighter if covered.trusted else np.ones(len(sample.X)),
        outcome_model=outcome_model,
        finite_population=sample.finite_population or exact,
        max_weight=max_weight,
        confidence=confidence,
        replicates=replicates,
        n_folds=fold_count(len(known)) if n_folds is None else n_folds,
        n_rep=n_rep,
        random_state=random_state,
    )
    if shift == "label":
        return _under_label_shift(covered, quantity, settings, outcomes)
    run = Run(covered, quantity, settings, known_there if method is None else None)
    return run.found(outcomes)


def _check_classes(quantity: Quantity, outcomes: list[Outcome], sample: Samples) -> None:
    """Refuse outcomes that are no classes, and replicate weights."""
    if sample.replicates is not None:
        raise InputError("Label shift takes no replicate weights: pass the weights alone.")
    if type(quantity).from_shares is Quantity.from_shares:
        next(quantity.from_shares(None, np.empty(0)))  # type: ignore[arg-type]  # refuses
    for outcome in outcomes if not quantity.of_categories else ():
        if not np.isin(outcome.y[outcome.present], (0.0, 1.0)).all():
            raise InputError(
                f"Label shift is about classes, and the outcome {outcome.name!r} has numbers other "
                "than zero and one. Ask for proportions if they are classes."
            )


def _under_label_shift(
    covered: Covered, quantity: Quantity, settings: Settings, outcomes: list[Outcome]
) -> Estimates:
    """Estimate by class shares, and say what the other assumption would."""
    notes = tuple(note for note in covered.notes if note.kind != "uncovered target")
    other = None
    flat = replace(settings, method="label", weighter=np.ones(len(covered.sample.X)), shift="label")
    own = settings.outcome_model is not None  # which may know columns by their places
    with nullcontext() if own else sharing_fits():
        found = Run(replace(covered, notes=notes), quantity, flat).found(outcomes)
        if covered.trusted:
            with doing("under covariate shift"):
                other = Run(covered, quantity, settings).found(outcomes)
    text = (
        "If instead the outcome behaved the same given the columns (covariate shift), there would "
        "be no number: the training rows do not cover the target."
    )
    if other is not None:
        row = found.headline
        text = (
            "If instead the outcome behaved the same given the columns (covariate shift), it would "
            f"be {shown(other.same(row, other.method).value, row)}."
        )
    note = Note("covariate shift", text)
    return replace(found, notes=(*found.notes, note))
