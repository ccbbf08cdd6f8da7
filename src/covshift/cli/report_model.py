"""How good a model is on the targets of ``covshift report``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from ..registry import NONE
from . import console, options
from .estimate import as_options
from .evaluate import TASKS, spelled, target_labels
from .scores import Recorded

if TYPE_CHECKING:
    from .._tables import Samples

_FOLDS = 5


class Judge:
    """Evaluates a model on one target after the other; fitted once where it does not need them.

    Training rows are judged by models that did not see them. Of larger samples as many training
    rows are drawn at random as a comparison takes. Cost: six fits, and `covshift.evaluate`.
    """

    def __init__(
        self, args: argparse.Namespace, learner: str | None = None, method: str = NONE
    ) -> None:
        self.args, self.learner, self.method = args, learner or args.learner, method
        self._fitted: tuple[Any, Any, Any] | None = None  # rows, what was said of them, the model

    def __call__(self, samples: Samples, diagnosis: Any) -> Any:
        """Return `Evaluations`, the error without overlap, or None."""
        from ..evaluations import evaluate

        console.step("judging the model")
        rows = self._some(len(samples.X))
        whole = len(rows) == len(samples.X)
        samples = samples if whole else samples.take(rows)
        labels = samples.labels
        assert labels is not None
        name = self.learner if self.method == NONE else f"{self.learner}, {self.method}"
        try:
            judged, there = self._said(samples)
            found = evaluate(
                {name: judged},
                options.encoded_samples(samples, labels.y, self.args),
                target_scores=None if there is None else {name: there},
                metrics=["accuracy", "roc_auc", "brier"] if len(labels.classes) == 2 else None,
                task=TASKS[labels.task],  # type: ignore[arg-type]
                diagnosis=diagnosis if whole else None,
                random_state=self.args.seed,
                **target_labels(samples, self.args, []),
            )
        except NoOverlapError as error:
            return as_options(error, "evaluate")
        except InputError as error:
            console.note(f"the model was not judged on the target: {error}")
            return None
        return replace(found, notes=spelled(found))

    def _said(self, samples: Samples) -> tuple[Any, Any]:
        """What the model says: of training rows out of fold, of target rows after all others."""
        import numpy as np

        labels = samples.labels
        assert labels is not None
        here, whole = self._models(samples)
        there = whole(samples.X_target)
        if labels.task != "classification":
            return here, there
        names = np.unique(labels.y)
        said = tuple(names[part.argmax(axis=1)] for part in (here, there))
        scores = (here[:, 1], there[:, 1]) if len(names) == 2 else (here, there)
        return Recorded(samples.X, said, scores, names), None

    def _models(self, samples: Samples) -> tuple[Any, Any]:
        """What models say of training rows that they did not see, and one that saw all of them."""
        import numpy as np
        from sklearn.model_selection import KFold, StratifiedKFold

        if self._fitted is not None and np.array_equal(self._fitted[0], samples.X):
            return self._fitted[1:]
        labels = samples.labels
        assert labels is not None
        classes = labels.task == "classification"
        counts = np.unique(labels.y, return_counts=True)[1] if classes else [len(labels.y)]
        if min(counts) < 2:
            raise InputError("a class has a single row.")
        kind = StratifiedKFold if classes else KFold
        folds = kind(min(_FOLDS, int(min(counts))), shuffle=True, random_state=self.args.seed)
        whole = self._fit(samples, np.arange(len(labels.y)))
        here = np.empty((len(labels.y), *whole(samples.X[:2]).shape[1:]))
        for rest, held in folds.split(samples.X, labels.y):
            here[held] = self._fit(samples, rest)(samples.X[held])
        if self.method == NONE:
            self._fitted = samples.X, here, whole
        return here, whole

    def _fit(self, samples: Samples, rows: Any) -> Any:
        """Fit the model to some training rows; return what predicts."""
        from sklearn.preprocessing import StandardScaler

        from ..comparison.methods import fit_method
        from ..encoding import scaled

        labels = samples.labels
        assert labels is not None
        own = None if samples.weight is None else samples.weight[rows]
        seen = self._some(len(samples.X_target))
        share = None if samples.target_weight is None else samples.target_weight[seen]
        scaler = StandardScaler().fit(samples.X[rows], sample_weight=own)
        model = fit_method(
            self.learner,
            self.method,
            labels.task,
            scaled(scaler, samples.X[rows]),
            labels.y[rows],
            scaled(scaler, samples.X_target[seen]),
            sample_weight=own,
            target_weight=share,
            random_state=self.args.seed,
        )
        predict = model.predict_proba if labels.task == "classification" else model.predict
        return lambda X: predict(scaled(scaler, X))

    def _some(self, count: int) -> Any:
        """Numbers of as many rows as a comparison takes."""
        import numpy as np

        from ..comparison.methods import learner_entry

        limit = self.args.max_rows or learner_entry(self.learner).max_rows
        if count <= limit:
            return np.arange(count)
        return np.sort(np.random.default_rng(self.args.seed).choice(count, limit, replace=False))
