"""``correction="auto"``: the evidence by its definition, the mixture by its parts, no harm."""

from __future__ import annotations

import json

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import VSVC, VSVR
from scipy.optimize import minimize_scalar
from sklearn.model_selection import GridSearchCV

import covshift
from covshift.corrections import Gaussian, Importance, Unweighted, as_correction
from covshift.corrections.auto import candidates, choose
from covshift.exceptions import OverlapWarning
from covshift.machine.auto import target_weights
from covshift.machine.fit import GivenWeights, check_problem, part_of
from covshift.machine.ridge import Features, by_importance, held_out_paths, penalties
from covshift.numerics.folds import ranked_folds
from covshift.numerics.kernels import KernelSum
from covshift.operators import Diagonal
from covshift.weights import WEIGHTERS, CDFWeights

rng = np.random.default_rng(0)


def curved(N, shift=1.0, seed=0):
    """Return a problem that a straight line cannot serve everywhere: a target elsewhere pays."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)), rng.normal(shift, 0.7, size=(400, 2))
    f = lambda Z: Z[:, 0] ** 2 + Z[:, 1]  # noqa: E731
    return X, f(X) + 0.2 * rng.normal(size=N), T, f(T)


# Held-out rows in features of the kernel


def path_problem(kind, N=240, outputs=1):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 4))
    if kind == "ties":
        X[:20], X[:, 3] = X[20:40], X[:, 3] > 0
    Y = X[:, :1] + rng.normal(size=(N, outputs))
    if kind == "constant":
        Y[:] = 3.0
    w = rng.integers(1, 4, N).astype(float) if kind == "repeats" else np.ones(N)
    repeats = w.astype(int) if kind == "repeats" else None
    factors = rng.uniform(0.5, 2, N) if kind == "weights" else np.ones(N)
    factors[:20] = 0.0 if kind == "zeros" else factors[:20]
    kernel = KernelSum(np.full(4, 0.2), linear=1.0, rbf=2.0, laplacian=0.05)
    folds = ranked_folds(X, Y, 4, w, repeats)
    return Diagonal(w * factors), kernel(X, X), Y, folds, w


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "ties", "constant", "repeats", "weights", "zeros"])
def test_held_out_rows_are_predicted_by_the_closed_form_of_the_others(kind, outputs):
    """In all features: every penalty, every fold, and parts of repeated rows."""
    V, K, Y, folds, w = path_problem(kind, N=120, outputs=outputs)
    regs = penalties(3.0, float(len(Y)))[4::4]
    found = held_out_paths(V, Features.of(K).Psi, Y, w, folds, regs)
    for fold, path in zip(folds, found, strict=True):
        train, share = fold.rest(w)
        dense = part_of(V, train, share).dense()
        for reg, f in zip(regs, path, strict=True):
            for j in range(outputs):
                A, c = reference.closed_form(dense, K[np.ix_(train, train)], Y[train, j], reg)
                expected = K[np.ix_(fold.rows, train)] @ A + c
                np.testing.assert_allclose(f[:, j], expected, atol=1e-7)


def test_all_features_are_the_kernel_and_the_first_are_the_largest():
    _, K, *_ = path_problem("plain", N=60)
    every = Features.of(K)
    np.testing.assert_allclose(every.Psi @ every.Psi.T, K, atol=1e-10)
    np.testing.assert_allclose(K[:, every.pivots] @ every.W, every.Psi, atol=1e-6)
    left = [every.first(most).left_out for most in (5, 20, 60)]
    assert left == sorted(left, reverse=True)
    assert left[-1] < 1e-12
    assert Features.of(np.ones((100, 100))).Psi.shape == (100, 1)
    assert Features.of(np.zeros((9, 9))).Psi.shape == (9, 0)


# The penalty of importance weights


@pytest.mark.parametrize("seed", [0, 3])
def test_a_model_too_simple_for_the_truth_keeps_its_weights(seed):
    X, y, T, truth = curved(400, shift=0.7, seed=seed)
    weights = Importance(CDFWeights(random_state=0).fit(X, X_target=T).weights_)
    found = VSVR(weights, kernel="linear").fit(X, y, X_target=T)
    plain = found.reg_path_["reg"][0, np.argmin(found.reg_path_["error"])]
    other = VSVR(weights, kernel="linear", reg=plain).fit(X, y, X_target=T)
    assert found.reg_ < plain  # whose strength undoes the weights
    errors = [np.mean((model.predict(T) - truth) ** 2) for model in (found, other)]
    assert errors[0] < 0.5 * errors[1]


def test_weights_that_are_equal_leave_the_penalty_of_least_error():
    X, y, T, _ = curved(60)
    d = np.random.default_rng(1).exponential(size=60)
    for weights in (Unweighted(), Importance(np.full(60, 0.5))):
        found = VSVR(weights, kernel="linear").fit(X, y, X_target=T, sample_weight=d)
        path = found.reg_path_
        assert (
            found.reg_ == path["reg"][0, np.flatnonzero(path["error"] == path["error"].min())[-1]]
        )


def test_importance_chooses_another_penalty_where_the_gain_is_clear():
    rng = np.random.default_rng(0)
    Y, weights = rng.normal(size=(40, 1)), np.repeat([0.1, 1.9], 20)
    folds = ranked_folds(rng.normal(size=(40, 2)), Y, 4)
    inside = (np.arange(40) >= 20)[:, None]

    def place(noise, better):
        plain = Y + 1 + noise * rng.normal(size=Y.shape)  # least error of all rows
        heavy = Y + np.where(inside, 1 - better, 3) + noise * rng.normal(size=Y.shape)
        paths = [[plain[fold.rows], heavy[fold.rows]] for fold in folds]
        return by_importance(paths, Y, folds, weights, 0, 0.0)

    assert place(0.01, 0.9) == 1
    assert place(0.01, -0.9) == 0  # the weighted error is no less
    assert place(3.0, 0.1) == 0  # nor clearly so


# The evidence


def paths(seed, N=60, P=4, k=1):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(N, k))
    w = rng.exponential(size=N)
    predictions = {
        name: Y + rng.normal(scale=scale, size=(P, N, k)) + rng.normal(size=(P, 1, 1))
        for name, scale in (("none", 1.0), ("a", 0.7), ("b", 1.5))
    }
    return predictions, Y, w


def loop_error(f, Y, w):
    return sum(w[i] * ((f[i] - Y[i]) ** 2).sum() for i in range(len(w))) / sum(w)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 3))
def test_evidence_is_what_its_definition_says(seed, k):
    predictions, Y, w = paths(seed, k=k)
    plain = np.random.default_rng(seed).exponential(size=len(w))
    choice = choose(predictions, Y, w, plain)
    f_0 = predictions["none"][choice.baseline.setting]
    assert choice.baseline.error == pytest.approx(loop_error(f_0, Y, w))
    for found in choice.compared:
        path = predictions[found.correction]
        f = path[found.setting]
        assert found.error == pytest.approx(loop_error(f, Y, w))
        best = minimize_scalar(
            lambda a, f=f: loop_error((1 - a) * f_0 + a * f, Y, w),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert found.best_share == pytest.approx(best.x, abs=1e-4)
        assert found.gain == pytest.approx(choice.baseline.error - best.fun, abs=1e-6)
        mixture = (1 - found.best_share) * f_0 + found.best_share * f
        gains = ((f_0 - Y) ** 2 - (mixture - Y) ** 2).sum(axis=1)
        variance = sum((w[i] * (gains[i] - found.gain)) ** 2 for i in range(len(w))) * 60 / 59
        assert found.standard_error == pytest.approx(variance**0.5 / w.sum())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_baseline_and_candidates_are_tuned_by_one_criterion_that_is_not_the_judges(seed):
    predictions, Y, w = paths(seed)
    plain = np.random.default_rng(seed).exponential(size=len(w))
    choice = choose(predictions, Y, w, plain)
    for found in (choice.baseline, *choice.compared):
        errors = [loop_error(f, Y, plain) for f in predictions[found.correction]]
        assert found.setting == int(np.argmin(errors))


def problem_of(X, y, T):
    return check_problem(X, y[:, None], T, GivenWeights())


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_candidates_are_predicted_as_machines_without_the_rows_of_a_fold_are(kernel):
    """With all features: every penalty, every fold, V of the rows that stay."""
    X, y, T, _ = curved(60)
    problem, regs = problem_of(X, y, T), np.array([0.3, 1.0, 3.0])
    K = VSVR("none", kernel=kernel).fit(X, y).kernel_(X, X)
    folds = ranked_folds(problem.X, problem.Y, 5, problem.w)
    for correction in candidates(target_weights(problem)).values():
        V = problem.operator(correction)
        paths = held_out_paths(V, Features.of(K).Psi, problem.Y, problem.w, folds, regs)
        for fold, path in zip(folds, paths, strict=True):
            train = np.setdiff1d(np.arange(60), fold.rows)
            dense = V.subset(train).dense()
            for reg, f in zip(regs, path, strict=True):
                A, c = reference.closed_form(dense, K[np.ix_(train, train)], y[train], reg)
                expected = K[np.ix_(fold.rows, train)] @ A + c
                np.testing.assert_allclose(f[:, 0], expected, atol=1e-6)


def test_few_features_hardly_change_what_a_candidate_differs_by():
    X, y, T, _ = curved(200)
    problem, model = problem_of(X, y, T), covshift.VSVR("none", fast=True).fit(X, y)
    every = Features.of(model.kernel_(X, X))
    folds = ranked_folds(problem.X, problem.Y, 5, problem.w)
    moves = []
    for some in (every, every.first(15)):
        regs = np.array([model.reg_ + some.left_out])
        plain, cdf = (
            held_out_paths(problem.operator(V), some.Psi, problem.Y, problem.w, folds, regs)
            for name, V in candidates(target_weights(problem)).items()
            if name != "blended"
        )
        moves.append(np.concatenate([b[0] - a[0] for a, b in zip(plain, cdf, strict=True)])[:, 0])
    assert np.corrcoef(*moves)[0, 1] > 0.9


def test_candidates_take_the_penalty_of_the_uncorrected_machine_or_a_stronger_one():
    X, y, T, _ = curved(100)
    auto = VSVR("auto", kernel="linear").fit(X, y, X_target=T).selection_report_
    first = VSVR("none", kernel="linear").fit(X, y, X_target=T).reg_
    assert auto["candidates"][0]["reg"] == first
    steps = [np.log10(row["reg"] / first) * 19 / 8 for row in auto["candidates"]]
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert all(0 <= round(step) <= 2 for step in steps)
    fixed = VSVR("auto", kernel="linear", reg=0.7).fit(X, y, X_target=T).selection_report_
    assert all(row["reg"] == 0.7 for row in fixed["candidates"])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_share_needs_a_gain_beyond_its_noise(seed):
    predictions, Y, w = paths(seed)
    choice = choose(predictions, Y, w, w)
    for found in choice.compared:
        k = found.needed
        assert 1.2 < k < 1.9  # one candidate at 10 %, and two without anything in common
        t = found.gain / found.standard_error if found.standard_error else 0.0
        expected = found.best_share * max(0.0, 1 - (k / t) ** 2) if t > k else 0.0
        assert found.share == pytest.approx(expected)
    assert sum(share for _, share in choice.parts()) == pytest.approx(1)
    assert 0 <= choice.share <= 1


def test_a_candidate_that_predicts_the_same_is_left_out():
    predictions, Y, w = paths(0)
    choice = choose(
        {"none": predictions["none"][[1, 1]], "a": predictions["none"][[1, 1]]},
        Y,
        w,
        w,
    )
    assert choice.chosen is choice.baseline
    assert choice.share == 0


# The mixture


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_the_machine_is_the_mixture_of_the_two_it_names(solver):
    X, y, T, _ = curved(300)
    options = {"kernel": "linear", "reg": 0.5, "solver": solver, "n_components": 20}
    auto = VSVR("auto", random_state=3, **options).fit(X, y, X_target=T)
    report = auto.selection_report_
    assert 0 < report["share"] < 1
    weights = CDFWeights(allow_no_overlap=True, random_state=0)
    named = {
        "blended": as_correction("blended"),
        "cdf": Importance(weights),
    }
    assert type(auto.correction_) is type(named[report["chosen"]])
    parts = [
        VSVR(correction, random_state=3, **options).fit(X, y, X_target=T).predict(T)
        for correction in ("none", named[report["chosen"]])
    ]
    expected = (1 - report["share"]) * parts[0] + report["share"] * parts[1]
    np.testing.assert_allclose(auto.predict(T), expected, rtol=1e-8, atol=1e-8)


def test_on_landmarks_the_mixture_is_that_of_the_exact_machine():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(400, 1)), rng.normal(1.2, 0.7, size=(400, 1))
    f = lambda Z: np.where(Z[:, 0] > 0, 2 * Z[:, 0] ** 2, Z[:, 0])  # noqa: E731
    y = f(X) + 0.1 * rng.normal(size=400)
    errors = {}
    for solver in ("dual", "primal"):
        model = VSVR("auto", kernel="linear", solver=solver, n_components=50, random_state=0)
        model.fit(X, y, X_target=T)
        errors[solver] = np.mean((model.predict(T) - f(T)) ** 2)
        used = [row for row in model.selection_report_["candidates"] if row["share"] > 0]
        assert used[-1]["reg"] == model.reg_
    assert errors["primal"] == pytest.approx(errors["dual"], rel=0.5)  # other folds, other grids


def test_equal_sample_weights_are_repeated_rows_for_the_penalty():
    X, y, T, _ = curved(60)
    tuned = VSVR("none", kernel="linear").fit(X, y, X_target=T, sample_weight=np.full(60, 1e3))
    auto = VSVR("auto", kernel="linear").fit(X, y, X_target=T, sample_weight=np.full(60, 1e3))
    assert auto.selection_report_["candidates"][0]["reg"] == tuned.reg_


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_without_a_clear_gain_it_is_the_uncorrected_machine(kernel):
    left_alone = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(80, 2)), rng.normal(size=(100, 2))
        y = (rng.uniform(size=80) < 0.5).astype(int)  # nothing to learn
        auto = VSVC("auto", kernel=kernel).fit(X, y, X_target=T)
        assert auto.selection_report_["share"] < 0.5
        if auto.selection_report_["share"] > 0:
            continue
        left_alone += 1
        none = VSVC("none", kernel=kernel).fit(X, y, X_target=T)
        np.testing.assert_array_equal(auto.predict_proba(T), none.predict_proba(T))
        assert isinstance(auto.correction_, Unweighted)
        assert "left as it is" in auto.selection_report_["reason"]
    assert left_alone >= 3


def test_a_model_too_simple_for_the_truth_is_corrected():
    X, y, T, truth = curved(400)
    error = {
        name: np.mean((VSVR(name, kernel="linear").fit(X, y, X_target=T).predict(T) - truth) ** 2)
        for name in ("none", "auto")
    }
    assert error["auto"] < 0.7 * error["none"]


def test_the_report_is_plain_data_with_the_baseline_first():
    X, y, T, _ = curved(150)
    report = VSVR("auto", kernel="linear").fit(X, y, X_target=T).selection_report_
    assert json.loads(json.dumps(report)) == report
    names = [row["correction"] for row in report["candidates"]]
    assert names == ["none", "blended", "cdf"]
    assert sum(row["share"] for row in report["candidates"]) == pytest.approx(1)
    assert report["reason"].startswith(f"'{report['chosen']}' lowers the estimated target error")


def test_many_classes_many_outputs_and_no_target():
    X, y, T, _ = curved(120)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    p = VSVC("auto").fit(X, labels, X_target=T).predict_proba(T)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert VSVR("auto").fit(X, np.column_stack([y, -y])).predict(T).shape == (400, 2)


def test_the_width_is_chosen_with_the_uncorrected_machine():
    X, y, T, _ = curved(80)
    auto = VSVR("auto", width="cv").fit(X, y, X_target=T)
    assert auto.width_ == VSVR("none", width="cv").fit(X, y, X_target=T).width_


def test_one_distinct_row_leaves_nothing_to_compare():
    X = np.ones((4, 2))
    auto = VSVR("auto").fit(X, [1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(auto.predict(X), 1)
    assert auto.selection_report_["share"] == 0


def test_it_works_in_a_search_with_a_target_as_long_as_X():
    X, y, T, _ = curved(60)
    search = GridSearchCV(VSVR(kernel="linear"), {"correction": ["none", "auto"]}, cv=3)
    search.fit(X, y, X_target=(T[:60],))
    assert "selection_report_" in vars(search.best_estimator_) or (
        search.best_params_["correction"] == "none"
    )


def test_a_later_fit_forgets_the_report():
    X, y, T, _ = curved(60)
    model = VSVR("auto", kernel="linear").fit(X, y, X_target=T)
    model.set_params(correction="none").fit(X, y, X_target=T)
    assert not hasattr(model, "selection_report_")


# The default


@pytest.mark.parametrize("kernel", ["linear", "cv"])
def test_given_a_target_it_is_the_default_and_without_one_nothing_is_compared(kernel):
    X, y, T, _ = curved(100)
    options = {"kernel": kernel, "fast": True}
    auto, default = (
        covshift.VSVR(correction, **options).fit(X, y, X_target=T) for correction in ("auto", None)
    )
    assert covshift.VSVR().correction is None
    np.testing.assert_array_equal(auto.predict(T), default.predict(T))
    assert default.correction_reason_ == auto.selection_report_["reason"]
    assert "\n" not in default.correction_reason_
    alone, none = (covshift.VSVR(correction, **options).fit(X, y) for correction in (None, "none"))
    np.testing.assert_array_equal(alone.predict(T), none.predict(T))
    assert isinstance(alone.correction_, Unweighted)
    assert alone.correction_reason_.startswith("No correction: by default fit compares")
    assert none.correction_reason_ == "correction='none' was asked for."


def test_a_straight_line_uses_the_target_by_default():
    """The example of the README: the default ignored the target that was given."""
    rng = np.random.default_rng(2)
    X, T = rng.normal(size=(400, 1)), rng.normal(1.5, 0.5, size=(400, 1))
    y = np.sin(1.5 * X[:, 0]) + 0.3 * rng.normal(size=400)
    error = {}
    for name, target in (("none", None), ("default", T)):
        f = covshift.VSVR(kernel="linear").fit(X, y, X_target=target).predict(T)
        error[name] = np.mean((f - np.sin(1.5 * T[:, 0])) ** 2)
    assert error["default"] < 0.3 * error["none"]


def test_where_there_is_no_choice_the_default_is_no_correction():
    X, y, T, _ = curved(60)
    blocks = covshift.VSVR(kernel="linear").partial_fit(X, y, X_target=T)
    given = covshift.VSVR(kernel="precomputed").fit(X @ X.T, y)
    for model in (blocks, given):
        assert isinstance(model.correction_, Unweighted)
        assert not hasattr(model, "selection_report_")


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_target_apart_from_the_training_rows_leaves_the_machine_as_it_is(solver):
    """Eight effective rows said a correction gains 78 %; it cost 19 %."""
    X, y, T, _ = curved(100)
    far, options = T + 8.0, {"kernel": "linear", "solver": solver, "random_state": 0}
    with pytest.warns(OverlapWarning, match="100% of the target lies above"):
        model = covshift.VSVR(**options).fit(X, y, X_target=far)
    assert model.correction_reason_.startswith("Parts of the target have no training rows")
    none = covshift.VSVR("none", **options).fit(X, y, X_target=far)
    np.testing.assert_array_equal(model.predict(far), none.predict(far))


# What it refuses


def test_the_choice_is_that_of_the_weighted_sample():
    """Weights judge by the weighted rows, and equal ones change nothing."""
    X, y, T, _ = curved(60)
    times = 1 + np.arange(60) % 3
    weighted, scaled = (
        VSVR("auto", reg=1.0).fit(X, y, X_target=T, **given).selection_report_["candidates"]
        for given in (
            {"sample_weight": times},
            {"sample_weight": 1000 * times},
        )
    )
    rows = np.repeat(np.arange(60), times)
    repeated = VSVR("auto", reg=1.0).fit(X[rows], y[rows], X_target=T).selection_report_
    for found, expected in zip(weighted, scaled, strict=True):
        assert found["gain"] == pytest.approx(expected["gain"], rel=1e-6, abs=1e-12)
        assert found["error"] == pytest.approx(expected["error"], rel=1e-6)
    assert weighted[0]["error"] != pytest.approx(repeated["candidates"][0]["error"], rel=1e-3)
    weighted = VSVR("auto", reg=1.0).fit(X, y, X_target=T, sample_weight=np.ones(60))
    plain = VSVR("auto", reg=1.0).fit(X, y, X_target=T)
    np.testing.assert_allclose(weighted.predict(T), plain.predict(T))


def test_a_precomputed_kernel_and_blocks_are_refused():
    X, y, T, _ = curved(60)
    with pytest.raises(ValueError, match="needs points"):
        VSVR("auto", kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="partial_fit cannot use it"):
        VSVR("auto").partial_fit(X, y, X_target=T)


def test_auto_is_no_correction_by_itself():
    with pytest.raises(ValueError, match="only estimators"):
        as_correction("auto")


@pytest.mark.parametrize("name", sorted(WEIGHTERS))
def test_a_weighters_name_weights_the_rows(name):
    correction = as_correction(name)
    assert isinstance(correction, Importance)
    assert correction.weights == name


def test_gaussian_is_the_correction_and_no_weighter():
    assert isinstance(as_correction("gaussian"), Gaussian)
    assert "gaussian" not in WEIGHTERS
