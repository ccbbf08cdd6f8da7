"""Fits one weighter, of covshift or of a peer, in the environment of the package that owns it.

    python benchmarks/peers.py PACKAGE/METHOD problem.npz result.npz

`weights.py` calls it, once for each contender and size, so that every method has a process of its
own, one thread, and the same clock. It needs NumPy and the package in question, nothing else. The
problem holds X (seeds, N, n) and T (seeds, M, n), and fresh rows of both kinds; the result the raw
weights, CPU and wall seconds of each seed, peak memory of the first fit, and the weights of the
fresh rows where the method has them.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

WARM_UP = 100  # rows of a first fit that nobody times: imports, compilers, caches


def main(contender: str, problem: str, result: str) -> None:
    package, _, method = contender.partition("/")
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002 - densratio draws from it
    fit = METHODS[package](method)
    with np.load(problem) as data:
        X, T, fresh = data["X"], data["T"], (data["fresh_X"], data["fresh_T"])
    fit(X[0][:WARM_UP], T[0][:WARM_UP])
    found: dict[str, list] = {"weights": [], "cpu": [], "wall": [], "fresh_X": [], "fresh_T": []}
    memory = 0.0
    for seed in range(len(X)):
        before = _restart_peak()
        wall, cpu = time.perf_counter(), time.process_time()
        raw, ratio = fit(X[seed], T[seed])
        found["cpu"].append(time.process_time() - cpu)
        found["wall"].append(time.perf_counter() - wall)
        memory = memory if seed else _peak() - before
        found["weights"].append(np.asarray(raw, dtype=float).ravel())
        for name, rows in zip(("fresh_X", "fresh_T"), fresh, strict=True):
            if ratio is not None and len(rows):
                found[name].append(np.asarray(ratio(rows), dtype=float).ravel())
    np.savez(result, memory=memory, version=version(package), **found)


def covshift(method):
    from covshift import weights
    from covshift.corrections import Additive

    made = {
        "cdf": lambda n: weights.CDFWeights(),
        "cdf, even tails": lambda n: weights.CDFWeights(Additive(phi="anderson-darling")),
        "cdf, sliced": lambda n: weights.CDFWeights("sliced", random_state=0),
        "energy": lambda n: weights.EnergyWeights(),
        "entropy": lambda n: weights.EntropyBalancing(),
        "discriminative": lambda n: weights.Discriminative(random_state=0),
        "gaussian": lambda n: weights.GaussianRatio(),
        "kde": lambda n: weights.KDE(),
        "kliep": lambda n: weights.KLIEP(random_state=0),
        "kmm": lambda n: weights.KMM(),
        "kmm, skada's kernel": lambda n: weights.KMM(width=(n / 2) ** 0.5, standardize=False),
        "neighbors": lambda n: weights.NearestNeighbors(),
        "rulsif": lambda n: weights.RULSIF(random_state=0),
        "ulsif": lambda n: weights.ULSIF(random_state=0),
        "ulsif, adapt's choice": lambda n: weights.ULSIF(  # what adapt's takes as given
            width=(n / 2) ** 0.5, reg=1.0, standardize=False, random_state=0
        ),
    }[method]

    def fit(X, T):
        weighter = made(X.shape[1]).fit(X, X_target=T)
        scale = getattr(weighter, "total_", len(X)) / len(X)  # KMM's, before it is scaled
        return weighter.weights_ * scale, weighter.predict_weights

    return fit


def densratio(method):
    from densratio import densratio as estimate

    name = {"ulsif": "uLSIF", "rulsif": "RuLSIF", "kliep": "KLIEP"}[method]

    def fit(X, T):
        found = estimate(T, X, method=name, verbose=False)
        return found.compute_density_ratio(X), found.compute_density_ratio

    return fit


def skada(method):
    from skada import DensityReweightAdapter, KLIEPReweightAdapter, KMMReweightAdapter

    def fit(X, T):
        n = X.shape[1]
        adapter = {
            "kmm": lambda: KMMReweightAdapter(),
            "kliep": lambda: KLIEPReweightAdapter([0.1 / n, 0.3 / n, 1 / n, 3 / n, 10 / n]),
            "kde": lambda: DensityReweightAdapter(),
        }[method]()
        rows, domain = np.concatenate([X, T]), np.repeat([1, -2], [len(X), len(T)])
        adapter.fit(rows, sample_domain=domain)
        return adapter.compute_weights(rows, sample_domain=domain)[: len(X)], None

    return fit


def adapt(method):
    from adapt.instance_based import KLIEP, KMM, ULSIF

    def fit(X, T):
        n = X.shape[1]
        widths = [0.1 / n, 0.3 / n, 1 / n, 3 / n, 10 / n]
        model = {
            "kmm": lambda: KMM(Xt=T, kernel="rbf", gamma=1 / n, verbose=0),
            "kliep": lambda: KLIEP(Xt=T, kernel="rbf", gamma=widths, verbose=0, random_state=0),
            "ulsif": lambda: ULSIF(Xt=T, kernel="rbf", gamma=1 / n, verbose=0, random_state=0),
        }[method]()
        return model.fit_weights(X, T), None

    return fit


def balance(method):
    import logging

    import pandas
    from balance import Sample

    logging.disable(logging.CRITICAL)

    def sample(rows):
        frame = pandas.DataFrame(rows, columns=[f"x{k}" for k in range(rows.shape[1])])
        return Sample.from_frame(frame.assign(id=np.arange(len(rows)).astype(str)))

    def fit(X, T):
        adjusted = sample(X).set_target(sample(T)).adjust(method=method)
        return np.asarray(adjusted.weights().df).ravel(), None

    return fit


METHODS = {
    "covshift": covshift,
    "densratio": densratio,
    "skada": skada,
    "adapt": adapt,
    "balance": balance,
}


def _restart_peak() -> float:
    """Forget the highest memory so far, where the system can; return what is in use, in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # elsewhere the peak is that of the whole process
        return _peak()
    return _status("VmRSS")


def _peak() -> float:
    found = _status("VmHWM")
    if found:
        return found
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _status(name: str) -> float:
    """Read a line of the process status, in MB; zero where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith(name)), 0.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
