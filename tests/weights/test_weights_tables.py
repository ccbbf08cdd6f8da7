"""Weighters and data frames as they come: text, categories and gaps, a category as one feature."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.base import clone

from covshift import TableEncoder, load, save
from covshift.corrections import Additive, Sliced
from covshift.exceptions import (
    InputError,
    NoOverlapError,
    UnseenLevelWarning,
    WeightWarning,
)
from covshift.weights import (
    KDE,
    KLIEP,
    KMM,
    RULSIF,
    ULSIF,
    CDFWeights,
    Discriminative,
    EnergyWeights,
    EntropyBalancing,
    GaussianRatio,
    NearestNeighbors,
    PostStratification,
    Raking,
    TiltedCDFWeights,
    Weighter,
    cdf_mismatch,
)
from covshift.weights.points import pooled_units

PLAIN = [
    CDFWeights(),
    EntropyBalancing(),
    EntropyBalancing(2, interactions=True, reg=0.01),
    Discriminative(cv=None),
    EnergyWeights(),
    KMM(),
    KLIEP(width=1.0),
    ULSIF(width=1.0, reg=0.1),
    RULSIF(width=1.0, reg=0.1),
    KDE(),
    NearestNeighbors(20),
    GaussianRatio(),
    Raking(),
    PostStratification(bins=2),
]
MORE = [
    CDFWeights("pairwise"),
    CDFWeights(Sliced(n_directions=8), random_state=0),
    CDFWeights("multiplicative"),
    CDFWeights(Additive(symmetric=True)),
    CDFWeights(Additive(phi="anderson-darling"), solver="thresholds"),
    CDFWeights(reg="cv", random_state=0),
    CDFWeights(limits=(0.2, 4.0)),
    Discriminative(random_state=0),
    KLIEP(random_state=0),
    ULSIF(random_state=0),
    KDE("cv"),
    KDE(0.7),
    NearestNeighbors(),
]


def named(weighter):
    return str(weighter).replace("random_state=0", "").replace(" ", "")


each = pytest.mark.parametrize("weighter", PLAIN, ids=named)
each_kind = pytest.mark.parametrize("weighter", PLAIN + MORE, ids=named)


def survey(N, shares, mean, rng, gaps=0.0):
    """A table of a number, with gaps, two categories and a flag."""
    age = rng.normal(mean, 1.0, size=N)
    age[rng.uniform(size=N) < gaps] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "region": np.array(["north", "south", "east", "west"])[rng.choice(4, size=N, p=shares)],
            "smoker": np.array(["no", "yes"])[rng.choice(2, size=N, p=[0.6, 0.4])],
            "old": rng.choice(2, size=N, p=[0.6 - mean / 5, 0.4 + mean / 5]) > 0,
        }
    )


def tables(seed=0, N=120, M=90, gaps=(0.0, 0.0)):
    rng = np.random.default_rng(seed)
    X = survey(N, [0.4, 0.3, 0.2, 0.1], 0.0, rng, gaps[0])
    return X, survey(M, [0.2, 0.2, 0.3, 0.3], 0.4, rng, gaps[1])


def fitted(weighter, X, T, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        return clone(weighter).fit(X, X_target=T, **given)


def by_hand(X, T):
    """The frames as numbers, and which columns are one feature."""
    encoder = TableEncoder.learn(X, T)
    return encoder.encode(X, "X"), encoder.encode(T, "X_target"), encoder


def with_groups(weighter, X, T, groups, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        return clone(weighter).of_features(groups).fit(X, X_target=T, **given)


# The mean over features


def levels_and_number(seed, N, M):
    """Columns of numbers: one feature, and the three levels of another."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=N), np.eye(3)[rng.integers(0, 3, size=N)]])
    return X, np.column_stack([rng.normal(0.7, 1, size=M), np.eye(3)[rng.integers(0, 3, size=M)]])


FEATURES = [0, 1, 1, 1]


@pytest.mark.part(3)
@pytest.mark.parametrize("solver", ["dense", "thresholds"])
@pytest.mark.parametrize("tails", [False, True])
@pytest.mark.parametrize("mirrored", [False, True])
def test_cdf_weights_minimise_the_mean_over_features(solver, tails, mirrored):
    X, T = levels_and_number(0, 9, 11)
    parts = reference.parts_of_columns(FEATURES)
    views = [(k,) for k in range(4)]
    options = {"tails": tails, "mirrored": mirrored, "parts": parts}
    expected = reference.cdf_weights(X, T, views, 0.1, **options)
    seen = Additive(phi="anderson-darling" if tails else None, symmetric=mirrored)
    weighter = CDFWeights(seen, reg=0.1, solver=solver, tol=1e-9, allow_no_overlap=True)
    found = with_groups(weighter, X, T, FEATURES)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)
    R, F = reference.cdf_problem(X, T, views, **options)
    residual = R @ found.weights_ / len(X) - F
    assert found.mismatch_ == pytest.approx(residual @ residual, abs=1e-9)


def test_a_pair_of_features_is_looked_at_in_all_their_columns():
    rng = np.random.default_rng(0)
    X, T = levels_and_number(0, 9, 11)
    X, T = (np.column_stack([Z, rng.normal(size=len(Z))]) for Z in (X, T))
    expected = reference.cdf_weights(X, T, [(0, 1, 2, 3), (0, 4), (1, 2, 3, 4)], 0.1)
    weighter = CDFWeights("pairwise", reg=0.1, allow_no_overlap=True)
    found = with_groups(weighter, X, T, [*FEATURES, 2])
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


def test_the_mismatch_is_a_mean_over_features():
    X, T = levels_and_number(1, 8, 7)
    w, share = np.arange(1.0, 9.0), np.full(7, 1 / 7)
    expected = reference.cdf_mismatch_of_features(X, T, w, FEATURES)
    assert cdf_mismatch(X, T, share, w, groups=FEATURES) == pytest.approx(expected, rel=1e-12)
    alone = cdf_mismatch(X, T, share, w, groups=[3, 1, 2, 0])
    assert alone == cdf_mismatch(X, T, share, w) != pytest.approx(expected, rel=0.01)


@pytest.mark.part(3)
@each_kind
def test_groups_of_one_column_change_nothing(weighter):
    X, T = (np.random.default_rng(k).normal(k / 3, 1.0, size=(40, 3)) for k in (0, 1))
    plain = fitted(weighter, X, T)
    found = with_groups(weighter, X, T, [5, 2, 9])
    np.testing.assert_array_equal(found.weights_, plain.weights_)


def test_two_levels_are_at_distance_one_however_rare():
    X = np.column_stack([np.arange(50.0), np.eye(3)[[0] * 40 + [1] * 9 + [2]]])
    for standardize in (True, False):
        units = pooled_units(
            X, X, np.full(50, 0.02), standardize=standardize, groups=np.array(FEATURES)
        )
        Z = units(X)[[0, 40, 49], 1:]
        squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
        np.testing.assert_allclose(squares, 1 - np.eye(3), atol=1e-12)


def test_default_weights_of_estimates_know_the_features():
    X, T = levels_and_number(2, 80, 70)
    found = with_groups(TiltedCDFWeights(), X, T, FEATURES)
    base = found._tilt.weights_
    again = with_groups(CDFWeights(), X, T, FEATURES, sample_weight=base)
    np.testing.assert_allclose(found._cdf.weights_, again.weights_, atol=1e-9)


# Frames and their numbers


@pytest.mark.part(6)
@each_kind
def test_a_frame_gives_the_weights_of_its_numbers_and_groups(weighter):
    X, T = tables(N=70, M=60, gaps=(0.1, 0.2))
    Z, Z_T, encoder = by_hand(X, T)
    found = fitted(weighter, X, T)
    expected = with_groups(weighter, Z, Z_T, encoder.groups)
    np.testing.assert_array_equal(found.weights_, expected.weights_)
    np.testing.assert_array_equal(found.predict_weights(T), expected.predict_weights(Z_T))
    assert found.n_features_in_ == 4
    assert list(found.feature_names_in_) == list(X)
    assert found.encoder_.columns == encoder.columns


@pytest.mark.part(3)
@each_kind
def test_numbers_and_columns_of_two_values_are_what_they_are_by_hand(weighter):
    if isinstance(weighter, GaussianRatio):
        pytest.skip("zeros and ones of a table are no normal numbers")
    X, T = (table.drop(columns="region") for table in tables(N=60, M=60))
    Z, Z_T = (
        np.column_stack([x["age"], x["smoker"] == "yes", x["old"]]).astype(float) for x in (X, T)
    )
    w = fitted(weighter, Z, Z_T).weights_
    np.testing.assert_array_equal(fitted(weighter, X, T).weights_, w)


@each
def test_a_frame_of_numbers_needs_no_encoder(weighter):
    X, T = (table[["age", "old"]] for table in tables())
    found = fitted(weighter, X, T)
    assert found.encoder_ is None
    plain = fitted(weighter, *(x.to_numpy(dtype=float) for x in (X, T)))
    np.testing.assert_array_equal(found.weights_, plain.weights_)


@each
def test_names_of_levels_do_not_matter(weighter):
    X, T = tables()
    w = fitted(weighter, X, T).weights_
    other = {"north": "z", "south": "y", "east": "x", "west": "w"}
    renamed = [table.assign(region=table["region"].map(other)) for table in (X, T)]
    np.testing.assert_allclose(fitted(weighter, *renamed).weights_, w, atol=1e-8)


@pytest.mark.part(3)
@each
def test_the_order_of_columns_and_rows_does_not_matter(weighter):
    # Empty cells join one of several neighbours: with many rows there are none.
    X, T = tables(N=800, M=400) if isinstance(weighter, PostStratification) else tables()
    w = fitted(weighter, X, T).weights_
    columns = ["region", "old", "age", "smoker"]
    np.testing.assert_allclose(fitted(weighter, X[columns], T[columns]).weights_, w, atol=1e-8)
    rows = np.random.default_rng(5).permutation(len(X))
    permuted = fitted(weighter, X.iloc[rows], T.iloc[::-1])
    np.testing.assert_allclose(permuted.weights_, w[rows], atol=1e-8)


@each
def test_a_constant_and_a_copied_category_change_nothing(weighter):
    X, T = tables()
    w = fitted(weighter, X, T).weights_
    more = [table.assign(country="here", again=table["region"]) for table in (X, T)]
    np.testing.assert_allclose(fitted(weighter, *more).weights_, w, atol=1e-8)


@each
def test_a_target_and_new_rows_are_aligned_by_name(weighter):
    X, T = tables()
    found = fitted(weighter, X, T)
    other = ["smoker", "age", "old", "region"]
    np.testing.assert_array_equal(fitted(weighter, X, T[other]).weights_, found.weights_)
    np.testing.assert_array_equal(found.predict_weights(T[other]), found.predict_weights(T))
    with pytest.raises(InputError, match="lacks the columns 'region'"):
        found.predict_weights(T.drop(columns="region"))
    with pytest.raises(InputError, match="must be a data frame with the columns of the fit"):
        found.predict_weights(np.zeros((3, 4)))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_give_the_same_weights(library):
    X, T = tables()
    if library == "polars":
        make = pytest.importorskip("polars").from_pandas
    else:
        make = pytest.importorskip("pyarrow").Table.from_pandas
    d = np.arange(len(X)) % 3.0
    w = fitted(CDFWeights(), X, T, sample_weight=d).weights_
    found = fitted(CDFWeights(), make(X), make(T), sample_weight=d)
    np.testing.assert_allclose(found.weights_, w, atol=1e-12)
    np.testing.assert_allclose(found.predict_weights(make(X)), w, atol=1e-6)


# Weights


@each
def test_rows_of_weight_zero_are_not_there(weighter):
    X, T = tables()
    more = pd.concat([X, X[:7].assign(region="nowhere", age=5.0)], ignore_index=True)
    d = np.append(np.ones(len(X)), np.zeros(7))
    many = pd.concat([T, T[:6].assign(region="nowhere")], ignore_index=True)
    q = np.append(np.ones(len(T)), np.zeros(6))
    plain = fitted(weighter, X, T)
    found = fitted(weighter, more, many, sample_weight=d, target_weight=q)
    assert "region=nowhere" not in found.encoder_.columns
    np.testing.assert_allclose(found.weights_[: len(X)], plain.weights_, atol=1e-8)
    assert np.isfinite(found.weights_).all()


def test_design_weights_count_in_the_levels():
    X, T = tables()
    d = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X))
    w = fitted(EntropyBalancing(), X, T, sample_weight=d).weights_
    for level, share in T["region"].value_counts(normalize=True).items():
        found = np.average(X["region"] == level, weights=d * w)
        assert found == pytest.approx(share, abs=1e-8)


# What the weights do


@pytest.mark.part(3)
@each_kind
def test_gaps_are_part_of_the_shift(weighter):
    if isinstance(weighter, CDFWeights) and weighter.views == "multiplicative":
        pytest.skip("joint cells of five features are too thin at this size")
    X, T = tables(N=200, M=200, gaps=(0.1, 0.4))
    w = fitted(weighter, X, T).weights_
    before, aim = X["age"].isna().mean(), T["age"].isna().mean()
    after = np.average(X["age"].isna(), weights=w)
    assert abs(after - aim) < 0.75 * abs(before - aim)


@pytest.mark.parametrize(
    "weighter", [EntropyBalancing(), Raking(), PostStratification(by="region")], ids=named
)
def test_calibration_gives_every_level_its_share(weighter):
    X, T = tables()
    w = fitted(weighter, X, T).weights_
    for level, share in T["region"].value_counts(normalize=True).items():
        assert np.average(X["region"] == level, weights=w) == pytest.approx(share, abs=1e-7)


def test_cells_of_two_columns_of_a_frame_are_crossed():
    X, T = tables()
    found = fitted(PostStratification(by=["smoker", "region"]), X, T)
    assert found.n_cells_ == 8
    w = found.weights_
    both = (X["region"] == "west") & (X["smoker"] == "yes")
    share = ((T["region"] == "west") & (T["smoker"] == "yes")).mean()
    assert np.average(both, weights=w) == pytest.approx(share, abs=1e-12)
    with pytest.raises(InputError, match="has no column 'area'"):
        PostStratification(by="area").fit(X, X_target=T)


@each
def test_no_weighter_complains_of_categories_alone(weighter):
    X, T = (table[["region", "smoker"]] for table in tables(N=300, M=300))
    clone(weighter).fit(X, X_target=T)  # any warning is an error


def test_collinear_moments_of_levels_are_balanced_exactly():
    X, T = (table[["region", "smoker"]] for table in tables(N=300, M=300))
    found = EntropyBalancing(2, interactions=True).fit(X, X_target=T)
    assert found.imbalance_ < 1e-8
    both = [(table["region"] == "west") & (table["smoker"] == "yes") for table in (X, T)]
    assert np.average(both[0], weights=found.weights_) == pytest.approx(both[1].mean(), abs=1e-8)


@pytest.mark.part(3)
@each_kind
def test_without_a_shift_the_weights_stay_near_one(weighter):
    rng = np.random.default_rng(3)
    X, T = (survey(150, [0.4, 0.3, 0.2, 0.1], 0.0, rng) for _ in range(2))
    least = 0.1 if isinstance(weighter, KMM) else 0.5  # whose fit has no penalty
    assert fitted(weighter, X, T).effective_sample_size_ > least * 150


@pytest.mark.part(3)
@each_kind
@pytest.mark.parametrize("names", [("f", "m"), ("m", "f")], ids="".join)
def test_a_target_of_one_of_two_levels_is_reached(weighter, names):
    if (
        isinstance(weighter, KLIEP | RULSIF | NearestNeighbors)
        or named(weighter) == "KDE(width=0.7)"
    ):
        pytest.skip("smooth between levels by design")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=200), "sex": np.repeat(names, [140, 60])})
    T = pd.DataFrame({"x": rng.normal(size=60), "sex": names[1]})
    w = fitted(weighter, X, T).weights_
    assert np.average(X["sex"] == names[1], weights=w) > 0.8


@each
def test_a_level_that_only_the_target_has_is_named(weighter):
    X, T = tables()
    T.loc[:29, "region"] = "island"
    match = "'region' = 'island'"
    if isinstance(weighter, CDFWeights) or weighter is PLAIN[1]:
        with pytest.raises(NoOverlapError, match=r"'region' = 'island'|'region=island'"):
            clone(weighter).fit(X, X_target=T)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        clone(weighter).fit(X, X_target=T)
    said = [str(one.message) for one in told]
    assert any("no overlap" in text and re.search(match, text) for text in said)


@each
def test_a_level_that_only_training_rows_have_weighs_next_to_nothing(weighter):
    if isinstance(weighter, KMM | KLIEP | ULSIF | RULSIF | NearestNeighbors):
        pytest.skip("smooth between levels by design")
    X, T = tables(N=300, M=300)
    X.loc[:59, "region"] = "island"
    w = fitted(weighter, X, T).weights_
    assert w[:60].mean() < 0.35


def test_a_level_that_became_frequent_does_not_take_all_weight_of_the_gaussian_ratio():
    rng = np.random.default_rng(0)
    X, T = (
        pd.DataFrame({"c": np.array(list("abcd"))[rng.choice(4, size=2000, p=p)]})
        for p in ([0.4, 0.3, 0.27, 0.03], [0.3, 0.3, 0.2, 0.2])
    )
    w = GaussianRatio().fit(X, X_target=T).weights_
    found = pd.Series(w).groupby(X["c"]).mean()
    np.testing.assert_allclose(found, [0.75, 1.0, 0.74, 6.7], rtol=0.35)


def test_unseen_levels_warn_and_have_finite_weights():
    X, T = tables()
    found = fitted(CDFWeights(), X, T)
    with pytest.warns(UnseenLevelWarning, match="'region' has levels that fit was not given"):
        new = found.predict_weights(T.assign(region="island"))
    assert np.isfinite(new).all()


# What is said


class Lazy(Weighter):
    """Leaves all weights at one."""

    def _solve(self, problem):
        return np.ones(len(problem.X))


def test_warnings_name_the_columns_of_a_frame():
    X, T = tables(N=400, M=400)
    with pytest.warns(WeightWarning, match=r"in columns 'age', 'region', 'old' the samples"):
        Lazy().fit(X, X_target=T.assign(age=T["age"] + 1, old=True))
    numbers = [table[["age", "old"]].astype(float) for table in (X, T)]
    with pytest.warns(WeightWarning, match=r"in column 'age' the samples differ"):
        Lazy().fit(numbers[0], X_target=numbers[0].assign(age=numbers[1]["age"] + 1))
    with pytest.warns(WeightWarning, match=r"in column 0 the samples differ"):
        Lazy().fit(X[["age"]].to_numpy(), X_target=T[["age"]].to_numpy() + 1)


def test_moments_and_cells_are_named():
    X, T = tables()
    T["age"] += 10
    with pytest.raises(NoOverlapError, match=r"moments of the target \('age'\)"):
        EntropyBalancing().fit(X, X_target=T)
    X, T = tables()
    limited = EntropyBalancing(limits=(0.99, 1.01))
    with pytest.warns(WeightWarning, match="no weights balance all moments: '(age|region=|old)"):
        limited.fit(X, X_target=T)
    with pytest.warns(WeightWarning, match="the share of ('region=|cell . of '(age|old)')"):
        found = Raking(limits=(0.99, 1.01)).fit(X, X_target=T)
    assert found.balance_cost_.worst in {repr(name) for name in found.encoder_.columns}


# Files


@pytest.mark.part(3)
@each_kind
def test_a_loaded_weighter_predicts_the_same_on_a_frame(weighter, tmp_path):
    X, T = tables(N=60, M=50, gaps=(0.1, 0.2))
    found = fitted(weighter, X, T)
    save(found, tmp_path / "weights.covshift")
    again = load(tmp_path / "weights.covshift")
    np.testing.assert_array_equal(again.predict_weights(T), found.predict_weights(T))
    assert again.encoder_.columns == found.encoder_.columns


def test_a_weighter_whose_encoder_reads_other_columns_is_refused(tmp_path):
    X, T = tables()
    for weighter in (CDFWeights(), EnergyWeights(), Raking(), Discriminative(cv=None)):
        found = fitted(weighter, X, T)
        found.encoder_ = TableEncoder.learn(X[["smoker", "age"]], T[["smoker", "age"]])
        with pytest.raises(InputError, match="other columns"):
            save(found, tmp_path / "weights.covshift")
