"""scikit-learn's Gaussian process with one width per column, its gradient by matrix products."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor

STEPS = 400


def few_steps(objective, theta, bounds):
    """scikit-learn's optimiser, stopped after `STEPS` steps: hundreds of dummies need thousands."""
    found = minimize(
        objective, theta, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    return found.x, found.fun


class RelevanceGP(GaussianProcessRegressor):
    """`GaussianProcessRegressor` for the kernel Constant * RBF(one width per column) + White.

    The same likelihood, the same optimiser, the same predictions. scikit-learn forms an N x N x n
    array of derivatives; the trace of W dK/dl_k needs the rows of X alone, O(N^2 n) in one product.
    """

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        if not eval_gradient:
            return super().log_marginal_likelihood(theta, False, clone_kernel)
        X, y = self.X_train_, self.y_train_
        height, widths, noise = np.exp(theta[0]), np.exp(theta[1:-1]), np.exp(theta[-1])
        if not clone_kernel:  # as scikit-learn does: the kernel keeps the last parameters
            self.kernel_.theta = theta
        Z = X / widths
        size = np.einsum("ik,ik->i", Z, Z)
        smooth = height * np.exp(np.minimum(Z @ Z.T - 0.5 * (size[:, None] + size), 0))
        K = smooth + (noise + self.alpha) * np.eye(len(X))
        try:
            L = cholesky(K, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros_like(theta)
        a = cho_solve((L, True), y, check_finite=False)
        value = -0.5 * y @ a - np.log(np.diag(L)).sum() - 0.5 * len(X) * np.log(2 * np.pi)
        W = np.outer(a, a) - cho_solve((L, True), np.eye(len(X)), check_finite=False)
        pull = W * smooth
        squares = 2 * (pull.sum(axis=1) @ Z**2 - np.einsum("ik,ik->k", Z, pull @ Z))
        gradient = 0.5 * np.r_[pull.sum(), squares, noise * np.trace(W)]
        return value, gradient
