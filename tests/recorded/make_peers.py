"""Writes the values that other packages compute for `tests/weights/test_weights_peers.py`.

    python tests/recorded/make_peers.py densratio > tests/recorded/densratio.json

with the interpreter of an environment that has the package (`densratio==0.4.0`, `skada==0.6.0`, or
`adapt==0.4.5` with TensorFlow), and the same for `skada` and `adapt`. The samples are in the file
as well, so nothing depends on a random stream; only NumPy and the package are needed.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import numpy as np

KMM_OPTIONS = [{}, {"eps": 0.1}, {"B": 1.5}, {"B": 1.4, "eps": 0.05}]
GAMMA = 0.5


def samples():
    rng = np.random.default_rng(20)
    X, T = rng.normal(size=(40, 2)), rng.normal(0.6, 0.8, size=(25, 2))
    return X.round(3), T.round(3), rng.normal(size=(5, 2)).round(3)


def densratio():
    """Ratios at the training rows and at new ones, for given widths and penalties."""
    from densratio import densratio as estimate

    X, T, new = samples()
    cases = [
        {"method": "uLSIF", "sigma": 0.8, "lambda_": 0.1},
        {"method": "uLSIF", "sigma": 1.5, "lambda_": 0.01},
        {"method": "RuLSIF", "sigma": 0.8, "lambda_": 0.1, "alpha": 0.3},
        {"method": "RuLSIF", "sigma": 1.5, "lambda_": 0.01, "alpha": 0.1},
        {"method": "KLIEP", "sigma": 0.5},
        {"method": "KLIEP", "sigma": 1.5},
    ]
    found = []
    for case in cases:
        result = estimate(T, X, kernel_num=len(T), verbose=False, **case)
        ratio = result.compute_density_ratio
        found.append(
            {**case, "X": listed(ratio(X)), "T": listed(ratio(T)), "new": listed(ratio(new))}
        )
    return found


def skada():
    """Weights of kernel mean matching; the Frank-Wolfe solver does not know the bound B."""
    from skada import KMMReweightAdapter

    X, T, _ = samples()
    rows, domain = np.concatenate([X, T]), np.repeat([1, -2], [len(X), len(T)])
    found = []
    for solver in ("frank-wolfe", "scipy"):
        for options in KMM_OPTIONS:
            if solver == "scipy" or "B" not in options:
                adapter = KMMReweightAdapter(gamma=GAMMA, solver=solver, tol=1e-9, **options)
                adapter.fit(rows, sample_domain=domain)
                found.append(
                    {
                        "method": "KMM",
                        **options,
                        "solver": solver,
                        "w": listed(adapter.source_weights_),
                    }
                )
    return found


def adapt():
    """Weights of kernel mean matching, by CVXOPT, and of KLIEP, by Frank and Wolfe's steps."""
    from adapt.instance_based import KLIEP, KMM

    X, T, new = samples()
    found = []
    for sigma in (0.5, 1.5):
        model = KLIEP(Xt=T, gamma=0.5 / sigma**2, max_iter=100_000, verbose=0, random_state=0)
        model.fit_weights(X, T)
        ratios = {
            name: listed(model.predict_weights(rows))
            for name, rows in (("X", X), ("T", T), ("new", new))
        }
        found.append({"method": "KLIEP", "sigma": sigma, **ratios})
    for options in KMM_OPTIONS:
        model = KMM(Xt=T, kernel="rbf", gamma=GAMMA, tol=1e-10, verbose=0, **options)
        found.append(
            {"method": "KMM", **options, "solver": "cvxopt", "w": listed(model.fit_weights(X, T))}
        )
    return found


def listed(values):
    return np.asarray(values, dtype=float).ravel().round(10).tolist()


def main(package: str) -> None:
    cases = {"densratio": densratio, "skada": skada, "adapt": adapt}[package]()
    X, T, new = samples()
    record = {
        "package": f"{package} {version(package)}",
        "numpy": np.__version__,
        "X": X.tolist(),
        "T": T.tolist(),
        "new": new.tolist(),
        "gamma": GAMMA,
        "cases": cases,
    }
    json.dump(record, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
