"""Weights of rows that the fit has not seen: their mean, their largest, and what they estimate.

    python benchmarks/new_rows.py            the table of results/new_rows.md, a minute
    python benchmarks/new_rows.py --quick    one seed, one problem

Weights are fitted to N training rows, and then weigh 5000 others of the same distribution. *Closed
form* is what the CDF weights' own formula says of them, and *energy's form* that of energy weights;
`predict_weights` takes the penalty 1, and 3 for energy weights, which were chosen on Gaussian
problems with other seeds. The populations are those of discrepancy.py.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from discrepancy import GENERATED, N_TARGET, SEED
from harness import machine, publish, table
from scipy.spatial.distance import cdist

from covshift.weights import CDFWeights, Discriminative, EnergyWeights, TiltedCDFWeights

SIZES, SEEDS, NEW, ALL = (100, 300, 1000), 10, 5000, 100_000


def closed_form(fitted, X):
    return fitted._scale * fitted._match.ratio(fitted._made.rows(fitted._seen(X)))


def energy_form(fitted, X):
    X, N = fitted._units(X), fitted._w.sum()
    pull = cdist(X, fitted._X) @ fitted._w - N * (cdist(X, fitted._T) @ fitted._share)
    return np.maximum(fitted._level + pull / fitted._unit, 0) / fitted.reg


def contenders():
    """Weighter and how it weighs new rows, by name."""
    predicted = {
        "CDF weights": CDFWeights(allow_no_overlap=True),
        "tilted": TiltedCDFWeights(allow_no_overlap=True),
        "energy": EnergyWeights(),
        "classifier": Discriminative(random_state=0),
    }
    given = {
        name: (made, lambda made, X: made.predict_weights(X)) for name, made in predicted.items()
    }
    return {
        "closed form": (CDFWeights(allow_no_overlap=True), closed_form),
        "energy's form": (EnergyWeights(), energy_form),
        **given,
    }


def measured(draw, N, seed):
    """Mean of the weights, largest one by the largest of a training row, error of the means."""
    rng = np.random.default_rng(SEED + seed)
    X, T, new = draw(rng, N, False), draw(rng, N_TARGET, True), draw(rng, NEW, False)
    everyone = draw(rng, ALL, True)
    center, scale = everyone.mean(axis=0), everyone.std(axis=0)
    found = []
    for weighter, weigh in contenders().values():
        w = weigh(weighter.fit(X, X_target=T), new)
        gap = np.abs(np.average(new, axis=0, weights=w) - center) / scale
        found.append([w.mean(), w.max() / weighter.weights_.max(), gap.mean()])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, nothing written")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # few rows and no overlap are part of the matter
    names, sections = list(contenders()), []
    problems = dict(list(GENERATED.items())[: 1 if quick else None])
    cells = {
        (problem, N): np.mean([measured(draw, N, s) for s in range(1 if quick else SEEDS)], axis=0)
        for N in SIZES[: 1 if quick else None]
        for problem, draw in problems.items()
    }
    for k, (title, digits) in enumerate(
        [
            ("Mean of the new weights (1 is right)", 2),
            ("Largest new weight by the largest of a training row", 2),
            ("Error of weighted means of the new rows, in standard deviations", 3),
        ]
    ):
        rows = [[*cell, *(f"{v:.{digits}f}" for v in found[:, k])] for cell, found in cells.items()]
        sections += [f"## {title}", table(["problem", "N", *names], rows)]
    publish(
        "new_rows",
        "Weights of rows that the fit has not seen",
        f"N training rows, {N_TARGET} target rows, {NEW} new rows of the training distribution; "
        f"means over {SEEDS} seeds from {SEED}.",
        f"Machine: {machine()}.",
        *sections,
        "Command: `python benchmarks/new_rows.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()
