"""Weighters against their peers: time, memory, and how good the weights are.

Every fit, ours too, has one thread and the same data; peers take part where their packages are
installed (`densratio==0.4.0`, `skada==0.6.0`, `adapt==0.4.5 tensorflow`, `balance==0.23.0`).
Problems have a known ratio. The five expectations are those of the trials in which the CDF weights
were found: the mean of the features, the mean of their squares, sin(2 x_1), 1[x_1 > 1/2] and a
logistic function of the sum.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from harness import Work, main, runs, table
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import expit
from threadpoolctl import threadpool_limits

from covshift.corrections import Additive
from covshift.weights import ULSIF, CDFWeights

TITLE = "Weighters"
FUNCTIONS = {
    "mean": lambda x: x.mean(axis=1),
    "square": lambda x: (x**2).mean(axis=1),
    "sine": lambda x: np.sin(2 * x[:, 0]),
    "step": lambda x: (x[:, 0] > 0.5).astype(float),
    "logistic": lambda x: expit(3 * x.sum(axis=1) / np.sqrt(x.shape[1])),
}


class GaussianShift:
    """Training rows N(0, I), target rows N(d, scale^2 I), |d| = ``shift``, all d_k equal."""

    def __init__(self, n: int, shift: float, scale: float = 1.0) -> None:
        self.n, self.delta, self.scale = n, shift / np.sqrt(n), scale

    def draw(self, N, M, seed):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(N, self.n)), rng.normal(size=(M, self.n))
        return X, self.delta + self.scale * T

    def ratio(self, X):
        """The true density ratio, scaled to mean one on these rows."""
        target = ((X - self.delta) ** 2).sum(axis=1) / self.scale**2
        log_ratio = ((X**2).sum(axis=1) - target) / 2
        w = np.exp(log_ratio - log_ratio.max())
        return w / w.mean()

    def moments(self):
        """Mean and standard deviation of the five functions under the target: (5, 2)."""
        n, d, s = self.n, self.delta, self.scale
        above = stats.norm.sf((0.5 - d) / s)
        grid, share = np.polynomial.hermite_e.hermegauss(101)
        values, share = expit(3 * (np.sqrt(n) * d + s * grid)), share / share.sum()
        sine = np.exp(-2 * s**2) * np.sin(2 * d)
        logistic = share @ values
        return np.array(
            [
                (d, s / np.sqrt(n)),
                (d**2 + s**2, np.sqrt((2 * s**4 + 4 * d**2 * s**2) / n)),
                (sine, np.sqrt((1 - np.exp(-8 * s**2) * np.cos(4 * d)) / 2 - sine**2)),
                (above, np.sqrt(above * (1 - above))),
                (logistic, np.sqrt(share @ values**2 - logistic**2)),
            ]
        )


def expectation_error(X, weights, moments) -> float:
    """Mean error of the five expectations, each in units of its standard deviation."""
    found = np.array([np.average(f(X), weights=weights) for f in FUNCTIONS.values()])
    return float(np.mean(np.abs(found - moments[:, 0]) / moments[:, 1]))


def nmse(weights, truth) -> float:
    """Normalised squared error of weights with mean one: sum (w - r)^2 / sum r^2."""
    return float(((weights - truth) ** 2).sum() / (truth**2).sum())


def effective_share(weights) -> float:
    """Kish's effective sample size as a share of N."""
    return float(weights.sum() ** 2 / (weights @ weights) / len(weights))


def spread(values, digits=3) -> str:
    """Lay out mean and standard deviation; the mean alone where there is one value."""
    values = np.asarray(values, dtype=float)
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


WARM_UP = 100  # rows of a first fit that nobody times: imports, compilers, caches


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


SHIFT, FRESH, SEED = 1.05, 20_000, 1000

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

SLOW = ("balance/ipw", "adapt/kliep", "adapt/kmm", "densratio/rulsif")  # one seed,

PATIENCE = 2000  # and no more rows than this

SIZES = [(1000, 1000, 5, 5), (2000, 2000, 10, 5), (5000, 5000, 10, 2)]  # N, M, n, seeds

ROWS = [10**5, 10**6]  # of the linear methods

GRID, DIMENSIONS = [(300, 20), (2000, 3)], (1, 5, 10, 20)  # N and seeds, n, of the last table


def fit(contender, N, M, n, seeds, fresh):
    """Fit a weighter to samples of several seeds: times, memory, and how good the weights are."""
    package, _, method = contender.partition("/")
    truth, moments = GaussianShift(n, SHIFT), GaussianShift(n, SHIFT).moments()
    samples = [truth.draw(N, M, SEED + seed) for seed in range(seeds)]
    others = truth.draw(fresh, fresh, SEED - 1)
    np.random.seed(0)  # noqa: NPY002 - densratio draws from it
    found = {"cpu": [], "wall": [], "scores": [], "criterion": [], "memory": 0.0}
    with threadpool_limits(1):
        weigh = METHODS[package](method)
        weigh(*(part[:WARM_UP] for part in samples[0]))
        for seed, (X, T) in enumerate(samples):
            before = _restart_peak()
            wall, cpu = time.perf_counter(), time.process_time()
            raw, ratio = weigh(X, T)
            found["cpu"].append(time.process_time() - cpu)
            found["wall"].append(time.perf_counter() - wall)
            found["memory"] = found["memory"] if seed else _peak() - before
            raw = np.asarray(raw, dtype=float).ravel()
            found["scores"].append(scored(X, raw / raw.mean(), truth, moments))
            if ratio is not None and fresh:
                at_X, at_T = (np.asarray(ratio(rows), dtype=float).ravel() for rows in others)
                found["criterion"].append(held_out(at_X / raw.mean(), at_T / raw.mean()))
            if "kmm" in method and seed == 0:
                found["matching"] = [*objective(X, T, raw), np.mean(raw < 1e-6)]
    return found | {"version": version(package)}


def scored(X, w, truth, moments):
    """Error of expectations, NMSE and effective sample size."""
    return [expectation_error(X, w, moments), nmse(w, truth.ratio(X)), effective_share(w)]


def held_out(at_X, at_T):
    """E_p[w^2] / 2 - E_q[w] on fresh rows, with weights of mean one on the training rows."""
    return float(at_X @ at_X / len(at_X) / 2 - at_T.mean())


def controls(N, M, n, seeds):
    """Lines without a fit: no weights, the true ratio, and the target rows themselves."""
    truth, moments = GaussianShift(n, SHIFT), GaussianShift(n, SHIFT).moments()
    none, true, target = [], [], []
    for seed in range(seeds):
        X, T = truth.draw(N, M, SEED + seed)
        none.append(scored(X, np.ones(N), truth, moments))
        true.append(scored(X, truth.ratio(X), truth, moments))
        target.append(expectation_error(T, np.ones(M), moments))
    blank = ["", "", "", ""]
    return [
        ["*no weights*", *blank, *cells_of(none)],
        ["*the true ratio*", *blank, *cells_of(true)],
        ["*the target rows themselves*", *blank, spread(target), "", ""],
    ]


def cells_of(scores):
    """Lay out the scores of several seeds."""
    errors, distances, shares = np.array(scores).T
    return [spread(errors), spread(distances, 2), f"{np.mean(shares):.2f}"]


def cpu(found) -> float:
    return float(np.median(found["cpu"])) if found else np.nan


def comparison(size, found) -> str:
    rows = controls(*size)
    for contender, against in CONTENDERS:
        if contender not in found:
            continue
        result = found[contender]
        times = cpu(result) / cpu(found.get(against))
        rows.append(
            [
                contender.replace("/", " "),
                f"{cpu(result):.3f}",
                f"{np.median(result['wall']):.3f}",
                f"{times:.1f}" if np.isfinite(times) else "",
                f"{result['memory']:.0f}",
                *cells_of(result["scores"]),
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


def objective(X, T, w) -> tuple[float, float]:
    """KMM's objective with skada's kernel, and the largest violation of a constraint over N."""
    N, gamma = len(X), 1 / X.shape[1]
    kappa = N * np.exp(-gamma * cdist(X, T, "sqeuclidean")).mean(axis=1)
    value = w @ np.exp(-gamma * cdist(X, X, "sqeuclidean")) @ w / 2 - kappa @ w
    eps = (np.sqrt(N) - 1) / np.sqrt(N)
    off = max(abs(w.sum() - N) - N * eps, -w.min(), w.max() - 1000, 0.0)
    return float(value), off / N


def mean_matching(found) -> str:
    rows = []
    for contender in ("covshift/kmm, skada's kernel", "skada/kmm", "adapt/kmm"):
        if contender in found:
            value, off, zeros = found[contender]["matching"]
            line = [f"{value:.3f}", f"{off:.1e}", f"{100 * zeros:.0f} %"]
            rows.append([contender.replace("/", " "), *line])
    return table(["", "objective", "violation / N", "rows of weight zero"], rows)


SHIFTS = [(0.5, 1.0), (1.05, 1.0), (1.5, 1.0), (0.5, 0.8)]


def by_strength(N, n, shift, scale, seed) -> list[float]:
    """Error of expectations: no weights, the true ratio, uLSIF, CDF weights and even tails."""
    truth = GaussianShift(n, shift, scale)
    X, T = truth.draw(N, N, SEED + 100 + seed)
    weighters = (
        ULSIF(random_state=0),
        CDFWeights(allow_no_overlap=True),
        CDFWeights(Additive(phi="anderson-darling"), allow_no_overlap=True),
    )
    weights = [weighter.fit(X, X_target=T).weights_ for weighter in weighters]
    moments = truth.moments()
    return [expectation_error(X, w, moments) for w in (np.ones(len(X)), truth.ratio(X), *weights)]


def over_dimensions(found) -> tuple[str, list[float]]:
    """Error of expectations over dimensions and strengths, and the ratios of CDF to uLSIF."""
    by_line = {}
    for (*line, _), errors in found:
        by_line.setdefault(tuple(line), []).append(errors)
    means = {line: np.mean(errors, axis=0) for line, errors in by_line.items()}
    ratios = [errors[3] / errors[2] for errors in means.values()]
    rows = [
        [*line, *(f"{error:.3f}" for error in errors), f"{ratio:.2f}"]
        for (line, errors), ratio in zip(means.items(), ratios, strict=True)
    ]
    names = ["none", "true ratio", "uLSIF", "CDF", "CDF, even tails"]
    return table(["N = M", "n", "shift", "scale", *names, "CDF / uLSIF"], rows), ratios


def expectations(found, there, ratios) -> str:
    """Say of every expectation whether it is met."""

    def ratio(peer, ours):
        return cpu(found.get(peer)) / cpu(found.get(ours))

    def line(text, met, measured):
        verdict = "not measured" if np.isnan(measured) else "met" if met else "**missed**"
        return f"- {text}: {verdict} ({measured:.3g})."

    ulsif = ratio("densratio/ulsif", "covshift/ulsif")
    kliep = ratio("densratio/kliep", "covshift/kliep")
    kmm = ratio("skada/kmm", "covshift/kmm, skada's kernel")
    criterion = gap = np.nan
    if "densratio/ulsif" in found:
        theirs, ours = (found[f"{who}/ulsif"]["criterion"] for who in ("densratio", "covshift"))
        criterion = float(np.mean(ours) - np.mean(theirs))
    if "skada/kmm" in found:
        theirs = found["skada/kmm"]["matching"][0]
        ours, off, _ = found["covshift/kmm, skada's kernel"]["matching"]
        gap = (ours - theirs) / abs(theirs) if off < 1e-8 else np.inf
    here = cpu(found["covshift/cdf"])
    error = [np.mean(found[f"covshift/{who}"]["scores"], axis=0)[0] for who in ("cdf", "ulsif")]
    half = error[0] / error[1]
    wide = np.mean(np.array(ratios) <= 0.5)
    return "\n".join(
        [
            line("uLSIF at least 10 times faster than densratio's", ulsif >= 10, ulsif),
            line("its held-out criterion less densratio's, no higher", criterion <= 0, criterion),
            line("KLIEP at least 10 times faster than densratio's", kliep >= 10, kliep),
            line("KMM at least 2 times faster than skada's, same kernel", kmm >= 2, kmm),
            line("its objective relative to skada's, no higher, feasible", gap <= 0, gap),
            line("CDF weights in less than 1 s", here < 1, here),
            line("and in at most 12 s at the most rows", there <= 12, there),
            line("error of expectations, at most half of uLSIF's", half <= 0.5, half),
            f"- The last one over dimensions and strengths (below): at most half in "
            f"{100 * wide:.0f} % of the lines, from {min(ratios):.2f} to {max(ratios):.2f}.",
        ]
    )


def works(share, quick):
    """Every weighter at every size; large samples; dimensions and strengths."""
    if quick:
        names = ["ulsif", "kliep", "kmm, skada's kernel", "cdf"]
        return [
            Work("covshift", fit, [(f"covshift/{name}", 150, 120, 3, 2, 500) for name in names]),
            Work("large", fit, [("covshift/cdf", 500, 500, 10, 1, 0)]),
            Work("strengths", by_strength, [(60, 2, *kind, 0) for kind in SHIFTS]),
        ]
    works = []
    for package in METHODS:
        jobs = [
            (contender, N, M, n, 1 if contender in SLOW else seeds, FRESH)
            for N, M, n, seeds in SIZES
            for contender, _ in CONTENDERS
            if contender.startswith(package) and not (contender in SLOW and N > PATIENCE)
        ]
        seconds = 5.0 if package == "covshift" else 30.0
        works.append(Work(package, fit, jobs, seconds, alone=True, needs=(package,)))
    large = [
        (f"covshift/{name}", N, N, 10, 1, 0)
        for N in ROWS
        for name in LINEAR
        if N <= 10**5 or name == "cdf"  # the first alone goes on
    ]
    grid = [
        (N, n, *kind, seed)
        for N, seeds in GRID
        for n in DIMENSIONS
        for kind in SHIFTS
        for seed in range(runs(seeds, share))
    ]
    return [
        *works,
        Work("large", fit, large, 15.0, alone=True),
        Work("strengths", by_strength, grid, 0.15),
    ]


def report(found):
    """Return all tables."""
    by_size = {}
    for package in METHODS:
        for (contender, N, M, n, *_), line in found.get(package, []):
            by_size.setdefault((N, M, n), {})[contender] = line
    counts = {(N, M, n): seeds for N, M, n, seeds in SIZES}
    middle = by_size.get(SIZES[1][:3]) or next(iter(by_size.values()))
    strengths, ratios = over_dimensions(found["strengths"])
    large = {(job[1], job[0]): line for job, line in found["large"]}
    most = max(N for N, _ in large)
    known = {name.partition("/")[0]: line["version"] for name, line in middle.items()}
    rows = []
    for N in dict.fromkeys(N for N, _ in large):
        rows += [[f"{N:,}", line[0], "", "", "", *line[5:]] for line in controls(N, N, 10, 1)[:2]]
        rows += [
            [
                *(f"{N:,}", name.replace("/", " "), f"{line['cpu'][0]:.2f}"),
                *(f"{line['wall'][0]:.2f}", f"{line['memory']:.0f}", *cells_of(line["scores"])),
            ]
            for (size, name), line in large.items()
            if size == N
        ]
    criteria = [
        [who.replace("/", " "), spread(middle[who]["criterion"])]
        for who in ("covshift/ulsif", "densratio/ulsif", "covshift/kliep", "densratio/kliep")
        if who in middle
    ]
    sections = []
    for (N, M, n), line in by_size.items():
        seeds = counts.get((N, M, n), 2)
        sections += [f"## N = {N}, M = {M}, n = {n} ({seeds} seeds)"]
        sections += [comparison((N, M, n, seeds), line)]
    return [
        f"Training rows N(0, I), target rows N(d, I) with |d| = {SHIFT} spread evenly over the n "
        "features. Each fit has one thread; times are medians over the seeds (one "
        f"seed, and no more than {PATIENCE} rows, for {', '.join(SLOW)}), memory "
        "is the peak above what the process held before. *Times ours* is CPU time over that of "
        "the same method here. *Error of expectations*: mean "
        "of the absolute weighted mean less target mean, over the target's standard deviation, "
        "over five functions (mean "
        "of the features, mean square, sin 2x₁, 1[x₁ > ½], a logistic function of the sum); "
        "*NMSE*: Σ(w − r)² / Σr² with weights of mean one; mean ± standard deviation over seeds.",
        f"Packages: {', '.join(f'{name} {number}' for name, number in known.items())}.",
        "What each does: our uLSIF, RuLSIF and KLIEP choose width and penalty, densratio's too; "
        "adapt's uLSIF takes width and penalty as given, and our line \"adapt's choice\" takes the "
        "same; skada's and adapt's KLIEP choose among "
        "five widths. Neither of skada's and adapt's KMM chooses: they use γ = 1/n, and our line "
        "\"skada's kernel\" does the same. adapt's KMM cuts the training rows into parts of at "
        "most 1000, each fitted alone. balance's "
        "IPW chooses a penalised logistic regression by cross-validation.",
        "## Every weighter against the fastest peer, N = M = 2000, n = 10",
        against_the_fastest(middle),
        "The other weighters (CDF, energy, entropy, Gaussian, neighbours) have no peer here.",
        "## What was expected at N = M = 2000, n = 10",
        expectations(middle, cpu(large[most, "covshift/cdf"]), ratios),
        *sections,
        "## Held-out criterion E_p[w²]/2 − E_q[w] at the same size, fresh rows, lower is better",
        table(["", "criterion"], criteria),
        f"The true ratio has {-np.exp(SHIFT**2) / 2:.3f}, equal weights have -0.500.",
        "## The objective of kernel mean matching at the same size, same kernel, first seed",
        mean_matching(middle),
        "## Linear methods, n = 10",
        table(
            [
                "N = M",
                "",
                "CPU s",
                "wall s",
                "memory MB",
                "error of expectations",
                "NMSE",
                "ESS / N",
            ],
            rows,
        ),
        "## CDF weights and uLSIF over dimensions and strengths: error of expectations",
        strengths,
    ]


if __name__ == "__main__":
    main(__file__)
