"""Leaving out one row in closed form is fitting again without it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from machines import VSVC, VSVR
from reference import exact_fit, left_out
from sklearn.exceptions import NotFittedError

import covshift
from covshift import Margins
from covshift.corrections import Additive, Importance, Multiplicative, Precomputed, as_correction
from covshift.exceptions import InputError

REG = 0.3


def rng(seed=0):
    return np.random.default_rng(seed)


def problem(N=30, M=25, n=2, seed=0, digits=None):
    random = rng(seed)
    X, T = random.normal(size=(N, n)), random.normal(0.5, 1, size=(M, n))
    new = random.normal(size=(6, n))
    if digits is not None:
        X, T, new = X.round(digits), T.round(digits), new.round(digits)
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 0]) + random.normal(scale=0.2, size=N), T, new


def oracle(model, correction, X, y, T, new, w=None, reg=REG):
    """Refit the dense problem without each row, with V of all rows."""
    V = as_correction(correction).operator(X, (T,), sample_weight=w).dense()
    return left_out(V, model.kernel_(X, X), model.kernel_(new, X), y, reg)


CORRECTIONS = {
    "none": "none",
    "additive": "additive",
    "blended": "blended",
    "multiplicative": "multiplicative",
    "pairwise, both sides": "pairwise",
    "given weights": Importance(rng(1).uniform(0.1, 3, 30)),
    "CDF weights": "cdf",
    "one-sided, normalised": Additive(symmetric=False, normalize=True),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("digits", [None, 0], ids=["distinct", "tied"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("correction", CORRECTIONS.values(), ids=CORRECTIONS)
def test_the_exact_machine_is_that_of_a_refit_without_the_row(correction, weighted, digits):
    X, y, T, new = problem(digits=digits)
    w = rng(2).uniform(0.2, 3, len(X)) if weighted else None
    model = VSVR(correction, reg=REG).fit(X, y, X_target=T, sample_weight=w)
    without = model.leave_one_out(X, y, X_target=T, sample_weight=w)
    at_rows, at_new = oracle(model, correction, X, y, T, new, w)
    np.testing.assert_allclose(without.predict(), at_rows, atol=1e-8, rtol=0)
    np.testing.assert_allclose(without.residuals(), y - at_rows, atol=1e-8, rtol=0)
    np.testing.assert_allclose(without.predict(new), at_new, atol=1e-8, rtol=0)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
@pytest.mark.parametrize("reg", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("M", [1, 3, 25])
def test_V_of_few_target_rows_and_with_zero_columns(M, reg):
    X, y, T, new = problem(M=M)
    T += 2
    X[:4] += 10  # no target row is there
    model = VSVR(Multiplicative(), reg=reg).fit(X, y, X_target=T)
    V = Multiplicative().operator(X, (T,)).dense()
    assert np.linalg.matrix_rank(V) <= M
    assert not V[:4].any()
    without = model.leave_one_out(X, y, X_target=T)
    at_rows, at_new = oracle(model, Multiplicative(), X, y, T, new, reg=reg)
    np.testing.assert_allclose(without.predict(), at_rows, atol=1e-8, rtol=0)
    np.testing.assert_allclose(without.predict(new), at_new, atol=1e-8, rtol=0)
    np.testing.assert_allclose(without.predict(new)[:, :4], model.predict(new)[:, None] + [0] * 4)


@pytest.mark.parametrize("blend", [0.0, 0.5])
def test_penalties_near_zero_against_sixty_digits(blend):
    X, y, T, _ = problem(N=12)
    correction = Additive(blend=blend)
    model = VSVR(correction, reg=1e-7).fit(X, y, X_target=T)
    found = model.leave_one_out(X, y, X_target=T).predict()
    for i in (0, 7):
        V = correction.operator(X, (T,)).dense()
        V[i] = V[:, i] = 0  # then row i has no coefficient
        truth = exact_fit(V, model.kernel_(X, X), y, 1e-7)[i]
        assert found[i] == pytest.approx(truth, abs=1e-8)


def test_the_usual_shortcut_is_wrong_for_a_full_V():
    X, y, T, _ = problem()
    model = VSVR("additive", reg=REG).fit(X, y, X_target=T)
    V = as_correction("additive").operator(X, (T,)).dense()
    K, N = model.kernel_(X, X), len(X)
    basis, one = np.linalg.inv(V @ K + REG * np.eye(N)) @ V, np.ones(N)
    s = one @ (V @ K @ basis - V) / (one @ (V @ K @ basis - V) @ one)
    H = K @ (basis - np.outer(basis @ one, s)) + np.outer(one, s)
    np.testing.assert_allclose(H @ y, model.predict(X), atol=1e-8)
    shortcut = (y - H @ y) / (1 - np.diag(H))
    found = model.leave_one_out(X, y, X_target=T).residuals()
    assert np.abs(shortcut - found).max() > 0.1 * found.std()


@pytest.mark.parametrize("correction", CORRECTIONS.values(), ids=CORRECTIONS)
def test_the_fit_on_landmarks_is_that_of_a_refit_on_the_same_landmarks(correction):
    X, y, T, new = problem()
    w = rng(2).uniform(0.2, 3, len(X))
    model = VSVR(correction, reg=REG, solver="primal", n_components=9, random_state=0)
    model.fit(X, y, X_target=T, sample_weight=w)
    without = model.leave_one_out(X, y, X_target=T, sample_weight=w)
    k, Z = model.kernel_, model.landmarks_
    inverse = np.linalg.inv(k(Z, Z))
    V = as_correction(correction).operator(X, (T,), sample_weight=w).dense()
    at_rows, at_new = left_out(
        V, k(X, Z) @ inverse @ k(Z, X), k(new, Z) @ inverse @ k(Z, X), y, REG
    )
    np.testing.assert_allclose(without.predict(), at_rows, atol=1e-8, rtol=0)
    np.testing.assert_allclose(without.predict(new), at_new, atol=1e-8, rtol=0)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_several_outputs_are_left_out_one_by_one(solver):
    X, y, T, new = problem()
    Y = np.column_stack([y, y**2, X[:, 0]])
    model = VSVR("blended", reg=REG, solver=solver).fit(X, Y, X_target=T)
    without = model.leave_one_out(X, Y, X_target=T)
    assert without.predict(new).shape == (6, 30, 3)
    for j in range(3):
        one = VSVR("blended", reg=REG, solver=solver).fit(X, Y[:, j], X_target=T)
        alone = one.leave_one_out(X, Y[:, j], X_target=T)
        np.testing.assert_allclose(without.residuals()[:, j], alone.residuals(), atol=1e-10)
        np.testing.assert_allclose(without.predict(new)[..., j], alone.predict(new), atol=1e-10)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("faint", [0.0, 1e-9])
def test_a_row_that_alone_holds_the_intercept(faint, outputs):
    X, y, _, new = problem(N=8)
    Y = np.column_stack([y, -2 * y])[:, :outputs]
    w = np.full(8, faint)
    w[3] = 1.0
    for V in (Importance(w), Precomputed(np.diag(w) + faint * np.ones((8, 8)))):
        model = VSVR(V, reg=1e-8).fit(X, Y)
        without = model.leave_one_out(X, Y)
        rest = np.delete(np.arange(8), 3)
        expected = np.tile(Y[rest].mean(axis=0), (6, 1))  # nothing is seen
        if faint:
            dense = V.operator(X, (X,)).dense()
            K, K_new = model.kernel_(X, X), model.kernel_(new, X)
            expected = np.column_stack(
                [left_out(dense, K, K_new, column, 1e-8)[1][:, 3] for column in Y.T]
            )
        np.testing.assert_allclose(without.predict(new)[:, 3], expected, atol=1e-6)
        np.testing.assert_allclose(
            without.predict(X[[3]])[0, 3], Y[3] - without.residuals()[3], atol=1e-9
        )


def test_where_no_row_is_seen_the_mean_of_the_others_is_left():
    X, y, T, new = problem()
    with pytest.warns():
        model = VSVR("multiplicative", reg=REG).fit(X, y, X_target=T - 100)
    without = model.leave_one_out(X, y, X_target=T - 100)
    others = (y.sum() - y) / (len(y) - 1)
    np.testing.assert_allclose(without.predict(), others)
    np.testing.assert_allclose(without.predict(new), np.tile(others, (6, 1)))


@pytest.mark.filterwarnings("ignore::covshift.exceptions.FewRowsWarning")
def test_a_mixture_leaves_the_row_out_of_both_machines():
    random = rng(3)
    X, T = random.normal(size=(150, 2)), random.normal(1.2, 0.6, size=(200, 2))
    y = X[:, 0] ** 2 + X[:, 1] + random.normal(scale=0.1, size=150)
    model = covshift.VSVR("auto", kernel=covshift.Kernel("linear", coordinates="none")).fit(
        X, y, X_target=T
    )
    report = model.selection_report_
    assert 0 < report["share"] < 1
    from covshift.corrections.auto import candidates
    from covshift.weights import CDFWeights

    weighter = CDFWeights(allow_no_overlap=True, random_state=0)
    known = candidates(weighter.fit(X, X_target=T).weights_)
    expected = [0.0, 0.0]
    for part in report["candidates"]:
        if part["share"]:
            truth = oracle(model, known[part["correction"]], X, y, T, T[:3], reg=part["reg"])
            expected = [a + part["share"] * b for a, b in zip(expected, truth, strict=True)]
    without = model.leave_one_out(X, y, X_target=T)
    np.testing.assert_allclose(without.predict(), expected[0], atol=1e-8)
    np.testing.assert_allclose(without.predict(T[:3]), expected[1], atol=1e-8)


def test_a_given_kernel_matrix():
    X, y, T, new = problem()
    V = as_correction("blended").operator(X, (T,)).dense()
    K, K_new = np.exp(-((X[:, None] - X) ** 2).sum(-1)), np.exp(-((new[:, None] - X) ** 2).sum(-1))
    model = covshift.VSVR(Precomputed(V), kernel="precomputed", reg=REG).fit(K, y)
    without = model.leave_one_out(K, y)
    at_rows, at_new = left_out(V, K, K_new, y, REG)
    np.testing.assert_allclose(without.predict(), at_rows, atol=1e-8)
    np.testing.assert_allclose(without.predict(K_new), at_new, atol=1e-8)


def test_a_data_frame_with_categories_and_margins_as_the_target():
    X, y, _, _ = problem()
    frame = pd.DataFrame(
        {"side": np.where(X[:, 0] > 0, "l", "r"), "group": np.where(X[:, 1] > 0, "x", "z")}
    )
    frame.loc[::3, "group"] = "y"
    margins = Margins({"group": {"x": 0.2, "y": 0.3, "z": 0.5}, "side": {"l": 0.6, "r": 0.4}})
    model = VSVR("additive", reg=REG).fit(frame, y, X_target=margins)
    without = model.leave_one_out(frame, y, X_target=margins)
    encoded = model._points(frame)
    V = covshift.v_matrix(frame, margins, correction="additive")
    K = model.kernel_(encoded, encoded)
    at_rows, at_new = left_out(np.asarray(V), K, K[:5], y, REG)
    np.testing.assert_allclose(without.predict(), at_rows, atol=1e-8)
    np.testing.assert_allclose(without.predict(frame[:5]), at_new, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_apply_the_fitted_link_to_f_without_the_row(classes):
    X, y, T, new = problem(N=60)
    labels = np.array(["u", "v", "w"])[np.digitize(y, np.quantile(y, [0.5, 0.8])[: classes - 1])]
    data = {"X_target": T}
    clipped = VSVC("blended", reg=REG).fit(X, labels, **data)
    without = clipped.leave_one_out(X, labels, **data)
    Y = (labels[:, None] == clipped.classes_).astype(float)
    truth = [oracle(clipped, "blended", X, column, T, new) for column in Y.T]
    at_rows, at_new = (np.stack([t[j] for t in truth], axis=-1) for j in (0, 1))
    for f, given in ((at_rows, None), (at_new, new)):
        p = np.clip(f, 0, 1) / np.clip(f, 0, 1).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(without.predict_proba(given), p, atol=1e-8)
        score = f[..., 1] - 0.5 if classes == 2 else f
        np.testing.assert_allclose(without.decision_function(given), score, atol=1e-8)
    logistic = VSVC("blended", reg=REG, probability="logistic").fit(X, labels, **data)
    without = logistic.leave_one_out(X, labels, **data)
    odds = np.log(without.predict_proba(new))
    moved = (odds - np.log(logistic.predict_proba(new))[:, None])[..., -1:] - (
        odds - np.log(logistic.predict_proba(new))[:, None]
    )[..., :1]
    f = np.stack([np.asarray(clipped._values(new))[:, -1]] * 60, axis=1)
    first = 0 if classes == 2 else np.asarray(clipped._values(new))[:, [0]] - at_new[..., 0]
    step = at_new[..., -1] - f + first
    np.testing.assert_allclose(moved[..., 0], 5 * logistic._calibration.slope[0] * step, atol=1e-8)


def test_a_machine_from_a_file_answers_alike(tmp_path):
    X, y, T, new = problem()
    model = covshift.VSVR("blended", fast=True).fit(X, y, X_target=T)
    covshift.save(model, tmp_path / "model.covshift")
    loaded = covshift.load(tmp_path / "model.covshift")
    before = dict(vars(loaded))
    found = loaded.leave_one_out(X, y, X_target=T).predict(new)
    np.testing.assert_array_equal(found, model.leave_one_out(X, y, X_target=T).predict(new))
    assert set(vars(loaded)) == set(before)  # the machine itself does not change
    assert all(vars(loaded)[name] is value for name, value in before.items())


def test_other_data_than_those_of_the_fit_are_refused():
    X, y, T, _ = problem()
    model = VSVR("additive", reg=REG).fit(X, y, X_target=T)
    for given in (
        {"y": y[::-1], "X_target": T},
        {"y": y},
        {"y": y, "X_target": T, "sample_weight": 1 + np.arange(30)},
        {"y": y, "X_target": T + 0.5},
    ):
        with pytest.raises(InputError, match="takes what fit took"):
            model.leave_one_out(X, **given)
    with pytest.raises(InputError, match="takes what fit took"):
        model.leave_one_out(X[:20], y[:20], X_target=T)
    with pytest.raises(InputError, match="2 outputs, but fit was given 1"):
        model.leave_one_out(X, np.column_stack([y, y]), X_target=T)


def test_what_has_no_closed_form_is_refused():
    X, y, T, _ = problem()
    labels = (y > 0).astype(int)
    plain = VSVC("none", reg=REG, probability=None).fit(X, labels, X_target=T)
    with pytest.raises(InputError, match="not a probability"):
        plain.leave_one_out(X, labels, X_target=T).predict_proba()
    with pytest.raises(InputError, match="fit was given"):
        plain.leave_one_out(X, labels + 1, X_target=T)
    with pytest.raises(NotFittedError):
        VSVR().leave_one_out(X, y)
    alone = VSVR("none", reg=REG).fit(X[:1], y[:1], X_target=T)
    with pytest.raises(InputError, match="needs two"):
        alone.leave_one_out(X[:1], y[:1], X_target=T)
