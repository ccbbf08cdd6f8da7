"""``covshift estimate``: what is it in the population?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from . import console
from .answers import show_answer, with_doubts
from .columns import roles_of
from .frames import Files, read_files
from .options import Design, Doubts, Quantity, Roles, spelled
from .quantity import made_quantity, of_categories, quantity_name, regressors
from .target_labels import labels_of_target
from .targets import refuse_unable

if TYPE_CHECKING:
    from ..data import Samples
    from ..estimates import Estimates
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

    options.check_answer()
    options, limit = _with_design(options), options.max_weight
    files, both, what = samples_with_outcomes(
        options,
        margins=True,
        sample_weight=_design_weights(options),
        strata=options.strata,
        cluster=options.cluster,
        finite_population=options.finite_population,
    )
    found = estimate(
        both,
        y_target=labels_of_target(files, options.target_outcome),
        what=what,
        method=options.method,
        weighter=options.weighter if limit is None else Trimmed(limit, options.weighter),
        restrict=options.restrict,
        confidence=options.confidence,
        replicates=options.replicates,
        shift=options.shift or "covariate",
        random_state=options.seed,
    )
    return found, [*files.notes]


def samples_with_outcomes(
    options: Any, *, margins: bool = False, **given: Any
) -> tuple[Files, Samples, Any]:
    """Read the files of a question about outcomes, and make the quantity that is asked for."""
    refuse_repeated_roles(options)
    what = quantity_name(options, options.by)
    categories = of_categories(what)
    files = read_files(options, categories=categories, margins=margins)
    _check_target(files, what, options)
    files = files.decided(options.outcome, categories)
    if any(("what", "proportion") in one.taken.steps for one in files.decisions):
        what = "proportion"
    denominator = options.denominator
    beside = {} if denominator is None else {"denominator": denominator}
    files, both = files.samples(list(options.outcome), by=options.by, beside=beside, **given)
    own: dict[str, Any] = dict(both.beside)
    if what == "coefficients":
        own["regressors"] = regressors(both, options.regressor)
    return files, both, what and made_quantity(what, options, **own)


def _check_target(files: Files, what: str | None, options: Any) -> None:
    """Refuse what cannot be asked of this target."""
    margins = files.margins
    size = options.population_size if margins is None else margins.size
    if what == "total" and options.population_size is None and size is None:
        more = "" if margins is None else f" {options.target} has no size."
        raise InputError(f"--what total needs --population-size.{more}")
    if margins is not None and what == "coefficients":
        raise InputError(
            f"--what coefficients needs target rows, and {options.target} holds margins: fit the "
            "regression with the weights that `covshift weigh` writes."
        )
    if margins is not None:
        refuse_unable(options.weighter, options.target)


def refuse_repeated_roles(options: Any) -> None:
    """Refuse outcomes that are named twice, or are something else as well."""
    for role, names in roles_of(options).items():
        both = [name for name in options.outcome if name in names]
        if both and role not in ("outcome", "target_outcome"):
            what = f"what {spelled(role)} names"
            raise InputError(f"{both[0]!r} cannot be the outcome and {what} as well.")
    repeated = [name for name in options.outcome if options.outcome.count(name) > 1]
    if repeated:
        raise InputError(f"--outcome names {repeated[0]!r} more than once.")


def _with_design(options: Arguments) -> Arguments:
    """Refuse options of a design that cannot be, and find the columns of replicate weights."""
    patterns = options.replicate_weights
    others = ["fpc"] * bool(options.fpc) + ["replicate_weights"] * bool(patterns)
    for name in others:
        if options.weight is None:
            raise InputError(f"{spelled(name)} belongs to weights: name them with --weight.")
    if others and options.replicates is not None:
        raise InputError(f"--replicates and {spelled(others[0])}: keep one of them.")
    own = options.replicate_type, options.replicate_scale, options.replicate_rscales
    for name, value in zip(("type", "scale", "rscales"), own, strict=True):
        if value is not None and not patterns:
            raise InputError(f"--replicate-{name} belongs to --replicate-weights.")
    if not any(character in name for name in patterns for character in "*?["):
        return options
    if options.train == "-":
        raise InputError("--replicate-weights: name the columns one by one for standard input.")
    from ..files.frame import open_frame

    with open_frame(options.train, options.reading()) as stream:
        found = [[n for n in stream.names if fnmatchcase(n, name)] or [name] for name in patterns]
    return replace(
        options, replicate_weights=tuple(dict.fromkeys(name for part in found for name in part))
    )


def _design_weights(options: Arguments) -> Any:
    """Return the name of the weights, with those of further columns of the design."""
    from ..data.row_weights import DesignWeights

    names = options.replicate_weights
    if options.weight is None or (options.fpc is None and not names):
        return options.weight
    return DesignWeights(
        options.weight,
        options.fpc,
        list(names) or None,
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
