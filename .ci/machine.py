"""Say what the tests run on: processor, cores, BLAS and its kernel, versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "narwhals", "pytest")


def processor() -> str:
    """Name of the processor, as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    fields = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    part = f"implementer {named.get('CPU implementer')}, part {named.get('CPU part')}"
    known = named.get("model name") or (part if "CPU part" in named else platform.processor())
    return f"{platform.machine()}, {known}"


def installed(name: str) -> str:
    """Version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def main() -> None:
    """Print it, one line each."""
    import scipy.linalg  # noqa: F401  (loads the BLAS of both)
    from threadpoolctl import threadpool_info

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"System     {platform.platform()}")
    print(f"Processor  {processor()}; {usable} of {os.cpu_count()} cores")
    for library in threadpool_info():
        kernel = f", kernel {library['architecture']}" if "architecture" in library else ""
        words = f"{library['internal_api']} {library['version']}{kernel}"
        print(f"{library['user_api']:<10} {words}, {library['num_threads']} threads")
    print(f"Python     {platform.python_version()}")
    print("Packages   " + ", ".join(f"{name} {installed(name)}" for name in PACKAGES))


if __name__ == "__main__":
    main()
