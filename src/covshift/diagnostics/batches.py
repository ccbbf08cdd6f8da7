"""Several targets, such as months, each compared with the same training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..exceptions import InputError
from ..show.answer import OF_CORRECTIONS, Answer
from ..show.notes import Note
from ..show.table import Column, Table
from ..show.words import printable
from .measure import diagnose
from .result import Diagnosis
from .verdict import Verdict

_ORDER: tuple[Verdict, ...] = ("no shift", "moderate", "strong", "no overlap")
_NAMED = 3  # targets that the first line names
_OF_ROWS = ("target_weight",)


@dataclass(frozen=True, repr=False)
class BatchesDiagnosis(Answer):
    """What `diagnose_batches` found: one `Diagnosis` per target, by its name."""

    batches: dict[str, Diagnosis]

    notes: ClassVar[tuple[Note, ...]] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all targets."""
        return max((found.verdict for found in self.batches.values()), key=_ORDER.index)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """One line per target, as numbers and words."""
        return [_line(name, found) for name, found in self.batches.items()]

    @property
    def facts(self) -> dict[str, Any]:
        """The worst verdict, and the diagnosis of every target."""
        return {"verdict": self.verdict, "targets": self.batches}

    @property
    def sentence(self) -> str:
        """The worst verdict, and the targets that have it."""
        names = [name for name, found in self.batches.items() if found.verdict == self.verdict]
        many = f"{len(names)} of {len(self.batches)} targets"
        return f"Verdict: {self.verdict} ({many}: {_some(names)})"

    @property
    def caution(self) -> str:
        """The targets for which few rows carry the weights."""
        return carried_by_few([name for name, found in self.batches.items() if found.caution])

    @property
    def assumption(self) -> str:
        """What a correction rests on, and the columns cannot show."""
        return OF_CORRECTIONS

    @property
    def table(self) -> Table:
        """One row per target."""
        return Table(tuple(self.lines), _COLUMNS)

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per target."""
        return self.table.to_frame().set_index("target")

    def plot(self, ax: Any = None) -> Any:
        """Draw the two-sample AUC of every target; returns a `covshift.plot.BatchesDisplay`."""
        from ..plot import BatchesDisplay  # it needs matplotlib: loaded when asked for

        return BatchesDisplay.from_diagnosis(self, ax=ax)


def diagnose_batches(X: Any, targets: Mapping[str, Any], **given: Any) -> BatchesDiagnosis:
    """Diagnose several targets, each against the same training rows.

    Parameters
    ----------
    X : (N, n) array or data frame
        Training rows.
    targets : dict of str to target rows
        Such as the months of a year, in their order.
    **given
        Further parameters of `covshift.diagnose`; ``target_weight`` by the names of the
        targets.

    Returns
    -------
    BatchesDiagnosis
        Print it for one line per target; ``batches`` holds every `Diagnosis`.

    Notes
    -----
    Each is `covshift.diagnose` of the training rows and that target; every test has its level for
    each target, not for all of them together. Cost: that of `covshift.diagnose` for each.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.diagnostics import diagnose_batches
    >>> rng = np.random.default_rng(0)
    >>> X, may, june = rng.normal(size=(3, 200, 2))
    >>> found = diagnose_batches(X, {"May": may, "June": june + [0.0, 1.0]}, methods=())
    >>> [part.verdict for part in found.batches.values()]
    ['no shift', 'moderate']
    """
    if not isinstance(targets, Mapping) or not targets:
        raise InputError(
            f"targets={targets!r:.60} is not a dict of target rows by their names. Pass for "
            "example "
            '{"May": X_may, "June": X_june}.'
        )
    by_name = {name: given.pop(name) for name in _OF_ROWS if given.get(name) is not None}
    for name, values in by_name.items():
        if not isinstance(values, Mapping) or not set(values) <= set(targets):
            raise InputError(
                f"{name} must be a dict whose keys are among the names of the targets."
            )
    return BatchesDiagnosis(
        {
            str(name): diagnose(
                X, target, **given, **{of: values.get(name) for of, values in by_name.items()}
            )
            for name, target in targets.items()
        }
    )


def carried_by_few(names: list[str]) -> str:
    """Say for which targets few rows carry the weights."""
    return f"Few rows carry the weights for {_some(names)}: see effective rows." if names else ""


def _some(names: list[str]) -> str:
    """Name the first of them."""
    shown = ", ".join(printable(name) for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _line(name: str, diagnosis: Diagnosis) -> dict[str, Any]:
    size = diagnosis.effective_sample_size
    worst = diagnosis.worst[0]
    return {
        "target": name,
        "rows": diagnosis.n_target,
        "verdict": diagnosis.verdict,
        "auc": None if diagnosis.auc is None else diagnosis.auc.value,
        "effective_sample_size": size,
        "effective_share": None if size is None else size / diagnosis.n_train,
        "uncovered_rows": 0 if diagnosis.rows is None else diagnosis.rows.count,
        "worst_feature": worst.name,
        "worst_distance": worst.ks,
        "worst_level": worst.detail,
    }


def _effective(line: dict[str, Any]) -> str:
    size = line["effective_sample_size"]
    return "none" if size is None else f"{size:,.0f} ({line['effective_share']:.0%})"


def _worst(line: dict[str, Any]) -> str:
    detail = f": {printable(line['worst_level'], 24)}" if line["worst_level"] else ""
    return f"{printable(line['worst_feature'], 20)} ({line['worst_distance']:.2f}{detail})"


_COLUMNS = (
    Column("target", lambda line: printable(line["target"]), words=True),
    Column("rows", lambda line: f"{line['rows']:,}"),
    Column("verdict", lambda line: line["verdict"], words=True),
    Column("AUC", lambda line: "" if line["auc"] is None else f"{line['auc']:.2f}"),
    Column("effective rows", _effective),
    Column("no rows near", lambda line: f"{line['uncovered_rows']:,}"),
    Column("worst column", _worst, words=True),
)
