"""Shared by the benchmarks: timing, the machine's description, tables of results."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def best_time(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest of ``repeats`` wall-clock times in seconds: the least disturbed one."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def machine(packages: Sequence[str] = ("numpy", "scipy", "scikit-learn", "covshift")) -> str:
    """Describe processor, cores and versions in one line."""
    parts = [f"{_processor()}, {_cores()}", f"Python {platform.python_version()}"]
    for package in packages:
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            here = getattr(sys.modules.get(package), "__version__", "absent")
            parts.append(f"{package} {here}")
    return ", ".join(parts)


def commit() -> str:
    """Return the commit of the code, or what the variable COMMIT says where there is no git."""
    command = ["git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or os.environ.get("COMMIT", "unknown")


def _cores() -> str:
    """Number of cores, and how many of them this process may use."""
    every = os.cpu_count() or 1
    used = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    return f"{every} cores" if used == every else f"{used} of {every} cores"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def publish(name: str, title: str, *sections: str, write: bool) -> None:
    """Print a report, and with ``write`` keep it in results/."""
    text = "\n\n".join([f"# {title}", *sections]) + "\n"
    sys.stdout.write(text)
    if write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return f"{platform.processor() or platform.machine()} ({platform.system()})"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
