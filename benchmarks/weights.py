"""Weighters against their peers: time, memory, and how good the weights are.

    python benchmarks/weights.py --peer densratio=/path/to/python --peer skada=/path/to/python \\
        --peer adapt=/path/to/python --peer balance=/path/to/python
                                             the table of results/weights.md
    python benchmarks/weights.py             the same, the peers' lines say "not run"
    python benchmarks/weights.py --quick     small sizes, as the tests run it

Each peer lives in an environment of its own (`python -m venv`, then `pip install densratio==0.4.0`,
`skada==0.6.0`, `adapt==0.4.5 tensorflow`, `balance==0.23.0`), named by its interpreter. Every fit,
ours too, is a process of `peers.py` on the same data with one thread. ``--jobs 4`` runs four of
them at a time: faster, and CPU seconds still tell, where nobody is in a hurry for exact ones.
``--keep FOLDER`` keeps each fit's result there, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import peers
from harness import machine, publish, table
from quality import GaussianShift, effective_share, expectation_error, nmse, spread
from scipy.spatial.distance import cdist

from covshift.corrections import Additive
from covshift.weights import ULSIF, CDFWeights

SHIFT, FRESH, SEED = 1.05, 20_000, 1000
ONE_THREAD = dict.fromkeys(
    [
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "TF_NUM_INTEROP_THREADS",
        "TF_NUM_INTRAOP_THREADS",
    ],
    "1",
)
RUNNER = Path(__file__).with_name("peers.py")

CONTENDERS = [  # contender, whose time it is compared with
    ("covshift/ulsif", None),
    ("densratio/ulsif", "covshift/ulsif"),
    ("covshift/ulsif, adapt's choice", None),
    ("adapt/ulsif", "covshift/ulsif, adapt's choice"),
    ("covshift/rulsif", None),
    ("densratio/rulsif", "covshift/rulsif"),
    ("covshift/kliep", None),
    ("densratio/kliep", "covshift/kliep"),
    ("skada/kliep", "covshift/kliep"),
    ("adapt/kliep", "covshift/kliep"),
    ("covshift/kmm", None),
    ("covshift/kmm, skada's kernel", None),
    ("skada/kmm", "covshift/kmm, skada's kernel"),
    ("adapt/kmm", "covshift/kmm, skada's kernel"),
    ("covshift/kde", None),
    ("skada/kde", "covshift/kde"),
    ("covshift/discriminative", None),
    ("balance/ipw", "covshift/discriminative"),
    ("covshift/cdf", None),
    ("covshift/cdf, even tails", None),
    ("covshift/cdf, sliced", None),
    ("covshift/energy", None),
    ("covshift/entropy", None),
    ("covshift/gaussian", None),
    ("covshift/neighbors", None),
]
LINEAR = ["cdf", "cdf, even tails", "entropy", "discriminative", "gaussian", "ulsif", "kliep"]
LARGEST = dict.fromkeys(LINEAR[1:], 10**5)  # rows; the first alone goes on
SLOW = ("balance/ipw", "adapt/kliep", "adapt/kmm", "densratio/rulsif")  # one seed,
PATIENCE = 2000  # and no more rows than this
PEERS = ("densratio", "skada", "adapt", "balance")
SIZES = [(1000, 1000, 5, 5), (2000, 2000, 10, 5), (5000, 5000, 10, 2)]  # N, M, n, seeds
ROWS = [10**5, 10**6]  # of the linear methods
GRID, DIMENSIONS = [(300, 20), (2000, 3)], (1, 5, 10, 20)  # N and seeds, n, of the last table
QUICK = ["covshift/ulsif", "densratio/ulsif", "covshift/ulsif, adapt's choice", "adapt/ulsif"]
QUICK += ["covshift/kliep", "densratio/kliep"]
QUICK += ["covshift/kmm, skada's kernel", "skada/kmm", "adapt/kmm", "covshift/cdf"]


class Problem:
    """Samples of several seeds, kept in a file for the processes that fit them.

    ``here``: our own fits are made in this process, as a quick run has no time to start others.
    """

    here = False

    def __init__(self, folder: Path, N: int, M: int, n: int, seeds: int, fresh: int) -> None:
        self.size, self.truth = (N, M, n), GaussianShift(n, SHIFT)
        self.samples = [self.truth.draw(N, M, SEED + seed) for seed in range(seeds)]
        self.moments = self.truth.moments()
        fresh_X, fresh_T = self.truth.draw(fresh, fresh, SEED - 1)
        self.paths = {count: folder / f"{N}-{M}-{n}-{count}.npz" for count in {1, seeds}}
        for count, path in self.paths.items():
            X, T = (np.stack(part) for part in zip(*self.samples[:count], strict=True))
            np.savez(path, X=X, T=T, fresh_X=fresh_X, fresh_T=fresh_T)

    def run(self, contender: str, pythons: dict[str, str]) -> dict | str:
        """Fit ``contender`` in its own process; its result, or why there is none."""
        python = pythons.get(contender.partition("/")[0])
        if python is None:
            return "not run"
        if contender in SLOW and self.size[0] > PATIENCE:
            return "too slow for this size"
        path = self.paths[1 if contender in SLOW else max(self.paths)]
        result = path.with_name(f"{path.stem}-{contender.replace('/', '-')}.npz")
        if self.here:
            peers.main(contender, str(path), str(result))
        elif not result.exists():
            command = [python, str(RUNNER), contender, str(path), str(result)]
            environment = {**os.environ, **ONE_THREAD, "TF_CPP_MIN_LOG_LEVEL": "3"}
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode:
                return "failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:120]
        with np.load(result) as found:
            return dict(found)

    def scores(self, weights) -> list[str]:
        """Error of expectations, NMSE and effective sample size, over the seeds."""
        errors, distances, shares = [], [], []
        for (X, _), raw in zip(self.samples, weights, strict=False):
            w = raw / raw.mean()
            errors.append(expectation_error(X, w, self.moments))
            distances.append(nmse(w, self.truth.ratio(X)))
            shares.append(effective_share(w))
        return [spread(errors), spread(distances, 2), f"{np.mean(shares):.2f}"]

    def controls(self) -> list[list[str]]:
        """Lines without a fit: no weights, the true ratio, and the target rows themselves."""
        none = [np.ones(len(X)) for X, _ in self.samples]
        true = [self.truth.ratio(X) for X, _ in self.samples]
        target = [expectation_error(T, np.ones(len(T)), self.moments) for _, T in self.samples]
        blank = ["", "", "", ""]
        return [
            ["*no weights*", *blank, *self.scores(none)],
            ["*the true ratio*", *blank, *self.scores(true)],
            ["*the target rows themselves*", *blank, spread(target), "", ""],
        ]


def run_all(problem, contenders, pythons, jobs) -> dict[str, dict | str]:
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda contender: problem.run(contender, pythons), contenders)
        return dict(zip(contenders, found, strict=True))


def cpu(found) -> float:
    return float(np.median(found["cpu"])) if isinstance(found, dict) else np.nan


def comparison(problem, found) -> str:
    rows = problem.controls()
    for contender, against in CONTENDERS:
        if contender not in found:  # in a quick run
            continue
        result = found[contender]
        if isinstance(result, str):
            rows.append([contender.replace("/", " "), result, *[""] * 6])
            continue
        times = cpu(result) / cpu(found.get(against))
        rows.append(
            [
                contender.replace("/", " "),
                f"{cpu(result):.3f}",
                f"{np.median(result['wall']):.3f}",
                f"{times:.1f}" if np.isfinite(times) else "",
                f"{result['memory']:.0f}",
                *problem.scores(result["weights"]),
            ]
        )
    header = ["", "CPU s", "wall s", "times ours", "memory MB", "error of expectations"]
    return table([*header, "NMSE", "ESS / N"], rows)


def against_the_fastest(found) -> str:
    """One line for each weighter that has peers: CPU seconds, and those of the fastest peer."""
    rows = []
    for ours in dict.fromkeys(against for _, against in CONTENDERS if against in found):
        peers = [who for who, against in CONTENDERS if against == ours]
        timed = {who: cpu(found.get(who)) for who in peers if np.isfinite(cpu(found.get(who)))}
        line = [ours.partition("/")[2], f"{cpu(found[ours]):.3f}"]
        if timed:
            fastest = min(timed, key=lambda who: timed[who])
            line += [fastest.replace("/", " "), f"{timed[fastest]:.3f}"]
            line.append(f"{timed[fastest] / cpu(found[ours]):.1f}")
        rows.append([*line, "not run", "", ""][:5])
    return table(["weighter", "ours, CPU s", "fastest peer", "its CPU s", "times ours"], rows)


def held_out(result) -> list[float]:
    """E_p[w^2] / 2 - E_q[w] on fresh rows, with weights of mean one on the training rows."""
    scales = result["weights"].mean(axis=1)
    return [
        float((x / scale) @ (x / scale) / len(x) / 2 - (t / scale).mean())
        for x, t, scale in zip(result["fresh_X"], result["fresh_T"], scales, strict=True)
    ]


def objective(X, T, w) -> tuple[float, float]:
    """KMM's objective with skada's kernel, and the largest violation of a constraint over N."""
    N, gamma = len(X), 1 / X.shape[1]
    kappa = N * np.exp(-gamma * cdist(X, T, "sqeuclidean")).mean(axis=1)
    value = w @ np.exp(-gamma * cdist(X, X, "sqeuclidean")) @ w / 2 - kappa @ w
    eps = (np.sqrt(N) - 1) / np.sqrt(N)
    off = max(abs(w.sum() - N) - N * eps, -w.min(), w.max() - 1000, 0.0)
    return float(value), off / N


def mean_matching(problem, found) -> str:
    X, T = problem.samples[0]
    rows = []
    for contender in ("covshift/kmm, skada's kernel", "skada/kmm", "adapt/kmm"):
        result = found[contender]
        if isinstance(result, str):
            rows.append([contender.replace("/", " "), result, "", ""])
            continue
        value, off = objective(X, T, result["weights"][0])
        zeros = np.mean(result["weights"][0] < 1e-6)
        line = [f"{value:.3f}", f"{off:.1e}", f"{100 * zeros:.0f} %"]
        rows.append([contender.replace("/", " "), *line])
    return table(["", "objective", "violation / N", "rows of weight zero"], rows)


def large(folder, sizes, names, pythons, jobs) -> tuple[str, dict[int, dict]]:
    rows, results = [], {}
    for N in sizes:
        problem = Problem(folder, N, N, 10, 1, 0)
        chosen = [f"covshift/{name}" for name in names if N <= LARGEST.get(name, N)]
        results[N] = run_all(problem, chosen, pythons, min(jobs, 2))
        rows += [[f"{N:,}", line[0], "", "", "", *line[5:]] for line in problem.controls()[:2]]
        for name, found in results[N].items():
            line = [found, *[""] * 5]
            if isinstance(found, dict):
                times = [f"{found['cpu'][0]:.2f}", f"{found['wall'][0]:.2f}"]
                line = [*times, f"{found['memory']:.0f}", *problem.scores(found["weights"])]
            rows.append([f"{N:,}", name.replace("/", " "), *line])
        for path in problem.paths.values():
            path.unlink()
    header = ["N = M", "", "CPU s", "wall s", "memory MB", "error of expectations", "NMSE"]
    return table([*header, "ESS / N"], rows), results


SHIFTS = [(0.5, 1.0), (1.05, 1.0), (1.5, 1.0), (0.5, 0.8)]


def against_ulsif(sizes, dimensions, jobs) -> tuple[str, list[float]]:
    """Error of expectations over dimensions and strengths, and the ratios of CDF to uLSIF."""
    lines = [(N, n, *kind, seeds) for N, seeds in sizes for n in dimensions for kind in SHIFTS]
    with ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(_mean_errors, lines))
    ratios = [cdf / ulsif for _, _, ulsif, cdf, _ in found]
    rows = [
        [*line[:4], *(f"{error:.3f}" for error in errors), f"{ratio:.2f}"]
        for line, errors, ratio in zip(lines, found, ratios, strict=True)
    ]
    names = ["none", "true ratio", "uLSIF", "CDF", "CDF, even tails"]
    return table(["N = M", "n", "shift", "scale", *names, "CDF / uLSIF"], rows), ratios


def _mean_errors(line) -> list[float]:
    N, n, shift, scale, seeds = line
    warnings.simplefilter("ignore")
    truth = GaussianShift(n, shift, scale)
    return np.mean([_errors(truth, N, SEED + 100 + seed) for seed in range(seeds)], axis=0).tolist()


def _errors(truth, N, seed) -> list[float]:
    X, T = truth.draw(N, N, seed)
    weighters = (
        ULSIF(random_state=0),
        CDFWeights(allow_no_overlap=True),
        CDFWeights(Additive(phi="anderson-darling"), allow_no_overlap=True),
    )
    weights = [weighter.fit(X, X_target=T).weights_ for weighter in weighters]
    moments = truth.moments()
    return [expectation_error(X, w, moments) for w in (np.ones(len(X)), truth.ratio(X), *weights)]


def expectations(problem, found, at_scale, ratios) -> str:
    """Say of every expectation whether it is met."""

    def ratio(peer, ours):
        return cpu(found[peer]) / cpu(found[ours])

    def line(text, met, measured):
        verdict = "not measured" if np.isnan(measured) else "met" if met else "**missed**"
        return f"- {text}: {verdict} ({measured:.3g})."

    ulsif = ratio("densratio/ulsif", "covshift/ulsif")
    kliep = ratio("densratio/kliep", "covshift/kliep")
    kmm = ratio("skada/kmm", "covshift/kmm, skada's kernel")
    criterion = gap = np.nan
    if isinstance(found["densratio/ulsif"], dict):
        theirs, ours = (held_out(found[f"{who}/ulsif"]) for who in ("densratio", "covshift"))
        criterion = float(np.mean(ours) - np.mean(theirs))
    if isinstance(found["skada/kmm"], dict):
        X, T = problem.samples[0]
        (theirs, _), (ours, off) = (
            objective(X, T, found[who]["weights"][0])
            for who in ("skada/kmm", "covshift/kmm, skada's kernel")
        )
        gap = (ours - theirs) / abs(theirs) if off < 1e-8 else np.inf
    here = cpu(found["covshift/cdf"])
    error = [
        np.mean(
            [
                expectation_error(X, w / w.mean(), problem.moments)
                for (X, _), w in zip(problem.samples, found[who]["weights"], strict=False)
            ]
        )
        for who in ("covshift/cdf", "covshift/ulsif")
    ]
    half = error[0] / error[1]
    most = max(at_scale)
    there = cpu(at_scale[most]["covshift/cdf"])
    wide = np.mean(np.array(ratios) <= 0.5)
    return "\n".join(
        [
            line("uLSIF at least 10 times faster than densratio's", ulsif >= 10, ulsif),
            line("its held-out criterion less densratio's, no higher", criterion <= 0, criterion),
            line("KLIEP at least 10 times faster than densratio's", kliep >= 10, kliep),
            line("KMM at least 2 times faster than skada's, same kernel", kmm >= 2, kmm),
            line("its objective relative to skada's, no higher, feasible", gap <= 0, gap),
            line("CDF weights in less than 1 s", here < 1, here),
            line(f"and in at most 12 s at N = M = {most:,}", there <= 12, there),
            line("error of expectations, at most half of uLSIF's", half <= 0.5, half),
            f"- The last one over dimensions and strengths (below): at most half in "
            f"{100 * wide:.0f} % of the lines, from {min(ratios):.2f} to {max(ratios):.2f}.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--keep", metavar="FOLDER", help="keep results there, and use those there")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    options = parser.parse_args()
    quick, jobs = options.quick, options.jobs
    pythons = {"covshift": sys.executable}
    for given in options.peer:
        name, _, python = given.partition("=")
        if name not in PEERS or not python:
            parser.error(f"--peer {given}: write NAME=PYTHON, NAME one of {', '.join(PEERS)}.")
        pythons[name] = python
    sizes, grid, dimensions, rows = SIZES, GRID, DIMENSIONS, ROWS
    contenders, linear, main_size = [contender for contender, _ in CONTENDERS], LINEAR, 1
    if quick:
        sizes, grid, dimensions, rows, main_size = [(150, 120, 3, 2)], [(60, 1)], (2,), [500], 0
        contenders, linear = QUICK, ["cdf"]
    warnings.simplefilter("ignore")  # few rows under a strong shift, as it should say
    sections, seen = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(options.keep or name)
        folder.mkdir(parents=True, exist_ok=True)
        for N, M, n, seeds in sizes:
            problem = Problem(folder, N, M, n, seeds, 500 if quick else FRESH)
            problem.here = quick
            found = run_all(problem, contenders, pythons, jobs)
            seen.append((problem, found))
            sections += [
                f"## N = {N}, M = {M}, n = {n} ({seeds} seeds)",
                comparison(problem, found),
            ]
        scale, at_scale = large(folder, rows, linear, pythons, jobs)
    over_dimensions, ratios = against_ulsif(grid, dimensions, jobs)
    problem, found = seen[main_size]
    versions = {
        contender.partition("/")[0]: str(result["version"])
        for contender, result in found.items()
        if isinstance(result, dict)
    }
    main_criteria = [
        [who.replace("/", " "), spread(held_out(found[who]))]
        for who in ("covshift/ulsif", "densratio/ulsif", "covshift/kliep", "densratio/kliep")
        if isinstance(found[who], dict)
    ]
    publish(
        "weights",
        "Weighters",
        f"Training rows N(0, I), target rows N(d, I) with |d| = {SHIFT} spread evenly over the n "
        "features. Each fit is a process with one thread; times are medians over the seeds (one "
        f"seed, and no more than {PATIENCE} rows, for {', '.join(SLOW)}), memory "
        "is the peak above what the process held before. *Times ours* is CPU time over that of "
        "the same method here. *Error of expectations*: mean "
        "of |weighted mean - target mean| / target standard deviation over five functions (mean "
        "of the features, mean square, sin 2x₁, 1[x₁ > ½], a logistic function of the sum); "
        "*NMSE*: Σ(w − r)² / Σr² with weights of mean one; mean ± standard deviation over seeds.",
        f"Machine: {machine()}. Packages: "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + f". {jobs} fit(s) at a time.",
        "What each does: our uLSIF, RuLSIF and KLIEP choose width and penalty, densratio's too; "
        "adapt's uLSIF takes width and penalty as given, and our line \"adapt's choice\" takes the "
        "same; skada's and adapt's KLIEP choose among "
        "five widths. Neither of skada's and adapt's KMM chooses: they use γ = 1/n, and our line "
        "\"skada's kernel\" does the same. adapt's KMM cuts the training rows into parts of at "
        "most 1000, each fitted alone. balance's "
        "IPW chooses a penalised logistic regression by cross-validation.",
        "## Every weighter against the fastest peer, N = M = 2000, n = 10",
        against_the_fastest(found),
        "The other weighters (CDF, energy, entropy, Gaussian, neighbours) have no peer here.",
        "## What was expected at N = M = 2000, n = 10",
        expectations(problem, found, at_scale, ratios),
        *sections,
        "## Held-out criterion E_p[w²]/2 − E_q[w] at the same size, fresh rows, lower is better",
        table(["", "criterion"], main_criteria),
        f"The true ratio has {-np.exp(SHIFT**2) / 2:.3f}, equal weights have -0.500.",
        "## The objective of kernel mean matching at the same size, same kernel, first seed",
        mean_matching(problem, found),
        "## Linear methods, n = 10",
        scale,
        "## CDF weights and uLSIF over dimensions and strengths: error of expectations",
        over_dimensions,
        "Command: `python benchmarks/weights.py --peer NAME=PYTHON ...`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()
