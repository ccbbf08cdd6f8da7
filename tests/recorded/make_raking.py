"""Writes the raked and post-stratified weights that other packages compute.

    python tests/recorded/make_raking.py svy     > tests/recorded/raking_svy.json
    python tests/recorded/make_raking.py balance > tests/recorded/raking_balance.json

with the interpreter of an environment that has the package (`svy==0.35.0` with polars, or
`balance==0.23.0` with pandas). The sample and the margins are in the file as well.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import numpy as np

MARGINS = {
    "age": {"18-29": 0.16, "30-64": 0.55, "65+": 0.29},
    "sex": {"f": 0.52, "m": 0.48},
    "region": {"east": 0.2, "north": 0.45, "south": 0.35},
}
CELLS = {
    "f": {"18-29": 0.08, "30-64": 0.28, "65+": 0.16},
    "m": {"18-29": 0.08, "30-64": 0.27, "65+": 0.13},
}


def sample():
    rng = np.random.default_rng(18)
    N = 60
    return {
        "age": rng.choice(["18-29", "30-64", "65+"], N, p=[0.4, 0.4, 0.2]).tolist(),
        "sex": rng.choice(["f", "m"], N, p=[0.35, 0.65]).tolist(),
        "region": rng.choice(["east", "north", "south"], N, p=[0.3, 0.3, 0.4]).tolist(),
        "design": rng.uniform(0.5, 3.0, N).round(3).tolist(),
    }


def svy():
    import polars
    from svy import Design, Sample

    table = Sample(polars.DataFrame(sample()), Design(wgt="design"))
    raked = table.weighting.rake(shares=MARGINS, tol=1e-13, max_iter=10_000)
    cells = {(a, s): CELLS[s][a] for s in CELLS for a in CELLS[s]}
    one = table.weighting.poststratify(shares=MARGINS["age"], cells="age")
    two = table.weighting.poststratify(shares=cells, cells=["age", "sex"])
    return {
        "raking": raked.data["rk_wgt"].to_list(),
        "one margin": one.data["ps_wgt"].to_list(),
        "table": two.data["ps_wgt"].to_list(),
    }


def balance():
    import pandas
    from balance.weighting_methods.poststratify import poststratify
    from balance.weighting_methods.rake import rake

    rows = pandas.DataFrame(sample())
    design = rows.pop("design")
    options = {"convergence_rate": 1e-13, "rate_tolerance": 1e-16, "max_iteration": 10_000}
    margins = {k: {level: 1000 * s for level, s in v.items()} for k, v in MARGINS.items()}
    raked = rake(rows, design, None, None, target_margins=margins, transformations=None, **options)
    cells = [(s, a, CELLS[s][a]) for s in CELLS for a in CELLS[s]]
    target = pandas.DataFrame([cell[:2] for cell in cells], columns=["sex", "age"])
    shares = pandas.Series([cell[2] for cell in cells])
    two = poststratify(rows[["sex", "age"]], design, target, shares, transformations=None)
    return {"raking": raked["weight"].tolist(), "table": two["weight"].tolist()}


if __name__ == "__main__":
    name = sys.argv[1]
    found = {"svy": svy, "balance": balance}[name]()
    found = {
        "made by": f"tests/recorded/make_raking.py {name}, with {name} {version(name)}",
        "sample": sample(),
        "margins": MARGINS,
        "cells": CELLS,
        "weights": found,
    }
    json.dump(found, sys.stdout, indent=1)
    print()
