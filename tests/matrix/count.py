"""Try cells of the matrix and count them: ``cd tests; python -m matrix.count [entry] [input]``."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator

from .entry_points import ENTRIES
from .exceptions import expectation
from .inputs import INPUTS
from .problem import Entry, Expectation, Input, failure


def cells() -> Iterator[tuple[Entry, Input, Expectation]]:
    """All cells: an entry point, an input that it takes, and what is expected."""
    for entry in ENTRIES:
        for one in INPUTS:
            expected = expectation(entry, one)
            if expected is not None:
                yield entry, one, expected


def main(entry_part: str = "", input_part: str = "") -> int:
    tried, failed = 0, []
    seconds: Counter[str] = Counter()
    for entry, one, expected in cells():
        if entry_part not in entry.name or input_part not in one.name:
            continue
        start = time.process_time()
        problem = failure(entry, one, expected)
        seconds[entry.name] += time.process_time() - start
        tried += 1
        if problem is not None:
            failed.append(one.name)
            print(f"{entry.name} | {one.name} | {problem}", flush=True)
    print(*(f"{name}: {used:.1f} s" for name, used in seconds.most_common(25)), sep="\n")
    print(
        f"{len(ENTRIES)} entry points, {len(INPUTS)} inputs, {tried} cells tried, "
        f"{tried - len(failed)} passed, {sum(seconds.values()):.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
