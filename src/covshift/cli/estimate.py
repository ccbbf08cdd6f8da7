"""``covshift estimate``: what is it in the population?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from . import console
from .answers import show_answer, with_doubts
from .options import Design, Doubts, Quantity, Roles, spelled
from .quantity import made_quantity, of_categories, quantity_name, regressors
from .samples import encoded, is_file_of_labels, labels_of_target, samples_of

if TYPE_CHECKING:
    from ..data import Samples
    from ..estimates import Estimates
    from ..files.samples import TwoFiles
    from ..show.notes import Note


@dataclass(frozen=True, kw_only=True)
class Asked(Quantity, Design, Roles):
    """A number of the outcome, and what is known of the outcome.

    Columns:
      --outcome, --label COL...  the outcome; rows without it are left out (repeatable)
      --by COL  groups; each also gets its own number
      --target-outcome, --target-label COL...  outcomes of some target rows, empty elsewhere; they
        make the interval (repeatable, in the order of --outcome); or the file of covshift plan,
        filled in
      --target-probability COL  probability with which each row was chosen (default: equal)
    """

    needs: ClassVar = {"outcome": "--outcome COL: name the column"}

    outcome: tuple[str, ...] = ()
    by: str | None = None
    target_outcome: tuple[str, ...] = ()
    target_probability: str | None = None


@dataclass(frozen=True, kw_only=True)
class Arguments(Asked, Doubts):
    """Estimate a mean, a share, a median or another number in the population that the target is a
    sample of, with its interval. The target may be a file of margins: see covshift margins.

    Columns:
      --fpc COL  finite population correction of the first stage: units (clusters, else rows) that
        the row's stratum has in the population, or the share of them that was drawn
      --replicate-weights COL...  published replicate weights of the training rows, from which the
        errors come then; 'repw*' names all such columns (repeatable)
      --replicate-type TYPE  JK1, JK2, JKn, BRR, Fay, bootstrap, ACS, successive-difference or other
      --replicate-scale S:float  factor of the sum of squares (default: that of the type)
      --replicate-rscales LIST  a factor for each replicate, such as 0.5,0.5,0.75

    Method:
      --method dr|weights|model|none  doubly robust, weights alone, outcome model alone, or the
        sample as it is (default: dr, and with --target-outcome both; all are in the table of -o)
      --finite-population  the target file is the whole population and has no sampling error
      --max-weight W:float  limit of the weights, in units of their mean
      --replicates N:int  take standard errors from N replicates of both samples; weights are fitted
        again in each: a bootstrap if the weights solve an equation, else a jackknife

    Output:
      -o, --output FILE  write the table of all methods (CSV; TSV for .tsv) to FILE
    """

    fpc: str | None = None
    replicate_weights: tuple[str, ...] = ()
    replicate_type: str | None = None
    replicate_scale: float | None = None
    replicate_rscales: str | None = None
    method: Literal["dr", "weights", "model", "none"] | None = None
    finite_population: bool = False
    max_weight: float | None = None
    replicates: int | None = None
    output: str | None = None


@quiet(FewRowsWarning)  # which the answer says first
def run(options: Arguments) -> int:
    """Print the sentence, then the table."""
    answer, notes = estimates_of(options)
    answer = with_doubts(answer, options)
    if options.output is not None:
        lines = ({**line, "what": line["what"] or answer.what} for line in answer.table.data())
        console.write_lines(lines, options.output)
    return show_answer(answer, notes, options)


def estimates_of(options: Arguments) -> tuple[Estimates, list[Note]]:
    """Return the estimates, and the notes on the files."""
    from ..estimates import Trimmed, estimate
    from ..files.labels import read_numbers, read_outcomes
    from ..margins.files import is_margins_file

    what = quantity_name(options, options.by)
    options.check_answer()
    options = _with_design(options)
    of_margins = is_margins_file(options.target)
    read = (_read_margins if of_margins else _read_rows)(options, what)
    known = True if read.samples and read.samples.categories else of_categories(what)
    y, categories = read_outcomes(read.beside, list(options.outcome), categories=known)
    labels = None if read.samples is None else _labels(read.samples, options, categories)
    what = what or ("proportion" if categories else "mean")
    own: dict[str, Any] = {}
    if options.denominator is not None:
        cells = read.beside[options.denominator]
        own["denominator"] = read_numbers(cells, options.denominator, "--denominator")
    if what == "coefficients" and read.samples is not None:
        own["regressors"] = regressors(read.samples, options.regressor)
    limit = options.max_weight
    found = estimate(
        read.both(y),
        y_target=labels,
        what=made_quantity(what, options, **own),
        method=options.method,
        weighter=options.weighter if limit is None else Trimmed(limit, options.weighter),
        restrict=options.restrict,
        confidence=options.confidence,
        replicates=options.replicates,
        shift=options.shift or "covariate",
        random_state=options.seed,
    )
    return found, [] if read.samples is None else read.samples.notes


class Read(NamedTuple):
    """What the files hold."""

    beside: Mapping[str, Any]  # columns of the training rows that are not features
    both: Callable[[Any], Samples]  # the samples, given the outcomes
    samples: TwoFiles | None = None  # the same before, where the target has rows


def _read_rows(options: Arguments, what: str | None) -> Read:
    """Read both files."""
    if what == "total" and options.population_size is None:
        raise InputError("--what total needs --population-size.")
    options, samples = samples_of(
        options,
        beside=columns_beside(options),
        **_of_target(options),
        by=options.by,
        categories=of_categories(what),
    )

    def both(y: Any) -> Samples:
        weight = _design_weights(options, samples.weight, samples.beside)
        found = encoded(replace(samples, weight=weight), y, options)
        return replace(found, finite_population=options.finite_population)

    return Read(samples.beside, both, samples)


def _of_target(options: Arguments) -> dict[str, Any]:
    """Columns of the target file that are not features."""
    names = options.target_outcome
    if names and len(names) != len(options.outcome):
        raise InputError(
            f"--target-outcome names {len(names)} columns, but --outcome {len(options.outcome)}: "
            "name one for each."
        )
    if options.target_probability is not None and not names:
        raise InputError(
            "--target-probability belongs to outcomes of target rows: name them with "
            "--target-outcome."
        )
    if len(names) == 1 and is_file_of_labels(names[0]):
        return {}
    own = [("--target-outcome", name) for name in names]
    if options.target_probability is not None:
        own.append(("--target-probability", options.target_probability))
    return {"of_target": tuple(own), "beside_target": tuple({*names} & {*options.outcome})}


def _labels(samples: TwoFiles, options: Arguments, categories: bool) -> Any:
    """Outcomes of target rows, where a column of them is named."""
    from ..engine.labels import Labels
    from ..files.labels import read_outcomes

    if not options.target_outcome:
        return None
    first, chance = options.outcome[0], options.target_probability
    found = [
        labels_of_target(samples, options, name, first, chance) for name in options.target_outcome
    ]
    cells = {name: part for name, (part, _) in zip(options.outcome, found, strict=True)}
    columns = list(read_outcomes(cells, list(options.outcome), categories=categories)[0].values())
    y = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return Labels(y, found[0][1])


def _read_margins(options: Arguments, what: str | None) -> Read:
    """Read the training rows beside a file of margins."""
    from ..data import Samples
    from .margin_samples import margins_of, training_rows

    names = tuple(name for _, name in columns_beside(options))
    _refuse(options, what)
    margins = margins_of(options, options.weighter, beside=names)
    if what == "total" and options.population_size is None and margins.size is None:
        raise InputError(f"--what total needs --population-size: {options.target} has no size.")
    rows = training_rows(options, margins, dict.fromkeys(names, "category"))
    cells: dict[Any, Any] = {name: rows.column(name) for name in names}
    given: dict[str, Any] = {
        "by": options.by,
        "sample_weight": None
        if options.weight is None
        else _design_weights(options, rows.weights.w, cells),
        "strata": cells.get(options.strata),
        "cluster": cells.get(options.cluster),
    }
    return Read(cells, lambda y: Samples.of(rows.frame, y, margins, **given))


_BESIDE = ("denominator", "strata", "cluster", "fpc")
_WEIGHTS = ("weight", "target_weight", "frequency", "target_frequency")


def columns_beside(options: Any) -> tuple[tuple[str, str], ...]:
    """Columns of the training file that are not features, with the options that name them."""
    others = [
        (spelled(name), getattr(options, name))
        for name in (*_BESIDE, "by", "id", *_WEIGHTS)
        if getattr(options, name, None) is not None
    ]
    replicates = getattr(options, "replicate_weights", ())
    others += [("--replicate-weights", name) for name in replicates]
    for flag, name in others:
        if name in options.outcome:
            raise InputError(f"{name!r} cannot be the outcome and what {flag} names as well.")
    repeated = [name for name in options.outcome if options.outcome.count(name) > 1]
    if repeated:
        raise InputError(f"--outcome names {repeated[0]!r} more than once.")
    named = (*map(spelled, _BESIDE), "--replicate-weights")
    beside = [pair for pair in others if pair[0] in named]
    return (*(("--outcome", name) for name in options.outcome), *beside)


def _with_design(options: Arguments) -> Arguments:
    """Refuse options of a design that cannot be, and find the columns of replicate weights."""
    others = [name for name in ("fpc", "replicate_weights") if getattr(options, name)]
    for name in others:
        if options.weight is None:
            raise InputError(f"{spelled(name)} belongs to weights: name them with --weight.")
    if others and options.replicates is not None:
        raise InputError(f"--replicates and {spelled(others[0])}: keep one of them.")
    patterns = options.replicate_weights
    for name in ("replicate_type", "replicate_scale", "replicate_rscales"):
        if getattr(options, name) is not None and not patterns:
            raise InputError(f"{spelled(name)} belongs to --replicate-weights.")
    if not any(character in name for name in patterns for character in "*?["):
        return options
    if options.train == "-":
        raise InputError("--replicate-weights: name the columns one by one for standard input.")
    from ..files.table import read_table

    names = read_table(options.train, {}, options.reading()).names
    found = [[n for n in names if fnmatchcase(n, name)] or [name] for name in patterns]
    return replace(
        options, replicate_weights=tuple(dict.fromkeys(name for part in found for name in part))
    )


def _design_weights(options: Arguments, weight: Any, cells: Mapping[str, Any]) -> Any:
    """Return the weights with what the options say of the design."""
    import numpy as np

    from ..data.row_weights import DesignWeights
    from ..files.labels import read_numbers

    def numbers(name: str, flag: str) -> Any:
        found = read_numbers(cells[name], name, flag)
        if None in found:
            raise InputError(f"The column {name!r}, which {flag} names, has missing values.")
        return np.array(found, dtype=np.float64)

    names = options.replicate_weights
    if weight is None or (options.fpc is None and not names):
        return weight
    return DesignWeights(
        weight,
        None if options.fpc is None else numbers(options.fpc, "--fpc"),
        np.column_stack([numbers(n, "--replicate-weights") for n in names]) if names else None,
        options.replicate_type,
        options.replicate_scale,
        _rscales(options.replicate_rscales),
    )


def _rscales(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--replicate-rscales {text!r} must be numbers with commas.") from None


def _refuse(options: Arguments, what: str | None) -> None:
    """Say which options need target rows, and what to use instead."""
    if options.target_outcome:
        raise InputError(
            f"--target-outcome names outcomes of target rows, and {options.target} holds margins: "
            "leave it out, or use a file of rows."
        )
    if what == "coefficients":
        raise InputError(
            f"--what coefficients needs target rows, and {options.target} holds margins: fit the "
            "regression with the weights that `covshift weigh` writes."
        )
    if options.restrict is not None:
        raise InputError(
            f"--restrict needs target rows, and {options.target} holds margins: join cells without "
            "training rows with others, or leave out a margin with --drop."
        )
