"""Write tests/SLOWEST.md: the fifty slowest tests of `make test`, and what each protects.

    make test PYTEST_ARGS="-n 2 --dist worksteal --junitxml=out/tests.xml"
    .venv/bin/python tests/slowest.py out/tests.xml

Cases of one test are added up. A test protects what its name says.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

PAGE = Path(__file__).parent / "SLOWEST.md"


def main(report: str) -> None:
    """Read the report and write the page."""
    seconds: Counter[tuple[str, str]] = Counter()
    cases: Counter[tuple[str, str]] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        test = case.attrib["classname"], case.attrib["name"].partition("[")[0]
        seconds[test] += float(case.attrib["time"])
        cases[test] += 1
    lines = [
        "# The fifty slowest tests of `make test`",
        "",
        f"{sum(cases.values()):,} tests took {sum(seconds.values()):.0f} s of all workers. "
        "`tests/slowest.py` says how to renew this list.",
        "",
        "| seconds | cases | file | protects that |",
        "|---:|---:|---|---|",
    ]
    for (module, name), taken in seconds.most_common(50):
        words = name.rpartition(".")[2].removeprefix("test_").replace("_", " ")
        file = "/".join(module.split(".")[1:]) + ".py" if module.startswith("tests.") else module
        lines.append(f"| {taken:.1f} | {cases[module, name]} | {file} | {words} |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
