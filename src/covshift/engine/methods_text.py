"""The methods section of a paper: what was done for an answer, with references.

A sentence stands there only if the step was taken, and a work is cited only by such a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..show.words import counted, joined, percent, printable
from .citing import Cited
from .procedure import WEIGHTED
from .stack import NAME

_MODELS = {
    "piecewise-linear ridge": "ridge regression on piecewise-linear terms",
    "kernel": "Gaussian kernel ridge regression",
    "boosted trees": "gradient-boosted trees",
    "logistic": "logistic regression",
    "calibrated scores": "the calibrated scores",
    "weighted calibration": "the scores calibrated on weighted rows",
    "logistic of all rows": "logistic regression that also learned from the model's own rows",
    "boosted trees of all rows": "boosted trees that also learned from the model's own rows",
    NAME: "ridge regression on the published numbers",
}
_OF_NUMBERS = frozenset({"piecewise-linear ridge", "kernel", "boosted trees"})
_MODELLED = ("dr", "model", "both")
_CHOSEN = {  # how target rows with an outcome were chosen: what was done, and what is assumed
    "random": ("taken to be chosen at random", "were chosen at random"),
    "chances": ("chosen with known probabilities", "were chosen with the probabilities given"),
    "columns": (
        "selected by their covariates, for which they were weighted",
        "are like the rest of the target given their covariates",
    ),
}

# What kind of estimator a method is: of a number, and of the metrics of a model.
_ESTIMATORS = {
    "weights": (
        "We used weighted means, with weights that carry the sample to the target population.",
        "We used the metrics of the weighted labelled rows, with weights that carry the labelled "
        "rows to the target population.",
    ),
    "model": (
        "We used the mean prediction of an outcome model over the target population.",
        "We used the expectation of the metrics under an outcome model over the target population.",
    ),
    "dr": (
        ": the mean prediction of an outcome model over the target, plus the weighted mean of the "
        "model's residuals in the sample.",
        " of the metrics on the target: every target row counted with its predicted outcome, every "
        "labelled row with the weighted residual of that prediction.",
    ),
}


class MethodsText:
    """Writes the sentences of one answer, in the order in which they are read."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.how, self.cite = answer, answer._procedure, Cited()
        self.method, self.evaluates = answer.method, answer._evaluates
        self.errors_from = getattr(answer, "errors", "influence")

    def text(self) -> str:
        """All paragraphs, and the works that they cite."""
        parts = [
            [self.answer._question(), *self._data()],
            [*self._estimator(), *self._weights(), *self._models()],
            [*self._errors(), *self._doubt()],
            [*self._assumed(), self._software()],
        ]
        paragraphs = [" ".join(sentences) for sentences in parts]
        return "\n\n".join([*filter(None, paragraphs), "References", "\n".join(self.cite.lines)])

    def _data(self) -> Iterator[str]:
        """The two samples."""
        answer, how = self.answer, self.how
        lost = f" (of {how.rows:,} in all)" if how.rows > answer.n_train else ""
        known = "a label" if self.evaluates else "a known outcome"
        target = ""
        if self.method == "none":
            pass
        elif how.margins:
            target = f"; the target population was known by {how.margins}"
        else:
            target = f"; a sample of the target population had {how.target_rows:,}"
            if how.finite:
                target = f"; the target was the whole population of {how.target_rows:,} rows"
            target += f". Both had the same {counted(how.covariates, 'covariate')}"
        yield f"The sample had {counted(answer.n_train, 'row')} with {known}{lost}{target}."
        learned = getattr(answer, "n_learned", 0)
        if learned:
            yield f"The {learned:,} rows that had trained the model did not judge it."
        if answer.covered_share < 1:
            yield (
                f"The answer is for {answer.covered_share:.1%} of the target: the rest, for lack "
                "of similar rows in the sample, was left out."
            )
        if how.design:
            yield f"The sample's design was taken into account: {how.design}."
        if how.target_weighted:
            yield "Target rows had weights of their own."
        if how.gaps:
            names = joined([repr(printable(name)) for name, _, _ in how.gaps])
            yield (
                f"Missing values of {names} were filled with the median and marked by an "
                "indicator, or, in a category, were a level of their own."
            )
        if how.groups and answer._of_groups:
            yield (
                f"Numbers of {counted(how.groups, 'group')} were ratios of means with the "
                "indicator of the group; weights and models learned from all rows."
            )

    def _estimator(self) -> Iterator[str]:
        """What kind of estimator it was."""
        method, cite = self.method, self.cite
        if method == "none":
            return
        if method in ("weights", "model"):
            yield _ESTIMATORS[method][self.evaluates]
        elif method in ("cbpe", "pape"):
            by = "by a cross-fitted logistic regression on their log-odds"
            what = (
                f"calibrated scores over the target rows {cite('bialek')}; the scores were "
                f"calibrated {by}"
                if method == "cbpe"
                else "scores over the target rows, calibrated on weighted labelled rows "
                f"{cite('bialek')} {by}"
            )
            yield f"We used the expected performance of {what} {cite('platt')}."
        elif method == "label":
            yield (
                "The shares of the classes in the target were those with which the sample's "
                "classes make up the target's mean scores, a linear equation in cross-fitted class "
                f"probabilities (black-box shift estimation; {cite('lipton')[1:]}; the scores were "
                f"those of the likelihood {cite('saerens', 'alexandari')}, unless these told the "
                "classes apart less than half as well as the probabilities do."
            )
            if self.evaluates:
                yield "Labelled rows were weighted by the share of their class in the target."
        else:
            yield from self._doubly_robust()
        yield from self.answer._from_means()

    def _doubly_robust(self) -> Iterator[str]:
        both, cite = self.method == "both", self.cite
        if both:
            yield (
                f"The outcome was known for {counted(self.answer.n_labels, 'target row')}, "
                f"{_CHOSEN[self.how.labels][0]}. We used prediction-powered inference with power "
                "tuning: an outcome model, which learned from both samples, predicted every target "
                f"row, and the known outcomes corrected its mean {cite('angelopoulos')}."
            )
            if not self.how.trusted:
                yield (
                    "The sample does not cover the whole target, so that the number rests on the "
                    "outcomes of target rows and not on a correction of the sample."
                )
                return
            yield (
                "The point estimate lies between this estimate and a doubly robust one from the "
                "sample, nearer to the latter the better the two agree, and within the interval of "
                f"the former {cite('armstrong')}."
            )
        works = ("robins", *(("steingrimsson",) if self.evaluates else ()), "chernozhukov")
        start = "The doubly robust estimate came from" if both else "We used"
        kind = "augmented" if both else "augmented (doubly robust)"
        what = _ESTIMATORS["dr"][self.evaluates]
        yield f"{start} a cross-fitted {kind} estimator {cite(*works)}{what}"
        yield "It is consistent if either the weights or the outcome model are correct."

    def _weights(self) -> Iterator[str]:
        """How the weights were made, and what they cost."""
        answer, how, cite = self.answer, self.how, self.cite
        if self.method not in WEIGHTED or not how.trusted:
            return
        if not how.weighter:
            also = ", multiplied by the design weights" if how.weighted else ""
            yield f"The weights were given in advance{also}, and taken as known."
        elif how.met:
            yield (
                "The weights were calibrated to the published numbers, which they meet exactly, by "
                f"{how.weighter} {cite(*dict.fromkeys((*how.weighter_works, 'deville')))}."
            )
        else:
            by = f"{how.weighter} {cite(*how.weighter_works)}".rstrip()
            yield f"The weights were made by {by}."
        if how.max_weight is not None:
            done = f"which cut off {percent(answer.trimmed_share)} of their sum"
            if not answer.trimmed_share:
                done = "which none of them reached"
            yield f"They were limited to {how.max_weight:g} times their mean, {done}."
        yield (
            f"Their effective sample size (Kish) was {answer.effective_sample_size:,.0f} of "
            f"{answer.n_train:,} rows, and the largest weight was {answer.largest_weight:.1f} "
            "times the mean."
        )

        if how.leans and self.method in ("dr", "both"):
            yield (
                "The residuals were weighted by a compromise between these weights and flatter "
                "ones of the same kind, which the data chose in the manner of the nonnegative "
                f"garrote {cite('garrote')}; the change that it makes counts as an error."
            )

    def _models(self) -> Iterator[str]:
        """What the outcome models were, and how they were cross-fitted."""
        how, method = self.how, self.method
        calibrates = method in ("cbpe", "pape")
        for_errors = method == "weights" and bool(how.weighter) and not how.equation
        for_errors &= self.errors_from in ("influence", "replicate weights")
        if method not in (*_MODELLED, "label") and not (calibrates or for_errors):
            return
        parts = () if calibrates else self.answer.models.values()
        names = {name: share for part in parts for name, share in part.items()}
        what = "The outcome model was"
        if method == "label":
            what = "The class probabilities came from"
        elif for_errors:
            what = "An outcome model for the standard errors was"
        if how.outcome_model and not calibrates:
            yield f"{what} {how.outcome_model}."
        elif names:
            yield f"{what} {self._mixture(names, len({tuple(part) for part in parts}) > 1)}."
        over = ""
        if how.deals > 1:
            over = f"; this was averaged over {counted(how.deals, 'deal')} of the folds"
        together = " Rows of one cluster stayed in one fold." if how.clusters else ""
        yield (
            "No row was predicted by a model that had seen it: models were fitted to all but one "
            f"of {how.folds} folds{over}.{together}"
        )

    def _mixture(self, names: Mapping[str, float], several: bool) -> str:
        """Name the models and their shares, unless ``several`` numbers have their own."""
        parts = {_MODELS.get(name, name): share for name, share in names.items()}
        if len(parts) == 1:
            return next(iter(parts))
        words = [name if several else f"{name} ({share:.0%})" for name, share in parts.items()]
        likely = not set(names) <= _OF_NUMBERS
        aim, work = "minimise the cross-fitted error", "stacking"
        if self.evaluates and likely:
            aim, work = "maximise the cross-fitted likelihood", "superlearner"
        own = ", for each quantity by itself," if several else ""
        return f"a mixture of {joined(words)}, with shares{own} that {aim} {self.cite(work)}"

    def _errors(self) -> Iterator[str]:
        """Where standard errors and intervals come from."""
        answer, how, method, cite = self.answer, self.how, self.method, self.cite
        known = method == "weights" and not how.weighter  # weights that were given
        rows = "both samples"
        if how.finite or how.margins or known or method == "none":
            rows = "the sample"
        if method == "both":
            rows = "the target, with and without an outcome"
        drawn = self.errors_from != "influence" and method not in ("model", "label")
        influence = f"Standard errors came from influence values of the rows of {rows}"
        if drawn:
            yield from self._replicates(rows)
        elif method in ("model", "cbpe", "pape"):
            target = "" if how.finite else " and the sampling error of the target"
            yield (
                f"Standard errors came from a jackknife over the folds{target}; they do not count "
                "a bias of the model."
            )
        elif method == "label":
            yield (
                "Standard errors came from influence values of the rows of both samples "
                f"{cite('hampel')}, which count that the shares of the classes were estimated."
            )
        else:
            units = ", by the primary units of the design" if how.clusters or how.strata else ""
            yield f"{influence} {cite('hampel', 'sarndal')}{units}."
            if method == "weights" and how.weighter and how.equation:
                work = "deville" if how.met and how.weighted else "stefanski"
                yield f"They account for the estimation of the weights {cite(work)}."
            elif method == "weights" and how.weighter:
                yield "The imbalance left after weighting was added to the standard errors."
            if method == "dr" and how.small_sample:
                yield (
                    "As a small-sample correction, variances were multiplied by n / (n - p - 1), "
                    "at most by two, with n the effective sample size and p the number of columns "
                    f"that the covariates were coded in {cite('mackinnon')}."
                )
        if method != "none" and how.finite:
            yield (
                "The published numbers were taken as exact."
                if how.margins
                else "The target rows were taken as the whole population, without sampling error."
            )
        elif method != "none" and how.margins and not known:
            yield "The sampling error of the published numbers was counted as well."
        scale = answer._scale(cite)
        yield (
            f"Intervals ({100 * answer.confidence:g}%) use quantiles of Student's distribution "
            f"with Satterthwaite's degrees of freedom{f', {scale}' if scale else ''}."
        )

    def _replicates(self, rows: str) -> Iterator[str]:
        how, cite = self.how, self.cite
        kind, count = how.replicates
        again = ", in each of which the weights were fitted again"
        if self.method == "none":
            again = ""
        elif self.errors_from == "replicate weights" and not how.equation:
            again = ", with the factors of the weights kept"
        if self.errors_from == "replicate weights":
            made = f"the {count:,} replicate weights of the sample (type {kind}){again}"
        elif self.errors_from == "bootstrap":
            made = (
                f"{count:,} bootstrap draws of {rows} with fractional multipliers "
                f"{cite('rubin', 'rao')}{again}"
            )
        else:
            one = "delete-one jackknife within strata"
            made = (
                f"a {one if kind == 'JKn' else 'delete-a-group jackknife'} of {rows} with "
                f"{count:,} replicates {cite('kott')}{again}; a bootstrap would understate the "
                f"error of such weights {cite('abadie')}"
            )
        yield f"Standard errors came from {made}."
        if self.method in _MODELLED:
            yield "The outcome model stayed as it was."

    def _doubt(self) -> Iterator[str]:
        """Sensitivity analyses that were made."""
        odds, robust, cite = self.answer.sensitivity, self.answer._robustness, self.cite
        if odds is not None:
            yield (
                "In a sensitivity analysis unobserved factors could change the odds of being in "
                f"the target up to {odds:g}-fold among rows with the same covariates (marginal "
                f"sensitivity model; {cite('tan')[1:-1]}), with sharp and doubly robust bounds "
                f"{cite('dorn', 'guo')}."
            )
        if robust is not None:
            goal = "undo the correction" if robust.undoes else f"move the answer to {robust.null:g}"
            yield (
                f"How strong an unobserved factor would have to be to {goal} was measured by the "
                f"robustness value {cite('hartman')}."
            )

    def _assumed(self) -> Iterator[str]:
        """The untestable assumption behind the numbers."""
        answer, method = self.answer, self.method
        if method == "none":
            yield "No correction was made, so the numbers describe the sample's population."
        elif method == "both":
            yield (
                "The interval rests on the outcomes of target rows. It assumes that these rows "
                f"{_CHOSEN[self.how.labels][1]}, and not that the outcome behaves the same in the "
                "sample and in the target given the covariates."
            )
        elif method == "label":
            tests = joined([f"p = {test.p_value:.2g}" for test in answer.label_shift])
            yield (
                "The analysis assumes that, within each class, the covariates have the same "
                "distribution in the sample and in the target (label shift). Additional moments "
                f"tested this {self.cite('hansen')}: {tests}."
            )
        else:
            of = "the scores of the model" if method == "cbpe" else "the covariates"
            yield (
                f"The analysis assumes that, given {of}, the outcome behaves the same in the "
                "sample and in the target (covariate shift)."
            )
            changes = answer.changes if self.evaluates else ()
            if changes:
                tests = joined([f"p = {change.p_value:.2g}" for change in changes])
                yield f"Labels of {counted(answer.n_labels, 'target row')} tested this: {tests}."
            else:
                yield "This cannot be checked without outcomes from the target."

    def _software(self) -> str:
        named = [f"{name} {number}" for name, number in self.how.versions.items()]
        self.cite("covshift")
        return (
            f"Computations used {named[0]} with {joined(named[1:])}; the random seed was "
            f"{self.how.random_state}."
        )
