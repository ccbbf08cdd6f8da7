"""Products with the factor R, against plain NumPy and against one sort.

    python benchmarks/operators.py            the table of results/operators.md (about 3 minutes)
    python benchmarks/operators.py --quick    one small size, as the tests run it

(a) plain: compare all points with all targets feature by feature, in blocks of 4096 training
    points, and multiply the 0/1 block with BLAS; everything at once would need N x M floats.
(b) sort: one ``numpy.argsort(X, axis=0)`` of the N x n matrix, that is one sort a feature; beside
    it ``axis=-1``, which sorts n numbers a row and is not what any method here needs.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import best_time, machine, publish, table

from covshift.corrections import Additive, Multiplicative

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
            R = make(X, T).factor()
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size, nothing written")
    quick = parser.parse_args().quick
    sizes, repeats = ([2000], 1) if quick else ([10**4, 10**5, 10**6], 3)
    rows = [row for N in sizes for row in measure(N, repeats)]
    publish(
        "operators",
        "Products with the factor R",
        f"M = {M}, n = {FEATURES}, D = {COLUMNS} columns, float64, best of {repeats}, seed {SEED}. "
        "Features are Gaussian with the stated pairwise correlation. The mean diagonal of the "
        "multiplicative V is the share of ones in B: where few targets dominate a point, B is "
        "kept by its ones; otherwise in bits, unpacked in blocks and multiplied with BLAS.",
        f"Machine: {machine()}.",
        table(HEADER, rows),
        "Command: `python benchmarks/operators.py`. (a) and (b) are described in its docstring.",
        write=not quick,
    )


if __name__ == "__main__":
    main()
