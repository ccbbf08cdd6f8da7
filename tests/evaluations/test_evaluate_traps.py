"""`evaluate` in clumsy hands: clear refusals, notes on what may be wrong, and the same numbers."""

from __future__ import annotations

import json
import pickle
import warnings
from datetime import datetime

import numpy as np
import pytest
from calls import evaluate_with
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import Cost, Predictions, diagnose, evaluate
from covshift.data.columns import spelled
from covshift.engine.intervals import Errors
from covshift.evaluations import masses as on
from covshift.evaluations.core import rows_of_batches
from covshift.evaluations.masses import Masses
from covshift.evaluations.problem import _with_scores
from covshift.evaluations.scored import Scored
from covshift.exceptions import FewRowsWarning, InputError, InputTypeError
from covshift.numerics.influence import Design, Influence

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

N, M = 80, 60
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.3, 1, size=(M, 2))
SLOPES = np.array([1.0, -0.8])
Y = (_rng.uniform(size=N) < 1 / (1 + np.exp(-X @ SLOPES))).astype(int)
Y_TARGET = (_rng.uniform(size=M) < 1 / (1 + np.exp(-T @ SLOPES))).astype(int)
Z = 1 + X @ SLOPES + _rng.normal(size=N)
MODEL = LogisticRegression().fit(X[:40], Y[:40])
NUMBERS = LinearRegression().fit(X[:40], Z[:40])
P, P_TARGET = MODEL.predict_proba(X)[:, 1], MODEL.predict_proba(T)[:, 1]
HALF = np.where(np.arange(M) < M // 2, 0, 1)


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    """Evaluate with a simple outcome model and weights of one: fast."""

    def asked(model=MODEL, y=Y, target=T, X=X, **options):
        own = LinearRegression() if model is NUMBERS else LogisticRegression()
        usual = {"outcome_model": own, "weighter": np.ones(N)}
        return evaluate_with(diagnosis, model, X, y, target, **{**usual, **options})

    return asked


def notes(found, kind):
    return [note.text for note in found.notes if note.kind == kind]


def numbers(found):
    return np.array([[r.value, r.standard_error, *r.interval] for r in found.table])


class Duck:
    """A classifier that knows nothing of scikit-learn."""

    classes_ = (0, 1)

    def predict(self, X):
        return MODEL.predict(X)

    def predict_proba(self, X):
        return MODEL.predict_proba(X)


class Silent:
    def predict(self, X):
        return MODEL.predict(X)


class Short(Duck):
    def predict(self, X):
        return MODEL.predict(X)[1:]


class Broken(Duck):
    def predict(self, X):
        raise RuntimeError("no power")


def _fails(y, s):
    raise KeyError("price")


def _one_argument(y):
    return y


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": np.ones(N, int)}, "of the class '1'"),
        ({"sample_weight": Y * 1.0}, "of the class '1'"),
        ({"trained_on": np.flatnonzero(Y)}, "of the class '0'"),
        ({"y": Y == 1}, r"\['False', 'True'\].*as the model's classes_"),
        ({"y": None}, "y=None holds no values"),
        ({"y_target": "label"}, "y_target='label' names a column, but X_target"),
        ({"y_target": Y_TARGET == 1}, "y_target holds .*as the model's classes_"),
        ({"trained_on": (np.arange(N) < 40) * 1}, "pass booleans"),
        ({"trained_on": "rows"}, "trained_on='rows' names a column"),
        ({"cv": 1}, "cannot be refitted by folds with cv=1"),
        ({"cv": "5"}, "cannot be refitted by folds"),
        ({"model": Duck(), "cv": 3}, "an estimator of scikit-learn's kind"),
        ({"model": Silent()}, "neither a classifier nor a regressor"),
        ({"model": Short()}, "one answer per row"),
        ({"model": Broken()}, "no power"),
        ({"model": [MODEL, MODEL]}, "list of models. Pass a dict"),
        ({"model": {1: MODEL, "1": MODEL}}, "spelled the same"),
        ({"model": {"a": MODEL, "b": NUMBERS}}, "'a' knows the classes .*'b' predicts numbers"),
        ({"model": NUMBERS, "y": np.array(["no", "yes"])[Y]}, "pass a classifier"),
        ({"metrics": _fails}, "'_fails' failed: KeyError: 'price'"),
        ({"metrics": _one_argument}, "'_one_argument' failed: TypeError"),
        ({"metrics": Cost("abc")}, r"Cost\('abc'\) is not a table"),
        ({"metrics": Cost([[1], [2, 3]])}, "is not a table of costs"),
        ({"weighter": LogisticRegression()}, "no usable fit"),
        ({"sample_weight": "w"}, "sample_weight='w' names a column, but X"),
        ({"X": X * 1e200, "target": T * 1e200}, "X has numbers beyond 1e.100 in 'x0', 'x1'"),
        ({"target": T * [1, 1e200]}, "X_target has numbers beyond 1e.100 in 'x1'"),
        ({"batch": "month"}, "X_target has no such column"),
    ],
)
def test_what_cannot_be_judged_is_refused(ask, options, message):
    with pytest.raises(InputError, match=message):
        ask(**options)


@pytest.mark.parametrize(
    ("scores", "target", "options", "message"),
    [
        (P, P_TARGET, {"y": np.ones(N)}, 'task="numbers"'),
        (P, P_TARGET, {"y": np.array(["a", "b", "c"])[np.arange(N) % 3]}, "one score per class"),
        (P * 1e150, P_TARGET, {}, "scores beyond 1e.100"),
        (np.ones((N, 3)), np.ones((M, 3)), {}, "3 scores per row; expected one score"),
        ([*P[1:], None], P_TARGET, {}, "NaN or infinity .rows 79.*leave these rows out"),
    ],
)
def test_scores_that_cannot_be_read_are_refused(ask, scores, target, options, message):
    with pytest.raises(InputError, match=message):
        ask(scores, target_scores=target, **options)


def test_a_sparse_matrix_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputTypeError, match="toarray"):
        evaluate(Predictions(P, P_TARGET), sparse.csr_matrix(X), Y, T)


@pytest.mark.thorough
def test_models_of_other_kinds_and_labels_of_all_kinds_give_the_same(ask):
    expected = numbers(ask())
    for model, y in (
        (Duck(), Y),
        (MODEL, Y.astype(float)),
        (MODEL, Y[:, None]),
        (MODEL, np.ma.array(Y)),
        (MODEL, list(map(int, Y))),
    ):
        assert numbers(ask(model, y)) == pytest.approx(expected, nan_ok=True)


def test_metrics_may_come_one_by_one(ask):
    found = ask({"a": MODEL, "b": MODEL}, metrics=(name for name in ("accuracy", "brier")))
    assert len(found.overall) == 4


@pytest.mark.thorough
def test_trained_on_takes_booleans_of_any_kind_and_no_rows_at_all(ask):
    flags = np.arange(N) < 20
    expected = numbers(ask(trained_on=flags))
    for given in (flags.astype(object), flags.tolist(), np.arange(20)):
        assert numbers(ask(trained_on=given)) == pytest.approx(expected)
    assert numbers(ask(trained_on=[])) == pytest.approx(numbers(ask()))


def test_the_order_of_the_rows_does_not_matter(ask):
    rows, target = np.random.default_rng(1).permutation(N), np.random.default_rng(2).permutation(M)
    other = ask(y=Y[rows], X=X[rows], target=T[target])
    assert numbers(other) == pytest.approx(numbers(ask()), abs=1e-5)


def test_neither_the_model_nor_the_data_are_changed(ask):
    before = pickle.dumps((MODEL, X, Y, T))
    ask(metrics=[lambda y, s: np.abs(np.subtract(s, y, out=s))], cv=3)
    assert pickle.dumps((MODEL, X, Y, T)) == before


def test_a_loss_that_overwrites_what_it_gets_spoils_no_other_metric(ask):
    def spoils(y, f):
        y[:], f[:] = 0.0, 0.0
        return y

    found = ask(NUMBERS, Z, metrics=[spoils, "mae"])
    assert found["mae"].value == pytest.approx(ask(NUMBERS, Z, metrics="mae")["mae"].value)


@pytest.mark.thorough
def test_scores_of_any_size_give_the_same(ask):
    """Squares of scores neither overflow nor vanish."""
    expected = numbers(ask(P - 0.5, target_scores=P_TARGET - 0.5))
    for size in (1e-250, 1e70):
        found = ask((P - 0.5) * size, target_scores=(P_TARGET - 0.5) * size)
        assert numbers(found) == pytest.approx(expected, nan_ok=True)


@pytest.mark.thorough
@pytest.mark.parametrize("unit", [1e-70, 1e70])
def test_errors_of_numbers_do_not_depend_on_the_unit(ask, unit):
    """Variances of squares are fourth powers, which overflow or vanish."""
    predicted = NUMBERS.predict(X), NUMBERS.predict(T)
    options = {"weighter": None, "outcome_model": LinearRegression(), "task": "numbers"}
    one, other = (
        ask(predicted[0] * u, Z * u, target_scores=predicted[1] * u, **options) for u in (1, unit)
    )
    for metric, size in (("r2", 1.0), ("rmse", unit)):
        assert other[metric].value == pytest.approx(size * one[metric].value, rel=1e-6)
        error = one[metric].standard_error
        assert other[metric].standard_error == pytest.approx(size * error, rel=1e-6)


def test_errors_beyond_all_comparison_have_no_r2(ask):
    """Predictions of seven for outcomes of 1e-99: its derivative overflows."""
    options = {"weighter": None, "outcome_model": LinearRegression(), "task": "numbers"}
    found = ask(np.full(N, 7.0), Z * 1e-99, target_scores=np.full(M, 7.0), **options)
    assert found["rmse"].value == pytest.approx(7)
    assert np.isnan(found["r2"].value)


def test_a_positive_number_of_one_row_has_no_upper_end():
    one = Influence(np.array([3.0]), np.zeros((9, 1)), np.zeros((0, 1)))
    found = Errors(Design.simple(9), 0.0, 1.0, 1.0, 0.95).number(one, positive=True)
    assert (found.low, found.high) == (0.0, np.inf)


def test_two_columns_of_scores_choose_the_larger(ask):
    """They are no probabilities, and zero is no threshold of theirs."""
    columns = [np.column_stack([1 - p, 0.9 * p]) for p in (P, P_TARGET)]
    found = ask(columns[0], target_scores=columns[1], method="none")
    right = (columns[0].argmax(axis=1) == Y).mean()
    assert found["accuracy"].value == pytest.approx(right)
    assert "do not sum to one" in notes(found, "scores")[0]


def test_rounded_probabilities_are_probabilities(ask):
    columns = [np.column_stack([1.005 - p, p]).round(3) for p in (P, P_TARGET)]
    assert ask(columns[0], target_scores=columns[1])["brier"].value > 0


@pytest.mark.thorough
def test_probabilities_here_and_log_odds_there_are_noted(ask):
    odds = np.log(P_TARGET / (1 - P_TARGET))
    assert "on the labelled rows, but not" in notes(ask(P, target_scores=odds), "scores")[0]
    assert not notes(ask(np.log(P / (1 - P)), target_scores=odds), "scores")
    assert not notes(ask(), "scores")


def test_scores_in_per_cent_that_predict_one_class_are_noted(ask):
    found = ask(100 * P, target_scores=100 * P_TARGET)
    assert (
        "'1' for every row. Scores beyond 0 and 1 are cut at 0" in notes(found, "one prediction")[0]
    )
    assert not notes(ask(100 * P, target_scores=100 * P_TARGET, threshold=50), "one prediction")


def test_a_class_that_no_labelled_row_has_is_noted(ask):
    model = LogisticRegression().fit(X, np.arange(N) % 3)
    assert "has: 2." in notes(ask(model), "absent classes")[0]
    assert not notes(ask(), "absent classes")


def test_labels_of_one_class_do_not_define_the_auc(ask):
    found = ask(y_target=np.where(np.arange(M) < 20, 1.0, np.nan))
    said = notes(found, "undefined labels")[0]
    assert "20 labels of the target by themselves do not define AUC" in said
    assert np.isfinite(found["roc_auc"].value)  # the correction knows both classes
    assert not notes(ask(y_target=Y_TARGET), "undefined labels")


@pytest.mark.thorough
def test_a_target_of_a_single_row_is_noted(ask):
    assert notes(ask(target=T[:1]), "one target row")
    assert not notes(ask(), "one target row")
    found = ask(batch=np.where(np.arange(M) == 7, "b", "a"))
    assert notes(found, "batch") == [found.notes[-1].text]
    assert "single target row: b." in found.notes[-1].text
    assert notes(found.batches["b"], "one target row")


@pytest.mark.thorough
def test_batches_are_in_order_and_dates_are_written_as_dates(ask):
    labels = rows_of_batches(np.array([10.5, 2.5])[HALF], M)
    assert [label for label, _ in labels] == ["2.5", "10.5"]
    days = np.array(["2024-01-31", "2024-02-29"], dtype="datetime64[ns]")
    assert [*ask(batch=days[HALF]).batches] == ["2024-01-31", "2024-02-29"]
    assert spelled(datetime(2024, 1, 31, 12)) == "2024-01-31 12:00:00"


def test_a_batch_without_weight_has_no_numbers(ask):
    found = ask(batch=HALF, target_weight=HALF * 1.0)
    assert [*found.batches] == ["1"]
    assert "'0' has no weight" in notes(found, "batch")[0]


@pytest.mark.thorough
def test_a_column_of_the_target_alone_holds_batches_and_no_feature(ask):
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(part, columns=["a", "b"]) for part in (X, T)]
    found = ask(P, X=frames[0], target=frames[1].assign(m=HALF), target_scores=P_TARGET, batch="m")
    assert numbers(found) == pytest.approx(numbers(ask(P, target_scores=P_TARGET)))
    assert [*found.batches] == ["0", "1"]


def test_scores_become_columns_of_their_own_beside_those_of_a_frame():
    pandas = pytest.importorskip("pandas")
    for names, last in ((["a", "score 1"], "score 2"), ([0, 1], 2), (["a", "b"], "score 1")):
        frame = pandas.DataFrame(X, columns=names)
        found = _with_scores(frame, P[:, None])
        assert [*found.columns] == [*names, last]
        assert (found[names].to_numpy() == X).all()
        assert [*frame.columns] == names


def test_calibration_needs_scores_that_differ_and_lie_between_zero_and_one():
    mass = np.eye(2)[Y]
    for p, slope, intercept in (
        (np.full(N, 0.3), False, True),
        (np.round(P), False, False),
        (P, True, True),
    ):
        masses = Masses(mass, np.column_stack([1 - p, p]), Y)
        assert np.isfinite(on.calibration_slope(masses, 1).value) == slope
        assert np.isfinite(on.calibration_intercept(masses, 1).value) == intercept


def test_an_undefined_metric_is_said_so(ask):
    found = ask(threshold=2.0, metrics="precision")
    assert found.sentence == "Precision: not defined on the target."
    assert "nan" not in json.dumps(found.to_dict(), allow_nan=False)


def test_methods_that_differ_by_rounding_do_not_disagree(ask):
    """Every error is a third: all methods say so, with no spread."""
    options = {"task": "numbers", "metrics": "mae", "outcome_model": None}
    found = ask(Z - 1 / 3, Z, target_scores=T[:, 0], **options)
    assert not notes(found, "disagreement")


@pytest.mark.parametrize(("value", "error"), [(0.9997, 0.0015), (0.9992, 0.005), (0.0005, 0.003)])
def test_the_interval_of_a_share_near_its_end_is_no_wider_than_the_error_deserves(value, error):
    influence = np.array([error, -error]) / np.sqrt(2)
    found = Influence(np.array([value]), influence[:, None], np.zeros((0, 1)))
    errors = Errors(Design.simple(2), 100.0, 110.0, 110.0, 0.95)
    number = errors.number(found, proportion=True)
    assert number.low <= value <= number.high
    assert number.high - number.low < 0.11
    assert errors.number(found, positive=True).high <= value + 6.5 * number.standard_error


def test_columns_of_scores_have_a_spread_of_one_whatever_their_size():
    for size in (1e-300, 1.0, 1e99):
        s = (P * size)[:, None]
        scored = Scored("s", np.hstack([-s, s]), np.hstack([-s, s]), "scores", ("0", "1"), 1)
        assert scored.columns()[0].std() == pytest.approx(1.0)


@pytest.mark.thorough
def test_a_strong_shift_is_the_first_thing_said():
    """Far from the labelled rows the models extrapolate, and no interval counts that."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(400, 3)), rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    model = LogisticRegression().fit(X[:200], y[:200])
    for far, warned in ((0.0, False), (1.4, True)):
        away = T + np.array([far, far / 2, 0.0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)
            found = evaluate(model, X[200:], y[200:], away)
        assert ("extrapolated" in found.caution) == warned
        assert (found.verdict == "strong") == warned


def rare_problem(seed, N=300, M=600):
    """About 5 % of the target's labels are positive, 2 % of the labelled rows'."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 4)), rng.normal(size=(M, 4))
    T[:, :2] += 0.6
    chance = 1 / (1 + np.exp(4.6 - X[:, :2] @ [1.2, 0.8]))
    return X, (rng.random(N) < chance).astype(int), T


class Threshold(ClassifierMixin, BaseEstimator):
    """A model whose score is a column: it is not learned."""

    classes_ = np.array([0, 1])

    def __init__(self, column=0):
        self.column = column

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(3.2 - 1.6 * np.asarray(X)[:, self.column]))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)


@pytest.mark.thorough
def test_intervals_of_precision_hold_where_positives_are_rare():
    """They held in half of the runs when the outcome model counted as known."""
    rng = np.random.default_rng(1)
    T = rng.normal(size=(200_000, 4))
    T[:, :2] += 0.6
    y = rng.random(len(T)) < 1 / (1 + np.exp(4.6 - T[:, :2] @ [1.2, 0.8]))
    truth = y[Threshold().predict(T) == 1].mean()
    runs = 60
    held = 0
    for seed in range(runs):
        low, high = evaluate(Threshold(), *rare_problem(seed), metrics="precision")[
            "precision"
        ].interval
        held += low <= truth <= high
    assert held / runs > 0.75
