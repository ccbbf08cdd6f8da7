"""The joint solution of all leaves, D w = U, while leaves are split (theory, section 5.2)."""

from __future__ import annotations

import numpy as np

from .._types import Real, Rows


class Solution:
    """Leaf values ``w`` (T,), and D^-1 = A diag(signs) A' by ``n_directions`` columns of A.

    The residuals are r = g + Zw; by the ``steps`` of the directions, 2Vr = 2Vg + sum of steps times
    2V Z a. All arrays are as long as they can become.
    """

    def __init__(self, L: int, lam: float, V_sum: float, Vg_sum: float) -> None:
        most = 1 + (2 if lam > 0 else 1) * (L - 1)
        self.lam, self.n_leaves, self.n_directions = lam, 1, 0
        self.A, self.w = np.zeros((L, max(most, L))), np.zeros(L)
        self.signs, self.steps = np.ones(self.A.shape[1]), np.zeros(self.A.shape[1])
        if 2 * V_sum + lam > 0:
            self.set_alone(0, V_sum, Vg_sum)
            self.steps[0] = self.w[0] / self.A[0, 0]

    def tau(self, leaves: Rows) -> Real:
        """Lambda over 1 + lambda (D^-1)_ll, of some leaves."""
        if self.lam == 0:
            return np.zeros(len(leaves))
        D = self.n_directions
        inverse = self.A[leaves, :D] ** 2 @ self.signs[:D]
        return np.asarray(self.lam / (1 + self.lam * inverse))

    def set_alone(self, leaf: int, V_sum: float, Vg_sum: float) -> None:
        """Solve a leaf that meets no other one: the first, or any under a diagonal V."""
        inverse = 1 / (2 * V_sum + self.lam)
        self.A[leaf, leaf], self.w[leaf] = inverse**0.5, -2 * Vg_sum * inverse
        self.n_leaves = self.n_directions = max(self.n_leaves, leaf + 1)

    def split(self, m: int, square: float, num: float, y: Real) -> slice:
        """Split leaf ``m`` by z, which becomes a new leaf; return the places of new directions.

        ``square``, ``num`` and ``y``, the sums 2 z'V Z a along the directions, are those of z.
        """
        T, D = self.n_leaves, self.n_directions
        A, signs, w = self.A[:T, :D], self.signs[:D], self.w[:T]
        h = A @ (signs * y)  # D^-1 c
        s, step = 2 * square - float(signs @ y**2), num
        self.A[T, :D] = A[m]
        new = D
        if self.lam > 0:
            column = A @ (signs * A[m])  # D^-1 e_m
            tau, w_m = self.lam / (1 + self.lam * float(column[m])), float(w[m])
            rest = tau * (1 - float(h[m]))
            s += rest * (1 - float(h[m]))
            step -= rest * w_m
            h += rest * column
            w -= tau * w_m * column
            self.A[:T, D] = tau**0.5 * column
            self.A[T, D] = self.A[m, D]
            self.signs[D], self.steps[D] = -1.0, -(tau**0.5) * w_m
            new = D + 1
        theta = step / s
        w -= theta * h
        self.w[T] = w[m] + theta
        self.A[:T, new] = -h / s**0.5
        self.A[T, new] = (1 - h[m]) / s**0.5
        self.signs[new], self.steps[new] = 1.0, theta * s**0.5
        self.n_leaves, self.n_directions = T + 1, new + 1
        return slice(D, new + 1)

    def correct(self, Vr_sums: Real) -> None:
        """Correct w by D^-1 (U - D w), what rounding has left, from the sums of Vr over leaves."""
        T, D = self.n_leaves, self.n_directions
        A, signs, w = self.A[:T, :D], self.signs[:D], self.w[:T]
        w += A @ (signs * (A.T @ (-2 * Vr_sums - self.lam * w)))
