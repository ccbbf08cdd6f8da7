"""Keep a run in the repository: its trials in ``results/``, its tables in ``docs/``.

    python -m reproduction.publish out/reproduction

writes ``docs/reproduction/`` (trials, summary, report, figures, profile) and fills the tables
between the markers of ``docs/reproduction.md``. A test holds that page against the committed
trials, so that words and numbers cannot drift apart.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .cli import choose, parser
from .configuration import HERE, read_settings
from .profile import profile_page
from .reporting import open_choices, robustness, synthetic, table_one
from .reporting.claims import claims
from .reporting.markdown import as_markdown, filled
from .reporting.sections import claim_table, sections, standing_table, trial_counts
from .reporting.write import draw
from .store import Store, read_compact, write_compact
from .trials import Trials

DOCS = HERE.parent / "docs"
RESULTS = DOCS / "reproduction"
PAGE = DOCS / "reproduction.md"


def main(argv: list[str]) -> int:
    """Publish the run in the folder named on the command line."""
    folder = Path(argv[0] if argv else "out/reproduction")
    settings = read_settings()
    results = Store(folder / "trials.jsonl", settings.fingerprint).load()
    if not results:
        print(f"There are no trials of the present settings in {folder}.", file=sys.stderr)
        return 1
    RESULTS.mkdir(exist_ok=True)
    timed = Trials(results, settings)
    (RESULTS / "profile.md").write_text(profile_page(timed, folder), encoding="utf-8")
    write_compact(RESULTS / "trials.jsonl.gz", results, settings.fingerprint)
    trials = committed()
    found = sections(trials, {})
    drawn = draw(trials, RESULTS / "figures")
    for picture in (RESULTS / "figures").glob("*.png"):
        picture.unlink()  # the repository keeps one form of a picture
    report = as_markdown(found, list(drawn), kind="svg")
    (RESULTS / "report.md").write_text(report, encoding="utf-8")
    summary = json.dumps(summarised(trials), indent=1, ensure_ascii=False) + "\n"
    (RESULTS / "summary.json").write_text(summary, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(page, blocks(trials)), encoding="utf-8")
    print(f"{len(results)} trials are published in {RESULTS} and {PAGE}.")
    return 0


def committed() -> Trials:
    """The trials of the committed run."""
    results, _ = read_compact(RESULTS / "trials.jsonl.gz")
    return Trials(results, read_settings())


def blocks(trials: Trials) -> dict[str, str]:
    """What the markers of the page stand for, by name."""
    made = {
        "standings": standing_table(claims(trials)),
        "claims": claim_table(claims(trials)),
        "trials": trial_counts(trials),
        "verdicts": table_one.verdicts(trials),
        "all": table_one.all_contenders(trials),
        "all-cv": table_one.all_contenders(trials, "cv"),
        "controls": table_one.controls(trials),
        "kernels": table_one.kernels(trials),
        "scales": open_choices.scales(trials),
        "raw-norm": open_choices.raw_norm(trials),
        "warned": table_one.warned(trials),
        "readings": synthetic.readings(trials),
        "best-gamma": synthetic.best_gamma(trials),
        "robustness-own": robustness.spreads_over(trials, "own"),
        "robustness-gamma": robustness.spreads_over(trials, "gamma"),
    }
    made |= {c: table_one.paper_against_measured(trials, c) for c in table_one.COLUMNS}
    made |= {f"synthetic-{v}": synthetic.against_size(trials, v) for v in ("own", "other", "cv")}
    return {name: table.markdown() for name, table in made.items()} | {"status": status(trials)}


def status(trials: Trials) -> str:
    """Whether the full run is all there; what a reader must know first."""
    full = choose(parser().parse_args([]), trials.settings)
    done = sum(set(names) <= set(trials.results.get(key, {})) for key, names in full.items())
    if done == len(full):
        return f"This page holds the full run: all {done} trials, with every contender in each."
    return (
        f"**The run is not complete**: {done} of {len(full)} trials have every contender, and "
        "numbers below rest on those that are there (see the trials beside them). "
        "`make reproduce` and `python -m reproduction.publish` complete it."
    )


def summarised(trials: Trials) -> dict[str, Any]:
    """Mean, standard deviation and trials of every cell, contender and variant of the table."""
    made: dict[str, Any] = {"settings": trials.settings.fingerprint, "table": {}}
    variants = ("paper", "unit", "train", "mirrored", "cv", "averaged", "summed")
    for experiment, cell in trials.table_cells():
        for name in trials.contenders(experiment):
            for variant in variants:
                found = trials.ratio(experiment, cell, name, variant)
                if found is not None and name != "unweighted":
                    at = made["table"].setdefault(f"{experiment} {cell}", {}).setdefault(name, {})
                    at[variant] = [round(found.mean, 4), round(found.std, 4), found.trials]
    made["claims"] = {claim.title: claim.standing for claim in claims(trials)}
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
