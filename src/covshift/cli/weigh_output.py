"""What ``covshift weigh`` found: the columns of its file, and the codebook that explains them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import covshift

from ..comparison import imbalance
from ..data import Samples
from ..data.row_weights import RowWeights
from ..numerics.array import Real, Rows
from ..numerics.resampling import Replicates
from ..show.notes import Note
from ..weights import effective_sample_size
from ..weights.base import Weighter
from . import console
from .frames import Files
from .weigh import Arguments

_DRAWN = {
    "bootstrap": "the weighter fitted again to design weights times random multipliers (Rao, Wu)",
    "JK1": "the weighter fitted again without one of B random groups (delete-a-group, Kott)",
    "JKn": "the weighter fitted again without one of the units, stratum by stratum",
}
MET = 1e-6  # difference from a margin that is none


@dataclass(frozen=True)
class Weighed:
    """Weights for the lines of a training file."""

    X: Any  # the rows as the weighter takes them: standardised, or beside margins a table
    T: Any  # target rows, or margins
    rows: RowWeights  # of the rows, each line as often as it was seen
    target_rows: RowWeights | None  # where the target has rows
    files: Files
    both: Samples
    weighter: Weighter  # fitted: its weights are factors on design weights, on any scale
    method: str
    replicates: Replicates | None = None
    population: float | None = None  # that the weights sum to; None: their mean is one
    verdict: str = ""
    notes: list[Note] = field(default_factory=list)

    @property
    def features(self) -> list[str]:
        """Columns that the weights rest on."""
        margins, encoder = self.both.margins, self.both.encoder
        rules = () if encoder is None else encoder.features_
        return [rule.name for rule in rules] if margins is None else margins.columns

    @property
    def target(self) -> dict[str, Any]:
        """What is known of the target."""
        file, margins = Path(self.files.options.target).name, self.both.margins
        if self.target_rows is not None:
            return {"kind": "rows", "file": file, "rows": self.target_rows.rows}
        assert margins is not None
        facts = {name: getattr(margins, name) for name in ("columns", "size", "source")}
        return {"kind": "margins", "file": file, **facts}

    @cached_property
    def balance(self) -> dict[str, Any]:
        """How far the rows are from the target, before and after, and what limits cost."""
        w, margins = self.rows.final(self.weighter.weights_), self.both.margins
        cost = getattr(self.weighter, "balance_cost_", None)
        limits = {} if cost is None else {"limits": asdict(cost)}
        if self.target_rows is not None:
            share, own = self.target_rows.share, self.rows.share
            pair = (imbalance(self.X, self.T, part, share, own) for part in (None, w))
            return dict(zip(("smd_before", "smd_after"), pair, strict=True)) | limits
        assert margins is not None
        before, after = (
            max(margins.balance(self.X, weight), key=lambda row: abs(row.gap))
            for weight in (self.rows.w, w)
        )
        gaps = {"gap_before": abs(before.gap), "gap_after": abs(after.gap)}
        return {**gaps, "worst_after": after.what, **limits}

    @property
    def lines(self) -> int:
        """How many lines the training file has."""
        return len(self.files.sample)

    @cached_property
    def again(self) -> Rows:
        """Line of each row."""
        found: Rows = self.files.rows("sample")
        return found

    @cached_property
    def ids(self) -> NDArray[Any] | None:
        """What identifies the lines."""
        found: NDArray[Any] | None = self.files.ids("sample")
        return found

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What is worth knowing, for --json."""
        w = self.rows.final(self.weighter.weights_)
        return {
            "method": self.method,
            **({"verdict": self.verdict} if self.verdict else {}),
            "n_train": self.rows.rows,
            "n_written": self.lines,
            "effective_sample_size": effective_sample_size(w),
            "largest_weight": float(w.max()),
            **self.balance,
        }

    @property
    def unit(self) -> float:
        """The mean weight."""
        return 1.0 if self.population is None else self.population / self.rows.rows

    @cached_property
    def columns(self) -> dict[str, Real]:
        """Columns of the file by name; the first is the product of the two that follow."""
        design, factor = np.zeros(self.lines), np.zeros(self.lines)
        design[self.again] = self.rows.w * self.unit
        raw = self.weighter.weights_
        mean = self.rows.w @ raw / self.rows.rows
        factor[self.again] = np.where(self.rows.kept, raw / mean, 0.0)
        found = {"weight": design * factor, "design_weight": design, "factor": factor}
        if self.replicates is not None:
            digits = max(3, len(str(self.replicates.plan.count)))
            for b, column in enumerate(self.replicates.weights.T, start=1):
                found[f"replicate_{b:0{digits}d}"] = column * self.unit
        return found

    @property
    def replicate_facts(self) -> dict[str, Any] | None:
        """How a variance follows from the replicates; None without them."""
        found = self.replicates
        if found is None:
            return None
        names, made = list(self.columns)[3:], found.plan
        even = bool((made.rscales == 1).all())
        return {
            "number": made.count,
            "columns": [names[0], names[-1]],
            "method": made.kind,
            "type": made.type,
            "made_by": _DRAWN[made.type],
            "variance": "scale * sum over b of rscales_b * (theta_b - theta)^2",
            "scale": made.scale,
            "rscales": 1 if even else made.rscales.tolist(),
            "degrees_of_freedom": made.freedom,
            "combined_weights": True,
            "around": "theta, the number under the full-sample weight (mse)",
            "r": self.r_line,
            "stata": self.stata_line,
            "redrawn": found.redrawn,
            "stopped_early": found.unconverged,
        }

    @property
    def r_line(self) -> str:
        """How R's survey is told of the replicates."""
        assert self.replicates is not None
        made = self.replicates.plan
        values, times = _runs(made.rscales)
        rscales = f"rep({values[0]}, {times[0]})"
        if len(values) > 1:
            rscales = f"rep(c({', '.join(values)}), c({', '.join(times)}))"
        return (
            'svrepdesign(data = data, weights = ~weight, repweights = "^replicate_", '
            f'type = "{made.type}", scale = {made.scale:.10g}, rscales = {rscales}, '
            f"combined.weights = TRUE, mse = TRUE, degf = {made.freedom})"
        )

    @property
    def stata_line(self) -> str:
        """How Stata is told of them."""
        assert self.replicates is not None
        made = self.replicates.plan
        if made.kind == "bootstrap":
            how = "vce(bootstrap) bsrweight(replicate_*)"
        else:
            scales = made.scale * made.rscales
            values = _runs(scales)[0]
            if len(values) > 1:
                values = [f"{scale:.10g}" for scale in scales]
            how = f"vce(jackknife) jkrweight(replicate_*, multiplier({' '.join(values)}))"
        return f"svyset [pweight=weight], {how} dof({made.freedom}) mse"


def _runs(values: Real) -> tuple[list[str], list[str]]:
    """Write values that repeat as those of each run, and how long it is."""
    starts = np.flatnonzero(np.append(True, np.diff(values) != 0))
    times = np.diff(np.append(starts, len(values)))
    return [f"{values[k]:.10g}" for k in starts], [str(n) for n in times]


def write_weights(weighed: Weighed, options: Arguments) -> None:
    """Write one line per line of the training file, with its id or number."""
    with console.table_file(options.output) as writer:
        writer.writerow([_first(weighed), *weighed.columns])
        numbered: Any = range(1, weighed.lines + 1) if weighed.ids is None else weighed.ids.tolist()
        table = np.column_stack(list(weighed.columns.values()))
        for line, values in zip(numbered, table, strict=True):
            writer.writerow([line, *values.tolist()])


def write_codebook(weighed: Weighed, options: Arguments) -> None:
    """Write what the columns mean, how they were made, and from what."""
    with console.text_file(options.codebook) as file:
        file.write(console.as_json(codebook(weighed, options)) + "\n")


def codebook(weighed: Weighed, options: Arguments) -> dict[str, Any]:
    """Return the codebook as plain data."""
    parameters = weighed.weighter.get_params(deep=False)
    drawn = weighed.replicate_facts
    if drawn is not None:
        drawn |= {"strata": options.strata, "cluster": options.cluster, "seed": options.seed}
        drawn["target_drawn"] = weighed.target["kind"] == "rows" and not options.finite_population
    return {
        "format": "covshift weights codebook",
        "covshift_version": covshift.__version__,
        "file": None if options.output in (None, "-") else Path(options.output).name,
        "lines": weighed.lines,
        "rows": weighed.rows.rows,
        "columns": _meanings(weighed, options),
        "method": {
            "name": weighed.method,
            "as_estimate": options.as_estimate,
            "weighter": type(weighed.weighter).__name__,
            "parameters": {name: _simple(value) for name, value in parameters.items()},
        },
        "seed": options.seed,
        "sample": {
            "file": _title(options.train),
            "weight": options.weight,
            "frequency": options.frequency,
            "columns": weighed.features,
        },
        "target": weighed.target,
        "quality": _quality(weighed),
        "replicates": drawn,
        "notes": [note.text for note in weighed.notes],
    }


def _meanings(weighed: Weighed, options: Arguments) -> list[dict[str, str]]:
    times = "" if options.frequency is None else f", each line counted {options.frequency!r} times"
    many = f"{weighed.rows.rows} rows{times}"
    scale = f"mean one over the {many}"
    if weighed.population is not None:
        scale = f"sums to {weighed.population:g}, the population, over the {many}"
    given = "1 in every row, since the file has none"
    if options.weight is not None:
        given = f"the column {options.weight!r} of the sample, divided by a constant"
    first = (
        "number of the line in the sample, from 1"
        if weighed.ids is None
        else "id of the line in the sample"
    )
    meanings = {
        _first(weighed): (first, "no scale"),
        "weight": ("final weight: design_weight times factor; use this one", scale),
        "design_weight": (f"weight before the correction: {given}; 0: no part of it", scale),
        "factor": (
            "what the correction multiplies design_weight by; 0 where that is 0",
            "mean one over the rows, weighted by design_weight",
        ),
    }
    for name in list(weighed.columns)[3:]:
        meanings[name] = ("replicate of weight, complete: not to be multiplied by it", scale)
    return [
        {"name": name, "meaning": meaning, "scale": scale}
        for name, (meaning, scale) in meanings.items()
    ]


def _quality(weighed: Weighed) -> dict[str, Any]:
    """How precise the weights are, and how well they balance; without what stands elsewhere."""
    facts = {k: v for k, v in weighed.facts.items() if k not in ("method", "n_train", "n_written")}
    facts["design_effect"] = weighed.rows.rows / facts["effective_sample_size"]
    facts["largest_weight_over_mean"] = facts.pop("largest_weight")
    return facts


def _first(weighed: Weighed) -> str:
    """Name of the first column, which no other one has."""
    name = weighed.files.id or "row"
    return "id" if name in weighed.columns else name


def _title(path: str) -> str:
    return "standard input" if path == "-" else Path(path).name


def _simple(value: Any) -> Any:
    """Parameters as JSON has them; what it has not, such as a learner, as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_simple(part) for part in value]
    return repr(value)
