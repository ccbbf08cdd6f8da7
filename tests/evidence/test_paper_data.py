"""The paper's data: generators against the truth, biasing against theory, loaders on bad days."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import nullcontext
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.datasets._openml import OpenMLError

from reproduction import biasing, generators, loaders
from reproduction.loaders import Source

UNIFORM = np.random.RandomState(0).uniform(size=(4000, 3))


@pytest.mark.parametrize("n_features", [2, 20])
def test_twonorm_classes_have_opposite_means_and_unit_variance(n_features):
    X, y = generators.make_twonorm(20_000, n_features, random_state=0)
    a = 2 / np.sqrt(n_features)
    for label, mean in ((0, a), (1, -a)):
        np.testing.assert_allclose(X[y == label].mean(axis=0), mean, atol=0.04)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(n_features), atol=0.06)


@pytest.mark.parametrize("n_features", [2, 20])
def test_ringnorm_class_zero_is_wide_and_class_one_shifted(n_features):
    X, y = generators.make_ringnorm(20_000, n_features, random_state=0)
    a = 2 / np.sqrt(n_features)
    for label, mean, variance in ((0, 0, 4), (1, a, 1)):
        np.testing.assert_allclose(X[y == label].mean(axis=0), mean, atol=0.08)
        covariance = np.cov(X[y == label].T) / variance
        np.testing.assert_allclose(covariance, np.eye(n_features), atol=0.06)


@pytest.mark.parametrize(
    ("make", "probability", "bayes_error"),
    [
        (generators.make_twonorm, generators.twonorm_probability, 0.0228),
        (generators.make_ringnorm, generators.ringnorm_probability, 0.0124),
    ],
)
def test_true_probability_is_calibrated_and_has_the_bayes_error(make, probability, bayes_error):
    X, y = make(50_000, random_state=3)
    p = probability(X)
    assert_calibrated(y, p)
    assert ((p > 0.5) != y).mean() == pytest.approx(bayes_error, abs=0.0015)


@pytest.mark.parametrize(
    ("make", "load", "probability"),
    [
        ("make_twonorm", "load_twonorm", "twonorm_probability"),
        ("make_ringnorm", "load_ringnorm", "ringnorm_probability"),
    ],
)
def test_generated_and_real_rows_agree(make, load, probability, data_home):
    X, y = getattr(generators, make)(7400, random_state=4)
    real = getattr(loaders, load)(data_home)
    for label in (0, 1):
        ours, theirs = X[y == label], real.X[real.y == label]
        np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.16)
        np.testing.assert_allclose(ours.var(axis=0), theirs.var(axis=0), rtol=0.12)
        assert ours.mean() == pytest.approx(theirs.mean(), abs=0.03)
    bayes_labels = getattr(generators, probability)(real.X) > 0.5
    assert (bayes_labels != real.y).mean() < 0.03


# Biasing


def test_acceptance_follows_the_squared_feature():
    split = biasing.bias_by_acceptance(UNIFORM, 500, 1000, feature=2, random_state=0)
    x = UNIFORM[split.target, 2]
    # Under the density min(1, 4 x^2) / (2/3): half the data, x < 1/2, make a quarter.
    assert (x < 0.5).mean() == pytest.approx(0.25, abs=0.04)
    assert UNIFORM[split.train, 2].mean() == pytest.approx(0.5, abs=0.04)
    np.testing.assert_array_equal(
        split.density_ratio, np.minimum(1, 4 * UNIFORM[split.train, 2] ** 2)
    )
    weighted = np.average(UNIFORM[split.train, 2], weights=split.density_ratio)
    assert weighted == pytest.approx(x.mean(), abs=0.03)
    assert split.feature == 2


def test_acceptance_says_when_the_data_run_out():
    with pytest.raises(ValueError, match=r"ran out: only \d+ of 600 rows were accepted"):
        biasing.bias_by_acceptance(UNIFORM[:600], random_state=0)
    with pytest.raises(ValueError, match=r"rows are left .* n_train=3000"):
        biasing.bias_by_acceptance(UNIFORM, n_train=3000, n_target=1000, random_state=0)


@pytest.mark.parametrize(
    ("load", "short"),
    [
        ("load_cancer", {0, 1, 2, 3, 4, 5, 6, 7, 8}),
        ("load_diabetes", {0, 3, 4, 6, 7}),
        ("load_banknote", {2}),
    ],
)
def test_small_data_home_run_out_for_some_features(load, short, data_home):
    X = getattr(loaders, load)(data_home).X
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    for feature in range(X.shape[1]):
        runs_out = pytest.raises(ValueError, match="ran out") if feature in short else nullcontext()
        with runs_out:
            biasing.bias_by_acceptance(X, feature=feature, random_state=0)


def test_acceptance_needs_scaled_features():
    with pytest.raises(ValueError, match=r"needs features in \[0, 1\]. Scale X first"):
        biasing.bias_by_acceptance(2 * UNIFORM)


@pytest.mark.parametrize(("direction", "share"), [("up", 4 / 5), ("down", 1 / 5)])
def test_feature_bias_draws_the_expected_share_above_the_median(direction, share):
    above = UNIFORM[:, 1] > np.median(UNIFORM[:, 1])
    splits = [
        biasing.bias_by_feature(UNIFORM, feature=1, direction=direction, random_state=seed)
        for seed in range(50)
    ]
    shares = [above[split.train].mean() for split in splits]
    assert np.mean(shares) == pytest.approx(share, abs=0.02)
    factor = 4 if direction == "up" else 0.25
    for split in splits:
        np.testing.assert_array_equal(
            split.selection_weight, np.where(above[split.train], factor, 1)
        )
        np.testing.assert_array_equal(split.density_ratio, 1 / split.selection_weight)


@pytest.mark.parametrize(("direction", "share"), [("up", 4 / 5), ("down", 1 / 5)])
def test_norm_bias_draws_the_expected_share_above_the_median(direction, share):
    norm = np.linalg.norm(UNIFORM, axis=1)
    splits = [
        biasing.bias_by_norm(UNIFORM, direction=direction, random_state=seed) for seed in range(50)
    ]
    shares = [(norm[split.train] > np.median(norm)).mean() for split in splits]
    assert np.mean(shares) == pytest.approx(share, abs=0.02)
    assert splits[0].feature is None


def test_density_ratio_repairs_the_bias_of_the_training_set():
    split = biasing.bias_by_feature(UNIFORM, 400, feature=0, direction="up", random_state=5)
    x, truth = UNIFORM[split.train, 0], UNIFORM[split.target, 0].mean()
    assert x.mean() - truth > 0.1
    assert np.average(x, weights=split.density_ratio) == pytest.approx(truth, abs=0.04)


def test_rows_at_the_median_count_as_below():
    X = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]])
    split = biasing.bias_by_feature(X, 4, direction="up", random_state=0)
    np.testing.assert_array_equal(split.selection_weight, np.where(X[split.train, 0] > 1, 4, 1))


def test_features_without_a_row_above_the_median_are_not_drawn():
    X = np.column_stack([np.ones(50), np.arange(50) > 0, np.arange(50)]).astype(float)
    drawn = {biasing.bias_by_feature(X, 10, random_state=seed).feature for seed in range(30)}
    assert drawn == {2}
    with pytest.raises(ValueError, match="No row lies above the median of feature 1"):
        biasing.bias_by_feature(X, 10, feature=1)
    with pytest.raises(ValueError, match="No row lies above the median"):
        biasing.bias_by_feature(X[:, :2], 10)


@pytest.mark.parametrize(
    "bias", [biasing.bias_by_acceptance, biasing.bias_by_feature, biasing.bias_by_norm]
)
def test_splits_are_disjoint_repeatable_and_vary_with_the_seed(bias):
    split, again, other = (bias(UNIFORM, random_state=seed) for seed in (0, 0, 1))
    assert len(split.train) == len(set(split.train)) == 100
    assert not set(split.train) & set(split.target)
    for ours, theirs in zip(split, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert set(split.train) != set(other.train)


def test_feature_and_direction_vary_when_left_open():
    splits = [biasing.bias_by_feature(UNIFORM, random_state=seed) for seed in range(30)]
    assert {split.feature for split in splits} == {0, 1, 2}
    assert {split.direction for split in splits} == {"up", "down"}
    assert len(splits[0].train) + len(splits[0].target) == len(UNIFORM)


# Loaders

TINY_X = np.array([[0.1, -2.0], [1 / 3, 1e-17], [5.0, 4.0]])
TINY_Y = np.array([0, 1, 1])
TINY = Source(
    name="tiny",
    feature_names=("a", "b"),
    openml_id=7,
    positive_class="yes",
    checksum=loaders.checksum(TINY_X, TINY_Y),
    description="Three rows.",
)


@pytest.fixture
def openml(monkeypatch):
    """OpenML as we like it: answers with a row too many, which has a missing value."""
    calls = []

    def fetch_openml(**options):
        calls.append(options)
        X = np.vstack([TINY_X[:1], [[np.nan, 1.0]], TINY_X[1:]])
        return X, np.array(["no", "yes", "yes", "yes"], dtype=object)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return calls


@pytest.fixture
def offline(monkeypatch):
    def fetch_openml(**options):
        raise URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)


def test_data_home_have_the_known_checksums_and_shapes(data_home):
    shapes = {"cancer": (683, 9), "diabetes": (768, 8), "banknote": (1372, 4)}
    for name, shape in shapes.items():
        bunch = getattr(loaders, f"load_{name}")(data_home)
        assert bunch.X.shape == shape
        assert len(bunch.feature_names) == shape[1]
        assert set(bunch.y) == {0, 1}
        assert bunch.data is bunch.X
        assert bunch.target is bunch.y


def test_fetched_data_are_kept_and_read_back_without_the_network(tmp_path, openml):
    folder = tmp_path / "new" / "folder"
    fetched = loaders.load(TINY, folder)
    kept = loaders.load(TINY, folder)
    assert len(openml) == 1
    assert openml[0]["data_id"] == 7
    for bunch in (fetched, kept):
        np.testing.assert_array_equal(bunch.X, TINY_X)
        np.testing.assert_array_equal(bunch.y, TINY_Y)
        assert bunch.filename == str(folder / "tiny.csv")
    assert os.listdir(folder) == ["tiny.csv"]


def test_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    loaders.write_table(tmp_path / "tiny.csv", TINY.columns, TINY_X, TINY_Y)
    before = (tmp_path / "tiny.csv").read_bytes()

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loaders.write_table(tmp_path / "tiny.csv", TINY.columns, TINY_X + 1, TINY_Y)
    assert (tmp_path / "tiny.csv").read_bytes() == before
    assert os.listdir(tmp_path) == ["tiny.csv"]


def test_folder_that_cannot_be_written_costs_a_warning_only(tmp_path, openml):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="tiny was fetched but not saved"):
        bunch = loaders.load(TINY, tmp_path / "file")
    np.testing.assert_array_equal(bunch.y, TINY_Y)


def test_offline_error_says_what_to_do(tmp_path, offline):
    with pytest.raises(loaders.DatasetNotFoundError) as caught:
        loaders.load_banknote(tmp_path)
    assert isinstance(caught.value, FileNotFoundError)
    for hint in ("banknote.csv", "COVSHIFT_DATA", "data_home", "network", "no route"):
        assert hint in str(caught.value)
    assert "variance,skewness,curtosis,entropy,label" in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        OpenMLError("Dataset with data_id 7 not found."),
        json.JSONDecodeError("Expecting value", "<html>", 0),
        ValueError("md5 checksum of local file does not match description"),
        EOFError("Compressed file ended before the end-of-stream marker was reached"),
        KeyError("data_set_description"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_openml_answers_the_error_says_what_to_do(tmp_path, monkeypatch, error):
    def fetch_openml(**options):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    with pytest.raises(loaders.DatasetNotFoundError, match=r"put tiny\.csv into") as caught:
        loaders.load(TINY, tmp_path)
    assert type(error).__name__ in str(caught.value)


def test_text_where_numbers_were_promised_is_no_data(tmp_path, monkeypatch):
    def fetch_openml(**options):
        return np.array([["a", "b"]], dtype=object), np.array(["yes"])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    with pytest.raises(loaders.DatasetNotFoundError, match="could not convert string"):
        loaders.load(TINY, tmp_path)


def test_retries_of_the_network_are_silent(tmp_path, monkeypatch):
    def urlopen(*args, **options):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(FileNotFoundError, match="no route"):
            loaders.load(TINY, tmp_path)
    assert not seen


def test_other_data_from_openml_are_refused_and_not_kept(tmp_path, openml):
    with pytest.raises(ValueError, match="not the known tiny data: its checksum differs"):
        loaders.load(TINY._replace(positive_class="no"), tmp_path)
    assert os.listdir(tmp_path) == []


def test_corrupted_file_is_refused(tmp_path, openml):
    loaders.write_table(tmp_path / "tiny.csv", TINY.columns, TINY_X + 1e-9, TINY_Y)
    with pytest.raises(ValueError, match=r"tiny\.csv is not the known tiny data: its checksum"):
        loaders.load(TINY, tmp_path)
    assert openml == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line must be 'a,b,label', but it is an empty file"),
        ("1,2,0\n", "the first line must be 'a,b,label', but it is '1,2,0'"),
        ("a,b,label\n1,2,0\n1,2\n", "line 3: 2 values, but 3 were expected"),
        ("a,b,label\n1,,0\n", "line 2: not all values are numbers"),
        ("a,b,label\n1,nan,0\n", "line 2: missing or infinite values"),
        ("a,b,label\n1,2,2\n", "the last column must hold labels 0 and 1 only"),
    ],
)
def test_malformed_file_is_refused_with_its_place(tmp_path, text, message):
    (tmp_path / "tiny.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        loaders.load(TINY, tmp_path)


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(tmp_path):
    (tmp_path / "tiny.csv").write_bytes(b"a,b,label\n\xff\xfe,2,0\n")
    with pytest.raises(ValueError, match=r"tiny\.csv is not text in UTF-8.* remove it to fetch"):
        loaders.load(TINY, tmp_path)
    (tmp_path / "tiny.csv").unlink()
    (tmp_path / "tiny.csv").mkdir()
    with pytest.raises(ValueError, match=r"tiny\.csv.* Replace .*, or remove it to fetch"):
        loaders.load(TINY, tmp_path)


def test_folder_is_data_home_then_environment_then_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COVSHIFT_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert loaders.folder_of(tmp_path / "home") == tmp_path / "home"
    assert loaders.folder_of(None) == tmp_path / "environment"
    monkeypatch.delenv("COVSHIFT_DATA")
    assert loaders.folder_of(None) == tmp_path / "cache" / "covshift"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert loaders.folder_of(None) == tmp_path / ".cache" / "covshift"


def assert_calibrated(y: np.ndarray, probability: np.ndarray) -> None:
    """In every tenth of [0, 1], as many ones as the probabilities say, within 4 deviations."""
    tenth = np.minimum((10 * probability).astype(int), 9)
    for k in np.unique(tenth):
        p = probability[tenth == k]
        deviation = np.sqrt((p * (1 - p)).sum())
        assert abs(y[tenth == k].sum() - p.sum()) <= 4 * deviation + 1
