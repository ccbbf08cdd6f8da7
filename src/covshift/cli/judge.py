"""How good a model is on the targets of ``covshift report``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from ..registry import NONE
from . import console
from .evaluate import in_options

if TYPE_CHECKING:
    from .labels import Labelled
    from .report import Arguments


class Judge:
    """Evaluates a model on one target after the other; fitted once where it does not need them.

    It is the recommended one of a ``comparison``, if there is one, with the kernel found there.
    Training rows are judged by models that did not see them. Of larger samples as many training
    rows are drawn at random as a comparison takes. Cost: six fits, and `covshift.evaluate`.
    """

    def __init__(self, options: Arguments, comparison: Any = None) -> None:
        self.options, self.learner, self.method = options, options.learner, NONE
        self._options: dict[str, Any] = {}
        if comparison is not None:
            self.learner, self.method = str(comparison.learner), comparison.recommended
            self._options = comparison.rows_compared.options(self.method)
        self._fitted: tuple[Any, Any, Any] | None = None  # rows, what was said of them, the model

    def __call__(self, samples: Labelled, diagnosis: Any) -> Any:
        """Return `Evaluations`, the error without overlap, or None."""
        from ..evaluations import Predictions, evaluate
        from .predictions import TASKS

        console.step("judging the model")
        rows = self._some(len(samples.both.X))
        samples = samples if len(rows) == len(samples.both.X) else samples.take(rows)
        labels = samples.labels
        name = self.learner if self.method == NONE else f"{self.learner}, {self.method}"
        try:
            judged, there = self._said(samples)
            answer = evaluate(
                Predictions(
                    {name: judged},
                    None if there is None else {name: there},
                    task=TASKS[labels.task],
                ),
                replace(samples.both, diagnosis=diagnosis),
                metrics=["accuracy", "roc_auc", "brier"] if len(labels.classes) == 2 else None,
                method="dr",  # labels of the target check it
                random_state=self.options.seed,
                y_target=samples.target_labels,
            )
        except NoOverlapError as error:
            return error.of_command(["evaluate", "..."])
        except InputError as error:
            console.note(f"the model was not judged on the target: {error}")
            return None
        return in_options(answer)

    def _said(self, samples: Labelled) -> tuple[Any, Any]:
        """What the model says: of training rows out of fold, of target rows after all others."""
        import numpy as np

        from ..evaluations import Predicted

        labels = samples.labels
        here, whole = self._models(samples)
        there = whole(samples.T)
        if labels.task != "classification":
            return here, there
        names = np.unique(labels.y)
        said = tuple(names[part.argmax(axis=1)] for part in (here, there))
        scores = (here[:, 1], there[:, 1]) if len(names) == 2 else (here, there)
        return Predicted(said, scores, names), None

    def _models(self, samples: Labelled) -> tuple[Any, Any]:
        """What models say of training rows that they did not see, and one that saw all of them."""
        import numpy as np
        from sklearn.preprocessing import StandardScaler

        from ..comparison.methods import fit_method, found_once, out_of_fold
        from ..encoding import scaled

        labels, X, T = samples.labels, samples.X, samples.T
        if self._fitted is not None and np.array_equal(self._fitted[0], X):
            return self._fitted[1:]
        classes = labels.task == "classification"
        if classes and min(np.unique(labels.y, return_counts=True)[1]) < 2:
            raise InputError("a class has a single row.")
        scaler = StandardScaler().fit(X, sample_weight=samples.weight)
        seen = self._some(len(T))
        rows = scaled(scaler, X), labels.y, scaled(scaler, T[seen])
        share = None if samples.target_weight is None else samples.target_weight[seen]
        given: dict[str, Any] = {
            "sample_weight": samples.weight,
            "target_weight": share,
            "random_state": self.options.seed,
        }
        named = self.learner, self.method
        model = fit_method(*named, labels.task, *rows, options=self._options, **given)
        options = found_once(*named, model)
        here = out_of_fold(*named, labels.task, *rows, options=options, **given)
        predict = model.predict_proba if classes else model.predict

        def whole(X: Any) -> Any:
            return predict(scaled(scaler, X))

        if self.method == NONE:
            self._fitted = X, here, whole
        return here, whole

    def _some(self, count: int) -> Any:
        """Numbers of as many rows as a comparison takes."""
        import numpy as np

        from ..comparison.methods import learner_entry

        limit = self.options.max_rows or learner_entry(self.learner).max_rows
        if count <= limit:
            return np.arange(count)
        return np.sort(np.random.default_rng(self.options.seed).choice(count, limit, replace=False))
