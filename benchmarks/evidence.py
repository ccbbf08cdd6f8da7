"""All evidence from one commit: every benchmark and the reproduction, and the figures of the pages.

    python benchmarks/evidence.py --jobs 16            all that is not done yet; under an hour
    python benchmarks/evidence.py --minutes 9          starts nothing later; goes on the next time
    python benchmarks/evidence.py --share 0.1          a tenth of the repetitions
    python benchmarks/evidence.py --only labels plan   these alone
    python benchmarks/evidence.py --plan               what there is to do, and what is done
    python benchmarks/evidence.py --quote              no runs: renews the figures of the pages
    python benchmarks/evidence.py --check              no runs: says which figures differ

Parts of all benchmarks share the processes, longest first. A benchmark of which all parts are done
is written to results/; what lacks a part keeps its last result. Without a network and without git
(COMMIT names the commit) the same; what needs a package that is not here is left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import harness
import quotes


def names() -> list[str]:
    """All benchmarks: the scripts here that have works."""
    return [
        path.stem
        for path in sorted(harness.HERE.glob("*.py"))
        if "\ndef works(" in path.read_text(encoding="utf-8")
    ]


def planned(chosen: list[str], share: float, folder: Path) -> dict[str, list[harness.Part]]:
    """Parts of every benchmark; one that cannot be imported here is told and left out."""
    found = {}
    for name in chosen:
        try:
            works = harness.load(name).works(share, False)
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        found[name] = harness.parts_of(name, works, folder)
    return found


def lines_of(plan: dict[str, list[harness.Part]]) -> str:
    """Lay out what there is to do."""
    rows = []
    for name, parts in plan.items():
        done = [kept for part in parts if part.path.exists() and (kept := harness.read(part))]
        rows.append(
            [
                name,
                f"{len(done)} of {len(parts)}",
                f"{sum(part.seconds for part in parts):,.0f}",
                f"{sum(kept['cpu'] for kept in done):,.0f}",
                f"{sum(part.seconds for part in parts if part.work.alone):,.0f}",
            ]
        )
    head = ["benchmark", "parts done", "core-seconds expected", "measured", "of these alone"]
    return harness.table(head, rows)


def differences() -> list[str]:
    """Figures of the pages that the results do not have so."""
    return [
        f"{path.name}: {line}"
        for path in quotes.pages()
        for line in quotes.differing(path.read_text(encoding="utf-8"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=names(), default=names(), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=harness.cores(), help="processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start nothing later")
    parser.add_argument("--share", type=float, default=1.0, help="of the repetitions")
    parser.add_argument("--parts", type=Path, default=harness.PARTS, help="where parts are kept")
    parser.add_argument("--plan", action="store_true", help="run nothing")
    parser.add_argument("--quote", action="store_true", help="renew figures of pages, run nothing")
    parser.add_argument("--check", action="store_true", help="compare figures, run nothing")
    options = parser.parse_args()
    if options.quote:
        print("\n".join(f"{path.name} is renewed" for path in quotes.quote()) or "Nothing differs.")
        return
    if options.check:
        sys.exit("\n".join(differences()) or None)
    start, until = time.monotonic(), time.monotonic() + 60 * options.minutes
    plan = planned(options.only, options.share, options.parts)
    print(lines_of(plan), flush=True)
    if options.plan:
        return
    every = [part for parts in plan.values() for part in parts]
    missing = [part for part in every if not part.path.exists()]
    failed = harness.run_parts(
        missing, options.jobs, until, lambda line: print(line, file=sys.stderr, flush=True)
    )
    written, lacking = [], []
    for name, parts in plan.items():
        if not parts:
            lacking.append(f"{name}: left out, what it needs is not here")
            continue
        try:
            made = harness.result(name, parts, options.share)
        except Exception as error:  # the others are written
            lacking.append(f"{name}: its report failed, {type(error).__name__}: {error}")
            continue
        if made is None:
            count = sum(not part.path.exists() for part in parts)
            lacking.append(f"{name}: {count} of {len(parts)} parts lack")
            continue
        harness.keep(*made)
        written.append(name)
    print(
        f"\n{len(every) - len(missing)} parts were done before, "
        f"{len(missing) - sum(not part.path.exists() for part in missing)} now, "
        f"{time.monotonic() - start:,.0f} s. Written: {', '.join(written) or 'none'}."
    )
    print("\n".join(["", *lacking]))
    for path, reason in failed.items():
        print(f"\n{path.parent.name}/{path.name} failed:\n{reason}")
    told = differences()
    print("\n".join(["", "Figures of the pages that differ (--quote renews them):", *told])
          if told else "\nAll figures of the pages are those of the results.")  # fmt: skip
    sys.exit(1 if failed or lacking else 0)


if __name__ == "__main__":
    main()
