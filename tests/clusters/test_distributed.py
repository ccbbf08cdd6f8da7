"""Fits on Dask collections: the single machine's result, whatever the partitions and workers do."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_tasks import N, T, X, labels, machine, n, parts, w, y
from sklearn.linear_model import Ridge

from covshift import VSVC, VSVR, distributed
from covshift.corrections import Sliced
from covshift.distributed.cluster import Cluster, partitions
from covshift.exceptions import WeightWarning
from covshift.weights import CDFWeights

PARTITIONS = {
    "one": (N,),
    "even": (500, 500, 500),
    "uneven": (1, 1199, 7, 293),
    "empty": (0, 700, 0, 800, 0),
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


# Equal to one machine


@pytest.mark.part(4)
@pytest.mark.parametrize("chunks", PARTITIONS.values(), ids=PARTITIONS)
@pytest.mark.parametrize("correction", ["blended", "multiplicative"])
def test_machines_do_not_depend_on_the_partitions(correction, chunks):
    one = machine(correction=correction, solver="primal").fit(X, y, X_target=T, sample_weight=w)
    two = distributed.fit(
        machine(correction=correction),
        parts(X, chunks),
        parts(y, chunks),
        T,
        sample_weight=parts(w, chunks),
    )
    assert two.reg_ == one.reg_
    np.testing.assert_array_equal(two.landmarks_, one.landmarks_)
    np.testing.assert_allclose(two.predict(T), one.predict(T), rtol=0, atol=1e-10)
    assert two.target_coverage_ == pytest.approx(one.target_coverage_)


@pytest.mark.part(40)
@pytest.mark.parametrize("chunks", PARTITIONS.values(), ids=PARTITIONS)
@pytest.mark.parametrize("views", ["additive", Sliced(n_directions=4)], ids=str)
@pytest.mark.parametrize("reg", [None, 0.3])
def test_weights_do_not_depend_on_the_partitions(views, reg, chunks):
    parameters = {"views": views, "reg": reg, "random_state": 0}
    one = CDFWeights(**parameters, solver="thresholds").fit(X, X_target=T)
    two = distributed.fit(CDFWeights(**parameters), parts(X, chunks), X_target=T)
    assert two.reg_ == pytest.approx(one.reg_, rel=1e-10)
    assert two.weights_.chunks[0] == tuple(size for size in chunks if size)
    np.testing.assert_allclose(two.weights_.compute(), one.weights_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(two.predict_weights(T), one.predict_weights(T), rtol=0, atol=1e-10)
    assert two.effective_sample_size_ == pytest.approx(one.effective_sample_size_)
    assert two.mismatch_ == pytest.approx(one.mismatch_)
    assert two.overlap_


def test_a_level_that_all_of_the_target_has_gets_all_weight_in_partitions():
    rows = np.column_stack([X, np.arange(len(X)) % 2])
    target = np.column_stack([T, np.ones(len(T))])
    one = CDFWeights(solver="thresholds").fit(rows, X_target=target)
    two = distributed.fit(CDFWeights(), parts(rows, PARTITIONS["uneven"]), X_target=target)
    assert np.average(rows[:, -1], weights=two.weights_.compute()) > 0.99
    np.testing.assert_allclose(two.weights_.compute(), one.weights_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(two.predict_weights(rows), one.weights_, rtol=0, atol=1e-10)


def test_one_column_beyond_the_training_values_is_found_in_partitions():
    beyond = np.column_stack([T[:, 0], T[:, 1] + 4, T[:, 2]])
    parameters = {"solver": "thresholds", "reg": 1.0, "allow_no_overlap": True}
    with pytest.warns(WeightWarning, match="of the target lies above .* of column 1"):
        two = distributed.fit(
            CDFWeights(**parameters), parts(X, PARTITIONS["uneven"]), X_target=beyond
        )
    with pytest.warns(WeightWarning):
        one = CDFWeights(**parameters).fit(X, X_target=beyond)
    assert two.uncovered_ == one.uncovered_
    assert not two.overlap_


def test_the_solvers_of_the_weights_agree():
    exact = CDFWeights(reg=0.3, solver="dense").fit(X, X_target=T)
    found = CDFWeights(reg=0.3, solver="thresholds", tol=1e-11).fit(X, X_target=T)
    np.testing.assert_allclose(found.weights_, exact.weights_, atol=1e-9)
    assert found.mismatch_ == pytest.approx(exact.mismatch_, rel=1e-8)


def test_data_frames_of_unknown_length():
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=labels, w=w)
    data = dd.from_pandas(frame, npartitions=5)
    data = data[data.a > -1]  # nobody knows how many rows are left
    kept = frame[frame.a > -1]
    target = pd.DataFrame(T, columns=list("abc"))
    one = machine(VSVC, solver="primal").fit(
        kept[list("abc")], kept.y, X_target=target, sample_weight=kept.w
    )
    two = distributed.fit(
        machine(VSVC), data[list("abc")], data.y, dd.from_pandas(target, 2), sample_weight=data.w
    )
    assert two.feature_names_in_.tolist() == list("abc")
    np.testing.assert_allclose(two.predict_proba(target), one.predict_proba(target), atol=1e-10)
    found = distributed.predict(two, data[list("abc")], "predict_proba").compute()
    np.testing.assert_allclose(found, one.predict_proba(kept[list("abc")]), atol=1e-10)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Six Parquet files, of which Dask joins some where it reads one column of many."""
    folder = tmp_path_factory.mktemp("parts")
    frame = pd.DataFrame(X, columns=list("abc")).assign(ill=labels, w=w)
    frame = frame.assign(**{f"other {j}": "text" for j in range(20)})
    for number in range(6):
        frame[number * N // 6 : (number + 1) * N // 6].to_parquet(folder / f"{number}.parquet")
    return folder, frame


def test_columns_of_parquet_files_stay_in_their_partitions(files):
    folder, frame = files
    data = dd.read_parquet(folder)
    columns, target = list("abc"), pd.DataFrame(T, columns=list("abc"))
    assert len(data["ill"].to_delayed()) != data.npartitions  # what Dask does when left alone
    one = machine(VSVC, solver="primal").fit(
        frame[columns], frame.ill, X_target=target, sample_weight=frame.w
    )
    for points in (data[columns], data.drop(columns=[c for c in data.columns if c not in columns])):
        two = distributed.fit(machine(VSVC), points, data["ill"], target, sample_weight=data["w"])
        np.testing.assert_allclose(two.predict_proba(target), one.predict_proba(target), atol=1e-7)
    found = distributed.predict(two, data[columns], "predict_proba")
    assert found.numblocks[0] == data.npartitions
    np.testing.assert_allclose(found.compute(), one.predict_proba(frame[columns]), atol=1e-7)


@pytest.mark.thorough
def test_weights_of_parquet_files_are_in_the_partitions_of_the_files(files):
    folder, frame = files
    data = dd.read_parquet(folder)
    target = pd.DataFrame(T[:, :1], columns=["a"])
    found = distributed.fit(CDFWeights(reg=3.0), data[["a"]], None, target)
    one = CDFWeights(reg=3.0, solver="thresholds").fit(frame[["a"]], X_target=target)
    assert found.weights_.numblocks == (data.npartitions,)
    np.testing.assert_allclose(found.weights_.compute(), one.weights_, atol=1e-8)


def test_no_other_columns_of_parquet_files_are_read(files):
    parts = partitions(dd.read_parquet(files[0])[["a", "b"]])
    (read,) = {key[0] for key in parts[0].dask if key[0].startswith("read_parquet")}
    assert parts[0].dask[read, 0]().columns.tolist() == ["a", "b"]


def test_arrays_in_other_chunks_are_aligned():
    one = machine(reg=1.0, solver="primal").fit(X, y, X_target=T)
    two = distributed.fit(
        machine(reg=1.0), da.from_array(X, (400, 2)), da.from_array(y, 250), da.from_array(T, 50)
    )
    np.testing.assert_allclose(two.predict(T), one.predict(T), atol=1e-10)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_prediction_is_that_of_the_estimator_partition_by_partition(method):
    model = machine(VSVC, reg=1.0, solver="primal").fit(X, labels, X_target=T)
    found = distributed.predict(model, parts(X, PARTITIONS["empty"]), method)
    expected = getattr(model, method)(X)
    assert found.chunks[0] == PARTITIONS["empty"]
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.compute(), expected, rtol=0, atol=1e-12)


def test_weights_of_new_rows_by_partition():
    model = distributed.fit(CDFWeights(reg=1.0), parts(X, (700, 800)), X_target=T)
    found = distributed.predict(model, parts(T, (20, 100)))
    np.testing.assert_allclose(found.compute(), model.predict_weights(T), atol=1e-12)


@pytest.mark.thorough
def test_a_target_on_the_cluster_is_reduced_there():
    large = np.random.default_rng(5).normal(0.4, 1.0, size=(20000, n))
    every_row = {"reg": 1.0, "n_components": len(X)}  # which landmarks depends on the target
    exact = machine(**every_row, solver="primal").fit(X, y, X_target=large)
    for chunks in (20000, 1700):
        model = distributed.fit(
            machine(**every_row),
            parts(X, (700, 800)),
            parts(y, (700, 800)),
            da.from_array(large, (chunks, n)),
            target_bins=300,
        )
        np.testing.assert_allclose(model.predict(T), exact.predict(T), atol=0.01)
    weights = distributed.fit(
        CDFWeights(reg=1.0), parts(X, (700, 800)), X_target=da.from_array(large), target_bins=300
    )
    one = CDFWeights(reg=1.0).fit(X, X_target=large)
    np.testing.assert_allclose(weights.weights_.compute(), one.weights_, atol=0.1)
    assert weights.noise_ == pytest.approx(one.noise_, rel=0.01)


# Errors


def broken(value):
    rows = X.copy()
    rows[1000, 1] = value
    return rows


@pytest.mark.parametrize("estimator", [VSVR(n_components=10), CDFWeights()], ids=["VSVR", "CDF"])
def test_a_partition_with_a_nan_is_named(estimator):
    outcomes = None if isinstance(estimator, CDFWeights) else parts(y, (500, 400, 600))
    with pytest.raises(ValueError, match=r"In partition 2 of X: X contains NaN or inf: column 1"):
        distributed.fit(estimator, parts(broken(np.nan), (500, 400, 600)), outcomes, T)


def test_misuse_is_explained():
    dask_X, dask_y = parts(X, (700, 800)), parts(y, (700, 800))
    with pytest.raises(TypeError, match="not a Dask array"):
        distributed.fit(machine(), X, y, T)
    with pytest.raises(TypeError, match="y is a ndarray"):
        distributed.fit(machine(), dask_X, y, T)
    with pytest.raises(TypeError, match="not Ridge"):
        distributed.fit(Ridge(), dask_X, dask_y, T)
    with pytest.raises(ValueError, match="requires y"):
        distributed.fit(machine(), dask_X, None, T)
    with pytest.raises(ValueError, match="1500 rows, but y has 1499"):
        distributed.fit(machine(), dask_X, dask_y[1:], T)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        distributed.fit(CDFWeights(), dask_X, None, T, sample_weight=dask_y)
    with pytest.raises(ValueError, match="'cv' holds out"):
        distributed.fit(CDFWeights(reg="cv"), dask_X, None, T)
    with pytest.raises(ValueError, match="needs all rows in one place"):
        distributed.fit(CDFWeights(solver="dense"), dask_X, None, T)
    with pytest.raises(ValueError, match="views of one dimension"):
        distributed.fit(CDFWeights("pairwise"), dask_X, None, T)
    with pytest.raises(ValueError, match="no rows"):
        distributed.fit(machine(), parts(X[:0], (0, 0)), parts(y[:0], (0, 0)), T)
    with pytest.raises(ValueError, match="no rows"):
        distributed.fit(CDFWeights(), parts(X[:0], (0,)), None, T)
    with pytest.raises(TypeError, match="not a Dask array"):
        distributed.predict(machine(), X)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    with pytest.raises(ValueError, match="X has 3 partitions, but y has 2"):
        distributed.fit(machine(), frame, dask_y, T)


# The tree of sums


def test_the_tree_has_a_bounded_fan_in():
    sizes = []

    def join(parts):
        sizes.append(len(parts))
        return sum(parts)

    cluster = Cluster()
    assert cluster.joined([dask.delayed(k) for k in range(37)], join) == sum(range(37))
    assert max(sizes) <= 4
