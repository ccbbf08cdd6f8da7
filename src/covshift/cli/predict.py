"""``covshift predict``: predictions for a table of any length, in bounded memory."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..exceptions import InputError, NoOverlapError, WeightWarning
from ..numerics.quiet import quiet
from ..show.notes import Note
from . import console
from .options import Json, Reading, Seed

if TYPE_CHECKING:
    from ..files.encoding import ColumnProblems
    from ..files.table import Table
    from ..persistence import Model

_HEAD = 10  # predictions that a terminal shows
_ROWS = 20_000  # a block; a kernel machine holds its own smaller ones


def _percent(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = float("nan")
    if 0 < percent < 1:
        raise ValueError(f"{text!r} is less than one percent: did you mean {100 * percent:g}?")
    if not 0 < percent < 100:
        raise ValueError(f"{text!r} is not one percentage between 0 and 100.")
    return percent


@dataclass(frozen=True, kw_only=True)
class Arguments(Reading, Json, Seed):
    """Write one line per row, in the order of the table: id or row number, prediction, and for
    classes their probabilities. With --interval or --set also how far to trust it. Without -o a
    terminal shows the first lines, and a pipe gets all.

    Arguments:
      model  a file that covshift fit wrote
      table  a table or a folder of them, or -

    Columns:
      --id COL  keep this column (default: as in fit)

    Intervals:
      --interval PERCENT...  columns lower and upper: the number is between them with this
        probability, as in 90
      --set PERCENT...  column set: classes, joined by |, that contain the true one with this
        probability, as in 90
      --calibration FILE  labelled rows that did not train the model; needed unless covshift fit had
        --calibrate. The coverage then is for this table, which is read as a whole; otherwise for
        the target of the fit
      --by-class  sets with the coverage in every class, even rare ones; each class is calibrated by
        its own rows of --calibration
      --weight COL  probability weights of the rows of --calibration

    Output:
      --json  print the summary as JSON on stdout
      -o, --output FILE  write the predictions (CSV; TSV for .tsv) to FILE
    """

    kinds: ClassVar = {"interval": _percent, "set": _percent}

    model: str = ""
    table: str = ""
    id: str | None = None
    interval: tuple[float, ...] = ()
    set: tuple[float, ...] = ()
    calibration: str | None = None
    by_class: bool = False
    weight: str | None = None
    json: bool = False
    output: str | None = None


def run(options: Arguments) -> int:
    """Stream the table through the model."""
    from ..files.encoding import ColumnProblems
    from ..files.table import open_stream

    asked = asked_of(options)
    if str(options.output).lower().endswith((".parquet", ".xlsx")):
        raise InputError(f"Predictions are written as CSV. Name a .csv file, not {options.output}.")
    options.check_output(options.output)
    model = load_model(options.model)
    if asked is not None:
        check_model(asked, model, options)
    reading = options.reading(model)
    kinds: Any = dict(model.encoding.kinds)
    wanted = options.id or model.about.get("id")
    if wanted is not None and wanted not in kinds:
        kinds[wanted] = "text"
    with open_stream(options.table, kinds, reading) as stream:
        id_name = wanted if wanted in stream.names else None
        if options.id is not None and id_name is None:
            raise InputError(f"{stream.title} has no column {wanted!r}, which --id names.")
        _check_columns(stream.names, model, id_name, stream.title)
        findings = ColumnProblems()
        only = {*model.encoding.names} | ({id_name} if id_name else set())
        parts: Any = stream.parts(_ROWS, only=only)
        tally = None
        if asked is not None:
            if options.calibration is not None:
                parts = list(parts)
                model = calibrated(model, parts, options)
            target = "the target of the fit" if options.calibration is None else stream.title
            tally = Tally(asked, model, target)
        parts = console.counted(parts, "predicting")
        header = _header(model, id_name, [] if asked is None else _COLUMNS[asked.kind])
        lines = (
            line
            for table in parts
            for line in _lines(model, table, id_name, findings.rows + 1, findings, tally)
        )
        shown = options.output is None and sys.stdout.isatty()
        if shown:
            _show_head(header, lines)
        else:
            with console.table_file(options.output) as writer:
                writer.writerow(header)
                writer.writerows(lines)
                if tally is not None:
                    tally.refuse_if_nothing_is_known(stream.title)
    if not findings.rows:
        console.warn(f"{stream.title} has a header but no rows, so there are no predictions.")
    console.tell(*stream.notes)
    for found in findings.notes(stream.title):
        console.warn(found.text)
    if options.output not in (None, "-"):
        console.note(f"wrote {findings.rows:,} predictions to {options.output}")
    elif shown and findings.rows > _HEAD:
        again = shlex.join(["covshift", *options.argv, "-o", "predictions.csv"])
        console.note(f"shown are {_HEAD} of {findings.rows:,} predictions. To write all: {again}")
    if tally is not None:
        tally.show(options.output, json=options.json)
    return 0


def _show_head(header: list[str], lines: Iterator[tuple[Any, ...]]) -> None:
    """Print the first lines for a person; all of them are computed, and counted."""
    from ..show.table import Table as Shown
    from ..show.words import printable, readable

    def cell(value: Any) -> str:
        return readable(value) if isinstance(value, float) else printable(str(value))

    head = [tuple(map(cell, line)) for line in islice(lines, _HEAD)]
    for _ in lines:
        pass
    print(Shown.of(header, head))


def load_model(path: str) -> Model:
    """Load a model that covshift fit wrote."""
    from ..persistence import Model, load

    model = load(path)
    if not isinstance(model, Model):
        raise InputError(
            f"{path} holds a {type(model).__name__} without the columns of a table: it was "
            "saved in Python. Load it there with covshift.load, or make a model with covshift fit."
        )
    return model


def check_complete(names: list[str], model: Model, title: str) -> None:
    """Refuse a table without some of the model's columns."""
    lacking = [name for name in model.encoding.names if name not in names]
    if lacking:
        raise InputError(
            f"{title} lacks {len(lacking)} of the {len(model.encoding.names)} columns that the "
            f"model needs: {', '.join(map(repr, lacking[:12]))}. Add them, under these names."
        )


def _check_columns(names: list[str], model: Model, id_name: str | None, title: str) -> None:
    from ..files.table import named

    check_complete(names, model, title)
    extra = [name for name in names if name not in {*model.encoding.names, id_name}]
    if extra:
        console.note(f"{title}: not used: {named(extra)}.")


def _header(model: Model, id_name: str | None, more: list[str]) -> list[str]:
    outputs = ["prediction", *(f"probability_{label}" for label in model.classes), *more]
    first = id_name or "row"
    return ["id" if first in outputs else first, *outputs]


def _lines(
    model: Model,
    table: Table,
    id_name: str | None,
    first: int,
    findings: ColumnProblems,
    tally: Tally | None,
) -> Iterator[tuple[Any, ...]]:
    X = model.encoding.encode(table, findings)
    ids: Any = range(first, first + len(table))
    if id_name:
        ids = table.columns[id_name].values.tolist()
    found, more = (None, []) if tally is None else tally.block(X)
    if not model.classes:
        numbers = model.predict(X) if found is None else found.prediction
        return zip(ids, finite(numbers).tolist(), *more, strict=True)
    probability = finite(model.predict_proba(X))
    classes = model.decided(probability).tolist()
    return zip(ids, classes, *probability.round(6).T.tolist(), *more, strict=True)


def finite(values: Any) -> Any:
    """Refuse predictions that are no numbers."""
    import numpy as np

    if not np.isfinite(values).all():
        raise InputError(
            f"{int((~np.isfinite(values)).sum())} predictions are not finite: these rows lie too "
            "far from the training rows. Check their numbers."
        )
    return values


# ``covshift predict --interval`` and ``--set``: what is asked for, and what came of it.


_OF = {"interval": "regression", "set": "classification"}
_WORDS = {"interval": "intervals", "set": "sets"}
_COLUMNS = {"interval": ["lower", "upper"], "set": ["set"]}
BETWEEN = "|"
"""What stands between the classes of a set; in a class of that name ``\\|`` stands for it."""


class CoverageOptions(NamedTuple):
    """Intervals or sets, and their coverage."""

    kind: str  # "interval" or "set"
    percent: float

    @property
    def coverage(self) -> float:
        return self.percent / 100


def asked_of(options: Arguments) -> CoverageOptions | None:
    """Return what is asked for, if anything; refuse what cannot be together."""
    given = [(kind, percent) for kind in _OF for percent in getattr(options, kind) or ()]
    if not given:
        for name in ("calibration", "by-class", "weight", "json"):
            if getattr(options, name.replace("-", "_")):
                raise InputError(f"--{name} belongs to --interval or --set: add one, as in 90.")
        return None
    if len(given) > 1:
        shown = " and ".join(f"--{kind} {percent:g}" for kind, percent in given)
        raise InputError(f"{shown}: one coverage at a time. Run it once for each.")
    if options.weight and not options.calibration:
        raise InputError("--weight is for the rows of --calibration, which names no file.")
    if options.by_class and (given[0][0] != "set" or not options.calibration):
        raise InputError(
            "--by-class is for --set, with the rows of --calibration; covshift fit --calibrate has "
            "it too."
        )
    if options.calibration == "-" and options.table == "-":
        raise InputError("Only one of the two files can be standard input (-).")
    if options.json and options.output in (None, "-"):
        raise InputError("--json prints on stdout: name a file for the predictions with -o.")
    return CoverageOptions(*given[0])


def check_model(asked: CoverageOptions, model: Model, options: Arguments) -> None:
    """Refuse a model of the other task, and one without calibration."""
    if model.task != _OF[asked.kind]:
        other = next(kind for kind in _OF if kind != asked.kind)
        what = "classes" if model.task == "classification" else "numbers"
        raise InputError(
            f"{options.model} predicts {what}, which have no {_WORDS[asked.kind]}: use --{other} "
            f"{asked.percent:g}."
        )
    if not model.calibrated and options.calibration is None:
        learner = ["--learner", model.learner]
        if "correction_reason" not in model.about:  # else the learner chose the method
            learner += ["--method", model.method]
        fit = ["covshift", "fit", "TRAIN", "TARGET", "--label", model.label, *learner]
        fit += ["--calibrate", "0.5", "-o", "MODEL"]
        again = ["covshift", *options.argv, "--calibration", "FILE"]
        raise InputError(
            f"{options.model} was not calibrated, so that it has no {_WORDS[asked.kind]}: hold out "
            f"rows when fitting it, `{shlex.join(fit)}`, or name labelled rows that did not "
            f"train it, `{shlex.join(again)}`."
        )


# Intervals and sets of a table, block by block: their columns, and the summary of all.


@dataclass
class Tally:
    """What was written so far, counted."""

    asked: CoverageOptions
    model: Model
    target: str  # on which the coverage is, in words
    rows: int = 0
    sums: Counter[str] = field(default_factory=Counter)
    first: Any = None  # intervals or sets of the first block, which know the calibration

    def block(self, X: Any) -> tuple[Any, list[list[Any]]]:
        """Return the intervals or sets of encoded rows, and the columns that they become."""
        columns: list[list[Any]]
        if self.asked.kind == "interval":
            found = self.model.predict_interval(X, self.asked.coverage)
            width = (found.upper - found.lower)[~found.infinite].sum()
            below = int((found.lower < 0)[~found.infinite].sum())
            self.sums.update(width=width, infinite=int(found.infinite.sum()), below=below)
            columns = [found.lower.tolist(), found.upper.tolist()]
        else:
            found = self.model.predict_set(X, self.asked.coverage)
            size = found.member.sum(axis=1)
            whole, empty = int((size == len(found.classes)).sum()), int((size == 0).sum())
            self.sums.update(size=int(size.sum()), whole=whole, empty=empty)
            names = [label.replace(BETWEEN, "\\" + BETWEEN) for label in self.model.classes]
            columns = [
                [BETWEEN.join(names[k] for k in row.nonzero()[0].tolist()) for row in found.member]
            ]
        self.rows += len(found)
        self.first = found if self.first is None else self.first
        self.sums["beyond"] += self._beyond(X)
        return found, columns

    def _beyond(self, X: Any) -> int:
        """How many rows lie where the model's calibration has no training rows."""
        import numpy as np

        gaps = () if self.first.calibrated_on_target else self.model.estimator._shift.gaps
        Z = self.model.scaled(X)
        return int(np.any([gap.holds(Z) for gap in gaps], axis=0).sum()) if gaps else 0

    def refuse_if_nothing_is_known(self, title: str) -> None:
        """Refuse rows of which none is like the training rows."""
        if self.rows and self.sums["beyond"] == self.rows:
            raise InputError(
                f"No row of {title} has training rows nearby: when the model was fitted, "
                f"{'; '.join(self.gaps())}. Its {_WORDS[self.asked.kind]} would tell you nothing. "
                f"Leave out --{self.asked.kind}, or fit a model with rows like these, or without "
                "the column (covshift fit --drop COL)."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data, with the names of `Intervals.to_dict`."""
        if not self.rows:
            return {"coverage": self.asked.coverage, "rows": 0}
        from ..conformal.result import interval_sentence, set_sentence

        shares: dict[str, Any]
        rows, coverage = self.rows, self.asked.coverage
        if self.asked.kind == "interval":
            finite = rows - self.sums["infinite"]
            width = float(self.sums["width"]) / finite if finite else float("inf")
            shares = {
                "mean_width": width,
                "unit": self.model.unit,
                "share_infinite": self.sums["infinite"] / rows,
            }
            sentence = interval_sentence(rows, coverage, width, shares["share_infinite"])
        else:
            names = {"size": "mean_size", "whole": "share_whole", "empty": "share_empty"}
            shares = {name: self.sums[kind] / rows for kind, name in names.items()}
            sentence = set_sentence(rows, coverage, *shares.values())
        data: dict[str, Any] = self.first.to_dict()
        return {**data, "sentence": sentence, **shares, "rows": rows, "notes": self.notes()}

    def notes(self) -> list[Note]:
        """Notes on the whole table, with the names and numbers of its columns."""
        from ..conformal.result import below_zero

        notes = []
        kind = "infinite" if self.asked.kind == "interval" else "whole"
        if self.asked.kind == "interval" and self.sums[kind]:
            text = (
                f"{self.sums[kind] / self.rows:.1%} of the intervals are infinite: too few "
                "calibration rows are like these rows. Use more of them, or a lower coverage."
            )
            notes.append(Note("infinite", text, "warning"))
        if self.model.about.get("positive"):
            notes += below_zero(self.sums["below"] / self.rows)
        there = "intervals are infinite" if kind == "infinite" else "sets hold all classes"
        notes += [Note("no overlap", f"{gap}: {there} there.", "warning") for gap in self.gaps()]
        own = ("infinite", "no overlap", "below zero")
        notes += [note for note in self.first.notes if note.kind not in own]
        return notes

    def gaps(self) -> list[str]:
        """Parts of the target without training rows, in the words of the table."""
        if self.first.calibrated_on_target:
            return []
        center, scale = self.model.center, self.model.scale
        encoding, found = self.model.encoding, []
        dates = {k for k, name in enumerate(encoding.columns) if name in encoding.dates}
        for gap in self.model.estimator._shift.gaps:
            value = float(gap.value * scale[gap.column] + center[gap.column])
            found.append(replace(gap, value=value).describe(encoding.columns, dates))
        return found

    def show(self, file: str | None, *, json: bool) -> None:
        """Print the summary: on stderr, or as JSON on stdout."""
        if json:
            console.print_json({**self.to_dict(), "file": file})
        if not self.rows:
            return
        console.tell(*self.notes())
        if not console.quiet and not json:
            print(self._text(), file=sys.stderr)

    def _text(self) -> str:
        data, expected = self.to_dict(), self.first.expected_coverage
        if self.asked.kind == "interval":
            unit = f" {self.model.unit}" if self.model.unit else ""
            size = f"mean width {data['mean_width']:.4g}{unit}"
            share = f"{data['share_infinite']:.1%} infinite"
        else:
            size = f"{data['mean_size']:.2f} classes on average"
            share = f"{data['share_whole']:.1%} hold all, {data['share_empty']:.1%} none"
        groups = "".join(f"{line}\n" for line in expected.group_lines())
        lines = (
            f"Coverage asked: {self.asked.percent:g}%; expected on {self.target}: {expected}\n"
            f"{groups}Calibration: {data['n_calibration']} {self.first.calibrated_by}, effective "
            f"calibration size {data['effective_sample_size']:.0f}\n"
            f"{'Intervals' if self.asked.kind == 'interval' else 'Sets'}: {size}; {share}\n"
            f"{self.first.assumption}"
        )
        return f"{self.first.caution}\n{lines}".lstrip()


# ``covshift predict --calibration``: labelled rows of a file calibrate a fitted model.


def calibrated(model: Model, tables: list[Table], options: Arguments) -> Model:
    """Return the model, calibrated by the file for the rows of ``tables``, which are all there."""
    import numpy as np

    from ..conformal import ConformalClassifier, ConformalRegressor
    from ..data import Samples
    from ..engine.overlap import refuse_uncovered
    from ..files.encoding import ColumnProblems
    from ..files.samples import weights_of
    from ..files.table import notes_of, read_table

    if sum(map(len, tables)) < 2:
        raise InputError(
            f"{options.table} has fewer than two rows, so that no weights lead to it from the rows "
            "of --calibration."
        )
    kinds: Any = {**model.encoding.kinds, model.label: "category"}
    if options.weight is not None:
        kinds[options.weight] = "number"
    table = read_table(str(options.calibration), kinds, options.reading(model))
    for name, whose in (
        (model.label, f"the label of {options.model}"),
        (options.weight, "--weight"),
    ):
        if name is not None and name not in table.columns:
            raise InputError(f"{table.title} has no column {name!r}, {whose}.")
    check_complete(table.names, model, table.title)
    table = _labelled(table, model.label)
    findings = ColumnProblems()
    X = model.encoding.encode(table, findings)
    console.tell(*notes_of(table), *findings.notes(table.title))
    T = np.concatenate([model.encoding.encode(part) for part in tables])
    weight = weights_of(table, options.weight)
    try:
        refuse_uncovered(
            Samples.of_rows(X, T, sample_weight=weight, encoder=model.encoding.encoder)
        )
    except NoOverlapError as error:
        raise error.of_command(["fit", "..."]) from None
    X, T = model.scaled(X), model.scaled(T)
    kind: Any = ConformalRegressor if model.task == "regression" else ConformalClassifier
    estimator = model.estimator.estimator_ if model.calibrated else model.estimator
    by = "class" if options.by_class or getattr(model.estimator, "by", None) == "class" else None
    conformal = kind(estimator, by=by, prefit=True, random_state=options.seed)
    with quiet(WeightWarning):  # the notes tell, in the table's own words
        conformal.fit(X, _outcomes(table, model), X_target=(T,), sample_weight=weight)
    return replace(model, estimator=conformal)


def _labelled(table: Table, label: str) -> Table:
    """Keep the rows with a label."""
    cells = table.columns[label].values
    rows = [k for k, cell in enumerate(cells) if cell is not None]
    if len(rows) < 2:
        raise InputError(
            f"{table.title}: {len(rows)} of {len(cells)} rows have the label {label!r}. At least "
            "two are needed to calibrate, and a few hundred for narrow intervals."
        )
    if len(rows) < len(cells):
        console.note(
            f"{table.title}: the label {label!r} is missing in {len(cells) - len(rows)} of "
            f"{len(cells)} rows, which were left out."
        )
    return table.take(rows)


def _outcomes(table: Table, model: Model) -> Any:
    """Return numbers, or classes spelled as the model spells them."""
    import numpy as np

    from ..files.labels import read_numbers, spelled_alike

    cells = list(table.columns[model.label].values)
    if model.task == "regression":
        y = np.array(read_numbers(cells, model.label, "the model"), dtype=np.float64)
        if not np.isfinite(y).all():
            raise InputError(f"{table.title}: the label {model.label!r} has infinite values.")
        return y
    known = set(model.classes)
    said = cells if set(cells) <= known else spelled_alike(cells)
    strange = sorted(set(said) - known)
    if strange:
        raise InputError(
            f"{table.title}: the label {model.label!r} holds {', '.join(map(repr, strange[:5]))}, "
            f"none of the model's classes {', '.join(map(repr, model.classes[:8]))}."
        )
    return np.array(said, dtype=str)
