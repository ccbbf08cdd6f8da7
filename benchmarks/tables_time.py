"""What the commands cost on large and on small files: time, processor time, memory.

    python benchmarks/tables_time.py             the tables of results/tables_time.md (ten minutes)
    python benchmarks/tables_time.py --quick     small sizes, as the tests run it

Every command runs in a process of its own on files made from a seed; its time includes starting
Python and reading the files. On a busy machine processor time is what to compare: a command whose
processor time is above its wall time kept both cores, or let the threads of BLAS wait in a loop.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from harness import machine, publish, table

SEED = 0
READ = "import sys, pandas as pd; [pd.read_parquet(path) for path in sys.argv[1:]]"
PEER = """
import sys
import pandas as pd
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

frame = pd.read_parquet(sys.argv[1])
make_pipeline(
    StandardScaler(), Nystroem(gamma=0.1, n_components=300, random_state=0), RidgeCV([0.1, 1, 10])
).fit(frame.drop(columns="ill"), frame["ill"])
"""


def sample(rng, rows, features, shift):
    """Continuous, rounded, whole and two-valued features, and a label."""
    X = rng.normal(size=(rows, features))
    X[:, 0] += shift
    X[:, 1] = 20 * np.exp(X[:, 1] / 2) + shift * rng.random(rows)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(features)])
    frame["x6"], frame["x7"] = frame["x6"].round(2), frame["x7"].round(2)
    frame["x8"], frame["x9"] = (10 * frame["x8"]).round(), (frame["x9"] > 0).astype(int)
    frame["ill"] = (X[:, 0] + X[:, 2] ** 2 / 2 + rng.logistic(size=rows) > 0.5).astype(int)
    return frame


def files(folder, rows, target_rows, features):
    rng = np.random.default_rng(SEED)
    paths = folder / f"train{rows}.parquet", folder / f"target{target_rows}.parquet"
    sample(rng, rows, features, 0.0).to_parquet(paths[0], index=False)
    target = sample(rng, target_rows, features, 0.4).drop(columns="ill")
    target.to_parquet(paths[1], index=False)
    return [str(path) for path in paths]


AFTER = """
import re, sys, time
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(time.process_time(), int(peak[1]) / 1024, file=sys.stderr)
"""
COMMAND = "from covshift.cli import main\ncode = main(sys.argv[1:])\n"


def measure(code, arguments):
    """Run code in a process of its own: wall and processor time in seconds, peak memory in MB."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import sys\n" + code + AFTER, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - start
    cpu, peak = re.findall(r"^([\d.]+) ([\d.]+)$", done.stderr, re.MULTILINE)[-1]
    return wall, float(cpu), float(peak)


def compared(runs, first):
    """One row for each run, with its processor time as a multiple of the first one's."""
    lines, unit = [], None
    for name, code, arguments in runs:
        wall, cpu, peak = measure(code, arguments)
        unit = unit or cpu
        lines.append(
            [
                name,
                f"{wall:.1f}",
                f"{cpu:.1f}",
                f"{cpu / wall:.2f}",
                f"{cpu / unit:.1f}",
                f"{peak:.0f}",
            ]
        )
        print(lines[-1], file=sys.stderr, flush=True)
    header = ["", "wall s", "processor s", "processor / wall", f"processor s / {first}", "peak MB"]
    return table(header, lines)


def commands(paths, out, names):
    """The commands by name, as code and arguments."""
    label, model = ["--label", "ill"], ["-o", str(out / "m.covshift"), "--force"]
    known = {
        "diagnose": ["diagnose", *paths, *label],
        "weigh": ["weigh", *paths, *label, "-o", str(out / "w.csv"), "--force"],
        "fit": ["fit", *paths, *label, *model],
        "fit --method blended": ["fit", *paths, *label, "--method", "blended", *model],
        "estimate": ["estimate", *paths, *label],
        "evaluate": ["evaluate", *paths, *label, "--score", "x0"],
    }
    return [(f"covshift {name}", COMMAND, known[name]) for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    quick = parser.parse_args().quick
    large, million, small = (
        ((300, 200), (400, 400), (100, 100))
        if quick
        else ((500_000, 245_000), (10**6, 10**6), (600, 600))
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = files(folder, *large, 10)
        read = ("pandas.read_parquet of both files", READ, paths)
        peer = ("scikit-learn: Nystroem(300) and RidgeCV", PEER, paths)
        names = ["diagnose", "weigh", "fit", "fit --method blended"]
        of_large = compared(
            [read, peer, *([] if quick else commands(paths, folder, names))], "reading"
        )
        paths = files(folder, *million, 10)
        read = ("pandas.read_parquet of both files", READ, paths)
        of_million = (
            "" if quick else compared([read, *commands(paths, folder, ["weigh"])], "reading")
        )
        paths = files(folder, *small, 12)
        names = ["diagnose", "weigh", "fit", "fit --method blended", "estimate", "evaluate"]
        start = ("python -c 'import sklearn.ensemble, scipy.stats'", _START, [])
        of_small = compared(
            [start, *commands(paths, folder, names[:1] if quick else names)], "start"
        )
    load = os.getloadavg()[0]
    publish(
        "tables_time",
        "What the commands cost, from file to answer",
        f"Parquet files of 10 columns (12 of the small ones) and a label, seed {SEED}; continuous, "
        "rounded, whole and two-valued ones. OMP_NUM_THREADS is "
        f"{os.environ.get('OMP_NUM_THREADS', 'not set')}; load average at the end {load:.1f}.",
        f"Machine: {machine(('numpy', 'scipy', 'scikit-learn', 'pandas', 'covshift'))}.",
        f"## {large[0]:,} training and {large[1]:,} target rows",
        of_large,
        *([f"## {million[0]:,} training and {million[1]:,} target rows", of_million] * (not quick)),
        f"## {small[0]:,} training and {small[1]:,} target rows",
        of_small,
        "Command: `python benchmarks/tables_time.py`.",
        write=not quick,
    )


_START = "import sklearn.ensemble, scipy.stats\n"

if __name__ == "__main__":
    main()
