"""How time and memory grow with the number of rows: ours out of core, and others until they stop.

    python benchmarks/growth.py             results/growth.md and docs/_static/growth.png
    python benchmarks/growth.py --quick     small sizes, as the tests run it

Each fit is a process of its own on rows that are made block by block (`scale.py`). A method stops
where it would need over 8 GiB or three minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scale
from harness import machine, publish, table

M, D = 1000, 300
LIMIT = 180  # seconds

OURS = {
    "VSVR, additive, from blocks": ("blocks", {"M": M, "D": D}),
    "VSVR, blended, tuned, from blocks": (
        "blocks",
        {"M": M, "D": D, "correction": "blended", "reg": "cv"},
    ),
    "CDFWeights, additive": ("weights", {"M": M}),
}
OTHERS = {
    "Nystroem + Ridge": ("peer", {"D": D}),
    "KernelRidge": ("kernel_ridge", {}),
    "KMM, dense as in the literature": ("kmm", {"M": M}),
}


def measured(sizes):
    """Seconds and MB of every method at every number of rows, until it stops."""
    found = {}
    for name, (job, options) in {**OURS, **OTHERS}.items():
        limit = {} if name in OURS else {"limit": LIMIT, "memory": scale.MOST_MEMORY}
        for N in sizes:
            if name.startswith("CDF") and N > 10**6:  # holds all rows, as its peers do
                break
            done = scale.measure(job, **limit, N=N, **options)
            if done is None:
                break
            found[name, N] = done["s"], done["peak"] - done["before"]
            print(name, N, found[name, N], flush=True)
    return found


def exponent(found, name):
    """Slope of log time over log N, by least squares."""
    points = [(N, s) for (who, N), (s, _) in found.items() if who == name]
    if len(points) < 2:
        return float("nan")
    N, seconds = np.array(points).T
    return float(np.polyfit(np.log(N), np.log(seconds), 1)[0])


def lines(found, sizes):
    rows = []
    for name in (*OURS, *OTHERS):
        cells = []
        for N in sizes:
            s, memory = found.get((name, N), (None, None))
            cells.append("stops" if s is None else f"{s:.2f} s, {memory:,.0f} MB")
        rows.append([name, *cells, f"{exponent(found, name):.2f}"])
    return table(["method", *(f"N = {N:,}" for N in sizes), "exponent of time"], rows)


def draw(found, path):
    """Time over rows, both on logarithmic scales."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    styles = dict.fromkeys(OURS, ("-o", None)) | dict.fromkeys(OTHERS, ("--s", "stops"))
    for name, (style, end) in styles.items():
        points = [(N, s) for (who, N), (s, _) in found.items() if who == name]
        if not points:
            continue
        (line,) = axes.loglog(*np.array(points).T, style, label=name, markersize=4)
        if end:
            axes.annotate(
                end, points[-1], xytext=(6, 4), textcoords="offset points", color=line.get_color()
            )
    axes.set(xlabel="training rows", ylabel="seconds for one fit")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    quick = parser.parse_args().quick
    sizes = [200, 400] if quick else [10**4, 10**5, 10**6, 10**7]
    if quick:
        scale.QUICK = True
        for _, options in (*OURS.values(), *OTHERS.values()):
            options.update({key: 20 for key in ("M", "D") if key in options})
    found = measured(sizes) if not quick else _silently(lambda: measured(sizes))
    publish(
        "growth",
        "Growth with the number of rows",
        f"n = 10, M = {M:,}, {D} landmarks, seed {scale.SEED}, blocks of {scale.BLOCK:,} rows. "
        f"Others stop where they need over {scale.MOST_MEMORY >> 30} GiB or {LIMIT} s. Times "
        "include making the rows, twice for fits from blocks; memory is beyond that of the start.",
        f"Machine: {machine()}.",
        lines(found, sizes),
        "![Seconds for one fit against training rows](../../docs/_static/growth.png)",
        "Command: `python benchmarks/growth.py`.",
        write=not quick,
    )
    if not quick:
        draw(found, Path(__file__).parents[1] / "docs" / "_static" / "growth.png")


def _silently(work):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        return work()


if __name__ == "__main__":
    main()
