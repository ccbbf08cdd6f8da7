"""``covshift weigh``: weights for the training rows, for use anywhere else."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from ..registry import listed
from . import console
from .options import Label, Verdict

if TYPE_CHECKING:
    from .weigh_output import Weighed

_LIMITED = "cdf"  # with --limits, which the weights of estimate do not have
_MET = 1e-6  # difference from a share that is none
SIZE = "size"  # of the margins, as --sum-to names it
LABELS = ("strata", "cluster")


def _population_size(text: str) -> float | str:
    if text == SIZE:
        return text
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not 0 < found < float("inf"):
        raise ValueError(f"{text!r} is not a positive number, nor the word {SIZE}.")
    return found


@dataclass(frozen=True, kw_only=True)
class Arguments(Label, Verdict):
    """Write one weight per training row for use with R, Stata or any learner: the final weight, the
    design weight and the factor between them, replicate weights on request, and a codebook. The
    target may be a file of margins: see covshift margins.

    Method:
      --method NAME  {weighters} (default: the weights that covshift estimate uses, tilted-cdf for
        target rows; with --limits cdf)
      --by COL[,COL]  with margins and poststratification: the column, or two, whose cells are used
      --limits LOW HIGH  bounds of the factors on the rows' weights, such as 0.3 3 (cdf, entropy,
        raking)
      --restrict overlap|  weigh towards the part of the target that the training rows cover

    Replicates:
      --replicates B:int  also write B replicate weights, for errors that count the fit of the
        weights
      --replicate-method bootstrap|jackknife  draws of both samples, or B groups of which each is
        left out once (default: bootstrap where the weights solve an equation, else jackknife)
      --strata COL  strata of the training sample's design
      --cluster COL  clusters of rows drawn together
      --finite-population  the target file is the whole population: it is not drawn again

    Output:
      -o, --output FILE  write the weights (CSV; TSV for .tsv) to FILE
      --sum-to N  scale the weights to sum to the population's size N, a number or the word size for
        that of the margins (default: mean one)
      --codebook FILE  JSON that says what the columns are (default: beside -o, as
        NAME.codebook.json)
      --no-codebook  write no codebook
    """

    kinds: ClassVar = {"limits": float, "sum_to": _population_size}

    method: str | None = None
    by: str | None = None
    limits: tuple[float, float] | None = None
    restrict: str | None = None
    replicates: int | None = None
    replicate_method: Literal["bootstrap", "jackknife"] | None = None
    strata: str | None = None
    cluster: str | None = None
    finite_population: bool = False
    output: str | None = None
    sum_to: float | str | None = None
    codebook: str | None = None
    no_codebook: bool = False

    as_estimate: bool = False  # the weights that covshift estimate uses


@quiet(FewRowsWarning)  # which the answer says first
def run(options: Arguments) -> int:
    """Weigh, write the weights and their codebook, and say how well they balance."""
    from ..weights import WEIGHTERS
    from . import weigh_fit, weigh_output, weigh_replicates

    if options.method is None:
        plain = options.limits is None and options.by is None
        options = replace(options, as_estimate=plain, method=None if plain else _LIMITED)
    if options.method is not None and options.method not in WEIGHTERS:
        raise InputError(f"The weighter {options.method!r} is unknown. Use {listed(WEIGHTERS)}.")
    to_file = options.output not in (None, "-")
    if options.json and not to_file:
        raise InputError(
            "--json prints the summary on stdout: name a file for the weights with -o."
        )
    check_replicates(options)
    options = replace(options, codebook=_codebook(options))
    found = weigh_fit.weighed(options)
    found = replace(found, replicates=weigh_replicates.replicates_of(found, options))
    weigh_output.write_weights(found, options)
    if options.codebook is not None:
        weigh_output.write_codebook(found, options)
    if options.json:
        facts = {
            **found.facts,
            "as_estimate": options.as_estimate,
            "file": options.output,
            "codebook": options.codebook,
        }
        more = {"replicates": found.replicate_facts, "notes": found.notes}
        console.print_json({**facts, **more})
    else:
        print(_summary(found, options), file=sys.stdout if to_file else sys.stderr)
    return options.exit_code(found.verdict)


def _summary(weighed: Weighed, options: Arguments) -> str:
    from ..show.answer import OF_CORRECTIONS, few_rows
    from ..weights.limits import BalanceCost

    facts = weighed.facts
    sizes = (facts[name] for name in ("effective_sample_size", "n_train", "largest_weight"))
    caution = few_rows(*sizes)
    lines = [caution] if caution else []
    lines += [f"Shift: {weighed.verdict}."] if weighed.verdict else []
    lines.append(
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({weighed.method})."
    )
    if "gap_after" in facts:
        gap, where = facts["gap_after"], facts["worst_after"]
        after = f"{gap:.2g} after weighting ({where})" if gap > _MET else "none after weighting"
        before = f"{facts['gap_before']:.3f} before"
        lines.append(f"Largest difference from the margins: {before}, {after}.")
    else:
        lines.append(
            "Balance, how far the means are from the target's on average, in standard deviations: "
            f"{facts['smd_before']:.3f} before, {facts['smd_after']:.3f} after weighting."
        )
    if "limits" in facts:
        lines.append(str(BalanceCost(**facts["limits"])))
    if options.as_estimate:
        lines.append("These are the weights that covshift estimate uses.")
    lines.append(OF_CORRECTIONS)
    drawn = weighed.replicates
    if drawn is not None:
        lines += [
            f"{drawn.plan.count} {drawn.plan.kind} replicates, to be declared as:",
            f"  R:     {weighed.r_line}",
            f"  Stata: {weighed.stata_line}",
        ]
    if options.output:
        scale = "mean one" if weighed.population is None else f"sum {weighed.population:g}"
        where = f", explained in {options.codebook}" if options.codebook else ""
        lines.append(f"Wrote {len(weighed.again)} weights, {scale}, to {options.output}{where}.")
    return "\n".join(lines)


# What is refused before anything is read.


def check_replicates(options: Arguments) -> None:
    """Refuse options without replicates, and numbers of them that cannot be."""
    if options.replicates is None:
        for option in ("replicate_method", *LABELS, "finite_population"):
            if vars(options)[option]:
                spelled = "--" + option.replace("_", "-")
                drop = ", or leave the column out with --drop" if option in LABELS else ""
                raise InputError(f"{spelled} is for replicate weights: add --replicates B{drop}.")
    elif options.replicates < 2:
        raise InputError(f"--replicates {options.replicates}: a variance needs at least two.")


def _codebook(options: Arguments) -> str | None:
    """Refuse bad places for the two files before any work is done; return the codebook's."""
    options.check_output(options.output)
    if options.no_codebook and options.codebook is not None:
        raise InputError("--codebook and --no-codebook: keep one of them.")
    if options.codebook == "-":
        raise InputError("The codebook goes to a file: name it, or use --json for the summary.")
    path = options.codebook
    if path is None and not options.no_codebook:
        path = _beside_output(options.output)
    if path is not None:
        if options.output is not None and Path(path) == Path(options.output):
            raise InputError(f"{options.output} cannot hold both the weights and their codebook.")
        options.check_output(path)
    return path


def _beside_output(output: str | None) -> str | None:
    """Name the codebook after the weights; None where these go to a stream or a device."""
    if output in (None, "-") or (Path(str(output)).exists() and not Path(str(output)).is_file()):
        return None
    return str(Path(str(output)).with_suffix(".codebook.json"))
