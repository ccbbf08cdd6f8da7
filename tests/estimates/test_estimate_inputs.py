"""What `estimate` is given: every kind of input, and clear words for what it cannot use."""

from __future__ import annotations

import ast
import re
import warnings
from decimal import Decimal

import numpy as np
import pytest
from calls import estimate_with
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from covshift import (
    CDF,
    Coefficients,
    Difference,
    Proportion,
    Quantile,
    Ratio,
    Target,
    Total,
    diagnose,
    estimate,
)
from covshift.estimates import Trimmed
from covshift.exceptions import InputError, InputTypeError, NoOverlapError

N, M = 60, 50
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.3, 1, size=(M, 2))
Y = X[:, 0] + _rng.normal(size=N)
LABELS = np.array(["u", "v", "w"] * 20)
ONES = np.ones(N)
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(y=Y, X=X, T=T, **options):
        same = X.shape == (N, 2) and np.shape(T) == (M, 2)
        options = {"outcome_model": Ridge(), "weighter": "entropy", **options}
        return estimate_with(diagnosis if same else None, X, y, T, **options)

    return asked


def notes(found, kind):
    return [str(note) for note in found.notes if note.kind == kind]


# Refused, in words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y": ONES * np.nan}, "'y' is missing in every row"),
        ({"y": [None] * N}, "'y' is missing in every row"),
        ({"y": LABELS, "what": "mean"}, "holds text .* what='proportion'"),
        ({"y": np.where(np.arange(N) == 2, np.inf, Y)}, r"infinite .* \(rows 2\)"),
        ({"y": Y * 1e101}, "beyond 1e"),
        ({"y": [10**400, *Y[1:]]}, r"beyond .*\(rows 0\)"),
        ({"y": [[1, 2]] * (N - 1) + [[1]]}, "different lengths"),
        ({"y": np.empty((N, 0))}, "no columns"),
        ({"T": None}, "X_target is None"),
        ({"sample_weight": (np.arange(N) == 0) * 1.0}, "Only 1 of 60 .* at least two"),
        ({"strata": ONES[1:]}, "strata has 59 entries"),
        ({"strata": "zz"}, "strata='zz' names a column"),
        ({"cluster": [None, *ONES[1:]]}, r"cluster is missing in 1 rows of X \(rows 0\)"),
        ({"cluster": ONES}, "in one cluster.* Leave out cluster"),
        ({"by": ONES[1:]}, "by has 59 entries"),
        ({"by": "zz"}, "by='zz' names a column"),
        ({"by": (LABELS, LABELS)}, "by has 60 entries, but X_target has 50"),
        ({"by": (LABELS, LABELS, LABELS)}, "tuple of 3"),
        ({"by": np.ones((N, 2))}, "by has 2 dimensions"),
        ({"by": [np.nan, *LABELS[1:]]}, "by is missing in 1 rows"),
        ({"what": "mode"}, "what='mode' must be"),
        ({"method": "magic"}, "method='magic' must be"),
        ({"weighter": "magic"}, "weighter='magic' is unknown"),
        ({"weighter": np.ones(3)}, r"weighter has shape \(3,\)"),
        ({"weighter": 0 * ONES}, "zero for every row"),
        ({"what": Quantile}, r"what=Quantile is a class. Pass what=Quantile\(...\)"),
        ({"what": "quantile"}, r"needs q: pass what=Quantile\(0.9\)"),
        *(({"what": Quantile(q)}, "q=") for q in (0, 1, -1, np.nan, "a", [], [[0.1]])),
        ({"what": "cdf"}, r"needs at: pass what=CDF\(\[10, 20\]\)"),
        *(({"what": CDF(at)}, "at=") for at in (np.nan, "a", [])),
        ({"what": "total"}, r"pass what=Total\(5000\)"),
        ({"what": Total(-1)}, "size=-1 must be"),
        ({"what": "ratio"}, "needs denominator: pass what=Ratio"),
        ({"what": Ratio(None)}, "needs a denominator"),
        ({"what": Ratio(0 * ONES)}, "denominator is zero"),
        ({"what": Ratio(LABELS)}, "'denominator' holds text"),
        ({"what": Ratio(X)}, "denominator has 2 columns"),
        ({"what": "difference"}, "name them with by"),
        ({"what": "difference", "by": ONES}, "by has 1 with rows"),
        ({"what": Difference("z"), "by": LABELS}, "reference='z' is not one"),
        ({"what": Proportion("z"), "y": LABELS}, "no row has the outcome 'z'"),
        ({"what": Proportion([]), "y": LABELS}, "names no category"),
        ({"what": Coefficients(family="logistic")}, "zeros and ones"),
        ({"what": Coefficients("age")}, "'age' is not one of the columns"),
        ({"what": Coefficients([2])}, "2 is not one of the columns"),
        ({"what": Coefficients(0.5)}, "0.5 is not one of the columns"),
        ({"what": "coefficients", "by": LABELS}, "leave out by"),
        ({"what": Coefficients(family="logistic"), "y": (X[:, 0] > 0) * 1}, "no finite"),
        ({"confidence": 95}, "confidence=95 must be"),
        ({"replicates": 1}, "replicates=1 must be"),
        ({"weighter": Trimmed(1)}, "max_weight=1 must be"),
        ({"random_state": None}, "random_state=None must be"),
        ({"restrict": "all"}, "restrict='all' must be"),
        ({"T": Target(T, batch="month")}, "batch is for evaluate"),
    ],
)  # fmt: skip
def test_input_that_cannot_be_used_is_refused_in_words(ask, options, words):
    with pytest.raises(InputError, match=words):
        ask(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weighter": 5}, "weighter=5 has no usable fit"),
        ({"outcome_model": RandomForestRegressor}, "is not an estimator. Pass an instance"),
        ({"outcome_model": "forest"}, "is not an estimator"),
        ({"outcome_model": LogisticRegression()}, "a classifier, but the outcome has numbers"),
        ({"y": Y > 0, "outcome_model": LinearSVC()}, "has no predict_proba"),
    ],
)
def test_objects_of_another_kind_are_refused(ask, options, words):
    with pytest.raises(InputTypeError, match=words):
        ask(**options)


def test_columns_that_depend_on_one_another_have_no_coefficients(ask):
    with pytest.raises(InputError, match="linearly dependent"):
        ask(X=X[:, [0, 1, 0]], T=T[:, [0, 1, 0]], what="coefficients")


def test_a_model_of_numbers_gets_the_encoded_table():
    pandas = pytest.importorskip("pandas")
    rows, there = (
        pandas.DataFrame({"a": Z[:, 0], "c": list("uv") * (len(Z) // 2)}) for Z in (X, T)
    )
    found = estimate(rows, Y, there, outcome_model=Ridge(), weighter="entropy")
    rows, there = (np.column_stack([Z[:, 0], np.arange(len(Z)) % 2]) for Z in (X, T))
    by_hand = estimate(rows, Y, there, outcome_model=Ridge(), weighter="entropy")
    assert found.value == pytest.approx(by_hand.value)


def test_too_many_groups_are_refused():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(201, 1))
    with pytest.raises(InputError, match=r"201 different groups\. At most 200"):
        estimate(rows, rows[:, 0], rows, by=np.arange(201))


# Constant outcomes, few rows, groups that are not there


@pytest.mark.parametrize("model", [None, Ridge()])
def test_a_constant_outcome_has_no_error_and_a_warning(ask, model):
    found = ask(3 * ONES, outcome_model=model)
    assert found.value == pytest.approx(3, rel=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)
    assert notes(found, "constant outcome") == ["The outcome 'y' is 3.0 in every row."]
    median = ask(3 * ONES, what="median")
    assert (median.value, median.interval) == (3, (3, 3))


def test_a_share_of_zero_or_one_has_an_exact_interval(ask):
    low, high = ask(0 * ONES).interval
    assert low == 0
    assert 0.025 == pytest.approx((1 - high) ** ask().effective_sample_size, rel=1e-6)
    assert ask(LABELS[[0] * N], what="proportion").interval == pytest.approx((1 - high, 1))


def test_the_largest_outcome_bounds_a_median_where_most_rows_have_it(ask):
    y = np.where(np.arange(N) % 5 == 0, Y, 10.0)
    found = ask(y, what="median")
    assert found.interval == (10, 10)
    assert ask(what=Quantile(0.999)).interval[1] == np.inf


def test_a_group_of_one_row_has_an_infinite_interval_and_a_warning(ask):
    by = np.array(["a"] * 30 + ["b"] * 29 + ["c"])
    for options in ({}, {"replicates": 4}, {"replicates": 4, "weighter": "entropy"}):
        found = ask(by=by, **options)
        assert [row.group for row in found] == [None, "a", "b", "c"]
        assert found.estimates[-1].interval == (-np.inf, np.inf)
        assert "'c' (1)" in notes(found, "small groups")[0]
    difference = ask(by=by, what="difference")
    assert difference.estimates.where(what="c - a")[0].interval == (-np.inf, np.inf)
    assert "'c - a' (1)" in notes(difference, "small groups")[0]


def test_groups_that_one_sample_lacks_are_named(ask):
    here = np.array(["a"] * 30 + ["b"] * 20 + ["c"] * 10)
    there = np.array(["a"] * 20 + ["b"] * 20 + ["d"] * 10)
    found = ask(by=(here, there), weighter="energy")  # entropy balancing has no such weights
    assert [row.group for row in found] == [None, "a", "b"]
    absent, only = notes(found, "absent groups")
    assert "'d' (20.0%)" in absent
    assert only.endswith("no number: 'c'.")


def test_missing_outcomes_are_left_out_counted_and_named(ask):
    y = Y.copy()
    y[[3, 7]] = np.nan
    found = ask(y)
    kept = np.setdiff1d(np.arange(N), [3, 7])
    expected = ask(Y[kept], X[kept])
    assert found.value == pytest.approx(expected.value)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert found.n_train == 58
    assert not found.weights[[3, 7]].any()
    assert "missing in 2 of 60 rows, which were left out (rows 3, 7)" in found.notes[0].text
    ratio = ask(what=Ratio(np.where(np.isnan(y), np.nan, 2.0)))
    assert "denominator is missing in 2 of 60" in notes(ratio, "missing outcomes")[0]
    assert ratio.value == pytest.approx(expected.value / 2)


def test_rows_of_weight_zero_are_not_there(ask):
    d = np.r_[np.zeros(10), np.ones(50)]
    expected = ask(Y[10:], X[10:], sample_weight=np.ones(50))
    found = ask(sample_weight=d)
    assert found.value == pytest.approx(expected.value)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert found.n_train == 50
    v = np.r_[np.zeros(10), np.ones(40)]
    without = ask(T=T[10:])
    zeros = ask(target_weight=v)
    assert zeros.value == pytest.approx(without.value)
    # zero rows do not count: their influence is zero, and M / (M - 1) is that of all rows
    assert zeros.standard_error == pytest.approx(without.standard_error, rel=0.01)


def test_given_weights_may_rest_on_one_row(ask):
    found = ask(weighter=(np.arange(N) == 4) * 1.0, method="weights")
    assert found.value == pytest.approx(Y[4])
    assert found.interval == (-np.inf, np.inf)


def test_two_training_rows_have_an_answer():
    for model in (None, Ridge()):
        found = estimate(X[:2], Y[:2], T, outcome_model=model, weighter=np.ones(2))
        assert np.isfinite(found.value)
        assert found.interval[1] - found.interval[0] > 10  # one degree of freedom
    with pytest.raises(InputError, match="at least two"):
        estimate(X[:1], Y[:1], T)


def test_fewer_rows_than_folds(ask):
    found = estimate(X[:4], Y[:4], T, outcome_model=Ridge(), weighter=np.ones(4))
    assert np.isfinite(found.standard_error)


def test_one_target_row_says_so(ask):
    one = ask(T=T[:1], weighter=ONES)
    assert "single target row" in notes(one, "one target row")[0]
    whole = ask(weighter=ONES, T=Target(T[:1], finite_population=True))
    assert not notes(whole, "one target row")
    assert one.value == whole.value


def test_designs_at_their_limits(ask):
    rows = ask()
    assert ask(cluster=np.arange(N)).standard_error == pytest.approx(rows.standard_error, rel=0.1)
    assert np.isfinite(ask(cluster=np.arange(N) % 2).standard_error)
    single = ask(strata=np.arange(N))
    assert single.interval == (-np.inf, np.inf)
    assert "60 strata have a single unit" in notes(single, "single units")[0]
    two = ask(strata=np.r_[np.zeros(58), 1, 2])
    assert np.isfinite(two.interval).all()
    assert "2 strata" in notes(two, "single units")[0]
    same_names = ask(strata=np.arange(N) // 30, cluster=np.arange(N) % 3)
    other_names = ask(
        strata=np.arange(N) // 30, cluster=np.arange(N) % 3 + 3 * (np.arange(N) // 30)
    )
    assert same_names.standard_error == pytest.approx(other_names.standard_error)


def test_a_target_is_the_whole_population_or_not():
    with pytest.raises(InputError, match="finite_population='yes' must be True or False"):
        Target(T, finite_population="yes")


# Sizes and kinds of outcomes


@pytest.mark.part(3)
@pytest.mark.parametrize("what", ["mean", "median", "coefficients"])
@pytest.mark.parametrize("unit", [1e99, 1e-150])
def test_outcomes_of_any_size(ask, what, unit):
    found, usual = ask(unit * Y, what=what), ask(what=what)
    np.testing.assert_allclose(np.asarray(found.value) / unit, usual.value, rtol=1e-9)
    np.testing.assert_allclose(
        np.asarray(found.standard_error) / unit, usual.standard_error, rtol=1e-9
    )
    assert str(found)


def test_a_ratio_of_sizes_that_do_not_square(ask):
    below = np.exp(X[:, 1])
    found = ask(1e99 * Y, what=Ratio(1e-99 * below), outcome_model=None)
    usual = ask(what=Ratio(below), outcome_model=None)
    assert found.value / 1e198 == pytest.approx(usual.value)
    assert found.standard_error / 1e198 == pytest.approx(usual.standard_error)


def test_kinds_of_numbers_are_the_same_numbers(ask):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    counts = np.arange(N) % 3
    kinds = {
        "list": counts.tolist(),
        "float32": counts.astype(np.float32),
        "objects": counts.astype(object),
        "decimals": [Decimal(int(k)) for k in counts],
        "column": counts[:, None],
        "masked": np.ma.masked_array(counts, mask=np.zeros(N, bool)),
        "series": pandas.Series(counts, index=np.arange(N) + 100),
        "nullable": pandas.Series(counts).astype("Int64"),
        "frame": pandas.DataFrame({"y": counts}),
        "polars": polars.Series("y", counts),
        "polars frame": polars.DataFrame({"y": counts}),
    }
    expected = ask(counts)
    for kind, y in kinds.items():
        found = ask(y)
        assert found.value == expected.value, kind
        assert found.standard_error == expected.standard_error, kind


def test_what_is_masked_or_null_is_missing(ask):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    gone = np.arange(N) < 5
    y = np.where(gone, np.nan, np.arange(N) % 3)
    expected = ask(y)
    assert expected.n_train == 55
    numbers = np.where(gone, 0, y).astype(int)
    nullable = pandas.Series(numbers).astype("Int64")
    nullable[gone] = pandas.NA
    kinds = {
        "masked": np.ma.masked_array(numbers, mask=gone),
        "masked columns": np.ma.masked_array(numbers[:, None], mask=gone[:, None]),
        "nullable": nullable,
        "objects": [None if g else int(k) for g, k in zip(gone, numbers, strict=True)],
        "polars": polars.Series(
            [None if g else int(k) for g, k in zip(gone, numbers, strict=True)]
        ),
    }
    for kind, values in kinds.items():
        assert ask(values).value == expected.value, kind
        shares = ask(values, what="proportion")
        assert [row.what for row in shares] == ["0", "1", "2"], kind
        assert shares.n_train == 55, kind


@pytest.mark.thorough
def test_categories_of_all_kinds(ask):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    expected = ask(LABELS, what="proportion")
    for kind in (
        LABELS.tolist(),
        LABELS.astype(object),
        pandas.Series(LABELS).astype("category"),
        pandas.Series(LABELS).astype("string"),
        polars.Series(LABELS).cast(polars.Categorical),
    ):
        found = ask(kind, what="proportion")
        np.testing.assert_array_equal(found.value, expected.value)
    flags = Y > 0
    share = ask(flags)
    assert share.value == ask(flags * 1.0).value == ask(flags, what="proportion").value[1]
    assert ask(flags, what=Proportion(True)).value == share.value
    for category in (1, 1.0, "1"):
        assert ask(flags * 1.0, what=Proportion(category)).value == share.value
    difference = {reference: ask(by=flags * 1.0, what=Difference(reference)).value
                  for reference in (0, 0.0, "0")}  # fmt: skip
    assert len(set(difference.values())) == 1


@pytest.mark.thorough
def test_frames_with_categories_and_nullable_numbers():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")

    def frame(Z):
        return pandas.DataFrame(
            {"a": Z[:, 0], "k": np.arange(len(Z)) % 4, "c": (list("uvw") * 20)[: len(Z)]}
        )

    here, there = frame(X), frame(T)
    options = {"by": "c", "weighter": "entropy"}
    found = estimate(here, Y, there, **options)
    assert [row.group for row in found] == [None, "u", "v", "w"]
    as_category, nullable = here.astype({"c": "category"}), here.astype({"k": "Int64"})
    for X_, T_ in (
        (as_category, there.astype({"c": "category"})),
        (nullable, there.astype({"k": "Int64"})),
        (polars.from_pandas(here), polars.from_pandas(there)),
    ):
        again = estimate_with(found.diagnosis, X_, Y, T_, **options)
        assert again.value == pytest.approx(found.value)
        assert again.estimates[2].value == pytest.approx(found.estimates[2].value)


def test_equal_names_of_columns_are_refused(ask):
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame(np.column_stack([Y, Y]), columns=["k", "k"])
    with pytest.raises(InputError, match="y has several columns"):
        ask(twice)
    with pytest.raises(InputError, match="several columns named 'k'"):
        ask(X=pandas.DataFrame(X, columns=["k", "k"]), T=pandas.DataFrame(T, columns=["k", "k"]))


def test_several_outcomes_are_those_one_by_one(ask):
    both = ask(np.column_stack([Y, Y > 0]))
    assert [row.outcome for row in both] == ["y0", "y1"]
    np.testing.assert_allclose(both.value, [ask().value, ask(Y > 0).value])


@pytest.mark.thorough
def test_a_target_in_a_tuple_is_the_target(ask):
    assert ask(T=(T,)).value == ask().value


def test_input_stays_as_it_was(ask):
    parts = [Y.copy(), X.copy(), T.copy(), ONES.copy(), np.ones(M)]
    for part in parts:
        part.flags.writeable = False
    y, rows, target, d, v = parts
    found = ask(y, rows, target, sample_weight=d, target_weight=v, weighter=Trimmed(3.0, "entropy"))
    assert found.value == pytest.approx(ask(weighter=Trimmed(3.0, "entropy")).value)
    model = Ridge()
    ask(outcome_model=model)
    assert not hasattr(model, "coef_")


# No overlap


def half_covered():
    """A target whose second half has no training rows in the first column."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, size=(300, 2))
    T = np.concatenate(
        [rng.uniform(0, 1, size=(100, 2)), rng.uniform([9, 0], [10, 1], size=(50, 2))]
    )
    return X, T, 2 * X[:, 0] + rng.normal(0, 0.1, size=300)


def named(X, T, y):
    pandas = pytest.importorskip("pandas")
    X, T = (pandas.DataFrame(part, columns=["age", "income"]) for part in (X, T))
    return X, y, T


def test_no_overlap_names_the_column():
    X, T, y = half_covered()
    with pytest.raises(NoOverlapError, match=r"of the target lies above .* 'age'"):
        estimate(*named(X, T, y))


@pytest.mark.thorough
def test_the_covered_part_has_an_answer_that_says_what_was_left_out():
    X, T, y = half_covered()
    found = estimate(*named(X, T, y), restrict="overlap", outcome_model=LinearRegression())
    covered = T[:, 0] <= X[:, 0].max()
    assert found.covered_share == pytest.approx(covered.mean())
    assert found.n_target == covered.sum()
    assert found.value == pytest.approx(2 * T[covered, 0].mean(), abs=0.03)
    (note,) = notes(found, "restricted target")
    assert "'age'" in note
    assert "66.7% of the target" in note or f"{covered.mean():.1%}" in note


def test_nothing_covered_has_no_answer():
    X, T, y = half_covered()
    with pytest.raises(NoOverlapError, match="No target row is covered"):
        estimate(X, y, T[100:], restrict="overlap")


# Weights


def test_weights_stay_below_their_limit(ask):
    free, limited = ask(method="weights"), ask(method="weights", weighter=Trimmed(1.5, "entropy"))
    assert free.largest_weight > 1.5
    assert limited.largest_weight == pytest.approx(1.5)
    assert limited.weights.mean() == pytest.approx(1)
    assert 0 < limited.trimmed_share < 1
    assert limited.effective_sample_size > free.effective_sample_size
    drawn = ask(weighter=Trimmed(1.5, "entropy"), replicates=5)
    assert drawn.replicate_weights.max() <= 1.5 + 1e-9


@pytest.mark.thorough
def test_no_warning_of_arithmetic_in_any_quantity():
    rng = np.random.default_rng(1)  # of 0 four of five target rows lie beyond: no overlap
    X, T = rng.normal(size=(8, 1)), rng.normal(size=(5, 1))
    y = np.array([0, 0, 0, 0, 0, 0, 0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for options in (
            {},
            {"what": "proportion"},
            {"what": Quantile([0.01, 0.99])},
            {"what": CDF([-5, 0, 5])},
            {"what": "difference", "by": y},
            {"what": "coefficients"},
            {"what": Total(10), "by": y},
        ):
            found = estimate(X, y, T, weighter=np.arange(8.0), **options)
            assert str(found)
            assert found._repr_html_()
            assert found.to_dict()


def test_a_split_by_years_is_told_the_way_out():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.normal(size=200), "year": np.repeat([1989, 1990], 100)})
    y = frame["age"] + rng.normal(size=200)
    train, target = frame["year"] == 1989, frame["year"] == 1990
    with pytest.raises(NoOverlapError) as refused:
        estimate(frame[train], y[train], frame[target])
    said = str(refused.value)
    assert "has 'year' = 1990" in said or "above 1989" in said  # a year, not 1,989
    assert "If the outcome does not depend on 'year'" in said
    assert "restrict" not in said  # nothing would be left
    kinds = ast.literal_eval(re.search(r"X_target=Target\(rows, kinds=({.*?})\)", said)[1])
    rows = Target(frame[target], kinds=kinds)
    found = estimate(frame[train], y[train], rows, outcome_model=Ridge())
    part = frame[target][["age"]]
    same = estimate(frame[train][["age"]], y[train], part, outcome_model=Ridge())
    assert found.value == pytest.approx(same.value)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_model_of_the_users_sees_the_target_as_it_saw_the_sample(library):
    """Columns in another order, and of another library, are the same columns."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip(library)
    sample, target = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(T, columns=["a", "b"])
    swapped = target[["b", "a"]].assign(more=1.0)
    if library == "polars":
        swapped = pytest.importorskip("polars").from_pandas(swapped)
    if library == "pyarrow":
        swapped = pytest.importorskip("pyarrow").Table.from_pandas(swapped)
    found, same = (
        estimate(sample, Y, part, outcome_model=LinearRegression()).value
        for part in (swapped, target)
    )
    assert found == pytest.approx(same, rel=1e-9)
