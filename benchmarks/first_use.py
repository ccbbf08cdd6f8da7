"""How long the first use takes: imports, the help, a diagnosis, a fit, a comparison, a report.

The longer commands run on the demo's files, and on a table of 2,500 rows of 10 columns.

Every number is the median over fresh processes, which take turns; one run of each goes before them,
so that bytecode is written and files are in memory.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from harness import Work, main, table

TITLE = "First use"
REPEATS = 5
SEED = 0
LABEL = "chronic_condition"
BASELINE = "import sklearn.linear_model"
ROWS = f"""
import numpy as np
rng = np.random.default_rng({SEED})
X, T = rng.normal(size=(300, 5)), rng.normal(0.5, 1.0, size=(300, 5))
y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
"""
FIT = f"{BASELINE}\n{ROWS}\nfrom covshift import VSVC\nVSVC().fit(X, y, X_target=T)"
FILES = f"""{ROWS}
for name, rows in (("train", X), ("target", T)):
    np.savetxt(name + ".csv", rows, "%.4f", ",", header="a,b,c,d,e", comments="")
"""
TABLE = f"""
import numpy as np
rng = np.random.default_rng({SEED})
names = [f"x{{k}}" for k in range(8)] + ["region", "job"]
for name, shift in (("sample", 0.0), ("people", 0.7)):
    Z = rng.normal(size=(2500, 8)) @ (np.eye(8) + 0.25 * np.tri(8, k=-1)).T / 1.3
    Z[:, 0] += shift
    Z[:, 1] -= 0.6 * shift
    Z[:, 3] = np.exp(0.4 * Z[:, 3])
    Z[:, 4] = np.round(40 + 12 * Z[:, 4])
    place = 2 * rng.uniform(size=2500) + 2 / (1 + np.exp(-Z[:, 0] - shift))
    region = np.array(["north", "south", "east", "west"])[np.minimum(place.astype(int), 3)]
    shares = [0.4 - 0.2 * shift, 0.4 + 0.1 * shift, 0.2 + 0.1 * shift]
    job = rng.choice(["manual", "office", "none"], size=2500, p=shares)
    f = 0.8 * Z[:, 0] - 0.5 * Z[:, 1] + np.sin(2 * Z[:, 2]) + 0.5 * (job == "office")
    y = np.where(rng.uniform(size=2500) < 1 / (1 + np.exp(-f)), "yes", "no")
    month = np.char.add("m", np.char.zfill((1 + np.arange(2500) // 250).astype(str), 2))
    more, values = ("y", y) if name == "sample" else ("month", month)
    with open(name + ".csv", "w") as file:
        print(",".join([*names, more]), file=file)
        for row, *words in zip(Z, region, job, values):
            print(",".join([*(f"{{x:.4f}}" for x in row), *words]), file=file)
"""


@dataclass(frozen=True)
class Line:
    """Something to start, and what it is to take."""

    what: str
    argv: tuple[str, ...]
    aim: str = ""

    def measured(self, folder: str) -> tuple[float, float]:
        """Run it in a fresh process; return seconds on the wall and of the processor."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        call(folder, *self.argv)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def call(folder: str, *argv: str) -> None:
    """Run Python there; bytecode is kept, as it is wherever the package is installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if "PYTHONPATH" in environment:  # which may be relative to where we are
        parts = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(str(Path(part).resolve()) for part in parts)
    subprocess.run(
        [sys.executable, *argv], cwd=folder, env=environment, check=True, capture_output=True
    )


def command(*argv: str, aim: str = "") -> Line:
    shown = [part for part in argv if part not in ("--id", "person", "--force")]
    return Line(f"`covshift {' '.join(shown)}`", ("-m", "covshift", *argv), aim)


def lines(quick: bool) -> list[Line]:
    found = [
        Line("`python -c pass`", ("-c", "pass")),
        Line("`import covshift`", ("-c", "import covshift"), "next to nothing"),
        command("--help", aim=".1 s of CPU"),
    ]
    if quick:
        return found
    table = ("sample.csv", "people.csv", "--label", "y")
    demo = ("survey.csv", "population.csv", "--id", "person", "--label", LABEL)
    return [
        *found,
        Line("`import numpy`", ("-c", "import numpy")),
        Line(f"`{BASELINE}`", ("-c", BASELINE)),
        command("diagnose", "train.csv", "target.csv", aim="1.5 s"),
        Line(f"`{BASELINE}`, `VSVC().fit(X, y, X_target=T)`", ("-c", FIT), "1 s more than that"),
        command("compare", *demo, aim="4 s"),
        command("report", *demo, "-o", "report.html", "--force", aim="6 s"),
        command("estimate", *table, aim="3 s"),
        command("compare", *table, aim="8 s"),
        command("fit", *table, "-o", "model.covshift", "--force", aim="5 s"),
        command("report", *table, "-o", "whole.html", "--force", aim="15 s"),
        command("report", *table, "--batch", "month", "-o", "ten.html", "--force", aim="40 s"),
    ]


def measure(chosen: list[Line], repeats: int) -> dict[str, tuple[float, float]]:
    """Median seconds of every line, on the wall and of the processor."""
    with TemporaryDirectory() as folder:
        if len(chosen) > 3:
            call(folder, "-c", FILES)
            call(folder, "-c", TABLE)
            call(folder, "-m", "covshift", "demo", "--files-only", "-o", ".")
        runs = [[line.measured(folder) for line in chosen] for _ in range(repeats + 1)][1:]
    columns = zip(*runs, strict=True)
    return {
        line.what: (median(wall for wall, _ in column), median(cpu for _, cpu in column))
        for line, column in zip(chosen, columns, strict=True)
    }


def taken(quick: bool, repeats: int) -> dict[str, tuple[float, float]]:
    """Median seconds of all lines: they take turns."""
    return measure(lines(quick), repeats)


def works(share, quick):
    """All lines together, since their ratios are what counts."""
    del share  # times are taken once
    return [Work("lines", taken, [(quick, 1 if quick else REPEATS)], 600.0, True)]


def report(found):
    """Return the table."""
    ((quick, repeats), found) = found["lines"][0]
    chosen = lines(quick)
    baseline = f"`{BASELINE}`" if f"`{BASELINE}`" in found else chosen[0].what
    unit = found[baseline]
    rows = [
        [
            line.what,
            *(f"{seconds:.2f}" for seconds in found[line.what]),
            *(f"{ours / theirs:.2f}" for ours, theirs in zip(found[line.what], unit, strict=True)),
            line.aim,
        ]
        for line in chosen
    ]
    return [
        f"Medians over {repeats} fresh processes, which take turns, after one that does not count. "
        f"The last two numbers are ratios to {baseline} in the same run. The two small files have "
        "300 rows of 5 columns, and so has the fit; the demo's have 500 and 1,000 rows of 8 "
        "features; sample.csv and people.csv have 2,500 rows of 8 numbers and 2 categories, and "
        f"people.csv ten months. 16 methods are compared. Seed {SEED}.",
        table(["what", "wall s", "CPU s", "wall ratio", "CPU ratio", "aim"], rows),
    ]


if __name__ == "__main__":
    main(__file__)
