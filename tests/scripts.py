"""Scripts run in processes that need not import the libraries again.

They are forked, where the system can, from one process that has imported them: a second or three
saved for every script. Nothing that a script does is seen by the next one.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from functools import cache
from pathlib import Path

from threadpoolctl import threadpool_limits

IMPORTED = [
    "joblib",
    "pandas",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.pipeline",
    "scipy.stats",
    "covshift.comparison",
    "covshift.conformal",
    "covshift.boosting",
    "covshift.machine",
    "covshift.weights",
]


def run_script(path: Path, arguments: list[str], folder: Path) -> tuple[int | None, str, str]:
    """Run ``python path arguments`` and return how it ended, what it printed, and its errors."""
    out, err = folder / "out.txt", folder / "err.txt"
    process = _processes().Process(target=_run, args=(str(path), arguments, str(out), str(err)))
    process.start()
    process.join()
    code = process.exitcode
    process.close()
    return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")


@cache
def _processes():
    known = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")
    context.set_forkserver_preload(IMPORTED)
    return context


def _run(path: str, arguments: list[str], out: str, err: str) -> None:
    for name, stream in ((out, sys.stdout), (err, sys.stderr)):
        with open(name, "wb") as file:
            os.dup2(file.fileno(), stream.fileno())
        stream.reconfigure(encoding="utf-8")
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).parent))
    os.environ["OMP_NUM_THREADS"] = "1"  # two processes with two threads each wait for each other
    with threadpool_limits(1):
        runpy.run_path(path, run_name="__main__")
