"""Theorems 3.2 and 3.3: both directions agree, and the bounds hold as often as they promise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from covshift import bounds
from covshift.corrections import Sliced

deterministic = settings(derandomize=True, deadline=None)

TRIALS = 1000
M = 40


class Problem(NamedTuple):
    """Training rows, what the target distribution says of them, and many target samples."""

    X: np.ndarray  # (N, n)
    at_least: np.ndarray  # (N, n), Pr(t >= x) of each feature
    at_most: np.ndarray  # (N, n), Pr(t <= x) of each feature
    targets: np.ndarray  # (TRIALS, M, n)

    def errors(self) -> np.ndarray:
        """V_hat - V_true of every trial, (TRIALS, N, N)."""
        V_true = np.minimum(self.at_least[:, None, :], self.at_least[None, :, :]).prod(axis=-1)
        B = np.all(self.targets[:, :, None, :] >= self.X, axis=-1).astype(np.float32)
        return np.matmul(B.transpose(0, 2, 1), B) / self.targets.shape[1] - V_true

    def worst_errors(self) -> np.ndarray:
        return np.abs(self.errors()).max(axis=(1, 2))

    def worst_view_errors(self) -> np.ndarray:
        """The largest error over all one-dimensional views and their mirror images."""
        t = self.targets[:, :, None, :]
        above = np.abs((t >= self.X).mean(axis=1) - self.at_least)
        below = np.abs((t <= self.X).mean(axis=1) - self.at_most)
        return np.maximum(above, below).max(axis=(1, 2))


def uniform_problem(n: int, N: int, *, seed: int, n_target: int = M) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N, n))
    return Problem(X, 1 - X, X, rng.uniform(size=(TRIALS, n_target, n)))


def discrete_problem(n: int, N: int, *, seed: int, n_target: int = M) -> Problem:
    """Five equally likely levels: almost everything ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(N, n))
    return Problem(X, (5 - X) / 5, (X + 1) / 5, rng.integers(5, size=(TRIALS, n_target, n)))


PROBLEMS = [
    pytest.param(uniform_problem, id="uniform"),
    pytest.param(discrete_problem, id="discrete"),
]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
def test_one_dimensional_bound_holds_as_often_as_promised(problem, confidence):
    worst = problem(1, 60, seed=0).worst_errors()
    assert (worst <= bounds.half_width_1d(M, confidence)).mean() >= confidence


def test_one_dimensional_bound_would_fail_if_it_were_a_fifth_narrower():
    worst = uniform_problem(1, 60, seed=0).worst_errors()
    assert (worst > 0.8 * bounds.half_width_1d(M, 0.95)).mean() > 0.05


@pytest.mark.parametrize("n_target", [3, 5, 10])  # few enough that 1 - 2 / M^2 can be measured
def test_paper_choice_holds_as_often_as_promised(n_target):
    worst = uniform_problem(1, 60, seed=1, n_target=n_target).worst_errors()
    assert (worst <= bounds.half_width_1d(n_target)).mean() >= 1 - 2 / n_target**2


@pytest.mark.parametrize("problem", PROBLEMS)
def test_union_over_views_covers_every_view_and_its_mirror_image(problem):
    worst = problem(3, 30, seed=2).worst_view_errors()
    assert (worst <= bounds.half_width_1d(M, 0.9, n_views=3)).mean() >= 0.9


def test_several_views_need_the_union():
    worst = uniform_problem(3, 30, seed=2).worst_view_errors()
    assert (worst > bounds.half_width_1d(M, 0.9, n_views=1)).mean() > 0.1


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("n", [1, 3])
def test_bound_in_any_dimension_holds_as_often_as_promised(problem, n):
    worst = problem(n, 20, seed=3).worst_errors()
    width = bounds.half_width(M, 20, 0.9)
    assert (worst <= width).mean() >= 0.9
    assert (worst > 0.4 * width).mean() > 0.1


@pytest.mark.parametrize("problem", PROBLEMS)
def test_loss_errors_hold_as_often_as_promised(problem):
    residuals = np.random.default_rng(5).normal(0.3, 0.4, size=30)
    drawn = problem(1, 30, seed=4)
    gap = np.abs(residuals @ drawn.errors() @ residuals) / 30**2
    assert (gap <= bounds.loss_error_1d(drawn.X, residuals, M, 0.95)).mean() >= 0.95
    assert (gap <= bounds.loss_error(residuals, M, 0.95)).mean() >= 0.95
    assert gap.max() > 0.25 * bounds.loss_error_1d(drawn.X, residuals, M, 0.95)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_error_of_an_additive_loss_is_within_its_bound(problem, symmetric):
    drawn, n = problem(3, 30, seed=6), 3
    r = np.random.default_rng(7).normal(0.1, 0.4, size=30)
    error = np.zeros(TRIALS)
    for k in range(n):
        sides = [(drawn.X[:, k], drawn.targets[..., k], drawn.at_least[:, k])]
        if symmetric:
            sides.append((-drawn.X[:, k], -drawn.targets[..., k], drawn.at_most[:, k]))
        for x, t, at_least in sides:
            B = (t[:, :, None] >= x).astype(float)
            true = r @ np.minimum(at_least[:, None], at_least) @ r
            error += (((B @ r) ** 2).mean(axis=1) - true) / (n * len(sides) * 30**2)
    bound = bounds.loss_error_1d(drawn.X, r, M, 0.95, symmetric=symmetric)
    assert (np.abs(error) <= bound).mean() >= 0.95


def test_the_bound_on_a_smooth_fit_is_many_times_sharper_than_the_theorem():
    rng = np.random.default_rng(0)
    x, r = rng.normal(size=2000), rng.normal(size=2000)
    h = bounds.half_width_1d(500, 0.95)
    assert bounds.loss_error_1d(x, r, 500, 0.95) < 0.1 * h * np.abs(r).mean() ** 2


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=12
    )
)
@deterministic
def test_loss_errors_are_those_of_the_oracle_and_at_most_the_theorem(rows):
    x, other, r = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    one, two = (bounds.half_width_1d(500, 0.9, n_views=views) for views in (1, 2))
    found = bounds.loss_error_1d(x, r, 500, 0.9)
    assert found == pytest.approx(reference.loss_error_in_one_view(x, r, one), abs=1e-9)
    assert found <= reference.loss_error_of_theorem_3_2(r, one) + 1e-9
    views = [reference.loss_error_in_one_view(view, r, two) for view in (x, other)]
    both = bounds.loss_error_1d(np.column_stack([x, other]), r, 500, 0.9)
    assert both == pytest.approx(np.mean(views), abs=1e-9)
    mirrored = [reference.loss_error_in_one_view(view, r, one) for view in (x, -x)]
    symmetric = bounds.loss_error_1d(x, r, 500, 0.9, symmetric=True)
    assert symmetric == pytest.approx(np.mean(mirrored), abs=1e-9)


def test_without_a_confidence_the_half_width_is_the_papers():
    x, r = np.array([0.3, 0.1, 0.2]), np.array([0.5, -1.5, 0.25])
    expected = reference.loss_error_in_one_view(x, r, math.sqrt(math.log(500) / 500))
    assert bounds.loss_error_1d(x, r, 500) == pytest.approx(expected)


def test_the_loss_error_in_any_dimension_is_the_theorem():
    residuals = np.array([0.5, -1.5, 0.25, 0.0])
    assert bounds.loss_error(residuals, 500, 0.9) == pytest.approx(
        bounds.half_width(500, 4, 0.9) * 1.5**2
    )


def test_confidences_are_the_formulas_of_the_paper():
    assert bounds.confidence_1d(50, 0.3) == pytest.approx(1 - 2 * math.exp(-2 * 50 * 0.09))
    assert bounds.confidence(50, 8, 0.3) == pytest.approx(1 - 8 * 9 * math.exp(-2 * 50 * 0.09))
    for n_target in (2, 10, 1000):
        promised = bounds.confidence_1d(n_target, bounds.half_width_1d(n_target))
        assert promised == pytest.approx(1 - 2 / n_target**2)


@deterministic
@given(
    n_target=st.integers(1, 10**9),
    confidence=st.floats(0.001, 0.999),
    n_views=st.integers(1, 1000),
)
def test_one_dimensional_directions_are_inverse(n_target, confidence, n_views):
    width = bounds.half_width_1d(n_target, confidence, n_views=n_views)
    assert bounds.confidence_1d(n_target, width, n_views=n_views) == pytest.approx(confidence)
    assert bounds.target_size_1d(width, confidence, n_views=n_views) == n_target


@deterministic
@given(
    n_target=st.integers(1, 10**9),
    n_train=st.integers(1, 10**7),
    confidence=st.floats(0.001, 0.999),
)
def test_directions_are_inverse(n_target, n_train, confidence):
    width = bounds.half_width(n_target, n_train, confidence)
    assert bounds.confidence(n_target, n_train, width) == pytest.approx(confidence)
    assert bounds.target_size(width, n_train, confidence) == n_target


@deterministic
@given(width=st.floats(0.001, 2), confidence=st.floats(0.01, 0.99), n_train=st.integers(1, 1000))
def test_target_size_is_the_smallest_that_suffices(width, confidence, n_train):
    size = bounds.target_size(width, n_train, confidence)
    assert bounds.half_width(size, n_train, confidence) <= width
    assert size == 1 or bounds.half_width(size - 1, n_train, confidence) > width
    size = bounds.target_size_1d(width, confidence)
    assert bounds.half_width_1d(size, confidence) <= width
    assert size == 1 or bounds.half_width_1d(size - 1, confidence) > width


def test_the_largest_counts_are_taken():
    most = 2**62
    assert bounds.half_width_1d(most) > 0
    assert bounds.half_width(most, most) > 0
    assert bounds.confidence(most, most, 1.0) == 1.0
    assert bounds.target_size(2e-9, 10) < most


def test_the_union_over_fixed_directions_covers_a_sliced_v():
    rng = np.random.default_rng(6)
    directions = rng.normal(size=(4, 2))
    fixed = Sliced(directions=directions, standardize=False)
    truth = rng.normal(size=(100_000, 2))
    V = fixed.operator([[0.3, 0.0], [-0.2, 1.0]], truth).dense()
    worst = [
        np.abs(fixed.operator([[0.3, 0.0], [-0.2, 1.0]], rng.normal(size=(M, 2))).dense() - V).max()
        for _ in range(300)
    ]
    assert (np.array(worst) <= bounds.half_width_1d(M, 0.9, n_views=4)).mean() >= 0.9


def test_widths_shrink_with_the_target_and_grow_with_everything_asked():
    assert bounds.half_width_1d(400, 0.9) == pytest.approx(bounds.half_width_1d(100, 0.9) / 2)
    assert bounds.half_width_1d(100, 0.9) < bounds.half_width_1d(100, 0.99)
    assert bounds.half_width_1d(100, 0.9) < bounds.half_width_1d(100, 0.9, n_views=2)
    assert bounds.half_width(400, 50, 0.9) == pytest.approx(bounds.half_width(100, 50, 0.9) / 2)
    assert bounds.half_width(100, 50, 0.9) < bounds.half_width(100, 50, 0.99)
    assert bounds.half_width(100, 50, 0.9) < bounds.half_width(100, 51, 0.9)


def test_one_training_row_is_as_sharp_in_any_dimension_as_in_one():
    assert bounds.half_width(100, 1, 0.9) == bounds.half_width_1d(100, 0.9)


def test_confidence_is_zero_where_nothing_is_promised():
    assert bounds.confidence_1d(1, 0.1) == 0.0
    assert bounds.confidence(10, 1000, 0.1) == 0.0


def test_numpy_integers_are_accepted():
    assert bounds.half_width(np.int64(100), np.int32(20)) == bounds.half_width(100, 20)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.half_width_1d(0, 0.9), "n_target=0 must be a whole number from 1"),
        (lambda: bounds.half_width_1d(10.5, 0.9), r"n_target=10\.5 must be a whole number"),
        (
            lambda: bounds.half_width_1d(10, 1.0),
            r"confidence=1\.0 must be a number above 0 and below 1",
        ),
        (
            lambda: bounds.half_width_1d(10, math.nan),
            "confidence=nan must be a number above 0 and below 1",
        ),
        (lambda: bounds.half_width_1d(10, 0.9, n_views=0), "n_views=0 must be a whole number"),
        (lambda: bounds.half_width_1d(1), "promises nothing for n_target=1"),
        (lambda: bounds.half_width_1d(10, n_views=50), "Pass a confidence"),
        (lambda: bounds.half_width(10, 0), "n_train=0 must be a whole number"),
        (
            lambda: bounds.half_width(10, 5, 0.0),
            r"confidence=0\.0 must be a number above 0 and below 1",
        ),
        (lambda: bounds.confidence_1d(10, 0.0), r"half_width=0\.0 must be a finite number above 0"),
        (lambda: bounds.confidence(10, 5, math.nan), "half_width=nan must be a finite number"),
        (lambda: bounds.target_size_1d(-0.1), r"half_width=-0\.1 must be a finite number"),
        (lambda: bounds.target_size(math.inf, 5), "half_width=inf must be a finite number above 0"),
        (
            lambda: bounds.loss_error([1e200, 1.0], 10),
            "residuals are so large that the bound overf",
        ),
        (lambda: bounds.loss_error_1d([0, 1], [1e308, 1e308], 10, 0.9), "residuals are so large"),
        (lambda: bounds.half_width_1d(10**400, 0.9), "must be a whole number from 1 to"),
        (lambda: bounds.half_width(10, 10**200), "n_train=1000.* from 1 to 4"),
        (lambda: bounds.target_size_1d(1e-200), "half_width=1e-200 needs inf target rows"),
        (lambda: bounds.target_size(1e-12, 10), r"half_width=1e-12 needs .*e\+24 target rows"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
