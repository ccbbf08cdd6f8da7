"""``covshift estimate``: what is it in the population?"""

from __future__ import annotations

import argparse
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any

from ..estimates import Estimates, Quantity, Trimmed, estimate
from ..exceptions import InputError, NoOverlapError
from ..files.labels import read_numbers, read_outcomes
from ..registry import MARGINS, QUANTITIES, listed, weighters
from . import console, options
from .margin_samples import margins_of, training_rows

if TYPE_CHECKING:
    from ..files.samples import Samples

# Called otherwise than in Python:
_OPTIONS = {"q": "quantile", "regressors": "regressor", "size": "population_size"}
METHODS = ("dr", "weights", "model", "none")
_WEIGHTS = ("weight", "target_weight", "frequency", "target_frequency")
_ABSENT = {"default": None}
_COLUMNS = """
--outcome, --label COL...  the outcome; rows without it are left out (repeatable)
--by COL  groups, each of which gets its number too
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
  it is (default: dr; all are in the table of -o)
"""
_FURTHER = """
--finite-population  the target file is the whole population: no sampling error of its own
--sensitivity D:float  also show the interval if the outcome given the features differed by up to D
--max-weight W:float  limit of the weights, in units of their mean
--bootstrap N:int  take the errors from N draws of both samples
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "estimate",
        "Say what a mean, a share, a median or another number is in the population that the target "
        "is a sample of, with its interval. The target may be a file of margins: see covshift "
        "margins.",
    )
    columns = options.add_samples(parser, label=None)
    absent: Any = dict.fromkeys(("outcome", "category", "quantile", "at", "regressor"), _ABSENT)
    options.add_options(columns, _COLUMNS + options.DESIGN.lstrip(), **absent)
    quantities = {"choices": tuple(QUANTITIES), "metavar": None}
    group = parser.add_argument_group("quantity")
    options.add_options(group, _QUANTITY, what=quantities, **absent)
    group = parser.add_argument_group("method")
    options.add_options(group, _METHOD, method={"default": METHODS[0]})
    options.add_answer(group)
    options.add_options(group, _FURTHER)
    options.add_output(parser, what="table of all methods (CSV; TSV for .tsv)")
    options.add_verdict(parser)
    parser.set_defaults(run=run, needs={"outcome": "--outcome"})


def run(args: argparse.Namespace) -> int:
    """Print the sentence, then the table."""
    what = quantity(args)
    options.check_answer(args)
    found, notes = _found(args, what)
    if args.output is not None:
        write_table(found, args.output)
    return options.show_answer(found, notes, args)


def _found(args: argparse.Namespace, what: str | None) -> tuple[Estimates, list[Any]]:
    """Estimate from target rows or from margins; also what is worth knowing of the files."""
    from ..margins.files import is_margins_file

    if is_margins_file(args.target):
        from . import estimate as estimate_margins

        return estimate_margins.margin_estimates(args, what, _beside(args)), []
    if what == "total" and args.population_size is None:
        raise InputError("--what total needs --population-size.")
    samples = options.samples_of(
        args,
        beside=_beside(args),
        by=args.by,
        categories=None if what is None else _of_categories(what),
    )
    return estimates_of(samples, args, what), [*samples.notes]


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


def _answered(found: Estimates, args: argparse.Namespace) -> Estimates:
    return found if args.sensitivity is None else found.with_sensitivity(args.sensitivity)


def _weighter(args: argparse.Namespace) -> Any:
    limit = args.max_weight
    return args.weighter if limit is None else Trimmed(limit, args.weighter)


def _of_categories(what: str) -> bool:
    return bool(QUANTITIES[what].load().of_categories)


def _given(args: argparse.Namespace, option: str) -> Any:
    return getattr(args, _OPTIONS.get(option, option))


def _spelled(option: str) -> str:
    return "--" + _OPTIONS.get(option, option).replace("_", "-")


def _beside(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Columns of the training file that are no features, with the options that name them."""
    others = [
        (_spelled(option), getattr(args, option))
        for option in ("by", "denominator", "strata", "cluster", "id", *_WEIGHTS)
        if getattr(args, option) is not None
    ]
    for option, name in others:
        if name in args.outcome:
            raise InputError(f"{name!r} cannot be the outcome and what {option} names as well.")
    repeated = [name for name in args.outcome if args.outcome.count(name) > 1]
    if repeated:
        raise InputError(f"--outcome names {repeated[0]!r} more than once.")
    beside = [pair for pair in others if pair[0] in ("--denominator", "--strata", "--cluster")]
    return (*(("--outcome", name) for name in args.outcome), *beside)


def estimates_of(samples: Samples, args: argparse.Namespace, what: str | None) -> Estimates:
    """Estimate the quantity from two samples; ``what=None`` takes what fits the outcome."""
    categories = None if what is None else _of_categories(what)
    y, categories = read_outcomes(samples.beside, args.outcome, categories=categories)
    what = what or ("proportion" if categories else "mean")
    read: dict[str, Any] = {}
    if args.denominator is not None:
        cells = samples.beside[args.denominator]
        read["denominator"] = read_numbers(cells, args.denominator, "--denominator")
    if what == "coefficients":
        read["regressors"] = _regressors(samples, args)
    both = options.encoded_samples(samples, y, args)
    try:
        found = estimate(
            replace(both, finite_population=args.finite_population),
            what=made_quantity(what, args, **read),
            method=args.method,
            weighter=_weighter(args),
            restrict=args.restrict,
            confidence=args.confidence,
            bootstrap=args.bootstrap,
            random_state=args.seed,
        )
        return _answered(found, args)
    except NoOverlapError as error:
        raise as_options(error) from None


def as_options(error: NoOverlapError, command: str = "estimate") -> NoOverlapError:
    """Write the remedy as an option of the command."""
    remedy = f"Use covshift {command} --restrict overlap"
    spelled = NoOverlapError(str(error).replace('Pass restrict="overlap"', remedy))
    spelled.question = command
    return spelled


def _regressors(samples: Samples, args: argparse.Namespace) -> list[str]:
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
                f"--regressor {name!r} is none of the features: "
                f"{', '.join(map(repr, list(features)[:12]))}."
            )
        found += features.get(name, [name])
    return found


def write_table(found: Estimates, output: str) -> None:
    """Write the numbers of all methods, one per line."""
    lines = ({**line, "what": line["what"] or found.what} for line in found.table.data())
    console.write_lines(lines, output)


# ``covshift estimate`` with a file of margins in place of target rows.


def margin_estimates(
    args: argparse.Namespace, what: str | None, beside: tuple[tuple[str, str], ...]
) -> Estimates:
    """Estimate the quantity; columns ``beside`` (option, name) are no features."""
    _refuse(args, what)
    names = tuple(name for _, name in beside)
    margins = margins_of(args, beside=names)
    if what == "total" and args.population_size is None and margins.size is None:
        raise InputError(f"--what total needs --population-size: {args.target} has no size.")
    rows = training_rows(args, margins, dict.fromkeys(names, "category"))
    cells = {name: rows.taken(rows.table.columns[name].values) for name in names}
    categories = None if what is None else _of_categories(what)
    y, categories = read_outcomes(cells, args.outcome, categories=categories)
    what = what or ("proportion" if categories else "mean")
    read: dict[str, Any] = {}
    if args.denominator is not None:
        denominator = cells[args.denominator]
        read["denominator"] = read_numbers(denominator, args.denominator, "--denominator")
    found = estimate(
        rows.frame,
        y,
        margins,
        what=made_quantity(what, args, **read),
        by=args.by,
        method=args.method,
        weighter=_weighter(args),
        sample_weight=None if args.weight is None else rows.weights.w,
        strata=None if args.strata is None else cells[args.strata],
        cluster=None if args.cluster is None else cells[args.cluster],
        confidence=args.confidence,
        bootstrap=args.bootstrap,
        random_state=args.seed,
    )
    return _answered(found, args)


def _refuse(args: argparse.Namespace, what: str | None) -> None:
    """Say which options need target rows, and what to use instead."""
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
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if args.weighter not in (None, *able):
        raise InputError(
            f"The weighter {args.weighter!r} needs rows of the target, and {args.target} holds "
            f"margins. Use {listed(able)}."
        )
