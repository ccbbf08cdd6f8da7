"""``covshift estimate``: what is it in the population?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from ..registry import QUANTITIES
from . import console, options

if TYPE_CHECKING:
    from ..data import Samples
    from ..estimates import Estimates, Quantity
    from ..files.samples import TwoFiles
    from ..show.notes import Note

_WEIGHTS = ("weight", "target_weight", "frequency", "target_frequency")
_ABSENT = {"default": None}
_COLUMNS = """
--outcome, --label COL...  the outcome; rows without it are left out (repeatable)
--by COL  groups; each also gets its own number
--target-outcome, --target-label COL...  outcomes of some target rows, empty elsewhere; they make
  the interval (repeatable, in the order of --outcome); or the file of covshift plan, filled in
--target-probability COL  probability with which each row was chosen (default: equal)
"""
_QUANTITY = """
--what NAME  default: the mean of numbers (of 0 and 1: a share), the proportions of text
--category VALUE...  proportion of this one (repeatable)
--population-size N:float  for a total (default: that of the margins)
--denominator COL  for a ratio of two means
--quantile Q:float...  between 0 and 1, such as 0.9 (repeatable)
--at X:float...  for the share of outcomes of at most X (repeatable)
--reference GROUP  the group of --by that others are compared with
--family linear|logistic  of the regression
--regressor COL...  for its coefficient (repeatable; default: all features)
"""
_METHOD = """
--method dr|weights|model|none  doubly robust, weights alone, outcome model alone, or the sample as
  it is (default: dr, and with --target-outcome both; all are in the table of -o)
"""
_DESIGN = """
--fpc COL  finite population correction of the first stage: units (clusters, else rows) that the
  row's stratum has in the population, or the share of them that was drawn
--replicate-weights COL...  published replicate weights of the training rows, from which the errors
  come then; 'repw*' names all such columns (repeatable)
--replicate-type TYPE  JK1, JK2, JKn, BRR, Fay, bootstrap, ACS, successive-difference or other
--replicate-scale S:float  factor of the sum of squares (default: that of the type)
--replicate-rscales LIST  a factor for each replicate, such as 0.5,0.5,0.75
"""
_FURTHER = """
--finite-population  the target file is the whole population and has no sampling error
--max-weight W:float  limit of the weights, in units of their mean
--replicates N:int  take standard errors from N replicates of both samples; weights are fitted
  again in each: a bootstrap if the weights solve an equation, else a jackknife
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "estimate",
        "Estimate a mean, a share, a median or another number in the population that the target "
        "is a sample of, with its interval. The target may be a file of margins: see covshift "
        "margins.",
    )
    columns = options.add_samples(parser, label=None)
    several = ("outcome", "category", "quantile", "at", "regressor", "replicate_weights")
    absent: Any = dict.fromkeys((*several, "target_outcome"), _ABSENT)
    options.add_options(columns, _COLUMNS + options.DESIGN.lstrip() + _DESIGN.lstrip(), **absent)
    quantities = {"choices": tuple(QUANTITIES), "metavar": None}
    group = parser.add_argument_group("quantity")
    options.add_options(group, _QUANTITY, what=quantities, **absent)
    group = parser.add_argument_group("method")
    options.add_options(group, _METHOD)
    options.add_answer(group)
    options.add_options(group, _FURTHER)
    options.add_output(parser, what="table of all methods (CSV; TSV for .tsv)")
    options.add_verdict(parser)
    parser.set_defaults(run=run, needs={"outcome": "--outcome"})


@quiet(FewRowsWarning)  # which the answer says first
def run(args: argparse.Namespace) -> int:
    """Print the sentence, then the table."""
    found, notes = answer(args)
    found = options.with_doubts(found, args)
    if args.output is not None:
        lines = ({**line, "what": line["what"] or found.what} for line in found.table.data())
        console.write_lines(lines, args.output)
    return options.show_answer(found, notes, args)


def answer(args: argparse.Namespace) -> tuple[Estimates, Sequence[Note]]:
    """Return the estimates, and the notes on the files."""
    from ..estimates import Trimmed, estimate
    from ..files.labels import read_numbers, read_outcomes
    from ..margins.files import is_margins_file

    what = quantity(args)
    options.check_answer(args)
    _check_design(args)
    read = (_read_margins if is_margins_file(args.target) else _read_rows)(args, what)
    categories = None if what is None else _of_categories(what)
    y, categories = read_outcomes(read.beside, args.outcome, categories=categories)
    labels = None if read.samples is None else _labels(read.samples, args, categories)
    what = what or ("proportion" if categories else "mean")
    own: dict[str, Any] = {}
    if args.denominator is not None:
        cells = read.beside[args.denominator]
        own["denominator"] = read_numbers(cells, args.denominator, "--denominator")
    if what == "coefficients" and read.samples is not None:
        own["regressors"] = _regressors(read.samples, args)
    limit = args.max_weight
    found = estimate(
        read.both(y),
        y_target=labels,
        what=made_quantity(what, args, **own),
        method=args.method,
        weighter=args.weighter if limit is None else Trimmed(limit, args.weighter),
        restrict=args.restrict,
        confidence=args.confidence,
        replicates=args.replicates,
        shift=args.shift or "covariate",
        random_state=args.seed,
    )
    return found, [] if read.samples is None else read.samples.notes


class Read(NamedTuple):
    """What the files hold."""

    beside: Mapping[str, Any]  # columns of the training rows that are not features
    both: Callable[[Any], Samples]  # the samples, given the outcomes
    samples: TwoFiles | None = None  # the same before, where the target has rows


def _read_rows(args: argparse.Namespace, what: str | None) -> Read:
    """Read both files."""
    if what == "total" and args.population_size is None:
        raise InputError("--what total needs --population-size.")
    categories = None if what is None else _of_categories(what)
    samples = options.samples_of(
        args,
        beside=_beside(args),
        **_of_target(args),
        by=args.by,
        categories=categories,
    )

    def both(y: Any) -> Samples:
        weight = _design_weights(args, samples.weight, samples.beside)
        found: Samples = options.encoded_samples(replace(samples, weight=weight), y, args)
        return replace(found, finite_population=args.finite_population)

    return Read(samples.beside, both, samples)


def _of_target(args: argparse.Namespace) -> dict[str, Any]:
    """Columns of the target file that are not features."""
    there = args.target_outcome or []
    if there and len(there) != len(args.outcome):
        raise InputError(
            f"--target-outcome names {len(there)} columns, but --outcome {len(args.outcome)}: name "
            "one for each."
        )
    if args.target_probability is not None and not there:
        raise InputError(
            "--target-probability belongs to outcomes of target rows: name them with "
            "--target-outcome."
        )
    if len(there) == 1 and options.is_file_of_labels(there[0]):
        return {}
    own = [("--target-outcome", name) for name in there]
    if args.target_probability is not None:
        own.append(("--target-probability", args.target_probability))
    return {"of_target": tuple(own), "beside_target": tuple(set(there) & set(args.outcome))}


def _labels(samples: TwoFiles, args: argparse.Namespace, categories: bool) -> Any:
    """Outcomes of target rows, where a column of them is named."""
    from ..engine.labels import Labels
    from ..files.labels import read_outcomes

    if not args.target_outcome:
        return None
    found = [options.labels_of_target(samples, args, name) for name in args.target_outcome]
    cells = {name: part for name, (part, _) in zip(args.outcome, found, strict=True)}
    columns = list(read_outcomes(cells, args.outcome, categories=categories)[0].values())
    y = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return Labels(y, found[0][1])


def _read_margins(args: argparse.Namespace, what: str | None) -> Read:
    """Read the training rows beside a file of margins."""
    from ..data import Samples
    from .margin_samples import margins_of, training_rows

    names = tuple(name for _, name in _beside(args))
    _refuse(args, what)
    margins = margins_of(args, args.weighter, beside=names)
    if what == "total" and args.population_size is None and margins.size is None:
        raise InputError(f"--what total needs --population-size: {args.target} has no size.")
    rows = training_rows(args, margins, dict.fromkeys(names, "category"))
    cells: dict[Any, Any] = {name: rows.table[name][rows.again] for name in names}
    given = {
        "by": args.by,
        "sample_weight": None
        if args.weight is None
        else _design_weights(args, rows.weights.w, cells),
        "strata": cells.get(args.strata),
        "cluster": cells.get(args.cluster),
    }
    return Read(cells, lambda y: Samples.of(rows.frame, y, margins, **given))


def quantity(args: argparse.Namespace) -> str | None:
    """Return what is asked for, by --what or by an option that belongs to it; None: the default."""
    what: str | None = args.what
    for name in QUANTITIES:
        for option in _options(name):
            if _given(args, option) is None or (what and option in _options(what)):
                continue
            if what is not None:
                raise InputError(
                    f"{_spelled(option)} belongs to --what {name}, not to --what {what}."
                )
            what = name
    if what is not None:
        for option, required in _options(what).items():
            if required and _given(args, option) is None:
                raise InputError(f"--what {what} needs {_spelled(option)}.")
        if "groups" in QUANTITIES[what].needs and args.by is None:
            raise InputError(f"--what {what} compares groups: name their column with --by.")
    return what


def _options(what: str) -> dict[str, bool]:
    """Options of a quantity, and whether it needs them."""
    own = [option for option in fields(QUANTITIES[what].load()) if option.init]
    return {option.name: option.default is MISSING for option in own}


def made_quantity(what: str, args: argparse.Namespace, **read: Any) -> Quantity:
    """Make the quantity from the options, but for those that were ``read`` from the files."""
    given = {option: _given(args, option) for option in _options(what)} | read
    made: Quantity = QUANTITIES[what].load()(
        **{option: given[option] for option in _options(what) if given[option] is not None}
    )
    return made


def _of_categories(what: str) -> bool:
    return bool(QUANTITIES[what].load().of_categories)


def _given(args: argparse.Namespace, option: str) -> Any:
    return getattr(args, options.CALLED.get(option, option))


def _spelled(option: str) -> str:
    return "--" + options.CALLED.get(option, option).replace("_", "-")


def _beside(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Columns of the training file that are not features, with the options that name them."""
    others = [
        (_spelled(option), getattr(args, option))
        for option in ("by", "denominator", "strata", "cluster", "fpc", "id", *_WEIGHTS)
        if getattr(args, option) is not None
    ]
    others += [("--replicate-weights", name) for name in args.replicate_weights or ()]
    for option, name in others:
        if name in args.outcome:
            raise InputError(f"{name!r} cannot be the outcome and what {option} names as well.")
    repeated = [name for name in args.outcome if args.outcome.count(name) > 1]
    if repeated:
        raise InputError(f"--outcome names {repeated[0]!r} more than once.")
    named = ("--denominator", "--strata", "--cluster", "--fpc", "--replicate-weights")
    beside = [pair for pair in others if pair[0] in named]
    return (*(("--outcome", name) for name in args.outcome), *beside)


def _check_design(args: argparse.Namespace) -> None:
    """Refuse options of a design that cannot be, and find the columns of replicate weights."""
    asked = ("fpc", "replicate_weights")
    for option in asked:
        if getattr(args, option) is not None and args.weight is None:
            raise InputError(f"{_spelled(option)} belongs to weights: name them with --weight.")
    others = [name for name in asked if getattr(args, name) is not None]
    if others and args.replicates is not None:
        raise InputError(f"--replicates and {_spelled(others[0])}: keep one of them.")
    patterns = args.replicate_weights
    for option in ("replicate_type", "replicate_scale", "replicate_rscales"):
        if getattr(args, option) is not None and patterns is None:
            raise InputError(f"{_spelled(option)} belongs to --replicate-weights.")
    if patterns is None or not any(character in name for name in patterns for character in "*?["):
        return
    if args.train == "-":
        raise InputError("--replicate-weights: name the columns one by one for standard input.")
    from ..files.table import read_table

    names = read_table(args.train, {}, options.read_options_of(args)).names
    found = [[n for n in names if fnmatchcase(n, name)] or [name] for name in patterns]
    args.replicate_weights = list(dict.fromkeys(name for part in found for name in part))


def _design_weights(args: argparse.Namespace, weight: Any, cells: Mapping[str, Any]) -> Any:
    """Return the weights with what the options say of the design."""
    import numpy as np

    from ..data.row_weights import DesignWeights
    from ..files.labels import read_numbers

    def numbers(name: str, option: str) -> Any:
        found = read_numbers(cells[name], name, option)
        if None in found:
            raise InputError(f"The column {name!r}, which {option} names, has missing values.")
        return np.array(found, dtype=np.float64)

    if weight is None or (args.fpc is None and args.replicate_weights is None):
        return weight
    names = args.replicate_weights
    columns = None
    if names is not None:
        columns = np.column_stack([numbers(name, "--replicate-weights") for name in names])
    return DesignWeights(
        weight,
        None if args.fpc is None else numbers(args.fpc, "--fpc"),
        columns,
        args.replicate_type,
        args.replicate_scale,
        _rscales(args.replicate_rscales),
    )


def _rscales(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--replicate-rscales {text!r} must be numbers with commas.") from None


def _regressors(samples: TwoFiles, args: argparse.Namespace) -> list[str]:
    """Columns of X for the regressors; of a category all levels but the first."""
    features: dict[str, list[str]] = {}
    for feature in samples.encoding.features:
        made = [name for name, _ in feature.made]
        features[feature.name] = [
            column
            for k, column in enumerate(feature.columns)
            if made.count(made[k]) == 1 or made.index(made[k]) < k
        ]
    found: list[str] = []
    for name in args.regressor or features:
        if name not in features and name not in samples.names:
            raise InputError(
                f"--regressor {name!r} is not one of the features: "
                f"{', '.join(map(repr, list(features)[:12]))}."
            )
        found += features.get(name, [name])
    return found


def _refuse(args: argparse.Namespace, what: str | None) -> None:
    """Say which options need target rows, and what to use instead."""
    if args.target_outcome:
        raise InputError(
            f"--target-outcome names outcomes of target rows, and {args.target} holds margins: "
            "leave it out, or use a file of rows."
        )
    if what == "coefficients":
        raise InputError(
            f"--what coefficients needs target rows, and {args.target} holds margins: fit the "
            "regression with the weights that `covshift weigh` writes."
        )
    if args.restrict is not None:
        raise InputError(
            f"--restrict needs target rows, and {args.target} holds margins: join cells without "
            "training rows with others, or leave out a margin with --drop."
        )
