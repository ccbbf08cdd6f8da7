"""``covshift compare``: which correction helps, if any?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from . import console
from .answers import shift_line
from .frames import read_files
from .options import ComparisonOptions, Learner, NeededLabel, Verdict
from .targets import diagnosis_of

if TYPE_CHECKING:
    from ..comparison import Comparison
    from .labels import Labelled

LEAST_ROWS = 10  # of which a comparison holds out some


@dataclass(frozen=True, kw_only=True)
class Arguments(ComparisonOptions, Learner, NeededLabel, Verdict):
    """Estimate the loss of each method on the target, without its labels, and recommend one of the
    methods or the unweighted model. The target may be a file of margins: see covshift margins.

    Comparison:
      --method NAME...  compare only these with the unweighted model (default: all; repeatable)
    """

    method: tuple[str, ...] = ()


def run(options: Arguments) -> int:
    """Print the recommendation, then the table."""
    from .labels import labelled_samples

    options.check_output(options.output)
    console.step("reading")
    samples = labelled_samples(read_files(options, margins=True))
    console.step("diagnosing the shift")
    diagnosis = diagnosis_of(samples.both, options)
    comparison = comparison_of(samples, options, methods=list(options.method))
    console.tell(*comparison.notes)
    if options.json:
        extra = {"verdict": diagnosis.verdict, "notes": [*samples.notes, *comparison.notes]}
        console.emit(console.as_json({**comparison.to_dict(), **extra}), options.output)
    else:
        console.emit(f"{comparison}\n\n{shift_line(diagnosis)}", options.output)
    return options.exit_code(diagnosis.verdict)


def comparison_of(
    samples: Labelled, options: Any, *, methods: list[str] | None = None
) -> Comparison:
    """Compare all methods, or these, on two samples, or on one beside margins."""
    from ..comparison import compare

    if options.max_rows is not None and options.max_rows < 20:
        raise InputError("--max-rows must be at least 20.")
    both, labels = samples.both.as_given(), samples.labels
    if len(both.X) < LEAST_ROWS:
        raise InputError(
            f"{options.train} has {len(both.X)} rows. A comparison holds out some of them and "
            "needs at least ten."
        )
    given: dict[str, Any] = {
        "learner": options.learner,
        "task": labels.task,
        "methods": methods or None,
        "loss": options.loss,
        "sample_weight": samples.weight,
        "max_rows": options.max_rows,
        "random_state": options.seed,
        "verbose": not console.quiet,
    }
    if both.known is not None:
        return compare(both, labels.y, None, **given)
    scored, weight = samples.scored, samples.target_weight
    y_target = None
    if labels.y_target is not None and len(scored):
        y_target = labels.y_target[scored].astype(labels.y.dtype)
    return compare(
        both,
        labels.y,
        None,
        y_target=y_target,
        X_scored=None if y_target is None else both.T[scored],
        scored_weight=None if weight is None or y_target is None else weight[scored],
        target_weight=weight,
        **given,
    )
