"""Any scikit-learn estimator, or a whole pipeline, trained for the target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..data.labels import finite_probabilities, outcomes_for
from ..data.numbers import category_columns
from ..data.row_weights import row_weights
from ..data.validation import (
    check_given,
    check_points,
    column_names,
    is_margins,
    unwrap_target,
    warn_of_no_target,
)
from ..encoding import TableEncoder, groups_of
from ..encoding.feature import with_groups
from ..encoding.samples import encode_samples, takes_tables
from ..exceptions import InputError, InputTypeError
from ..margins.reading import named_levels
from ..numerics.array import Real, row_count
from ..weights import CDFWeights, as_weighter
from .fit import TARGET_REQUEST

_FLAT = "training"  # name of the default weights, and their purpose


def _has(method: str) -> Any:
    """Offer a method only where the wrapped estimator has it."""

    def check(self: Reweighted) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), method)

    return available_if(check)


class Reweighted(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Weigh the training rows so that they look like the target, then fit any estimator.

    Minimises sum_i w_i loss(f(x_i), y_i), w an estimate of q(x) / p(x) (Shimodaira 2000). Rows of
    weights d by the design of the sample count d_i w_i, and p is the weighted sample. Wrapping
    a pipeline gives X and X_target the same transformation, without any global flag.

    Parameters
    ----------
    estimator : classifier, regressor or Pipeline
        Its `fit`, or that of the pipeline's last step, must take ``sample_weight``; if it does
        not, fitting is an error. A last step that takes ``X_target``, as `covshift.VSVC` does,
        gets the target as well, and ``target_weight`` with it.
    weighter : str, weighter or None
        "training", the default, is ``CDFWeights(purpose="training")``: flat weights, as a learner
        needs them (benchmarks/results/discrepancy.md). Else a name or an object of
        `covshift.weights`. None passes on the target without weights: the
        way to put a V-machine at the end of a pipeline.
    preprocess : transformer, optional
        Fitted on X and applied to X and X_target before all else. One whose `fit` takes
        ``X_target``, as `covshift.TableEncoder` does, gets it; so do the steps of a pipeline.

    Attributes
    ----------
    estimator_ : the fitted estimator, or pipeline with ``preprocess`` in front
    weighter_ : the fitted weighter, fitted to the rows as the last step gets them
    weights_ : (N,) array, mean one; with ``sample_weight``, factors on it of weighted mean one
    encoder_ : TableEncoder or None
        What makes numbers of a data frame with text, dates or gaps for an estimator that takes
        numbers alone. A pipeline, an estimator with ``preprocess`` and those of covshift get the
        frame as it came.
    classes_, n_features_in_ : as of the fitted estimator

    Notes
    -----
    Weights that estimate a mean well, such as "cdf", often hurt a learner of few rows. Compare with
    the unweighted estimator, always: `covshift.compare` does.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from covshift import Reweighted
    >>> from covshift.datasets import make_survey
    >>> data = make_survey(500, 500, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = Reweighted(pipeline, weighter="gaussian-ratio")
    >>> model = model.fit(data.X, data.y, X_target=data.X_target)
    >>> model.predict_proba(data.X_target).shape
    (500, 2)
    """

    __metadata_request__fit = TARGET_REQUEST
    weights_: Real

    def __init__(
        self, estimator: Any, *, weighter: Any = "training", preprocess: Any = None
    ) -> None:
        self.estimator = estimator
        self.weighter = weighter
        self.preprocess = preprocess

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Fit the weighter on (X, X_target), then the estimator with its weights.

        Parameters
        ----------
        X, y : training rows and their outcomes
        X_target : rows of the target, or a one-tuple of them
            None: the target is the training sample, and the weights are one. A `covshift.Margins`
            goes to the weighter, which then sees X as it came, before any preprocessing, and to an
            estimator that takes X_target, unless preprocessing made other columns for it.
        sample_weight : (N,) array, optional
            Weights that the rows have by the design of the sample, on any scale. The weighter
            looks at the weighted sample, and the estimator gets the product, mean one.
        target_weight : (M,) array, or a one-tuple of it, optional
            Probability weights of the target rows, on any scale, for the weighter and for an
            estimator that takes them.
        """
        target = unwrap_target(X_target)
        X = check_given(X, "X", text=self._takes_text())
        if target is not None and not is_margins(target):
            target = check_given(target, "X_target", text=self._takes_text())
        y = outcomes_for(self.estimator, y, row_count(X))
        target_weight = unwrap_target(target_weight)
        weights_of_target = {} if target_weight is None else {"target_weight": target_weight}
        if target is None and target_weight is None:
            warn_of_no_target(self)
        itself = target is None and not weights_of_target  # the target is the weighted sample
        target = X if target is None else target
        own = None
        if sample_weight is not None:
            own = row_weights(row_count(X), sample_weight).w
        *steps, (name, last) = self._steps()
        came = X
        X, target = self._as_numbers(X, target)
        before = Pipeline([(step, clone(part)) for step, part in steps]) if steps else None
        with config_context(enable_metadata_routing=False), _refusing_text(came, self._steps()):
            points, there = X, target
            if before is not None:
                points, there = _fit_steps(before, X, y, target)
            looked_at = weights_of_target
            if itself and own is not None:
                looked_at = {"target_weight": own}
            if is_margins(target):  # they speak of the columns as they came
                if before is not None and takes(last, "X_target"):
                    raise InputError(
                        "X_target is a covshift.Margins of the columns as they came, and "
                        f"{type(last).__name__} gets others, from {before.steps[-1][0]!r}: fit it "
                        "without preprocessing, or give target rows."
                    )
                weights = self._weigh(came, y, target, looked_at, own)
            else:
                target = points if itself else there
                weights = self._weigh(_dense(points), y, _dense(target), looked_at, own)
            if own is not None:
                weights = own if weights is None else own * weights
            fitted = _fit_last(clone(last), points, y, target, weights, weights_of_target)
        self.estimator_ = Pipeline([*before.steps, (name, fitted)]) if before else fitted
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
        return self

    def _weigh(
        self, X: Any, y: Any, target: Any, of_target: dict[str, Any], own: Real | None
    ) -> Real | None:
        if self.weighter is None:
            self.weights_ = np.ones(row_count(X))
            return None
        flat = isinstance(self.weighter, str) and self.weighter == _FLAT
        weighter = CDFWeights(purpose=_FLAT) if flat else clone(as_weighter(self.weighter))
        encoder = getattr(self, "encoder_", None)
        if encoder is not None and hasattr(weighter, "of_features"):
            weighter = weighter.of_features(groups_of(X), encoder.columns)
        self.weighter_ = with_groups(weighter, groups_of(X))[0]
        given = {} if own is None else {"sample_weight": own}
        if given and not has_fit_parameter(self.weighter_, "sample_weight"):
            raise InputTypeError(
                f"{type(self.weighter_).__name__}.fit takes no sample_weight, so that it would "
                "weigh the rows as if they counted alike. Use a weighter of covshift.weights, or "
                "leave sample_weight out."
            )
        for name in of_target:
            if not has_fit_parameter(self.weighter_, name):
                raise InputTypeError(
                    f"{type(self.weighter_).__name__}.fit takes no {name}, so that the target's "
                    "weights would be lost. Use a weighter of covshift.weights, or leave it out."
                )
        self.weighter_.fit(X, y, X_target=(target,), **of_target, **given)
        self.weights_ = self.weighter_.weights_
        return np.asarray(self.weights_)

    def _as_numbers(self, X: Any, target: Any) -> tuple[Any, Any]:
        """Encode tables for an estimator that takes numbers alone and brings no preprocessing."""
        self.encoder_: TableEncoder | None = None
        if self._takes_text():
            return X, target
        if is_margins(target):  # they stay for the weighter, which sees the columns as they came
            X, _, self.encoder_ = encode_samples(X, None, more=named_levels(target))
        else:
            X, target, self.encoder_ = encode_samples(X, target)
        return X, target

    def _rows(self, X: Any) -> Any:
        """Return new rows as the fitted estimator takes them."""
        check_is_fitted(self, "estimator_")
        encoder = getattr(self, "encoder_", None)
        if encoder is not None:
            return encoder.encode(X, "X")
        return check_given(X, "X", text=self._takes_text(), frames=True)

    def _takes_text(self) -> bool:
        """Whether rows may hold more than numbers: it brings preprocessing, or encodes itself."""
        own = self.preprocess is not None or isinstance(self.estimator, Pipeline)
        return own or takes_tables(self._steps()[-1][1])

    def _steps(self) -> list[tuple[str, Any]]:
        """Steps by name, the estimator last; those of a pipeline keep the names they have."""
        steps = [("estimator", self.estimator)]
        if isinstance(self.estimator, Pipeline):
            steps = [(name, step) for name, step in self.estimator.steps if step != "passthrough"]
        if self.preprocess is None:
            return steps
        first = "preprocess"
        while first in dict(steps):
            first += "_"
        return [(first, self.preprocess), *steps]

    @property
    def n_features_in_(self) -> int:
        check_is_fitted(self, "estimator_")
        encoder = getattr(self, "encoder_", None)
        return int(self.estimator_.n_features_in_) if encoder is None else len(encoder._names)

    @_has("predict")  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Predict with the fitted estimator."""
        rows = self._rows(X)
        return self.estimator_.predict(rows)

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of the fitted estimator."""
        rows = self._rows(X)
        return finite_probabilities(self.estimator_.predict_proba(rows))

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decision function of the fitted estimator."""
        rows = self._rows(X)
        return self.estimator_.decision_function(rows)

    @_has("score")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, *, sample_weight: Any = None) -> Any:
        """Score of the fitted estimator on rows with known outcomes."""
        rows = self._rows(X)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.estimator_.score(rows, y, **given)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._steps()[-1][1])
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        return tags


def fit_for_target(
    estimator: Any,
    X: Any,
    y: Any,
    target: Any,
    target_weight: Any = None,
    sample_weight: Real | None = None,
) -> Any:
    """Fit an estimator, and hand it the target rows if it, or what it wraps, takes them.

    At the end of a pipeline the target arrives as the training rows do, transformed. It must take
    ``sample_weight``, where there is one. A table is encoded for an estimator that takes numbers
    alone, with the help of the target's rows: it comes back inside of a `Reweighted`.
    """
    of_target = {} if target_weight is None else {"target_weight": unwrap_target(target_weight)}
    if target is not None and isinstance(estimator, Pipeline):
        last = estimator.steps[-1][1]
        if last != "passthrough" and takes(last, "X_target"):
            whole = Reweighted(estimator, weighter=None)
            given = {"X_target": (target,), "sample_weight": sample_weight, **of_target}
            return whole.fit(X, y, **given).estimator_
    if sample_weight is not None and isinstance(estimator, Pipeline):
        return (
            Reweighted(estimator, weighter=None).fit(X, y, sample_weight=sample_weight).estimator_
        )
    rows = None if is_margins(target) else target
    if not takes_tables(estimator) and TableEncoder.learn(X, rows) is not None:
        given = {"X_target": None if rows is None else (rows,), "sample_weight": sample_weight}
        return Reweighted(estimator, weighter=None).fit(X, y, **given)
    if not takes_tables(estimator) and column_names(X) is not None:
        check_points(X, "X")
    return _fit_last(estimator, X, y, target, sample_weight, of_target)


def _fit_steps(steps: Pipeline, X: Any, y: Any, target: Any) -> tuple[Any, Any]:
    """Fit transformers one after the other, and return what becomes of both samples' rows.

    The training rows go through `fit_transform`, as in a pipeline: it may hide from a row its own
    outcome, as that of `TargetEncoder` does. Those that take the target's rows get them.
    """
    margins = is_margins(target)
    for _, part in steps.steps:
        of_target = {"X_target": (target,)} if not margins and takes(part, "X_target") else {}
        if hasattr(part, "fit_transform"):
            X = part.fit_transform(X, y, **of_target)
        else:
            X = part.fit(X, y, **of_target).transform(X)
        target = target if margins else part.transform(target)
    return X, target


def _dense(points: Any) -> Any:
    """Return rows as a weighter takes them: sparse ones as an array."""
    return points.toarray() if issparse(points) else points


@contextmanager
def _refusing_text(X: Any, steps: list[tuple[str, Any]]) -> Iterator[None]:
    """Say in our words that the steps of a pipeline take no text."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = category_columns(X)
        if isinstance(error, InputError) or not text:
            raise
        raise InputError(
            f"The pipeline of {', '.join(name for name, _ in steps)} cannot be fitted to X, whose "
            f"columns {', '.join(map(repr, text[:5]))} hold text. Put an encoder first, such as "
            f"preprocess=covshift.TableEncoder(). What it said: {error}"
        ) from error


def takes(estimator: Any, parameter: str) -> bool:
    """Tell whether `fit` takes a parameter: directly, or through a search around what does."""
    if has_fit_parameter(estimator, parameter):
        return True
    inner = _searched(estimator)
    return inner is not None and takes(inner, parameter)


def _searched(estimator: Any) -> Any:
    """Return what a search, which passes ``**params`` on, is around; else None."""
    return getattr(estimator, "estimator", None) if has_fit_parameter(estimator, "params") else None


def _fit_last(
    estimator: Any,
    X: Any,
    y: Any,
    target: Any,
    weights: Real | None,
    of_target: dict[str, Any],
) -> Any:
    given: dict[str, Any] = {}
    if weights is not None:
        if not takes(estimator, "sample_weight"):
            raise InputTypeError(
                f"{type(estimator).__name__}.fit takes no sample_weight, so the weights would be "
                "lost. Choose an estimator that takes them, or weighter=None."
            )
        given["sample_weight"] = weights
    given |= _target_options(estimator, target, of_target)
    return estimator.fit(X, y, **given)


def _target_options(estimator: Any, target: Any, of_target: dict[str, Any]) -> dict[str, Any]:
    """Return the target as `fit` takes it; nothing where it knows no target."""
    if target is None:
        return {}
    if not takes(estimator, "X_target"):
        _refuse_lost_target(estimator)
        return {}
    given: dict[str, Any] = {"X_target": (target,)}
    searched = _searched(estimator) is not None
    for name, value in of_target.items():
        if not takes(estimator, name):
            raise InputTypeError(
                f"{type(estimator).__name__}.fit takes X_target but no {name}, so the "
                "target's weights would be lost. Repeat its rows, or leave the weights out."
            )
        # As a one-tuple a search hands it on whole, where it would cut an array as long as X.
        given[name] = (value,) if searched else value
    return given


def _refuse_lost_target(estimator: Any) -> None:
    """Refuse a search around a pipeline whose end would need the target transformed."""
    inner = _searched(estimator)
    if isinstance(inner, Pipeline) and takes(inner.steps[-1][1], "X_target"):
        raise InputTypeError(
            f"{type(estimator).__name__} around a pipeline cannot hand the target to its last "
            "step. Search around the wrapped pipeline: "
            f"{type(estimator).__name__}(Reweighted(pipeline, weighter=None), ...)."
        )
