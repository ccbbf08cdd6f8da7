"""``covshift report``: one HTML file to show a colleague."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import NoOverlapError
from . import compare, console, options
from .diagnose import diagnosis_and_weights
from .estimate import as_options
from .report_model import Judge
from .report_targets import run_targets
from .targets import check_targets, in_their_order

if TYPE_CHECKING:
    from .._tables import Samples


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "report",
        "Write a report that any browser opens, without a network. The target may be a file of "
        "margins: see covshift margins. With several targets, or batches of one, it opens with a "
        "table of all and has a section for each; methods are not compared then.",
    )
    columns = options.add_samples(parser, label="optional")
    parser.add_argument("more", nargs="*", metavar="target", help="further targets")
    columns.add_argument(
        "--batch",
        metavar="COL",
        help="of the target, such as its months: each gets its own section; no feature",
    )
    options.add_task(parser)
    compare.add_comparison(parser)
    parser.add_argument("--title", help="title of the report")
    options.add_output(parser, what="report", required=True)
    options.add_verdict(parser)
    parser.set_defaults(run=run, found=None)


def run(args: argparse.Namespace) -> int:
    """Diagnose, estimate and compare where there is a label, and write the report."""
    from ..margins.files import is_margins_file
    from ..show.words import printable

    targets = in_their_order([args.target, *args.more])
    check_targets(args, targets)
    if len(targets) > 1 or args.batch is not None:
        return run_targets(args, targets)
    if is_margins_file(args.target):
        return _with_margins(args)
    console.step("reading")
    samples = options.samples_of(args)
    names = [printable(name, width=1000) for name in samples.names]  # as the page shows them
    console.step("diagnosing the shift")
    found, weights = diagnosis_and_weights(samples, names, args.seed)
    if args.label and args.found is None:
        args.found = compare.comparison_of(samples, args)
    comparison = args.found.to_dict() if args.found else None
    answer = None
    if args.label:
        answer = estimate_of(samples, found, args)
    judged = None
    if args.found is not None:
        judge = Judge(args, str(args.found.learner), args.found.recommended)
        judged = judge(samples, found)
    write_report(args, samples, names, found, weights, comparison, answer, judged)
    return _told(args, samples, found, comparison, answer, judged)


def _with_margins(args: argparse.Namespace) -> int:
    """Do the same with a file of margins."""
    from ..report import build
    from ..weights import WEIGHTERS
    from .margin_samples import read_margin_samples

    console.step("reading")
    beside = read_margin_samples(args)
    samples = beside.samples
    console.step("diagnosing the shift")
    found, weights = beside.diagnosis()
    if args.label and args.found is None:
        args.found = compare.comparison_of(samples, args, beside.read())
    comparison = args.found.to_dict() if args.found else None
    answer = None
    if args.label:
        answer = estimate_of(samples, found, args, beside)
    name, w = (None, None) if weights is None else weights
    if comparison and comparison["recommended"] in WEIGHTERS:
        name = comparison["recommended"]
        w = beside.weighed(name, args.seed)
        w = w if samples.weight is None else w * samples.weight
    console.step("drawing the report")
    text = build(
        beside.frame,
        beside.margins,
        y=None if samples.labels is None else samples.labels.y,
        weights=w,
        weights_name=name,
        sample_weight=samples.weight,
        comparison=comparison,
        diagnosis=found,
        estimates=answer,
        **_top(args),
        command=shlex.join(["covshift", *args.argv]),
        random_state=args.seed,
    )
    with console.text_file(args.output) as file:
        file.write(text)
    return _told(args, samples, found, comparison, answer)


def _top(args: argparse.Namespace) -> dict[str, Any]:
    """What stands on top of the page: the title, the names of the files, the outcome."""
    return {
        "title": args.title,
        "train_name": _file_name(args.train),
        "target_name": _file_name(args.target),
        "outcome_name": args.label,
    }


def _file_name(path: str) -> str:
    return "standard input" if path == "-" else Path(path).name or path


def _told(
    args: argparse.Namespace,
    samples: Samples,
    found: Any,
    comparison: Any,
    answer: Any,
    judged: Any = None,
) -> int:
    """Print the answers, the verdict and the recommendation."""
    facts = {"verdict": found.verdict, "file": args.output, "notes": [*samples.notes, *found.notes]}
    if args.json:
        more = {"comparison": comparison, "estimate": _data(answer), "evaluation": _data(judged)}
        print(console.as_json({**facts, **more}))
    else:
        lines = [] if answer is None else [_sentence(answer)]
        if judged is not None and not isinstance(judged, NoOverlapError):
            lines.append(judged.sentence)
        lines += [f"Shift: {found.verdict}."]
        lines += [comparison["recommendation"]] if comparison else []
        print("\n".join([*lines, f"Wrote the report to {args.output}; open it in a browser."]))
    return options.exit_code(found.verdict, args)


def _data(answer: Any) -> Any:
    if answer is None:
        return None
    return {"refused": str(answer)} if isinstance(answer, NoOverlapError) else answer.to_dict()


def _sentence(answer: Any) -> str:
    return str(answer) if isinstance(answer, NoOverlapError) else str(answer.sentence)


def estimate_of(
    samples: Samples, diagnosis: Any, args: argparse.Namespace, margins: Any = None
) -> Any:
    """What the outcome is in the population: `Estimates`, or the error where it has no answer."""
    from .._tables.outcomes import Outcomes
    from ..data import Samples as Both
    from ..estimates import estimate

    console.step("estimating the outcome")
    labels = samples.labels
    assert labels is not None
    numbers = labels.task == "regression" or set(labels.classes) <= {"0", "1"}
    values = labels.y.astype(float) if numbers else labels.y
    y = Outcomes({labels.name: values.tolist()})
    if margins is None:
        both = options.encoded_samples(samples, y, args)
    else:
        both = Both.of(margins.frame, y, margins.margins, sample_weight=samples.weight)
    try:
        return estimate(
            both,
            what="mean" if numbers else "proportion",
            diagnosis=diagnosis,
            random_state=args.seed,
        )
    except NoOverlapError as error:
        return as_options(error)


def write_report(
    args: argparse.Namespace,
    whole: Samples,
    names: list[str],
    diagnosis: Any,
    weights: Any,
    comparison: dict[str, Any] | None,
    answer: Any = None,
    judged: Any = None,
) -> None:
    """Write the report with the weights of the recommended weighter, or of the diagnosis."""
    from ..report import build

    labels = whole.labels
    name = comparison["recommended"] if comparison else ""
    chosen = _weights(whole, name, args.seed)
    scored = labels is not None and len(labels.scored) == len(whole.X_target)
    console.step("drawing the report")
    text = build(
        whole.X,
        whole.X_target,
        y=None if labels is None else labels.y,
        y_target=labels.y_target if labels is not None and scored else None,
        weights=weights if chosen is None else chosen,
        weights_name="CDFWeights" if chosen is None else name,
        sample_weight=whole.weight,
        target_weight=whole.target_weight,
        groups=whole.encoding.groups,
        date_names=whole.encoding.dates,
        comparison=comparison,
        diagnosis=diagnosis,
        estimates=answer,
        evaluations=judged,
        feature_names=names,
        **_top(args),
        command=shlex.join(["covshift", *args.argv]),
        random_state=args.seed,
    )
    with console.text_file(args.output) as file:
        file.write(text)


def _weights(samples: Samples, name: str, seed: int) -> Any:
    """Weights of the method; None, for the report's own, where it has none or is too slow."""
    from sklearn.preprocessing import StandardScaler

    from ..comparison.methods import fit_weights
    from ..diagnostics.sizes import row_limit
    from ..encoding import scaled
    from ..weights import WEIGHTERS

    if name not in WEIGHTERS or max(len(samples.X), len(samples.X_target)) > row_limit(name):
        return None
    scaler = StandardScaler().fit(samples.X, sample_weight=samples.weight)
    X, T = scaled(scaler, samples.X), scaled(scaler, samples.X_target)
    w = fit_weights(name, X, None, T, samples.target_weight, seed, samples.weight).weights_
    return w if samples.weight is None else w * samples.weight
