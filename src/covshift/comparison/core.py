"""Which correction helps here, if any: every method, one table, one honest sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ..data import Samples
from ..data.columns import NamedColumns
from ..data.parameters import VERBOSE, Rule, function, one_of, whole
from ..data.validation import Target, is_margins, unwrap_target
from ..exceptions import InputError
from ..numerics.array import is_array, to_numpy
from ..registry import NONE
from ..weights import as_weighter
from .estimators import compare_estimators, of_learner
from .learners import compare_learner
from .methods import Method, method_named
from .result import Comparison
from .selection import LOSSES, SEED, TargetSafeSplit

TASK = one_of("classification", "regression", None)
METHODS = Rule(
    ("a list of names of weights and corrections",),
    lambda methods: (
        isinstance(methods, Sequence | Set | np.ndarray)
        and not isinstance(methods, str)
        and all(isinstance(method, str | Method) for method in methods)
    ),
) | one_of(None)
_FEWEST_ROWS = 20  # that may be drawn: folds of fewer say nothing
_FEW_NUMBERS = 10  # different whole numbers that may be classes


def compare(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    learner: Any = "vsvm",
    estimators: Mapping[str, Any] | None = None,
    baseline: Any = None,
    cv: Any = None,
    task: str | None = None,
    methods: Sequence[str | Method] | None = None,
    loss: Any = "squared_error",
    weighter: Any = None,
    y_target: Any = None,
    X_scored: Any = None,
    scored_weight: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    n_folds: int = 5,
    max_rows: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> Comparison:
    """Say which correction helps, if any: the risk on the target of every method.

    Importance-weighted cross-validation: held-out training rows, weighted by ``weighter``, stand
    for the target (Sugiyama, Krauledat, Müller 2007). The unweighted model is always in the first
    line, and is recommended unless a method beats it clearly: by more standard errors of the paired
    difference than the luckiest of so many methods would reach in 5% of the cases if none of them
    gained anything. That number comes from a multiplier bootstrap of the paired losses
    (Chernozhukov, Chetverikov, Kato 2013), so that a dozen nearly equal methods are not judged as
    if they were a dozen different ones.

    Parameters
    ----------
    X, X_target : (N, n) and (M, n) arrays or data frames
        Data frames may have text, categories, dates, booleans and gaps: what takes numbers alone
        gets numbers (`covshift.TableEncoder`). ``X_target`` may be `covshift.Margins`: methods that
        need target rows are then left out, and a note names them; a contender that needs them is
        refused by name.
    y : name of a column of X, or (N,) array
        Outcomes. Columns that y and the weights name are not features. Values with an index of
        pandas are paired with the rows of a data frame by it.
    learner : str or estimator
        A name in `covshift.registry.LEARNERS`, "vsvm", "linear", "trees" or "vboost": every way to
        correct it is compared. Or any scikit-learn estimator or pipeline whose `fit` takes
        ``sample_weight``: with every weighter that suits the data, as `covshift.Reweighted`.
    estimators : mapping of names to estimators, optional
        Compare these in place of a learner. Those that take ``X_target``, at the end of a pipeline
        or inside a search too, get the whole target in every fold, with its weights.
    baseline : estimator, optional
        With ``estimators``: the unweighted model that stands in the first line, as "none". Default:
        a contender called "none", else the model inside the first `covshift.Reweighted`, else the
        first V-machine with ``correction="none"``.
    cv : splitter, optional
        With ``estimators``: default `covshift.comparison.TargetSafeSplit`; all share its folds.
    task : {"classification", "regression"}, optional
        Of the learner. Default: "regression" where ``y`` holds numbers with decimals or more than
        ten different ones, else "classification".
    methods : list of str, optional
        Names of weighters and corrections to compare for the learner, after "none"; default: all
        that suit it.
    loss : {"squared_error", "zero_one", "log_loss"} or, with ``estimators``, callable
    weighter : str or, with ``estimators``, weighter, optional
        Makes the weights of the held-out rows. Default "cdf"; for margins that are means alone,
        "entropy".
    y_target, X_scored : arrays, optional
        Labels of target rows, and these rows where they are not all of ``X_target``; ``y_target``
        may name a column of them. They score the learner's models fitted on all rows
        (``true_risk``) and have no part in the choice.
    scored_weight : name of a column of ``X_scored``, or array, optional
        Weights of its rows.
    sample_weight, target_weight : names of columns of X and X_target, or arrays, optional
        Probability weights of the rows, such as those of a survey, on any scale: the methods' own
        weights are factors on ``sample_weight``, which all contenders must take.
    n_folds : int
    max_rows : int, optional
        Rows drawn at random from larger samples; default: by the learner, 300 to 2000.
    random_state : int
    verbose : bool
        Show a progress bar, on a terminal.

    Returns
    -------
    Comparison
        ``print`` it. ``recommended`` names the method to use, ``fit()`` fits it to all rows,
        ``weights("cdf")`` returns weights. A method of a learner that fails has a row that says
        why.

    Notes
    -----
    For a learner, rows are standardised, weights estimated and the kernel machine's penalty chosen
    once, on all training rows, not in each fold: the features of held-out rows take part in this,
    their labels in the penalty alone, which is found by three folds. Standard errors take the
    weights as known and folds as independent. Cost per method: a weighter and n_folds + 1 fits.

    Examples
    --------
    >>> from covshift import compare
    >>> from covshift.datasets import make_survey
    >>> data = make_survey(300, 300, random_state=0)
    >>> found = compare(data.X, data.y, data.X_target, learner="linear")
    >>> found.rows[0]["method"], found.recommended
    ('none', 'none')
    >>> found.fit().predict(data.X_target).shape
    (300,)

    Estimators of your own:

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covshift import Reweighted
    >>> contenders = {"weighted": Reweighted(DecisionTreeClassifier(max_depth=2), weighter="cdf")}
    >>> found = compare(data.X, data.y, data.X_target, estimators=contenders)
    >>> [row["method"] for row in found.rows]
    ['none', 'weighted']
    """
    own, named_loss = not isinstance(learner, str), one_of(*LOSSES)
    for rule, value, name in (
        (named_loss | function() if own or estimators is not None else named_loss, loss, "loss"),
        (TASK, task, "task"),
        (METHODS, methods, "methods"),
        (whole(2), n_folds, "n_folds"),
        (whole(_FEWEST_ROWS) | one_of(None), max_rows, "max_rows"),
        (SEED, random_state, "random_state"),
        (VERBOSE, verbose, "verbose"),
    ):
        rule.check(value, name)
    if weighter is not None:
        as_weighter(weighter)
    samples = X if isinstance(X, Samples) else None
    if samples is not None:
        X, X_target = samples.X, samples.T
    target = unwrap_target(X_target)
    margins = samples.margins if samples is not None else target if is_margins(target) else None
    rows = None if margins is not None else target
    named = NamedColumns(X, rows)
    scored = named if X_scored is None else NamedColumns(X, X_scored)
    y, sample_weight = named.of_rows(y, "y"), named.of_rows(sample_weight, "sample_weight")
    if rows is not None:
        target_weight = named.of_target(unwrap_target(target_weight), "target_weight")
    if rows is not None or X_scored is not None:
        y_target = scored.of_target(y_target, "y_target")
        scored_weight = scored.of_target(scored_weight, "scored_weight")
    X, kinds = named.features[0], Target.of(X_target).kinds
    if rows is not None:
        X_target = Target(named.features[1], kinds=kinds)
    shared: dict[str, Any] = {
        "loss": loss,
        "weighter": weighter,
        "sample_weight": sample_weight,
        "target_weight": target_weight,
        "verbose": verbose,
    }
    if own and (estimators is not None or baseline is not None):
        raise InputError("Pass learner=estimator, or estimators={name: estimator}, not both.")
    if own:
        estimators, baseline, methods = of_learner(learner, X, margins, methods), learner, None
    of_names: dict[str, Any] = {
        "task": task,
        "methods": methods,
        "y_target": y_target,
        "X_scored": X_scored,
        "scored_weight": scored_weight,
        "max_rows": max_rows,
    }
    if estimators is not None:
        for name, value in of_names.items():
            if value is not None:
                raise InputError(f"{name} belongs to a learner's name, not to estimators.")
        cv = TargetSafeSplit(n_folds, random_state=random_state) if cv is None else cv
        return compare_estimators(
            X, y, X_target, estimators, baseline=baseline, cv=cv, failing=own, **shared
        )
    for name, value in (("baseline", baseline), ("cv", cv)):
        if value is not None:
            raise InputError(f"{name} belongs to estimators: pass estimators={{name: estimator}}.")
    of_names["task"] = task or _task_of(y)
    if methods is not None:
        given = [
            part if isinstance(part, Method) else method_named(learner, part) for part in methods
        ]
        alone = NONE not in [part.name for part in given]
        of_names["methods"] = [method_named(learner, NONE), *given] if alone else given
    return compare_learner(
        X if samples is None else samples,
        y,
        X_target,
        learner=learner,
        n_folds=n_folds,
        random_state=random_state,
        **of_names,
        **shared,
    )


def _task_of(y: Any) -> str:
    """What outcomes are, where nobody says it."""
    try:
        values = to_numpy(y) if is_array(y) else np.asarray(y)
    except ValueError:  # rows of several lengths, which are refused where outcomes are read
        return "classification"
    if values.dtype.kind not in "iuf":
        return "classification"
    levels = np.unique(values[np.isfinite(values)])
    whole = len(levels) <= _FEW_NUMBERS and bool((np.mod(levels, 1) == 0).all())
    return "classification" if whole else "regression"
