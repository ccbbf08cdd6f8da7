"""Parameters: every one of every public estimator is checked at fit, in one form of words."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import covshift
from covshift import bounds, corrections, datasets, estimates, objectives, weights
from covshift.corrections import (
    Additive,
    Gaussian,
    Multiplicative,
    Pairwise,
    Product,
    Sliced,
    Uniform,
)
from covshift.data.parameters import flag, function, number, one_of, or_list, whole
from covshift.exceptions import InputError
from covshift.robust import RobustBiasAware

NAN, INF = float("nan"), float("inf")
WORD, FLAG = ["", "no such word", 1], ["yes", 1, None]
POSITIVE, FROM_ZERO, SHARE = [0, -1.0], [-1e-9], [-0.1, 1.1]

KERNEL = {
    "name": [*WORD, None, ["rbf", "rbf"], []],
    "width": [*POSITIVE, "wide", None],
    "relevance": ["no", 1, None],
    "coordinates": [*WORD, "raw", None],
    "degree": ["3"],
    "coef0": ["1"],
}
MACHINE = {
    "kernel": [*WORD, None, ["poly"]],
    "fast": FLAG,
    "reg": [*POSITIVE, "auto"],
    "solver": WORD,
    "n_components": [0, 2.5, 300.0],
    "n_folds": [1, 5.0],
}
BOOSTER = {
    "n_estimators": [0, 10.0],
    "learning_rate": POSITIVE,
    "max_leaf_nodes": [1, None],
    "max_depth": [0],
    "min_samples_leaf": POSITIVE,
    "reg_lambda": FROM_ZERO,
    "reg_leaves": FROM_ZERO,
    "grower": [*WORD, None],
    "max_bins": [1],
    "subsample": [0, 1.1],
    "early_stopping": ["never", 1, None],
    "validation_fraction": [0, 0.6],
    "n_iter_no_change": [0],
    "tol": FROM_ZERO,
    "verbose": [-1, "loud"],
}
LIMITS = [(0.5,), (0.5, 0.9), (1.1, 2.0), (1.0, 1.0), (-0.1, 2.0), 2.0, "auto"]
CHOSEN = [*POSITIVE, "auto", [], [1.0, 0.0], [[1.0]], ["cv"]]  # "cv", a number or a list
RATIO = {
    "width": CHOSEN,
    "reg": CHOSEN,
    "n_centers": [0, 10.0],
    "standardize": FLAG,
    "verbose": [-1],
}
DENSE = {"standardize": FLAG, "refuse_above": [0, 0.5], "verbose": [-1]}
V = {"normalize": FLAG, "blend": [*SHARE, "0.5", None]}
EMPIRICAL = {**V, "phi": ["anderson", 2.0], "symmetric": FLAG}

CONFORMAL = {
    "method": [*WORD, None],
    "conformity_score": [*WORD, None],
    "threshold": [*WORD, None],
    "prefit": FLAG,
    "calibration_size": [0, 1.0, -0.1],
    "n_folds": [1, 5.0],
    "randomized": FLAG,
    "sensitivity": [0.9, 0, "2", None],
}

OUT_OF_RANGE = {
    covshift.TableEncoder: {"max_levels": [1, 5.0], "min_rows": [0, 2.5]},
    covshift.ConformalRegressor: {**CONFORMAL, "quantiles": [0.5, (0.5,), (0.9, 0.1), (0, 0.9)]},
    covshift.ConformalClassifier: {
        **CONFORMAL,
        "penalty": FROM_ZERO,
        "shift": [*WORD, None],
        "start": [-1, 1.5],
    },
    covshift.Kernel: KERNEL,
    covshift.VSVC: {**MACHINE, "probability": ["platt", 1]},
    covshift.VSVR: MACHINE,
    covshift.VBoostClassifier: BOOSTER,
    covshift.VBoostRegressor: BOOSTER,
    RobustBiasAware: {"reg": FROM_ZERO, "clip": [0.5]},
    weights.CDFWeights: {
        "views": [*WORD, None, Additive],
        "reg": [*POSITIVE, "auto"],
        "purpose": [*WORD, None],
        "allow_no_overlap": FLAG,
        "solver": [*WORD, None],
        "limits": LIMITS,
        "tol": POSITIVE,
    },
    weights.TiltedCDFWeights: {"allow_no_overlap": [1, "yes"]},
    weights.Discriminative: {"cv": [1, 5.0], "max_ratio": [0.5], "verbose": [-1]},
    weights.EnergyWeights: {**DENSE, "reg": FROM_ZERO},
    weights.EntropyBalancing: {
        "moments": [0, 3, 2.0],
        "interactions": FLAG,
        "reg": FROM_ZERO,
        "limits": LIMITS,
        "tol": FROM_ZERO,
        "max_iter": [0, 10.0],
    },
    weights.GaussianRatio: {"shrinkage": SHARE},
    weights.KDE: {"width": [*POSITIVE, "wide", [1.0]], "tau": [*SHARE, "auto"]},
    weights.KLIEP: {key: RATIO[key] for key in RATIO if key != "reg"},
    weights.KMM: {
        **DENSE,
        "B": POSITIVE,
        "eps": FROM_ZERO,
        "kernel": ["linear", None],
        "width": [*POSITIVE, "wide", "cv", None],
    },
    weights.NearestNeighbors: {"n_neighbors": [0, 2.0, "few"], "standardize": FLAG},
    weights.PostStratification: {"bins": [1, 5.0], "collapse": FLAG},
    weights.Raking: {
        "limits": LIMITS,
        "bins": [1, 5.0],
        "collapse": FLAG,
        "tol": POSITIVE,
        "max_iter": [0, 10.0],
    },
    weights.RULSIF: {**RATIO, "alpha": [-0.1, 1.0]},
    weights.ULSIF: RATIO,
    Additive: EMPIRICAL,
    Gaussian: V,
    Multiplicative: EMPIRICAL,
    Pairwise: EMPIRICAL,
    Product: V,
    Sliced: {**EMPIRICAL, "n_directions": [0, 2.5], "standardize": FLAG},
    Uniform: V,
}
"""For every public estimator, values that each of its parameters may not have."""

WRONG_KIND = [object(), NAN, INF, {"a": 1}, 1j]
OTHER = {  # what they may be is not a number, a word or a flag, and is checked where it is used
    "V", "by", "cdfs", "classifier", "correction", "directions", "estimator", "high",
    "kinds", "low", "mean", "params", "preprocess", "random_state", "spread", "std",
    "weighter", "weights",
}  # fmt: skip
REQUIRED = {
    Product: {"cdfs": lambda x: x},
    covshift.ConformalRegressor: {"estimator": LinearRegression()},
    covshift.ConformalClassifier: {"estimator": LogisticRegression()},
}
TAKES_TRUE = {
    "allow_no_overlap", "collapse", "early_stopping", "fast", "interactions", "normalize",
    "prefit", "randomized", "relevance", "standardize", "symmetric",
    "verbose",
}  # fmt: skip


def public_estimators():
    found = [getattr(covshift, name) for name in covshift.__all__]
    found += [RobustBiasAware]
    for module in (weights, corrections):
        found += [getattr(module, name) for name in module.__all__]
    kinds = {kind for kind in found if inspect.isclass(kind) and hasattr(kind, "get_params")}
    bases = (weights.Weighter, corrections.Correction, corrections.VMatrixCorrection)
    return kinds - {*bases, corrections.EmpiricalCorrection}


def use(kind, **parameters):
    """Fit an estimator of this kind, a machine with this kernel, or make the V of a correction."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    made = kind(**REQUIRED.get(kind, {}), **parameters)
    if isinstance(made, corrections.Correction):
        return made.operator(X, X[:9])
    if isinstance(made, covshift.Kernel):
        made = covshift.VSVR(kernel=made)
    return made.fit(X, X[:, 0] > 0, X_target=X[:9])


@pytest.mark.parametrize("kind", OUT_OF_RANGE, ids=lambda kind: kind.__name__)
def test_a_value_that_cannot_be_used_is_named(kind):
    wrong = []
    for name, values in OUT_OF_RANGE[kind].items():
        for value in [*values, *WRONG_KIND, *([] if name in TAKES_TRUE else [True])]:
            try:
                use(kind, **{name: value})
            except InputError as found:
                if not str(found).startswith(f"{name}={value!r} must be "):
                    wrong.append(str(found))
            else:
                wrong.append(f"{name}={value!r} was accepted")
    assert not wrong


@pytest.mark.parametrize("kind", sorted(public_estimators(), key=lambda kind: kind.__name__))
def test_every_parameter_of_every_public_estimator_is_in_the_table(kind):
    parameters = set(inspect.signature(kind).parameters)
    assert set(OUT_OF_RANGE.get(kind, {})) == parameters - OTHER
    assert set(getattr(kind, "_rules", {})) == parameters - OTHER


def test_the_table_has_no_estimator_that_is_not_public():
    assert set(OUT_OF_RANGE) <= public_estimators()


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (whole(2), 1, "k=1 must be a whole number of at least 2."),
        (whole(2), 5.0, "k=5.0 must be a whole number of at least 2. Pass 5."),
        (whole(2), 1.0, "k=1.0 must be a whole number of at least 2."),
        (whole(2), True, "k=True must be a whole number of at least 2."),
        (whole(0, 4), 5, "k=5 must be a whole number from 0 to 4."),
        (number(), INF, "k=inf must be a finite number."),
        (number(above=0), INF, "k=inf must be a finite number above 0."),
        (number(above=0, most=0.5), 1, "k=1 must be a number above 0 and at most 0.5."),
        (number(least=0, most=1), -1, "k=-1 must be a number from 0 to 1."),
        (number(least=0, below=1), 1, "k=1 must be a number of at least 0 and below 1."),
        (number(above=0) | one_of("cv"), NAN, "k=nan must be a finite number above 0 or 'cv'."),
        (one_of("a", "b", None), "c", "k='c' must be 'a', 'b' or None."),
        (flag(), 1, "k=1 must be True or False."),
        (function(), 1, "k=1 must be a callable."),
        (or_list(number(above=0)), [], "k=[] must be a finite number above 0 or a list of them."),
        (whole(1), "x" * 200, f"k='{'x' * 79}... must be a whole number of at least 1."),
    ],
)
def test_a_message_says_what_came_and_what_is_expected(rule, value, message):
    with pytest.raises(InputError) as found:
        rule.check(value, "k")
    assert str(found.value) == message


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (whole(2), np.int32(2)),
        (whole(1), 10**400),
        (number(least=0), np.float32(0)),
        (number(above=0), 10**400),
        (one_of("a"), np.str_("a")),
        (flag(), np.bool_(True)),
        (or_list(whole(1)), np.array([1, 2])),
        (or_list(number(above=0)), (0.5, 1)),
    ],
)
def test_numbers_and_words_of_numpy_are_as_good_as_those_of_python(rule, value):
    rule.check(value, "k")


def test_a_whole_array_is_no_word_and_no_number():
    for rule in (one_of("a", None), number(), whole(0), flag()):
        with pytest.raises(InputError, match=r"k=array\(\[1, 2\]\) must be"):
            rule.check(np.array([1, 2]), "k")


FUNCTIONS = [
    (lambda: bounds.half_width_1d(True, 0.9), "n_target=True"),
    (lambda: bounds.confidence_1d(10, "wide"), "half_width='wide'"),
    (lambda: datasets.make_survey(0), "n_train=0"),
    (lambda: datasets.make_sigmoid_shift(2.5), "n_train=2.5"),
    (
        lambda: estimates.estimate([[1.0]], [1.0], [[1.0]], replicates=1),
        "replicates=1",
    ),
    (lambda: objectives.VObjective([[1.0]], squash="x"), "squash='x'"),
    (lambda: objectives.VObjective([[1.0]], unit_hessian=1), "unit_hessian=1"),
]


@pytest.mark.parametrize(("call", "what"), FUNCTIONS, ids=[what for _, what in FUNCTIONS])
def test_functions_refuse_arguments_in_the_same_words(call, what):
    with pytest.raises(InputError) as found:
        call()
    assert str(found.value).startswith(f"{what} must be ")


def test_an_estimator_of_ones_own_needs_no_rules():
    class Flat(weights.Weighter):
        def _solve(self, problem):
            return np.ones(len(problem.X))

        def _ratio(self, X):
            return np.ones(len(X))

    assert use(Flat).weights_.tolist() == [1.0] * 20
    assert use(weights.Discriminative, classifier=LogisticRegression()).weights_.shape == (20,)
