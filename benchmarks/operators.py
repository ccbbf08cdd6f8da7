"""Products with the factor R, against plain NumPy and against one sort.

(a) plain: compare all points with all targets feature by feature, in blocks of 4096 training
    points, and multiply the 0/1 block with BLAS; everything at once would need N x M floats.
(b) sort: one ``numpy.argsort(X, axis=0)`` of the N x n matrix, that is one sort a feature; beside
    it ``axis=-1``, which sorts n numbers a row and is not what any method here needs.
"""

from __future__ import annotations

import numpy as np
from harness import Work, best_time, main, table

from covshift.corrections import Additive, Multiplicative

TITLE = "Products with the factor R"
M, FEATURES, COLUMNS, SEED = 1000, 10, 32, 0


def sample(N: int, shared: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw Gaussian training and target points; ``shared`` is the correlation of the features."""

    def draw(rows: int) -> np.ndarray:
        common, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, FEATURES))
        return np.sqrt(shared) * common + np.sqrt(1 - shared) * own

    return draw(N), draw(M)


def plain_product(X: np.ndarray, T: np.ndarray, A: np.ndarray) -> np.ndarray:
    """B A by comparisons, the way one would write it in NumPy with bounded memory."""
    product = np.zeros((len(T), A.shape[1]))
    for start in range(0, len(X), 4096):
        block = X[start : start + 4096]
        B = np.ones((len(T), len(block)), dtype=bool)
        for k in range(X.shape[1]):
            B &= T[:, k : k + 1] >= block[:, k]
        product += B.astype(A.dtype) @ A[start : start + 4096]
    return product


def measure(N: int, repeats: int) -> list[list[str]]:
    rng = np.random.default_rng(SEED)
    rows = []
    for shared in (0.0, 0.8):
        X, T = sample(N, shared, rng)
        A = rng.normal(size=(N, COLUMNS))
        by_sort = best_time(lambda X=X: np.argsort(X, axis=0), repeats)
        by_row = best_time(lambda X=X: np.argsort(X, axis=-1), repeats)
        plain = None
        if N <= 10**5:
            plain = best_time(lambda X=X, T=T, A=A: plain_product(X, T, A), repeats)
        for name, correction in (
            ("additive", Additive()),
            ("additive, symmetric", Additive(symmetric=True)),
            ("multiplicative", Multiplicative()),
        ):
            make = correction.operator
            build = best_time(lambda X=X, T=T, make=make: make(X, T), repeats)
            R = make(X, T).R
            Z = R.matmat(A)
            forward = best_time(lambda R=R, A=A: R.matmat(A), repeats)
            backward = best_time(lambda R=R, Z=Z: R.rmatmat(Z), repeats)
            # (a) computes the multiplicative product; it is no rival of the additive one.
            against_plain = plain is not None and name == "multiplicative"
            rows.append(
                [
                    f"{N:,}",
                    f"{shared:.1f}",
                    name,
                    f"{float(R.squares().mean()):.4f}",
                    f"{build:.3f}",
                    f"{forward:.3f}",
                    f"{backward:.3f}",
                    f"{plain:.2f}" if against_plain else "",
                    f"{plain / forward:.1f}x" if against_plain else "",
                    f"{by_sort:.2f}",
                    f"{by_row:.2f}",
                    f"{forward / by_sort:.2f}",
                    f"{backward / by_sort:.2f}",
                    f"{1e9 * forward / N / COLUMNS:.1f}",
                ]
            )
    return rows


HEADER = [
    "N",
    "correlation",
    "view",
    "mean of diag V",
    "build s",
    "R A s",
    "R'Z s",
    "(a) plain s",
    "(a) / R A",
    "(b) argsort axis 0 s",
    "argsort axis -1 s",
    "R A / (b)",
    "R'Z / (b)",
    "R A ns per N x D",
]


def works(share, quick):
    """One size after another."""
    del share  # times are taken once
    if quick:
        return [Work("products", measure, [(2000, 1)])]
    return [Work("products", measure, [(N, 3) for N in (10**4, 10**5, 10**6)], 40.0, True)]


def report(found):
    """Return the table."""
    return [
        f"M = {M}, n = {FEATURES}, D = {COLUMNS} columns, float64, best of 3, seed {SEED}. "
        "Features are Gaussian with the stated pairwise correlation. The mean diagonal of the "
        "multiplicative V is the share of ones in B, which is kept in bits, unpacked in blocks "
        "and multiplied with BLAS.",
        table(HEADER, [row for _, rows in found["products"] for row in rows]),
        "(a) and (b) are described in the script's docstring.",
    ]


if __name__ == "__main__":
    main(__file__)
