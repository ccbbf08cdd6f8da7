"""Are the answers right on everyday data? Errors of the defaults, intervals, verdicts.

    python benchmarks/answers.py                 the tables of results/answers.md (15 minutes)
    python benchmarks/answers.py --part verdicts one part of it, printed only
    python benchmarks/answers.py --quick         a few small samples, as the tests run it

Continuous and discrete versions of six problems with known truth (answers_problems.py), from 50 to
100,000 rows, with a shift and without. Every sentence about the numbers is made from them.
"""

from __future__ import annotations

import argparse
import time

import answers_coverage as coverage
import answers_excess as excess
import answers_verdicts as verdicts
from harness import machine, publish


def excess_part(quick: bool) -> list[str]:
    sizes = {(30, 40): 1} if quick else excess.SIZES
    problems = excess.ALL[1:4:2] if quick else excess.ALL
    cells = excess.measure(sizes, problems, n_jobs=1 if quick else -1)
    repeats = ", ".join(f"{runs} at {excess.size_name(size)}" for size, runs in sizes.items())
    fewer = "; ".join(
        f"{name} {', '.join(f'{runs} at {excess.size_name(size)}' for size, runs in few.items())}"
        for name, few in excess.FEWER.items()
    )
    return [
        "## Excess error of every default",
        "Mean squared error against the true function on 5000 fresh target rows; M = 1000 target "
        "rows unless said otherwise, features scaled by the training rows, every setting the "
        f"default. Repetitions, seeds from 0: {repeats}; fewer of the slow contenders: {fewer} (at "
        f'N = 1000 with a shift only, and without "{excess.WIDE}"). Without a shift is the '
        "control: there is nothing to gain.",
        *excess.sections(cells),
    ]


def coverage_part(quick: bool) -> list[str]:
    runs = 2 if quick else coverage.RUNS
    sizes = [(60, 50)] if quick else coverage.SIZES
    return [
        "## Coverage of intervals",
        *coverage.sections(sizes, runs, n_jobs=1 if quick else -1),
    ]


def verdicts_part(quick: bool) -> list[str]:
    pairs, problems = verdicts.PAIRS, verdicts.COMPARED
    if quick:
        pairs, problems = (dict(list(every.items())[:2]) for every in (pairs, problems))
    return [
        "## Verdict and recommendation",
        *verdicts.sections(pairs, problems, 1 if quick else 1000, n_jobs=1 if quick else -1),
    ]


PARTS = {"excess": excess_part, "coverage": coverage_part, "verdicts": verdicts_part}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small samples, nothing written")
    parser.add_argument("--part", choices=PARTS, help="one part, nothing written")
    options = parser.parse_args()
    sections, times = [], []
    for name in [options.part] if options.part else PARTS:
        start = time.perf_counter()
        sections += PARTS[name](options.quick)
        times.append(f"{name} {time.perf_counter() - start:.0f} s")
    publish(
        "answers",
        "Right answers on everyday data",
        f"Machine: {machine()}. Times: {', '.join(times)}.",
        *sections,
        "Command: `python benchmarks/answers.py`.",
        write=not (options.quick or options.part),
    )


if __name__ == "__main__":
    main()
