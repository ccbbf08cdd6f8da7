"""How much of V a blend should hold, at every number of rows: the 75 of ``blend="auto"``.

    python benchmarks/blend.py             the tables of results/blend.md (about 10 minutes)
    python benchmarks/blend.py --quick     60 rows, one seed, as the tests run it

(1 - eta) V + eta I with 1 - eta = min(1/2, c / N). c was chosen on the development problems; the
confirmation problems and their seeds had no part in it. The score is the squared error against
the true function on fresh target rows, relative to ``correction="none"`` on the same sample.
"half" is the fixed share of earlier versions; the control makes its V from the training rows.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from harness import machine, publish, table
from joblib import Parallel, delayed

from covshift import VSVC, VSVR
from covshift.corrections import Additive
from covshift.datasets import make_survey

CHOSEN = 75
CANDIDATES = (25, CHOSEN, 200)
REPEATS = {150: 12, 1000: 4, 10_000: 2, 100_000: 1}
FRESH = 4000
CONTROL = "train"


def expit(z):
    return 1 / (1 + np.exp(-z))


def smooth(rng, N, M):
    """Additive, three features whose means and spreads move."""
    X, T = rng.normal(size=(N, 3)), rng.normal([0.8, -0.5, 0], [0.8, 0.9, 1], size=(M, 3))
    f = lambda X: np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 - 0.3 * X[:, 2]  # noqa: E731
    return X, T, f, 0.7


def interaction(rng, N, M):
    """Two of four features matter together."""
    X, T = rng.uniform(-1, 1, size=(N, 4)), 2 * rng.beta(2.5, 1.2, size=(M, 4)) - 1
    return X, T, lambda X: expit(3 * X[:, 0] * X[:, 1] + X[:, 2]), None


def wave(rng, N, M):
    """One dimension."""
    X, T = rng.beta(1, 2.5, size=(N, 1)), rng.beta(2.5, 1.5, size=(M, 1))
    return X, T, lambda X: np.cos(7 * X[:, 0]) * X[:, 0], 0.3


def step(rng, N, M):
    """Eight features with heavy tails, two of them matter."""
    X, T = rng.standard_t(5, size=(N, 8)), rng.standard_t(5, size=(M, 8))
    T[:, 0] += 0.9
    T[:, 1] *= 0.6
    return X, T, lambda X: expit(2 * (X[:, 0] > 0.3) - 1 + 0.8 * X[:, 1]), None


def survey(rng, N, M):
    data = make_survey(N, M, random_state=int(rng.integers(1 << 31)))
    return data.X, data.X_target, data.probability_function, None


def waves(rng, N, M):
    """A wave and an interaction, three features."""
    X, T = rng.uniform(-2, 2, size=(N, 3)), 4 * rng.beta(2, 1.2, size=(M, 3)) - 2
    return X, T, lambda X: np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], 0.5


def ring(rng, N, M):
    """The distance from the origin decides, five features; the target lies farther out."""
    X, T = rng.normal(size=(N, 5)), 1.3 * rng.normal(size=(M, 5))
    return X, T, lambda X: expit((X**2).sum(axis=1) - 5), None


def line(rng, N, M):
    """A linear truth, eight features."""
    X, T = rng.normal(size=(N, 8)), rng.normal(0.4, 1, size=(M, 8))
    return X, T, lambda X: X @ np.linspace(-1, 1, 8), 1.0


PARTS = {
    "Development": ((smooth, interaction, wave, step), (*CANDIDATES,), 9000),
    "Confirmation": ((survey, waves, ring, line), (CHOSEN, CONTROL), 100),
}


def draw(make, N, seed):
    """Return standardised training rows, outcomes, target rows, fresh ones and their truth."""
    rng = np.random.default_rng([seed, N])
    X, T, f, noise = make(rng, N, 500 + FRESH)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    if noise is None:
        y = (rng.uniform(size=N) < f(X)).astype(int)
    else:
        y = f(X) + noise * rng.normal(size=N)
    T_fresh = T[500:]
    scaled = ((points - mean) / spread for points in (X, T[:500], T_fresh))
    return *scaled, y, f(T_fresh), noise is None


def ratios(make, kernel, N, seed, rows):
    """Squared error of every blend relative to none, on one sample."""
    X, T, fresh, y, truth, classify = draw(make, N, seed)

    def error(correction, target):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = (VSVC if classify else VSVR)(correction, kernel=kernel, random_state=0)
            machine.fit(X, y, X_target=target)
            found = machine.predict_proba(fresh)[:, 1] if classify else machine.predict(fresh)
        return float(np.mean((found - truth) ** 2))

    def blend(c):
        return Additive(symmetric=True, normalize=True, blend=1 - min(0.5, c / N))

    none = error("none", T)
    found = {"half": error(Additive(symmetric=True, normalize=True, blend=0.5), T) / none}
    for c in rows:
        if c == CONTROL:
            found[c] = error(blend(CHOSEN), X[:500]) / none  # as many as of the target
        else:
            found[c] = error(blend(c), T) / none
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, nothing written")
    quick = parser.parse_args().quick
    repeats = {60: 1} if quick else REPEATS
    sections = []
    for title, (problems, candidates, first) in PARTS.items():
        jobs = [
            (make, kernel, N, first + k, candidates)
            for N, count in repeats.items()
            for make in (problems[:2] if quick else problems)
            for kernel in ("rbf", "linear")
            for k in range(count)
        ]
        found = Parallel(n_jobs=1 if quick else -1)(delayed(ratios)(*job) for job in jobs)
        sections += [f"## {title}", _table(jobs, found, ["half", *candidates])]
    publish(
        "blend",
        "How much of V a blend holds",
        "Squared error against the true function on 4000 fresh target rows, relative to "
        '`correction="none"` on the same sample, geometric mean (standard deviation) over samples; '
        "500 target rows, kernels of the scale width, penalties by cross-validation, features "
        f"standardised. Columns: half and half, then 1 − η = min(½, c / N) for each c; {CONTROL!r} "
        f"is c = {CHOSEN} with V from 500 training rows. Samples by N: "
        + ", ".join(f"{count} at {N}" for N, count in repeats.items())
        + ". Seeds from 9000 (development) and 100 (confirmation), with N.",
        f"Machine: {machine()}.",
        *sections,
        "Command: `python benchmarks/blend.py`.",
        write=not quick,
    )


def _table(jobs, found, columns):
    cells, pooled = {}, {}
    for (make, kernel, N, *_), values in zip(jobs, found, strict=True):
        cells.setdefault((kernel, make.__name__, N), []).append(values)
        pooled.setdefault((kernel, "all", N), {}).setdefault(make.__name__, []).append(values)
    rows = [
        [*key, *(_spread([values[c] for values in every]) for c in columns)]
        for key, every in sorted(cells.items())
    ]
    for key, by_problem in sorted(pooled.items()):
        means = [
            np.mean([np.mean([np.log(v[c]) for v in every]) for every in by_problem.values()])
            for c in columns
        ]
        rows.append([*key, *(f"**{np.exp(mean):.3f}**" for mean in means)])
    names = [c if isinstance(c, str) else f"c = {c}" for c in columns]
    return table(["kernel", "problem", "N", *names], rows)


def _spread(values):
    logs = np.log(values)
    mean = f"{np.exp(logs.mean()):.3f}"
    return mean if len(values) == 1 else f"{mean} ({logs.std(ddof=1):.3f})"


if __name__ == "__main__":
    main()
